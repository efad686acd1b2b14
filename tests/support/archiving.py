"""Steps of a shard and an engine with an archive, for tests that run them one by one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx

from services.api.app import create_app
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.demo import simulated
from services.engine.archiver import append_partition
from services.log.protocol import Log
from services.log.skipping import Ranges
from services.runtime.settings import Settings
from tests.support.api import served as serving
from tests.support.http import PLAIN
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, play, published, store_of, until, working


def fold(settings: Settings, log: Log, start: int, stop: int) -> None:
    play(log, start, stop)
    with working(settings, log):
        until(lambda: published(settings) == stop, "all published")


def archive(settings: Settings, lost: Ranges = ()) -> int:
    """Archive up to the newest checkpoint, as the engine does. Returns the archive's position.

    lost: ranges of offsets that an operator accepted as lost.
    """
    newest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert newest is not None
    found = append_partition(settings, newest, {}, lost=lost)
    assert found.reached
    return int(found.position)


def newest_is(settings: Settings, digest: str) -> bool:
    newest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    return newest is not None and bool(newest.pools) and newest.pools[0].digest == digest


def served(log: Log) -> int:
    control = ControlLog(log.control)
    try:
        made = control.refresh().serving(simulated.POOL)
        return 0 if made is None else made.number
    finally:
        control.close()


def failed(settings: Settings) -> str:
    """Published reason why the generation under construction failed; empty without a failure."""
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    return (head.building.failed if head is not None and head.building is not None else None) or ""


@contextmanager
def served_api(settings: Settings, log: Log) -> Iterator[httpx.Client]:
    """A client of an API of the installation."""
    with (
        closing(RedisStore(str(settings.redis), log.outcomes.identity)) as store,
        serving(create_app(settings, log, store)) as url,
        httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False, verify=PLAIN) as client,
    ):
        yield client
