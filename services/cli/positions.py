"""Options whose value is a position of the log."""

from collections.abc import Callable
from typing import Any

import typer


def position_option(*names: str, help: str, time: str | None) -> Any:  # noqa: A002 - as typer calls it
    """An option whose value is a log position.

    Positions are --position, --from, --to and --against, and times --at, --since and --until. Who gives a time where a position belongs is
    told the option that takes it.

    Args:
        names: Names of the option.
        help: Its help.
        time: Name of the option that takes a time in place of the position; None without one.
    """
    return typer.Option(*names, help=help, metavar="<int>", parser=_position(time))


def _position(time: str | None) -> Callable[[str | int], int]:
    def parsed(text: str | int) -> int:
        if isinstance(text, int):  # the default
            return text
        if not (text.isascii() and text.isdecimal()):
            instead = "" if time is None else f"; a time belongs to {time}"
            msg = f"must be a log position, a whole number from 0 on{instead}, got {text!r}"
            raise typer.BadParameter(msg)
        return int(text)

    return parsed
