"""Table of all metrics of the API and the engine. Processes create their metrics from it. Tests compare it with docs/reference/metrics.md.

Every label has a bounded set of values. No label has a pool, an agent, a task or another value whose number grows with use.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

FOLD_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
CHECKPOINT_BUCKETS: Final = (0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
BOUNDED: Final = frozenset({"method", "route", "status", "reason", "partition", "shard", "part", "host"})
"""Labels with a small number of values. Tests refuse other labels."""

_FAST: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metric(NamedTuple):
    """One metric. name: full name, with `_total` for a counter; buckets: upper bounds of a histogram's buckets in seconds."""

    kind: Literal["counter", "gauge", "histogram"]
    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


API: Final = (
    Metric("counter", "equirank_http_requests_total", "Requests answered.", ("method", "route", "status")),
    Metric("histogram", "equirank_http_request_seconds", "Seconds from request to last byte of the answer.", ("route",), _FAST),
    Metric("counter", "equirank_api_outcomes_accepted_total", "Outcomes made durable in the log by this API."),
    Metric("counter", "equirank_api_outcomes_refused_total", "Outcomes refused, by reason; their requests write nothing.", ("reason",)),
    Metric("histogram", "equirank_api_append_seconds", "Seconds until the log made a request's records durable.", (), _FAST),
    Metric("counter", "equirank_api_log_failures_total", "Requests that the log could not take."),
    Metric("counter", "equirank_api_store_failures_total", "Requests that the store could not answer."),
    Metric("gauge", "equirank_api_folding_fresh", "1 while shards report that every partition is folded in time, else 0: as /freshz says."),
    Metric(
        "gauge",
        "equirank_api_folding_idle_seconds",
        "Seconds since folding of the least recent partition was known to go on; +Inf where nothing is known.",
    ),
    Metric("gauge", "equirank_api_store_garbage_values", "Values of the store that are not what their key holds and were skipped."),
)

ENGINE: Final = (
    Metric("gauge", "equirank_shards", "Shards that answer."),
    Metric("gauge", "equirank_shard_progress_timestamp_seconds", "When the shard last polled its log, seconds since 1970.", ("shard",)),
    Metric("counter", "equirank_shard_restarts_total", "Times that Ray started the shard again, since the engine began.", ("shard",)),
    Metric("gauge", "equirank_log_weaknesses", "Settings of topics under which acknowledged records can be lost."),
    Metric("gauge", "equirank_log_unread_partitions", "Partitions that were added to the outcomes topic, which nothing reads."),
    Metric("gauge", "equirank_log_retention_seconds", "How long the outcomes topic keeps records; +Inf without a limit of time."),
    Metric("gauge", "equirank_pools", "Pools that are folded.", ("partition",)),
    Metric("gauge", "equirank_pools_stopped", "Pools that stopped at an outcome they cannot fold.", ("partition",)),
    Metric("gauge", "equirank_pools_frozen", "Pools whose boards go no further: their generation cannot be folded again.", ("partition",)),
    Metric("gauge", "equirank_agents", "Agents of all pools.", ("partition",)),
    Metric("gauge", "equirank_state_bytes", "Memory of all pools and builds: names, ratings, tallies, dedupe.", ("partition", "part")),
    Metric("gauge", "equirank_partition_position", "First log offset not yet folded.", ("partition",)),
    Metric("gauge", "equirank_partition_lag_records", "Log offsets not yet folded.", ("partition",)),
    Metric("gauge", "equirank_partition_lag_seconds", "How long the first of them waits, at most; 0 where none does.", ("partition",)),
    Metric("gauge", "equirank_partition_folded_timestamp_seconds", "When the log took the newest record folded.", ("partition",)),
    Metric("gauge", "equirank_partition_epoch", "Epoch of the partition's owner.", ("partition",)),
    Metric("gauge", "equirank_partition_isolated", "1 where shards died at one record, which waits for an operator.", ("partition",)),
    Metric("gauge", "equirank_partition_status", "1 for the status of the partition's lifecycle.", ("partition", "status")),
    Metric(
        "gauge",
        "equirank_partition_owner",
        "1 for the shard that reported the partition last, and its host: on Kubernetes, the name of its pod.",
        ("partition", "shard", "host"),
    ),
    Metric("gauge", "equirank_partition_stopped", "1 where the partition stopped; the shard's log says why.", ("partition",)),
    Metric("gauge", "equirank_checkpoint_position", "Log offset of the newest checkpoint.", ("partition",)),
    Metric("gauge", "equirank_checkpoint_timestamp_seconds", "When the newest checkpoint was written.", ("partition",)),
    Metric("gauge", "equirank_archive_position", "First log offset that is not archived.", ("partition",)),
    Metric("gauge", "equirank_archive_lag_records", "Log offsets below the newest checkpoint that are not archived.", ("partition",)),
    Metric("gauge", "equirank_archive_lag_seconds", "How long the first of them has been below a checkpoint, at most.", ("partition",)),
    Metric("counter", "equirank_archive_rows_total", "Rows appended to the archive since the engine began."),
    Metric("counter", "equirank_archive_failures_total", "Appends and compactions of the archive that failed; they are tried again."),
    Metric("gauge", "equirank_erasures_pending", "Names to erase that boards, results, checkpoints or the archive may still hold."),
    Metric("gauge", "equirank_erasure_pending_seconds", "How long the oldest of them has been asked for."),
    Metric("counter", "equirank_erasure_failures_total", "Erasures that failed; they are tried again."),
    Metric("counter", "equirank_outcomes_total", "Outcomes counted in the pools that serve.", ("partition",)),
    Metric("counter", "equirank_duplicates_total", "Outcomes dropped because their id was already counted.", ("partition",)),
    Metric("counter", "equirank_conflicts_total", "Outcomes dropped because their id was counted with another body.", ("partition",)),
    Metric("counter", "equirank_retractions_total", "Retractions folded into the pools that serve, repeated ones too.", ("partition",)),
    Metric("gauge", "equirank_retractions_pending", "Retractions whose outcomes still count on the boards.", ("partition",)),
    Metric("gauge", "equirank_generations_building", "Generations under construction.", ("partition",)),
    Metric("gauge", "equirank_generation_progress_ratio", "Part of the log read for the generation least far, 0 to 1.", ("partition",)),
    Metric("counter", "equirank_generation_builds_total", "Generations that were built and serve, since the shard started."),
    Metric("counter", "equirank_generation_failures_total", "Generations that could not be built; the one before goes on."),
    Metric("counter", "equirank_records_total", "Log records folded since the shard started."),
    Metric("counter", "equirank_record_bytes_total", "Bytes of log records folded since the shard started."),
    Metric("counter", "equirank_batches_total", "Calls of the fold since the shard started."),
    Metric("counter", "equirank_fold_seconds_total", "Seconds spent folding since the shard started."),
    Metric("histogram", "equirank_fold_batch_seconds", "Seconds of one call of the fold, since the shard started.", (), FOLD_BUCKETS),
    Metric(
        "histogram",
        "equirank_fold_pause_seconds",
        "Seconds that folding paused once: for a checkpoint to freeze some of its pools (meant to stay below 0.05), or for a publication "
        "to copy what readers are to see.",
        ("reason",),
        FOLD_BUCKETS,
    ),
    Metric("counter", "equirank_odd_times_total", "Outcomes that count though late (before pool time) or future.", ("reason",)),
    Metric("counter", "equirank_log_failures_total", "Times the log could not be read."),
    Metric("counter", "equirank_publications_total", "Live boards written to the store, a pool each."),
    Metric("gauge", "equirank_published_timestamp_seconds", "When the store took something from the shard last.", ("shard",)),
    Metric("counter", "equirank_store_failures_total", "Publications that the store did not take."),
    Metric("counter", "equirank_store_losses_total", "Pools that the store lost or evicted in part, and that were published again whole."),
    Metric("counter", "equirank_fenced_writes_total", "Publications refused because another shard took over."),
    Metric("counter", "equirank_checkpoints_total", "Checkpoints written, a partition each."),
    Metric("counter", "equirank_checkpoint_failures_total", "Checkpoints that could not be written, or that could remove no older ones."),
    Metric("counter", "equirank_checkpoint_seconds_total", "Seconds spent writing checkpoints, beside the fold."),
    Metric(
        "histogram",
        "equirank_checkpoint_duration_seconds",
        "Seconds of writing one checkpoint of a partition, beside the fold, since the shard started.",
        (),
        CHECKPOINT_BUCKETS,
    ),
    Metric("counter", "equirank_checkpoints_skipped_total", "Checkpoints that recovery passed over as not whole."),
    Metric("counter", "equirank_dead_letters_total", "Dead letters written, by generations under construction as well.", ("reason",)),
    Metric("counter", "equirank_solves_total", "Solves that ended.", ("method", "status")),
    Metric("counter", "equirank_solve_seconds_total", "Seconds spent solving.", ("method",)),
    Metric("gauge", "equirank_solves_running", "Solves under way."),
    Metric("gauge", "equirank_solve_jobs", "Jobs (a method, or insight, on one pool) in each status of their lifecycle.", ("status",)),
    Metric("gauge", "equirank_solves_waiting", "Solves that are due and have no worker yet.", ("method",)),
    Metric("gauge", "equirank_solve_wait_seconds", "Longest wait of a due solve: a starving pool shows here.", ("method",)),
    Metric("gauge", "equirank_solved_age_seconds", "Age of the oldest solved board shown whose next one is late or failed.", ("method",)),
    Metric("counter", "equirank_bootstrap_replicates_total", "Replicates solved for intervals.", ("method",)),
    Metric("gauge", "equirank_solved_unpublished", "Solved boards that the store has not taken yet.", ("method",)),
    Metric("gauge", "equirank_solved_unwritten", "Solved boards whose file could not be written yet, as on a full disk.", ("method",)),
    Metric("gauge", "equirank_solve_certificate", "Largest certificate on the solved boards, in the unit of its kind.", ("method",)),
    Metric("gauge", "equirank_pools_unconnected", "Pools in which some agents never met the others, by their newest insight."),
    Metric("gauge", "equirank_pools_thinly_led", "Pools with a board whose first rows have few games against the others."),
)


class Metrics:
    """The metrics of one process, in its own registry. The methods raise `KeyError` for a name that is not in the table."""

    def __init__(self, table: Sequence[Metric]) -> None:
        self.registry = CollectorRegistry()
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._histograms: dict[str, Histogram] = {}
        for metric in table:
            self._add(metric)

    def counter(self, name: str) -> Counter:
        """The counter with this full name."""
        return self._counters[name]

    def gauge(self, name: str) -> Gauge:
        """The gauge with this full name."""
        return self._gauges[name]

    def histogram(self, name: str) -> Histogram:
        """The histogram with this full name."""
        return self._histograms[name]

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus, with the media type `CONTENT_TYPE`."""
        return generate_latest(self.registry)

    def _add(self, metric: Metric) -> None:
        match metric.kind:
            case "counter":
                self._counters[metric.name] = Counter(metric.name, metric.help, metric.labels, registry=self.registry)
            case "gauge":
                self._gauges[metric.name] = Gauge(metric.name, metric.help, metric.labels, registry=self.registry)
            case "histogram":
                self._histograms[metric.name] = Histogram(
                    metric.name, metric.help, metric.labels, registry=self.registry, buckets=metric.buckets
                )
