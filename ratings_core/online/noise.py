"""Random numbers by key, for kernels: a number depends only on the seed and the key, so a replay draws the same numbers.

Uniform words come from MurmurHash3's finaliser over the parts of the key. Gumbel and normal deviates are computed from them with the
project's own log, so the bits are the same on every machine. Not for secrets.
"""

from typing import Final

import numpy as np

from ratings_core.arrays.hashing import mix64
from ratings_core.checks import whole
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined
from ratings_core.kernels.portable import log

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio, odd: multiples of it by successive counters differ in all their bits."""
_DROPPED: Final = np.uint64(12)
_FINEST: Final = 2.0**-52
_MAX_SEED: Final = 2**53
"""Largest seed: settings are stored as doubles, which hold whole numbers exactly up to here."""


def checked_seed(seed: object) -> int:
    """`seed` as a whole number. Raises `InputError` unless it is from 0 to 2**53."""
    checked = whole("seed", seed)
    if checked > _MAX_SEED:
        raise InputError("seed", seed, "must be at most 2**53")
    return checked


@inlined
def keyed_word(seed: np.uint64, first: np.uint64, second: np.uint64, index: np.uint64) -> np.uint64:
    """64 uniform bits for a seed, a 128-bit key and a counter."""
    mixed = mix64(mix64(mix64(seed + _STEP) ^ first) + second)
    return np.uint64(mix64(mixed + (index + np.uint64(1)) * _STEP))


@inlined
def uniform(word: np.uint64) -> float:
    """A number strictly between 0 and 1, an odd multiple of 2**-53, from the word's upper bits."""
    return np.float64(np.int64(word >> _DROPPED)) * _FINEST + 0.5 * _FINEST


@inlined
def gumbel(word: np.uint64) -> float:
    """A standard Gumbel deviate, -ln(-ln(u)); the difference of two has the logistic distribution."""
    return -log(-log(uniform(word)))


@inlined
def normal_pair(seed: np.uint64, first: np.uint64, second: np.uint64) -> tuple[float, float]:
    """Two independent standard normal deviates, by Marsaglia's polar method. It uses words of the key until a pair is accepted."""
    index = np.uint64(0)
    while True:
        x = 2.0 * uniform(keyed_word(seed, first, second, index)) - 1.0
        y = 2.0 * uniform(keyed_word(seed, first, second, index + np.uint64(1))) - 1.0
        square = x * x + y * y
        if square < 1.0:  # never 0: both are odd multiples of 2**-52
            stretch = np.sqrt(-2.0 * log(square) / square)
            return x * stretch, y * stretch
        index += np.uint64(2)
