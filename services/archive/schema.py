"""Columns of the archive, and how they are laid out on disk.

A row is one item of a log record: an outcome, a retraction, or bytes that the wire schema refuses. Rows have the order of the log. The
columns up to `raw` depend on the log alone. The columns of `VERDICT` say what one generation made of the item, so they depend on the
generation and its dedupe window; the hash chain leaves them out.

Agents of an outcome are lists of equal length: agent k plays on side `sides[k]`, which took place `places[k]`; or it reached `scores[k]`.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from deltalake import ColumnProperties, WriterProperties

SEGMENT_ROWS: Final = 1 << 20
"""Rows of a segment, the unit that is compacted and that readers hold in memory."""
APP_ID: Final = "equirank-archive"
"""Names the writer in the table's log. Its transaction version is the partition's position: the first offset that is not archived."""
ERASURES_ID: Final = "equirank-erasures"
"""Its transaction version is how many erasures of the partition the table's rows have undergone."""
ELSEWHERE_ID: Final = "equirank-erasures-elsewhere"
"""Its transaction version is how many erasures of other partitions the table's rows have undergone. Rows of their pools lie here where a
producer used another partitioner; no fold takes them."""
BEGIN_ID: Final = "equirank-archive-begin"
"""Its transaction version is the offset from which on the table holds everything up to its position. A table without it begins at 0."""

GAME: Final = "game"
SCORES: Final = "scores"
RETRACTION: Final = "retraction"
UNREAD: Final = "unread"
"""Kinds of rows. An unread row holds bytes that are no outcome of the wire schema."""

SCHEMA: Final = pa.schema(
    [
        pa.field("segment", pa.int32(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("item", pa.int32(), nullable=False),
        pa.field("logged", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("pool", pa.string()),
        pa.field("id", pa.string()),
        pa.field("time", pa.float64()),
        pa.field("weight", pa.float64()),
        pa.field("task", pa.string()),
        pa.field("agents", pa.list_(pa.string())),
        pa.field("sides", pa.list_(pa.int32())),
        pa.field("places", pa.list_(pa.int32())),
        pa.field("scores", pa.list_(pa.float64())),
        pa.field("retracts", pa.string()),
        pa.field("meta", pa.binary()),
        pa.field("raw", pa.binary()),
        pa.field("generation", pa.int64()),
        pa.field("verdict", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("chain", pa.binary()),
    ]
)
"""segment: row // SEGMENT_ROWS. row: number of the row in its partition, from 0, without gaps. offset, item: record of the log, and index
in its array (-1: the whole record was refused). logged: when the log took the record; a time outside of years 1 to 9999, which a producer
may give, becomes the nearest one inside. time: of the outcome, seconds since 1970. meta, raw: JSON text as it was sent. chain: SHA-256 of
all rows up to this one, on the last row of each block."""
CODED: Final = SCHEMA.set(
    SCHEMA.get_field_index("agents"), pa.field("agents", pa.list_(pa.field("element", pa.dictionary(pa.int32(), pa.string()))))
)
"""The columns as readers take them from files: names are numbers of a dictionary, so that each is looked at once, not once an outcome."""
NAMES: Final = "agents.list.element"
"""The names of agents, as Parquet calls this column."""
STEADY: Final = ("item", "kind", "pool", "weight", "task", "scores", "retracts", "meta", "raw")
"""Columns that are mostly null or mostly hold one value. Folds take that from the files' statistics; `ArchiveReader` compares the two
wherever it reads a column.
"""
VERDICT: Final = ("generation", "verdict", "reason")
"""What a generation made of the item."""
CHAINED: Final = tuple(name for name in SCHEMA.names if name not in {"segment", "chain", *VERDICT})
"""Columns that the hash chain covers."""
CONTENT: Final = tuple(name for name in SCHEMA.names if name not in {"segment", "row", "chain"})
"""Columns of an append; the writer numbers and chains the rows."""


def fields(names: Sequence[str]) -> pa.Schema:
    """The schema of some columns."""
    return pa.schema([SCHEMA.field(name) for name in names])


TABLE: Final = {
    "delta.dataSkippingStatsColumns": "row,offset,pool",
    "delta.checkpointInterval": "50",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.enableExpiredLogCleanup": "true",
}
"""Properties of a table. Statistics of few columns keep its log small; no retention of transaction versions, so they stay for ever."""


def layout() -> WriterProperties:
    """Encodings of the Parquet files: deltas for numbers that grow, no dictionary for what never repeats."""
    growing = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
    unique = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BYTE_ARRAY", statistics_enabled="NONE")
    split = ColumnProperties(dictionary_enabled=False, encoding="BYTE_STREAM_SPLIT", statistics_enabled="NONE")
    return WriterProperties(
        compression="ZSTD",
        compression_level=3,
        max_row_group_size=1 << 18,
        column_properties={"row": growing, "offset": growing, "logged": growing, "id": unique, "time": split},
    )
