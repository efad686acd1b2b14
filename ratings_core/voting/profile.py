"""Profiles: weighted votes that order alternatives. A vote can contain ties and can leave alternatives unlisted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.records.outcomes import MAX_PLACE
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.place_tally import PlaceCounts

Unlisted: TypeAlias = Literal["last", "unknown"]
"""Meaning of the alternatives that a vote does not list.

``last``: they are below the listed alternatives and not compared with each other, as in rules for truncated votes. ``unknown``: they are
not compared with any alternative, as if only the listed agents were measured.
"""


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote. weight: number of votes that it counts for; levels: listed alternatives (ids), best level first; a level's members tie.

    The class does not check its values. `Profile.from_ballots` does, and its errors state the ballot, level and position.
    """

    weight: float
    levels: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """n votes on alternatives 0 to m-1. Memory is proportional to the number of listed alternatives of all votes.

    names: names of the m alternatives (any text, each once). Vote v lists agent[start[v]:start[v + 1]], best first. agent: int32 (k,), ids;
    level: int32 (k,), from 0 in each vote, each entry 0 (tied) or 1 above the entry before; start: int64 (n + 1,); weight: float64 (n,),
    0 to 1e150. Raises `InputError` if a column breaks these rules, a vote lists no alternative or one twice, or there is no vote.
    """

    names: tuple[str, ...]
    start: NDArray[np.int64]
    agent: NDArray[np.int32]
    level: NDArray[np.int32]
    weight: Floats

    def __post_init__(self) -> None:
        _check_names(self.names)
        for name, dtype in (("start", np.int64), ("agent", np.int32), ("level", np.int32), ("weight", np.float64)):
            column = checks.instance(name, getattr(self, name), np.ndarray)
            if column.dtype != dtype or column.ndim != 1:
                raise InputError(name, column, f"must be {np.dtype(dtype).name}, in one dimension")
        _check_votes(self)

    @classmethod
    def from_ballots(cls, ballots: Iterable[Ballot], names: Sequence[str]) -> "Profile":
        """The profile of these votes. Raises `InputError` with the position of the invalid value."""
        kept = [_checked_ballot(i, ballot) for i, ballot in enumerate(checks.iterable("ballots", ballots))]
        levels = [level for ballot in kept for level in ballot.levels]
        sizes = [sum(map(len, ballot.levels)) for ballot in kept]
        return cls(
            _named(names),
            np.cumsum([0, *sizes], dtype=np.int64),
            _ids("agent", list(chain.from_iterable(sorted(level) for level in levels))),
            np.array([k for ballot in kept for k, level in enumerate(ballot.levels) for _ in level], np.int32),
            checks.finite("weight", [ballot.weight for ballot in kept]),
        )

    @classmethod
    def from_orders(cls, orders: ArrayLike, weight: ArrayLike | None = None, names: Sequence[str] | None = None) -> "Profile":
        """The profile of strict orders of equal length.

        orders: (n, length), ids, best first; weight: (n,), 1 by default; names: by default "0", "1", ... up to the largest id.
        """
        table = checks.integers("orders", orders)
        if table.ndim != 2 or not table.size:
            raise InputError("orders", table, "must be a table of ids, with one vote per row")
        n, length = table.shape
        named = tuple(map(str, range(int(table.max()) + 1))) if names is None else _named(names)
        level = np.tile(np.arange(length, dtype=np.int32), n)
        return cls(named, np.arange(n + 1) * length, _ids("orders", table.ravel()), level, _weights(weight, n))

    @classmethod
    def from_scores(cls, scores: ArrayLike, weight: ArrayLike | None = None, names: Sequence[str] | None = None) -> "Profile":
        """The profile with one vote per column of scores: higher scores first, equal scores tied, NaN not listed.

        Columns without a score are left out. scores: (agents, n); weight: (n,), 1 by default. Raises `InputError` for infinite scores, and
        if there is no score.
        """
        table = checks.real("scores", scores)
        if table.ndim != 2 or np.isinf(table).any():
            raise InputError("scores", table, "must be finite or NaN, agents by votes")
        ids, column = np.nonzero(~np.isnan(table))
        value = table[ids, column]
        order = np.lexsort((ids, -value, column))
        ids, column, value = ids[order], column[order], value[order]
        voting, first = np.unique(column, return_index=True)
        named = tuple(map(str, range(len(table)))) if names is None else _named(names)
        level = _levels(column, value, first)
        return cls(named, np.append(first, len(ids)), ids.astype(np.int32), level, _weights(weight, table.shape[1])[voting])

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """The votes as records, in order."""
        return tuple(
            Ballot(float(weight), _cut(self.agent[low:high].tolist(), self.level[low:high].tolist()))
            for (low, high), weight in zip(pairwise(self.start.tolist()), self.weight, strict=True)
        )

    @property
    def histogram(self) -> tuple[Ballot, ...]:
        """Distinct votes, each with the total weight of equal votes, by descending weight and then by levels.

        Their number is a measure of the diversity of the votes (VasE, on the Arcade Learning Environment).
        """
        weight: dict[tuple[tuple[int, ...], ...], float] = {}
        for ballot in self.ballots:
            weight[ballot.levels] = weight.get(ballot.levels, 0.0) + ballot.weight
        return tuple(Ballot(total, levels) for levels, total in sorted(weight.items(), key=lambda vote: (-vote[1], vote[0])))

    @property
    def voters(self) -> float:
        """Total weight of all votes."""
        return float(self.weight.sum())

    @property
    def complete(self) -> bool:
        """Whether every vote lists every alternative."""
        return bool((np.diff(self.start) == len(self.names)).all())

    def take(self, ids: ArrayLike) -> "Profile":
        """Restrict the votes to some alternatives, which are renumbered: ids[i] becomes i. ids: (k,), each once.

        Votes that list none of these alternatives are left out. Raises `InputError` if no vote remains, and for unknown ids.
        """
        ids = _ids("ids", ids)
        if ids.ndim != 1 or (ids < 0).any() or (ids >= len(self.names)).any():
            raise InputError("ids", ids, f"must be ids from 0 to {len(self.names) - 1}, in one dimension")
        new_id = np.full(len(self.names), -1, np.int32)
        new_id[ids] = np.arange(len(ids), dtype=np.int32)
        agent, vote = new_id[self.agent], np.repeat(np.arange(len(self)), np.diff(self.start))
        listed = agent >= 0
        voting, first = np.unique(vote[listed], return_index=True)
        level = _levels(vote[listed], self.level[listed].astype(np.float64), first)
        names = tuple(self.names[i] for i in ids.tolist())
        return Profile(names, np.append(first, listed.sum()), agent[listed], level, self.weight[voting])

    def preferences(self, unlisted: Unlisted = "last") -> Floats:
        """N (VasE, sec. 3): entry (a, b) is the weight of votes that put a above b. Dense (m, m)."""
        return self._pairs(unlisted)[0]

    def margins(self, unlisted: Unlisted = "last") -> Floats:
        """M = N - N' (m, m), antisymmetric."""
        preferred = self.preferences(unlisted)
        return np.asarray(preferred - preferred.T)

    def pair_counts(self, unlisted: Unlisted = "last") -> PairCounts:
        """Wins, losses and ties of the pairs of alternatives, sparse. Only alternatives that a vote lists can tie in it."""
        m, size = len(self.names), np.diff(self.start)
        _check_unlisted(unlisted)
        if (unlisted == "unknown" or self.complete) and int((size * (size - 1)).sum()) < m * m:
            return _sparse_pairs(self, int((size * (size - 1) // 2).sum()))
        return PairCounts.from_dense(*self._pairs(unlisted))

    def place_counts(self) -> PlaceCounts:
        """Place of each listed alternative, in the order of the votes; `sides` is the number of alternatives that the vote lists."""
        ahead, tied = _standing(self.start, self.level)
        size = np.diff(self.start)
        return PlaceCounts(self.agent, np.repeat(size, size).astype(np.int32), ahead, tied, np.repeat(self.weight, size))

    def _pairs(self, unlisted: Unlisted) -> tuple[Floats, Floats]:
        m = len(self.names)
        wins, ties = np.zeros((m, m)), np.zeros((m, m))
        _count(self.start, self.agent, self.level, self.weight, _check_unlisted(unlisted) == "last", wins, ties)
        return wins, np.asarray(ties + ties.T)


def mcgarvey(margins: ArrayLike, names: Sequence[str] | None = None) -> Profile:
    """A profile of strict complete votes with exactly these margins (McGarvey 1953).

    margins: (m, m), antisymmetric. Each pair with a margin contributes two votes, each with half the margin as weight: the first begins
    with a, b; the second ends with a, b and has the other alternatives in reverse order. On all other pairs the two votes cancel.
    McGarvey's construction repeats votes; weights instead allow margins of different parity and fractional margins.
    """
    M = checks.antisymmetric("margins", margins)
    m = len(M)
    rows = [
        order
        for a, b in np.argwhere(M > 0).tolist()
        for rest in [[c for c in range(m) if c not in (a, b)]]
        for order in ([a, b, *rest], [*reversed(rest), a, b])
    ]
    if not rows:  # all margins are 0: an arbitrary vote and its reverse
        rows, weight = [[*range(m)], [*reversed(range(m))]], np.ones(2)
    else:
        weight = np.repeat(M[M > 0] / 2, 2)
    return Profile.from_orders(np.array(rows), weight, tuple(map(str, range(m))) if names is None else names)


def _named(names: Any) -> tuple[str, ...]:
    if not isinstance(names, Sequence | np.ndarray) or (isinstance(names, np.ndarray) and not names.ndim):
        raise InputError("names", names, "must be an ordered sequence of names")
    return tuple(names)


def _check_names(names: tuple[str, ...]) -> None:
    for i, name in enumerate(checks.instance("names", names, tuple)):
        checks.instance(f"names[{i}]", name, str)
    if not names or len(set(names)) != len(names):
        raise InputError("names", names, "must contain at least one alternative, each once")


def _check_votes(profile: Profile) -> None:
    start, agent, level, n = profile.start, profile.agent, profile.level, len(profile.weight)
    if not n or len(start) != n + 1:
        raise InputError("weight", n, f"must contain a weight for each of at least one vote (start defines {len(start) - 1} votes)")
    if start[0] != 0 or start[-1] != len(agent) or len(level) != len(agent) or (np.diff(start) < 1).any():
        raise InputError("start", start, f"must divide {len(agent)} listed alternatives into votes of at least one")
    if (bad := np.flatnonzero(~((profile.weight >= 0) & (profile.weight <= checks.LARGEST_WEIGHT)))).size:
        raise InputError(f"weight[{bad[0]}]", profile.weight[bad[0]].item(), f"must be nonnegative and at most {checks.LARGEST_WEIGHT:g}")
    if (bad := np.flatnonzero((agent < 0) | (agent >= len(profile.names)))).size:
        raise InputError(f"agent[{bad[0]}]", agent[bad[0]].item(), f"must be an id from 0 to {len(profile.names) - 1}")
    step = np.diff(level, prepend=0)
    if (bad := np.flatnonzero(np.where(np.isin(np.arange(len(level)), start[:-1]), level != 0, (step < 0) | (step > 1)))).size:
        raise InputError(f"level[{bad[0]}]", level[bad[0]].item(), "must begin at 0 in each vote and rise by 0 or 1")
    if (vote := _repeating(start, agent, len(profile.names))) >= 0:
        raise InputError(f"vote {vote}", agent[start[vote] : start[vote + 1]].tolist(), "must list each alternative once")


def _check_unlisted(unlisted: str) -> str:
    return checks.choice("unlisted", unlisted, get_args(Unlisted))


def _checked_ballot(i: int, ballot: Ballot) -> Ballot:
    checks.instance(f"ballots[{i}]", ballot, Ballot)
    for k, level in enumerate(checks.sequence(f"ballots[{i}].levels", ballot.levels)):
        if not len(checks.sequence(f"ballots[{i}].levels[{k}]", level)):
            raise InputError(f"ballots[{i}].levels[{k}]", level, "must have no empty level")
        for j, agent in enumerate(level):
            checks.count(f"ballots[{i}].levels[{k}][{j}]", agent, high=MAX_PLACE)
    return ballot


def _ids(argument: str, values: Any) -> NDArray[np.int32]:
    """Convert ids to int32. Raises `InputError` for values that are not whole numbers from 0 to 2**31 - 1."""
    ids = checks.ids(argument, values)
    if (bad := np.argwhere((ids < 0) | (ids > MAX_PLACE))).size:
        raise InputError(f"{argument}[{', '.join(map(str, bad[0]))}]", ids[tuple(bad[0])].item(), "must be an id from 0 to 2**31 - 1")
    return np.asarray(ids, np.int32)


def _weights(weight: ArrayLike | None, n: int) -> Floats:
    if weight is None:
        return np.ones(n)
    given = checks.finite("weight", weight)
    if given.shape != (n,):
        raise InputError("weight", given.shape, f"must contain a weight for each of {n} votes")
    return given


def _levels(column: NDArray[np.int64], value: Floats, first: NDArray[np.int64]) -> NDArray[np.int32]:
    steps = np.append(True, (value[1:] != value[:-1]) | (column[1:] != column[:-1]))[: len(value)].cumsum()
    return np.asarray(steps - np.repeat(steps[first], np.diff(np.append(first, len(value)))), np.int32)


def _cut(agents: list[int], levels: list[int]) -> tuple[tuple[int, ...], ...]:
    groups: list[list[int]] = [[] for _ in range(levels[-1] + 1)]
    for agent, level in zip(agents, levels, strict=True):
        groups[level].append(agent)
    return tuple(tuple(sorted(members)) for members in groups)


def _sparse_pairs(profile: Profile, met: int) -> PairCounts:
    """Sum listed pairs by their keys, first * m + second. Used if there are fewer of them than cells in an (m, m) matrix."""
    m = len(profile.names)
    key, weight, sign = np.empty(met, np.int64), np.empty(met), np.empty(met, np.int8)
    _list_pairs(profile.start, profile.agent, profile.level, profile.weight, m, key, weight, sign)
    pairs, inverse = np.unique(key[weight > 0], return_inverse=True)
    sign, weight = sign[weight > 0], weight[weight > 0]
    wins, losses, ties = (np.asarray(np.bincount(inverse[sign == s], weight[sign == s], len(pairs)), np.float64) for s in (1, -1, 0))
    return PairCounts((pairs // m).astype(np.int32), (pairs % m).astype(np.int32), wins, losses, ties)


@kernel
def _repeating(start: NDArray[np.int64], agent: NDArray[np.int32], m: int) -> int:
    """Index of the first vote that lists an alternative twice, or -1."""
    seen = np.full(m, -1, np.int64)
    for vote in range(len(start) - 1):
        for i in range(start[vote], start[vote + 1]):
            if seen[agent[i]] == vote:
                return vote
            seen[agent[i]] = vote
    return -1


@kernel
def _count(
    start: NDArray[np.int64], agent: NDArray[np.int32], level: NDArray[np.int32], weight: Floats, last: bool, wins: Floats, ties: Floats
) -> None:
    """Add all votes to `wins` and `ties` (m, m). Each tied pair is added to one of its two cells in `ties`."""
    m = len(wins)
    place = np.empty(m, np.int32)
    for vote in range(len(start) - 1):
        low, high, w = start[vote], start[vote + 1], weight[vote]
        whole = 4 * (high - low) > m or last  # adding to a full row is faster than to scattered cells
        if whole:
            place[:] = m if last else -1
            place[agent[low:high]] = level[low:high]
        for i in range(low, high):
            row, end = wins[agent[i]], i + 1
            while end < high and level[end] == level[i]:
                ties[agent[i], agent[end]] += w
                end += 1
            if whole:
                for b in range(m):
                    row[b] += w * (place[b] > level[i])
            else:
                for k in range(end, high):
                    row[agent[k]] += w


@kernel
def _list_pairs(
    start: NDArray[np.int64],
    agent: NDArray[np.int32],
    level: NDArray[np.int32],
    weight: Floats,
    m: int,
    key: NDArray[np.int64],
    share: Floats,
    sign: NDArray[np.int8],
) -> None:
    at = 0
    for vote in range(len(start) - 1):
        for i in range(start[vote], start[vote + 1]):
            for j in range(i + 1, start[vote + 1]):
                a, b = np.int64(agent[i]), np.int64(agent[j])
                won = np.int8(level[j] > level[i])
                key[at] = a * m + b if a < b else b * m + a
                share[at], sign[at] = weight[vote], won if a < b else -won
                at += 1


@kernel
def _standing(start: NDArray[np.int64], level: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each listed alternative, the number of alternatives that its vote ranks above it, and the number on its level with itself."""
    ahead, tied = np.empty(len(level), np.int32), np.empty(len(level), np.int32)
    for vote in range(len(start) - 1):
        low = start[vote]
        while low < start[vote + 1]:
            high = low + 1
            while high < start[vote + 1] and level[high] == level[low]:
                high += 1
            ahead[low:high], tied[low:high] = low - start[vote], high - low
            low = high
    return ahead, tied
