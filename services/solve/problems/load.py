"""Problems from files, for `equirank solve`: those of the library, and those of outcomes of the wire schema."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from ratings_core.columns.outcomes import Games
from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.reading import FileReading
from ratings_core.formats.source import FileSource
from ratings_core.front.counted import COUNTED_ONCE, Counted, Counting, number_hashes
from ratings_core.front.load import BadRows, Loaded, judged
from ratings_core.front.load import load as load_rows
from ratings_core.front.slices import Slices
from ratings_core.voting.profile import Unlisted
from services.imports.wire_files import Line, decoded_lines, outcome_lines
from services.solve.problems.chosen import Chosen
from services.wire.columns import Retractions, columns_of_retractions
from services.wire.events import RetractEvent

_LINES: Final = 5_000


def load_slices(
    path: Path,
    options: ReadOptions,
    *,
    pool: str | None = None,
    counting: Counting = COUNTED_ONCE,
    unlisted: Unlisted | None = None,
    bad_rows: BadRows = "refuse",
) -> dict[str, Loaded]:
    """Load the problem of a file, or one problem for each value of the column `options.slice_by`.

    Args:
        path: The file. Only files of games and of outcomes can have slices.
        options: How the file is read.
        pool: Pool whose outcomes are read, if a file of outcomes names several pools.
        counting: How games are counted.
        unlisted: Meaning of agents that a ballot does not list. None for the default: `last` for ballots, `unknown` for contests.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.

    Returns:
        As `ratings_core.front.load.load`.

    Raises:
        InputError: A row is bad, an option does not fit the kind of the file, or the slice column has more than 1,000 values.
    """
    with FileSource(path) as source:
        reading = FileReading(source, options)
        if reading.kind is not FileKind.OUTCOMES:
            return load_rows(reading, counting=counting, unlisted=unlisted, bad_rows=bad_rows)
        named, counts = named_pool(source, pool), RowCounts()
        chosen, slices = Chosen(options, named.retractions), Slices(lambda: Counted(counting))
        if options.slice_by is None:
            slices.part("")
        for lines in pool_lines(source, named, counts):
            for value, columns in chosen.slices([line.event for line in lines]):
                slices.part(value).add(columns)
        chosen.check()
        left_out = judged(counts, path.name, bad_rows) | dict(+chosen.left_out)
        return {
            value: Loaded(reading.kind, counted.problem(left_out), left_out | counted.left_out)
            for value, counted in slices.sorted(left_out)
        }


@dataclass(frozen=True, slots=True)
class NamedPool:
    """The pool whose outcomes are counted, and its retractions."""

    pool: str
    retractions: Retractions


OFFLINE: Final = NamedPool("offline", Retractions(np.empty((0, 2), np.uint64), np.empty(0)))
"""The pool of files whose rows name no pool."""


def named_pool(source: FileSource, pool: str | None) -> NamedPool:
    """`pool`, or the only pool that the file names, with its retractions. Raises `InputError` with the names of the file's pools.

    A file whose rows are all bad names no pool, and is not refused here: the reading of its rows reports what they break.
    """
    named: set[str] = set()
    retractions: list[RetractEvent] = []
    for event in decoded_lines(source):
        named.add(event.pool)
        if isinstance(event, RetractEvent):
            retractions.append(event)
    if pool is None and len(named) == 1:
        pool = next(iter(named))
    if named and pool not in named:
        raise InputError("pool", pool, f"must be one of the file's pools: {', '.join(sorted(named))}")
    return NamedPool(pool or OFFLINE.pool, columns_of_retractions([event for event in retractions if event.pool == pool]))


def pool_lines(source: FileSource, named: NamedPool, counts: RowCounts) -> Iterator[list[Line]]:
    """The outcomes of a pool in a file of the wire schema, some thousands at a time. Counts all rows."""
    lines: Iterator[Line] = outcome_lines(source, named.pool, 0.0, counts, one_pool=False)
    while chunk := list(islice(lines, _LINES)):
        yield chunk


def with_number_ids(games: Games, first: int) -> Games:
    """Games of rows with hashes of their numbers as ids, so that a fold takes each for a new one. first: number of the first game."""
    return replace(games, id_hash=number_hashes(first, len(games)), body_hash=np.zeros(len(games), np.uint64))
