from pathlib import Path

import pytest

from services.archive import chain, erasure, reader, writer


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "archive").as_uri()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 rows and segments of 256, so that few rows fill several."""
    for module in (chain, reader):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    for module in (erasure, reader, writer):
        monkeypatch.setattr(module, "SEGMENT_ROWS", 256)
