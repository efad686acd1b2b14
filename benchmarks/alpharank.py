"""alpha-Rank of one population of many agents, beside OpenSpiel.

`python -m benchmarks.alpharank [--quick]`. No limit is set; what counts is that the answer is right where fixation probabilities are
far below the least float: there OpenSpiel overflows, or takes the wrong one of nearly equal eigenvalues. Payoffs are antisymmetric and
normal, populations have 50 members. Seconds are CPU seconds, one thread; `cert` is the largest relative difference of flows into and out
of an agent, `off` the largest difference of two masses. Every part has a process of its own and five minutes at most; all takes
two minutes, most of it imports.
"""

import os
from collections.abc import Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import math
import sys
import time
import types
import warnings
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.common import Row, arguments, header, seconds, stream
from benchmarks.isolated import run
from benchmarks.peers import LONGEST
from ratings_core.equilibria import AlphaRankOptions, alpharank_symmetric
from ratings_core.solution import Floats

POPULATION = 50
NOISE = 1e-9
"""Of infinite alpha."""


def payoffs(agents: int) -> Floats:
    A = np.random.default_rng(0).normal(size=(agents, agents))
    return np.asarray(A - A.T, np.float64)


def ours(agents: int, alpha: float, repeats: int) -> dict[str, Any]:
    """In a process of its own."""
    A = payoffs(agents)
    alpharank_symmetric(A[:3, :3], options=AlphaRankOptions(alpha=alpha))  # compiles
    spent = seconds(lambda: alpharank_symmetric(A, options=AlphaRankOptions(alpha=alpha, population=POPULATION, noise=NOISE)), repeats)
    found = alpharank_symmetric(A, options=AlphaRankOptions(alpha=alpha, population=POPULATION, noise=NOISE))
    return {"seconds": spent, "certificate": found.certificate.value, "masses": found.ratings.tolist()}


def open_spiel(agents: int, alpha: float) -> dict[str, Any]:
    """In a process of its own."""
    name = "open_spiel.python.egt.alpharank_visualizer"
    sys.modules.setdefault(name, types.ModuleType(name))  # it draws, by a library that nothing here needs
    from open_spiel.python.egt import alpharank  # noqa: PLC0415 - behind the stub

    endless: dict[str, Any] = {"m": None, "alpha": None, "use_inf_alpha": True, "inf_alpha_eps": NOISE}
    options: dict[str, Any] = endless if math.isinf(alpha) else {"m": POPULATION, "alpha": alpha}
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of overflow; its row says what came of it
        masses = alpharank.compute([payoffs(agents)], use_local_selection_model=False, **options)[2]
    return {"seconds": time.process_time() - started, "masses": np.asarray(masses).tolist()}


def rows(agents: int, alpha: float, repeats: int) -> Iterator[Row]:
    """One size."""
    name, size = f"alpha-Rank, alpha {alpha:g}", f"{agents} agents"
    asked = {"agents": agents, "alpha": alpha}
    found = run("benchmarks.alpharank:ours", {**asked, "repeats": repeats}, LONGEST, f"{name}, {size}")
    if isinstance(found, str):
        yield Row(f"{name} ({found})", size, float("nan"), "-", None)
        return
    size = f"{size}, cert {found['certificate']:.0e}"
    theirs = run("benchmarks.alpharank:open_spiel", asked, LONGEST, "OpenSpiel")
    if isinstance(theirs, str):
        yield Row(name, size, found["seconds"], f"OpenSpiel ({theirs})", None)
    elif not np.isfinite(theirs["masses"]).all():
        yield Row(name, size, found["seconds"], f"OpenSpiel (no numbers, after {theirs['seconds']:.2g} s)", None)
    else:
        off = float(np.abs(np.array(theirs["masses"]) - found["masses"]).max())
        yield Row(name, f"{size}, off {off:.0e}", found["seconds"], "OpenSpiel", theirs["seconds"])


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(__doc__ or "", argv)
    header("alpha-Rank of one population", ("open_spiel", "numpy"))
    cases = [(5, 1.0)] if given.quick else [(20, 1.0), (20, 100.0), (20, math.inf), (100, 1.0), (100, 100.0), (300, 1.0), (300, math.inf)]
    stream(chain.from_iterable(rows(agents, alpha, min(given.repeats, 3)) for agents, alpha in cases))


if __name__ == "__main__":
    main()
