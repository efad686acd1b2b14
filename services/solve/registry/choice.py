"""The methods that are solved for a pool: which ones apply to it, which ones were chosen, and the checks of a choice."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from ratings_core.checks import similar
from ratings_core.errors import InputError
from ratings_core.methods import registry
from ratings_core.methods.method import GIVEN_BY_SCORES, Takes, given_by_games
from ratings_core.methods.parameters import accepted
from ratings_core.methods.recency import RECENCY, check_half_life
from ratings_core.methods.rosters import ROSTER
from ratings_core.options import Value
from services.control.records import ControlState, FoldSettings, LeadingMethod, SolvePlan
from services.solve.registry import methods
from services.solve.registry.rehearsal import rehearse
from services.wire.pools import Kind, check_pool_name

Chosen = Mapping[str, Mapping[str, Value]]
MOST_SLICE_METHODS: Final = 8
"""Largest number of methods of slices, of all tags together. Each is solved for up to `slice_values` slices."""


class MethodChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A solved method in relation to a pool.

    Attributes:
        method: Name of the method.
        chosen: Parameters with which the pool is solved by it; None if the pool is not solved by it.
        why_not: Why the method does not apply to the pool; None if it applies.
        slices: Tags whose slices are solved by it, too.
    """

    method: str
    chosen: dict[str, float | str | bool] | None  # not `Value`: with int and float, a number would match two types of the OpenAPI document
    why_not: str | None
    slices: list[str] = []


def given_by(kind: Kind, fold: FoldSettings) -> frozenset[Takes]:
    """The kinds of input that the tallies of a pool provide to methods."""
    return GIVEN_BY_SCORES if kind is Kind.SCORES else given_by_games(per_task=fold.per_task, features=bool(fold.features))


def chosen_for(plan: SolvePlan | None, kind: Kind) -> Chosen:
    """The methods of a pool's plan with their parameters; the defaults of its kind if it has no plan."""
    return methods.defaults(kind) if plan is None else plan.methods


def choices(control: ControlState, pool: str) -> list[MethodChoice]:
    """Every method of the registry, in its order. Raises `InputError` for an unknown pool."""
    kind, fold = _pool(control, pool)
    plan, given = control.plans.get(pool), given_by(kind, fold)
    chosen, slices = chosen_for(plan, kind), {} if plan is None else plan.slices
    return [
        MethodChoice(
            method=name,
            chosen=dict(chosen[name]) if name in chosen else None,
            why_not=None if method.takes in given else registry.LACKING[method.takes],
            slices=sorted(tag for tag, methods in slices.items() if name in methods),
        )
        for name, method in registry.METHODS.items()
    ]


def plan_of(control: ControlState, pool: str, wanted: Chosen, now: float, slices: Mapping[str, Sequence[str]] | None = None) -> SolvePlan:
    """Make the control record that chooses the methods of a pool.

    The record holds only the given parameters, converted to their types. All others follow the registry's defaults, also when a later
    version changes them. A method that is new to the pool, or whose parameters change, is rehearsed on a few agents.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        wanted: Method -> its given parameters.
        now: Seconds since 1970.
        slices: Key of a tag -> methods, some of `wanted`, that solve the pool's slices by this tag. None keeps the present ones, without
            methods that are not in `wanted`.

    Raises:
        InputError: The pool, a method or a parameter is unknown, a value is invalid, or no data of such a pool can be solved with the
            parameters. The pool does not have a tag or a method of `slices`, or they are too many.
        NotApplicable: The pool does not provide the input of a method, or slices do not.
    """
    kind, fold = _pool(control, pool)
    given, before = given_by(kind, fold), chosen_for(control.plans.get(pool), kind)
    kept: dict[str, dict[str, Value]] = {}
    for name, parameters in wanted.items():
        method = registry.find(name)
        if method.takes not in given:
            raise registry.NotApplicable("method", name, registry.LACKING[method.takes])
        values = accepted((*method.parameters, *ROSTER, *RECENCY), parameters)
        check_half_life(float(values["half_life"]), games=kind is Kind.GAMES, timed=fold.bucket_seconds is not None)
        kept[name] = {parameter: values[parameter] for parameter in parameters}
        if kept[name] != before.get(name):
            rehearse(method, kind, kept[name])
    if slices is None:
        present = control.plans.get(pool)
        standing = {} if present is None else present.slices
        slices = {tag: [name for name in methods if name in kept] for tag, methods in standing.items()}
    else:
        _check_slices(slices, kept, _tags(control, pool, fold))
    return SolvePlan(pool=pool, methods=kept, time=now, slices={tag: tuple(methods) for tag, methods in slices.items() if methods})


def _check_slices(slices: Mapping[str, Sequence[str]], chosen: Collection[str], tags: Collection[str]) -> None:
    """Raise `InputError` or `NotApplicable` for methods that cannot solve slices."""
    for tag, names in slices.items():
        if tag not in tags:
            rule = f"must be a tag of the pool's setting `slices` ({', '.join(sorted(tags)) or 'it has none'})"
            raise InputError("slices", tag, rule)
        for name in names:
            if name not in chosen or list(names).count(name) > 1:
                raise InputError(f"slices.{tag}", name, f"must be one of the methods that solve the pool ({', '.join(chosen)}), once")
            if registry.find(name).takes is Takes.FEATURES:
                raise registry.NotApplicable(f"slices.{tag}", name, "slices keep no features of games")
    if (number := sum(map(len, slices.values()))) > MOST_SLICE_METHODS:
        rule = f"must be at most {MOST_SLICE_METHODS} methods of all tags together, because each is solved for each slice of its tag"
        raise InputError("slices", number, rule)


def _tags(control: ControlState, pool: str, fold: FoldSettings) -> set[str]:
    """Tags by which the pool has slices, or will have them in a generation that is requested or being built."""
    newest, waiting = control.newest(pool), control.wish(pool)
    folds = [fold, *([] if newest is None else [newest.fold]), *([] if waiting is None else [waiting[1].fold])]
    return {tag for each in folds for tag in each.slices}


def leading_of(control: ControlState, pool: str, method: str, now: float, fold: FoldSettings | None = None) -> LeadingMethod:
    """Make the control record that chooses the method that the pages of a pool show first.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        method: Name of an online or solved method of the pool; empty to let pages choose.
        now: Seconds since 1970.
        fold: Settings of a generation that is requested with it; None for the present ones.

    Raises:
        InputError: The pool is unknown, or has no such method.
    """
    kind, present = _pool(control, pool)
    names = [*(fold or present).methods(kind), *chosen_for(control.plans.get(pool), kind)]
    if method and method not in names:
        raise InputError("leading_method", method, f"must be a method of the pool: {', '.join(names)}{similar(method, names)}")
    return LeadingMethod(pool=pool, method=method, time=now)


def _pool(control: ControlState, pool: str) -> tuple[Kind, FoldSettings]:
    created = control.pools.get(check_pool_name(pool))
    if created is None:
        raise InputError("pool", pool, "must be a pool that was created or has outcomes")
    serving = control.serving(pool)
    return created.kind, created.fold if serving is None else serving.fold
