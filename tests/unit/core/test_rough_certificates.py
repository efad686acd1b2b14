"""Certificates of rough answers, whose errors differ in size and sign: compared with separate formulas, and with the tolerance."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.contextual import ContextualOptions, contextual_bradley_terry
from ratings_core.batch.davidson import davidson
from ratings_core.batch.fenchel_young import FenchelYoungOptions, fenchel_young
from ratings_core.batch.soft_condorcet import SoftCondorcetOptions, soft_condorcet
from ratings_core.equilibria import (
    AlphaRankOptions,
    CCEOptions,
    DeviationOptions,
    LLEOptions,
    NashAverageOptions,
    affinity,
    alpharank,
    cce,
    deviation,
    lexicographic,
    lle,
    most_affine,
    nash_average,
    payoff_ratings,
)
from ratings_core.errors import SolverError
from ratings_core.games import NormalForm
from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.solution import Status
from ratings_core.voting.lotteries import LotteryOptions, maximal_lottery

RNG = np.random.default_rng(7)
GAME = NormalForm.of(list(RNG.normal(size=(2, 4, 5))))
SCORES = RNG.normal(size=(6, 5))
WINS = np.triu(RNG.uniform(1, 9, (6, 6)), 1) + np.tril(RNG.uniform(1, 4, (6, 6)), -1)
TIES = np.triu(RNG.uniform(20, 80, (6, 6)), 1)
TIES += TIES.T
MARGINS = np.triu(np.where(RNG.random((7, 7)) < 0.5, 1.0, -1.0) * RNG.uniform(1, 2, (7, 7)), 1)
MARGINS -= MARGINS.T
KERNEL = np.exp(-np.abs(np.subtract.outer(SCORES[:, 0], SCORES[:, 0])))
FIRST, SECOND = np.array([(a, b) for a in range(5) for b in range(a + 1, 5)] * 6).T
FOUGHT = Comparisons.of_outcomes(OutcomeBatch.of_pairs(FIRST, SECOND, RNG.integers(0, 2, len(FIRST)).astype(float), 5), 5)
FEATURE = RNG.normal(size=(len(FIRST), 1))
MIXES = [RNG.dirichlet(np.ones(n)) for n in GAME.shape]
APPROXIMATE: dict[str, Any] = {"accept_approximate": True}

ROUGH: dict[str, Callable[[float], Any]] = {
    "nash_average": lambda t: nash_average(SCORES, options=NashAverageOptions(tolerance=t, max_iterations=1, **APPROXIMATE)),
    "lle": lambda t: lle(GAME, options=LLEOptions(tolerance=t, max_steps=5, **APPROXIMATE)),
    "alpharank": lambda t: alpharank(GAME, options=AlphaRankOptions(tolerance=t, **APPROXIMATE)),
    "cce": lambda t: cce(GAME, options=CCEOptions(tolerance=t, max_iterations=1, **APPROXIMATE)),
    "most_affine": lambda t: most_affine(KERNEL, p=0.3, tolerance=t, max_seconds=1e-9, accept_approximate=True),
    "payoff_ratings": lambda t: payoff_ratings(GAME, MIXES, tolerance=t, accept_approximate=True),
    "bradley_terry": lambda t: bradley_terry(WINS, options=BradleyTerryOptions(tolerance=t, max_iterations=1)),
    "contextual": lambda t: contextual_bradley_terry(FOUGHT, FEATURE, options=ContextualOptions(tolerance=t, max_iterations=1)),
    "fenchel_young": lambda t: fenchel_young(WINS, options=FenchelYoungOptions(tolerance=t, max_iterations=1, **APPROXIMATE)),
    "soft_condorcet": lambda t: soft_condorcet(WINS, options=SoftCondorcetOptions(tolerance=t, max_iterations=1, **APPROXIMATE)),
    "sparse_lottery": lambda t: maximal_lottery(
        sparse.csr_array(MARGINS), options=LotteryOptions(mode="any", tolerance=t, max_iterations=1, **APPROXIMATE)
    ),
    "maximal_lottery": lambda t: maximal_lottery(MARGINS, options=LotteryOptions(tolerance=t, max_iterations=1, **APPROXIMATE)),
}
"""Methods with so small a limit of their work that the tolerance does not change their answer."""


def answer(name: str, tolerance: float) -> Any:
    try:
        return ROUGH[name](tolerance)
    except SolverError as error:
        return error.solution


def rough(call: Callable[[], Any]) -> Any:
    """The result of a solve that misses its tolerance."""
    with pytest.raises(SolverError) as raised:
        call()
    return raised.value.solution


@pytest.mark.parametrize("name", ROUGH)
def test_a_certificate_a_little_above_the_tolerance_is_approximate(name: str) -> None:
    value = answer(name, 1e-9).certificate.value
    tolerance = min(value / 2, 1e-2)
    found = answer(name, tolerance)
    assert tolerance < found.certificate.value <= 1000 * tolerance
    assert found.status is Status.APPROXIMATE


def test_the_certificate_of_a_cce_is_the_largest_regret_of_any_player_beyond_eps() -> None:
    found = cce(GAME, options=CCEOptions(max_iterations=1, tolerance=1e-2, accept_approximate=True))
    beyond = [max(0.0, float(gains.max())) / unit for gains, unit in zip(found.by_player, found.units, strict=True)]
    assert found.certificate.value == pytest.approx(max(beyond))
    assert max(beyond) > 1.01 * min(beyond)


def test_the_certificate_of_a_sparse_lottery_is_over_the_largest_margin_of_all_components() -> None:
    """Two components without a margin between them. The margins of one are ten times as large."""
    margins = np.kron(np.diag([1.0, 10.0]), MARGINS)
    options = LotteryOptions(mode="any", max_iterations=1, accept_approximate=True)
    found = maximal_lottery(sparse.csr_array(margins), options=options)
    assert found.certificate.value == pytest.approx(-(found.lottery @ margins).min() / np.abs(margins).max())


@pytest.mark.parametrize("wins", [WINS, WINS.T])
def test_the_certificate_of_bradley_terry_is_the_largest_error_of_a_score_of_either_sign(wins: NDArray[np.float64]) -> None:
    found = rough(lambda: bradley_terry(wins, options=BradleyTerryOptions(max_iterations=1)))
    expected = 1 / (1 + np.exp(-np.subtract.outer(found.ratings, found.ratings) / found.scale))
    errors = (wins - (wins + wins.T) * expected).sum(axis=1) / (wins + wins.T).sum(axis=1)
    assert found.certificate.value == pytest.approx(np.abs(errors).max())
    assert np.abs(errors).max() > 1.1 * np.abs(errors).min()


@pytest.mark.parametrize("wins", [WINS, WINS.T])
def test_the_certificate_of_davidson_is_the_largest_error_of_a_score_or_of_the_ties(wins: NDArray[np.float64]) -> None:
    found = rough(lambda: davidson(wins, TIES, options=BradleyTerryOptions(tolerance=1e-3, max_iterations=1)))
    x = np.subtract.outer(found.ratings, found.ratings) / found.scale
    parts = np.exp(x / 2) + np.exp(-x / 2) + found.nu
    games = wins + wins.T + TIES
    scores = (wins + TIES / 2 - games * (np.exp(x / 2) + found.nu / 2) / parts).sum(axis=1) / games.sum(axis=1)
    ties = (TIES - games * found.nu / parts).sum() / games.sum()
    errors = np.abs([*scores, ties])
    assert (found.certificate.value, found.status) == (pytest.approx(errors.max()), Status.APPROXIMATE)
    assert errors.max() > 1.1 * errors.min()


@pytest.mark.parametrize("scale", [0.5, 1.5])
def test_a_cce_with_small_regrets_and_other_multipliers_is_approximate(scale: float) -> None:
    """The entropy gap is negative with too small multipliers, and positive with too large ones."""
    start = cce(GAME).start
    scaled = replace(start, arrays={name: scale * values for name, values in start.arrays.items()})
    found = cce(GAME, options=CCEOptions(tolerance=1e-1, max_seconds=1e-9, accept_approximate=True), start=scaled)
    assert found.certificate.value <= 1e-1 < abs(found.entropy_gap) <= 100
    assert np.sign(found.entropy_gap) == np.sign(scale - 1)
    assert found.status is Status.APPROXIMATE


def test_turned_results_of_comparisons_have_the_same_certificate() -> None:
    turned = replace(FOUGHT, result=1.0 - FOUGHT.result)
    plain, other = (
        rough(lambda given=given: contextual_bradley_terry(given, FEATURE, options=ContextualOptions(max_iterations=1)))
        for given in (FOUGHT, turned)
    )
    assert other.certificate.value == pytest.approx(plain.certificate.value)


@pytest.mark.parametrize("name", ["fenchel_young", "soft_condorcet"])
def test_turned_results_have_the_same_certificate(name: str) -> None:
    """Errors of turned results have the other sign."""
    solve: Callable[..., Any] = {"fenchel_young": fenchel_young, "soft_condorcet": soft_condorcet}[name]
    kind: Any = {"fenchel_young": FenchelYoungOptions, "soft_condorcet": SoftCondorcetOptions}[name]
    options = kind(max_iterations=1, accept_approximate=True)
    assert solve(WINS.T, options=options).certificate.value == pytest.approx(solve(WINS, options=options).certificate.value, rel=1e-6)


def test_a_search_of_deviation_ratings_that_is_cut_short_has_the_error_of_its_open_strategies() -> None:
    """Ratings of the first level are exact, and the error of the others is at least 1 unit."""
    found = deviation(GAME, options=DeviationOptions(max_solves=3, accept_approximate=True))
    assert found.stats["levels"] >= 1
    assert found.certificate.value >= 1.0


Search = Callable[..., lexicographic.LeastGains]


def searches(monkeypatch: pytest.MonkeyPatch, *changes: Callable[[lexicographic.LeastGains], lexicographic.LeastGains]) -> None:
    """Apply a change to the result of each search of deviation ratings by column generation, in order."""
    module = import_module("ratings_core.equilibria.deviation")
    monkeypatch.setattr(module, "EXACT_ENTRIES", 0)
    search: Search = module.least_gains
    following: Iterator[Callable[[lexicographic.LeastGains], lexicographic.LeastGains]] = iter(changes)
    monkeypatch.setattr(module, "least_gains", lambda *given, **named: next(following)(search(*given, **named)))


def errors_of(*errors: float) -> Callable[[lexicographic.LeastGains], lexicographic.LeastGains]:
    return lambda found: replace(found, errors=np.resize(np.array(errors), len(found.errors)))


def test_the_better_search_of_deviation_ratings_has_the_smaller_largest_error(monkeypatch: pytest.MonkeyPatch) -> None:
    searches(monkeypatch, errors_of(1e-3, 1e-1), errors_of(1e-2, 2e-2))
    found = deviation(GAME, options=DeviationOptions(accept_approximate=True))
    assert found.certificate.value == pytest.approx(2e-2)
    assert found.status is Status.APPROXIMATE


def test_a_largest_error_little_above_the_tolerance_makes_deviation_ratings_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    searches(monkeypatch, *[errors_of(1e-9, 3e-6)] * 2)
    found = deviation(GAME, options=DeviationOptions(accept_approximate=True))
    assert (found.certificate.value, found.status) == (pytest.approx(3e-6), Status.APPROXIMATE)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_ratings_that_differ_from_the_gains_of_the_play_are_in_the_certificate(monkeypatch: pytest.MonkeyPatch, sign: float) -> None:
    """One rating of the last player is wrong by 0.3 units; those of the first are wrong by 0.1 in the other direction."""
    first = len(deviation(GAME).by_player[0])

    def wrong(found: lexicographic.LeastGains) -> lexicographic.LeastGains:
        gains = found.gains.copy()
        gains[:first] -= sign * 0.1
        gains[-1] += sign * 0.3
        return replace(found, gains=gains, errors=np.zeros(len(gains)))

    searches(monkeypatch, wrong)
    found = deviation(GAME, options=DeviationOptions(accept_approximate=True))
    assert found.certificate.value == pytest.approx(0.3)
    assert found.status is Status.APPROXIMATE


def test_errors_of_levels_are_passed_on_with_their_multipliers() -> None:
    """Level 1 is wrong by 1/8, and level 2 by 1/16 and by half of the error of level 1. The effect has a negative sign."""
    errors = lexicographic._Errors(3)
    errors.account(0.125, np.array([1.0, 0.0, 0.0]), np.array([0]))
    errors.account(0.0625, np.array([0.5, 1.0, 0.0]), np.array([1]))
    assert errors.by_row().tolist() == [0.125, 0.125, 0.125]
    errors.account(0.0, np.array([0.0, 2.0, 1.0]), np.array([2]))
    assert errors.by_row().tolist() == [0.125, 0.125, 0.25]


def test_the_residual_of_a_mix_counts_strategies_above_the_level_too() -> None:
    """The rates are 1.6 and 0.9, the level is 0.97: 0.63 above it and 0.07 below."""
    residual, level = affinity._residual(np.diag([4.0, 1.0]), np.array([0.1, 0.9]), 1.0)
    assert (residual, level) == (pytest.approx(0.63), pytest.approx(0.97))


def test_the_imbalance_of_flows_counts_states_that_lose_more_than_they_get() -> None:
    """All rates are 1. State 0 has mass 0.4: it gets 0.6 and loses 1.6. The others have 0.15: they get 0.85 and lose 0.6."""
    rates = np.where(np.eye(5, dtype=bool), -np.inf, 0.0)
    imbalance = import_module("ratings_core.equilibria.alpharank")._imbalance
    assert imbalance(rates, np.log([0.4, 0.15, 0.15, 0.15, 0.15])) == pytest.approx(1.0 / 1.6)


def test_the_divergence_of_a_rotation_is_over_the_size_of_the_flow_and_has_no_sign() -> None:
    """Agent 2 has a surplus of 2 units. The largest flow is that at agent 0, 3 to agent 1 and 1 to agent 2."""
    divergence = import_module("ratings_core.analysis.hodge")._divergence
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    left = np.array([0.0, 1.0, 1.0])
    for sign in (1.0, -1.0):
        assert divergence(3, first, second, np.array([-3.0, 1.0, 0.5]), np.ones(3), sign * left) == 2.0 / 4.0


def test_the_largest_shortfall_of_all_chains_of_schulze_is_the_gap() -> None:
    """The stated strength from 0 to 1 is 0.5 above the link, and that from 1 to 0 is right."""
    module = import_module("ratings_core.voting.schulze")
    links = np.array([[0.0, 1.0], [2.0, 0.0]])
    previous = np.array([[-1, 0], [1, -1]], np.int32)
    assert module._path_gap(links, np.array([[0.0, 1.5], [2.0, 0.0]]), previous) == 0.5


def test_the_worst_universe_of_ranked_pairs_decides_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("ratings_core.voting.ranked_pairs")
    margins = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    values = iter([0.0, 2.0] + [1.0] * 20)
    monkeypatch.setattr(module, "_unopposed", lambda *_: next(values))
    found = module.ranked_pairs(margins)
    assert found.certificate.value == 2.0
    assert found.status is Status.FAILED


def test_gaps_of_the_components_of_kemeny_add_up() -> None:
    """Two components lack 2 and 4 margins of one order: 1 and 2 of 10 votes."""
    module = import_module("ratings_core.voting.kemeny")
    votes = np.zeros((2, 2))
    votes[0, 1] = 10.0
    parts = [module._Part([0], 1.0, 3.0, None, 0), module._Part([1], 1.0, 5.0, None, 0)]
    found = module._result(votes, parts, module.linear([0, 1]), np.array([0, 1]), "keep", 0.0)
    assert (found.certificate.value, found.bound) == (3.0 / 10.0, found.value + 3.0)
    assert found.status is Status.APPROXIMATE
    near = module._result(votes, [parts[0]._replace(bound=1.0 + 2e-8)], module.linear([0, 1]), np.array([0, 1]), "keep", 0.0)
    assert (near.certificate.value, near.status) == (pytest.approx(1e-9), Status.APPROXIMATE)
