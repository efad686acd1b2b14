"""Whole records and polls: what fails the record, what only an item, and that polls do not matter."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from services.wire import events
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side
from services.wire.refusals import Reason
from tests.support.outcomes import game_event

ONE = GameEvent(v=1, id="g", pool="blitz", time=1.5, sides=[Side(["a"], 1), Side(["b"], 2)])


def game(i: int = 0, pool: str = "blitz") -> GameEvent:
    return game_event(f"g{i}", "a", "b", pool=pool, time=float(i))


@pytest.mark.parametrize(
    ("value", "reason", "words"),
    [
        (b"", Reason.UNPARSABLE, "JSON"),
        (b"{", Reason.UNPARSABLE, "JSON"),
        (b"\xef\xbb\xbf{}", Reason.UNPARSABLE, "JSON"),
        (b'{"v":NaN}', Reason.UNPARSABLE, "NaN"),
        (b'{"v":"\xff"}', Reason.UNPARSABLE, "UTF-8"),
        (b"[" + events.encode([ONE]) + b",]", Reason.UNPARSABLE, "JSON"),
        (b"[]", Reason.BAD_FIELD, "at least one"),
        (b" " * (1 << 20) + b"1", Reason.TOO_LARGE, "1048576"),
        (b"[" * 100_000, Reason.TOO_DEEP, "64"),
        (b'{"v":1,"meta":' + b"[" * 64 + b"]" * 64 + b"}", Reason.TOO_DEEP, "64"),
    ],
)
def test_what_fails_a_whole_record(value: bytes, reason: Reason, words: str) -> None:
    found = events.decode([events.encode([ONE]), value, events.encode([ONE])])
    assert (found.record, found.item, found.events) == ([0, 2], [0, 0], [ONE, ONE])
    (refusal,) = found.refusals
    assert (refusal.record, refusal.item, refusal.reason, refusal.path) == (1, -1, reason, "$")
    assert words in refusal.rule


def test_a_record_of_exactly_one_mebibyte_is_taken() -> None:
    value = events.encode([ONE])
    assert events.decode([value + b" " * ((1 << 20) - len(value))]).events == [ONE]


def test_bad_text_inside_meta_fails_the_record() -> None:
    value = events.encode([ONE])[:-1] + b',"meta":"\xff"}'
    assert [refusal.reason for refusal in events.decode([value]).refusals] == [Reason.UNPARSABLE]


def test_items_of_another_pool_than_the_first_sound_one_are_refused() -> None:
    items = [b"7", *(events.encode([game(i, pool)]) for i, pool in enumerate(["blitz", "rapid", "blitz"]))]
    found = events.decode([b"[" + b",".join(items) + b"]"])
    assert found.item == [1, 3]
    assert [(one.item, one.reason, one.path) for one in found.refusals] == [
        (0, Reason.BAD_FIELD, "$[0]"),
        (2, Reason.MIXED_POOLS, "$[2].pool"),
    ]


def test_an_array_may_mix_kinds() -> None:
    retraction = RetractEvent(v=1, id="r", pool="blitz", time=0.0, retracts="g0")
    assert events.decode([events.encode([game(), retraction])]).events == [game(), retraction]


def test_an_array_inside_an_array_is_no_outcome() -> None:
    assert [one.path for one in events.decode([b"[" + events.encode([game(0), game(1)]) + b"]"]).refusals] == ["$[0]"]


def test_the_last_of_two_equal_keys_counts() -> None:
    value = events.encode([ONE])[:-1] + b',"id":"other"}'
    assert events.decode([value]).events[0].id == "other"


def test_an_unusual_but_allowed_name_is_as_good_as_a_plain_one() -> None:
    unusual = GameEvent(v=1, id="ü", pool="p", time=0.0, sides=[Side(["Curaçao"], 1), Side(["日本"], 2)], task="étape")
    assert events.decode([events.encode([unusual]), events.encode([ONE])]).events == [unusual, ONE]


name = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=("Cc", "Cs")), min_size=1, max_size=40)
name = name.filter(lambda text: text == text.strip() and len(text.encode()) <= 256)
times = st.floats(-1e11, 1e11)
weights = st.floats(0.001, 1000)


@st.composite
def games(draw: st.DrawFn, pool: str = "p") -> GameEvent:
    agents = draw(st.lists(name, min_size=2, max_size=6, unique=True))
    cut = draw(st.integers(1, len(agents) - 1))
    sides = [Side(agents[:cut], draw(st.integers(-5, 5))), Side(agents[cut:], draw(st.integers(-5, 5)))]
    task = draw(st.none() | name)
    return GameEvent(v=1, id=draw(name), pool=pool, time=draw(times), sides=sides, task=task, weight=draw(weights))


@st.composite
def measurements(draw: st.DrawFn, pool: str = "p") -> ScoreEvent:
    scores = draw(st.dictionaries(name, st.floats(-1e15, 1e15), min_size=1, max_size=4))
    return ScoreEvent(v=1, id=draw(name), pool=pool, time=draw(times), task=draw(name), scores=scores, weight=draw(weights))


retractions = st.builds(lambda i, r, t: RetractEvent(v=1, id=i, pool="p", time=t, retracts=r), name, name, times)


@given(st.lists(games() | measurements() | retractions, min_size=1, max_size=8))
def test_sound_events_come_back_as_they_were(sent: list[events.Event]) -> None:
    alone = events.decode([events.encode([event]) for event in sent])
    together = events.decode([events.encode(sent)])
    for found in (alone, together):
        assert found.refusals == []
        assert found.events == sent
    assert (alone.record, together.item) == (list(range(len(sent))), list(range(len(sent))))


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_no_bytes_raise(values: list[bytes]) -> None:
    found = events.decode(values)
    assert {*found.record, *(refusal.record for refusal in found.refusals)} == set(range(len(values)))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn) -> object:
    """A sound outcome with one member anywhere replaced, removed or added."""
    item = json.loads(events.encode([draw(games() | measurements() | retractions)]))
    node = item
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = draw(st.sampled_from(keys))
        if isinstance(node[key], dict | list) and node[key] and draw(st.booleans()):
            node = node[key]
            continue
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "replace":
            node[key] = draw(JUNK)
        elif action == "remove":
            del node[key]
        elif isinstance(node, dict):
            node[draw(st.sampled_from(["weight", "meta", "task", "x", "retracts"]))] = draw(JUNK)
        return item


@given(st.lists(damaged(), min_size=1, max_size=4))
def test_the_decoder_and_the_explainer_agree(items: list[object]) -> None:
    values = [json.dumps(item).encode() for item in items]
    found = events.decode(values)
    taken = {events.rules.broken_rule(json.loads(value), msgspec.Raw(value)) is None for value in values}
    refused = {refusal.record: refusal for refusal in found.refusals}
    for record, value in enumerate(values):
        broken = events.rules.broken_rule(json.loads(value), msgspec.Raw(value))
        assert (broken is None) == (record in found.record), (value, broken, taken)
        if broken is not None:
            assert (refused[record].path, refused[record].rule) == broken


@given(st.lists(damaged(), min_size=1, max_size=6))
def test_how_records_are_cut_into_polls_changes_nothing(items: list[object]) -> None:
    values = [json.dumps(item).encode() for item in items]
    whole = events.decode(values)
    apart = [events.decode([value]) for value in values]
    assert whole.events == [event for one in apart for event in one.events]
    assert [r.rule for r in whole.refusals] == [r.rule for one in apart for r in one.refusals]


def test_a_poll_that_is_decoded_in_many_runs_is_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = {"v": 1, "pool": "p", "time": 1.0, "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}
    game = [{**sound, "id": f"g{i}"} for i in range(40)]
    other = {**sound, "id": "o", "pool": "q"}
    items: list[object] = [game[0], game[1:9], [game[9], {}, other], 7, [], game[10:30], {**game[30], "weight": 0}, [game[31]], game[32:]]
    values = [b"no json", *(json.dumps(item).encode() for item in items)]
    whole = events.decode(values)
    assert (len(whole.events), len(whole.refusals)) == (39, 6)
    for size in (1, 300, 2_000):
        monkeypatch.setattr(events, "_RUN_BYTES", size)
        assert events.decode(values) == whole


def test_encode_refuses_what_is_no_record() -> None:
    for sent in ([], [game(0, "a"), game(0, "b")]):
        with pytest.raises(InputError, match="one pool"):
            events.encode(sent)


def test_encode_records_cuts_by_number_and_by_size() -> None:
    wide = [ScoreEvent(v=1, id=f"s{i}", pool="p", time=0.0, task="t", scores={f"{k:0250}": 0.1 for k in range(1000)}) for i in range(9)]
    records = events.encode_records(wide)
    assert max(map(len, records)) <= 1 << 20
    assert events.decode(records).events == wide
    assert [len(json.loads(record)) for record in events.encode_records([game(i) for i in range(1001)])[:2]] == [500, 500]
    huge = ScoreEvent(v=1, id="s", pool="p", time=0.0, task="t", scores={f"{k:0250}": 0.1 for k in range(5000)})
    with pytest.raises(InputError, match="fit"):
        events.encode_records([huge])
