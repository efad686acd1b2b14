"""Encode records of the log as rows of the archive."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import UNSET
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.records.tags import canonical_tags
from services.archive.schema import CONTENT, GAME, RETRACTION, SCORES, UNREAD, fields
from services.log.protocol import Record
from services.wire import events
from services.wire.events import Decoded, Event, GameEvent, RetractEvent, ScoreEvent
from services.wire.plain import plain_games
from services.wire.scanning.scan import Scanned

_KIND: Final = {GameEvent: GAME, ScoreEvent: SCORES, RetractEvent: RETRACTION}
_CONTENT_SCHEMA: Final = fields(CONTENT)
_CALENDAR: Final = -62_135_596_800.0, 253_402_300_799.0
"""Limits of the column `logged`: years 1 to 9999, in seconds since 1970, because other programs cannot show timestamps beyond them. A
Kafka producer may give a record any time."""


def rows(records: Sequence[Record]) -> pa.Table:
    """Encode records in the order of the log, with the columns `CONTENT`. Verdicts are null.

    A record gives a row for each item of its array. A record that cannot be decoded gives a single row.

    Args:
        records: Records of one partition, by rising offset.

    """
    scanned = plain_games([record.value for record in records])
    rest = [records[i] for i in scanned.rest]
    games = _scanned_rows(scanned, records)
    if not rest:
        return games
    table = pa.concat_tables([games, decoded_rows(rest)])
    order = np.lexsort((table["item"].to_numpy(), table["offset"].to_numpy()))
    return table.take(order)


def decoded_rows(records: Sequence[Record]) -> pa.Table:
    """Encode records as `rows` does, but with the decoder only. The decoder reads all records; the scanner reads only plain games."""
    values = [record.value for record in records]
    decoded = events.decode(values)
    taken, refused = _event_columns(decoded.events), _refusal_columns(decoded, values)
    record = np.array([*decoded.record, *(refusal.record for refusal in decoded.refusals)], np.int64)
    refused_records = {number for number in {refusal.record for refusal in decoded.refusals} if not events.is_array(values[number])}
    item = np.array([*decoded.item, *(-1 if refusal.record in refused_records else refusal.item for refusal in decoded.refusals)], np.int32)
    order = np.lexsort((item, record))
    columns: dict[str, Any] = {
        name: taken.get(name, [None] * len(decoded.events)) + refused.get(name, [None] * len(decoded.refusals)) for name in CONTENT
    }
    table = _table(columns, records, record, item)
    return table if (np.diff(order) == 1).all() else table.take(order)


def _table(columns: dict[str, Any], records: Sequence[Record], record: NDArray[np.int64], item: NDArray[np.int32]) -> pa.Table:
    """Table of `columns` with offset, log time and item of each row. record: index into `records`, int64 (n,); item: int32 (n,)."""
    columns["offset"] = np.array([entry.offset for entry in records], np.int64)[record]
    taken = np.clip(np.array([entry.time for entry in records], np.float64), *_CALENDAR)
    columns["logged"] = np.rint(taken * 1e6).astype(np.int64)[record]
    columns["item"] = item
    return pa.table([_array(columns.get(field.name), field.type, len(record)) for field in _CONTENT_SCHEMA], schema=_CONTENT_SCHEMA)


def _array(values: Any, kind: pa.DataType, length: int) -> pa.Array:
    if values is None:
        return pa.nulls(length, kind)
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)


def _scanned_rows(scanned: Scanned, records: Sequence[Record]) -> pa.Table:
    """Encode the games that the scanner read. Only arrays are used, without a Python object for each outcome."""
    columns, n = scanned.columns, len(scanned.record)
    members = np.diff(columns.agent_start)
    side = np.arange(len(columns.place)) - np.repeat(columns.side_start[:-1], np.diff(columns.side_start))
    start = pa.array(columns.agent_start[columns.side_start], pa.int32())
    row_columns: dict[str, Any] = {
        "kind": pa.repeat(GAME, n),
        "pool": pa.array(scanned.pools, pa.string()).take(pa.array(scanned.pool)),
        "id": _texts(scanned.ids),
        "time": columns.time,
        "weight": scanned.weight,
        "task": _texts(columns.tasks).take(pa.array(columns.task_of, mask=columns.task_of < 0)),
        "agents": pa.ListArray.from_arrays(start, _texts(columns.names.arena())),
        "sides": pa.ListArray.from_arrays(start, pa.array(np.repeat(side, members), pa.int32())),
        "places": pa.ListArray.from_arrays(start, pa.array(np.repeat(columns.place, members), pa.int32())),
        "tags": None if columns.tags is None else _texts(columns.tags.texts).take(pa.array(columns.tags.code, mask=columns.tags.code < 0)),
    }
    return _table(row_columns, records, scanned.record, scanned.item.astype(np.int32))


def _texts(arena: Arena) -> pa.Array:
    """Arrow array of an arena's texts."""
    start, texts = (pa.py_buffer(np.ascontiguousarray(part)) for part in (arena.start, arena.bytes))
    return pa.LargeStringArray.from_buffers(len(arena), start, texts).cast(pa.string())


def _event_columns(outcomes: Sequence[Event]) -> dict[str, list[Any]]:
    """Columns of decoded outcomes, without offset, item and log time."""
    games = [event.sides if isinstance(event, GameEvent) else None for event in outcomes]
    scores = [event.scores if isinstance(event, ScoreEvent) else None for event in outcomes]
    return {
        "kind": [_KIND[type(event)] for event in outcomes],
        "pool": [event.pool for event in outcomes],
        "id": [event.id for event in outcomes],
        "time": [event.time for event in outcomes],
        "weight": [None if isinstance(event, RetractEvent) else event.weight for event in outcomes],
        "task": [None if isinstance(event, RetractEvent) else event.task for event in outcomes],
        "agents": [_agents(sides, measured) for sides, measured in zip(games, scores, strict=True)],
        "sides": [sides and [i for i, side in enumerate(sides) for _ in side.agents] for sides in games],
        "places": [sides and [side.place for side in sides for _ in side.agents] for sides in games],
        "scores": [measured and list(measured.values()) for measured in scores],
        "retracts": [event.retracts if isinstance(event, RetractEvent) else None for event in outcomes],
        "meta": [None if event.meta is UNSET else bytes(event.meta) for event in outcomes],
        "tags": [_tags(event) for event in outcomes],
    }


def _agents(sides: list[events.Side] | None, scores: dict[str, float] | None) -> list[str] | None:
    if sides is not None:
        return [agent for side in sides for agent in side.agents]
    return None if scores is None else list(scores)


def _tags(event: Event) -> str | None:
    """Canonical text of an outcome's tags; None without tags."""
    return None if isinstance(event, RetractEvent) or event.tags is UNSET else canonical_tags(event.tags) or None


def _refusal_columns(decoded: Decoded, values: Sequence[bytes]) -> dict[str, list[Any]]:
    """Columns of refused items: the kind `UNREAD`, and their bytes."""
    texts = {refusal.record: events.item_texts(values[refusal.record]) for refusal in decoded.refusals if refusal.item >= 0}
    return {
        "kind": [UNREAD] * len(decoded.refusals),
        "raw": [values[refusal.record] if refusal.item < 0 else texts[refusal.record][refusal.item] for refusal in decoded.refusals],
    }
