"""Decides which generation of a pool is folded next, and checks whether it can run. Pure functions of the state of the control log."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ratings_core.errors import InputError
from ratings_core.online import RATERS, Rater
from ratings_core.records.names import check_name, check_visible_name
from services.control.erasures import NameMatcher
from services.control.records import (
    FOLD_VERSION,
    ControlState,
    FoldSettings,
    Generation,
    GenerationRequest,
    Opening,
    SeasonStart,
    Start,
    without_names,
)
from services.wire.pools import FIRST_SEASON, Kind

if TYPE_CHECKING:
    from services.runtime.settings import Settings


def default_fold(settings: "Settings") -> FoldSettings:
    """The settings of a pool that is created without settings. settings: Those of the installation."""
    return FoldSettings(max_agents=settings.max_agents, max_tasks=settings.max_tasks)


def make_raters(kind: Kind, fold: FoldSettings) -> dict[str, Rater[Any]]:
    """Raters of a pool by method. Raises `InputError` for an unknown method or parameter, or an invalid value."""
    methods = fold.methods(kind)
    if kind is Kind.SCORES and methods:
        raise InputError("fold.online", sorted(methods), "must be empty for a pool of scores: online raters fold games")
    return {name: _make(name, parameters) for name, parameters in methods.items()}


def rater_parameters(control: ControlState, pool: str, generation: int, kind: Kind, method: str) -> dict[str, float] | None:
    """The parameters of an online method in a generation, with defaults, without those that are not set; None if they are not known yet."""
    made = control.generations.get(pool, {}).get(generation)
    rater = None if made is None else make_raters(kind, made.fold).get(method)
    if rater is None:
        return None
    named = {field.name: getattr(rater, field.name) for field in fields(rater)}  # type: ignore[arg-type]  # as in `_make`
    return {name: value for name, value in named.items() if value is not None}


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
    """Raise `InputError` if a generation of a pool of this kind cannot run with these settings.

    Args:
        kind: Kind of the pool.
        fold: Settings of the fold.
        initial: Initial rating by method and agent.
        aliases: Agent by alias.
        bans: Banned agents.
    """
    raters = make_raters(kind, fold)
    if fold.clustered and kind is Kind.SCORES:
        raise InputError("clustered", fold.clustered, "must be false for scores, whose intervals resample tasks")
    if fold.by_shape and kind is Kind.SCORES:
        raise InputError("by_shape", fold.by_shape, "must be false for scores: only games have sides")
    if fold.features and kind is Kind.SCORES:
        raise InputError("features", list(fold.features), "must be left out for scores: only games have features")
    _check_features(fold.features)
    _check_slices(fold.slices, raters)
    if fold.bucket_seconds is not None and fold.bucket_seconds > _MOST_SECONDS:
        raise InputError("bucket_seconds", fold.bucket_seconds, f"must be at most {_MOST_SECONDS}")
    if unknown := sorted(initial.keys() - raters.keys()):
        raise InputError("initial", unknown[0], f"must be for the pool's online methods ({', '.join(raters) or 'it has none'})")
    _check_names("aliases", [*aliases, *aliases.values()])
    _check_names("bans", bans)
    if chained := sorted(name for name in aliases.values() if name in aliases):
        raise InputError("aliases", chained[0], "must not be an alias itself: name the agent of this alias")
    if aliased := sorted(name for name in bans if name in aliases):
        raise InputError("bans", aliased[0], f"must not be an alias: ban its agent {aliases[aliased[0]]}")
    for method, ratings in initial.items():
        _check_ratings(f"initial.{method}", ratings)


def _check_slices(slices: Mapping[str, Sequence[str]], raters: Collection[str]) -> None:
    rule = f"must be one or more online methods of the pool, each once ({', '.join(raters) or 'it has none'})"
    for dimension, methods in slices.items():
        if not methods or len(set(methods)) < len(methods) or not set(methods) <= set(raters):
            raise InputError(f"slices.{dimension}", list(methods), rule)


def _check_names(argument: str, names: Collection[str]) -> None:
    for name in names:
        check_name(name, argument)


def _check_features(names: Sequence[str]) -> None:
    _check_names("features", names)
    if len(set(names)) != len(names):
        raise InputError("features", list(names), "must name each feature once")


def _check_ratings(argument: str, ratings: Mapping[str, float]) -> None:
    _check_names(argument, ratings)
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
    season: SeasonStart | None = None,
) -> GenerationRequest:
    """Request for a generation with the present settings, except for the given parts. A waiting request keeps its start and its season.

    Args:
        standing: The newest request or generation of the pool.
        time: Time of the request, seconds since 1970.
        fold: New settings of the fold; None keeps the present ones.
        initial: New initial ratings by method and agent; None keeps the present ones.
        aliases: New agents by alias; None keeps the present ones.
        bans: New banned agents; None keeps the present ones.
        start: New start; None keeps that of a waiting request, else it is `same`.
        season: The season to begin at `start`; None keeps that of a waiting request.

    Raises:
        InputError: The start is before that of the pool's season. Or the agent behind an alias has a name with hidden characters; aliases
            and bans may be any name, because outcomes in the log may have it.
    """
    for target_name in (aliases or {}).values():
        check_visible_name(target_name, "aliases")
    start, season = _place(standing, start, season)
    return GenerationRequest(
        pool=standing.pool,
        time=time,
        fold=standing.fold if fold is None else fold,
        initial=standing.initial if initial is None else {method: dict(ratings) for method, ratings in initial.items()},
        aliases=standing.aliases if aliases is None else dict(aliases),
        bans=standing.bans if bans is None else tuple(sorted(set(bans))),
        start=start,
        season=season,
    )


def _place(
    standing: Generation | GenerationRequest, start: Start | None, season: SeasonStart | None
) -> tuple[Start, SeasonStart | None]:  # fmt: skip
    """Start and season of a request. Raises `InputError` for a start before that of the season."""
    if season is not None:
        return "now" if start is None else start, season
    if isinstance(standing, GenerationRequest):
        if standing.season is not None and start == "same":
            raise InputError("start", start, f"must be now or a log position, where season {standing.season.name} begins")
        return standing.start if start is None else start, standing.season
    if standing.opening is not None and isinstance(start, int) and start < standing.opening.position:
        raise InputError("start", start, f"must be at least {standing.opening.position}, where season {standing.season} begins")
    return "same" if start is None else start, None


def check_initial(control: ControlState, wanted: GenerationRequest) -> None:
    """Raise `InputError` for a request with initial ratings in a season that begins with those of the season before."""
    base = control.base(wanted.pool)
    if base is None or not wanted.initial:
        return
    name = wanted.season.name if wanted.season is not None else base.season if base.opening is not None else None
    if name is not None:
        raise InputError("initial", sorted(wanted.initial), f"must be empty: season {name} begins with the ratings of the season before")


def make_first(wanted: tuple[int, GenerationRequest], offset: int, time: float) -> Generation:
    """Generation 1 of a pool with a request that was made before the pool's first outcome.

    Args:
        wanted: Offset of the request in the control log, and the request.
        offset: Offset of the first outcome in the outcome log.
        time: Time of the generation, seconds since 1970.
    """
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
        season=FIRST_SEASON if asked.season is None else asked.season.name,
    )


def is_reached(wanted: GenerationRequest, position: int) -> bool:
    """Whether the shard, at `position`, has reached the start of the request. A request with a later start waits."""
    return not isinstance(wanted.start, int) or wanted.start <= position


def after_wish(control: ControlState, wanted: tuple[int, GenerationRequest], position: int, horizon: int, time: float) -> Generation:
    """The generation that fulfills a request.

    Args:
        control: State of the control log.
        wanted: Offset of the request in the control log, and the request.
        position: Position of the shard.
        horizon: Retraction horizon, unless the new generation starts before the serving one; then its horizon is `position`.
        time: Time of the generation, seconds since 1970.
    """
    at, asked = wanted
    made, serving = control.generations[asked.pool], control.generations[asked.pool][control.served(asked.pool)]
    base, number = control.base(asked.pool) or serving, max(made) + 1
    match asked.start:
        case "same":
            start = base.start
        case "now":
            start = position
        case int():
            start = max(asked.start, made[1].start)  # records before the pool's creation were refused, and stay refused
    season, opening = base.season, base.opening
    if asked.season is not None:
        start = max(start, serving.start)  # a season begins where the one before ends
        season = asked.season.name
        methods = tuple(serving.fold.methods(control.pools[asked.pool].kind))
        opening = Opening(generation=serving.number, position=start, keep=asked.season.keep, first=number, methods=methods)
    elif opening is not None:
        start = max(start, opening.position)  # outcomes before it belong to the season before
    if start < serving.start:  # retractions between the two starts were not read
        horizon = position
    return Generation(
        pool=asked.pool,
        number=number,
        start=start,
        time=time,
        fold=asked.fold,
        retraction_horizon=horizon if horizon > start else 0,
        initial=asked.initial,
        aliases=asked.aliases,
        bans=asked.bans,
        wanted=at,
        season=season,
        opening=opening,
    )


def make_successor(control: ControlState, base: Generation, horizon: int, time: float) -> Generation:
    """A generation with the settings of `base`, for this FOLD_VERSION, that applies the retractions below `horizon`."""
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
        season=base.season,
        opening=base.opening,
    )


def erasing(control: ControlState, made: Generation) -> Generation:
    """Copy of `made` with all erasures of its pool. Its aliases, bans and initial ratings have tokens instead of erased names."""
    erased = control.erasures.names(made.pool)
    if not erased:
        return made
    return replace(without_names(made, NameMatcher(erased)), erased=erased)


def lacks_erasures(control: ControlState, made: Generation) -> bool:
    """Whether the pool has an erasure that the generation `made` does not apply."""
    return not set(made.erased).issuperset(control.erasures.names(made.pool))


def target(control: ControlState, pool: str, folded: int, failed: Collection[int] = ()) -> Generation | None:
    """The generation that a shard has to build next; None if it is up to date.

    This is the newest generation, or the serving one if the newest failed. It must have this FOLD_VERSION.

    Args:
        control: State of the control log.
        pool: Name of the pool.
        folded: Number of the generation that the shard folds now. Only higher numbers are built.
        failed: Numbers of the generations that could not be built.
    """
    made = control.generations.get(pool, {})
    for number in (max(made, default=0), control.served(pool)):
        if number > folded and number not in failed and number in made and made[number].fold_version == FOLD_VERSION:
            return made[number]
    return None
