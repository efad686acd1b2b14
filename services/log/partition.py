"""The partition of a pool, by Kafka's default partitioner on every backend."""

_POSITIVE = 0x7FFFFFFF


def partition_of(pool: str, partitions: int) -> int:
    """The partition of `pool`, 0 <= result < partitions.

    The result is murmur2 of the pool's name in UTF-8, with the sign bit cleared, modulo the number of partitions. Kafka's default
    partitioner gives the same partition to a record with the pool's name as its key, so producers need no library of Equirank.

    Raises:
        ValueError: `partitions` is below 1.

    """
    if partitions < 1:
        raise ValueError(f"partitions must be at least 1, not {partitions}")
    from kafka.partitioner.default import murmur2  # noqa: PLC0415 - loads the Kafka client, which programs without a log do not need

    return int(murmur2(pool.encode()) & _POSITIVE) % partitions
