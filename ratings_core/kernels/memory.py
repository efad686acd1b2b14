"""Bytes and words at addresses, for kernels that walk through text with many small functions.

numba counts references to every array that a call passes on, which for a parser costs ten times what parsing does; an address is a
number. Nothing here knows where an array ends: who takes an array's address keeps the array, and sees to it that every walk stops.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


@intrinsic
def byte_at(_typing: Any, _address: Any) -> Any:
    """The byte at an address, 0 to 255, as int64."""

    def load(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.load(builder.inttoptr(arguments[0], _BYTE.as_pointer())), _WORD)

    return types.int64(types.int64), load


@intrinsic
def word_at(_typing: Any, _address: Any) -> Any:
    """The int64 at an address."""

    def load(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

    return types.int64(types.int64), load


@intrinsic
def set_byte(_typing: Any, _address: Any, _value: Any) -> Any:
    """Write the lowest byte of `value`, an int64, to an address."""

    def store(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(builder.trunc(arguments[1], _BYTE), builder.inttoptr(arguments[0], _BYTE.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), store


@intrinsic
def set_word(_typing: Any, _address: Any, _value: Any) -> Any:
    """Write an int64 to an address."""

    def store(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], _WORD.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), store
