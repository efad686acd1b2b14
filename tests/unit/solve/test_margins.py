"""The margins that pairwise methods are solved on: posterior for games, observed for everything else, as said in every result."""

import numpy as np
import pytest

from ratings_core.batch.pair_counts import pair_counts
from ratings_core.errors import InputError
from ratings_core.margins import posterior_margins
from ratings_core.methods.registry import METHODS
from ratings_core.problems.inputs import MarginsInput, PairsInput, ScoresInput
from ratings_core.tallies import PairCounts
from ratings_core.voting.copeland import copeland
from ratings_core.voting.lotteries import maximal_lottery
from ratings_core.voting.schulze import schulze
from services.solve.registry.methods import solve
from tests.support.planted import PlantedPool

PAIRWISE = sorted(name for name, method in METHODS.items() if any(one.name == "margins" for one in method.parameters))
POOL = PlantedPool.drawn(0, agents=12, games=400, cyclic=1.0, newcomers=3, newcomer_games=1, ties=0.2)
NAMES = tuple(f"a{i:02}" for i in range(15))
GAMES = PairsInput(NAMES, PairCounts.from_dense(POOL.wins, POOL.ties))
SCORES = ScoresInput(("a", "b", "c"), ("x", "y", "z"), np.array([[1.0, 3, 2], [2, 1, 3], [3, 2, 1]]))


def test_every_pairwise_method_has_the_option() -> None:
    assert PAIRWISE == [
        "alpharank",
        "copeland",
        "fenchel_young_fit",
        "iterated_maximal_lotteries",
        "kemeny",
        "maximal_lottery",
        "nash_average_agents",
        "ranked_pairs",
        "schulze",
        "sco_fit",
    ]


@pytest.mark.parametrize("method", PAIRWISE)
def test_games_are_solved_on_posterior_margins_and_scores_on_observed_ones(method: str) -> None:
    about = solve(method, GAMES).extra["margins"]
    assert isinstance(about, dict)
    assert about["kind"] == "posterior"
    assert about["kappa"] == pytest.approx(posterior_margins(POOL.wins, POOL.ties).kappa)
    assert about["kappa_low"] <= about["kappa"]
    assert solve(method, GAMES, {"margins": "posterior", "margins_kappa": 7.0}).extra["margins"]["kappa"] == 7.0  # type: ignore[index]
    for same in (solve(method, SCORES), solve(method, SCORES, {"margins": "observed"})):
        assert same.extra["margins"] == {"kind": "observed"}
    assert solve(method, SCORES, {"margins": "posterior"}).extra["margins"]["kind"] == "posterior"  # type: ignore[index]
    assert "margins" in solve(method, SCORES).extra["parameters"]  # type: ignore[operator]


def test_answers_are_those_of_the_dense_posterior_matrix() -> None:
    dense = posterior_margins(POOL.wins, POOL.ties, pessimism=2.0).dense()

    def rated(method: str) -> list[float]:
        rows = {row.agent: row.rating for row in solve(method, GAMES).agents}
        return [rows[name] for name in NAMES]  # type: ignore[misc]

    np.testing.assert_allclose(rated("maximal_lottery"), maximal_lottery(dense).lottery, atol=1e-7)
    np.testing.assert_array_equal(rated("copeland"), copeland(dense).ratings)
    np.testing.assert_allclose(rated("schulze"), schulze(np.maximum(dense, 0)).ratings)


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.999])
def test_structured_copeland_scores_are_those_of_the_dense_matrix(tolerance: float) -> None:
    rows = solve("copeland", GAMES, {"tie_tolerance": tolerance}).agents
    dense = posterior_margins(pair_counts(POOL.wins, POOL.ties), pessimism=2.0).dense()
    expected = copeland(dense, tie_tolerance=tolerance).ratings
    assert {row.agent: row.rating for row in rows} == dict(zip(NAMES, expected.tolist(), strict=True))


def test_one_lucky_win_over_the_best_elects_nobody() -> None:
    best, rng = 0, np.random.default_rng(0)
    wins = np.zeros((22, 22))
    wins[:20, :20] = np.triu(rng.integers(6, 12, (20, 20)), 1) + np.tril(rng.integers(1, 5, (20, 20)), -1)
    wins[20, best] = wins[21, best] = 1.0  # newcomers who beat the best in their only game
    problem = PairsInput(tuple(f"a{i:02}" for i in range(22)), PairCounts.from_dense(wins))
    assert {row.agent for row in solve("maximal_lottery", problem, {"margins": "observed"}).agents if row.rank == 1} == {"a20", "a21"}
    assert solve("maximal_lottery", problem).extra["support"] == ["a00"]


@pytest.mark.parametrize(
    ("method", "problem", "parameters", "named"),
    [
        ("copeland", MarginsInput(("a", "b"), np.array([[0.0, 1], [-1, 0]])), {"margins": "posterior"}, "margins"),
        ("maximal_lottery", GAMES, {"mode": "any"}, "mode"),
        ("nash_average_agents", GAMES, {"margins": "posterior", "missing": "zero"}, "missing"),
        ("alpharank", GAMES, {"margins": "posterior", "pseudo_count": 1.0}, "pseudo_count"),
    ],
)
def test_what_posterior_margins_cannot_do_is_refused(
    method: str, problem: PairsInput, parameters: dict[str, str | float], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        solve(method, problem, parameters)


def test_a_policy_for_missing_pairs_keeps_observed_margins() -> None:
    found = solve("nash_average_agents", GAMES, {"missing": "zero"})
    assert found.extra["margins"] == {"kind": "observed"}


def test_replicates_of_posterior_fits_keep_kappa_and_hold_the_estimate() -> None:
    for method in ("sco_fit", "fenchel_young_fit"):
        found = solve(method, GAMES, {"replicates": 8, "seed": 1})
        ends = np.array([(row.low, row.high) for row in found.agents], np.float64)
        assert (ends[:, 0] <= ends[:, 1]).all()
        assert (ends[:, 0] < ends[:, 1]).sum() > 10  # of 15; some are held at an end of the box
