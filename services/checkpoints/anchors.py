"""Anchors: checkpoints that are kept in place of what a log of finite retention forgets.

Without them such a log is refused: nothing could be folded again, nor verified, from beyond the few newest checkpoints. With them the
oldest anchor that the log still reaches takes the place of the log's beginning.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from services.log.protocol import Forgets, LogError, Topic

log = logging.getLogger("equirank.anchors")

_SHARE: Final = 2
"""Anchors a retention at the least, so that one always lies within the log."""


class Anchors(NamedTuple):
    """Which older checkpoints stay. seconds: least time between two; begin: the first offset that the log holds."""

    seconds: float
    begin: int

    def choose(self, older: Sequence[tuple[int, float]]) -> Iterator[int]:
        """Indices of those that stay among (position, time written), oldest first: within the log, and not too close to one another.

        One written before the last one that stays was written after the clock was put back: nobody knows how long after.
        """
        last = float("-inf")
        for i, (position, written_at) in enumerate(older):
            if position >= self.begin and not last <= written_at < last + self.seconds:
                last = written_at
                yield i


def spacing(topic: Topic, seconds: float | None) -> float | None:
    """Seconds between the anchors of a topic; None where it forgets nothing."""
    return seconds if isinstance(topic, Forgets) and topic.retention is not None else None


def check_retention(topic: Topic, seconds: float | None) -> None:
    """Refuse a topic that forgets what no anchor would hold.

    Raises:
        LogError: not retriable.

    """
    retention = topic.retention if isinstance(topic, Forgets) else None
    if retention is None:
        if seconds is not None:
            log.warning("no anchors are kept, though EQUIRANK_ANCHOR_SECONDS is set: %s forgets nothing", topic.name)
        return
    most = None if retention.seconds is None else retention.seconds / _SHARE
    if seconds is None and not retention.unknown:
        msg = (
            f"topic {topic.name} forgets records after {retention}: set its retention.ms and retention.bytes to -1, or set "
            f"EQUIRANK_ANCHOR_SECONDS{'' if most is None else f' (at most {most:g})'}: checkpoints are kept in place of what it forgets"
        )
        raise LogError(msg, retriable=False)
    if seconds is not None and most is not None and seconds > most:
        msg = (
            f"EQUIRANK_ANCHOR_SECONDS is {seconds:g}, and topic {topic.name} forgets records after {retention}: "
            f"it must be at most {most:g}, so that an anchor always lies within the log"
        )
        raise LogError(msg, retriable=False)
