"""Tasks give way and write private files: in a process of its own, as its priority cannot be raised again."""

import os
from multiprocessing import get_context
from multiprocessing.connection import Connection

from services.solve.worker.task_pool import NICE, giving_way
from tests.support.waiting import PATIENCE


def added(a: int, *, b: int) -> tuple[int, int]:
    return a + b, os.nice(0)


def umask() -> int:
    """The umask of this process, which can only be read by setting it."""
    found = os.umask(0)
    os.umask(found)
    return found


def twice(answers: Connection) -> None:
    os.umask(0o022)
    task = giving_way(added)
    answers.send((task.__name__, os.nice(0), task(1, b=2), task(3, b=4), umask()))


def test_a_task_runs_at_low_priority_with_private_files_and_so_do_those_after_it() -> None:
    mine, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=twice, args=(theirs,))
    process.start()
    assert mine.poll(PATIENCE)
    name, before, *answers, mask = mine.recv()
    process.join(PATIENCE)
    low = max(before, NICE)
    assert (name, answers) == ("added", [(3, low), (7, low)])
    assert mask == 0o077, "also on nodes that somebody else started"
