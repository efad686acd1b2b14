"""What all tests share: property tests are seeded, and compiling a kernel on first use is no slow example."""

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

# Small solves spend most of their time waiting for each other's BLAS threads on a busy machine; set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# `make full` searches new cases of each property, and more of them: `--hypothesis-profile thorough`.
settings.register_profile("equirank", deadline=None, derandomize=True, print_blob=True, max_examples=40)
settings.register_profile("thorough", deadline=None, derandomize=False, print_blob=True, max_examples=400)
settings.load_profile("equirank")

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


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Commands that run in the process of a test set up the garbage collector as for a process of their own."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
