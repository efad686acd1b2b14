"""The route for operators: what shards report of each partition, and which outcomes were refused most recently."""

from typing import Annotated, Final

from litestar import get
from litestar.params import QueryParameter

from ratings_core.errors import InputError
from services.api.context import Context, Here, any_key
from services.api.described import Described, problems
from services.api.replies import Operations, PartitionReport, RefusedOutcome
from services.boards.folding import Heard
from services.log import dead_letters
from services.log.protocol import Topic
from services.log.reading import read_range

_MOST: Final = 200
_COUNT: Final = QueryParameter(description="Largest number of refused outcomes to return.", ge=0, le=_MOST)


@get("/v1/operations", tags=["health"], operation_class=Described, guards=[any_key], responses=problems(401, 403, 422, 429, 503))
async def get_operations(here: Here, count: Annotated[int, _COUNT] = 20) -> Operations:
    """Return what shards report of each partition, and the outcomes that were refused most recently, with their rules.

    If the installation has keys, a key is required: boards are public, but the texts of reports and refusals are not.
    """
    reports = await here.workers.probes.run(here.store.heartbeats.read)
    refused, total = await here.workers.exports.run(lambda: _refused(here, count))
    return Operations(
        partitions=[_report(number, reports.get(number)) for number in range(here.partitions)], refused_total=total, refused=refused
    )


def _report(partition: int, heard: Heard | None) -> PartitionReport:
    if heard is None:
        return PartitionReport(partition=partition)
    heartbeat = heard.heartbeat
    return PartitionReport(
        partition=partition, shard=heartbeat.shard, epoch=heartbeat.epoch, position=heartbeat.position, lag_records=heartbeat.lag,
        lag_seconds=heartbeat.lag_seconds, idle_seconds=heard.idle_seconds, stopped=heartbeat.stopped, reason=heartbeat.reason,
    )  # fmt: skip


def _refused(here: Context, count: int) -> tuple[list[RefusedOutcome], int]:
    """The newest dead letters, newest first, and the number of all entries that are kept. Repeated and damaged entries are left out."""
    topic: Topic = here.dead_letters
    begin, end = topic.begin(0), topic.end(0)
    found: dict[str, RefusedOutcome] = {}
    for record in read_range(topic, 0, max(begin, end - count), end) if count else ():
        try:
            letter = dead_letters.decode(record)
        except InputError:  # `equirank dead-letters list` reports it with its offset
            continue
        found[letter.key] = RefusedOutcome(
            pool=letter.pool, reason=letter.reason, path=letter.path, rule=letter.rule, generation=letter.generation,
            partition=letter.partition, offset=letter.offset, item=letter.item,
        )  # fmt: skip
    return list(found.values())[::-1], end - begin
