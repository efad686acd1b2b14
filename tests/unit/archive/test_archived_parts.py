"""Parts of an archive: whole records, in order, and none takes names of two files where that can be avoided."""

import numpy as np
import pytest

from services.archive import records
from services.archive.reader import open_reader
from services.archive.records import parts
from tests.support.archive import fill, mixed


@pytest.mark.parametrize(("rows", "most"), [(1, 1), (7, 7), (100, 70), (150, 140), (1000, 300)])
def test_parts_are_the_log_in_whole_records(url: str, monkeypatch: pytest.MonkeyPatch, rows: int, most: int) -> None:
    log = mixed(3, 300)
    fill(url, log, 70)
    monkeypatch.setattr(records, "_ROWS", rows)
    read = list(parts(open_reader(url, 0), 0))
    assert [offset for part in read for offset in part.offset.tolist()] == [record.offset for record in log]
    longest = max(len(record) for part in read for record in np.split(part.rows["offset"].to_numpy(), part.start[1:-1]))
    assert max(len(part.rows) for part in read) < rows + longest
    assert max(len(part) for part in read) <= most


def test_parts_end_with_the_names_of_a_file(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(url, [record for record in mixed(3, 300) if not record.value.startswith(b"[")], 70)
    monkeypatch.setattr(records, "_ROWS", 100)
    assert all(part.rows["agents"].num_chunks == 1 for part in parts(open_reader(url, 0), 0))
