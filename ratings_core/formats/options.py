"""How a file or a table is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.roles import Roles
from ratings_core.records.tags import broken_tag

Unplayed: TypeAlias = Literal["skip", "refuse", "last"]
"""Games without a result: left out, or refused; or, in tables of places, agents without a place share the last one."""
Decimal: TypeAlias = Literal[",", "."]
NO_RESULT: Final = "no result (unplayed)"
"""Reason for leaving out a game without a result."""
NOT_CHOSEN: Final = "not chosen by --where"
"""Reason for leaving out a row that does not match `where`."""
MEANINGS: Final = ("first", "second", "tie", "unplayed")
"""What a word in a column of results can mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a file or a table is read.

    Attributes:
        kind: Kind of the file; None to guess it.
        roles: Columns of a table of games that usual headers do not tell.
        values: Word of a column of results -> what it means: first, second, tie or unplayed.
        delimiter: Separator of a table's cells; None to recognize it.
        unplayed: How games without a result are treated.
        trim: Whether white space at both ends of cells is removed.
        where: (column, value) pairs that a row must have; other rows are left out.
        slice_by: Column whose values divide the rows into slices; None for one slice.
        features: Covariates of each game.
        tags: (key, column) pairs: the column of each tag. An empty cell gives no tag.
        time_format: Format of times as in `strptime`; None to recognize it.
        decimal: Decimal mark of numbers in texts, a comma or a point; the other one can divide thousands. None to recognize it.
    """

    kind: FileKind | None = None
    roles: Roles = field(default_factory=Roles)
    values: Mapping[str, str] = field(default_factory=dict)
    delimiter: str | None = None
    unplayed: Unplayed = "skip"
    trim: bool = False
    where: tuple[tuple[str, str], ...] = ()
    slice_by: str | None = None
    features: tuple[Feature, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    time_format: str | None = None
    decimal: Decimal | None = None

    def __post_init__(self) -> None:
        where: Any = self.where
        if not isinstance(where, tuple) or any(not isinstance(one, tuple) or len(one) != 2 for one in where):
            raise InputError("where", where, "must be pairs of a column and a value: where=((column, value), ...)")
        checks.choice("unplayed", self.unplayed, get_args(Unplayed))
        if self.decimal is not None:
            checks.choice("decimal", self.decimal, get_args(Decimal))
        keys = [key for key, _ in self.tags]
        if (broken := broken_tag(dict.fromkeys(keys, "value"))) is not None or len(set(keys)) < len(keys):
            raise InputError("tag", ", ".join(keys), "must name each key once" if broken is None else broken.rule)
        for word, meaning in self.values.items():
            if meaning not in MEANINGS:
                raise InputError("value", f"{meaning}={word}", f"must say what the word means: one of {', '.join(MEANINGS)}")

    @property
    def columns(self) -> list[str]:
        """Columns that these options name, besides those of the roles."""
        named = [*(column for column, _ in self.where), *(() if self.slice_by is None else (self.slice_by,))]
        named += [column for _, column in self.tags]
        return list(dict.fromkeys([*named, *(column for feature in self.features for column in feature.columns)]))


PLAIN: Final = ReadOptions()
