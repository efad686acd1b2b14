"""A compressed bomb on a real broker: its partition stops, the others go on, and an operator's word goes on without it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from services.admin import partition_decisions
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.demo import simulated
from services.log.kafka.batches import MAX_BATCH_BYTES
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.bombs import drop, peak_memory
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.log_laws import PATIENCE, KafkaBackend
from tests.support.worker import HOME, PARTITIONS, differences, play, published, store_of, until, working

# kafka-python leaves a socket whose connecting failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
AWAY = (HOME + 1) % PARTITIONS
BOMB_BYTES = 1 << 30


@pytest.fixture
def log(kafka: str) -> Iterator[Log]:  # noqa: F811
    backend = KafkaBackend(kafka)
    yield backend.open(PARTITIONS)
    backend.close()


def test_a_bomb_stops_its_partition_alone_and_is_skipped_by_an_operators_word(
    settings: Settings,
    log: Log,
    kafka: str,  # noqa: F811
) -> None:
    play(log, 0, 100)
    at = drop(kafka, log.outcomes.name, HOME, size=BOMB_BYTES, seconds=PATIENCE)
    play(log, 100, 200)
    with peak_memory() as peak, working(settings, log) as worker:
        until(lambda: [one.partition for one in worker.health().partitions if one.stopped] == [HOME], "stopped")
        log.outcomes.append(AWAY, [(None, b"no json")])
        until(lambda: [one.position for one in worker.health().partitions if one.partition == AWAY] == [1], "the others go on")
        told = f"has a damaged batch at offsets {at} to {at}: it holds more than {MAX_BATCH_BYTES} bytes after decompression"
        with store_of(settings, log) as store:
            until(lambda: (head := store.live.head(simulated.POOL)) is not None and told in (head.stopped or ""), "readers are told")
        assert published(settings, log) == 100
        with closing(ControlLog(log.control)) as control:
            skipped = partition_decisions.skip(HOME, at, log, control, CheckpointStore(settings.checkpoint_url), 0.0)
        assert (skipped.begin, skipped.end) == (at, at + 1)
        until(lambda: published(settings, log) == 200, "it goes on")
        assert peak() < BOMB_BYTES // 2
    with working(settings, log):
        play(log, 200, 210)
        until(lambda: published(settings, log) == 210, "it goes on after a restart")
    assert differences(settings, log) == []
