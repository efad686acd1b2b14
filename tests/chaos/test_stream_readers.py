"""What readers of streams call a broken promise, in states that a test makes up."""

import pytest

from tests.chaos import stream_readers
from tests.chaos.oracle import Pool
from tests.chaos.stream_readers import ROWS, Rows, Shown, StreamReader, StreamReaders, differences
from tests.support.event_streams import Event


def state(generation: int, position: int, boards: list[str] | None = None) -> Event:
    return Event("pool", {"generation": generation, "position": position, "outcomes": position, "boards": boards or []}, f"{position}")


def board(generation: int, **ratings: float) -> Event:
    rows = [{"agent": agent, "rating": rating, "rank": None} for agent, rating in ratings.items()]
    return Event("board", {"method": "elo", "source": "live", "generation": generation, "rows": rows}, "")


def reader() -> StreamReader:
    return StreamReader("p", lambda: "")


@pytest.mark.parametrize(("later", "broken"), [((1, 10), False), ((2, 10), False), ((2, 12), False), ((1, 9), True), ((2, 9), True)])
def test_neither_generation_nor_position_may_go_back(later: tuple[int, int], broken: bool) -> None:
    found = reader()
    found.take(state(1, 10), [])
    found.take(state(*later), [])
    assert ["promise 7" in complaint for complaint in found.complaints] == [True] * broken


def test_a_lost_store_forgives_one_step_back() -> None:
    found = StreamReaders(["p"], lambda: "")
    (one,) = found.readers
    one.take(state(1, 10), [])
    with found.blind():
        one.take(state(1, 5), [])
    one.take(state(1, 4), [])
    assert found.complaints == []
    one.take(state(1, 3), [])
    assert len(found.complaints) == 1


def test_live_boards_are_of_the_generation_of_their_state() -> None:
    found = reader()
    found.take(state(2, 10, ["elo"]), [board(2, a=1.0)])
    assert found.complaints == []
    found.take(state(2, 11, ["elo"]), [board(1, a=1.0)])
    assert ["promise 8" in complaint for complaint in found.complaints] == [True]


def test_a_board_stays_until_the_pool_lacks_it() -> None:
    found = reader()
    found.take(state(1, 1, ["elo"]), [board(1, a=1.0)])
    found.take(state(1, 2, ["elo"]), [])
    assert found.shown == Shown(1, 2, 2, {"elo": {"a": (True, 1.0)}})
    found.take(state(1, 3), [])
    assert found.shown.boards == {}


def kept_of(games: int, *pairs: tuple[str, str]) -> Pool:
    """What the oracle makes of some games of each pair, which the first one wins."""
    kept = Pool(outcomes=games * len(pairs))
    for winner, loser in pairs * games:
        kept.ratings.play([{"agents": [winner], "place": 1}, {"agents": [loser], "place": 2}], 1 << 20)
    return kept


def first_rows(kept: Pool, method: str, most: int = ROWS) -> Rows:
    rows = [(agent, (kept.ratings.activity[agent] < 10, rating)) for agent, rating in kept.boards()[method].items()]
    return dict(sorted(rows, key=lambda row: (row[1][0], -row[1][1]))[:most])


def test_what_a_reader_holds_is_compared_with_the_oracle() -> None:
    kept = kept_of(1, ("a", "b"))
    elo, sco = first_rows(kept, "elo"), first_rows(kept, "sco")
    assert differences("p", Shown(1, 1, 1, {"elo": elo, "sco": sco}), kept) == []
    assert differences("p", Shown(1, 1, 0, {"elo": elo, "sco": sco}), kept) == ["p: the stream shows 0 outcomes, not 1"]
    settled = {agent: (False, rating) for agent, (_, rating) in elo.items()}
    for rows in ({"a": elo["a"]}, {"b": elo["b"]}, {**elo, "a": (True, 1500.0)}, {**elo, "c": (True, 1500.0)}, settled, {}):
        assert len(differences("p", Shown(1, 1, 1, {"elo": rows, "sco": sco}), kept)) == 1
    assert len(differences("p", Shown(1, 1, 1, {"elo": elo}), kept)) == 1, "a board that was never sent"


def test_the_first_rows_of_a_large_board_are_those_of_settled_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer with the highest rating is below the agents with a rank, so a reader of the first rows may lack it."""
    monkeypatch.setattr(stream_readers, "ROWS", 3)
    kept = kept_of(12, ("a", "b"), ("c", "d"))
    for agent, rating in (("new", 1900.0), ("newer", 1200.0)):
        kept.ratings.elo[agent], kept.ratings.sco[agent], kept.ratings.activity[agent] = rating, rating, 2
    held = {method: first_rows(kept, method, 3) for method in ("elo", "sco")}
    assert "new" not in held["elo"]
    assert differences("p", Shown(1, 1, kept.outcomes, held), kept) == []
    best_first = {**{agent: row for agent, row in held["elo"].items() if agent != "d"}, "new": (True, 1900.0)}
    (complaint,) = differences("p", Shown(1, 1, kept.outcomes, {**held, "elo": dict(list(best_first.items())[-3:])}), kept)
    assert "lacks" in complaint
