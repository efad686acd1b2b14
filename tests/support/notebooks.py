"""Run notebooks without a kernel: cells in one namespace, with what they print and the text of a last expression."""

import ast
import contextlib
import io
from typing import Any


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook with the outputs of its cells. Raises what a cell raises."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        number += 1
        cells.append({**cell, "execution_count": number, "outputs": outputs("".join(cell["source"]), namespace, number)})
    return {**notebook, "cells": cells}


def outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and its last expression, in the form of notebooks."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)  # noqa: S102 - our own notebooks
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)  # noqa: S307 - as above
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None and not hasattr(value, "to_plotly_json"):
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = str(value._repr_html_()).splitlines(keepends=True)
        found.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found
