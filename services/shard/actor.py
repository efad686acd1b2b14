"""The Ray actor around a `ShardWorker`: one process, one folding thread, answers about its health beside it.

A restart runs only the constructor, so that is where work begins. The engine asks `health`; nothing else ever asks a shard.
"""

import gc
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Final

from services.connect import open_log, open_store
from services.logs import configure
from services.settings import Settings
from services.shard.publisher import Fenced
from services.shard.worker import ShardWorker, WorkerHealth

log = logging.getLogger("equirank.shard")

_COLLECT: Final = (100_000, 20, 100)
"""Decoding makes many lists and no cycles: Python's default walks them over and over, at a third of the speed of decoding."""

_PAUSE_SECONDS: Final = 1.0
"""Before a failed shard ends, so that Ray does not restart it in a tight loop."""


class ShardActor:
    """Runs one worker from its construction on. Made remote by the engine."""

    def __init__(self, settings: Settings, partitions: Sequence[int], owner: str) -> None:
        configure(settings.log_level)
        gc.set_threshold(*_COLLECT)
        self._fenced = threading.Event()
        self._worker = ShardWorker(settings, partitions, f"{owner}/{os.getpid()}", open_log(settings), open_store(settings))
        self._thread = threading.Thread(target=self._run, name="fold")
        self._thread.start()

    def health(self) -> tuple[WorkerHealth, bool]:
        """The worker's progress and counters, and whether another shard took over: then this one has ended and writes no more."""
        return self._worker.health(), self._fenced.is_set()

    def pid(self) -> int:
        """The process that folds, for whoever wants to kill it."""
        return os.getpid()

    def stop(self, seconds: float) -> bool:
        """Finish, publish, checkpoint; whether that was done within `seconds`."""
        self._worker.stop()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._worker.run()
        except Fenced as error:
            log.error("shard ends: %s", error)  # noqa: TRY400 - the message is the whole story
            self._fenced.set()
        except BaseException:
            log.exception("shard failed, its process ends and is started again")
            time.sleep(_PAUSE_SECONDS)
            os._exit(1)
