"""Games of four players whose payoffs have very different units: deviation ratings against rational arithmetic, and invariances."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ratings_core.equilibria import CCEOptions, DeviationOptions, cce, deviation
from ratings_core.errors import SolverError
from ratings_core.games import NormalForm
from ratings_core.solution import Status
from tests.unit.core.rational_deviation import deviation_ratings

SHAPE = (2, 2, 2, 2)
JOINTS = list(product(*map(range, SHAPE)))
EVEN, NEAR, FAR, FARTHEST = (0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 4, 5), (0, 3, 6, 9)
"""Units of the players, as negative powers of ten."""


def whole_payoffs(seed: int) -> list[np.ndarray]:
    """Small whole numbers, where strategies tie, or whole numbers up to a few thousand."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-3, 4, SHAPE) if seed % 2 else np.rint(1000 * rng.normal(size=SHAPE)) for _ in SHAPE]


def exact(payoffs: list[np.ndarray], powers: tuple[int, ...]) -> np.ndarray:
    tensors = [{joint: Fraction(int(own[joint]), 10**power) for joint in JOINTS} for own, power in zip(payoffs, powers, strict=True)]
    return np.array([float(rating) for rating in deviation_ratings(tensors, SHAPE)])


def stored(payoffs: list[np.ndarray], powers: tuple[int, ...]) -> NormalForm:
    return NormalForm.of([own / 10.0**power for own, power in zip(payoffs, powers, strict=True)])


@pytest.mark.parametrize("powers", [EVEN, NEAR, FAR])
@pytest.mark.parametrize("seed", [0, 1, 2, 5, 9, 12, 13, 18, 23])
def test_ratings_are_those_of_rational_arithmetic(seed: int, powers: tuple[int, ...]) -> None:
    """Where units are within a millionfold, relative to the largest one."""
    payoffs = whole_payoffs(seed)
    found = deviation(stored(payoffs, powers))
    difference = np.abs(np.concatenate(found.by_player) - exact(payoffs, powers)).max() / found.unit
    assert difference <= (1e-8 if powers == FAR else 1e-10)


@pytest.mark.parametrize("seed", [0, 2, 5, 9, 12])
def test_units_too_far_apart_are_not_certified(seed: int) -> None:
    """At seed 5 the certificate was within the tolerance of 1e-6 and the ratings were off by 8e-5."""
    game = stored(whole_payoffs(seed), FARTHEST)
    with pytest.raises(SolverError, match=r"units .* differ by a factor") as caught:
        deviation(game)
    found = deviation(game, options=DeviationOptions(accept_approximate=True))
    assert caught.value.solution.status is found.status is Status.APPROXIMATE
    assert found.stats["unit_ratio"] > 1e6


def test_rounding_noise_of_a_player_without_a_choice_is_no_unit() -> None:
    payoffs = [own.astype(float) for own in whole_payoffs(0)]
    payoffs[3] = np.zeros(SHAPE)
    payoffs[3][0, 0, 0, 0] = 1e-13
    found = deviation(NormalForm.of(payoffs))
    assert found.status is Status.OPTIMAL
    assert found.stats["unit_ratio"] < 100


@pytest.mark.parametrize("seed", range(6))
def test_one_factor_for_all_players_scales_ratings(seed: int) -> None:
    payoffs = whole_payoffs(seed)
    found = deviation(stored(payoffs, NEAR))
    for power in (-9, 9):
        scaled = deviation(stored(payoffs, tuple(own + power for own in NEAR)))
        for rated, again in zip(found.by_player, scaled.by_player, strict=True):
            assert np.abs(again * 10.0**power - rated).max() <= 1e-11 * found.unit


@pytest.mark.parametrize("seed", range(12))
def test_each_player_s_unit_scales_its_ratings_in_the_equilibrium_of_largest_entropy(seed: int) -> None:
    """At eps 0 the equilibria of a game, and so the one nearest to even play, do not depend on any player's unit."""
    payoffs = whole_payoffs(seed)
    found, far = (cce(stored(payoffs, powers), target="even", options=CCEOptions(eps=0.0)) for powers in (EVEN, FARTHEST))
    for own, again, power in zip(found.by_player, far.by_player, FARTHEST, strict=True):
        assert np.abs(again * 10.0**power - own).max() <= 3e-6 * max(found.units)
    for own, again in zip(found.marginals, far.marginals, strict=True):
        assert np.abs(again - own).max() <= 3e-6
