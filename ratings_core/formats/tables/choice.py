"""A choice between two ways to read the texts of a column. It holds for all rows of the column."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from ratings_core.errors import InputError

UNCLEAR: Final = ""
"""What a text shows that can be read in both ways."""
Rest: TypeAlias = Callable[[], Iterable[Sequence[str]]]
"""Reads the texts of a complete column, block by block."""


class Choice:
    """A choice that the texts of a column make together.

    Args:
        column: Name of the column, for errors.
        shows: Returns the way in which a text has to be read, `UNCLEAR` if both are possible, or None if it makes no difference.
        rest: Reads the complete column. It is called only if a block has unclear texts and no block showed the way before.
        rule: The rule for the error of a column that shows no way, or both ways. It names the option that chooses.
    """

    def __init__(self, column: str, shows: Callable[[str], str | None], rest: Rest, rule: str) -> None:
        self._column, self._shows, self._rest, self._rule = column, shows, rest, rule
        self.made: str | None = None

    def of(self, texts: Iterable[str]) -> str | None:
        """The way in which the column is read; None if no text so far depends on it. Raises `InputError`."""
        ways = {way: text for text in texts if (way := self._shows(text)) is not None}
        if not ways:
            return self.made
        decisive = {self.made, *ways} - {None, UNCLEAR}
        for more in self._rest() if not decisive else ():
            decisive = {self._shows(text) for text in more} - {None, UNCLEAR}
            if decisive:
                break
        if len(decisive) != 1:
            raise InputError(f"column {self._column!r}", next(iter(ways.values())), self._rule)
        self.made = decisive.pop()
        return self.made
