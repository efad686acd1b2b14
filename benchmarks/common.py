"""What all benchmarks share: the rows they print, the line about the machine, the clock, and `--quick`.

A row is name, size, ours, reference, ratio. The ratio says how many times faster ours is than the reference, whatever the
unit, so that above 1 is always good. A benchmark prints and does not assert: a timed test never gates anything.
"""

import argparse
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

WIDTHS = (44, 34, 16, 44, 8)
MIN_SECONDS = 1.0
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Row:
    """One comparison. ours, theirs: figures in `unit`; theirs is None where the peer is missing or could not finish (`reference` says)."""

    name: str
    size: str
    ours: float
    reference: str
    theirs: float | None
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is: rates (unit ends in /s) divide one way, seconds the other."""
        if self.theirs is None:
            return None
        return self.ours / self.theirs if self.unit.endswith("/s") else self.theirs / self.ours

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of the header."""
        theirs = "-" if self.theirs is None else figure(self.theirs, self.unit)
        ratio = "-" if self.ratio is None else f"{self.ratio:.3g}x"
        return self.name, self.size, figure(self.ours, self.unit), f"{self.reference}: {theirs}", ratio


def arguments(description: str, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of a benchmark: `--quick` for sizes that end in seconds, `--repeats` for how often each is timed."""
    return parser(description).parse_args(argv)


def parser(description: str) -> argparse.ArgumentParser:
    """As `arguments`, for a benchmark that adds its own."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; the figures mean little")
    options.add_argument("--repeats", type=int, default=5, help="how often each is timed, the best counts (default 5)")
    return options


def header(title: str, packages: Sequence[str] = ()) -> None:
    """Prints the title, the machine and versions, and the names of the columns."""
    print(f"\n{title}\n{machine(packages)}")
    print(_line(("name", "size", "ours", "reference", "ratio")))
    print("-" * (sum(WIDTHS) + 2 * len(WIDTHS) - 2), flush=True)


def show(*rows: Row) -> None:
    """Prints rows as soon as they are known."""
    for row in rows:
        print(_line(row.cells()), flush=True)


def stream(rows: Iterable[Row]) -> None:
    """Prints rows that are measured as they are asked for, each before the next is begun."""
    for row in rows:
        show(row)


def machine(packages: Sequence[str] = ()) -> str:
    """One line: processor, cores this process may use, memory, load, Python, and the versions of `packages`."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = " ".join(f"{package} {version(package)}" for package in packages)
    load = os.getloadavg()[0]
    return f"{_processor()}, {cores} cores, {gib:.0f} GiB, load {load:.1f}; Python {platform.python_version()} {versions}".rstrip()


@cache
def commit(*sources: str) -> str:
    """Commit of this checkout, 12 digits, with `+` if one of these files and folders has changes; empty without git or its data.

    The answer is kept, because a commit during a long run does not change the code that was loaded before. A version that is unpacked
    inside another repository has no data of git, and takes no commit of that repository.
    """
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return ""

    def said(*words: str) -> str | None:
        ended = subprocess.run([git, "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return ended.stdout.strip() if ended.returncode == 0 else None

    head, changed = said("rev-parse", "--short=12", "HEAD"), said("status", "--porcelain", "--", *sources)
    return "" if head is None or changed is None else head + "+" * bool(changed)


def seconds(run: Callable[..., Any], repeats: int = 5, prepare: Callable[[], tuple[Any, ...]] = tuple, *, wall: bool = False) -> float:
    """Least CPU seconds (all threads) of calls run(*prepare()), preparation not counted; wall seconds where asked.

    One call where `repeats` is 1. Else at least `repeats` calls, and more while they took less than `MIN_SECONDS` together: the best of
    three short calls says little on a machine that others use as well.
    """
    clock = time.perf_counter if wall else time.process_time
    best, spent, calls = float("inf"), 0.0, 0
    while calls < repeats or (repeats > 1 and spent < MIN_SECONDS):
        prepared = prepare()
        start = clock()
        run(*prepared)
        took = clock() - start
        best, spent, calls = min(best, took), spent + took, calls + 1
    return best


def figure(value: float, unit: str) -> str:
    """A figure with its unit, three digits."""
    return f"{value:.3g} {unit}"


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:  # noqa: PTH123 - a device-like file, not a document
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
