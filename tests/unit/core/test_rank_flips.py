"""Sets of outcomes that change a rank: all subsets as the twin, the proof of Copeland's knapsack, and what is not applicable."""

import contextlib
from itertools import combinations, product

import numpy as np
import pytest

from ratings_core.analysis.influence import OutcomeInfluence
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import of_tally
from ratings_core.deadline import Deadline
from ratings_core.errors import InputError, SolverError
from ratings_core.methods import registry
from ratings_core.methods.explained import Solve, UnknownAgent
from ratings_core.methods.rank_flips import rank_flip
from ratings_core.methods.removals import cells, without_cells
from ratings_core.problems.inputs import GamesInput, MarginsInput, PairsInput, ScoresInput
from ratings_core.tallies import PairCounts, PlaceCounts

NAMES = ("ann", "bob", "cyd", "dan")
DIRECTIONS = ("down", "up")


def drawn(seed: int, m: int = 4, games: int = 12) -> PairsInput:
    """Games between random pairs, among them ties."""
    rng = np.random.default_rng(seed)
    wins, ties = np.zeros((m, m)), np.zeros((m, m))
    for _ in range(games):
        a, b = rng.permutation(m)[:2]
        if rng.random() < 0.15:
            ties[a, b] += 1
            ties[b, a] += 1
        else:
            wins[a, b] += 1
    return PairsInput(NAMES[:m], PairCounts.from_dense(wins, ties))


def solved(method: str, problem: object, **parameters: object) -> Solve:
    taken = registry.taken(method, problem, parameters)  # type: ignore[arg-type]
    return Solve(taken, taken.rated())


class Without:
    """Ranks in solves without some outcomes. Each set of outcomes is solved once for all agents and directions."""

    def __init__(self, solve: Solve) -> None:
        self.solve = solve
        self._ranks: dict[bytes, list[int | None]] = {}

    def rank(self, removed: np.ndarray, agent: int) -> int | None:
        """The rank in a solve without some outcomes; None without a rating."""
        key = removed.tobytes()
        if key not in self._ranks:
            rated = self.solve.taken._replace(problem=without_cells(self.solve.problem, removed)).rated()
            known = ~np.isnan(rated.solution.ratings)
            self._ranks[key] = [int(rank) if has else None for rank, has in zip(self.solve.rank_in(rated), known, strict=True)]
        return self._ranks[key][agent]

    def fewest(self, agent: int, direction: str, most: int) -> int | None:
        """The least number of outcomes of any set that changes the rank, by trying all sets of up to `most` outcomes."""
        number = cells(self.solve.problem.counts)
        units = [cell for cell in np.argwhere(number > 0).tolist() for _ in range(int(number[tuple(cell)]))]
        rank = int(self.solve.rank[agent])
        for size in range(1, most + 1):
            for chosen in combinations(range(len(units)), size):
                removed = np.zeros_like(number)
                for unit in chosen:
                    removed[tuple(units[unit])] += 1
                after = self.rank(removed, agent)
                if after is not None and (after > rank if direction == "down" else after < rank):
                    return size
        return None


def removed_cells(solve: Solve, results) -> np.ndarray:
    """The cells of an answer, found by name."""
    counts, removed = solve.problem.counts, np.zeros((3, len(solve.problem.counts)))
    pairs = list(zip(counts.first.tolist(), counts.second.tolist(), strict=True))
    for one in results:
        row = pairs.index((solve.names.index(one.agent), solve.names.index(one.opponent)))
        removed[("won", "lost", "tied").index(one.result), row] += one.count
    return removed


@pytest.mark.parametrize("seed", range(4))
def test_flips_of_bradley_terry_hold_and_lie_between_the_bound_and_all_subsets(seed):
    solve = solved("bradley_terry", drawn(seed), prior=1.0)
    without = Without(solve)
    for agent, direction in product(range(4), DIRECTIONS):
        found = rank_flip(solve, NAMES[agent], direction)
        least = without.fewest(agent, direction, 3)
        if found is None:
            assert least is None
            continue
        if found.why_not is not None:
            assert found.removed.count == 0
            continue
        assert without.rank(removed_cells(solve, found.removed.results), agent) == found.rank_after
        assert found.rank_after > found.rank if direction == "down" else found.rank_after < found.rank
        assert least is None or found.at_least <= least <= found.count
        assert not found.smallest or found.count == least
        assert found.unit == "outcomes"


def test_flips_of_small_pools_are_mostly_the_smallest():
    """The proposal is a heuristic: in these pools it finds the smallest set in at least nine of ten cases."""
    hits = total = 0
    for seed in range(6):
        solve = solved("bradley_terry", drawn(seed), prior=1.0)
        without = Without(solve)
        for agent in range(4):
            found = rank_flip(solve, NAMES[agent], "down")
            if found is not None and found.why_not is None and (least := without.fewest(agent, "down", 3)) is not None:
                total += 1
                hits += found.count == least
    assert total > 15
    assert hits >= 0.9 * total


@pytest.mark.parametrize("seed", range(6))
def test_copelands_flips_are_exact_where_they_are_proven(seed):
    solve = solved("copeland", drawn(seed, games=10), margins="observed")
    without = Without(solve)
    for agent, direction in product(range(4), DIRECTIONS):
        found, least = rank_flip(solve, NAMES[agent], direction), without.fewest(agent, direction, 3)
        if found is None:
            assert least is None
            continue
        if found.why_not is None:
            assert without.rank(removed_cells(solve, found.removed.results), agent) == found.rank_after
            assert found.at_least <= (least or 4)
            assert found.smallest is (found.count == found.at_least)
            assert not found.smallest or found.count == (least or found.count)
        else:
            assert least is None or found.at_least <= least


def test_copelands_flips_are_proven_in_most_pools():
    proven = total = 0
    for seed in range(20):
        solve = solved("copeland", drawn(seed, games=10), margins="observed")
        for agent in range(4):
            found = rank_flip(solve, NAMES[agent], "down")
            if found is not None and found.why_not is None:
                total += 1
                proven += found.smallest
    assert total > 40
    assert proven >= 0.8 * total


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("davidson", {"prior": 1.0}), ("copeland", {}), ("maximal_lottery", {"margins": "observed"}), ("sco_fit", {"margins": "observed"}),
     ("fenchel_young_fit", {}), ("schulze", {}), ("nash_average_agents", {"margins": "observed", "missing": "zero"})],
)  # fmt: skip
def test_flips_of_other_methods_are_verified_by_their_own_solves(method, parameters):
    solve = solved(method, drawn(3, games=24), **parameters)
    without = Without(solve)
    flips = [(agent, rank_flip(solve, NAMES[agent], way)) for agent, way in product(range(4), DIRECTIONS)]
    found = [(agent, flip) for agent, flip in flips if flip is not None and flip.why_not is None]
    assert found
    for agent, flip in found:
        assert without.rank(removed_cells(solve, flip.removed.results), agent) == flip.rank_after


SCORES = ScoresInput(
    ("a", "b", "c"),
    ("t1", "t2", "t3", "t4", "t5"),
    np.array([[3.0, 3.0, 1.0, 4.0, 0.0], [2.0, 1.0, 4.0, 0.0, 1.0], [1.0, 2.0, 2.0, 3.0, 2.0]]),
)


def ranks_without_tasks(solve: Solve) -> dict[tuple[str, ...], np.ndarray]:
    """Removed tasks -> ranks without them, for all sets of up to four of the five tasks that the method can rate."""
    ranks = {}
    for gone in (gone for size in range(1, 5) for gone in combinations(range(5), size)):
        kept = np.setdiff1d(np.arange(5), gone)
        fewer = ScoresInput(SCORES.names, tuple(SCORES.tasks[i] for i in kept), SCORES.scores[:, kept])
        with contextlib.suppress(InputError, RuntimeError):
            ranks[tuple(SCORES.tasks[i] for i in gone)] = solve.rank_in(solve.taken._replace(problem=fewer).rated())
    return ranks


@pytest.mark.parametrize("method", ["copeland", "nash_average", "deviation", "uniform", "borda"])
def test_flips_of_scores_are_tasks_and_lie_between_the_bound_and_all_subsets(method):
    solve = solved(method, SCORES)
    without = ranks_without_tasks(solve)
    for agent, direction in product(range(3), DIRECTIONS):
        found = rank_flip(solve, solve.names[agent], direction)
        if found is None or found.why_not is not None:
            continue
        assert found.unit == "tasks"
        changed = {
            gone for gone, ranks in without.items() if (ranks[agent] > found.rank if direction == "down" else ranks[agent] < found.rank)
        }
        least = min(len(gone) for gone in changed)
        removed = tuple(sorted(found.removed.tasks))
        assert removed not in without or without[removed][agent] == found.rank_after
        assert found.at_least <= least <= found.count
        assert not found.smallest or found.count == least


def test_the_influence_of_an_outcome_is_nearly_what_a_fit_without_it_says():
    """One step of Newton's method against the fit, in a pool with many games."""
    rng = np.random.default_rng(0)
    wins = np.triu(rng.integers(5, 30, (6, 6)), 1).astype(float)
    wins += np.triu(rng.integers(5, 30, (6, 6)), 1).T
    counts = of_tally(PairCounts.from_dense(wins), 6)
    options = BradleyTerryOptions(prior=1.0, scale=1.0, centre=0.0)
    influence = OutcomeInfluence(counts, prior=1.0)
    change, now = influence.on_difference(0, 1), influence.difference(0, 1)
    assert now == pytest.approx(float(np.diff(bradley_terry(counts, options=options).ratings[[1, 0]])[0]))
    for result, pair in ((0, 0), (1, 3), (0, 7), (1, 14)):
        fewer = wins.copy()
        first, second = int(counts.first[pair]), int(counts.second[pair])
        fewer[(first, second) if result == 0 else (second, first)] -= 1
        ratings = bradley_terry(fewer, options=options).ratings
        assert change[result, pair] == pytest.approx(ratings[0] - ratings[1] - now, abs=2e-4, rel=0.05)


def test_what_has_no_flips_says_why():
    places = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))
    games = drawn(1)
    margins = MarginsInput(("a", "b"), np.array([[0, 1.0], [-1.0, 0]]))
    half = PairsInput(NAMES[:2], PairCounts.from_dense(np.array([[0, 1.5], [1.0, 0]])))
    for solve, words in (
        (solved("copeland", margins), "do not keep single outcomes"),
        (solved("bradley_terry", half), "parts of outcomes"),
        (
            solved("uniform", GamesInput(games.names, games.counts, places, ("t",), (games.counts,)), missing="zero"),
            "needs a pool of scores",
        ),
    ):
        top = solve.names[int(np.argmin(solve.rank))]
        found = rank_flip(solve, top, "down")
        assert found is not None
        assert words in str(found.why_not)
        assert (found.count, found.smallest, found.rank_after) == (0, False, found.rank)


def test_outcomes_of_more_weight_are_recognized_by_their_number():
    solve = solved("bradley_terry", drawn(2), prior=1.0)
    top = NAMES[int(np.argmin(solve.rank))]
    weight = int(cells(solve.problem.counts).sum())
    heavy, plain = (rank_flip(solve, top, "down", outcomes=outcomes) for outcomes in (weight - 1, weight))
    assert heavy is not None
    assert plain is not None
    assert heavy.why_not == "needs outcomes of weight 1: some weigh more"
    assert plain.why_not is None


def test_the_first_cannot_rise_and_limits_end_a_search():
    solve = solved("bradley_terry", drawn(2, games=40), prior=1.0)
    order = np.argsort(solve.rank)
    assert rank_flip(solve, NAMES[order[0]], "up") is None
    assert rank_flip(solve, NAMES[order[-1]], "down") is None
    late = rank_flip(solve, NAMES[order[0]], "down", deadline=Deadline(-1.0, lambda: 0.0))
    assert late is not None
    assert (late.solves, late.count, late.cut_short) == (0, 0, True)
    assert "limit" in str(late.why_not)
    ahead = solved("bradley_terry", PairsInput(NAMES[:3], PairCounts.from_dense(np.array([[0, 30, 40], [10, 0, 30], [10, 10, 0.0]]))))
    few, whole = (rank_flip(ahead, "ann", "down", most=100, most_solves=most) for most in (5, 200))
    assert few is not None
    assert whole is not None
    assert (few.solves, few.cut_short, whole.cut_short) == (5, True, False)
    assert whole.count > 1
    assert few.count >= whole.count or few.why_not is not None


def test_bad_arguments_are_refused():
    solve = solved("bradley_terry", drawn(2), prior=1.0)
    with pytest.raises(UnknownAgent):
        rank_flip(solve, "zoe", "down")
    for bad in ({"direction": "sideways"}, {"most_solves": 0}, {"most": 0}):
        with pytest.raises(InputError):
            rank_flip(solve, "ann", **{"direction": "down", **bad})
    counts = of_tally(drawn(2).counts, 4)
    for ahead, behind, prior in ((4, 0, 1.0), (0, -1, 1.0), (0, 1, 0.0)):
        with pytest.raises(InputError):
            OutcomeInfluence(counts, prior=prior).on_difference(ahead, behind)


def test_large_pools_propose_without_a_dense_inverse_and_flips_stay_verified(monkeypatch):
    monkeypatch.setattr("ratings_core.analysis.influence.DENSE_UP_TO", 2)
    solve = solved("bradley_terry", drawn(4, games=30), prior=1.0)
    found = [flip for agent in NAMES if (flip := rank_flip(solve, agent, "down")) is not None and flip.why_not is None]
    assert found
    for flip in found:
        agent = next(i for i in range(4) if solve.rank[i] == flip.rank)
        assert Without(solve).rank(removed_cells(solve, flip.removed.results), agent) == flip.rank_after


def test_a_set_of_too_many_outcomes_is_not_given(monkeypatch):
    monkeypatch.setattr("ratings_core.methods.rank_flips.MOST_REMOVED", 1)
    wins = np.array([[0, 30, 40], [10, 0, 30], [10, 10, 0.0]])
    solve = solved("bradley_terry", PairsInput(NAMES[:3], PairCounts.from_dense(wins)))
    found = rank_flip(solve, "ann", "down")
    assert found is not None
    assert found.why_not == "no set of at most 1 outcomes was found that changes the rank"


def test_only_few_outcomes_are_given():
    """Of 2,000 outcomes, 1,108 decided a rank of a lottery: any rank changes without enough outcomes."""
    wins = np.array([[0, 300, 400], [100, 0, 300], [100, 100, 0.0]])
    solve = solved("bradley_terry", PairsInput(NAMES[:3], PairCounts.from_dense(wins)))
    none, some = rank_flip(solve, "ann", "down"), rank_flip(solve, "ann", "down", most=10_000)
    assert (none.few, none.count, none.cut_short) == (65, 0, False)
    assert none.why_not == "no set of at most 65 outcomes was found that changes the rank"
    assert some.why_not is None
    assert some.count > 65
    edge = rank_flip(solve, "ann", "down", most=some.count)
    assert edge.why_not is None
    assert edge.count <= some.count


def test_a_bound_above_few_needs_no_solve():
    wins = np.array([[0, 300, 400], [100, 0, 300], [100, 100, 0.0]])
    solve = solved("copeland", PairsInput(NAMES[:3], PairCounts.from_dense(wins)), margins="observed")
    found = rank_flip(solve, "ann", "down")
    assert (found.count, found.solves) == (0, 0)
    assert found.at_least > found.few == 65


def test_a_late_search_of_copelands_plans_proves_nothing():
    solve = solved("copeland", drawn(3, games=10), margins="observed")
    top = NAMES[int(np.argmin(solve.rank))]
    found = rank_flip(solve, top, "down", deadline=Deadline(-1.0, lambda: 0.0))
    assert found is not None
    assert (found.at_least, found.count) == (1, 0)
    assert found.cut_short
    assert "limit" in str(found.why_not)


@pytest.mark.parametrize("tolerance", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_copelands_flips_hold_where_agents_of_unequal_scores_share_a_rank(seed, tolerance):
    taken = registry.taken("copeland", drawn(seed, games=10), {"margins": "observed"})
    solve = Solve(taken, taken.rated(), tolerance)
    without = Without(solve)
    for agent, direction in product(range(4), DIRECTIONS):
        found, least = rank_flip(solve, NAMES[agent], direction), without.fewest(agent, direction, 3)
        assert found is None or least is None or found.at_least <= least
        assert found is None or not found.smallest or found.count == (least or found.count)


def test_one_outcome_that_changes_the_rank_is_always_found_in_small_pools():
    """Also where the proposals fail: third agents moved, or strengths by Bradley-Terry say nothing of the method's rank."""
    for method in ("copeland", "maximal_lottery"):
        for seed in range(16):
            solve = solved(method, drawn(seed, m=3 + seed % 2, games=4 + seed % 5), margins="observed")
            without = Without(solve)
            for agent, direction in product(range(len(solve.names)), DIRECTIONS):
                if without.fewest(agent, direction, 1) == 1:
                    found = rank_flip(solve, NAMES[agent], direction)
                    assert found is not None
                    assert (found.count, found.smallest) == (1, True), (method, seed, agent, direction)


def test_a_failed_solve_proves_nothing(monkeypatch):
    wins = np.array([[0, 30, 40], [10, 0, 30], [10, 10, 0.0]])
    solve = solved("bradley_terry", PairsInput(NAMES[:3], PairCounts.from_dense(wins)))
    found = rank_flip(solve, "ann", "down")
    assert found is not None
    assert found.at_least == 2
    rated, weight = registry.Taken.rated, cells(solve.problem.counts).sum()

    def failing(taken):
        if cells(taken.problem.counts).sum() == weight - 1:
            raise SolverError("not accurate", solve.solution)
        return rated(taken)

    monkeypatch.setattr(registry.Taken, "rated", failing)
    unproven = rank_flip(solve, "ann", "down")
    assert unproven is not None
    assert (unproven.at_least, unproven.smallest) == (1, False)
