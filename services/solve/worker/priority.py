"""Solves take what shards and the API leave of the processors: both would wait for each other's slices of time otherwise."""

import os
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

NICE: Final = 15
"""Of a process that solves; Ray gives it to all its workers, unless RAY_worker_niceness says otherwise, as it does for shards."""

P = ParamSpec("P")
R = TypeVar("R")


def giving_way(task: Callable[P, R]) -> Callable[P, R]:
    """The task, run at priority `NICE` or below. Its process, which runs nothing but solves, stays there."""

    @wraps(task)
    def given_way(*args: P.args, **kwargs: P.kwargs) -> R:
        os.nice(max(0, NICE - os.nice(0)))
        return task(*args, **kwargs)

    return given_way
