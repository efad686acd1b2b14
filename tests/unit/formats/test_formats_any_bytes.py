"""Every reader on any bytes: records, or a typed error that says where; never another exception, never a row that vanishes."""

import contextlib
import gzip
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
from ratings_core.formats.margins import read_margins
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.pgn import iter_games
from ratings_core.formats.profile import read_profile
from ratings_core.formats.reading import FileReading, read_table
from ratings_core.formats.source import FileSource
from ratings_core.formats.stream import unpacked
from ratings_core.formats.tables.block import Table
from ratings_core.formats.tables.csv_table import CsvTable
from ratings_core.formats.tables.json_table import json_table
from ratings_core.formats.tables.parquet_table import ParquetTable
from services.imports.sent_files import SentFile
from tests.support.files import part_of_file
from tests.support.loading import load

Reader = Callable[[bytes], Any]


def streamed(read: Callable[[io.BufferedReader], Iterator[Any]]) -> Reader:
    return lambda data: list(read(unpacked(io.BytesIO(data))))


def whole(read: Callable[[str], Any]) -> Reader:
    return lambda data: read(data.decode(errors="surrogateescape"))


def tabled(make: Callable[[io.BufferedReader], Table], kind: FileKind = FileKind.GAMES) -> Reader:
    """Read a table completely. Raises its first bad row, as programs do that want no bad rows."""

    def read(data: bytes) -> None:
        counts = RowCounts()
        parts = list(read_table(make(unpacked(io.BytesIO(data))), ReadOptions(), counts, kind, hashed=True))
        assert counts.rows == sum(map(len, parts)) + counts.left_out.total() + counts.bad
        if counts.first:
            raise counts.first[0]

    return read


def parquet() -> bytes:
    out = io.BytesIO()
    rows = [{"model_a": "x", "model_b": "y", "winner": "tie", "timestamp": None, "text": ["a", "b"]}] * 3
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


READERS: dict[str, Reader] = {
    "json": tabled(json_table),
    "csv": tabled(CsvTable),
    "parquet": tabled(ParquetTable),
    "pgn": streamed(iter_games),
    "contests": streamed(iter_contests),
    "scores": tabled(CsvTable, FileKind.SCORES),
    "margins": lambda data: read_margins(unpacked(io.BytesIO(data))),
    "profile": whole(read_profile),
}
SOUND: dict[str, bytes] = {
    "battles": b'{"model_a":"x","model_b":"y","winner":"tie (bothbad)","tstamp":1.5}\n{"model_a":"x","model_b":"z","winner":"tie"}\n',
    "array": b'[{"model_a":"x","model_b":"y","winner":"both_bad"},\n{"model_a":"x","model_b":"z","winner":"model_a","n":{"a":[1]}}]',
    "votes": b'{"tstamp":1,"type":"leftvote","models":["a","b"],"states":[{},{}]}\n{"tstamp":1,"type":"chat","model":"a"}\n',
    "battle rows": b"model_a,model_b,winner,tstamp\nx,y,model_b,1.5\nx,z,tie (bothbad),\n",
    "parquet": parquet(),
    "results": b"date,home_team,away_team,home_score,away_score\n2026-01-01,x,y,1,0\n2026-01-02,x,y,NA,NA\n",
    "pgn": b'[Event "x"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n[UTCDate "2017.04.01"]\n[UTCTime "10:00:00"]\n\n1. e4 {x} 1-0\n\n',
    "contests": b'{"name":"c","time_seconds":1,"weight":2,"standings":[["a",0,0],["b",1,2],["c",1,2]]}\n',
    "scores": b'task,dqn,"hu\nman"\npong,18.9,14.6\nbreakout,,31\n'.replace(b"\nman", b" man"),
    "margins": b"x,a,b\na,0,1\nb,-1,0\n",
    "profile": b"# DATA TYPE: toi\n# NUMBER VOTERS: 5\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n3: 1,2\n2: {1,2}\n",
}
SOUND |= {"gzip": gzip.compress(SOUND["results"]), "zstd": zstandard.compress(SOUND["pgn"])}
BROKEN_PIECES = [
    b"",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"NaN",
    b"Infinity",
    b"1e400",
    b'"',
    b"{",
    b"[",
    b"]",
    b",",
    b"\n\n",
    b"\xe9",
    b"9" * 4400,
]
BROKEN_PIECES += [
    b'"\\ud800"',
    b"-0",
    b"nan",
    b"1_0",
    b"\xe2\x80\xa8",
    b"[" * 2000,
    b"#",
    b":",
    b"*",
    b"?",
    b"null",
    b"true",
    b"\x1f\x8b",
    b"PK\x03\x04",
]


def read_or_refuse(read: Reader, data: bytes) -> None:
    with contextlib.suppress(InputError):
        read(data)


def mutated(data: bytes, seed: int) -> bytes:
    draw = random.Random(seed)
    for _ in range(draw.randrange(1, 4)):
        start = draw.randrange(len(data) + 1)
        data = data[:start] + draw.choice(BROKEN_PIECES) + data[start + draw.choice([0, 0, 1, 3, 20]) :]
    return data if draw.random() < 0.8 else data[: draw.randrange(len(data) + 1)]


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes(reader: str, data: bytes) -> None:
    read_or_refuse(READERS[reader], data)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("sound", SOUND)
def test_any_break_in_a_sound_file_of_any_kind(reader: str, sound: str) -> None:
    for seed in range(60):
        read_or_refuse(READERS[reader], mutated(SOUND[sound], seed))


@pytest.mark.parametrize("sound", SOUND)
def test_any_break_is_told_in_one_line_by_solve_and_replay(sound: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{'parquet' if sound == 'parquet' else 'x'}"
    for seed in range(25):
        path.write_bytes(mutated(SOUND[sound], seed))
        read_or_refuse(lambda _: load(path), b"")
        read_or_refuse(lambda _: accounted(path), b"")


def accounted(path: Path) -> None:
    """Every row of a file that is read to its end is an outcome, left out, or bad."""
    with FileSource(path) as source:
        file = SentFile(FileReading(source), "p", now=0.0)
        sent = sum(record.outcomes for record in file.records())
    assert file.counts.rows == sent + file.counts.left_out.total() + file.counts.bad


# what people do give


def outcomes_in(path: Path, **options: Any) -> int:
    part, _ = part_of_file(path, ReadOptions(**options))
    return 0 if part is None else len(part)


@pytest.mark.parametrize("kind", ["battles", "array", "votes", "battle rows", "results", "pgn", "contests"])
@pytest.mark.parametrize("change", ["bom", "crlf", "gzip", "zstd", "both"])
def test_marks_line_ends_and_packing_change_nothing(kind: str, change: str, tmp_path: Path) -> None:
    data = SOUND[kind]
    given = {
        "bom": b"\xef\xbb\xbf" + data,
        "crlf": data.replace(b"\n", b"\r\n"),
        "gzip": gzip.compress(data),
        "zstd": zstandard.compress(data),
        "both": gzip.compress(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")),
    }[change]
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_bytes(data)
    other.write_bytes(given)
    assert outcomes_in(other) == outcomes_in(plain) > 0


@pytest.mark.parametrize(("reader", "sound"), [("csv", "results"), ("pgn", "pgn"), ("contests", "contests"), ("scores", "scores")])
def test_latin_1_names_the_line(reader: str, sound: str) -> None:
    data = SOUND[sound]
    start = data.rfind(b"\n", 0, len(data) - 2)
    with pytest.raises(FormatError, match="UTF-8"):
        READERS[reader](data[: start + 1] + "é".encode("latin-1") + data[start + 1 :])


@pytest.mark.parametrize("reader", ["csv", "scores", "margins", "profile"])
def test_an_empty_file_is_an_error(reader: str) -> None:
    with pytest.raises(InputError):
        READERS[reader](b"")


def test_a_directory_a_missing_file_and_other_packings(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"PK\x03\x04rest")
    for path, words in ((tmp_path, "directory"), (tmp_path / "none", "No such file"), (tmp_path / "x.csv", "gzip or Zstandard")):
        with pytest.raises(InputError, match=words):
            load(path)


@pytest.mark.parametrize("cell", ["NAN", "inf", "-Infinity", "1e999", "0x1", "1_000", "2-1", "one"])
def test_scores_that_are_no_numbers(cell: str) -> None:
    with pytest.raises(FormatError, match=r"row 2, column 'away_score'"):
        READERS["csv"](f"date,home_team,away_team,home_score,away_score\n2026-01-01,x,y,1,{cell}\n".encode())


@pytest.mark.parametrize("depth", [50, *range(900, 1010, 5), 100_000])
@pytest.mark.parametrize("reader", ["json", "contests"])
def test_however_deep_an_item_nests(reader: str, depth: int) -> None:
    """What can be parsed may still be too deep to be written."""
    deep = b'{"x":' + b"[" * depth + b"]" * depth
    read_or_refuse(READERS[reader], deep + b',"model_a":"x","model_b":"y","winner":"tie"}')
    read_or_refuse(READERS[reader], deep + b',"standings":[["a",0,0],["b",1,1]]}')


def test_a_line_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.json_table.MAX_LINE_BYTES", 1 << 10)
    monkeypatch.setattr("ratings_core.formats.tables.json_table._PIECE", 1 << 5)
    with pytest.raises(FormatError, match="must be lines of at most"):
        READERS["json"](b'{"model_a":"x","model_b":"y","winner":"tie"}\n' + b" " * 2000)


@pytest.mark.parametrize("reader", ["csv", "scores"])
def test_a_row_of_a_table_has_a_largest_size(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.csv_table._BLOCK", 1 << 10)
    sound = {"csv": "results", "scores": "scores"}[reader]
    with pytest.raises(FormatError, match="must have rows of at most"):
        READERS[reader](SOUND[sound] + b'"' + b"a" * 5000)


def test_a_pipe_is_read_as_a_file(tmp_path: Path) -> None:
    import os  # noqa: PLC0415
    import threading  # noqa: PLC0415

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(SOUND["results"]))
    writer.start()
    assert load(path).left_out == {"no result (unplayed)": 1}
    writer.join()


def test_the_error_of_a_word_names_the_words_that_are_known() -> None:
    text = json.dumps({"model_a": "x", "model_b": "y", "winner": "draws"})
    with pytest.raises(
        FormatError, match=r"row 1, column 'winner' must name the winner, or be a word for a result such as .*--value, got 'draws'"
    ):
        READERS["json"](text.encode())
