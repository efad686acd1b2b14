"""Records of the log as rows of the archive."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import UNSET

from services.archive.schema import CONTENT, GAME, RETRACTION, SCORES, UNREAD, fields
from services.log.protocol import Record
from services.wire import events
from services.wire.events import Decoded, Event, GameEvent, RetractEvent, ScoreEvent

_KIND: Final = {GameEvent: GAME, ScoreEvent: SCORES, RetractEvent: RETRACTION}
_CONTENT_SCHEMA: Final = fields(CONTENT)


def rows(records: Sequence[Record]) -> pa.Table:
    """Rows of `records` in the order of the log, with the columns `CONTENT`. Verdicts are null.

    Every record gives at least one row: one for each item of its array, or one for the whole record where it cannot be read.

    Args:
        records: Records of one partition, by rising offset.

    """
    values = [record.value for record in records]
    decoded = events.decode(values)
    taken, refused = _event_columns(decoded.events), _refusal_columns(decoded, values)
    record = np.array([*decoded.record, *(refusal.record for refusal in decoded.refusals)], np.int64)
    item = np.array([*decoded.item, *(refusal.item for refusal in decoded.refusals)], np.int32)
    order = np.lexsort((item, record))
    columns: dict[str, Any] = {
        name: taken.get(name, [None] * len(decoded.events)) + refused.get(name, [None] * len(decoded.refusals)) for name in CONTENT
    }
    columns["offset"] = np.array([entry.offset for entry in records], np.int64)[record]
    columns["logged"] = np.rint(np.array([entry.time for entry in records], np.float64) * 1e6).astype(np.int64)[record]
    columns["item"] = item
    table = pa.table([pa.array(columns[field.name], field.type) for field in _CONTENT_SCHEMA], schema=_CONTENT_SCHEMA)
    return table if (np.diff(order) == 1).all() else table.take(order)


def _event_columns(outcomes: Sequence[Event]) -> dict[str, list[Any]]:
    """Columns of decoded outcomes, without their place in the log."""
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
    }


def _agents(sides: list[events.Side] | None, scores: dict[str, float] | None) -> list[str] | None:
    if sides is not None:
        return [agent for side in sides for agent in side.agents]
    return None if scores is None else list(scores)


def _refusal_columns(decoded: Decoded, values: Sequence[bytes]) -> dict[str, list[Any]]:
    """Columns of items that the wire schema refuses: their bytes."""
    texts = {refusal.record: events.item_texts(values[refusal.record]) for refusal in decoded.refusals if refusal.item >= 0}
    return {
        "kind": [UNREAD] * len(decoded.refusals),
        "raw": [values[refusal.record] if refusal.item < 0 else texts[refusal.record][refusal.item] for refusal in decoded.refusals],
    }
