"""Deviation ratings of agents against each other on tasks, beside Algorithm 1 of the paper as one dense program.

`python -m benchmarks.deviation [--quick] [--full]`. Goals, one core: 20 agents on 18 tasks >= 100 times faster than the paper's way
with equal ratings to 1e-8; 20 on 54 <= 1.5 s; 60 on 18 <= 1 s; 100 on 54 <= 15 s; 200 on 100 within 5 min and 4 GiB (`--full`).
One reference has a column for every joint, without removing any symmetry, and warm-starts HiGHS from level to level. The other
is the paper's own way, CVXPY with GLOP on the game without its symmetries, by the interpreter that `EQUIRANK_PEERS` names (see
`benchmarks.peers`). Seconds are CPU seconds, one thread; `cert` bounds the
rating error, `off` is the largest difference from the reference.
"""

import os
from collections.abc import Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import resource
import time

import highspy
import numpy as np

from benchmarks.common import Row, header, parser, seconds, show
from benchmarks.peers import LONGEST, ask
from ratings_core.equilibria import Deviation, deviation
from ratings_core.games import AgentAgentTask
from ratings_core.solution import Floats

PEER = "Algorithm 1, dense HiGHS"
MOST_JOINTS_FOR_PEER = 8_000
"""Above this the peer takes minutes and is not run."""
GLOP = "the paper's way, CVXPY + GLOP"
MOST_JOINTS_FOR_GLOP = 25_000
"""(20, 54) takes it a minute, and the larger ones of these sizes more than a quarter of an hour."""
POSITIVE = 1e-6


def scores(agents: int, tasks: int, seed: int = 0) -> Floats:
    """Beta(1/2, 1/2) scores, so agents excel and fail, times a skill of 0.3 to 1."""
    rng = np.random.default_rng(seed)
    return rng.beta(0.5, 0.5, size=(agents, tasks)) * rng.uniform(0.3, 1, size=(agents, 1))


def gain_rows(game: AgentAgentTask) -> Floats:
    """Deviation gains, a row for each player and strategy, a column for each joint."""
    cubes = game.normal_form().payoffs
    rows = [np.expand_dims(np.take(G, own, axis=p), p) - G for p, G in enumerate(cubes) for own in range(G.shape[p])]
    return np.array([gains.ravel() for gains in rows])


def dense(game: AgentAgentTask) -> Floats:
    """Ratings of all strategies: min t with A s <= t on open rows, rows with a positive multiplier frozen after each level."""
    A = gain_rows(game)
    model, still, ratings = _dense_program(A), np.ones(len(A), bool), np.zeros(len(A))
    while still.any():
        model.run()
        if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(model.modelStatusToString(model.getModelStatus()))
        multipliers = -np.asarray(model.getSolution().row_dual)[:-1]
        rows = np.flatnonzero(still & (multipliers > POSITIVE))
        ratings[rows], still[rows] = model.getInfo().objective_function_value, False
        for row in rows.tolist():
            model.changeRowBounds(row, -highspy.kHighsInf, float(ratings[row]))
            model.changeCoeff(row, 0, 0.0)
    return ratings


def _dense_program(A: Floats) -> highspy.Highs:
    rows, joints = A.shape
    table = np.vstack([np.column_stack([-np.ones(rows), A]), np.append(0.0, np.ones(joints))])
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = joints + 1, rows + 1
    lp.col_cost_ = np.append(1.0, np.zeros(joints))
    lp.col_lower_ = np.append(-highspy.kHighsInf, np.zeros(joints))
    lp.col_upper_ = np.full(joints + 1, highspy.kHighsInf)
    lp.row_lower_ = np.append(np.full(rows, -highspy.kHighsInf), 1.0)
    lp.row_upper_ = np.append(np.zeros(rows), 1.0)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(joints + 2, dtype=np.int32) * (rows + 1)
    lp.a_matrix_.index_ = np.tile(np.arange(rows + 1, dtype=np.int32), joints + 1)
    lp.a_matrix_.value_ = table.T.ravel()
    model = highspy.Highs()
    tolerances = (("primal_feasibility_tolerance", 1e-9), ("dual_feasibility_tolerance", 1e-9))
    for option, value in (("output_flag", False), ("threads", 1), ("solver", "simplex"), *tolerances):
        model.setOptionValue(option, value)
    model.passModel(lp)
    return model


def rows(agents: int, tasks: int, repeats: int, longest: float) -> Iterator[Row]:
    """One size, with the references that end in bounded time."""
    game = AgentAgentTask.of(scores(agents, tasks))
    found = deviation(game)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = f"({agents}, {tasks}), cert {found.certificate.value:.0e}"
    ours = seconds(lambda: deviation(game), repeats)
    name = f"deviation, {found.stats['levels']:.0f} levels, peak {peak:.0f} MB"
    if agents * agents * tasks > MOST_JOINTS_FOR_PEER:
        yield Row(name, size, ours, f"{PEER} (not run at this size)", None)
    else:
        started = time.process_time()
        reference = dense(game)
        theirs = time.process_time() - started
        off = np.abs(np.concatenate(found.by_player) - reference).max()
        yield Row(name, f"{size}, off {off:.0e}", ours, PEER, theirs)
    yield papers_way(name, size, ours, game, found, longest)


def papers_way(name: str, size: str, ours: float, game: AgentAgentTask, found: Deviation, longest: float) -> Row:
    if np.prod(game.shape) > MOST_JOINTS_FOR_GLOP:
        return Row(name, size, ours, f"{GLOP} (not run at this size)", None)
    answer = ask("deviation_glop", {"scores": game.scores.tolist()}, longest)
    if isinstance(answer, str):
        return Row(name, size, ours, f"{GLOP} ({answer})", None)
    off = np.abs(np.concatenate([found.by_player[0], found.by_player[2]]) - answer["ratings"]).max()
    return Row(name, f"{size}, off {off:.0e}", ours, GLOP, answer["seconds"])


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--full", action="store_true", help="200 agents on 100 tasks, too: a minute or two")
    given = options.parse_args(argv)
    header("Deviation ratings, agent against agent on a task", ("highspy", "numpy", "numba"))
    deviation(AgentAgentTask.of(scores(3, 2)))  # compiles
    sizes = ((8, 6), (12, 12)) if given.quick else ((20, 18), (20, 54), (60, 18), (100, 54))
    for agents, tasks in (*sizes, (200, 100)) if given.full else sizes:
        show(*rows(agents, tasks, 1 if agents > 100 else min(given.repeats, 3), 60.0 if given.quick else LONGEST))


if __name__ == "__main__":
    main()
