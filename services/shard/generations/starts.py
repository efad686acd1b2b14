"""From where a build goes on: from the start of its generation, or from a checkpoint where the log has lost that start."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor

from services.control import generations
from services.control.records import ControlState, Generation, PoolCreated
from services.log.protocol import LogError, Topic
from services.shard.generations.build import GONE, SEASON, Build
from services.shard.generations.stand_in import StandIn, StandIns
from services.shard.partition import Partition
from services.state.edits import NONE, Retracted
from services.state.pool import PoolState

log = logging.getLogger("equirank.generations")


class BuildStarts:
    """Makes the builds of one partition. stand_ins: finds checkpoints that replace the log's beginning; None where there are none."""

    def __init__(self, partition: Partition, topic: Topic, stand_ins: StandIns | None) -> None:
        self._partition, self._topic, self._stand_ins = partition, topic, stand_ins
        self._searches: dict[tuple[str, int], tuple[Retracted | None, Future[StandIn | str]]] = {}
        """By generation whose start the log has lost: the search, and what the generation leaves out where that was known by then."""

    def make(self, state: PoolState, control: ControlState, target: Generation) -> Build | None:
        """A build of `target` beside `state`; None while a checkpoint is searched for. Raises `LogError`."""
        created, retracted = control.pools[target.pool], state.retracted_for(target)
        key = target.pool, target.number
        search = self._searches.get(key)
        if search is None:
            if self._stand_ins is None or self._topic.begin(self._partition.number) <= target.start:
                return Build(created, target, retracted)
            heeded = state.retractions.applied
            self._searches = {other: one for other, one in self._searches.items() if other[0] != target.pool}
            found = _search(self._stand_ins, created, target, control, heeded if retracted is None else retracted)
            self._searches[key] = retracted, found
            return None
        retracted, found = search  # the search knows only these retractions: a state that serves by now may know more
        if not found.done():
            return None
        del self._searches[key]
        return self._made(created, target, retracted, _result(found))

    def _made(self, created: PoolCreated, target: Generation, retracted: Retracted | None, found: StandIn | str) -> Build:
        if isinstance(found, StandIn):
            place = {"pool": target.pool, "partition": self._partition.number, "position": self._partition.position}
            log.info("generation %d goes on from a checkpoint at %d", target.number, found.position, extra=place)
            return Build(created, target, retracted, found)
        build = Build(created, target, NONE)
        build.fail(f"{GONE}: {found}; {SEASON.format(target.pool)}")
        return build


def _search(
    stand_ins: StandIns, created: PoolCreated, target: Generation, control: ControlState, retracted: Retracted
) -> Future[StandIn | str]:
    """Search in a separate thread: pools are large."""
    made = control.generations[target.pool]
    others = {number: one for number, one in list(made.items()) if generations.same_but_for_retractions(one, target)}
    executor = ThreadPoolExecutor(1, "stand-in")
    found = executor.submit(stand_ins.find, created, target, others, retracted)
    executor.shutdown(wait=False)
    return found


def _result(found: Future[StandIn | str]) -> StandIn | str:
    """What the search found, or why it could not search: then the build fails, and is tried again as any that failed."""
    try:
        return found.result()
    except (LogError, OSError) as error:
        return f"what stands in for it cannot be read: {error}"
