"""Pools that keep features of games: numbers of `meta`, from events and from the archive's columns alike, and nothing else changes."""

import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.control import generations
from services.control.records import FoldSettings
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of

FEATURES = ("length", "first-side")


def game(number: int, meta: Any = UNSET, **changed: Any) -> GameEvent:
    raw = UNSET if meta is UNSET else Raw(json.dumps(meta).encode())
    sides = [Side([f"a{number % 5}"], number % 3), Side([f"b{number % 7}"], 1)]
    return GameEvent(**{"v": 1, "id": f"g{number}", "pool": "p", "time": float(number), "sides": sides, "meta": raw, **changed})


def folded(cuts: list[int], **fold: Any) -> PoolState:
    state = state_of(fold=FoldSettings(**{"features": FEATURES, **fold}))
    for low, high in zip([0, *cuts[:-1]], cuts, strict=True):
        assert fold_events(state, [game(i, {"length": i % 4, "other": "x"}) for i in range(low, high)]) == []
    return state


def kept(state: PoolState) -> list[list[float]]:
    assert state.content.tallies.features is not None
    return [[*row] for row in state.content.tallies.features.rows().values]


def test_batches_do_not_matter_and_a_restored_pool_goes_on() -> None:
    at_once, cut = folded([60], feature_window=25), folded([7, 9, 60], feature_window=25)
    assert digest(at_once.arrays()) == digest(cut.arrays())
    assert kept(cut) == [[i % 4, 1.0] for i in range(35, 60)]
    again = PoolState.restore(cut.created, cut.generation, cut.arrays(), 60)
    for state in (cut, again):
        assert fold_events(state, [game(i, {"length": -2.5}) for i in range(60, 90)]) == []
    assert digest(again.arrays()) == digest(cut.arrays())


def test_the_rest_of_the_content_is_that_of_a_plain_pool() -> None:
    rest = {name: array for name, array in folded([60]).arrays().items() if not name.startswith("features.")}
    assert digest(rest) == digest(folded([60], features=()).arrays())


NO_NUMBERS = [UNSET, 3, [], {}, {"length": "3"}, {"length": True}, {"length": None}, {"length": 1e16}, {"length": 10**400}]


@pytest.mark.parametrize("meta", NO_NUMBERS)
def test_a_game_without_the_number_counts_everywhere_else(meta: Any) -> None:
    state = folded([0])
    assert fold_events(state, [game(0, meta), game(1, {"length": 1e15})]) == []
    assert kept(state) == [[1e15, 1.0]]
    features = state.content.tallies.features
    assert features is not None
    assert (features.lacking, features.counted, state.content.counts["outcomes"]) == (1, 1, 2)


def test_duplicates_and_banned_agents_do_not_count_and_aliases_do() -> None:
    state = state_of(fold=FoldSettings(features=("length",)), aliases={"a1": "ann"}, bans=("a2",))
    assert fold_events(state, [game(i, {"length": i}) for i in (1, 2, 3)] + [game(3, {"length": 9})]) == []
    assert kept(state) == [[1.0], [3.0]]
    assert state.content.agents.names() == ["ann", "b1", "a3", "b3"]
    assert state.content.counts["duplicates"] == 1


def test_old_buckets_are_dropped() -> None:
    assert len(kept(folded([60], bucket_seconds=20, buckets_kept=2))) == 40


@pytest.mark.parametrize(
    ("kind", "features", "words"),
    [
        (Kind.SCORES, ("length",), "must be left out for scores"),
        (Kind.GAMES, ("length", "length"), "each feature once"),
        (Kind.GAMES, ("",), "features"),
    ],
)
def test_settings_that_cannot_be_are_refused(kind: Kind, features: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        generations.check(kind, FoldSettings(features=features), {}, {}, ())
