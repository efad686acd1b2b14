"""Safe reading of record batches: bounded memory, and errors that name the partition and the offsets of an unreadable batch.

kafka-python 3.0 decompresses a batch without a limit of size, so 64 KB of Zstandard can allocate gigabytes. It also creates every header
of every record, and few of its exceptions name partition and offset. It has no option for any of this. Importing this module replaces the
decompression, the iteration over a batch, and the class that reads the batches of a fetch.
"""

import gzip
import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

import lz4.frame
import snappy
import zstandard
from kafka import codec
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError
from kafka.record import default_records, legacy_records, memory_records
from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatch
from kafka.record.util import decode_varint
from kafka.structs import TopicPartition

from services.log.protocol import BatchDamaged

MAX_BATCH_BYTES: Final = 1 << 26
"""Maximal bytes of a batch after decompression: 64 of the largest records. The topic limits a batch as sent to about 1 MiB."""

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEAD: Final = 16
_LEAST_OLD_BYTES: Final = 14
"""Bytes of a message of the formats 0 and 1 without key and value, after its offset and length."""
_MOST_OLD_MESSAGES: Final = 1 << 18
_ZSTD_WINDOW: Final = MAX_BATCH_BYTES
"""Maximal bytes of memory that a Zstandard frame may ask for."""


class TooLarge(CorruptRecordError):  # type: ignore[misc]  # noqa: N818
    """The decompressed data exceeds `MAX_BATCH_BYTES`."""

    def __str__(self) -> str:
        return f"it holds more than {MAX_BATCH_BYTES} bytes after decompression"


def _bounded(opened: Callable[[Any], BinaryIO]) -> Callable[[Any], bytes]:
    """A decompression that ends at `MAX_BATCH_BYTES` with `TooLarge`. opened: returns a stream of the decompressed bytes."""

    def decompress(data: Any) -> bytes:
        with opened(data) as stream:
            plain = stream.read(MAX_BATCH_BYTES + 1)
        if len(plain) > MAX_BATCH_BYTES:
            raise TooLarge
        return plain

    return decompress


gunzip = _bounded(lambda data: gzip.GzipFile(fileobj=io.BytesIO(data)))  # type: ignore[arg-type, return-value]
unlz4 = _bounded(lambda data: lz4.frame.LZ4FrameFile(io.BytesIO(data)))
unzstd = _bounded(lambda data: zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(data, read_across_frames=True))


def unsnap(data: bytes) -> bytes:
    """Decompress Snappy: a bare block, or the Java library's sequence of blocks. The stated sizes are checked before."""
    blocks, at = list[bytes](), _XERIAL_HEAD
    while data.startswith(_XERIAL) and at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        blocks.append(data[at + 4 : end])
        at = end
    if sum(map(_stated_size, blocks or [data])) > MAX_BATCH_BYTES:
        raise TooLarge
    return b"".join(map(snappy.decompress, blocks or [data]))


def _stated_size(block: bytes) -> int:
    """Decompressed size of a Snappy block, as its first bytes state it. The codec allocates this size before it reads the data."""
    number = int(decode_varint(block)[0])  # Kafka's numbers have the sign in the last bit, and Snappy's have no sign
    return 2 * number if number >= 0 else -2 * number - 1


class PresentBatch(DefaultRecordBatch):  # type: ignore[misc]
    """A batch of the present format (2). Headers of records are skipped, because Equirank does not use them and there can be millions."""

    def __iter__(self) -> Iterator[DefaultRecord]:
        self._maybe_uncompress()
        buffer, at, base, kind = self._buffer, self._pos, self.base_offset, self.timestamp_type
        appended = self.max_timestamp if kind == self.LOG_APPEND_TIME else None
        first, size = self.first_timestamp, len(buffer)
        for _ in range(self.records_count):
            length, start = decode_varint(buffer, at)
            delta, at = decode_varint(buffer, start + 1)
            place, at = decode_varint(buffer, at)
            key_size, at = decode_varint(buffer, at)
            key, at = (None, at) if key_size < 0 else (bytes(buffer[at : at + key_size]), at + key_size)
            value_size, at = decode_varint(buffer, at)
            value, at = (None, at) if value_size < 0 else (bytes(buffer[at : at + value_size]), at + value_size)
            if not start < at < start + length <= size:  # after the value, at least one byte follows: the number of headers
                raise CorruptRecordError(f"a record of {length} bytes does not hold its key and value, or does not end in the batch")
            at = start + length
            yield DefaultRecord(length, base + place, first + delta if appended is None else appended, kind, key, value, [])
        if at != size:
            raise CorruptRecordError(f"{size - at} bytes follow its records")


class LegacyBatch(LegacyRecordBatch):  # type: ignore[misc]
    """A batch of the formats before Kafka 0.11 (0 and 1). kafka-python lists all messages of a compressed one, and trusts their lengths."""

    def _read_all_headers(self) -> list[Any]:
        at, headers = 0, list[Any]()
        while at < len(self._buffer):
            header = self._read_header(at)
            if header[1] < _LEAST_OLD_BYTES or len(headers) == _MOST_OLD_MESSAGES:
                raise CorruptRecordError(f"a message of {header[1]} bytes, or more than {_MOST_OLD_MESSAGES} messages, in one batch")
            headers.append((header, at))
            at += self.LOG_OVERHEAD + header[1]
        return headers


class _Batches:
    """The batches of one partition in a fetch.

    last: the batch that is read; None before the first one, and while the next one is taken.
    """

    def __init__(self, records: Any) -> None:
        self._records = records
        self.last: Any = None

    def next_batch(self) -> Any:
        """The next batch; None after the last one."""
        self.last = None
        self.last = self._records.next_batch()
        return self.last


class _PartitionRecords(Fetcher.PartitionRecords):  # type: ignore[misc]
    """The records of one partition in a fetch. Whatever fails while they are read becomes a `BatchDamaged`.

    Too little memory is no fault of the batch: the shard ends, and the next one reads the batch again. Restart counters count deaths in the
    fold, not in a read, so no record is blamed.
    """

    def _unpack_records(self, tp: TopicPartition, records: Any, *deserializers: Any) -> Iterator[Any]:
        batches = _Batches(records)
        try:
            yield from super()._unpack_records(tp, batches, *deserializers)
        except MemoryError:
            raise
        except Exception as error:
            at = max(self.fetch_offset, self.next_fetch_offset)
            base = getattr(batches.last, "base_offset", at)
            # A batch of the formats 0 and 1 states only its last offset, and begins anywhere before.
            begin, end = (
                (at, base + 1) if isinstance(batches.last, LegacyBatch) else (max(base, at), getattr(batches.last, "next_offset", at + 1))
            )
            why = str(error) if isinstance(error, TooLarge) else f"it cannot be read ({type(error).__name__}: {error})"
            raise BatchDamaged(tp.topic, tp.partition, begin, max(begin + 1, end), why, min(base, begin)) from error


for _module in (codec, default_records, legacy_records):
    _module.gzip_decode, _module.snappy_decode, _module.lz4_decode = gunzip, unsnap, unlz4
default_records.zstd_decode = unzstd
memory_records.DefaultRecordBatch, memory_records.LegacyRecordBatch = PresentBatch, LegacyBatch
Fetcher.PartitionRecords = _PartitionRecords
