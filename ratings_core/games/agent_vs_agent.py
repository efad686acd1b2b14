"""The game of agent against agent from pair counts, with win rates or logits as payoffs (Balduzzi et al. 2018, sec. 3.1 and 4.1).

The two payoffs give different games with different equilibria. Logits add up along chains of agents and weigh a certain win far more than a
likely win. Win rates are bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.games.duels import Duels, Kappa, Uncompared, preferences
from ratings_core.games.gamified import Gamified
from ratings_core.games.normal_form import NormalForm, names_or_numbers
from ratings_core.options import Options, option
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import MOST_DENSE, PairCounts

PairPayoff: TypeAlias = Literal["logit", "win_rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVsAgentOptions(Options):
    """Options of `agent_vs_agent`."""

    pseudo_count: float = option(0.0, "wins that each side of a pair that met is taken to have besides", 0.0, 1e6)
    missing: Uncompared = option("refuse", "pairs that did not meet", choices=get_args(Uncompared))
    merge: bool = option(True, "agents of equal results are one")


_DEFAULTS: Final = AgentVsAgentOptions()


def agent_vs_agent(
    counts: PairCounts,
    n: int,
    *,
    payoff: PairPayoff,
    options: AgentVsAgentOptions = _DEFAULTS,
    kappa: Kappa | None = None,
    agents: Sequence[str] | None = None,
) -> Gamified[NormalForm]:
    """The symmetric zero-sum game of two agents. Its payoffs are antisymmetric.

    counts: pair counts of agents 0 to n - 1; a tie is half a win for both. payoff: ``win_rate`` is wins minus losses over games; ``logit``
    is the log-odds of winning, which needs a pseudo-count if a pair has only one winner. options.missing, kappa: the policy for pairs that
    never met, as in `preferences`; ``drop_agents`` repeatedly drops the agent with the most such pairs, and ``prior`` shrinks all pairs.
    agents: names, by default numbers. Raises `InputError`.
    """
    AgentVsAgentOptions.require(options)
    checks.choice("payoff", payoff, get_args(PairPayoff))
    duels = Duels.of_counts([checks.instance("counts", counts, PairCounts)], checks.count("n", n, low=1, high=MOST_DENSE))
    games = np.where(duels.games > 0, duels.games + 2 * options.pseudo_count, 0.0)
    u = preferences(Duels(duels.ahead, games, "wins"), missing=options.missing, kappa=kappa, merge=options.merge, agents=agents)
    names = u.agent_side.named(names_or_numbers("agents", agents, n))
    A = _logits(u.ahead[0], names) if payoff == "logit" else u.ahead[0]
    return u.gamified(NormalForm.of((A, -A), (names, names), ("agent", "opponent")))


def _logits(ahead: Floats, names: Sequence[str]) -> Floats:
    """Log-odds of p = (1 + u) / 2, which are 2 artanh u."""
    if (certain := np.argwhere(np.abs(ahead) >= 1)).size:
        pair = " over ".join(names[i] for i in certain[0].tolist())
        raise InputError("pseudo_count", 0.0, f"must be above 0, because a pair has only wins ({pair}) and its logit would be infinite")
    return np.asarray(2 * np.arctanh(ahead), np.float64)
