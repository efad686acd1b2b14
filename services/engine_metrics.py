"""The engine's metrics, read from what shards and solves told last. No label names a pool or an agent."""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from services.shard.worker import PartitionHealth, WorkerHealth
from services.solve.runner import SolveRunner

COUNTERS: dict[str, tuple[str, str]] = {
    "records": ("equirank_records", "Log records folded."),
    "bytes": ("equirank_record_bytes", "Bytes of log records folded."),
    "batches": ("equirank_batches", "Calls of the fold."),
    "fold_seconds": ("equirank_fold_seconds", "Seconds spent folding."),
    "log_failures": ("equirank_log_failures", "Times the log could not be read."),
    "published_pools": ("equirank_publications", "Live boards written to the store, a pool each."),
    "store_failures": ("equirank_store_failures", "Publications that the store did not take."),
    "fenced_writes": ("equirank_fenced_writes", "Publications refused because another shard took over."),
    "checkpoints": ("equirank_checkpoints", "Checkpoints written, a partition each."),
    "checkpoint_failures": ("equirank_checkpoint_failures", "Checkpoints that could not be written."),
    "checkpoints_skipped": ("equirank_checkpoints_skipped", "Checkpoints that recovery passed over as not whole."),
}
"""Counter of `WorkerHealth` -> metric name (without _total) and help."""


class EngineMetrics(Collector):
    """Serves the metrics on a port of `host`; fed by the engine's loop."""

    def __init__(self, port: int | None, host: str = "127.0.0.1") -> None:
        self._healths: list[WorkerHealth] = []
        self._runner: SolveRunner | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._server = None if port is None else start_http_server(port, host, self._registry)

    def shards(self, healths: Sequence[WorkerHealth]) -> None:
        """What the shards told last."""
        self._healths = list(healths)

    def solves(self, runner: SolveRunner) -> None:
        """Where solves stand."""
        self._runner = runner

    def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            server, thread = self._server
            server.shutdown()
            server.server_close()
            thread.join()

    def collect(self) -> Iterator[Metric]:
        """All metrics as they stand."""
        healths = self._healths
        yield GaugeMetricFamily("equirank_shards", "Shards that answer.", len(healths))
        yield from _sums(healths)
        yield _by_reason(healths)
        yield from _partitions([told for health in healths for told in health.partitions])
        yield _gauge("equirank_shard_progress_timestamp_seconds", "When the shard last polled its log.", "shard", _progress(healths))
        if self._runner is not None:
            yield from _solves(self._runner)


def _sums(healths: Sequence[WorkerHealth]) -> Iterator[Metric]:
    for counter, (name, text) in COUNTERS.items():
        yield CounterMetricFamily(name, text, sum(health.counters.get(counter, 0) for health in healths))


def _by_reason(healths: Sequence[WorkerHealth]) -> Metric:
    family = CounterMetricFamily("equirank_dead_letters", "Outcomes and records that could not be folded, by reason.", labels=["reason"])
    for reason in sorted({reason for health in healths for reason in health.dead_letters}):
        family.add_metric([reason], sum(health.dead_letters.get(reason, 0) for health in healths))
    return family


def _progress(healths: Sequence[WorkerHealth]) -> list[tuple[str, float]]:
    return [(health.owner.partition("/")[0], health.progress_at) for health in healths]


def _partitions(told: Sequence[PartitionHealth]) -> Iterator[Metric]:
    def column(name: str, text: str, values: Iterable[float]) -> Metric:
        return _gauge(name, text, "partition", zip([str(one.partition) for one in told], values, strict=True))

    yield column("equirank_partition_position", "First log offset not yet folded.", [one.position for one in told])
    yield column("equirank_partition_lag_records", "Log offsets not yet folded.", [one.lag for one in told])
    yield column("equirank_partition_epoch", "Epoch of the partition's owner.", [one.epoch for one in told])
    stopped = [one.stopped is not None for one in told]
    yield column("equirank_partition_stopped", "1 where the partition stopped; its log says why.", stopped)
    yield column("equirank_partition_pools", "Pools of the partition.", [one.pools for one in told])


def _solves(runner: SolveRunner) -> Iterator[Metric]:
    ended = CounterMetricFamily("equirank_solves", "Solves that ended, by method and status.", labels=["method", "status"])
    for (method, status), count in sorted(runner.ended.items()):
        ended.add_metric([method, status], count)
    yield ended
    seconds = CounterMetricFamily("equirank_solve_seconds", "Seconds spent solving, by method.", labels=["method"])
    for method, spent in sorted(runner.seconds.items()):
        seconds.add_metric([method], spent)
    yield seconds
    yield GaugeMetricFamily("equirank_solves_running", "Solves under way.", runner.running)


def _gauge(name: str, text: str, label: str, rows: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in rows:
        family.add_metric([value], number)
    return family
