"""A pool in its second season, with the final boards of the first one."""

from pathlib import Path

import msgspec

from services.boards.season_files import SeasonEnd, SeasonFiles
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation, Opening, PoolCreated, Serve
from services.demo import simulated
from services.state.pool import PoolState
from services.wire.pools import Kind
from tests.support.api import NOW, Running
from tests.support.boards import head_of, solved_of
from tests.support.folds import fold_events

POOL = f"/v1/pools/{simulated.POOL}"
FOLD = FoldSettings(online={"elo": {}, "weng_lin": {}})
FIRST = Generation(pool=simulated.POOL, number=1, start=0, time=0.0, fold=FOLD)
OPENING = Opening(generation=1, position=12, keep=0.5, first=2)
SECOND = Generation(pool=simulated.POOL, number=2, start=12, time=NOW - 60, fold=FOLD, season="autumn", opening=OPENING)
BOARD = LiveBoard(["rock"], [1.0])


def published(here: Running, generation: Generation) -> None:
    first = 1 if generation.opening is None else generation.opening.first
    head = head_of(
        simulated.POOL, position=20, published_at=NOW, online=["elo"], generation=generation.number, season=generation.season,
        season_generation=first,
    )  # fmt: skip
    assert here.store.live.publish(head, 1, {"elo": BOARD, ACTIVITY: BOARD})


def append(here: Running, *records: object) -> None:
    control = ControlLog(here.log.control)
    for record in records:
        control.append(record)  # type: ignore[arg-type]
    control.close()


def end_first_season(api: Running, folder: Path, unrated: tuple[str, ...] = ()) -> None:
    """Make the pool, and write the final boards of its first season. unrated: solved methods that rate nobody."""
    created = PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0, fold=FOLD)
    append(api, created, FIRST, SECOND, Serve(pool=simulated.POOL, number=2, time=0.0))
    published(api, SECOND)
    state = PoolState(created, FIRST)
    fold_events(state, [simulated.game(i, float(i)) for i in range(120)])
    files = SeasonFiles(CheckpointStore((folder / "state").as_uri()), api.log.outcomes.identity)
    entry = PoolEntry(
        pool=simulated.POOL, kind="games", generation=1, position=12, outcomes=120, object="", sha256="", bytes=0, digest=""
    )  # fmt: skip
    files.write_end(SeasonEnd(season="first", entry=entry, ended_at=NOW - 60, log=""), state.arrays())
    solved = solved_of(simulated.POOL, method="copeland", position=12, ratings=[("rock", 3.0), ("paper", 2.0), ("stone", 1.0)])
    files.write_board("first", msgspec.structs.replace(solved, log=api.log.outcomes.identity))
    for method in unrated:
        board = solved_of(simulated.POOL, method=method, position=12, ratings=[("rock", None), ("paper", None), ("stone", None)])
        files.write_board("first", msgspec.structs.replace(board, log=api.log.outcomes.identity))
    files.write_complete(simulated.POOL, "first", ["copeland", *unrated])
