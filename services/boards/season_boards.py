"""Final boards of ended seasons, from their files: live boards from the season's final state, solved boards as they were solved on it."""

from collections.abc import Callable, Sequence

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.roster import Roster
from services.boards.agent_columns import rows_with_games
from services.boards.agent_index import GamesPlayed, results_of_all
from services.boards.past import PastRows, board_of_content
from services.boards.past_contents import NoSlice, PastContent, When
from services.boards.reading import Board, WithoutRow, of_solved, with_next
from services.boards.season_files import SeasonEnd, SeasonFiles
from services.boards.slice_boards import board_name, is_sliced
from services.boards.store.keys import check_method
from services.boards.store.protocol import Building, PoolHead, StoreError
from services.checkpoints.objects import BadObject
from services.control import seasons
from services.control.records import ControlState, Generation
from services.control.seasons import Season, SeasonStatus
from services.runtime.settings import Provisional
from services.state.parts import part as part_of
from services.wire.pools import Kind


class SeasonView(msgspec.Struct, frozen=True, kw_only=True):
    """One season of a pool.

    Attributes:
        name: Name of the season. The season before the first one that was started by name is `first`.
        status: `requested`: it waits for the shard, or for its start position. `starting`: it is being folded. `running`: readers see it.
            `ended`: the next season began, and final boards are being computed. `closed`: all final boards are kept.
        generation: The generation that serves it, served it last, or is being folded; null before.
        start: Log offset at which it begins; null before it is known.
        end: Log offset at which it ended; null before.
        began_at: Time of its start, seconds since 1970; null before.
        ended_at: Time of its end, seconds since 1970; null before.
        keep: Share of each rating's distance to the mean that its soft reset left; null for the first season.
        outcomes: Number of outcomes that it counted; null before its final state is kept.
        boards: Names of its final boards; empty while it runs.
        waits_for: What a requested or starting season waits for, and what an operator can do if that does not come; null for others.
    """

    name: str
    status: SeasonStatus
    generation: int | None
    start: int | None
    end: int | None
    began_at: float | None
    ended_at: float | None
    keep: float | None
    outcomes: int | None = None
    boards: list[str] = []
    waits_for: str | None = None


class NoSeason(Exception):  # noqa: N818 - names the fact
    """A pool has no ended season of a name, or the season has no board of a method."""


class SeasonBoards:
    """Reads final boards.

    Args:
        files: The files of seasons.
        control: Returns the state of the control log.
    """

    def __init__(self, files: SeasonFiles, control: Callable[[], ControlState]) -> None:
        self._files, self._control = files, control

    def seasons(self, pool: str, head: PoolHead | None) -> list[SeasonView]:
        """All seasons of a pool, oldest first. head: its head in the store; None if it has none. Raises `OSError`, `LogError`."""
        control = self._control()
        views = [self._view(control, pool, season) for season in seasons.seasons(control, pool)]
        return [msgspec.structs.replace(view, waits_for=_waits_for(view, pool, head)) for view in views]

    def board(
        self, pool: str, season: str, method: str, *, start: int, count: int, now: float, provisional: Provisional,
        agents: Sequence[str] | None = None, part: str = "",
    ) -> Board:  # fmt: skip
        """Rows `start` to `start + count` of a final board, or the rows of some agents in the order of their names.

        Args:
            pool: Name of the pool.
            season: Name of the season.
            method: Name of the method.
            start: Index of the first row.
            count: Largest number of rows.
            now: Seconds since 1970.
            provisional: The least evidence for a rank on final boards of online methods.
            agents: Names of agents; None for rows by their place.
            part: Slice of the pool, such as `language:English`; empty for all outcomes.

        Raises:
            NoSeason: There is no such season or board, it is not written yet, or the season had no outcome of the slice.
            WithoutRow: The board has no row of an agent.
            InputError: The method is not a name, or the slice is no tag and value.
            StoreError: The files cannot be read now.
            LogError: The control log cannot be read.
        """
        check_method(method)
        control = self._control()
        try:
            end = self._end(control, pool, season)
            first, most = (start, count) if agents is None else (0, 2**31)
            rows = PastRows(pool, method, When(end.entry.position), first, most, provisional, part=part)
            page = self._with_games(end, self._page(control, end, rows, now))
        except (OSError, BadObject) as error:
            raise StoreError(f"the files of season {season} of pool {pool} cannot be read now: {error}", retriable=True) from error
        page = msgspec.structs.replace(page, source="season", season=season)
        return with_next(page, season, start) if agents is None else _of_agents(page, agents)

    def _with_games(self, end: SeasonEnd, page: Board) -> Board:
        """A page of a final board whose rows have the games of the season; of a pool of scores as it is. Raises `OSError`, `BadObject`."""
        if end.entry.kind != Kind.GAMES:
            return page
        arrays = self._files.arrays(end, None if page.slice else ["agents.", "places.", "teams."])
        own = PastContent(end.entry, end.ended_at, arrays).of_slice(page.slice or "").arrays
        agents = Roster.from_arrays(part_of(own, "agents"))
        results = results_of_all({name: part_of(own, name) for name in ("places", "teams")}, len(agents))
        played = GamesPlayed.of(agents.lookup([row.agent for row in page.rows]), results)
        return msgspec.structs.replace(page, rows=rows_with_games(page.rows, played), games_position=end.entry.position)

    def _view(self, control: ControlState, pool: str, season: Season) -> SeasonView:
        view = SeasonView(**season._asdict())
        end = self._files.end(pool, season.name) if season.end is not None else None
        if end is None:
            return view
        complete = self._files.complete(pool, season.name)
        solved = self._files.boards(pool, season.name) if complete is None else complete.methods
        status = SeasonStatus.ENDED if complete is None else SeasonStatus.CLOSED
        names = [*_live_methods(control, end), *(name for name in solved if not is_sliced(name))]
        return msgspec.structs.replace(view, status=status, outcomes=end.entry.outcomes, boards=names)

    def _end(self, control: ControlState, pool: str, season: str) -> SeasonEnd:
        ended = seasons.find_ended(control, pool, season)
        end = None if ended is None else self._files.end(pool, season)
        if end is None:
            known = ", ".join(each.name for each in seasons.ended(control, pool)) or "none yet"
            raise NoSeason(f"pool {pool} has no ended season {season} (ended: {known})")
        return end

    def _page(self, control: ControlState, end: SeasonEnd, rows: PastRows, now: float) -> Board:
        """The requested rows. Raises `NoSeason`, `OSError`, `BadObject`."""
        live = _live_methods(control, end)
        if rows.method in live:
            wanted = ["agents.", "activity", "pool_time", f"online.{rows.method}."]
            arrays = self._files.arrays(end, None if rows.part else wanted)
            try:
                return board_of_content(PastContent(end.entry, end.ended_at, arrays), control, rows, now)
            except NoSlice as error:
                raise NoSeason(f"season {end.season} ended without it: {error}") from error
        board = self._files.board(end.entry.pool, end.season, board_name(rows.method, rows.part))
        if board is None:
            there = ", ".join([*live, *(name for name in self._files.boards(end.entry.pool, end.season) if not is_sliced(name))])
            asked = f"{rows.method} of the slice {rows.part}" if rows.part else rows.method
            raise NoSeason(f"season {end.season} of pool {end.entry.pool} has no final board {asked} (yet); it has {there}")
        result = board.result
        shown = msgspec.structs.replace(result, agents=result.agents[rows.start : rows.start + rows.most])
        return of_solved(msgspec.structs.replace(board, result=shown), len(result.agents), now)


def _waits_for(season: SeasonView, pool: str, head: PoolHead | None) -> str | None:
    """What a requested or starting season waits for, and the next step; None for other seasons."""
    if season.status not in {SeasonStatus.REQUESTED, SeasonStatus.STARTING}:
        return None
    if head is None:  # the store does not answer, lost the pool, or never had it
        first = season.status is SeasonStatus.REQUESTED and season.start is None
        return "the first outcome of the pool" if first else "the shard of the pool, of which the store has no report: start the engine"
    building, resume = head.building, f"`equirank pools resume {pool}`"
    if season.status is SeasonStatus.STARTING:
        return _waits_for_build(season, building, resume)
    withdraw = f"or withdraw the season by `equirank seasons withdraw {pool} {season.name}`"
    if head.stopped is not None:
        return f"the pool, which stopped at {head.position} ({head.stopped}): {resume}, {withdraw}"
    if season.start is not None and season.start > head.position:
        return f"position {season.start}; the pool is at {head.position}: wait, {withdraw}"
    if building is not None and building.failed is None:
        return f"generation {building.generation} of the present season, which is at {building.progress:.0%}: wait, {withdraw}"
    if head.pending:
        return f"a generation that leaves out {head.pending} retracted outcomes"
    return f"the shard of the pool: start the engine if it does not run, {withdraw}"


def _waits_for_build(season: SeasonView, building: Building | None, resume: str) -> str:
    """The generation that begins a season. building: the pool's newest build, which can be one of another season."""
    if building is None or building.generation != season.generation:
        return f"generation {season.generation}"
    if building.failed is None:
        return f"generation {season.generation}, which is at {building.progress:.0%}"
    tried = f"it is tried again after 1, 5, 30 and then every 60 minutes, and at once by {resume}"
    return f"generation {season.generation}, which cannot be folded ({building.failed}): remove the cause; {tried}"


def _live_methods(control: ControlState, end: SeasonEnd) -> list[str]:
    """Names of the live boards of a season."""
    made: Generation | None = control.generations.get(end.entry.pool, {}).get(end.entry.generation)
    return [] if made is None else list(made.fold.methods(control.pools[end.entry.pool].kind))


def _of_agents(page: Board, agents: Sequence[str]) -> Board:
    if not agents or len(set(agents)) != len(agents):
        raise InputError("agents", ", ".join(agents[:5]), "must be one or more, each once")
    rows = {row.agent: row for row in page.rows}
    if missing := [name for name in agents if name not in rows]:
        raise WithoutRow(page.method, missing)
    return msgspec.structs.replace(page, rows=[rows[name] for name in agents])
