"""Beliefs as the store holds them, and in the rows that readers get: evaluated for the rows of a page, never by a scan."""

import msgspec

from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.result import AgentRow


def text_of(belief: Belief) -> str:
    """A belief as the value of a hash, every bit of it: its deviation, and how that grows where it does."""
    deviation, wander, since = belief
    return f"{deviation!r} {wander!r} {since}" if wander else repr(deviation)


def of_text(text: str) -> Belief:
    """The belief whose text this is."""
    deviation, *growth = text.split(" ")
    return Belief(float(deviation), float(growth[0]), int(growth[1])) if growth else Belief(float(deviation))


def believed(row: AgentRow, belief: Belief | None, model: BeliefModel, time: float | None) -> AgentRow:
    """An online method's row with the deviation and the interval of its belief as of `time`; unchanged if it has no belief."""
    if row.rating is None or belief is None:
        return row
    low, high = model.interval(row.rating, belief, time)
    return msgspec.structs.replace(row, deviation=model.deviation(belief, time), low=low, high=high)
