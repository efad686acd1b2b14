"""Rows of FastChat's raw log of an arena: two models and a winner from the kind of event, the models shown and the models that answered.

The kind of event is in `type` and the models in `models`; if the names were hidden during the vote, they are in `states`. The reader does
not repeat FastChat's own cleaning (renamed models, models that revealed their name, banned voters).
"""

import re
from typing import Any, Final, NamedTuple

VOTES: Final = {"leftvote": "model_a", "rightvote": "model_b", "tievote": "tie", "bothbad_vote": "tie (bothbad)"}
"""Types that are verdicts -> the winner. Other types (chats, single votes, flags) are no battles."""
FIELDS: Final = ("type", "models", "states")
"""Fields that a vote is read from."""
MADE: Final = ("model_a", "model_b", "winner")
"""Columns that a vote becomes."""
NO_VERDICT: Final = "no verdict on two models"
NOT_NAMED: Final = "a model is not named"
DIFFER: Final = "the displayed models differ from the models that answered"
ITSELF: Final = "one model against itself"
_HIDDEN: Final = frozenset({"", "Model A", "Model B"})
_MARKUP: Final = re.compile(r"(?:<h3>|### )[^:<]*: ")
"""Markup of the arena's page before a displayed name. `</h3>` and white space may follow the name."""


class Vote(NamedTuple):
    """A vote as a row of battles.

    Attributes:
        model_a, model_b, winner: Cells of the row.
        why: Why the row is no battle; empty for a battle.
    """

    model_a: Any
    model_b: Any
    winner: Any
    why: str = ""


def vote(kind: Any, models: Any, states: Any) -> Vote:
    """The row of a vote.

    Args:
        kind: Type of the event.
        models: The two displayed names.
        states: The two states of the conversations, with the names that were hidden from the voter. Displayed names must agree with them.
    """
    winner = VOTES.get(kind) if isinstance(kind, str) else None
    if winner is None:
        return Vote(None, None, None, NO_VERDICT)
    shown, hidden = _shown(models), _of_states(states)
    if shown is None:
        return Vote(str(models), None, winner)  # refused: the second model has no name
    if None in shown or len({text in _HIDDEN for text in shown}) > 1:
        return Vote(None, None, None, NOT_NAMED)
    if not _HIDDEN.isdisjoint(shown):
        if hidden is None:
            return Vote(None, None, None, NOT_NAMED)
        shown = hidden
    elif hidden is not None and hidden != shown:
        return Vote(None, None, None, DIFFER)
    if shown[0] == shown[1]:
        return Vote(None, None, None, ITSELF)
    return Vote(shown[0], shown[1], winner)


def _shown(models: Any) -> list[str | None] | None:
    """The displayed names without markup; None if there are not two. A hidden name is empty."""
    if not isinstance(models, list) or len(models) != 2 or not all(text is None or isinstance(text, str) for text in models):
        return None
    return [text if text is None else _without_markup(text) for text in models]


def _without_markup(text: str) -> str:
    markup = _MARKUP.match(text)
    shown = text[markup.end() :].rstrip().removesuffix("</h3>") if markup else text
    return text if "\n" in shown else shown


def _of_states(states: Any) -> list[str | None] | None:
    if not isinstance(states, list) or len(states) != 2:
        return None
    names = [state.get("model_name") if isinstance(state, dict) else None for state in states]
    return None if None in names else names
