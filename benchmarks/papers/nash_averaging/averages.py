"""Section 4.1 and appendices A, C and D of Balduzzi et al. 2018: Nash averages and their properties."""

from typing import Final

import numpy as np

from benchmarks.papers.atari import ten_agents
from benchmarks.papers.figures import grid, line
from benchmarks.papers.items import Drawn, Output, Run, claim, equal, unprinted
from benchmarks.papers.nash_averaging.matrices import CYCLE, EXACT, LADDER, antisymmetric, centred_elo, cloned
from benchmarks.papers.nash_averaging.paper import PAPER
from ratings_core.analysis.hodge import hodge
from ratings_core.equilibria import nash_average, nash_average_agents, uniform
from ratings_core.games import agent_vs_task
from ratings_core.solution import Floats


@PAPER.item("example-1", "Example 1", "A copy of an agent")
def example_1(_: Run) -> Output:
    A = 4.6 * CYCLE
    with_copy = cloned(A, 2)
    plain, copied = nash_average_agents(A), nash_average_agents(with_copy)
    third, sixth = 1 / 3, 1 / 6
    return Output(
        [
            equal("maxent Nash of A", (third, third, third), plain.agent_dist, tolerance=EXACT),
            equal("maxent Nash with a copy of C", (third, third, sixth, sixth), copied.agent_dist, tolerance=EXACT),
            equal("uniform average of A", (0.0, 0.0, 0.0), A.mean(axis=1), tolerance=EXACT),
            equal("uniform average with the copy", (-1.15, 1.15, 0.0, 0.0), with_copy.mean(axis=1), tolerance=EXACT),
            equal("Nash average of A", (0.0, 0.0, 0.0), plain.ratings, tolerance=EXACT),
            equal("Nash average with the copy", (0.0, 0.0, 0.0, 0.0), copied.ratings, tolerance=EXACT),
            claim(
                "no agent is better than the rest",
                "the Nash averages are equal",
                "the Nash averages are equal",
                holds=bool(np.ptp(copied.ratings) < EXACT),
            ),
        ],
        note="A is a cycle of three agents with log odds of 4.6. The second matrix has a copy of agent C.",
    )


def closed_form(eps: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Maxent Nash and Nash averages of C + eps T, equation 18."""
    if eps <= 0.5:
        return ((1 + eps) / 3, (1 - 2 * eps) / 3, (1 + eps) / 3), (0.0, 0.0, 0.0)
    return (1.0, 0.0, 0.0), (0.0, -1 - eps, 1 - 2 * eps)


@PAPER.item("example-2", "Example 2", "From a cycle to a ladder: continuous payoffs, a jump of the equilibrium")
def example_2(_: Run) -> Output:
    values = []
    for eps in (0.0, 0.1, 0.25, 0.4, 0.49, 0.5, 0.51, 0.75, 1.0, 2.0):
        solved = nash_average_agents(CYCLE + eps * LADDER)
        mix, averages = closed_form(eps)
        values += [
            equal(f"eps = {eps:g}: maxent Nash", mix, solved.agent_dist, tolerance=EXACT),
            equal(f"eps = {eps:g}: Nash averages", averages, solved.ratings, tolerance=EXACT),
        ]
    figure, (left, right) = grid(columns=2, width=7.2)
    sweep = np.linspace(0, 1, 101)
    solved_all = [nash_average_agents(CYCLE + eps * LADDER) for eps in sweep]
    for agent in range(3):
        line(left, agent, sweep, [one.agent_dist[agent] for one in solved_all], f"agent {agent + 1}", markers=False)
        line(right, agent, sweep, [one.ratings[agent] for one in solved_all], f"agent {agent + 1}", markers=False)
    left.set(xlabel="eps", ylabel="probability", title="Maxent Nash")
    right.set(xlabel="eps", ylabel="Nash average", title="Nash averages")
    left.legend()
    caption = "Maxent Nash equilibria and Nash averages of C + eps T. At eps = 1/2 the equilibria are a segment, and the equilibrium jumps."
    note = "The closed form of equation 18 is lost in the text that we have. The one here satisfies the equilibrium conditions."
    return Output(values, [Drawn("sweep", caption, figure)], note=note)


def beatable(matrix: Floats, mix: Floats) -> float:
    """By how much the best answer beats a mix."""
    return float((matrix @ mix).max())


@PAPER.item("theorem-1", "Theorem 1", "Invariant, continuous, interpretable: agents against agents")
def theorem_1(run: Run) -> Output:
    trials = run.pick(20, 200)
    rng = np.random.default_rng(run.seeds(1, 7))
    moved = margin = 0.0
    for _ in range(trials):
        A = antisymmetric(rng, int(rng.integers(2, 9)))
        agent, before = int(rng.integers(len(A))), nash_average_agents(A)
        after = nash_average_agents(cloned(A, agent))
        moved = max(moved, float(np.abs(after.ratings[:-1] - before.ratings).max()), abs(after.ratings[-1] - before.ratings[agent]))
        near = A + rng.choice([0.01, 0.1, 1.0]) * antisymmetric(rng, len(A))
        margin = max(margin, beatable(near, before.agent_dist) - float(np.abs(near - A).max()))
    cyclic = hodge(antisymmetric(rng, 7))
    rot = np.zeros((7, 7))
    rot[cyclic.first, cyclic.second] = cyclic.rotation
    uniform_mix = nash_average_agents(rot - rot.T).agent_dist
    ratings = np.array([2.0, 2.0, 1.0, -5.0])
    best = nash_average_agents(np.subtract.outer(ratings, ratings)).agent_dist
    values = [
        equal("P1: largest change of a Nash average when an agent is copied", 0.0, moved, tolerance=1e-8),
        claim(
            "P2: a Nash of A is an eps-Nash of B, eps = max |A - B|",
            "yes",
            "yes",
            holds=margin <= 1e-9,
        ),
        equal("P3 (i): mix of a cyclic game of seven agents", np.full(7, 1 / 7), uniform_mix, tolerance=1e-8),
        equal("P3 (ii): mix of ratings 2, 2, 1, -5", (0.5, 0.5, 0.0, 0.0), best, tolerance=1e-8),
    ]
    return Output(values, note=f"{trials} random antisymmetric matrices of 2 to 8 agents.")


@PAPER.item("theorem-2", "Appendix D, theorem 2", "Invariant and interpretable: agents against tasks")
def theorem_2(_: Run) -> Output:
    table = ten_agents().normalised()
    before = nash_average(table)
    agents = [nash_average(np.vstack([table, table[[a]]])).ratings[: len(table)] for a in range(len(table))]
    tasks = [nash_average(np.hstack([table, table[:, [t]]])).ratings for t in range(table.shape[1])]
    skill, difficulty = np.array([3.0, 1.0, 3.0]), np.array([0.0, 2.0])
    ladder = nash_average(np.subtract.outer(skill, difficulty))
    values = [
        equal(
            "P1: largest change when one of 10 Atari agents is copied", 0.0, float(np.abs(agents - before.ratings).max()), tolerance=1e-7
        ),
        equal("P1: largest change when one of 54 games is copied", 0.0, float(np.abs(tasks - before.ratings).max()), tolerance=1e-7),
        equal("P3 (iii): mix of agents with skills 3, 1, 3", (0.5, 0.0, 0.5), ladder.agent_dist, tolerance=1e-8),
        equal("P3 (iii): mix of tasks with difficulties 0, 2", (0.0, 1.0), ladder.task_dist, tolerance=1e-8),
    ]
    return Output(values, note="Each agent and each game of the Atari table is copied in turn.")


SUITES = np.array([[89.0, 93.0, 76.0, 77.0], [85.0, 85.0, 85.0, 84.0], [79.0, 74.0, 99.0, 98.0]])


_EXACT_FIT: Final = (
    "with ratings -r, r, 0, 0 Elo expects A to score 1/(1 + 10^(2r/400)) + 2/(1 + 10^(r/400)) against the others; "
    "the given chances sum to .9 + .1 + .1 = 1.1, which is r = 71.9; r = 63 gives 1.147"
)


def rounded_up(values: Floats) -> Floats:
    """Nearest whole numbers, halves up, as the paper rounds."""
    return np.asarray(np.floor(values + 0.5))


@PAPER.item("appendix-a", "Appendix A", "Redundant tasks and agents move averages and Elo")
def appendix_a(_: Run) -> Output:
    cycle = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])
    first, second = (uniform(agent_vs_task(SUITES[:, :tasks]).game).ratings for tasks in (3, 4))
    exact = float(centred_elo(cloned(cycle, 2))[0])
    log_odds = np.log(cycle) - np.log(cycle.T)
    nash = [nash_average(SUITES[:, :tasks]).ratings for tasks in (3, 4)]
    values = [
        equal("averages of three tasks", (86.0, 85.0, 84.0), rounded_up(first)),
        equal("averages of four tasks", (84.0, 85.0, 88.0), rounded_up(second)),
        equal("order of three tasks", "A, B, C", order_of(first)),
        equal("order of four tasks", "C, B, A", order_of(second)),
        equal("Elo of A, B, C", (0.0, 0.0, 0.0), centred_elo(cycle), tolerance=1e-7),
        equal(
            "Elo of A, B, C and a copy of C",
            (-63.0, 63.0, 0.0, 0.0),
            centred_elo(cloned(cycle, 2)),
            tolerance=0.5,
            reason=_EXACT_FIT,
            expected=(-71.914, 71.914, 0.0, 0.0),
        ),
        equal("Nash averages with the copy", (0.0, 0.0, 0.0, 0.0), nash_average_agents(cloned(log_odds, 2)).ratings, tolerance=1e-8),
        claim(
            "Nash averages of the two suites differ by less than the two like tasks",
            "continuity",
            f"largest change {np.abs(nash[1] - nash[0]).max():.3g}, tasks differ by 1",
            holds=bool(np.abs(nash[1] - nash[0]).max() <= 1),
        ),
        unprinted("exact Elo of B, in points", -exact),
    ]
    return Output(values)


def order_of(ratings: Floats) -> str:
    """Agents A, B, C from best to worst."""
    return ", ".join("ABC"[agent] for agent in np.argsort(-ratings))
