"""What may be appended, the same on every backend, so that what one log takes the other takes too."""

from collections.abc import Mapping, Sequence

from services.log.protocol import LogError

MAX_RECORD_BYTES = 1_048_576 + 32_768
"""Key and value together: the wire schema's 1 MiB, and room for a key."""

NAMES = ("outcomes", "control", "dead-letters")


def check_partitions(partitions: int) -> None:
    """Refuse a number of partitions that no log has."""
    if isinstance(partitions, bool) or not 1 <= partitions <= 10_000:
        raise LogError(f"a log has 1 to 10000 partitions, not {partitions!r}", retriable=False)


def check_partition(topic: str, partition: int, partitions: int) -> None:
    """Refuse a partition that the topic does not have."""
    if not 0 <= partition < partitions:
        raise LogError(f"{topic} has no partition {partition}: it has {partitions}, counted from 0", retriable=False)


def check_positions(topic: str, positions: Mapping[int, int], partitions: int) -> None:
    """Refuse positions of partitions that the topic does not have, and none at all."""
    if not positions:
        raise LogError(f"a reader of {topic} needs at least one partition and its position", retriable=False)
    for partition in positions:
        check_partition(topic, partition, partitions)


def check_records(topic: str, records: Sequence[tuple[bytes | None, bytes]], *, keyed: bool) -> None:
    """Refuse records that a backend could not keep as they are. keyed: the topic is compacted by key, so each needs one."""
    for index, (key, value) in enumerate(records):
        if not all(type(part) is bytes for part in (value, key) if part is not None) or value is None:
            raise LogError(f"record {index} for {topic}: key and value are bytes (the key may be None)", retriable=False)
        if keyed and not key:
            raise LogError(f"record {index} for {topic} has no key: that topic is compacted by key", retriable=False)
        size = len(value) + len(key or b"")
        if size > MAX_RECORD_BYTES:
            raise LogError(f"record {index} for {topic} has {size} bytes, more than {MAX_RECORD_BYTES}", retriable=False)
