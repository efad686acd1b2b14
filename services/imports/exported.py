"""Outcomes of an exported Parquet file, as the wire schema writes them.

A row becomes the JSON object that was sent, so the decoder checks it by the rules that hold for every outcome, and refuses it alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

import msgspec

from ratings_core.formats.parquet import python_rows

EXPORTED: Final = frozenset({"kind", "pool", "id"})
"""Columns that distinguish an export from a Parquet file of battles."""
COLUMNS: Final = ("kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta")
"""Columns that an outcome is made of; a file without one of them would lose what it says."""



def outcome_texts(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Number, from 1, and JSON text of each row of an exported file.

    Args:
        stream: The file; seekable.

    Raises:
        FormatError: A column of `COLUMNS` is missing: the file was exported without it.
        InputError: The file is damaged.
        MissingExtraError: The extra `arrow` is not installed.
    """
    for number, row in python_rows(stream, COLUMNS, COLUMNS):
        yield number, _text(_outcome(row))


def _outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the wire schema that a row holds. A field that cannot be made is left out, so the decoder refuses the outcome."""
    outcome: dict[str, Any] = {"v": 1}
    match row["kind"]:
        case "game":
            outcome["sides"] = _sides(row)
        case "scores":
            outcome["scores"] = _scores(row)
        case "retraction":
            outcome["retracts"] = row["retracts"]
        case other:
            outcome["kind"] = other
    outcome |= {name: row[name] for name in ("id", "pool", "time", "weight", "task")}
    if row["meta"] is not None:
        outcome["meta"] = msgspec.Raw(row["meta"])
    return {name: value for name, value in outcome.items() if value is not None}


def _scores(row: Mapping[str, Any]) -> dict[str, Any] | None:
    agents, scores = row["agents"] or (), row["scores"] or ()
    return dict(zip(agents, scores, strict=True)) if len(set(agents)) == len(agents) == len(scores) else None


def _sides(row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Sides by rising number; None where lists differ in length, or one side has two places."""
    agents, numbers, places = (row[name] or () for name in ("agents", "sides", "places"))
    place = dict(zip(numbers, places, strict=False))
    if not len(agents) == len(numbers) == len(places) or any(place[n] != own for n, own in zip(numbers, places, strict=True)):
        return None
    return [{"agents": [agents[i] for i, n in enumerate(numbers) if n == side], "place": place[side]} for side in sorted(place)]


def _text(outcome: dict[str, Any]) -> str:
    return msgspec.json.encode(outcome).decode()
