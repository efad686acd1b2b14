"""Descents over votes and fits with covariates on any data that hypothesis thinks of, sound or broken."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit

from ratings_core.batch import soft_condorcet_sgd as module
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.contextual import ContextualOptions, contextual_bradley_terry
from ratings_core.batch.sigmoid_loss import SigmoidLoss
from ratings_core.batch.soft_condorcet import projected_gradient
from ratings_core.batch.soft_condorcet_sgd import soft_condorcet_posterior, soft_condorcet_sgd
from ratings_core.errors import InputError
from tests.support.profiles import profiles, scaled
from tests.support.soft_condorcet import twin_gradient

BROKEN = [{"tau": 0.0}, {"tau": np.nan}, {"tau": "warm"}, {"alpha": -1.0}, {"alpha": np.inf}, {"batch": -1}, {"batch": 1.5}]
BROKEN += [{"iterations": -1}, {"iterations": True}, {"seed": -1}, {"seed": None}, {"low": 100.0}, {"high": np.nan}, {"tolerance": 0.0}]
any_data = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32)


def answer_or(arguments, call):
    """What it returns, None where it refuses one of the arguments."""
    try:
        return call()
    except InputError as error:
        refused = error.argument
    assert refused in arguments
    return None


# Algorithm 1


@any_data
@given(profile=profiles(largest=5, least=2), seed=seeds, tau=st.floats(0.05, 20), alpha=st.floats(1e-3, 5), low=st.floats(-5, 5))
def test_steps_over_any_votes_are_the_twins_and_stay_in_the_box(profile, seed, tau, alpha, low):
    high = low + 3.0
    drawn = np.concatenate(list(module._Chain(profile, module.box_of(low, high), tau, alpha, seed)._drawn(2, 12)))
    theta = np.full(len(profile.names), (low + high) / 2)
    for votes in drawn:
        theta = np.clip(theta - alpha * twin_gradient(profile, votes, theta, tau), low, high)
    found = soft_condorcet_sgd(profile, seed=seed, tau=tau, alpha=alpha, batch=2, low=low, high=high, iterations=12)
    assert found.ratings == pytest.approx(theta, rel=1e-7, abs=1e-7)
    assert (found.ratings >= low).all()
    assert (found.ratings <= high).all()


@any_data
@given(profile=profiles(largest=5, least=2), seed=seeds)
def test_certificates_are_recomputed_and_the_unit_of_votes_drops_out(profile, seed):
    found = soft_condorcet_sgd(profile, seed=seed, iterations=30)
    loss = SigmoidLoss.of(module.of_tally(profile.pair_counts("unknown"), len(profile.names)))
    assert found.certificate.value == pytest.approx(projected_gradient(loss, module.box_of(0.0, 100.0), 1.0, found.ratings))
    assert found.loss >= found.bound - 1e-9
    again = soft_condorcet_sgd(scaled(profile, 8.0), seed=seed, iterations=30)
    assert again.ratings.tolist() == found.ratings.tolist()


@any_data
@given(profile=profiles(largest=5, least=2), seed=seeds)
def test_samples_of_any_votes_are_in_the_box_or_refused(profile, seed):
    found = answer_or(["profile"], lambda: soft_condorcet_posterior(profile, seed=seed, samples=6, thin=3, burn_in=20, low=-1.0, high=2.0))
    if found is None:
        return
    assert np.isfinite(found.samples).all()
    assert (found.samples >= -1).all()
    assert (found.samples <= 2).all()
    assert sum(share for _, share in found.rankings()) == pytest.approx(1)
    low, high = found.rank_intervals().T
    assert (low >= 1).all()
    assert (low <= high).all()
    assert (high <= len(profile.names)).all()


@any_data
@given(profile=profiles(largest=4, least=2), broken=st.sampled_from(BROKEN))
def test_what_makes_no_descent_is_refused(profile, broken):
    before = profile.ballots
    with pytest.raises(InputError) as caught:
        soft_condorcet_sgd(profile, **{"seed": 0, **broken})
    assert caught.value.argument in {*broken, "high"}
    assert profile.ballots == before


# covariates


@st.composite
def fights(draw):
    """Comparisons of 2 to 5 agents in outcomes of any weight, and features of them, 1 or 2."""
    rng = np.random.default_rng(draw(seeds))
    m, n, k = draw(st.integers(2, 5)), draw(st.integers(1, 25)), draw(st.integers(1, 2))
    first = rng.integers(0, m, n)
    second = (first + 1 + rng.integers(0, m - 1, n)) % m
    outcome = np.cumsum(rng.integers(0, 2, n))
    weight = rng.choice([0.001, 0.5, 1.0, 40.0], int(outcome[-1]) + 1)
    unit = 10.0 ** draw(st.integers(-6, 6))
    return Comparisons(m, first, second, rng.choice([0.0, 0.5, 1.0], n), outcome, weight), rng.normal(size=(n, k)) * unit, unit


def gradient(data, features, theta, beta, prior, feature_prior):
    """Of minus the log-likelihood and the priors, comparison by comparison."""
    by_agent, by_feature = prior * (expit(theta) - 0.5), feature_prior * beta
    for first, second, result, outcome, one in zip(data.first, data.second, data.result, data.outcome, features, strict=True):
        surplus = data.weight[outcome] * (expit(theta[first] - theta[second] + one @ beta) - result)
        by_agent[first] += surplus
        by_agent[second] -= surplus
        by_feature = by_feature + surplus * one
    return by_agent, by_feature


@any_data
@given(given_data=fights(), prior=st.floats(0.01, 5), strength=st.floats(0.01, 5))
def test_with_priors_any_data_have_the_point_where_the_gradient_vanishes(given_data, prior, strength):
    data, features, unit = given_data
    found = contextual_bradley_terry(data, features, options=ContextualOptions(prior=prior, feature_prior=strength * unit**2))
    theta = (found.ratings - found.centre) / found.scale
    by_agent, by_feature = gradient(data, features, theta, found.coefficients, prior, strength * unit**2)
    games = np.bincount(data.first, data.weights, data.m) + np.bincount(data.second, data.weights, data.m) + prior
    assert np.abs(by_agent / games).max() <= 1e-8
    assert np.abs(by_feature / (data.weights @ np.abs(features))).max() <= 1e-8
    assert np.isfinite(found.standard_error).all()
    assert np.isfinite(found.coefficient_error).all()


@any_data
@given(given_data=fights(), seed=seeds)
def test_other_names_signs_and_order_of_features_rename_and_turn(given_data, seed):
    data, features, unit = given_data
    new = np.random.default_rng(seed).permutation(data.m)
    options = ContextualOptions(prior=1.0, feature_prior=unit**2)
    plain = contextual_bradley_terry(data, features, options=options)
    renamed = Comparisons(data.m, new[data.first], new[data.second], data.result, data.outcome, data.weight)
    turned = contextual_bradley_terry(renamed, -features[:, ::-1], options=options)
    assert turned.ratings[new] == pytest.approx(plain.ratings, abs=1e-3)
    assert -turned.coefficients[::-1] * unit == pytest.approx(plain.coefficients * unit, abs=1e-6)
    swapped = Comparisons(data.m, data.second, data.first, 1 - data.result, data.outcome, data.weight)
    assert contextual_bradley_terry(swapped, -features, options=options).ratings == pytest.approx(plain.ratings, abs=1e-3)


@any_data
@given(given_data=fights())
def test_without_priors_data_have_an_answer_or_are_refused(given_data):
    data, features, _ = given_data
    assume(len(data) > 8)
    before = features.copy()
    found = answer_or(["wins", "features"], lambda: contextual_bradley_terry(data, features))
    if found is not None:
        by_agent, _ = gradient(data, features, (found.ratings - found.centre) / found.scale, found.coefficients, 0.0, 0.0)
        assert np.abs(by_agent).max() <= 1e-6 * data.weights.sum()
    np.testing.assert_array_equal(features, before)


@any_data
@given(given_data=fights(), place=st.integers(0, 100), value=st.sampled_from([np.nan, np.inf, -np.inf, 1e200]))
def test_a_broken_feature_is_refused_wherever_it_is(given_data, place, value):
    data, features, _ = given_data
    broken = features.copy()
    broken.flat[place % broken.size] = value
    with pytest.raises(InputError, match="features"):
        contextual_bradley_terry(data, broken, options=ContextualOptions(prior=1.0))
