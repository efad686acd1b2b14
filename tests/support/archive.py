"""Records of every kind for the archive, and a check that a table holds exactly the rows of the log's records."""

import json
from itertools import pairwise
from threading import Barrier, Thread

import numpy as np
import pyarrow as pa

from services.archive.encode import rows
from services.archive.reader import open_reader
from services.archive.schema import CONTENT
from services.archive.writer import ArchiveMovedError, ArchiveWriter, open_writer
from services.log.protocol import Record
from services.log.records import TopicRecords

LOG = "log-1"


def mixed(seed: int, n: int) -> TopicRecords:
    """Draw n records with duels, teams, ties, weights, tasks, scores, retractions, repeated ids, refused items and bad JSON.

    Offsets have gaps.
    """
    rng = np.random.default_rng(seed)
    offsets = np.cumsum(rng.integers(1, 4, n))
    return TopicRecords([Record(int(offset), _value(rng, int(offset)), 1.7e9 + int(offset) / 8) for offset in offsets])


def _value(rng: np.random.Generator, offset: int) -> bytes:
    match int(rng.integers(0, 12)):
        case 0:
            return b'{"v":1,"id":' + str(offset).encode()
        case 1:
            return json.dumps([_game(rng, offset), {"v": 1, "id": 3}, _game(rng, offset + 1)]).encode()
        case 2:
            return json.dumps({"v": 1, "id": f"r{offset}", "pool": "games", "time": 5, "retracts": f"g{offset - 2}"}).encode()
        case 3 | 4:
            scores = {f"a{agent}": float(rng.normal()) for agent in rng.permutation(6)[:3]}
            return json.dumps({"v": 1, "id": f"s{offset}", "pool": "scores", "time": 0.1, "task": "t", "scores": scores}).encode()
        case 5:
            return json.dumps([_game(rng, offset + k) for k in range(20)]).encode()
        case _:
            return json.dumps(_game(rng, offset)).encode()


def _game(rng: np.random.Generator, number: int) -> dict[str, object]:
    agents = [f"agent {agent}" for agent in rng.permutation(50)[: rng.choice([2, 2, 2, 5])]]
    cut = int(rng.integers(1, len(agents)))
    sides = [{"agents": agents[:cut], "place": int(rng.integers(1, 3))}, {"agents": agents[cut:], "place": 2}]
    game: dict[str, object] = {"v": 1, "id": f"g{number}", "pool": "games", "time": number / 7, "sides": sides}
    tagged = {"tags": {"map": "Österreich", "ax": str(number % 2)}}
    more = [{}, {"weight": 0.3}, {"task": "Curaçao"}, {"meta": {"a": [1, None]}}, tagged]
    return game | more[int(rng.integers(0, len(more)))]


def append(writer: ArchiveWriter, records: list[Record], count: int) -> int:
    """Append up to `count` of the records from the writer's position on. Returns the number of appended records."""
    batch = [record for record in records if record.offset >= writer.position][:count]
    if batch:
        writer.append(rows(batch), writer.position, batch[-1].offset + 1)
    return len(batch)


def fill(url: str, records: list[Record], count: int) -> ArchiveWriter:
    """Append all `records` in batches of `count`. Returns the writer."""
    writer = open_writer(url, 0, LOG)
    while append(writer, records, count):
        pass
    return writer


def contents(url: str) -> pa.Table:
    """All rows of a table, with all columns."""
    return pa.concat_tables(open_reader(url, 0).read()).combine_chunks()


def check(url: str, records: list[Record]) -> int:
    """Require that the table holds exactly the rows of the records below its position, in order. Returns the position."""
    position = open_reader(url, 0).position
    expected = [record for record in records if record.offset < position]
    if not expected:
        assert open_reader(url, 0).rows == 0
        return position
    table = contents(url)
    assert table.select(CONTENT).equals(rows(expected).combine_chunks())
    assert all(later == earlier + 1 for earlier, later in pairwise(table["row"].to_pylist()))
    assert position == expected[-1].offset + 1
    return position


def race(url: str, records: list[Record]) -> list[str]:
    """Let two writers append the first 7 of `records` to a table at the same time.

    Returns their results in alphabetical order: `won` (appended), `lost` (another writer appended first) or `nothing` (no records left).
    """
    writers, start, results = [open_writer(url, 0, LOG) for _ in range(2)], Barrier(2), []

    def run(writer: ArchiveWriter) -> None:
        start.wait()
        try:
            results.append("won" if append(writer, records, 7) else "nothing")
        except ArchiveMovedError:
            results.append("lost")

    threads = [Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results)
