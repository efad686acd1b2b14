"""Which solves of a board are kept besides the newest few: the first one of each hour for a day, and of each day for a month."""

from collections.abc import Sequence
from typing import Final

from services.boards.slice_boards import is_sliced
from services.boards.store.protocol import INSIGHT

_HOUR, _DAY = 3600, 86_400
_HOURS: Final = 26
"""Hours with a kept solve. With a solve in each hour, one of the 26 kept ones is at least 24 hours old, whenever in its hour it ended."""
_DAYS: Final = 31
"""Days with a kept solve."""


def reaches_beyond(board: str) -> bool:
    """Whether solves of a board are kept besides the newest few.

    Those of insight are not, because it has no history. Those of slices are not, because a pool can have thousands of solved slices, and
    their boards show no change of the day.

    Args:
        board: Name of the board.
    """
    return board != INSIGHT and not is_sliced(board)


def thinned(times: Sequence[float]) -> list[int]:
    """Indexes of the solves that are kept, of those that are older than the newest few, ascending.

    The first solve of each of the 26 hours and of each of the 31 days (UTC) up to the last solve is kept. The rule depends on the times
    alone, and never keeps later what it removed once. So at most 57 solves are kept.

    Args:
        times: Time of each solve in seconds since 1970, in the order of the solves.
    """
    kept: set[int] = set()
    for seconds, most in ((_HOUR, _HOURS), (_DAY, _DAYS)):
        numbers = [int(time) // seconds for time in times]
        firsts = {number: at for at, number in reversed(list(enumerate(numbers)))}
        kept.update(at for number, at in firsts.items() if 0 <= numbers[-1] - number < most)  # a clock may have been ahead
    return sorted(kept)
