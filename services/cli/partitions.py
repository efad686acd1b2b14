"""`equirank partitions`: state of log and checkpoints for each partition, and decisions on partitions that stopped."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from ratings_core.errors import InputError
from services.admin import log_coverage, partition_decisions
from services.boards.folding import Heard, duration
from services.boards.store.protocol import StoreError
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.confirm import Yes, confirm
from services.cli.fitted import FittedTable, whole
from services.cli.installation import Data, reached, settings_of
from services.cli.logs import opened
from services.control.lifecycles import PartitionStatus
from services.control.log import ControlLog
from services.control.records import Skipped
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard.restarts import Isolated, isolated_at

partitions = typer.Typer(
    help="List the state of partitions, and decide how stopped partitions continue.", no_args_is_help=True, add_completion=False
)


@partitions.command("list")
def list_(data: Data = None) -> None:
    """List the records in log and archive, the newest checkpoint, the reason if a partition or its archive is stopped, and all skips.

    Only shards notice a damaged batch. Their newest reports are read from the store; a line says so if the store does not answer.
    """
    names = ("partition", "status", "log holds", "archived to", "checkpoint")
    table = FittedTable(*map(whole, names), least=("archived to",))
    notes = list[str]()
    with _opened(data) as (log, control, checkpoints):
        reports = _reports(settings_of(data), log)
        if reports is None:
            notes.append("the store does not answer: what only shards notice, such as a damaged batch, is not listed")
        state = control.refresh()
        for coverage in log_coverage.coverage(log, state, checkpoints):
            report = None if reports is None else reports.get(coverage.partition)
            status, reasons = _judged(coverage, isolated_at(coverage.partition, state), report)
            held = f"{coverage.begin} to {coverage.end}" if coverage.offline is None else "no answer"
            table.add_row(str(coverage.partition), status.value, held, *map(_or_none, (coverage.archived, coverage.checkpoint)))
            notes += reasons
            decisions = state.partitions.decisions.get(coverage.partition, ())
            notes += [f"partition {coverage.partition}: every fold skips {_offsets(made)} ({made.why})" for made in decisions]
    console = Console(soft_wrap=True)
    console.print(table)
    for note in notes:
        console.print(Text(note))


def _reports(settings: Settings, log: Log) -> dict[int, Heard] | None:
    """Partition -> the newest report of its shard; None if the store does not answer."""
    try:
        with reached(settings, log.outcomes.identity) as store:
            return None if store is None else store.heartbeats.read()
    except StoreError:
        return None


def _judged(coverage: log_coverage.LogCoverage, isolated_offset: int | None, report: Heard | None) -> tuple[PartitionStatus, list[str]]:
    """Status of a partition from log, checkpoints and control log, and the reasons why it or its archive stops.

    If these show no reason, the report of the shard counts: only the shard reads all batches.

    isolated_offset: offset at which the partition is isolated; None if it is not. report: newest report of its shard; None without one.
    """
    status = PartitionStatus.RUNNING if isolated_offset is None else PartitionStatus.ISOLATED
    stops, accept = f"partition {coverage.partition} stops", f"`equirank partitions accept-loss {coverage.partition}`"
    reasons: list[str] = []
    if coverage.offline is not None:
        status = PartitionStatus.OFFLINE
        reasons.append(f"partition {coverage.partition} does not answer: {coverage.offline}; it is retried until it answers")
    elif coverage.wrong is not None:
        status = PartitionStatus.LOG_REPLACED
        reasons.append(f"{stops}: {coverage.wrong}")
    elif coverage.unreadable is not None:
        status = PartitionStatus.ARCHIVE_UNREADABLE
        reasons.append(f"{stops}: {coverage.unreadable}; it is retried every minute")
    elif coverage.lost is not None:
        status = PartitionStatus.RECORDS_LOST
        lost = f"its log lost offsets {coverage.lost} to {coverage.begin}, and no checkpoint covers them"
        reasons.append(f"{stops}: {lost}: restore a newer checkpoint, or run {accept}")
    if coverage.unarchived is not None and coverage.wrong is None:
        what = f"the archive of partition {coverage.partition} stops at offset {coverage.unarchived}"
        what += ": its topic has dropped the next records"
        reasons.append(f"{what}; {accept} continues it at the topic's beginning, and folds from earlier offsets are then refused")
    if coverage.unread is not None:
        reasons.append(f"{coverage.unread}; the partition continues, because its log has all records that it needs")
    if isolated_offset is not None:
        reasons.append(f"{stops}: {Isolated(coverage.partition, isolated_offset)}")
    if status is PartitionStatus.RUNNING and report is not None and report.heartbeat.stopped and report.heartbeat.status is not None:
        status = report.heartbeat.status
        reasons.append(f"{stops}, as its shard reported {duration(report.age)} ago: {report.heartbeat.reason}")
    return status, reasons


@partitions.command("accept-loss")
def accept_loss(
    partition: Annotated[int, typer.Argument(min=0, help="A partition that stopped because its log begins after its checkpoints.")],
    yes: Yes = False,
    data: Data = None,
) -> None:
    """Continue a partition at the present beginning of the log. Earlier records that were not folded or archived are lost permanently.

    On a terminal, the command asks first.
    """
    with _opened(data) as (log, control, checkpoints):
        if partition >= log.outcomes.partitions:
            raise InputError("partition", partition, f"must be below {log.outcomes.partitions}")
        confirm(f"Continue partition {partition} without the records that the log lost? This cannot be undone.", yes=yes)
        lost = log_coverage.accept_loss(partition, log, control, checkpoints, time.time())
    typer.echo(f"partition {partition} continues at {lost.end}; records from {lost.begin} on that were not folded or archived are lost")


@partitions.command()
def skip(
    partition: Annotated[
        int, typer.Argument(min=0, help="A partition that stopped at a damaged batch, or at a record at which shards died.")
    ],
    offset: Annotated[int, typer.Option(min=0, help="Offset of the record, or of any record of the batch. `list` shows it.")],
    yes: Yes = False,
    data: Data = None,
) -> None:
    """Continue a partition without a batch that cannot be read, or without a record at which shards die. Nothing else is skipped.

    The decision is recorded in the control log. Restarts, new generations and `equirank verify` skip the same records. On a terminal, the
    command asks first.
    """
    with _opened(data) as (log, control, checkpoints):
        confirm(f"Skip the record or batch at offset {offset} of partition {partition} in every fold? This cannot be undone.", yes=yes)
        skipped = partition_decisions.skip(partition, offset, log, control, checkpoints, time.time())
    typer.echo(f"partition {partition} continues without {_offsets(skipped)}")


@partitions.command()
def retry(
    partition: Annotated[int, typer.Argument(min=0, help="A partition that is isolated because shards died at a record.")],
    data: Data = None,
) -> None:
    """Fold again the record at which shards died, for example after you gave them more memory."""
    with _opened(data) as (log, control, _):
        offset = partition_decisions.retry(partition, log, control, time.time())
    typer.echo(f"partition {partition} folds the record at offset {offset} again")


@contextmanager
def _opened(data: Path | None) -> Iterator[tuple[Log, ControlLog, CheckpointStore]]:
    settings = settings_of(data)
    with opened(settings) as (log, control):
        yield log, control, CheckpointStore(settings.checkpoint_url)


def _offsets(skipped: Skipped) -> str:
    return f"offset {skipped.begin}" if skipped.end == skipped.begin + 1 else f"offsets {skipped.begin} to {skipped.end - 1}"


def _or_none(position: int | None) -> str:
    return "none" if position is None else str(position)
