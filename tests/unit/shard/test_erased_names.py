"""Folds that erase names: equal to folds of a log that held the tokens, at any cut; ratings stay bit for bit."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.arrays.digest import digest
from services.archive.decode import games
from services.archive.encode import rows
from services.archive.erased_rows import erased
from services.control import generations
from services.control.directory import FixedDirectory
from services.control.erasures import ErasedName, ErasureDone, ErasureRequest, NameMatcher, erased_name
from services.control.records import ControlState, decode, encode
from services.log.dead_letters import EXCERPT_BYTES, DeadLetter
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.partition import Partition
from services.state.pool import PoolState
from services.wire import events
from services.wire.pools import Kind
from services.wire.scanning.scan import scan
from tests.support.folds import fold_events
from tests.support.pools import control_of, pool_of, state_of
from tests.support.streams import stream, table

NAMES = [f"agent {number}" for number in range(6)]
ALICE, BOB = erased_name(NAMES[0], ()), erased_name(NAMES[3], ())
TOKENS = {NAMES[0]: ALICE.token, NAMES[3]: BOB.token}


def _game(rng: np.random.Generator, number: int) -> dict[str, Any]:
    agents = [NAMES[i] for i in rng.permutation(len(NAMES))[: rng.choice([2, 2, 4])]]
    cut = len(agents) // 2
    return {"id": f"g{number % 17}", "sides": [{"agents": agents[:cut], "place": 1}, {"agents": agents[cut:], "place": 1 + number % 2}]}


def _scores(rng: np.random.Generator, number: int) -> dict[str, Any]:
    return {"id": f"s{number % 17}", "task": f"t{number % 3}", "scores": {NAMES[i]: float(rng.normal()) for i in rng.permutation(6)[:3]}}


def _outcomes(kind: Kind, seed: int, n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    made = [(_game if kind is Kind.GAMES else _scores)(rng, number) for number in range(n)]
    return [{"v": 1, "pool": "p", "time": float(number)} | one for number, one in enumerate(made)]


def _with_tokens(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = json.dumps(outcomes)
    for name, token in TOKENS.items():
        text = text.replace(f'"{name}"', f'"{token}"')
    found: list[dict[str, Any]] = json.loads(text)
    return found


def _folded(kind: Kind, outcomes: list[dict[str, Any]], cuts: list[int], *, scanned: bool, **fields: Any) -> PoolState:
    state = state_of(kind=kind, **fields)
    edges = sorted({0, len(outcomes), *(cut for cut in cuts if cut < len(outcomes))})
    for begin, end in pairwise(edges):
        values = [json.dumps(one, separators=(",", ":")).encode() for one in outcomes[begin:end]]
        columns = scan(values)
        if scanned and not columns.rest:
            state.fold(columns.columns)
        else:
            fold_events(state, events.decode(values).events)
    return state


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(Kind), seed=st.integers(0, 1000), cuts=st.lists(st.integers(1, 59), max_size=5), scanned=st.booleans(),
    edits=st.sampled_from([{}, {"aliases": {NAMES[1]: ALICE.token}}, {"bans": (BOB.token,)}, {"aliases": {BOB.token: NAMES[2]}}]),
)  # fmt: skip
def test_a_name_that_is_erased_folds_as_its_token(kind: Kind, seed: int, cuts: list[int], scanned: bool, edits: dict[str, Any]) -> None:
    outcomes = _outcomes(kind, seed, 60)
    erasing = _folded(kind, outcomes, cuts, scanned=scanned, erased=(ALICE, BOB), **edits)
    mixed = outcomes[:20] + _with_tokens(outcomes[20:])  # as an archive holds them, and then the topic
    for other in (_with_tokens(outcomes), mixed):
        rewritten = _folded(kind, other, [], scanned=scanned, erased=(ALICE, BOB), **edits)
        assert digest(erasing.arrays()) == digest(rewritten.arrays())
    assert not set(TOKENS) & set(erasing.content.agents.names())


@pytest.mark.parametrize("kind", Kind)
def test_ratings_and_tallies_stay_bit_for_bit(kind: Kind) -> None:
    outcomes = _outcomes(kind, 1, 60)
    plain, erasing = (_folded(kind, outcomes, [], scanned=False, erased=names) for names in ((), (ALICE, BOB)))
    assert erasing.content.counts == plain.content.counts  # what repeats is a duplicate still
    before, after = plain.arrays(), erasing.arrays()
    differ = {name for name in before if not np.array_equal(before[name], after[name])}
    assert differ == {"agents.bytes", "agents.start", "dedupe.bodies"}
    assert [TOKENS.get(name, name) for name in plain.content.agents.names()] == erasing.content.agents.names()


def _requested(control: ControlState, name: ErasedName, pool: str = "p") -> None:
    _, value = encode(ErasureRequest(pool=pool, name=name, by="ann", time=1.0))
    assert b"agent" not in value
    control.apply(control.position, decode(value))


def test_a_generation_made_after_a_request_erases_the_name_from_its_edits() -> None:
    edits = {"aliases": {NAMES[0]: NAMES[3], NAMES[1]: NAMES[3]}, "bans": (NAMES[4], NAMES[3]), "initial": {"elo": {NAMES[3]: 1700.0}}}
    control = control_of(pool_of(), **edits)
    made = control.generations["p"][1]
    assert generations.erasing(control, made) == made
    _requested(control, ALICE)
    _requested(control, BOB)
    assert generations.lacks_erasures(control, made)
    erasing = generations.erasing(control, made)
    assert erasing.aliases == {ALICE.token: BOB.token, NAMES[1]: BOB.token}
    assert set(erasing.bans) == {NAMES[4], BOB.token}
    assert erasing.initial == {"elo": {BOB.token: 1700.0}}
    assert erasing.erased == (ALICE, BOB)
    assert generations.erasing(control, erasing) == erasing
    assert not generations.lacks_erasures(control, erasing)


def test_a_name_has_one_token_in_a_pool_and_another_one_in_another_pool() -> None:
    control = control_of(pool_of(), pool_of("other"))
    _requested(control, ALICE)
    again = erased_name(NAMES[0], control.erasures.names("p"))
    _requested(control, again)
    assert control.erasures.names("p") == (ALICE,)
    assert again.token != ALICE.token
    found = control.erasures.find("p", NAMES[0])
    assert found is not None
    assert found.name == ALICE
    assert control.erasures.find("other", NAMES[0]) is None
    control.apply(control.position, ErasureDone(pool="p", token=ALICE.token, time=2.0))
    assert ("p", ALICE.token) in control.erasures.done


def test_names_are_recognized_under_several_salts() -> None:
    matcher = NameMatcher([ALICE, BOB])
    assert ALICE.salt != BOB.salt
    assert [matcher.token(name) for name in NAMES[:4]] == [ALICE.token, None, None, BOB.token]
    assert matcher.replaced(NAMES[3]) == BOB.token
    assert matcher.replaced("Ænna") == "Ænna"
    assert not NameMatcher([])


def _duel(number: int, *agents: str) -> dict[str, Any]:
    sides = [{"agents": [agent], "place": place} for place, agent in enumerate(agents, 1)]
    return {"v": 1, "pool": "p", "time": float(number), "id": f"d{number}", "sides": sides}


@pytest.mark.parametrize("aliases", [{}, {NAMES[1]: NAMES[2]}])
@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2]])
def test_a_game_that_names_both_an_agent_and_its_token_counts_for_nothing(aliases: dict[str, str], cuts: list[int]) -> None:
    """Everybody who reads a board can send the token. The pool folds on, and the same is left out at any cut, from log or archive."""
    outcomes = [_duel(0, NAMES[0], ALICE.token), _duel(1, NAMES[1], NAMES[4]), _duel(2, NAMES[0], NAMES[5])]
    states = [_folded(Kind.GAMES, outcomes, cuts, scanned=scanned, erased=(ALICE,), aliases=aliases) for scanned in (False, True)]
    state = state_of(kind=Kind.GAMES, erased=(ALICE,), aliases=aliases)
    held, _ = erased(rows([Record(at, json.dumps(one).encode(), 0.0) for at, one in enumerate(outcomes)]), {"p": NameMatcher([ALICE])})
    state.fold(games(held))
    for one in (*states, state):
        assert one.content.edits is not None
        assert one.content.edits.left_out.tolist() == [0, 0, 1]
        assert one.content.counts["outcomes"] == 2
    assert len({digest(one.arrays()) for one in (*states, state)}) == 1


def test_no_dead_letter_holds_an_erased_name() -> None:
    """A refused score is named by its agent, in what was sent and in the path of the field."""
    sent = {"v": 1, "pool": "p", "time": 1.0, "id": "s", "task": "t", "scores": {NAMES[1]: 1.0, NAMES[0]: "high"}}
    (letter,) = Partition(0, 1).fold(TopicRecords([Record(0, json.dumps(sent).encode(), 0.0)]), FixedDirectory(ControlState()))
    assert NAMES[0] in letter.path
    without = letter.edited(NameMatcher([ALICE]).in_text)
    assert NAMES[0] not in msgspec.json.encode(without).decode()
    assert (without.path, NAMES[1] in without.excerpt) == (f'$.scores["{ALICE.token}"]', True)


def _letter(sent: bytes) -> DeadLetter:
    (letter,) = Partition(0, 1).fold(TopicRecords([Record(0, sent, 0.0)]), FixedDirectory(ControlState()))
    return letter


@pytest.mark.parametrize("name", ["Åse Søndergård", 'quoted "name" here', "back\\slash"])
def test_a_cut_excerpt_ends_without_a_part_of_an_erased_name(name: str) -> None:
    """Wherever the cut is, and however the name is written; what stands before the last quote stays."""
    erased_one = erased_name(name, ())
    for ascii_only in (True, False):
        written = json.dumps(name, ensure_ascii=ascii_only)
        for left in range(1, len(written.encode()) + 1):
            head = b'{"v":1,"pool":"p","time":1.0,"id":"g","x":"'
            sent = head + b"x" * (EXCERPT_BYTES - len(head) - len(b'","agents":[') - left) + b'","agents":[' + written.encode() + b"]}"
            letter = _letter(sent)
            without = letter.edited(NameMatcher([erased_one]).in_text)
            assert letter.excerpt.startswith(without.excerpt[:4000])
            rest = without.excerpt.partition('"agents":[')[2]
            assert rest in ('"', f'"{erased_one.token}"'), (left, rest)
            assert without.edited(NameMatcher([BOB]).in_text) == without


def test_an_excerpt_that_was_not_cut_keeps_its_end() -> None:
    letter = _letter(b'{"v":1,"id":"agent 0","sides":[{"place":1}],"weight":12')
    assert letter.edited(NameMatcher([ALICE]).in_text).excerpt == f'{{"v":1,"id":"{ALICE.token}","sides":[{{"place":1}}],"weight":12'


@pytest.mark.parametrize("letter", ["n", "ñ", "\u200b"])
def test_a_path_has_no_beginning_of_an_erased_name(letter: str) -> None:
    """A path shows the first 64 characters of a key."""
    name = letter * 80
    sent = {"v": 1, "pool": "p", "time": 1.0, "id": "s", "task": "t", "scores": {name: "high"}}
    without = _letter(json.dumps(sent).encode()).edited(NameMatcher([erased_name(name, ())]).in_text)
    assert without.path == '$.scores["…"]'
    assert json.dumps(name)[1:7] not in without.excerpt


def test_the_excerpt_of_a_refused_stream_holds_no_name() -> None:
    sent = stream(table([{"id": "g", "pool": "p", "time": 1.0, "agents": NAMES[:2], "sides": [0, 1], "places": [1, 2]}]))[:-8]
    letter = _letter(sent)
    assert NAMES[0] in letter.excerpt
    assert letter.edited(NameMatcher([BOB]).in_text).excerpt == "\\xff\\xff\\xff\\xff"
