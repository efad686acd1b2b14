from dataclasses import replace
from pathlib import Path

import pytest

from services.archive import compaction, erasure, pieces, reader, schema, writer


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "archive").as_uri()


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of 256 rows, row groups of 30 and pieces of 40, so that few rows fill several."""
    whole = schema.layout()
    for module in (compaction, erasure, writer):
        monkeypatch.setattr(module, "layout", lambda: replace(whole, max_row_group_size=30))
    monkeypatch.setattr(pieces, "_ROWS", 40)
    for module in (reader, writer):
        monkeypatch.setattr(module, "SEGMENT_ROWS", 256)
