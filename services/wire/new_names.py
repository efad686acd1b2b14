"""A rule for names and values of tags in new outcomes: every character must be displayed.

The decoder accepts other names too, because records that a log already holds must fold as before. The writers of outcomes (the API,
`equirank replay` and `equirank dead-letters replay`) check this rule in addition.
"""

from collections.abc import Sequence

from msgspec import UNSET

from ratings_core.records.names import hidden_character, invisible_rule
from services.wire.events import Event, GameEvent, ScoreEvent
from services.wire.rules import Broken, member_path


def hidden_names(events: Sequence[Event]) -> dict[int, Broken]:
    """Index of each event with a hidden character in a name -> the path of its first such name, from `$`, and the rule.

    Ids that retractions name are exempt, because the log already holds them.
    """
    return {
        number: broken
        for number, event in enumerate(events)
        if not "".join(_texts(event)).isascii() and (broken := _broken(event)) is not None
    }


def _texts(event: Event) -> list[str]:
    if isinstance(event, GameEvent):
        return [event.id, event.task or "", *(agent for side in event.sides for agent in side.agents), *_tags(event).values()]
    return [event.id, event.task, *event.scores, *_tags(event).values()] if isinstance(event, ScoreEvent) else [event.id]


def _tags(event: GameEvent | ScoreEvent) -> dict[str, str]:
    return {} if event.tags is UNSET else event.tags


def _broken(event: Event) -> Broken | None:
    for text, path in zip(_texts(event), _paths(event), strict=True):
        if (character := hidden_character(text)) is not None:
            return Broken(path, invisible_rule(character))
    return None


def _paths(event: Event) -> list[str]:
    """Path of each of `_texts`."""
    if isinstance(event, GameEvent):
        agents = [f"$.sides[{i}].agents[{j}]" for i, side in enumerate(event.sides) for j in range(len(side.agents))]
        return ["$.id", "$.task", *agents, *_tag_paths(event)]
    if isinstance(event, ScoreEvent):
        scores = [member_path("$.scores", agent, quoted=True) for agent in event.scores]
        return ["$.id", "$.task", *scores, *_tag_paths(event)]
    return ["$.id"]


def _tag_paths(event: GameEvent | ScoreEvent) -> list[str]:
    return [member_path("$.tags", key) for key in _tags(event)]
