"""Outcomes as comparisons, errors clustered by outcome, and covariates: twins, scipy, simulations of known truth."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.contextual import ContextualOptions, contextual_bradley_terry
from ratings_core.batch.pair_counts import of_tally, pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.records.outcomes import Outcome, OutcomeBatch, Side
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairCounts, PairTally
from tests.support.options import with_options


def battles(n, m, seed, skill=None, effect=None, features=None, cluster=1):
    """Comparisons of random pairs, in outcomes of `cluster` each, by skill and features times effect."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, m, n)
    second = (first + 1 + rng.integers(0, m - 1, n)) % m
    skill = rng.normal(0, 0.7, m) if skill is None else skill
    x = skill[first] - skill[second] + (0 if features is None else features @ effect)
    result = (rng.random(n) < expit(x)).astype(float)
    result[rng.random(n) < 0.1] = 0.5
    outcome = np.arange(n) // cluster
    return Comparisons(m, first, second, result, outcome, np.ones(int(outcome[-1]) + 1))


# comparisons


def test_outcomes_become_the_pairs_that_tallies_count():
    roster, rng = Roster(), np.random.default_rng(0)
    outcomes = []
    for _ in range(200):
        agents = rng.permutation(8)[: rng.integers(2, 6)]
        sides = [Side((f"a{agent}",), int(rng.integers(1, 4))) for agent in agents]
        outcomes.append(Outcome(tuple(sides), weight=float(rng.choice([0.5, 1.0, 3.0]))))
    outcomes.append(Outcome((Side(("a0", "a1"), 1), Side(("a2",), 2), Side(("a3",), 3))))
    batch = OutcomeBatch.of(outcomes, roster)
    tally = PairTally()
    tally.add(batch, np.zeros(len(batch), np.int64))
    counted, tallied = Comparisons.of_outcomes(batch, len(roster)).counts(), of_tally(tally.counts(), len(roster))
    for name in ("first", "second", "won", "lost", "tied"):
        assert getattr(counted, name).tolist() == getattr(tallied, name).tolist()


def test_tallies_know_their_agents():
    counts = pair_counts([[0, 2], [1, 0]])
    assert pair_counts(counts) is counts
    with pytest.raises(InputError, match="largest agent id"):
        of_tally(PairCounts.from_dense([[0, 2], [1, 0]]), 1)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"first": np.array([0, 5])}, "first"),
        ({"second": np.array([0, 1])}, "second[0]"),
        ({"result": np.array([0.2, 1.0])}, "result"),
        ({"outcome": np.array([1, 0])}, "outcome"),
        ({"outcome": np.array([0, 2])}, "outcome"),
        ({"weight": np.array([1.0, -1.0])}, "weight"),
        ({"first": np.array([0.0, 1.0])}, "first"),
        ({"m": 0}, "m"),
    ],
)
def test_broken_comparisons_are_refused(changed, named):
    whole = {"m": 2, "first": np.array([0, 0]), "second": np.array([1, 1]), "result": np.array([1.0, 0.5])}
    whole |= {"outcome": np.array([0, 1]), "weight": np.ones(2)}
    with pytest.raises(InputError) as caught:
        Comparisons(**{**whole, **changed})
    assert caught.value.argument == named


# clustered errors


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_clustered_errors_are_the_textbooks(prior):
    """Scores of an outcome are added before they are squared (Liang and Zeger 1986); a share of the squares is expected ones."""
    data = battles(300, 5, 1, cluster=3)
    found = bradley_terry(data, options=BradleyTerryOptions(prior=prior, scale=1.0, centre=0.0, standard_errors="clustered"))
    theta = found.ratings
    anchors, of_games = prior * expit(theta) * expit(-theta), np.zeros((5, 5))
    pairs = [(a, b, expit(theta[a] - theta[b]), np.eye(5)[a] - np.eye(5)[b]) for a, b in zip(data.first, data.second, strict=True)]
    for _, _, p, e in pairs:
        of_games += p * (1 - p) * np.outer(e, e)
    scores, meat = np.zeros((len(data.weight), 5)), np.diag(anchors) - (np.outer(anchors, anchors) / anchors.sum() if prior else 0.0)
    for (a, b, p, e), result, outcome in zip(pairs, data.result, data.outcome, strict=True):
        share = 0.5 / (0.5 + min(of_games[a, a], of_games[b, b]))
        scores[outcome] += np.sqrt(1 - share) * (result - p) * e
        meat += share * p * (1 - p) * np.outer(e, e)
    for score in scores:
        meat += np.outer(score, score)
    bread = np.linalg.pinv(of_games + np.diag(anchors), rcond=1e-12, hermitian=True)
    assert found.covariance == pytest.approx(bread @ meat @ bread, rel=1e-6, abs=1e-9)
    assert found.assumes == "independent outcomes"


def test_clusters_of_one_are_the_pairs_sandwich_without_leverage_and_tallies_have_no_clusters():
    """Five gaps fitted to 400 games: the mean leverage is 5 / 400, and the sandwich of pairs is larger by about that."""
    data = battles(400, 6, 2)
    clustered = bradley_terry(data, options=BradleyTerryOptions(standard_errors="clustered"))
    assert clustered.ratings.tolist() == bradley_terry(data.counts()).ratings.tolist()
    pairs = bradley_terry(data.counts(), options=BradleyTerryOptions(standard_errors="sandwich"))
    assert pairs.covariance.diagonal() / clustered.covariance.diagonal() == pytest.approx(np.full(6, 1 + 5 / 400), abs=0.008)
    with pytest.raises(InputError, match="Comparisons"):
        bradley_terry(data.counts(), options=BradleyTerryOptions(standard_errors="clustered"))


# covariates


def twin_loss(x, data, features):
    eta = x[data.first] - x[data.second] + features @ x[data.m :]
    return float((data.weights * (np.logaddexp(0, eta) - data.result * eta)).sum())


@pytest.mark.parametrize("seed", range(3))
def test_scipy_finds_no_better_point(seed):
    features = np.random.default_rng(seed).normal(size=(400, 2)) * [1.0, 3.0]
    data = battles(400, 5, seed, features=features, effect=np.array([0.5, -0.2]))
    found = contextual_bradley_terry(data, features)
    x = np.concatenate([(found.ratings - 1500) / found.scale, found.coefficients])
    best = optimize.minimize(twin_loss, np.zeros(7), (data, features), "BFGS", options={"gtol": 1e-5})
    assert twin_loss(x, data, features) <= best.fun + 1e-9
    assert found.coefficients == pytest.approx(best.x[5:], abs=1e-4)
    assert found.certificate.value <= 1e-9


def test_without_features_it_is_bradley_terry_with_clustered_errors():
    data = battles(500, 6, 3, cluster=2)
    for prior in (0.0, 2.0):
        plain = bradley_terry(data, options=BradleyTerryOptions(prior=prior, standard_errors="clustered"))
        found = contextual_bradley_terry(data, np.zeros((500, 0)), options=ContextualOptions(prior=prior))
        assert found.ratings == pytest.approx(plain.ratings, abs=1e-6)
        assert found.covariance == pytest.approx(plain.covariance, rel=1e-6, abs=1e-6)
        assert found.standard_error == pytest.approx(plain.standard_error)


def test_style_and_side_are_told_apart_from_skill():
    """Verbose agents win for their length; the advantage of the first side is half a logit."""
    rng = np.random.default_rng(4)
    n, m = 40_000, 6
    first = rng.integers(0, m, n)
    second = (first + 1 + rng.integers(0, m - 1, n)) % m
    skill, verbosity = np.array([0.5, 0.3, 0.1, -0.1, -0.3, -0.5]), np.array([0.0, 100, 200, 300, 400, 500])
    length = verbosity[first] - verbosity[second] + rng.normal(0, 200, n)
    features = np.column_stack([length, np.ones(n)])
    result = (rng.random(n) < expit(skill[first] - skill[second] + features @ [0.004, 0.5])).astype(float)
    data = Comparisons(m, first, second, result, np.arange(n), np.ones(n))
    found = contextual_bradley_terry(data, features)
    assert np.argsort(-found.ratings).tolist() == [0, 1, 2, 3, 4, 5]
    assert np.argsort(-bradley_terry(data).ratings).tolist() == [5, 4, 3, 2, 1, 0]
    assert np.abs((found.coefficients - [0.004, 0.5]) / found.coefficient_error).max() < 3
    assert np.abs((found.ratings - 1500 - found.scale * skill) / found.standard_error).max() < 3


def test_units_of_features_do_not_matter():
    features = np.random.default_rng(1).normal(size=(300, 2))
    data = battles(300, 5, 6, features=features, effect=np.array([0.3, 0.1]))
    plain, scaled = contextual_bradley_terry(data, features), contextual_bradley_terry(data, features * [1e6, 1e-6])
    assert scaled.coefficients * [1e6, 1e-6] == pytest.approx(plain.coefficients, rel=1e-6)
    assert scaled.ratings == pytest.approx(plain.ratings, abs=1e-5)


def test_a_prior_on_features_shrinks_them():
    features = np.random.default_rng(1).normal(size=(300, 1))
    data = battles(300, 5, 6, features=features, effect=np.array([1.0]))
    free, held = (
        contextual_bradley_terry(data, features, options=ContextualOptions(feature_prior=prior)).coefficients[0] for prior in (0.0, 1e3)
    )
    assert 0 < held < free / 5


def test_an_agent_less_by_a_constant_is_no_feature():
    data = battles(300, 4, 1)
    features = (data.first == 2).astype(float) - (data.second == 2)
    with pytest.raises(InputError, match="linearly independent"):
        contextual_bradley_terry(data, features[:, None])


def test_a_feature_that_knows_the_results_is_refused_and_finite_with_a_prior():
    data = battles(300, 4, 1)
    with pytest.raises(InputError, match="certainty"):
        contextual_bradley_terry(data, (data.result - 0.5)[:, None])
    assert np.isfinite(
        contextual_bradley_terry(data, (data.result - 0.5)[:, None], options=ContextualOptions(feature_prior=0.1)).coefficients
    ).all()


def test_unlinked_agents_are_refused_by_name():
    data = Comparisons(3, np.array([0, 1, 0]), np.array([1, 0, 2]), np.array([1.0, 1.0, 1.0]), np.arange(3), np.ones(3))
    with pytest.raises(InputError, match=r"\['cy'\]"):
        contextual_bradley_terry(data, np.zeros((3, 0)), names=["ann", "bob", "cy"])
    assert np.isfinite(contextual_bradley_terry(data, np.zeros((3, 0)), options=ContextualOptions(prior=0.5)).ratings).all()


def test_limits_and_refusals():
    data, features = battles(100, 4, 2), np.ones((100, 1))
    with pytest.raises(SolverError, match="max_iterations"):
        contextual_bradley_terry(data, features, options=ContextualOptions(max_iterations=1, tolerance=1e-14))
    bad = [({"features": np.ones((99, 1))}, "features"), ({"features": np.full((100, 1), np.nan)}, "features[0, 0]")]
    bad += [({"feature_prior": -1.0}, "feature_prior"), ({"scale": 0.0}, "scale"), ({"features": np.ones(100)}, "features")]
    for arguments, named in bad:
        with pytest.raises(InputError) as caught:
            contextual_bradley_terry(**with_options(ContextualOptions, {"comparisons": data, "features": features, **arguments}))
        assert caught.value.argument == named
