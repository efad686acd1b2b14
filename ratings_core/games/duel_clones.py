"""Clones among the agents of duels, found by hashes: exact, in time linear in the results.

Agents a and b are clones if they have equal results against all other agents on every task, and tied with each other wherever they met.
This is an equivalence relation. Let v(a, c) be the results of a against c, h a hash with h(c, 0) = 0 for pairs that never met, and H(a) the
sum of h(c, v(a, c)) over all c. Clones that met share v = v(a, b) = v(b, a), so H(a) + h(a, v) = H(b) + h(b, v). Clones that never met have
v = 0 and H(a) = H(b). So clones share a key. Agents that share a key are compared exactly.
"""

from collections import defaultdict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.games.clones import CloneClasses, described
from ratings_core.solution import Floats

_CELLS: Final = 1 << 22
"""Number of agent pairs that are hashed in one block."""
_SEED: Final = 0x5EED


def duel_classes(parts: list[Floats]) -> CloneClasses:
    """Classes of clones. parts: counts of a against b, float64 (tasks, n, n) each; the first is `Duels.ahead`, which is antisymmetric.

    Returns the classes numbered by first appearance.
    """
    n = parts[0].shape[1]
    leaders: defaultdict[int, list[int]] = defaultdict(list)
    member, classes = np.empty(n, np.int64), 0
    for agent, keys in enumerate(_keys(parts)):
        candidates = {leader for key in keys for leader in leaders.get(key, ())}
        leader = next((leader for leader in sorted(candidates) if same_results(parts, agent, leader)), None)
        if leader is None:
            member[agent], classes = classes, classes + 1
            for key in keys:
                leaders[key].append(agent)
        else:
            member[agent] = member[leader]
    return described(member)


def same_results(parts: list[Floats], a: int, b: int) -> bool:
    """Whether agents a and b are clones, compared exactly. parts: as for `duel_classes`."""
    if parts[0][:, a, b].any():
        return False
    others = np.ones(parts[0].shape[1], bool)
    others[[a, b]] = False
    return all(np.array_equal(part[:, a][:, others], part[:, b][:, others]) for part in parts)


def _keys(parts: list[Floats]) -> list[list[int]]:
    """Keys of each agent: one for clones that it never met, and one for each opponent that it tied with. Only keys that agents share."""
    n = parts[0].shape[1]
    draws = np.random.default_rng(_SEED)
    column = draws.integers(1, 1 << 63, n, np.uint64) | np.uint64(1)
    factors = draws.integers(1, 1 << 63, (len(parts), len(parts[0])), np.uint64) | np.uint64(1)
    agents, keys = list[NDArray[np.int64]](), list[NDArray[np.uint64]]()
    for begin in range(0, n, max(1, _CELLS // n)):
        rows = slice(begin, min(n, begin + max(1, _CELLS // n)))
        cells = _mixed(_results(parts, factors, rows))
        sums = (cells * column).sum(axis=1, dtype=np.uint64)
        tied, opponent = np.nonzero(~parts[0][:, rows].any(axis=0) & (cells != 0))
        agents += [np.arange(rows.start, rows.stop), rows.start + tied]
        keys += [sums, sums[tied] + cells[tied, opponent] * column[rows.start + tied]]
    return _shared(np.concatenate(agents), np.concatenate(keys), n)


def _results(parts: list[Floats], factors: NDArray[np.uint64], rows: slice) -> NDArray[np.uint64]:
    """One word per pair that combines its results on all tasks; 0 for pairs that never met. uint64 (rows, n)."""
    words = np.zeros((rows.stop - rows.start, parts[0].shape[1]), np.uint64)
    for part, own in zip(parts, factors, strict=True):
        for results, factor in zip(part[:, rows], own, strict=True):
            words += np.ascontiguousarray(results + 0.0).view(np.uint64) * factor  # + 0.0 turns -0 into 0: equal, but with other bits
    return words


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of MurmurHash3, so that sums of different words are different in practice; 0 stays 0."""
    for factor in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
        words = (words ^ (words >> np.uint64(33))) * factor
    return words ^ (words >> np.uint64(33))


def _shared(agents: NDArray[np.int64], keys: NDArray[np.uint64], n: int) -> list[list[int]]:
    """The distinct keys of each agent, without keys that only one agent has."""
    pairs = np.unique(np.stack([keys, agents.astype(np.uint64)], axis=1), axis=0)
    same = pairs[1:, 0] == pairs[:-1, 0]
    shared = pairs[np.append(False, same) | np.append(same, False)]
    own = [list[int]() for _ in range(n)]
    for key, agent in shared.tolist():
        own[agent].append(key)
    return own
