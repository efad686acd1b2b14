"""Published rankings and scores of VasE: the pentathlon by every method, and the prompts of table 17."""

import csv
import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from ratings_core.ranking import Ranking, kendall_tau
from ratings_core.voting.condorcet import schwartz_set, smith_set
from ratings_core.voting.copeland import copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.lotteries import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.positional import approval, borda, plurality
from ratings_core.voting.profile import Ballot, Profile
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze
from ratings_core.voting.stv import stv

VASE = Path(__file__).parents[2] / "golden" / "vase"
CASE = json.loads((VASE / "pentathlon.json").read_text())
NAMES = CASE["alternatives"]
PENTATHLON = Profile.from_ballots(
    [Ballot(vote["weight"], tuple((NAMES.index(name),) for name in vote["ranking"])) for vote in CASE["votes"]], NAMES
)
RECONSTRUCTED = json.loads((VASE / "prompt_profiles_reconstructed.json").read_text())["profiles"]
PROMPTS = [Profile.from_orders(np.array(votes) - 1) for votes in RECONSTRUCTED]
with (VASE / "prompt_table17_published.csv").open(encoding="utf-8") as file:
    TABLE = list(csv.DictReader(file))


def by_name(values):
    return dict(zip(NAMES, values, strict=True))


def published(method):
    """Scores as printed, of prompts 1 to 7."""
    rows = {int(row["agent"]): row["score_as_printed"] for row in TABLE if row["method"] == method}
    return [rows[prompt] for prompt in range(1, 8)]


def test_the_votes_give_the_published_matrices():
    assert PENTATHLON.preferences().tolist() == CASE["N"]
    assert PENTATHLON.margins().tolist() == CASE["M"]


def test_win_rates_are_shares_of_votes():
    rates = PENTATHLON.preferences() / PENTATHLON.voters
    assert [[None if a == b else pytest.approx(rates[a, b]) for b in range(3)] for a in range(3)] == CASE["win_rates"]


def test_the_optimal_ranking_has_the_least_sum_of_kendall_distances():
    best = CASE["optimal_ranking_sum_kendall_tau"]
    order = [NAMES.index(name) for name in best["ranking"]]
    distances = [
        vote.weight * kendall_tau(Ranking.from_levels([[a] for a in order]), Ranking.from_levels(vote.levels))
        for vote in PENTATHLON.ballots
    ]
    assert sum(distances) == best["sum"]
    assert kemeny(CASE["N"]).order.tolist() == order


def test_margins_of_the_rounds_of_iterated_lotteries():
    left = list(range(3))
    for level, margins in zip(iterated_maximal_lotteries(CASE["M"]).levels, CASE["iml_margin_rounds"], strict=True):
        assert np.array(CASE["M"])[np.ix_(left, left)].tolist() == margins
        left = [agent for agent in left if agent not in level.agents]


def test_scoring_rules():
    assert by_name(plurality(PENTATHLON).ratings) == CASE["plurality"]
    assert by_name(approval(PENTATHLON, 2).ratings) == CASE["approval_k2"]
    assert by_name(borda(PENTATHLON).ratings) == CASE["borda"]
    assert borda(PENTATHLON).ranking.levels == ((0, 2), (1,))


def test_stv():
    found = stv(PENTATHLON)
    assert by_name(found.scores) == CASE["stv"]
    assert len(found.winners) == CASE["stv_num_winners"]
    assert found.quota == 3
    assert by_name(found.ratings) == pytest.approx({name: float(score) for name, score in CASE["stv"].items()})


def test_schulze():
    found = schulze(CASE["N"])
    assert found.paths.tolist() == CASE["schulze_P"]
    assert by_name(found.ratings) == CASE["schulze_score"]


def test_ranked_pairs():
    found = ranked_pairs(CASE["M"])
    assert [[margin, NAMES[a], NAMES[b]] for a, b, margin in found.edges] == CASE["ranked_pairs_sorted"]
    assert [f"{NAMES[a]}->{NAMES[b]}" for a, b, _ in found.edges] == CASE["ranked_pairs_edges"]
    assert by_name(found.ratings) == CASE["ranked_pairs_score"]


def test_kemeny():
    found = kemeny(CASE["N"])
    values = {
        "".join(NAMES[i] for i in order): sum(CASE["N"][a][b] for i, a in enumerate(order) for b in order[i + 1 :])
        for order in permutations(range(3))
    }
    assert values == CASE["kemeny_value"]
    assert (found.value, found.unique) == (max(values.values()), True)
    assert by_name(found.ratings) == CASE["kemeny_score"]


@pytest.mark.parametrize(
    "found",
    [copeland(CASE["M"]), schulze(CASE["N"]), ranked_pairs(CASE["M"]), kemeny(CASE["N"]), stv(PENTATHLON)],
    ids=lambda found: type(found).__name__,
)
def test_condorcet_methods_and_stv_rank_alike(found):
    assert found.ranking.order(NAMES) == CASE["ranking_all_condorcet_methods_and_stv"]


def test_lotteries_and_sets():
    assert by_name(maximal_lottery(CASE["M"]).lottery) == CASE["maximal_lottery"]
    assert by_name(iterated_maximal_lotteries(CASE["M"]).ratings) == CASE["iml_score"]
    assert smith_set(CASE["M"]) == schwartz_set(CASE["M"]) == (2,)


# Table 17: fifty profiles share one N, so methods on pairs are asked once


def test_all_prompt_profiles_have_one_preference_matrix():
    assert (len(PROMPTS), len(TABLE)) == (50, 63)
    for profile in PROMPTS:
        assert (profile.preferences() == PROMPTS[0].preferences()).all()


@pytest.mark.parametrize("method", ["approval", "borda", "plurality"])
def test_prompts_by_scoring_rules(method):
    rule = {"approval": lambda profile: approval(profile, 2), "borda": borda, "plurality": plurality}[method]
    for profile in PROMPTS:
        assert rule(profile).ratings.tolist() == [float(score) for score in published(method)]


def test_prompts_by_copeland_and_iterated_lotteries():
    M = PROMPTS[0].margins()
    assert copeland(M).ratings.tolist() == [float(score) for score in published("copeland")]
    assert iterated_maximal_lotteries(M).ratings == pytest.approx([float(score) for score in published("iml")], abs=0.005)


@pytest.mark.parametrize("method", ["kemeny_young", "schulze"])
def test_prompts_by_kemeny_and_schulze(method):
    """The first four hold whatever ties do; 4, 5 and 7 form a cycle of equal margins, which some order of ties parts as printed."""
    rule = kemeny if method == "kemeny_young" else schulze
    N, scores = PROMPTS[0].preferences(), [float(score) for score in published(method)]
    assert rule(N).ranking.levels == ((5,), (2,), (0,), (1,), (3, 4, 6))
    assert any(rule(N, ties=seed).ratings.tolist() == scores for seed in range(40))


def test_prompts_by_ranked_pairs():
    """The printed scores of the first four are one less than the profiles give; those in the cycle are 0, 1 and 2 in every universe."""
    found = ranked_pairs(PROMPTS[0].margins())
    assert found.ranking.levels == ((5,), (2,), (0,), (1,), (3, 4, 6))
    assert found.universes == 3
    assert found.ratings[[5, 2, 0, 1]].tolist() == [46, 34, 19, 9]
    assert [float(published("ranked_pairs")[i]) + 1 for i in (5, 2, 0, 1)] == [46, 34, 19, 9]
    for seed in range(10):
        assert sorted(ranked_pairs(PROMPTS[0].margins(), ties=seed).ratings[[3, 4, 6]].tolist()) == [0, 1, 2]


def test_prompts_by_stv():
    """Printed scores come out for some order of ties, on every profile."""
    for profile in PROMPTS:
        assert any(list(stv(profile, 3, ties=seed).scores) == published("stv") for seed in range(200))
