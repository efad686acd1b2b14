"""Games of a file with their features, held as columns."""

from collections.abc import Sequence

import numpy as np

from ratings_core.batch.comparisons import Comparisons
from ratings_core.errors import InputError
from ratings_core.records.roster import Roster
from services.imports.files import Row
from services.solve.problems.inputs import FeaturesInput
from services.wire.events import GameEvent


class FeatureRows:
    """Rows of results or battles as comparisons with features. Memory grows with the games: 40 bytes each, and 8 for each feature.

    Args:
        names: Of the features.
    """

    def __init__(self, names: Sequence[str]) -> None:
        if len(set(names)) != len(names):
            raise InputError("feature", list(names), "must name each feature once")
        self._names = tuple(names)
        self._agents = Roster()
        self._columns: list[np.ndarray] = []
        self._features: list[np.ndarray] = []

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add rows, in order."""
        games = [(row.event, row.extras.features) for row in rows if isinstance(row.event, GameEvent)]
        sides = [(game.sides[0], game.sides[1], game.weight) for game, _ in games]
        names = [name for first, second, _ in sides for name in (first.agents[0], second.agents[0])]
        ids = np.asarray(self._agents.intern(names), np.float64).reshape(-1, 2)
        result = [0.5 + 0.5 * ((first.place < second.place) - (first.place > second.place)) for first, second, _ in sides]
        self._columns.append(np.column_stack([ids, result, [weight for *_, weight in sides]]))
        self._features.append(np.array([values for _, values in games], np.float64).reshape(-1, len(self._names)))

    def problem(self) -> FeaturesInput:
        """All rows so far. Raises `InputError` where there is no game."""
        table = np.concatenate([np.zeros((0, 4)), *self._columns])
        if not len(table):
            raise InputError("file", 0, "must hold games")
        first, second = (np.ascontiguousarray(table[:, side]).astype(np.int64) for side in (0, 1))
        names = tuple(self._agents.names())
        games = Comparisons(len(names), first, second, table[:, 2].copy(), np.arange(len(table)), table[:, 3].copy())
        return FeaturesInput(names, games, np.concatenate(self._features), self._names)
