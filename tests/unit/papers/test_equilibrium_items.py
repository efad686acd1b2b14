"""Computations of the items of Liu et al. 2025: copies, the annealed loss, improvement paths, attacks, risk dominance."""

import numpy as np
import pytest

from benchmarks.papers.equilibrium import clones, dominance, improvement, path, redundancy
from benchmarks.workloads import preferences
from ratings_core.equilibria import lle
from ratings_core.games import KingOfTheHill, uniform_mixes


def test_copies_share_a_kernel_of_ones_and_pay_like_the_original():
    assert clones.kernel(2).tolist() == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
    assert clones.coordination(2).payoffs[0].tolist() == [[2, 0, 0], [0, 1, 1], [0, 1, 1]]


def test_the_loss_is_zero_at_logit_equilibria_only():
    game = KingOfTheHill.of(preferences(3, 3, 0))
    assert path.loss(game, uniform_mixes(game.shape), 1e7) == pytest.approx(0.0, abs=1e-6)
    assert path.loss(game, uniform_mixes(game.shape), 0.5) > 1e-3
    nash = lle(game, target="even").mixes
    assert path.loss(game, nash, 1e-9) == pytest.approx(0.0, abs=1e-5)


def test_entropy_is_largest_for_even_skills():
    assert improvement.entropy(np.ones((3, 4))) == pytest.approx(np.log(4))
    assert improvement.entropy(np.array([[1.0, 0.0], [2.0, 0.0]])) == pytest.approx(0.0)


def test_a_new_model_has_the_highest_rating():
    rng = np.random.default_rng(0)
    models, direction = 3 * rng.random((5, improvement.SKILLS)), rng.dirichlet(np.ones(improvement.SKILLS))
    assert improvement.improved(models, direction, rng) @ direction > (models @ direction).max()


@pytest.mark.parametrize("kind", improvement.KINDS)
def test_a_trial_adds_a_model_and_where_asked_a_prompt_in_each_iteration(kind):
    found = improvement.grown(kind, 0, 2)
    assert len(found["models"]) == improvement.FIRST_MODELS + 2
    assert len(found["prompts"]) == improvement.FIRST_PROMPTS + 2 * kind.endswith("additional prompts")
    assert len(found["entropies"]) == 3


def test_an_attack_copies_prompts_on_which_the_model_does_badly():
    ahead = preferences(30, 5, 0)
    model = redundancy.first_by_elo(ahead)
    original = redundancy.attacked(ahead, 200, model, seed=1)
    assert original[:30].tolist() == list(range(30))
    mean = ahead[:, model, :].mean(axis=1)
    assert mean[original[30:]].mean() < mean.mean()
    assert redundancy.elo(ahead[original])[model] < redundancy.elo(ahead)[model]


def test_copies_do_not_change_ratings_with_affinity_targets_although_they_are_not_merged():
    ahead = preferences(8, 4, 0)
    copied = ahead[redundancy.attacked(ahead, 20, redundancy.first_by_elo(ahead), seed=1)]
    for method in ("NE, affinity", "CCE, affinity"):
        assert redundancy.ratings(copied, method) == pytest.approx(redundancy.ratings(ahead, method), abs=redundancy.SAME)


def test_no_player_gains_by_leaving_an_equilibrium():
    game = KingOfTheHill.of(preferences(6, 4, 0))
    chosen = lle(game).mixes
    for rival in dominance.others(game, 3, seed=0):
        assert dominance.loss(game, chosen, rival) >= -dominance.NASH
