"""`equirank replay` against a real embedded log: nothing lost, resumable, and sent again only when asked."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import typer
import zstandard

from ratings_core.errors import InputError
from ratings_core.formats import FileKind, ResultColumns, RowRules
from ratings_core.formats.features import Feature
from services.backends import open_log
from services.boards.store.protocol import PoolHead
from services.boards.waiting import await_position
from services.cli.replay import replay, report, standing
from services.control.log import ControlLog
from services.imports.files import Account, FileOptions, decoded_lines
from services.imports.journal import Journal, Progress
from services.imports.replay import Replayed, replay_file
from services.imports.sources import Source
from services.log.partition import partition_of
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import Event, GameEvent, Reason, ScoreEvent
from services.wire.pools import Kind
from tests.support.boards import head_of
from tests.support.files import outcomes_of

SHARED = Path(os.environ.get("EQUIRANK_SHARED", Path(__file__).parents[3].parent / "shared"))
FOOTBALL = SHARED / "data" / "football" / "results.csv"
ATARI = Path(__file__).parents[2] / "golden" / "deviation" / "atari_table3.csv"
HEAD = "date,home_team,away_team,home_score,away_score\n"
ROW = "1969-12-31,Wales,Malta,2,1\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", partitions=2)


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    opened = open_log(settings)
    yield opened
    opened.close()


def written(log: Log, pool: str) -> list[Event]:
    """All outcomes in the pool's partition."""
    number = partition_of(pool, log.outcomes.partitions)
    reader, values = log.outcomes.reader({number: 0}), []
    while batch := reader.poll(0.0, 1000).get(number):
        assert {record.key for record in batch} == {pool.encode()}
        values += [record.value for record in batch]
    reader.close()
    found = events.decode(values)
    assert found.refusals == []
    return found.events


def file(tmp_path: Path, text: str, name: str = "r.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_equal_rows_are_two_outcomes_with_stable_ids(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW + ROW)
    done = replay_file(settings, log, path, "football")
    first, second = written(log, "football")
    assert isinstance(first, GameEvent)
    assert (first.time, [(side.agents, side.place) for side in first.sides]) == (-86400.0, [(["Wales"], 1), (["Malta"], 2)])
    assert first.id != second.id
    assert [event.id for event in outcomes_of(path, "football", now=9.0).events] == [first.id, second.id]
    assert (done.account.rows, done.sent, done.before) == (2, 2, 0)
    assert done.position == log.outcomes.end(partition_of("football", log.outcomes.partitions))


def test_a_finished_file_is_sent_again_only_when_asked(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW + ROW)
    first = replay_file(settings, log, path, "football")
    renamed = file(tmp_path, HEAD + ROW + ROW, "same-content.csv")
    second = replay_file(settings, log, renamed, "football")
    assert (second.sent, second.before, second.position) == (0, 2, first.position)
    again = replay_file(settings, log, path, "football", again=True)
    assert (again.sent, again.before) == (2, 0)
    ids = [event.id for event in written(log, "football")]
    assert ids[:2] == ids[2:]
    assert replay_file(settings, log, path, "other").sent == 2


def test_a_replay_that_was_cut_off_goes_on(settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.imports.replay._CHUNK", 10)
    path = file(tmp_path, HEAD + "".join(f"2026-01-01,a{i},b,1,0\n" for i in range(35)))
    append, calls = type(log.outcomes).append, []

    def failing(self: Any, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        calls.append(partition)
        if len(calls) == 4:  # the pool's creation, two chunks, then this
            raise LogError("the disk is full", retriable=True)
        return append(self, partition, records)

    with monkeypatch.context() as patched:
        patched.setattr(type(log.outcomes), "append", failing)
        with pytest.raises(LogError):
            replay_file(settings, log, path, "p")
    told: list[tuple[int, int | None]] = []
    done = replay_file(settings, log, path, "p", tell=lambda sent, total: told.append((sent, total)))
    assert (done.before, done.sent, told) == (20, 15, [(35, None), (30, 35), (35, 35)])
    assert [event.sides[0].agents[0] for event in written(log, "p") if isinstance(event, GameEvent)] == [f"a{i}" for i in range(35)]


def test_scores_are_one_event_a_task(settings: Settings, log: Log) -> None:
    done = replay_file(settings, log, ATARI, "atari")
    found = written(log, "atari")
    assert (done.account.rows, done.sent, len(found)) == (53, 53, 53)
    assert all(isinstance(event, ScoreEvent) and len(event.scores) == 20 for event in found)
    assert ControlLog(log.control).refresh().pools["atari"].kind is Kind.SCORES


def test_a_pool_of_the_other_kind_is_refused_before_anything_is_sent(settings: Settings, log: Log, tmp_path: Path) -> None:
    replay_file(settings, log, file(tmp_path, HEAD + ROW), "p")
    with pytest.raises(InputError, match="must be a pool of scores"):
        replay_file(settings, log, ATARI, "p")
    assert len(written(log, "p")) == 1


def test_every_row_is_accounted_for(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW + "2030-01-01,Wales,Malta,NA,NA\n" + "99999999999999,Wales,Malta,1,0\n")
    done = replay_file(settings, log, path, "p")
    assert (done.account.rows, done.sent, done.account.skipped) == (3, 1, {"no result (unplayed)": 1})
    assert [(one.line, one.reason, one.path) for one in done.account.first] == [(4, Reason.BAD_FIELD, "$.time")]
    text = "\n".join(report(done))
    assert "3 rows, 1 outcomes sent" in text
    assert "1 rows left out" in text
    assert "1 refused: bad_field" in text
    assert "line 4: $.time" in text


def test_outcomes_get_ids_and_times_and_other_pools_are_refused(settings: Settings, log: Log, tmp_path: Path) -> None:
    bare = '{"v":1,"pool":"p","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
    other = bare.replace('"pool":"p"', '"pool":"q"')
    path = file(tmp_path, f"{bare}\n{bare}\n[{bare},{bare}]\n{other}\n7\n", "o.jsonl")
    done = replay_file(settings, log, path, "p", FileOptions(time=5.0))
    found = written(log, "p")
    assert len({event.id for event in found}) == len(found) == 4
    assert {event.time for event in found} == {5.0}
    assert [(one.line, one.reason) for one in done.account.first] == [(4, Reason.MIXED_POOLS), (5, Reason.BAD_FIELD)]


def test_retractions_alone_need_a_pool_that_exists(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, '{"v":1,"id":"r","pool":"p","time":0,"retracts":"x"}\n', "o.jsonl")
    with pytest.raises(InputError, match="must exist"):
        replay_file(settings, log, path, "p")
    replay_file(settings, log, file(tmp_path, HEAD + ROW), "p")
    assert replay_file(settings, log, path, "p").sent == 1


def test_kinds_without_outcomes_are_refused(settings: Settings, log: Log, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="solved offline"):
        replay_file(settings, log, file(tmp_path, "x,a,b\na,0,1\nb,-1,0\n"), "p", FileOptions(kind=FileKind.MARGINS))


@pytest.mark.skipif(not FOOTBALL.is_file(), reason=f"football results are not in {SHARED} (set EQUIRANK_SHARED)")
def test_football_all_rows_become_outcomes() -> None:
    found = outcomes_of(FOOTBALL, "football", now=5.0)
    assert (found.account.rows, len(found.events), found.account.skipped, found.account.refused) == (49_520, 49_520, {}, {})
    assert stamp(found.events) == "6a7c75ebcbbc86d51e2501c9c912d15ec1cf352b611147807dfbe84016cd1359"
    assert len({event.id for event in found.events}) == 49_520
    assert sum(event.time < 0 for event in found.events) == 7_960
    taken = events.decode(events.encode_records(found.events))
    assert (taken.events, taken.refusals) == (found.events, [])


def stamp(found: list[Event]) -> str:
    return hashlib.sha256("".join(f"{event.id} {event.time}\n" for event in found).encode()).hexdigest()


BARE = '{"v":1,"pool":"p","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
BATTLE = '{"model_a":"x","model_b":"y","winner":"model_b","tstamp":1.5}'
IDS_OF_TODAY = {
    "b.jsonl": (
        f'{BATTLE}\n{{"model_a":"x","model_b":"z","winner":"tie (bothbad)","u":"é"}}\n\n{BATTLE}\n',
        "85a629904ba69c3b166a1621813c3ca9f84ce12c9e2c0ae2481067b6d8f85e9f",
    ),
    "b.csv": (
        "model_a,model_b,winner,tstamp\nx,y,model_b,1.5\nx,z,tie (bothbad),\nx,y,model_b,1.5\n",
        "8ae46cf45feef2adb78aace77f130bc1b4ed7085f685e8c51a2ad1f6058b4f0e",
    ),
    "a.json": (
        f'[{BATTLE}, {{"model_a":"x","model_b":"z","winner":"tie"}}]',
        "eb83de74c35a1b23ad5c15950903e85bf42144030c51f8ee3a102b9144033fcd",
    ),
    "o.jsonl": (f"{BARE}\n[{BARE},{BARE}]\n{BARE}\n", "a5852efb157bb30aa959505942442f5e2445c09141b3bc2c51ca3e39340129b1"),
}


@pytest.mark.parametrize("name", IDS_OF_TODAY)
def test_ids_never_change(name: str, tmp_path: Path) -> None:
    """They decide whether a replay counts again: these are those of the first release."""
    text, expected = IDS_OF_TODAY[name]
    assert stamp(outcomes_of(file(tmp_path, text, name), "p", now=5.0).events) == expected


class Store:
    """A store whose pool is at the next of `positions` at each look."""

    def __init__(self, positions: list[int], stopped: str | None = None) -> None:
        self.positions, self.stopped = positions, stopped

    def head(self, pool: str) -> PoolHead:
        position = self.positions.pop(0) if len(self.positions) > 1 else self.positions[0]
        return PoolHead(
            pool=pool, kind="games", label="", partition=0, generation=1, position=position, published_at=0.0, pool_time=None, outcomes=3,
            agents=2, tasks=0, duplicates=0, conflicts=0, retractions=0, dead_letters=0, online=[], stopped=self.stopped,
        )  # fmt: skip


def wait(store: Store, position: int) -> PoolHead:
    ticks = iter(range(10**6))
    return await_position(store, "p", position, stuck_seconds=5.0, clock=lambda: float(next(ticks)))  # type: ignore[arg-type]


def test_waiting_for_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.boards.waiting.time.sleep", lambda _: None)
    assert wait(Store([0, 1, 2, 3]), 3).position == 3
    with pytest.raises(TimeoutError, match="has been at position 1"):
        wait(Store([0, 1]), 3)
    with pytest.raises(InputError, match="stopped"):
        wait(Store([1], "KeyError"), 3)


def test_a_report_says_what_was_sent_before() -> None:
    lines = report(Replayed(Path("f.csv"), Account(rows=5), sent=2, before=3, position=9))
    assert lines == ["f.csv: 5 rows, 2 outcomes sent, 3 sent before"]


def test_the_summary_names_conflicts_if_there_are_any() -> None:
    counted = "blitz: 7 outcomes of 3 agents, 0 duplicates dropped"
    assert standing(head_of(position=7)) == counted
    assert standing(head_of(position=7, conflicts=2)) == f"{counted}, 2 ids repeated with other content, which does not count"


def test_refused_outcomes_are_told_by_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.cli.replay.set_up_memory", lambda: None)
    path = file(tmp_path, HEAD + ROW + "99999999999999,Wales,Malta,1,0\n")
    with pytest.raises(typer.Exit) as caught:
        replay([path], "p", wait=False, data=tmp_path / "data")
    assert caught.value.exit_code == 1
    replay([file(tmp_path, HEAD + ROW, "sound.csv")], "p", wait=False, data=tmp_path / "data")


def test_a_table_of_an_unknown_header_is_said_to_be_taken_for_scores(tmp_path: Path) -> None:
    path = file(tmp_path, "white,black,result\nann,bob,1-0\n", "games.csv")
    with pytest.raises(InputError, match=r"games.csv \(taken for scores.*--input.*--column.*\): row 2, column 'black' must be a number"):
        outcomes_of(path, "p")


@pytest.mark.parametrize("agents", [2, *range(200, 216), 700])
def test_a_large_matrix_of_margins_is_known_by_whole_lines(agents: int, tmp_path: Path) -> None:
    """Wherever its beginning ends, be it in the header: half a name is no name of the header."""
    names = [f"agent-{i:0100}" for i in range(agents)]
    text = "\n".join([",".join(["", *names]), *(",".join([name, *["0"] * agents]) for name in names)])
    with Source(file(tmp_path, text, "m.csv")) as source:
        assert source.kind() == FileKind.MARGINS


def test_outcomes_end_where_editors_end_their_lines(tmp_path: Path) -> None:
    line = '{"v":1,"pool":"p","time":1,"sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}],"meta":{"x":"1\u20282"}}'
    path = file(tmp_path, f"{line}\n\n{line}\n", "o.jsonl")
    found = outcomes_of(path, "p")
    assert (found.lines, found.account.refused) == ([1, 3], {})
    with Source(path) as source:
        assert [event.pool for event in decoded_lines(source)] == ["p", "p"]


# streams


def test_a_broken_row_at_the_end_sends_nothing(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW * 6_000 + "1969-12-31,Wales,Malta,2\n")
    with pytest.raises(InputError, match="row 6002"):
        replay_file(settings, log, path, "p")
    assert "p" not in ControlLog(log.control).refresh().pools


def test_refused_rows_are_left_out_again_when_a_replay_goes_on(
    settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.imports.replay._CHUNK", 3)
    lines = [BARE if i % 3 else "7" for i in range(20)]
    path = file(tmp_path, "\n".join(lines), "o.jsonl")
    options = FileOptions(FileKind.OUTCOMES)
    stopped: list[int] = []

    def stop(sent: int, total: int | None) -> None:
        if total is not None:
            stopped.append(total)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_file(settings, log, path, "p", options, tell=stop)
    told: list[tuple[int, int | None]] = []
    done = replay_file(settings, log, path, "p", options, tell=lambda count, total: told.append((count, total)))
    assert (done.before, done.sent, stopped, done.account.refused) == (3, 10, [13], {Reason.BAD_FIELD: 7})
    assert told == [(13, None), (6, 13), (9, 13), (12, 13), (13, 13)]
    assert [event.id for event in written(log, "p")] == [event.id for event in outcomes_of(path, "p", options=options).events]


def test_a_file_that_changes_while_it_is_sent_stops_the_replay(
    settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.imports.replay._CHUNK", 1)
    path = file(tmp_path, HEAD + ROW * 3)

    def grow(sent: int, total: int | None) -> None:
        if total is not None:
            with path.open("a") as opened:
                opened.write(ROW)

    with pytest.raises(InputError, match="must not change"):
        replay_file(settings, log, path, "p", tell=grow)
    assert len(written(log, "p")) == 1


def test_a_journal_of_an_older_release_is_honoured(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW * 4)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    note = Journal.of(settings.data / "replay", log.outcomes.identity, "p", "results", "skip", "None", content)
    note.write(Progress(3, 4, 9))
    assert (replay_file(settings, log, path, "p").before, len(written(log, "p"))) == (3, 1)
    named = FileOptions(FileKind.RESULTS, columns=ResultColumns(first="away_team", second="home_team"))
    assert replay_file(settings, log, path, "p", named).before == 0
    tasked = FileOptions(rules=RowRules(task="date"))
    assert replay_file(settings, log, path, "p", tasked).before == 0, "its outcomes have tasks, which those sent before had not"
    assert {event.task for event in written(log, "p")[-4:] if isinstance(event, GameEvent)} == {"1969-12-31"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("g.pgn.zst", zstandard.compress(b"".join(b'[White "a"]\n[Black "b"]\n[Result "%s"]\n\n%s\n\n' % (r, r) for r in (b"1-0", b"*")))),
        ("c.json", b'[{"standings":[["a",0,0],["b",1,1]]},{"standings":[]}]'),
        ("log.jsonl.gz", gzip.compress(b'{"tstamp":1,"type":"chat"}\n{"tstamp":1,"type":"leftvote","models":["a","b"]}\n', mtime=0)),
    ],
)
def test_other_kinds_are_sent_and_what_is_left_out_is_said(name: str, data: bytes, settings: Settings, log: Log, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    done = replay_file(settings, log, path, "p")
    assert (done.account.rows, done.sent, sum(done.account.skipped.values())) == (2, 1, 1)
    (event,) = written(log, "p")
    assert isinstance(event, GameEvent)
    assert [side.agents for side in event.sides] == [["a"], ["b"]]
    assert "1 rows left out: " in "\n".join(report(done))


@pytest.mark.skipif(not FOOTBALL.is_file(), reason=f"football results are not in {SHARED} (set EQUIRANK_SHARED)")
def test_football_is_sent_once(settings: Settings, log: Log, tmp_path: Path) -> None:
    path, rows = tmp_path / "results.csv", 5_000
    with FOOTBALL.open() as file:
        path.write_text("".join(islice(file, 1 + rows)))
    first, again = (replay_file(settings, log, path, "football") for _ in range(2))
    assert (first.account.rows, first.sent, first.before) == (rows, rows, 0)
    assert (again.sent, again.before, again.position) == (0, rows, first.position)
    assert len(written(log, "football")) == rows


def test_features_become_the_meta_of_games(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,winner,tstamp,len_a,len_b\nx,y,model_a,5,30,10\ny,z,tie,6,0,0\n")
    rules = RowRules(features=tuple(Feature.parsed(text) for text in ("len_a~len_b", "len_a:len_b", "first-side")))
    replay_file(settings, log, path, "arena", FileOptions(rules=rules))
    metas = [json.loads(bytes(event.meta)) for event in written(log, "arena")]  # type: ignore[arg-type]
    assert metas == [{"len_a~len_b": 0.5, "len_a:len_b": 20.0}, {"len_a~len_b": 0.0, "len_a:len_b": 0.0}]
    with pytest.raises(InputError, match="must be left out for scores"):
        replay_file(settings, log, ATARI, "atari", FileOptions(rules=rules))
