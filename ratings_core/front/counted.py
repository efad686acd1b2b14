"""Outcomes of any number as the problem that solved methods take."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.hashing import hash128
from ratings_core.batch.comparisons import Comparisons
from ratings_core.columns import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.formats.parts import FilePart
from ratings_core.problems.games import games_of
from ratings_core.problems.history import BucketedGames
from ratings_core.problems.inputs import FeaturesInput, Problem, ScoresInput
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch
from ratings_core.records.roster import Roster
from ratings_core.solution import Floats
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.clusters import in_groups

NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
TEAMS: Final = "games with a side of several agents, which methods of pairs and places do not count (online methods do)"
"""Reason for which games are left out of results of pairs."""


def nothing_counts(left_out: Mapping[str, int]) -> str:
    """The rule that outcomes without one that counts break. left_out: Reason -> number of rows or outcomes that were left out for it."""
    why = "; ".join(f"{count} left out: {reason}" for reason, count in sorted(left_out.items()) if count)
    return f"must contain at least one game or measurement{f' ({why})' if why else ''}"


class Counting(NamedTuple):
    """How games are counted.

    Attributes:
        per_task: Whether games are also counted separately for each task.
        clustered: Whether complete games are also counted in random groups, for intervals. The problem has the groups only if they are
            needed: if a game is not between two agents, or its weight is not 1, or games are counted by time, so that older ones can
            weigh less.
        bucket_seconds: Width of a time bucket in seconds; None puts all games into one bucket.
    """

    per_task: bool = False
    clustered: bool = False
    bucket_seconds: float | None = None


COUNTED_ONCE: Final = Counting()


class Counted:
    """Tallies of outcomes, each of which counts once. Memory grows with agents, pairs and tasks, not with outcomes.

    A game counts in the time bucket of its time, independent of the order.
    """

    def __init__(self, counting: Counting = COUNTED_ONCE) -> None:
        if counting.bucket_seconds is not None and not counting.bucket_seconds > 0:
            raise InputError("bucket_seconds", counting.bucket_seconds, "must be above 0")
        self._counting = counting
        self._agents, self._tasks = Roster(), Roster()
        self._pairs, self._places, self._scores = PairTally(per_task=counting.per_task), PlaceTally(), ScoreTable()
        self._clusters = PairTally(per_task=True) if counting.clustered else None
        self._games = self._measured = self._teams = 0
        self._plain = counting.bucket_seconds is None  # only games of weight 1 between two agents so far

    def add(self, columns: Games | TaskScores) -> None:
        """Count outcomes."""
        if isinstance(columns, Games):
            batch, bucket = batch_of(columns, self._agents, self._tasks, first=self._games), self._buckets(columns.time)
            self._games += len(columns)
            self._teams += team_games(columns)
            self._pairs.add(batch, bucket)
            self._places.add(batch, bucket)
            if self._clusters is not None:
                self._clusters.add(in_groups(batch), bucket)
                self._plain &= len(columns.names) == 2 * len(columns) == len(columns.place) and bool((columns.weight == WEIGHT_ONE).all())
        else:
            self._measured += len(columns)
            batch_ = columns.batch(self._agents.intern_coded(columns.names), self._tasks.intern_packed(columns.tasks))
            self._scores.add(batch_, np.zeros(len(columns), np.int64))

    @property
    def left_out(self) -> dict[str, int]:
        """Reason -> number of games that solved methods do not count; empty if they count all."""
        return {TEAMS: self._teams} if self._teams else {}

    def problem(self, left_out: Mapping[str, int] = NOTHING) -> Problem:
        """The problem of the counted outcomes.

        Args:
            left_out: Reason -> number of rows that are not outcomes, for the error.

        Raises:
            InputError: There are no outcomes, or both games and scores.
        """
        if not self._games and not self._measured:
            raise InputError("games", 0, nothing_counts(left_out))
        if self._games and self._measured:
            raise InputError("games", self._games + self._measured, "must be outcomes of one kind, with sides or with scores")
        agents, tasks = tuple(self._agents.names()), tuple(self._tasks.names())
        if self._games:
            return games_of(agents, BucketedGames(tasks, self._pairs, self._places, None if self._plain else self._clusters))
        return ScoresInput(agents, tasks, self._scores.means(len(agents), len(tasks)))

    def _buckets(self, times: Floats) -> NDArray[np.int64]:
        """The time bucket of each game."""
        width = self._counting.bucket_seconds
        return np.floor(times / width).astype(np.int64) if width else np.zeros(len(times), np.int64)


class CountedFeatures:
    """Games of two sides with features. A game takes 40 bytes of memory, and 8 bytes for each feature.

    Args:
        names: Names of the features.
    """

    def __init__(self, names: Sequence[str]) -> None:
        if len(set(names)) != len(names):
            raise InputError("feature", list(names), "must name each feature once")
        self._names, self._agents = tuple(names), Roster()
        self._first: list[NDArray[np.int64]] = []
        self._second: list[NDArray[np.int64]] = []
        self._result: list[Floats] = []
        self._weight: list[Floats] = []
        self._features: list[Floats] = []

    def add_part(self, part: FilePart) -> None:
        """Add games, in order. Raises `InputError` for a game that is not between two single agents."""
        games = part.columns
        if (
            not isinstance(games, Games)
            or part.features is None
            or len(games.place) != 2 * len(games)
            or len(games.names) != 2 * len(games)
        ):
            raise InputError("feature", list(self._names), "must be left out: only games between two agents have features")
        ids = self._agents.intern_coded(games.names).astype(np.int64).reshape(-1, 2)
        places = games.place.reshape(-1, 2)
        self._first.append(np.ascontiguousarray(ids[:, 0]))
        self._second.append(np.ascontiguousarray(ids[:, 1]))
        self._result.append(0.5 + 0.5 * np.sign(places[:, 1] - places[:, 0]))
        self._weight.append(games.weight / WEIGHT_ONE)
        self._features.append(part.features)

    def problem(self, left_out: Mapping[str, int] = NOTHING) -> FeaturesInput:
        """The problem of all games so far. Raises `InputError` if there is no game. left_out: As in `Counted.problem`."""
        if not sum(map(len, self._first)):
            raise InputError("games", 0, nothing_counts(left_out))
        names, result = tuple(self._agents.names()), np.concatenate(self._result)
        first, second = np.concatenate(self._first), np.concatenate(self._second)
        games = Comparisons(len(names), first, second, result, np.arange(len(result)), np.concatenate(self._weight))
        return FeaturesInput(names, games, np.concatenate(self._features), self._names)


def team_games(games: Games) -> int:
    """Number of games with a side of several agents."""
    several = np.concatenate([[0], np.cumsum(np.diff(games.agent_start) > 1)])
    return int((np.diff(several[games.side_start]) > 0).sum())


def batch_of(games: Games, agents: Roster, tasks: Roster, *, first: int = 0) -> OutcomeBatch:
    """The games with ids of rosters, which get the new names.

    Games without ids get hashes of their numbers as keys, so that their random groups are the same at every reading.

    Args:
        games: The games.
        agents: Roster of agents.
        tasks: Roster of tasks.
        first: Number of the first game.
    """
    batch = games.batch(agents.intern_coded(games.names), tasks.intern_packed(games.tasks))
    return batch if games.id_hash.any() else replace(batch, key=number_hashes(first, len(games)))


def number_hashes(first: int, n: int) -> NDArray[np.uint64]:
    """128-bit hashes of n consecutive numbers, uint64 (n, 2)."""
    numbers = np.arange(first, first + n, dtype=np.int64)
    return hash128(numbers.view(np.uint8), np.arange(0, 8 * n + 1, 8))
