"""Hostile texts that try to block a process, and a measure of the growth of reading time with the size of a text."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

MOST_BYTES: Final = 1 << 20
_LADDER: Final = (1 << 14, 1 << 16, 1 << 18, MOST_BYTES)
_STEP: Final = 4
_MOST_GROWTH: Final = 3.0
"""Maximum growth of the time, divided by the growth of the size. It is 1 for linear time, slightly more for n log n, up to 2.7 for a table
that becomes larger than the cache, and 4 for quadratic time."""
_FLOOR_SECONDS: Final = 0.15
"""Shorter times are always allowed: they block no process, and depend on the processor's cache more than on the algorithm."""
_TRIES: Final = 5


def _filled(head: bytes, part: bytes, tail: bytes, size: int) -> bytes:
    return head + part * max(0, (size - len(head) - len(tail)) // len(part)) + tail


def _numbered(head: bytes, part: bytes, tail: bytes, size: int) -> bytes:
    """As `_filled`, but in each part a different number of seven digits replaces %d."""
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
"""Name -> function that makes a text of about the given size in bytes."""


def fitting(make: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Limit a family's texts to the size of a record, because longer records are refused without being read."""
    return lambda size: make(min(size, MOST_BYTES) - 512)


def growth(make: Callable[[int], bytes], read: Callable[[bytes], object], most: int = MOST_BYTES) -> str | None:
    """Measure whether the time to read a text grows too fast with its size.

    CPU time of this thread is measured at sizes that grow by a factor of 4. A time that is too long is measured up to 5 more times, and the
    shortest one counts, so that other processes have little effect.

    Args:
        make: Makes a text of about the given size in bytes.
        read: Reads a text.
        most: Largest size in bytes.

    Returns:
        Description of the first growth above the limit; None if all are within it.
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
    """Disable the garbage collector, because it would also visit objects of other tests."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _cpu(read: Callable[[bytes], object], data: bytes) -> float:
    began = time.thread_time()
    read(data)
    return time.thread_time() - began
