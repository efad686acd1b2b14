"""Tallies and histories of pools as their checkpoints hold them, by names, to compare with the oracle's."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core.records.roster import Roster
from services.boards.outcome_history import OutcomeHistoryReader
from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.segments import Segment
from services.state.history import PART, TracedOutcomes
from services.state.parts import part
from tests.chaos.fold import Tallies, outcome_mark

_BYTE = 255

Arrays = Mapping[str, NDArray[Any]]


def positions(url: str, partitions: int) -> dict[tuple[str, int], int]:
    """Pool and its generation -> position of the newest checkpoint of its partition, for all that these checkpoints hold."""
    store = CheckpointStore(url)
    newest = [manifest for number in range(partitions) if (manifest := store.newest(number)) is not None]
    return {(entry.pool, entry.generation): manifest.position for manifest in newest for entry in manifest.pools}


def histories(url: str, partitions: int) -> dict[str, list[int]]:
    """Marks of the outcomes of every pool in the newest whole checkpoint of its partition, from its files of history and its window."""
    store, pools = CheckpointStore(url), {}
    for number in range(partitions):
        if (recovered := store.recover(number, [])) is not None:
            manifest, arrays = recovered
            for entry in manifest.pools:
                if window := part(arrays[entry.object], PART):
                    reader = OutcomeHistoryReader.load(store, number, entry, TracedOutcomes.from_arrays(window))
                    names = Roster.from_arrays(part(arrays[entry.object], "agents")).names()
                    pools[entry.pool] = marks(names, reversed(list(reader.segments())))
    return pools


def marks(names: Sequence[str], segments: Iterable[Segment]) -> list[int]:
    """Marks of the outcomes of segments, oldest first. Raises `AssertionError` if outcomes are missing between them."""
    found: list[int] = []
    for segment in segments:
        assert segment.first == len(found), f"the history lacks outcomes {len(found) + 1} to {segment.first}"
        moves: dict[int, list[tuple[int, str, float, float, float, float]]] = {}
        for agent, name in enumerate(names):
            rows = segment.rows(*segment.places_of(agent))
            columns = ("outcome", "side", "before.elo", "after.elo", "before.sco", "after.sco")
            for outcome, side, *ratings in zip(*(rows[column].tolist() for column in columns), strict=True):
                moves.setdefault(outcome, []).append((side, name, *ratings))
        found += [outcome_mark(moves[outcome]) for outcome in sorted(moves)]
    return found


def held(url: str, partitions: int) -> dict[str, Tallies]:
    """Tallies of every pool in the newest whole checkpoint of its partition."""
    store, pools = CheckpointStore(url), {}
    for number in range(partitions):
        if (recovered := store.recover(number, [])) is not None:
            manifest, arrays = recovered
            pools |= {entry.pool: tallies(arrays[entry.object]) for entry in manifest.pools}
    return pools


def tallies(arrays: Arrays) -> Tallies:
    """Tallies of a pool's content, by the layout of keys that the tallies document."""
    agents, tasks = (Roster.from_arrays(part(arrays, name)).names() for name in ("agents", "tasks"))
    read = Tallies()
    for first, second, wins, losses, ties in _rows(part(arrays, "pairs"), 32, "wins", "losses", "ties"):
        a, b = agents[first], agents[second]
        read.pairs[min(a, b), max(a, b)] = (wins, losses, ties) if a < b else (losses, wins, ties)
    for name, tally in (("places", read.places), ("teams", read.teams)):
        held = part(arrays, name)  # a pool without `by_shape` has no places of teams
        for agent, rest, weight in _rows(held, 24, "weight") if held else ():
            tally[agents[agent], rest >> 16 & _BYTE, rest >> 8 & _BYTE, rest & _BYTE] = weight
    for agent, task, weight, total, squares in _rows(part(arrays, "scores"), 32, "weight", "total", "squares"):
        read.rows[agents[agent], tasks[task]] = (weight, total, squares)
    return read


def _rows(arrays: Arrays, bits: int, *columns: str) -> list[tuple[Any, ...]]:
    """High and low part of each key, and its values. Raises `AssertionError` where there is more than one bucket."""
    assert len(arrays["bucket"]) <= 1, "the pools of chaos have one bucket"
    key = arrays["key"]
    low = key & np.int64((1 << bits) - 1)
    return list(zip((key >> bits).tolist(), low.tolist(), *(arrays[name].tolist() for name in columns), strict=True))
