"""Files of outcomes as streams: memory that does not grow with the file, rows that are counted, options that change what is read."""

import gzip
import io
import json
import pickle
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.formats import (
    FileKind,
    FormatError,
    ResultColumns,
    iter_battles,
    iter_contests,
    iter_games,
    iter_results,
    iter_scores,
    unpacked,
)
from services.cli.options import file_options
from services.imports.files import Account, FileOptions, OutcomeFile
from services.imports.row_counter import RowCounter, key_of
from services.imports.sources import Source
from services.wire.events import Reason
from tests.support.files import outcomes_of
from tests.support.loading import load

TEXT = "lorem ipsum " * 160


class Repeated(io.RawIOBase):
    """A file of any length that is nowhere: a beginning, then rows made as they are read, then an end."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        super().__init__()
        self._rows, self._left = rows, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while len(self._left) < size and (row := next(self._rows, None)) is not None:
            self._left += row
        piece, self._left = self._left[:size], self._left[size:]
        return piece


def battle(i: int) -> str:
    return json.dumps({"model_a": f"m{i % 50}", "model_b": f"n{i % 49}", "winner": "tie", "tstamp": i, "text": TEXT})


def framed(first: str, row: Callable[[int], str], last: str = "") -> Callable[[int], Iterator[bytes]]:
    def rows(count: int) -> Iterator[bytes]:
        yield first.encode()
        for i in range(count):
            yield row(i).encode()
        yield last.encode()

    return rows


def zst(plain: Callable[[int], Iterator[bytes]]) -> Callable[[int], Iterator[bytes]]:
    def rows(count: int) -> Iterator[bytes]:
        packer = zstandard.ZstdCompressor().compressobj()
        for row in plain(count):
            yield packer.compress(row)
        yield packer.flush()

    return rows


def vote(i: int) -> str:
    states = [{"model_name": f"m{i % 50}", "messages": [["user", TEXT]]}, {"model_name": f"n{i % 49}"}]
    return json.dumps({"tstamp": i, "type": "leftvote", "models": ["", ""], "states": states})


CHESS = framed("", lambda i: f'[White "a{i}"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 {{{TEXT}}} 1-0\n\n')
STREAMS = {
    "lines": (iter_battles, framed("", lambda i: battle(i) + "\n")),
    "array": (iter_battles, framed("[", lambda i: ("," if i else "") + battle(i), "]")),
    "raw log": (iter_battles, framed("", lambda i: vote(i) + "\n")),
    "csv": (iter_battles, framed("model_a,model_b,winner,text\n", lambda i: f'a{i},b,tie,"{TEXT}\n"\n')),
    "results": (iter_results, framed("home_team,away_team,home_score,away_score,text\n", lambda i: f'a{i},b,1,2,"{TEXT}"\n')),
    "scores": (iter_scores, framed("task,a" + ",".join(f"b{i}" for i in range(200)) + "\n", lambda i: f"t{i}" + ",1" * 200 + "\n")),
    "pgn": (iter_games, CHESS),
    "pgn.zst": (iter_games, zst(CHESS)),
    "contests": (iter_contests, framed("", lambda i: json.dumps({"name": TEXT, "standings": [["a", 0, 0], ["b", 1, 1]]}, indent=1))),
}


def peak(action: Callable[[], int]) -> tuple[int, int]:
    """(what `action` gives, most bytes that Python held meanwhile)."""
    tracemalloc.start()
    try:
        return action(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", STREAMS)
def test_memory_does_not_grow_with_the_stream(name: str) -> None:
    read, rows = STREAMS[name]

    def count(n: int) -> int:
        return sum(1 for _ in read(unpacked(Repeated(rows(n)))))  # type: ignore[arg-type, operator]

    def held(n: int) -> int:
        found, most = peak(lambda: count(n))
        assert found == n
        return most

    count(5)
    assert any(held(1_200) - held(200) < 1 << 19 for _ in range(3)), (
        f"memory grows with {1_000 * len(TEXT)} bytes"
    )  # other threads allocate, too


def test_a_file_of_outcomes_takes_some_bytes_a_row_and_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.imports.files._BATCH", 200)
    path = tmp_path / "b.jsonl.gz"

    def count(n: int) -> int:
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.writelines(battle(i) + "\n" for i in range(n))
        with Source(path) as source:
            return sum(map(len, OutcomeFile(source, "p", now=0.0).accepted(Account())))

    peaks = [peak(lambda n=n: count(n)) for n in (1_000, 3_000)]  # type: ignore[misc]
    assert [found for found, _ in peaks] == [1_000, 3_000]
    assert peaks[1][1] - peaks[0][1] < 2_000 * 200 < 2_000 * len(TEXT) / 9


def test_row_groups_of_parquet_are_read_in_pieces(tmp_path: Path) -> None:
    rows = 3_000
    table = pa.Table.from_pylist([json.loads(battle(i)) for i in range(rows)])
    pages = {"data_page_size": 1 << 16, "write_batch_size": 32, "row_group_size": rows, "use_dictionary": False}
    pq.write_table(table, tmp_path / "b.parquet", compression="none", **pages)
    size, held = (tmp_path / "b.parquet").stat().st_size, 0
    del table
    before = pa.total_allocated_bytes()
    with (tmp_path / "b.parquet").open("rb") as file:
        for _ in iter_battles(unpacked(file)):
            held = max(held, pa.total_allocated_bytes() - before)
    assert size > rows * len(TEXT)
    assert held < size / 4


@given(st.lists(st.text(max_size=2), max_size=60))
@settings(max_examples=50, deadline=None)
def test_occurrences_are_counted(texts: list[str]) -> None:
    counted, seen = RowCounter(), Counter[str]()
    for text in texts:
        seen[text] += 1
        assert counted.number_of(key_of(text)) == seen[text]


def test_a_count_takes_bytes_for_different_rows_only() -> None:
    counted = RowCounter()
    assert [counted.number_of(key_of(str(i % 5_000))) for i in range(15_000)][::5_000] == [1, 2, 3]
    assert counted._counts.nbytes < 5_000 * 60
    assert counted.number_of(key_of("\ud800")) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("home_team,away_team,home_score,away_score\na,b,1\n", r"league.csv: row 2 must have 4 cells"),
        ('{"v":1,"pool":"p","sides":[]}\n{"v":1,"pool":"p","time":0,"retracts":"x"}\n', r"league.csv must have .*: line 1: \$.sides"),
        ("\x1f\x8b", "file must be readable to its end"),
    ],
)
def test_errors_name_the_file(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "league.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=words) as caught:
        load(path)
    if isinstance(caught.value, FormatError):
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - our own


# tables of results with columns of their own


def test_columns_and_delimiter_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("when;White;Black;w;b\n2026-01-02;ann;bob;1;0\n")
    options = file_options(None, "skip", ["first=White", "second=Black", "first_score=w", "second_score=b", "time=when"], ";")
    (event,) = outcomes_of(path, "p", options=options).events
    assert [(side.agents, side.place) for side in event.sides] == [(["ann"], 1), (["bob"], 2)]  # type: ignore[union-attr]
    assert event.time == 1767312000.0


def test_columns_not_named_keep_their_names() -> None:
    options = file_options(None, "skip", ["first=White"], ",", 5.0)
    assert options == FileOptions(FileKind.RESULTS, "skip", ResultColumns("White", time=None), ",", 5.0)
    assert file_options(None, "refuse", None, "\t") == FileOptions(None, "refuse", None, "\t")


@pytest.mark.parametrize(
    ("columns", "delimiter", "kind"),
    [
        (["first"], ",", None),
        (["first="], ",", None),
        (["home=x"], ",", None),
        (["first=a", "first=b"], ",", None),
        (["first=a"], ",", FileKind.BATTLES),
        (None, "", None),
        (None, ", ", None),
        (None, '"', None),
    ],
)
def test_options_that_say_nothing_are_refused(columns: list[str] | None, delimiter: str, kind: FileKind | None) -> None:
    with pytest.raises(InputError):
        file_options(kind, "skip", columns, delimiter)


# other kinds


def test_contests_are_games_of_many_sides(tmp_path: Path) -> None:
    contest = {"name": "c", "time_seconds": 7, "weight": 0.5, "standings": [["a", 0, 0], ["b", 1, 2], ["c", 1, 2]]}
    many = {"standings": [[f"x{i}", i, i] for i in range(65)]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps([contest, many, contest]))
    account = Account()
    with Source(path) as source:
        found = [event for batch in OutcomeFile(source, "p", now=0.0).accepted(account) for event in batch]
    assert [(event.time, event.weight, [side.place for side in event.sides]) for event in found] == [(7.0, 0.5, [0, 1, 1])] * 2  # type: ignore[union-attr]
    assert found[0].id != found[1].id
    assert (account.rows, dict(account.refused)) == (3, {"bad_field": 1})
    assert (account.first[0].line, account.first[0].path) == (2, "$.sides")


def test_refused_rows_are_all_counted_and_some_kept(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_text("7\n" * 1_000)
    found = outcomes_of(path, "p", options=FileOptions(FileKind.OUTCOMES)).account
    assert (found.rows, found.refused.total(), len(found.first)) == (1_000, 1_000, 100)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("model_a;model_b;winner\na;b;tie\n", FileKind.BATTLES),
        ("home_team;away_team;home_score;away_score\na;b;1;0\n", FileKind.RESULTS),
        ("task;a;b\nt;1;0,5\n".replace(",", "."), FileKind.SCORES),
    ],
)
def test_another_delimiter_is_used_for_the_guess_too(text: str, kind: FileKind, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with Source(path) as source:
        assert source.kind(delimiter=";") == kind
    assert len(outcomes_of(path, "p", options=FileOptions(delimiter=";")).events) == 1


def test_a_delimiter_for_what_is_no_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.pgn"
    path.write_text("")
    with pytest.raises(InputError, match="must be left out for pgn"):
        outcomes_of(path, "p", options=FileOptions(delimiter=";"))


def test_an_outcome_that_no_record_holds_is_refused_alone(tmp_path: Path) -> None:
    outcome = {"v": 1, "id": "s", "pool": "p", "time": 1, "task": "t", "scores": {"a": 1}}
    long = outcome | {"scores": {f"{number:x}": 1 for number in range(95_000)}}
    (tmp_path / "f.jsonl").write_text("\n".join(json.dumps(one, separators=(",", ":")) for one in (outcome, long, outcome)))
    found = outcomes_of(tmp_path / "f.jsonl", "p")
    assert len(found.events) == 2
    assert [(one.line, one.reason) for one in found.account.first] == [(2, Reason.TOO_LARGE)]
