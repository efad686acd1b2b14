"""A shard that stops itself by SIGSTOP with an update in its hand, run as a process of its own.

    python -m tests.chaos.paused DATA REDIS OUTCOMES [--unfenced]

It holds the first publication that shows at least so many outcomes. --unfenced: a planted bug, the store takes every claim. Ends with
status 3 once it is fenced.
"""

import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from services.boards.store import live, scripts
from services.boards.store.protocol import LiveBoard, PoolHead
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import SqliteTopic, open_sqlite_log
from services.runtime.settings import Settings
from services.shard import worker
from services.shard.fencing import Fenced
from services.shard.worker import ShardWorker
from tests.support.worker import PARTITIONS, SETTINGS

FENCED = 3
_TAKEN = scripts._script("redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'token', ARGV[7]) return 1")


class Timer:
    """The timer, an hour further on once it has `jumped`: the pause seems that long, however short the test makes it."""

    def __init__(self) -> None:
        self.jumped = False

    def __call__(self) -> float:
        return time.monotonic() + 3600.0 * self.jumped


class HeldBoards:
    """Live boards whose writer is stopped between making an update and writing it.

    It is stopped while no thread of it holds the lock of the log's file. Otherwise nobody could append to the log during the pause.
    """

    def __init__(self, boards: live.LiveBoards, outcomes: int, timer: Timer, topic: SqliteTopic) -> None:
        self._boards, self._outcomes, self._timer, self._topic = boards, outcomes, timer, topic
        self.published, self.pools, self.head, self.forget = boards.published, boards.pools, boards.head, boards.forget

    def publish(self, head: PoolHead, epoch: int, boards: Mapping[str, LiveBoard]) -> bool:
        if head.outcomes >= self._outcomes:
            self._outcomes = sys.maxsize
            with self._topic._shared.process()._writing:
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # not to the process: this thread could run on for a moment
            self._timer.jumped = True
        return self._boards.publish(head, epoch, boards)


def main() -> int:
    data, url, outcomes, *options = sys.argv[1:]
    if options == ["--unfenced"]:
        scripts.ALL = {**scripts.ALL, _TAKEN.sha: _TAKEN.text}  # type: ignore[misc]
        live.scripts.CLAIM = _TAKEN  # type: ignore[misc]
    worker.BATCH_RECORDS = 1  # type: ignore[misc]
    settings = Settings(data=Path(data), redis=url, **SETTINGS)
    log = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)
    timer = Timer()
    try:
        boards = HeldBoards(RedisStore(url, log.outcomes.identity).live, int(outcomes), timer, log.outcomes)
        ShardWorker(settings, range(PARTITIONS), "paused", log, boards, timer=timer).run()
    except Fenced:
        return FENCED
    finally:
        log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
