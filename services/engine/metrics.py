"""The engine's metrics, from the last health of shards and solves. Labels contain no names of pools or agents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from services.engine.archiver import ArchiveHealth
from services.engine.eraser import ErasureHealth
from services.runtime import metrics
from services.runtime.durations import Durations
from services.shard.health import PartitionHealth, WorkerHealth
from services.solve.scheduler.health import SolveHealth

_TABLE: Final = {metric.name: metric for metric in metrics.ENGINE}

_COUNTERS: Final = {
    "records": "equirank_records_total",
    "bytes": "equirank_record_bytes_total",
    "batches": "equirank_batches_total",
    "log_failures": "equirank_log_failures_total",
    "published_pools": "equirank_publications_total",
    "store_failures": "equirank_store_failures_total",
    "store_losses": "equirank_store_losses_total",
    "fenced_writes": "equirank_fenced_writes_total",
    "ratings_records": "equirank_ratings_topic_records_total",
    "ratings_failures": "equirank_ratings_topic_failures_total",
    "checkpoints": "equirank_checkpoints_total",
    "checkpoint_failures": "equirank_checkpoint_failures_total",
    "checkpoints_skipped": "equirank_checkpoints_skipped_total",
    "generation_builds": "equirank_generation_builds_total",
    "generation_failures": "equirank_generation_failures_total",
}
"""Counter of `WorkerHealth` -> metric."""

_PARTITION: Final[dict[str, Callable[[PartitionHealth], float | None]]] = {
    "equirank_pools": lambda partition: partition.pools,
    "equirank_pools_stopped": lambda partition: partition.pools_stopped,
    "equirank_pools_frozen": lambda partition: partition.pools_frozen,
    "equirank_agents": lambda partition: partition.agents,
    "equirank_partition_position": lambda partition: partition.position,
    "equirank_partition_lag_records": lambda partition: partition.lag,
    "equirank_partition_lag_seconds": lambda partition: partition.lag_seconds,
    "equirank_partition_folded_timestamp_seconds": lambda partition: partition.folded_at,
    "equirank_partition_epoch": lambda partition: partition.epoch,
    "equirank_partition_isolated": lambda partition: partition.isolated_offset is not None,
    "equirank_partition_stopped": lambda partition: partition.stopped is not None,
    "equirank_checkpoint_position": lambda partition: partition.checkpoint,
    "equirank_checkpoint_timestamp_seconds": lambda partition: partition.checkpoint_at,
    "equirank_outcomes_total": lambda partition: partition.counts["outcomes"],
    "equirank_duplicates_total": lambda partition: partition.counts["duplicates"],
    "equirank_conflicts_total": lambda partition: partition.counts["conflicts"],
    "equirank_retractions_total": lambda partition: partition.counts["retractions"],
    "equirank_retractions_pending": lambda partition: partition.pending,
    "equirank_generations_building": lambda partition: partition.building,
    "equirank_generation_progress_ratio": lambda partition: partition.progress,
}
"""Metric -> its value for one partition."""

_SOLVES: Final[dict[str, Callable[[SolveHealth], Mapping[str, float]]]] = {
    "equirank_solve_seconds_total": lambda solves: solves.seconds,
    "equirank_solves_waiting": lambda solves: solves.waiting,
    "equirank_solve_wait_seconds": lambda solves: solves.longest_wait,
    "equirank_solved_age_seconds": lambda solves: solves.outdated,
    "equirank_solved_unpublished": lambda solves: solves.unpublished,
    "equirank_solve_certificate": lambda solves: solves.certificates,
    "equirank_bootstrap_replicates_total": lambda solves: solves.replicates,
}
"""Metric -> its values by method."""

_Row = tuple[tuple[str, ...], float]


class EngineMetrics(Collector):
    """Serves the metrics on a port of `host`. The engine's loop updates them. port: None: no server; 0: any free port.

    healths: last health of each shard. answering: number of shards whose last health request was answered. solves, archive, erasures: their
    last health. weaknesses: number of settings with which acknowledged records can be lost.
    retention_seconds: how long the outcomes topic keeps records; infinite if age is no limit or the limit is unknown.
    """

    def __init__(self, port: int | None, host: str = "127.0.0.1") -> None:
        self.healths: Sequence[WorkerHealth] = ()
        self.answering = 0
        self._restarts: dict[str, tuple[str, int]] = {}
        self.solves, self.archive, self.erasures = SolveHealth(), ArchiveHealth(), ErasureHealth()
        self.weaknesses, self.retention_seconds = 0, float("inf")
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._server = None if port is None else start_http_server(port, host, self._registry)

    def shards(self, healths: Sequence[WorkerHealth], answering: int) -> None:
        """Update the health of the shards. answering: number of shards whose last health request was answered."""
        self.healths, self.answering = healths, answering
        for health in healths:
            shard = _shard(health)
            owner, restarts = self._restarts.get(shard, (health.owner, 0))
            self._restarts[shard] = health.owner, restarts + (owner != health.owner)

    def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            server, thread = self._server
            server.shutdown()
            server.server_close()
            thread.join()

    def collect(self) -> Iterator[Family]:
        """Yield the present values of all metrics."""
        healths = self.healths
        partitions = [partition for health in healths for partition in health.partitions]
        for name, single in _SINGLE.items():
            yield _family(name, [((), single(self))])
        yield _family("equirank_shard_progress_timestamp_seconds", [((_shard(health),), health.progress_at) for health in healths])
        restarts = [((shard,), float(count)) for shard, (_, count) in sorted(self._restarts.items())]
        yield _family("equirank_shard_restarts_total", restarts)
        published = [((_shard(health),), health.published_at) for health in healths if health.published_at is not None]
        yield _family("equirank_published_timestamp_seconds", published)
        for name, value in _PARTITION.items():
            numbers = [((str(partition.partition),), number) for partition in partitions if (number := value(partition)) is not None]
            yield _family(name, numbers)
        yield _family("equirank_partition_status", [((str(partition.partition), partition.status.value), 1.0) for partition in partitions])
        owners = [((str(partition.partition), *health.owner.split("/")[:2]), 1.0) for health in healths for partition in health.partitions]
        yield _family("equirank_partition_owner", owners)
        held = [
            ((str(partition.partition), part), float(size)) for partition in partitions for part, size in sorted(partition.memory.items())
        ]
        yield _family("equirank_state_bytes", held)
        behind = [((str(number),), lag) for health in healths for number, lag in health.ratings_lag_seconds.items() if lag is not None]
        yield _family("equirank_ratings_topic_lag_seconds", behind)
        for counter, name in _COUNTERS.items():
            yield _family(name, [((), sum(health.counters.get(counter, 0.0) for health in healths))])
        yield _histogram("equirank_fold_batch_seconds", [((), Durations.together(health.folds for health in healths))])
        written = Durations.together((health.checkpoints for health in healths), metrics.CHECKPOINT_BUCKETS)
        yield _histogram("equirank_checkpoint_duration_seconds", [((), written)])
        yield _histogram("equirank_fold_pause_seconds", _pauses([health.pauses for health in healths]))
        yield _family("equirank_dead_letters_total", _by_reason([health.dead_letters for health in healths]))
        yield _family("equirank_odd_times_total", _by_reason([health.odd_times for health in healths]))
        yield from _solves(self.solves)
        archive = self.archive
        for name, values in (("position", archive.positions), ("lag_records", archive.lag_records), ("lag_seconds", archive.lag_seconds)):
            yield _family(f"equirank_archive_{name}", [((str(partition),), value) for partition, value in values.items()])


_SINGLE: Final[dict[str, Callable[[EngineMetrics], float]]] = {
    "equirank_shards": lambda engine: engine.answering,
    "equirank_log_weaknesses": lambda engine: engine.weaknesses,
    "equirank_log_unread_partitions": lambda engine: max((health.unread_partitions for health in engine.healths), default=0),
    "equirank_log_retention_seconds": lambda engine: engine.retention_seconds,
    "equirank_fold_seconds_total": lambda engine: sum(health.folds.seconds for health in engine.healths),
    "equirank_checkpoint_seconds_total": lambda engine: sum(health.checkpoints.seconds for health in engine.healths),
    "equirank_solves_running": lambda engine: engine.solves.running,
    "equirank_pools_unconnected": lambda engine: engine.solves.unconnected,
    "equirank_pools_thinly_led": lambda engine: engine.solves.thinly_led,
    "equirank_archive_rows_total": lambda engine: engine.archive.rows,
    "equirank_archive_failures_total": lambda engine: engine.archive.failures,
    "equirank_erasures_pending": lambda engine: engine.erasures.pending,
    "equirank_erasure_pending_seconds": lambda engine: engine.erasures.oldest_seconds,
    "equirank_erasure_boards": lambda engine: engine.solves.erasing,
    "equirank_erasure_failures_total": lambda engine: engine.erasures.failures,
}
"""Metric without labels -> its value."""


def _shard(health: WorkerHealth) -> str:
    """Return the shard's name without its host and process."""
    return health.owner.partition("/")[0]


def _by_reason(counts_of_shards: Sequence[Mapping[str, int]]) -> list[_Row]:
    reasons = sorted({reason for counts in counts_of_shards for reason in counts})
    return [((reason,), float(sum(counts.get(reason, 0) for counts in counts_of_shards))) for reason in reasons]


def _pauses(pauses_of_shards: Sequence[Mapping[str, Durations]]) -> Iterator[tuple[tuple[str, ...], Durations]]:
    """Yield the pauses of all shards, by reason."""
    for reason in sorted({reason for pauses in pauses_of_shards for reason in pauses}):
        yield (reason,), Durations.together(pauses[reason] for pauses in pauses_of_shards if reason in pauses)


def _histogram(name: str, rows: Iterable[tuple[tuple[str, ...], Durations]]) -> Family:
    metric = _TABLE[name]
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, durations in rows:
        bounds = zip([*map(str, metric.buckets), "+Inf"], accumulate(map(float, durations.counts)), strict=True)
        family.add_metric(labels, list(bounds), durations.seconds)
    return family


def _solves(solves: SolveHealth) -> Iterator[Family]:
    yield _family("equirank_solves_total", [(job, float(count)) for job, count in sorted(solves.ended.items())])
    yield _family("equirank_solve_jobs", [((status,), count) for status, count in sorted(solves.jobs.items())])
    for name, values in _SOLVES.items():
        yield _family(name, [((method,), value) for method, value in sorted(values(solves).items())])


def _family(name: str, rows: Iterable[_Row]) -> Family:
    metric = _TABLE[name]
    counter = metric.kind == "counter"
    family = (CounterMetricFamily if counter else GaugeMetricFamily)(name.removesuffix("_total"), metric.help, labels=metric.labels)
    for labels, value in rows:
        family.add_metric(labels, value)
    return family
