"""Table of all metrics of the API and the engine. Processes create their metrics from it. Tests compare it with docs/reference/metrics.md.

Every label has a bounded set of values. No label has a pool, an agent, a task or another value whose number grows with use.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

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
    Metric("histogram", "equirank_http_request_seconds", "Seconds from the request to the last byte of the answer.", ("route",), _FAST),
    Metric("counter", "equirank_api_outcomes_accepted_total", "Outcomes that this API wrote durably to the log."),
    Metric("counter", "equirank_api_outcomes_refused_total", "Refused outcomes. Their requests wrote nothing.", ("reason",)),
    Metric("histogram", "equirank_api_append_seconds", "Seconds until the log made a request's records durable.", (), _FAST),
    Metric("counter", "equirank_api_log_failures_total", "Requests that failed because the log did not store them."),
    Metric("counter", "equirank_api_store_failures_total", "Requests that failed because the store did not answer."),
    Metric("gauge", "equirank_api_folding_fresh", "1 if every partition is folded in time, otherwise 0. Equal to /freshz."),
    Metric(
        "gauge",
        "equirank_api_folding_idle_seconds",
        "Seconds since the least recently active partition was known to be folded; +Inf if unknown.",
    ),
    Metric("gauge", "equirank_api_streams", "Open streams of server-sent events."),
    Metric("counter", "equirank_api_stream_events_total", "Events sent to streams."),
    Metric(
        "counter",
        "equirank_api_stream_dropped_states_total",
        "States that slow readers of streams did not get, because a newer one replaced them.",
    ),
    Metric("gauge", "equirank_api_store_garbage_values", "Values in the store with an invalid format, which readers skip."),
)

ENGINE: Final = (
    Metric("gauge", "equirank_shards", "Shards that answer."),
    Metric(
        "gauge", "equirank_shard_progress_timestamp_seconds", "Time when the shard last polled the log, in seconds since 1970.", ("shard",)
    ),
    Metric("counter", "equirank_shard_restarts_total", "Restarts of the shard by Ray since the engine started.", ("shard",)),
    Metric("gauge", "equirank_log_weaknesses", "Topic settings with which acknowledged records can be lost."),
    Metric("gauge", "equirank_log_unread_partitions", "Partitions that were added to the outcome topic later. No shard reads them."),
    Metric("gauge", "equirank_log_retention_seconds", "Retention time of the outcome topic in seconds; +Inf if unlimited."),
    Metric("gauge", "equirank_pools", "Pools in the partition.", ("partition",)),
    Metric("gauge", "equirank_pools_stopped", "Pools that stopped, for example because folding an outcome failed.", ("partition",)),
    Metric(
        "gauge",
        "equirank_pools_frozen",
        "Pools with boards that are no longer updated, because the serving generation cannot be rebuilt.",
        ("partition",),
    ),
    Metric("gauge", "equirank_agents", "Agents in all pools of the partition.", ("partition",)),
    Metric("gauge", "equirank_state_bytes", "Memory of all pools and of generations under construction, in bytes.", ("partition", "part")),
    Metric("gauge", "equirank_partition_position", "First log offset not yet folded.", ("partition",)),
    Metric("gauge", "equirank_partition_lag_records", "Number of log offsets not yet folded.", ("partition",)),
    Metric(
        "gauge",
        "equirank_partition_lag_seconds",
        "Upper bound of the seconds that the first unfolded record has waited; 0 without such a record.",
        ("partition",),
    ),
    Metric(
        "gauge",
        "equirank_partition_folded_timestamp_seconds",
        "Time when the newest folded record was written to the log, in seconds since 1970.",
        ("partition",),
    ),
    Metric("gauge", "equirank_partition_epoch", "Epoch of the partition's owner.", ("partition",)),
    Metric(
        "gauge",
        "equirank_partition_isolated",
        "1 if the partition is isolated: shards died at a record, and an operator must retry or skip it.",
        ("partition",),
    ),
    Metric(
        "gauge",
        "equirank_partition_status",
        "1 for the current status in the partition's lifecycle.",
        ("partition", "status"),
    ),
    Metric(
        "gauge",
        "equirank_partition_owner",
        "1 for the shard that last reported the partition, with its host. On Kubernetes, the host is the pod name.",
        ("partition", "shard", "host"),
    ),
    Metric("gauge", "equirank_partition_stopped", "1 if the partition stopped; `equirank partitions list` says why.", ("partition",)),
    Metric("gauge", "equirank_checkpoint_position", "Log offset of the newest checkpoint.", ("partition",)),
    Metric("gauge", "equirank_checkpoint_timestamp_seconds", "Time of the newest checkpoint in seconds since 1970.", ("partition",)),
    Metric("gauge", "equirank_archive_position", "First log offset that is not archived.", ("partition",)),
    Metric(
        "gauge", "equirank_archive_lag_records", "Number of log offsets below the newest checkpoint that are not archived.", ("partition",)
    ),
    Metric("gauge", "equirank_archive_lag_seconds", "Upper bound of the seconds since the first of them was checkpointed.", ("partition",)),
    Metric("counter", "equirank_archive_rows_total", "Rows appended to the archive since the engine started."),
    Metric("counter", "equirank_archive_failures_total", "Failed appends and compactions of the archive. They are retried."),
    Metric(
        "gauge",
        "equirank_erasures_pending",
        "Erasures that are not complete: boards, results, checkpoints or the archive may still contain the name.",
    ),
    Metric("gauge", "equirank_erasure_pending_seconds", "Seconds since the oldest incomplete erasure was requested."),
    Metric("gauge", "equirank_erasure_boards", "Solved boards whose results are still to be searched for erased names."),
    Metric("counter", "equirank_erasure_failures_total", "Failed erasures. They are retried."),
    Metric("counter", "equirank_outcomes_total", "Outcomes counted by serving generations.", ("partition",)),
    Metric("counter", "equirank_duplicates_total", "Outcomes dropped because their id was already counted.", ("partition",)),
    Metric(
        "counter",
        "equirank_conflicts_total",
        "Outcomes dropped because their id was counted with another body, with or without a dead letter.",
        ("partition",),
    ),
    Metric("counter", "equirank_retractions_total", "Retractions folded by serving generations, including repeated ones.", ("partition",)),
    Metric(
        "gauge",
        "equirank_retractions_pending",
        "Retractions that wait for the next generation. Their outcomes still count.",
        ("partition",),
    ),
    Metric("gauge", "equirank_generations_building", "Generations under construction.", ("partition",)),
    Metric(
        "gauge",
        "equirank_generation_progress_ratio",
        "Smallest progress of the generations under construction, from 0 to 1.",
        ("partition",),
    ),
    Metric("counter", "equirank_generation_builds_total", "Generations completed since the shard started."),
    Metric("counter", "equirank_generation_failures_total", "Generations that failed. The previous generation continues to serve."),
    Metric("counter", "equirank_records_total", "Log records folded since the shard started."),
    Metric("counter", "equirank_record_bytes_total", "Size of the log records folded since the shard started, in bytes."),
    Metric("counter", "equirank_batches_total", "Batches folded since the shard started."),
    Metric("counter", "equirank_fold_seconds_total", "Seconds spent folding since the shard started."),
    Metric("histogram", "equirank_fold_batch_seconds", "Seconds per folded batch, since the shard started.", (), FOLD_BUCKETS),
    Metric(
        "histogram",
        "equirank_fold_pause_seconds",
        "Seconds per pause of folding. It pauses while a checkpoint freezes pools (target: below 0.05), and while a publication copies "
        "its values.",
        ("reason",),
        FOLD_BUCKETS,
    ),
    Metric(
        "counter", "equirank_odd_times_total", "Counted outcomes with an unusual time: `late` (before pool time) or `future`.", ("reason",)
    ),
    Metric("counter", "equirank_log_failures_total", "Failed reads of the log."),
    Metric("counter", "equirank_publications_total", "Publications of a pool's live boards to the store."),
    Metric(
        "gauge",
        "equirank_published_timestamp_seconds",
        "Time of the shard's last successful write to the store, in seconds since 1970.",
        ("shard",),
    ),
    Metric("counter", "equirank_store_failures_total", "Failed publications."),
    Metric("counter", "equirank_store_losses_total", "Times that the store lost data of a pool. All its boards were published again."),
    Metric("counter", "equirank_fenced_writes_total", "Publications refused because another shard had taken over the partition."),
    Metric(
        "gauge",
        "equirank_ratings_topic_lag_seconds",
        "Seconds since the ratings topic lacks rows that are on live boards; 0 if it lacks none. Only with this topic.",
        ("partition",),
    ),
    Metric("counter", "equirank_ratings_topic_records_total", "Records written to the ratings topic since the shard started."),
    Metric("counter", "equirank_ratings_topic_failures_total", "Failed writes to a partition of the ratings topic. They are retried."),
    Metric("counter", "equirank_checkpoints_total", "Checkpoints of partitions written."),
    Metric("counter", "equirank_checkpoint_failures_total", "Failures to write a checkpoint or to remove older ones."),
    Metric("counter", "equirank_checkpoint_seconds_total", "Seconds spent writing checkpoints, in parallel to the fold."),
    Metric(
        "histogram",
        "equirank_checkpoint_duration_seconds",
        "Seconds to write a checkpoint of a partition, in parallel to the fold, since the shard started.",
        (),
        CHECKPOINT_BUCKETS,
    ),
    Metric("counter", "equirank_checkpoints_skipped_total", "Incomplete checkpoints that recovery skipped."),
    Metric(
        "counter", "equirank_dead_letters_total", "Dead letters written, including those of generations under construction.", ("reason",)
    ),
    Metric("counter", "equirank_solves_total", "Solves that ended.", ("method", "status")),
    Metric("counter", "equirank_solve_seconds_total", "Seconds spent solving.", ("method",)),
    Metric("gauge", "equirank_solves_running", "Running solves."),
    Metric(
        "gauge",
        "equirank_solve_jobs",
        "Jobs in each status of their lifecycle. A job is a method on a pool or slice, its intervals, or insight.",
        ("status",),
    ),
    Metric("gauge", "equirank_solves_waiting", "Solves that are due and wait for a worker.", ("method",)),
    Metric(
        "gauge",
        "equirank_solve_wait_seconds",
        "Longest wait of a due solve in seconds. A high value shows a pool or slice that is not solved in time.",
        ("method",),
    ),
    Metric(
        "gauge",
        "equirank_solved_age_seconds",
        "Longest time in seconds for which a board has lacked outcomes although its solve was due. A failed solve does not end it.",
        ("method",),
    ),
    Metric("counter", "equirank_bootstrap_replicates_total", "Draws and refits to resampled data, for intervals.", ("method",)),
    Metric("gauge", "equirank_solved_unpublished", "Solved boards not yet written to the store.", ("method",)),
    Metric("gauge", "equirank_solve_certificate", "Largest certificate of the solved boards, in the unit of its kind.", ("method",)),
    Metric("gauge", "equirank_pools_unconnected", "Pools whose newest insight shows groups of agents without games between them."),
    Metric("gauge", "equirank_pools_thinly_led", "Pools with a board whose first rows contain weakly connected agents."),
)


_KINDS: Final[dict[str, Callable[..., Any]]] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram}


class Metrics:
    """The metrics of one process, in its own registry. The methods raise `KeyError` for a name that is not in the table."""

    def __init__(self, table: Sequence[Metric]) -> None:
        self.registry = CollectorRegistry()
        self._made: dict[tuple[str, str], Any] = {}
        for metric in table:
            bounds = {"buckets": metric.buckets} if metric.kind == "histogram" else {}
            made = _KINDS[metric.kind](metric.name, metric.help, metric.labels, registry=self.registry, **bounds)
            self._made[metric.kind, metric.name] = made

    def counter(self, name: str) -> Counter:
        """The counter with this full name."""
        return cast("Counter", self._made["counter", name])

    def gauge(self, name: str) -> Gauge:
        """The gauge with this full name."""
        return cast("Gauge", self._made["gauge", name])

    def histogram(self, name: str) -> Histogram:
        """The histogram with this full name."""
        return cast("Histogram", self._made["histogram", name])

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus, with the media type `CONTENT_TYPE`."""
        return generate_latest(self.registry)
