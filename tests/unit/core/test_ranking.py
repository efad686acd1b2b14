"""Rankings from scores, and Kendall-tau against its definition, scipy and the published sums of a profile."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ratings_core.errors import InputError
from ratings_core.ranking import Ranking, kendall_tau, normalised_kendall_tau
from ratings_core.voting.ties import priority

GOLDEN = Path(__file__).parents[2] / "golden"
few_scores = st.lists(st.integers(0, 6), min_size=1, max_size=30)


def distance_by_definition(first, second, penalty):
    level = dict(zip(sorted(second.ids.tolist()), second.level.tolist(), strict=True))
    mine = dict(zip(sorted(first.ids.tolist()), first.level.tolist(), strict=True))
    total = 0.0
    for a, b in itertools.combinations(mine, 2):
        x, y = np.sign(mine[a] - mine[b]), np.sign(level[a] - level[b])
        total += 0.0 if x == y else (1.0 if x * y == -1 else penalty)
    return total


def ranking_of(word, alphabet="ABC"):
    return Ranking.from_levels([[alphabet.index(letter)] for letter in word])


def test_levels_ranks_and_order():
    ranking = Ranking.from_scores([1.0, 3.0, np.nan, 3.0, -np.inf, np.inf])
    assert ranking.levels == ((5,), (1, 3), (0,), (4,), (2,))
    assert ranking.rank.tolist() == [4, 2, 6, 2, 5, 1]
    assert ranking.level.tolist() == [2, 1, 4, 1, 3, 0]
    assert ranking.unrated == 1
    assert ranking.order("abcdef") == list("fbdaec")


def test_all_unrated_share_the_only_level():
    ranking = Ranking.from_scores([np.nan, np.nan])
    assert ranking.levels == ((0, 1),)
    assert ranking.rank.tolist() == [1, 1]
    assert ranking.unrated == 2


def test_nobody():
    ranking = Ranking.from_scores([])
    assert len(ranking) == 0
    assert ranking.levels == ()
    assert kendall_tau(ranking, Ranking.from_scores([1.0])) == 0


def test_a_level_is_measured_from_its_top_so_chains_do_not_grow():
    assert Ranking.from_scores([0.0, -1.0, -2.0, -3.0], 1.0).levels == ((0, 1), (2, 3))
    assert Ranking.from_scores([0.0, -0.4, -0.8, -1.3], 1.0).levels == ((0, 1, 2), (3,))
    assert Ranking.from_scores([np.inf, 1.0, -np.inf, -np.inf], 1e9).levels == ((0,), (1,), (2, 3))


def test_ids_ascend_inside_a_level_also_within_tolerance():
    assert Ranking.from_scores([1.0, 1.5, 1.2], 1.0).ids.tolist() == [0, 1, 2]


@given(few_scores, st.integers(0, 4))
def test_levels_are_no_wider_than_the_tolerance_and_part_by_more(scores, tolerance):
    levels = Ranking.from_scores(scores, tolerance).levels
    tops = [max(scores[i] for i in level) for level in levels]
    assert sorted(i for level in levels for i in level) == list(range(len(scores)))
    assert all(top - scores[i] <= tolerance for level, top in zip(levels, tops, strict=True) for i in level)
    assert all(high - low > tolerance for high, low in itertools.pairwise(tops))


@given(few_scores)
def test_rank_is_scipys_competition_rank(scores):
    assert Ranking.from_scores(scores).rank.tolist() == stats.rankdata([-s for s in scores], method="min").tolist()


def test_equality_and_hash_go_by_content():
    one, other = Ranking.from_scores([2, 1, 1]), Ranking.from_levels([[0], [2, 1]])
    assert one == other
    assert hash(one) == hash(other)
    assert one != Ranking.from_levels([[0], [1, 2]], unrated=2)
    assert one != "ranking"


@pytest.mark.parametrize(
    ("levels", "unrated", "rule"),
    [
        ([[0], []], 0, "at least one"),
        ([[0], [0]], 0, "each once"),
        ([[-1]], 0, "at least 0"),
        ([[0], [1.5]], 0, "whole number"),
        ([[0], [1]], 2, "size of the last level"),
    ],
)
def test_bad_levels(levels, unrated, rule):
    with pytest.raises(InputError, match=rule):
        Ranking.from_levels(levels, unrated)


@pytest.mark.parametrize(("scores", "tolerance"), [([[1.0]], 0.0), (["a"], 0.0), ([1.0], -1.0), ([1.0], np.nan)])
def test_bad_scores(scores, tolerance):
    with pytest.raises(InputError):
        Ranking.from_scores(scores, tolerance)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25), st.sampled_from([0.0, 0.5, 1.0]))
def test_distance_is_its_definition(pairs, penalty):
    first, second = (Ranking.from_scores(column) for column in zip(*pairs, strict=True))
    expected = distance_by_definition(first, second, penalty)
    assert kendall_tau(first, second, tie_penalty=penalty) == expected
    assert kendall_tau(second, first, tie_penalty=penalty) == expected
    assert normalised_kendall_tau(first, second, tie_penalty=penalty) == pytest.approx(expected / (len(pairs) * (len(pairs) - 1) / 2))


def test_distance_agrees_with_scipys_tau_b_at_size():
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 400, 3000), rng.integers(0, 400, 3000)
    first, second = Ranking.from_scores(x), Ranking.from_scores(y)
    discordant, once = kendall_tau(first, second, tie_penalty=0.0), kendall_tau(first, second, tie_penalty=1.0)
    pairs = 3000 * 2999 // 2
    tied = [sum(c * (c - 1) // 2 for c in np.unique(v, return_counts=True)[1].tolist()) for v in (x, y)]
    both = (tied[0] + tied[1] - (once - discordant)) / 2
    concordant = pairs - discordant - (once - discordant) - both
    expected = stats.kendalltau(x, y).statistic
    assert (concordant - discordant) / np.sqrt((pairs - tied[0]) * (pairs - tied[1])) == pytest.approx(expected, abs=1e-12)


def test_reversed_is_one_and_a_part_is_compared_inside_the_whole():
    forward, backward = Ranking.from_scores(np.arange(9.0)), Ranking.from_scores(-np.arange(9.0))
    assert normalised_kendall_tau(forward, backward) == 1.0
    assert kendall_tau(Ranking.from_levels([[2], [7], [5]]), backward) == 1.0


def test_an_agent_that_second_lacks_is_named():
    with pytest.raises(InputError, match="this agent is missing, got 2"):
        kendall_tau(Ranking.from_scores([1, 2, 3]), Ranking.from_scores([1, 2]))
    with pytest.raises(InputError, match="at least two"):
        normalised_kendall_tau(Ranking.from_scores([1]), Ranking.from_scores([1]))


def test_published_distances_of_the_soft_condorcet_example():
    profile = json.loads((GOLDEN / "vase" / "pentathlon.json").read_text())
    published = json.loads((GOLDEN / "sco" / "kendall_discrete_loss.json").read_text())
    votes = [(vote["weight"], ranking_of("".join(vote["ranking"]))) for vote in profile["votes"]]
    sums = published["sum_kendall_tau_by_ranking"]
    assert len(sums) == 6
    for word, expected in sums.items():
        assert sum(weight * kendall_tau(vote, ranking_of(word)) for weight, vote in votes) == expected
    rated = Ranking.from_scores([published["theta"][name] for name in "ABC"])
    assert rated == ranking_of("CAB")


def test_orders_drawn_at_random_are_as_far_off_as_published():
    """An order and its reverse are 21 pairs of seven players from any other together, so the mean is half of that (SCO, sec. 4.4)."""
    case = json.loads((GOLDEN / "sco" / "diplomacy_published.json").read_text())
    rng, players = np.random.default_rng(0), case["players_per_game"]
    for _ in range(5):
        order, other = (Ranking.from_scores(rng.permutation(players)) for _ in range(2))
        back = Ranking.from_scores(order.rank)
        assert (kendall_tau(order, other) + kendall_tau(back, other)) / 2 == case["random_order_baseline"]


@pytest.mark.parametrize("levels", [5, [1, 2], [[0], 3]])
def test_levels_that_are_no_lists_are_refused(levels: object) -> None:
    with pytest.raises(InputError, match="levels must be lists of ids"):
        Ranking.from_levels(levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("ties", [-1, 1.5, None, True])
def test_a_tie_rule_that_is_none_is_refused(ties: object) -> None:
    with pytest.raises(InputError, match="ties must be keep, order, or a seed"):
        priority(ties, 3)  # type: ignore[arg-type]
