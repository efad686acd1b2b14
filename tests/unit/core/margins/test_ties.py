"""Ties of any kind are no evidence of cycles: kappa, its evidence and cyclicity come from decided games."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ratings_core.analysis.cyclicity import cyclicity
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.margins import Concentration, posterior_margins
from ratings_core.tallies import PairCounts
from tests.support.planted import PlantedPool

AGENTS = 20


def played(seed: int, *, cyclic: float = 0.0, ties: float = 0.2) -> PlantedPool:
    """20 agents of planted skills 1.5 logits apart and 20,000 games, of which a share is tied whatever the skills."""
    return PlantedPool.drawn(seed, agents=AGENTS, games=20_000, skill=1.5, cyclic=cyclic, ties=ties)


def evidence(pool: PlantedPool) -> Concentration:
    return posterior_margins(pool.wins, pool.ties).concentration


def pairs(ties: NDArray[np.float64] | None = None) -> MetPairs:
    """Decided games of 12 agents in a cycle of three types, with some ties beside them."""
    wins = PlantedPool.drawn(5, agents=12, games=1_500, cyclic=1.0).wins
    first, second = np.triu_indices(12, 1)
    return MetPairs(12, first, second, wins[first, second], wins[second, first], np.zeros(len(first)) if ties is None else ties)


def test_ties_at_random_are_no_evidence_of_cycles() -> None:
    """Around Davidson's model these pools had p-values of at most 0.05, down to 5e-30: its ties fall with the gap of skills."""
    found = [evidence(played(seed)).p_value for seed in range(40)]
    assert sum(p < 0.05 for p in found) <= 7  # of 40 at 5 %: more has probability 1e-3
    assert min(found) > 1e-4


@pytest.mark.parametrize("ties", [0.2, 0.6])
def test_a_planted_cycle_is_found_among_ties(ties: float) -> None:
    for seed in range(4):
        found = evidence(played(seed, cyclic=1.0, ties=ties))
        assert found.p_value < 1e-6
        assert found.low < found.kappa < found.high < math.inf


def test_ties_do_not_change_the_evidence_wherever_they_are() -> None:
    rng = np.random.default_rng(2)
    plain, some, far = pairs(), np.where(rng.random(66) < 0.3, 0.0, rng.integers(0, 200, 66) + 0.0), np.zeros(66)
    far[rng.random(66) < 0.5] = 1_000.0  # pairs that always tie, beside pairs that never do
    expected = posterior_margins(plain).concentration
    assert expected.p_value < 1e-6
    for ties in (some, far):
        given = replace(plain, tied=ties)
        found = posterior_margins(given).concentration
        assert (found.evidence, found.p_value, found.dependence, found.pairs) == (
            expected.evidence,
            expected.p_value,
            expected.dependence,
            expected.pairs,
        )
        decided = given.won + given.lost
        unit = (decided * (given.games - 1)).sum() / (decided * (decided - 1)).sum()  # every pair has decided games
        for name in ("kappa", "low", "high"):
            assert getattr(found, name) == pytest.approx(unit * getattr(expected, name))


def test_a_pair_that_only_ties_changes_neither_kappa_nor_its_evidence() -> None:
    plain = pairs()
    plain.won[3] = plain.lost[3] = 0.0
    ties = np.zeros(66)
    ties[3] = 10_000.0
    assert posterior_margins(replace(plain, tied=ties)).concentration == posterior_margins(plain).concentration


@pytest.mark.parametrize(("agents", "games", "ties", "decided"), [(40, 24, 0.5, 6.0), (60, 10, 0.9, 3.0)])
def test_kappa_counts_games_of_a_pool_with_ties(agents: int, games: int, ties: float, decided: float) -> None:
    """Half of the games are tied: a pair's prediction of 6 decided games is worth 12 games.

    Where few pairs have two decided games, these pairs tied less often than the pool does by chance; kappa does not follow that.
    """
    found, units = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        first, second = np.triu_indices(agents, 1)
        skill = rng.normal(size=agents)
        s = 1 / (1 + np.exp(skill[second] - skill[first]))
        several = rng.binomial(games, 1 - ties, len(first))
        won = rng.binomial(several, rng.beta(decided * s, decided * (1 - s)))
        pool = MetPairs(agents, first, second, won + 0.0, several - won + 0.0, games - several + 0.0)
        kappa = posterior_margins(pool).kappa
        found.append(kappa)
        units.append(kappa / posterior_margins(replace(pool, tied=0 * pool.tied)).kappa)
    assert np.median(units) == pytest.approx(1 / (1 - ties), rel=0.05)
    assert np.median(found) == pytest.approx(decided / (1 - ties), rel=0.2)


def test_a_pair_of_many_ties_and_few_decided_games_moves_kappa_little() -> None:
    plain = pairs()
    plain.won[3], plain.lost[3] = 1.0, 1.0
    ties = np.zeros(66)
    ties[3] = 1_000.0
    alone, beside = (posterior_margins(replace(plain, tied=tied)).kappa for tied in (plain.tied, ties))
    assert alone < beside < 1.1 * alone


def test_without_a_decided_game_nothing_is_known_of_kappa() -> None:
    only = MetPairs(3, np.array([0, 1]), np.array([1, 2]), np.zeros(2), np.zeros(2), np.array([5.0, 9.0]))
    assert posterior_margins(only).concentration == Concentration(math.inf, 0.0, math.inf, 0.0, 1.0, 0)
    assert cyclicity(PairCounts(np.array([0, 1], np.int32), np.array([1, 2], np.int32), only.won, only.lost, only.tied), 3).share is None


def test_ties_do_not_change_the_share_that_strengths_do_not_explain() -> None:
    plain = pairs()
    first, second = plain.first.astype(np.int32), plain.second.astype(np.int32)
    ties = np.random.default_rng(1).integers(0, 50, 66) + 0.0
    shares = [cyclicity(PairCounts(first, second, plain.won, plain.lost, tied), 12).share for tied in (plain.tied, ties)]
    assert shares[0] == shares[1]
    assert shares[0] is not None
    assert shares[0] > 0.1
