"""MurmurHash3 for kernels: 128-bit hashes of texts, and the 64-bit finaliser for integer keys.

Austin Appleby, MurmurHash3_x64_128 (public domain, SMHasher). The hash is not cryptographic: accidental collisions are improbable, but a
producer can construct collisions deliberately.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel

_C1: Final = np.uint64(0x87C37B91114253D5)
_C2: Final = np.uint64(0x4CF5AD432745937F)
_M1: Final = np.uint64(0xFF51AFD7ED558CCD)
_M2: Final = np.uint64(0xC4CEB9FE1A85EC53)
_ADD1: Final = np.uint64(0x52DCE729)
_ADD2: Final = np.uint64(0x38495AB5)
_FIVE: Final = np.uint64(5)
_S33: Final = np.uint64(33)
_SEEDS: Final = 1 << 32
MOST_SEED: Final = 2**64 - 1
"""Largest seed of hashes with 64-bit seeds."""


def hash128(data: NDArray[np.uint8], start: NDArray[np.int64], seed: int = 0) -> NDArray[np.uint64]:
    """128-bit hash of every text of an arena: uint64 (n, 2), first and second word of MurmurHash3_x64_128.

    data: uint8 (total,); start: int64 (n+1,), text i is data[start[i]:start[i+1]]; seed: 0 to 2**32 - 1, as in the reference.
    Raises `InputError` if `start` does not divide `data` into texts or the seed is out of range.
    """
    if not 0 <= seed < _SEEDS:
        raise InputError("seed", seed, "must be from 0 to 2**32 - 1")
    arena = Arena(data, start)
    out = np.empty((len(arena), 2), np.uint64)
    _hash_all(np.ascontiguousarray(data), np.ascontiguousarray(start), np.uint64(seed), out)
    return out


@inlined
def mix64(k: np.uint64) -> np.uint64:
    """The 64-bit finaliser (fmix64): a bijection of uint64 in which every input bit affects every output bit. For kernels."""
    k ^= k >> _S33
    k *= _M1
    k ^= k >> _S33
    k *= _M2
    return k ^ (k >> _S33)


@inlined
def hash_slice(data: NDArray[np.uint8], begin: int, end: int, seed: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Both words of the hash of data[begin:end]. For kernels, which must check the bounds."""
    h1 = h2 = seed
    length = end - begin
    tail = begin + (length // 16) * 16
    for at in range(begin, tail, 16):
        h1 ^= _scramble1(word_at(data, at))
        h1 = (_rotate(h1, 27) + h2) * _FIVE + _ADD1
        h2 ^= _scramble2(word_at(data, at + 8))
        h2 = (_rotate(h2, 31) + h1) * _FIVE + _ADD2
    h2 ^= _scramble2(part_of_word(data, tail + 8, end))
    h1 ^= _scramble1(part_of_word(data, tail, min(tail + 8, end)))
    h1 ^= np.uint64(length)
    h2 ^= np.uint64(length)
    h1 += h2
    h2 += h1
    h1 = mix64(h1)
    h2 = mix64(h2)
    h1 += h2
    return h1, h2 + h1


@inlined
def _rotate(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@inlined
def _scramble1(k: np.uint64) -> np.uint64:
    k = _rotate(k * _C1, 31)
    return k * _C2


@inlined
def _scramble2(k: np.uint64) -> np.uint64:
    k = _rotate(k * _C2, 33)
    return k * _C1


@inlined
def word_at(data: NDArray[np.uint8], at: int) -> np.uint64:
    """8 bytes as a little-endian number. For kernels, which must check the bounds."""
    word, first = np.uint64(0), np.uint64(at)  # unsigned: code for negative indices would prevent a single 8-byte read
    for i in range(8):
        word |= np.uint64(data[first + np.uint64(i)]) << np.uint64(8 * i)
    return word


@inlined
def part_of_word(data: NDArray[np.uint8], begin: int, end: int) -> np.uint64:
    """Up to 8 bytes as a little-endian number; 0 for an empty range. For kernels."""
    word, first = np.uint64(0), np.uint64(begin)
    for i in range(end - begin):
        word |= np.uint64(data[first + np.uint64(i)]) << np.uint64(8 * i)
    return word


@kernel
def _hash_all(data: NDArray[np.uint8], start: NDArray[np.int64], seed: np.uint64, out: NDArray[np.uint64]) -> None:
    for i in range(len(out)):
        out[i, 0], out[i, 1] = hash_slice(data, start[i], start[i + 1], seed)
