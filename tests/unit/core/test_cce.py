"""CCE of least relative entropy: a conic solver as oracle, laws, counterexamples, hard games, bad input."""

import numpy as np
import pytest

from ratings_core.equilibria import AffinityTarget, CCEOptions, cce
from ratings_core.errors import InputError, SolverError
from ratings_core.games import AgentAgentTask, JointDistribution, KingOfTheHill, NormalForm, deviation_gains
from ratings_core.reference import gains, nearest_equilibrium
from ratings_core.solution import Status
from tests.support.options import with_options
from tests.unit.core.random_games import cloned, random_game, shuffled

PRISONERS = NormalForm.of(([[3, 0], [5, 1]], [[3, 5], [0, 1]]))
CHICKEN = NormalForm.of(([[0, 7], [2, 6]], [[0, 2], [7, 6]]))


def king(prompts, models, seed=0):
    """Preferences in halves, with ties, as judges give them."""
    u = np.round(2 * np.random.default_rng(seed).normal(size=(prompts, models, models))) / 2
    return np.clip(u - u.transpose(0, 2, 1), -1, 1)


def close(values, tolerance=1e-6):
    return pytest.approx(np.asarray(values), abs=tolerance)


def _payoffs(game):
    return (game if isinstance(game, NormalForm) else game.normal_form()).payoffs


def dense(found):
    """The whole distribution, by its definition from priors and multipliers."""
    game = found.play.game
    logs = -np.concatenate(found.play.multipliers) @ gains(_payoffs(game)) - found.play.log_total
    for p, own in enumerate(found.play.log_prior):
        logs = logs + np.broadcast_to(own.reshape([-1 if q == p else 1 for q in range(len(game.shape))]), game.shape).ravel()
    return np.exp(logs).reshape(game.shape)


@pytest.mark.parametrize("seed", range(24))
def test_it_is_the_equilibrium_that_a_conic_solver_finds(seed):
    rng = np.random.default_rng(seed)
    game, eps = random_game(seed), [0.0, 1e-3, 0.05][seed % 3]
    target = "even" if seed % 2 else [rng.dirichlet(np.full(n, 5.0)) for n in game.shape]
    found = cce(game, target=target, options=CCEOptions(eps=eps, merge=False))
    nearest = nearest_equilibrium(_payoffs(game), found.targets, eps)
    assert found.relative_entropy == pytest.approx(nearest.relative_entropy, abs=1e-6)
    assert np.concatenate(found.by_player) == close(np.concatenate(nearest.by_player), 1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_reported_is_what_the_whole_distribution_says(seed):
    found = cce(random_game(seed), options=CCEOptions(eps=0.01 * (seed % 2)))
    sigma = dense(found)
    play = JointDistribution.from_dense(sigma)
    for rated, gained in zip(found.by_player, deviation_gains(found.play.game, play), strict=True):
        assert rated == close(gained, 1e-10)
    for p, mix in enumerate(found.marginals):
        assert mix == close(play.marginal(p, len(mix)), 1e-10)
    prior = np.exp(sum(np.ix_(*found.play.log_prior)))
    assert found.relative_entropy == pytest.approx(float((sigma[sigma > 0] * np.log(sigma / prior)[sigma > 0]).sum()), abs=1e-9)
    assert found.status is Status.OPTIMAL
    assert found.regrets.max() <= found.eps + 1e-6 * found.units.max()
    assert found.gap == pytest.approx(found.regrets.sum())


@pytest.mark.parametrize("seed", range(18))
def test_the_order_of_players_and_strategies_moves_nothing(seed):
    game = random_game(seed)
    told, players, orders = shuffled(game, seed)
    ratings, other = cce(game).by_player, cce(told).by_player
    for place, player in enumerate(players):
        assert other[place] == close(ratings[player][orders[player]])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("target", ["even", AffinityTarget(), AffinityTarget(sigma=0.5)], ids=["even", "exact", "soft"])
def test_clones_move_nothing_once_merged(seed, target):
    game = random_game(seed)
    player = seed % len(game.shape)
    before, after = cce(game, target=target), cce(cloned(game, player, 0, 3), target=target)
    assert after.stats["merged"] >= 3
    for p, rated in enumerate(before.by_player):
        n = len(rated)
        assert after.by_player[p][:n] == close(rated)
        assert after.by_player[p][n:] == close(np.full(len(after.by_player[p]) - n, rated[0]))
    members = np.append(0, np.arange(game.shape[player], game.shape[player] + 3))
    assert after.marginals[player][members] == close(np.full(4, before.marginals[player][0] / 4))


def test_without_merging_clones_move_maximum_entropy_and_not_affinity():
    game = CHICKEN
    plain = cce(game, target="even")
    copied = cloned(game, 0, 1, 5)
    assert np.abs(cce(copied, target="even", options=CCEOptions(merge=False)).ratings[:2] - plain.ratings).max() > 0.05
    same = cce(game, target=AffinityTarget(floor=0.0))
    assert cce(copied, target=AffinityTarget(floor=0.0), options=CCEOptions(merge=False)).ratings[:2] == close(same.ratings)


def test_king_of_the_hill_and_agents_on_tasks_are_their_stored_games():
    for game in (KingOfTheHill.of(king(7, 4)), AgentAgentTask.of(np.random.default_rng(1).normal(size=(4, 5)))):
        for options in ({"eps": 1e-3}, {"target": "even"}):
            implicit, stored = cce(game, **with_options(CCEOptions, options)), cce(game.normal_form(), **with_options(CCEOptions, options))
            for one, other in zip(implicit.by_player, stored.by_player, strict=True):
                assert one == close(other)
    assert cce(KingOfTheHill.of(king(7, 4))).ratings.shape == (4,)


def test_copies_of_prompts_and_models_move_no_rating():
    u = king(6, 4, seed=2)
    plain = cce(KingOfTheHill.of(u))
    prompts, models = [0, 1, 2, 3, 4, 5, 2, 2, 2], [0, 1, 2, 3, 1, 1]
    copied = cce(KingOfTheHill.of(u[np.ix_(prompts, models, models)]))
    assert copied.ratings == close(plain.ratings[models])
    assert copied.by_player[0] == close(plain.by_player[0][prompts])


def test_a_large_joint_is_kept_small_and_gives_its_likeliest_joints():
    found = cce(KingOfTheHill.of(king(60, 8)), options=CCEOptions(eps=1e-3))
    joints, probability = found.play.likeliest(5)
    assert probability == close(np.sort(dense(found).ravel())[::-1][:5], 1e-9)
    assert found.play.probability(joints) == close(probability, 1e-12)


def test_eps_buys_entropy():
    entropies = [cce(CHICKEN, target="even", options=CCEOptions(eps=eps)).relative_entropy for eps in (0.0, 0.01, 0.1, 10.0)]
    assert sorted(entropies, reverse=True) == entropies
    assert entropies[-1] == pytest.approx(0, abs=1e-12)


def test_dominated_strategies_have_multipliers_without_bound_at_eps_0():
    found = cce(PRISONERS)
    assert found.marginals[0] == close([0, 1])
    assert found.ratings == close([-1, 0], 1e-5)
    assert np.concatenate(found.play.multipliers).max() > 5


def test_a_target_of_0_can_leave_no_equilibrium():
    """Both prisoners are held to silence, which talking beats."""
    silent = [[1.0, 0.0], [1.0, 0.0]]
    with pytest.raises(SolverError, match="use targets above 0") as error:
        cce(PRISONERS, target=silent)
    assert error.value.solution.regrets == close([2, 2])
    found = cce(PRISONERS, target=silent, options=CCEOptions(accept_approximate=True))
    assert found.status is Status.APPROXIMATE
    assert found.least_target == 0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_the_scale_of_payoffs_scales_ratings(seed, scale):
    game = random_game(seed)
    scaled = NormalForm.of([scale * tensor for tensor in game.payoffs])
    for rated, wanted in zip(cce(scaled).by_player, cce(game).by_player, strict=True):
        assert rated == close(scale * wanted, 1e-6 * scale)


def test_players_whose_payoffs_differ_in_scale():
    game = random_game(4, players=3)
    told = NormalForm.of([scale * tensor for scale, tensor in zip((1e-6, 1.0, 1e6), game.payoffs, strict=True)])
    for scale, rated, wanted in zip((1e-6, 1.0, 1e6), cce(told).by_player, cce(game).by_player, strict=True):
        assert rated == close(scale * wanted, 1e-6 * scale)


@pytest.mark.parametrize("shape", [(1, 4), (1, 1), (3, 1, 1)])
def test_players_without_a_choice(shape):
    rng = np.random.default_rng(1)
    game = NormalForm.of([rng.normal(size=shape) for _ in shape])
    found = cce(game)
    assert all(rated.max() == close(0.0, 1e-5) for rated in found.by_player)


def test_a_game_of_equal_payoffs_keeps_the_target():
    found = cce(NormalForm.of([np.ones((2, 3)), np.zeros((2, 3))]), target=[[0.3, 0.7], [0.2, 0.3, 0.5]], options=CCEOptions(merge=False))
    assert found.marginals[0] == close([0.3, 0.7], 1e-12)
    assert np.concatenate(found.by_player) == close(np.zeros(5), 1e-12)


def test_a_deadline_gives_what_there_is():
    game = KingOfTheHill.of(king(40, 8))
    with pytest.raises(SolverError, match="max_seconds"):
        cce(game, options=CCEOptions(max_seconds=1e-9))
    found = cce(game, options=CCEOptions(max_seconds=1e-9, accept_approximate=True))
    assert found.status is Status.APPROXIMATE
    assert found.certificate.value > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": -1}, "eps must be a number from 0 to"),
        ({"tolerance": 0}, "tolerance must be a number from 1e-300 to"),
        ({"max_iterations": 0}, "max_iterations must be a whole number from 1 to"),
        ({"max_seconds": 0}, "max_seconds must be a number from 1e-09 to"),
        ({"target": "uniform"}, "target must be 'even', an AffinityTarget, or a distribution for each player"),
        ({"target": [[1.0, 0.0]]}, "mixes must contain a mix for each of the 2 players"),
        ({"target": [[0.5, 0.6], [0.5, 0.5]]}, r"mixes\[0\] must be nonnegative with sum 1"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        cce(CHICKEN, **with_options(CCEOptions, options))


def test_other_games_are_refused():
    with pytest.raises(InputError, match="game must be a NormalForm, a KingOfTheHill or an AgentAgentTask"):
        cce("chess")


@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-4])
def test_nearly_equal_strategies_leave_flat_directions_and_digits_are_found_all_the_same(noise):
    scores = np.random.default_rng(0).beta(0.5, 0.5, size=(8, 6))
    for agent in (0, 3):
        copies = scores[agent] + noise * np.random.default_rng(agent).normal(size=(6, 6))
        found = cce(AgentAgentTask.of(np.vstack([scores, copies])))
        assert found.certificate.value < 1e-9
        assert abs(found.entropy_gap) < 1e-9
        assert found.stats["newton_steps"] < 20
