"""Solved methods of slices: what may be chosen, what is due, and in which order."""

from typing import Any

import msgspec
import pytest

from ratings_core.errors import InputError
from ratings_core.methods.registry import NotApplicable
from services.boards.slice_boards import SliceName, board_name, dimension_of, is_sliced, method_of, part_of
from services.checkpoints.checkpoint import PoolEntry, SliceEntry
from services.control import records
from services.control.records import ControlState, FoldSettings, GenerationRequest, SolvePlan
from services.solve.planning.contents import KnownContents, contents_of, offered_methods
from services.solve.planning.due import SolvePace, due
from services.solve.planning.jobs import ContentKey, Job, JobEvent
from services.solve.planning.ledger import Given, Ledger
from services.solve.registry.choice import choices, plan_of
from tests.support.pools import control_of, pool_of

FOLD = FoldSettings(online={"elo": {}}, slices={"language": ("elo",), "map": ("elo",)}, features=("length",))
ENGLISH, GERMAN, DUST = SliceName("language", "English"), SliceName("language", "Ελληνικά: ~"), SliceName("map", "dust")
METHODS: dict[str, dict[str, Any]] = {"borda": {}, "copeland": {}}


def control(plan: SolvePlan | None = None, fold: FoldSettings = FOLD) -> ControlState:
    state = control_of(pool_of(fold=fold))
    if plan is not None:
        state.apply(state.position, plan)
    return state


def entry(**digests: str) -> PoolEntry:
    """A checkpoint of the pool with three slices. digests: of English, German and dust."""
    given = zip((ENGLISH, GERMAN, DUST), ("english", "german", "dust"), range(3), strict=True)
    slices = [
        SliceEntry(dimension=name.dimension, value=name.value, outcomes=10 + i, prefix=f"slice{i}", digest=digests.get(key, key))
        for name, key, i in given
    ]
    return PoolEntry(
        pool="p", kind="games", generation=1, position=9, outcomes=50, object="o", sha256="s", bytes=1, digest="pool", slices=slices
    )  # fmt: skip


def test_a_board_has_one_name() -> None:
    for name in (ENGLISH, GERMAN, DUST):
        board = name.board("copeland")
        assert (method_of(board), dimension_of(board), is_sliced(board)) == ("copeland", name.dimension, True)
        assert board == method_of(board) + part_of(board) == board_name("copeland", str(name))
    assert (dimension_of("copeland"), part_of("copeland"), is_sliced("copeland")) == (None, "", False)
    assert board_name("copeland", "") == "copeland"


def test_methods_of_slices_are_chosen_and_listed_and_kept() -> None:
    plan = plan_of(control(), "p", METHODS, 1.0, {"language": ["copeland", "borda"], "map": []})
    assert plan.slices == {"language": ("copeland", "borda")}
    state = control(plan)
    assert {row.method: row.slices for row in choices(state, "p") if row.slices} == {"borda": ["language"], "copeland": ["language"]}
    assert plan_of(state, "p", {"borda": {}}, 2.0).slices == {"language": ("borda",)}, "without `slices` the present ones stay"
    assert plan_of(state, "p", METHODS, 2.0, {}).slices == {}


@pytest.mark.parametrize(
    ("slices", "kind", "words"),
    [
        ({"lang": ["borda"]}, InputError, r"must be a tag of the pool's setting `slices` \(language, map\), got 'lang'"),
        ({"language": ["elo"]}, InputError, r"must be one of the methods that solve the pool \(borda, copeland"),
        ({"language": ["stv"]}, InputError, "must be one of the methods that solve the pool"),
        ({"language": ["borda", "borda"]}, InputError, "once, got 'borda'"),
        ({"language": ["contextual_bradley_terry"]}, NotApplicable, "slices keep no features of games"),
    ],
)
def test_what_slices_cannot_be_solved_by_is_refused(slices: dict[str, list[str]], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        plan_of(control(), "p", {**METHODS, "contextual_bradley_terry": {"prior": 1}}, 1.0, slices)


def test_what_can_be_solved_is_computed_again_only_for_a_changed_pool() -> None:
    state, known = control(SolvePlan(pool="p", methods=METHODS, time=0.0, slices={"map": ("borda",)})), KnownContents()
    checkpoint = entry()
    contents, offered = known.of([checkpoint], state)
    assert (contents, offered) == (contents_of([checkpoint], state), offered_methods(contents, state))
    again = known.of([checkpoint], state)
    assert again == (contents, offered)
    assert all(again[0][key] is contents[key] for key in contents), "a slice's entry is made once"
    newer = entry(dust="newer")
    assert known.of([newer], state)[1] == offered_methods(contents_of([newer], state), state) != offered
    state.apply(state.position, SolvePlan(pool="p", methods={"borda": {}}, time=1.0))
    assert known.of([newer], state)[1].keys() == {Job("p", "borda")}
    assert known.of([], state) == ({}, {})


def test_all_tags_together_have_at_most_eight_methods() -> None:
    methods: dict[str, dict[str, Any]] = {name: {} for name in ("borda", "copeland", "maximal_lottery", "bradley_terry", "kemeny")}
    wanted = list(methods)
    assert len(plan_of(control(), "p", methods, 1.0, {"language": wanted, "map": wanted[:3]}).slices) == 2
    with pytest.raises(InputError, match=r"must be at most 8 methods of all tags together, .* got 9"):
        plan_of(control(), "p", methods, 1.0, {"language": wanted, "map": wanted[:4]})


def test_a_tag_of_a_generation_that_is_requested_may_be_chosen() -> None:
    state = control(fold=FoldSettings())
    with pytest.raises(InputError, match="it has none"):
        plan_of(state, "p", METHODS, 1.0, {"language": ["borda"]})
    state.apply(state.position, GenerationRequest(pool="p", time=1.0, fold=FOLD))
    assert plan_of(state, "p", METHODS, 1.0, {"language": ["borda"]}).slices == {"language": ("borda",)}


def test_a_plan_without_slices_is_the_record_that_it_was() -> None:
    plain = SolvePlan(pool="p", methods={"borda": {}}, time=1.0)
    assert records.encode(plain)[1] == b'{"type":"solves","pool":"p","methods":{"borda":{}},"time":1.0}'
    sliced = msgspec.structs.replace(plain, slices={"language": ("borda",)})
    assert records.decode(records.encode(sliced)[1]) == sliced


def test_slices_are_offered_by_tag_with_their_own_data() -> None:
    plan = SolvePlan(pool="p", methods={"borda": {"k": 1}, "copeland": {}}, time=1.0, slices={"language": ("borda",)})
    state = control(plan)
    contents = contents_of([entry()], state)
    offered = offered_methods(contents, state)
    assert {job.board for job in offered} == {"borda", "copeland", ENGLISH.board("borda"), GERMAN.board("borda")}
    given = offered[Job("p", ENGLISH.board("borda"))]
    assert given == Given("1/english", 10, {"k": 1})
    part = contents[ContentKey("p", part_of(ENGLISH.board("borda")))]
    assert (part.slice, part.outcomes, part.digest, part.object, part.slices) == ("language:English", 10, "english", "o", [])
    assert {job.board for job in offered_methods(contents_of([entry()], control()), control()) if job.sliced} == set(), "without a choice"


def test_only_slices_with_new_outcomes_are_due_again_and_they_follow_pools() -> None:
    state = control(SolvePlan(pool="p", methods={"borda": {}}, time=1.0, slices={"language": ("borda",), "map": ("borda",)}))
    pace, ledger = SolvePace(10.0, 1000), Ledger()

    def due_at(now: float, checkpoint: PoolEntry) -> list[str]:
        offered = offered_methods(contents_of([checkpoint], state), state)
        jobs = due(now, offered, ledger, pace, {"borda": 0})
        ledger.queue(jobs, now)
        return [job.board for job in jobs]

    def solve(board: str, checkpoint: PoolEntry, now: float) -> None:
        offered = offered_methods(contents_of([checkpoint], state), state)
        ledger.start(Job("p", board), offered[Job("p", board)], now)
        ledger.finish(Job("p", board), JobEvent.SUCCEEDED)

    first = due_at(0.0, entry())
    assert first[0] == "borda"
    assert len(first) == 4
    for board in first:
        solve(board, entry(), 0.0)
    assert due_at(100.0, entry()) == []
    later = msgspec.structs.replace(entry(dust="more"), digest="more", position=12)
    assert due_at(200.0, later) == ["borda", DUST.board("borda")]
    solve("borda", later, 200.0)
    again = msgspec.structs.replace(later, digest="most", position=15)
    assert due_at(200.0 + 4 * 10.0, again)[0] == "borda", "a pool comes before a slice that waits a little longer"
    solve("borda", again, 240.0)
    newest = msgspec.structs.replace(later, digest="newest", position=18)
    assert due_at(200.0 + 9 * 10.0, newest)[0] == DUST.board("borda"), "and after one that waits much longer"


def test_a_board_of_a_pool_does_not_wait_for_hundreds_of_its_slices() -> None:
    pace, ledger, own = SolvePace(10.0, 1000), Ledger(), Job("p", "borda")
    slices = {Job("p", SliceName("map", f"map {i}").board("borda")): Given("1/a", 5, {}) for i in range(300)}
    ledger.queue(due(0.0, slices, ledger, pace, {}), 0.0)
    queue = due(200.0, {**slices, own: Given("1/b", 5, {})}, ledger, pace, {})
    assert len(queue) == 301
    assert queue.index(own) == 15, "the slices that waited for longer than five intervals and the turns before them"
    ledger.queue(queue, 200.0)
    assert due(200.0 + 10.0 * 306, {**slices, own: Given("1/b", 5, {})}, ledger, pace, {})[-1] != own, "nor do slices starve"


def test_a_slice_that_vanishes_before_it_was_solved_leaves_nothing_in_the_ledger() -> None:
    ledger, solved, waiting = Ledger(), Job("p", ENGLISH.board("borda")), Job("p", GERMAN.board("borda"))
    ledger.queue([solved, waiting], 0.0)
    ledger.start(solved, Given("1/a", 5, {}), 0.0)
    ledger.queue([], 1.0)
    ledger.forget_ended([])
    assert (ledger.newest(waiting), ledger.newest(solved) is None) == (None, False), "the solve still runs"
