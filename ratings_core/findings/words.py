"""Findings in plain words: one text for each part of a report."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from ratings_core.findings.records import (
    Clones,
    Connectivity,
    Cycles,
    Cyclicity,
    Disagreement,
    Distance,
    Finding,
    Findings,
    LookAlikes,
    Order,
    Prequential,
    ThinLeaders,
    Top,
)
from ratings_core.records.shapes import OTHERS_NAME
from ratings_core.words import counted

_SHOWN: Final = 5
_SMALL_SHARE: Final = 5e-4
"""Shares below it would be written as 0.0%."""
PartT = TypeVar("PartT", bound=Finding)


def lines(findings: Findings) -> list[tuple[str, str]]:
    """Name and text of each part of a report."""
    of_outcomes = outcome_lines({name: getattr(findings, name) for name in _OF_OUTCOMES})
    return [
        *of_outcomes[:-1],
        ("look-alikes", _part_text(findings.look_alikes, _look_alikes)),
        of_outcomes[-1],
        ("disagreement", _part_text(findings.disagreement, _disagreement)),
        ("forecasts", _part_text(findings.prequential, forecast_lines)),
    ]


def outcome_lines(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each part that outcomes determine. parts: Name of a field of `Findings` -> the part."""
    return [(about, _part_text(parts[name], words)) for name, (about, words) in _OF_OUTCOMES.items()]


def _part_text(part: PartT, lines: Callable[[PartT], Iterator[str]]) -> str:
    return f"not applicable: {part.not_applicable}" if part.not_applicable else "\n".join(lines(part))


def _connectivity(part: Connectivity) -> Iterator[str]:
    pairs = "1 pair" if part.pairs == 1 else f"{part.pairs:,} pairs"
    yield f"{pairs} with games ({part.density:.1%} of all pairs)" + ("; all agents are linked" if part.components == 1 else "")
    if part.components > 1:
        yield f"{part.components} groups without games between them; outside the largest: {_some(part.apart, part.apart_total)}"
    if part.thin_total:
        least = [f"{thin.agent} ({counted(thin.games, 'game')} against {thin.opponents})" for thin in part.thin[:_SHOWN]]
        yield f"weakly connected (fewer than {part.threshold:.3g} effective games): {_some(least, part.thin_total)}"
    yield from _leaders(part.leaders)


def _leaders(boards: Iterable[ThinLeaders]) -> Iterator[str]:
    """One line for each group of boards with the same weakly connected leaders. Agents are in the order of the group's first board."""
    groups: defaultdict[tuple[int, frozenset[str]], list[ThinLeaders]] = defaultdict(list)
    for board in boards:
        groups[board.of, frozenset(board.agents)].append(board)
    for first, *others in groups.values():
        by = ", ".join([first.method, *(board.method for board in others)])
        yield f"weakly connected among the first {first.of} by {by}: {', '.join(first.agents)}"


def _cyclicity(part: Cyclicity) -> Iterator[str]:
    if part.against_order is None:
        yield "the insight was computed by an earlier version"
        return
    if part.against_order == 0:
        yield "one order agrees with all head-to-head majorities"
    else:
        contradicted = _contradicted(part.against_order, part.against_order_least)
        yield f"the best order contradicts {contradicted} of the margins of head-to-head majorities"
    strengths, assumes = "one strength for each agent", f"assumes {part.assumes}"
    if part.unexplained is None:
        yield f"variation that strengths do not explain: not known ({part.no_unexplained})"
    elif part.within_noise:
        yield f"{strengths} is compatible with the results: {part.unexplained:.1%} not explained is within noise ({assumes})"
    else:
        yield f"{strengths} does not explain {part.unexplained:.1%} of the results' variation, after noise is removed ({assumes})"


def _contradicted(share: float, least: float | None) -> str:
    """The share that the best order contradicts, or its bounds if they differ in what is shown."""
    high, low = _share(share), _share(share if least is None else least)
    return high if high == low else f"at most {high}" if (least or 0.0) < _SMALL_SHARE else f"{low} to {high}"


def _share(share: float) -> str:
    """A share in words: none that is above 0 is 0.0%."""
    return "less than 0.1%" if 0.0 < share < _SMALL_SHARE else f"{share:.1%}"


def _order(part: Order) -> Iterator[str]:
    high = "infinite" if part.high is None else f"{part.high:.3g}"
    interval = f"95 % interval {part.low:.3g} to {high}, from {part.pairs} pairs with several decided games"
    if part.kappa is None:
        yield f"pairs show no deviation from one strength for each agent (kappa infinite, {interval})"
        return
    yield f"pairs deviate from one strength for each agent; its prediction is worth kappa = {part.kappa:.3g} games ({interval})"
    yield f"evidence for deviations {part.evidence:.3g} nats, p = {part.p_value:.2g}"


def _cycles(part: Cycles) -> Iterator[str]:
    if not part.cycles:
        yield "none: the head-to-head majorities form no cycle"
        return
    for cycle in part.cycles:
        beats = " > ".join([*cycle.agents, cycle.agents[0]])
        tested = "" if cycle.proven is None else "; proven" if cycle.proven else "; not proven"
        yield f"{beats} (head-to-head majorities of {', '.join(f'{margin:g}' for margin in cycle.margins)}{tested})"
    if part.untested:
        yield f"not tested against chance: {part.untested}"


def _clones(part: Clones) -> Iterator[str]:
    for what, groups, total in (("equal agents", part.exact, part.exact_total), ("equal tasks", part.tasks, part.tasks_total)):
        for group in groups[:_SHOWN]:
            yield f"{what}: {_some(group, len(group))}"
        if total > _SHOWN:
            yield f"and {total - _SHOWN} more groups of {what}"
    for pair in part.near[:_SHOWN]:
        yield f"near copies: {' and '.join(pair.agents)} (mean results differ by at most {pair.distance:.3g})"
    if part.near_not_applicable:
        yield f"near copies: {part.near_not_applicable}"
    elif not (part.exact or part.tasks or part.near):
        if part.radius:
            yield f"none: no near copies within {part.radius:g}; weakly connected agents are not compared"
        else:
            yield "none"


def _look_alikes(part: LookAlikes) -> Iterator[str]:
    for group in part.groups[:_SHOWN]:
        yield "names look alike: " + "; ".join(
            f"{row.agent} (activity {row.activity:g}, {', '.join(row.characters) or 'plain ASCII'})" for row in group[:_SHOWN]
        )
    if part.groups_total > _SHOWN:
        yield f"and {part.groups_total - _SHOWN} more groups"
    elif not part.groups:
        yield "none: no two names look alike"


def _top(part: Top) -> Iterator[str]:
    number = f"{part.low}" if part.low == part.high else f"{part.low} to {part.high}" if part.high is not None else f"at least {part.low}"
    unit = part.unit if part.low != 1 or part.high != 1 else part.unit.removesuffix("s")
    names = _some(part.agents, part.agents_total)
    alone = part.agents_total == 1
    verb = "loses" if alone else "lose"
    top = f"{names} {verb} to no opponent" if part.agents else "every agent loses to another one"
    yield f"by majority of head-to-head results, {top}; without {number} {unit}, {part.rival} would be level or ahead"
    if part.elsewhere:
        places = ", ".join(f"{rank} by {method}" for method, rank in part.elsewhere.items())
        yield f"other boards rank {'it' if alone else 'the best of them'} lower: {places}"
    if part.unrated_by:
        does = "does" if len(part.unrated_by) == 1 else "do"
        yield f"{', '.join(part.unrated_by)} {does} not have a settled rating of {'it' if alone else 'them'}"
    if part.votes:
        yield f"{part.unit}: {', '.join(part.votes)}"


def _disagreement(part: Disagreement) -> Iterator[str]:
    for row in part.disputed[:_SHOWN]:
        high, low = _place(row.high_place, row.high_shared), _place(row.low_place, row.low_shared)
        yield f"{row.agent}: place {high} by {row.high}, {low} by {row.low}"
    if not any(pair.kendall for pair in part.distances):
        yield "none: all boards order the agents that they rank alike"
    elif not part.disputed and not any(pair.opposite is None or pair.opposite > 0 for pair in part.distances):
        yield "none: no two boards order two agents oppositely"
    else:
        yield f"{' and '.join(part.distances[0].methods)} differ most: they {_orders(part.distances[0])}"
    yield from _not_compared(part)


def _place(place: int, shared: int) -> str:
    return f"{place} (shared by {shared})" if shared > 1 else str(place)


def _not_compared(part: Disagreement) -> Iterator[str]:
    """Lines about the agents and the boards that are left out of the comparison."""
    for board in part.methods:
        if board.rated < part.agents:
            yield f"{board.method} has settled ratings of {board.rated} of the {part.agents} agents, and is compared by these alone"
    if part.left_out:
        yield f"not compared, because they have settled ratings of too few agents: {', '.join(part.left_out)}"
    if part.unsettled:
        yield f"without a settled rating on these boards: {counted(part.unsettled, 'agent')}"


def _orders(pair: Distance) -> str:
    """How two methods order the pairs of agents, in the words of the page."""
    if pair.opposite is None:
        return f"order {pair.kendall:.1%} of the pairs of agents differently, where a pair that only one of them ties counts as half"
    pairs = f"{_share(pair.opposite)} of the pairs" if pair.opposite else "no pair"
    return f"order {pairs} of agents oppositely" + (
        f"; {_share(pair.tied)} of the pairs are tied by one of the two alone" if pair.tied else ""
    )


def forecast_lines(part: Prequential) -> Iterator[str]:
    """One line for each method and shape of games."""
    several = len({forecast.shape for forecast in part.forecasts}) > 1
    for forecast in part.forecasts:
        method = f"{forecast.method}, {_games(forecast.shape)}" if several else forecast.method
        if not forecast.enough:
            yield f"{method}: not enough outcomes yet ({forecast.pairs:g} of {part.least_pairs:g} predicted pairs)"
            continue
        named = (("log loss", forecast.log_loss), ("Brier", forecast.brier), ("calibration error", forecast.calibration_error))
        means = [f"{name} {value:.4f}" for name, value in named if value is not None]
        wrong = [] if forecast.kendall is None else [f"{forecast.kendall:.1%} of wins predicted wrongly"]
        yield f"{method}: {', '.join([*means, *wrong]) or 'no pair yet'}"
    if any(forecast.enough and forecast.log_loss is not None for forecast in part.forecasts):
        yield "to compare: a coin has log loss 0.6931; its Brier score is 0.25 in decided games and 0 in ties"


def _games(shape: str | None) -> str:
    return "games of other shapes" if shape == OTHERS_NAME else f"games {shape}"


def _some(names: Iterable[str], total: int) -> str:
    shown = list(names)[:_SHOWN]
    return ", ".join(shown) + (f" and {total - len(shown)} more" if total > len(shown) else "")


_OF_OUTCOMES: Final[Mapping[str, tuple[str, Callable[[Any], Iterator[str]]]]] = {
    "connectivity": ("links", _connectivity),
    "cyclicity": ("cyclicity", _cyclicity),
    "order": ("order", _order),
    "cycles": ("cycles", _cycles),
    "clones": ("clones", _clones),
    "top": ("the top", _top),
}
"""Field of `Findings` that outcomes determine -> its name for people, and what gives its lines."""
