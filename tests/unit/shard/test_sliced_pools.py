"""Slices of a pool: each is what a pool of its outcomes alone would be, whatever the cuts of the stream, and goes with the pool."""

import random

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.control.generations import check
from services.control.records import FoldSettings
from services.state.edits import Retracted
from services.state.pool import PoolState
from services.state.slices import SliceKey
from services.wire.columns import columns_of_games
from services.wire.events import GameEvent, RetractEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import first_generation, pool_of, state_of

LANGUAGES = ("English", "Ελληνικά", "German", "Danish")
FOLD = FoldSettings(
    online={"elo": {}, "glicko2": {}}, slices={"language": ("elo", "glicko2"), "map": ("elo",)}, slice_values=3, dedupe_window=64
)


def games(seed: int = 1, count: int = 200) -> list[GameEvent]:
    """Games with and without tags; every tenth repeats an earlier one."""
    draw, sent = random.Random(seed), list[GameEvent]()
    for number in range(count):
        if number % 10 == 9:
            sent.append(draw.choice(sent[-20:]))
            continue
        first, second = draw.sample(range(12), 2)
        tags = draw.choice([{}, {"language": draw.choice(LANGUAGES)}, {"language": "English", "map": f"m{number // 50}"}, {"other": "x"}])
        sides = [Side([f"a{first}"], 1), Side([f"a{second}"], draw.choice([1, 2]))]
        sent.append(GameEvent(v=1, id=f"g{number}", pool="p", time=float(number), sides=sides, tags=tags))
    return sent


def folded(events: list[GameEvent], cut: int, fold: FoldSettings = FOLD, **fields: object) -> PoolState:
    state = state_of(fold=fold, **fields)
    for start in range(0, len(events), cut):
        fold_events(state, events[start : start + cut])
    return state


def tag(event: GameEvent, key: str) -> str | None:
    return event.tags.get(key) if isinstance(event.tags, dict) else None


def ratings(state: PoolState, key: SliceKey, method: str) -> dict[str, float]:
    assert state.slices is not None
    content = state.slices.slices[key].content
    shown = content.ratings.read(method, np.arange(len(content.agents), dtype=np.int32))
    return dict(zip(content.agents.names(), shown.rating.tolist(), strict=True))


@pytest.mark.parametrize("cut", [1, 7, 64, 200])
def test_a_slice_is_the_pool_of_its_outcomes_alone(cut: int) -> None:
    events = games()
    state = folded(events, cut)
    assert state.slices is not None
    assert digest(state.arrays()) == digest(folded(events, 13).arrays())
    firsts = {event.id: event for event in reversed(events)}.values()
    counted = sorted(firsts, key=events.index)
    order = list(dict.fromkeys(value for event in counted if (value := tag(event, "language")) is not None))
    assert [key.value for key in state.slices.slices if key.dimension == "language"] == order[:3], "in the order of the log"
    for key, made in state.slices.slices.items():
        own = [event for event in counted if tag(event, key.dimension) == key.value]
        alone = folded(own, 200, FoldSettings(online={method: {} for method in FOLD.slices[key.dimension]}))
        assert made.content.counts["outcomes"] == len(own)
        for name, array in alone.content.arrays().items():
            if not name.startswith("dedupe"):
                np.testing.assert_array_equal(made.content.arrays()[name], array, err_msg=name)
    fourth = sum(tag(event, "language") == order[3] for event in counted)
    assert state.slices.beyond == {"language": fourth, "map": sum(tag(event, "map") == "m3" for event in counted)}


def test_values_beyond_the_limit_are_counted_and_have_no_slice() -> None:
    sides = [Side(["a"], 1), Side(["b"], 2)]
    events = [GameEvent(v=1, id=f"g{i}", pool="p", time=0.0, sides=sides, tags={"language": f"v{i % 2000}"}) for i in range(4000)]
    state = folded(events, 4000)
    assert state.slices is not None
    assert [(key.value, made.content.counts["outcomes"]) for key, made in state.slices.slices.items()] == [("v0", 2), ("v1", 2), ("v2", 2)]
    assert state.slices.beyond == {"language": 4000 - 6, "map": 0}
    assert digest(state.arrays()) == digest(folded(events, 333).arrays())


def test_a_checkpoint_restores_slices_and_the_fold_goes_on() -> None:
    events = games()
    state = folded(events[:120], 40)
    restored = PoolState.restore(state.created, state.generation, state.arrays() | state.retractions.arrays(), 120)
    assert digest(restored.arrays()) == digest(state.arrays())
    for one in (state, restored):
        fold_events(one, events[120:])
    assert digest(restored.arrays()) == digest(state.arrays()) == digest(folded(events, 200).arrays())


def test_a_frozen_pool_keeps_its_slices_while_it_folds() -> None:
    events = games()
    state = folded(events[:120], 40)
    expected, frozen = digest(state.arrays()), state.freeze()
    fold_events(state, events[120:])
    assert digest(frozen.arrays()) == expected
    state.freeze().close()
    state.freeze().close()


def test_retractions_bans_and_aliases_are_those_of_the_pool() -> None:
    events = games()
    columns = columns_of_games([event for event in events if event.id == "g0"])
    fields = {"retraction_horizon": 1, "bans": ("a1",), "aliases": {"a2": "a3"}}
    state = PoolState(pool_of(fold=FOLD), first_generation(pool_of(fold=FOLD), **fields), Retracted.of([columns.id_hash]))
    fold_events(state, events)
    assert state.slices is not None
    for key, made in state.slices.slices.items():
        assert not {"a1", "a2"} & set(made.content.agents.names()), key


def test_changes_of_slices_wait_for_their_publication() -> None:
    state = folded(games(), 50)
    changes = state.take_changes()
    assert state.slices is not None
    assert {key: len(ids) for key, ids in changes.slices.items()} == {
        key: len(made.content.agents) for key, made in state.slices.slices.items()
    }
    assert not any(map(len, state.take_changes().slices.values()))
    state.mark(changes)
    assert [ids.tolist() for ids in state.take_changes().slices.values()] == [ids.tolist() for ids in changes.slices.values()]
    fold_events(state, [RetractEvent(v=1, id="r", pool="p", time=0.0, retracts="g0")])
    state.mark_all()
    assert all(map(len, state.take_changes().slices.values()))


def test_a_pool_without_slices_has_the_digest_that_it_had() -> None:
    fold = FoldSettings(online=FOLD.online, dedupe_window=64)
    untagged = [GameEvent(v=1, id=one.id, pool="p", time=one.time, sides=one.sides) for one in games()]
    state = folded(untagged, 50, fold)
    assert state.slices is None
    assert not any(name.startswith("slice") for name in state.arrays())


@pytest.mark.parametrize("methods", [(), ("sco",), ("elo", "elo"), ("bradley_terry",)])
def test_slices_have_online_methods_of_the_pool(methods: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"slices.language must be one or more online methods of the pool"):
        check(Kind.GAMES, FoldSettings(online={"elo": {}}, slices={"language": methods}))
    with pytest.raises(InputError, match=r"slices.language must be one or more .* \(it has none\)"):
        check(Kind.SCORES, FoldSettings(slices={"language": methods}))
