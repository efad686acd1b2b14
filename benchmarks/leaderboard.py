"""A leaderboard with 95 % intervals from a CSV of 100,000 battles between 120 models, beside pandas with evalica and with arena-rank.

`python -m benchmarks.leaderboard [--quick] [--arena PYTHON]`. Every figure is the wall time of a process of its own, from its start to the
printed leaderboard, the best of three. arena-rank runs where the option names a Python that has it, because it pins its own numpy. It and
this library give sandwich intervals; evalica resamples, here 100 times. Ratings are compared in Elo points, less their mean: the largest
difference must be below a millionth, or the program fails. evalica and arena-rank stop at a tolerance of their own; it is set to what
they reach. The largest difference of an interval's half width from arena-rank's is printed. arena-rank adds a ridge to the
information matrix, which is set to almost nothing for this comparison, and has its default where time is measured.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import Row, header, parser, show
from benchmarks.files import HERE

TRIES: Final = 3
AGENTS: Final = 120
_MILLIONTH: Final = 1e-6
_OURS: Final = """
import json, sys
from ratings_core import rate
rating = rate(sys.argv[1], "bradley_terry", intervals=True)
table = rating.table()
print(json.dumps({name: table[name].to_pylist() for name in ("agent", "rating", "low", "high")}))
"""
_EVALICA: Final = """
import json, sys
import numpy as np, pandas as pd
from evalica import Winner, bootstrap, bradley_terry
frame = pd.read_csv(sys.argv[1])
words = {"model_a": Winner.X, "model_b": Winner.Y, "tie": Winner.Draw}
games = frame["model_a"], frame["model_b"], frame["winner"].map(words)
exact = {"tolerance": 1e-14, "limit": 100_000} if sys.argv[2] == "exact" else {}
scores = bradley_terry(*games, **exact).scores
if sys.argv[2] == "intervals":
    bootstrap(bradley_terry, *games, n_resamples=100, bootstrap_method="percentile", random_state=1)
print(json.dumps({"agent": list(scores.index), "rating": (400 * np.log10(scores)).tolist()}))
"""
_ARENA: Final = """
import json, sys
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset
games = PairDataset.from_pandas(pd.read_csv(sys.argv[1]))
exact = {"hessian_reg": 1e-7, "gtol": 1e-13, "ftol": 1e-16} if sys.argv[2] == "exact" else {}
found = BradleyTerry(n_competitors=len(games.competitors), **exact).compute_ratings_and_cis(games)
columns = {"agent": "competitors", "rating": "ratings", "low": "rating_lower", "high": "rating_upper"}
print(json.dumps({name: [x if isinstance(x, str) else float(x) for x in found[theirs]] for name, theirs in columns.items()}))
"""


def write_battles(path: Path, rows: int) -> None:
    """Write battles of models with planted strengths, of which a fifth are ties."""
    draw = np.random.default_rng(3)
    strength = draw.normal(0.0, 1.0, AGENTS)
    first = draw.integers(0, AGENTS, rows)
    second = (first + draw.integers(1, AGENTS, rows)) % AGENTS
    wins = draw.random(rows) < 1 / (1 + np.exp(strength[second] - strength[first]))
    winner = np.where(draw.random(rows) < 0.2, "tie", np.where(wins, "model_a", "model_b"))
    with path.open("w") as file:
        file.write("model_a,model_b,winner\n")
        file.writelines(f"model-{a:03d},model-{b:03d},{who}\n" for a, b, who in zip(first, second, winner, strict=True))


def board(python: str, program: str, *words: str) -> tuple[dict[str, Any], float]:
    """The leaderboard of a program, and the wall time of its process, the best of three."""
    best, printed = float("inf"), b""
    for _ in range(TRIES):
        began = time.perf_counter()
        printed = subprocess.run([python, "-c", program, *words], cwd=HERE, check=True, capture_output=True).stdout
        best = min(best, time.perf_counter() - began)
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found, best


def ratings(found: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Ratings less their mean, in the order of the names."""
    rating = np.array(found["rating"])[np.argsort(found["agent"])]
    centred: np.ndarray[Any, np.dtype[np.float64]] = rating - rating.mean()
    return centred


def half_widths(found: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Half widths of the intervals, in the order of the names."""
    widths: np.ndarray[Any, np.dtype[np.float64]] = (np.array(found["high"]) - np.array(found["low"]))[np.argsort(found["agent"])] / 2
    return widths


def compare(who: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Print the largest differences. Raises `ValueError` for a rating that differs by a millionth of a point."""
    gap = float(np.abs(ratings(ours) - ratings(theirs)).max())
    print(f"{who}: ratings differ by at most {gap:.1e} Elo points")
    if "low" in theirs:
        print(f"{who}: half widths differ by at most {np.abs(half_widths(ours) / half_widths(theirs) - 1).max():.1e} of themselves")
    if not gap < _MILLIONTH:
        msg = f"the ratings differ from those of {who}"
        raise ValueError(msg)


def main() -> None:
    """Print one row for each peer, and the largest differences."""
    options = parser(__doc__ or "")
    options.add_argument("--arena", metavar="PYTHON", help="a Python that has arena-rank")
    given = options.parse_args()
    rows = 10_000 if given.quick else 100_000
    header("A leaderboard with intervals, from the start of a process", ["pandas", "evalica"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "battles.csv"
        write_battles(path, rows)
        size = f"{rows:,} battles, {AGENTS} models"
        ours, taken = board(sys.executable, _OURS, str(path))
        show(
            Row(
                "Bradley-Terry with intervals",
                size,
                taken,
                "pandas, evalica without",
                board(sys.executable, _EVALICA, str(path), "plain")[1],
            )
        )
        theirs = board(sys.executable, _EVALICA, str(path), "intervals")[1]
        show(Row("Bradley-Terry with intervals", size, taken, "pandas, evalica", theirs))
        compare("evalica", ours, board(sys.executable, _EVALICA, str(path), "exact")[0])
        if given.arena:
            show(Row("Bradley-Terry with intervals", size, taken, "pandas, arena-rank", board(given.arena, _ARENA, str(path), "plain")[1]))
            compare("arena-rank", ours, board(given.arena, _ARENA, str(path), "exact")[0])


if __name__ == "__main__":
    main()
