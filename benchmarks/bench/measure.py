"""Runs of tasks: Equirank and a peer by turns, each in a process of its own, on arrays from one file."""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.stats import kendalltau

from benchmarks.bench.children import Child, ProgramError
from benchmarks.bench.rows import Row, Scaling, Versions
from benchmarks.bench.tasks import Peer, Task

LONGEST: Final = 180.0
"""Wall seconds that a single answer may take."""
ENOUGH: Final = 20.0
"""CPU seconds of a peer after which it is not run again: its best of fewer runs counts."""
SHORT: Final = 0.2
"""CPU seconds below which a run is repeated, because short runs vary more."""
OFTEN: Final = 5
"""Runs of a turn if they are short."""
_UNLIKE: Final = "its values have other names, shapes or unrated agents than ours"


@dataclass(frozen=True)
class Found:
    """A row or a scaling row, and the versions of the packages that took part, by side: `ours` and `peers`."""

    row: Row | Scaling
    versions: Versions


def measured(task: Task, *, quick: bool, runs: int, peers_python: str, longest: float = LONGEST) -> Iterator[Found]:
    """Rows of a task, one for each peer, then its scaling row.

    Args:
        task: The task.
        quick: Small sizes.
        runs: Timed runs of each peer, at least 1.
        peers_python: Interpreter of the peers.
        longest: Wall seconds that a single answer may take.
    """
    for peer in task.peers:
        size = peer.quick if quick else peer.size
        with tempfile.TemporaryDirectory() as folder:
            yield _beside(task, peer, size, task.stored(size, Path(folder)), runs, peers_python, longest)
    yield _scaled(task, task.quick if quick else task.sizes, runs, longest)


def _beside(task: Task, peer: Peer, size: int, source: Path, runs: int, python: str, longest: float) -> Found:
    """One peer at one size. Whatever fails is the row's error."""
    _say(f"{task.name} beside {peer.name}, {size:,} {task.unit}")
    compared = f"order of {peer.compared}" if peer.tolerance is None else peer.compared
    facts: dict[str, Any] = {"compared": compared, "tolerance": peer.tolerance, "why": peer.why}
    versions: Versions = {}
    try:
        with Child(sys.executable, f"ours:{task.program}", source, longest) as ours:
            versions["ours"] = ours.known["versions"]
            with Child(python, peer.program, source, longest) as theirs:
                versions["peers"] = theirs.known["versions"]
                first = ours.seconds(), theirs.seconds()
                best = _by_turns(ours, theirs, runs)
                difference = difference_of(ours.values(), theirs.values(), ordered=peer.tolerance is None)
                facts |= {"difference": difference} if np.isfinite(difference) else {"error": _UNLIKE}
                imports = ours.known["imports"], theirs.known["imports"]
                return Found(Row(task.name, peer.name, size, *best[:2], *first, *imports, best[2], **facts), versions)
    except ProgramError as error:
        return Found(Row(task.name, peer.name, size, error=str(error), **facts), versions)


def _by_turns(ours: Child, theirs: Child, runs: int) -> tuple[float, float, int]:
    """Least seconds of both, and how often the peer ran. Ours and the peer run by turns, so that both meet the same load."""
    best_ours = best_theirs = float("inf")
    spent, done = 0.0, 0
    while done < runs and (done == 0 or spent < ENOUGH):
        best_ours = min(best_ours, _turn(ours))
        took = _turn(theirs)
        best_theirs, spent, done = min(best_theirs, took), spent + took, done + 1
    return best_ours, best_theirs, done


def _turn(child: Child) -> float:
    """Seconds of one run, or the least of `OFTEN` if a run is short."""
    took = child.seconds()
    return took if took >= SHORT else min(took, *(child.seconds() for _ in range(OFTEN - 1)))


def difference_of(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], *, ordered: bool) -> float:
    """The largest difference of all values of the same name; if `ordered`, one minus Kendall's tau of their order.

    Infinite where one is NaN and the other is not, or where nothing has the same name and shape. NaN of both is no difference.
    """
    shared = [name for name in ours if name in theirs]
    if not shared or any(ours[name].shape != theirs[name].shape for name in shared):
        return float("inf")
    found = []
    for a, b in ((ours[name].ravel(), theirs[name].ravel()) for name in shared):
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return float("inf")
        known = ~np.isnan(a)
        found.append(1.0 - float(kendalltau(a[known], b[known]).statistic) if ordered else _largest(np.abs(a[known] - b[known])))
    return max(found)


def _largest(values: np.ndarray) -> float:
    return float(values.max()) if values.size else 0.0


def _scaled(task: Task, sizes: Sequence[int], runs: int, longest: float) -> Found:
    """Ours alone at all sizes."""
    done: list[tuple[int, float]] = []
    versions: Versions = {}
    error = ""
    for size in sizes:
        _say(f"{task.name} alone, {size:,} {task.unit}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                known, seconds = _alone(task, task.stored(size, Path(folder)), runs, longest)
            versions["ours"] = known
            done.append((size, seconds))
        except ProgramError as failed:
            error = f"{size:,} {task.unit}: {failed}"
            break
    return Found(Scaling(task.name, task.unit, tuple(size for size, _ in done), tuple(took for _, took in done), error), versions)


def _alone(task: Task, source: Path, runs: int, longest: float) -> tuple[dict[str, str], float]:
    """Versions, and least seconds of ours after a first run, which may compile."""
    with Child(sys.executable, f"ours:{task.program}", source, longest) as ours:
        ours.seconds()
        return ours.known["versions"], min(ours.seconds() for _ in range(runs))


def _say(text: str) -> None:
    print(f"  {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
