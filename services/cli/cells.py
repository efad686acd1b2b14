"""Tables for people: text of ratings, intervals and contributions, and lines about agents that were left out.

Programs read JSON instead, which contains everything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ratings_core.words import word_for_replicates
from services.boards.result import AgentRow, Intervals
from services.cli.fitted import FittedTable, folded, whole

_NOUGHT: Final = 1e-6
"""Ratings below this fraction of a column's largest rating are shown as 0, because they are rounding errors of a solver."""

_COUNTS: Final = ("games", "wins", "draws", "losses")
_LEAST: Final = ("licence", "organisation", "deviation", "losses", "draws", "wins", "country", "interval")
"""Columns of a board that a narrow terminal does without, the least important one first."""


def shower(ratings: Iterable[float | None], digits: int = 6, tied: float = 0.0) -> Callable[[float | None], str]:
    """A function that converts the ratings of a column to text, `-` for None.

    Args:
        ratings: All ratings of the column.
        digits: Number of significant digits.
        tied: Ratings that differ by at most this are equal. Smaller ratings are therefore shown as 0, even if that changes all of them.
    """
    nought = max(tied, _NOUGHT * max((abs(rating) for rating in ratings if rating is not None), default=0.0))

    def shown(rating: float | None) -> str:
        if rating is None:
            return "-"
        return "0" if abs(rating) < nought else f"{rating:.{digits}g}"

    return shown


def tied_within(extra: Mapping[str, object]) -> float:
    """The tie tolerance of a board, in units of its ratings; 0 if it has no tolerance, as live boards. extra: `extra` of the board."""
    tolerance = extra.get("tie_tolerance")
    return float(tolerance) if isinstance(tolerance, int | float) else 0.0


def interval_columns(rows: Sequence[AgentRow], tied: float = 0.0) -> dict[str, list[str]]:
    """Heading -> cells, for the deviations and intervals of rows; empty if rows have none. tied: as for `shower`."""
    columns: dict[str, list[str]] = {}
    if any(row.deviation is not None for row in rows):
        shown = shower(row.deviation for row in rows)
        columns["deviation"] = [shown(row.deviation) for row in rows]
    if any(row.low is not None or row.high is not None for row in rows):
        shown = shower((end for row in rows for end in (row.rating, row.low, row.high)), tied=tied)
        columns["interval"] = [_cell(row.low, row.high, shown) for row in rows]
    if any(row.rank_low is not None for row in rows):
        columns["ranks"] = [_cell(row.rank_low, row.rank_high, "{:g}".format) for row in rows]
    return columns


def contribution_column(rows: Sequence[AgentRow], extra: Mapping[str, object]) -> dict[str, list[str]]:
    """Heading -> cells, for the tasks with the largest contributions to each rating; empty if the method did not report them."""
    if not isinstance(contributions := extra.get("contributions"), dict):
        return {}
    shares = [contributions.get(row.agent, {}).items() for row in rows]
    return {"made of": [", ".join(f"{part} {share:+.3g}" for part, share in of_agent if share) for of_agent in shares]}


def detail_columns(rows: Sequence[AgentRow]) -> dict[str, list[str]]:
    """Heading -> cells, for details and games of agents; without those that no row has."""
    texts = ("display_name", "country", "organisation", "licence")
    columns = {name: [getattr(row, name) or "" for row in rows] for name in texts}
    for name in _COUNTS:
        columns[name] = ["" if (number := getattr(row, name)) is None else f"{number:.15g}" for row in rows]
    return {name: cells for name, cells in columns.items() if any(cells)}


def ranked_table(
    rows: Sequence[AgentRow], extra: Mapping[str, object], *, contributions: bool = False, title: str | None = None
) -> FittedTable:
    """A table with rank, agent and rating of rows, and their intervals, details and games if they have any.

    Args:
        rows: Rows of a board.
        extra: `extra` of the board.
        contributions: Whether to show the contributions of tasks to ratings.
        title: Title of the table.
    """
    tied = tied_within(extra)
    intervals, shown = interval_columns(rows, tied), shower((row.rating for row in rows), tied=tied)
    made_of = contribution_column(rows, extra) if contributions else {}
    details = detail_columns(rows)
    texts = [whole(name, right=True) if name in _COUNTS else folded(name) for name in (*details, *made_of)]
    numbers = [whole(name, right=True) for name in ("rating", *intervals)]
    table = FittedTable(whole("rank", right=True), folded("agent"), *numbers, *texts, least=_LEAST, title=title)
    cells = [*intervals.values(), *details.values(), *made_of.values()]
    for i, row in enumerate(rows):
        table.add_row(_rank(row), row.agent, shown(row.rating), *(column[i] for column in cells))
    return table


def _rank(row: AgentRow) -> str:
    if row.rating is None:
        return "-"
    return "?" if row.rank is None else str(row.rank)


def interval_line(intervals: Intervals) -> str:
    """A line that describes the intervals, or the reason why there are none."""
    if intervals.kind == "none":
        return f"no intervals: {intervals.why_not}"
    of = f" of {intervals.of}" if intervals.of else ""
    replicates = f" of {intervals.replicates} {word_for_replicates(intervals.kind)}" if intervals.replicates else ""
    missing = f", {intervals.failed} without a result" if intervals.failed else ""
    ranks = "; all ranks are within their intervals at once with the same probability"
    if intervals.kind == "belief" or not intervals.proven:
        ranks = ""
    what = f"{intervals.level:.0%} intervals" if intervals.proven else "Intervals"
    return f"{what}{of} ({intervals.kind}){replicates}{missing}{ranks}; assumption: {intervals.assumes}"


def roster_line(extra: Mapping[str, object]) -> str | None:
    """A line about the agents that were left out of a larger input; None if there are none."""
    if not isinstance(said := extra.get("roster"), dict):
        return None
    return f"of the {said['agents']} {said['by']} agents; {said['left_out']} are left out"


def _cell(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    return "-" if low is None or high is None else f"{shown(low)} to {shown(high)}"
