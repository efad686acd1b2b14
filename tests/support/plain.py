"""Compare the scanner's columns of records with those of the decoder."""

from collections.abc import Sequence

from ratings_core.columns.outcomes import Games
from services.wire import events
from services.wire.columns import columns_of_games
from services.wire.events import GameEvent
from services.wire.scanning.scan import Scanned


def assert_the_decoder_agrees(values: Sequence[bytes], found: Scanned) -> None:
    read = sorted(set(found.record.tolist()))
    assert sorted([*read, *found.rest]) == list(range(len(values)))
    decoded = events.decode([values[i] for i in read])
    assert decoded.refusals == []
    assert {type(event) for event in decoded.events} <= {GameEvent}
    assert [found.pools[number] for number in found.pool] == [event.pool for event in decoded.events]
    assert found.record.tolist() == [read[i] for i in decoded.record]
    assert found.item.tolist() == decoded.item
    twin = columns_of_games(decoded.events)  # type: ignore[arg-type]
    for column in Games.__slots__:
        ours, theirs = getattr(found.columns, column), getattr(twin, column)
        if column in ("names", "tasks", "meta"):
            assert ours.names() == theirs.names()
        elif column == "tags":
            assert (None if ours is None else ours.names()) == (None if theirs is None else theirs.names())
        else:
            assert ours.dtype == theirs.dtype, column
            assert ours.tobytes() == theirs.tobytes(), column  # minus zero too
