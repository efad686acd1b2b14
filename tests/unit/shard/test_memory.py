"""Memory that a folding process frees stays with it, so that the next slice of records costs no page faults."""

import resource
import subprocess
import sys

import pyarrow as pa
import pytest

from tests.support.waiting import PATIENCE

_SCRIPT = """
import resource
import numpy as np
from services.runtime.memory import set_up_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        [np.ones(1 << 17) for _ in range(32)]  # 32 arrays of 1 MiB, freed together
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
before = faults()
set_up_memory()
faults()
print(before, faults())
"""

_ARROW = """
import pyarrow  # Ray imports it before a shard begins

from services.runtime.memory import set_up_memory

set_up_memory()
print(pyarrow.default_memory_pool().backend_name)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the allocator of glibc")
def test_freed_memory_is_used_again():
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=PATIENCE)
    before, after = map(int, done.stdout.split())
    assert before > 20 * (32 << 20) // resource.getpagesize() // 8  # else the test shows nothing
    assert after < before / 100


@pytest.mark.parametrize(("named", "allocator"), [(None, "jemalloc"), ("mimalloc", "mimalloc")])
def test_arrow_allocates_with_jemalloc_unless_the_environment_names_another(monkeypatch, named, allocator):
    if allocator not in pa.supported_memory_backends():
        pytest.skip(f"this pyarrow has no {allocator}")
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    if named is not None:
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", named)
    done = subprocess.run([sys.executable, "-c", _ARROW], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.strip() == allocator
