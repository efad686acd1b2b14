"""The partition of a pool, by Kafka's default partitioner on every backend."""

from typing import Final

_POSITIVE: Final = 0x7FFFFFFF
_BITS: Final = 0xFFFFFFFF
_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995


def partition_of(pool: str, partitions: int) -> int:
    """The partition of `pool`, 0 <= result < partitions.

    The result is murmur2 of the pool's name in UTF-8, with the sign bit cleared, modulo the number of partitions. Kafka's default
    partitioner gives the same partition to a record with the pool's name as its key, so producers need no library of Equirank.

    Raises:
        ValueError: `partitions` is below 1.

    """
    if partitions < 1:
        raise ValueError(f"partitions must be at least 1, not {partitions}")
    return (murmur2(pool.encode()) & _POSITIVE) % partitions


def murmur2(data: bytes) -> int:
    """MurmurHash2 of 32 bits with Kafka's seed, as an unsigned number.

    The client for Kafka has the same function, but its import takes a quarter of a second, which the embedded log does not need.
    """
    whole = len(data) & ~3
    hashed = _SEED ^ len(data)
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _FACTOR & _BITS
        word = (word ^ word >> 24) * _FACTOR & _BITS
        hashed = (hashed * _FACTOR & _BITS) ^ word
    if len(data) > whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _BITS
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _BITS
    return hashed ^ hashed >> 15
