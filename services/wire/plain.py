"""Fast decoding of plain games from bytes to columns, without Python objects: JSON by the scanner, Arrow streams from their columns."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from ratings_core.arrays.arena import Arena
from ratings_core.columns.outcomes import Games
from services.wire.bulk.recognition import is_stream
from services.wire.scanning.scan import Scanned, rest, scan


def plain_games(values: Sequence[bytes]) -> Scanned:
    """Decode the plain games among the records of a poll. The indices of all other records are in `rest`."""
    return _join(list(_runs(values)), len(values)) if any(map(is_stream, values)) else scan(values)


def _runs(values: Sequence[bytes]) -> Iterator[Scanned]:
    """Yield the games of each run of JSON records and of each stream. The record numbers are indices in `values`."""
    from services.wire.bulk.games import plain  # noqa: PLC0415 - loads pyarrow, which JSON does not need

    first = 0
    for packed, run in groupby(values, is_stream):
        group = list(run)
        if not packed:
            scanned = scan(group)
            yield replace(scanned, record=scanned.record + first)
        else:
            for number, value in enumerate(group, first):
                if (games := plain(value)) is not None:
                    n = len(games.columns)
                    numbers = np.full(n, number), np.zeros(n, np.int64)
                    yield Scanned(games.columns, games.ids, games.weight, *numbers, [games.pool], [])
        first += len(group)


def _join(parts: Sequence[Scanned], records: int) -> Scanned:
    """Concatenate the games of `parts`, whose record numbers ascend. records: number of records in the poll."""
    parts = parts or [scan([])]
    pools = list(dict.fromkeys(pool for part in parts for pool in part.pools))
    record = np.concatenate([part.record for part in parts])
    return Scanned(
        columns=Games.joined([part.columns for part in parts]),
        ids=Arena.joined([part.ids for part in parts]),
        weight=np.concatenate([part.weight for part in parts]),
        record=record,
        pool=np.concatenate([np.array([pools.index(pool) for pool in part.pools], np.int64)[part.pool] for part in parts]),
        pools=pools,
        rest=rest(record, records),
    )
