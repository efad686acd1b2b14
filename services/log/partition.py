"""Which partition a pool lives in: Kafka's default partitioner, on every backend."""

from kafka.partitioner.default import murmur2

_POSITIVE = 0x7FFFFFFF


def partition_of(pool: str, partitions: int) -> int:
    """The partition of `pool`, 0 <= result < partitions.

    Equal to where a producer with Kafka's default partitioner puts a record whose key is the pool's name in UTF-8
    (murmur2 with the sign bit cleared, modulo the number of partitions): producers need no code of ours.

    Raises:
        ValueError: partitions below 1.

    """
    if partitions < 1:
        raise ValueError(f"partitions must be at least 1, not {partitions}")
    return int(murmur2(pool.encode()) & _POSITIVE) % partitions
