"""`equirank erase` on an installation with an archive: nothing that is kept holds the name, after kills, too, and `verify` holds."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
import redis
from deltalake import DeltaTable

from services.admin import erasure
from services.admin.dead_letter_replay import read
from services.admin.verify_archive import verify_archive
from services.archive.location import table_uri
from services.archive.reader import open_reader
from services.boards.history import unpacked
from services.boards.result import PackedStart, SolvedBoard
from services.boards.store.redis import RedisStore
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.control.erasures import ErasureRequest
from services.control.log import ControlLog
from services.control.records import Generation, GenerationRequest, decode
from services.demo import simulated
from services.engine.archiver import append_partition
from services.engine.eraser import Eraser
from services.log.protocol import Log
from services.log.reading import read_range
from services.runtime.settings import Settings
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import open_scheduler
from services.wire import events
from tests.support.archiving import archive
from tests.support.boards import solved_of
from tests.support.command_line import Run
from tests.support.task_pool import FakeTaskPool, InlineTaskPool
from tests.support.worker import HOME, PARTITIONS, differences, published, store_of, until, working

POOL, NAME = simulated.POOL, "pebble"
AWAY = (HOME + 1) % PARTITIONS


def games(start: int, stop: int, *, without: str = "") -> list[tuple[bytes, bytes]]:
    """Records of simulated games. without: an agent who takes part in none."""
    outcomes = [simulated.game(i, float(i)) for i in range(start, stop)]
    outcomes = [game for game in outcomes if all(without not in side.agents for side in game.sides)]
    return [(POOL.encode(), record) for record in events.encode_records(outcomes, 10)]


def result(position: int, log: str) -> SolvedBoard:
    ratings = [(NAME, 0.75), ("rock", 0.25)]
    start = PackedStart("copeland", ((NAME, "rock"), ("rock",)), {})
    return msgspec.structs.replace(solved_of(POOL, method="copeland", position=position, ratings=ratings), start=start, log=log)


class Installation:
    """What the engine drives, step by step: results of earlier solves, and erasures."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings, self.log, self.control, self.now = settings, log, ControlLog(log.control), 0.0
        self.tasks = InlineTaskPool()

    def results(self) -> ResultFiles:
        return ResultFiles(BlobFiles(self.settings.checkpoint_url), 5)

    @contextmanager
    def driven(self) -> Iterator["Installation"]:
        identity = self.log.outcomes.identity
        with closing(RedisStore(str(self.settings.redis), identity)) as store:
            checkpoints = CheckpointStore(self.settings.checkpoint_url)
            limits = TaskLimits(workers=1, memory_bytes=None, solve_memory_bytes=1 << 30)
            self.solves = open_scheduler(self.settings, checkpoints, store, FakeTaskPool(), limits)
            self.eraser = Eraser(self.settings, self.tasks, self.control, self.solves.has_erased)
            yield self

    @property
    def published(self) -> bool:
        """Whether the store has the history of results."""
        with store_of(self.settings) as store:
            return len(store.solved.history(POOL, "copeland")) == 4

    def step(self) -> bool:
        """A tick of the engine. Returns whether all erasures are done."""
        self.now += 5.0
        newest = CheckpointStore(self.settings.checkpoint_url).newest(HOME)
        state = self.control.refresh()
        self.solves.step(self.now, [] if newest is None else [newest], state)
        self.eraser.step(self.now, state, ())
        self.control.refresh()
        return self.eraser.health().pending == 0


def holders(settings: Settings) -> list[str]:
    """What holds the name: files of the data folder and the archive, and keys of the store that do not expire within a minute."""
    found = [str(path) for path in settings.data.rglob("*") if path.is_file() and NAME.encode() in path.read_bytes()]
    for path in Path(str(settings.archive)).rglob("*"):
        text = repr(pq.read_table(path, partitioning=None).to_pylist()) if path.suffix == ".parquet" else ""  # type: ignore[no-untyped-call]
        if NAME in text or (path.is_file() and NAME.encode() in path.read_bytes()):
            found.append(str(path))
    client = redis.Redis.from_url(str(settings.redis))
    found += [key.decode() for key in client.scan_iter() if client.ttl(key) < 0 and NAME.encode() in _content(client, key)]
    client.close()
    return found


def _content(client: Any, key: bytes) -> bytes:
    match client.type(key):
        case b"string":
            return bytes(client.get(key))
        case b"list":
            return b"".join(client.lrange(key, 0, -1))
        case b"set":
            return b"".join(client.smembers(key))
        case b"zset":
            return b"".join(client.zrange(key, 0, -1))
        case _:
            return b"".join(part for pair in client.hgetall(key).items() for part in pair)


@pytest.fixture
def installation(settings: Settings, log: Log) -> Installation:
    """300 games, refused outcomes, results of three solves, and an archive; the newest games are without the agent."""
    one = Installation(settings, log)
    settings.data.mkdir(exist_ok=True)
    log.outcomes.append(HOME, games(0, 300))
    refused = b'{"v":1,"id":"x","pool":"demo-rps","time":1,"sides":[{"agents":["pebble"],"place":1}]}'
    log.outcomes.append(HOME, [(POOL.encode(), refused), (POOL.encode(), b'[{"pool":"demo-rps","agents":["\\u0070ebble","pebble"]')])
    log.outcomes.append(HOME, games(300, 400, without=NAME))
    with working(settings, log):
        until(lambda: published(settings) > 300, "published")
    archive(settings)
    for position in (10, 20, 30):
        one.results().write(result(position, log.outcomes.identity))
    newest = solved_of(POOL, method="copeland", position=40, ratings=[("rock", 0.5)])  # as solved after the erasure
    one.results().write(msgspec.structs.replace(newest, log=log.outcomes.identity))
    with one.driven():
        until(lambda: one.step() and one.published, "earlier results are published")
    assert holders(settings)
    return one


def erased(one: Installation, run: Run) -> ErasureRequest:
    """Ask for the erasure, and drive it to its end."""
    printed = run("erase", "--pool", POOL, "--agent", NAME, "--by", "case 7", "--no-wait")
    (request,) = one.control.refresh().erasures.requests
    assert request.name.token in printed
    with working(one.settings, one.log), one.driven():
        until(one.step, "erased")
    return request


def test_nothing_that_is_kept_holds_an_erased_name(installation: Installation, run: Run) -> None:
    settings, log = installation.settings, installation.log
    request = erased(installation, run)
    assert holders(settings) == []
    token = request.name.token
    assert differences(settings, log) == []
    assert [finding.difference for finding in verify_archive(str(settings.archive), log)] == [None]
    assert (POOL, token) in installation.control.refresh().erasures.done
    rows = [row for table in open_reader(str(settings.archive), HOME).read() for row in table.to_pylist()]
    assert sum(token in repr((row["agents"], row["raw"])) for row in rows) > 50
    assert sum(token in letter.excerpt for letter in read(log.dead_letters)) == 2
    boards = list(installation.results().newest(Job(POOL, "copeland")))[::-1]
    assert [one.position for one in boards] == [10, 20, 30, 40]
    assert all(one.result.agents[0].agent == token and one.result.extra["support"] == [token, "rock"] for one in boards[:3])
    with store_of(settings) as store:
        assert [past.position for past in store.solved.history(POOL, "copeland")] == [40, 30, 20, 10]
        solves = [store.solved.past(POOL, "copeland", index) for index in range(4)]
    agents = [{row.agent for row in unpacked(one.rows)} for one in solves if one is not None]
    assert agents == [{"rock"}, *[{token, "rock"}] * 3]
    listed = run("erase", "--status")
    assert "erased at" in listed
    assert "the log and backups may still contain an erased name" in listed
    assert token in listed
    assert NAME not in listed


def test_the_status_says_how_many_boards_are_left(installation: Installation, run: Run) -> None:
    run("erase", "--pool", POOL, "--agent", NAME, "--by", "case 7", "--no-wait")
    assert "folds the pool again without the name" in run("erase", "--status")
    with working(installation.settings, installation.log):
        until(lambda: "replaces the name in all other data" in run("erase", "--status"), "the new generation serves")
    with store_of(installation.settings) as store:
        store.solved.note_erasing({POOL: 1840})
    told = "live boards show the token; the engine now replaces the name in solved boards, of which 1840 may still show it"
    assert told in " ".join(run("erase", "--pool", POOL, "--agent", NAME, "--by", "case 7", "--no-wait").split())


def test_outcomes_that_hold_the_name_later_count_for_the_token(
    installation: Installation, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, log = installation.settings, installation.log
    token = erased(installation, run).name.token
    monkeypatch.setenv("EQUIRANK_ARCHIVE", str(settings.archive))
    refused = b'{"v":1,"id":"y","pool":"demo-rps","time":1,"sides":[{"agents":["pebble"],"place":1}]}'
    log.outcomes.append(HOME, [*games(400, 500), (POOL.encode(), refused)])
    log.outcomes.append(HOME, games(500, 520, without=NAME))
    with working(settings, log):
        until(lambda: published(settings) > 450, "published")
    assert sum(token in letter.excerpt for letter in read(log.dead_letters)) == 3
    exported = tmp_path / "games.jsonl"
    run("export", str(exported), "--pool", POOL)  # of archive and topic
    assert token in exported.read_text()
    assert NAME not in exported.read_text()
    newest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert newest is not None
    append_partition(settings, newest, {}, installation.control.refresh().erasures.requests)
    assert [one for one in holders(settings) if "log.sqlite" not in one] == []  # dropped records leave traces until the next erasure
    assert differences(settings, log) == []
    assert run("erase", "--pool", POOL, "--agent", NAME, "--by", "again", "--no-wait").count(token) == 1
    assert len(installation.control.refresh().erasures.requests) == 1


def test_rows_that_a_producer_sent_to_another_partition_are_erased_too(installation: Installation, run: Run) -> None:
    """They were refused there, and archived as all that the log holds."""
    settings, log, checkpoints = installation.settings, installation.log, CheckpointStore(installation.settings.checkpoint_url)
    log.outcomes.append(AWAY, games(0, 10))
    log.outcomes.append(AWAY, games(300, 310, without=NAME))
    with working(settings, log):
        until(lambda: (newest := checkpoints.newest(AWAY)) is not None and newest.position == 2, "refused and checkpointed")
    newest = checkpoints.newest(AWAY)
    assert newest is not None
    append_partition(settings, newest, {})
    table = f"partition-{AWAY:05d}"
    assert any(table in path for path in holders(settings))
    token = erased(installation, run).name.token
    assert holders(settings) == []
    assert [finding.difference for finding in verify_archive(str(settings.archive), log)] == [None, None]
    rows = [row for part in open_reader(str(settings.archive), AWAY).read() for row in part.to_pylist()]
    assert any(token in repr(row["agents"]) for row in rows)
    DeltaTable(table_uri(str(settings.archive), AWAY)).delete("row = 0")
    assert any("archive" in str(finding.difference) for finding in verify_archive(str(settings.archive), log))


def test_settings_that_name_the_agent_hold_the_token_and_only_earlier_control_records_the_name(
    installation: Installation, run: Run, tmp_path: Path
) -> None:
    settings, log, control = installation.settings, installation.log, installation.control
    aliases = tmp_path / "aliases.csv"
    aliases.write_text(f"alias,agent\nrock-copy-1,{NAME}\n")
    with working(settings, log):
        run("pools", "settings", POOL, "--set", f"aliases=@{aliases}")
        until(lambda: control.refresh().served(POOL) == 2, "generation 2 serves")
    run("pools", "settings", POOL, "--set", "start=1000000", "--no-wait")  # a request that waits, and that readers see
    token = erased(installation, run).name.token
    state = control.refresh()
    waiting = state.wish(POOL)
    assert waiting is not None
    seen = [state.serving(POOL), state.newest(POOL), waiting[1], control.standing(POOL)]
    assert [one.aliases for one in seen if one is not None] == [{"rock-copy-1": token}] * 4
    assert NAME not in run("pools", "settings", POOL, "--format", "json")
    assert {Path(path).name for path in holders(settings)} <= {"log.sqlite", "log.sqlite-wal"}
    kept = read_range(log.control, 0, 0, log.control.end(0))
    assert {type(decode(one.value)) for one in kept if NAME.encode() in one.value} == {Generation, GenerationRequest}
    assert not [one for one in read_range(log.dead_letters, 0, 0, log.dead_letters.end(0)) if NAME.encode() in one.value]
    assert differences(settings, log) == []


class Killed(Exception):  # noqa: N818 - names the fact
    """In place of a kill."""


@pytest.mark.parametrize("moment", ["_check_checkpoints", "_erased_letter", "open_log"])
def test_an_engine_that_starts_goes_on_where_another_one_was_killed(
    installation: Installation, run: Run, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    settings = installation.settings
    run("erase", "--pool", POOL, "--agent", NAME, "--by", "case 7", "--no-wait")
    kills = threading.Event()

    def kill(*given: object, **named: object) -> None:
        kills.set()
        raise Killed

    with monkeypatch.context() as patch, working(settings, installation.log):
        patch.setattr(erasure, moment, kill)
        with installation.driven():
            until(lambda: installation.step() or kills.is_set(), "killed")
            assert not installation.step()
    with working(settings, installation.log), installation.driven():
        until(installation.step, "erased")
    assert holders(settings) == []


def test_a_name_that_no_agent_has_is_refused_without_a_word(installation: Installation, run: Run) -> None:
    with pytest.raises(Exception, match="must be an agent of demo-rps; use --unknown"):
        run("erase", "--pool", POOL, "--agent", "peble", "--by", "case 7", "--no-wait")
    with pytest.raises(Exception, match="must be given"):
        run("erase", "--pool", POOL, "--agent", "peble")
    with pytest.raises(Exception, match="no pool has the name"):
        run("erase", "--pool", "other", "--agent", NAME, "--by", "case 7", "--no-wait")
    assert installation.control.refresh().erasures.requests == []


def test_an_erasure_names_an_archive_that_it_does_not_reach(installation: Installation, run: Run) -> None:
    (unused := installation.settings.data / "archive").mkdir()
    printed = run("erase", "--pool", POOL, "--agent", NAME, "--by", "case 7", "--no-wait")
    assert f"the archive {unused} is not in use" in printed.replace("\n", " ")
