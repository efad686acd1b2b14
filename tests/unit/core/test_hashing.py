"""MurmurHash3 x64 128: published vectors, the reference suite's verification value, and a plain-Python twin."""

import random

import numpy as np
import pytest

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.hashing import hash128, mix64
from ratings_core.errors import InputError

WORD = (1 << 64) - 1

# Printed by the reference implementation (SMHasher, MurmurHash3_x64_128, seed 0).
PUBLISHED = {
    "": 0x00000000000000000000000000000000,
    "hello": 0xCBD8A7B341BD9B025B1E906A48AE1D19,
    "The quick brown fox jumps over the lazy dog": 0xE34BBC7BBC071B6C7A433CA9C49A9347,
}
SMHASHER_VERIFICATION = 0x6384BA69  # of MurmurHash3_x64_128, main.cpp


def rotate(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & WORD


def mix(k: int) -> int:
    k = ((k ^ (k >> 33)) * 0xFF51AFD7ED558CCD) & WORD
    k = ((k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53) & WORD
    return k ^ (k >> 33)


def twin(data: bytes, seed: int) -> tuple[int, int]:
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, seed, seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = int.from_bytes(data[at : at + 8], "little"), int.from_bytes(data[at + 8 : at + 16], "little")
        h1 ^= rotate(k1 * c1 & WORD, 31) * c2 & WORD
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) & WORD
        h2 ^= rotate(k2 * c2 & WORD, 33) * c1 & WORD
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) & WORD
    tail = data[whole:]
    h2 ^= rotate(int.from_bytes(tail[8:], "little") * c2 & WORD, 33) * c1 & WORD
    h1 ^= rotate(int.from_bytes(tail[:8], "little") * c1 & WORD, 31) * c2 & WORD
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & WORD
    h2 = (h2 + h1) & WORD
    h1, h2 = mix(h1), mix(h2)
    h1 = (h1 + h2) & WORD
    return h1, (h2 + h1) & WORD


def hashed(items: list[bytes], seed: int) -> list[tuple[int, int]]:
    start = np.cumsum([0, *map(len, items)], dtype=np.int64)
    rows = hash128(np.frombuffer(bytearray().join(items), np.uint8), start, seed)
    return [(int(a), int(b)) for a, b in rows]


def test_published_vectors() -> None:
    arena = pack(list(PUBLISHED))
    rows = hash128(arena.bytes, arena.start)
    assert rows.dtype == np.uint64
    assert rows.shape == (3, 2)
    assert [int(a) << 64 | int(b) for a, b in rows] == list(PUBLISHED.values())


def test_verification_value_of_the_reference_suite() -> None:
    hashes = b"".join(word.to_bytes(8, "little") for i in range(256) for word in hashed([bytes(range(i))], 256 - i)[0])
    assert hashed([hashes], 0)[0][0] & 0xFFFFFFFF == SMHASHER_VERIFICATION


@pytest.mark.parametrize("seed", [0, 1, 0xDEADBEEF, 2**32 - 1])
def test_every_length_to_40_equals_the_twin(seed: int) -> None:
    source = random.Random(7)
    items = [source.randbytes(length) for length in range(41)]
    assert hashed(items, seed) == [twin(item, seed) for item in items]


def test_mix64_is_the_finaliser() -> None:
    source = random.Random(8)
    keys = [0, 1, WORD, *(source.getrandbits(64) for _ in range(100))]
    assert [int(mix64(np.uint64(key))) for key in keys] == [mix(key) for key in keys]


def test_a_hash_does_not_depend_on_its_neighbours() -> None:
    assert hashed([b"abc", b"", b"x" * 33], 5) == [hashed([item], 5)[0] for item in (b"abc", b"", b"x" * 33)]


def test_no_text_gives_no_hash() -> None:
    assert hash128(np.zeros(0, np.uint8), np.zeros(1, np.int64)).shape == (0, 2)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_outside_32_bits_are_refused(seed: int) -> None:
    with pytest.raises(InputError, match="seed"):
        hash128(np.zeros(0, np.uint8), np.zeros(1, np.int64), seed)


def test_starts_beyond_the_data_are_refused() -> None:
    with pytest.raises(InputError, match="start"):
        hash128(np.zeros(3, np.uint8), np.array([0, 9], np.int64))
    assert Arena(np.zeros(3, np.uint8), np.array([0, 3])).bytes.size == 3
