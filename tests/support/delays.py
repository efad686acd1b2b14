"""A pytest plugin that delays steps of the service by a random time. `scripts/stress-tests` runs it with DELAYS=1.

A busy machine changes the order in which threads write boards, checkpoints and solves. This plugin changes it in each call, so that a test
that depends on the order fails in one run instead of one in a hundred. Only steps in the process of the test are delayed: those of
shards and solvers that a test runs in threads.
"""

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import pytest

from services.boards.store.live import LiveBoards
from services.boards.store.solved import SolvedBoards
from services.log.sqlite.log import SqliteTopic
from services.shard.checkpointing.history import HistoryWriter
from services.shard.checkpointing.writer import CheckpointWriter
from services.shard.ratings_topic.writer import TopicWriter
from services.shard.watch import LogWatch
from services.solve.scheduler.publication import Reconciler
from services.solve.scheduler.scheduler import SolveScheduler

_P = ParamSpec("_P")
_R = TypeVar("_R")

LONGEST: Final[dict[tuple[type, str], float]] = {
    (LiveBoards, "publish"): 0.6,
    (SolvedBoards, "publish"): 0.6,
    (SolvedBoards, "publish_history"): 0.4,
    (SqliteTopic, "append"): 0.05,
    (HistoryWriter, "write"): 0.4,
    (CheckpointWriter, "write"): 0.5,
    (TopicWriter, "write"): 0.4,
    (LogWatch, "step"): 0.05,
    (Reconciler, "publish"): 0.2,
    (SolveScheduler, "step"): 0.2,
}
"""Longest delay in seconds before a call of each method. Short delays are more frequent than long ones."""


def _delayed(step: Callable[_P, _R], longest: float) -> Callable[_P, _R]:
    @wraps(step)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        time.sleep(longest * random.random() ** 2)
        return step(*args, **kwargs)

    return call


def pytest_configure(config: pytest.Config) -> None:
    """Delay all steps, in each worker of the run."""
    for (owner, method), longest in LONGEST.items():
        step: Callable[..., Any] = getattr(owner, method)
        setattr(owner, method, _delayed(step, longest))
