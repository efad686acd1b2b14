"""Outcomes of a file of the wire schema as parts of a file."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.source import FileSource
from services.solve.problems.chosen import Chosen
from services.solve.problems.load import named_pool, pool_lines


def outcome_parts(
    source: FileSource, options: ReadOptions, pool: str | None, counts: RowCounts, left_out: Counter[str]
) -> Iterator[FilePart]:
    """The outcomes of a pool in a file that count, in the order of the log, some thousands at a time. Their rows have no numbers.

    Args:
        source: The file.
        options: How it is read; a slice column is ignored.
        pool: The pool; None for the only one of the file.
        counts: Counts the rows.
        left_out: Counts the outcomes that are left out, by reason.

    Raises:
        InputError: The file names several pools and `pool` is None, or a column is unknown.
    """
    named = named_pool(source, pool)
    chosen = Chosen(options, named.retractions)
    for lines in pool_lines(source, named, counts):
        for _, columns in chosen.slices([line.event for line in lines]):
            yield FilePart(columns, np.zeros(len(columns), np.int64), timed=columns.time != 0)
    chosen.check()
    left_out.update(+chosen.left_out)
