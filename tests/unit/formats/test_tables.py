"""Cells of tables: texts, numbers and hashes of rows do not depend on neighbours, on the kind of the file, or on rows that do not count."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.arrays.arena import pack
from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.reading import FileReading, read_table
from ratings_core.formats.source import FileSource
from ratings_core.formats.tables.block import Block, FrameTable
from ratings_core.formats.tables.cells import Cells
from ratings_core.formats.tables.csv_table import CsvTable
from ratings_core.formats.tables.json_table import JsonLines, json_table
from ratings_core.formats.tables.numbers import Numbers
from ratings_core.formats.tables.parquet_table import ParquetTable
from ratings_core.formats.tables.row_hashes import row_hashes
from ratings_core.front.slices import Slices
from tests.support.files import part_of_file, rows_of, stream_of

SMALL = 1 << 7
"""Bytes of a block, so that short files have several."""


def cells_of(**columns: Any) -> Cells:
    batch = pa.RecordBatch.from_pydict(columns)
    return Cells(Block(batch, np.arange(1, len(batch) + 1)))


def read(tmp_path: Path, text: str, name: str = "t.csv", **options: Any) -> tuple[list[Any], RowCounts]:
    (tmp_path / name).write_bytes(text.encode())
    part, counts = part_of_file(tmp_path / name, ReadOptions(**options))
    return rows_of(part), counts


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.formats.tables.csv_table._BLOCK", SMALL)
    monkeypatch.setattr("ratings_core.formats.tables.json_table._PIECE", SMALL)


# texts


@pytest.mark.parametrize(("index", "size"), [(pa.int8(), 128), (pa.uint8(), 256), (pa.uint16(), 1 << 16), (pa.int64(), 2)])
def test_dictionaries_with_any_index_are_read(index: Any, size: int) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([size - 1, None, 0], index), pa.array([f"t{i}" for i in range(size)]))
    assert cells_of(x=column).coded("x").names() == [f"t{size - 1}", "", "t0"]


def test_texts_that_no_row_has_are_not_read() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int32()), pa.array(["a", "2", "0"]))
    assert cells_of(x=column).coded("x").texts.names() == ["0", "a"]
    games = pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"], "result": pd.Categorical(["1", "0"], categories=["0", "1", "2"])})
    assert sum(map(len, read_table(FrameTable(pa.Table.from_pandas(games)), ReadOptions(), RowCounts()))) == 2


def test_a_slice_is_one_slice_after_cells_are_trimmed_and_parts_are_joined(tmp_path: Path, small_blocks: None) -> None:
    rows = [("x", "a", "b"), (" x", "b", "a"), ("", "a", "c"), (" ", "c", "a")] * 10
    (tmp_path / "t.csv").write_text("cup,first,second,result\n" + "".join(f"{cup},{a},{b},1\n" for cup, a, b in rows))
    part, _ = part_of_file(tmp_path / "t.csv", ReadOptions(slice_by="cup", trim=True))
    assert part is not None
    slices = Slices[list[int]](list)
    found = [(own, len(some)) for own, some in slices.parts(part)]
    assert [size for _, size in found] == [20, 20]
    assert [value for value, _ in slices.sorted()] == ["", "x"]


def test_a_number_of_json_has_one_text_whatever_is_beside_it() -> None:
    alone = [1.0, 2.5, 1e15, 1e-7, 1, True]
    beside = json_table(stream_of("".join(json.dumps({"x": cell}) + "\n" for cell in [*alone, "ann", None, [1]])))
    (block,) = beside.blocks(["x"])
    texts = block.rows.column(0).to_pylist()
    for cell, text in zip(alone, texts, strict=False):
        (own,) = json_table(stream_of(json.dumps({"x": cell}) + "\n")).blocks(["x"])
        assert Cells(own).coded("x").names() == [text]
    assert texts[len(alone) :] == ["ann", None, "[1]"]


# headers


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([["a"], ["b"], ["a"], ["c"]], names=["first", "second", "winner", "winner"])
    pq.write_table(table, tmp_path / "t.parquet")
    twice: list[Callable[[], Any]] = [
        lambda: FrameTable(table),
        lambda: ParquetTable(stream_of((tmp_path / "t.parquet").read_bytes())),
        lambda: CsvTable(stream_of("first,second,winner,winner\n")),
    ]
    for call in twice:
        with pytest.raises(InputError, match=r"'winner'.*must be the header of only one column"):
            call()


# hashes of rows


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_hashes_of_rows_cover_bytes(kind: Any) -> None:
    cells = [b"\xff\x00", b"\xff\x01", None, b"\xff\x00"]
    hashes = row_hashes(pa.RecordBatch.from_pydict({"x": pa.array(cells, kind)}))
    assert len({one.tobytes() for one in hashes}) == 3
    np.testing.assert_array_equal(hashes[0], hashes[3])
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(cells[:2], kind))
    np.testing.assert_array_equal(row_hashes(pa.RecordBatch.from_pydict({"x": coded})), hashes[:2])


# lines of JSON


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_end_in_lf_cr_lf_or_cr(tmp_path: Path, end: str, *, last: bool) -> None:
    lines = [json.dumps({"winner": f"a{i}", "loser": "b"}) for i in range(3)]
    games, counts = read(tmp_path, end.join(lines) + (end if last else "\n"), "t.jsonl")
    assert [agents for _, agents, _ in games] == [("a0", "b"), ("a1", "b"), ("a2", "b")]
    assert not counts.bad
    if end in ("\r", "\r\n"):
        assert [row for row, *_ in games] == [1, 2, 3]


@pytest.mark.parametrize("between", ["", " ", "\t", "   "])
@pytest.mark.parametrize("before", ["", "\n", '{"winner":"p",\n"loser":"q"}\n'])
def test_a_line_of_two_objects_is_a_bad_row(between: str, before: str) -> None:
    one, two = '{"winner":"a","loser":"b"}', '{"winner":"c","loser":"d"}'
    table = JsonLines(stream_of(f"{one}\n{before}{one}{between}{two}\n{two}\n"))
    blocks = list(table.blocks(["winner", "loser"]))
    line = 2 + before.count("\n")
    assert [row for block in blocks for row in block.numbers.tolist()] == [1, line + 1]
    assert [error.row for block in blocks for error in block.bad][-1] == line


def test_braces_in_a_text_are_no_second_object() -> None:
    (block,) = JsonLines(stream_of('{"winner":"a} {","loser":"b"}\n')).blocks(["winner", "loser"])
    assert (block.rows.to_pylist(), block.bad) == ([{"winner": "a} {", "loser": "b"}], [])


# decimal marks


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,5", "1,234", "-2"], [1.5, 1.234, -2]),
        (["0,234", "1,234"], [0.234, 1.234]),
        (["1,234,567", "1,234"], [1234567, 1234]),
        (["1,234.5", "1,234"], [1234.5, 1234]),
        (["0.5", "1,234"], [0.5, 1234]),
        (["1.234,5", "1,234"], [1234.5, 1.234]),
        (["1.234.567", "1,234"], [1234567, 1.234]),
        (["1234,567", " 1,234 "], [1234.567, 1.234]),
        (["1.234", "12.345"], [1.234, 12.345]),
        (["7", "x", "a,b", ""], [7, np.nan, np.nan, np.nan]),
        (["1,5", "1,2,3"], None),
        (["1,5", "0.5"], None),
        (["1,234", "5,678"], None),
        (["1,5", "1,234,567"], None),
    ],
)
def test_the_decimal_mark_of_a_column_is_what_its_texts_show(texts: list[str], values: list[float] | None) -> None:
    numbers = Numbers(texts_of=lambda _: iter([[text] for text in texts]))
    blocks = [pack([text]) for text in texts]
    if values is None:
        with pytest.raises(InputError, match=r"say it with --decimal , or --decimal \."):
            _ = [numbers.read("x", block) for block in blocks]
    else:
        np.testing.assert_array_equal(np.concatenate([numbers.read("x", block) for block in blocks]), values)
        np.testing.assert_array_equal(Numbers(texts_of=lambda _: ()).read("x", pack(texts)), values)


@pytest.mark.parametrize(
    ("mark", "values"),
    [
        (",", [1.234, 1.5, 1234, np.nan, 1234.5]),
        (".", [1234, np.nan, 1.234, 0.5, np.nan]),
        (None, [np.nan, np.nan, 1.234, 0.5, np.nan]),
    ],
)
def test_the_decimal_mark_that_the_caller_names_holds(mark: str | None, values: list[float]) -> None:
    np.testing.assert_array_equal(Numbers(mark).read("x", pack(["1,234", "1,5", "1.234", "0.5", "1.234,5"])), values)


SCORED = "home;away;home_score;away_score;cup\n"


def test_a_later_block_can_show_the_decimal_mark(tmp_path: Path, small_blocks: None) -> None:
    rows = "a;b;1,234;7;x\n" * 40
    games, _ = read(tmp_path, SCORED + rows + "a;b;1,5;7;x\n")
    assert {places for *_, places in games} == {(2, 1)}
    games, _ = read(tmp_path, SCORED + rows + "a;b;1,234,567;7;x\n")
    assert {places for *_, places in games} == {(1, 2)}
    with pytest.raises(InputError, match=r"column 'home_score' .*--decimal , or --decimal \..*'1,234'"):
        read(tmp_path, SCORED + rows)
    assert {places for *_, places in read(tmp_path, SCORED + rows, decimal=",")[0]} == {(2, 1)}


def test_rows_that_are_not_chosen_do_not_show_the_decimal_mark(tmp_path: Path, small_blocks: None) -> None:
    text = SCORED + "a;b;1,234;7;x\n" * 40 + "a;b;1,5;7;y\n"
    with pytest.raises(InputError, match="--decimal"):
        read(tmp_path, text, where=(("cup", "x"),))


def test_a_table_of_scores_has_one_decimal_mark(tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "task;a;b\n" + "".join(f"t{i};1,234;5,678\n" for i in range(40)) + "u;0,5;7\n"
    (tmp_path / "s.csv").write_text(text)
    opened, table = list[int](), FileReading.table
    monkeypatch.setattr(FileReading, "table", lambda self: opened.append(1) or table(self))
    with FileSource(tmp_path / "s.csv") as source:
        scores = FileReading(source, ReadOptions(kind=FileKind.SCORES)).score_table(RowCounts()).scores
    assert scores[:, [0, -1]].tolist() == [[1.234, 0.5], [5.678, 7]]
    assert len(opened) == 2
    for other in (text.replace("u;0,5", "u;1"), text.replace("u;0,5;7", "u;0,5;0.5")):
        with pytest.raises(InputError, match="--decimal"):
            read(tmp_path, other, "s.csv", kind=FileKind.SCORES)
    assert read(tmp_path, text, "s.csv", kind=FileKind.SCORES, decimal=".")[0][0][2] == {"a": 1234, "b": 5678}
