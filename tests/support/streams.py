"""Make Arrow IPC streams of schema v1c, as a producer does."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from msgspec import UNSET

from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent

TEXT: Final = pa.dictionary(pa.int32(), pa.string())
TYPES: Final[Mapping[str, pa.DataType]] = {
    "id": pa.string(),
    "pool": TEXT,
    "time": pa.float64(),
    "kind": TEXT,
    "weight": pa.float64(),
    "task": TEXT,
    "agents": pa.list_(TEXT),
    "sides": pa.list_(pa.int8()),
    "places": pa.list_(pa.int32()),
    "scores": pa.list_(pa.float64()),
    "retracts": pa.string(),
    "tags": TEXT,
    "meta": pa.binary(),
}
_KINDS: Final = {GameEvent: "game", ScoreEvent: "scores", RetractEvent: "retraction"}


def row(event: Event) -> dict[str, Any]:
    """An outcome or retraction as a row: column -> value."""
    made: dict[str, Any] = {"id": event.id, "pool": event.pool, "time": event.time, "kind": _KINDS[type(event)]}
    if isinstance(event, GameEvent):
        made["agents"] = [agent for side in event.sides for agent in side.agents]
        made["sides"] = [number for number, side in enumerate(event.sides) for _ in side.agents]
        made["places"] = [side.place for side in event.sides for _ in side.agents]
    if isinstance(event, ScoreEvent):
        made |= {"agents": list(event.scores), "scores": list(event.scores.values())}
    if isinstance(event, RetractEvent):
        return made | {"retracts": event.retracts}
    if event.tags is not UNSET:
        made["tags"] = json.dumps(event.tags)
    return made | {"task": event.task, "weight": None if event.weight == 1.0 else event.weight}


def table(rows: Sequence[Mapping[str, Any]], types: Mapping[str, pa.DataType] = TYPES) -> pa.Table:
    """Arrow table of rows, with the columns that at least one row has."""
    names = [name for name in types if any(name in one for one in rows)]
    return pa.table({name: pa.array([one.get(name) for one in rows], types[name]) for name in names})


def stream(columns: pa.Table, batch_rows: int | None = None, **options: Any) -> bytes:
    """Encode a table as a stream. options: arguments of `pa.ipc.IpcWriteOptions`."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, columns.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(columns.unify_dictionaries().combine_chunks(), batch_rows)
    return sink.getvalue()


def packed(events: Sequence[Event], batch_rows: int | None = None) -> bytes:
    """Encode outcomes as a stream."""
    return stream(table([row(event) for event in events]), batch_rows)
