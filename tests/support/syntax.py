"""Syntax trees of Python files, each parsed once per process, and a walk that visits statements only."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def source(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    """Syntax tree of a file. All callers share the tree, so it must not be changed."""
    return ast.parse(source(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's tree."""
    return tuple(ast.walk(parsed(path)))


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node, at every depth. Expressions contain no statements, so they are not visited."""
    for child in _blocks(tree):
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child)


def _blocks(tree: ast.AST) -> Iterator[ast.AST]:
    """Statements directly below a node, and its `except` and `case` clauses."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        if isinstance(found := getattr(tree, field, None), list):
            yield from found
