"""Posterior margins on planted truths, under a clone flood, in the demo's clone attack, and at the size of a platform.

`python -m benchmarks.posterior_planted [--quick]`. Planted pools have known skills and three types of which each is ahead of the next by
`cyclic` logits; newcomers played 3 games each. `loss` is the true exploitability of the elected lottery (0 is perfect), `newcomers` the
probability it gives to newcomers. Observed margins are
wins less losses. The demo's clone attack is on the Atari table: 20 exact copies of the agent `human`, with observed margins and with
posterior ones. The large pool is sparse: Zipf activity, one result a game. Peak memory is of the whole process.
"""

import os
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import resource
import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.common import arguments, machine
from ratings_core.margins import posterior_copeland, posterior_lottery, posterior_margins
from ratings_core.voting.lotteries import maximal_lottery
from services.demo import clones
from tests.support.clone_attack import rated_after
from tests.support.planted import PlantedPool, with_clones

Floats = NDArray[np.float64]
POOLS: dict[str, dict[str, Any]] = {
    "transitive": {},
    "cyclic": {"cyclic": 1.0},
    "cyclic, equal skills": {"cyclic": 1.0, "skill": 0.0},
    "sparse, mixed": {"cyclic": 0.5, "games": 2_000},
}


def loss(lottery: Floats, truth: Floats) -> float:
    """True exploitability, against the agents that were not newcomers."""
    return max(0.0, -float((lottery @ truth).min()))


def planted(seeds: int) -> None:
    print(f"\nPlanted pools of 60 agents and 20 newcomers of 3 games, {seeds} seeds, median (worst)")
    print(f"{'pool':24}{'margins':28}{'kappa':>8}{'loss':>18}{'newcomers':>12}")
    for name, settings in POOLS.items():
        pools = [PlantedPool.drawn(seed, newcomers=20, **settings) for seed in range(seeds)]
        observed = [(np.nan, maximal_lottery(one.wins - one.wins.T).lottery) for one in pools]
        rows: dict[str, list[tuple[float, Floats]]] = {"observed": observed}
        for pessimism in (0.0, 1.0, 2.0, 3.0):
            fitted = [posterior_margins(one.wins, pessimism=pessimism) for one in pools]
            rows[f"posterior, pessimism {pessimism:g}"] = [(one.kappa, posterior_lottery(one).lottery) for one in fitted]
        for margins, found in rows.items():
            losses = [loss(lottery, pool.truth[:, :60]) for (_, lottery), pool in zip(found, pools, strict=True)]
            new = float(np.mean([lottery[60:].sum() for _, lottery in found]))
            kappa = float(np.median([own for own, _ in found]))
            print(f"{name:24}{margins:28}{kappa:8.3g}{np.median(losses):10.2f} ({max(losses):.2f}){new:12.2f}", flush=True)


def flooded(seeds: int) -> None:
    """A flood of 10 agents that play like one, each with the same number of games, against everybody."""
    print("\nFlood of 10 near copies of the strongest agent (own games), kappa 5: largest move of a margin between others, of the bound")
    for games in (5, 50, 500):
        moves, shares = [], []
        for seed in range(seeds):
            pool = PlantedPool.drawn(seed, agents=30, games=6_000, cyclic=1.0)
            rng, chance = np.random.default_rng(seed), (1 + pool.truth[int(np.argmax(pool.skill))]) / 2
            wins = np.zeros((40, 40))
            wins[:30, :30] = pool.wins
            met = rng.multinomial(games, np.full(30, 1 / 30), 10)
            wins[30:, :30] = rng.binomial(met, chance)
            wins[:30, 30:] = (met - wins[30:, :30]).T
            before, after = (posterior_margins(one, kappa=5.0).dense()[:30, :30] for one in (pool.wins, wins))
            bound = 10 / (pool.wins + pool.wins.T + 5)
            moves.append(np.abs(after - before).max())
            shares.append((np.abs(after - before) / bound).max())
        print(f"  {games:4} games each: {max(moves):.4f}, {max(shares):.1%} of the bound 2 kappa / (games + kappa)", flush=True)


def clone_attack() -> None:
    """Rock, paper, scissors; then ten exact copies of rock, as in the demo."""
    wins = np.array([[0.0, 20, 80], [80, 0, 20], [20, 80, 0]])
    print("\nClone attack on rock, paper, scissors (80 % each way, 100 games a pair): shares of rock and its copies, paper, scissors")
    for copies in (0, 1, 10):
        margins = posterior_margins(with_clones(wins, agent=0, copies=copies), pessimism=2.0)
        lottery = posterior_lottery(margins).lottery
        rocks = lottery[0] + lottery[3:].sum()
        strength = margins.theta - margins.theta.mean()
        others = f"{lottery[1]:.4f} {lottery[2]:.4f}   strengths {strength[0]:+.3f} {strength[1]:+.3f} {strength[2]:+.3f}"
        print(f"  {copies:3} copies: {rocks:.4f} {others}", flush=True)


def demo_attack() -> None:
    """The wave of the demo that copies an agent, solved with both kinds of margins."""
    copied = f"{clones.AGENT_COPIES} copies of `{clones.AGENT}` in the Atari table"
    print(f"\nThe demo's clone attack: {copied}; what others move, of their spread")
    for method in ("maximal_lottery", "iterated_maximal_lotteries", "nash_average_agents"):
        for margins in ("observed", "posterior"):
            before, after = (rated_after(waves, method, margins=margins) for waves in (1, 2))
            moved = clones.moved(method, before, after)
            winner = "winner unchanged" if before[0][0] == after[0][0] else f"winner {before[0][0]}, then {after[0][0]}"
            print(f"  {method:28}{margins:11}{moved.share:6.3f}, {moved.ranks} of {len(before) - 1} change places, {winner}", flush=True)


def platform(agents: int, games: int) -> None:
    rng = np.random.default_rng(0)
    activity = 1 / np.arange(1, agents + 1) ** 0.8
    skill = rng.normal(0, 1, agents) + 0.5 * np.log(activity / activity.min()) / np.log(agents)
    first, second = (rng.choice(agents, games, p=activity / activity.sum()) for _ in range(2))
    first, second = first[first != second], second[first != second]
    won = rng.random(len(first)) < 1 / (1 + np.exp(skill[second] - skill[first]))
    ids = np.where(won, first, second), np.where(won, second, first)
    wins = sparse.csr_array(sparse.coo_array((np.ones(len(first)), ids), shape=(agents, agents)))
    begun = time.process_time()
    margins = posterior_margins(wins, pessimism=2.0)
    fitted = time.process_time()
    found = posterior_lottery(margins)
    elected = time.process_time()
    posterior_copeland(margins)
    counted = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    places = np.argsort(np.argsort(-skill))[found.support]
    size = f"{agents:,} agents, {len(first):,} games, {margins.correction.nnz // 2:,} pairs met"
    costs = f"fit and kappa {fitted - begun:.1f}, lottery {elected - fitted:.2f}, Copeland {counted - elected:.2f}"
    print(f"\n{size}; CPU seconds: {costs}; peak {peak:.2f} GiB")
    best = sorted((places + 1).tolist())[:10]
    print(f"  kappa {margins.kappa:.3g}; {len(found.support)} elected, true places {best}; {len(found.candidates)} agents dense")
    print(f"  margin over everybody else at least {found.excluded_by:.3g}; exploitability {found.certificate.value:.1e}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(__doc__ or "", argv)
    print(machine(("numpy", "scipy")))
    planted(3 if options.quick else 8)
    flooded(1 if options.quick else 5)
    clone_attack()
    demo_attack()
    for agents, games in ((5_000, 100_000),) if options.quick else ((7_600, 195_000), (50_000, 1_000_000)):
        platform(agents, games)


if __name__ == "__main__":
    main()
