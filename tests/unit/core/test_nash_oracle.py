"""Nash averages against a linear program and an exhaustive search for the mix of largest entropy; and where they are hard.

The search shares nothing with the engine: the optimal mixes are a polytope, whose vertices are found by trying every square
block of the game (Shapley and Snow 1950), and the mix of largest entropy is sought over the shares of those vertices.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from ratings_core.equilibria import deviation, nash_average, nash_average_agents
from ratings_core.errors import InputError
from ratings_core.games import NormalForm, ZeroSumOptions, agent_vs_task
from ratings_core.voting.lotteries import maximal_lottery


def value_by_linprog(S):
    """What the row player is sure of."""
    agents, tasks = S.shape
    found = linprog(
        np.append(np.zeros(agents), -1.0),
        A_ub=np.column_stack([-S.T, np.ones(tasks)]),
        b_ub=np.zeros(tasks),
        A_eq=[np.append(np.ones(agents), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * agents + [(None, None)],
    )
    assert found.status == 0
    return -found.fun


def extreme_optimal_rows(S):
    """Extreme optimal mixes of rows: each solves x'B = v on some square block B (Shapley and Snow)."""
    value, (agents, tasks) = value_by_linprog(S), S.shape
    found = []
    for size in range(1, min(S.shape) + 1):
        for rows in itertools.combinations(range(agents), size):
            for columns in itertools.combinations(range(tasks), size):
                block = S[np.ix_(rows, columns)]
                system = np.vstack([block.T - value, np.ones(size)])
                mix, _, rank, _ = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0))
                whole = np.zeros(agents)
                whole[list(rows)] = mix
                fits = rank == size and mix.min() > -1e-9 and abs(mix.sum() - 1) < 1e-9 and (whole @ S).min() > value - 1e-9
                if fits and not any(np.allclose(whole, other, atol=1e-8) for other in found):
                    found.append(whole)
    return np.array(found)


def mix_of_largest_entropy(vertices):
    """Over the convex hull, by a general method from many starts."""
    k = len(vertices)

    def loss(share):
        mix = np.maximum(share @ vertices, 1e-300)
        return float(mix @ np.log(mix))

    best = None
    for seed in range(3):
        start = np.random.default_rng(seed).dirichlet(np.ones(k))
        one = {"type": "eq", "fun": lambda share: share.sum() - 1}
        found = minimize(loss, start, method="SLSQP", bounds=[(0, 1)] * k, constraints=one, options={"ftol": 1e-14, "maxiter": 500})
        best = found if best is None or found.fun < best.fun else best
    return best.x @ vertices, -best.fun


@pytest.mark.parametrize("seed", range(25))
def test_both_mixes_are_those_of_largest_entropy(seed):
    rng = np.random.default_rng(seed)
    S = rng.integers(-1, 2, (2 + seed % 3, 2 + seed % 4)).astype(float)
    S = np.unique(np.unique(S, axis=0), axis=1)  # duplicates are merged before, which the search does not do
    found = nash_average(S)
    assert found.value == pytest.approx(value_by_linprog(S), abs=1e-9)
    for mix, entropy, game in ((found.agent_dist, found.agent_entropy, S), (found.task_dist, found.task_entropy, -S.T)):
        wanted, most = mix_of_largest_entropy(extreme_optimal_rows(game))
        assert entropy == pytest.approx(most, abs=1e-6)
        assert mix == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("seed", range(15))
def test_agents_mixes_are_those_of_largest_entropy(seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(-1, 2, (4 + seed % 2, 4 + seed % 2)), 1).astype(float)
    A = upper - upper.T
    A = A[np.ix_(*(np.sort(np.unique(A, axis=0, return_index=True)[1]),) * 2)]
    found = nash_average_agents(A)
    wanted, most = mix_of_largest_entropy(extreme_optimal_rows(A))
    assert found.entropy == pytest.approx(most, abs=1e-6)
    assert found.agent_dist == pytest.approx(wanted, abs=2e-3)


# counterexamples


def test_equality_alone_on_the_face_is_not_the_lottery():
    """A and B tie, A beats C by 1, C beats B by 2: an even split of A and B has p'M = 0 on itself, and loses to C."""
    M = np.array([[0.0, 0, 1], [0, 0, -2], [-1, 2, 0]])
    even = np.array([0.5, 0.5, 0])
    assert (even @ M)[:2] == pytest.approx([0, 0])
    assert (even @ M)[2] < 0
    assert maximal_lottery(M).lottery == pytest.approx([2 / 3, 1 / 3, 0])
    assert nash_average_agents(M).agent_dist == pytest.approx([2 / 3, 1 / 3, 0])


def test_largest_entropy_without_merging_counts_copies():
    """A ties B, A beats C by 1 and B beats C by 3: C is rated -2, and -14/12 where A is there eleven times."""
    A = np.array([[0.0, 0, 1], [0, 0, 3], [-1, -3, 0]])
    ids = [*[0] * 11, 1, 2]
    copied = A[np.ix_(ids, ids)]
    assert nash_average_agents(A).ratings[-1] == pytest.approx(-2)
    assert nash_average_agents(copied).ratings[-1] == pytest.approx(-2)
    assert nash_average_agents(copied, options=ZeroSumOptions(merge=False)).ratings[-1] == pytest.approx(-14 / 12)


# hard cases


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_the_scale_of_payoffs_does_not_matter(scale, seed):
    S = np.random.default_rng(seed).integers(-3, 4, (6, 7)).astype(float)
    plain, scaled = nash_average(S), nash_average(S * scale)
    assert scaled.ratings == pytest.approx(plain.ratings * scale, abs=1e-8 * scale)
    assert scaled.agent_dist == pytest.approx(plain.agent_dist, abs=1e-7)


@pytest.mark.parametrize("tasks", [1, 2, 9])
def test_one_agent_is_rated_its_worst_task(tasks):
    S = np.arange(float(tasks))[None, :]
    assert nash_average(S).ratings == pytest.approx([0])
    assert deviation(NormalForm.of([S, -S])).ratings == pytest.approx([0])


def test_a_dominated_agent_is_never_mixed_and_an_equal_one_always():
    S = np.array([[1.0, 0], [0, 1], [-5, -5]])
    found = nash_average(S)
    assert found.agent_dist == pytest.approx([0.5, 0.5, 0])
    assert found.ratings == pytest.approx([0.5, 0.5, -5])
    assert nash_average(np.vstack([S, [0.5, 0.5]])).agent_dist[-1] == pytest.approx(1 / 3)


@pytest.mark.parametrize("n", [30, 60])
def test_many_ties_end_certified(n):
    S = np.random.default_rng(n).integers(0, 2, (n, n + 5)).astype(float)
    found = nash_average(S)
    assert (found.status, found.certificate.value) == ("optimal", pytest.approx(0, abs=1e-10))
    game = deviation(agent_vs_task(S[:12, :15]).game)
    assert game.certificate.value <= 1e-9


@pytest.mark.parametrize(
    ("scores", "argument"),
    [
        ([[np.nan, np.nan], [1.0, 2.0]], r"scores\[0, 0\]"),
        ([[np.inf, 0.0], [1.0, 2.0]], r"scores\[0, 0\]"),
        ([[1.0], [1.0, 2.0]], "scores"),
        (np.zeros((0, 3)), "scores"),
        (np.zeros((3, 0)), "scores"),
        ([1.0, 2.0], "scores"),
    ],
)
def test_bad_tables_are_refused_by_name(scores, argument):
    for method in (nash_average, agent_vs_task):
        with pytest.raises(InputError, match=argument):
            method(scores)


def test_one_player_is_no_game():
    with pytest.raises(InputError, match="payoffs"):
        NormalForm.of([[1.0, 2.0]])
