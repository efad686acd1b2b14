"""What applies to a pool, what was chosen for it, and what no choice may hold."""

import pytest

from ratings_core.errors import InputError
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.solve.registry.choice import choices, plan_of
from services.solve.registry.methods import METHODS, NotApplicable, defaults
from services.wire.pools import Kind


def control(kind: Kind = Kind.GAMES, **fold: object) -> ControlState:
    state = ControlState()
    made = PoolCreated(pool="p", kind=kind, time=0.0, fold=FoldSettings(**fold))
    state.apply(0, made)
    state.apply(1, Generation(pool="p", number=1, start=0, time=0.0, fold=made.fold))
    return state


@pytest.mark.parametrize("kind", Kind)
def test_where_nobody_chose_the_defaults_of_the_kind_stand(kind: Kind) -> None:
    found = choices(control(kind), "p")
    assert [row.method for row in found] == list(METHODS)
    assert {row.method: row.chosen for row in found if row.chosen is not None} == defaults(kind)
    assert all(row.why_not is None for row in found if row.chosen is not None)


def test_what_does_not_apply_says_what_it_needs() -> None:
    assert all(row.why_not is None for row in choices(control(Kind.SCORES), "p"))
    assert "ballots" in next(row.why_not or "" for row in choices(control(), "p") if row.method == "stv")


def test_a_plan_replaces_what_was_chosen() -> None:
    state = control()
    plan = plan_of(state, "p", {"borda": {}, "approval": {"k": "3"}}, 5.0)
    assert (plan.methods, plan.time) == ({"borda": {}, "approval": {"k": 3}}, 5.0)
    state.apply(2, plan)
    assert {row.method: row.chosen for row in choices(state, "p") if row.chosen is not None} == {"borda": {}, "approval": {"k": 3}}


@pytest.mark.parametrize(
    ("wanted", "kind", "words"),
    [
        ({"stv": {}}, NotApplicable, "ballots"),
        ({"nash_average": {}}, NotApplicable, "results on tasks"),
        ({"borda2": {}}, InputError, "must be one of"),
        ({"approval": {"k": 0}}, InputError, "whole number from 1"),
        ({"approval": {"kk": 2}}, InputError, "must be one of k"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wanted: dict[str, dict[str, object]], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        plan_of(control(), "p", wanted, 0.0)


def test_an_unknown_pool_is_refused() -> None:
    with pytest.raises(InputError, match="must be a pool"):
        choices(control(), "q")
