"""Files of ended seasons beside the checkpoints: the final state of each, and its final solved boards. They are never pruned.

Folder `seasons/POOL/SEASON`: `final-NNNNNN.json` describes the final state, whose arrays are in `final-NNNNNN.eqr`;
`boards/NAME-NNNNNN.json` is a final solved board, and `boards.json` lists them once all are there. Live boards of the season are read
from the final state. What is written again, for an erasure, has the next number, so a crash never damages the only copy. The highest
readable number counts.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import Arrays
from ratings_core.records.roster import Roster
from services.boards.erased_boards import without_names
from services.boards.result import SolvedBoard
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.checkpoints.slice_entries import with_digests
from services.control.erasures import NameMatcher
from services.state.parts import named, part

FileT = TypeVar("FileT", bound=msgspec.Struct)
FOLDER: Final = "seasons"
_FINAL: Final = re.compile(r"final-\d{6}\.json$")
_BOARD: Final = re.compile(r"(?P<name>[a-z][a-z0-9_]*(~[^/]+)?)-\d{6}\.json$")


class SeasonEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The final state of a season.

    Attributes:
        season: Name of the season.
        entry: The object with its arrays: all of the pool's content at the season's end.
        ended_at: Time of the record that ended the season, seconds since 1970.
        log: Identity of the log that holds the outcomes.
    """

    season: str
    entry: PoolEntry
    ended_at: float
    log: str


class FinalBoards(msgspec.Struct, frozen=True, kw_only=True):
    """The final solved boards of a season, all of them. methods: Names of the boards, sorted."""

    methods: list[str]
    log: str


class SeasonFiles:
    """Reads and writes the files of ended seasons of one log.

    Methods raise `OSError` if the files cannot be read or written.

    Args:
        checkpoints: Where checkpoints are, and these files beside them.
        log: Identity of the log. Files of another log count as missing.
    """

    def __init__(self, checkpoints: CheckpointStore, log: str) -> None:
        self._checkpoints, self._files, self._log = checkpoints, checkpoints.blobs, log

    def end(self, pool: str, season: str) -> SeasonEnd | None:
        """The final state of a season; None if it is not kept (yet)."""
        for name in reversed(self._ends(pool, season)):
            end = self._decoded(name, SeasonEnd)
            if end is not None and end.log == self._log:
                return end
        return None

    def arrays(self, end: SeasonEnd, beginnings: Collection[str] | None = None) -> Arrays:
        """The arrays of a final state; with `beginnings`, only those whose names begin so. Raises `BadObject`."""
        arrays = self._checkpoints.read_pool(end.entry, mapped=True)
        return arrays if beginnings is None else {name: array for name, array in arrays.items() if name.startswith(tuple(beginnings))}

    def write_end(self, end: SeasonEnd, arrays: Arrays) -> SeasonEnd:
        """Write a final state, durable when this returns. Returns it with the name, size and digest of its object."""
        pool, folder = end.entry.pool, _folder(end.entry.pool, end.season)
        before = self._ends(pool, end.season)
        number = 1 + max((_number(name) for name in before), default=0)
        name = f"{folder}/final-{number:06d}"
        sha256, size = self._checkpoints.write_object(f"{name}.eqr", arrays, {"pool": pool, "season": end.season})
        slices = with_digests(end.entry.slices, arrays)
        entry = msgspec.structs.replace(end.entry, object=f"{name}.eqr", sha256=sha256, bytes=size, digest=digest(arrays), slices=slices)
        written = msgspec.structs.replace(end, entry=entry, log=self._log)
        self._files.write(f"{name}.json", [msgspec.json.encode(written)])
        self._files.sync(folder)
        return written

    def board(self, pool: str, season: str, method: str) -> SolvedBoard | None:
        """A final solved board; None if it is not there (yet)."""
        for name in reversed(self._boards(pool, season).get(method, ())):
            board = self._decoded(name, SolvedBoard)
            if board is not None and board.log == self._log:
                return board
        return None

    def write_board(self, season: str, board: SolvedBoard) -> None:
        """Write a final solved board, and remove the one that it replaces."""
        pool, method = board.pool, board.name
        folder, before = f"{_folder(pool, season)}/boards", self._boards(pool, season).get(method, [])
        number = 1 + max((_number(name) for name in before), default=0)
        self._files.write(f"{folder}/{method}-{number:06d}.json", [msgspec.json.encode(board)])
        self._files.sync(folder)
        for name in before:
            with suppress(FileNotFoundError):
                self._files.remove(name)

    def boards(self, pool: str, season: str) -> list[str]:
        """Names of the final solved boards that are there, sorted."""
        return sorted(self._boards(pool, season))

    def complete(self, pool: str, season: str) -> FinalBoards | None:
        """The list of all final solved boards; None until all are there."""
        boards = self._decoded(f"{_folder(pool, season)}/boards.json", FinalBoards)
        return boards if boards is not None and boards.log == self._log else None

    def write_complete(self, pool: str, season: str, methods: Collection[str]) -> None:
        """Note that all final solved boards are there."""
        folder = _folder(pool, season)
        self._files.write(f"{folder}/boards.json", [msgspec.json.encode(FinalBoards(methods=sorted(methods), log=self._log))])
        self._files.sync(folder)

    def seasons(self, pool: str) -> list[str]:
        """Names of the seasons of a pool that have a file, sorted."""
        return sorted({name.split("/")[2] for name in self._files.tree(f"{FOLDER}/{pool}")})

    def erase(self, pool: str, names: NameMatcher) -> None:
        """Replace erased names by tokens in all files of a pool. May be repeated after a failure."""
        for season in self.seasons(pool):
            if (end := self.end(pool, season)) is not None:
                with suppress(BadObject):
                    arrays = self.arrays(end)
                    erased = tokenized(arrays, names)
                    if erased is not arrays:
                        self.write_end(end, erased)
            self._remove_old(pool, season)
            for method in self.boards(pool, season):
                if (board := self.board(pool, season, method)) is not None and (changed := without_names(board, names)) != board:
                    self.write_board(season, changed)

    def _remove_old(self, pool: str, season: str) -> None:
        """Remove the final states that a newer one replaces."""
        for name in self._ends(pool, season)[:-1]:
            for file in (f"{name.removesuffix('.json')}.eqr", name):
                with suppress(FileNotFoundError):
                    self._files.remove(file)

    def _ends(self, pool: str, season: str) -> list[str]:
        """Names of the descriptions of a season's final state, oldest first."""
        folder = _folder(pool, season)
        return [f"{folder}/{name}" for name in sorted(filter(_FINAL.match, self._files.names(folder)))]

    def _boards(self, pool: str, season: str) -> dict[str, list[str]]:
        """Name of a final board -> names of its files, oldest first."""
        folder = f"{_folder(pool, season)}/boards"
        boards: dict[str, list[str]] = {}
        for match in filter(None, map(_BOARD.match, sorted(self._files.names(folder)))):
            boards.setdefault(match["name"], []).append(f"{folder}/{match[0]}")
        return boards

    def _decoded(self, name: str, kind: type[FileT]) -> FileT | None:
        try:
            return msgspec.json.decode(self._files.read(name), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, FileNotFoundError):
            return None


def tokenized(arrays: Arrays, names: NameMatcher) -> Arrays:
    """The arrays of a pool's content, slices included, with tokens in place of erased names; the same object if it has no erased name."""
    if not names:
        return arrays
    rosters = {name.removesuffix(".start") for name in arrays if name == "agents.start" or name.endswith(".agents.start")}
    changed = {prefix: made for prefix in sorted(rosters) if (made := _without_erased(part(arrays, prefix), names)) is not None}
    return {**arrays, **named(changed)} if changed else arrays


def _without_erased(roster: Arrays, names: NameMatcher) -> Arrays | None:
    """The arrays of a roster with tokens in place of erased names; None if it has no erased name."""
    before = Roster.from_arrays(roster).names()
    after = list(map(names.replaced, before))
    if after == before:
        return None
    made = Roster()
    made.intern(after)
    return made.arrays()


def _folder(pool: str, season: str) -> str:
    return f"{FOLDER}/{pool}/{season}"


def _number(name: str) -> int:
    return int(name.removesuffix(".json").rpartition("-")[2])
