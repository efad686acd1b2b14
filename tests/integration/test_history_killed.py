"""Histories of a killed installation: those of a fold of its log from the beginning, bit for bit."""

import os
import signal
from contextlib import closing
from pathlib import Path

from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.history_files import HistoryFiles
from services.checkpoints.segments import packed_segment
from services.control.directory import FixedDirectory
from services.demo import simulated
from services.log.partition import partition_of
from services.log.reading import read_parts
from services.runtime.settings import Settings
from services.shard.partition import Partition
from services.state.history import PART, SEGMENT_ROWS, TracedOutcomes
from services.state.parts import part
from tests.support.histories import bits_of
from tests.support.installation import Installation, installation, until
from tests.support.pools import control_of, pool_of

POOL = "blitz"
PARTITIONS = Settings().partitions
HOME = partition_of(POOL, PARTITIONS)
GAMES = 3 * SEGMENT_ROWS // 4
"""Enough for one file and half a window."""
AT_ONCE = 1000


def send(one: Installation, start: int, stop: int) -> None:
    for first in range(start, stop, AT_ONCE):
        games = [simulated.game(i, float(i)) for i in range(first, min(first + AT_ONCE, stop))]
        sides = [[{"agents": list(side.agents), "place": side.place} for side in game.sides] for game in games]
        body = [{"v": 1, "id": game.id, "pool": POOL, "time": game.time, "sides": side} for game, side in zip(games, sides, strict=True)]
        status, answer = one.post("/v1/outcomes", body)
        assert (status, answer["accepted"]) == (202, len(body)), answer


def independent(data: Path) -> tuple[list[TracedOutcomes], TracedOutcomes]:
    """The segments and the window of a fold of the log from its beginning, without checkpoints."""
    segments, partition = list[TracedOutcomes](), Partition(HOME, PARTITIONS)
    partition.on_segment = lambda pool, generation, outcomes: segments.append(outcomes)
    with closing(open_log(Settings(data=data), create=False)) as log:
        for records in read_parts(log.outcomes, HOME, 0, log.outcomes.end(HOME)):
            assert partition.fold(records, FixedDirectory(control_of(pool_of(POOL)))) == []
    history = partition.pools[POOL].content.history
    assert history is not None
    return segments, history.window


def test_histories_of_a_killed_installation_are_those_of_a_fold_of_its_log(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with installation(data) as one:
        send(one, 0, GAMES // 3)
        until(lambda: one.outcomes(POOL), "the first outcomes are visible")
        for stop in (GAMES // 3, 2 * GAMES // 3):
            os.kill(one.shard_pids()[0], signal.SIGKILL)
            send(one, stop, stop + GAMES // 3)
            until(lambda stop=stop: one.outcomes(POOL) == stop + GAMES // 3, "all outcomes are visible after the kill")
        store = CheckpointStore((data / "state").as_uri())
        entry = until(lambda: checkpointed(store), "a checkpoint of all outcomes")
        answer = until(lambda: newest(one, entry.position), "an answer of the newest checkpoint")
        segments, window = independent(data)
        assert (len(segments), answer["missing"]) == (1, 0)
        assert bits_of(TracedOutcomes.from_arrays(part(store.read_pool(entry), PART))) == bits_of(window)
        files = {(file.first, file.end): file for file in sorted(HistoryFiles(store.blobs).files(HOME), key=lambda file: file.epoch)}
        for kept in segments:
            assert store.blobs.read(files[kept.first, kept.end].name) == b"".join(packed_segment(kept))
        profile = one.answer(f"/v1/pools/{POOL}/agents/pebble")
        assert (profile["methods"]["elo"]["rating"], profile["outcomes"]) == (answer["outcomes"][0]["after"], answer["total"])


def checkpointed(store: CheckpointStore) -> PoolEntry | None:
    newest = store.newest(HOME)
    entries = [] if newest is None else [entry for entry in newest.pools if entry.pool == POOL]
    return entries[0] if entries and entries[0].outcomes == GAMES else None


def newest(one: Installation, position: int) -> dict | None:
    answer = one.get(f"/v1/pools/{POOL}/agents/pebble/outcomes?count=1")
    return answer if answer is not None and answer["position"] == position else None
