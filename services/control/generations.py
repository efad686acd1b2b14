"""Which generation a pool is folded by next, and whether it can run. Pure: what the control log says in, records out."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec.structs import replace

from ratings_core.errors import InputError
from ratings_core.online import RATERS, Rater
from ratings_core.records.names import check_name, check_visible_name
from services.control.erasures import NameMatcher
from services.control.records import FOLD_VERSION, ControlState, FoldSettings, Generation, GenerationRequest, Start
from services.wire.pools import Kind


def make_raters(kind: Kind, fold: FoldSettings) -> dict[str, Rater[Any]]:
    """The raters of a pool by name. Raises `InputError` for methods, parameters or values that cannot run."""
    methods = fold.methods(kind)
    if kind is Kind.SCORES and methods:
        raise InputError("fold.online", sorted(methods), "must be empty for a pool of scores: online raters fold games")
    return {name: _make(name, parameters) for name, parameters in methods.items()}


def _make(name: str, parameters: Mapping[str, float]) -> Rater[Any]:
    if name not in RATERS:
        raise InputError("fold.online", name, f"must be among {', '.join(RATERS)}")
    known = [field.name for field in fields(RATERS[name])]  # type: ignore[arg-type]  # raters are dataclasses by their protocol
    if unknown := sorted(set(parameters) - set(known)):
        raise InputError(f"fold.online.{name}", unknown[0], f"must be among {', '.join(known)}")
    return RATERS[name](**parameters)


_MOST_RATING = 1e9
_MOST_SECONDS = 2**63 - 1
_NONE: Mapping[str, Any] = MappingProxyType({})


def check(
    kind: Kind,
    fold: FoldSettings,
    initial: Mapping[str, Mapping[str, float]] = _NONE,
    aliases: Mapping[str, str] = _NONE,
    bans: Collection[str] = (),
) -> None:
    """Raises `InputError` where a generation of a pool of this kind could not run so."""
    raters = make_raters(kind, fold)
    if fold.clustered and kind is Kind.SCORES:
        raise InputError("clustered", fold.clustered, "must be false for scores, whose intervals redraw tasks")
    if fold.features and kind is Kind.SCORES:
        raise InputError("features", list(fold.features), "must be left out for scores: only games have features")
    _check_features(fold.features)
    if fold.bucket_seconds is not None and fold.bucket_seconds > _MOST_SECONDS:
        raise InputError("bucket_seconds", fold.bucket_seconds, f"must be at most {_MOST_SECONDS}")
    if unknown := sorted(initial.keys() - raters.keys()):
        raise InputError("initial", unknown[0], f"must be for the pool's online methods ({', '.join(raters) or 'it has none'})")
    _check_names("aliases", [*aliases, *aliases.values()])
    _check_names("bans", bans)
    if chained := sorted(name for name in aliases.values() if name in aliases):
        raise InputError("aliases", chained[0], "must not be an alias itself: name the agent that it stands for")
    if aliased := sorted(name for name in bans if name in aliases):
        raise InputError("bans", aliased[0], f"must not be an alias: ban {aliases[aliased[0]]}, which it stands for")
    for method, ratings in initial.items():
        _check_ratings(f"initial.{method}", ratings, {*aliases, *bans})


def _check_names(argument: str, names: Collection[str]) -> None:
    for name in names:
        check_name(name, argument)


def _check_features(names: Sequence[str]) -> None:
    _check_names("features", names)
    if len(set(names)) != len(names):
        raise InputError("features", list(names), "must name each feature once")


def _check_ratings(argument: str, ratings: Mapping[str, float], unrated: Collection[str]) -> None:
    _check_names(argument, ratings)
    if left_out := sorted(name for name in ratings if name in unrated):
        raise InputError(argument, left_out[0], "must not be an alias or banned, as no such agent is rated")
    if wrong := [rating for rating in ratings.values() if not (math.isfinite(rating) and abs(rating) <= _MOST_RATING)]:
        raise InputError(argument, wrong[0], f"must be from {-_MOST_RATING:g} to {_MOST_RATING:g}")


def wish(
    standing: Generation | GenerationRequest,
    *,
    time: float,
    fold: FoldSettings | None = None,
    initial: Mapping[str, Mapping[str, float]] | None = None,
    aliases: Mapping[str, str] | None = None,
    bans: Collection[str] | None = None,
    start: Start | None = None,
) -> GenerationRequest:
    """The present settings, with the given parts replaced; a request that waits keeps its start.

    Raises `InputError` if an alias stands for an agent whose name is not displayed as a whole. Aliases and bans themselves may be any
    name, because outcomes in the log may have it.
    """
    for target_name in (aliases or {}).values():
        check_visible_name(target_name, "aliases")
    if start is None:
        start = standing.start if isinstance(standing, GenerationRequest) else "same"
    return GenerationRequest(
        pool=standing.pool,
        time=time,
        fold=standing.fold if fold is None else fold,
        initial=standing.initial if initial is None else {method: dict(ratings) for method, ratings in initial.items()},
        aliases=standing.aliases if aliases is None else dict(aliases),
        bans=standing.bans if bans is None else tuple(sorted(set(bans))),
        start=start,
    )


def first(wanted: tuple[int, GenerationRequest], offset: int, time: float) -> Generation:
    """Generation 1 of a pool whose wish came before its first outcome, which is at `offset`."""
    at, asked = wanted
    return Generation(
        pool=asked.pool,
        number=1,
        start=offset,
        time=time,
        fold=asked.fold,
        initial=asked.initial,
        aliases=asked.aliases,
        bans=asked.bans,
        wanted=at,
    )


def is_reached(wanted: GenerationRequest, position: int) -> bool:
    """Whether a generation may begin where the wish asks: at a position ahead of the shard nothing would count until then."""
    return not isinstance(wanted.start, int) or wanted.start <= position


def after_wish(control: ControlState, wanted: tuple[int, GenerationRequest], position: int, horizon: int, time: float) -> Generation:
    """The generation that fulfils a wish. position: of the shard; horizon: below which it knows retractions."""
    at, asked = wanted
    made = control.generations[asked.pool]
    match asked.start:
        case "same":
            start = made[control.served(asked.pool)].start
        case "now":
            start = position
        case int():
            start = max(asked.start, made[1].start)  # what came before the pool was refused then, and stays refused
    if start < made[control.served(asked.pool)].start:  # the shard has seen no retractions there
        horizon = position
    return Generation(
        pool=asked.pool,
        number=max(made) + 1,
        start=start,
        time=time,
        fold=asked.fold,
        retraction_horizon=horizon if horizon > start else 0,
        initial=asked.initial,
        aliases=asked.aliases,
        bans=asked.bans,
        wanted=at,
    )


def again(control: ControlState, base: Generation, horizon: int, time: float) -> Generation:
    """`base` again, by this version and without what was retracted below `horizon`."""
    return Generation(
        pool=base.pool,
        number=max(control.generations[base.pool]) + 1,
        start=base.start,
        time=time,
        fold=base.fold,
        retraction_horizon=horizon,
        initial=base.initial,
        aliases=base.aliases,
        bans=base.bans,
        wanted=base.wanted,
    )


def erasing(control: ControlState, made: Generation) -> Generation:
    """`made` with every erasure of its pool: its edits and initial ratings name the tokens."""
    erased = control.erasures.names(made.pool)
    if not erased:
        return made
    return replace(without_names(made, NameMatcher(erased)), erased=erased)


_Edited = TypeVar("_Edited", bound=Generation | GenerationRequest)


def without_names(record: _Edited, names: NameMatcher) -> _Edited:
    """`record` with tokens in place of erased names in its edits and initial ratings."""
    name = names.replaced
    return replace(
        record,
        initial={method: {name(agent): rating for agent, rating in ratings.items()} for method, ratings in record.initial.items()},
        aliases={name(alias): name(agent) for alias, agent in record.aliases.items()},
        bans=tuple(sorted(map(name, record.bans))),
    )


def lacks_erasures(control: ControlState, made: Generation) -> bool:
    """Whether a name of the pool is to be erased that `made` still folds."""
    return not set(made.erased).issuperset(control.erasures.names(made.pool))


def target(control: ControlState, pool: str, standing: int, failed: Collection[int] = ()) -> Generation | None:
    """The generation to build beside number `standing`, if any: the newest, or the one that serves where that one failed."""
    made = control.generations.get(pool, {})
    for number in (max(made, default=0), control.served(pool)):
        if number > standing and number not in failed and number in made and made[number].fold_version == FOLD_VERSION:
            return made[number]
    return None
