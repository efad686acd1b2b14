"""Detects that this engine must end: Ray is lost, or another engine has taken over.

Ray and the control log are checked on separate threads, because each check may block: Ray's control service may be dead, or a broker may
hang. The engine's loop raises a detected problem at its next tick. If the loop is blocked, the guard ends the process.
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
"""The engine ends if no shard has answered for this long. The time counts from the first answer of a shard."""
OWN_RAY_SECONDS: Final = 10.0
"""Limit for the silence of the control service (GCS) of an own Ray instance. It is short, because no program restarts that service."""
_RAY_LIMIT: Final = "RAY_gcs_rpc_server_reconnect_timeout_s"
LEAVE_SECONDS: Final = 3.0
"""Time for the engine's loop to end in order after a problem was detected. Then the process is ended; the log loses nothing by that."""
LOG_SECONDS: Final = 4.0
"""Deadline of one call of the guard to the log."""
_ASK_SECONDS: Final = 1.0
_JUDGE_SECONDS: Final = 0.5
_GAP_SECONDS: Final = 5.0


def cluster_seconds() -> float:
    """Return the limit in seconds for the silence of a cluster's control service.

    The service may be restarted, and shards continue to work during that time. The limit is 10 s below Ray's limit, after which Ray ends
    this process without notice.
    """
    return max(OWN_RAY_SECONDS, float(os.environ.get(_RAY_LIMIT, "60")) - 10.0)


class RayLost(Exception):  # noqa: N818 - names the fact
    """The Ray instance or cluster of this engine is lost."""


class TakenOver(Exception):  # noqa: N818 - names the fact
    """Another engine has taken over all partitions of this log."""

    def __init__(self) -> None:
        super().__init__("another engine took every partition over, so this engine ends; run only one engine per log")


class Silence:
    """Measures how long a service has not answered. limit: seconds after which the silence is too long.

    The time between two calls of `too_long` counts as at most 5 s. If this process was suspended or busy for longer, the service may have
    answered in that time.
    """

    def __init__(self, limit: float, timer: Callable[[], float] = time.monotonic) -> None:
        self.limit, self._timer = limit, timer
        self._silent, self._looked_at = 0.0, timer()

    def heard(self) -> None:
        """Note an answer of the service."""
        self._silent = 0.0

    def too_long(self) -> bool:
        """Add the time since the last call; return whether the silence is longer than the limit."""
        now = self._timer()
        self._silent += min(now - self._looked_at, _GAP_SECONDS)
        self._looked_at = now
        return self._silent > self.limit


class Guard:
    """Watches Ray and the control log until `stop`.

    Args:
        log_: A separate connection to the log, because a call on the engine's connection may block. It stays open until the process ends.
        engine: Offset of this engine's `EngineStarted` record.
        limit: Longest silence of Ray's control service, in seconds.
        leave: Ends the process. Called `LEAVE_SECONDS` after the problem was detected, unless the process has ended before.

    """

    def __init__(self, log_: Log, engine: int, limit: float, leave: Callable[[Exception], None]) -> None:
        self._log, self._engine, self._leave = log_, engine, leave
        self._control = ControlLog(log_.control)
        self._node, self._silence = ray.get_runtime_context().get_node_id(), Silence(limit)
        self._stopping = threading.Event()
        self._troubles = LogThrottle()
        self._problem_at: float | None = None
        self.problem: Exception | None = None

    def start(self) -> None:
        """Start the threads."""
        for name, work in (("ask-ray", self._ask_ray), ("ask-log", self._ask_log), ("guard", self._judge)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def stop(self) -> None:
        """End the threads. Does not wait for checks under way."""
        self._stopping.set()

    def check(self) -> None:
        """Raise the detected problem, if any. Called by the engine's loop."""
        if self.problem is not None:
            raise self.problem

    def note_problem(self, problem: Exception) -> None:
        """Note that the engine must end because of `problem`. Only the first problem counts."""
        if self.problem is None:
            log.error("this engine ends: %s", problem)
            self._problem_at = time.monotonic()
            self.problem = problem

    def is_newest(self) -> bool:
        """Whether no later engine has started on this log. Raises `LogError`."""
        return self._control.refresh().engine <= self._engine

    def _ask_ray(self) -> None:
        """Request the list of nodes, which may block, and note a problem if this engine's node is dead or not listed."""
        while not self._stopping.wait(_ASK_SECONDS):
            try:
                nodes = ray.nodes()
            except Exception as error:  # noqa: BLE001 - Ray raises undocumented exceptions; each one means that there is no answer
                self._troubles.warn(log, "Ray's control service does not answer: %s", error)
                continue
            self._silence.heard()
            if not any(node["Alive"] and node["NodeID"] == self._node for node in nodes):
                alive = sum(node["Alive"] for node in nodes)
                self.note_problem(RayLost(f"the Ray node of this engine is dead ({alive} of {len(nodes)} nodes live)"))

    def _ask_log(self) -> None:
        while not self._stopping.wait(_ASK_SECONDS):
            try:
                state = self._control.refresh()
            except Exception as error:  # noqa: BLE001 - an error of the log's client must not end this thread
                self._troubles.warn(log, "the check for another engine failed: %s", error)
                continue
            epochs = [state.partitions.epochs.get(number, -1) for number in range(self._log.outcomes.partitions)]
            if state.engine > self._engine and min(epochs) > state.engine:
                self.note_problem(TakenOver())

    def _judge(self) -> None:
        while not self._stopping.wait(_JUDGE_SECONDS):
            if self._silence.too_long():
                self.note_problem(RayLost(f"Ray's control service has not answered for {self._silence.limit:g} s"))
            if self.problem is not None and self._problem_at is not None and time.monotonic() - self._problem_at > LEAVE_SECONDS:
                self._leave(self.problem)
