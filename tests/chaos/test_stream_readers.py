"""What readers of streams call a broken promise, in states that a test makes up."""

import pytest

from tests.chaos.oracle import Pool
from tests.chaos.stream_readers import Shown, StreamReader, StreamReaders, differences
from tests.support.event_streams import Event


def state(generation: int, position: int, boards: list[str] | None = None) -> Event:
    return Event("pool", {"generation": generation, "position": position, "outcomes": position, "boards": boards or []}, f"{position}")


def board(generation: int, **ratings: float) -> Event:
    rows = [{"agent": agent, "rating": rating} for agent, rating in ratings.items()]
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
    assert found.shown == Shown(1, 2, 2, {"elo": {"a": 1.0}})
    found.take(state(1, 3), [])
    assert found.shown.boards == {}


def test_what_a_reader_holds_is_compared_with_the_oracle() -> None:
    kept = Pool(outcomes=1)
    kept.ratings.play([{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}], 1 << 20)
    elo = dict(kept.ratings.elo)
    assert differences("p", Shown(1, 1, 1, {"elo": elo}), kept) == []
    assert differences("p", Shown(1, 1, 0, {"elo": elo}), kept) == ["p: the stream shows 0 outcomes, not 1"]
    for rows in ({"a": elo["a"]}, {"b": elo["b"]}, {**elo, "a": 1500.0}, {**elo, "c": 1500.0}):
        assert len(differences("p", Shown(1, 1, 1, {"elo": rows}), kept)) == 1
