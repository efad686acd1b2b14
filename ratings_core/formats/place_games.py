"""Long tables: a row for each agent of a game, with its place. Rows of one game can be anywhere in the table."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns.duels import singles
from ratings_core.columns.tags import NO_TAGS, Tags
from ratings_core.formats.options import NO_RESULT
from ratings_core.formats.pair_games import RowReader
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.roles import can_name_several_games
from ratings_core.formats.tables.block import Block
from ratings_core.formats.verdicts import Mask, Verdicts
from ratings_core.records.outcomes import MAX_SIDES
from ratings_core.records.roster import Roster
from ratings_core.solution import Floats

MOST_PLACE: Final = 2**31 - 2
_LAST: Final = 2**31 - 1
"""Place of agents without one, if they share the last place."""
_WORDS: Final = frozenset(
    {"nc", "dnf", "dns", "dsq", "dnq", "ret", "r", "d", "w", "f", "n", "e", "dq", "ex", "ab", "\\n", "na", "n/a", "-", ""}
)
"""Words in a column of places that are no place: not classified, did not finish or start, disqualified, and the like."""
FEW: Final = "fewer than two agents with a place"
BROKEN: Final = "of a game with a bad row"
_GAME, _AGENT, _PLACE, _TIME, _WEIGHT, _TASK, _SLICE, _TAGS, _ROW = range(9)
"""Columns of the rows that are held."""
_TAG: Final = "--tag"
"""Stands for the columns of tags in errors."""


class PlaceGames(RowReader):
    """Reads tables with a row for each agent of a game. Memory grows with 72 bytes for each row."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._games, self._agents, self._named, self._values = Roster(), Roster(), Roster(), Roster()
        self._sets: dict[str, int] = {}
        """Number of each set of tags."""
        self._held: list[NDArray[np.float64]] = []
        self._hashes: list[NDArray[np.uint64]] = []

    def read(self, block: Block, counts: RowCounts) -> FilePart | None:
        """Keep the rows of a block. The games come from `rest`."""
        block, roles = self._chosen(block, counts), self.roles
        cells, verdicts = self.cells(block), Verdicts(len(block.numbers))
        game, agent, place = roles.game or "", roles.agent or "", roles.place or ""
        places = cells.each(place, _place, np.float64)
        no_place = cells.each(place, lambda text: text.strip().lower() in _WORDS, np.bool_)
        if self.options.unplayed == "refuse":
            verdicts.refuse(no_place, place, "must be a place; agents without one are left out by unplayed=skip, or last by unplayed=last")
        elif self.options.unplayed == "skip":
            verdicts.leave_out(no_place, NO_RESULT)
        verdicts.refuse(~no_place & np.isnan(places), place, f"must be a place from 1 to {MOST_PLACE}, or a word such as DNF")
        games, agents = self.names(cells, game, verdicts, "a game"), self.names(cells, agent, verdicts)
        time, weight, tasks = self.times(cells, verdicts), self.weights(cells, verdicts), self.tasks(cells, verdicts)
        slices = None if self.options.slice_by is None else cells.coded(self.options.slice_by)
        tags = self.tags(cells, verdicts)

        def make(kept: NDArray[np.int64]) -> None:
            columns = [
                self._games.intern_coded(games.take(kept)), self._agents.intern_coded(agents.take(kept)),
                np.where(no_place, _LAST, places)[kept], np.zeros(len(kept)) if time is None else time[kept],
                np.ones(len(kept)) if weight is None else weight[kept], _ids(self._named, tasks, kept),
                _slice_ids(self._values, slices, kept), self._tag_ids(tags, kept), block.numbers[kept],
            ]  # fmt: skip
            self._held.append(np.column_stack(columns).astype(np.float64))
            if block.hashes is not None:
                self._hashes.append(block.hashes[kept])

        self.part(cells, verdicts, counts, make, has_time=time is not None)
        return None

    def rest(self, counts: RowCounts) -> FilePart | None:
        """The games of all rows, in order of their first rows. Games of fewer than two agents are left out."""
        if not self._held:
            return None
        rows = np.concatenate(self._held)
        game, verdicts = self._games_of(rows), Verdicts(len(rows))
        self._judge(rows, game, verdicts)
        broken = np.bincount(game[~verdicts.accepted], minlength=len(rows)) > 0
        verdicts.leave_out(broken[game], BROKEN)
        verdicts.leave_out((np.bincount(game) < 2)[game], FEW)
        counts.left_out.update(verdicts.left_out)
        errors = verdicts.errors(rows[:, _ROW].astype(np.int64), lambda column, row: self._value(column, rows[row]))
        counts.refuse(errors)
        counts.bad += verdicts.refused - len(errors)
        order = np.argsort(game, kind="stable")
        order = order[verdicts.accepted[order]]
        begins = np.flatnonzero(np.diff(game[order], prepend=-1))
        sizes, held, heads = np.diff(begins, append=len(order)).astype(np.int64), rows[order], rows[order[begins]]
        games = singles(
            Coded(_arena(self._agents), held[:, _AGENT].astype(np.int32)), sizes, held[:, _PLACE].astype(np.int64).astype(np.int32),
            weight=heads[:, _WEIGHT], time=heads[:, _TIME],
            tasks=(_arena(self._named), heads[:, _TASK].astype(np.int64)) if len(self._named) else None,
        )  # fmt: skip
        if self._sets:
            games = replace(games, tags=Tags(pack(list(self._sets)), heads[:, _TAGS].astype(np.int32)))
        return FilePart(
            columns=games,
            rows=heads[:, _ROW].astype(np.int64),
            hashes=_folded(np.concatenate(self._hashes)[order], sizes) if self._hashes else None,
            slices=None if self.options.slice_by is None else Coded(_values(self._values), heads[:, _SLICE].astype(np.int32)),
            timed=np.full(len(heads), self._times is not None),
        )

    def _tag_ids(self, tags: Tags | None, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the set of tags of each kept row, or -1."""
        if tags is None:
            return np.full(len(kept), NO_TAGS, np.int64)
        numbers = [self._sets.setdefault(text, len(self._sets)) for text in tags.texts.names()]
        return np.array([*numbers, NO_TAGS], np.int64)[tags.code[kept]]

    def _games_of(self, rows: Floats) -> NDArray[np.int64]:
        """Number of each row's game. Games are numbered in order of their first rows.

        A guessed column can have one name for several games. If its rows show that, and times divide them, a game is a name and a time.
        """
        game, column, time = rows[:, _GAME].astype(np.int64), self.roles.game or "", self.roles.time
        if self.options.roles.game is not None or not can_name_several_games(column) or self._times is None:
            return game
        if not _repeated(game, rows[:, _AGENT]).any() and not (rows[:, _TIME] != _first(game, rows[:, _TIME])).any():
            return game
        _, first, number = np.unique(rows[:, [_GAME, _TIME]], axis=0, return_index=True, return_inverse=True)
        timed = np.argsort(np.argsort(first))[number.ravel()]
        if (np.bincount(timed) < 2).all():
            return game
        self.remarks[column] = f"game, together with {time}"
        return timed

    def _judge(self, rows: Floats, game: NDArray[np.int64], verdicts: Verdicts) -> None:
        """Refuse rows that repeat an agent of their game, or differ from its first row, and the first rows of games of too many agents."""
        roles = self.roles
        is_loose = self.options.roles.game is None and can_name_several_games(roles.game or "")
        repeat_rule = f"must be in each game once{f'; {roles.game} names several games: --column game=HEADER' if is_loose else ''}"
        verdicts.refuse(_repeated(game, rows[:, _AGENT]), roles.agent, repeat_rule)
        same = ((_TIME, roles.time), (_WEIGHT, roles.weight), (_TASK, roles.task), (_SLICE, self.options.slice_by), (_TAGS, _TAG))
        for at, column in same:
            rule = "must be the same in all rows of a game"
            rule += " (if it does not say when the game was played: --column time=)" if at == _TIME else ""
            verdicts.refuse(rows[:, at] != _first(game, rows[:, at]), column, rule)
        is_large = (np.bincount(game) > MAX_SIDES)[game] & (rows[:, _ROW] == _first(game, rows[:, _ROW]))
        verdicts.refuse(is_large, roles.agent, f"must be one of at most {MAX_SIDES} agents of a game")

    def _value(self, column: str, row: Floats) -> object:
        """The value of a column in a held row, for errors."""
        if column == self.roles.agent:
            return self._agents.name(int(row[_AGENT]))
        if column == self.roles.task:
            return self._named.name(int(row[_TASK])) if row[_TASK] >= 0 else ""
        if column == self.options.slice_by:
            return self._values.name(int(row[_SLICE])).removeprefix("=")
        if column == _TAG:
            return list(self._sets)[int(row[_TAGS])] if row[_TAGS] >= 0 else ""
        return float(row[_TIME if column == self.roles.time else _WEIGHT])


def _repeated(game: NDArray[np.int64], agent: Floats) -> Mask:
    """Mask of the rows whose agent has an earlier row of the same game."""
    order = np.lexsort((agent, game))
    repeated = np.zeros(len(game), np.bool_)
    repeated[order[1:]] = (np.diff(game[order]) == 0) & (np.diff(agent[order]) == 0)
    return repeated


def _first(game: NDArray[np.int64], column: Floats) -> Floats:
    """The value of the first row of each row's game."""
    _, first, number = np.unique(game, return_index=True, return_inverse=True)
    return column[first][number]


def _place(text: str) -> float:
    text = text.strip()
    digits = text.removesuffix(".0").removesuffix(".").removeprefix("T").removeprefix("=").removesuffix("=")
    return float(digits) if digits.isascii() and digits.isdigit() and 0 < int(digits) <= MOST_PLACE else np.nan


def _ids(roster: Roster, tasks: tuple[Arena, NDArray[np.int64]] | None, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    if tasks is None:
        return np.full(len(kept), -1, np.int64)
    names, index = tasks[0], tasks[1][kept]
    ids = np.full(len(kept), -1, np.int64)
    has = index >= 0
    ids[has] = roster.intern_packed(names.take(index[has]))
    return ids


def _slice_ids(roster: Roster, slices: Coded | None, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    if slices is None:
        return np.zeros(len(kept), np.int64)
    texts = [f"={text}" for text in slices.take(kept).names()]  # rosters hold no empty name
    return roster.intern(texts).astype(np.int64)


def _arena(roster: Roster) -> Arena:
    held = roster.arrays()
    return Arena(held["bytes"], held["start"])


def _values(roster: Roster) -> Arena:
    return pack([name.removeprefix("=") for name in roster.names()])


def _folded(hashes: NDArray[np.uint64], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One hash for each game, from the hashes of its rows in any order."""
    return np.add.reduceat(hashes, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=0) if len(sizes) else hashes[:0]
