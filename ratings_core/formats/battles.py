"""Battles of an arena: two models and a verdict, as JSON array, JSON lines, CSV or Parquet.

Rows have one of two forms. Cleaned battles and the human-preference sets have `model_a`, `model_b` and `winner`, with the time in `tstamp`
or `timestamp`. FastChat's raw log has the kind of event in `type` and the models in `models`; if the names were hidden during the vote,
they are in `states`. The reader does not repeat FastChat's own cleaning (renamed models, models that revealed their name, banned voters).
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.json_items import content, json_rows
from ratings_core.formats.parquet import MAGIC, parquet_rows
from ratings_core.formats.rows import NO_EXTRAS, NOT_CHOSEN, PLAIN, Extras, RowRules, made
from ratings_core.formats.stream import csv_lines, head
from ratings_core.formats.table import name, read_rows
from ratings_core.formats.times import seconds

COLUMNS: Final = ("model_a", "model_b", "winner")
VOTES: Final = {"leftvote": (1, 2), "rightvote": (2, 1), "tievote": (1, 1), "bothbad_vote": (1, 1)}
"""Types of the raw log that are verdicts, with the places of the two models. Other types (chats, single votes, flags) are not battles."""
_WINNERS: Final = {"model_a": (1, 2), "model_b": (2, 1), "tie": (1, 1), "tie (bothbad)": (1, 1), "both_bad": (1, 1)}
_TIMES: Final = ("tstamp", "timestamp")
_HIDDEN: Final = frozenset({"", "Model A", "Model B"})
_MARKUP: Final = re.compile(r"(?:<h3>|### )[^:<]*: ")
"""Markup of the arena's page before a displayed name. `</h3>` and white space may follow the name."""


@dataclass(frozen=True, slots=True)
class Battle:
    """One verdict. row: line of a CSV or JSON lines file, or number of the item, from 1; places: of models a and b.

    time: seconds since 1970, or None; content: the row as text, for ids; extras: task, slice and features, from the columns that the rules
    name.
    """

    row: int
    model_a: str
    model_b: str
    places: tuple[int, int]
    time: float | None
    content: str
    extras: Extras = NO_EXTRAS

    @property
    def task(self) -> str | None:
        """The task of the battle; None if its cell is empty or the rules name no column."""
        return self.extras.task


def iter_battles(stream: io.BufferedReader, delimiter: str = ",", rules: RowRules = PLAIN) -> Iterator[Battle | Skipped | FormatError]:
    """Read the battles of a file in file order, one at a time. stream: as `unpacked` returns it; delimiter: of a CSV file.

    The winner must be model_a, model_b, tie, tie (bothbad) or both_bad; other values raise an error and never count as a tie. Rows of a raw
    log that are not verdicts, or do not name two models, are yielded as `Skipped`. rules: how to treat single rows; the file
    must have all columns that they name, a JSON file in at least one of its objects. Raises `FormatError` with row and field.
    """
    return made(_items(stream, delimiter, rules), lambda row, item: _chosen_battle(row, item, rules), rules)


def _chosen_battle(row: int, item: Any, rules: RowRules) -> Battle | Skipped:
    if not isinstance(item, dict):
        raise FormatError(row, None, item, "must be an object")
    cells = rules.trimmed(item)
    if not rules.chosen(cells):
        return Skipped(row, NOT_CHOSEN)
    battle = _battle(row, cells)
    if isinstance(battle, Skipped) or rules == PLAIN:
        return battle
    return replace(battle, extras=rules.extras_of(cells, row))


def _items(stream: io.BufferedReader, delimiter: str, rules: RowRules) -> Iterator[tuple[int, Any]]:
    first = head(stream)
    if first.startswith(MAGIC):
        return parquet_rows(stream, (*COLUMNS, *rules.columns))
    if first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{"):
        return _with_columns(json_rows(stream), rules) if rules.columns else json_rows(stream)
    return _table(stream, delimiter, rules)


def _with_columns(rows: Iterator[tuple[int, Any]], rules: RowRules) -> Iterator[tuple[int, Any]]:
    """Yield the rows. Raises `FormatError` after the last one if none of the objects has a column that the rules name.

    A single object may lack such a column, because many JSON files leave out empty values.
    """
    known, named = dict[str, None](), set(rules.columns)
    for row, item in rows:
        if isinstance(item, dict):
            known = known or dict.fromkeys(item)
            known |= dict.fromkeys(named & item.keys())
        yield row, item
    if known:
        rules.check_columns(known)


def _table(stream: io.BufferedReader, delimiter: str, rules: RowRules) -> Iterator[tuple[int, Any]]:
    rows = read_rows(csv_lines(stream), delimiter)
    for column in COLUMNS:
        rows.column(column)
    rules.check_columns(rows.header)
    for line, row in rows.each():
        yield line, row if isinstance(row, FormatError) else dict(zip(rows.header, row, strict=True))


def _battle(row: int, item: Mapping[str, Any]) -> Battle | Skipped:
    if isinstance(item.get("type"), str) and "model_a" not in item:
        return _vote(row, item)
    a, b = _model(item, row, "model_a"), _model(item, row, "model_b")
    if a == b:
        raise FormatError(row, "model_b", b, "must differ from model_a")
    winner = item.get("winner")
    if not isinstance(winner, str) or winner not in _WINNERS:
        raise FormatError(row, "winner", winner, f"must be one of {', '.join(_WINNERS)}")
    return Battle(row, a, b, _WINNERS[winner], _time(item, row), content(item, row))


def _vote(row: int, item: Mapping[str, Any]) -> Battle | Skipped:
    """Convert a line of the raw log. `states` contains names that were hidden from the voter; displayed names must agree with them."""
    places = VOTES.get(item["type"])
    if places is None:
        return Skipped(row, "no verdict on two models")
    shown, hidden = _shown(row, item.get("models")), _of_states(item.get("states"))
    if None in shown or len({text in _HIDDEN for text in shown}) > 1:
        return Skipped(row, "a model is not named")
    if not _HIDDEN.isdisjoint(shown):
        if hidden is None:
            return Skipped(row, "a model is not named")
        shown = hidden
    elif hidden is not None and hidden != shown:
        return Skipped(row, "the displayed models differ from the models that answered")
    a, b = (_name(text, row, "models") for text in shown)
    if a == b:
        return Skipped(row, "one model against itself")
    return Battle(row, a, b, places, _time(item, row), content(item, row))


def _shown(row: int, models: Any) -> list[str | None]:
    if not isinstance(models, list) or len(models) != 2 or not all(text is None or isinstance(text, str) for text in models):
        raise FormatError(row, "models", models, "must be two names; a hidden name is empty")
    return [text if text is None else _without_markup(text) for text in models]


def _without_markup(text: str) -> str:
    found = _MARKUP.match(text)
    shown = text[found.end() :].rstrip().removesuffix("</h3>") if found else text
    return text if "\n" in shown else shown


def _of_states(states: Any) -> list[str | None] | None:
    if not isinstance(states, list) or len(states) != 2:
        return None
    names = [state.get("model_name") if isinstance(state, dict) else None for state in states]
    return None if None in names else names


def _model(item: Mapping[str, Any], row: int, field: str) -> str:
    return _name(item.get(field), row, field)


def _name(value: Any, row: int, field: str) -> str:
    if not isinstance(value, str):
        raise FormatError(row, field, value, "must be the name of a model")
    return name(value, row, field)


def _time(item: Mapping[str, Any], row: int) -> float | None:
    for field in _TIMES:
        if item.get(field) not in (None, ""):
            return seconds(str(item[field]), row, field)
    return None
