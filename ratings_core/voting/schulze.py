"""Schulze's method: of two agents, the one with the stronger chain of victories over the other is ahead."""

import time
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.kernels.compile import kernel
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.ties import TieRule, Voted, layers, settled

Strength: TypeAlias = Literal["winning_votes", "margins"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schulze(Voted):
    """ratings: the paper's score, N(a, b) summed over neighbours in the ranking from the agent's place down, the mean of N from one
    level to the next where agents tie. paths: P, float64 (m, m), the strength of the strongest chain from a to b, 0 where there is
    none; previous: int32 (m, m), who stands before b on it, -1 if there is no chain.
    """

    paths: Floats
    previous: NDArray[np.int32]

    @property
    def edges(self) -> tuple[tuple[int, int, float], ...]:
        """Pairs in order, as (ahead, behind, strength of the strongest chain), strongest first."""
        found = [(a, b, float(self.paths[a, b])) for a, b in np.argwhere(self.paths > self.paths.T).tolist()]
        return tuple(sorted(found, key=lambda edge: (-edge[2], edge[:2])))

    def chain(self, a: int, b: int) -> tuple[int, ...]:
        """The strongest chain of victories from a to b, both included; empty if there is no chain."""
        if self.previous[a, b] < 0:
            return ()
        found = [b]
        while found[-1] != a:
            found.append(int(self.previous[a, found[-1]]))
        return tuple(reversed(found))


def schulze(wins: ArrayLike, *, strength: Strength = "winning_votes", ties: TieRule = "keep") -> Schulze:
    """Schulze's method (2011; VasE, app. C.2.7): a is ahead of b where P(a, b) > P(b, a).

    wins: N (m, m), nonnegative: votes for a over b. A chain follows victories N(a, b) > N(b, a) and is as strong as its weakest
    one. strength: of a victory: ``winning_votes`` N(a, b), the variant of VasE, or ``margins`` N(a, b) - N(b, a); the two agree where no
    vote ties or lacks an alternative. With margins alone pass their positive part: both variants are then the one of margins.

    The relation is a strict partial order (Schulze 2011, sec. 4.1). Its ranking lists level by level whom nobody left is ahead of, so the
    first level is the set of Schulze winners. ties: ``keep`` the levels, or settle them by a rule.

    The paper's formula for the score (N summed over all below) and its printed values differ; these are the values. Condorcet and clone
    consistent; O(m**3). Certificate (``path_gap``): how much stronger some chain is than P says or weaker than P says, over the strongest
    victory; every chain is followed link by link and every extension is tried. Raises `InputError`.
    """
    begun = time.perf_counter()
    N = checks.nonnegative("wins", wins)
    checks.zero_diagonal("wins", N)
    checks.choice("strength", strength, get_args(Strength))
    links = np.where(N > N.T, N if strength == "winning_votes" else N - N.T, 0.0)
    paths, previous = widest_paths(links)
    gap = _path_gap(links, paths, previous) / (float(links.max()) or 1.0)
    levels = layers(paths > paths.T)
    ranking, broken = settled(levels, ties)
    return Schulze(
        ratings=_scores(N, ranking),
        certificate=Certificate("path_gap", gap),
        status=Status.OPTIMAL if gap == 0 else Status.FAILED,
        seconds=time.perf_counter() - begun,
        ranking=ranking,
        ties=ties,
        broken=broken,
        paths=paths,
        previous=previous,
    )


def _scores(N: Floats, ranking: Ranking) -> Floats:
    scores, score = np.zeros(len(N)), 0.0
    below: list[int] = []
    for level in reversed(ranking.levels):
        members = list(level)
        score += float(N[np.ix_(members, below)].mean()) if below else 0.0
        scores[members] = score
        below = members
    return scores


def widest_paths(links: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Strengths of the strongest paths over positive `links` (m, m), and who comes before the end of each (Floyd 1962)."""
    previous = np.where(links > 0, np.arange(len(links), dtype=np.int32)[:, None], np.int32(-1))
    paths = links.copy()
    _widen(paths, previous)
    np.fill_diagonal(paths, 0.0)
    np.fill_diagonal(previous, -1)
    return paths, previous


@kernel
def _widen(paths: Floats, previous: NDArray[np.int32]) -> None:
    m = len(paths)
    for c in range(m):
        onward, before = paths[c], previous[c]
        for a in range(m):
            reach, row, last = paths[a, c], paths[a], previous[a]
            if reach > 0 and a != c:
                for b in range(m):
                    through = min(reach, onward[b])
                    better = through > row[b]
                    row[b] = through if better else row[b]
                    last[b] = before[b] if better else last[b]


def _path_gap(links: Floats, paths: Floats, previous: NDArray[np.int32]) -> float:
    """The largest error of `paths`: chains that are not as strong as said, and one link more that would make one stronger."""
    said = paths.copy()
    np.fill_diagonal(said, np.inf)
    return max(float((links - said).max()), _longer(links, said), _weaker(links, paths, previous))


@kernel
def _longer(links: Floats, paths: Floats) -> float:
    m, most = len(links), np.zeros(len(links))
    for a in range(m):
        row = paths[a]
        for c in range(m):
            reach, onward = row[c], links[c]
            if a != c and reach > 0:
                for b in range(m):
                    most[b] = max(most[b], min(reach, onward[b]) - row[b])
    return float(most.max())


@kernel
def _weaker(links: Floats, paths: Floats, previous: NDArray[np.int32]) -> float:
    gap = 0.0
    for a in range(len(links)):
        for b in range(len(links)):
            if a != b:
                gap = max(gap, _shortfall(links, paths, previous, a, b))
    return gap


@kernel
def _shortfall(links: Floats, paths: Floats, previous: NDArray[np.int32], a: int, b: int) -> float:
    """What the recorded chain from a to b lacks of its strength; all of it where the chain does not end at a."""
    weakest, end, steps = np.inf, b, 0
    while end != a and steps <= len(links):
        before = previous[a, end]
        if before < 0:
            return float(paths[a, b])
        weakest = min(weakest, links[before, end])
        end, steps = before, steps + 1
    return max(0.0, float(paths[a, b]) - (weakest if end == a else 0.0))
