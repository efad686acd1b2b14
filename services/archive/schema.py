"""Columns of the archive, and their layout on disk.

A row is one item of a log record: an outcome, a retraction, or bytes that the wire schema refuses. Rows have the order of the log. The
columns up to `raw` depend on the log alone. `generation`, `verdict` and `reason` are reserved.

Tables of earlier releases have one more column, `chain`: readers ignore it, and new rows leave it null. They lack the column `tags` until
rows are appended.

Lists of an outcome have equal length. Agent k plays on side `sides[k]`, which took place `places[k]`; or it reached `scores[k]`.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from deltalake import ColumnProperties, WriterProperties

SEGMENT_ROWS: Final = 1 << 20
"""Rows of a segment. Compaction merges files within a segment, and readers hold at most one segment in memory."""
ORDER: Final = "row"
"""Column by which readers order the rows."""
APP_ID: Final = "equirank-archive"
"""Application id of the writer in the table's log. Its transaction version is the partition's position: first offset not archived."""
ERASURES_ID: Final = "equirank-erasures"
"""Application id whose transaction version is the number of the partition's erasures that are applied to the table's rows."""
ELSEWHERE_ID: Final = "equirank-erasures-elsewhere"
"""Application id whose transaction version is the number of other partitions' erasures that are applied to the table's rows. A table has
rows of their pools if a producer used another partitioner. No fold reads these rows."""
BEGIN_ID: Final = "equirank-archive-begin"
"""Application id whose transaction version is the table's begin: the table holds all records from here to its position. 0 if missing."""

GAME: Final = "game"
SCORES: Final = "scores"
RETRACTION: Final = "retraction"
UNREAD: Final = "unread"
"""Kinds of rows. An unread row holds bytes that the wire schema refuses."""

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
        pa.field("tags", pa.string()),
        pa.field("raw", pa.binary()),
        pa.field("generation", pa.int64()),
        pa.field("verdict", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""segment: row // SEGMENT_ROWS. row: number of the row in its partition, from 0, without gaps. offset, item: record of the log, and index
in its array (-1: the complete record was refused). logged: time of the record in the log, limited to years 1 to 9999. time: of the
outcome, seconds since 1970. meta: JSON text as it was sent. tags: JSON object with sorted keys; null without tags, and in rows of earlier
releases. raw: refused bytes as they were sent."""
CODED: Final = SCHEMA.set(
    SCHEMA.get_field_index("agents"), pa.field("agents", pa.list_(pa.field("element", pa.dictionary(pa.int32(), pa.string()))))
)
"""Columns as readers get them: names of agents are dictionary codes, so each distinct name is processed once, not once per outcome."""
NAMES: Final = "agents.list.element"
"""Path of the agents' names in Parquet files."""
STEADY: Final = ("item", "kind", "pool", "weight", "task", "scores", "retracts", "meta", "tags", "raw")
"""Columns that often are null or constant in all rows. Folds take a constant value from the files' statistics instead of reading the
column. If `ArchiveReader` reads such a column anyway, it compares the values with the statistics.
"""
CONTENT: Final = tuple(name for name in SCHEMA.names if name not in {"segment", "row"})
"""Columns of an append; the writer numbers the rows."""


def fields(names: Sequence[str]) -> pa.Schema:
    """Arrow schema of some columns, in the order of `names`."""
    return pa.schema([SCHEMA.field(name) for name in names])


TABLE: Final = {
    "delta.dataSkippingStatsColumns": "row,offset,pool",
    "delta.checkpointInterval": "50",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.enableExpiredLogCleanup": "true",
}
"""Properties of a table. Statistics of three columns keep its log small. Transaction versions have no retention, so they are never
deleted."""


def layout() -> WriterProperties:
    """Encodings of the Parquet files: deltas for rising numbers, and no dictionary for values that rarely repeat."""
    growing = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
    unique = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BYTE_ARRAY", statistics_enabled="NONE")
    split = ColumnProperties(dictionary_enabled=False, encoding="BYTE_STREAM_SPLIT", statistics_enabled="NONE")
    return WriterProperties(
        compression="ZSTD",
        compression_level=3,
        max_row_group_size=1 << 18,
        column_properties={"row": growing, "offset": growing, "logged": growing, "id": unique, "time": split},
    )
