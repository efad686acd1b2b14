"""Files of outcomes as streams: memory that does not grow with the file, rows that are counted, options that change what is read."""

import gzip
import io
import json
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.formats.contests import iter_contests
from ratings_core.formats.errors import FormatError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parsed_games import chess_games, contest_games, parts_of
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.pgn import iter_games
from ratings_core.formats.reading import FileReading, read_table
from ratings_core.formats.roles import Roles
from ratings_core.formats.source import FileSource
from ratings_core.formats.stream import unpacked
from ratings_core.formats.tables.block import Table
from ratings_core.formats.tables.csv_table import CsvTable
from ratings_core.formats.tables.json_table import json_table
from services.cli.options import read_options
from services.imports.row_ids import RowIds
from services.imports.sent_files import SentFile
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
Read = Callable[[io.BufferedReader], int]


def tabled(make: Callable[[io.BufferedReader], Table], kind: FileKind = FileKind.GAMES) -> Read:
    return lambda stream: sum(len(part) for part in read_table(make(stream), PLAIN, RowCounts(), kind))


STREAMS: dict[str, tuple[Read, Callable[[int], Iterator[bytes]]]] = {
    "lines": (tabled(json_table), framed("", lambda i: battle(i) + "\n")),
    "array": (tabled(json_table), framed("[", lambda i: ("," if i else "") + battle(i), "]")),
    "raw log": (tabled(json_table), framed("", lambda i: vote(i) + "\n")),
    "csv": (tabled(CsvTable), framed("model_a,model_b,winner,text\n", lambda i: f'a{i},b,tie,"{TEXT}\n"\n')),
    "results": (tabled(CsvTable), framed("home_team,away_team,home_score,away_score,text\n", lambda i: f'a{i},b,1,2,"{TEXT}"\n')),
    "scores": (
        tabled(CsvTable, FileKind.SCORES),
        framed("task,a" + ",".join(f"b{i}" for i in range(200)) + "\n", lambda i: f"t{i}" + ",1" * 200 + "\n"),
    ),
    "pgn": (lambda stream: sum(map(len, parts_of(chess_games(iter_games(stream)), RowCounts(), hashed=False))), CHESS),
    "pgn.zst": (lambda stream: sum(map(len, parts_of(chess_games(iter_games(stream)), RowCounts(), hashed=False))), zst(CHESS)),
    "contests": (
        lambda stream: sum(map(len, parts_of(contest_games(iter_contests(stream)), RowCounts(), hashed=False))),
        framed("", lambda i: json.dumps({"name": TEXT, "standings": [["a", 0, 0], ["b", 1, 1]]}, indent=1)),
    ),
}


def peak(action: Callable[[], int]) -> tuple[int, int]:
    """(what `action` gives, most bytes that Python held meanwhile)."""
    tracemalloc.start()
    try:
        return action(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", STREAMS)
def test_memory_does_not_grow_with_the_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are made small, so that a short stream has many of them."""
    monkeypatch.setattr("ratings_core.formats.tables.csv_table._BLOCK", 1 << 13)
    monkeypatch.setattr("ratings_core.formats.tables.json_table._PIECE", 1 << 16)
    monkeypatch.setattr("ratings_core.formats.tables.json_table._ITEMS", 32)
    monkeypatch.setattr("ratings_core.formats.parsed_games._GAMES", 32)
    read, rows = STREAMS[name]

    def count(n: int) -> int:
        return read(unpacked(Repeated(rows(n))))  # type: ignore[arg-type]

    def held(n: int) -> int:
        before = pa.total_allocated_bytes()
        found, most = peak(lambda: count(n))
        assert found == n
        return most + pa.total_allocated_bytes() - before

    count(5)
    assert any(held(800) - held(300) < 1 << 19 for _ in range(3)), (
        f"memory grows with {500 * len(TEXT)} bytes"
    )  # other threads allocate, too


def test_a_file_of_outcomes_takes_some_bytes_a_row_and_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.json_table._PIECE", 1 << 16)
    path = tmp_path / "b.jsonl.gz"

    def count(n: int) -> int:
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.writelines(battle(i) + "\n" for i in range(n))
        with FileSource(path) as source:
            return sum(sent.outcomes for sent in SentFile(FileReading(source), "p", now=0.0).records())

    count(100)
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
    with FileSource(tmp_path / "b.parquet") as source:
        for _ in FileReading(source).parts(hashed=True):
            held = max(held, pa.total_allocated_bytes() - before)
    assert size > rows * len(TEXT)
    assert held < size / 4


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 60))
@settings(max_examples=50, deadline=None)
def test_equal_rows_have_different_ids_that_do_not_depend_on_parts(rows: list[int], cut: int) -> None:
    hashes = np.array([[row, row + 7] for row in rows], np.uint64).reshape(-1, 2)
    whole, parted = RowIds("games"), RowIds("games")
    ids = whole.ids(hashes).names()
    assert len(set(ids)) == len(ids)
    assert all(len(one) == 32 and set(one) <= set("0123456789abcdef") for one in ids)
    assert [*parted.ids(hashes[:cut]).names(), *parted.ids(hashes[cut:]).names()] == ids
    assert not set(RowIds("pgn").ids(hashes).names()) & set(ids)


def test_a_count_takes_bytes_for_different_rows_only() -> None:
    counted = RowIds("games")
    hashes = np.array([[i % 5_000, 0] for i in range(15_000)], np.uint64)
    assert len(set(counted.ids(hashes).names())) == 15_000
    assert counted._counts.nbytes < 15_000 * 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("home_team,away_team,home_score,away_score\na,b,1\n", r"league.csv must have .*: row 2: '3' must have 4 cells"),
        ('{"v":1,"pool":"p","sides":[]}\n{"v":1,"pool":"p","time":0,"retracts":"x"}\n', r"league.csv must have .*: row 1: \$.sides"),
        ("home_team,home_team\na,b\n", r"league.csv: row 1, column 'home_team' must be the header of only one column"),
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


# options


def test_columns_words_and_delimiter_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("when;White;Black;w;b\n2026-01-02;ann;bob;1;0\n")
    options = read_options(None, columns=["first=White", "second=Black", "first_score=w", "second_score=b", "time=when"], delimiter=";")
    (event,) = outcomes_of(path, "p", options=options).events
    assert [(side.agents, side.place) for side in event.sides] == [(["ann"], 1), (["bob"], 2)]  # type: ignore[union-attr]
    assert event.time == 1767312000.0


def test_texts_of_options_become_read_options() -> None:
    options = read_options(None, columns=["first=White", "time="], values=["tie=draw=", "first=W"], delimiter="\\t", where=["a=b=c"])
    assert options == ReadOptions(
        roles=Roles(first="White", time=""), values={"draw=": "tie", "W": "first"}, delimiter="\t", where=(("a", "b=c"),)
    )
    assert read_options(None) == PLAIN


@pytest.mark.parametrize(
    "given",
    [
        {"columns": ["first"]},
        {"columns": ["first="]},
        {"columns": ["home=x"]},
        {"columns": ["first=a", "first=b"]},
        {"values": ["won=x"]},
        {"values": ["first"]},
        {"where": ["=x"]},
        {"delimiter": ""},
        {"delimiter": ", "},
        {"delimiter": '"'},
    ],
)
def test_options_that_say_nothing_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_options(None, **given)


# other kinds


def test_contests_are_games_of_many_sides(tmp_path: Path) -> None:
    contest = {"name": "c", "time_seconds": 7, "weight": 0.5, "standings": [["a", 0, 0], ["b", 1, 2], ["c", 1, 2]]}
    many = {"standings": [[f"x{i}", i, i] for i in range(65)]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps([contest, many, contest]))
    sent = outcomes_of(path, "p")
    found, counts = sent.events, sent.counts
    assert [(event.time, event.weight, [side.place for side in event.sides]) for event in found] == [(7.0, 0.5, [0, 1, 1])] * 2  # type: ignore[union-attr]
    assert found[0].id != found[1].id
    assert (counts.rows, counts.bad) == (3, 1)
    assert (counts.first[0].row, counts.first[0].column) == (2, "standings")


def test_refused_rows_are_all_counted_and_some_kept(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    path.write_text("7\n" * 1_000)
    counts = outcomes_of(path, "p", options=ReadOptions(kind=FileKind.OUTCOMES)).counts
    assert (counts.rows, counts.bad, len(counts.first)) == (1_000, 1_000, 100)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("model_a;model_b;winner\na;b;tie\n", FileKind.GAMES),
        ("home_team;away_team;home_score;away_score\na;b;1;0\n", FileKind.GAMES),
        ("task;a;b\nt;1;0,5\n".replace(",", "."), FileKind.SCORES),
    ],
)
def test_another_delimiter_is_used_for_the_guess_too(text: str, kind: FileKind, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with FileSource(path) as source:
        assert FileReading(source, ReadOptions(delimiter=";")).kind == kind
    assert len(outcomes_of(path, "p", options=ReadOptions(delimiter=";")).events) == 1


def test_an_outcome_that_no_record_holds_is_refused_alone(tmp_path: Path) -> None:
    outcome = {"v": 1, "id": "s", "pool": "p", "time": 1, "task": "t", "scores": {"a": 1}}
    long = outcome | {"scores": {f"{number:x}": 1 for number in range(95_000)}}
    (tmp_path / "f.jsonl").write_text("\n".join(json.dumps(one, separators=(",", ":")) for one in (outcome, long, outcome)))
    found = outcomes_of(tmp_path / "f.jsonl", "p")
    assert len(found.events) == 2
    assert [one.row for one in found.counts.first] == [2]
