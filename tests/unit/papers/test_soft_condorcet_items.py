"""Computations of the items of Lanctot et al. 2025: step counts, tournaments, distances, samples of PrefLib."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.items import Match, Run
from benchmarks.papers.soft_condorcet import games, landscapes, posterior, preflib, tournaments, warmup
from ratings_core.ranking import Ranking, kendall_tau
from ratings_core.voting.profile import Profile


def test_step_counts_are_those_of_the_published_case_in_both_precisions():
    row = next(row for row in warmup.EQUATION_11["table3_gd"] if (row["alpha"], row["tau"]) == (0.1, 1))
    assert warmup.first_optimal_steps(0.1, 1, 0, runs=2, seed=0).tolist() == [row["T_conv_published"] + 2] * 2
    assert warmup.library_step(0.1, 1) == row["T_conv_published"] + 2


def test_means_of_three_equal_runs_have_no_noise():
    assert warmup.noise_of_three(np.array([7, 7, 7])) == 0.0
    assert 0 < warmup.noise_of_three(np.array([1, 1, 1, 100])) < 100


def test_high_means_of_rows_that_share_their_runs_are_one_chance_and_not_one_for_each_row():
    steps = np.tile(np.repeat([10, 1000], (90, 10)), (4, 1))
    same, other = (warmup.chance_of_all(steps, [1000.0] * 4, shared=shared) for shared in (True, False))
    assert same == pytest.approx(0.1**3, rel=0.4)
    assert other < 1e-4
    assert warmup.chance_of_all(steps, [10.0] * 4, shared=True) == 1.0


@pytest.mark.parametrize("matched", [False, True])
def test_contests_have_four_different_agents_in_the_order_of_their_performances(matched):
    skills = np.arange(20) * 1_000.0
    drawn = tournaments.contests(skills, 50, np.random.default_rng(0), matched=matched)
    assert drawn.shape == (50, 4)
    assert all(len(set(game)) == 4 for game in drawn.tolist())
    assert (np.diff(skills[drawn], axis=1) < 0).all()


def test_matched_agents_are_nearer_in_skill():
    skills, rng = np.arange(20.0), np.random.default_rng(0)
    spread = [np.ptp(tournaments.contests(skills, 200, rng, matched=matched), axis=1).mean() for matched in (False, True)]
    assert spread[1] < 0.8 * spread[0]


def test_distances_count_ties_half_and_average_the_skills_of_wrong_pairs():
    skills = np.array([30.0, 20.0, 10.0, 5.0])
    ranking = Ranking.from_scores([1.0, 2.0, 0.5, 0.5])
    off, apart = tournaments.distances(ranking, skills)
    assert off == kendall_tau(ranking, Ranking.from_scores(skills)) == 1.5
    assert apart == pytest.approx((10.0 + 0.5 * 5.0) / 1.5)
    assert tournaments.distances(Ranking.from_scores(skills), skills) == (0.0, 0.0)


def test_every_method_orders_a_tournament_with_many_games():
    for name, (off, _) in tournaments.tournament(200, False, 0).items():
        assert off < (60 if name in tournaments.HIGHEST else 15), name


def test_a_descent_of_the_fenchel_young_loss_agrees_with_the_votes():
    votes = Profile.from_orders([[0, 1, 2, 3]] * 3, names=tuple(map(str, range(20))))
    assert (np.diff(tournaments.sampled_fenchel_young(votes, 0)[:4]) < 0).all()


def test_losses_are_those_of_the_votes_and_convexity_is_seen():
    sigmoid, fenchel = landscapes.losses(np.zeros(3))
    assert sigmoid == pytest.approx(15 / 2)
    assert fenchel == pytest.approx(15 * np.log(2))
    side = np.linspace(-1, 1, 9)
    assert landscapes.convex(side[:, None] ** 2 + side**2)
    assert not landscapes.convex(side[:, None] ** 2 - side**2)


def test_the_closest_printed_skills_are_not_those_that_the_paper_names():
    assert posterior.closest(np.array(posterior.PUBLISHED["true_skills"])) == (1, 9)
    assert posterior.PUBLISHED["closest_pair"] == [2, 6]


def test_wrong_pairs_and_a_rater_along_games():
    orders = np.array([[0, 1, 2]] * 4, np.int32)
    assert games.wrong_pairs(np.array([3.0, 2.0, 1.0]), orders) == 0.0
    assert games.wrong_pairs(np.array([1.0, 1.0, 1.0]), orders) == 1.5
    assert games.along(games.ONLINE["Elo, K 32"], [orders, orders], 3, orders) == [0.0, 0.0]


def test_samples_of_files_are_continued_by_larger_ones(tmp_path):
    paths = [tmp_path / str(n) for n in range(20)]
    assert preflib.drawn(paths, 50, seed=1)[:5] == preflib.drawn(paths, 5, seed=1)
    assert len(set(preflib.drawn(paths, 50, seed=1))) == 20


@pytest.mark.parametrize(("low", "profiles", "seeds"), [(10, 50, 3), (11, 45, 3), (21, 30, 1), (101, 30, 1), (201, 30, 1), (501, 30, 1)])
def test_every_group_of_table_2_has_30_profiles_or_all_that_are_at_hand(low, profiles, seeds, tmp_path, monkeypatch):
    asked = []

    def fitted(path, group, used):
        asked.append((path, group, len(used)))
        return asdict(preflib.Fit(group, 3.0, 1.0, None))

    monkeypatch.setattr(preflib, "_fitted", fitted)
    run = Run(quick=False, parts=tmp_path)
    paths = [Path(f"{i}.soc") for i in range(50)]
    assert len(preflib._fits(run, paths, low, [0, 1, 2])) == profiles
    assert {(group, used) for _, group, used in asked} == {(low, seeds)}
    few = Run(quick=False, parts=tmp_path / "few")
    assert len(preflib._fits(few, paths[:4], low, [0, 1, 2])) == 4


def test_a_quick_run_has_no_large_groups(tmp_path):
    assert preflib._fits(Run(quick=True, parts=tmp_path), [Path("1.soc")], 21, [0]) == []


@pytest.mark.parametrize(
    ("top", "printed", "matches"),
    [(1.0, "1.0", [Match.YES, Match.YES]), (1.0, "0.66", [Match.EXPLAINED, Match.EXPLAINED]), (0.9, "0.66", [Match.NO, Match.NO])],
)
def test_a_printed_share_of_winners_below_one_is_explained_only_if_ours_is_one(top, printed, matches):
    fits = [preflib.Fit(5, 10.0, 1.0, 0.0, program_on_top=top, program_distance=0.0)] * 100
    row = {"m_min": "5", "C_sp": printed, "Kn_sp": "0.0" if printed == "1.0" else "0.1"}
    assert [value.match for value in preflib.program_rows("m = 5", row, fits, 100)] == matches


def test_groups_without_a_winner_have_no_share_of_winners():
    fits = [preflib.Fit(5, 10.0, None, 0.02, program_on_top=None, program_distance=0.02)] * 3
    row = {
        "m_min": "5",
        "m_max": "5",
        "m_mean": "5",
        "n_mean": "9",
        "size": "9",
        "C_gd": "1",
        "Kn_gd": "0.02",
        "C_sp": "1",
        "Kn_sp": "0.02",
    }
    found = {value.label: (value.ours, value.match) for value in preflib.compared(row, fits, 9)}
    for label in ("m = 5: winner on top", "m = 5: winner on top, sigmoidal programming"):
        assert found[label] == ("–", Match.NONE)


def test_a_fit_counts_winners_and_pairs_unlike_kemenys_order():
    clear = preflib.fit(Profile.from_orders([[0, 1, 2], [0, 2, 1], [0, 1, 2]]), seeds=[0])
    assert (clear.alternatives, clear.on_top, clear.distance) == (3, 1.0, 0.0)
    assert (clear.program_on_top, clear.program_distance) == (1.0, 0.0)
    tied = preflib.fit(Profile.from_orders([[0, 1], [1, 0]]), seeds=[0, 1])
    assert tied.on_top is None
    group = preflib.summary([clear, tied])
    assert (group.profiles, group.winners, group.on_top, group.distance) == (2, 1, 1.0, tied.distance / 2)
