"""`equirank replay` against a real embedded log: nothing lost, resumable, and sent again only when asked."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import typer
import zstandard
from msgspec import UNSET

from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.roles import Roles
from ratings_core.formats.source import FileSource
from services.backends import open_log
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.waiting import await_position
from services.cli.replay import replay, report, standing
from services.control.log import ControlLog
from services.imports.replay import Replayed, Sending, replay_file
from services.imports.wire_files import decoded_lines
from services.log.partition import partition_of
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from services.wire import events
from services.wire.bulk.games import plain
from services.wire.events import Event, GameEvent, ScoreEvent
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
    done = replay_file(settings, log, path, Sending("football"))
    first, second = written(log, "football")
    assert isinstance(first, GameEvent)
    assert (first.time, [(side.agents, side.place) for side in first.sides]) == (-86400.0, [(["Wales"], 1), (["Malta"], 2)])
    assert first.id != second.id
    assert [event.id for event in outcomes_of(path, "football", now=9.0).events] == [first.id, second.id]
    assert (done.counts.rows, done.sent, done.before) == (2, 2, 0)
    assert done.position == log.outcomes.end(partition_of("football", log.outcomes.partitions))


def test_columns_are_tags_of_the_outcomes(settings: Settings, log: Log, tmp_path: Path) -> None:
    head = HEAD.strip() + ",lang,map\n"
    rows = ["Ελληνικά,a", ",a", "en,", ",", f"{'x' * 65},b", "a\u200bb,b"]
    path = file(tmp_path, head + "".join(f"{ROW.strip()},{cells}\n" for cells in rows))
    options = ReadOptions(tags=(("language", "lang"), ("map", "map")))
    done = replay_file(settings, log, path, Sending("football", options, bad_rows="skip"))
    expected = [{"language": "Ελληνικά", "map": "a"}, {"map": "a"}, {"language": "en"}, UNSET]
    assert [one.tags for one in written(log, "football") if isinstance(one, GameEvent)] == expected
    assert [(error.row, error.rule[:20]) for error in done.counts.first] == [(6, "must be 1 to 64 byte"), (7, "must hold only chara")]
    assert done.counts.bad == 2


def test_a_tag_is_the_same_in_all_rows_of_a_game(settings: Settings, log: Log, tmp_path: Path) -> None:
    text = "game,agent,place,map\n1,a,1,x\n1,b,2,x\n2,a,1,x\n2,b,2,y\n3,a,1,\n3,b,1,\n"
    sending = Sending("races", ReadOptions(tags=(("map", "map"),)), bad_rows="skip")
    done = replay_file(settings, log, file(tmp_path, text), sending)
    assert [one.tags for one in written(log, "races") if isinstance(one, GameEvent)] == [{"map": "x"}, UNSET]
    assert [(error.row, error.rule) for error in done.counts.first] == [(5, "must be the same in all rows of a game")]


BAD_TAGS = [((("Map", "map"),), "lowercase"), ((("m", "map"), ("m", "x")), "once"), ((("m", "x"),), "column")]


@pytest.mark.parametrize(("tags", "rule"), BAD_TAGS)
def test_bad_tags_of_a_file_are_refused(settings: Settings, log: Log, tmp_path: Path, tags: Any, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        replay_file(settings, log, file(tmp_path, HEAD + ROW), Sending("football", ReadOptions(tags=tags)))


def test_a_finished_file_is_sent_again_only_when_asked(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW + ROW)
    first = replay_file(settings, log, path, Sending("football"))
    renamed = file(tmp_path, HEAD + ROW + ROW, "same-content.csv")
    second = replay_file(settings, log, renamed, Sending("football"))
    assert (second.sent, second.before, second.position) == (0, 2, first.position)
    again = replay_file(settings, log, path, Sending("football", again=True))
    assert (again.sent, again.before) == (2, 0)
    ids = [event.id for event in written(log, "football")]
    assert ids[:2] == ids[2:]
    assert replay_file(settings, log, path, Sending("other")).sent == 2


def test_a_replay_that_was_cut_off_goes_on(settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.imports.replay._CHUNK_BYTES", 1)
    monkeypatch.setattr("services.wire.bulk.writing.RECORD_ROWS", 10)
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
            replay_file(settings, log, path, Sending("p"))
    told: list[tuple[int, int | None]] = []
    done = replay_file(settings, log, path, Sending("p"), tell=lambda sent, total: told.append((sent, total)))
    assert (done.before, done.sent, told) == (20, 15, [(10, None), (20, None), (30, None), (35, None), (30, 35), (35, 35)])
    assert [event.sides[0].agents[0] for event in written(log, "p") if isinstance(event, GameEvent)] == [f"a{i}" for i in range(35)]


def test_records_share_an_append_up_to_its_size(settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.wire.bulk.writing.RECORD_ROWS", 10)
    path, append, appended = file(tmp_path, HEAD + ROW * 35), type(log.outcomes).append, []

    def counting(self: Any, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        appended.append([len(value) for _, value in records])
        return append(self, partition, records)

    monkeypatch.setattr(type(log.outcomes), "append", counting)
    replay_file(settings, log, path, Sending("p"))
    _pool, sizes = appended
    assert len(sizes) == 4
    monkeypatch.setattr("services.imports.replay._CHUNK_BYTES", sizes[0] + 1)
    done = replay_file(settings, log, path, Sending("p", again=True))
    assert appended[2:] == [sizes[:2], sizes[2:]]
    assert (done.sent, len(written(log, "p"))) == (35, 70)


def test_progress_is_the_end_of_the_last_record_that_was_sent(
    settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier replay can have ended within a record, which is then sent again as a whole."""
    path, append, told = file(tmp_path, HEAD + "".join(f"2026-01-01,a{i},b,1,0\n" for i in range(35))), type(log.outcomes).append, []

    def failing(self: Any, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        if told:
            raise LogError("the disk is full", retriable=True)
        return append(self, partition, records)

    with monkeypatch.context() as patched:
        patched.setattr("services.imports.replay._CHUNK_BYTES", 1)
        patched.setattr("services.wire.bulk.writing.RECORD_ROWS", 5)
        patched.setattr(type(log.outcomes), "append", failing)
        with pytest.raises(LogError):
            replay_file(settings, log, path, Sending("p"), tell=lambda sent, total: told.append(sent) if total else None)
    assert told == [5]
    monkeypatch.setattr("services.imports.replay._CHUNK_BYTES", 1)
    monkeypatch.setattr("services.wire.bulk.writing.RECORD_ROWS", 10)
    done = replay_file(settings, log, path, Sending("p"), tell=lambda sent, total: told.append(sent) if total else None)
    assert (done.before, done.sent, told) == (5, 30, [5, 10, 20, 30, 35])
    assert {event.sides[0].agents[0] for event in written(log, "p") if isinstance(event, GameEvent)} == {f"a{i}" for i in range(35)}


def test_scores_are_one_event_a_task(settings: Settings, log: Log) -> None:
    done = replay_file(settings, log, ATARI, Sending("atari"))
    found = written(log, "atari")
    assert (done.counts.rows, done.sent, len(found)) == (53, 53, 53)
    assert all(isinstance(event, ScoreEvent) and len(event.scores) == 20 for event in found)
    assert ControlLog(log.control).refresh().pools["atari"].kind is Kind.SCORES


def test_a_pool_of_the_other_kind_is_refused_before_anything_is_sent(settings: Settings, log: Log, tmp_path: Path) -> None:
    replay_file(settings, log, file(tmp_path, HEAD + ROW), Sending("p"))
    with pytest.raises(InputError, match="must be a pool of scores"):
        replay_file(settings, log, ATARI, Sending("p"))
    assert len(written(log, "p")) == 1


def test_every_row_is_accounted_for(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW + "2030-01-01,Wales,Malta,NA,NA\n" + "99999999999999,Wales,Malta,1,0\n")
    with pytest.raises(InputError, match=r"row 4: date '99999999999999' must be within"):
        replay_file(settings, log, path, Sending("p"))
    assert "p" not in ControlLog(log.control).refresh().pools
    done = replay_file(settings, log, path, Sending("p", bad_rows="skip"))
    assert (done.counts.rows, done.sent, done.counts.left_out) == (3, 1, {"no result (unplayed)": 1})
    assert [(one.row, one.column) for one in done.counts.first] == [(4, "date")]
    text = "\n".join(report(done))
    assert "3 rows, 1 outcome sent" in text
    assert "rows left out: 1, " in text
    assert "1 bad rows" in text
    assert "row 4: date" in text


def test_outcomes_get_ids_and_times_and_other_pools_are_refused(settings: Settings, log: Log, tmp_path: Path) -> None:
    bare = '{"v":1,"pool":"p","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
    other = bare.replace('"pool":"p"', '"pool":"q"')
    path = file(tmp_path, f"{bare}\n{bare}\n[{bare},{bare}]\n{other}\n7\n", "o.jsonl")
    done = replay_file(settings, log, path, Sending("p", at=5.0))
    found = written(log, "p")
    assert len({event.id for event in found}) == len(found) == 4
    assert {event.time for event in found} == {5.0}
    assert [(one.row, one.column) for one in done.counts.first] == [(4, "$.pool"), (5, "$")]


def test_retractions_alone_need_a_pool_that_exists(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, '{"v":1,"id":"r","pool":"p","time":0,"retracts":"x"}\n', "o.jsonl")
    with pytest.raises(InputError, match="must exist"):
        replay_file(settings, log, path, Sending("p"))
    replay_file(settings, log, file(tmp_path, HEAD + ROW), Sending("p"))
    assert replay_file(settings, log, path, Sending("p")).sent == 1


def test_kinds_without_outcomes_are_refused(settings: Settings, log: Log, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="solved offline"):
        replay_file(settings, log, file(tmp_path, "x,a,b\na,0,1\nb,-1,0\n"), Sending("p", ReadOptions(kind=FileKind.MARGINS)))


@pytest.mark.skipif(not FOOTBALL.is_file(), reason=f"football results are not in {SHARED} (set EQUIRANK_SHARED)")
def test_football_all_rows_become_outcomes() -> None:
    found = outcomes_of(FOOTBALL, "football", now=5.0)
    assert (found.counts.rows, len(found.events), found.counts.left_out, found.counts.bad) == (49_520, 49_520, {}, 0)
    assert stamp(found.events) == "cb918f748afb3df68ab79dcc2e0a2f6edab974662e45f468246f15e5faa6e1a3"
    assert len({event.id for event in found.events}) == 49_520
    assert sum(event.time < 0 for event in found.events) == 7_960
    taken = events.decode(events.encode_records(found.events))
    assert (taken.events, taken.refusals) == (found.events, [])


def stamp(found: list[Event]) -> str:
    return hashlib.sha256("".join(f"{event.id} {event.time}\n" for event in found).encode()).hexdigest()


BARE = '{"v":1,"pool":"p","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
BATTLE = '{"model_a":"x","model_b":"y","winner":"model_b","tstamp":1.5}'
IDS_OF_TODAY = {
    "b.jsonl": f'{BATTLE}\n{{"model_a":"x","model_b":"z","winner":"tie (bothbad)","tstamp":2,"u":"é"}}\n\n{BATTLE}\n',
    "b.csv": "model_a,model_b,winner,tstamp\nx,y,model_b,1.5\nx,z,tie (bothbad),7\nx,y,model_b,1.5\n",
    "a.json": '[{"model_a":"x","model_b":"y","winner":"model_b"}, {"model_a":"x","model_b":"z","winner":"tie"}]',
    "o.jsonl": f"{BARE}\n[{BARE},{BARE}]\n{BARE}\n",
    "s.csv": "task,a,b\nt,1,2\nu,3,\n",
    "g.pgn": '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n',
}
STAMPS = {
    "b.jsonl": "adf3f72a0599c93b280daaefee36c5c0b2ed55735e6b307c16a9f42af4c199f1",
    "b.csv": "52fd9646e8700ee28aa8a3460622e92fccba388e9e15d158f55e06cdf9cc4b0a",
    "a.json": "45ec03e199e4dd61e3fe74733ee6e50f23dfbcb824e28bb252d50deadbae8c57",
    "o.jsonl": "c8db43b5e646384f92894c24ae51f5833b75e23f0ec2679855fdcf2133e99665",
    "s.csv": "37ebf22fdd4e04dd0347e90f02fe398dd62002bcb2e482db3efb7d7c55799589",
    "g.pgn": "77bc4200038ea63235d3e73a0a1203ceba806c5b5581670af8ca25c3baf26873",
}


@pytest.mark.parametrize("name", IDS_OF_TODAY)
def test_ids_never_change(name: str, tmp_path: Path) -> None:
    """They decide whether a replay counts again."""
    assert stamp(outcomes_of(file(tmp_path, IDS_OF_TODAY[name], name), "p", now=5.0).events) == STAMPS[name]


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
    some = Replayed(Path("f.csv"), RowCounts(rows=5), sent=2, before=3, position=9)
    assert report(some) == ["f.csv: 5 rows, 2 outcomes sent, 3 others were sent by an earlier replay of this file"]
    none = replace(some, sent=0, before=5)
    told = "nothing sent: an earlier replay of this file sent its 5 outcomes (--again sends them again)"
    assert report(none) == [f"f.csv: 5 rows, {told}"]
    assert report(replace(some, counts=RowCounts(rows=1), sent=1, before=0)) == ["f.csv: 1 row, 1 outcome sent"]


def test_outcomes_are_sent_while_the_store_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing:
        def __init__(self) -> None:
            self.live, self.looks = self, 0

        def ping(self) -> None:
            self.looks += 1
            if self.looks > 1:
                raise StoreError("the store is gone", retriable=True)

        def head(self, pool: str) -> PoolHead:
            raise StoreError(f"the store loads and has no answer about {pool}", retriable=True)

        def close(self) -> None:
            pass

    store = Failing()
    monkeypatch.setattr("services.cli.replay.set_up_memory", lambda: None)
    monkeypatch.setattr("services.cli.installation.open_store", lambda *_: store)
    replay([file(tmp_path, HEAD + ROW)], pool="p", data=tmp_path / "data")
    assert "r.csv: 1 row, 1 outcome sent" in (told := capsys.readouterr().out)
    assert "the engine is not running: the outcomes are in the log" in told


def test_an_error_names_its_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("services.cli.replay.set_up_memory", lambda: None)
    for name, text, options in (("r.csv", HEAD + ROW, {"tag": ["language=lang"]}), ("gone.csv", None, {})):
        path = tmp_path / name if text is None else file(tmp_path, text, name)
        with pytest.raises(typer.Exit):
            replay([path], pool="p", data=tmp_path / "data", wait=False, **options)  # type: ignore[arg-type]
        told = capsys.readouterr().err
        assert told.startswith(f"equirank: {name}: ")
        assert f"{name}: {name}" not in told


def test_the_summary_says_what_became_of_the_outcomes_that_were_sent() -> None:
    head = head_of(position=7)
    counts = f"the pool counts {head.outcomes} outcomes of {head.agents} agents"
    assert standing(head, head.outcomes, None) == f"blitz: {head.outcomes} new; {counts}"
    assert standing(head, 0, head) == f"blitz: {counts}"
    assert standing(head_of(position=9, outcomes=7, duplicates=4), 4, head) == f"blitz: 0 new, 4 already counted; {counts}"
    mixed = standing(head_of(position=9, outcomes=9, conflicts=1, dead_letters=4), 6, head)
    assert mixed.startswith("blitz: 2 new, 1 repeat a counted id with another content and do not count, 3 refused (")


def test_the_summary_names_no_outcomes_as_sent_while_others_send() -> None:
    head, later = head_of(position=7), head_of(position=9, outcomes=7, duplicates=4)
    counts = f"blitz counts {head.outcomes} outcomes of {head.agents} agents"
    assert standing(head, 1, head) == counts
    assert standing(later, 3, head) == f"{counts}; since its generation began: 4 already counted"
    assert (
        standing(head_of(position=9, outcomes=7, duplicates=4, generation=2), 4, head)
        == f"{counts}; since its generation began: 4 already counted"
    )


def test_refused_outcomes_are_told_by_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.cli.replay.set_up_memory", lambda: None)
    path = file(tmp_path, HEAD + ROW + "99999999999999,Wales,Malta,1,0\n")
    with pytest.raises(typer.Exit) as caught:
        replay([path], "p", wait=False, data=tmp_path / "data")
    assert caught.value.exit_code == 1
    replay([file(tmp_path, HEAD + ROW, "sound.csv")], "p", wait=False, data=tmp_path / "data")


def test_outcomes_end_where_editors_end_their_lines(tmp_path: Path) -> None:
    line = '{"v":1,"pool":"p","time":1,"sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}],"meta":{"x":"1\u20282"}}'
    path = file(tmp_path, f"{line}\n\n{line}\n", "o.jsonl")
    found = outcomes_of(path, "p")
    assert (len(found.events), found.counts.bad) == (2, 0)
    with FileSource(path) as source:
        assert [event.pool for event in decoded_lines(source)] == ["p", "p"]


# streams


def test_a_broken_row_at_the_end_sends_nothing(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW * 6_000 + "1969-12-31,Wales,Malta,2\n")
    with pytest.raises(InputError, match="row 6002"):
        replay_file(settings, log, path, Sending("p"))
    assert "p" not in ControlLog(log.control).refresh().pools


def test_refused_rows_are_left_out_again_when_a_replay_goes_on(
    settings: Settings, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.imports.replay._CHUNK_BYTES", 1)
    monkeypatch.setattr("services.imports.sent_files._RECORD_OUTCOMES", 3)
    lines = [BARE if i % 3 else "7" for i in range(20)]
    path = file(tmp_path, "\n".join(lines), "o.jsonl")
    options = ReadOptions(kind=FileKind.OUTCOMES)
    stopped: list[int] = []

    def stop(sent: int, total: int | None) -> None:
        if total is not None:
            stopped.append(total)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_file(settings, log, path, Sending("p", options), tell=stop)
    told: list[tuple[int, int | None]] = []
    done = replay_file(settings, log, path, Sending("p", options), tell=lambda count, total: told.append((count, total)))
    assert (done.before, done.sent, stopped, done.counts.bad) == (3, 10, [13], 7)
    assert [one for one in told if one[1] is not None] == [(6, 13), (9, 13), (12, 13), (13, 13)]
    assert [event.id for event in written(log, "p")] == [event.id for event in outcomes_of(path, "p", options=options).events]


def test_a_file_that_changes_while_it_is_read_sends_nothing(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW * 3)

    def grow(sent: int, total: int | None) -> None:
        if total is None:
            with path.open("a") as opened:
                opened.write(ROW)

    with pytest.raises(InputError, match="must not change"):
        replay_file(settings, log, path, Sending("p"), tell=grow)
    assert "p" not in ControlLog(log.control).refresh().pools


def test_everything_that_determines_what_is_sent_is_in_the_key_of_the_journal(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + ROW * 4)
    assert replay_file(settings, log, path, Sending("p")).before == 0
    assert replay_file(settings, log, path, Sending("p")).before == 4
    swapped = ReadOptions(roles=Roles(first="away_team", second="home_team"))
    assert replay_file(settings, log, path, Sending("p", swapped)).before == 0
    tasked = ReadOptions(roles=Roles(task="date"))
    assert replay_file(settings, log, path, Sending("p", tasked)).before == 0, "its outcomes have tasks, which those sent before had not"
    assert {event.task for event in written(log, "p")[-4:] if isinstance(event, GameEvent)} == {"1969-12-31"}


def test_rows_become_records_of_columns_that_a_reader_takes_as_they_are(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + "".join(f"2026-01-01,a{i % 90},b{i % 7},{i % 3},1\n" for i in range(25_000)))
    done = replay_file(settings, log, path, Sending("p"))
    number = partition_of("p", log.outcomes.partitions)
    reader = log.outcomes.reader({number: 0})
    values = [record.value for record in reader.poll(0.0, 1000).get(number, [])]
    reader.close()
    streams = [plain(value) for value in values]
    assert [len(one.columns) for one in streams if one is not None] == [10_000, 10_000, 5_000]
    assert (done.sent, done.counts.rows) == (25_000, 25_000)


def test_games_can_be_sent_in_the_order_of_their_times(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = file(tmp_path, HEAD + "2026-01-02,a,b,1,0\n2026-01-01,b,a,1,0\n")
    replay_file(settings, log, path, Sending("p", by_time=True))
    assert [event.time for event in written(log, "p")] == [1767225600.0, 1767312000.0]


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
    done = replay_file(settings, log, path, Sending("p"))
    assert (done.counts.rows, done.sent, done.counts.left_out.total()) == (2, 1, 1)
    (event,) = written(log, "p")
    assert isinstance(event, GameEvent)
    assert [side.agents for side in event.sides] == [["a"], ["b"]]
    assert "rows left out: 1, " in "\n".join(report(done))


@pytest.mark.skipif(not FOOTBALL.is_file(), reason=f"football results are not in {SHARED} (set EQUIRANK_SHARED)")
def test_football_is_sent_once(settings: Settings, log: Log, tmp_path: Path) -> None:
    path, rows = tmp_path / "results.csv", 5_000
    with FOOTBALL.open() as file:
        path.write_text("".join(islice(file, 1 + rows)))
    first, again = (replay_file(settings, log, path, Sending("football")) for _ in range(2))
    assert (first.counts.rows, first.sent, first.before) == (rows, rows, 0)
    assert (again.sent, again.before, again.position) == (0, rows, first.position)
    assert len(written(log, "football")) == rows


def test_features_become_the_meta_of_games(settings: Settings, log: Log, tmp_path: Path) -> None:
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,winner,tstamp,len_a,len_b\nx,y,model_a,5,30,10\ny,z,tie,6,0,0\n")
    options = ReadOptions(features=tuple(Feature.parsed(text) for text in ("len_a~len_b", "len_a:len_b", "first-side")))
    replay_file(settings, log, path, Sending("arena", options))
    metas = [json.loads(bytes(event.meta)) for event in written(log, "arena")]  # type: ignore[arg-type]
    assert metas == [{"len_a~len_b": 0.5, "len_a:len_b": 20.0}, {"len_a~len_b": 0.0, "len_a:len_b": 0.0}]
    with pytest.raises(InputError, match="must be left out for scores"):
        replay_file(settings, log, ATARI, Sending("atari", options))
