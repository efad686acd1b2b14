"""The lottery of structured margins equals that of the dense matrix, and is certified against all agents."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from ratings_core.errors import SolverError
from ratings_core.margins import posterior_lottery, posterior_margins
from ratings_core.margins.posterior import PosteriorMargins
from ratings_core.solution import Status
from ratings_core.voting.lotteries import LotteryOptions, maximal_lottery
from tests.support.planted import PlantedPool, with_clones


@pytest.mark.parametrize("cyclic", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("agents", [30, 900])
def test_it_is_the_lottery_of_the_dense_matrix(agents: int, cyclic: float) -> None:
    pool = PlantedPool.drawn(agents, agents=agents, games=30 * agents, cyclic=cyclic, skill=0.3)
    margins = posterior_margins(pool.wins, kappa=4.0)
    dense = margins.dense()
    found, direct = posterior_lottery(margins), maximal_lottery(dense)
    np.testing.assert_allclose(found.lottery, direct.lottery, atol=1e-6)
    assert found.support.tolist() == direct.support.tolist()
    assert -(found.lottery @ dense).min() <= 1e-9
    if len(found.candidates) < agents:
        outside = np.setdiff1d(np.arange(agents), found.candidates)
        assert found.excluded_by == pytest.approx((found.lottery @ dense)[outside].min(), abs=1e-12)
        assert found.excluded_by > 1e-9
        assert not np.isin(direct.support, outside).any()


class Underestimated(PosteriorMargins):
    """Margins in which every lottery does worse against all agents than the candidates' block says."""

    def preferred(self, agents: NDArray[np.int64], lottery: NDArray[np.float64]) -> NDArray[np.float64]:
        return PosteriorMargins.preferred(self, agents, lottery) - 1e-3


def test_a_lottery_that_its_own_certificate_refutes_is_raised_or_marked() -> None:
    margins = posterior_margins(PlantedPool.drawn(1, agents=10, games=300, cyclic=1.0, skill=0.3).wins, kappa=4.0)
    refuted = Underestimated(*(getattr(margins, field.name) for field in fields(margins)))
    with pytest.raises(SolverError, match="against all agents is above the tolerance") as caught:
        posterior_lottery(refuted)
    accepted = posterior_lottery(refuted, options=LotteryOptions(accept_approximate=True))
    assert caught.value.solution.status is accepted.status is Status.APPROXIMATE
    assert accepted.certificate.value > 1e-4


def test_ten_copies_share_what_one_had() -> None:
    pool = PlantedPool.drawn(5, agents=30, games=6_000, cyclic=2.0, skill=0.0)
    before = posterior_lottery(posterior_margins(pool.wins))
    agent = int(before.support[0])
    margins = posterior_margins(with_clones(pool.wins, agent=agent, copies=10))
    after = posterior_lottery(margins)
    copies = np.append(agent, np.arange(30, 40))
    assert np.ptp(after.lottery[copies]) <= 1e-12
    merged = np.delete(np.arange(40), np.arange(30, 40))
    alone = maximal_lottery(margins.block(merged))
    np.testing.assert_allclose(np.delete(after.lottery[:30], agent), np.delete(alone.lottery, agent), atol=1e-8)
    assert after.lottery[copies].sum() == pytest.approx(alone.lottery[agent], abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("skill", "cyclic"), [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
def test_newcomers_are_not_elected_for_lack_of_evidence(seed: int, skill: float, cyclic: float) -> None:
    pool = PlantedPool.drawn(seed, skill=skill, cyclic=cyclic, newcomers=20)
    observed = maximal_lottery(pool.wins - pool.wins.T).lottery
    found = posterior_lottery(posterior_margins(pool.wins, pessimism=2.0)).lottery
    assert observed[60:].sum() > 0.3
    assert found[60:].sum() == 0
    true_loss, observed_loss = (-(lottery @ pool.truth)[:60].min() for lottery in (found, observed))
    assert true_loss < max(0.15, observed_loss)  # agents of equal skill can be lucky: then any lottery of theirs loses little


def test_a_large_sparse_pool_elects_its_best_and_keeps_few_agents_dense() -> None:
    rng = np.random.default_rng(0)
    m, games = 20_000, 200_000
    skill = rng.normal(0, 1.5, m)
    first = rng.integers(0, m, games)
    second = (first + rng.integers(1, m, games)) % m
    won = rng.random(games) < 1 / (1 + np.exp(skill[second] - skill[first]))
    pairs = np.where(won, first, second), np.where(won, second, first)
    wins = sparse.csr_array(sparse.coo_array((np.ones(games), pairs), shape=(m, m)))
    found = posterior_lottery(posterior_margins(wins, kappa=20.0, pessimism=2.0))
    assert found.certificate.value <= 1e-9
    assert len(found.candidates) < 2_000
    assert found.excluded_by > 0
    assert np.isin(found.support, np.argsort(-skill)[:200]).all()
