"""Tamper evidence: a SHA-256 hash chain over all rows of a partition, block by block.

A block is `BLOCK_ROWS` consecutive rows, so neither the size of commits nor compaction changes the chain. The link of a block is
SHA-256(previous link, columns of its rows); it is stored with the block's last row. The columns of `VERDICT` are not covered, because a
later generation may give the same row another verdict. Rows after the last complete block have no link yet.

The chain detects changes of single rows. Somebody with write access to all rows can compute a new chain for changed rows. To detect that,
compare the last link with a copy that was stored elsewhere.
"""

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from services.archive.schema import CHAINED, SCHEMA

BLOCK_ROWS: Final = 8192


class ChainBrokenError(Exception):
    """Rows from number `first` to before `end` are not those that were appended."""

    def __init__(self, first: int, end: int, why: str) -> None:
        super().__init__(f"rows {first} to {end - 1} of the archive were changed: {why}; restore the table from a backup")


class ChainHead(NamedTuple):
    """Last link of a chain. rows: number of rows that it covers."""

    rows: int
    link: bytes


def genesis(log: str, partition: int) -> ChainHead:
    """Link before the first row of a partition. log: log identity."""
    return ChainHead(0, hashlib.sha256(f"equirank archive 1\n{log}\n{partition}".encode()).digest())


def extended(head: ChainHead, rows: pa.Table) -> tuple[ChainHead, list[bytes | None]]:
    """Extend a chain by rows.

    Args:
        head: The last link. `rows` begins with the first row that it does not cover.
        rows: Rows with the columns `CHAINED`.

    Returns:
        The new head, which covers complete blocks only, and the column `chain`: a link or None for each row.

    """
    links: list[bytes | None] = [None] * len(rows)
    for start in range(0, len(rows) - BLOCK_ROWS + 1, BLOCK_ROWS):
        link = hashlib.sha256(head.link + _digest(rows.slice(start, BLOCK_ROWS))).digest()
        head = ChainHead(head.rows + BLOCK_ROWS, link)
        links[start + BLOCK_ROWS - 1] = link
    return head, links


def verify(head: ChainHead, tables: Iterable[pa.Table]) -> ChainHead:
    """Check rows against the links that are stored with them.

    Args:
        head: `genesis`, or a trusted later link.
        tables: All rows after it, in order.

    Returns:
        The last link of the rows.

    Raises:
        ChainBrokenError: Rows are missing, repeated, reordered or changed.

    """
    open_rows = SCHEMA.empty_table()
    for table in tables:
        rows = pa.concat_tables([open_rows, table.select(SCHEMA.names).cast(SCHEMA)]).combine_chunks()
        begin = head.rows
        if not np.array_equal(rows["row"].to_numpy(), np.arange(begin, begin + len(rows))):
            raise ChainBrokenError(begin, begin + len(rows), "their numbers have gaps or repeat")
        head, links = extended(head, rows)
        for end in range(BLOCK_ROWS, head.rows - begin + 1, BLOCK_ROWS):
            if rows["chain"][end - 1].as_py() != links[end - 1]:
                raise ChainBrokenError(begin + end - BLOCK_ROWS, begin + end, "their content does not give the stored link")
        open_rows = rows.slice(head.rows - begin)
    return head


def _digest(rows: pa.Table) -> bytes:
    """SHA-256 of the rows' values, independent of chunks, offsets and dictionaries."""
    digest = hashlib.sha256()
    for name in CHAINED:
        column = rows[name].cast(SCHEMA.field(name).type).combine_chunks()
        for part in _parts(column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.digest()


def _parts(values: pa.Array) -> list[bytes]:
    """Bytes to hash: a mask of values that are not null, the length of each list or text, and the values, little-endian with 0 for null."""
    present = np.asarray(values.is_valid()).tobytes()
    if pa.types.is_list(values.type):
        lengths = np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype("<i4")
        return [present, lengths.tobytes(), *_parts(values.flatten())]
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        lengths = np.asarray(pc.fill_null(pc.binary_length(values), 0)).astype("<i4")
        return [present, lengths.tobytes(), _bytes(values.drop_null().cast(pa.large_binary()))]
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    numbers = np.asarray(pc.fill_null(values, 0))
    return [present, numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()]


def _bytes(values: pa.Array) -> bytes:
    """Concatenated bytes of the values of a large_binary array."""
    _, starts, data = values.buffers()
    if data is None or not len(values):
        return b""
    start = np.frombuffer(starts, np.int64)[values.offset : values.offset + len(values) + 1]
    return bytes(memoryview(data)[start[0] : start[-1]])
