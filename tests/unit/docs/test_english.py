"""Plain English: phrases that a reader has to decipher are refused in rewritten code and pages. The list of rewritten places only grows."""

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.english import PHRASES
from tests.support.syntax import nodes, parsed, source, statements

ROOT = Path(__file__).parents[3]
REWRITTEN = (
    "docs/README.md",
    "docs/start.md",
    "docs/concepts",
    "docs/guides",
    "docs/reference",
    "ratings_core/arrays/__init__.py",
    "services/runtime/lifecycle.py",
    "services/solve/planning",
    "services/solve/scheduler",
    "services/solve/worker/task_pool.py",
    "scripts/reference",
)


def files() -> Iterator[Path]:
    for name in REWRITTEN:
        path = ROOT / name
        yield from sorted(file for file in path.rglob("*") if file.suffix in {".py", ".md"}) if path.is_dir() else [path]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file with its line numbers: all of a page; docstrings, comments and string constants of a module."""
    lines = source(path).splitlines()
    if path.suffix == ".md":
        yield from enumerate(lines, 1)
        return
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    yield from ((number, line.partition("#")[2]) for number, line in enumerate(lines, 1))


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a module with their line numbers, those of fields included."""
    for node in statements(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def phrases(paths: Iterable[Path], prose: Callable[[Path], Iterator[tuple[int, str]]]) -> list[str]:
    """Places of phrases in the prose of files."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r}" for path in paths for line, text in prose(path) for match in PHRASES.finditer(text)
    ]


def test_rewritten_places_use_plain_english() -> None:
    paths = [*files()]
    assert len(paths) > 30
    assert phrases(paths, texts) == [], "name the subject first, one idea a sentence, the standard term"


def test_docstrings_use_plain_english() -> None:
    paths = [path for package in ("services", "ratings_core") for path in (ROOT / package).rglob("*.py")]
    assert len(paths) > 100
    assert phrases(paths, docstrings) == [], "name the subject first, one idea a sentence, the standard term"


@pytest.mark.parametrize("text", ["what broke it is told by nobody", "The shard mends it.", "as often as it takes"])
def test_a_phrase_that_has_to_be_deciphered_is_recognized(text: str) -> None:
    assert PHRASES.search(text)
