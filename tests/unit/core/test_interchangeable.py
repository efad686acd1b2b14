"""Interchangeable players: found where a swap maps the game to itself, solved as one, lifted back to all seats."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.equilibria import DeviationOptions, deviation
from ratings_core.games import AgentAgentTask, NormalForm, cce_gap, deviation_gains
from ratings_core.games.gain_matrix import TensorGains
from ratings_core.games.symmetry import interchangeable_players, reduced


def symmetric_game(players, n, seed, others=0):
    """Every player gets f(own, sorted rest); `others` more players of different payoffs that do not tell the first ones apart."""
    rng = np.random.default_rng(seed)
    shape = (n,) * players + (2,) * others
    values: dict[tuple, float] = {}
    tensors = [np.zeros(shape) for _ in shape]
    for a in itertools.product(*map(range, shape)):
        for p in range(len(shape)):
            rest = tuple(sorted(x for q, x in enumerate(a[:players]) if q != p))
            key = (p if p >= players else -1, a[p], rest, a[players:])
            tensors[p][a] = values.setdefault(key, float(rng.integers(-3, 4)))
    return NormalForm.of(tensors)


def test_players_of_one_kind_are_found():
    assert interchangeable_players(symmetric_game(3, 3, 0).payoffs).member.tolist() == [0, 0, 0]
    assert interchangeable_players(symmetric_game(2, 3, 0, others=1).payoffs).member.tolist() == [0, 0, 1]
    table = AgentAgentTask.of(np.random.default_rng(0).random((4, 3))).normal_form()
    assert interchangeable_players(table.payoffs).member.tolist() == [0, 0, 1]
    pennies = NormalForm.of(([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]))
    assert interchangeable_players(pennies.payoffs).member.tolist() == [0, 1]
    assert interchangeable_players(NormalForm.of([np.zeros((2, 3))] * 2).payoffs).member.tolist() == [0, 1]


@given(st.integers(2, 3), st.integers(1, 3), st.integers(0, 1), st.integers(0, 10**6))
@settings(max_examples=25)
def test_one_way_to_seat_them_has_the_mean_gains_of_all(players, n, others, seed):
    game = symmetric_game(players, n, seed, others)
    seats = interchangeable_players(game.payoffs)
    whole, shared = TensorGains(game), TensorGains(game, seats)
    ids = np.arange(np.prod(game.shape))
    starts = np.append(0, np.cumsum(game.shape))
    everyone = whole.columns(ids)
    for seat in range(len(seats)):
        members = np.flatnonzero(seats.member == seat)
        wanted = np.mean([everyone[starts[p] : starts[p + 1]] for p in members], axis=0)
        rows = slice(sum(game.shape[p] for p in seats.first[:seat]), sum(game.shape[p] for p in seats.first[: seat + 1]))
        assert shared.columns(ids)[rows] == pytest.approx(wanted)
    weights = np.random.default_rng(seed).random(shared.rows)
    chosen, value = shared.least(weights, 5)
    assert value[0] == pytest.approx((weights @ shared.columns(ids)).min())
    assert len(np.unique(np.round(shared.joints(chosen), 0), axis=0)) == len(chosen)


@given(st.integers(2, 3), st.integers(1, 3), st.integers(0, 1), st.integers(0, 10**6))
@settings(max_examples=25)
def test_ratings_are_those_of_a_game_in_which_nobody_noticed(players, n, others, seed):
    """In which one strategy is there twice, for one player only, and duplicates are not merged."""
    game = symmetric_game(players, n, seed, others)
    ids = [*range(n), 0]
    odd = NormalForm.of([np.take(tensor, ids, axis=0) for tensor in game.payoffs])
    assert interchangeable_players(odd.payoffs).member[1] != 0
    found, plain = deviation(game), deviation(odd, options=DeviationOptions(merge=False))
    for p, own in enumerate(found.by_player):
        assert own == pytest.approx(plain.by_player[p][: game.shape[p]], abs=1e-8)
    assert all((own == found.by_player[0]).all() for own in found.by_player[:players])
    assert cce_gap(game, found.play) <= 1e-9 * found.unit
    for own, gains in zip(found.by_player, deviation_gains(game, found.play), strict=True):
        assert own == pytest.approx(gains, abs=1e-8)


def test_copies_are_merged_in_all_seats():
    game = symmetric_game(3, 2, 1)
    ids = [0, 1, 1]
    copied = NormalForm.of([tensor[np.ix_(ids, ids, ids)] for tensor in game.payoffs])
    small = reduced(copied)
    assert small.merged == 3
    assert small.gains.rows == 2
    assert deviation(copied).ratings == pytest.approx(deviation(game).ratings[ids], abs=1e-9)
