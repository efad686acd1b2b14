"""Limiting logit equilibria: gambit as oracle, the path by its definition, laws, symmetric branches, hard games, bad input."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ratings_core.equilibria import AffinityTarget, LLEOptions, deviation, lle
from ratings_core.equilibria.logit_path import trace
from ratings_core.equilibria.logit_system import LogitSystem
from ratings_core.errors import InputError, SolverError
from ratings_core.games import AgentAgentTask, KingOfTheHill, NormalForm, mix_regrets, uniform_mixes
from ratings_core.games.equitable import equitable_classes
from ratings_core.solution import Status
from tests.support.options import with_options
from tests.unit.core.oracles import logit_limit
from tests.unit.core.random_games import cloned, random_game, shuffled

GOLDEN = Path(__file__).parents[2] / "golden/equilibrium"
TWO_ACTIONS = json.loads((GOLDEN / "two_action_clone_example.json").read_text())
COORDINATION = NormalForm.of([np.eye(2), np.eye(2)])
CHICKEN = NormalForm.of(([[0, 7], [2, 6]], [[0, 2], [7, 6]]))
PRISONERS = NormalForm.of(([[3, 0], [5, 1]], [[3, 5], [0, 1]]))


def general(seed, players=None):
    """Normal payoffs, no ties."""
    rng = np.random.default_rng([seed, 77])
    shape = tuple(rng.integers(2, 5, players or int(rng.integers(2, 5))))
    return NormalForm.of([3 * rng.normal(size=shape) for _ in shape])


def king(prompts, models, seed=0):
    u = np.random.default_rng(seed).normal(size=(prompts, models, models))
    return u - u.transpose(0, 2, 1)


def close(values, tolerance=1e-6):
    return pytest.approx(np.asarray(values), abs=tolerance)


def softmax(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def test_it_is_the_end_of_gambits_path_folds_included():
    folded = 0
    for seed in range(30):
        game = general(seed)
        found = lle(game, target="even")
        folded += found.stats["folds"] > 0
        assert found.certificate.value <= 1e-6
        for mix, wanted in zip(found.mixes, logit_limit(game), strict=True):
            assert mix == close(wanted, 1e-5)
    assert folded >= 2


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_every_point_of_the_path_is_a_logit_equilibrium_of_the_targets(seed):
    game, rng = general(seed), np.random.default_rng(seed)
    targets = tuple(rng.dirichlet(np.full(n, 3.0)) for n in game.shape)
    system = LogitSystem(game, targets, equitable_classes(game, targets, 1.0), 2.0)
    for point, _ in zip(trace(system), range(15), strict=False):
        worth = game.payoffs_against(point.at.mixes)
        for mix, own, target in zip(point.at.mixes, worth, targets, strict=True):
            assert mix == close(softmax(np.log(target) + point.at.beta / 2.0 * own), 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_stepping_equations_have_the_jacobian_that_differences_give(seed):
    game = general(seed, players=3)
    targets = uniform_mixes(game.shape)
    system = LogitSystem(game, targets, equitable_classes(game, targets, 1.0), 1.0)
    y, beta = np.log(np.random.default_rng(seed).uniform(0.1, 0.4, system.unknowns)), 0.7
    at, h = system.at(y, beta), 1e-6
    shifted = [(system.at(y + h * e, beta).residual - system.at(y - h * e, beta).residual) / (2 * h) for e in np.eye(len(y))]
    slope = (system.at(y, beta + h).residual - system.at(y, beta - h).residual) / (2 * h)
    border = np.random.default_rng(seed + 9).normal(size=system.unknowns + 1)
    matrix = np.vstack([np.column_stack([np.array(shifted).T, slope]), border])
    assert system.jacobian(at) == close(np.array(shifted).T, 1e-7)
    step = system.linear(at, border).solve(at.residual, 0.3)
    assert matrix @ step == close(np.append(-at.residual, 0.3), 1e-6)
    assert system.linear(at, border).sign == np.sign(np.linalg.det(matrix))


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_players_and_strategies_moves_nothing(seed):
    game = general(seed)
    told, players, orders = shuffled(game, seed)
    found, other = lle(game), lle(told)
    for place, player in enumerate(players):
        assert other.by_player[place] == close(found.by_player[player][orders[player]], 1e-5)
        assert other.mixes[place] == close(found.mixes[player][orders[player]], 1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("target", ["even", AffinityTarget(), AffinityTarget(sigma=2.0)], ids=["even", "exact", "soft"])
def test_clones_move_nothing_once_merged(seed, target):
    game = general(seed)
    player = seed % len(game.shape)
    before, after = lle(game, target=target), lle(cloned(game, player, 0, 3), target=target)
    assert after.stats["merged"] == 3
    for p, rated in enumerate(before.by_player):
        assert after.by_player[p][: len(rated)] == close(rated)
        assert after.by_player[p][len(rated) :] == close(np.full(len(after.by_player[p]) - len(rated), rated[0]))
    members = np.append(0, np.arange(game.shape[player], game.shape[player] + 3))
    assert after.mixes[player][members] == close(np.full(4, before.mixes[player][0] / 4))


@pytest.mark.parametrize("copies", [1, 3, 5, 10])
def test_copies_turn_the_even_path_to_the_other_equilibrium_and_not_the_affinity_path(copies):
    """Liu et al., sec. 3.3: A pays both players 2, B pays 1, and B has copies."""
    assert len(TWO_ACTIONS["values"]) == 5
    member = np.append(0, np.ones(copies, int))
    payoffs = np.array([[2.0, 0.0], [0.0, 1.0]])[np.ix_(member, member)]
    game = NormalForm.of([payoffs, payoffs])
    to_b = copies >= 3
    even = lle(game, target="even", options=LLEOptions(merge=False))
    assert even.mixes[0][0] == close(0.0 if to_b else 1.0)
    assert lle(game, options=LLEOptions(merge=False)).mixes[0][0] == close(1.0)
    assert lle(game, target="even").mixes[0][0] == close(1.0)


def test_a_symmetric_game_stays_on_its_symmetric_branch_and_says_where_others_leave():
    found = lle(COORDINATION)
    assert found.mixes == (close([0.5, 0.5], 1e-12), close([0.5, 0.5], 1e-12))
    assert found.branch == "symmetric branch"
    assert found.bifurcations == (close(2.0),)
    three = lle(NormalForm.of([np.eye(3), np.eye(3)]))
    assert three.mixes[0] == close(np.full(3, 1 / 3), 1e-12)
    assert three.bifurcations == (close(3.0),)
    scaled = lle(NormalForm.of([1e6 * np.eye(2), 1e6 * np.eye(2)]))
    assert scaled.bifurcations == (pytest.approx(2e-6, rel=1e-6),)


def test_a_tilt_of_a_millionth_goes_pure():
    tilted = NormalForm.of([np.diag([1 + 1e-6, 1.0]), np.diag([1 + 1e-6, 1.0])])
    assert lle(tilted).mixes[0] == close([1, 0])


def test_chicken_keeps_its_players_alike():
    found = lle(CHICKEN)
    assert found.mixes == (close([1 / 3, 2 / 3], 1e-9), close([1 / 3, 2 / 3], 1e-9))
    assert found.branch == "symmetric branch"
    assert len(found.bifurcations) == 1
    one_sided = lle(CHICKEN, target=[[0.6, 0.4], [0.4, 0.6]])
    assert one_sided.mixes == (close([1, 0]), close([0, 1]))
    assert one_sided.branch == "principal branch"
    assert one_sided.bifurcations == ()


def test_king_of_the_hill_and_agents_on_tasks_are_their_stored_games():
    for game in (KingOfTheHill.of(king(7, 4)), AgentAgentTask.of(np.random.default_rng(1).normal(size=(4, 5)))):
        implicit, stored = lle(game), lle(game.normal_form())
        assert implicit.stats["folds"] == stored.stats["folds"]
        for one, other in zip(implicit.by_player, stored.by_player, strict=True):
            assert one == close(other)
    assert lle(KingOfTheHill.of(king(7, 4))).ratings.shape == (4,)


def test_interchangeable_agents_are_rated_alike():
    found = lle(AgentAgentTask.of(np.random.default_rng(2).normal(size=(6, 7))))
    assert found.by_player[0] == close(found.by_player[1], 1e-12)
    assert found.branch == "symmetric branch"


def test_copies_of_prompts_and_models_move_no_rating():
    u = king(6, 4, seed=2)
    plain = lle(KingOfTheHill.of(u))
    prompts, models = [0, 1, 2, 3, 4, 5, 2, 2, 2], [0, 1, 2, 3, 1, 1]
    copied = lle(KingOfTheHill.of(u[np.ix_(prompts, models, models)]))
    assert copied.ratings == close(plain.ratings[models])
    assert copied.by_player[0] == close(plain.by_player[0][prompts])


@pytest.mark.parametrize("seed", range(10))
def test_ties_and_degenerate_games_reach_the_tolerance(seed):
    game = random_game(2 * seed + 1)
    found = lle(game)
    assert found.status is Status.OPTIMAL
    worth = game.payoffs_against(found.mixes)
    gains = [own.max() - mix @ own for own, mix in zip(worth, found.mixes, strict=True)]
    assert found.regrets == close(np.maximum(gains, 0), 1e-12)
    assert max(gains / found.units) <= 1e-6


def test_a_path_without_an_isolated_end_is_followed_to_gambits_accuracy():
    """gambit's default is a regret of 1e-8 of the range of payoffs."""
    followed = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        game = NormalForm.of([rng.integers(0, 3, (3, 3)).astype(float) for _ in range(2)])
        found = lle(game, target="even", options=LLEOptions(tolerance=1e-8))
        followed += not found.finished
        assert found.certificate.value <= 1e-8
        assert found.status is Status.OPTIMAL
    assert followed >= 1


def test_a_target_of_0_is_never_played_and_the_limit_no_equilibrium():
    silent = [[1.0, 0.0], [1.0, 0.0]]
    with pytest.raises(SolverError, match="a strategy with target 0 has a higher payoff") as error:
        lle(PRISONERS, target=silent)
    assert error.value.solution.regrets == close([2, 2])
    found = lle(PRISONERS, target=silent, options=LLEOptions(accept_approximate=True))
    assert found.status is Status.APPROXIMATE
    assert found.mixes[0] == close([1, 0], 0)


def test_dominated_strategies_are_left():
    found = lle(PRISONERS)
    assert found.mixes == (close([0, 1]), close([0, 1]))
    assert found.ratings == close([-1, 0])
    assert [own.tolist() for own in found.support] == [[1], [1]]


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_the_scale_of_payoffs_scales_ratings_and_beta(seed, scale):
    game = general(seed)
    found, scaled = lle(game), lle(NormalForm.of([scale * tensor for tensor in game.payoffs]))
    assert scaled.beta == pytest.approx(found.beta / scale, rel=1e-6)
    for rated, wanted in zip(scaled.by_player, found.by_player, strict=True):
        assert rated == close(scale * wanted, 1e-6 * scale)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_a_player_of_far_smaller_payoffs_still_chooses(scale):
    options = LLEOptions(accept_approximate=True)
    found = lle(NormalForm.of(([[3 * scale, 0], [0, 2 * scale]], [[2, 0], [0, 3.1]])), options=options)
    assert found.mixes == (close([1, 0]), close([1, 0]))
    dominant = lle(NormalForm.of(([[scale, scale], [0, 0]], [[0, 1], [1, 0]])), options=options)
    assert found.status is dominant.status is Status.OPTIMAL
    assert dominant.mixes == (close([1, 0]), close([0, 1]))
    assert dominant.branch == "principal branch"


@pytest.mark.parametrize("seed", range(12))
def test_scales_far_apart_end_certified_of_what_sums_to_1(seed):
    rng = np.random.default_rng([seed, 12])
    shape = tuple(rng.integers(1, 4, int(rng.integers(2, 4))))
    game = NormalForm.of([rng.normal(size=shape) * 10.0 ** rng.choice([-6, 0, 6]) for _ in shape])
    found = lle(game, options=LLEOptions(max_steps=100, accept_approximate=True))
    assert [mix.sum() for mix in found.mixes] == pytest.approx([1.0] * len(shape), abs=1e-12)
    assert found.certificate.value == pytest.approx((mix_regrets(game, found.mixes) / found.units).max(), abs=1e-12)
    assert (found.status is Status.OPTIMAL) == (found.certificate.value <= 1e-6)


@pytest.mark.parametrize("seed", [14, 16])
def test_paths_with_corners_of_a_millionth_are_followed_round(seed):
    """Payoffs a million apart: what is a smooth turn to one player is a corner to the other, and a long step turns back there."""
    rng = np.random.default_rng(seed)
    game = NormalForm.of([rng.normal(size=(4, 4)), 1e6 * rng.normal(size=(4, 4))])
    found = lle(game)
    assert (mix_regrets(game, found.mixes) / found.units).max() <= 1e-12
    # The number of turns depends on the last bits of the processor's linear algebra. Each turn must be undone by another one.
    assert found.stats["folds"] >= 2
    assert (found.stats["folds"] % 2, found.stats["crossed"]) == (0, 0)


@pytest.mark.parametrize("scales", [(1.0, 1e9, 1.0), (1e-9, 1.0, 1.0), (1e-3, 1.0, 1e6)])
def test_units_too_far_apart_are_refused_before_any_work(scales, monkeypatch):
    """By the rule and the words of deviation ratings. Only with `accept_approximate` is a path traced."""
    rng = np.random.default_rng(1)
    game = NormalForm.of([scale * rng.normal(size=(4, 4, 4)) for scale in scales])
    rule = r"^deviation ratings cannot be certified: the units .* differ by a factor of .*e\+(08|09), more than 1e\+06"
    with pytest.raises(SolverError, match=rule) as by_deviation:
        deviation(game)
    monkeypatch.setattr(sys.modules["ratings_core.equilibria.lle"], "trace", None)
    with pytest.raises(SolverError) as refused:
        lle(game)
    assert str(refused.value) == str(by_deviation.value).replace("deviation ratings", "limiting logit equilibria")
    assert refused.value.solution is None
    monkeypatch.undo()
    found = lle(game, options=LLEOptions(max_steps=40, accept_approximate=True))
    assert (found.status is Status.OPTIMAL) == (found.certificate.value <= 1e-6)


def test_a_player_without_a_choice_has_no_unit():
    game = NormalForm.of(([[3e-9, 0.0], [0.0, 2e-9]], [[1.0, 1.0], [2.0, 2.0]]))
    assert lle(game).status is Status.OPTIMAL


@pytest.mark.parametrize("shape", [(1, 4), (1, 1), (3, 1, 1)])
def test_players_without_a_choice(shape):
    rng = np.random.default_rng(1)
    found = lle(NormalForm.of([rng.normal(size=shape) for _ in shape]))
    assert all(rated.max() == close(0.0) for rated in found.by_player)


def test_a_game_of_equal_payoffs_keeps_the_target():
    found = lle(NormalForm.of([np.ones((2, 3)), np.zeros((2, 3))]), target=[[0.3, 0.7], [0.2, 0.3, 0.5]], options=LLEOptions(merge=False))
    assert found.mixes[0] == close([0.3, 0.7], 1e-12)


def test_a_limit_of_steps_or_seconds_gives_what_there_is():
    game = KingOfTheHill.of(king(20, 5))
    for options in ({"max_steps": 2}, {"max_seconds": 1e-9}):
        with pytest.raises(SolverError, match="max_steps or max_seconds was reached") as error:
            lle(game, options=LLEOptions(**options))
        assert error.value.solution.status is Status.APPROXIMATE
        assert lle(game, options=LLEOptions(**options, accept_approximate=True)).certificate.value > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "tolerance must be a number from 1e-300 to"),
        ({"max_steps": 0}, "max_steps must be a whole number from 1 to"),
        ({"max_seconds": -1}, "max_seconds must be a number from 1e-09 to"),
        ({"target": "uniform"}, "target must be 'even', an AffinityTarget, or a distribution for each player"),
        ({"target": [[0.5, 0.5], [0.9, 0.2]]}, r"mixes\[1\] must be nonnegative with sum 1"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        lle(CHICKEN, **with_options(LLEOptions, options))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_the_regret_bounds_the_ratings_of_played_strategies_from_both_sides(seed, tolerance):
    """Ratings weighted by the mix sum to 0, so none that is played with probability q is below -regret / q."""
    found = lle(random_game(seed), options=LLEOptions(tolerance=tolerance))
    for own, mix, regret in zip(found.by_player, found.mixes, found.regrets, strict=True):
        assert own.max() <= regret + 1e-12
        assert mix @ own == pytest.approx(0.0, abs=1e-12)
        played = mix > 1e-6
        assert (own[played] >= -regret / mix[played] - 1e-9).all()
