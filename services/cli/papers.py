"""`equirank papers`: reproduce the tables and figures of the papers."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ratings_core.errors import InputError
from ratings_core.extras import load


def papers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Papers, or PAPER/ITEM for one table or figure; all by default.")
    ] = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="Sizes of the papers, without a limit of time, or small ones.")] = False,
    output: Annotated[Path | None, typer.Option(help="Folder of results, figures and pages (.cache/papers of the checkout).")] = None,
    again: Annotated[bool, typer.Option("--again", help="Compute also results that are stored.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Replace the first seed of each item that draws at random; its other seeds follow. Results go to the subfolder seed-SEED.",
        ),
    ] = None,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="Compute nothing: write the pages of all papers from stored results, and list those of other code."),
    ] = False,
) -> None:
    """Reproduce the tables and figures of the papers: printed values, ours, and whether they match.

    An interrupted run resumes: results are stored item by item, and used again while the code is the same. The exit status is 1 if a value
    differs from the printed one without an explanation.
    """
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / "benchmarks" / "papers").is_dir():
        rule = "must be a checkout, which has the papers' code and data: clone the project, and run scripts/bootstrap there"
        raise InputError("installation", str(checkout), rule)
    load("matplotlib", "bench", "equirank papers")
    command = import_module("benchmarks.papers.command")  # by name: the package must not need it
    if pages:
        command.render(output, seed)
    else:
        raise typer.Exit(command.reproduce(names or [], quick=not full, folder=output, again=again, seed=seed))
