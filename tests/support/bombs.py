"""Make compressed batches that need far more memory after decompression, without using that memory."""

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import lz4.frame
import snappy
import zstandard
from kafka import KafkaProducer
from kafka.record import default_records
from kafka.record.util import calc_crc32c, encode_varint

CODECS: Final = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_PIECE: Final = 1 << 20
_HEADER: Final = ">qiibIhiqqqhii"


def record_bytes(size: int, byte: bytes = b" ") -> Iterator[bytes]:
    """Yield the bytes of a batch's record in pieces. Its value is `byte`, repeated `size` times."""
    body = bytearray([0])
    for number in (0, 0, -1, size):  # time, offset, no key, value
        encode_varint(number, body.append)
    head = bytearray()
    encode_varint(len(body) + size + 1, head.append)
    yield bytes(head + body)
    for start in range(0, size, _PIECE):
        yield byte * min(_PIECE, size - start)
    yield b"\0"


def compressed(name: str, pieces: Iterator[bytes]) -> bytes:
    """Compress pieces one after the other. name: codec, a key of `CODECS`."""
    out = io.BytesIO()
    if name == "gzip":
        pack = zlib.compressobj(9, zlib.DEFLATED, 31)
        for piece in pieces:
            out.write(pack.compress(piece))
        out.write(pack.flush())
    elif name == "snappy":
        out.write(b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1))
        for piece in pieces:
            block = snappy.compress(piece)
            out.write(struct.pack(">i", len(block)) + block)
    elif name == "lz4":
        with lz4.frame.LZ4FrameCompressor(block_linked=False, block_size=lz4.frame.BLOCKSIZE_MAX4MB) as frame:
            out.write(frame.begin())
            for piece in pieces:
                out.write(frame.compress(piece))
            out.write(frame.flush())
    else:
        with zstandard.ZstdCompressor(level=3).stream_writer(out, closefd=False) as writer:
            for piece in pieces:
                writer.write(piece)
    return out.getvalue()


def batch(name: str, packed: bytes, records: int = 1, base: int = 0) -> bytes:
    """Kafka batch of format 2 with compressed records."""
    fields = (CODECS[name], records - 1, 0, 0, -1, -1, -1, records)
    checked = struct.pack(">hiqqqhii", *fields) + packed
    return struct.pack(">qiibI", base, len(checked) + 9, 0, 2, calc_crc32c(checked)) + checked


def drop(bootstrap: str, topic: str, partition: int, size: int, seconds: float) -> int:
    """Send a batch that has `size` bytes after decompression, by a new producer. Returns its offset."""
    bomb = compressed("zstd", record_bytes(size))
    encode = default_records.zstd_encode
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="zstd")
    default_records.zstd_encode = lambda _: bomb
    try:
        sent = producer.send(topic, value=b" " * (len(bomb) + 1000), partition=partition).get(seconds)
    finally:
        default_records.zstd_encode = encode
        producer.close()
    assert isinstance(sent.offset, int)
    return sent.offset


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Yields a function that returns the largest growth of this process's memory since the start of the block, in bytes. Linux only."""
    status = Path("/proc/self/status")

    def kilobytes(field: str) -> int:
        return int(status.read_text(encoding="ascii").split(f"{field}:")[1].split()[0])

    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = kilobytes("VmRSS")
    yield lambda: (kilobytes("VmHWM") - before) * 1024
