"""Preferences per task from scores and from tallies, policies for pairs not compared, the games made of them, and the prior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ratings_core.equilibria import deviation
from ratings_core.errors import InputError
from ratings_core.games import (
    AgentVsAgentOptions,
    Duels,
    agent_vs_agent,
    agent_vs_agent_vs_task,
    duel_for_the_hill,
    duel_on_task,
    duelist_vs_task,
    preferences,
)
from ratings_core.games.duel_prior import KAPPAS, held_out_losses, predicted
from ratings_core.records.outcomes import Outcome, OutcomeBatch, Side
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairCounts, PairTally

NAN = np.nan
FULL = [
    PairCounts.from_dense([[0, 3, 1], [1, 0, 2], [0, 2, 0]], [[0, 0, 1], [0, 0, 0], [1, 0, 0]]),
    PairCounts.from_dense([[0, 1, 0], [1, 0, 4], [2, 0, 0]]),
]
GAPS = [*FULL, PairCounts.from_dense([[0, 5, 0], [0, 0, 1], [0, 0, 0]])]


def random_counts(seed, tasks=3, n=4, most=4):
    rng = np.random.default_rng(seed)
    return [PairCounts.from_dense(np.where(np.eye(n), 0, rng.integers(0, most, (n, n)))) for _ in range(tasks)]


def test_u_is_wins_less_losses_over_games():
    u = preferences(Duels.of_counts(FULL, 3))
    assert u.ahead[0] == pytest.approx(np.array([[0, 0.5, 0.5], [-0.5, 0, 0], [-0.5, 0, 0]]))
    assert u.ahead[1] == pytest.approx(np.array([[0, 0, -1], [0, 0, 1], [1, -1, 0]]))
    assert (u.imputed, u.kappa) == (0, 0)


def test_a_tally_per_task_gives_the_counts():
    """Two agents on two tasks: 0 beats 1 on task 0, they tie on task 1."""
    agents, tasks = Roster(), Roster()
    agents.intern(["a", "b"])
    tasks.intern(["x", "y"])
    played = [Outcome((Side(("a",), 1), Side(("b",), place)), task=task) for place, task in ((2, "x"), (1, "y"))]
    tally = PairTally(per_task=True)
    tally.add(OutcomeBatch.of(played, agents, tasks), np.zeros(2, np.int64))
    duels = Duels.of_counts([tally.counts(task=t) for t in tally.tasks], len(agents))
    assert duels.ahead[:, 0, 1].tolist() == [1, 0]
    assert duels.games[:, 0, 1].tolist() == [1, 1]


def test_scores_compare_by_who_is_higher_or_by_how_much():
    scores = np.array([[1.0, 5.0], [3.0, NAN], [3.0, 4.0]])
    wins, differences = Duels.of_scores(scores), Duels.of_scores(scores, "differences")
    assert wins.ahead[0].tolist() == [[0, -1, -1], [1, 0, 0], [1, 0, 0]]
    assert differences.ahead[1].tolist() == [[0, 0, 1], [0, 0, 0], [-1, 0, 0]]
    assert wins.games[1].tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]


def test_differences_are_the_game_of_the_table():
    scores = np.random.default_rng(0).random((5, 4))
    made = duel_on_task(Duels.of_scores(scores, "differences"))
    for found, wanted in zip(made.game.payoffs, agent_vs_agent_vs_task(scores).game.normal_form().payoffs, strict=True):
        assert found == pytest.approx(wanted)
    assert deviation(made.game).ratings == pytest.approx(deviation(agent_vs_agent_vs_task(scores).game).ratings, abs=1e-9)


def test_the_hill_has_the_preferences_and_its_penalty():
    made = duel_for_the_hill(Duels.of_counts(FULL, 3), agents=tuple("abc"), tasks=["s", "t"])
    king = made.game.payoffs_at(np.array([[0, 0, 1], [1, 2, 1], [0, 1, 1]]))
    assert king[:, 1].tolist() == [0.5, -1, 0]
    assert king[2].tolist() == [0, 0, -1]
    assert made.game.strategies == (("s", "t"), tuple("abc"), tuple("abc"))


def test_agents_against_tasks_get_their_mean_preference():
    made = duelist_vs_task(Duels.of_counts(FULL, 3))
    assert made.game.payoffs[0] == pytest.approx(np.array([[0.5, -0.5], [-0.25, 0.5], [-0.25, 0]]))
    with pytest.raises(InputError, match="two different agents"):
        duelist_vs_task(Duels.of_scores([[1.0], [1.0]]))


def test_policies_for_pairs_not_compared():
    duels = Duels.of_counts(GAPS, 3)
    with pytest.raises(InputError, match=r"missing must be drop_tasks, drop_agents, prior or zero: 1 pairs were .* 0 and 2 on 2"):
        preferences(duels)
    with pytest.raises(InputError, match="the first ann and cem on go"):
        duelist_vs_task(duels, agents=("ann", "bob", "cem"), tasks=("chess", "shogi", "go"))
    tasks = preferences(duels, missing="drop_tasks")
    assert tasks.task_side.dropped.tolist() == [2]
    assert len(tasks.ahead) == 2
    agents = preferences(duels, missing="drop_agents")
    assert agents.agent_side.dropped.tolist() == [2]
    assert agents.ahead[2].tolist() == [[0, 1], [-1, 0]]
    zero = preferences(duels, missing="zero")
    assert zero.ahead[2].tolist() == [[0, 1, 0], [-1, 0, 1], [0, -1, 0]]
    assert zero.imputed == pytest.approx(2 / 18)


def test_agents_are_dropped_one_by_one_until_all_have_met():
    """0 met everybody, 1 and 2 each other, 3 nobody else: only 3 has to go."""
    met = np.array([[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    u = preferences(Duels.of_counts([PairCounts.from_dense(met)], 4), missing="drop_agents")
    assert u.agent_side.dropped.tolist() == [3]


@given(st.integers(0, 10**6), st.sampled_from([0.5, 3.0]))
@settings(max_examples=20)
def test_the_prior_shrinks_by_counts(seed, kappa):
    duels = Duels.of_counts(random_counts(seed), 4)
    q = predicted(duels.ahead, duels.games)
    found = preferences(duels, missing="prior", kappa=kappa, merge=False)
    assert found.ahead == pytest.approx((duels.ahead + kappa * (2 * q - 1)) / (duels.games + kappa), abs=1e-12)
    assert (found.ahead == -np.swapaxes(found.ahead, 1, 2)).all()
    assert (np.abs(found.ahead) < 1).all()


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_the_prediction_is_the_penalised_likelihoods(seed):
    """By loops over the games, with another method that has no gradient of ours."""
    duels = Duels.of_counts(random_counts(seed, tasks=2, n=3), 3)
    won = (duels.games + duels.ahead) / 2

    def loss(theta):
        level, own = theta[:3], theta[3:].reshape(2, 3)
        value = sum(x**2 for x in level) / 8 + sum(x**2 for x in own.ravel()) / 0.5
        for t in range(2):
            for a in range(3):
                for b in range(3):
                    value += won[t, a, b] * np.log1p(np.exp(level[b] + own[t, b] - level[a] - own[t, a]))
        return value

    best = minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-6}).x
    strength = best[:3] + best[3:].reshape(2, 3)
    wanted = 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None]))
    assert predicted(duels.ahead, duels.games) == pytest.approx(wanted, abs=1e-4)


def test_nothing_known_predicts_even_odds_and_certain_winners_stay_finite():
    assert (predicted(np.zeros((2, 3, 3)), np.zeros((2, 3, 3))) == 0.5).all()
    sure = Duels.of_counts([PairCounts.from_dense([[0, 1000], [0, 0]])], 2)
    assert 0.99 < predicted(sure.ahead, sure.games)[0, 0, 1] < 1


def test_kappa_may_be_left_to_games_held_out():
    """With few games a cell the prediction deserves more weight than with many, and what was chosen is reported."""
    rng, strength = np.random.default_rng(6), np.array([0.0, 0.7, 1.4, 2.1])
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    chosen = {}
    for each in (2, 200):
        wins = np.triu(rng.binomial(each, np.broadcast_to(chance, (5, 4, 4))), 1).astype(float)
        lost = np.triu(np.full((5, 4, 4), float(each)), 1) - wins
        counts = [PairCounts.from_dense(won + one.T) for won, one in zip(wins, lost, strict=True)]
        duels = Duels.of_counts(counts, 4)
        found = preferences(duels, missing="prior", kappa="held-out")
        losses = held_out_losses(duels.ahead, duels.games, KAPPAS)
        assert min(losses) == losses[KAPPAS.index(found.kappa)]
        assert losses[2:3] == held_out_losses(duels.ahead, duels.games, KAPPAS[2:3])
        assert duel_on_task(duels, missing="prior", kappa="held-out").kappa == found.kappa
        assert found.ahead == pytest.approx(preferences(duels, missing="prior", kappa=found.kappa).ahead)
        chosen[each] = found.kappa
    assert chosen[2] >= 3
    with pytest.raises(InputError, match="kappa must be left out"):
        preferences(duels, missing="zero", kappa="held-out")


def test_held_out_games_choose_how_far_to_shrink():
    """Votes by strengths that tasks share: with one or two a cell the prediction is worth more than the cell."""
    rng = np.random.default_rng(0)
    strength = rng.normal(size=8)
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    upper = np.triu(np.ones((8, 8), bool), 1)
    wins = np.where(upper, rng.binomial(2, chance, (40, 8, 8)), 0)
    wins = wins + np.swapaxes(np.where(upper, 2 - wins, 0), 1, 2)
    ahead, games = wins - np.swapaxes(wins, 1, 2), wins + np.swapaxes(wins, 1, 2)
    losses = held_out_losses(ahead.astype(float), games.astype(float), (0.1, 1.0, 10.0))
    assert losses[2] < losses[1] < losses[0]
    with pytest.raises(InputError, match="games"):
        held_out_losses(ahead / 3, games / 3, (1.0,))


@pytest.mark.parametrize("seed", range(5))
def test_copies_of_agents_and_tasks_are_merged(seed):
    counts = random_counts(seed, most=3)
    plain = preferences(Duels.of_counts(counts, 4), missing="zero", merge=False)
    ids, tasks = [0, 1, 1, 2, 3], [0, 1, 1, 2]
    won = [np.array(one.dense(4)[0])[np.ix_(ids, ids)] for one in counts]
    copied = preferences(Duels.of_counts([PairCounts.from_dense(won[t]) for t in tasks], 5), missing="zero")
    assert copied.ahead.shape == plain.ahead.shape
    assert copied.ahead == pytest.approx(plain.ahead)
    assert copied.agent_side.at.tolist() == [0, 1, 1, 2, 3]
    assert copied.task_side.at.tolist() == [0, 1, 1, 2]
    kept = preferences(Duels.of_counts([PairCounts.from_dense(won[t]) for t in tasks], 5), missing="zero", merge=False)
    assert kept.ahead.shape == (4, 5, 5)


def test_agents_that_beat_each_other_are_no_copies():
    rows = PairCounts.from_dense([[0, 1, 2], [0, 0, 2], [1, 1, 0]])
    assert preferences(Duels.of_counts([rows], 3)).ahead.shape == (1, 3, 3)


def test_tasks_of_few_votes_are_pooled():
    pooled = Duels.of_counts(GAPS, 3).pooled([0, 1, 1])
    assert pooled.games[1].tolist() == [[0, 7, 2], [7, 0, 5], [2, 5, 0]]
    assert preferences(pooled).ahead[1, 0, 1] == pytest.approx(5 / 7)


COUNTS = PairCounts.from_dense([[0, 3, 2], [1, 0, 0], [2, 5, 0]])


def test_agents_against_agents_by_win_rates_and_logits():
    rates = agent_vs_agent(COUNTS, 3, payoff="win_rate").game.payoffs[0]
    assert rates == pytest.approx(np.array([[0, 0.5, 0], [-0.5, 0, -1], [0, 1, 0]]))
    logits = agent_vs_agent(COUNTS, 3, payoff="logit", options=AgentVsAgentOptions(pseudo_count=1.0)).game.payoffs[0]
    assert logits[0, 1] == pytest.approx(np.log(4 / 2))
    assert logits[1, 2] == pytest.approx(np.log(1 / 6))
    assert (logits == -logits.T).all()
    with pytest.raises(InputError, match=r"pseudo_count.*y over z|z over y"):
        agent_vs_agent(COUNTS, 3, payoff="logit", agents=tuple("xyz"))


def test_agents_that_never_met_need_a_policy():
    some = PairCounts.from_dense([[0, 3, 0], [1, 0, 1], [0, 1, 0]])
    with pytest.raises(InputError, match=r"missing must be drop_agents, prior or zero: 1 pairs .* a and c, got 'refuse'"):
        agent_vs_agent(some, 3, payoff="win_rate", agents=tuple("abc"))
    assert agent_vs_agent(some, 3, payoff="logit", options=AgentVsAgentOptions(pseudo_count=0.5, missing="zero")).game.payoffs[0][0, 2] == 0
    prior = agent_vs_agent(some, 3, payoff="logit", options=AgentVsAgentOptions(missing="prior"), kappa=1.0)
    assert 0 < prior.game.payoffs[0][0, 2] < prior.game.payoffs[0][0, 1]
    assert prior.imputed == pytest.approx(1 / 3)
    dropped = agent_vs_agent(some, 3, payoff="win_rate", options=AgentVsAgentOptions(missing="drop_agents"), agents=tuple("abc"))
    assert dropped.game.strategies[0] == ("a", "b")
    assert dropped.of_agents(np.array([1.0, 2.0])) == pytest.approx([1, 2, NAN], nan_ok=True)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Duels.of_counts([], 3), "counts"),
        (lambda: Duels.of_counts(FULL, 0), "agents"),
        (lambda: Duels.of_counts(FULL, 2), "n"),
        (lambda: Duels.of_scores([1.0]), "scores"),
        (lambda: Duels.of_scores([[np.inf]]), r"scores\[0, 0\]"),
        (lambda: Duels.of_scores([[1.0]], "ranks"), "compare"),
        (lambda: Duels.of_counts(FULL, 3).pooled([0, 2]), "group"),
        (lambda: Duels.of_counts(FULL, 3).pooled([0]), "group"),
        (lambda: preferences(Duels.of_counts(FULL, 3), missing="guess"), "missing"),
        (lambda: preferences(Duels.of_counts(FULL, 3), missing="prior"), "kappa"),
        (lambda: preferences(Duels.of_counts(FULL, 3), missing="prior", kappa=0), "kappa"),
        (lambda: preferences(Duels.of_counts(FULL, 3), missing="zero", kappa=1), "kappa"),
        (lambda: preferences(Duels.of_scores([[1.0], [2.0]], "differences"), missing="prior", kappa=1), "missing"),
        (lambda: preferences(Duels.of_counts([GAPS[2]], 3), missing="drop_tasks"), "missing"),
        (lambda: agent_vs_agent(COUNTS, 3, payoff="elo"), "payoff"),
        (lambda: agent_vs_agent(COUNTS, 3, payoff="logit", options=AgentVsAgentOptions(pseudo_count=-1)), "pseudo_count"),
        (lambda: agent_vs_agent(COUNTS, 3, payoff="win_rate", agents=tuple("ab")), "agents"),
    ],
)
def test_bad_input_is_refused(make, argument):
    with pytest.raises(InputError, match=argument):
        make()
