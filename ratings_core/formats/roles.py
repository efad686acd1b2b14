"""Roles: which columns of a table hold agents, results, times and the like. The usual headers of public files need no options.

A table of games has one row for each game of two sides, or (a long table) one row for each agent of a game.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from ratings_core.checks import similar
from ratings_core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The column of each role, or None.

    Attributes:
        first, second: Agents of the two sides.
        winner, loser: Agents, one of which beat the other. `winner` without `loser` says which side won: its name, its column or a word.
        result: Result of the first side as a number: 1 won, 1/2 tied, 0 lost.
        first_score, second_score: Scores of the two sides; the higher one wins.
        score: Both scores in one cell, such as 4-1. With winner and loser, it only tells which games were not played.
        first_won, second_won, tied: 1 in the column of what happened, 0 in the others.
        game, agent, place: A long table: the game of a row, its agent, and the agent's place.
        time: When the game was played; an empty text for no time.
        weight: Weight of the game.
        task: Task or category of the game.
    """

    first: str | None = None
    second: str | None = None
    winner: str | None = None
    loser: str | None = None
    result: str | None = None
    first_score: str | None = None
    second_score: str | None = None
    score: str | None = None
    first_won: str | None = None
    second_won: str | None = None
    tied: str | None = None
    game: str | None = None
    agent: str | None = None
    place: str | None = None
    time: str | None = None
    weight: str | None = None
    task: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """Role -> its column, for roles that have one."""
        return {one.name: column for one in fields(self) if (column := getattr(self, one.name))}

    @property
    def name_games(self) -> bool:
        """Whether a column of a table of games is named, and not only one that can stand in any table of games."""
        return not self.named.keys() <= {"time", "weight", "task"}

    @property
    def names_result(self) -> bool:
        """Whether a column of results is named."""
        return any(form & self.named.keys() for form in RESULTS)

    @property
    def is_long(self) -> bool:
        """Whether a row is one agent of a game."""
        return self.game is not None

    @property
    def are_complete(self) -> bool:
        """Whether the columns determine the outcomes of games."""
        if self.is_long:
            return self.agent is not None and self.place is not None
        if self.loser is not None:
            return self.winner is not None
        scores = self.first_score is not None and self.second_score is not None
        verdict = scores or any(one is not None for one in (self.winner, self.result, self.score, self.first_won))
        return self.first is not None and self.second is not None and verdict

    def check(self, header: Sequence[str]) -> None:
        """Raise `InputError` for a column that the header lacks, and for roles that do not determine the outcomes of games."""
        for role, column in self.named.items():
            if column not in header:
                raise InputError(role, column, f"must be a column of the table: {', '.join(header)}{similar(column, header)}")
        if len(forms := [sorted(form & self.named.keys()) for form in RESULTS if form & self.named.keys()]) > 1 and self.loser is None:
            raise InputError("roles", " and ".join(", ".join(form) for form in forms), "must be one form of results, not several")
        if not self.are_complete:
            sides = _pair_of(_by_key(header), PAIRS)
            usual = {} if sides is None or self.is_long or self.loser is not None else dict(zip(("first", "second"), sides, strict=True))
            known = ", ".join(f"{role} {column!r}" for role, column in (usual | self.named).items())
            advice = (
                f"the known columns are {known}: name the others"
                if known
                else "no two headers are usual ones of the two sides: name the columns"
            )
            raise InputError("roles", ", ".join(header), f"{NEEDED}; {advice}{_misspelt(header)}")


RESULTS: Final = (
    frozenset({"winner"}), frozenset({"result"}), frozenset({"score"}), frozenset({"first_score", "second_score"}),
    frozenset({"first_won", "second_won", "tied"}),
)  # fmt: skip
"""Forms of results: the roles of each."""
NEEDED: Final = (
    "must determine games: first and second with winner, result, score, or first_score and second_score; winner and loser; or game, agent "
    "and place"
)
PAIRS: Final = (
    ("home_team", "away_team"),
    ("hometeam", "awayteam"),
    ("home", "away"),
    ("model_a", "model_b"),
    ("left", "right"),
    ("white", "black"),
    ("player_1", "player_2"),
    ("player1", "player2"),
    ("player_a", "player_b"),
    ("team_1", "team_2"),
    ("team1", "team2"),
    ("team_a", "team_b"),
    ("agent_1", "agent_2"),
    ("agent_a", "agent_b"),
    ("first", "second"),
    ("p1", "p2"),
    ("a", "b"),
)
"""Headers of the two sides, in the spelling of `_key`."""
_LOSERS: Final = (
    ("winner", "loser"), ("winner_name", "loser_name"), ("winner_id", "loser_id"), ("winning_team", "losing_team"),
)  # fmt: skip
_SCORES: Final = (
    ("home_score", "away_score"),
    ("home_goals", "away_goals"),
    ("fthg", "ftag"),
    ("hg", "ag"),
    ("score_1", "score_2"),
    ("score1", "score2"),
    ("score_a", "score_b"),
    ("goals_1", "goals_2"),
    ("points_1", "points_2"),
    ("home_points", "away_points"),
    ("first_score", "second_score"),
)
_WINNERS: Final = ("winner", "verdict", "preference", "ftr")
_RESULTS: Final = ("result", "outcome")
_CELLS: Final = ("ft", "score", "result", "final_score")
_THREE: Final = ("winner_model_a", "winner_model_b", "winner_tie")
_GAMES: Final = ("raceid", "race_id", "game_id", "match_id", "contest", "game", "match")
_LOOSE: Final = ("race", "event", "track", "tournament", "round")
"""Headers of games that often name several games, of different times."""
_AGENTS: Final = ("driver", "driverid", "player", "agent", "handle", "athlete", "competitor", "name", "team", "model")
_PLACES: Final = ("positionorder", "place", "position", "rank", "standing", "finish")
_SHORT: Final = 3
"""Headers of at most this many letters resemble any other short one."""
_TIMES: Final = (
    "date", "time", "timestamp", "tstamp", "datetime", "played_at", "utc_date", "start_time", "day", "tourney_date", "created_at",
)  # fmt: skip


def guess_roles(header: Iterable[str], given: Roles | None = None) -> Roles | None:
    """The roles of a table of games with usual headers; None if the headers do not tell.

    Args:
        header: Names of the columns.
        given: Roles that the caller names. Only other roles are guessed.
    """
    given = given or Roles()
    columns = _by_key(column for column in header if column not in given.named.values())
    roles = _with(given, {} if given.are_complete else _verdicts(columns, given))
    if not roles.are_complete:
        return None
    rest = {key: column for key, column in columns.items() if column not in roles.named.values()}
    complete = _with(roles, {"time": _first_of(rest, _TIMES), "weight": _first_of(rest, ("weight",))})
    return replace(complete, time=complete.time or None)


def can_name_several_games(column: str) -> bool:
    """Whether a column of games is called like one that often has one name for several games, such as a track."""
    return _key(column) in _LOOSE


def _verdicts(columns: dict[str, str], given: Roles) -> dict[str, str | None]:
    """Roles of the columns of agents and results."""
    if given.first is None and given.game is None and (pair := _pair_of(columns, _LOSERS)) is not None and _pair_of(columns, PAIRS) is None:
        return dict(zip(("winner", "loser"), pair, strict=True)) | {"score": _first_of(columns, ("score",))}
    sides = (given.first, given.second) if given.first is not None else _pair_of(columns, PAIRS)
    if sides is not None and given.game is None:
        side_roles = dict(zip(("first", "second"), sides, strict=True))
        if given.names_result:
            return side_roles
        if (scores := _pair_of(columns, _SCORES)) is not None:
            return side_roles | dict(zip(("first_score", "second_score"), scores, strict=True))
        if all(key in columns for key in _THREE):
            return side_roles | dict(zip(("first_won", "second_won", "tied"), (columns[key] for key in _THREE), strict=True))
        for role, keys in (("winner", _WINNERS), ("score", _CELLS[:1]), ("result", _RESULTS), ("score", _CELLS[1:])):
            if (column := _first_of(columns, keys)) is not None:
                return side_roles | {role: column}
        return side_roles
    names = {
        "game": given.game or _first_of(columns, (*_GAMES, *_LOOSE)),
        "agent": given.agent or _first_of(columns, _AGENTS),
        "place": given.place or _first_of(columns, _PLACES),
    }
    return names if None not in names.values() else {}


def _with(roles: Roles, columns: dict[str, str | None]) -> Roles:
    new = {role: column for role, column in columns.items() if column is not None and getattr(roles, role) is None}
    return replace(roles, **new)


def _pair_of(columns: dict[str, str], pairs: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    return next(((columns[a], columns[b]) for a, b in pairs if a in columns and b in columns), None)


def _first_of(columns: dict[str, str], keys: Iterable[str]) -> str | None:
    return next((columns[key] for key in keys if key in columns), None)


def _misspelt(header: Sequence[str]) -> str:
    """Usual headers that those of a table resemble, as the end of a rule; empty for none."""
    pairs = [key for pair in (*PAIRS, *_LOSERS, *_SCORES) for key in pair]
    usual = [key for key in dict.fromkeys([*pairs, *_WINNERS, *_RESULTS, *_THREE]) if len(key) > _SHORT]
    near = {column: similar(column, usual) for column in header if _key(column) not in usual}
    return "".join(f"; header {column!r}{text}" for column, text in near.items() if text)


def _by_key(header: Iterable[str]) -> dict[str, str]:
    return {_key(column): column for column in header}


def _key(column: str) -> str:
    """A header in lower case, with underscores for spaces, hyphens and points."""
    return "_".join(column.strip().lower().replace("-", " ").replace(".", " ").replace("_", " ").split())
