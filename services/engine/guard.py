"""Notices that this engine has to end: its Ray is gone, or another engine has taken over.

Both questions are asked on threads of their own, because each may block: on a control service of Ray that is dead, or on a broker that
hangs. Once the answer is in, the engine's loop raises it at its next tick. If the loop is blocked itself, the guard ends the process.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final

import ray

from services.control.log import ControlLog
from services.log.protocol import Log
from services.runtime.logging import LogThrottle

log = logging.getLogger("equirank.engine")

SILENT_SHARDS_SECONDS: Final = 30.0
"""An engine none of whose shards has answered for so long, after one had, ends."""
OWN_RAY_SECONDS: Final = 10.0
"""How long the control service (GCS) of an engine's own Ray may not answer: nobody would restart it."""
_RAY_LIMIT: Final = "RAY_gcs_rpc_server_reconnect_timeout_s"
LEAVE_SECONDS: Final = 3.0
"""What the engine's loop has to end in order once it must end; then the process ends as it is. The log has everything."""
LOG_SECONDS: Final = 4.0
"""That one call of the guard to the log may take."""
_ASK_SECONDS: Final = 1.0
_JUDGE_SECONDS: Final = 0.5
_GAP_SECONDS: Final = 5.0


def cluster_seconds() -> float:
    """How long the control service of a cluster may not answer: it may be restarted, and shards go on meanwhile.

    Ten seconds less than Ray's own limit, after which Ray ends this process without a word to us.
    """
    return max(OWN_RAY_SECONDS, float(os.environ.get(_RAY_LIMIT, "60")) - 10.0)


class RayLost(Exception):  # noqa: N818 - names the fact
    """The Ray that this engine's shards run on is gone."""


class TakenOver(Exception):  # noqa: N818 - names the fact
    """Another engine runs on this log."""

    def __init__(self) -> None:
        super().__init__("another engine took every partition over, so this engine ends; run only one engine per log")


class Silence:
    """How long something has not answered, while this process was able to listen.

    A gap between two looks counts as at most five seconds: a process that was stopped itself, or busy, has missed nothing.
    """

    def __init__(self, limit: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._timer = limit, timer
        self._silent, self._looked_at = 0.0, timer()

    def heard(self) -> None:
        """It has answered."""
        self._silent = 0.0

    def too_long(self) -> bool:
        """Look: whether it has been silent for longer than the limit."""
        now = self._timer()
        self._silent += min(now - self._looked_at, _GAP_SECONDS)
        self._looked_at = now
        return self._silent > self._limit


class RayWatch:
    """Watches Ray's control service and one of its nodes.

    Args:
        node: Identity of the node.
        limit: Seconds for which the control service may not answer.
    """

    def __init__(self, node: str, limit: float) -> None:
        self._node, self._limit = node, limit
        self._silence, self._troubles = Silence(limit), LogThrottle()

    def ask(self) -> RayLost | None:
        """Ask for the nodes, which may block. The problem, where the answer says that the node is dead."""
        try:
            nodes = ray.nodes()
        except Exception as error:  # noqa: BLE001 - Ray raises whatever it likes; no answer is what counts
            self._troubles.warn(log, "Ray's control service does not answer: %s", error)
            return None
        self._silence.heard()
        if any(node["Alive"] and node["NodeID"] == self._node for node in nodes):
            return None
        alive = sum(node["Alive"] for node in nodes)
        return RayLost(f"the Ray node of this engine is dead ({alive} of {len(nodes)} nodes live)")

    def silent(self) -> RayLost | None:
        """The problem, where the control service has not answered for too long. Call it often."""
        return RayLost(f"Ray's control service has not answered for {self._limit:g} s") if self._silence.too_long() else None


class Guard:
    """Watches Ray and the control log until `stop`.

    Args:
        log_: Its own connection: the engine's may be in use by a call that blocks. It stays open until the process ends.
        engine: Offset of this engine's `EngineStarted` record.
        limit: Seconds for which Ray's control service may not answer.
        leave: Ends the process; called `LEAVE_SECONDS` after the problem was found, unless the process has ended before.

    """

    def __init__(self, log_: Log, engine: int, limit: float, leave: Callable[[Exception], None]) -> None:
        self._log, self._engine, self._leave = log_, engine, leave
        self._control, self._partitions = ControlLog(log_.control), log_.outcomes.partitions
        self._ray = RayWatch(ray.get_runtime_context().get_node_id(), limit)
        self._stopping = threading.Event()
        self._troubles = LogThrottle()
        self._found_at: float | None = None
        self.problem: Exception | None = None

    def start(self) -> None:
        """Begin to watch."""
        for name, work in (("ask-ray", self._ask_ray), ("ask-log", self._ask_log), ("guard", self._judge)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def stop(self) -> None:
        """End without waiting for questions that are under way."""
        self._stopping.set()

    def check(self) -> None:
        """Raise what was found. For the engine's loop."""
        if self.problem is not None:
            raise self.problem

    def found(self, problem: Exception) -> None:
        """The engine has to end because of `problem`; the first one counts."""
        if self.problem is None:
            log.error("this engine ends: %s", problem)
            self._found_at = time.monotonic()
            self.problem = problem

    def is_newest(self) -> bool:
        """Whether no later engine has started on this log. Raises `LogError`."""
        return self._control.refresh().engine <= self._engine

    def _ask_ray(self) -> None:
        while not self._stopping.wait(_ASK_SECONDS):
            if (lost := self._ray.ask()) is not None:
                self.found(lost)

    def _ask_log(self) -> None:
        while not self._stopping.wait(_ASK_SECONDS):
            try:
                state = self._control.refresh()
            except Exception as error:  # noqa: BLE001 - what the log's client raises must not end the watch
                self._troubles.warn(log, "the check for another engine failed: %s", error)
                continue
            epochs = [state.partitions.epochs.get(number, -1) for number in range(self._partitions)]
            if state.engine > self._engine and min(epochs) > state.engine:
                self.found(TakenOver())

    def _judge(self) -> None:
        while not self._stopping.wait(_JUDGE_SECONDS):
            if (lost := self._ray.silent()) is not None:
                self.found(lost)
            if self.problem is not None and self._found_at is not None and time.monotonic() - self._found_at > LEAVE_SECONDS:
                self._leave(self.problem)
