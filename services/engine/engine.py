"""The engine: the driver that starts Ray, shards and solves, watches them, and exposes their metrics.

Phases: start (Ray, shards), run (a loop that starts and watches work but does no folding or solving), stop (shards finish their batch,
publish and write checkpoints; then Ray ends). The process may be killed in any phase: the next engine continues from the log and the
checkpoints.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import ray

from services.archive.location import unused_archive
from services.backends import open_log, open_store
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.checkpoints.objects import BadObject
from services.control.log import ControlLog
from services.control.records import EngineStarted
from services.engine import cluster
from services.engine.archiver import Archiver, check_archive, forgets_unarchived, retention_of
from services.engine.eraser import Eraser
from services.engine.guard import LOG_SECONDS, OWN_RAY_SECONDS, SILENT_SHARDS_SECONDS, Guard, RayLost, Silence, TakenOver, cluster_seconds
from services.engine.metrics import EngineMetrics
from services.engine.season_closer import SeasonCloser
from services.log.protocol import Log, LogError
from services.runtime.arithmetic_threads import ONE_THREAD
from services.runtime.logging import LogThrottle
from services.runtime.settings import Settings
from services.shard.actor import ShardActor
from services.shard.health import PartitionHealth, WorkerHealth
from services.shard.recovery import check_homes
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import SolveScheduler, open_scheduler
from services.solve.worker.task_pool import RayTaskPool

log = logging.getLogger("equirank.engine")

_TICK_SECONDS: Final = 0.25
_LONGEST_PAUSE: Final = 2.0
_HEALTH_SECONDS: Final = 10.0
_START_SECONDS: Final = 90.0
"""An actor that takes longer to start is replaced if the nodes have resources for all shards. Each replacement may take twice as long."""
_STOP_SECONDS: Final = 20.0
_SWEEP_SECONDS: Final = 60.0


class LocalCheckpoints(Exception):  # noqa: N818 - names the fact
    """The checkpoints are in a local folder, and the Ray cluster has several machines."""

    def __init__(self, url: str, machines: int) -> None:
        super().__init__(
            f"checkpoints at {url} are a folder of one machine, and Ray has {machines}: set EQUIRANK_CHECKPOINTS to a URL that all reach, "
            "or EQUIRANK_CHECKPOINTS_SHARED=true where all of them mount this folder"
        )


@dataclass(slots=True)
class _Shard:
    """A shard actor, its health request under way, and its last health.

    start_replacement: starts a replacement; its argument is the new `patience`. waits_since: time at which the actor was created or at
    which Ray began to restart it, monotonic seconds; None once it has answered. patience: seconds that a start may take. asked: future of
    the health request, None without one. asked_at: time of the request, monotonic seconds. answers: whether the last request was answered.
    """

    name: str
    actor: Any
    start_replacement: "Callable[[float], _Shard] | None" = None
    waits_since: float | None = None
    patience: float = _START_SECONDS
    asked: Any = None
    asked_at: float = 0.0
    health: WorkerHealth | None = None
    answers: bool = False


class Engine:
    """The driver of one installation. Call `start`, then `run`, which returns after its `stop` is set."""

    def __init__(self, settings: Settings, metrics: EngineMetrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._shards: list[_Shard] = []
        self._manifests: dict[int, Manifest] = {}
        self._sweep_at = float("-inf")
        self._troubles = LogThrottle()
        self._guard: Guard | None = None
        self._silence: Silence | None = None
        """How long no shard has answered; None until one has answered."""

    def run(self, stop: threading.Event, leave: Callable[[Exception], None]) -> None:
        """Start shards, watch them and start solves until `stop` is set. Then stop the shards and shut down Ray.

        Args:
            stop: Set by the caller to end the engine.
            leave: Ends this process at once. Called if the engine must end and its loop is blocked.

        Raises:
            RayLost: The node of this engine is dead, or Ray's control service or all shards have not answered for too long.
            TakenOver: Another engine has taken over every partition.

        """
        log_ = open_log(self._settings)
        check_archive(self._settings, log_.outcomes)
        self._tell_weaknesses(log_)
        store = open_store(self._settings, log_.outcomes.identity)
        control = ControlLog(log_.control)
        check_homes(control.refresh(), log_.outcomes.partitions)
        checkpoints = CheckpointStore(self._settings.checkpoint_url)
        archiver = Archiver(self._settings, RayTaskPool(), max(1, self._solve_workers() // 2))
        memory = self._settings.solves_memory_bytes or int(ray.cluster_resources().get("memory", 0)) or None
        limits = TaskLimits(self._solve_workers(), memory, self._settings.solve_memory_bytes)
        number = control.append(EngineStarted(owner=f"{socket.gethostname()}/{os.getpid()}", time=time.time()))
        solves = open_scheduler(self._settings, checkpoints, store, RayTaskPool(), limits, number)
        closer = SeasonCloser(self._settings, RayTaskPool(), checkpoints, log_.outcomes.identity)
        eraser = Eraser(self._settings, RayTaskPool(), control, lambda pool: () if closer.solves(pool) else solves.has_erased(pool))
        limit = OWN_RAY_SECONDS if self._settings.ray == "local" else cluster_seconds()
        guard = self._guard = Guard(open_log(self._settings, timeout=LOG_SECONDS), number, limit, leave)
        try:
            guard.start()
            self._tidy(store, control)  # registers before a shard publishes, so that nobody forgets the log as one that was given up
            self._shards = [self._start_shard(i, log_.outcomes.partitions, number) for i in range(self._settings.shards)]
            log.info("engine started with %d shards over %d partitions", len(self._shards), log_.outcomes.partitions)
            while not stop.is_set():
                began = time.monotonic()
                guard.check()
                self._tick(solves, archiver, eraser, checkpoints, control)
                self._close_seasons(closer, eraser, control)
                self._tidy(store, control)
                self._pause(solves, stop, time.monotonic() - began)
            archiver.tasks.cancel()
            closer.tasks.cancel()
            eraser.tasks.cancel()
            self._stop_shards(solves)
        except (RayLost, TakenOver) as problem:
            guard.note_problem(problem)
            raise
        finally:
            if guard.problem is None:
                guard.stop()
            control.close()
            log_.close()
            ray.shutdown()

    def start(self, ray_folder: str | None = None) -> None:
        """Start Ray or join a cluster. Raises `NoCluster`, `ShadowedPackage`, `LocalCheckpoints`.

        Ray replaces the signal handlers of the process, so the caller must install its handlers afterwards.

        ray_folder: folder for Ray's temporary files, if the engine starts Ray.
        """
        os.environ.update(ONE_THREAD)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # no lower priority for shards; solves lower their priority themselves
        local: dict[str, Any] = {}
        if self._settings.ray == "local":
            local = {
                "num_cpus": self._solve_workers(),
                "resources": {cluster.SHARD: float(self._settings.shards)},
                "include_dashboard": False,
                "object_store_memory": 256 << 20,
                "_temp_dir": ray_folder,
            }
        cluster.join(self._settings.ray, self._settings.shards, **local)
        machines = {node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]}
        alone = CheckpointStore(self._settings.checkpoint_url).blobs.is_local and not self._settings.checkpoints_shared
        if len(machines) > 1 and alone:
            raise LocalCheckpoints(self._settings.checkpoint_url, len(machines))
        if (why := cluster.lacking(self._settings.shards)) is not None:
            log.warning("%s", why)

    def _tell_weaknesses(self, log_: Log) -> None:
        """Log a warning for each setting with which acknowledged records can be lost, and set the metrics."""
        weaknesses = [*log_.weaknesses, *forgets_unarchived(self._settings, log_.outcomes)]
        retention = retention_of(log_.outcomes)
        seconds = None if retention is None else retention.seconds
        self._metrics.weaknesses, self._metrics.retention_seconds = len(weaknesses), float("inf") if seconds is None else seconds
        for weakness in weaknesses:
            log.warning("acknowledged records can be lost: %s", weakness)
        for unused in unused_archive(self._settings, log_.outcomes):
            log.warning("%s", unused)

    def _solve_workers(self) -> int:
        return self._settings.solve_workers or max(1, (os.cpu_count() or 2) - 1)

    def _start_shard(self, index: int, partitions: int, engine: int, patience: float = _START_SECONDS) -> _Shard:
        """Start the actor that folds the partitions whose number modulo the number of shards is `index`."""
        # No name in Ray: names would collide if two installations share a cluster, or if an engine takes over from a live one.
        remote = ray.remote(ShardActor).options(
            num_cpus=0,
            resources={cluster.SHARD: 1},
            max_restarts=-1,
            max_task_retries=0,
            enable_task_events=False,
            max_concurrency=4,
        )
        numbers = list(range(index, partitions, self._settings.shards))
        name = f"shard-{index}"
        start_replacement = partial(self._start_shard, index, partitions, engine)
        return _Shard(name, remote.remote(self._settings, numbers, name, engine), start_replacement, time.monotonic(), patience)

    def _tick(self, solves: SolveScheduler, archiver: Archiver, eraser: Eraser, checkpoints: CheckpointStore, control: ControlLog) -> None:
        for shard in list(self._shards):
            self._ask(shard)
        if self._silence is not None and self._silence.too_long():
            raise RayLost(f"no shard has answered for {SILENT_SHARDS_SECONDS:g} s")
        healths = [(shard.health, shard.answers) for shard in self._shards if shard.health is not None]
        self._metrics.shards([health for health, _ in healths], sum(answers for _, answers in healths))
        try:
            self._read_manifests(checkpoints)
            known = control.refresh()
            solves.step(time.monotonic(), list(self._manifests.values()), known)
            eraser.step(time.monotonic(), known, archiver.tasks.busy)
            archiver.step(time.monotonic(), self._manifests, known, eraser.tasks.busy)
        except (LogError, OSError) as error:
            self._troubles.warn(log, "the log or the checkpoints do not answer; solves and the archive wait: %s", error)
        self._metrics.solves = solves.health(time.monotonic())
        self._metrics.archive = archiver.health(time.monotonic())
        self._metrics.erasures = eraser.health()

    def _close_seasons(self, closer: SeasonCloser, eraser: Eraser, control: ControlLog) -> None:
        """Start the tasks of final boards. No task starts in a partition in which names are being erased."""
        try:
            known = control.known()
            closer.step(time.monotonic(), known, {*eraser.tasks.busy, *eraser.waiting(known)})
        except OSError as error:
            self._troubles.warn(log, "the files of seasons do not answer; final boards wait: %s", error)

    def _pause(self, solves: SolveScheduler, stop: threading.Event, took: float) -> None:
        """Wait until the next tick, and start planned solves as others end.

        The pause is four times as long as the tick took, within limits, because a tick takes long with thousands of pools.
        """
        until = time.monotonic() + min(max(_TICK_SECONDS, 4 * took), _LONGEST_PAUSE)
        while not stop.is_set() and (left := until - time.monotonic()) > 0:
            if not solves.go_on(time.monotonic(), min(left, _TICK_SECONDS)):
                stop.wait(min(left, _TICK_SECONDS))

    def _tidy(self, store: RedisStore, control: ControlLog) -> None:
        """Every 60 s, remove pools that the control log lacks from the store, and then register this engine there.

        Removal comes first, because a full store accepts removals and refuses writes.
        """
        if (now := time.monotonic()) < self._sweep_at:
            return
        self._sweep_at = now + _SWEEP_SECONDS
        try:
            # The store is read first, because a new pool is in the control log before it is in the store.
            lost = store.live.names() - control.refresh().pools.keys()
            store.live.remove(lost)
            if lost:
                log.info("pools that the log lost were removed from the store: %s", ", ".join(sorted(lost)))
        except (StoreError, LogError) as error:
            self._troubles.warn(log, "pools that the log lost cannot be removed from the store, trying again: %s", error)
        try:
            store.register()
        except StoreError as error:
            self._troubles.warn(log, "the engine could not register in the store, trying again: %s", error)

    def _ask(self, shard: _Shard) -> None:
        """Store a shard's health if it has answered, and request it again. The metrics show the age of the last health."""
        now = time.monotonic()
        if shard.asked is not None:
            if ray.wait([shard.asked], timeout=0)[0]:
                self._answered(shard)
            elif now - shard.asked_at > _HEALTH_SECONDS:
                why = cluster.lacking(self._settings.shards) or "it is busy, starting or unreachable"
                name = shard.name if shard.health is None else shard.health.owner
                log.warning("%s has not answered for %.0f s: %s", name, now - shard.asked_at, why)
                shard.asked, shard.answers = None, False
        shard = self._started_in_time(shard)
        if shard.asked is None:
            shard.asked, shard.asked_at = shard.actor.health.remote(), now

    def _started_in_time(self, shard: _Shard) -> _Shard:
        """Return the shard, or its replacement if it takes too long to start.

        If Ray's control service restarts while it creates an actor, the actor may never start.
        """
        if shard.waits_since is None or shard.start_replacement is None:
            return shard
        now = time.monotonic()
        if now - shard.waits_since <= shard.patience:
            return shard
        if not cluster.has_room(self._settings.shards):  # the actor waits for resources, or Ray does not answer
            shard.waits_since = now
            return shard
        why = "although the nodes have room for all shards"
        log.error("%s has not started within %.0f s, %s: starting it again", shard.name, shard.patience, why)
        ray.kill(shard.actor, no_restart=True)
        replacement = shard.start_replacement(2 * shard.patience)
        replacement.health = shard.health
        self._shards[self._shards.index(shard)] = replacement
        return replacement

    def _answered(self, shard: _Shard) -> None:
        try:
            shard.health, fenced = ray.get(shard.asked)
        except ray.exceptions.RayError as error:
            self._troubles.warn(log, f"{shard.name} is being restarted: %s", str(error).splitlines()[0])
            shard.answers, shard.asked, shard.waits_since = False, None, shard.waits_since or time.monotonic()
            return
        shard.answers, shard.asked, shard.waits_since = True, None, None
        self._troubles.over(f"{shard.name} is being restarted: %s")
        self._silence = self._silence or Silence(SILENT_SHARDS_SECONDS)
        self._silence.heard()
        if fenced:
            self._replace(shard)

    def _replace(self, shard: _Shard) -> None:
        """Remove a superseded shard.

        If this is the newest engine, the partitions were taken over by a shard of an older engine that Ray had restarted. A replacement
        takes them back. Otherwise a newer engine owns the partitions. Raises `TakenOver` if this engine then has no shards.
        """
        try:
            newest = self._guard is not None and self._guard.is_newest()
        except LogError as error:
            self._troubles.warn(log, "the check for another engine failed: %s", error)
            return
        ray.kill(shard.actor, no_restart=True)
        self._shards.remove(shard)
        if newest and shard.start_replacement is not None:
            log.warning("%s was superseded by a shard of an older engine: starting it again", shard.name)
            self._shards.append(shard.start_replacement(_START_SECONDS))
            return
        log.error("%s was taken over by another engine: it ends", shard.name)
        if not self._shards:
            raise TakenOver

    def _read_manifests(self, checkpoints: CheckpointStore) -> None:
        """Read the manifests of the partitions whose shard reports another checkpoint than the known one."""
        for reported in [reported for shard in self._shards if shard.health is not None for reported in shard.health.partitions]:
            held = self._manifests.get(reported.partition)
            if reported.checkpoint is None or (held is not None and _as_new(held, reported)):
                continue
            try:
                newest = checkpoints.newest(reported.partition)
            except BadObject:
                continue
            if newest is not None:
                self._manifests[reported.partition] = newest

    def _stop_shards(self, solves: SolveScheduler) -> None:
        solves.cancel()
        asked = [shard.actor.stop.remote(_STOP_SECONDS) for shard in self._shards]
        done, _ = ray.wait(asked, num_returns=len(asked), timeout=_STOP_SECONDS)
        late = len(asked) - sum(map(_finished, done))
        if late:
            log.error("%d shards did not finish within %g s; after the next start they fold the last records again", late, _STOP_SECONDS)


def _as_new(held: Manifest, reported: PartitionHealth) -> bool:
    """Whether the manifest is the checkpoint that the shard reports, or one at a higher position.

    At an equal position, times must be equal: a new generation changes the checkpoint but not its position, and a clock that was set back
    gives it an earlier time.
    """
    return (held.position, held.written_at) == (reported.checkpoint, reported.checkpoint_at) or held.position > (reported.checkpoint or 0)


def _finished(answer: Any) -> bool:
    """Whether a shard's answer says that it finished. False if the shard died or is being restarted."""
    try:
        return bool(ray.get(answer))
    except ray.exceptions.RayError as error:
        log.warning("the stop request did not reach a shard: %s", str(error).splitlines()[0])
        return False
