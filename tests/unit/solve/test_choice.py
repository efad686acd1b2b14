"""What applies to a pool, what was chosen for it, and what no choice may hold."""

from dataclasses import replace

import pytest

from ratings_core.errors import InputError
from ratings_core.methods.method import Takes
from ratings_core.methods.registry import METHODS, NotApplicable
from ratings_core.options import Value
from services.control.records import ControlState, FoldSettings, SolvePlan
from services.solve.registry.choice import choices, plan_of
from services.solve.registry.methods import defaults
from services.solve.registry.rehearsal import rehearse
from services.wire.pools import Kind
from tests.support.pools import control_of, pool_of

FOLDS: dict[Kind, dict[str, object]] = {Kind.GAMES: {"per_task": True, "features": ("length",)}, Kind.SCORES: {"per_task": True}}
"""All that pools of a kind may keep for methods."""


def control(kind: Kind = Kind.GAMES, **fold: object) -> ControlState:
    return control_of(pool_of(kind=kind, fold=FoldSettings(**fold)))


@pytest.mark.parametrize("kind", Kind)
def test_where_nobody_chose_the_defaults_of_the_kind_stand(kind: Kind) -> None:
    found = choices(control(kind), "p")
    assert [row.method for row in found] == list(METHODS)
    assert {row.method: row.chosen for row in found if row.chosen is not None} == defaults(kind)
    assert all(row.why_not is None for row in found if row.chosen is not None)


def test_what_does_not_apply_says_what_it_needs() -> None:
    lacking = {row.method: row.why_not for row in choices(control(Kind.SCORES), "p") if row.why_not is not None}
    assert list(lacking) == ["contextual_bradley_terry"]
    assert "a number in the `meta`" in lacking["contextual_bradley_terry"]
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
        ({"nash_average": {}}, NotApplicable, "results counted per task"),
        ({"borda2": {}}, InputError, "must be one of"),
        ({"approval": {"k": 0}}, InputError, "whole number from 1"),
        ({"approval": {"kk": 2}}, InputError, "must be one of k"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wanted: dict[str, dict[str, object]], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        plan_of(control(), "p", wanted, 0.0)


@pytest.mark.parametrize(
    ("kind", "wanted", "argument", "words"),
    [
        (Kind.GAMES, {"deviation": {}}, "missing", "one of drop_tasks, drop_agents, prior, zero; or missing=refuse"),
        (Kind.GAMES, {"lle": {}}, "missing", "must be given for a pool"),
        (Kind.SCORES, {"cce": {}}, "missing", "must be given for a pool"),
        (Kind.GAMES, {"maximal_lottery": {"mode": "any"}}, "mode", "or set margins=observed"),
        (Kind.GAMES, {"nash_average_agents": {"margins": "posterior", "missing": "zero"}}, "missing", "must be left out"),
        (Kind.GAMES, {"deviation": {"missing": "drop_tasks", "normalise": "z"}}, "normalise", "must be none for games"),
        (Kind.SCORES, {"deviation": {"missing": "drop_tasks", "difference": "denoised"}}, "difference", "must be observed"),
        (Kind.GAMES, {"sco_fit": {"low": 200.0}}, "high", "must be a finite number > 200"),
        (Kind.GAMES, {"contextual_bradley_terry": {}}, "prior", "prior=1, for example; or prior=0"),
        (Kind.GAMES, {"copeland": {"only_agents": '["ann"]'}}, "only_agents", "at least 2 agents"),
        (Kind.GAMES, {"copeland": {"only_agents": "ann"}}, "only_agents", "JSON list"),
        (Kind.GAMES, {"copeland": {"most_agents": 1}}, "most_agents", "at least 2"),
    ],
)
def test_what_no_data_can_solve_is_refused_with_the_parameter_that_would_make_it_possible(
    kind: Kind, wanted: dict[str, dict[str, object]], argument: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        plan_of(control(kind, **FOLDS[kind]), "p", wanted, 0.0)
    assert caught.value.argument == argument


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_chosen_with_a_policy_for_missing_cells(kind: Kind, name: str) -> None:
    state = control(kind, **FOLDS[kind])
    if next(row.why_not for row in choices(state, "p") if row.method == name) is not None:
        return
    policy: dict[str, Value] = {"prior": 0.0} if METHODS[name].takes is Takes.FEATURES else {}
    if any(parameter.name == "missing" for parameter in METHODS[name].parameters):
        policy = {"missing": "zero"}
    assert plan_of(state, "p", {name: policy}, 0.0).methods == {name: policy}
    assert plan_of(state, "p", {name: {**policy, "most_agents": 3}}, 0.0).methods[name]["most_agents"] == 3


def test_a_rehearsal_of_whatever_tolerance_and_limits_does_little_work() -> None:
    """Nobody can cancel it: with these parameters four agents took a thread of the API for hours."""
    worked: list[Value] = []

    def solve(_: object, values: dict[str, Value]) -> object:
        worked.append(values["max_steps"])
        return METHODS["uniform"]

    given: dict[str, Value] = {"missing": "zero", "tolerance": 1e-300, "max_steps": 1_000_000}
    rehearse(replace(METHODS["lle"], run=solve), Kind.GAMES, given)  # type: ignore[arg-type]
    assert worked == [100]
    assert plan_of(control(per_task=True), "p", {"lle": given}, 0.0).methods == {"lle": given}, "solved with the parameters as they are"


def test_what_depends_on_the_data_is_chosen_at_the_caller_s_word() -> None:
    scores, games = control(Kind.SCORES), control(per_task=True)
    assert plan_of(scores, "p", {"stv": {"winners": 50}}, 0.0).methods == {"stv": {"winners": 50}}
    assert plan_of(games, "p", {"deviation": {"missing": "refuse"}}, 0.0).methods == {"deviation": {"missing": "refuse"}}
    assert plan_of(games, "p", {"bradley_terry": {"max_iterations": 1}}, 0.0).methods == {"bradley_terry": {"max_iterations": 1}}


def test_an_earlier_choice_stays_when_another_method_is_added() -> None:
    state = control(per_task=True)
    state.apply(2, SolvePlan(pool="p", methods={"deviation": {}}, time=1.0))
    assert plan_of(state, "p", {"deviation": {}, "borda": {}}, 2.0).methods == {"deviation": {}, "borda": {}}


def test_an_unknown_pool_is_refused() -> None:
    with pytest.raises(InputError, match="must be a pool"):
        choices(control(), "q")
