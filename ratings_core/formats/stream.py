"""Files as streams: decompressed bytes (gzip, Zstandard) and lines of text.

Readers take a binary stream and keep one row of it in memory (a line of at most `MAX_LINE_BYTES`), so files larger than memory can be read.
"""

import io
from collections.abc import Iterator
from typing import BinaryIO, Final, TypeAlias, cast

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError

MAX_LINE_BYTES: Final = 1 << 26
"""Longest accepted line of text. It limits the memory that an invalid file can use."""
Source: TypeAlias = str | io.BufferedReader
"""A text, or a stream as `unpacked` returns it."""
HEAD_BYTES: Final = 1 << 16
"""Largest number of bytes that `head` returns."""
_PACKED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_NOT_READ: Final = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
NOT_UTF8: Final = "must be UTF-8 text (iconv -f latin1 -t utf-8 FILE > NEW turns Latin-1 into it)"
_MARK: Final = b"\xef\xbb\xbf"
_SHOWN: Final = 40


def byte_stream(source: object) -> io.BufferedReader:
    """Return `source` if it is a stream of bytes. Raises `InputError` otherwise, including for a path and a file opened as text."""
    if isinstance(source, io.TextIOBase) or not callable(getattr(source, "readline", None)):
        raise InputError("source", source, "must be a stream of bytes (open the file with 'rb')")
    return cast("io.BufferedReader", source)


def unpacked(stream: BinaryIO) -> io.BufferedReader:
    """Open a file that may be compressed.

    Compression (gzip or Zstandard) is recognized by the first bytes. Several members or frames in a row count as one file.

    Args:
        stream: The file, at its beginning. It is left open.

    Returns:
        The decompressed bytes. Reading them raises `InputError` if compressed data is damaged or ends too early.

    Raises:
        InputError: `stream` gives no bytes, or the file has another compression.
    """
    plain: io.BufferedReader = io.BufferedReader(_Filled(byte_stream(stream)), HEAD_BYTES)
    first = plain.peek()[:6]
    if (other := next((name for magic, name in _NOT_READ.items() if first.startswith(magic)), None)) is not None:
        raise InputError("file", other, "must be uncompressed, or compressed with gzip or Zstandard")
    method = next((name for magic, name in _PACKED.items() if first.startswith(magic)), None)
    if method is None:
        return plain
    import pyarrow as pa  # noqa: PLC0415 - takes time to load

    return io.BufferedReader(_Filled(pa.CompressedInputStream(pa.PythonFile(plain, mode="r"), method)), HEAD_BYTES)


def head(stream: io.BufferedReader) -> bytes:
    """The first bytes of the file, up to 64 KiB. They remain unread. stream: as `unpacked` returns it. Raises `InputError`."""
    if not callable(getattr(stream, "peek", None)):
        raise InputError("stream", stream, "must be a stream of bytes, as `unpacked` returns")
    return stream.peek()


def text_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) for each line that ends with LF or CR LF.

    `str.splitlines` is not used because it also splits at characters that JSON allows in texts. A byte order mark at the beginning is
    removed. Raises `FormatError` for a line that is not UTF-8 or too long.
    """
    for number, line in enumerate(_raw_lines(stream), 1):
        yield number, decoded(line, number).removesuffix("\n").removesuffix("\r")


class _Filled(io.RawIOBase):
    """Stream that fills each buffer completely, except at the end. A peek is then complete for pipes and compressed files, too."""

    def __init__(self, source: BinaryIO) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._source.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._source.seek(offset, whence)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        done = 0
        try:
            while done < len(buffer) and (piece := self._source.read(len(buffer) - done)):
                buffer[done : done + len(piece)] = piece
                done += len(piece)
        except OSError as error:
            raise InputError("file", str(error), "must be readable to its end, and complete if it is compressed") from error
        return done


def _raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    number, source = 0, byte_stream(stream)
    while line := source.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise FormatError(number, None, line[:_SHOWN], f"must be a line of at most {MAX_LINE_BYTES} bytes")
        yield line.removeprefix(_MARK) if number == 1 else line


def decoded(line: bytes, number: int) -> str:
    """The text of a line. Raises `FormatError` for a line that is not UTF-8. number: its number, from 1."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        rule = f"must be UTF-8 text (byte {error.start + 1} of the line is not; iconv -f latin1 -t utf-8 turns Latin-1 into it)"
        raise FormatError(number, None, line[max(error.start - _SHOWN // 2, 0) : error.start + _SHOWN // 2], rule) from error
