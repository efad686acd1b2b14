"""exp, log and sigmoid for fold kernels: the same bits on every machine with IEEE 754 doubles.

The functions only use + - * /, comparisons and reinterpretation of bits, in fixed order, rounding to nearest: no libm, no fused
multiply-add, no fastmath. Results of libm differ between its versions, and between processors because it selects instructions. A fold that
used libm would not be reproducible.

Accuracy, as measured by the tests against 60-digit arithmetic, in units in the last place of the true result: exp 0.51 (0.76 where the
result is subnormal), log 0.77, sigmoid 2.2. NaN gives NaN, and infinities give the limits. Overflow gives inf, and underflow gives
subnormals and then 0. Nothing raises.
"""

from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel

_STEPS: Final = 128
"""Number of steps in the table of exp, which holds 2**(j/128). The polynomial then only needs |r| <= ln(2)/256."""
_INDEX_BITS: Final = np.int64(7)
_INDEX_MASK: Final = np.int64(_STEPS - 1)
_EXPONENT_SHIFT: Final = np.int64(52)
_SCALE_SHIFT: Final = np.int64(52 - 7)

_STEPS_PER_E: Final = float.fromhex("0x1.71547652b82fep+7")  # 128/ln(2)
_STEP_HIGH: Final = float.fromhex("0x1.62e42fef80000p-8")  # ln(2)/128, 34 bits: exact times any step number
_STEP_LOW: Final = float.fromhex("0x1.1cf79abc9e3b4p-43")
_LN2_HIGH: Final = float.fromhex("0x1.62e42fefa2000p-1")  # ln(2), 40 bits: exact times any exponent
_LN2_LOW: Final = float.fromhex("0x1.9ef35793c7673p-41")
_TO_WHOLE: Final = 1.5 * 2.0**52
"""Adding this number rounds a double to the nearest whole number and leaves that number in the low bits."""

EXP_PLAIN: Final = 690.0
"""Largest |x| for which no intermediate product of `exp` is subnormal."""
_EXP_OVERFLOW: Final = float.fromhex("0x1.62e42fefa39efp+9")  # the greatest x whose exp is finite
_EXP_UNDERFLOW: Final = -745.2
_SHIFT_EXPONENT: Final = 1000
_UP: Final = 2.0**_SHIFT_EXPONENT
_DOWN: Final = 2.0**-_SHIFT_EXPONENT

MIN_NORMAL: Final = 2.0**-1022
"""The smallest positive number of full precision."""
_LIFT: Final = 2.0**54
_ROOT_HALF: Final = np.int64(0x3FE6A09E667F3BCD)
"""Bits of sqrt(1/2): mantissas are reduced to the range from sqrt(1/2) to sqrt(2)."""


def _powers(digits: int = 256) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Bits of 2**(j/128) for j < 128, minus j << 45 (added back with the exponent), and the relative rounding error of each.

    Computed in integers with `digits` binary places, because libraries' power functions differ between machines.
    """
    one = 1 << digits
    root = 2 * one
    for _ in range(int(_INDEX_BITS)):
        root = isqrt(root << digits)
    exact = one
    bits, lost = np.empty(_STEPS, np.int64), np.empty(_STEPS)
    for j in range(_STEPS):
        near = exact / one  # whole numbers divide with correct rounding
        bits[j] = np.float64(near).view(np.int64) - (j << int(_SCALE_SHIFT))
        lost[j] = (exact - int(near * 2**52) * (one >> 52)) / exact
        exact = exact * root >> digits
    return bits, lost


_POWER_BITS, _POWER_LOST = _powers()


@inlined
def exp(x: float) -> float:
    """e**x. Tang's table-driven method (ACM TOMS 15, 1989) with 128 steps and Taylor's polynomial of degree 5."""
    if not abs(x) <= EXP_PLAIN:
        return _exp_far(x)
    return plain_exp(x)


@inlined
def plain_exp(x: float) -> float:
    """`exp` for |x| <= `EXP_PLAIN`, without a branch, so that a loop over it can be compiled to vector instructions.

    Other arguments give an arbitrary number.
    """
    shifted = x * _STEPS_PER_E + _TO_WHOLE
    step = np.float64(shifted).view(np.int64)
    scale, grown = _exp_step(x, shifted - _TO_WHOLE, step, np.int64(0))
    return scale + scale * grown


@inlined
def _exp_step(x: float, whole: float, step: np.int64, exponent: np.int64) -> tuple[float, float]:
    """2**(step/128 + exponent) and exp(r) - 1, where x = whole * ln(2)/128 + r; only the low bits of `step` are used."""
    j = step & _INDEX_MASK
    scale = np.int64(_POWER_BITS[j] + (step << _SCALE_SHIFT) + (exponent << _EXPONENT_SHIFT)).view(np.float64)
    r = (x - whole * _STEP_HIGH) - whole * _STEP_LOW
    square = r * r
    high = 1.0 / 24.0 + r * (1.0 / 120.0)
    low = 0.5 + r * (1.0 / 6.0)
    return scale, (_POWER_LOST[j] + r) + (square * low + square * square * high)


@kernel
def _exp_far(x: float) -> float:
    """exp(x) where it overflows, is subnormal or nearly subnormal, or x is NaN."""
    if np.isnan(x):
        return x
    if x > _EXP_OVERFLOW:
        return np.inf
    if x < _EXP_UNDERFLOW:
        return 0.0
    shifted = x * _STEPS_PER_E + _TO_WHOLE
    step = np.float64(shifted).view(np.int64)
    if x > 0.0:
        scale, grown = _exp_step(x, shifted - _TO_WHOLE, step, np.int64(-_SHIFT_EXPONENT))
        return (scale + scale * grown) * _UP
    scale, grown = _exp_step(x, shifted - _TO_WHOLE, step, np.int64(_SHIFT_EXPONENT))
    return (scale + scale * grown) * _DOWN


@inlined
def log(x: float) -> float:
    """Natural logarithm: -inf at 0, NaN below. x = 2**k (1 + f), s = f/(2 + f), ln(1 + f) = 2 artanh(s) by its Taylor series."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    k = np.int64(0)
    if x < MIN_NORMAL:
        x *= _LIFT
        k = np.int64(-54)
    return _log_normal(x, k)


@inlined
def plain_log(x: float) -> float:
    """`log` for finite x >= `MIN_NORMAL`, without a branch, as `plain_exp`. Other arguments give an arbitrary number."""
    return _log_normal(x, np.int64(0))


@inlined
def _log_normal(x: float, k: np.int64) -> float:
    """ln(x) + k ln(2)."""
    bits = np.float64(x).view(np.int64)
    shift = (bits - _ROOT_HALF) >> _EXPONENT_SHIFT
    f = np.int64(bits - (shift << _EXPONENT_SHIFT)).view(np.float64) - 1.0
    return _log_reduced(f, np.float64(k + shift))


@inlined
def _log_reduced(f: float, k: float) -> float:
    """ln(1 + f) + k ln(2), the small parts summed first; 2 artanh(s) = f - f**2/2 + s (f**2/2 + tail)."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = 2.0 / 3.0 + w * (2.0 / 7.0 + w * (2.0 / 11.0 + w * (2.0 / 15.0 + w * (2.0 / 19.0))))
    odd = 2.0 / 5.0 + w * (2.0 / 9.0 + w * (2.0 / 13.0 + w * (2.0 / 17.0 + w * (2.0 / 21.0))))
    tail = z * (even + z * odd)
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + tail) + k * _LN2_LOW)) - f)


@inlined
def sigmoid(x: float) -> float:
    """1/(1 + e**-x), to full relative accuracy on both sides."""
    small = exp(-abs(x))
    return (1.0 if x >= 0.0 else small) / (1.0 + small)
