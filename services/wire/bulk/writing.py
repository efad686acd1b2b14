"""Encoding of columns as records of schema v1c, without a Python object for each outcome."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.arrow import arrow_cells, arrow_numbers, arrow_texts, whole
from ratings_core.arrays.coded import Coded
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.columns.tags import Tags
from ratings_core.errors import InputError
from ratings_core.records.outcomes import WEIGHT_ONE
from services.wire.bulk.layout import MAX_TEXT_BYTES
from services.wire.rules import MAX_RECORD_BYTES

RECORD_ROWS: Final = 10_000
"""Largest number of outcomes in one record."""


def encode(outcomes: Games | TaskScores, ids: Arena, pool: str, meta: Arena | None = None) -> list[tuple[bytes, int]]:
    """Encode n outcomes of one pool.

    Args:
        outcomes: The outcomes, as readers of the log accept them.
        ids: n ids.
        pool: Name of the pool.
        meta: n JSON texts; None if no outcome has `meta`.

    Returns:
        Records, in order, each with the number of its outcomes: at most 10,000, and fewer if it would become too large.

    Raises:
        InputError: One outcome alone does not fit into a record.
    """
    records, rows = list[tuple[bytes, int]](), len(outcomes)
    for begin in range(0, rows, RECORD_ROWS):
        records += _encode_range(outcomes, ids, pool, meta, begin, min(begin + RECORD_ROWS, rows))
    return records


def _encode_range(outcomes: Games | TaskScores, ids: Arena, pool: str, meta: Arena | None, begin: int, end: int) -> list[tuple[bytes, int]]:
    """The records of outcomes `begin` to `end`: one, or those of both halves if it is too large."""
    rows = np.arange(begin, end)
    columns = _games(outcomes.reordered(rows)) if isinstance(outcomes, Games) else _scores(outcomes.reordered(rows))
    texts = 32 * (end - begin) + _bytes_of_texts(outcomes, begin, end)
    named = {"id": arrow_texts(ids.take(rows)), "pool": _constant(pool, end - begin), **columns}
    if meta is not None:
        named["meta"] = arrow_texts(meta.take(rows))
    record = _stream(pa.RecordBatch.from_pydict(named))
    if len(record) <= MAX_RECORD_BYTES and texts <= MAX_TEXT_BYTES:
        return [(record, end - begin)]
    if end - begin == 1:
        raise InputError("outcome", len(record), f"must take at most {MAX_RECORD_BYTES} bytes as a record")
    half = (begin + end) // 2
    return [*_encode_range(outcomes, ids, pool, meta, begin, half), *_encode_range(outcomes, ids, pool, meta, half, end)]


def _games(games: Games) -> dict[str, Any]:
    sizes = np.diff(games.side_start)
    members = np.diff(games.agent_start)
    agents = games.agent_start[games.side_start]
    side = np.arange(len(games.place)) - np.repeat(games.side_start[:-1], sizes)
    columns = {
        "time": arrow_numbers(games.time),
        "agents": _lists(agents, _coded(games.names)),
        "sides": _lists(agents, arrow_numbers(np.repeat(side, members).astype(np.int8))),
        "places": _lists(agents, arrow_numbers(np.repeat(games.place, members))),
    }
    if (games.task_of >= 0).any():
        columns["task"] = _tasks(games)
    return columns | _weights(games.weight) | _tags(games.tags)


def _scores(scores: TaskScores) -> dict[str, Any]:
    columns = {
        "time": arrow_numbers(scores.time),
        "task": arrow_texts(scores.tasks),
        "agents": _lists(scores.start, _coded(scores.names)),
        "scores": _lists(scores.start, arrow_numbers(scores.score)),
    }
    return columns | _weights(scores.weight) | _tags(scores.tags)


def _lists(start: NDArray[np.int64], values: Any) -> Any:
    return pa.ListArray.from_arrays(arrow_numbers(start.astype(np.int32)), values)


def _coded(names: Coded) -> Any:
    used = names.used()
    return pa.DictionaryArray.from_arrays(arrow_numbers(used.code), arrow_texts(used.texts).cast(pa.string()))


def _tasks(games: Games) -> Any:
    texts = arrow_texts(games.tasks).dictionary_encode()
    index = np.where(games.task_of >= 0, games.task_of, 0)
    codes = whole(texts.indices).astype(np.int32)[index]
    return pa.DictionaryArray.from_arrays(arrow_numbers(codes, games.task_of >= 0), texts.dictionary.cast(pa.string()))


def _weights(units: NDArray[np.int64]) -> dict[str, Any]:
    return {} if (units == WEIGHT_ONE).all() else {"weight": arrow_numbers(units / WEIGHT_ONE)}


def _tags(tags: Tags | None) -> dict[str, Any]:
    """The column of tags, which is absent if no row has tags."""
    if tags is None:
        return {}
    used = np.unique(tags.code[tags.code >= 0]).astype(np.int64)
    number = np.zeros(len(tags.texts) + 1, np.int32)
    number[used] = np.arange(len(used))
    codes = arrow_numbers(number[tags.code], tags.code >= 0)
    return {"tags": pa.DictionaryArray.from_arrays(codes, arrow_texts(tags.texts.take(used)).cast(pa.string()))}


def _constant(text: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(arrow_numbers(np.zeros(rows, np.int32)), arrow_cells([text]).cast(pa.string()))


def _bytes_of_texts(outcomes: Games | TaskScores, begin: int, end: int) -> int:
    """Bytes of the names and tags of some outcomes, each counted for every use."""
    start = outcomes.agent_start[outcomes.side_start] if isinstance(outcomes, Games) else outcomes.start
    lengths = np.diff(outcomes.names.texts.start)
    total = int(lengths[outcomes.names.code[start[begin] : start[end]]].sum())
    if outcomes.tags is not None:
        code = outcomes.tags.code[begin:end]
        total += int(np.diff(outcomes.tags.texts.start)[code[code >= 0]].sum())
    return total


def _stream(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
