"""The committed digest of a seeded fold on other processors (law 1): kernels compiled anew for each, which takes its time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fold_digest import COMMITTED

ROOT = Path(__file__).parents[2]
PROCESSORS = {
    "generic": {"NUMBA_CPU_NAME": "generic"},
    "narrow-libm": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA,-FMA_Usable,-FMA4"},
    "unoptimised": {"NUMBA_OPT": "0"},
}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_digest_elsewhere(processor, tmp_path):
    """A cache of its own: numba's would hold what was compiled for another processor or by other rules."""
    environment = os.environ | PROCESSORS[processor] | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-m", "tests.support.fold_digest"]
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert done.stdout == " ".join(COMMITTED), done.stderr
