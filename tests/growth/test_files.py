"""No file holds whoever reads it: `replay` and `solve` take time that grows as the file does."""

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ratings_core.errors import InputError
from ratings_core.formats.contests import iter_contests
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.margins import read_margins
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.pgn import iter_games
from ratings_core.formats.profile import read_profile
from ratings_core.formats.reading import FileReading, read_table
from ratings_core.formats.source import FileSource
from ratings_core.formats.stream import unpacked
from ratings_core.formats.tables.block import Table
from ratings_core.formats.tables.csv_table import CsvTable
from ratings_core.formats.tables.json_table import json_table
from services.imports.sent_files import SentFile
from tests.support.hostile import JSON_FAMILIES, fitting, growth

MOST = 1 << 18
"""Largest file. A reader that copies the rest of it for each byte takes seconds, twenty times what `growth` lets pass."""
_BATTLE = b'{"type":"leftvote","models":["%s","b"],"states":[]}'
_PGN = b'[White "A"]\n[Black "B"]\n[Result "1-0"]\n'
FAMILIES: dict[str, Callable[[int], bytes]] = {
    **{name: JSON_FAMILIES[name] for name in ("quotes", "escaped quotes in an open string", "open brackets", "empty objects", "zeros")},
    "digits in an array": lambda size: b"[" + b"9" * size,
    "columns": lambda size: b",".join(b"c%d" % i for i in range(size // 8)) + b"\n",
    "columns, two of one name": lambda size: b",".join([b"c", b"c", *(b"c%d" % i for i in range(size // 8))]) + b"\n1\n",
    "a short row of many columns": lambda size: b",".join(b"c%d" % i for i in range(size // 8)) + b"\n1,2\n",
    "empty rows": lambda size: b"task,a,b\n" + b"\n" * size,
    "rows that end with CR": lambda size: b"task,a,b\r" + b"x,1,2\r" * (size // 6),
    "quotes in cells": lambda size: b"task,a,b\n" + b'"' * size,
    "a cell of quotes": lambda size: b'task,a,b\n"' + b'""' * (size // 2) + b'",1,2\n',
    "a cell of digits": lambda size: b"task,a,b\nx,1," + b"9" * size + b"\n",
    "spaces after a shown name": lambda size: _BATTLE % (b"### Model: " + b" " * size + b"x"),
    "ends of headings after a shown name": lambda size: _BATTLE % (b"<h3>Model: " + b"</h3>" * (size // 5) + b"x"),
    "colons before a shown name": lambda size: _BATTLE % (b"### " + b": " * (size // 2)),
    "tags": lambda size: _PGN + b'[A "x"]\n' * (size // 8) + b"\n1-0\n",
    "open tags": lambda size: b'[White "' * (size // 8) + b"\n",
    "escapes in a tag": lambda size: b'[White "' + b'\\"' * (size // 2) + b'"]\n\n1-0\n',
    "comments": lambda size: _PGN + b"\n" + b"{" * size + b"\n1-0\n",
    "alternatives": lambda size: b"".join(b"# ALTERNATIVE NAME %d: a%d\n" % (i, i) for i in range(1, size // 30)) + b"1: 1,2\n",
    "open braces in a ballot": lambda size: b"# ALTERNATIVE NAME 1: a\n1: " + b"{" * size + b"\n",
    "commas in a ballot": lambda size: b"# ALTERNATIVE NAME 1: a\n1: " + b"1," * (size // 2) + b"\n",
    "spaces in a ballot": lambda size: b"# ALTERNATIVE NAME 1: a\n1" + b" " * size + b"x\n",
    "standings": lambda size: b'{"name":"c","standings":[' + b",".join(b'["a%d",%d,%d]' % (i, i, i) for i in range(size // 20)) + b"]}",
}


def streamed(read: Callable[[io.BufferedReader], Iterator[Any]]) -> Callable[[bytes], object]:
    return lambda data: [None for _ in read(unpacked(io.BytesIO(data)))]


def tabled(make: Callable[[io.BufferedReader], Table], kind: FileKind = FileKind.GAMES) -> Callable[[bytes], object]:
    return lambda data: [None for _ in read_table(make(unpacked(io.BytesIO(data))), PLAIN, RowCounts(), kind, hashed=True)]


READERS: dict[str, Callable[[bytes], object]] = {
    "json": tabled(json_table),
    "csv": tabled(CsvTable),
    "pgn": streamed(iter_games),
    "contests": streamed(iter_contests),
    "scores": tabled(CsvTable, FileKind.SCORES),
    "margins": lambda data: read_margins(unpacked(io.BytesIO(data))),
    "profile": lambda data: read_profile(unpacked(io.BytesIO(data))),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_reading_a_file_takes_time_linear_in_it(family: str, reader: str) -> None:
    def read(data: bytes) -> None:
        with suppress(InputError):
            READERS[reader](data)

    why = growth(FAMILIES[family], read, MOST)
    assert why is None, f"{reader} of {family}: {why}"


@pytest.mark.parametrize("family", JSON_FAMILIES)
def test_replaying_a_line_of_outcomes_takes_time_linear_in_it(family: str, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"

    def replay(data: bytes) -> None:
        path.write_bytes(b'{"v":1}\n' + data.replace(b"\n", b" ") + b"\n")
        with suppress(InputError), FileSource(path) as source:
            for _ in SentFile(FileReading(source, ReadOptions(kind=FileKind.OUTCOMES)), "p", now=0.0).records():
                pass

    why = growth(fitting(JSON_FAMILIES[family]), replay, MOST)
    assert why is None, f"{family}: {why}"
