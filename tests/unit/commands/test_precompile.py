"""`equirank precompile` is run by whoever installs, often root, for processes of another user. Its part of the library needs no service."""

import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
_PROGRAM = """
import os, sys
from pathlib import Path
import services.precompile
os.umask(0o022)
services.precompile.warm = Path(sys.argv[1]).touch
sys.argv = ["equirank", "precompile"]
from services.cli.main import main
main()
"""
WARM = """
import sys
from numba.core.dispatcher import Dispatcher
from services.precompile import warm
warm()
kernels = {id(x): x for m in list(sys.modules.values()) for x in list(vars(m).values()) if isinstance(x, Dispatcher)}.values()
cached = [kernel for kernel in kernels if kernel.stats.cache_path]
foreign = [kernel.__qualname__ for kernel in cached if "-" not in kernel.stats.cache_path.rpartition("/")[2]]
assert not foreign, f"compiled without ratings_core.kernels.compile: {foreign}"
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in cached), [
    kernel.__qualname__ for kernel in cached if kernel.stats.cache_misses
])
"""

LIBRARY = """
import sys
from numba.core.dispatcher import Dispatcher
from ratings_core.precompile import warm

def signatures():
    kernels = {id(x): x for name, m in list(sys.modules.items()) if name.startswith("ratings_core.")
               for x in list(vars(m).values()) if isinstance(x, Dispatcher)}.values()
    return {(kernel.py_func.__module__, kernel.__qualname__, str(one)) for kernel in kernels for one in kernel.signatures}

warm()
before = signatures()
import numpy as np
import pyarrow as pa
from ratings_core import Online, compare, rate, scoreboard
rng = np.random.default_rng(0)
pairs = [tuple(f"agent {i}" for i in rng.choice(20, 2, replace=False)) for _ in range(1000)]
table = pa.table({"winner": [a for a, _ in pairs], "loser": [b for _, b in pairs]})
rate(table, intervals=True)
for method in ("davidson", "maximal_lottery", "copeland", "schulze", "ranked_pairs", "nash_average_agents", "elo", "glicko2"):
    rate(pairs, method)
compare(pairs, ["bradley_terry", "elo", "weng_lin"])
scoreboard(pairs, refits=3, progress=lambda _: None)
Online("melo").learn_many(table)
assert not [name for name in sys.modules if name.partition(".")[0] == "services"]
print(sorted(signatures() - before))
"""
"""Rates other games than `ratings_core.precompile`, and prints the kernels that were compiled or loaded only then."""


def test_after_that_of_the_library_first_calls_of_the_front_door_compile_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LIBRARY], cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_what_it_writes_can_be_read_by_every_user(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(kernel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert oct(kernel.stat().st_mode & 0o777) == "0o644"


def test_a_second_start_compiles_nothing() -> None:
    """The first start is a second one already where kernels are compiled."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", WARM], cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
        hits, missed = done.stdout.split(maxsplit=1)
        if missed.strip() == "[]":
            break
    assert missed.strip() == "[]"
    assert int(hits) > 25
