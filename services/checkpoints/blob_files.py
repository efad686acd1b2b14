"""Files under one fsspec URL: a folder or an object store, which may hang. Every call has a deadline."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

import fsspec
from fsspec.implementations.arrow import ArrowFSWrapper
from fsspec.implementations.local import LocalFileSystem

from services.runtime.deadlines import Calls
from services.runtime.object_stores import OBJECT_STORES, open_file_system, scheme_of

T = TypeVar("T")

CALL_SECONDS: Final = 60.0
"""Deadline of a call that moves no data. Libraries of object stores try again within it."""
SLOWEST: Final = 1_000_000
"""Bytes a second: the deadline of a call that moves data is later by the time that this rate takes."""
MOST_CALLS: Final = 8
"""Calls at once, those among them that hang. Further ones wait for a place, and fail at their deadline."""


class BlobFiles:
    """Files under `url`, by their names relative to it. All raise `OSError`; past a deadline it is `TimeoutError`.

    Args:
        url: A folder, a URL of one of the `OBJECT_STORES`, or any other URL that fsspec has a driver for.
        seconds: Deadline of a call.

    """

    def __init__(self, url: str, seconds: float = CALL_SECONDS) -> None:
        try:
            self._fs, self._root = _file_system(url)
        except (ValueError, ImportError) as error:
            raise OSError(f"no files can be kept at {url}: {error}") from error
        self._seconds, self._calls = seconds, Calls(MOST_CALLS, "blob-files")

    @property
    def is_local(self) -> bool:
        """Whether only this machine sees them, however the URL spells it."""
        return isinstance(self._fs, LocalFileSystem)

    def names(self, folder: str) -> list[str]:
        """Last parts of the names in a folder; none where it does not exist."""

        def listed() -> list[str]:
            path = self._path(folder)
            return [one.rsplit("/", 1)[-1] for one in self._fs.ls(path, detail=False)] if self._fs.exists(path) else []

        return self._call(folder, listed)

    def tree(self, folder: str) -> list[str]:
        """Names of all files under a folder, sorted."""

        def found() -> list[str]:
            path = self._path(folder)
            return sorted(f"{folder}/{one[len(path) + 1 :]}" for one in self._fs.find(path)) if self._fs.exists(path) else []

        return self._call(folder, found)

    def read(self, name: str) -> bytes:
        """A file's bytes. Raises `FileNotFoundError`."""
        path = self._path(name)
        size: int = self._call(name, lambda: self._fs.size(path)) or 0
        data: bytes = self._call(name, lambda: self._fs.cat_file(path), size)
        return data

    def map(self, name: str) -> bytes | mmap:
        """The bytes of a local file, mapped into memory. Raises `FileNotFoundError`."""

        def mapped() -> bytes | mmap:
            with Path(self._path(name)).open("rb") as file:
                return mmap(file.fileno(), 0, access=ACCESS_READ) if os.fstat(file.fileno()).st_size else b""

        return self._call(name, mapped)

    def write(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        """Write a file; on a local disk it is durable afterwards. What a failed write left is removed."""
        path = self._path(name)
        try:
            self._call(name, lambda: self._write(path, parts), sum(len(part) for part in parts))
        except OSError as error:
            with suppress(OSError):  # on a full disk it would keep the next one from its room
                self.remove(name)
            if error.filename is None and error.errno is not None:
                error.filename = path
            raise

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._call(name, lambda: self._fs.rm_file(self._path(name)))

    def _write(self, path: str, parts: Sequence[bytes | memoryview]) -> None:
        if not isinstance(self._fs, ArrowFSWrapper):  # an object store has no folders
            self._fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        with self._fs.open(path, "wb") as file:
            for part in parts:
                file.write(part)
            if self.is_local:
                file.flush()
                os.fsync(file.fileno())

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _call(self, name: str, work: Callable[[], T], size: int = 0) -> T:
        """Return `work()`, which moves `size` bytes. Raises `OSError`, whatever the driver raises, and `MemoryError`."""
        path = self._path(name)
        try:
            return self._calls.run(path, work, self._seconds + size / SLOWEST)
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise OSError(f"{path}: {type(error).__name__}: {error}") from error


def _file_system(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system that a URL names, and the path in it."""
    if scheme_of(url) not in OBJECT_STORES:
        other, folder = fsspec.core.url_to_fs(url)
        return other, unquote(folder) if scheme_of(url) == "file" else folder
    store, path = open_file_system(url)
    return ArrowFSWrapper(store), path
