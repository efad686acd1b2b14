"""The weight of majorities that the best order contradicts: against all orders, its bounds, and its zero."""

from itertools import permutations

import numpy as np
import pytest
import scipy

from ratings_core.analysis import order_violations as module
from ratings_core.analysis.cycles import strongest_cycle
from ratings_core.analysis.order_violations import EXACT_AGENTS, PROVED_AGENTS, SEARCHED_AGENTS, order_violations
from ratings_core.errors import InputError
from ratings_core.voting import kemeny_search, kemeny_subsets
from ratings_core.voting.kemeny import kemeny


def drawn(seed, size, met=1.0, slope=0.0):
    """Random whole margins. met: share of pairs that met. slope: how much earlier agents beat later ones."""
    rng = np.random.default_rng(seed)
    margins = np.triu(np.rint(rng.normal(slope, 3.0, (size, size))) * (rng.random((size, size)) < met), 1)
    return margins - margins.T


def contradicted(margins, order):
    """Share of all majorities' margins that an order contradicts."""
    placed = margins[np.ix_(order, order)]
    total = np.maximum(margins, 0).sum()
    return float(np.maximum(-np.triu(placed, 1), 0).sum() / total) if total else 0.0


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_least_of_all_orders(seed):
    margins = drawn(seed, 6, met=(0.5, 1.0)[seed % 2])
    found = order_violations(margins)
    assert found.share == pytest.approx(min(contradicted(margins, list(order)) for order in permutations(range(6))), abs=1e-12)
    assert found.least == found.share
    assert order_violations(scipy.sparse.csr_array(margins)) == found


@pytest.mark.parametrize("seed", range(30))
def test_it_is_zero_exactly_where_majorities_form_no_cycle(seed):
    size = (5, 12, EXACT_AGENTS + 10)[seed % 3]
    margins = drawn(seed, size, met=0.4, slope=(0.0, 3.0, 30.0)[seed // 3 % 3])
    found = order_violations(margins)
    assert (found.share == 0) == (found.least == 0) == (strongest_cycle(margins) is None)


@pytest.mark.parametrize("size", [EXACT_AGENTS + 1, 60])
def test_more_agents_have_bounds(size):
    margins = drawn(size, size, slope=1.0)
    found = order_violations(margins)
    assert 0 < found.least <= found.share <= contradicted(margins, list(range(size)))


@pytest.mark.parametrize("size", [EXACT_AGENTS + 1, 30, PROVED_AGENTS, PROVED_AGENTS + 1])
def test_bounds_enclose_the_best_order_and_meet_where_a_few_linear_programs_prove_it(size):
    margins = drawn(5, size, met=0.6, slope=1.5)
    found, best = order_violations(margins), kemeny(np.maximum(margins, 0))
    share = 1 - best.value / np.maximum(margins, 0).sum()
    assert found.least - 1e-12 <= share <= found.share + 1e-12
    assert size > 30 or found.share == pytest.approx(found.least, abs=1e-12)


def test_components_after_the_limits_of_work_have_bounds(monkeypatch):
    parts = [drawn(seed, size) for seed, size in enumerate((6, 6, 7, 25, 26))]
    margins = scipy.sparse.block_diag(parts, format="csr")
    exact = order_violations(margins)
    assert exact.share == pytest.approx(exact.least)
    monkeypatch.setattr(module, "EXACT_STEPS", 6 << 6)
    monkeypatch.setattr(module, "MOST_PROGRAMS", 0)
    cut = order_violations(margins)
    assert 0 < cut.least < exact.least
    assert exact.share <= cut.share + 1e-12


def test_a_victory_below_the_rounding_of_sums_is_not_lost():
    margins = np.array([[0, 1, -1e-20, 1], [-1, 0, 1, 1], [1e-20, -1, 0, 1], [-1, -1, -1, 0]])
    assert strongest_cycle(margins) is not None
    assert order_violations(margins).share == order_violations(margins).least == pytest.approx(2e-21)


def test_other_threads_run_during_a_long_search():
    for kernel in (kemeny_search._insert, kemeny_search._pack, kemeny_subsets._best, kemeny_subsets._optimal):
        assert kernel.targetoptions["nogil"], "the API answers insights of slices on a thread"


@pytest.mark.parametrize("size", [EXACT_AGENTS, EXACT_AGENTS + 5])
def test_a_long_cycle_has_no_cycle_of_three_and_costs_its_smallest_victory(size):
    ring = np.zeros((size, size))
    ring[np.arange(size), np.roll(np.arange(size), -1)] = np.arange(2, size + 2)
    found = order_violations(ring - ring.T)
    assert found.least == pytest.approx(2 / ring.sum())
    assert found.least <= found.share <= 3 / ring.sum()


def test_a_very_large_component_has_an_order_and_its_smallest_victory():
    size = SEARCHED_AGENTS + 1
    victories = np.random.default_rng(0).permutation(size) + 1.0
    ring = scipy.sparse.csr_array((victories, (np.arange(size), np.roll(np.arange(size), -1))), shape=(size, size))
    found = order_violations(ring - ring.T)
    assert found.least == pytest.approx(1 / victories.sum())
    assert found.least < found.share < 0.5


def test_where_the_stronger_always_wins_no_majority_is_contradicted():
    found = order_violations(3 * np.sign(np.arange(8)[None, :] - np.arange(8)[:, None]).astype(float))
    assert (found.share, found.least) == (0, 0)
    assert order_violations(np.zeros((3, 3))).share == 0


def test_one_cycle_costs_its_weakest_majority():
    margins = np.array([[0, 60, -20], [-60, 0, 40], [20, -40, 0]], float)
    assert order_violations(margins).share == pytest.approx(20 / 120)


def test_other_than_margins_are_refused():
    with pytest.raises(InputError, match="margins"):
        order_violations([[0, 1], [1, 0]])
