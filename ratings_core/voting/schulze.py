"""Schulze's method: agent a is ahead of b if the strongest chain of victories from a to b is stronger than that from b to a."""

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
    """ratings: the paper's score, the sum of N(a, b) over neighbours in the ranking, from the agent's level down to the last.

    If levels have several agents, the mean of N from one level to the next is used. paths: P, float64 (m, m), strength of the strongest
    chain from a to b, 0 without a chain; previous: int32 (m, m), the agent before b on that chain, -1 without a chain.
    """

    paths: Floats
    previous: NDArray[np.int32]

    @property
    def edges(self) -> tuple[tuple[int, int, float], ...]:
        """Pairs as (ahead, behind, strength of the strongest chain), strongest first."""
        edges = [(a, b, float(self.paths[a, b])) for a, b in np.argwhere(self.paths > self.paths.T).tolist()]
        return tuple(sorted(edges, key=lambda edge: (-edge[2], edge[:2])))

    def chain(self, a: int, b: int) -> tuple[int, ...]:
        """Agents on the strongest chain of victories from a to b, including both; empty without a chain."""
        if self.previous[a, b] < 0:
            return ()
        backward = [b]
        while backward[-1] != a:
            backward.append(int(self.previous[a, backward[-1]]))
        return tuple(reversed(backward))


def schulze(wins: ArrayLike, *, strength: Strength = "winning_votes", ties: TieRule = "keep") -> Schulze:
    """Schulze's method (2011; VasE, app. C.2.7): a is ahead of b where P(a, b) > P(b, a).

    wins: N (m, m), nonnegative: votes for a over b. The links of a chain are victories, N(a, b) > N(b, a). The strength of a chain is that
    of its weakest link. strength: strength of a victory: ``winning_votes`` N(a, b), the variant of VasE, or ``margins`` N(a, b) - N(b, a).
    The rankings agree if no vote contains ties or omits alternatives. If only margins are known, pass their positive part; both variants
    are then that of margins.

    The relation is a strict partial order (Schulze 2011, sec. 4.1). Each level of the ranking contains the agents that no remaining agent
    is ahead of, so the first level is the set of Schulze winners. ties: ``keep`` the levels, or order their agents by a rule.

    The paper's formula of the score (N summed over all agents below) differs from its printed values; `ratings` follow the values. The
    method is Condorcet and clone consistent and takes O(m**3). Certificate (``path_gap``): the largest error of P, divided by the strongest
    victory. The check follows every stored chain link by link and tries every extension by a link. Raises `InputError`.
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
    """Strength of the strongest path from each agent to each other one over positive `links` (m, m), by Floyd 1962.

    The second array (m, m) holds the agent before the end of each path, -1 without a path.
    """
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
    """Largest error of `paths`: a stored chain that is weaker than stated, or a chain that becomes stronger by one more link."""
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
    """Stated minus actual strength of the stored chain from a to b, at least 0. A chain that does not lead to a has strength 0."""
    weakest, end, steps = np.inf, b, 0
    while end != a and steps <= len(links):
        before = previous[a, end]
        if before < 0:
            return float(paths[a, b])
        weakest = min(weakest, links[before, end])
        end, steps = before, steps + 1
    return max(0.0, float(paths[a, b]) - (weakest if end == a else 0.0))
