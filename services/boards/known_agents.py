"""What is known of a pool's agents besides their games, and which of them answers leave out."""

from typing import NamedTuple

from services.boards.display_names import DisplayNames
from services.control.details_records import PoolDetails


class KnownAgents(NamedTuple):
    """What is known of a pool's agents besides their games.

    Attributes:
        details: Details of the agents.
        display_names: Their display names, for searches; None if these are not searched.
        hidden: Whether answers have hidden agents.
    """

    details: PoolDetails
    display_names: DisplayNames | None = None
    hidden: bool = False

    def leaves_out(self, agent: str) -> bool:
        """Whether answers leave an agent out."""
        return not self.hidden and self.details.is_hidden(agent)
