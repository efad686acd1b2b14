"""The memory limit of a solve: what is beyond it fails inside the process, and only there."""

import resource
from pathlib import Path

import numpy as np
import pytest

from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.solve.worker.limits import OutOfMemory, forget_peak, memory_limit, peak

MIB = 1 << 20


def held(size: int) -> int:
    """Take and touch so many bytes; they are free again afterwards."""
    return int(np.ones(size, np.uint8).sum())


def test_what_is_within_the_limit_may_be_taken_and_what_is_beyond_fails_with_its_reason() -> None:
    with memory_limit(256 * MIB):
        assert held(64 * MIB) == 64 * MIB
    with pytest.raises(OutOfMemory, match=r"the solve needs more than 256 MiB \(solve_memory_bytes\)"), memory_limit(256 * MIB):
        held(512 * MIB)


def test_the_limit_ends_with_the_solve_however_that_ends() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limit(256 * MIB):
        inside = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(ZeroDivisionError), memory_limit(256 * MIB):
        raise ZeroDivisionError
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert inside[0] < before[0] or before[0] == resource.RLIM_INFINITY != inside[0]
    assert held(512 * MIB) == 512 * MIB


def test_a_checkpoint_is_mapped_so_that_it_counts_for_no_solve(tmp_path: Path) -> None:
    """Solves of one round read the same pages: a pool larger than the limit can be read within it, and without mapping it cannot."""
    files = CheckpointStore(tmp_path.as_uri())
    sha256, size = files.write_object("o", {"a": np.ones(16 * MIB, np.int64)}, {})
    entry = PoolEntry(pool="p", kind="games", generation=1, position=1, outcomes=1, object="o", sha256=sha256, bytes=size, digest="d")
    with memory_limit(64 * MIB):
        assert files.read_pool(entry, mapped=True)["a"][-1] == 1
    with pytest.raises(OutOfMemory), memory_limit(64 * MIB):
        files.read_pool(entry)


def test_the_peak_is_of_the_solve() -> None:
    forget_peak()
    before = peak()
    held(128 * MIB)
    assert 100 * MIB < peak() - before < 400 * MIB
