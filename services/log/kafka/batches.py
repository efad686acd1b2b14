"""Safe reading of record batches: bounded decompression, and errors that name the offsets of an unreadable batch.

kafka-python 3.0 decompresses a batch without a limit of size, so 64 KB of Zstandard can allocate gigabytes. It also creates every header
of every record, and raises the codec's exceptions without partition and offset. Importing this module replaces kafka-python's classes that
read batches. A batch is refused before more than `MAX_BATCH_BYTES` of it are in memory.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import lz4.frame
import snappy
import zstandard
from kafka import codec
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError
from kafka.record import legacy_records, memory_records
from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatch
from kafka.record.util import decode_varint
from kafka.structs import TopicPartition

MAX_BATCH_BYTES: Final = 1 << 26
"""Maximal bytes of a batch after decompression: 64 of the largest records. The topic limits a batch as sent to about 1 MiB."""
MAX_BATCH_RECORDS: Final = 1 << 20
"""Maximal number of records in a batch: as many of the smallest outcomes as fit into `MAX_BATCH_BYTES`."""

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEAD: Final = 16
_GZIP: Final = 31
"""Value of `wbits` with which zlib reads gzip with its header and checksum."""


class BatchRefused(CorruptRecordError):  # type: ignore[misc]  # noqa: N818 - names the fact
    """A batch cannot be read.

    Attributes:
        base: First offset of the batch.
        end: Offset after the last one of the batch.
        begin: First offset of the batch that was not read.
        partition: Number of the partition; -1 until the reader of the partition sets it.
    """

    def __init__(self, base: int, end: int, why: str) -> None:
        self.base, self.end, self.why = base, end, why
        self.partition, self.begin = -1, base
        super().__init__(f"batch at offsets {base} to {end - 1}: {why}")


class TooLarge(ValueError):  # noqa: N818
    """The decompressed data exceeds the limit."""

    def __init__(self) -> None:
        super().__init__(f"it holds more than {MAX_BATCH_BYTES} bytes after decompression")


def gunzip(data: bytes, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Decompress a gzip stream of one or more members. Raises `TooLarge`, and `zlib.error` or `ValueError` for invalid data."""
    parts, left, rest = list[bytes](), limit, bytes(data)
    while rest:
        member = zlib.decompressobj(_GZIP)
        part = member.decompress(rest, left + 1)
        if len(part) > left:
            raise TooLarge
        if not member.eof:
            msg = "its gzip stream ends too early"
            raise ValueError(msg)
        parts.append(part)
        left, rest = left - len(part), member.unused_data
    return b"".join(parts)


def unsnap(data: bytes, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Decompress Snappy, a bare block or the Java library's sequence of blocks. The stated size of each block is checked before."""
    if not data.startswith(_XERIAL):
        return _block(data, limit)
    parts, left, at = list[bytes](), limit, _XERIAL_HEAD
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        block = data[at + 4 : at + 4 + size]
        if size < 0 or len(block) < size:
            msg = "a block of Snappy ends too early"
            raise ValueError(msg)
        parts.append(_block(block, left))
        left, at = left - len(parts[-1]), at + 4 + size
    return b"".join(parts)


def _block(data: bytes, limit: int) -> bytes:
    if _stated_size(data) > limit:
        raise TooLarge
    plain: bytes = snappy.decompress(data)
    return plain


def _stated_size(block: bytes) -> int:
    """Decompressed size of a Snappy block, as its first bytes state it. The codec allocates this size before it reads the data."""
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    msg = "a block of Snappy does not state its size"
    raise ValueError(msg)


def unlz4(data: bytes, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Decompress an LZ4 frame. The size in its header is not trusted: the output is limited instead."""
    frame = lz4.frame.LZ4FrameDecompressor()
    plain: bytes = frame.decompress(data, max_length=limit + 1)
    if len(plain) > limit:
        raise TooLarge
    if not frame.eof:
        msg = "its LZ4 frame ends too early"
        raise ValueError(msg)
    return plain


def unzstd(data: bytes, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Decompress Zstandard frames, with a limit for their windows too. A truncated end is detected later, by the reader of the records."""
    with zstandard.ZstdDecompressor(max_window_size=MAX_BATCH_BYTES).stream_reader(data, read_across_frames=True) as reader:
        plain = reader.read(limit + 1)
    if len(plain) > limit:
        raise TooLarge
    return plain


_CODECS: Final[dict[int, tuple[str, Callable[[bytes], bytes]]]] = {
    DefaultRecordBatch.CODEC_GZIP: ("gzip", gunzip),
    DefaultRecordBatch.CODEC_SNAPPY: ("Snappy", unsnap),
    DefaultRecordBatch.CODEC_LZ4: ("LZ4", unlz4),
    DefaultRecordBatch.CODEC_ZSTD: ("Zstandard", unzstd),
}


def _decompressed(codec: int, data: bytes) -> bytes:
    """Decompress `data`. Raises `ValueError` with the reason for an unknown codec, and for data that is too large or invalid."""
    if codec not in _CODECS:
        msg = f"its compression {codec} is not known"
        raise ValueError(msg)
    name, decompress = _CODECS[codec]
    try:
        return decompress(data)
    except TooLarge:
        raise
    except (RuntimeError, ValueError, zlib.error, zstandard.ZstdError, snappy.UncompressError, EOFError) as error:
        msg = f"its {name} cannot be decompressed ({error})"
        raise ValueError(msg) from error


class Batch(DefaultRecordBatch):  # type: ignore[misc]
    """A batch of the present format (2), with limits and checks. Headers of records are not read, because Equirank does not use them."""

    _buffer: bytes | bytearray
    _pos: int
    _decompressed: bool

    def validate_crc(self) -> bool:
        """Return true if the checksum matches. Raises `BatchRefused` otherwise."""
        if not super().validate_crc():
            raise self._refused("its checksum does not match")
        return True

    def __iter__(self) -> Iterator[Any]:
        if self.records_count > MAX_BATCH_RECORDS:
            raise self._refused(f"it says that it holds {self.records_count} records, more than {MAX_BATCH_RECORDS}")
        if not self._decompressed and self.compression_type != self.CODEC_NONE:
            try:
                self._buffer = _decompressed(self.compression_type, bytes(memoryview(self._buffer)[self._pos :]))
            except ValueError as error:
                raise self._refused(str(error)) from error
            self._pos = 0
        self._decompressed = True
        return self._records()

    def _records(self) -> Iterator[DefaultRecord]:
        """Yield the records in order. Headers are skipped, because a record can have millions of them."""
        buffer, at, base, kind = self._buffer, self._pos, self.base_offset, self.timestamp_type
        appended = self.max_timestamp if kind == self.LOG_APPEND_TIME else None
        first, size = self.first_timestamp, len(buffer)
        try:
            for _ in range(self.records_count):
                length, start = decode_varint(buffer, at)
                end = start + length
                delta, at = decode_varint(buffer, start + 1)
                place, at = decode_varint(buffer, at)
                key = value = None
                key_size, at = decode_varint(buffer, at)
                if key_size >= 0:
                    key, at = bytes(buffer[at : at + key_size]), at + key_size
                value_size, at = decode_varint(buffer, at)
                if value_size >= 0:
                    value, at = bytes(buffer[at : at + value_size]), at + value_size
                if not start < at < end <= size:  # after the value, at least one byte follows: the number of headers
                    raise self._refused(f"a record of {length} bytes does not hold its key and value, or does not end in the batch")
                at = end
                yield DefaultRecord(length, base + place, first + delta if appended is None else appended, kind, key, value, [])
        except (ValueError, IndexError) as error:
            raise self._refused(f"its records cannot be told apart ({error})") from error
        if at != size:
            raise self._refused(f"{size - at} bytes follow its records")

    def _refused(self, why: str) -> BatchRefused:
        return BatchRefused(self.base_offset, self.next_offset, why)


class OldBatch(LegacyRecordBatch):  # type: ignore[misc]
    """A batch of the formats before Kafka 0.11 (0 and 1)."""

    def validate_crc(self) -> bool:
        """Return true if the checksum matches. Raises `BatchRefused` otherwise."""
        if not super().validate_crc():
            raise self._refused("its checksum does not match")
        return True

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from super().__iter__()
        except (CorruptRecordError, AssertionError, ValueError, IndexError, RuntimeError, zlib.error) as error:
            raise self._refused(f"it cannot be read ({error})") from error

    def _refused(self, why: str) -> BatchRefused:
        return BatchRefused(self.base_offset, self.base_offset + 1, why)


class _PartitionRecords(Fetcher.PartitionRecords):  # type: ignore[misc]
    """The records of one partition in a fetch. It adds the partition and the first unread offset to a `BatchRefused`."""

    def _unpack_records(self, tp: TopicPartition, records: Any, *deserializers: Any) -> Iterator[Any]:
        try:
            yield from super()._unpack_records(tp, records, *deserializers)
        except BatchRefused as error:
            error.partition = tp.partition
            error.begin = max(error.base, self.fetch_offset, self.next_fetch_offset)
            raise


def _install() -> None:
    memory_records.DefaultRecordBatch, memory_records.LegacyRecordBatch = Batch, OldBatch
    legacy_records.gzip_decode, legacy_records.snappy_decode, legacy_records.lz4_decode = gunzip, unsnap, unlz4
    codec.lz4_decode = unlz4  # kafka-python calls this name for LZ4 of Kafka 0.8
    Fetcher.PartitionRecords = _PartitionRecords


_install()
