"""Which kind of file a file is, by its name and its first lines."""

import csv
from enum import StrEnum
from typing import Final

from ratings_core.errors import InputError


class FileKind(StrEnum):
    """What a file holds."""

    SCORES = "scores"
    MARGINS = "margins"
    BATTLES = "battles"
    RESULTS = "results"
    PROFILE = "profile"
    OUTCOMES = "outcomes"


_PREFLIB: Final = (".soc", ".soi", ".toc", ".toi")
_NOT_READ: Final = {".pgn": "PGN", ".parquet": "Parquet", ".gz": "compressed", ".zip": "compressed", ".xlsx": "Excel"}
_JSON: Final = (".json", ".jsonl", ".ndjson")


def guess(filename: str, head: str) -> FileKind:
    """The kind of the file. head: its first lines, 64 KiB are enough. Raises `InputError` where it cannot be told, with what to do."""
    suffix = "." + filename.rsplit(".", 1)[-1].lower() if "." in filename else ""
    if suffix in _NOT_READ:
        raise InputError("file", filename, f"must not be a {_NOT_READ[suffix]} file: convert it to CSV or JSON lines")
    if suffix in _PREFLIB:
        return FileKind.PROFILE
    head = head.removeprefix("\ufeff")
    if suffix in _JSON or head.lstrip()[:1] in ("{", "["):
        return _json_kind(filename, head)
    return _csv_kind(filename, head)


def _json_kind(filename: str, head: str) -> FileKind:
    first = head[: head.find("}") + 1] or head
    if '"model_a"' in first and '"model_b"' in first:
        return FileKind.BATTLES
    if '"v"' in head:
        return FileKind.OUTCOMES
    raise InputError("file", filename, "must hold battles (model_a, model_b, winner) or outcomes of the wire schema; else name its kind")


def _csv_kind(filename: str, head: str) -> FileKind:
    lines = [line for line in head.splitlines() if line.strip()]
    header = next(csv.reader(lines[:1]), [])
    if {"home_team", "away_team", "home_score", "away_score"} <= set(header):
        return FileKind.RESULTS
    if {"model_a", "model_b", "winner"} <= set(header):
        return FileKind.BATTLES
    if len(header) < 2 or len(lines) < 2:
        raise InputError("file", filename, "must be a table with a header and rows of a known kind; else name its kind")
    rows = [next(csv.reader([line]), [""])[0] for line in lines[1:]]
    return FileKind.MARGINS if set(rows) <= set(header[1:]) else FileKind.SCORES
