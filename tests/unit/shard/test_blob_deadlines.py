"""A file system that hangs: callers get an error at the deadline, hanging calls are limited, and it is used again once it answers."""

import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from services.checkpoints.blob_files import MOST_CALLS, SLOWEST, BlobFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.objects import BadObject
from services.runtime.deadlines import Calls
from tests.support.waiting import PATIENCE, until


class Hanging(MemoryFileSystem):
    """Memory whose calls wait while `open_` is cleared."""

    protocol = "hanging"
    open_: ClassVar[threading.Event] = threading.Event()
    waiting: ClassVar[list[str]] = []

    def _wait(self, what: str) -> None:
        if not self.open_.is_set():
            self.waiting.append(what)
            assert self.open_.wait(PATIENCE)
            self.waiting.remove(what)

    def cat_file(self, *arguments: Any, **options: Any) -> Any:
        self._wait("read")
        return super().cat_file(*arguments, **options)

    def open(self, *arguments: Any, **options: Any) -> Any:
        self._wait("write")
        return super().open(*arguments, **options)

    def exists(self, *arguments: Any, **options: Any) -> Any:
        self._wait("list")
        return super().exists(*arguments, **options)


@pytest.fixture
def url() -> Iterator[str]:
    fsspec.register_implementation("hanging", Hanging, clobber=True)
    Hanging.open_.set()
    yield "hanging://deadlines"
    Hanging.open_.set()
    Hanging.store.clear()


def test_every_call_ends_at_its_deadline_and_works_again_later(url: str) -> None:
    files = BlobFiles(url, seconds=PATIENCE)
    files.write("a/b", [b"bytes"])
    Hanging.open_.clear()
    files._seconds = 0.05
    for call in (lambda: files.read("a/b"), lambda: files.names("a"), lambda: files.tree("a"), lambda: files.write("a/c", [b"other"])):
        with pytest.raises(TimeoutError, match=r"deadlines/a.* no answer within 0.05 s"):
            call()
    Hanging.open_.set()
    until(lambda: not Hanging.waiting, "the hanging calls have returned")
    files._seconds = PATIENCE
    assert files.read("a/b") == b"bytes"
    assert files.names("a")[0] == "b"


def test_calls_that_hang_are_limited(url: str) -> None:
    files = BlobFiles(url, seconds=0.02)
    Hanging.open_.clear()
    for _ in range(MOST_CALLS + 3):
        with pytest.raises(TimeoutError):
            files.names("a")
    until(lambda: len(Hanging.waiting) == MOST_CALLS, "all calls hang")
    with pytest.raises(TimeoutError, match="earlier calls have not returned"):
        files.names("a")


def test_the_deadline_grows_with_the_bytes_to_move(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files, bounds, run = BlobFiles(url, seconds=PATIENCE), list[float](), Calls.run

    def bounded(calls: Calls, what: str, work: Callable[[], Any], seconds: float) -> Any:
        bounds.append(seconds)
        return run(calls, what, work, seconds)

    monkeypatch.setattr(Calls, "run", bounded)
    files.write("o", [bytes(5_000_000)])
    files.read("o")
    assert bounds == [PATIENCE + 5_000_000 / SLOWEST, PATIENCE, PATIENCE + 5_000_000 / SLOWEST], "the second one asks for the size"


def test_errors_of_the_file_system_stay_what_they_are(url: str) -> None:
    store = CheckpointStore(url)
    with pytest.raises(BadObject, match="not found"):
        store.read_object("nothing")
    with pytest.raises(BadObject, match="not found"):
        store.read_manifest("nothing")
    with pytest.raises(FileNotFoundError):
        store.blobs.remove("nothing")
    assert store.blobs.tree("nothing") == []
    assert store.manifests(0) == []


def test_an_error_of_a_driver_that_is_no_error_of_files_becomes_one(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("HTTP 503")

    files = BlobFiles(url)
    files.write("a/b", [b"bytes"])
    for call in ("cat_file", "open", "exists", "rm_file"):
        monkeypatch.setattr(Hanging, call, fail)
    for act in (lambda: files.read("a/b"), lambda: files.names("a"), lambda: files.write("a/c", [b"other"]), lambda: files.remove("a/b")):
        with pytest.raises(OSError, match=r"/a.*: ValueError: HTTP 503"):
            act()


def test_what_callers_hold_is_freed_when_an_error_is_handled(url: str) -> None:
    """Not by the garbage collector, which seldom runs: each file of history that was looked for kept a window of 4 MB in memory."""
    blobs = BlobFiles(url)

    class Held:
        """Something large."""

    def caller() -> "weakref.ref[Held]":
        held = Held()
        with suppress(FileNotFoundError):
            blobs.read_range("missing", 0, 1)
        return weakref.ref(held)

    gc.disable()
    try:
        held = caller()
        until(lambda: held() is None, "the thread of the call has ended")
    finally:
        gc.enable()


def test_calls_that_found_no_thread_take_no_place(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = BlobFiles(url, seconds=PATIENCE)
    files.write("a/b", [b"bytes"])

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(MOST_CALLS):
            with pytest.raises(OSError, match="can't start new thread"):
                files.read("a/b")
    assert files.read("a/b") == b"bytes"


def test_a_call_that_hangs_does_not_keep_the_process_from_ending() -> None:
    program = textwrap.dedent("""
        import threading
        from fsspec.implementations.memory import MemoryFileSystem
        from services.checkpoints.blob_files import BlobFiles
        MemoryFileSystem.exists = lambda *_: threading.Event().wait()
        try:
            BlobFiles("memory://x", seconds=0.05).names("a")
        except TimeoutError:
            print("ended")
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "ended\n"
