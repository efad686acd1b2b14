"""The source files that a module of this repository imports, directly or through others, and their code."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_PACKAGES: Final = ("ratings_core", "benchmarks", "tests")


def sources_of(module: str) -> list[Path]:
    """The file of a module and those of all modules of this repository that it imports, also within functions, sorted.

    A package's own file counts where a name is imported from it: it then says where the name is defined, also where it imports it only
    for type checkers. A package counts not just because a module in it is imported: what else it loads decides no result.

    Raises:
        FileNotFoundError: The module is no file below the root of this repository.
    """
    first = _file_of(module)
    if first is None:
        raise FileNotFoundError(f"{module} is not a module below {ROOT}")
    found, left = {first}, [first]
    while left:
        file = left.pop()
        new = _imported(file) - found
        found |= new
        left += new
    return sorted(found)


@cache
def code_of(file: Path) -> str:
    """The code of a file in one form: without comments and docstrings, which decide no result."""
    tree = _parsed(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


@cache
def _imported(file: Path) -> frozenset[Path]:
    return frozenset(_imports(file))


def _imports(file: Path) -> Iterator[Path]:
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in names:
            imported = _file_of(f"{module}.{name}") if name else None
            imported = imported or _file_of(module)
            if imported is not None:
                yield imported


def _file_of(module: str) -> Path | None:
    """The file of a module of this repository; None for modules of others, and for names that are no module."""
    if module.split(".", maxsplit=1)[0] not in _PACKAGES:
        return None
    place = ROOT.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.exists()), None)
