"""What `equirank bench` does: run the tasks, print a line for each row, and write JSON, Markdown and the chart."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.bench.comparing import MARGIN, Mark, earlier, marks
from benchmarks.bench.measure import Found, measured
from benchmarks.bench.pages import cells, chart, page
from benchmarks.bench.rows import Results, Row, Scaling, Versions
from benchmarks.bench.tasks import SEED, chosen
from benchmarks.common import commit, machine
from benchmarks.peers import require
from ratings_core.checks import count

ROOT: Final = Path(__file__).resolve().parents[2]
DEFAULT_FOLDER: Final = ROOT / ".cache" / "bench"
_WIDTHS: Final = (16, 28, 22, 26, 8, 8, 8)


def bench(only: Sequence[str], *, quick: bool, runs: int = 3, folder: Path | None = None, compare: Path | None = None) -> int:
    """Run tasks beside their peers, print each row as soon as it is known, and write bench.json, bench.md and bench.svg.

    Args:
        only: Names of tasks; all if empty.
        quick: Small sizes.
        runs: Timed runs of each peer.
        folder: Where the files are written; `.cache/bench` of the checkout by default.
        compare: bench.json of an earlier run.

    Returns:
        The exit status: 1 if a peer failed, if values differ without a reason, or if a row is worse than in the earlier run.

    Raises:
        InputError: A task is unknown, an argument breaks its rule, the earlier run has other sizes, or the peers' environment is missing.
    """
    tasks, runs = chosen(list(only)), count("runs", runs, low=1)
    before, python = earlier(compare, quick=quick) if compare else None, require()
    found: list[Found] = []
    print(_line(("task", "peer", "size", "value", "ours", "peer's", "ratio")))
    for task in tasks:
        for one in measured(task, quick=quick, runs=runs, peers_python=python):
            found.append(one)
            _show(one.row)
    results = _results(found, quick=quick)
    marked = marks(before, results, [task.name for task in tasks]) if before else []
    where = folder or DEFAULT_FOLDER
    _write(results, marked, where, str(compare or ""))
    return _conclude(results, marked, where)


def _show(row: Row | Scaling) -> None:
    if isinstance(row, Row):
        print(_line(cells(row)[: len(_WIDTHS)]), flush=True)
    else:
        exponent = "-" if row.exponent is None else f"{row.exponent:.2f}"
        seconds = ", ".join(f"{own:.2g}" for own in row.seconds)
        print(f"{row.task}: size to the power {exponent} ({seconds} s at {', '.join(f'{n:,}' for n in row.sizes)}) {row.error}".rstrip())


def _results(found: Sequence[Found], *, quick: bool) -> Results:
    versions: Versions = {}
    for one in found:
        for side, own in one.versions.items():
            versions.setdefault(side, {}).update(own)
    rows = tuple(one.row for one in found if isinstance(one.row, Row))
    scaling = tuple(one.row for one in found if isinstance(one.row, Scaling))
    return Results(quick, machine_facts(), versions, rows, scaling)


def machine_facts() -> dict[str, Any]:
    """Processor and load, cores that this process may use, the BLAS of numpy, the seed of all inputs, and the commit of the sources."""
    built = np.show_config(mode="dicts") or {}
    blas = built.get("Build Dependencies", {}).get("blas", {})
    return {
        "processor": machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "numpy": np.__version__,
        "BLAS": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "seed": SEED,
        "commit": commit("ratings_core", "benchmarks", "requirements.lock") or "unknown",
    }


def _write(results: Results, marked: Sequence[Mark], folder: Path, before: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    results.write(folder / "bench.json")
    (folder / "bench.md").write_text(page(results, marked, before), encoding="utf-8")
    chart(results.rows, folder / "bench")


def _conclude(results: Results, marked: Sequence[Mark], folder: Path) -> int:
    failed = [row for row in results.rows if row.error] + [row for row in results.scaling if row.error]
    unequal = [row for row in results.rows if row.equal is False and not row.why]
    worse = [mark for mark in marked if mark.regression]
    for mark in marked:
        if mark.word != "same":
            print(f"{mark.word:8} {mark.task} beside {mark.peer}: ratio {_ratio(mark.before)}, now {_ratio(mark.now)}")
    if marked:
        print(f"{len(worse)} of {len(marked)} rows are worse. A ratio counts as changed from a factor of {MARGIN:g} on.")
    print(f"{len(results.rows)} rows: {len(failed)} failed, {len(unequal)} differ without a reason. Files: {folder}")
    sys.stdout.flush()
    return int(bool(failed or unequal or worse))


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}x"


def _line(texts: Sequence[str]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(texts, _WIDTHS, strict=True)).rstrip()
