"""Contents of pools at past positions, as boards and explanations read them. `services.shard.generations.past_states` folds them."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from ratings_core.records.times import seconds, written
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import PoolEntry
from services.control.records import ControlState
from services.state.parts import part


class When(NamedTuple):
    """The latest acceptable state: at or before a log position, or at or before a time (seconds since 1970). One of them is None."""

    position: int | None = None
    time: float | None = None

    def reached(self, position: int, time: float) -> bool:
        """Whether a state of this position, made at this time, is not later than the limit."""
        return position <= self.position if self.position is not None else self.time is not None and time <= self.time

    def __str__(self) -> str:
        """The position, or the time as ISO text."""
        return f"position {self.position}" if self.time is None else written(self.time)


def when_of(position: int | None, time: str | None, names: tuple[str, str]) -> When | None:
    """The moment of two alternative parameters; None if neither is given.

    Args:
        position: A log position.
        time: An ISO time, or seconds since 1970, as text.
        names: Names of the two parameters, for errors.

    Raises:
        InputError: Both are given, or the time cannot be read.
    """
    if position is not None and time is not None:
        raise InputError(", ".join(names), (position, time), "must be one of the two")
    if position is None and time is None:
        return None
    return When(position, None if time is None else seconds(time, names[1]))


def check_order(since: When | None, until: When | None) -> None:
    """Raise `InputError` if two moments are both positions or both times, and the first one is later."""
    if since is None or until is None:
        return
    if since.position is not None and until.position is not None and since.position > until.position:
        raise InputError("from", since.position, f"must be at most `to`, {until.position}")
    if since.time is not None and until.time is not None and since.time > until.time:
        raise InputError("since", written(since.time), f"must be at most `until`, {written(until.time)}")


def check_season(
    control: ControlState, pool: str, generation: int, when: When | None, names: tuple[str, str], reached: int | None = None
) -> None:  # fmt: skip
    """Raise `OtherSeason` if a moment is before the start of the season of a generation.

    A season can begin at an earlier position than the newest one, so it can count outcomes that the log took before the record that began
    the season. A time is before the season if that record is later, and the log had not reached an outcome of the season.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        generation: Number of the generation.
        when: The moment; None for the newest one.
        names: Names of its two parameters, as of `when_of`, for the error.
        reached: Position of the generation's content at the moment; None if it is not known yet: then only positions are checked.
    """
    made = control.generations.get(pool, {}).get(generation)
    begun = None if made is None or made.opening is None else control.generations[pool].get(made.opening.first)
    if when is None or made is None or made.opening is None or begun is None:
        return
    if when.position is not None:
        is_before = when.position < made.opening.position
    else:
        is_before = reached is not None and reached <= made.start and (when.time or 0.0) < begun.time
    if is_before:
        raise OtherSeason(control, pool, generation, when, names)


class OtherSeason(InputError):  # noqa: N818 - names the fact
    """A moment is before the season in which ratings are explained or compared. Arguments as of `check_season`."""

    def __init__(self, control: ControlState, pool: str, generation: int, when: When, names: tuple[str, str]) -> None:
        made = control.generations[pool]
        season, opening = made[generation].season, made[generation].opening
        start = "" if opening is None else f", which began at position {opening.position} ({written(made[opening.first].time)})"
        instead = f"send a moment from its start on, or read the final boards of an earlier season (GET /v1/pools/{pool}/seasons)"
        rule = f"must not be before season {season}{start}: ratings of two seasons are not compared; {instead}"
        if when.time is None:
            super().__init__(names[0], when.position, rule)
        else:
            super().__init__(names[1], written(when.time), rule)


class NotFolded(Exception):  # noqa: N818 - names the fact
    """The content of a pool at a past position cannot be folded again. The text has the reason."""


class StillFolding(Exception):  # noqa: N818 - names the fact
    """The content of a pool at a past position needs more outcomes to be folded than one request may. The same request continues.

    Args:
        pool: Name of the pool.
        position: Position that is reached.
        end: Requested position, or the newest one for a request by time.
    """

    def __init__(self, pool: str, position: int, end: int) -> None:
        reached = f"pool {pool} is folded to position {position} of {end}: send the request again to continue"
        offline = f"`equirank solve --pool {pool} --to POSITION` rates outcomes without the API"
        super().__init__(f"{reached}; {offline}")


class NoSlice(InputError):  # noqa: N818 - names the fact
    """A pool had no outcome of a slice at a position, or its generation makes no such board of the slice.

    Args:
        entry: The pool at the position. The attribute `position` holds its position.
        text: The slice, such as `language:English`.
        board: Name of the board that its generation does not make; empty if there was no outcome.
        tags: The tags by which its generation makes slices, if these lack the tag of `text`; otherwise None.
    """

    def __init__(self, entry: PoolEntry, text: str, board: str = "", tags: Collection[str] | None = None) -> None:
        self.position = entry.position
        generation = f"generation {entry.generation} of pool {entry.pool}"
        if tags is None:
            lacks = f"must have the board {board}" if board else "must have an outcome"
            rule = f"{lacks} in {generation} at position {entry.position}"
        else:
            known = ", ".join(sorted(tags)) or "none"
            rule = f"must be of a tag by which {generation} makes slices ({known}): its setting `slices` names them"
        super().__init__("slice", text, rule)


class NoOutcomes(InputError):  # noqa: N818 - names the fact
    """A generation of a pool had counted no outcome at a moment.

    Args:
        entry: The pool at the moment.
        when: The moment.
        next_taken: When the log took the next record of the pool, in seconds since 1970; None if it is unknown.

    Attributes:
        position: Position of the pool at the moment.
        says: The fact, and what to ask instead, in sentences.
    """

    def __init__(self, entry: PoolEntry, when: When, next_taken: float | None) -> None:
        self.position = entry.position
        generation = f"generation {entry.generation} of pool {entry.pool}"
        following = "" if next_taken is None else f"the log took the pool's next record at {written(next_taken)}"
        instead = "" if when.time is None else f"`equirank solve --pool {entry.pool} --until {when}` rates outcomes by their own times"
        self.says = f"At {when}, {generation} had counted no outcome{following and f': {following}'}." + (instead and f" {instead}.")
        rule = "; ".join(filter(None, [f"must not be before the first outcome that {generation} counts", following, instead]))
        super().__init__("position" if when.time is None else "time", when.position if when.time is None else str(when), rule)


def slice_entry(entry: PoolEntry, text: str) -> PoolEntry:
    """The entry of a pool's slice, such as `language:English`; of the pool for the empty text. Raises `NoSlice`."""
    found = entry.slice_of(text) if text else entry
    if found is None:
        raise NoSlice(entry, text)
    return found


class PastContent(NamedTuple):
    """The content of a pool, or of one of its slices, at a past position.

    entry: Pool, generation, position, number of outcomes and digest; if the content was folded again, it names no object. time: Time of its
    newest record, or of the checkpoint that it was read from, in seconds since 1970. arrays: The content; they must not be changed.
    next_taken: When the log took the pool's next record; None without such a record, or if the content is of a position.
    """

    entry: PoolEntry
    time: float
    arrays: Arrays
    next_taken: float | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def of_slice(self, text: str) -> "PastContent":
        """The content of the pool's slice, such as `language:English`; of the pool for the empty text. Raises `NoSlice`."""
        entry = slice_entry(self.entry, text)
        return self if entry.part is None else PastContent(entry, self.time, part(self.arrays, entry.part.prefix))


def check_begun(content: PastContent, when: When) -> None:
    """Raise `NoOutcomes` if a pool has counted no outcome at the moment of its content, so nothing can be solved."""
    if not content.entry.outcomes:
        raise NoOutcomes(content.entry, when, content.next_taken)


def check_rated(content: PastContent, when: When) -> None:
    """Raise `NoOutcomes` if a pool has no agent then: no outcome, no initial rating, and none of the season before."""
    if not content.arrays["activity"].size:
        raise NoOutcomes(content.entry, when, content.next_taken)


class PastContents(Protocol):
    """Folds pools again, up to past positions."""

    def content(self, head: PoolHead, when: When, generation: int | None = None) -> PastContent:
        """The content of a pool at exactly a past position, or of all records that the log took by a time.

        Args:
            head: Head of the pool. A position after its one stands for its one.
            when: The position or the time.
            generation: Number of the generation; None for the one that serves the season of this moment
                (`services.control.seasons.generation_at`).

        Raises:
            NotFolded: There is no archive, or log and archive lack the records, or the generation cannot be folded.
            StillFolding: One call does not fold that many outcomes. The next one continues.
            LogError: The log cannot be read now.
            OSError: The checkpoints cannot be read now.
        """
