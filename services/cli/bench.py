"""`equirank bench`: tasks beside other packages, with values and CPU seconds."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ratings_core.errors import InputError
from ratings_core.extras import load


def bench(
    only: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Name of a task, repeatable; all tasks by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that all runs; the ratios mean little.")] = False,
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each peer; the best counts.")] = 3,
    output: Annotated[Path | None, typer.Option(help="Folder of bench.json, bench.md and the chart (.cache/bench).")] = None,
    compare: Annotated[Path | None, typer.Option(metavar="OLD.json", help="bench.json of an earlier run: marks what got worse.")] = None,
) -> None:
    """Compare with other packages on the same input: whether values are equal, CPU seconds, and their ratio.

    `make peers` installs the packages. Each one runs in a separate process, by turns with Equirank. The exit status is 1 if a package
    fails, if values differ without a stated reason, or if a row is worse than in OLD.json.
    """
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / "benchmarks" / "bench").is_dir():
        rule = "must be a checkout, which has the code of the benchmarks: clone the project, and run scripts/bootstrap there"
        raise InputError("installation", str(checkout), rule)
    load("matplotlib", "bench", "equirank bench")
    command = import_module("benchmarks.bench.command")  # by name: the package must not need it
    raise typer.Exit(command.bench(only or [], quick=quick, runs=runs, folder=output, compare=compare))
