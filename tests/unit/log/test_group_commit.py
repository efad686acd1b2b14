"""Group commit: nobody waits for company, groups are bounded, errors reach all of a group and no one else."""

import threading
from collections.abc import Sequence

import pytest

from services.log.protocol import LogError
from services.log.sqlite.group_commit import GroupCommit
from tests.support.waiting import PATIENCE, until


class Disk:
    """A commit that blocks its first group until told, so that a queue builds up behind it."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.entered, self.release = threading.Event(), threading.Event()
        self.failure: BaseException | None = None

    def commit(self, requests: Sequence[int]) -> list[int]:
        self.groups.append(list(requests))
        if len(self.groups) == 1:
            self.entered.set()
            assert self.release.wait(PATIENCE)
        if self.failure is not None and 13 in requests:
            raise self.failure
        return [request * 10 for request in requests]


class Crowd:
    """Threads that submit one request each, started in order behind a blocked first one."""

    def __init__(self, group: "GroupCommit[int, int]", disk: Disk, requests: Sequence[int]) -> None:
        self.results: dict[int, object] = {}
        self._threads = []
        for index, request in enumerate(requests):
            thread = threading.Thread(target=self._submit, args=(group, request))
            self._threads.append(thread)
            thread.start()
            if index == 0:
                assert disk.entered.wait(PATIENCE)
            else:
                until(lambda queued=index: len(group._queue) == queued, "the request is queued")

    def _submit(self, group: "GroupCommit[int, int]", request: int) -> None:
        try:
            self.results[request] = group.submit(request)
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.results[request] = error

    def join(self) -> dict[int, object]:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        return self.results


def test_a_lone_request_is_committed_at_once() -> None:
    disk = Disk()
    disk.release.set()
    group = GroupCommit(disk.commit, lambda _request: 1, 3)
    assert [group.submit(request) for request in (1, 2)] == [10, 20]
    assert disk.groups == [[1], [2]]


def test_those_who_wait_ride_together_up_to_the_limit() -> None:
    disk = Disk()
    group = GroupCommit(disk.commit, lambda _request: 1, 3)
    crowd = Crowd(group, disk, range(8))
    disk.release.set()
    assert crowd.join() == {request: request * 10 for request in range(8)}
    assert disk.groups == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_a_request_beyond_the_limit_goes_alone() -> None:
    disk = Disk()
    group = GroupCommit(disk.commit, lambda request: request, 10)
    crowd = Crowd(group, disk, [1, 4, 50, 5, 6])
    disk.release.set()
    assert crowd.join() == {request: request * 10 for request in (1, 4, 50, 5, 6)}
    assert disk.groups == [[1], [4], [50], [5], [6]]


def test_a_failed_group_fails_whole_and_the_next_goes_on() -> None:
    disk = Disk()
    disk.failure = LogError("full", retriable=True)
    group = GroupCommit(disk.commit, lambda _request: 1, 2)
    crowd = Crowd(group, disk, [0, 12, 13, 14])
    disk.release.set()
    results = crowd.join()
    assert results[0] == 0
    assert results[14] == 140
    errors = [results[12], results[13]]
    assert all(isinstance(error, LogError) and error.retriable and str(error) == "full" for error in errors)
    assert errors[0] is not errors[1]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("bug")])
def test_an_interrupted_leader_leaves_no_one_hanging(failure: BaseException) -> None:
    disk = Disk()
    disk.failure = failure
    group = GroupCommit(disk.commit, lambda _request: 1, 2)
    crowd = Crowd(group, disk, [0, 13, 14, 15])
    disk.release.set()
    results = crowd.join()
    assert results[13] is failure
    assert isinstance(results[14], LogError)
    assert results[14].retriable
    assert results[15] == 150
    assert group.submit(2) == 20


def test_an_interrupted_waiter_leaves_the_queue() -> None:
    disk = Disk()
    group = GroupCommit(disk.commit, lambda _request: 1, 3)
    crowd = Crowd(group, disk, [0, 1, 2])
    waiter = group._queue[0]
    interrupted = threading.Event()

    def broken_wait(timeout: float | None = None) -> bool:
        interrupted.set()
        raise KeyboardInterrupt

    # The waiter is already asleep on its event: a second one stands for it, as a signal would arrive.
    other: list[object] = []

    def submit() -> None:
        try:
            group.submit(7)
        except KeyboardInterrupt as error:
            other.append(error)

    original = threading.Event.wait
    threading.Event.wait = broken_wait  # type: ignore[method-assign, assignment]
    try:
        submit()
    finally:
        threading.Event.wait = original  # type: ignore[method-assign]
    assert interrupted.is_set()
    assert len(other) == 1
    assert waiter in group._queue
    disk.release.set()
    assert crowd.join() == {0: 0, 1: 10, 2: 20}
    assert disk.groups == [[0], [1, 2]]
