"""Tables with a row for each game of two sides."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns.duels import distinct, duels
from ratings_core.columns.tags import Tags
from ratings_core.errors import InputError
from ratings_core.formats.options import NO_RESULT, NOT_CHOSEN, ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.roles import Roles
from ratings_core.formats.table_reader import Again, TableReader
from ratings_core.formats.tables.block import Block
from ratings_core.formats.tables.cells import Cells, Mask, texts_of
from ratings_core.formats.times import RULE, Times
from ratings_core.formats.verdicts import Verdicts
from ratings_core.formats.words import NOT_PLAYED, TIE, UNKNOWN, is_not_played, meanings, won_of_cell
from ratings_core.records.names import is_name, name_rule
from ratings_core.records.outcomes import MAX_SCORE, MAX_TIME, MAX_WEIGHT, MIN_WEIGHT
from ratings_core.records.tags import canonical_tags, value_rule
from ratings_core.solution import Floats

_USUAL: Final = ("model_a", "model_b", "tie", "a", "b", "win", "loss", "draw", "1-0", "0-1", "1/2-1/2", "1", "0.5", "0")
"""Words for results that an error shows."""
_EMPTY: Final = "\N{EMPTY SET}"
"""Stands for an empty name, because rosters hold none. Rows with it are refused."""
_YEARS: Final = 1000.0, 3000.0
"""Whole numbers between these in all rows are years, not seconds."""
_SEEN: Final = 20
"""Values of a column of `where` that are kept for the error of a filter that no row passes."""


class RowReader(TableReader):
    """Reads what every row of a table can have: filter, slice, features, time, weight and task.

    Args:
        roles: Columns of the roles.
        options: How rows are read.
        again, decimal_comma: As in `TableReader`.
    """

    def __init__(self, roles: Roles, options: ReadOptions, *, again: Again | None = None, decimal_comma: bool = False) -> None:
        super().__init__(options, again=again, decimal_comma=decimal_comma)
        self.roles, time = roles, roles.time
        self._times = None if time is None else Times(time, options.time_format, lambda: self.texts_of(time))
        self._is_sure_of_times = options.roles.time is not None
        self._year: float | None = None
        """A time, if all times so far could be years; 0 if not; None before the first time."""
        self._seen: dict[str, dict[str, None]] = {column: {} for column, _ in options.where}
        self._digits = set[str]()
        self._speaks = set[str]()
        """Whether the column of winners has names that are no words, and words for sides that are no names, as far as it was read."""

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([*self.roles.named.values(), *self.options.columns]))

    def values_of_where(self) -> str:
        """The first values of each column of `where`, as text."""
        return "; ".join(f"{column} is {texts_of(list(values))}" for column, values in self._seen.items())

    def chosen(self, block: Block) -> Block:
        """The rows that neither the table nor `where` leaves out."""
        return self._chosen(block, RowCounts())

    def _chosen(self, block: Block, counts: RowCounts) -> Block:
        """The rows that neither the table nor `where` leaves out. The others are counted."""
        if block.reasons is None and not self.options.where:
            return block
        cells, verdicts, reasons = self.cells(block), Verdicts(len(block.numbers)), block.reasons
        for reason in dict.fromkeys(reasons or ()):
            if reason:
                verdicts.leave_out(np.array([one == reason for one in reasons or ()], np.bool_), reason)
        for column, value in self.options.where:
            seen = self._seen[column]
            if len(seen) < _SEEN:
                seen |= dict.fromkeys(cells.coded(column).texts.names()[:_SEEN])
            chosen = cells.each(column, partial(_is_chosen, _where_text(value)), np.bool_)
            verdicts.leave_out(~chosen, NOT_CHOSEN)
        counts.rows += len(verdicts) - int(verdicts.accepted.sum())
        counts.left_out.update(verdicts.left_out)
        return block.take(verdicts.accepted)

    def names(self, cells: Cells, column: str, verdicts: Verdicts, what: str = "an agent") -> Coded:
        """A column of names. Rows without one, and rows with an invalid one, are refused."""
        coded = cells.coded(column)
        names = coded.texts.names()
        sound = np.array([is_name(name) for name in names], np.bool_)
        if not sound.all():
            for rule, rows in _broken(names, sound, coded, what):
                verdicts.refuse(rows, column, rule)
            coded = Coded(pack([name if good else _EMPTY for name, good in zip(names, sound.tolist(), strict=True)]), coded.code)
        return coded

    def times(self, cells: Cells, verdicts: Verdicts) -> Floats | None:
        """Times of the rows; None if the table has none."""
        column = self.roles.time
        if column is None or self._times is None:
            return None
        times = cells.moments(column)
        if has_no_type := times is None:
            times = self._written_times(self._times, cells, column)
        is_time = np.isfinite(times)
        if not self._is_sure_of_times and len(times):
            if not is_time.any() and not self._has_a_time(column):
                self._times, self.remarks[column] = None, "not used: none of its cells is a time (another format: --time-format)"
                return None
            self._is_sure_of_times = True
        verdicts.refuse(~is_time, column, RULE)
        verdicts.refuse(np.abs(times) > MAX_TIME, column, f"must be within +-{MAX_TIME:g} seconds of 1970 (milliseconds: divide by 1000)")
        known = times[is_time]
        if len(known) and has_no_type:
            are_years = bool(((known >= _YEARS[0]) & (known < _YEARS[1]) & (known % 1 == 0)).all())
            self._year = float(known[0]) if are_years and (self._year is None or self._year) else 0.0
        return times

    @staticmethod
    def _written_times(times: Times, cells: Cells, column: str) -> Floats:
        """Times that are numbers or texts. The texts of numbers are not made where the numbers give the same times."""
        values = cells.wide_numbers(column)
        if values is not None and (read := times.of_numbers(values)) is not None:
            return read
        coded = cells.coded(column)
        return times.read(coded.texts)[coded.code] if len(cells) else np.zeros(0)

    def check(self) -> None:
        """Raise `InputError` if all times of the table are numbers of years."""
        if self._year and self.options.time_format is None:
            raise InputError(f"column {self.roles.time!r}", f"{self._year:g}", "must be times; years are read with --time-format %Y")

    def _has_a_time(self, column: str) -> bool:
        times = self._times
        return times is not None and any(np.isfinite(times.read(pack(texts))).any() for texts in self.texts_of(column))

    def weights(self, cells: Cells, verdicts: Verdicts) -> Floats | None:
        """Weights of the rows; None if the table has none."""
        column = self.roles.weight
        if column is None:
            return None
        weights = cells.numbers(column)
        verdicts.refuse(
            ~((weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT)), column, f"must be a number from {MIN_WEIGHT} to {MAX_WEIGHT:g}"
        )
        return weights

    def tasks(self, cells: Cells, verdicts: Verdicts) -> tuple[Arena, NDArray[np.int64]] | None:
        """Names of tasks, and for each row the index of its task, or -1 for an empty cell; None if the table has none."""
        column = self.roles.task
        if column is None:
            return None
        coded = cells.coded(column)
        names = coded.texts.names()
        sound = np.array([not name or is_name(name) for name in names], np.bool_)
        for rule, rows in _broken(names, sound, coded, "a task"):
            verdicts.refuse(rows, column, rule)
        empty = np.array([not name for name in names], np.bool_)
        return coded.texts, np.where(empty[coded.code], -1, coded.code).astype(np.int64)

    def tags(self, cells: Cells, verdicts: Verdicts) -> Tags | None:
        """Tags of the rows; None if no row has any."""
        columns = [cells.coded(column) for _, column in self.options.tags]
        if not columns or not len(cells):
            return None
        for (_, column), coded in zip(self.options.tags, columns, strict=True):
            rules = [value_rule(text) if text else None for text in coded.texts.names()]
            for rule in dict.fromkeys(rule for rule in rules if rule is not None):
                verdicts.refuse(np.array([one == rule for one in rules], np.bool_)[coded.code], column, rule)
        sets, number = np.unique(np.column_stack([coded.code for coded in columns]), axis=0, return_inverse=True)
        texts = [coded.texts.names() for coded in columns]
        keys = [key for key, _ in self.options.tags]
        made = [{key: of[code] for key, of, code in zip(keys, texts, codes, strict=True) if of[code]} for codes in sets.tolist()]
        canonical = np.array([canonical_tags(tags) for tags in made], object)
        return Tags.of(canonical[number.ravel()].tolist())

    def features(self, cells: Cells, verdicts: Verdicts) -> Floats | None:
        """Values of the features, float64 (n, k); None without features."""
        if not self.options.features:
            return None
        values = np.ones((len(cells), len(self.options.features)))
        for k, feature in enumerate(self.options.features):
            read = [cells.numbers(column) for column in feature.columns]
            for column, numbers in zip(feature.columns, read, strict=True):
                verdicts.refuse(~np.isfinite(numbers), column, f"must be a number for the feature {feature.text}")
                if feature.form == "relative":
                    verdicts.refuse(numbers < 0, column, f"must be at least 0 for the feature {feature.text}")
            if feature.form == "column":
                values[:, k] = read[0]
            elif len(read) > 1:
                with np.errstate(over="ignore", invalid="ignore"):
                    difference, total = read[0] - read[1], read[0] + read[1]
                    verdicts.refuse(
                        ~np.isfinite(np.abs(read[0]) + np.abs(read[1])),
                        feature.columns[0],
                        f"must be small enough for the feature {feature.text}",
                    )
                    relative = np.divide(difference, total, out=np.zeros(len(total)), where=total != 0)
                values[:, k] = difference if feature.form == "difference" else relative
        return values

    def part(
        self, cells: Cells, verdicts: Verdicts, counts: RowCounts, make: Callable[[NDArray[np.int64]], Any], *, has_time: bool
    ) -> FilePart:
        """The accepted rows. Counts all rows of the block. make: returns the columns of the rows with these indices."""
        features = self.features(cells, verdicts)
        block, kept = cells.block, np.flatnonzero(verdicts.accepted)
        counts.rows += len(block.numbers) + len(block.bad)
        counts.left_out.update(verdicts.left_out)
        errors = verdicts.errors(block.numbers, cells.value)
        counts.refuse(sorted([*block.bad, *errors], key=lambda error: error.row) if block.bad else errors)
        counts.bad += verdicts.refused - len(errors)
        return FilePart(
            columns=make(kept),
            rows=block.numbers[kept],
            hashes=None if block.hashes is None else block.hashes[kept],
            slices=None if self.options.slice_by is None else cells.coded(self.options.slice_by).take(kept),
            features=None if features is None else features[kept],
            timed=np.full(len(kept), has_time),
        )


class PairGames(RowReader):
    """Reads tables with a row for each game of two sides."""

    def read(self, block: Block, counts: RowCounts) -> FilePart:
        """The games of a block.

        Raises:
            InputError: A column holds lists, or times or numbers that can be read in two ways. Bad rows are counted.
        """
        block, roles = self._chosen(block, counts), self.roles
        cells, verdicts = self.cells(block), Verdicts(len(block.numbers))
        sides = (roles.first, roles.second) if roles.loser is None else (roles.winner, roles.loser)
        columns = [column for column in sides if column is not None]
        named = self._named(cells, columns)
        self._leave_out_unplayed(cells, verdicts, named)
        first, second = (self.names(cells, column, verdicts) for column in columns)
        codes = distinct(Coded.joined([first, second]))
        both = codes.code.reshape(2, len(cells))
        verdicts.refuse(both[0] == both[1], columns[1], "must differ from the first side")
        won = self._won(cells, verdicts, named)
        time, weight, tasks = self.times(cells, verdicts), self.weights(cells, verdicts), self.tasks(cells, verdicts)
        tags = self.tags(cells, verdicts)

        def make(kept: NDArray[np.int64]) -> Any:
            home, away = (Coded(codes.texts, np.ascontiguousarray(side[kept])) for side in both)
            named = None if tasks is None else (tasks[0], tasks[1][kept])
            games = duels(home, away, won[kept], weight=_at(weight, kept), time=_at(time, kept), tasks=named)
            return games if tags is None else replace(games, tags=tags.take(kept))

        return self.part(cells, verdicts, counts, make, has_time=time is not None)

    def rest(self, _counts: RowCounts) -> FilePart | None:
        """Nothing: every block gave its games."""
        return None

    def _columns_of_results(self) -> list[str]:
        roles = self.roles
        if roles.loser is not None:
            return [] if roles.score is None else [roles.score]
        if roles.first_score is not None and roles.second_score is not None:
            return [roles.first_score, roles.second_score]
        column = roles.score or roles.winner or roles.result
        return [] if column is None else [column]

    def _named(self, cells: Cells, sides: list[str]) -> NDArray[np.int8]:
        """Which side a column of winners names in each row: 1 the first, -1 the second, 0 neither. All 0 for other columns of results."""
        column = self.roles.winner if self.roles.loser is None else None
        if column is None:
            return np.zeros(len(cells), np.int8)
        texts = [cells.coded(one) for one in (*sides, column)]
        solid = [Coded(pack([text or _EMPTY for text in one.texts.names()]), one.code) for one in texts]
        codes = distinct(Coded.joined(solid)).code.reshape(3, len(cells))
        named: NDArray[np.int8] = (codes[2] == codes[0]).astype(np.int8) - (codes[2] == codes[1]).astype(np.int8)
        return named

    def _leave_out_unplayed(self, cells: Cells, verdicts: Verdicts, named: NDArray[np.int8]) -> None:
        """Leave out, or refuse, rows whose results say that nobody played. Names of sides and words of the caller come first."""
        values = {word.lower(): meaning for word, meaning in self.options.values.items()}
        only_walkovers = self.roles.loser is not None  # there, the score only tells walkovers

        def is_unplayed(text: str) -> bool:
            given = values.get(text.strip().lower())
            if given is not None:
                return given == "unplayed"
            return is_not_played(text) and not (only_walkovers and not text.strip())

        for column in self._columns_of_results():
            no_result = cells.each(column, is_unplayed, np.bool_) & (named == 0)
            if self.options.unplayed == "refuse":
                verdicts.refuse(no_result, column, "must be a result; rows not played are left out by unplayed=skip")
            else:
                verdicts.leave_out(no_result, NO_RESULT)

    def _won(self, cells: Cells, verdicts: Verdicts, named: NDArray[np.int8]) -> NDArray[np.int8]:
        """Who won each game: 1 the first side, -1 the second one, 0 for a tie."""
        roles = self.roles
        if roles.loser is not None:
            return np.ones(len(cells), np.int8)
        if roles.first_score is not None and roles.second_score is not None:
            return self._higher(cells, verdicts, roles.first_score, roles.second_score)
        if roles.score is not None:
            won = cells.each(roles.score, won_of_cell, np.int8)
            verdicts.refuse(won == UNKNOWN, roles.score, "must be two scores, such as 4-1")
            return won
        if roles.first_won is not None:
            return self._of_three(cells, verdicts)
        return self._of_words(cells, verdicts, named)

    def _higher(self, cells: Cells, verdicts: Verdicts, first: str, second: str) -> NDArray[np.int8]:
        scores = [cells.numbers(column) for column in (first, second)]
        for score, column in zip(scores, (first, second), strict=True):
            verdicts.refuse(~(np.abs(score) <= MAX_SCORE), column, f"must be a number within +-{MAX_SCORE:g}")
        return (scores[0] > scores[1]).astype(np.int8) - (scores[0] < scores[1]).astype(np.int8)

    def _of_three(self, cells: Cells, verdicts: Verdicts) -> NDArray[np.int8]:
        roles = self.roles
        columns = [column for column in (roles.first_won, roles.second_won, roles.tied) if column is not None]
        values = {column: _flags(cells, column) for column in columns}
        for column, value in values.items():
            verdicts.refuse(~np.isin(value, (0.0, 1.0)), column, "must be 1 for what happened and 0 for the others")
        total = np.asarray(np.sum(list(values.values()), axis=0))
        verdicts.refuse(total != 1 if len(values) > 2 else total > 1, columns[0], "must be 1 in exactly one of the columns of results")
        first, tied = values[columns[0]], np.zeros(len(cells)) if roles.tied is None else values[roles.tied]
        second = 1 - first - tied if roles.second_won is None else values[roles.second_won]
        return np.nan_to_num(first - second).astype(np.int8)

    def _of_words(self, cells: Cells, verdicts: Verdicts, named: NDArray[np.int8]) -> NDArray[np.int8]:
        """Results of a column that names the winner, by its name or by a word; or holds 1, 1/2 and 0 for the first side."""
        roles = self.roles
        column = roles.winner or roles.result or ""
        known = meanings(roles, self.options.values, results=roles.winner is None)
        won = cells.each(column, lambda word: known.get(word.strip().lower(), UNKNOWN), np.int8)
        if roles.winner is None:
            self._check_system(cells, column)
            cell = cells.each(column, won_of_cell, np.int8)
            won = np.where((won == UNKNOWN) & (cell != NOT_PLAYED), cell, won)
        given = {word.lower() for word in self.options.values}
        by_caller = cells.each(column, lambda word: word.strip().lower() in given, np.bool_)
        is_word = ~np.isin(won, (UNKNOWN, NOT_PLAYED))
        self._speaks |= {"names"} if ((named != 0) & ~is_word).any() else set()
        self._speaks |= {"words"} if ((named == 0) & is_word & (won != TIE)).any() else set()
        unclear = (named != 0) & (won != named) & is_word & ~by_caller
        if len(self._speaks) != 1:
            verdicts.refuse(unclear, column, "is a side's name and also a word for another result: say with --value what the word means")
        won = np.where((named != 0) & ~by_caller & ~(unclear & ("words" in self._speaks)), named, won)
        usual = [word for word in _USUAL if word in known]
        what = "name the winner, or be" if roles.winner is not None else "be two scores such as 4-1, or a number or"
        rule = f"must {what} a word for a result such as {', '.join(usual)}; say what another word means with --value"
        verdicts.refuse((won == UNKNOWN) | (won == NOT_PLAYED), column, rule)
        return won.astype(np.int8)

    def _check_system(self, cells: Cells, column: str) -> None:
        """Raise `InputError` for a column with both 0 and 2: one of them could mean a tie."""
        if self.options.values:
            return
        self._digits |= {"0", "2"} & {text.strip().removesuffix(".0") for text in cells.coded(column).texts.names()}
        if len(self._digits) > 1:
            raise InputError(
                f"column {column!r}", "0 and 2", "must say what its numbers mean: --value first=1 --value second=2 --value tie=0"
            )


def _flags(cells: Cells, column: str) -> Floats:
    """A column of true and false or of 1 and 0, float64 (n,); NaN for others."""
    numbers = cells.numbers(column)
    words = cells.each(column, lambda text: {"true": 1.0, "false": 0.0}.get(text.strip().lower(), np.nan), np.float64)
    return np.where(np.isfinite(numbers), numbers, words)


def _broken(names: list[str], sound: Mask, coded: Coded, what: str) -> list[tuple[str, Mask]]:
    """The rules that names break, and the mask of the rows of each rule."""
    rules = [
        "" if good else (name_rule(name) if name else f"must be the name of {what}")
        for name, good in zip(names, sound.tolist(), strict=True)
    ]
    return [(rule, np.array([one == rule for one in rules], np.bool_)[coded.code]) for rule in dict.fromkeys(rules) if rule]


def _is_chosen(wanted: str, text: str) -> bool:
    return _where_text(text) == wanted


def _where_text(text: str) -> str:
    """A text for comparison: true and false in any case are equal."""
    return text.lower() if text.lower() in ("true", "false") else text


def _at(column: Floats | None, rows: NDArray[np.int64]) -> Floats | None:
    return None if column is None else column[rows]
