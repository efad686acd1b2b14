"""Bytes and words of arrays, for kernels that parse text with many small functions. Every index is checked against the array's size.

numba counts references to every array that is passed to a call. In a parser this costs ten times as much as the parsing. A `Memory` has two
numbers, the address and the size of an array, and costs nothing to pass. Only this module uses the address, after the check: a read outside
the array gives 0, and a write outside it is skipped and reported. The caller must keep the array alive.
"""

from typing import Any, Final, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ratings_core.kernels.compile import inlined

Memory: TypeAlias = tuple[int, int]
"""Address of an array and its number of elements, which are bytes or int64 words."""

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_WORD_BYTES: Final = 8


@inlined
def byte_at(memory: Memory, i: int) -> int:
    """Byte `i` of an array of bytes, 0 to 255; 0 outside the array."""
    value: int = _load_byte(memory[0] + i) if np.uint64(i) < np.uint64(memory[1]) else 0
    return value


@inlined
def word_at(memory: Memory, i: int) -> int:
    """Word `i` of an array of int64; 0 outside the array."""
    value: int = _load_word(memory[0] + _WORD_BYTES * i) if np.uint64(i) < np.uint64(memory[1]) else 0
    return value


@inlined
def set_byte(memory: Memory, i: int, value: int) -> bool:
    """Write the lowest byte of `value` to byte `i`. Outside the array, write nothing and return False."""
    inside = bool(np.uint64(i) < np.uint64(memory[1]))
    if inside:
        _store_byte(memory[0] + i, value)
    return inside


@inlined
def set_word(memory: Memory, i: int, value: int) -> bool:
    """Write word `i`. Outside the array, write nothing and return False."""
    inside = bool(np.uint64(i) < np.uint64(memory[1]))
    if inside:
        _store_word(memory[0] + _WORD_BYTES * i, value)
    return inside


@intrinsic
def _load_byte(_typing: Any, _address: Any) -> Any:
    """The byte at an address, as int64."""

    def load(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.load(builder.inttoptr(arguments[0], _BYTE.as_pointer())), _WORD)

    return types.int64(types.int64), load


@intrinsic
def _load_word(_typing: Any, _address: Any) -> Any:
    """The int64 at an address."""

    def load(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

    return types.int64(types.int64), load


@intrinsic
def _store_byte(_typing: Any, _address: Any, _value: Any) -> Any:
    """Write the lowest byte of an int64 to an address."""

    def store(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(builder.trunc(arguments[1], _BYTE), builder.inttoptr(arguments[0], _BYTE.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), store


@intrinsic
def _store_word(_typing: Any, _address: Any, _value: Any) -> Any:
    """Write an int64 to an address."""

    def store(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _WORD.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), store
