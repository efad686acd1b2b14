"""Deviation ratings of agents against each other on tasks, beside Algorithm 1 of the paper as one dense program.

`python -m benchmarks.deviation [--quick] [--full]`. Goals, one core: 20 agents on 18 tasks >= 100 times faster than the paper's way
with equal ratings to 1e-8; 20 on 54 <= 1.5 s; 60 on 18 <= 1 s; 100 on 54 <= 15 s; 200 on 100 within 5 min and 4 GiB (`--full`).
One reference has a column for every joint, without removing any symmetry, and warm-starts HiGHS from level to level. The other
is the paper's own way, CVXPY with GLOP on the game without its symmetries, in the environment of `make peers`:

    make peers
    .venv/bin/python -m benchmarks.deviation

Seconds are CPU seconds, one thread; `cert` bounds the rating error, `off` is the largest difference from the reference, `peak` the
memory of the process that solved it. Every part has a process of its own and five minutes at most; all takes about five minutes on two
quiet cores, most of it GLOP, and `--full` two more.
"""

import os
from collections.abc import Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import time
from itertools import chain
from typing import Any

import highspy
import numpy as np

from benchmarks.common import Row, header, parser, seconds, stream
from benchmarks.isolated import memory, run
from benchmarks.peers import LONGEST, ask
from ratings_core.equilibria import Deviation, deviation
from ratings_core.games import AgentAgentTask
from ratings_core.games.linear_program import SilentHighs
from ratings_core.solution import Floats

PEER = "Algorithm 1, dense HiGHS"
MOST_JOINTS_FOR_PEER = 8_000
"""Above this the peer takes minutes and is not run."""
GLOP = "the paper's way, CVXPY + GLOP"
MOST_JOINTS_FOR_GLOP = 25_000
"""(20, 54) takes it a minute, and the larger ones of these sizes more than a quarter of an hour."""
POSITIVE = 1e-6
_DENSE = "benchmarks.deviation:dense_peer"


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
    model = SilentHighs()
    tolerances = (("primal_feasibility_tolerance", 1e-9), ("dual_feasibility_tolerance", 1e-9))
    for option, value in (("output_flag", False), ("threads", 1), ("solver", "simplex"), *tolerances):
        model.setOptionValue(option, value)
    model.passModel(lp)
    return model


def ours(agents: int, tasks: int, repeats: int) -> dict[str, Any]:
    """In a process of its own: the seconds of the fastest, and what was found."""
    deviation(AgentAgentTask.of(scores(3, 2)))  # compiles
    game, kept = AgentAgentTask.of(scores(agents, tasks)), []
    spent = seconds(lambda: kept.append(deviation(game)), repeats)
    found: Deviation = kept[-1]
    ratings = [own.tolist() for own in found.by_player]
    return {"seconds": spent, "certificate": found.certificate.value, "levels": found.stats["levels"], "ratings": ratings}


def dense_peer(agents: int, tasks: int) -> dict[str, Any]:
    """In a process of its own."""
    game = AgentAgentTask.of(scores(agents, tasks))
    started = time.process_time()
    reference = dense(game)
    return {"seconds": time.process_time() - started, "ratings": reference.tolist()}


def rows(agents: int, tasks: int, repeats: int, longest: float) -> Iterator[Row]:
    """One size, with the references that end in bounded time; longest: seconds that each part may take."""
    size, asked = f"({agents}, {tasks})", {"agents": agents, "tasks": tasks}
    found = run("benchmarks.deviation:ours", {**asked, "repeats": repeats}, longest, f"deviation {size}")
    if isinstance(found, str):
        yield Row(f"deviation ({found})", size, float("nan"), "-", None)
        return
    name = f"deviation, {found['levels']:.0f} levels, peak {memory(found['peak'])}"
    size = f"{size}, cert {found['certificate']:.0e}"
    first, _, last = found["ratings"]
    for reference, joints, most, ratings, ask_it in (
        (PEER, agents * agents * tasks, MOST_JOINTS_FOR_PEER, list(chain(*found["ratings"])), lambda: run(_DENSE, asked, longest, PEER)),
        (GLOP, agents * agents * tasks, MOST_JOINTS_FOR_GLOP, first + last, lambda: ask("deviation_glop", _table(agents, tasks), longest)),
    ):
        answer = ask_it() if joints <= most else "not run at this size"
        if isinstance(answer, str):
            yield Row(name, size, found["seconds"], f"{reference} ({answer})", None)
        else:
            off = np.abs(np.array(ratings) - answer["ratings"]).max()
            yield Row(name, f"{size}, off {off:.0e}", found["seconds"], reference, answer["seconds"])


def _table(agents: int, tasks: int) -> dict[str, Any]:
    return {"scores": scores(agents, tasks).tolist()}


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--full", action="store_true", help="200 agents on 100 tasks, too: a minute or two more")
    given = options.parse_args(argv)
    header("Deviation ratings, agent against agent on a task", ("highspy", "numpy", "numba"))
    sizes = ((8, 6), (12, 12)) if given.quick else ((20, 18), (20, 54), (60, 18), (100, 54))
    for agents, tasks in (*sizes, (200, 100)) if given.full else sizes:
        stream(rows(agents, tasks, 1 if agents > 100 else min(given.repeats, 3), 60.0 if given.quick else LONGEST))


if __name__ == "__main__":
    main()
