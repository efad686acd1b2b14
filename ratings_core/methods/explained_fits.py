"""Explanations of fitted ratings: the balance of points, or of pulls, in which each rating rests."""

from dataclasses import replace
from typing import Final

import numpy as np
import scipy

from ratings_core.analysis.terms import Opponents, Terms, logistic_expected, named, score_balance
from ratings_core.batch.bradley_terry import BradleyTerry, inside
from ratings_core.batch.contextual import Contextual
from ratings_core.batch.davidson import Davidson
from ratings_core.batch.fenchel_young import FenchelYoung
from ratings_core.batch.pair_counts import of_tally
from ratings_core.batch.sigmoid_loss import SigmoidLoss
from ratings_core.batch.soft_condorcet import SoftCondorcet
from ratings_core.methods.explained import Solve
from ratings_core.methods.margins import one_game_each
from ratings_core.problems.inputs import FeaturesInput, MarginsInput

_BOUND: Final = "bound of the box"
_PRIOR: Final = "prior"


def bradley_terry(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Bradley-Terry and Davidson: points less expected points by opponent, inside the agent's component."""
    fit: BradleyTerry = solve.solution
    counts = solve.once("inside", lambda: inside(solve.counts(), fit.component))
    opponents = Opponents.of(counts, agent)
    if isinstance(fit, Davidson):
        expected = np.array([fit.expected_score(agent, other) for other in opponents.ids.tolist()], np.float64)
    else:
        expected = logistic_expected(fit.ratings, agent, opponents.ids, fit.scale)
    rest = _prior_points(fit.prior, (float(fit.ratings[agent]) - fit.centre) / fit.scale)
    slack = fit.certificate.value * (float(opponents.games.sum()) + fit.prior)
    return (score_balance(opponents, expected, solve.names, rest, slack),)


def _prior_points(prior: float, theta: float) -> dict[str, float]:
    """Points less expected points of the tied pseudo-games against the anchor at theta 0."""
    return {_PRIOR: -prior * (float(scipy.special.expit(theta)) - 0.5)} if prior else {}


def contextual(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """The fit with features: points less expected points by opponent."""
    fit: Contextual = solve.solution
    problem: FeaturesInput = solve.problem
    games = problem.comparisons
    own, other = games.first == agent, games.second == agent
    gap = (fit.ratings[games.first] - fit.ratings[games.second]) / fit.scale + problem.features @ fit.coefficients
    weight, expected = games.weights, scipy.special.expit(gap)
    against = np.concatenate([games.second[own], games.first[other]])
    ids, place = np.unique(against, return_inverse=True)
    columns = (np.concatenate([weight[own], weight[other]]),
               np.concatenate([(weight * games.result)[own], (weight * (1 - games.result))[other]]),
               np.concatenate([(weight * expected)[own], (weight * (1 - expected))[other]]))  # fmt: skip
    total, points, expected_points = (np.asarray(np.bincount(place, column, len(ids)), np.float64) for column in columns)
    rest = _prior_points(fit.prior, (float(fit.ratings[agent]) - fit.centre) / fit.scale)
    slack = fit.certificate.value * (float(total.sum()) + fit.prior)
    mean = np.divide(expected_points, total, out=np.zeros_like(total), where=total > 0)
    return (score_balance(Opponents(ids.astype(np.int64), total, points), mean, solve.names, rest, slack),)


def fenchel_young(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """The Fenchel-Young fit: points less expected points by opponent, and the bound of the box."""
    fit: FenchelYoung = solve.solution
    posterior = solve.posterior()
    counts = (
        solve.counts() if posterior is None else solve.once("games", lambda: of_tally(one_game_each(posterior.dense()), len(posterior)))
    )
    opponents, middle = Opponents.of(counts, agent), (fit.low + fit.high) / 2
    expected = logistic_expected(fit.ratings, agent, opponents.ids, fit.sigma)
    rest = _prior_points(fit.prior, (float(fit.ratings[agent]) - middle) / fit.sigma)
    slack = fit.certificate.value * (float(opponents.games.sum()) + fit.prior)
    terms = score_balance(opponents, expected, solve.names, rest, slack)
    return (_held(terms) if fit.at_bound[agent] else terms,)


def sco(solve: Solve, agent: int) -> tuple[Terms, ...]:
    """Soft Condorcet optimisation: slopes of the loss by opponent, and the bound of the box."""
    fit: SoftCondorcet = solve.solution
    loss = solve.once("loss", lambda: _loss(solve))
    wrong = scipy.special.expit((fit.ratings[loss.loser] - fit.ratings[loss.winner]) / fit.tau)
    push = loss.margin * wrong * (1 - wrong)
    won, lost = loss.winner == agent, loss.loser == agent
    ids = np.concatenate([loss.loser[won], loss.winner[lost]])
    order = np.argsort(ids, kind="stable")
    middle, theta = (fit.low + fit.high) / 2, float(fit.ratings[agent])
    terms = Terms(
        by="opponent",
        quantity="pull on the rating: margin x slope of the loss",
        names=named(solve.names, ids[order]),
        values=np.concatenate([push[won], -push[lost]])[order],
        meaning="the rating is a minimum of the loss, where the pulls balance, so they sum to 0; a positive term pulls the rating up, "
        "and a negative one pulls it down",
        total=0.0,
        columns={"margin": np.concatenate([loss.margin[won], -loss.margin[lost]])[order]},
        rest={_PRIOR: -fit.prior * (theta - middle) / fit.tau} if fit.prior else {},
        slack=fit.certificate.value * float(loss.margin[won].sum() + loss.margin[lost].sum()),
    )
    return (_held(terms) if theta in (fit.low, fit.high) else terms,)


def _loss(solve: Solve) -> SigmoidLoss:
    fit: SoftCondorcet = solve.solution
    if isinstance(solve.problem, MarginsInput):
        margins = solve.problem.margins
    elif (posterior := solve.posterior()) is not None:
        margins = posterior.dense()
    else:
        return SigmoidLoss.of(solve.counts(), fit.prior)
    ahead = np.argwhere(margins > 0)
    return SigmoidLoss(len(margins), ahead[:, 0], ahead[:, 1], margins[ahead[:, 0], ahead[:, 1]], 0.0, fit.prior)


def _held(terms: Terms) -> Terms:
    """The balance of a rating at a bound of the box: the bound holds it against the sum of the other terms."""
    meaning = f"{terms.meaning}; this rating is at a bound of the box, which holds it against the other terms"
    return replace(terms, meaning=meaning, rest={**terms.rest, _BOUND: -terms.sum})
