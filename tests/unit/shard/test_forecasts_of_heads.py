"""What a pool's head says of forecasts: scale and record of each shape of games, also of a pool that does not tell shapes apart."""

import msgspec
import pytest

from ratings_core.records.forecasts import ForecastClass, ForecastModel
from ratings_core.records.shapes import SINGLES
from services.boards.predictions import has_forecasts, ready
from services.boards.store.protocol import PoolHead
from services.control.records import FoldSettings
from services.shard.publishing.updates import live_forecasts
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.pools import state_of


def folded(*sides: list[list[str]], by_shape: bool) -> PoolState:
    state = state_of("p", fold=FoldSettings(online={"elo": {}, "melo": {}}, by_shape=by_shape))
    games = [
        GameEvent(v=1, id=f"g{i}", pool="p", time=float(i), sides=[Side(agents, place) for place, agents in enumerate(one, 1)])
        for i, one in enumerate(sides)
    ]
    assert fold_events(state, games) == []
    return state


DUEL, TEAMS, RACE = [["a"], ["b"]], [["a", "b"], ["c", "d"]], [["a"], ["b"], ["c"]]


def test_a_head_has_each_shape() -> None:
    state = folded(DUEL, TEAMS, RACE, TEAMS, by_shape=True)
    for method, forecasts in live_forecasts(state.content).items():
        assert forecasts.shapes is not None
        assert {shape: one.figures["pairs"] for shape, one in forecasts.shapes.items()} == {"1:1": 4.0, "2:2": 2.0}
        for shape, one in forecasts.shapes.items():
            record = state.content.ratings.prequential[method].by_shape[shape]
            assert (one.scale, one.classes, one.figures) == (record.scale, record.classes, record.figures())
    assert live_forecasts(state.content)["melo"].model is None


class EarlierForecasts(msgspec.Struct):
    """How ratings become forecasts, as the release before decision 93 wrote it and reads it."""

    model: ForecastModel | None
    scale: float
    classes: list[ForecastClass]


class EarlierHead(msgspec.Struct):
    """The part of a head of this release that is about forecasts."""

    forecasts: dict[str, EarlierForecasts] = {}


def test_releases_before_and_after_read_the_heads_of_each_other_and_forecast_nothing() -> None:
    """In an upgrade and in a rollback, an API reads heads that shards of the other release published."""
    head = head_of("p", online=["elo"], forecasts_by_shape=live_forecasts(folded(DUEL, TEAMS, by_shape=True).content))
    assert msgspec.json.decode(msgspec.json.encode(head), type=EarlierHead).forecasts == {}
    earlier = msgspec.to_builtins(head_of("p", online=["elo"])) | {"forecasts": {"elo": EarlierForecasts(None, 1.0, [])}}
    read = msgspec.json.decode(msgspec.json.encode(earlier), type=PoolHead)
    assert ready(read, "elo")[0] is None
    assert not has_forecasts(read, "elo", SINGLES)


@pytest.mark.parametrize(
    ("sides", "shapes"), [([DUEL] * 3, ["1:1"]), ([], ["1:1"]), ([DUEL, RACE], None), ([TEAMS], None), ([TEAMS, DUEL], None)]
)
def test_one_record_of_all_games_is_that_of_duels_if_there_were_duels_only(sides: list[list[list[str]]], shapes: list[str] | None) -> None:
    state = folded(*sides, by_shape=False)
    forecasts = live_forecasts(state.content)["elo"]
    assert (None if forecasts.shapes is None else list(forecasts.shapes)) == shapes
    if forecasts.shapes is not None:
        assert forecasts.shapes["1:1"].figures["pairs"] == len(sides)
