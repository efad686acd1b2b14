"""Limits of the code's structure, by the figures that `scripts/structure` prints."""

import runpy
from pathlib import Path

import pytest

from tests.support.english import PHRASES

ROOT = Path(__file__).parents[3]
LARGE = {"open_scheduler"}
"""Functions with more parameters: it puts the parts of a scheduler together."""


@pytest.mark.parametrize(("package", "flat"), [("services", 2), ("ratings_core", 6)])
def test_no_class_or_function_is_over_the_limits(package: str, flat: int) -> None:
    figures = runpy.run_path(str(ROOT / "scripts" / "structure"))["measure"](ROOT, package, PHRASES)
    assert figures.files > 100
    assert figures.classes == []
    assert figures.phrases == []
    assert figures.circles == 0
    assert figures.flat <= flat
    others = [one for one in figures.functions if not one.startswith("services/cli/")]  # a parameter of a command is an option
    assert {one.split()[1].rstrip(":") for one in others} <= LARGE
