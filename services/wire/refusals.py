"""Why an outcome, a record or a request is refused."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

CONFLICTS_WITH_LETTER: Final = 1000


class Reason(StrEnum):
    """Why an outcome or a record was refused. The words never change, because clients and dashboards group by them."""

    UNPARSABLE = "unparsable"
    """The record is neither JSON nor a readable Arrow IPC stream."""
    TOO_LARGE = "too_large"
    """The record exceeds 1 MiB, or the texts of its columns exceed 4 MiB."""
    TOO_DEEP = "too_deep"
    """The JSON of the record is nested deeper than 64 levels."""
    BAD_FIELD = "bad_field"
    """A field breaks a rule of the schema."""
    MIXED_POOLS = "mixed_pools"
    """An outcome of an array belongs to another pool than the first valid outcome of the array."""
    FUTURE_TIME = "future_time"
    """The outcome's time is further ahead of the API's clock than the API accepts."""
    WRONG_PARTITION = "wrong_partition"
    """The record is not in the partition of its pool."""
    UNKNOWN_POOL = "unknown_pool"
    """The pool does not exist, and outcomes do not create pools in this installation."""
    WRONG_KIND = "wrong_kind"
    """Sides in a pool of scores, or scores in a pool of games."""
    TOO_MANY_AGENTS = "too_many_agents"
    """The outcome's new agents would exceed the pool's limit of agents."""
    TOO_MANY_TASKS = "too_many_tasks"
    """The outcome's new task would exceed the pool's limit of tasks."""
    CONFLICTING_ID = "conflicting_id"
    """The pool has counted an outcome with this id and other content. The head counts such outcomes as conflicts."""


def has_letter(number: int) -> bool:
    """Whether the conflict with this number has a dead letter. Conflicts of a generation are numbered from 1.

    The first thousand have one, and then each thousandth: a producer that sends a million outcomes again with other content would
    otherwise fill the topic of dead letters. The number does not depend on how records are split into calls.
    """
    return number <= CONFLICTS_WITH_LETTER or number % CONFLICTS_WITH_LETTER == 0


def conflict_letters(conflicts: int) -> int:
    """Number of dead letters of a generation's conflicts. conflicts: their number."""
    return min(conflicts, CONFLICTS_WITH_LETTER) + max(0, conflicts // CONFLICTS_WITH_LETTER - 1)


class UnreadableError(Exception):
    """A complete record is refused. path: `$`, or for a stream the path of a column, such as `$.agents`."""

    def __init__(self, reason: Reason, rule: str, path: str = "$") -> None:
        self.reason, self.rule, self.path = reason, rule, path
        super().__init__(f"{path} {rule}")


class Refusal(Struct, frozen=True):
    """A refused outcome or record.

    Attributes:
        record: Index of the record in the poll.
        item: Index in the record's array; 0 for a single outcome; -1 if the complete record is refused.
        reason: Reason of the refusal.
        path: Field in the sender's JSON, such as ``$[3].sides[1].agents[0]``.
        rule: The rule that the field breaks, as text.
    """

    record: int
    item: int
    reason: Reason
    path: str
    rule: str
