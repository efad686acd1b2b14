"""Files as problems. Games are counted while the file is read, so a file of games may be larger than memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ratings_core.errors import InputError
from ratings_core.formats.contests import Contest, contests_profile, iter_contests
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.margins import margins_of
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.profile import read_profile
from ratings_core.formats.reading import FileReading, in_order_of_time
from ratings_core.front.counted import COUNTED_ONCE, Counted, CountedFeatures, Counting
from ratings_core.front.slices import OwnT, Slices
from ratings_core.problems.inputs import MarginsInput, Problem, ProfileInput, ScoresInput
from ratings_core.voting.profile import Unlisted

BadRows: TypeAlias = Literal["refuse", "skip"]
_SHOWN_BAD: Final = 20
"""Largest number of bad rows that an error lists, because it is one line. It also gives the number of all. `Inspection` has a hundred."""
BAD: Final = "bad rows"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The problem of a file or a slice.

    Attributes:
        kind: Kind of the file.
        problem: The problem.
        left_out: Reason -> number of rows that are not outcomes.
    """

    kind: FileKind
    problem: Problem
    left_out: dict[str, int] = field(default_factory=dict)


def load(
    reading: FileReading, *, counting: Counting = COUNTED_ONCE, unlisted: Unlisted | None = None, bad_rows: BadRows = "refuse"
) -> dict[str, Loaded]:
    """The problem of a file, or one problem for each value of the column `slice_by`. The file is read once.

    Args:
        reading: The reading of the file.
        counting: How games are counted.
        unlisted: Meaning of agents that a ballot does not list. None for the default: `last` for ballots, `unknown` for contests.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.

    Returns:
        Value of the column -> its problem, in order of the values; the value is empty for a file without slices. `left_out` counts rows
        of the complete file.

    Raises:
        InputError: A row is bad, an option does not fit the kind of the file, or the slice column has more than 1,000 values.
    """
    kind, name = reading.kind, reading.source.path.name
    if counting.bucket_seconds is not None and kind not in (FileKind.GAMES, FileKind.PGN):
        raise InputError("bucket-seconds", counting.bucket_seconds, f"must be left out for {kind}: only games are counted by time")
    counts = RowCounts()
    match kind:
        case FileKind.SCORES:
            scores = reading.score_table(counts)
            left_out = judged(counts, name, bad_rows)
            return {"": Loaded(kind, ScoresInput(scores.agents, scores.tasks, scores.scores), left_out)}
        case FileKind.MARGINS:
            margins = margins_of(reading.table())
            return {"": Loaded(kind, MarginsInput(margins.names, margins.margins))}
        case FileKind.PROFILE:
            return {"": Loaded(kind, ProfileInput(read_profile(reading.source.reader()), unlisted or "last"))}
        case FileKind.CONTESTS:
            profile = contests_profile(_contests(reading, counts))
            return {"": Loaded(kind, ProfileInput(profile, unlisted or "unknown"), judged(counts, name, bad_rows))}
        case _:
            return _games(reading, counting, bad_rows)


def judged(counts: RowCounts, name: str, bad_rows: BadRows) -> dict[str, int]:
    """Reason -> number of rows that are left out; bad rows are among them with `skip`.

    Args:
        counts: Counts of the rows.
        name: Name of the file.
        bad_rows: `refuse` or `skip`.

    Raises:
        InputError: There are bad rows, and they are refused. The error shows the first 20 of them.
    """
    left_out = dict(counts.left_out)
    if not counts.bad:
        return left_out
    if bad_rows == "skip":
        return left_out | {BAD: counts.bad}
    lines = [described(one) for one in counts.first[:_SHOWN_BAD]]
    number = "1 bad row" if counts.bad == 1 else f"{counts.bad} bad rows"
    raise InputError(name, number, f"must have only valid rows (--bad-rows skip leaves out the others): {'; '.join(lines)}")


def described(error: FormatError) -> str:
    """One line about a bad row."""
    value = "" if error.value is None else repr(str(error.value)[:40])
    return " ".join(part for part in (f"row {error.row}:", error.column, value, error.rule) if part)


def _contests(reading: FileReading, counts: RowCounts) -> Iterator[Contest]:
    for one in iter_contests(reading.source.reader()):
        counts.rows += 1
        if isinstance(one, Skipped):
            counts.left_out[one.why] += 1
        elif isinstance(one, FormatError):
            counts.refuse([one])
        else:
            yield one


def _games(reading: FileReading, counting: Counting, bad_rows: BadRows) -> dict[str, Loaded]:
    slices = Slices(lambda: _collector(reading.options, counting))
    if reading.options.slice_by is None:
        slices.part("")  # for a file without games too: its error then states what the file must hold
    left_out = collect(reading, slices, _add, bad_rows)
    return {value: Loaded(reading.kind, own.problem(left_out), left_out) for value, own in slices.sorted(left_out)}


def collect(
    reading: FileReading, slices: Slices[OwnT], add: Callable[[OwnT, FilePart], None], bad_rows: BadRows, *, by_time: bool = False
) -> dict[str, int]:
    """Add the outcomes of a file to their slices, in order.

    Args:
        reading: The reading of the file.
        slices: The objects of the slices.
        add: Adds outcomes to the object of their slice.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.
        by_time: Whether games are added in the order of their times, instead of that of their rows. All are then held in memory.

    Returns:
        Reason -> number of rows that are not outcomes.

    Raises:
        InputError: A row is bad, or there are too many slices.
    """
    parts = reading.parts() if not by_time else iter(in_order_of_time(list(reading.parts())))
    for part in parts:
        for own, outcomes in slices.parts(part):
            if len(outcomes):
                add(own, outcomes)
    return judged(reading.counts, reading.source.path.name, bad_rows)


def _collector(options: ReadOptions, counting: Counting) -> Counted | CountedFeatures:
    """Tallies of a slice, or its list of games if the options name features."""
    if options.features:
        return CountedFeatures([feature.text for feature in options.features])
    return Counted(counting)


def _add(own: Counted | CountedFeatures, part: FilePart) -> None:
    if isinstance(own, CountedFeatures):
        own.add_part(part)
    else:
        own.add(part.columns)
