"""Online methods game by game, for programs that learn and predict in turn."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ratings_core import checks
from ratings_core.arrays.arena import pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns import Games
from ratings_core.columns.duels import duels
from ratings_core.errors import InputError
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.front.counted import batch_of
from ratings_core.front.names import name_of
from ratings_core.front.rate import read, sorted_if, with_columns
from ratings_core.front.raters import rater_of
from ratings_core.front.rating import Rating
from ratings_core.front.sources import won_by
from ratings_core.online import RATERS, Prequential
from ratings_core.options import Value
from ratings_core.ranking import Ranking
from ratings_core.records.roster import Roster
from ratings_core.words import counted


class Online:
    """An online method and what it has learned: ``learn_one``, ``learn_many``, ``predict_one``.

    The same kernels fold games here as in `rate` and in the service, so the same games in the same order give the same ratings.

    Args:
        method: Name of an online method: one of `RATERS`.
        options: Options of the method by name.

    Raises:
        InputError: The method or an option is unknown, or a value breaks a rule.
    """

    def __init__(self, method: str = "elo", **options: Value) -> None:
        self.method = checks.choice("method", method, tuple(RATERS))
        self._rater = rater_of(method, options)
        self._state: Any = self._rater.init(0)
        self._score = Prequential()
        self._agents, self._tasks, self._games = Roster(), Roster(), 0

    def __len__(self) -> int:
        """Number of agents."""
        return len(self._agents)

    def __repr__(self) -> str:
        """The call that makes such a learner, with the options that differ from their defaults, and what it has learned from."""
        options = fields(self._rater)  # type: ignore[arg-type]  # raters are dataclasses by their protocol
        chosen = [f"{one.name}={now!r}" for one in options if (now := getattr(self._rater, one.name)) != one.default]
        return f"Online({', '.join([repr(self.method), *chosen])}): {counted(len(self), 'agent')}, {counted(self._games, 'outcome')}"

    def learn_one(self, first: str | int, second: str | int, result: float = 1.0, *, weight: float = 1.0, time: float = 0.0) -> "Online":
        """Learn from one game.

        Args:
            first: An agent: a text or an integer, as in `rate`.
            second: Another agent.
            result: Result of the first agent: 1, 1/2 or 0. By default it won.
            weight: Weight of the game, 0.001 to 1000.
            time: When the game was played, in seconds since 1970.

        Returns:
            The learner itself.
        """
        home, away = (Coded.of(pack([name_of(name, argument)])) for argument, name in (("first", first), ("second", second)))
        won = np.array([won_by(result, "result")], np.int8)
        self._fold(duels(home, away, won, weight=np.array([weight], np.float64), time=np.array([time], np.float64)))
        return self

    def learn_many(
        self, games: Any, *, columns: Mapping[str, str] | None = None, reading: ReadOptions = PLAIN, sort: bool = False
    ) -> "Online":
        """Learn from games in their order. The arguments are those of `rate`, and mean the same.

        Args:
            games: Games in one of the forms that `rate` takes.
            columns: Role -> column, for columns of a table without a usual header.
            reading: Further options for reading a table or a file, such as what words for results mean.
            sort: Whether these games are taken in the order of their times, instead of that of the rows.

        Returns:
            The learner itself.

        Raises:
            InputError: The games are none, or a value breaks a rule.
        """
        self._fold(sorted_if(sort, read(games, with_columns(reading, columns, ()))).games(self.method))
        return self

    def predict_one(self, first: str | int, second: str | int) -> float:
        """Expected score of the first agent against the second one, from 0 to 1. Unknown agents are predicted as new ones.

        It is calibrated to the games so far (`ratings_core.online.prequential`).

        Raises:
            InputError: A name breaks a rule, or both are equal.
        """
        names = [name_of(first, "first"), name_of(second, "second")]
        if names[0] == names[1]:
            raise InputError("second", second, "must differ from first")
        ids = self._agents.lookup(names).tolist()
        new = len(self._agents)
        self._rater.grow(self._state, new + 2)  # room for two new agents, who get their names when they play
        return self._score.forecast(self._rater.log_odds(self._state, *(new + i if one < 0 else one for i, one in enumerate(ids))))

    def rating(self) -> Rating:
        """The ratings of all agents now. Raises `InputError` before the first game."""
        if not self._games:
            raise InputError("games", 0, "must be one game at least before there are ratings")
        names = self._agents.names()
        order = sorted(range(len(names)), key=names.__getitem__)
        shown = self._rater.read(self._state, np.array(order, np.int32))
        state, rater, score = self._state, self._rater, self._score
        return Rating(
            method=self.method,
            names=tuple(names[i] for i in order),
            ratings=shown.rating,
            ranking=Ranking.from_scores(shown.rating),
            games=shown.outcomes.astype(np.float64),
            certificate=None,
            status="folded",
            extra={"forecasts": score.figures()},
            expects=lambda a, b: score.forecast(rater.log_odds(state, order[a], order[b])),
        )

    def _fold(self, games: Games) -> None:
        self._rater.fold(self._state, batch_of(games, self._agents, self._tasks, first=self._games), self._score)
        self._games += len(games)
