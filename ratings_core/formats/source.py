"""Files named by a path: opened once, unpacked, and read from the beginning several times."""

import hashlib
import io
import os
import shutil
import stat
import tempfile
from io import BufferedRandom, BufferedReader
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import HEAD_BYTES, MAX_LINE_BYTES, unpacked


class FileSource:
    """An open file. Its readers are independent. Anything but a regular file, such as a pipe, is first copied to a temporary file.

    As a context manager, it adds the name of the file to each `FormatError` that leaves the block.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = _opened(path)
        except OSError as error:
            raise InputError("file", str(path), f"must be readable ({error.strerror})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        if isinstance(error, FormatError) and error.file is None:
            raise error.within(self.path.name) from error

    def reader(self) -> BufferedReader:
        """A reader of the unpacked bytes from the beginning."""
        return unpacked(cast("BinaryIO", _FromBeginning(self._file)))

    def content_hash(self) -> str:
        """SHA-256 of the file's bytes, before unpacking."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    @property
    def stamp(self) -> tuple[int, int]:
        """Size of the file and time of its last change. They stay equal until the file is written."""
        held = os.fstat(self._file.fileno())
        return held.st_size, held.st_mtime_ns

    def head(self) -> bytes:
        """Complete lines from the beginning, at least two if the file has them. A cut line could hide part of a column's name."""
        reader = self.reader()
        data = reader.read(HEAD_BYTES)
        if len(data) < HEAD_BYTES:
            return data
        while data.count(b"\n") < 2 and (more := reader.readline(MAX_LINE_BYTES)):
            data += more
        return data[: data.rfind(b"\n") + 1] or data


class _FromBeginning(io.RawIOBase):
    """The bytes of an open file, with their own position."""

    def __init__(self, file: BufferedReader | BufferedRandom) -> None:
        super().__init__()
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: os.fstat(self._file.fileno()).st_size}[whence]
        self._at = begin + offset
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = os.pread(self._file.fileno(), len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _opened(path: Path) -> BufferedReader | BufferedRandom:
    file = path.open("rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    with file:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
        shutil.copyfileobj(file, copy)
        copy.flush()
    return copy
