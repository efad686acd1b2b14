"""Batches of Kafka: what they hold is read as kafka-python reads it, within a bound, and what is damaged is refused with its offsets."""

import gzip
import random
import struct
import zlib
from collections.abc import Iterator

import pytest
import snappy
from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords
from kafka.record.util import calc_crc32c

from services.log.kafka import batches
from services.log.kafka.batches import MAX_BATCH_BYTES, TooLarge, gunzip, unlz4, unsnap, unzstd
from services.log.protocol import BatchDamaged
from tests.support.bombs import CODECS, batch, compressed, peak_memory, record_bytes

UNPACK = {"gzip": gunzip, "snappy": unsnap, "lz4": unlz4, "zstd": unzstd}
Fields = tuple[int, int, bytes | None, bytes | None]


def read(data: bytes, begin: int = 0) -> list[Fields]:
    """What a fetch of these bytes from offset `begin` on returns."""
    found = Fetcher.PartitionRecords(begin, TopicPartition("outcomes", 1), MemoryRecords(data)).record_iterator
    return [(record.offset, record.timestamp, record.key, record.value) for record in found]


def read_by_kafka_python(data: bytes) -> list[Fields]:
    return [(record.offset, record.timestamp, record.key, record.value) for record in DefaultRecordBatch(data)]


def wrapped(batch: bytes, value: bytes, last: int) -> bytes:
    """A compressed batch of format 1 with other messages up to offset `last`, and a checksum that fits."""
    body = batch[16:26] + struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", last, len(body) + 4, zlib.crc32(body)) + body


def built(codec: int, seed: int = 1, records: int = 50) -> bytes:
    draw = random.Random(seed)
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for offset in range(records):
        key, value = (draw.choice([None, b"", draw.randbytes(draw.randrange(300))]) for _ in range(2))
        headers = [("h", draw.randbytes(5))] * draw.randrange(3)
        assert builder.append(offset, draw.randrange(1 << 40), key, value, headers) is not None
    return bytes(builder.build())


@pytest.mark.parametrize("codec", [0, *CODECS.values()])
@pytest.mark.parametrize("seed", range(5))
def test_records_are_those_that_kafka_python_reads(codec: int, seed: int) -> None:
    data = built(codec, seed)
    assert read(data) == read_by_kafka_python(data)


@pytest.mark.parametrize("name", CODECS)
def test_a_bomb_is_refused_before_it_is_in_memory(name: str) -> None:
    bomb = batch(name, compressed(name, record_bytes(6 * MAX_BATCH_BYTES)), base=7)
    with peak_memory() as peak, pytest.raises(BatchDamaged, match=f"more than {MAX_BATCH_BYTES} bytes after decompression") as caught:
        read(bomb, begin=7)
    error = caught.value
    assert (error.topic, error.partition, error.base, error.begin, error.end, error.retriable) == ("outcomes", 1, 7, 7, 8, False)
    assert peak() < 3 * MAX_BATCH_BYTES


@pytest.mark.parametrize("name", CODECS)
def test_a_batch_up_to_the_limit_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = b"".join(record_bytes(100_000))
    packed = compressed(name, iter([plain]))
    monkeypatch.setattr(batches, "MAX_BATCH_BYTES", len(plain))
    assert UNPACK[name](packed) == plain
    monkeypatch.setattr(batches, "MAX_BATCH_BYTES", len(plain) - 1)
    with pytest.raises(TooLarge):
        UNPACK[name](packed)


@pytest.mark.parametrize("name", CODECS)
def test_a_stream_that_was_cut_or_changed_is_refused_as_such(name: str) -> None:
    draw = random.Random(3)
    packed = compressed(name, iter([draw.randbytes(5_000)]))
    for cut in (0, 1, 20, len(packed) // 2, len(packed) - 1):
        with pytest.raises(BatchDamaged, match="batch at offsets 0 to 0: it cannot be read"):
            read(batch(name, packed[:cut]))


def test_sizes_that_heads_state_are_not_believed() -> None:
    four_gigabytes = b"\xff\xff\xff\xff\x0f"
    frame = compressed("lz4", iter([b"x" * 100]))
    with peak_memory() as peak:
        for data in (four_gigabytes + b"\x00x", batches._XERIAL + bytes(8) + struct.pack(">i", 7) + four_gigabytes + b"\x00x"):
            with pytest.raises(TooLarge):
                unsnap(data)
        with pytest.raises((ValueError, IndexError)):
            unsnap(b"\xff" * 9)
        assert unlz4(frame) == b"x" * 100
    assert peak() < MAX_BATCH_BYTES


@pytest.mark.parametrize("name", ["gzip", "lz4", "zstd"])
def test_several_members_are_one_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = compressed(name, iter([b"a" * 10])) + compressed(name, iter([b"b" * 10]))
    assert UNPACK[name](packed) == b"a" * 10 + b"b" * 10
    monkeypatch.setattr(batches, "MAX_BATCH_BYTES", 15)
    with pytest.raises(TooLarge):
        UNPACK[name](packed)


def test_several_blocks_of_snappy_have_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = compressed("snappy", iter([b"a" * 10, b"b" * 10]))
    assert unsnap(packed) == b"a" * 10 + b"b" * 10
    monkeypatch.setattr(batches, "MAX_BATCH_BYTES", 15)
    with pytest.raises(TooLarge):
        unsnap(packed)


def test_bare_snappy_is_read() -> None:
    assert unsnap(bytes(snappy.compress(b"x" * 5000))) == b"x" * 5000


def test_another_checksum_is_refused() -> None:
    data = bytearray(built(0))
    data[-1] ^= 1
    with pytest.raises(BatchDamaged, match="failed crc check") as caught:
        read(bytes(data), begin=3)
    assert (caught.value.base, caught.value.begin, caught.value.end) == (0, 3, 50)


def plain(body: bytes, records: int) -> bytes:
    """A batch that is not compressed, with a right checksum whatever it holds."""
    checked = struct.pack(">hiqqqhii", 0, max(0, records - 1), 0, 0, -1, -1, -1, records) + body
    return struct.pack(">qiibI", 0, len(checked) + 9, 0, 2, calc_crc32c(checked)) + checked


def test_records_before_the_damage_are_read() -> None:
    broken = plain(built(0, records=3)[DefaultRecordBatch.HEADER_STRUCT.size :], 4)
    records = Fetcher.PartitionRecords(0, TopicPartition("outcomes", 1), MemoryRecords(broken))
    assert [record.offset for record in records.take()] == [0, 1, 2]
    with pytest.raises(BatchDamaged) as caught:
        records.take()
    assert (caught.value.base, caught.value.begin, caught.value.end) == (0, 3, 4)


def test_a_batch_without_a_readable_head_is_named_by_the_position() -> None:
    with pytest.raises(BatchDamaged, match=r"offsets 7 to 7: .*less than the minimum") as caught:
        read(struct.pack(">qi", 5, 2) + b"xx", begin=7)
    assert (caught.value.base, caught.value.begin, caught.value.end) == (7, 7, 8)


@pytest.mark.parametrize("records", [-1, 1 << 30])
def test_an_impossible_number_of_records_is_refused(records: int) -> None:
    body = built(0, records=3)[DefaultRecordBatch.HEADER_STRUCT.size :]
    with pytest.raises(BatchDamaged):
        read(plain(body, records))


def test_a_million_headers_are_passed_over() -> None:
    headers = b"\x00\x01" * 1_000_000  # an empty name, no value
    body = bytes([0, 0, 0, 1, 2]) + b"x" + b"\x80\x89\x7a" + headers
    length = len(body) * 2
    varint = bytearray()
    while length > 0x7F:
        varint.append(length & 0x7F | 0x80)
        length >>= 7
    varint.append(length)
    with peak_memory() as peak:
        assert read(plain(bytes(varint) + body, 1)) == [(0, 0, None, b"x")]
    assert peak() < 30 << 20


def shapes() -> Iterator[bytes]:
    sound = built(0, records=3)[DefaultRecordBatch.HEADER_STRUCT.size :]
    draw = random.Random(11)
    for _ in range(300):
        broken = bytearray(sound)
        for _ in range(draw.randrange(1, 4)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        yield bytes(broken[: draw.choice([len(broken), draw.randrange(len(broken))])])


def test_whatever_a_batch_holds_it_is_read_or_refused() -> None:
    refused = []
    for body in shapes():
        try:
            read(plain(body, 3))
        except BatchDamaged as error:
            refused.append((error.base, error.end))
    assert len(refused) > 100
    assert set(refused) == {(0, 3)}


@pytest.mark.parametrize(("magic", "name"), [(0, None), (0, "gzip"), (0, "snappy"), (1, None), (1, "gzip"), (1, "snappy"), (1, "lz4")])
def test_batches_of_old_formats_are_read_and_bounded(magic: int, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0 if name is None else CODECS[name], 1 << 20)
    for offset in range(4):
        assert builder.append(offset, 5, b"k", b"v" * 5000) is not None
    data = bytes(builder.build())
    found = [(offset, key, value) for offset, _, key, value in read(data)]
    assert found == [(offset, b"k", b"v" * 5000) for offset in range(4)]
    with pytest.raises(BatchDamaged, match="failed crc check"):
        read(data[:30] + bytes([data[30] ^ 1]) + data[31:])
    if name is not None:
        monkeypatch.setattr(batches, "MAX_BATCH_BYTES", 10_000)
        with pytest.raises(BatchDamaged, match="after decompression"):
            read(data)


@pytest.mark.parametrize("length", [-12, 0, 13])
def test_a_message_of_an_old_format_with_an_impossible_length_is_refused(length: int) -> None:
    """kafka-python goes on by the stated length, and would list the same message for ever."""
    inner = struct.pack(">qiIbbq", 3, length, 0, 1, 0, 5) + b"\x00" * 20
    builder = LegacyRecordBatchBuilder(1, CODECS["gzip"], 1 << 20)
    assert builder.append(3, 5, b"k", b"v") is not None
    data = wrapped(bytes(builder.build()), gzip.compress(inner), 3)
    with peak_memory() as peak, pytest.raises(BatchDamaged, match=f"a message of {length} bytes") as caught:
        read(data)
    assert (caught.value.base, caught.value.begin, caught.value.end) == (0, 0, 4), "its first offset is not known"
    assert peak() < 1 << 20


def test_too_little_memory_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(batches.default_records, "gzip_decode", fail)
    with pytest.raises(MemoryError):
        read(built(CODECS["gzip"]))


def test_the_checksum_of_gzip_is_checked() -> None:
    packed = bytearray(compressed("gzip", iter([b"x" * 100])))
    packed[-6] ^= 1
    with pytest.raises(gzip.BadGzipFile):
        gunzip(bytes(packed))
