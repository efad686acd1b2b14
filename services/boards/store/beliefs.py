"""Beliefs in the store, and in the rows that readers get. Deviations are evaluated for the rows of a page only."""

import msgspec

from ratings_core.records.beliefs import LEVEL, Belief, BeliefModel
from services.boards.result import AgentRow, Intervals


def text_of(belief: Belief) -> str:
    """A belief as text, exact to the last bit: "DEVIATION", or "DEVIATION WANDER SINCE" if the deviation grows with pool time."""
    deviation, wander, since = belief
    return f"{deviation!r} {wander!r} {since}" if wander else repr(deviation)


def of_text(text: str) -> Belief:
    """The belief from a text that `text_of` returned."""
    deviation, *growth = text.split(" ")
    return Belief(float(deviation), float(growth[0]), int(growth[1])) if growth else Belief(float(deviation))


def believed(row: AgentRow, belief: Belief | None, model: BeliefModel, time: float | None) -> AgentRow:
    """An online method's row with the deviation and the interval of its belief at `time`; unchanged if it has no belief.

    time: Pool time; None before the first outcome.
    """
    if row.rating is None or belief is None:
        return row
    low, high = model.interval(row.rating, belief, time)
    return msgspec.structs.replace(row, deviation=model.deviation(belief, time), low=low, high=high)


def belief_intervals(model: BeliefModel | None) -> Intervals | msgspec.UnsetType:
    """Description of the intervals on an online method's board; unset if the method holds no beliefs."""
    if model is None:
        return msgspec.UNSET
    of = f"the mean, which the rating is {model.below:g} deviations below" if model.below else ""
    return Intervals(kind="belief", of=of, assumes="the method's model of games, as of the pool's time", level=LEVEL)
