"""How worker processes run tasks: at low priority, and so that only their owner reads the files that they write.

Solves take what shards and the API leave of the processors: both would wait for each other's slices of time otherwise.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from services.runtime.private_files import make_files_private

NICE: Final = 15
"""Of a process that solves; Ray gives it to all its workers, unless RAY_worker_niceness says otherwise, as it does for shards."""

P = ParamSpec("P")
R = TypeVar("R")


def giving_way(task: Callable[P, R]) -> Callable[P, R]:
    """The task, run at priority `NICE` or below, with private files. Its process, which runs nothing but tasks, stays so."""

    @wraps(task)
    def given_way(*args: P.args, **kwargs: P.kwargs) -> R:
        os.nice(max(0, NICE - os.nice(0)))
        make_files_private()  # the nodes of a cluster that somebody else started have a umask of their own
        return task(*args, **kwargs)

    return given_way
