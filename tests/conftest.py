"""What all tests share: property tests are seeded, and compiling a kernel on first use is no slow example."""

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

# Small solves spend most of their time waiting for each other's BLAS threads on a busy machine; set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# `make full` searches new cases of each property, and more of them: `--hypothesis-profile thorough`.
settings.register_profile("equirank", deadline=None, derandomize=True, print_blob=True, max_examples=40)
settings.register_profile("thorough", deadline=None, derandomize=False, print_blob=True, max_examples=400)
settings.load_profile("equirank")

LONGEST = {
    *("test_up", "test_kafka_end_to_end", "test_page", "test_one_digest", "test_task_pool", "test_store_sick", "test_log_kafka"),
    *("test_kernel_cache", "test_online_laws", "test_rank_flips", "test_files", "test_lle", "test_partition_streams"),
    *("test_archived_builds", "test_archive_history", "test_archive_erasure", "test_archiver", "test_sigmoidal_program"),
    *("test_near_clones", "test_near_clones_deviation", "test_reference", "test_freezing_slices", "test_guard_pages"),
    *("test_warm", "test_precompile", "test_replay", "test_half_life", "test_examples"),
}
"""Files whose tests take longest, as `--durations=0` tells."""

from tests.support.required import pytest_configure, pytest_make_collect_report, pytest_runtest_makereport  # noqa: E402, F401 - hooks


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector, and exempt them from it: it would visit all ten thousand again and again for nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers begin with the files that take longest, then take those of most tests: else a long file runs alone at the end."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        tests = Counter(item.path for item in items)
        items.sort(key=lambda item: (item.path.stem in LONGEST, tests[item.path]), reverse=True)


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Commands that run in the process of a test set up the garbage collector as for a process of their own."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
