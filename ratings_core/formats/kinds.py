"""Detection of the kind of a file from its name and its beginning."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from ratings_core.errors import InputError
from ratings_core.formats.roles import Roles, guess_roles
from ratings_core.formats.tables.texts import is_missing, is_number


class FileKind(StrEnum):
    """Kind of a file's content."""

    GAMES = "games"
    SCORES = "scores"
    MARGINS = "margins"
    PROFILE = "profile"
    PGN = "pgn"
    CONTESTS = "contests"
    OUTCOMES = "outcomes"


class Guess(NamedTuple):
    """A guessed kind. note: What the guess rests on, if it is not sure; else empty."""

    kind: FileKind
    note: str = ""


TABLES: Final = frozenset({FileKind.SCORES, FileKind.MARGINS, FileKind.GAMES, FileKind.OUTCOMES})
"""Kinds whose files may be CSV."""
TASK_WORDS: Final = frozenset(
    {
        "task", "tasks", "benchmark", "benchmarks", "dataset", "datasets", "test", "tests", "question", "questions", "problem", "problems",
        "game", "games", "env", "environment", "category", "subject", "metric", "scenario", "level", "domain", "eval", "evaluation",
    }
)  # fmt: skip
"""First header cells of wide tables of scores."""
_PREFLIB: Final = (".soc", ".soi", ".toc", ".toi")
_PACKED: Final = (".gz", ".zst")
_NOT_READ: Final = {".zip": "zip", ".bz2": "bzip2", ".xz": "xz", ".7z": "7-Zip", ".xlsx": "Excel", ".xls": "Excel"}
_ENCODINGS: Final = {b"\xff\xfe\x00\x00": "UTF-32LE", b"\x00\x00\xfe\xff": "UTF-32BE", b"\xff\xfe": "UTF-16LE", b"\xfe\xff": "UTF-16BE"}
_TAG: Final = re.compile(r'\s*\[[A-Za-z0-9_]+\s+"')
_FORMER: Final = re.compile(r"\d+\s*\n1\s*,")
"""First lines of PrefLib's files before 2022: the number of alternatives, then the names."""
_SHOWN: Final = 6
"""Cells of the first row that an error shows."""
_FIELDS: Final = 40
"""Fields of a JSON file that an error names: more than most files have, because a user chooses among them."""


def check_encoding(first: bytes) -> None:
    """Raise `InputError` for a file whose byte order mark names another encoding than UTF-8."""
    if (name := next((name for mark, name in _ENCODINGS.items() if first.startswith(mark)), None)) is not None:
        raise InputError("file", name, f"must be UTF-8 text: iconv -f {name[:6].removesuffix('-')} -t utf-8 FILE > NEW turns it into that")


def guess_by_name(filename: str, head: str) -> FileKind | None:
    """The kind that the name of a file, or the beginning of its text, tells without a header; None for tables and JSON.

    Raises:
        InputError: The file has a format that is not read; the rule names the next step.
    """
    suffix = suffix_of(filename)
    if suffix in _NOT_READ:
        rule = f"must not be a {_NOT_READ[suffix]} file: convert it to CSV, JSON lines or Parquet (.gz and .zst are read as they are)"
        raise InputError("file", filename, rule)
    if suffix in _PREFLIB or head.startswith("# FILE NAME:"):
        if _FORMER.match(head):
            raise InputError("file", filename, "must be in PrefLib's format since 2022, with lines of # before the ballots: load it again")
        return FileKind.PROFILE
    if suffix == ".pgn" or _TAG.match(head):
        return FileKind.PGN
    return None


def guess_json(filename: str, header: Sequence[str], roles: Roles) -> Guess:
    """The kind of a JSON file with these fields. Raises `InputError`."""
    if "standings" in header:
        return Guess(FileKind.CONTESTS)
    if "v" in header and ("sides" in header or "scores" in header or "retracts" in header or "pool" in header):
        return Guess(FileKind.OUTCOMES)
    if guess_roles(header, roles) is not None:
        return Guess(FileKind.GAMES)
    rule = "must hold games (such as model_a, model_b, winner), contests (standings) or outcomes of the wire schema; its fields are "
    raise InputError("file", filename, f"{rule}{_listed(header, _FIELDS)}; name them by --column first=FIELD ...")


def guess_table(filename: str, header: Sequence[str], rows: Sequence[Sequence[str]], roles: Roles) -> Guess:
    """The kind of a table.

    Args:
        filename: Name of the file, for errors.
        header: Names of the columns.
        rows: The first rows.
        roles: Columns that the caller names.

    Raises:
        InputError: The kind is in doubt. The error shows what the first row would be as each kind.
    """
    if roles.name_games:
        return Guess(FileKind.GAMES)
    if not header:
        raise InputError("file", filename, "must contain rows; the file is empty")
    firsts = [row[0] for row in rows if row]
    others = [cell for row in rows for cell in row[1:]]
    numeric = all(is_number(cell) or is_missing(cell) for cell in others)
    if firsts and numeric and set(firsts) <= set(header[1:]):
        return Guess(FileKind.MARGINS)
    if guess_roles(header) is not None:
        return Guess(FileKind.GAMES)
    if not rows or len(header) == 1:
        rule = "must contain rows of two columns or more; if it has them, pass the delimiter (--delimiter) or the kind (--input)"
        raise InputError("file", filename, rule)
    if header[0].strip().lower() in TASK_WORDS:
        return Guess(FileKind.SCORES)
    if numeric and len(set(firsts)) == len(firsts) and not any(is_number(cell) or is_missing(cell) for cell in firsts):
        tasks, agents = ", ".join(firsts[:3]), ", ".join(header[1:4])
        return Guess(FileKind.SCORES, f"read as scores: tasks are {tasks}, ...; agents are {agents}{', ...' if len(header) > 4 else ''}")
    raise InputError("file", filename, _doubt(header, rows[0]))


def _doubt(header: Sequence[str], row: Sequence[str]) -> str:
    cells = _listed([f"{name} = {cell!r}" for name, cell in zip(header, row, strict=False)], _SHOWN)
    scores = ", ".join(f"{name} scored {cell}" for name, cell in list(zip(header[1:], row[1:], strict=False))[:2])
    return (
        f"must be a table of a known kind. Its first row is {cells}. For games, name the columns: --column first=HEADER --column "
        f"second=HEADER --column winner=HEADER (or score, result, winner and loser; game, agent and place). As scores (--input scores) it "
        f"would be the task {row[0] if row else ''!r}, on which {scores}"
    )


def suffix_of(filename: str) -> str:
    """The last suffix of a name in lower case, without `.gz` and `.zst`; empty for a name without one."""
    name = filename.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return "." + name.rsplit(".", 1)[-1] if "." in name else ""


def _listed(texts: Sequence[str], most: int) -> str:
    """The first texts, and how many more there are."""
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return ", ".join([*texts[:most], *more])
