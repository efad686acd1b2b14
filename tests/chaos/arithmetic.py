"""The fold's exp, log and sigmoid in plain Python, so that the oracle gives the same bits without the code under test.

Law 1 allows a fold + - * / and these functions only. Python's floats round as the kernels do, so the results are equal, not close.
Methods: exp by Tang's table of 2**(j/128) (ACM TOMS 15, 1989); log by the series of 2 artanh(f/(2 + f)).
"""

import math
from typing import Final

_STEPS: Final = 128
_STEPS_PER_E: Final = float.fromhex("0x1.71547652b82fep+7")
_STEP_HIGH: Final = float.fromhex("0x1.62e42fef80000p-8")
_STEP_LOW: Final = float.fromhex("0x1.1cf79abc9e3b4p-43")
_LN2_HIGH: Final = float.fromhex("0x1.62e42fefa2000p-1")
_LN2_LOW: Final = float.fromhex("0x1.9ef35793c7673p-41")
_MOST: Final = 690.0
_DIGITS: Final = 256


def _powers() -> tuple[list[float], list[float]]:
    """2**(j/128) for j < 128 as doubles, and the relative rounding error of each, in whole numbers of 256 binary places."""
    one = 1 << _DIGITS
    root = 2 * one
    for _ in range(_STEPS.bit_length() - 1):
        root = math.isqrt(root << _DIGITS)
    near, lost, exact = [], [], one
    for _ in range(_STEPS):
        near.append(exact / one)
        lost.append((exact - int(near[-1] * 2**52) * (one >> 52)) / exact)
        exact = exact * root >> _DIGITS
    return near, lost


_NEAR, _LOST = _powers()


def exp(x: float) -> float:
    """e**x for |x| <= 690. Raises `ValueError` beyond: the oracle's traffic stays within."""
    if not abs(x) <= _MOST:
        raise ValueError(f"x must be within +-{_MOST:g}, got {x}")
    step = round(x * _STEPS_PER_E)
    whole = float(step)
    r = (x - whole * _STEP_HIGH) - whole * _STEP_LOW
    square = r * r
    high = 1.0 / 24.0 + r * (1.0 / 120.0)
    low = 0.5 + r * (1.0 / 6.0)
    grown = (_LOST[step % _STEPS] + r) + (square * low + square * square * high)
    scale = math.ldexp(_NEAR[step % _STEPS], step // _STEPS)
    return scale + scale * grown


def log(x: float) -> float:
    """Natural logarithm of a normal number above 0: x = 2**k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2)."""
    mantissa, k = math.frexp(x)
    if mantissa < math.sqrt(0.5):
        mantissa, k = 2.0 * mantissa, k - 1
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = 2.0 / 3.0 + w * (2.0 / 7.0 + w * (2.0 / 11.0 + w * (2.0 / 15.0 + w * (2.0 / 19.0))))
    odd = 2.0 / 5.0 + w * (2.0 / 9.0 + w * (2.0 / 13.0 + w * (2.0 / 17.0 + w * (2.0 / 21.0))))
    tail = z * (even + z * odd)
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + tail) + k * _LN2_LOW)) - f)


def sigmoid(x: float) -> float:
    """1/(1 + e**-x)."""
    small = exp(-abs(x))
    return (1.0 if x >= 0.0 else small) / (1.0 + small)
