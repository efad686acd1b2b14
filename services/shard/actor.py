"""The Ray actor around a `ShardWorker`: one process with one folding thread, which answers calls of `health` while it folds.

When Ray restarts an actor, it runs only the constructor. The constructor therefore starts the folding thread. It must not raise: Ray does
not restart an actor whose constructor failed. Only the engine calls a shard, with `health` and `stop`.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from typing import Final

from services.backends import open_log, open_store
from services.control.log import control_state
from services.log.protocol import Log
from services.runtime.logging import configure
from services.runtime.memory import set_up_memory
from services.runtime.private_files import make_files_private
from services.runtime.settings import Settings
from services.shard.fencing import Fenced
from services.shard.health import WorkerHealth
from services.shard.heartbeat import beating
from services.shard.worker import ShardWorker

log = logging.getLogger("equirank.shard")

_PAUSE_SECONDS: Final = 1.0
"""Pause before the process of a failed shard ends. It keeps Ray from restarting the shard in a tight loop."""


class ShardActor:
    """Runs one worker, starting in the constructor. The engine makes this class remote.

    engine: offset of the `EngineStarted` record of the engine that created the actor. It detects that a later engine has started, because
    Ray may restart the actor even then.
    """

    def __init__(self, settings: Settings, partitions: Sequence[int], owner: str, engine: int) -> None:
        make_files_private()  # the umask of a cluster's nodes is unknown if another program started them
        configure(settings.log_level)
        set_up_memory()
        if os.nice(0) > 0:
            log.warning("this shard runs at nice %d, so other processes can delay it; start Ray with RAY_worker_niceness=0", os.nice(0))
        self._settings, self._partitions, self._owner = settings, partitions, f"{owner}/{socket.gethostname()}/{os.getpid()}"
        self._engine = engine
        self._worker: ShardWorker | None = None
        self._fenced = self._stopped = False
        self._thread = threading.Thread(target=self._run, name="fold")
        self._thread.start()

    def health(self) -> tuple[WorkerHealth | None, bool]:
        """Return the worker's health (None before the worker exists), and whether the shard was superseded and has stopped writing."""
        return self._worker.health() if self._worker is not None else None, self._fenced

    def stop(self, seconds: float) -> bool:
        """Finish the batch, publish, write checkpoints and end the folding thread. Returns whether it ended within `seconds`."""
        self._stopped = True
        if self._worker is not None:
            self._worker.stop()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._work()
        except Fenced as error:
            log.error("shard ends: %s", error)  # noqa: TRY400 - the message is sufficient without a traceback
            self._fenced = True
        except BaseException:
            log.exception("the shard failed; its process is started again")
            time.sleep(_PAUSE_SECONDS)
            os._exit(1)

    def _work(self) -> None:
        settings, log_ = self._settings, open_log(self._settings)
        try:
            self._check_engine(log_)
            store = open_store(settings, log_.outcomes.identity)
            worker = self._worker = ShardWorker(settings, self._partitions, self._owner, log_, store.live, store=store)
            if not self._stopped:
                with beating(store.heartbeats, worker.heartbeats):
                    worker.run()
        finally:
            log_.close()

    def _check_engine(self, log_: Log) -> None:
        """Raise `Fenced` if a later engine has started, because its shards take over the partitions."""
        if (newest := control_state(log_.control).engine) > self._engine:
            raise Fenced(f"engine {newest} started after engine {self._engine}, which this shard belongs to")
