"""Outcomes become rows and come back: the same events, the same records, the same columns for the fold, the same fold."""

import json
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from ratings_core.errors import InputError
from services.archive import decode
from services.archive.encode import decoded_rows, rows
from services.archive.records import ArchivedRecords
from services.archive.schema import GAME, SCORES, UNREAD
from services.control.records import FoldSettings, Generation, PoolCreated
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.state.pool import PoolState
from services.wire import events
from services.wire.columns import columns_of_games, columns_of_scores
from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.archive import mixed
from tests.support.folds import fold_events

ONE = GameEvent(v=1, id="g", pool="p", time=1.5, sides=[Side(["a"], 1), Side(["b"], 2)])
NAME = st.sampled_from(["a", "b", "Curaçao", "d" * 40, "e e", "\U0001f600", '"\\'])
TIME = st.floats(-1e11, 1e11)
WEIGHT = st.floats(0.001, 1000)
META = st.sampled_from([{}, {"meta": {"k": [1.5, None, "ü"]}}, {"meta": 0}])
FUTURE = b'{"v":1,"id":"x","pool":"p","time":1e99,"sides":[]}'
TAGS = st.just(UNSET) | st.dictionaries(
    st.sampled_from(["map", "language"]), st.sampled_from(["Deutsch", "Ελληνικά", 'a"b']), min_size=1
).map(lambda tags: dict(sorted(tags.items())))
"""Rows keep tags by rising key."""
REFUSED = st.sampled_from([b"{", b"\xff\xfe", b"[]", b'[{"v":1},{"v":2}]', b"7", FUTURE, b""])


@st.composite
def game(draw: st.DrawFn) -> GameEvent:
    agents = draw(st.lists(NAME, min_size=2, max_size=6, unique=True))
    cuts = sorted(draw(st.sets(st.integers(1, len(agents) - 1), min_size=1)))
    places = st.integers(-(2**31), 2**31 - 1) | st.integers(1, 2)
    sides = [Side(agents[a:b], draw(places)) for a, b in zip([0, *cuts], [*cuts, len(agents)], strict=True)]
    return GameEvent(
        v=1, id=draw(NAME), pool="p", time=draw(TIME), sides=sides, task=draw(st.none() | NAME), weight=draw(WEIGHT), tags=draw(TAGS)
    )


@st.composite
def score(draw: st.DrawFn) -> ScoreEvent:
    scores = draw(st.dictionaries(NAME, st.floats(-1e15, 1e15), min_size=1))
    return ScoreEvent(v=1, id=draw(NAME), pool="p", time=draw(TIME), task=draw(NAME), scores=scores, weight=draw(WEIGHT), tags=draw(TAGS))


@st.composite
def retraction(draw: st.DrawFn) -> RetractEvent:
    return RetractEvent(v=1, id=draw(NAME), pool="p", time=draw(TIME), retracts=draw(NAME))


@st.composite
def value(draw: st.DrawFn) -> bytes:
    """A record, with metadata in some of its items and a refused item in some of its arrays."""
    outcomes = draw(st.lists(game() | score() | retraction(), min_size=1, max_size=4))
    items: list[Any] = [json.loads(events.encode([event])) | draw(META) for event in outcomes]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), draw(st.sampled_from([7, None, {"v": 3}, {"id": "ü"}])))
    return json.dumps(items[0] if len(items) == 1 else items, ensure_ascii=draw(st.booleans())).encode()


def logged(values: list[bytes]) -> TopicRecords:
    return TopicRecords([Record(3 * i + 1, value, 1.7e9 + i / 1000) for i, value in enumerate(values)])


@given(st.lists(value() | REFUSED, max_size=8))
def test_every_item_is_a_row_and_comes_back_as_it_was_sent(values: list[bytes]) -> None:
    records = logged(values)
    table, decoded = rows(records), events.decode(values)
    readable = table.filter(pc.not_equal(table["kind"], UNREAD))
    assert [events.encode([event]) for event in decode.events(readable)] == [events.encode([event]) for event in decoded.events]
    assert readable["item"].to_pylist() == decoded.item
    unread = table.filter(pc.equal(table["kind"], UNREAD)).to_pylist()
    texts = [values[bad.record] if bad.item < 0 else events.item_texts(values[bad.record])[bad.item] for bad in decoded.refusals]
    assert [row["raw"] for row in unread] == texts
    places = list(zip(table["offset"].to_pylist(), table["item"].to_pylist(), strict=True))
    assert places == sorted(places)
    assert {offset for offset, _ in places} == {record.offset for record in records}  # no record is without a row
    assert table.equals(decoded_rows(records)), "what the scanner reads is what the decoder reads"


@given(st.lists(value() | REFUSED, max_size=8))
def test_what_is_refused_has_its_place_and_path_from_the_archive_too(values: list[bytes]) -> None:
    """Of a single object and of an array of one as well."""
    values = [*values, b'{"v":1}', b'[{"v":1}]', b' \n{"v":2} ']
    found = ArchivedRecords(rows(logged(values)))
    assert events.decode([record.value for record in found]).refusals == events.decode(values).refusals


def test_a_record_of_any_time_comes_back() -> None:
    """Producers choose the time of a record where the topic has `message.timestamp.type=CreateTime`."""
    value = events.encode([GameEvent(v=1, id="g", pool="p", time=1.0, sides=[Side(["a"], 1), Side(["b"], 2)])])
    found = ArchivedRecords(rows([Record(i, value, time) for i, time in enumerate([-(2.0**63) / 1e3, 1.5, 2.0**63 / 1e3])]))
    assert [record.time for record in found] == [-62_135_596_800.0, 1.5, 253_402_300_799.0]
    assert events.decode([record.value for record in found]).events == events.decode([value] * 3).events


@given(st.lists(game(), max_size=8))
def test_games_are_the_columns_that_decoding_gives(outcomes: list[GameEvent]) -> None:
    table = rows(logged([events.encode([event]) for event in outcomes]))
    assert_same(decode.games(table), columns_of_games(outcomes))


@given(st.lists(score(), max_size=8))
def test_scores_are_the_columns_that_decoding_gives(outcomes: list[ScoreEvent]) -> None:
    table = rows(logged([events.encode([event]) for event in outcomes]))
    assert_same(decode.scores(table), columns_of_scores(outcomes))


def assert_same(ours: Any, twin: Any) -> None:
    for field in twin.__slots__:
        mine, other = getattr(ours, field), getattr(twin, field)
        if other is None:
            assert mine is None, field
        elif hasattr(other, "names"):
            assert mine.names() == other.names(), field
        else:
            np.testing.assert_array_equal(mine, other, err_msg=field)
            assert mine.dtype == other.dtype, field


@given(st.lists(game() | score() | retraction(), min_size=1, max_size=6))
def test_a_record_made_of_rows_decodes_to_the_same_outcomes(outcomes: list[Event]) -> None:
    [record] = ArchivedRecords(rows(logged([events.encode(outcomes)])))
    assert events.encode(events.decode([record.value]).events) == events.encode(outcomes)


@pytest.mark.parametrize("bad", [b'{"x":"\\ud800","y":1e999}', b'"\\udc00"', b'{"v" : 1,"id":"\\ud800\\ud800"}'])
def test_half_a_surrogate_pair_does_not_take_the_other_items_along(bad: bytes) -> None:
    sent = b"[" + events.encode([ONE]) + b" , " + bad + b"]"
    [record] = ArchivedRecords(rows(logged([sent])))
    ours, twin = events.decode([record.value]), events.decode([sent])
    assert (ours.events, ours.item, ours.refusals) == (twin.events, twin.item, twin.refusals)
    assert (ours.events, [refusal.item for refusal in ours.refusals]) == ([ONE], [1])


@pytest.mark.parametrize(("pool", "kind", "word"), [("games", Kind.GAMES, GAME), ("scores", Kind.SCORES, SCORES)])
def test_the_fold_of_rows_is_the_fold_of_the_log(pool: str, kind: Kind, word: str) -> None:
    records = mixed(5, 400)
    outcomes = [event for event in events.decode([record.value for record in records]).events if event.pool == pool]
    table = rows(records)
    live, archived = (PoolState(*generation(pool, kind)) for _ in range(2))
    fold_events(live, outcomes)
    mine = table.filter(pc.equal(table["pool"], pool))
    fold_events(archived, decode.events(mine))
    assert_same_fold(archived, live)
    if word == GAME:
        columns = PoolState(*generation(pool, kind))
        columns.fold(decode.games(mine.filter(pc.equal(mine["kind"], GAME))))
        fold_events(columns, decode.events(mine.filter(pc.not_equal(mine["kind"], GAME))))  # retractions, which are only counted here
        assert_same_fold(columns, live)


def generation(pool: str, kind: Kind) -> tuple[PoolCreated, Generation]:
    return PoolCreated(pool=pool, kind=kind, time=0.0), Generation(pool=pool, number=1, start=0, time=0.0, fold=FoldSettings())


def assert_same_fold(ours: PoolState, twin: PoolState) -> None:
    mine, other = ours.arrays(), twin.arrays()
    assert mine.keys() == other.keys()
    for name in other:
        assert mine[name].tobytes() == other[name].tobytes(), name
    assert twin.content.counts["outcomes"]


def test_rows_of_another_kind_are_refused() -> None:
    table = rows(mixed(1, 50))
    with pytest.raises(InputError, match="must be a list in every row of this kind"):
        decode.games(table)
    with pytest.raises(InputError, match="must be an outcome or a retraction"):
        decode.events(table)
