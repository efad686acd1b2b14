"""Erasure under a shard's worker: ratings stay, boards and checkpoints hold the token, and a name that comes again counts as the token."""

from pathlib import Path

from services.checkpoints.checkpoint import CheckpointStore
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.worker import HOME, counted, differences, play, store_of, until, working

POOL = simulated.POOL
NAME = "pebble"


def board(settings: Settings) -> dict[str, float | None]:
    with store_of(settings) as store:
        page = store.live.page(POOL, "elo", 0, 1000)
    return {} if page is None else {row.agent: row.rating for row in page.rows}


def holders(folder: Path, name: str) -> list[str]:
    """Files under a folder whose bytes hold a name."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and name.encode() in path.read_bytes()]


def test_a_name_is_erased_from_boards_and_checkpoints(settings: Settings, log: Log) -> None:
    control = ControlLog(log.control)
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: counted(settings, 300, 1), "published")
        before = board(settings)
        erased = erased_name(NAME, ())
        control.append(ErasureRequest(pool=POOL, name=erased, by="ann", time=1.0))
        until(lambda: counted(settings, 300, 2), "generation 2 serves")
        after = board(settings)
        assert after == {erased.token if agent == NAME else agent: rating for agent, rating in before.items()}
        folder = settings.data / "state"
        until(lambda: not holders(folder, NAME), "no checkpoint holds the name, although no outcome came")
        play(log, 300, 400)
        until(lambda: counted(settings, 400, 2), "published")
        assert NAME not in board(settings)
        assert len(board(settings)) == len(before)
        assert differences(settings, log) == []
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert manifest is not None
    assert [entry.generation for entry in manifest.entries] == [2]
    assert holders(folder, erased.token)


def test_an_erasure_that_comes_while_the_shard_is_away_is_done_after_its_start(settings: Settings, log: Log) -> None:
    control = ControlLog(log.control)
    play(log, 0, 100)
    with working(settings, log):
        until(lambda: counted(settings, 100, 1), "published")
    control.append(ErasureRequest(pool=POOL, name=erased_name(NAME, ()), by="ann", time=1.0))
    with working(settings, log):
        until(lambda: counted(settings, 100, 2), "generation 2 serves")
        assert NAME not in board(settings)
    assert not holders(settings.data / "state", NAME)
