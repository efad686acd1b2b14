"""Folding decoded events into the state of a pool, which takes columns."""

from collections.abc import Sequence

from services.state.pool import PoolState, Refused
from services.wire.columns import by_kind
from services.wire.events import Event


def fold_events(state: PoolState, events: Sequence[Event]) -> list[Refused]:
    """Fold events of one pool, in order. Returns the refused ones."""
    parts = by_kind(events)
    return sorted(one._replace(at=int(at[one.at])) for at, outcomes in parts for one in state.fold(outcomes))
