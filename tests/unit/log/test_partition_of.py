"""Pools live where Kafka's own client would put a record with their name as key."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner import default as client

from services.log.partition import murmur2, partition_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "log" / "partitions.tsv"
CASES = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_the_golden_table_is_whole() -> None:
    assert len(CASES) == 118


def test_partitions_are_those_of_the_java_client() -> None:
    for pool, signed, *places in CASES:
        assert murmur2(pool.encode()) == int(signed) % 2**32
        assert [partition_of(pool, partitions) for partitions in (1, 6, 16, 999)] == [int(place) for place in places]


@given(st.binary(max_size=40))
def test_the_hash_is_that_of_the_client_for_kafka(data: bytes) -> None:
    assert murmur2(data) == client.murmur2(data)


@given(st.text(), st.integers(1, 10_000))
def test_every_name_has_a_partition(pool: str, partitions: int) -> None:
    try:
        pool.encode()
    except UnicodeEncodeError:
        return
    assert 0 <= partition_of(pool, partitions) < partitions


@pytest.mark.parametrize("partitions", [0, -1])
def test_no_partitions_are_refused(partitions: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        partition_of("blitz", partitions)
