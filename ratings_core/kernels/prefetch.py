"""Prefetch: an element of an array is brought into the processor's cache before it is needed. For kernels."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTE, _WHOLE = ir.IntType(8).as_pointer(), ir.IntType(32)
_TO_WRITE, _TO_KEEP, _DATA = _WHOLE(1), _WHOLE(3), _WHOLE(1)
"""How the element is used: it is written, soon and repeatedly, and it is no instruction. See `llvm.prefetch` in LLVM's reference."""


@intrinsic
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Bring the element `index` of a contiguous array of one dimension into the cache. No value changes, whatever the index is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = context.cast(builder, arguments[1], signature.args[1], types.int64)
        kind = ir.FunctionType(ir.VoidType(), [_BYTE, _WHOLE, _WHOLE, _WHOLE])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [builder.bitcast(builder.gep(data, [place]), _BYTE), _TO_WRITE, _TO_KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(array, index), generate
