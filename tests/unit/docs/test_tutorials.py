"""The tutorial notebooks run, and show what they print now (`scripts/tutorials` writes it)."""

import json
from pathlib import Path

import pytest

from tests.support.notebooks import executed

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def test_there_is_one_for_each_kind_of_user() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["arena", "platform", "researcher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_shows_what_its_cells_print(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem == "researcher":
        pytest.importorskip("pandas", reason="its games are a data frame of pandas")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for stored, now in zip(notebook["cells"], executed(notebook)["cells"], strict=True):
        assert stored == now, "".join(stored["source"])
