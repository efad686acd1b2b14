"""One digest of a seeded fold, committed here, on every processor (law 1).

It changes only with the kernels, the defaults or the stream of `tests/support/fold_digest.py`; a change of the first two is a
new FOLD_VERSION.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fold_digest import fold_digest, on_request_digest

DIGEST = "f39dbba51fa6f98da734991bca296a7ffa7f7ad918a3d31725d6e285dffdbed2"
ON_REQUEST = "8ff804b7c5b1a2b0b951c5ce3da7051f763cd35785a17afb6f9bb84a1b00aff2"
ROOT = Path(__file__).parents[3]
PROCESSORS = {
    "generic": {"NUMBA_CPU_NAME": "generic"},
    "narrow-libm": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA,-FMA_Usable,-FMA4"},
    "unoptimised": {"NUMBA_OPT": "0"},
}


def test_digest_here():
    assert fold_digest() == DIGEST
    assert on_request_digest() == ON_REQUEST


@pytest.mark.parametrize("processor", PROCESSORS)
def test_digest_elsewhere(processor, tmp_path):
    """A cache of its own: numba's would hold what was compiled for another processor or by other rules."""
    environment = os.environ | PROCESSORS[processor] | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-m", "tests.support.fold_digest"]
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout == f"{DIGEST} {ON_REQUEST}", done.stderr
