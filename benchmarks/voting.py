"""Voting methods from votes to ranking, and Kemeny's orders from margins.

`python -m benchmarks.voting [--quick]`. Goals: 500 agents and 1,000 strict votes <= 0.4 s each, counting of pairs included; Kemeny
exact to 20 agents in one cycle <= 5 s. References are pref_voting (where `scripts/oracles` has installed it) and OpenSpiel, each in a
process of its own, and the same rules in plain numpy or Python. Seconds are CPU seconds, one thread, of votes to scores or winners.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np

from benchmarks.common import Row, arguments, header, seconds, show
from benchmarks.workloads import random_margins
from ratings_core.solution import Floats, Solution
from ratings_core.voting.copeland import copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv
from tests.support.pref_voting import PrefVoting, installed

RULES: dict[str, Callable[[Profile], Solution]] = {
    "plurality": plurality,
    "approval (10)": lambda profile: approval(profile, 10),
    "Borda": borda,
    "STV": stv,
    "Copeland": lambda profile: copeland(profile.margins()),
    "Schulze": lambda profile: schulze(profile.preferences()),
    "ranked pairs, ties kept": lambda profile: ranked_pairs(profile.margins()),
    "ranked pairs, ties ordered": lambda profile: ranked_pairs(profile.margins(), ties="order"),
}
PREF_VOTING = {
    "plurality": "plurality",
    "Borda": "borda",
    "Copeland": "copeland_of_orders",
    "Schulze": "beat_path_of_orders",
    "ranked pairs, ties ordered": "ranked_pairs_of_orders",
}
OPEN_SPIEL = {"Copeland": "copeland.CopelandVoting", "Borda": "borda.BordaVoting", "Schulze": "schulze.SchulzeVoting"}


def votes(m: int, n: int, noise: float, seed: int) -> Profile:
    """Strict votes by a skill from 0 to 3 plus `noise` times a Gumbel draw; with infinite noise orders are uniform."""
    rng = np.random.default_rng(seed)
    skill = np.zeros(m) if np.isinf(noise) else np.linspace(0, 3, m) / noise
    return Profile.from_orders(np.argsort(rng.gumbel(size=(n, m)) - skill, axis=1))


def numpy_preferences(orders: np.ndarray) -> Floats:
    place = np.argsort(orders, axis=1)
    wins = np.zeros((orders.shape[1],) * 2)
    for row in place:
        wins += row[:, None] < row
    return wins


def numpy_schulze(orders: np.ndarray) -> Floats:
    wins = numpy_preferences(orders)
    paths = np.where(wins > wins.T, wins, 0.0)
    for through in range(len(paths)):
        np.maximum(paths, np.minimum.outer(paths[:, through], paths[through]), out=paths)
    return paths


def python_kemeny(margins: Floats) -> float:
    """Dynamic programming over subsets in plain Python."""
    M = margins.tolist()
    best: dict[frozenset[int], float] = {frozenset(): 0.0}
    for size in range(1, len(M) + 1):
        for chosen in map(frozenset, combinations(range(len(M)), size)):
            best[chosen] = max(best[chosen - {last}] + sum(M[a][last] for a in chosen if a != last) for last in chosen)
    return best[frozenset(range(len(M)))]


def open_spiel_seconds(name: str, orders: list[list[int]]) -> float:
    """Run in a process of its own."""
    from importlib import import_module  # noqa: PLC0415 - not in the process of ours

    module, method = OPEN_SPIEL[name].split(".")
    base = import_module("open_spiel.python.voting.base")
    begun = time.process_time()
    election = base.PreferenceProfile(votes=orders, alternatives=list(range(len(orders[0]))))
    getattr(import_module(f"open_spiel.python.voting.{module}"), method)().run_election(election)
    return time.process_time() - begun


def peers(name: str, orders: np.ndarray, oracle: PrefVoting | None) -> Iterator[tuple[str, float]]:
    if oracle is not None and name in PREF_VOTING:
        yield "pref_voting", oracle.seconds(PREF_VOTING[name], orders=orders.tolist(), weights=[1] * len(orders))
    if name in OPEN_SPIEL:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:
            yield "OpenSpiel", own.submit(open_spiel_seconds, name, orders.tolist()).result()
    if name == "Schulze":
        yield "plain numpy", seconds(lambda: numpy_schulze(orders), 1)


def rule_rows(name: str, profile: Profile, repeats: int, oracle: PrefVoting | None) -> Iterator[Row]:
    rule = RULES[name]
    m, n = len(profile.names), len(profile)
    size = f"m={m}, {n} votes, cert {rule(profile).certificate.value:.0e}"
    ours = seconds(lambda: rule(profile), repeats)
    shown = False
    for peer, theirs in peers(name, profile.agent.reshape(n, m), oracle):
        shown = True
        yield Row(name, size, ours, peer, theirs)
    if not shown:
        yield Row(name, size, ours, "no peer installed", None)


def subsets_row(m: int) -> Row:
    margins = random_margins(m, 1, odd=True)
    wins = np.maximum(margins, 0)
    ours = seconds(lambda: kemeny(wins), 3)
    if m > 14:
        return Row("Kemeny, one cycle of odd margins", f"m={m}", ours, "plain Python (not run at this size)", None)
    return Row("Kemeny, one cycle of odd margins", f"m={m}", ours, "plain Python", seconds(lambda: python_kemeny(margins), 1))


def kemeny_row(m: int, n: int, noise: float) -> Row:
    wins = votes(m, n, noise, 1).preferences()
    found = kemeny(wins, accept_approximate=True, most_programs=40)
    size = f"m={m}, {n} votes, cycle of {max(found.components)}, gap {found.certificate.value:.0e}"
    ours = seconds(lambda: kemeny(wins, accept_approximate=True, most_programs=40), 1)
    return Row(f"Kemeny, votes with noise {noise:g}, <= 40 programs", size, ours, "none known", None)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(__doc__ or "", argv)
    m, n = (100, 100) if options.quick else (500, 1000)
    header("Voting methods", ("numba", "highspy", "numpy"))
    uniform, skilled = votes(m, n, np.inf, 0), votes(m, n, 3.0, 0)
    oracle = PrefVoting() if installed() else None
    for name in RULES:
        for row in rule_rows(name, uniform, min(options.repeats, 3), oracle):
            show(row)
    for name in ("Schulze", "ranked pairs, ties kept"):
        for row in rule_rows(name, skilled, min(options.repeats, 3), oracle):
            show(row)
    for agents in (10,) if options.quick else (10, 14, 17, 20):
        show(subsets_row(agents))
    for agents, voters, noise in ((40, 31, 3.0),) if options.quick else ((100, 31, 1.0), (100, 31, 3.0), (300, 101, 1.0)):
        show(kemeny_row(agents, voters, noise))


if __name__ == "__main__":
    main()
