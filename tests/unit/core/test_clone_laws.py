"""What copies of agents and of tasks may move, on complete score tables: one line a method, crossed with every law.

Invariant are ratings; of lotteries, whose ratings are probabilities, the totals of a class of copies.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.equilibria import cce, deviation, lle, nash_average, nash_average_agents, uniform
from ratings_core.equilibria.nash_average import NashAverageOptions
from ratings_core.games import Duels, agent_vs_agent, agent_vs_agent_vs_task, agent_vs_task, duel_for_the_hill, duel_on_task
from ratings_core.solution import Floats
from ratings_core.tallies import PairCounts
from ratings_core.tallies.task_ballots import ballot_pairs
from ratings_core.voting.lotteries import iterated_maximal_lotteries, maximal_lottery

COPIES = 10


def ballots(scores: Floats) -> PairCounts:
    agent, task = np.nonzero(np.ones(scores.shape))
    return ballot_pairs(agent.astype(np.int32), task.astype(np.int32), scores[agent, task])


def of(method, gamify, **options):
    def rate(scores):
        made = gamify(scores, **options)
        found = method(made.game)
        return made.of_agents(found.by_player[1 if made.game.players[0] == "prompt" else 0])

    return rate


def of_agents(scores):
    made = agent_vs_agent(ballots(scores), len(scores), payoff="win_rate")
    return made.of_agents(nash_average_agents(made.game.payoffs[0]).ratings)


def margins(scores):
    return ballots(scores).margins(len(scores))


@dataclass(frozen=True)
class Subject:
    """rate: a table to the agents' ratings; agents: copies of agents move nothing; tasks: neither do copies of tasks; shares: ratings
    are probabilities (of an iterated lottery beside its level).
    """

    rate: Callable[[Floats], Floats]
    agents: bool = True
    tasks: bool = True
    shares: bool = False


SUBJECTS = {
    "deviation, 2 players": Subject(of(deviation, agent_vs_task)),
    "deviation, 3 players": Subject(of(deviation, agent_vs_agent_vs_task)),
    "deviation, minmax": Subject(of(deviation, agent_vs_agent_vs_task, normalise="minmax")),
    "deviation, duels": Subject(lambda scores: of(deviation, duel_on_task)(Duels.of_scores(scores))),
    "CCE": Subject(lambda scores: of(cce, duel_for_the_hill)(Duels.of_scores(scores))),
    "CCE, differences": Subject(of(cce, agent_vs_agent_vs_task)),
    "limiting logit equilibrium": Subject(lambda scores: of(lle, duel_for_the_hill)(Duels.of_scores(scores))),
    "limiting logit equilibrium, differences": Subject(of(lle, agent_vs_agent_vs_task)),
    "Nash average": Subject(lambda scores: nash_average(scores).ratings),
    "Nash average, rank": Subject(lambda scores: nash_average(scores, options=NashAverageOptions(normalise="rank")).ratings),
    "Nash average of agents": Subject(of_agents, tasks=False),
    "maximal lottery": Subject(lambda scores: maximal_lottery(margins(scores)).ratings, tasks=False, shares=True),
    "iterated lotteries": Subject(lambda scores: iterated_maximal_lotteries(margins(scores)).ratings, tasks=False, shares=True),
    "uniform": Subject(lambda scores: uniform(agent_vs_agent_vs_task(scores, merge=False).game).ratings, agents=False, tasks=False),
    "Elo": Subject(
        lambda scores: bradley_terry(*ballots(scores).dense(len(scores)), options=BradleyTerryOptions(prior=0.1)).ratings,
        agents=False,
        tasks=False,
    ),
}
TABLES = {
    "whole numbers": np.random.default_rng(0).integers(0, 4, (6, 7)).astype(float),
    "numbers": np.random.default_rng(1).random((6, 7)),
    "specialists": np.random.default_rng(2).beta(0.5, 0.5, (7, 5)),
}


def kept(law):
    """Cases of the subjects that copies of this kind do not move."""
    named = [(name, subject) for name, subject in SUBJECTS.items() if getattr(subject, law)]
    return [pytest.param(subject, table, id=f"{name}-{which}") for name, subject in named for which, table in TABLES.items()]


LAWS = [(name, subject, law) for name, subject in SUBJECTS.items() for law in ("agents", "tasks")]
MOVED = [pytest.param(subject, law, id=f"{name}-{law}") for name, subject, law in LAWS if not getattr(subject, law)]


def one_value_a_class(rated: Floats, ids: np.ndarray, subject: Subject) -> Floats:
    """Ratings of the table's own agents, from those of a table with copies; probabilities are added up."""
    if not subject.shares:
        for agent in range(ids.max() + 1):
            assert np.ptp(rated[ids == agent]) <= 1e-9, "copies are rated alike"
        return np.array([rated[ids == agent][0] for agent in range(ids.max() + 1)])
    level = np.floor(rated - 1e-9) if rated.max() > 1 + 1e-9 else np.zeros(len(rated))
    return np.array([level[ids == agent][0] + (rated - level)[ids == agent].sum() for agent in range(ids.max() + 1)])


def with_copies(n: int, copied: int) -> np.ndarray:
    return np.append(np.arange(n), np.full(COPIES, copied))


@pytest.mark.parametrize(("subject", "table"), kept("agents"))
def test_ten_copies_of_an_agent(subject, table):
    before = subject.rate(table)
    for agent in (0, len(table) // 2, int(before.argmax())):
        ids = with_copies(len(table), agent)
        assert one_value_a_class(subject.rate(table[ids]), ids, subject) == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize(("subject", "table"), kept("tasks"))
def test_ten_copies_of_a_task(subject, table):
    before = subject.rate(table)
    for task in (0, table.shape[1] // 2):
        assert subject.rate(table[:, with_copies(table.shape[1], task)]) == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize(("subject", "law"), MOVED)
def test_what_counts_votes_moves(subject, law):
    table = np.array([[3.0, 1, 2, 2], [2, 3, 1, 1], [1, 2, 3, 0], [0, 0, 0, 3]])
    ids = with_copies(4, 1)
    after = subject.rate(table[ids])[:4] if law == "agents" else subject.rate(table[:, ids])
    assert np.abs(after - subject.rate(table)).max() > 1e-2


@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if not subject.tasks and name != "uniform"])
def test_copies_of_a_task_are_votes(name):
    """Eleven copies and three other tasks: who leads on the copied one has the majority, and is on top."""
    rated = SUBJECTS[name].rate(np.array([[3.0, 1, 2], [2, 3, 1], [1, 2, 3]])[:, [0, *[1] * (COPIES + 1), 2]])
    assert rated.argmax() == 1
    assert rated[1] > rated[[0, 2]].max() + 1e-2


def test_the_hill_keeps_models_apart_only_where_they_differ():
    table = TABLES["numbers"]
    rate = of(deviation, duel_for_the_hill)
    ids = with_copies(len(table), 2)
    before = rate(Duels.of_scores(table))
    assert rate(Duels.of_scores(table[ids]))[: len(table)] == pytest.approx(before, abs=1e-6)
    assert of(deviation, duel_for_the_hill, merge=False)(Duels.of_scores(table[ids])) == pytest.approx(before[ids], abs=1e-6)
