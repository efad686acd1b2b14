"""Uniform, payoff and mass ratings: their definitions in loops, what they share with other methods, what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.equilibria import deviation, mass_ratings, nash_average, payoff_ratings, uniform
from ratings_core.errors import InputError, SolverError
from ratings_core.games import AgentAgentTask, JointDistribution, NormalForm, deviation_gains

CHICKEN = NormalForm.of(([[0, 7], [2, 6]], [[0, 2], [7, 6]]))
AUMANN = JointDistribution.of([[0, 1], [1, 0], [1, 1]], [1 / 3] * 3, (2, 2))


@st.composite
def games(draw):
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=2, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return NormalForm.of([rng.normal(size=shape) for _ in shape]), rng


@given(games())
@settings(max_examples=30)
def test_uniform_ratings_are_means_over_the_others(case):
    game, _ = case
    found = uniform(game)
    for p, own in enumerate(found.by_player):
        assert own == pytest.approx(game.payoffs[p].mean(axis=tuple(q for q in range(len(game.shape)) if q != p)))
    assert (found.certificate.kind, found.certificate.value) == ("exact", 0)


def by_loops(game, dense, p, a):
    """Sum over the others' joints of how often they play them, times what a gets against them; and the same given a."""
    others = dense.sum(axis=p)
    plain = given_a = 0.0
    mass = np.take(dense, a, axis=p).sum()
    for joint in itertools.product(*(range(n) for q, n in enumerate(game.shape) if q != p)):
        paid = game.payoffs[p][(*joint[:p], a, *joint[p:])]
        plain += others[joint] * paid
        given_a += np.take(dense, a, axis=p)[joint] * paid / mass
    return plain, given_a


@given(games())
@settings(max_examples=30)
def test_payoff_ratings_are_their_definition(case):
    game, rng = case
    dense = rng.dirichlet(np.ones(np.prod(game.shape))).reshape(game.shape)
    play = JointDistribution.from_dense(dense)
    options = {"accept_approximate": True}
    plain = payoff_ratings(game, play, **options)
    given_it = payoff_ratings(game, play, against="recommended", **options)
    for p, n in enumerate(game.shape):
        wanted = np.array([by_loops(game, dense, p, a) for a in range(n)])
        assert plain.by_player[p] == pytest.approx(wanted[:, 0])
        assert given_it.by_player[p] == pytest.approx(wanted[:, 1])
        assert plain.by_player[p] - plain.payoffs[p] == pytest.approx(deviation_gains(game, play)[p])
        assert mass_ratings(game, play, **options).by_player[p] == pytest.approx(dense.sum(axis=tuple(np.delete(range(dense.ndim), p))))


def test_a_correlated_equilibrium_of_chicken():
    found = payoff_ratings(CHICKEN, AUMANN)
    assert found.status == "optimal"
    assert found.payoffs == pytest.approx([5, 5])
    assert found.ratings == pytest.approx([14 / 3, 14 / 3])
    assert payoff_ratings(CHICKEN, AUMANN, against="recommended").ratings == pytest.approx([7, 4])
    assert mass_ratings(CHICKEN, AUMANN).ratings == pytest.approx([1 / 3, 2 / 3])


def test_against_the_nash_equilibrium_they_are_nash_averages():
    S = np.random.default_rng(0).normal(size=(5, 7))
    nash = nash_average(S)
    game = NormalForm.of([S, -S])
    for against in ("others", "recommended"):
        found = payoff_ratings(game, [nash.agent_dist, nash.task_dist], against=against)
        assert found.ratings == pytest.approx(nash.ratings)
        assert found.by_player[1] == pytest.approx(nash.task_ratings)
    assert mass_ratings(game, [nash.agent_dist, nash.task_dist]).ratings == pytest.approx(nash.agent_dist)


def test_under_the_strictest_equilibrium_they_are_deviation_ratings_and_what_is_expected():
    game = AgentAgentTask.of(np.random.default_rng(1).random((6, 5)))
    strict = deviation(game)
    found = payoff_ratings(game, strict.play)
    assert found.ratings == pytest.approx(strict.ratings + strict.payoffs[0], abs=1e-9)


def test_strategies_never_played_have_no_payoff_given_that_they_are():
    found = payoff_ratings(CHICKEN, JointDistribution.of([[0, 1]], [1.0], (2, 2)), against="recommended")
    assert found.ratings == pytest.approx([7, np.nan], nan_ok=True)


def test_uniform_and_mass_ratings_move_with_copies():
    ids = [0, 0, 0, 1]
    copied = NormalForm.of([G[np.ix_(ids, ids)] for G in CHICKEN.payoffs])
    assert uniform(copied).ratings[-1] != pytest.approx(uniform(CHICKEN).ratings[-1])


def test_what_is_no_equilibrium_is_an_error_that_carries_the_ratings():
    crash = JointDistribution.of([[0, 0]], [1.0], (2, 2))
    for rate in (payoff_ratings, mass_ratings):
        with pytest.raises(SolverError, match="not an equilibrium") as caught:
            rate(CHICKEN, crash)
        assert caught.value.solution.certificate.value > 0.1
        assert rate(CHICKEN, crash, accept_approximate=True).status == "approximate"


@pytest.mark.parametrize(
    ("play", "options", "argument"),
    [
        (AUMANN, {"against": "nobody"}, "against"),
        (AUMANN, {"tolerance": 0}, "tolerance"),
        (JointDistribution.of([[0, 2]], [1.0], (2, 3)), {}, r"joints\[0, 1\]"),
        ([[1.0, 0.0]], {}, "mixes"),
        ([[1.0, 0.0], [0.5, 0.6]], {}, r"mixes\[1\]"),
        ([[0.0, 0.0], [0.5, 0.5]], {}, r"mixes\[0\]"),
    ],
)
def test_bad_input_is_refused(play, options, argument):
    with pytest.raises(InputError, match=argument):
        payoff_ratings(CHICKEN, play, **options)


def test_what_is_no_game_is_refused():
    with pytest.raises(InputError, match="game"):
        uniform([[1.0]])
