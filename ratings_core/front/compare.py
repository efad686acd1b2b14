"""`compare`: several methods on the same games, with the distances of their rankings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.front.bump_chart import bump_chart, height_of
from ratings_core.front.figures import add_title
from ratings_core.front.rate import INTERVAL_SECONDS, NO_HALF_LIFE, checked_method, read, seconds_of, sorted_if, with_columns
from ratings_core.front.rating import SHOWN, Rating
from ratings_core.front.release import release
from ratings_core.front.remarks import remarks
from ratings_core.front.tables import drawn, drawn_html, not_shown, number
from ratings_core.online import RATERS
from ratings_core.options import Value
from ratings_core.ranking import Ranking, normalised_kendall_tau
from ratings_core.solution import Floats
from ratings_core.words import counted

METHODS: Final = ("elo", "bradley_terry", "maximal_lottery", "copeland")
"""Methods that are compared by default."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Ratings of the same agents by several methods.

    Attributes:
        ratings: Method -> its result, in the order in which the methods were given. All results have the same agents.
        distances: float64 (methods, methods), share of the pairs of agents that two methods order differently, from 0 to 1; a pair that is
            tied in exactly one of the rankings counts half (Kendall's distance). Of the agents that both rate; NaN if these are fewer than
            two.
    """

    ratings: Mapping[str, Rating]
    distances: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the agents."""
        return next(iter(self.ratings.values())).names

    def __getitem__(self, method: str) -> Rating:
        """The result of a method. Raises `InputError` for a method that was not compared."""
        if method not in self.ratings:
            raise InputError("method", method, f"must be one of {', '.join(self.ratings)}{checks.similar(method, list(self.ratings))}")
        return self.ratings[method]

    def table(self) -> Any:
        """Rating and rank of each agent by each method as an Arrow table, in the order of the first method. Unrated: rank null.

        A method with intervals has four more columns: the ends of the rating's interval (`_low`, `_high`), and of the rank's.
        """
        import pyarrow as pa  # noqa: PLC0415 - takes time to load

        order = self._order()
        columns: dict[str, Any] = {"agent": [self.names[i] for i in order]}
        for method, rating in self.ratings.items():
            rank = pa.array(rating.ranking.rank[order], mask=np.isnan(rating.ratings[order]))
            columns |= {f"{method}_rank": rank, method: rating.ratings[order]}
            ends = {"low": rating.low, "high": rating.high, "rank_low": rating.rank_low, "rank_high": rating.rank_high}
            columns |= {f"{method}_{name}": values[order] for name, values in ends.items() if values is not None}
        return pa.table(columns, metadata={"equirank_version": release()})

    def plot(self, agents: int = SHOWN) -> Any:
        """Ranks by method as a bump chart, one line for each agent, as a figure of plotly, which ``figure.write_html(path)`` saves.

        Methods are from left to right and the best rank is at the top. The height of a point is the agent's rank among the agents shown,
        and the number in it is the rank among all agents. Lines of agents that share a rank meet in one point. A line has a gap at a method
        that gives the agent no rating, and an agent that no method rates is not drawn. The title counts agents that are not shown, and
        those without a rating. Below it are the remarks of the printed table: agents without a rating and why, and groups of agents whose
        ratings do not compare.

        Args:
            agents: Largest number of agents shown, the best ones of the first method.

        Raises:
            InputError: `agents` is below 1.
            MissingExtraError: plotly is not installed.
        """
        checks.count("agents", agents, low=1)
        ranks = {method: _ranks(rating) for method, rating in self.ratings.items()}
        rated = [i for i in self._order() if any(column[i] is not None for column in ranks.values())]
        shown = rated[:agents]
        drawing = bump_chart([self.names[i] for i in shown], {method: [column[i] for i in shown] for method, column in ranks.items()})
        add_title(drawing, self._plot_title(len(rated) - len(shown)), self._remarks(), height=height_of(len(shown)))
        return drawing

    def _plot_title(self, left_out: int) -> str:
        """The title of the plot. left_out: Number of agents with a rating that are not shown."""
        lacking = int(np.any([np.isnan(rating.ratings) for rating in self.ratings.values()], axis=0).sum())
        said = [f"{left_out} not shown"] if left_out else []
        said += [f"{lacking} without a rating{' by some method' if len(self.ratings) > 1 else ''}"] if lacking else []
        return f"ranks of {counted(len(self.names), 'agent')}{': ' if said else ''}{', '.join(said)}"

    def __str__(self) -> str:
        return drawn(self._title(), self._heads(), self._rows(), self._more(), left=0)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return drawn_html(self._title(), self._heads(), self._rows(), self._more())

    def _order(self) -> list[int]:
        ids: list[int] = next(iter(self.ratings.values())).ranking.ids.tolist()
        return ids

    def _mostly_tied(self) -> Iterator[tuple[str, str]]:
        """Methods that give one rank to more than half of the agents that they rate, and in words which ones they tie."""
        for method, rating in self.ratings.items():
            ranks = rating.ranking.rank[~np.isnan(rating.ratings)]
            if len(ranks) > 2 and 2 * (apart := len(ranks) - int(np.bincount(ranks).max())) < len(ranks):
                tied = f"all but {apart}" if apart else "all"
                yield method, tied if len(ranks) == len(self.names) else f"{tied} of the {len(ranks)} agents that it rates"

    def _remarks(self) -> list[str]:
        """What the tables of the methods say of agents without a rating and of groups: once if all say it, else with the method."""
        said: dict[str, list[str]] = {}
        for method, rating in self.ratings.items():
            for line in remarks(rating.extra, int(np.isnan(rating.ratings).sum())):
                said.setdefault(line, []).append(method)
        return [line if len(of) == len(self.ratings) else f"{', '.join(of)}: {line}" for line, of in said.items()]

    @property
    def _level(self) -> float | None:
        """Probability of the intervals; None if no method has intervals."""
        return next((rating.level for rating in self.ratings.values() if rating.level is not None), None)

    def _title(self) -> str:
        level = "" if self._level is None else f": ranks, with {100 * self._level:g} % intervals (table() has the ratings)"
        return f"{counted(len(self.ratings), 'method')} on {counted(len(self.names), 'agent')}{level}"

    def _heads(self) -> list[str]:
        return ["agent", *(head for method in self.ratings for head in ((method, "rank") if self._level is None else (method,)))]

    def _rows(self) -> list[list[str]]:
        """Rating and rank by each method. With intervals, ranks alone: five methods then fit into 80 columns."""
        columns = [cells for rating in self.ratings.values() for cells in self._columns(rating)]
        return [[self.names[i], *(cells[i] for cells in columns)] for i in self._order()[:SHOWN]]

    def _columns(self, rating: Rating) -> list[list[str]]:
        ranks = _ranks(rating)
        if self._level is None:
            return [list(map(number, rating.ratings.tolist())), [_rank_text(rank) for rank in ranks]]
        if rating.rank_low is None or rating.rank_high is None:
            return [[_rank_text(rank) for rank in ranks]]
        return [list(map(_rank_text, ranks, rating.rank_low.tolist(), rating.rank_high.tolist()))]

    def _without_intervals(self) -> Iterator[str]:
        """Lines about methods without intervals, if others have them, and about those whose intervals could not be made."""
        without = {method: rating for method, rating in self.ratings.items() if rating.level is None}
        if (online := [method for method in without if method in RATERS]) and self._level is not None:
            yield f"{', '.join(online)}: no intervals, as of all online methods"
        for method, rating in without.items():
            if (why := rating.extra.get("no_intervals_because")) is not None:
                yield f"{method}: no intervals: {why}"

    def _more(self) -> list[str]:
        methods = list(self.ratings)
        lines = not_shown(len(self.names), SHOWN)
        lines += [f"{method} ties {tied}; a pair that only one method ties counts half" for method, tied in self._mostly_tied()]
        lines += [*self._remarks(), *self._without_intervals()]
        pairs = [
            f"{first} and {second} " + ("-" if np.isnan(self.distances[i, j]) else f"{100 * self.distances[i, j]:.1f} %")
            for i, first in enumerate(methods)
            for j, second in enumerate(methods)
            if i < j
        ]
        of = "agents that both rate" if any(np.isnan(rating.ratings).any() for rating in self.ratings.values()) else "agents"
        return [*lines, f"pairs of {of} in another order: {', '.join(pairs)}"] if pairs else lines


def _ranks(rating: Rating) -> list[int | None]:
    """Rank of each agent; None without a rating."""
    unrated = np.isnan(rating.ratings).tolist()
    return [None if without else rank for rank, without in zip(rating.ranking.rank.tolist(), unrated, strict=True)]


def _rank_text(rank: int | None, low: int | None = None, high: int | None = None) -> str:
    """A rank, with the ends of its interval if they are given: `3 (2-5)`."""
    if rank is None:
        return "-"
    return str(rank) if low is None or high is None else f"{rank} ({low}-{high})"


def compare(
    games: Any,
    methods: Sequence[str] = METHODS,
    *,
    columns: Mapping[str, str] | None = None,
    reading: ReadOptions = PLAIN,
    options: Mapping[str, Mapping[str, Value]] | None = None,
    bucket_seconds: float | None = None,
    intervals: bool = False,
    interval_seconds: float = INTERVAL_SECONDS,
    sort: bool = False,
) -> Comparison:
    """Rate the agents of games by several methods.

    Args:
        games: Games in one of the forms that `rate` takes.
        methods: Names of one or more methods, each once.
        columns: Role -> column, as in `rate`.
        reading: Further options for reading a table or a file.
        options: Method -> its options.
        bucket_seconds: Width of the time buckets in seconds, in which `half_life` among the options of a method counts.
        intervals: Whether results of solved methods get 95 % intervals, as in `rate`. The printed table then shows ranks with their
            intervals, such as `3 (2-5)`, and no ratings. Online methods have none.
        interval_seconds: Time limit of draws or refits of each method in seconds.
        sort: Whether online methods take games in the order of their times, as in `rate`.

    Raises:
        InputError: As `rate`; or a method has options and is not compared; or an argument would have no effect on any of the methods.
        SolverError: A method did not reach its accuracy.
    """
    if isinstance(methods, str) or not len(methods) or len(set(methods)) != len(methods):
        raise InputError("methods", methods, "must be names of one or more methods, each once")
    known, given = [checked_method(method) for method in methods], options or {}
    if (unknown := next((method for method in given if method not in methods), None)) is not None:
        raise InputError("options", unknown, f"must be of the compared methods {', '.join(methods)}{checks.similar(unknown, methods)}")
    seconds = seconds_of(intervals, interval_seconds)
    limits = {method: None if method in RATERS else seconds for method in known}
    if seconds is not None and not any(limits.values()):
        raise InputError("intervals", True, f"must be False for {', '.join(known)}: online methods have no intervals")
    buckets = {method: bucket_seconds for method in known if "half_life" in given.get(method, {})}
    if bucket_seconds is not None and not buckets:
        raise InputError("bucket_seconds", bucket_seconds, NO_HALF_LIFE)
    source = sorted_if(sort, read(games, with_columns(reading, columns, ())))
    rated = {method: source.rated(method, given.get(method, {}), buckets.get(method), limits[method]) for method in known}
    return Comparison(rated, _distances(list(rated.values())))


def _distances(ratings: Sequence[Rating]) -> Floats:
    """Kendall distances of the orders of the agents that both methods rate; NaN if these are fewer than two."""
    table = np.zeros((len(ratings), len(ratings)))
    for i, first in enumerate(ratings):
        for j, second in enumerate(ratings):
            if i < j:
                both = ~(np.isnan(first.ratings) | np.isnan(second.ratings))
                orders = [Ranking.from_scores(-one.ranking.rank[both].astype(np.float64)) for one in (first, second)]
                table[i, j] = table[j, i] = normalised_kendall_tau(*orders) if both.sum() > 1 else np.nan
    return table
