"""Forecasts by shape of games: each shape has a scale and a record, as if there were no games of others."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.online import RATERS, Elo, Prequential, Rater
from ratings_core.records.shapes import LEAST_PAIRS, MOST_SHAPES, OTHERS_NAME, SINGLES, Shape, why_no_forecast
from tests.support.game_streams import batch_of, game, mixed_games
from tests.support.online_subjects import SUBJECTS

GAMES = mixed_games(35, 1_500)
SIZES = st.lists(st.integers(1, 4096), min_size=2, max_size=64)


def shape_of(one) -> Shape:
    return Shape.of([len(members) for members, _ in one.sides])


def folded(rater: Rater, games: list, *, by_shape: bool = True) -> Prequential:
    score = Prequential(by_shape=by_shape)
    rater.fold(rater.init(0), batch_of(games), score)
    return score


@pytest.mark.parametrize("rater", [pytest.param(one.values[0], id=one.id) for one in SUBJECTS])
def test_a_shape_has_the_bits_that_it_has_alone_however_a_stream_is_cut(rater: Rater) -> None:
    state, cut_state = rater.init(0), rater.init(0)
    alone, cut = dict[str, Prequential](), Prequential(by_shape=True)
    for one in GAMES:
        rater.fold(state, batch_of([one]), alone.setdefault(str(shape_of(one)), Prequential()))
    for begin, end in itertools.pairwise((0, 1, 2, 5, 700, 701, len(GAMES))):
        rater.fold(cut_state, batch_of(GAMES[begin:end]), cut)
    whole = folded(rater, GAMES)
    assert list(whole.by_shape) == list(alone)
    for shape, expected in alone.items():
        for name, array in expected.arrays().items():
            np.testing.assert_array_equal(whole.by_shape[shape].arrays()[name], array)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(cut.arrays()[name], array)


def test_a_stream_of_single_agents_has_the_bits_of_one_record() -> None:
    games = [one for one in GAMES if shape_of(one) == SINGLES]
    shaped, plain = folded(Elo(), games).arrays(), folded(Elo(), games, by_shape=False).arrays()
    assert shaped.pop("shapes").tolist() == [SINGLES.key]
    for name, array in plain.items():
        np.testing.assert_array_equal(shaped[name], array)


def test_shapes_after_the_first_ones_share_a_record() -> None:
    sizes = [(1, n) for n in range(1, MOST_SHAPES + 4)]
    games = [game(tuple(range(a)), tuple(range(100, 100 + b))) for a, b in sizes] * 2
    score = folded(Elo(), games)
    assert list(score.by_shape) == [f"1:{n}" for n in range(1, MOST_SHAPES + 1)] + [OTHERS_NAME]
    assert [one.pairs for one in score.by_shape.values()] == [2.0] * MOST_SHAPES + [6.0]
    pairs = {shape: 1000.0 * one.pairs for shape, one in score.by_shape.items()}
    assert "and 1:17 is none of them" in str(why_no_forecast(f"1:{MOST_SHAPES + 1}", pairs))
    assert why_no_forecast("1:1", pairs) is None
    assert str(why_no_forecast("1:1", {"1:1": 5.0, "1:2": 9.0, OTHERS_NAME: 90.0})).endswith("there are 5, beside games 1:2")
    again = Prequential.from_arrays(score.arrays(), by_shape=True)
    Elo().fold(Elo().init(0), batch_of(games[:3] + games[-3:]), again)
    assert list(again.by_shape) == list(score.by_shape)


def test_figures_of_all_games_are_means_over_shapes() -> None:
    score = folded(Elo(), GAMES)
    parts = score.by_shape.values()
    assert score.pairs == pytest.approx(sum(one.pairs for one in parts))
    assert score.log_loss == pytest.approx(sum((one.log_loss or 0.0) * one.pairs for one in parts) / score.pairs)
    assert score.calibration_error == pytest.approx(sum((one.calibration_error or 0.0) * one.pairs for one in parts) / score.pairs)
    assert sum(one.weight for one in score.classes) == pytest.approx(score.pairs)
    for asked in (lambda: score.scale, lambda: score.forecast(0.3)):
        with pytest.raises(InputError, match="has its own scale"):
            asked()


def test_records_by_shape_of_no_game_have_no_figures() -> None:
    empty = folded(Elo(), [])
    assert (empty.by_shape, empty.figures(), empty.classes, empty.arrays()["shapes"].tolist()) == ({}, {"pairs": 0.0}, [], [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shapes", [SINGLES.key, SINGLES.key]),
        ("shapes", [SINGLES.key, 0]),
        ("shapes", [SINGLES.key, 5]),
        ("shapes", [SINGLES.key, -1]),
        ("shapes", [SINGLES.key]),
        ("shapes", SINGLES.key),
        ("counts", [1, 1]),
        ("sums", np.zeros((26, 4))),
        ("sums", np.zeros((13, 4))),
    ],
)
def test_records_that_no_fold_makes_are_refused(name: str, value: list) -> None:
    arrays = folded(Elo(), [game(0, 1), game((0, 2), (1, 3))]).arrays()
    assert Prequential.from_arrays(arrays, by_shape=True).by_shape
    with pytest.raises(InputError):
        Prequential.from_arrays(arrays | {name: np.array(value, arrays[name].dtype)}, by_shape=True)
    with pytest.raises(InputError):
        Prequential.from_arrays(arrays)
    with pytest.raises(InputError):
        Prequential.from_arrays(Prequential().arrays(), by_shape=True)


def test_a_refused_batch_adds_no_shape() -> None:
    score, rater = Prequential(by_shape=True), Elo()
    with pytest.raises(InputError):
        rater.fold(rater.init(0), batch_of([game((0, 1), (2, 3))._replace(weight=0)]), score)
    with pytest.raises(InputError):
        rater.fold(object(), batch_of([game((0, 1), (2, 3))]), score)
    assert score.by_shape == {}


@given(SIZES)
def test_a_shape_has_a_key_and_forgets_the_order_of_sides(sizes: list[int]) -> None:
    shape = Shape.of(sizes)
    assert Shape.from_key(shape.key) == shape == Shape.of(sizes[::-1])
    assert 0 < shape.key < 2**60


@pytest.mark.parametrize(
    ("sizes", "text"),
    [([1, 1], "1:1"), ([5, 3], "3:5"), ([1, 1, 1], "1:1"), ([2, 1, 4], "1:4")],
)
def test_the_text_of_a_shape(sizes: list[int], text: str) -> None:
    assert str(Shape.of(sizes)) == text


@pytest.mark.parametrize("sizes", [[], [1], [1, 0], [1, -1], [1, 1.5]])
def test_sizes_of_no_game_have_no_shape(sizes: list[int]) -> None:
    with pytest.raises(InputError, match="sizes"):
        Shape.of(sizes)


@pytest.mark.parametrize(
    ("pairs", "forecasts"),
    [
        ({}, False),
        ({"2:2": 6000.0}, False),
        ({"1:1": 0.0}, False),
        ({"1:1": 1.0}, True),
        ({"1:1": 3.0, "2:2": 2.0}, True),
        ({"1:1": 50.0, "2:2": 50.0}, False),
        ({"1:1": LEAST_PAIRS - 0.5, "2:2": 6000.0}, False),
        ({"1:1": LEAST_PAIRS, "2:2": 6000.0}, True),
    ],
)
def test_a_shape_needs_results_of_its_own_or_most_of_all_results(pairs: dict[str, float], forecasts: bool) -> None:
    why = why_no_forecast("1:1", pairs)
    assert (why is None) is forecasts
    assert forecasts or f"there are {pairs.get('1:1', 0.0):g}" in str(why)


def teams_and_duels(seed: int, games: int, duels: float) -> list:
    """Games of 60 players whose strengths add up in a team: a share of `duels`, and games 2:2."""
    rng = np.random.default_rng(seed)
    strength, drawn = rng.normal(0.0, 1.2, 60), []
    for _ in range(games):
        size = 1 if rng.random() < duels else 2
        players = rng.choice(60, 2 * size, replace=False).tolist()
        first, second = tuple(players[:size]), tuple(players[size:])
        won = rng.random() < 1 / (1 + math.exp(strength[list(second)].sum() - strength[list(first)].sum()))
        drawn.append(game(first, second) if won else game(second, first))
    return drawn


@pytest.mark.parametrize("method", ["elo", "sco", "glicko2"])
def test_forecasts_of_each_shape_of_a_mixed_pool_are_calibrated(method: str) -> None:
    games = teams_and_duels(20, 12_000, duels=0.5)
    one, shaped = (folded(RATERS[method](), games, by_shape=told_apart) for told_apart in (False, True))
    for record in shaped.by_shape.values():
        assert record.calibration_error is not None
        assert record.calibration_error < 0.04
    assert shaped.by_shape["2:2"].scale > 1.3 * shaped.by_shape["1:1"].scale
    assert shaped.log_loss is not None
    assert one.log_loss is not None
    assert shaped.log_loss < one.log_loss
