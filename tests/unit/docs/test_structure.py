"""The figures that `scripts/structure` prints. No test limits sizes: a limit would only reward splitting."""

import runpy
from pathlib import Path

from tests.support.english import PHRASES

ROOT = Path(__file__).parents[3]
MODULE = '''"""What the shard mends."""

import os


class Held:
    """A record."""

    def first(self, text: str) -> str:
        """Return the first letter."""
        return text[0]
'''


def test_figures_are_those_of_the_files_and_phrases_have_places(tmp_path: Path) -> None:
    folder = tmp_path / "services" / "cli"
    folder.mkdir(parents=True)
    for name in ("one.py", "two.py"):
        (folder / name).write_text(MODULE)
    figures = runpy.run_path(str(ROOT / "scripts" / "structure"))["measure"](tmp_path, "services", PHRASES)
    assert (figures.files, figures.lines, figures.statements, figures.imports) == (2, 22, 8, 2)
    assert (figures.folders, figures.lengths) == ({"cli": 6}, [1, 1])
    assert (figures.classes, figures.functions, figures.circles) == ([], [], 0)
    assert figures.phrases == [f"services/cli/{name}: mends" for name in ("one.py", "two.py")]
