"""Rankings with ties, and the Kendall-tau distance of two rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core.checks import count, instance, number, real, sequence
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel

Ints = NDArray[np.int64]
Name = TypeVar("Name")
_MOST_ID: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A ranking as levels of tied agents, best first.

    ids: int64 (n,), agent ids, best first, ascending inside a level; start: int64 (levels + 1,), level k is ids[start[k]:start[k + 1]];
    unrated: number of agents without a rating (NaN), which share the last level. Ids are whole numbers >= 0, each once. A ranking can
    contain only some agents of a pool, such as the players of a game.
    """

    ids: Ints
    start: Ints
    unrated: int = 0

    @classmethod
    def from_scores(cls, scores: ArrayLike, tie_tolerance: float = 0.0) -> "Ranking":
        """Rank agents 0 to n-1 by `scores` (n,). Higher is better; NaN means unrated and is last; infinities are allowed.

        Ties: the best agent without a level starts a new level. All agents whose score is at most `tie_tolerance` below the score of *that*
        agent join the level, so the scores of a level never differ by more than the tolerance. Two scores that differ by less than the
        tolerance can still be in different levels.
        """
        tolerance = number("tie_tolerance", tie_tolerance, low=0.0)
        values = _vector(real("scores", scores))
        ids = np.lexsort((np.arange(len(values)), -values))
        rated = int(np.count_nonzero(~np.isnan(values)))
        edges = _edges(-values[ids[:rated]], tolerance)
        if rated < len(values):
            edges.append(len(values))
        start = np.array(edges, np.int64)
        return cls(_by_id_within(ids, start), start, len(values) - rated)

    @classmethod
    def from_levels(cls, levels: Iterable[Iterable[int]], unrated: int = 0) -> "Ranking":
        """The ranking with these levels, best first, not empty, with each id once. unrated: 0 or the size of the last level."""
        count("unrated", unrated)
        try:
            members = [sorted(count("levels", agent, high=_MOST_ID) for agent in level) for level in levels]
        except TypeError as error:
            raise InputError("levels", levels, "must be lists of ids") from error
        ids = np.array([agent for level in members for agent in level], np.int64)
        if not all(members):
            raise InputError("levels", members, "must each hold at least one agent")
        if len(np.unique(ids)) != len(ids):
            raise InputError("levels", members, "must hold ids >= 0, each once")
        if unrated and (not members or unrated != len(members[-1])):
            raise InputError("unrated", unrated, "must be 0 or the size of the last level")
        return cls(ids, np.cumsum([0, *map(len, members)], dtype=np.int64), unrated)

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The levels as tuples of ids, best first."""
        ids = self.ids.tolist()
        edges = self.start.tolist()
        return tuple(tuple(ids[low:high]) for low, high in pairwise(edges))

    @property
    def rank(self) -> Ints:
        """Competition ranks (1, 1, 3, ...), int64 (n,), in ascending order of id. If ids are 0 to n-1, rank[i] is the rank of agent i."""
        return self._in_id_order(self.start[:-1] + 1)

    @property
    def level(self) -> Ints:
        """Index of each agent's level from 0, int64 (n,), in ascending order of id."""
        return self._in_id_order(np.arange(len(self.start) - 1))

    def order(self, names: Sequence[Name]) -> list[Name]:
        """Names in the order of the ranking, tied agents by id. names: indexed by id. Raises `InputError` for an id without a name."""
        if len(names if isinstance(names, str) else sequence("names", names)) <= self.ids.max(initial=-1):
            raise InputError("names", len(names), f"must have a name for each id to {self.ids.max()}")
        return [names[agent] for agent in self.ids.tolist()]

    def _in_id_order(self, of_level: Ints) -> Ints:
        return np.repeat(of_level, np.diff(self.start))[np.argsort(self.ids)]

    def _key(self) -> tuple[bytes, bytes, int]:
        return self.ids.tobytes(), self.start.tobytes(), self.unrated


def kendall_tau(first: Ranking, second: Ranking, *, tie_penalty: float = 0.5) -> float:
    """Kendall-tau distance: number of pairs of agents that the rankings order differently (SCO, definition 1, eq. 1), in O(n log n).

    `second` must contain all agents of `first` and may contain more; only pairs of agents of `first` count. The paper's rankings are
    strict. Here, a pair tied in exactly one ranking counts `tie_penalty` (0 to 1; 1/2 is the mean over random tie-breaks), and a pair tied
    in both counts 0. Unrated agents tie with each other and are below all others. Raises `InputError` for an agent missing from `second`.
    """
    penalty = number("tie_penalty", tie_penalty, low=0.0, high=1.0)
    x, y = _common_levels(first, second)
    tied_once = _ties(x) + _ties(y) - 2 * _ties(x * (int(y.max(initial=0)) + 1) + y)
    return _inversions(y[np.lexsort((y, x))]) + penalty * tied_once


def normalised_kendall_tau(first: Ranking, second: Ranking, *, tie_penalty: float = 0.5) -> float:
    """`kendall_tau` divided by the number of pairs of `first`, from 0 (same order) to 1 (reversed) (SCO, eq. 2).

    Raises `InputError` for fewer than two agents, and as `kendall_tau`.
    """
    n = len(instance("first", first, Ranking))
    if n < 2:
        raise InputError("first", n, "must rank at least two agents")
    return kendall_tau(first, second, tie_penalty=tie_penalty) / (n * (n - 1) / 2)


def _vector(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if values.ndim != 1:
        raise InputError("scores", values.shape, "must be one-dimensional, with one score per agent")
    return values


def _edges(ascending: NDArray[np.float64], tolerance: float) -> list[int]:
    """Start indices of the levels, and the end. ascending: negated scores, best first."""
    if tolerance == 0.0:
        return [0, *(np.flatnonzero(ascending[1:] != ascending[:-1]) + 1).tolist(), *([len(ascending)] if len(ascending) else [])]
    return [*np.flatnonzero(_opens(ascending, tolerance)).tolist(), len(ascending)] if len(ascending) else [0]


@kernel
def _opens(ascending: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    """Mask of the scores that start a level: those beyond `tolerance` of the last score that started a level."""
    opens, limit = np.zeros(len(ascending), np.bool_), -np.inf
    for i in range(len(ascending)):
        if ascending[i] > limit or i == 0:
            opens[i], limit = True, ascending[i] + tolerance
    return opens


def _by_id_within(ids: Ints, start: Ints) -> Ints:
    level = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return np.asarray(ids[np.lexsort((ids, level))], np.int64)


def _common_levels(first: Ranking, second: Ranking) -> tuple[Ints, Ints]:
    instance("first", first, Ranking)
    instance("second", second, Ranking)
    mine, theirs = np.sort(first.ids), np.sort(second.ids)
    at = np.searchsorted(theirs, mine)
    lacking = at == len(theirs)
    lacking[~lacking] = theirs[at[~lacking]] != mine[~lacking]
    if lacking.any():
        raise InputError("second", int(mine[lacking][0]), "must rank every agent of first; this agent is missing")
    return first.level, second.level[at]


def _ties(values: Ints) -> int:
    counts = np.unique(values, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Ints) -> int:
    """Pairs i < j with values[i] > values[j], for values >= 0, by stable radix partition from the top bit (O(n log max))."""
    total = 0
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        group = values >> (bit + 1)
        ones = (values >> bit) & 1
        before = np.cumsum(ones) - ones
        opens = np.flatnonzero(np.diff(group, prepend=-1))
        before -= np.repeat(before[opens], np.diff(opens, append=len(values)))
        total += int(before[ones == 0].sum())
        values = values[np.argsort(values >> bit, kind="stable")]
    return total
