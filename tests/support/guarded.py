"""Run the scanner of game records on memory before a guarded page: a read or write past the end of the memory causes SIGSEGV.

`python -m tests.support.guarded SEED COUNT` scans polls of valid, cut, changed and hostile records. The last end marker of a poll is the
last byte before a guarded page, and all columns end at guarded pages. It prints the number of polls, and of those with plain records.
`python -m tests.support.guarded short SEED COUNT` does the same without the last end marker, with columns that are too small.
`python -m tests.support.guarded past-the-end` reads one byte past the end, to show that this ends the process.
"""

import ctypes
import json
import math
import mmap
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from services.wire.rules import MAX_RECORD_BYTES
from services.wire.scanning import buffers, games
from services.wire.scanning.buffers import COUNTS, OUTCOMES, ColumnBuffers
from services.wire.scanning.values import END
from tests.support.hostile import JSON_FAMILIES

_PAGE: Final = mmap.PAGESIZE
_PROT_NONE: Final = 0
_PIECES: Final = (b'"', b"\\", b"\\u", b"\\u00", b"{", b"[", b",", b":", b"-", b"1e", b".", b"nul", b"\0", b"\x80", b'"v":1,')
_NAMES: Final = ("a", "é", "agent ", "\U0001f600")
_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def guarded(size: int) -> NDArray[np.uint8]:
    """Array uint8 (size,) that ends at a guarded page. This page can be neither read nor written."""
    pages = -(-max(size, 1) // _PAGE)
    memory = mmap.mmap(-1, (pages + 1) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    if _libc.mprotect(int(whole.ctypes.data) + pages * _PAGE, _PAGE, _PROT_NONE):
        raise OSError(ctypes.get_errno(), "mprotect")
    return whole[pages * _PAGE - size : pages * _PAGE]


_KEPT: Final[dict[int, list[NDArray[np.uint8]]]] = defaultdict(list)
"""Number of pages -> memory before guarded pages. Polls reuse the memory of earlier polls, because mapping memory takes time."""


class _Guarded:
    """The module numpy with another `empty`, whose arrays end at a guarded page."""

    def __init__(self) -> None:
        self._taken = Counter[int]()

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
        pages = -(-size // _PAGE)
        if self._taken[pages] == len(kept := _KEPT[pages]):
            kept.append(guarded(pages * _PAGE))
        self._taken[pages] += 1
        return kept[self._taken[pages] - 1][pages * _PAGE - size :].view(dtype).reshape(shape)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def columns_for(size: int) -> ColumnBuffers:
    """Columns as the scanner makes them, each of which ends at a guarded page. The next call reuses their memory."""
    try:
        buffers.np = _Guarded()  # type: ignore[assignment]
        return ColumnBuffers(size)
    finally:
        buffers.np = np


def scan(records: Sequence[bytes], *, short: bool = False) -> int:
    """Scan records as one poll. Returns the number of outcomes in plain records.

    short: leave out the last end marker, and use columns that are too small.
    """
    data = END.join([*records, b""])[: -1 if short else None]
    memory = guarded(len(data))
    memory[:] = np.frombuffer(data, np.uint8)
    start = np.cumsum([0, *(len(record) + 1 for record in records)])
    room = columns_for(len(data) // 6 if short else len(data))
    games.scan(memory, start, MAX_RECORD_BYTES, room.table)
    return int(room.table[:COUNTS][OUTCOMES])


def record(rng: random.Random) -> bytes:
    """Draw a plain record of one or more games, with any order of fields and any spacing."""
    found = [_game(rng) for _ in range(rng.choice((1, 1, 2, 5)))]
    space = rng.choice(("", " ", "\n\t"))
    text = json.dumps(found[0] if len(found) == 1 else found, separators=("," + space, ":" + space), ensure_ascii=rng.random() < 0.5)
    return (text + space).encode()


def _game(rng: random.Random) -> dict[str, Any]:
    names = iter(rng.sample(range(1000), 80))
    agents = [[rng.choice(_NAMES) + str(next(names)) for _ in range(rng.choice((1, 1, 3)))] for _ in range(rng.choice((2, 2, 3, 20)))]
    sides = [{"agents": side, "place": place} for place, side in enumerate(agents)]
    fields = {"v": 1, "id": f"g{rng.random()}", "pool": "blitz", "time": rng.choice((1, -1.5, 1e9, 1234567.123456789)), "sides": sides}
    if rng.random() < 0.5:
        fields["task"] = rng.choice((None, "pong"))
    if rng.random() < 0.5:
        fields["weight"] = rng.choice((1, 0.5, 2.25))
    keys = rng.sample(list(fields), len(fields))
    return {key: fields[key] for key in keys}


def damaged(rng: random.Random, plain: bytes) -> bytes:
    """Copy of `plain` with bytes changed, repeated, inserted or removed, or with its end cut off."""
    data = bytearray(plain)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + rng.randrange(9)] = b""
            case 2:
                data[at:at] = data[at : at + rng.randrange(40)]
            case 3:
                data[at:at] = rng.choice(_PIECES)
            case _:
                del data[at:]
    return bytes(data)


def polls(seed: int, count: int) -> Iterator[list[bytes]]:
    """Draw polls. Most have a single record, which then ends at the guarded page; the `count` random polls have one or four records."""
    rng = random.Random(seed)
    plain = record(rng)
    yield from ([plain[:end]] for end in range(len(plain) + 1))
    for family in JSON_FAMILIES.values():
        yield from ([family(size)] for size in (64, 500, 5000))
    for _ in range(count):
        yield [damaged(rng, record(rng)) if rng.random() < 0.8 else record(rng) for _ in range(rng.choice((1, 1, 1, 4)))]


def main(arguments: Sequence[str]) -> None:
    """Run the command that the module's docstring describes."""
    if arguments == ["past-the-end"]:
        print(guarded(8).ctypes.data, ctypes.string_at(int(guarded(8).ctypes.data), 9))  # noqa: T201
        return
    short = arguments[0] == "short"
    seed, count = map(int, arguments[short:])
    scanned = [scan(records, short=short) for records in polls(seed, count)]
    print(json.dumps({"polls": len(scanned), "plain": sum(map(bool, scanned))}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
