"""Every method on a sparse pool of public size, each at its own default limits: seconds, certificate, and whether strong agents come first.

`python -m benchmarks.sparse_pool [--quick] [--before CHECKOUT] [--seconds S] [--method NAME ...]`. The pool has 195,000 games of 7,600
players in about 3,900 components: 3,700 players of Zipf activity, and small islands of two to four players who met once. Skills are known,
normal with deviation 1 logit. Each method runs as `equirank solve FILE` in its own process, so that reading the file counts as well; a
method that is still running after S seconds is stopped. With `--before`, another checkout runs on the same file, in the same run.

The first figure is the wall time of the solve alone, `whole` that of the process, and `CPU` its processor time, which other programs on
the machine change least. The fit with features has one: who is named first. `first` counts the players who share rank 1; `true rank`
is the place of the best of them by skill among the players that the method took. `best 40` counts how many of the 40 most skilled ones have
a rank up to 40. A method that needs ballots or tasks says so, as games have none.
"""

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import machine, parser
from ratings_core.methods.method import Takes
from ratings_core.methods.registry import METHODS
from ratings_core.records.names import FIRST_SIDE

HERE: Final = Path(__file__).resolve().parents[1]
PLAYERS, ISLANDERS, GAMES = 3_700, 3_900, 195_000
TOP: Final = 40
_COLUMNS: Final = ("home_team", "away_team", "home_score", "away_score")


def write(path: Path, quick: bool) -> dict[str, float]:
    """Write the pool as a table of results; the true skills by name."""
    rng = np.random.default_rng(20261123)
    scale = 20 if quick else 1
    players, islanders, games = PLAYERS // scale, ISLANDERS // scale, GAMES // scale
    skill = rng.normal(size=players + islanders)
    activity = 1.0 / np.arange(1, players + 1)
    first = rng.choice(players, games, p=activity / activity.sum())
    second = rng.choice(players, games, p=activity / activity.sum())
    first, second = first[first != second], second[first != second]
    start = players
    while start < players + islanders - 1:
        size = min(int(rng.integers(2, 5)), players + islanders - start)
        chain = np.arange(start, start + size)
        first, second = np.append(first, chain[:-1]), np.append(second, chain[1:])
        start += size
    won = rng.random(len(first)) < 1 / (1 + np.exp(skill[second] - skill[first]))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(_COLUMNS)
        table.writerows((f"p{a}", f"p{b}", int(w), int(not w)) for a, b, w in zip(first, second, won, strict=True))
    return {f"p{i}": float(value) for i, value in enumerate(skill)}


def run(checkout: Path, path: Path, method: str, seconds: float, skills: Mapping[str, float]) -> str:
    """One row: what `equirank solve` of the checkout said."""
    own = checkout / ".venv" / "bin" / "python"
    module = "services.cli.main" if (checkout / "services" / "cli" / "main.py").exists() else "services.cli"
    command = [str(own if own.exists() else sys.executable), "-m", module, "solve", str(path), "--input", "results"]
    command += ["--method", method, "--format", "json", "--column", "time="]
    if METHODS[method].takes is Takes.FEATURES:
        command += ["--feature", FIRST_SIDE, "--param", "prior=1"]
    environment = os.environ | {"PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1", "EQUIRANK_LOG_LEVEL": "ERROR"}
    began, before = time.perf_counter(), _spent()
    try:
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds:g} s, {_spent() - before:.1f} s CPU"
    whole = time.perf_counter() - began
    if done.returncode:
        return f"{whole:6.1f} s whole: {(done.stderr.strip().splitlines() or ['no answer'])[-1][:150]}"
    return _described(json.loads(done.stdout), f"{whole:6.1f} s whole, {_spent() - before:5.1f} s CPU", skills)


def _spent() -> float:
    """Processor time of the programs that have ended, seconds."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _described(answer: Mapping[str, Any], whole: str, skills: Mapping[str, float]) -> str:
    agents = answer["agents"]
    strongest = sorted((agent["agent"] for agent in agents), key=lambda name: -skills[name])
    place = {name: rank for rank, name in enumerate(strongest, 1)}
    leaders = sorted(place[agent["agent"]] for agent in agents if agent["rank"] == 1)
    listed = [agent["agent"] for agent in agents if agent["rank"] <= TOP]
    best = f"{len(set(listed) & set(strongest[:TOP]))} of {len(listed)}" if len(listed) <= 2 * TOP else f"- ({len(listed)} tie)"
    certificate = answer.get("certificate") or {"kind": "none", "value": float("nan")}
    return (
        f"{answer['seconds']:7.2f} s, {whole}, {len(agents):5d} agents, {answer['status']}, "
        f"{certificate['kind']} {certificate['value']:.1e}, {len(leaders)} first, true rank {leaders[0]}, best {TOP}: {best}"
    )


def main(chosen: Namespace) -> None:
    """Write the pool, and run each method on each checkout."""
    print(f"Sparse pool\n{machine()}")
    checkouts = {**({"before": chosen.before} if chosen.before else {}), "now": HERE}
    with tempfile.TemporaryDirectory(prefix="sparse-") as folder:
        path = Path(folder) / "pool.csv"
        skills = write(path, chosen.quick)
        for method in chosen.method or METHODS:
            for label, checkout in checkouts.items():
                print(f"{method:26} {label:7} {run(checkout, path, method, chosen.seconds, skills)}", flush=True)


def _arguments(argv: Sequence[str] | None = None) -> Namespace:
    options = parser(str(__doc__))
    options.add_argument("--before", type=Path, help="another checkout, which solves the same file")
    options.add_argument("--seconds", type=float, default=120.0, help="a process that takes longer is stopped (default 120)")
    options.add_argument("--method", action="append", help="only this method; may be repeated")
    return options.parse_args(argv)


if __name__ == "__main__":
    main(_arguments())
