"""Long tables: a row for each agent of a game."""

from pathlib import Path
from typing import Any

import pytest

from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.roles import Roles
from tests.support.files import part_of_file, rows_of

TABLE = "Track,Position,Driver\nNorth,1,ann\nSouth,2,ann\nNorth,2,bob\nNorth,NC,cem\nSouth,1,bob\n"


def read(tmp_path: Path, text: str, **options: Any) -> Any:
    path = tmp_path / "places.csv"
    path.write_text(text)
    part, counts = part_of_file(path, ReadOptions(**options), hashed=True)
    return rows_of(part), counts, part


def test_rows_of_one_game_can_be_anywhere(tmp_path: Path) -> None:
    games, counts, part = read(tmp_path, TABLE)
    assert games == [(2, ("ann", "bob"), (1, 2)), (3, ("ann", "bob"), (2, 1))]
    assert (counts.rows, counts.left_out, counts.bad) == (5, {"no result (unplayed)": 1}, 0)
    assert part.hashes.shape == (2, 2)


def test_agents_without_a_place_can_share_the_last_one(tmp_path: Path) -> None:
    games, counts, _ = read(tmp_path, TABLE, unplayed="last")
    assert games[0] == (2, ("ann", "bob", "cem"), (1, 2, 2**31 - 1))
    assert not counts.left_out
    assert read(tmp_path, TABLE, unplayed="refuse")[1].first[0].row == 5


@pytest.mark.parametrize(
    ("change", "row", "words"),
    [
        (("South,1,bob", "South,1,ann"), 6, "in each game once"),
        (("South,1,bob", "South,zero,bob"), 6, "must be a place"),
        (("South,1,bob", "South,0,bob"), 6, "must be a place"),
        (("South,1,bob", ",1,bob"), 6, "name of a game"),
    ],
)
def test_bad_rows(tmp_path: Path, change: tuple[str, str], row: int, words: str) -> None:
    games, counts, _ = read(tmp_path, TABLE.replace(*change))
    assert [error.row for error in counts.first] == [row]
    assert words in counts.first[0].rule
    assert [one[1] for one in games] == [("ann", "bob")]


def test_a_game_of_one_agent_is_left_out(tmp_path: Path) -> None:
    games, counts, _ = read(tmp_path, TABLE + "West,1,ann\n")
    assert len(games) == 2
    assert counts.left_out["fewer than two agents with a place"] == 1


def test_rows_that_are_left_out_are_counted_as_rows(tmp_path: Path) -> None:
    text = "raceId,driver,position\n1,a,1\n1,b,2\n1,a,3\n1,c,4\n2,a,1\n3,a,1\n4,a,1\n4,b,NC\n5,a,1\n5,b,2\n"
    games, counts, part = read(tmp_path, text)
    assert [row for row, *_ in games] == [10]
    assert counts.left_out == {"of a game with a bad row": 3, "fewer than two agents with a place": 3, "no result (unplayed)": 1}
    assert counts.rows == len(part.columns.names) + counts.left_out.total() + counts.bad


def test_a_game_of_too_many_agents_is_refused(tmp_path: Path) -> None:
    text = "race,driver,position\n" + "".join(f"r,d{i},{i + 1}\n" for i in range(65)) + "s,d0,1\ns,d1,2\n"
    games, counts, _ = read(tmp_path, text)
    assert [row for row, *_ in games] == [67]
    assert "at most 64 agents" in counts.first[0].rule


def test_times_weights_tasks_and_slices(tmp_path: Path) -> None:
    text = "raceId,driverId,positionOrder,date,kind\n1,a,1,2026-01-01,wet\n1,b,2,2026-01-01,wet\n2,a,1,2026-01-02,\n2,b,2,2026-01-02,\n"
    _, counts, part = read(tmp_path, text, roles=Roles(task="kind"), slice_by="kind")
    assert part.columns.time.tolist() == [1767225600.0, 1767312000.0]
    assert (part.columns.tasks.names(), part.columns.task_of.tolist()) == (["wet"], [0, -1])
    assert part.slices.names() == ["wet", ""]
    assert not counts.bad


@pytest.mark.parametrize(("column", "value"), [("date", "2026-01-02"), ("weight", "2"), ("kind", "dry"), ("kind", ""), ("cup", "y")])
def test_rows_of_a_game_that_differ_are_refused(tmp_path: Path, column: str, value: str) -> None:
    row = {"raceId": "1", "driver": "a", "position": "1", "date": "2026-01-01", "weight": "1", "kind": "wet", "cup": "x"}
    rows = [row, row | {"raceId": "2"}, row | {"driver": "b", column: value}, row | {"raceId": "2", "driver": "b"}]
    text = "\n".join([",".join(row), *(",".join(one.values()) for one in rows)]) + "\n"
    games, counts, _ = read(tmp_path, text, roles=Roles(task="kind"), slice_by="cup")
    (error,) = counts.first
    assert (error.row, error.column, counts.left_out) == (4, column, {"of a game with a bad row": 1})
    assert "must be the same in all rows of a game" in error.rule
    assert ("--column time=" in error.rule) == (column == "date")
    assert error.value == {"date": 1767312000.0, "weight": 2.0}.get(column, value)
    assert [row for row, *_ in games] == [3]


@pytest.mark.parametrize("column", ["event", "round", "track", "tournament", "race"])
def test_a_name_of_several_games_is_a_game_together_with_the_time(tmp_path: Path, column: str) -> None:
    rows = "N,a,1,2025-01-01\nS,a,1,2025-01-02\nN,b,2,2025-01-01\nN,a,2,2026-01-01\nN,b,1,2026-01-01\nS,b,2,2025-01-02\n"
    text = f"{column},player,place,date\n{rows}"
    games, counts, part = read(tmp_path, text)
    assert games == [(2, ("a", "b"), (1, 2)), (3, ("a", "b"), (1, 2)), (5, ("a", "b"), (2, 1))]
    assert counts.remarks == {column: "game, together with date"}
    assert part.columns.time.tolist() == [1735689600.0, 1735776000.0, 1767225600.0]
    other = text.replace("N,a,2,2026", "N,c,2,2026").replace("N,b,1,2026", "N,d,1,2026")
    assert [agents for _, agents, _ in read(tmp_path, other)[0]] == [("a", "b"), ("a", "b"), ("c", "d")]
    _, counts, _ = read(tmp_path, text, roles=Roles(game=column))
    assert (counts.bad, counts.remarks) == (2, {})


def test_a_name_of_one_game_is_a_game(tmp_path: Path) -> None:
    text = "event,player,place,date\nN,a,1,2025-01-01\nN,b,2,2025-01-01\nS,a,1,2025-01-01\nS,b,2,2025-01-01\n"
    games, counts, _ = read(tmp_path, text)
    assert ([row for row, *_ in games], counts.remarks) == ([2, 4], {})


def test_a_repeated_name_without_a_time_says_what_to_do(tmp_path: Path) -> None:
    games, counts, _ = read(tmp_path, "round,player,place\n1,a,1\n1,b,2\n1,a,2\n1,b,1\n")
    assert (games, [error.row for error in counts.first]) == ([], [4, 5])
    assert "round names several games: --column game=HEADER" in counts.first[0].rule


def test_times_of_single_agents_are_no_times_of_games(tmp_path: Path) -> None:
    games, counts, _ = read(tmp_path, "event,athlete,place,time\nN,a,1,9.58\nN,b,2,9.69\nS,a,1,9.81\nS,b,2,9.9\n")
    assert (games, [error.row for error in counts.first]) == ([], [3, 5])
    assert "--column time=" in counts.first[0].rule
    games, _, _ = read(tmp_path, "event,athlete,place,time\nN,a,1,9.58\nN,b,2,9.69\n", roles=Roles(time=""))
    assert len(games) == 1


def test_an_id_of_games_is_taken_before_a_name(tmp_path: Path) -> None:
    text = "event,round,game_id,player,place\nN,1,1,a,1\nN,1,1,b,2\nN,1,2,a,2\nN,1,2,b,1\n"
    assert [row for row, *_ in read(tmp_path, text)[0]] == [2, 4]


def test_results_of_formula_1(tmp_path: Path) -> None:
    """The columns of Ergast: those who did not finish have an order, but no position, and times are distances to the winner."""
    text = (
        "resultId,raceId,driverId,position,positionText,positionOrder,time,rank\n1,18,1,1,1,1,1:34:50.616,2\n2,18,2,2,2,2,+5.478,3\n"
        "3,18,3,\\N,R,3,\\N,5\n4,19,1,\\N,D,2,\\N,\\N\n5,19,2,1,1,1,1:31:18.555,1\n"
    )
    games, counts, part = read(tmp_path, text)
    assert games == [(2, ("1", "2", "3"), (1, 2, 3)), (5, ("1", "2"), (2, 1))]
    assert (counts.bad, list(counts.remarks)) == (0, ["time"])
    assert not part.timed.any()


def test_features_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be left out for tables of places"):
        read(tmp_path, TABLE, features=(Feature.parsed("Track"),))
