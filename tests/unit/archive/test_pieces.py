"""Pieces of a segment's files have each row once and come in the order of rows, however the files are cut."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.dataset import FileSystemDataset, dataset

from services.archive import pieces as module
from services.archive.pieces import Piece, pieces

BEGIN, END = 1000, 2000


def write(folder: Path, files: list[list[int]], group: int, *, statistics: bool = True) -> FileSystemDataset:
    """One file for each list of row numbers, in row groups of `group` rows."""
    for number, rows in enumerate(files):
        table = pa.table({"row": np.array(rows, np.int64)})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=group, write_statistics=statistics)
    return dataset(folder, schema=pa.schema([pa.field("row", pa.int64())]))


def divided(data: FileSystemDataset) -> list[Piece]:
    return pieces(data.get_fragments(), BEGIN, END)


def rows_of(data: FileSystemDataset, piece: Piece) -> list[int]:
    read = FileSystemDataset(piece.groups, data.schema, data.format, data.filesystem)
    return sorted(read.to_table()["row"].to_pylist())


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 8)


@given(
    count=st.integers(1, 60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    order=st.randoms(use_true_random=False),
    group=st.integers(1, 30),
    statistics=st.booleans(),
)
def test_each_row_is_in_one_piece(tmp_path_factory, count, cuts, order, group, statistics):
    """The first file has two runs, as after a compaction."""
    bounds = sorted({0, count, *(cut for cut in cuts if cut < count)})
    runs = [list(range(BEGIN + first, BEGIN + last)) for first, last in pairwise(bounds)]
    order.shuffle(runs)
    files = [[row for run in runs[:2] for row in run], *runs[2:]]
    data = write(tmp_path_factory.mktemp("files"), files, group, statistics=statistics)
    found = divided(data)
    read = [rows_of(data, piece) for piece in found]
    assert [row for rows in read for row in rows] == list(range(BEGIN, BEGIN + count))
    for piece, rows in zip(found, read, strict=True):
        assert piece.begin <= rows[0]
        assert rows[-1] < piece.end


def test_row_groups_of_a_file_are_pieces(tmp_path):
    found = divided(write(tmp_path, [list(range(1000, 1030))], 10))
    assert [(piece.begin, piece.end, len(piece.groups)) for piece in found] == [(1000, 1010, 1), (1010, 1020, 1), (1020, 1030, 1)]


def test_short_files_are_joined(tmp_path):
    found = divided(write(tmp_path, [[1006, 1007], [1000, 1001, 1002], [1003, 1004, 1005], [1008]], 10))
    assert [(piece.begin, piece.end, len(piece.groups)) for piece in found] == [(1000, 1008, 3), (1008, 1009, 1)]


def test_row_groups_that_overlap_are_one_piece(tmp_path):
    merged = [*range(1020, 1030), *range(1000, 1020)]
    found = divided(write(tmp_path, [merged, list(range(1030, 1040))], 15))
    assert [(piece.begin, piece.end, len(piece.groups)) for piece in found] == [(1000, 1030, 2), (1030, 1040, 1)]


def test_without_statistics_the_segment_is_one_piece(tmp_path):
    found = divided(write(tmp_path, [list(range(1000, 1030))], 10, statistics=False))
    assert [(piece.begin, piece.end, len(piece.groups)) for piece in found] == [(BEGIN, END, 3)]


def test_a_segment_without_files_has_no_piece():
    assert pieces([], BEGIN, END) == []
