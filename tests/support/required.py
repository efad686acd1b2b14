"""Let tests fail that would be skipped because a required server is missing.

EQUIRANK_REQUIRE lists the required servers, separated by spaces: `kafka`, `redis`, `browser`. `.ci/run` sets it. `tests/conftest.py`
installs the hooks.
"""

import os
from collections.abc import Generator, Mapping
from typing import Any, Final

import pytest

REASONS: Final[Mapping[str, str]] = {"kafka": "no Kafka broker", "redis": "install redis-server", "browser": "no chromium"}
"""Server -> text in the skip reason of tests that need it."""


def required() -> list[str]:
    """Servers in EQUIRANK_REQUIRE. Raises `pytest.UsageError` for an unknown name."""
    names = os.environ.get("EQUIRANK_REQUIRE", "").split()
    if unknown := sorted(set(names) - REASONS.keys()):
        raise pytest.UsageError(f"EQUIRANK_REQUIRE: {unknown[0]!r} must be among {', '.join(REASONS)}")
    return names


def wanting(reason: str) -> str | None:
    """Required server whose absence is the skip reason of a test; None for another reason."""
    return next((name for name in required() if REASONS[name] in reason), None)


def pytest_configure() -> None:
    """Refuse an unknown name before any test runs."""
    required()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a test into a failure, if a required server is missing."""
    report = yield
    _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a module into a failure, if a required server is missing."""
    report = yield
    _fail(report)
    return report


def _fail(report: Any) -> None:
    if report.skipped and isinstance(report.longrepr, tuple) and (name := wanting(str(report.longrepr[2]))) is not None:
        report.outcome = "failed"
        report.longrepr = f"skipped, and EQUIRANK_REQUIRE={name} says that this machine has {name}: {report.longrepr[2]}"
