"""File format of the data objects of a checkpoint: named arrays with checksums, which can be memory-mapped. It does not use pickle.

Layout: 8 bytes magic, 8 bytes little-endian length of the JSON header, SHA-256 of the header (32 bytes), the header, then the
little-endian bytes of each array, at a 64-byte boundary. The header has the name, dtype, shape, offset and SHA-256 of every array, and a
small JSON `meta`. Checksums cover everything except the padding between arrays.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

MAGIC: Final = b"EQRANK1\n"
_ALIGN: Final = 64
_LEAD: Final = 8 + 8 + 32
Bytes: TypeAlias = bytes | memoryview
Read: TypeAlias = Callable[[int, int], bytes | memoryview]
_DTYPES: Final = frozenset({"<i8", "<i4", "<u8", "<u4", "|u1", "|i1", "<f8", "|b1"})


class BadObject(Exception):  # noqa: N818 - names the fact
    """An object or manifest is missing, truncated or changed, or has another format."""


class _Entry(msgspec.Struct, frozen=True):
    name: str
    dtype: str
    shape: list[int]
    offset: int
    sha256: str


class _Header(msgspec.Struct, frozen=True):
    arrays: list[_Entry]
    meta: dict[str, Any]


def pack(arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> list[bytes | memoryview]:
    """Encode an object as a list of buffers, to be written in order. The arrays are not copied.

    Args:
        arrays: Arrays by name.
        meta: JSON values.

    Raises:
        TypeError: An array has a dtype that the format does not support.
    """
    entries: list[_Entry] = []
    parts: list[bytes | memoryview] = []
    offset = 0
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if array.dtype.str not in _DTYPES:
            msg = f"array {name} has dtype {array.dtype.str}, not one of {sorted(_DTYPES)}"
            raise TypeError(msg)
        raw = array.reshape(-1).view(np.uint8).data
        entries.append(_Entry(name, array.dtype.str, list(array.shape), offset, hashlib.sha256(raw).hexdigest()))
        padding = -len(raw) % _ALIGN
        parts += [raw, bytes(padding)]
        offset += len(raw) + padding
    header = msgspec.json.encode(_Header(entries, dict(meta)))
    lead = MAGIC + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + header
    return [lead, bytes(-len(lead) % _ALIGN), *parts]


def unpack(data: Bytes, *, checked: bool = False) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    """Decode an object. Returns its arrays, as read-only views of `data`, and its `meta`.

    Args:
        data: The bytes of the file.
        checked: The caller has compared the SHA-256 of the file, so that the checksums of the arrays need no check.

    Raises:
        BadObject: A checksum, a length or the format is wrong.
    """
    view = memoryview(data)
    read: Read = lambda start, stop: view[start:stop]  # noqa: E731 - a slice
    header, start = _read_header(read)
    return {entry.name: _read_array(read, start, entry, checked=checked) for entry in header.arrays}, header.meta


def unpack_some(read: Read, wanted: Callable[[str], bool]) -> dict[str, np.ndarray[Any, Any]]:
    """Decode some arrays of an object: only their bytes, and those of the header, are read.

    Args:
        read: Returns the bytes of the file from a position up to another one, or fewer if the file ends.
        wanted: Whether an array is wanted, by its name.

    Returns:
        The arrays, as read-only views of what `read` returned.

    Raises:
        BadObject: A checksum, a length or the format is wrong.
    """
    header, start = _read_header(read)
    return {entry.name: _read_array(read, start, entry, checked=False) for entry in header.arrays if wanted(entry.name)}


def unpack_front(read: Read) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any], int]:
    """Decode an object that other bytes follow. Only the bytes of the object are read.

    Args:
        read: As in `unpack_some`.

    Returns:
        The arrays as read-only views, `meta`, and the position of the first byte behind the object.

    Raises:
        BadObject: A checksum, a length or the format is wrong.
    """
    header, start = _read_header(read)
    arrays = {entry.name: _read_array(read, start, entry, checked=False) for entry in header.arrays}
    end = max((entry.offset + arrays[entry.name].nbytes for entry in header.arrays), default=0)
    return arrays, header.meta, start + end + -end % _ALIGN


def _read_header(read: Read) -> tuple[_Header, int]:
    begin = bytes(read(0, _LEAD))
    if begin[:8] != MAGIC:
        raise BadObject(f"starts with {begin[:8]!r}, not {MAGIC!r}")
    lead = _LEAD + int.from_bytes(begin[8:16], "little")
    header = bytes(read(_LEAD, lead))
    if hashlib.sha256(header).digest() != begin[16:]:
        raise BadObject("header: checksum differs")
    try:
        decoded = msgspec.json.decode(header, type=_Header)
    except msgspec.DecodeError as error:
        raise BadObject(f"header: {error}") from error
    return decoded, lead + -lead % _ALIGN


def _read_array(read: Read, start: int, entry: _Entry, *, checked: bool) -> np.ndarray[Any, Any]:
    if entry.dtype not in _DTYPES:
        raise BadObject(f"{entry.name}: dtype {entry.dtype}")
    dtype, count = np.dtype(entry.dtype), int(np.prod(entry.shape, dtype=np.int64))
    begin = start + entry.offset
    raw = read(begin, begin + count * dtype.itemsize)
    if len(raw) != count * dtype.itemsize:
        raise BadObject(f"{entry.name}: {len(raw)} of {count * dtype.itemsize} bytes")
    if not checked and hashlib.sha256(raw).hexdigest() != entry.sha256:
        raise BadObject(f"{entry.name}: checksum differs")
    return np.frombuffer(raw, dtype).reshape(entry.shape) if count else np.zeros(entry.shape, dtype)
