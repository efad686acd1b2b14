"""Takes over partitions: appends a takeover record to the control log, then restores the newest checkpoint."""

import logging
from collections.abc import Callable

from services.checkpoints.checkpoint import CheckpointStore, Manifest, SkippedCheckpoint
from services.control.log import ControlLog
from services.control.records import Takeover
from services.log.protocol import Log, LogError, TopicReplaced
from services.runtime.settings import Settings
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.figures import ShardFigures
from services.shard.generations.builder import Builder
from services.shard.generations.pace import BuildPace
from services.shard.generations.season_end import begin_seasons
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.recovery import WrongLog, recover, served
from services.shard.restarts import RestartCounter
from services.state.pool import PoolState
from services.wire.events import FUTURE_SECONDS

log = logging.getLogger("equirank.shard")


class Takeovers:
    """Creates the runtimes of a shard's partitions.

    owner: name of the shard, for the control log. clock: seconds since 1970. timer: monotonic time in seconds.
    figures: shared by all runtimes.
    """

    def __init__(
        self,
        settings: Settings,
        owner: str,
        log_: Log,
        control: ControlLog,
        figures: ShardFigures,
        clock: Callable[[], float],
        timer: Callable[[], float],
    ) -> None:
        self._settings, self._owner, self._log, self._control = settings, owner, log_, control
        self._figures, self._clock, self._timer = figures, clock, timer
        self._checkpoints = CheckpointStore(settings.checkpoint_url)
        self._pace = BuildPace(settings.retraction_share, settings.retraction_seconds)

    def take_over(self, number: int) -> PartitionRuntime:
        """Become the owner of a partition under a new epoch, and restore its newest checkpoint. Raises `LogError`."""
        control = self._control.refresh()
        bound = control.partitions.logs.get(number, self._log.outcomes.identity)
        epoch = self._control.append(Takeover(partition=number, owner=self._owner, time=self._clock(), log=bound))
        return self.recover(number, epoch)

    def recover(self, number: int, epoch: int) -> PartitionRuntime:
        """Restore a partition from its newest checkpoint.

        If the checkpoint and the log do not match, or the log does not answer, the partition is stopped and the shard continues with its
        other partitions. Raises `LogError` if the control log cannot be read.
        """
        skipped_checkpoints = list[SkippedCheckpoint]()
        partition, manifest, end, failure = self._restore(number, skipped_checkpoints)
        partition.counters.future_seconds = FUTURE_SECONDS
        log.info("the shard took the partition over with epoch %d", epoch, extra={"partition": number, "position": partition.position})
        topic, kept = self._log.outcomes, self._settings.checkpoints_kept
        checkpointer = Checkpointer(self._checkpoints, topic.identity, epoch, kept, manifest, self._clock, self._figures)
        checkpointer.writer.renews = bool(skipped_checkpoints)
        partition.on_segment = checkpointer.writer.history.put
        builder = Builder(partition, self._log, self._control, self._pace, self._clock, self._figures, self._checkpoints)
        restarts = RestartCounter(number, epoch, self._control, self._clock)
        if failure is None:  # after a failure the position is unknown, and the counted records may have been folded
            restarts.begin(partition.position, end)
        now, recovered = self._timer(), failure is None
        runtime = PartitionRuntime(partition, epoch, checkpointer, builder, restarts, even_at=now, measured_at=now, recovered=recovered)
        if failure is not None:
            runtime.stop(failure)
        return runtime

    def _restore(
        self, number: int, skipped_checkpoints: list[SkippedCheckpoint]
    ) -> tuple[Partition, Manifest | None, int, WrongLog | LogError | None]:
        """Return a partition, the manifest of its checkpoint or None, the end of its log, and the error that stops it or None.

        skipped_checkpoints: receives the checkpoints that were not valid.
        """
        end = 0
        failure: WrongLog | LogError | None = None
        topic, control = self._log.outcomes, self._control.refresh()
        try:
            partition, manifest = recover(number, self._log, control, self._checkpoints, skipped_checkpoints)
            begin_seasons(partition, self._log, control, self._checkpoints)
            end = topic.end(number)
        except (WrongLog, LogError) as error:
            partition, manifest, failure = Partition(number, topic.partitions), None, error
        finally:
            self._figures.counts["checkpoints_skipped"] += len(skipped_checkpoints)
        if not isinstance(failure, WrongLog | TopicReplaced):  # else the pools of the control log may be those of another log
            missing = [made for made in served(number, topic, control) if made.pool not in partition.pools]
            partition.readers.unread = {made.pool: PoolState(control.pools[made.pool], made) for made in missing}
        if failure is None and control.partitions.has_skips(number):
            partition.begin_unread()
        return partition, manifest, end, failure
