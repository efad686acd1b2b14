"""The question before a command that cannot be undone, or that folds a pool again."""

import sys
from typing import Annotated, TypeAlias

import typer

Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask. Without a terminal, nothing is asked.")]


def on_terminal() -> bool:
    """Whether a person can answer: standard input is a terminal. It is None in a process without a standard input."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether a change is confirmed: with --yes, without a terminal, or by the answer to the question.

    The question is on standard error, so that a person sees it where the output goes to a file.
    """
    if yes or not on_terminal():
        return True
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False


def confirm(question: str, *, yes: bool) -> None:
    """End the command with status 1 if a change is not confirmed. Arguments as of `confirmed`."""
    if not confirmed(question, yes=yes):
        typer.echo("nothing was changed")
        raise typer.Exit(1)
