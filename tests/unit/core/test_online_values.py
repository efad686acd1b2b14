"""Online raters and prequential scores against numbers worked out by hand or printed in the papers."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.online import Elo, OnlineState, Prequential, Sco
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.game_streams import batch_of, game

PROFILE = Path(__file__).parents[2] / "golden" / "sco" / "eq11_profile.json"


def ratings(rater, *games):
    state = rater.init(0)
    rater.fold(state, batch_of(games))
    return state.rating.tolist()


def at(*values):
    return OnlineState.from_arrays({"rating": np.array(values, np.float64), "outcomes": np.zeros(len(values), np.int64)})


def test_equals_exchange_half_of_k():
    assert ratings(Elo(), game(0, 1)) == [1516, 1484]
    assert ratings(Elo(), game(0, 1, places=(1, 1))) == [1500, 1500]
    assert ratings(Elo(), game(0, 1, places=(9, 2))) == [1484, 1516]
    assert ratings(Elo(), game(0, 1, weight=WEIGHT_ONE // 4)) == [1504, 1496]


def test_four_hundred_points_are_ten_to_one():
    state = at(1900, 1500)
    assert Elo().predict(state, 0, 1) == pytest.approx(10 / 11, rel=1e-15)
    Elo().fold(state, batch_of([game(1, 0)]))
    assert state.rating == pytest.approx([1900 - 320 / 11, 1500 + 320 / 11], rel=1e-15)


def test_a_free_for_all_is_its_pairs_over_the_opponents():
    assert ratings(Elo(), game(0, 1, 2)) == [1516, 1500, 1484]
    assert ratings(Elo(), game(0, 1, 2, places=(1, 2, 2))) == [1516, 1492, 1492]


def test_a_team_plays_at_its_mean_and_every_member_moves():
    state = at(1400, 1600, 1500)
    Elo().fold(state, batch_of([game((0, 1), 2)]))
    assert state.rating.tolist() == [1416, 1616, 1484]


def test_new_agents_move_by_the_provisional_k():
    rater = Elo(provisional_k=64, provisional_outcomes=2)
    state = OnlineState.from_arrays({"rating": np.full(2, 1500.0), "outcomes": np.array([2, 1])})
    rater.fold(state, batch_of([game(0, 1)]))
    assert state.rating.tolist() == [1516, 1468]
    assert state.outcomes.tolist() == [3, 2]


def test_a_step_of_soft_condorcet_at_equal_ratings_is_a_quarter_of_alpha_over_tau():
    assert ratings(Sco(), game(0, 1)) == [50.125, 49.875]
    assert ratings(Sco(tau=2), game(1, 0)) == [49.9375, 50.0625]
    assert ratings(Sco(), game(0, 1, 2)) == [50.25, 50, 49.75]
    assert ratings(Sco(), game((0, 1), 2)) == [50.0625, 50.0625, 49.875]


def test_ties_leave_soft_condorcet_alone_but_count():
    state = at(40, 60)
    Sco().fold(state, batch_of([game(0, 1, places=(1, 1))]))
    assert (state.rating.tolist(), state.outcomes.tolist()) == ([40, 60], [1, 1])


def test_soft_condorcet_stays_within_its_bounds():
    assert ratings(Sco(alpha=1000), game(0, 1)) == [100, 0]


@pytest.mark.parametrize("case", range(6))
def test_soft_condorcet_converges_in_the_steps_of_table_3(case):
    """Gradient descent on the profile of eq. 11: steps from the folds of each vote alone, weighted by its share."""
    profile = json.loads(PROFILE.read_text())
    assert len(profile["table3_gd"]) == 6
    row = profile["table3_gd"][case]
    rater = Sco(tau=row["tau"], alpha=row["alpha"])
    votes = [batch_of([game(*("ABC".index(agent) for agent in vote["ranking"]))]) for vote in profile["votes"]]
    shares = np.array([vote["weight"] for vote in profile["votes"]]) / 5
    theta, steps = np.full(3, rater.start), 0
    while [*np.argsort(-theta, kind="stable")] != ["ABC".index(agent) for agent in profile["optimal_ranking"]]:
        moved = []
        for vote in votes:
            state = at(*theta)
            rater.fold(state, vote)
            moved.append(state.rating - theta)
        theta, steps = theta + shares @ np.array(moved), steps + 1
    assert steps - 2 == pytest.approx(row["T_conv_published"], rel=0.005)


def test_even_predictions_score_the_even_losses():
    score = Prequential()
    assert score.means() == {}
    Elo().fold(Elo().init(2), batch_of([game(0, 1, weight=3 * WEIGHT_ONE)]), score)
    assert score.means() == pytest.approx({"log_loss": math.log(2), "brier": 0.25, "kendall": 0.5}, rel=1e-15)
    assert score.pairs == 3


def test_wrong_and_right_orders_and_ties_are_told_apart():
    sure = at(1900, 1500)
    wrong, right, tied = Prequential(), Prequential(), Prequential()
    rater = Elo(k=0)
    rater.fold(sure, batch_of([game(1, 0)]), wrong)
    rater.fold(sure, batch_of([game(0, 1)]), right)
    rater.fold(sure, batch_of([game(0, 1, places=(1, 1))]), tied)
    assert wrong.means() == pytest.approx({"log_loss": math.log(11), "brier": (10 / 11) ** 2, "kendall": 1})
    assert right.means() == pytest.approx({"log_loss": math.log(1.1), "brier": (1 / 11) ** 2, "kendall": 0})
    assert tied.means() == pytest.approx({"log_loss": (math.log(11) + math.log(1.1)) / 2, "brier": (9 / 22) ** 2})
    assert tied.kendall is None


def test_a_certain_miss_costs_its_distance_and_stays_finite():
    score = Prequential()
    Sco(alpha=0).fold(at(100, 0), batch_of([game(1, 0)]), score)
    assert score.log_loss == 100
    assert score.scale == pytest.approx(1.5 / 2.5, rel=1e-12)
    Elo(scale=1, k=0).fold(at(1e6, 0), batch_of([game(1, 0)]), score)
    assert np.isfinite(score.sums).all()


def test_prequential_sums_come_back_from_their_arrays():
    score = Prequential()
    Elo().fold(Elo().init(2), batch_of([game(0, 1), game(0, 1)]), score)
    assert Prequential.from_arrays(score.arrays()).means() == score.means()
    arrays = score.arrays()
    for broken in (
        {},
        arrays | {"counts": arrays["counts"][:1]},
        arrays | {"counts": -arrays["counts"]},
        arrays | {"sums": arrays["sums"].astype(np.float32)},
        arrays | {"sums": arrays["sums"] + np.nan},
        arrays | {"sums": np.zeros_like(arrays["sums"])},
    ):
        with pytest.raises(InputError):
            Prequential.from_arrays(broken)
