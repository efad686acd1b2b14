"""Checks of records and partitions before an append or a read. They are the same on every backend, so both accept the same records."""

from collections.abc import Mapping, Sequence

from services.log.protocol import LogError

MAX_RECORD_BYTES = 1_048_576 + 32_768
"""Maximal bytes of key and value together: the wire schema's 1 MiB, and 32 KiB for the key."""

NAMES = ("outcomes", "control", "dead-letters")


def check_partitions(partitions: int) -> None:
    """Raise `LogError` for a number of partitions outside of 1 to 10,000."""
    if isinstance(partitions, bool) or not 1 <= partitions <= 10_000:
        raise LogError(f"a log has 1 to 10000 partitions, not {partitions!r}", retriable=False)


def check_partition(topic: str, partition: int, partitions: int) -> None:
    """Raise `LogError` for a partition that the topic does not have."""
    if not 0 <= partition < partitions:
        raise LogError(f"{topic} has no partition {partition}: it has {partitions}, counted from 0", retriable=False)


def check_positions(topic: str, positions: Mapping[int, int], partitions: int) -> None:
    """Raise `LogError` for positions of partitions that the topic does not have, and for empty `positions`."""
    if not positions:
        raise LogError(f"a reader of {topic} needs at least one partition and its position", retriable=False)
    for partition in positions:
        check_partition(topic, partition, partitions)


def check_records(topic: str, records: Sequence[tuple[bytes | None, bytes]], *, keyed: bool) -> None:
    """Raise `LogError` for records that a backend could not store unchanged. keyed: whether the topic needs a key in each record."""
    for index, (key, value) in enumerate(records):
        if not all(type(part) is bytes for part in (value, key) if part is not None) or value is None:
            raise LogError(f"record {index} for {topic}: key and value are bytes (the key may be None)", retriable=False)
        if keyed and not key:
            raise LogError(f"record {index} for {topic} has no key: that topic is compacted by key", retriable=False)
        size = len(value) + len(key or b"")
        if size > MAX_RECORD_BYTES:
            raise LogError(f"record {index} for {topic} has {size} bytes, more than {MAX_RECORD_BYTES}", retriable=False)
