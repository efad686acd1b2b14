"""Streaming reader for JSON files: items of an array, JSON lines, or consecutive values, one at a time.

An array is parsed while it is read. Memory holds one item, of at most `MAX_LINE_BYTES` characters, and a piece of the file.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import MAX_LINE_BYTES, head, text_lines

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PIECE: Final = 1 << 16
_TOKEN: Final = 16
"""Longer than any literal of JSON. An error farther than this from the end of the text read so far is not caused by a cut literal."""
_SHOWN: Final = 60


def json_rows(stream: io.BufferedReader) -> Iterator[tuple[int, Any]]:
    """Yield (row, value) for each item of a JSON array (row: number from 1) or each nonblank line of JSON lines (row: line number).

    Raises `FormatError` with the row.
    """
    return _array(_Text(stream)) if starts_array(stream) else _lines(stream)


def json_values(stream: io.BufferedReader) -> Iterator[tuple[int, Any]]:
    """Yield (number from 1, value) for each item of a JSON array, or for consecutive values. A value can span several lines."""
    return _array(_Text(stream)) if starts_array(stream) else _row_of_values(_Text(stream))


def content(value: Any, row: int) -> str:
    """Canonical JSON text of `value`, for ids. Raises `FormatError`."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except RecursionError as error:
        raise FormatError(row, None, f"{type(value).__name__}", "must be nested less deeply") from error


def starts_array(stream: io.BufferedReader) -> bool:
    """Whether the file starts with a JSON array."""
    return head(stream).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def _lines(stream: io.BufferedReader) -> Iterator[tuple[int, Any]]:
    for number, line in text_lines(stream):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FormatError(number, None, line[:_SHOWN], f"must be JSON ({error})") from error


def _array(text: "_Text") -> Iterator[tuple[int, Any]]:
    text.take("[")
    if text.next() == "]":
        text.take("]")
    else:
        while True:
            yield text.number, text.value()
            if text.next() != ",":
                break
            text.take(",")
        text.take("]")
    if text.next():
        raise text.error("must end with its JSON array")


def _row_of_values(text: "_Text") -> Iterator[tuple[int, Any]]:
    while text.next():
        yield text.number, text.value()


class _Text:
    """Window on the text of the file. number: number of the next value, from 1."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._ended = "", 0, False
        self._bytes = 0
        self.number = 1

    def next(self) -> str:
        """The next character that is not white space; it remains unread. Empty at the end of the file."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, character: str) -> None:
        if self.next() != character:
            raise self.error(f"must be items of a JSON array, with {character} at this position")
        self._at += 1

    def value(self) -> Any:
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_broken(error) or not self._more():
                    raise self.error(f"must be JSON ({error.msg})") from error
            except (ValueError, RecursionError) as error:
                raise self.error(f"must be JSON ({error})") from error
            else:
                if end + len("e+") < len(self._text) or not self._more():  # the text 1 can be the beginning of 1.5e+7
                    self._at = end
                    self.number += 1
                    return value

    def error(self, rule: str) -> FormatError:
        return FormatError(self.number, None, self._text[self._at : self._at + _SHOWN], rule)

    def _is_broken(self, error: json.JSONDecodeError) -> bool:
        """Whether the value is invalid regardless of the text that follows."""
        return error.pos < len(self._text) - _TOKEN and not error.msg.startswith("Unterminated string")

    def _more(self) -> bool:
        """Read at least as many characters as are unparsed, so that the cost of a long value is linear. Returns whether it read."""
        held = len(self._text) - self._at
        if self._ended or held > MAX_LINE_BYTES:
            return False
        piece = self._stream.read(max(_PIECE, held))
        self._ended = not piece
        self._text, self._at = self._text[self._at :] + self._decoded(piece), 0
        return True

    def _decoded(self, piece: bytes) -> str:
        pending = len(self._decode.getstate()[0])
        try:
            return self._decode.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            at, shown = self._bytes - pending + error.start, error.object[error.start : error.start + 8]
            raise FormatError(self.number, None, shown, f"must be UTF-8 (byte {at} of the file is not)") from error
        finally:
            self._bytes += len(piece)
