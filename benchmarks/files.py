"""Files on the whole way that a user goes: start-up, reading, counting and answer, beside a plain loop, pandas with evalica, and before.

`python -m benchmarks.files [--quick] [--before CHECKOUT] [--large ROWS]`. Every figure is the wall time of a process of its own, the best
of three; rows with `CPU` are its CPU time, which other work on the machine changes less. With `--before`, the commands of another checkout
run in turn with these. Numbers are only compared within a run.

Rows: a CSV of results (`solve` by Elo and by Bradley-Terry, `replay` into the log of an empty installation), JSON lines of battles, Parquet
of battles, wide scores; a plain Python loop over the CSV that computes Elo; and pandas with evalica on the battles. Then the reading
alone, in rows a CPU second of this process, from the file to counted tallies. `--large` solves a CSV of so many results by Elo and by
Bradley-Terry, and prints the peak of the memory.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.common import Row, header, parser, show, stream
from ratings_core.formats.reading import FileReading
from ratings_core.formats.source import FileSource
from ratings_core.front.counted import Counted

HERE: Final = Path(__file__).resolve().parents[1]
TRIES: Final = 3
AGENTS: Final = 120
SMALL: Final = 200
GOALS: Final = {"results.csv": 1.0, "battles.csv": 1.0, "battles.jsonl": 0.4, "battles.parquet": 2.0}
"""Millions of rows a CPU second."""
_COMMAND: Final = "import sys; sys.argv[0] = 'equirank'; from services.cli.main import main; sys.exit(main())"
_LOOP: Final = """
import csv, sys
ratings = {}
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        a, b = ratings.get(row["home_team"], 1500.0), ratings.get(row["away_team"], 1500.0)
        one, two = float(row["home_score"]), float(row["away_score"])
        gain = 32 * ((one > two) + 0.5 * (one == two) - 1 / (1 + 10 ** ((b - a) / 400)))
        ratings[row["home_team"]], ratings[row["away_team"]] = a + gain, b - gain
print(len(ratings))
"""
_PANDAS: Final = """
import sys
import pandas as pd
from evalica import Winner, bradley_terry
frame = pd.read_csv(sys.argv[1])
words = {"model_a": Winner.X, "model_b": Winner.Y, "tie": Winner.Draw}
print(len(bradley_terry(frame["model_a"], frame["model_b"], frame["winner"].map(words)).scores))
"""


def draw_pairs(draw: np.random.Generator, rows: int) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Draw the names of the two agents of each game."""
    names = np.array([f"agent-{i:03d}" for i in range(AGENTS)])
    first = draw.integers(0, AGENTS, rows)
    return names[first], names[(first + draw.integers(1, AGENTS, rows)) % AGENTS]


def write_results(folder: Path, rows: int) -> Path:
    """Write a CSV of results, in the order of their days."""
    draw = np.random.default_rng(5)
    first, second = draw_pairs(draw, rows)
    day = np.datetime64("2000-01-01") + np.sort(draw.integers(0, 9000, rows))
    results = pa.table(
        {
            "date": day.astype(str), "home_team": first, "away_team": second,
            "home_score": draw.integers(0, 6, rows), "away_score": draw.integers(0, 6, rows),
        }
    )  # fmt: skip
    arrow_csv.write_csv(results, path := folder / "results.csv")
    return path


def write_files(folder: Path, rows: int) -> dict[str, Path]:
    """Write a CSV of results and its first rows; the same battles as CSV, JSON lines and Parquet; and a wide table of scores."""
    draw = np.random.default_rng(6)
    first, second = draw_pairs(draw, rows)
    battles = pa.table(
        {
            "question_id": [f"q{i}" for i in range(rows)], "model_a": first, "model_b": second,
            "winner": np.array(["model_a", "model_b", "tie"])[draw.integers(0, 3, rows)],
            "tstamp": 1.6e9 + np.arange(rows, dtype=np.float64),
        }
    )  # fmt: skip
    files = {name: folder / name for name in ("small.csv", "battles.csv", "battles.jsonl", "battles.parquet", "scores.csv")}
    files["results.csv"] = write_results(folder, rows)
    with files["results.csv"].open() as source:
        files["small.csv"].write_text("".join(islice(source, SMALL + 1)))
    arrow_csv.write_csv(battles, files["battles.csv"])
    pq.write_table(battles, files["battles.parquet"])
    with files["battles.jsonl"].open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in battles.to_pylist())
    with files["scores.csv"].open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", *(f"agent-{i:03d}" for i in range(AGENTS))])
        for task in range(rows // 100):
            writer.writerow([f"task-{task}", *draw.random(AGENTS).round(4).tolist()])
    return files


class Taken(NamedTuple):
    """Seconds that a process took, by the clock and on all cores."""

    wall: float
    cpu: float


def best_of(words: Sequence[str], *checkouts: Path) -> list[Taken]:
    """What a process takes in each checkout, the best wall time and the best CPU time of three rounds. Each has an empty folder for data.

    Raises `CalledProcessError` if a process fails.
    """
    rounds = [[_run(words, checkout) for checkout in checkouts] for _ in range(TRIES)]
    return [Taken(min(one.wall for one in runs), min(one.cpu for one in runs)) for runs in zip(*rounds, strict=True)]


def _run(words: Sequence[str], checkout: Path) -> Taken:
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryFile() as errors:
        env = {"PYTHONPATH": str(checkout), "EQUIRANK_DATA": data}
        began = time.perf_counter()
        child = subprocess.Popen([sys.executable, *words], cwd=checkout, env=env, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            raise subprocess.CalledProcessError(child.returncode, words, stderr=errors.read())
    return Taken(wall, usage.ru_utime + usage.ru_stime)


def reading(path: Path) -> float:
    """Rows a CPU second of this process, from a file to counted tallies: the best of three after one that loads the kernels."""
    best, rows = float("inf"), 0
    for _ in range(TRIES + 1):
        began, counted = time.process_time(), Counted()
        with FileSource(path) as source:
            for part in FileReading(source).parts():
                counted.add(part.columns)
                rows += len(part)
        counted.problem()
        best, done, rows = min(best, time.process_time() - began), rows, 0
    return done / best


def large(folder: Path, rows: int) -> None:
    """Print wall time and peak memory of solving a file of many results, each in a process of its own."""
    path = write_results(folder, rows)
    for method in ("elo", "bradley_terry"):
        began = time.perf_counter()
        child = subprocess.Popen([sys.executable, *command("solve", str(path), "--method", method)], cwd=HERE, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        took = time.perf_counter() - began
        rate = f"{rows / took / 1e6:.2f} M rows/s, {usage.ru_maxrss / 2**20:.2f} GiB"
        print(f"{rows:,} results, {method}: {took:.1f} s, {rate}, status {status}")


def command(*words: str) -> list[str]:
    """A command of Equirank as arguments of Python."""
    return ["-c", _COMMAND, *words]


def rows_of(given: argparse.Namespace, files: dict[str, str], rows: int) -> Iterator[Row]:
    """One row for each way, beside the other checkout; and beside a loop and pandas."""
    ways = {
        "start: --help": ("--help",),
        "start: --version": ("--version",),
        f"start: {SMALL} results, Elo": ("solve", files["small.csv"], "--method", "elo"),
        "results.csv, Elo": ("solve", files["results.csv"], "--method", "elo"),
        "results.csv, Bradley-Terry": ("solve", files["results.csv"], "--method", "bradley_terry"),
        "battles.csv, Bradley-Terry": ("solve", files["battles.csv"], "--method", "bradley_terry"),
        "battles.jsonl, Bradley-Terry": ("solve", files["battles.jsonl"], "--method", "bradley_terry"),
        "battles.parquet, Bradley-Terry": ("solve", files["battles.parquet"], "--method", "bradley_terry"),
        "scores.csv, Borda": ("solve", files["scores.csv"], "--method", "borda"),
        "results.csv, replay": ("replay", files["results.csv"], "--pool", "football"),
    }
    size, taken = f"{rows:,} rows", dict[str, float]()
    for name, words in ways.items():
        checkouts = [HERE, given.before] if given.before else [HERE]
        now, *before = best_of(command(*words), *checkouts)
        taken[name] = now.wall
        own = "" if "start" in name else f"{rows // 100:,} x {AGENTS}" if "scores" in name else size
        yield Row(name, own, now.wall, "before", before[0].wall if before else None)
        yield Row(f"{name}, CPU", own, now.cpu, "before", before[0].cpu if before else None)
    for name, reference, program, file in (
        ("results.csv, Elo", "a plain loop", _LOOP, "results.csv"),
        ("battles.csv, Bradley-Terry", "pandas and evalica", _PANDAS, "battles.csv"),
    ):
        yield Row(name, size, taken[name], reference, best_of(["-c", program, files[file]], HERE)[0].wall)


def main() -> None:
    """Print one row for each way."""
    options = parser(__doc__ or "")
    options.add_argument("--before", type=Path, help="another checkout, whose commands run in the same round")
    options.add_argument("--large", type=int, metavar="ROWS", help="only solve a file of so many results")
    given = options.parse_args()
    rows = 20_000 if given.quick else 195_000
    with tempfile.TemporaryDirectory() as folder:
        if given.large:
            large(Path(folder), given.large)
            return
        header("Files, from the command to the answer", ["pyarrow", "pandas", "evalica"])
        files = {name: str(path) for name, path in write_files(Path(folder), rows).items()}
        stream(rows_of(given, files, rows))
        for name, goal in GOALS.items():
            show(Row(f"{name}, reading alone", f"{rows:,} rows", reading(Path(files[name])) / 1e6, "goal", goal, "M rows/s"))
        cells = reading(Path(files["scores.csv"])) * AGENTS / 1e6
        show(Row("scores.csv, reading alone", f"{rows // 100:,} x {AGENTS}", cells, "-", None, "M scores/s"))


if __name__ == "__main__":
    main()
