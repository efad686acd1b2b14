"""Payoffs of each player against each other player while the rest mix: how expected payoffs change with the mixes.

D_pq(a, b) is the expected payoff of player p at its strategy a and q's strategy b. D_pq times q's mix is p's payoff against all mixes.
"""

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import NormalForm
from ratings_core.games.pair_slabs import PairSlabs, paired, slabs_of
from ratings_core.games.tilted import Mixes
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class PairPayoffs:
    """Expected payoffs. worth: of each player's strategies against all mixes; pairs: D_pq for players p != q, (shape[p], shape[q])."""

    worth: Mixes
    pairs: dict[tuple[int, int], Floats]


@singledispatch
def pair_payoffs(game: object, mixes: Mixes) -> PairPayoffs:
    """Expected payoffs of all pairs of players while all players mix independently."""
    raise InputError("game", type(game).__name__, f"must be a NormalForm, a KingOfTheHill or an AgentAgentTask ({len(mixes)} mixes)")


@pair_payoffs.register
def _(game: NormalForm, mixes: Mixes) -> PairPayoffs:
    players = range(len(mixes))
    pairs = {(p, q): _contracted(tensor, mixes, p, q) for p, tensor in enumerate(game.payoffs) for q in players if q != p}
    return PairPayoffs(tuple(pairs[p, q] @ mixes[q] for p in players for q in [1 if p == 0 else 0]), pairs)


@pair_payoffs.register
def _(game: KingOfTheHill, mixes: Mixes) -> PairPayoffs:
    return _on_tasks(slabs_of(game), mixes, (0, 1, 2))


@pair_payoffs.register
def _(game: AgentAgentTask, mixes: Mixes) -> PairPayoffs:
    return _on_tasks(slabs_of(game), mixes, (2, 0, 1))


def _contracted(tensor: Floats, mixes: Mixes, p: int, q: int) -> Floats:
    """Contract over all players except p and q; rows are p's strategies."""
    for other in reversed(range(tensor.ndim)):
        if other not in (p, q):
            tensor = np.asarray(np.tensordot(tensor, mixes[other], axes=(other, 0)), np.float64)
    return tensor if p < q else tensor.T


def _on_tasks(slabs: PairSlabs, mixes: Mixes, order: tuple[int, int, int]) -> PairPayoffs:
    task, first, second = order
    x, y = mixes[first], mixes[second]
    near = paired(slabs, mixes[task], x, y)
    on_first, on_second = near.ahead_first.T, near.ahead_second.T - (x @ slabs.lost)[:, None]
    pairs = {
        (task, first): near.apart_first,
        (task, second): near.apart_second,
        (first, task): on_first,
        (second, task): on_second,
        (first, second): near.mean,
        (second, first): -near.mean.T - slabs.lost.T,
    }
    worth = {task: near.apart_first @ x, first: near.mean @ y, second: pairs[second, first] @ x}
    return PairPayoffs(tuple(worth[p] for p in range(3)), pairs)
