"""Tilted joints: contractions against the dense distribution by its definition, for every game that has them."""

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.games import AgentAgentTask, JointDistribution, KingOfTheHill, NormalForm, deviation_gains
from ratings_core.games.tilted import TiltedJoint, contractions, covariance


def subjects():
    rng = np.random.default_rng(5)
    u = rng.normal(size=(7, 4, 4))
    return {
        "2 players": NormalForm.of([rng.normal(size=(3, 4)) for _ in range(2)]),
        "4 players": NormalForm.of([rng.normal(size=(3, 1, 2, 4)) for _ in range(4)]),
        "king of the hill": KingOfTheHill.of(u - u.transpose(0, 2, 1), penalty=1.5),
        "agents on tasks": AgentAgentTask.of(rng.normal(size=(4, 6))),
    }


SUBJECTS = subjects()
EACH = pytest.mark.parametrize("game", SUBJECTS.values(), ids=SUBJECTS)


def gains_of(game):
    """Every deviation's gain at every joint, rows as players in order, joints in C order."""
    stored = game if isinstance(game, NormalForm) else game.normal_form()
    return np.vstack([(np.expand_dims(np.moveaxis(G, p, 0), p + 1) - G).reshape(G.shape[p], -1) for p, G in enumerate(stored.payoffs)])


def parts(game, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    log_prior = tuple(np.log(rng.dirichlet(np.ones(n))) for n in game.shape)
    multipliers = tuple(scale * rng.exponential(size=n) * (rng.random(n) < 0.7) for n in game.shape)
    return log_prior, multipliers


def dense(game, log_prior, multipliers):
    """The definition: prior times exp of the gains, over all joints."""
    prior = sum(own.reshape([-1 if q == p else 1 for q in range(len(game.shape))]) for p, own in enumerate(log_prior))
    logs = prior.ravel() - np.concatenate(multipliers) @ gains_of(game)
    return logs.reshape(game.shape)


@EACH
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_moments_are_those_of_the_dense_distribution(game, scale):
    log_prior, multipliers = parts(game, 1, scale)
    logs = dense(game, log_prior, multipliers)
    weights = np.exp(logs - logs.max())
    play = JointDistribution.from_dense(weights / weights.sum())
    found = contractions(game).moments(log_prior, multipliers)
    assert found.log_total == pytest.approx(logs.max() + np.log(weights.sum()), rel=1e-12, abs=1e-12)
    for p, gains in enumerate(deviation_gains(game, play)):
        assert found.gains[p] == pytest.approx(gains, abs=1e-11)
        assert found.marginals[p] == pytest.approx(play.marginal(p, game.shape[p]), abs=1e-11)


@EACH
def test_covariances_of_gains(game):
    log_prior, multipliers = parts(game, 2)
    rows = tuple(np.arange(0, n, 2) for n in game.shape)
    chosen = np.concatenate([own + start for own, start in zip(rows, np.cumsum((0, *game.shape[:-1])), strict=True)])
    share = np.exp(dense(game, log_prior, multipliers)).ravel()
    gains = gains_of(game)[chosen]
    log_total = contractions(game).moments(log_prior, multipliers).log_total
    wanted = np.cov(gains, aweights=share, bias=True)
    assert covariance(contractions(game), log_prior, multipliers, rows, log_total) == pytest.approx(wanted, abs=1e-11)


@EACH
def test_blocks_of_any_size_hold_all_joints_once(game, monkeypatch):
    log_prior, multipliers = parts(game, 3)
    wanted = dense(game, log_prior, multipliers)
    rows = tuple(np.arange(n) for n in game.shape)
    gains = gains_of(game).reshape(-1, *game.shape)
    for size in (1, 20, 1 << 16):
        monkeypatch.setattr("ratings_core.games.tilted.BLOCK", size)
        seen = np.full(game.shape, np.nan)
        for block, logs in contractions(game).log_blocks(log_prior, multipliers):
            joints = tuple(block.joints(np.arange(logs.size)).T)
            seen[joints] = logs.ravel()
            assert contractions(game).gains(rows, block) == pytest.approx(gains[(slice(None), *joints)], abs=1e-12)
        assert seen == pytest.approx(wanted, abs=1e-11)


@EACH
def test_probabilities_and_the_likeliest_joints(game):
    log_prior, multipliers = parts(game, 4)
    logs = dense(game, log_prior, multipliers)
    play = TiltedJoint(game, log_prior, multipliers, contractions(game).moments(log_prior, multipliers).log_total)
    joints = np.argwhere(np.ones(game.shape, bool))
    share = np.exp(logs).ravel() / np.exp(logs).sum()
    assert play.probability(joints) == pytest.approx(share, abs=1e-12)
    top, probability = play.likeliest(5)
    assert probability == pytest.approx(np.sort(share)[::-1][:5], abs=1e-12)
    assert play.probability(top) == pytest.approx(probability, abs=1e-12)


def test_a_prior_of_zero_keeps_zero():
    game = SUBJECTS["2 players"]
    log_prior = (np.array([np.log(0.5), np.log(0.5), -np.inf]), np.log(np.full(4, 0.25)))
    found = contractions(game).moments(log_prior, (np.ones(3), np.ones(4)))
    assert found.marginals[0][2] == 0
    assert found.marginals[0].sum() == pytest.approx(1)


def test_other_games_are_refused():
    with pytest.raises(InputError, match="game must be a NormalForm, a KingOfTheHill or an AgentAgentTask"):
        contractions("chess")
