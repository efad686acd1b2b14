"""Detection of the kind of a file from its name and its first lines."""

import csv
import re
from enum import StrEnum
from typing import Final

from ratings_core.errors import InputError
from ratings_core.formats.battles import COLUMNS, VOTES


class FileKind(StrEnum):
    """Kind of a file's content."""

    SCORES = "scores"
    MARGINS = "margins"
    BATTLES = "battles"
    RESULTS = "results"
    PROFILE = "profile"
    PGN = "pgn"
    CONTESTS = "contests"
    OUTCOMES = "outcomes"


TABLES: Final = frozenset({FileKind.SCORES, FileKind.MARGINS, FileKind.RESULTS, FileKind.BATTLES})
"""Kinds whose files may be CSV."""
_PREFLIB: Final = (".soc", ".soi", ".toc", ".toi")
_PARQUET: Final = (".parquet", ".pq")
_PACKED: Final = (".gz", ".zst")
_NOT_READ: Final = {".zip": "zip", ".bz2": "bzip2", ".xz": "xz", ".7z": "7-Zip", ".xlsx": "Excel", ".xls": "Excel"}
_JSON: Final = (".json", ".jsonl", ".ndjson")
_TAG: Final = re.compile(r'\s*\[[A-Za-z0-9_]+\s+"')
_VOTE: Final = re.compile("|".join(f'"{vote}"' for vote in VOTES))


def guess(filename: str, head: str, delimiter: str = ",") -> FileKind:
    """Guess the kind of a file.

    filename: a final `.gz` or `.zst` is ignored; head: first lines of the decompressed file, up to 64 KiB; delimiter: of a table. Raises
    `InputError`, with the next step, if the kind is unknown.
    """
    suffix = _suffix(filename)
    if suffix in _NOT_READ:
        rule = f"must not be a {_NOT_READ[suffix]} file: convert it to CSV, JSON lines or Parquet (.gz and .zst are read as they are)"
        raise InputError("file", filename, rule)
    if suffix in _PREFLIB:
        return FileKind.PROFILE
    if suffix in _PARQUET or head.startswith("PAR1"):
        return FileKind.BATTLES
    head = head.removeprefix("\ufeff")
    if suffix == ".pgn" or _TAG.match(head):
        return FileKind.PGN
    if suffix in _JSON or head.lstrip()[:1] in ("{", "["):
        return _json_kind(filename, head)
    return _csv_kind(filename, head, delimiter)


def _suffix(filename: str) -> str:
    name = filename.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return "." + name.rsplit(".", 1)[-1] if "." in name else ""


def _json_kind(filename: str, head: str) -> FileKind:
    first = head[: head.find("}") + 1] or head
    if '"model_a"' in first and '"model_b"' in first:
        return FileKind.BATTLES
    if '"standings"' in first:
        return FileKind.CONTESTS
    if '"v"' in first:
        return FileKind.OUTCOMES
    if _VOTE.search(head) or ('"tstamp"' in first and '"type"' in first):
        return FileKind.BATTLES
    if '"v"' in head:
        return FileKind.OUTCOMES
    rule = "must hold battles (model_a, model_b, winner), contests (standings) or outcomes of the wire schema; else pass its kind (--input)"
    raise InputError("file", filename, rule)


def _csv_kind(filename: str, head: str, delimiter: str) -> FileKind:
    lines = [line for line in head.splitlines() if line.strip()]
    header = _first_row(lines[:1], filename, delimiter)
    if {"home_team", "away_team", "home_score", "away_score"} <= set(header):
        return FileKind.RESULTS
    if set(COLUMNS) <= set(header):
        return FileKind.BATTLES
    if len(header) < 2 or len(lines) < 2:
        rule = "must be a table with a header and rows of a known kind; otherwise pass its kind (--input) or its delimiter (--delimiter)"
        raise InputError("file", filename, rule if lines else "must contain rows; the file is empty")
    names = {(_first_row([line], filename, delimiter) or [""])[0] for line in lines[1:]}
    return FileKind.MARGINS if names <= set(header[1:]) else FileKind.SCORES


def _first_row(lines: list[str], filename: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error as error:
        raise InputError("file", filename, f"must be a table of a known kind ({error}); otherwise pass its kind (--input)") from error
