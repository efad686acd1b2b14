"""The question before a command that cannot be undone, or that folds a pool again."""

import sys
from typing import Annotated, TypeAlias

import typer

Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask. Without a terminal, nothing is asked.")]


def on_terminal() -> bool:
    """Whether a person can answer: standard input is a terminal."""
    return sys.stdin.isatty()


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether a change is confirmed: with --yes, without a terminal, or by the answer to the question."""
    if yes or not on_terminal():
        return True
    try:
        return typer.confirm(question)
    except typer.Abort:
        return False


def confirm(question: str, *, yes: bool) -> None:
    """End the command with status 1 if a change is not confirmed. Arguments as of `confirmed`."""
    if not confirmed(question, yes=yes):
        typer.echo("nothing was changed")
        raise typer.Exit(1)
