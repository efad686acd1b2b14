"""The scoreboard: forecasts come from earlier games only, and figures are those of plain loops over the same games."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ratings_core import InputError, Online, scoreboard
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.front.scoreboard import Mean, _mean
from ratings_core.margins import posterior_margins

AGENTS = 8


def played(n, seed=0, ties=0.1):
    """Games (a, b, result) of agents with fixed strengths."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 1.0, AGENTS)
    first = rng.integers(AGENTS, size=n)
    second = (first + rng.integers(1, AGENTS, n)) % AGENTS
    won = rng.random(n) < 1 / (1 + np.exp(strength[second] - strength[first]))
    tied = rng.random(n) < ties
    return [(f"p{a}", f"p{b}", 0.5 if t else float(w)) for a, b, w, t in zip(first, second, won, tied, strict=True)]


def log_loss(p, result):
    return -(result * np.log(p) + (1 - result) * np.log(1 - p))


@pytest.mark.parametrize("method", ["elo", "glicko2", "weng_lin"])
def test_forecasts_of_an_online_method_are_those_of_a_loop_that_predicts_and_then_learns(method):
    games, learner, forecasts = played(240), Online(method), []
    for a, b, result in games:
        forecasts.append(learner.predict_one(a, b))
        learner.learn_one(a, b, result)
    p, result = np.array(forecasts)[120:], np.array([own for *_, own in games])[120:]
    (score,) = scoreboard(games, [method], choose=False).scores
    assert score.log_loss.value == pytest.approx(log_loss(p, result).mean(), rel=1e-12)
    assert score.brier.value == pytest.approx(((p - result) ** 2).mean(), rel=1e-12)
    decided = result != 0.5
    assert score.right.value == pytest.approx(((p > 0.5) == (result > 0.5))[decided].mean(), rel=1e-12)


def test_a_solved_method_forecasts_each_part_from_the_parts_before_it_with_the_scale_that_fits_them():
    games, size = played(300, seed=3), 75
    ids = {name: i for i, name in enumerate(dict.fromkeys(name for game in games for name in game[:2]))}
    result = np.array([own for *_, own in games])
    odds, p, scale = np.zeros(300), np.full(300, 0.5), 1.0
    for start in range(size, 300, size):
        wins, ties = np.zeros((AGENTS, AGENTS)), np.zeros((AGENTS, AGENTS))
        for a, b, own in games[:start]:
            i, j = ids[a], ids[b]
            wins[i, j] += own == 1
            wins[j, i] += own == 0
            ties[[i, j], [j, i]] += own == 0.5
        margins = posterior_margins(pair_counts(wins, ties), kappa=np.inf)
        ahead = slice(start, start + size)
        first, second = (np.array([ids[game[side]] for game in games[ahead]]) for side in (0, 1))
        share = (1 + margins.win_less_loss(first, second)) / 2
        odds[ahead] = np.log(share / (1 - share))
        p[ahead] = 1 / (1 + np.exp(-scale * odds[ahead]))
        scale = fitted_scale(odds[: start + size], result[: start + size])
    (score,) = scoreboard(games, ["bradley_terry"], refits=4, choose=False).scores
    assert score.log_loss.value == pytest.approx(log_loss(p, result)[150:].mean(), rel=1e-6)
    assert abs(scale - 1) > 0.05  # so the comparison above depends on it


def fitted_scale(odds, result):
    """The scale of least log loss, by another minimiser."""
    return minimize_scalar(lambda s: log_loss(1 / (1 + np.exp(-s * odds)), result).sum(), bounds=(0.1, 10), options={"xatol": 1e-10}).x


def test_no_forecast_uses_its_own_game_or_a_later_one():
    games = played(400, seed=1)
    rng = np.random.default_rng(5)
    shuffled = [*games[:200], *((a, b, float(rng.integers(2))) for a, b, _ in games[200:])]
    for method in ("elo", "bradley_terry", "posterior_margins"):
        (score,) = scoreboard(shuffled, [method], refits=20, choose=False).scores
        assert score.log_loss.value > np.log(2)  # results without information cannot be predicted


def test_games_are_taken_in_the_order_of_their_times():
    games = played(300, seed=2)
    table = {"winner": [], "loser": [], "time": []}
    for i, (a, b, result) in enumerate(games):
        table["winner"].append(a if result else b)
        table["loser"].append(b if result else a)
        table["time"].append(1_000_000_000 + i)
    order = np.random.default_rng(0).permutation(300)
    mixed = {name: [column[i] for i in order] for name, column in table.items()}
    one, other = (scoreboard(own, ["elo", "bradley_terry"], refits=10) for own in (table, mixed))
    assert [score.log_loss for score in one.scores] == [score.log_loss for score in other.scores]


def test_settings_are_chosen_on_the_first_half_and_the_default_stays_in_the_table():
    board = scoreboard(played(2_000, seed=4, ties=0.0), ["elo", "weng_lin"])
    assert {(score.method, score.chosen) for score in board.scores} >= {("elo", False), ("weng_lin", False)}
    chosen = next(score for score in board.scores if score.chosen and score.method == "elo")
    assert chosen.settings["k"] < 32  # strengths are fixed, so smaller steps predict better
    assert [score.log_loss.value for score in board.scores] == sorted(score.log_loss.value for score in board.scores)
    assert board.scores[0].behind.value == 0
    assert board.games == 1_000


def test_the_scores_are_a_table_for_programs_and_a_text_for_people():
    board = scoreboard(played(200), ["elo"], choose=False)
    assert board.table().column_names[:4] == ["method", "settings", "chosen", "log_loss"]
    assert str(board).splitlines()[0] == "100 games predicted, each from earlier games only; 200 games of 8 agents in all"
    assert "favourite won" in board._repr_html_()
    assert str(board).splitlines()[-1] == "Of the default settings, as good as the best row, within their intervals: elo."


def test_a_default_behind_its_chosen_settings_is_not_called_level():
    board = scoreboard(played(2_000), ["elo"])
    late = replace(board.scores[1], behind=Mean(0.01, 0.005))
    assert str(replace(board, scores=(board.scores[0], late))).splitlines()[-1] == "Of the default settings, the best one is elo."


def test_intervals_of_means_hold_the_mean_in_95_of_100_samples():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        mean = _mean(rng.exponential(size=500))
        held += abs(mean.value - 1.0) <= mean.half
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize(
    ("games", "methods", "argument"),
    [
        (played(199), ["elo"], "games"),
        (played(200), ["elo", "elo"], "methods"),
        (played(200), "elo", "methods"),
        (played(200), ["copeland"], "method"),
    ],
)
def test_what_cannot_be_scored_is_refused(games, methods, argument):
    with pytest.raises(InputError) as error:
        scoreboard(games, methods)
    assert error.value.argument == argument


def test_the_solved_methods_share_their_fits_and_forecast_as_each_alone():
    games = played(300, seed=4)
    together = {score.name: score for score in scoreboard(games, ["bradley_terry", "posterior_margins"], refits=6).scores}
    for method in ("bradley_terry", "posterior_margins"):
        for score in scoreboard(games, [method], refits=6).scores:
            assert score.log_loss.value == together[score.name].log_loss.value


def test_progress_says_first_how_much_is_computed_and_then_each_method():
    lines = []
    scoreboard(played(240), ["elo", "bradley_terry", "posterior_margins"], refits=6, progress=lines.append)
    assert lines == [
        (
            "scoreboard of 3 methods: 7 folds of 240 games and 25 fits to up to as many games; the first half of the games chooses "
            "settings; the second half is scored"
        ),
        "elo (1 of 3 methods)",
        "bradley_terry (2 of 3 methods)",
        "posterior_margins (3 of 3 methods)",
    ]


def test_progress_is_written_to_a_terminal_and_not_to_the_log_of_a_program(monkeypatch, capsys):
    scoreboard(played(240), ["elo"], choose=False)
    assert not capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    scoreboard(played(240), ["elo"], choose=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["equirank: scoreboard of 1 methods: 1 folds of 240 games; the second half is scored", "equirank: elo (1 of 1 methods)"]
