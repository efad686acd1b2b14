"""Heartbeats of shards on Redis: one hash per log, one field per partition."""

from collections.abc import Sequence
from typing import Final

import msgspec

from services.boards.folding import Heard, Heartbeat
from services.boards.store import scripts
from services.boards.store.connection import Connection
from services.boards.store.keys import Keys

SUPERSEDED_SECONDS: Final = 60
"""A heartbeat of a lower epoch does not replace one of a higher epoch that is younger than this."""
KEPT_SECONDS: Final = 30 * 24 * 3600
"""How long the heartbeats of an installation that was switched off are kept, so that readers can see how long nothing has been folded."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Heartbeat).decode


class Heartbeats:
    """Writes and reads the heartbeats of one log's partitions. Their ages are measured by the clock of Redis."""

    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._redis, self._key = connection, keys.folding

    def write(self, heartbeats: Sequence[Heartbeat]) -> None:
        """Write each partition's heartbeat. A heartbeat of a superseded shard is ignored."""
        if not heartbeats:
            return
        fields = [
            text for heartbeat in heartbeats for text in (str(heartbeat.partition), str(heartbeat.epoch), _encode(heartbeat).decode())
        ]
        self._redis.call(scripts.BEAT, [self._key], [SUPERSEDED_SECONDS, KEPT_SECONDS, *fields])

    def read(self) -> dict[int, Heard]:
        """Partition -> its newest heartbeat, for partitions that have one. Invalid values are left out; their shard writes them again."""
        (seconds, micros), fields = self._redis.pipeline([lambda pipe: pipe.time(), lambda pipe: pipe.hgetall(self._key)])
        now = seconds + micros / 1e6
        return {heard.heartbeat.partition: heard for text in fields.values() if (heard := _heard(text, now)) is not None}


def _heard(text: str, now: float) -> Heard | None:
    """The heartbeat in a text "EPOCH TIME JSON"; None if the text has another form."""
    try:
        _, at, body = text.split(" ", 2)
        return Heard(_decode(body), abs(now - float(at)))  # abs: the clock may have been set back since the time was written
    except (ValueError, msgspec.DecodeError):
        return None
