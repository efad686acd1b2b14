"""Texts that somebody sends to hold a process, and a measure of how the time to read them grows."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

MOST_BYTES: Final = 1 << 20
_LADDER: Final = (1 << 14, 1 << 16, 1 << 18, MOST_BYTES)
_STEP: Final = 4
_MOST_GROWTH: Final = 3.0
"""Of the time beyond the size's own growth: linear is 1, n log n hardly more, a table that outgrows the cache up to 2.7, quadratic 4."""
_FLOOR_SECONDS: Final = 0.15
"""Shorter times hold nobody, and measure the cache of the processor instead of the algorithm."""
_TRIES: Final = 5


def _filled(head: bytes, part: bytes, tail: bytes, size: int) -> bytes:
    return head + part * max(0, (size - len(head) - len(tail)) // len(part)) + tail


def _numbered(head: bytes, part: bytes, tail: bytes, size: int) -> bytes:
    """As `_filled`, with a number of seven digits for %d in each part, so that all of them differ."""
    count = max(0, (size - len(head) - len(tail)) // (len(part) + 5))
    return head + b"".join([part % (1_000_000 + i) for i in range(count)]) + tail


def _repeats(head: bytes, part: bytes, tail: bytes) -> Callable[[int], bytes]:
    return lambda size: _filled(head, part, tail, size)


def _counts(head: bytes, part: bytes, tail: bytes) -> Callable[[int], bytes]:
    return lambda size: _numbered(head, part, tail, size)


_HEAD: Final = b'{"v":1,"id":"x","pool":"p","time":1,'
_PAIR: Final = b'[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]'
_ITEM: Final = b'{"v":1,"id":"i%d","pool":"p","time":1,"sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'

JSON_FAMILIES: Final[Mapping[str, Callable[[int], bytes]]] = {
    "quotes": _repeats(b"", b'"', b""),
    "escaped quotes in an open string": _repeats(b'"', b'\\"', b""),
    "escaped quotes": _repeats(b'"', b'\\"', b'"'),
    "escaped quotes as an id": _repeats(_HEAD[:14], b'\\"', b'"}'),
    "backslashes in an open string": _repeats(b'"', b"\\", b""),
    "strings that a backslash joins": _repeats(b'["', b'\\\\",\\"', b""),
    "an open string": _repeats(b'"', b"a", b""),
    "open brackets": _repeats(b"", b"[", b""),
    "open objects": _repeats(b"", b'{"a":', b""),
    "brackets in an open string": _repeats(b'[["', b"[", b""),
    "flat arrays": _repeats(b"[", b"[],", b"[]]"),
    "empty objects": _repeats(b"[", b"{},", b"{}]"),
    "zeros": _repeats(b"[", b"0,", b"0]"),
    "digits": _repeats(b"", b"9", b""),
    "minuses": _repeats(b"", b"-", b""),
    "digits as a time": _repeats(b'{"v":1,"id":"x","pool":"p","retracts":"y","time":', b"9", b"}"),
    "digits of a fraction": _repeats(b'{"v":1,"id":"x","pool":"p","retracts":"y","time":0.', b"3", b"}"),
    "zeros of a fraction": _repeats(b'{"v":1,"id":"x","pool":"p","retracts":"y","time":0.', b"0", b"1}"),
    "zeros of an exponent": _repeats(b'{"v":1,"id":"x","pool":"p","retracts":"y","time":1e', b"0", b"1}"),
    "digits of an exponent": _repeats(b'{"v":1,"id":"x","pool":"p","retracts":"y","time":1e', b"9", b"}"),
    "exponents": _repeats(b"[", b"1e308,", b"1]"),
    "tiny exponents": _repeats(b"[", b"1e-320,", b"1]"),
    "whole numbers of 300 digits": _repeats(b"[", b"9" * 300 + b",", b"1]"),
    "digits as a place": _repeats(_HEAD + b'"sides":[{"agents":["a"],"place":', b"1", b'},{"agents":["b"],"place":2}]}'),
    "one key again and again": _repeats(b"{", b'"v":1,', b'"v":1}'),
    "id again and again": _repeats(b"{", b'"id":"x",', b'"v":1}'),
    "unknown keys": _counts(b'{"v":1,"retracts":"x"', b',"k%d":1', b"}"),
    "a long id": _repeats(b'{"v":1,"id":"', b"a", b'"}'),
    "a long key": _repeats(b'{"v":1,"retracts":"x","', b"k", b'":1}'),
    "a long pool": _repeats(b'{"v":1,"id":"x","time":1,"retracts":"y","pool":"', b"a", b'"}'),
    "a long pool of parts": _repeats(b'{"v":1,"id":"x","time":1,"retracts":"y","pool":"', b"a.", b'"}'),
    "a name of escapes": _repeats(_HEAD + b'"retracts":"', b"\\u00e9", b'"}'),
    "a name of combining marks": _repeats(_HEAD + b'"retracts":"a', "\u0301\u0323".encode(), b'"}'),
    "a name of spaces": _repeats(_HEAD + b'"retracts":"', b" ", b'a"}'),
    "half surrogate pairs": _repeats(_HEAD + b'"retracts":"', b"\\ud800", b'"}'),
    "items that are half a surrogate pair": _repeats(b"[", b'"\\ud800",', b'"x"]'),
    "half a surrogate pair among objects": _repeats(b'["\\ud800"', b",{}", b"]"),
    "scores": _counts(_HEAD + b'"task":"t","scores":{', b'"a%d":1,', b'"z":1}}'),
    "scores, the last one wrong": _counts(_HEAD + b'"task":"t","scores":{', b'"a%d":1,', b'"z":"1"}}'),
    "scores of one agent": _repeats(_HEAD + b'"task":"t","scores":{', b'"a":1,', b'"a":1}}'),
    "agents": _counts(_HEAD + b'"sides":[{"agents":["z"', b',"a%d"', b'],"place":1},{"agents":["b"],"place":2}]}'),
    "one agent": _repeats(_HEAD + b'"sides":[{"agents":["z"', b',"z"', b'],"place":1},{"agents":["b"],"place":2}]}'),
    "sides": _counts(_HEAD + b'"sides":[{"agents":["z"],"place":1}', b',{"agents":["a%d"],"place":1}', b"]}"),
    "nested meta": lambda size: _HEAD + b'"sides":' + _PAIR + b',"meta":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}",
    "quotes in meta": _repeats(_HEAD + b'"sides":' + _PAIR + b',"meta":"', b'\\"', b'"}'),
    "spaces": _repeats(b"", b" ", b"x"),
    "spaces in an object": _repeats(b"{", b" ", b'"v":1}'),
    "bytes that are no UTF-8": _repeats(b'"', b"\xff", b'"'),
    "half a character at the end": _repeats(b'"', b"a", b"\xc3"),
    "zero bytes": _repeats(b"", b"\0", b""),
    "outcomes": _counts(b"[" + _ITEM % 1, b"," + _ITEM, b"]"),
    "outcomes with a wrong place": _counts(b"[" + _ITEM % 1, b"," + _ITEM.replace(b'"place":2', b'"place":2.5'), b"]"),
    "outcomes with an unknown field": _counts(b"[" + _ITEM % 1, b"," + _ITEM[:-1] + b',"x":1}', b"]"),
    "outcomes of other pools": _counts(b"[" + _ITEM % 1, b"," + _ITEM.replace(b'"i%d","pool":"p"', b'"i","pool":"p%d"'), b"]"),
    "outcomes without ids": _repeats(b"[" + _ITEM % 1, b"," + _ITEM.replace(b'"id":"i%d",', b""), b"]"),
    "retractions": _counts(b"[" + _ITEM % 1, b',{"v":1,"id":"r%d","pool":"p","time":0,"retracts":"b"}', b"]"),
}
"""Name -> the text of about so many bytes."""


def fitting(make: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """A family that keeps within the size of a record: what is larger is refused by its length alone."""
    return lambda size: make(min(size, MOST_BYTES) - 512)


def growth(make: Callable[[int], bytes], read: Callable[[bytes], object], most: int = MOST_BYTES) -> str | None:
    """How much faster than the text's size the time to read it grows, in words; None where it does not.

    CPU time of this thread at sizes four times one another up to `most`, the least of some tries: another process makes it hardly longer.
    """
    before = None
    with _uncollected():
        for size in (size for size in _LADDER if size <= most):
            data = make(size)
            seconds = _cpu(read, data)
            if before is not None:
                allowed = max(_STEP * _MOST_GROWTH * before, _FLOOR_SECONDS)
                for _ in range(_TRIES):
                    if seconds <= allowed:
                        break
                    seconds = min(seconds, _cpu(read, data))
                if seconds > allowed:
                    return f"{len(data)} bytes took {seconds:.3f} s, a quarter of them {before:.3f} s"
            before = seconds
    return None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which would also walk what other tests left."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _cpu(read: Callable[[bytes], object], data: bytes) -> float:
    began = time.thread_time()
    read(data)
    return time.thread_time() - began
