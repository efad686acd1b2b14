"""Records of pools whose games have teams or many sides: one rule on profiles, boards, filters and pages of opponents."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ratings_core.arrays.digest import digest
from services.boards.agent_index import AgentIndex
from services.boards.agent_opponents import opponent_list
from services.boards.agent_profile import profile
from services.cli.agent import lines_of
from services.control.records import FoldSettings
from services.state.pool import PoolState
from services.wire.events import GameEvent
from tests.support.api import NOW, Running, check_answer
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool
from tests.support.team_games import records, team_games
from tests.support.waiting import until

POOLS: dict[str, list[GameEvent]] = {
    "2:2": team_games("p", 60),
    "5:5": team_games("p", 40, (5, 5)),
    "three teams": team_games("p", 40, (2, 2, 2)),
    "seven players": team_games("p", 40, (1,) * 7),
    "a team and two players": team_games("p", 40, (3, 1, 1)),
    "duels and teams": [
        game for at, pair in enumerate(zip(team_games("p", 30), team_games("p", 30, (1, 1), seed=1), strict=True))
        for game in (pair[0], GameEvent(v=1, id=f"d{at}", pool="p", time=float(at), sides=pair[1].sides, weight=pair[1].weight))
    ],
}  # fmt: skip


def serve(api: Running, folder: Path, games: Sequence[GameEvent], **fold: Any) -> tuple[ServedPool, PoolState]:
    served, state = ServedPool(api.store, folder), state_of("p", fold=FoldSettings(**fold))
    assert fold_events(state, list(games)) == []
    served.checkpoint(state, 60, written_at=NOW)
    served.publish(state, 60, published_at=NOW)
    return served, state


def asked(api: Running, path: str, form: str, **query: object) -> dict[str, Any]:
    answer = api.client.get(f"/v1/pools/p{path}", params=query)
    assert answer.status_code == 200, answer.text
    check_answer(answer.json(), form)
    return dict(answer.json())


@pytest.mark.parametrize("name", POOLS)
def test_profiles_boards_and_filters_count_by_the_place_of_the_side(api: Running, tmp_path: Path, name: str) -> None:
    serve(api, tmp_path, POOLS[name])
    wanted = records(POOLS[name])
    until(lambda: "games_position" in asked(api, "/boards/elo", "Board", count=1), "the API has read the checkpoint")
    board = asked(api, "/boards/elo", "Board", count=100)["rows"]
    assert {row["agent"] for row in board} == wanted.keys()
    for row in board:
        told = asked(api, f"/agents/{row['agent']}", "AgentProfile")["games"]
        assert {field: told[field] for field in wanted[row["agent"]]} == wanted[row["agent"]]
        assert {field: row[field] for field in ("games", "wins", "draws", "losses")} == {
            field: told[field] for field in ("games", "wins", "draws", "losses")
        }
    least = int(sorted(record["games"] for record in wanted.values())[len(wanted) // 2])
    enough = asked(api, "/boards/elo", "Board", count=100, min_games=least)["rows"]
    assert {row["agent"] for row in enough} == {agent for agent, record in wanted.items() if record["games"] >= least}
    assert enough


@pytest.mark.parametrize("name", POOLS)
def test_the_record_is_that_of_the_results_in_the_history(api: Running, tmp_path: Path, name: str) -> None:
    """The list of games said `won` where the record had nothing."""
    serve(api, tmp_path, POOLS[name])
    for agent, record in records(POOLS[name]).items():
        outcomes = asked(api, f"/agents/{agent}/outcomes", "AgentOutcomes", count=1000)["outcomes"]
        weights: Counter[str] = Counter()
        for one in outcomes:
            weights[one["result"]] += one["weight"]
        assert [weights["won"], weights["drawn"], weights["lost"]] == [record["wins"], record["draws"], record["losses"]]


def test_opponents_say_how_many_games_count_for_none(api: Running, tmp_path: Path) -> None:
    served, _ = serve(api, tmp_path, POOLS["duels and teams"])
    wanted = records(POOLS["duels and teams"])
    head = api.store.live.head("p")
    assert head is not None
    index = AgentIndex.load(served.files, head)
    for agent, record in wanted.items():
        answer = asked(api, f"/agents/{agent}/opponents", "OpponentList", count=100)
        assert answer["team_games"] == record["team_games"]
        assert sum(row["games"] for row in answer["opponents"]) == record["games"] - record["team_games"]
        met = opponent_list(api.store, head, index, agent, now=NOW)
        shown = profile(api.store, head, index, agent, now=NOW)
        assert met is not None
        assert shown is not None
        assert f"{record['team_games']:g} games in teams, which count for no opponent" in "\n".join(lines_of(met))
        assert f"lost, {record['team_games']:g} of them in teams (" in "\n".join(lines_of(shown))


@pytest.mark.parametrize("fold", [{"by_shape": False}, {}])
def test_a_pool_without_team_games_has_none_and_one_that_does_not_count_them_says_so(
    api: Running, tmp_path: Path, fold: dict[str, Any]
) -> None:
    serve(api, tmp_path, POOLS["seven players" if not fold else "2:2"], **fold)
    for agent, record in records(POOLS["seven players"]).items() if not fold else [("a1", {})]:
        told = asked(api, f"/agents/{agent}", "AgentProfile")["games"]
        assert told["team_games"] == (None if fold else 0.0)
        assert told["games"] == record.get("games", 0.0)
        assert asked(api, f"/agents/{agent}/opponents", "OpponentList")["team_games"] == told["team_games"]


def test_games_in_teams_are_a_part_of_their_own_in_the_state() -> None:
    """Solves read the other tallies, which are those of a pool that tells no shapes apart. Ratings are the same, too. Buckets, slices and
    restarts keep it.
    """
    games = POOLS["duels and teams"]
    fold = FoldSettings(bucket_seconds=5, buckets_kept=3)
    counted, plain = (state_of("p", fold=FoldSettings(**{**as_dict(fold), "by_shape": on})) for on in (True, False))
    for state in (counted, plain):
        assert fold_events(state, games) == []
    told, untold = (
        {name: one for name, one in state.arrays().items() if not name.startswith("prequential.")} for state in (counted, plain)
    )
    assert digest({name: one for name, one in told.items() if not name.startswith("teams.")}) == digest(untold)
    assert counted.content.tallies.teams is not None
    assert counted.content.tallies.teams.buckets == counted.content.tallies.pairs.buckets
    assert len(counted.content.tallies.teams.buckets) == 3
    again = PoolState.restore(counted.created, counted.generation, counted.arrays(), 60)
    more = [GameEvent(v=1, id=f"m{i}", pool="p", time=40.0, sides=game.sides) for i, game in enumerate(games)]
    for state in (again, counted):
        assert fold_events(state, more) == []
    assert digest(again.arrays()) == digest(counted.arrays())


def as_dict(fold: FoldSettings) -> dict[str, Any]:
    return {name: getattr(fold, name) for name in fold.__struct_fields__}
