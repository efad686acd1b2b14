"""Files named on the command line: opened once, unpacked, and read from the beginning several times."""

import hashlib
import os
import shutil
import stat
import tempfile
from io import BufferedRandom, BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ratings_core.errors import InputError
from ratings_core.formats import FileKind, FormatError, guess, unpacked
from ratings_core.formats.kinds import TABLES
from ratings_core.formats.parquet import MAGIC, parquet_columns
from ratings_core.formats.stream import HEAD_BYTES, MAX_LINE_BYTES
from services.imports.exported import EXPORTED, is_exported_csv

_TAKEN: Final = " (taken for scores, one column an agent; --input and --column name what else it is)"
"""Addition to an error's file name. A table with an unknown header is taken for scores, because scores may have any header."""


class Source:
    """An open file with one reader at a time. Anything but a regular file, such as a pipe, is first copied to a temporary file.

    As a context manager, it adds the name of the file to each `FormatError` that leaves the block.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._unknown_header = path, False
        try:
            self._file = _opened(path)
        except OSError as error:
            raise InputError("file", str(path), f"must be readable ({error.strerror})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        if isinstance(error, FormatError) and error.file is None:
            raise error.within(self.path.name + (_TAKEN if self._unknown_header else "")) from error

    def reader(self) -> BufferedReader:
        """A reader of the unpacked bytes from the beginning. The previous reader must not be used any more."""
        self._file.seek(0)
        return unpacked(self._file)

    def kind(self, kind: FileKind | None = None, delimiter: str = ",") -> FileKind:
        """`kind`, or the kind guessed from the file's name and beginning. delimiter: Separator of a table's cells.

        Raises `InputError` if the kind cannot be guessed, or if it is not a table and the delimiter is not a comma.
        """
        found = kind or self._guessed(delimiter)
        self._unknown_header = kind is None and found is FileKind.SCORES
        if delimiter != "," and found not in TABLES:
            raise InputError("delimiter", delimiter, f"must be left out for {found}, which is no table")
        return found

    def _guessed(self, delimiter: str) -> FileKind:
        """The kind guessed from name and beginning. Exports are recognized by their columns."""
        first = self._head()
        exported = set(parquet_columns(self.reader())) >= EXPORTED if first.startswith(MAGIC) else is_exported_csv(first)
        if exported:
            return FileKind.OUTCOMES
        return guess(self.path.name, first.decode(errors="replace"), delimiter)

    def content_hash(self) -> str:
        """SHA-256 of the file's bytes, before unpacking."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    @property
    def stamp(self) -> tuple[int, int]:
        """Size of the file and time of its last change. They stay equal until the file is written."""
        found = os.fstat(self._file.fileno())
        return found.st_size, found.st_mtime_ns

    def _head(self) -> bytes:
        """Complete lines from the beginning, at least two if the file has them. A cut line could hide part of a column's name."""
        reader = self.reader()
        data = reader.read(HEAD_BYTES)
        if len(data) < HEAD_BYTES:
            return data
        while data.count(b"\n") < 2 and (more := reader.readline(MAX_LINE_BYTES)):
            data += more
        return data[: data.rfind(b"\n") + 1] or data


def _opened(path: Path) -> BufferedReader | BufferedRandom:
    file = path.open("rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    with file:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
        shutil.copyfileobj(file, copy)
    return copy
