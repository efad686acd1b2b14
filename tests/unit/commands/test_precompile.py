"""`equirank precompile` is run by whoever installs, often root, for processes of another user."""

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
