"""Files under one fsspec URL, which is a folder or an object store. Every call has a deadline, because a file system can hang."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

import fsspec
from fsspec.implementations.arrow import ArrowFSWrapper
from fsspec.implementations.local import LocalFileSystem

from services.runtime.atomic_write import sync
from services.runtime.deadlines import Calls
from services.runtime.object_stores import OBJECT_STORES, open_file_system, scheme_of

T = TypeVar("T")

CALL_SECONDS: Final = 60.0
"""Deadline in seconds of a call that transfers no data. It includes retries by the library of an object store."""
SLOWEST: Final = 1_000_000
"""Slowest accepted transfer rate in bytes a second. It extends the deadline of a call that transfers data."""
MOST_CALLS: Final = 8
"""Maximal number of concurrent calls, including calls that hang. Further calls wait for one of them to return, until their deadline."""


class BlobFiles:
    """Files under `url`, by names relative to it. Every method raises `OSError` for a failure, and `TimeoutError` past its deadline.

    Args:
        url: A folder, a URL of one of the `OBJECT_STORES`, or any other URL that fsspec has a driver for.
        seconds: Deadline of a call that transfers no data.

    """

    def __init__(self, url: str, seconds: float = CALL_SECONDS) -> None:
        try:
            self._fs, self._root = _resolve_url(url)
        except (ValueError, ImportError) as error:
            raise OSError(f"no files can be kept at {url}: {error}") from error
        self._seconds, self._calls = seconds, Calls(MOST_CALLS, "blob-files")

    @property
    def is_local(self) -> bool:
        """Whether the URL names a folder of a mounted file system, not an object store."""
        return isinstance(self._fs, LocalFileSystem)

    def names(self, folder: str) -> list[str]:
        """Names of the entries of a folder, without the folder's path; empty if the folder does not exist."""

        def list_names() -> list[str]:
            path = self._path(folder)
            return [entry.rsplit("/", 1)[-1] for entry in self._fs.ls(path, detail=False)] if self._fs.exists(path) else []

        return self._call(folder, list_names)

    def tree(self, folder: str) -> list[str]:
        """Names of all files in a folder and its subfolders, sorted; empty if the folder does not exist."""

        def find_files() -> list[str]:
            path = self._path(folder)
            return sorted(f"{folder}/{file[len(path) + 1 :]}" for file in self._fs.find(path)) if self._fs.exists(path) else []

        return self._call(folder, find_files)

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises `FileNotFoundError`."""
        path = self._path(name)
        size: int = self._call(name, lambda: self._fs.size(path)) or 0
        data: bytes = self._call(name, lambda: self._fs.cat_file(path), size)
        return data

    def read_range(self, name: str, start: int, stop: int) -> bytes:
        """The bytes of a file from `start` up to `stop`, or fewer if the file ends. Raises `FileNotFoundError`."""
        path = self._path(name)
        data: bytes = self._call(name, lambda: self._fs.cat_file(path, start=start, end=stop), stop - start)
        return data

    def map(self, name: str) -> memoryview:
        """The bytes of a local file, mapped into memory. Raises `FileNotFoundError`.

        The mapping keeps no descriptor open, so their limit does not bound the number of mapped files. Python's mmap would keep one.
        """
        import pyarrow as pa  # noqa: PLC0415 - most programs that write files map none

        def map_file() -> memoryview:
            with pa.memory_map(self._path(name), "r") as file:
                return memoryview(file.read_buffer()).cast("B")

        return self._call(name, map_file)

    def write(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        """Write a file. After a failed write the partial file is removed.

        On a local disk, the content is on the disk afterwards; `sync` makes its name durable.
        """
        path = self._path(name)
        try:
            self._call(name, lambda: self._write(path, parts), sum(len(part) for part in parts))
        except OSError as error:
            with suppress(OSError):  # on a full disk, the partial file would take space from the next write
                self.remove(name)
            if error.filename is None and error.errno is not None:
                error.filename = path
            raise

    def sync(self, *folders: str) -> None:
        """Make the names of the files in `folders`, and the folders themselves, durable. Only a local disk needs this."""
        if self.is_local:
            root = Path(self._root)
            every = [path for folder in folders for path in (root / folder, *(root / folder).parents)]
            within = dict.fromkeys(path for path in every if path.is_relative_to(root.parent))
            self._call("", lambda: sync(filter(Path.is_dir, within)))

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
        """Return `work()`, which transfers `size` bytes. Every exception of the driver becomes `OSError`, except for `MemoryError`."""
        path = self._path(name)
        try:
            return self._calls.run(path, work, self._seconds + size / SLOWEST)
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise OSError(f"{path}: {type(error).__name__}: {error}") from error


def _resolve_url(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system of a URL, and the path in it."""
    if scheme_of(url) not in OBJECT_STORES:
        file_system, folder = fsspec.core.url_to_fs(url)
        return file_system, unquote(folder) if scheme_of(url) == "file" else folder
    store, path = open_file_system(url)
    return ArrowFSWrapper(store), path
