"""The supervisor of `equirank up`: what it starts again, and what it does not go on without."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.runtime.supervisor import BACKOFF, STEADY_SECONDS, Program, Supervisor

QUIET = Program("quiet", [sys.executable, "-c", "import signal; signal.pause()"])
BRIEF = Program("brief", [sys.executable, "-c", "raise SystemExit(3)"])


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    one = Supervisor(tmp_path / "logs")
    yield one
    one.kill()


def test_without_its_guardian_it_does_not_go_on(supervisor: Supervisor) -> None:
    supervisor.watch(0.0)
    os.kill(supervisor._guardian.pid, signal.SIGKILL)
    os.waitid(os.P_PID, supervisor.group, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ChildProcessError, match="guardian"):
        supervisor.watch(1.0)


def test_after_the_death_of_its_guardian_all_programs_are_still_killed(supervisor: Supervisor) -> None:
    supervisor.start(QUIET)
    os.kill(supervisor.group, signal.SIGKILL)
    os.waitid(os.P_PID, supervisor.group, os.WEXITED | os.WNOWAIT)
    supervisor.start(BRIEF)  # the group still takes a program
    supervisor.kill()
    assert supervisor._running["quiet"][1].poll() == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.killpg(supervisor.group, 0)


def test_a_program_that_ends_is_started_again_after_a_pause_that_grows(supervisor: Supervisor) -> None:
    supervisor.start(BRIEF)
    first = supervisor._running["brief"][1]
    first.wait()
    supervisor.watch(10.0)
    supervisor.watch(10.4)
    assert supervisor._running["brief"][1] is first
    supervisor.watch(10.5)
    second = supervisor._running["brief"][1]
    assert second is not first
    second.wait()
    supervisor.watch(20.0)
    supervisor.watch(20.9)
    assert supervisor._running["brief"][1] is second
    supervisor.watch(21.0)
    assert supervisor._running["brief"][1] is not second
    supervisor._running["brief"][1].wait()


def test_after_a_long_healthy_run_the_pause_is_the_first_one_again(supervisor: Supervisor) -> None:
    supervisor._failures["quiet"] = len(BACKOFF)
    supervisor.start(QUIET)
    for seconds, pause in ((STEADY_SECONDS - 1.0, BACKOFF[-1]), (STEADY_SECONDS, BACKOFF[0])):
        child = supervisor._running["quiet"][1]
        supervisor.watch(100.0)
        child.kill()
        child.wait()
        supervisor.watch(100.0 + seconds)
        assert supervisor._restart_at["quiet"] == 100.0 + seconds + pause
        supervisor.watch(200.0)
        assert supervisor._running["quiet"][1] is not child


def test_a_start_that_fails_names_the_log_to_read(supervisor: Supervisor) -> None:
    supervisor.start(BRIEF)
    with pytest.raises(ChildProcessError, match=r"status 3.*brief\.log"):
        supervisor.wait_until("brief", lambda: False, 30.0)


def test_nothing_of_the_group_outlives_a_kill(supervisor: Supervisor) -> None:
    supervisor.start(QUIET)
    child = supervisor._running["quiet"][1]
    supervisor.kill()
    assert child.poll() == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.killpg(supervisor.group, 0)


def test_a_start_that_finds_no_room_is_tried_again(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor.start(BRIEF)
    first = supervisor._running["brief"][1]
    first.wait()
    supervisor.watch(10.0)
    with monkeypatch.context() as patched:

        def full(_: Program) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr(supervisor, "start", full)
        supervisor.watch(20.0)
        assert supervisor._running["brief"][1] is first
    supervisor.watch(20.0 + BACKOFF[-1])
    assert supervisor._running["brief"][1] is not first
    supervisor._running["brief"][1].wait()
