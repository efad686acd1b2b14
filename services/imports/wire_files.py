"""Files of outcomes of the wire schema: JSON lines, JSON arrays, and exports in Parquet or CSV."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ratings_core.arrays.arena import pack
from ratings_core.arrays.hashing import hash128
from ratings_core.formats.errors import FormatError
from ratings_core.formats.parquet import MAGIC
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.source import FileSource
from ratings_core.formats.stream import head, text_lines
from services.imports.exported import csv_texts, is_exported_csv, outcome_texts
from services.imports.row_ids import RowIds
from services.wire import events
from services.wire.events import Event
from services.wire.new_names import hidden_names

OF_ANOTHER: Final = "of another pool"
_FOREVER: Final = float("inf")


class Line(NamedTuple):
    """An outcome of a file. number: Line of the file, or number of the row."""

    number: int
    event: Event


def outcome_lines(source: FileSource, pool: str, now: float, counts: RowCounts, *, one_pool: bool) -> Iterator[Line]:
    """Yield the outcomes of one pool in order, and count all rows. Outcomes without an id or a time get one.

    Args:
        source: The file.
        pool: Name of the pool.
        now: Time of outcomes that have none, in seconds since 1970.
        counts: Receives the counts.
        one_pool: Whether outcomes of other pools are refused; otherwise they are left out.

    Raises:
        InputError: The file is damaged. Outcomes that break a rule are refused one by one.
    """
    ids = RowIds("outcomes")
    for number, content in _texts(source):
        decoded = events.decode_request(content.encode(), now=now, new_id=_ids_of(content, ids), future_seconds=_FOREVER)
        counts.rows += len(decoded.events) + len(decoded.refusals)
        counts.refuse(FormatError(number, refusal.path, None, refusal.rule) for refusal in decoded.refusals)
        for event in decoded.events:
            if event.pool == pool:
                yield Line(number, event)
            elif not one_pool:
                counts.left_out[OF_ANOTHER] += 1
            else:
                counts.refuse([FormatError(number, "$.pool", event.pool, f"must be the pool asked for ({pool})")])


def accepted(lines: list[Line], counts: RowCounts) -> list[Event]:
    """The outcomes that readers of the log accept, as their decoder decides, and only with visible names. Counts the others."""
    decoded = events.decode([events.encode([line.event]) for line in lines])
    hidden = {decoded.record[number]: broken for number, broken in hidden_names(decoded.events).items()}
    refused = [FormatError(lines[refusal.record].number, refusal.path, None, refusal.rule) for refusal in decoded.refusals]
    refused += [FormatError(lines[record].number, broken.path, None, broken.rule) for record, broken in hidden.items()]
    counts.refuse(sorted(refused, key=lambda error: error.row))
    return [event for record, event in zip(decoded.record, decoded.events, strict=True) if record not in hidden]


def decoded_lines(source: FileSource) -> Iterator[Event]:
    """The outcomes of all pools in order, without those that break a rule; `outcome_lines` reports these."""
    for _, content in _texts(source):
        yield from events.decode_request(content.encode(), now=0.0, new_id=lambda: "-", future_seconds=_FOREVER).events


def _texts(source: FileSource) -> Iterator[tuple[int, str]]:
    """Line and text of each line of JSON or row of an exported CSV file, or number and text of each row of an exported Parquet file."""
    stream = source.reader()
    if head(stream).startswith(MAGIC):
        return outcome_texts(stream)
    if is_exported_csv(head(stream)):
        return csv_texts(stream)
    return ((line, content) for line, content in text_lines(stream) if content.strip())


def _ids_of(content: str, ids: RowIds) -> Callable[[], str]:
    """A function that returns ids for the items of a text that have none."""

    def new_id() -> str:
        text = pack([content])
        return ids.ids(hash128(text.bytes, text.start)).names()[0]

    return new_id
