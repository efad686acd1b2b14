"""Equitable partitions against symmetries known by construction; payoffs of pairs of players against loops; merged games."""

import itertools

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.games import AgentAgentTask, KingOfTheHill, NormalForm, uniform_mixes
from ratings_core.games.equitable import equitable_classes
from ratings_core.games.merging import clones_of, merged, units_of
from ratings_core.games.pair_payoffs import pair_payoffs
from tests.unit.core.random_games import cloned, random_game


def king(prompts=6, models=4, seed=0):
    u = np.random.default_rng(seed).normal(size=(prompts, models, models))
    return u - u.transpose(0, 2, 1)


def labels(game, start=None):
    return [own.tolist() for own in equitable_classes(game, uniform_mixes(game.shape) if start is None else start, 1.0)]


def test_a_game_without_symmetry_has_a_class_for_each_strategy():
    assert labels(random_game(2, players=3, least=3, most=3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_what_a_symmetry_of_the_game_maps_is_alike():
    assert labels(NormalForm.of([np.eye(3), np.eye(3)])) == [[0, 0, 0], [0, 0, 0]]
    assert labels(NormalForm.of([np.diag([2.0, 1, 1]), np.diag([2.0, 1, 1])])) == [[0, 1, 1], [0, 1, 1]]
    pennies = np.array([[1.0, -1], [-1, 1]])
    assert labels(NormalForm.of([pennies, -pennies])) == [[0, 0], [0, 0]]
    assert labels(AgentAgentTask.of(np.random.default_rng(0).normal(size=(3, 2)))) == [[0, 1, 2], [0, 1, 2], [3, 4]]


def test_clones_are_alike():
    game = cloned(random_game(2, players=2, least=3, most=3), 0, 1, 2)
    assert labels(game)[0] == [0, 1, 2, 1, 1]


def test_starts_that_differ_part_classes_and_zeros_have_none():
    coordination = NormalForm.of([np.eye(2), np.eye(2)])
    assert labels(coordination, [np.array([0.6, 0.4])] * 2) == [[0, 1], [0, 1]]
    assert labels(coordination, [np.array([0.6, 0.4]), np.array([0.4, 0.6])]) == [[0, 1], [1, 0]]
    assert labels(coordination, [np.array([1.0, 0.0]), np.array([0.5, 0.5])]) == [[0, -1], [1, 2]]


def pairs_by_loops(game, mixes):
    """Expected payoff of each player at its strategy and one other's, over all joints of the rest."""
    shape = game.shape
    found = {(p, q): np.zeros((shape[p], shape[q])) for p in range(len(shape)) for q in range(len(shape)) if p != q}
    for joint in itertools.product(*map(range, shape)):
        for (p, q), values in found.items():
            rest = np.prod([mixes[r][joint[r]] for r in range(len(shape)) if r not in (p, q)])
            values[joint[p], joint[q]] += rest * game.payoffs[p][joint]
    return found


@pytest.mark.parametrize(
    "game",
    [random_game(0, 2), random_game(2, 3), random_game(4, 4), KingOfTheHill.of(king(), penalty=1.5), AgentAgentTask.of(king()[0])],
    ids=["2 players", "3 players", "4 players", "king of the hill", "agents on tasks"],
)
def test_payoffs_of_pairs_are_their_definition(game):
    rng = np.random.default_rng(1)
    mixes = tuple(rng.dirichlet(np.ones(n)) for n in game.shape)
    stored = game if isinstance(game, NormalForm) else game.normal_form()
    found = pair_payoffs(game, mixes)
    for key, values in pairs_by_loops(stored, mixes).items():
        assert found.pairs[key] == pytest.approx(values, abs=1e-12)
    for own, wanted in zip(found.worth, stored.payoffs_against(mixes), strict=True):
        assert own == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("kind", ["stored", "king of the hill", "agents on tasks"])
def test_merged_games_are_those_without_the_copies(kind):
    rng = np.random.default_rng(3)
    if kind == "stored":
        plain = random_game(2, players=3)
        copied = cloned(plain, 1, 0, 2)
    elif kind == "king of the hill":
        plain = KingOfTheHill.of(king(), penalty=2.0)
        copied = KingOfTheHill.of(king()[np.ix_([0, 1, 2, 3, 4, 5, 0], [0, 1, 2, 3, 2], [0, 1, 2, 3, 2])], penalty=2.0)
    else:
        scores = rng.normal(size=(4, 5)).round(2)
        plain = AgentAgentTask.of(scores)
        copied = AgentAgentTask.of(scores[[0, 1, 2, 3, 1]][:, [0, 1, 2, 3, 4, 4]])
    small = merged(copied)
    assert small.game.shape == plain.shape
    assert merged(copied, merge=False).game is copied
    assert units_of(copied) == pytest.approx(units_of(plain))
    mixes = tuple(rng.dirichlet(np.ones(n)) for n in plain.shape)
    for own, wanted in zip(small.game.payoffs_against(mixes), plain.payoffs_against(mixes), strict=True):
        assert own == pytest.approx(wanted, abs=1e-12)
    for mix, total in zip(small.totals(small.split(mixes)), mixes, strict=True):
        assert mix == pytest.approx(total)


def test_a_strategy_equal_for_its_own_player_alone_is_no_clone():
    u = np.array([[0.0, 1], [-1, 0]])
    assert len(clones_of(KingOfTheHill.of([u, -u]))[0]) == 2


@pytest.mark.parametrize("call", [clones_of, units_of, lambda game: pair_payoffs(game, ())])
def test_other_games_are_refused(call):
    with pytest.raises(InputError, match="game must be a NormalForm, a KingOfTheHill or an AgentAgentTask"):
        call("chess")
