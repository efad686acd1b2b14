"""Counted phrases of the code, by the figures that `scripts/structure` prints. Sizes have no limit: a limit would only reward splitting."""

import runpy
from pathlib import Path

import pytest

from tests.support.english import PHRASES

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("package", ["services", "ratings_core"])
def test_the_code_has_none_of_the_counted_phrases(package: str) -> None:
    figures = runpy.run_path(str(ROOT / "scripts" / "structure"))["measure"](ROOT, package, PHRASES)
    assert figures.files > 100
    assert figures.phrases == []
