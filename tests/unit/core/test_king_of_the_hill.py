"""King of the hill: the toy game by the paper's definition, and the stored tensors of its normal form as twin."""

import json
from pathlib import Path

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.games import KingOfTheHill, uniform_mixes

TOY = json.loads((Path(__file__).parents[2] / "golden/equilibrium/king_of_the_hill_toy.json").read_text())
PUBLISHED = [np.array(TOY[name]) for name in ("u_prompt", "u_king[prompt][king][rebel]", "u_rebel")]


def preferences(prompts, models, seed):
    u = np.random.default_rng(seed).normal(size=(prompts, models, models))
    return u - u.transpose(0, 2, 1)


def all_joints(shape):
    return np.argwhere(np.ones(shape, bool))


def test_the_toy_game_by_its_definition():
    assert PUBLISHED[1].shape == (2, 3, 3)
    game = KingOfTheHill.of(PUBLISHED[1])
    for found, published in zip(game.normal_form().payoffs, PUBLISHED, strict=True):
        assert np.array_equal(found, published)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("cloned", [False, True])
def test_it_is_its_normal_form(penalty, cloned):
    u = preferences(5, 4, seed=1)
    models = [0, 1, 2, 3, 1] if cloned else [0, 1, 2, 3]
    game = KingOfTheHill.of(u[:, models][:, :, models], penalty=penalty)
    stored, joints = game.normal_form(), all_joints(game.shape)
    assert game.payoffs_at(joints) == pytest.approx(stored.payoffs_at(joints), abs=0)
    for found, wanted in zip(game.deviations_at(joints), stored.deviations_at(joints), strict=True):
        assert found == pytest.approx(wanted, abs=0)
    mixes = [np.random.default_rng(p).dirichlet(np.ones(n)) for p, n in enumerate(game.shape)]
    for found, wanted in zip(game.payoffs_against(mixes), stored.payoffs_against(mixes), strict=True):
        assert found == pytest.approx(wanted, abs=1e-12)


def test_the_rebel_loses_against_every_copy_of_its_model():
    u = preferences(3, 3, seed=2)
    game = KingOfTheHill.of(u[:, [0, 1, 2, 1]][:, :, [0, 1, 2, 1]])
    assert np.argwhere(game.same).tolist() == [[0, 0], [1, 1], [1, 3], [2, 2], [3, 1], [3, 3]]
    worth = game.payoffs_against(uniform_mixes(game.shape))[2]
    assert worth[1] == worth[3]


@pytest.mark.parametrize(
    ("ahead", "message"),
    [
        (np.zeros((2, 3)), "ahead must be prompts x models x models with at least one of each"),
        (np.zeros((2, 3, 2)), "ahead must be prompts x models x models with at least one of each"),
        (np.zeros((0, 3, 3)), "ahead must be prompts x models x models with at least one of each"),
        (np.ones((1, 2, 2)), r"ahead\[0, 0, 0\] must be minus its transpose on every prompt"),
        (np.array([[[0, np.nan], [0, 0]]]), r"ahead\[0, 0, 1\] must be finite"),
        (np.array([[[0, 1e200], [-1e200, 0]]]), r"ahead\[0, 0, 1\] must be within \+-1e\+150"),
    ],
)
def test_bad_preferences_are_refused(ahead, message):
    with pytest.raises(InputError, match=message):
        KingOfTheHill.of(ahead)


def test_bad_names_and_penalties_are_refused():
    with pytest.raises(InputError, match="models must contain 2 names"):
        KingOfTheHill.of(np.zeros((1, 2, 2)), models=["a"])
    with pytest.raises(InputError, match="prompts must be unique"):
        KingOfTheHill.of(np.zeros((2, 2, 2)), prompts=["a", "a"])
    with pytest.raises(InputError, match="penalty must be a finite number from 0 to"):
        KingOfTheHill.of(np.zeros((1, 2, 2)), penalty=-1)
