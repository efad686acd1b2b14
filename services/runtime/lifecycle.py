"""Lifecycles as tables of transitions: from a status, an event leads to the next status."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

StatusT = TypeVar("StatusT", bound=StrEnum)
EventT = TypeVar("EventT", bound=StrEnum)


class UndefinedTransition(Exception):  # noqa: N818 - names the fact
    """A lifecycle does not define the event for the status. It is a defect of the program, not of its input."""


@dataclass(frozen=True)
class Lifecycle(Generic[StatusT, EventT]):
    """A table of transitions.

    Attributes:
        name: What has this lifecycle, such as "solve job".
        start: The first status.
        table: (status, event) -> next status. An event without an entry for a status must not occur in it.
    """

    name: str
    start: StatusT
    table: Mapping[tuple[StatusT, EventT], StatusT]

    def after(self, status: StatusT, event: EventT) -> StatusT:
        """The status that follows `event` in `status`.

        Raises:
            UndefinedTransition: The table does not define it.
        """
        if (following := self.table.get((status, event))) is None:
            defined = ", ".join(event for known, event in self.table if known == status) or "none"
            msg = f"{self.name}: event `{event}` is not defined in status `{status}`; defined there: {defined}"
            raise UndefinedTransition(msg)
        return following
