"""Bugs planted on purpose: each must be found by what guards against it, and the same run without the bug must find nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ratings_core.arrays.frozen import Arrays
from services.log.dead_letters import DeadLetter
from services.log.protocol import Log, Record
from services.runtime.settings import Settings
from services.shard.partition import Directory, Partition
from services.state.dedupe import FrozenWindow
from tests.chaos.paused import FENCED
from tests.support.processes import child
from tests.support.waiting import PATIENCE
from tests.support.worker import differences, play, published, until, working

ROOT = Path(__file__).parents[2]
NARROW = "glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA,-FMA_Usable,-FMA4"


# -- fencing off


def after_a_paused_writer(settings: Settings, log: Log, *options: str) -> list[str | None]:
    """Differences once a shard that was stopped in the middle of a publication resumes after the stream has ended."""
    play(log, 0, 300)
    command = [sys.executable, "-m", "tests.chaos.paused", str(settings.data), str(settings.redis), "300", *options]
    with child(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})) as first:
        _, status = os.waitpid(first.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended before it had anything in its hand"
        with working(settings, log):
            play(log, 300, 600)
            until(lambda: published(settings) == 600, "the stream ended, and the second writer has shown all of it")
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait(PATIENCE) == FENCED, "by the store, or else by the control log"
    return differences(settings, log)


@pytest.mark.smoke
def test_a_paused_writer_is_fenced(settings: Settings, log: Log) -> None:
    assert after_a_paused_writer(settings, log) == []


@pytest.mark.smoke
def test_fencing_off_is_found(settings: Settings, log: Log) -> None:
    [found] = after_a_paused_writer(settings, log, "--unfenced")
    assert "agents differ" in (found or "")


# -- offset saved before state


def after_a_crash(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, *, offset_first: bool) -> list[str | None]:
    """Differences after a restart from checkpoints whose offset, where planted, is that of a record which their state does not hold yet."""
    fold = Partition.fold
    planted = offset_first

    def early(self: Partition, records: Sequence[Record], directory: Directory) -> list[DeadLetter]:
        letters = fold(self, records[:-1] if planted else records, directory)
        if planted:
            self.position = records[-1].offset + 1
        return letters

    play(log, 0, 300)
    monkeypatch.setattr(Partition, "fold", early)
    with working(settings, log):
        until(lambda: published(settings) >= 290, "folded")
    planted = False
    play(log, 300, 400)
    with working(settings, log):
        until(lambda: published(settings) >= 390, "folded by the one that was started again")
    return differences(settings, log)


@pytest.mark.smoke
@pytest.mark.parametrize("offset_first", [False, True])
def test_an_offset_saved_before_its_state_is_found(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, offset_first: bool
) -> None:
    found = after_a_crash(settings, log, monkeypatch, offset_first=offset_first)
    assert any("the log and its archive give" in (one or "") for one in found) == offset_first
    assert bool(found) == offset_first


# -- the dedupe window not checkpointed


@pytest.mark.smoke
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_dedupe_window_left_out_of_checkpoints_is_found(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, forgotten: bool
) -> None:
    arrays = FrozenWindow.arrays

    def without(self: FrozenWindow) -> Arrays:
        return {name: array[:0] if array.ndim else np.zeros_like(array) for name, array in arrays(self).items()}

    if forgotten:
        monkeypatch.setattr(FrozenWindow, "arrays", without)
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "folded")
    play(log, 200, 350)  # a producer that was not sure sends 100 again
    with working(settings, log):
        until(lambda: published(settings) == (450 if forgotten else 350), "folded by the one that was started again")
    assert bool(differences(settings, log)) == forgotten


# -- libm's exp in a kernel


def digest_of(module: str, folder: Path, **environment: str) -> str:
    """What `module` prints on a processor of its own making. folder: a cache that no other build of the kernels has."""
    settings = os.environ | {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)} | environment
    command = [sys.executable, "-m", module]
    return subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


def test_libms_exp_is_found_by_the_digest_on_another_processor(tmp_path: Path) -> None:
    if " fma " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no FMA: its libm has only one exp, and nothing could differ")

    def digests(module: str) -> set[str]:
        return {digest_of(module, tmp_path / f"{module}{len(tunables)}", GLIBC_TUNABLES=tunables) for tunables in ("", NARROW)}

    assert len(digests("tests.support.fold_digest")) == 1, "ours is the same everywhere"
    assert len(digests("tests.chaos.libm")) == 2, "libm's goes by the processor"
