"""The result of `rate`: ratings, ranks and intervals of agents by name, with the certificate of the solve."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.front.figures import add_title, figure
from ratings_core.front.names import name_of
from ratings_core.front.release import release
from ratings_core.front.remarks import left_out_lines, remarks, unrated_because
from ratings_core.front.tables import drawn, drawn_html, not_shown, number
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Floats
from ratings_core.words import counted

SHOWN: Final = 20
"""Number of agents that a printed result shows."""
_ROUNDING: Final = 1e-9


class Row(NamedTuple):
    """One agent of a result.

    Attributes:
        rank: Rank from 1; agents of equal rating share a rank. None for an agent without a rating.
        agent: Name.
        rating: Higher is better; NaN if the data do not determine it.
        low, high: Ends of the interval; None without one.
        games: Total weight of the agent's games, ballots or measurements.
        rank_low, rank_high: Ends of the interval of its rank; None without one. With the probability `level`, all ranks are within their
            intervals at once.
    """

    rank: int | None
    agent: str
    rating: float
    low: float | None
    high: float | None
    games: float
    rank_low: int | None = None
    rank_high: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rating:
    """Ratings of n agents, in order of their names.

    Attributes:
        method: Name of the method.
        names: n names.
        ratings: float64 (n,), higher is better; NaN for an agent without a rating.
        ranking: The order of the agents, with ties.
        games: float64 (n,), total weight of each agent's games, ballots or measurements.
        certificate: Number that proves the accuracy; None for online methods, which solve nothing.
        status: `optimal`, `approximate` or `folded`.
        low, high: float64 (n,), ends of the ratings' intervals; None without intervals.
        rank_low, rank_high: int64 (n,), ends of the ranks' intervals; None without them.
        level: Probability of each rating's interval, and of all ranks' intervals together; None without intervals.
        extra: Further findings of the method, by name.
        seconds: Duration of the solve, without reading and intervals.
        chances: float64 (n,), the lottery; None if the method's answer is no lottery.
        expects: Expected score of one agent against another one, by their ids; None if the method predicts nothing.
        version: Version of Equirank that rated. Random seeds are in `extra`: `seed` of the method, `interval_seed` of draws or refits.
    """

    method: str
    names: tuple[str, ...]
    ratings: Floats
    ranking: Ranking
    games: Floats
    certificate: Certificate | None
    status: str
    low: Floats | None = None
    high: Floats | None = None
    rank_low: NDArray[np.int64] | None = None
    rank_high: NDArray[np.int64] | None = None
    level: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    chances: Floats | None = None
    expects: Callable[[int, int], float] | None = field(default=None, repr=False)
    version: str = field(default_factory=release)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, agent: str | int) -> Row:
        """The row of an agent. Raises `InputError` for an unknown name."""
        return self._rows(np.array([self._id("agent", agent)]))[0]

    def top(self, agents: int = 10) -> list[Row]:
        """The rows of the best agents, by default of ten, best first. Agents without a rating come last.

        Raises `InputError` for a number below 1.
        """
        return self._rows(self.ranking.ids[: checks.count("agents", agents, low=1)])

    @property
    def lottery(self) -> dict[str, float]:
        """Agent -> its probability, highest first, of agents with one. Raises `InputError` if the method's answer is no lottery."""
        if self.chances is None:
            raise InputError("method", self.method, "must be a method whose answer is a lottery, such as maximal_lottery")
        order = np.argsort(-np.round(self.chances, 12), kind="stable").tolist()  # equal chances in order of names
        return {self.names[i]: float(self.chances[i]) for i in order if self.chances[i] > 0}

    def predict(self, first: str | int, second: str | int) -> float:
        """Expected score of the first agent against the second one, from 0 to 1; a tie counts 1/2.

        Raises:
            InputError: An agent is unknown or has no rating, no chain of games compares both, or the method predicts nothing.
        """
        if self.expects is None:
            raise InputError("method", self.method, "must be a method that predicts results, such as bradley_terry or elo")
        ids = self._id("first", first), self._id("second", second)
        score = self.expects(*ids)
        if np.isfinite(score):
            return score
        for argument, agent, i in zip(("first", "second"), (first, second), ids, strict=True):
            if np.isnan(self.ratings[i]):
                raise InputError(argument, agent, f"must be an agent with a rating; of those without one: {unrated_because(self.extra)}")
        raise InputError("second", second, f"must be in the group of {self.names[ids[0]]}: wins do not compare agents of different groups")

    def table(self) -> Any:
        """The rows as an Arrow table, best agent first. `.to_pandas()` and `polars.from_arrow` make data frames of it.

        An agent without a rating has the rank null. The metadata names the version of Equirank, the method, the status, and the seeds
        that were used.
        """
        import pyarrow as pa  # noqa: PLC0415 - takes time to load

        ids = self.ranking.ids
        columns = {
            "rank": pa.array(self.ranking.rank[ids], mask=np.isnan(self.ratings[ids])),
            "agent": [self.names[i] for i in ids.tolist()],
            "rating": self.ratings[ids],
            "games": self.games[ids],
        }
        if self.low is not None and self.high is not None:
            columns |= {"low": self.low[ids], "high": self.high[ids]}
        if self.rank_low is not None and self.rank_high is not None:
            columns |= {"rank_low": self.rank_low[ids], "rank_high": self.rank_high[ids]}
        about = {"equirank_version": self.version, "method": self.method, "status": self.status}
        about |= {name: str(self.extra[name]) for name in ("seed", "interval_seed") if name in self.extra}
        return pa.table(columns, metadata=about)

    def plot(self, agents: int = 30) -> Any:
        """Ratings of the best agents as points, with their intervals, as a figure of plotly, which ``figure.write_html(path)`` saves.

        The title says how many agents are shown if others are left out. Below it are the remarks of the printed table: agents without a
        rating and why, and groups of agents whose ratings do not compare.

        Args:
            agents: Largest number of agents shown. Agents without a finite rating are left out.

        Raises:
            InputError: `agents` is below 1.
            MissingExtraError: plotly is not installed.
        """
        rows = [row for row in self.top(agents) if np.isfinite(row.rating)][::-1]
        drawing = figure("plotting ratings")
        ends = [(row.low, row.rating, row.high) for row in rows if row.low is not None and row.high is not None]
        known = bool(ends) and len(ends) == len(rows)
        bars = {"type": "data", "symmetric": False, "color": "#888"}
        bars |= {"array": [high - rating for _, rating, high in ends], "arrayminus": [rating - low for low, rating, _ in ends]}
        drawing.add_scatter(
            x=[row.rating for row in rows], y=[row.agent for row in rows], mode="markers", error_x=bars if known else None,
            marker={"size": 8, "color": "#1f5fa8"},
        )  # fmt: skip
        shown = f"{len(self)} agents" if len(rows) == len(self) else f"{len(rows)} of {counted(len(self), 'agent')}"
        what = f"rating, with its {100 * (self.level or 0):g} % interval" if known else "rating"
        add_title(drawing, f"{self.method} of {shown}", self._remarks(), height=180 + 22 * len(rows))
        return drawing.update_layout(
            xaxis_title=what,
            template="simple_white",
            margin={"l": 10, "r": 20},
            yaxis={"automargin": True, "type": "category", "range": [-0.8, len(rows) - 0.2]},
        )

    def __str__(self) -> str:
        return drawn(self._title(), self._heads(), map(self._cells, self.top(SHOWN)), self._more())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return drawn_html(self._title(), self._heads(), map(self._cells, self.top(SHOWN)), self._more())

    def _title(self) -> str:
        proof = "" if self.certificate is None else f", {self.certificate.kind} {_proven(self.certificate.value)}"
        return f"{self.method} of {counted(len(self), 'agent')}: {self.status}{proof}"

    def _heads(self) -> list[str]:
        interval = [] if self.level is None else [f"{100 * self.level:g} % interval"]
        return ["rank", "agent", "rating", *interval, *([] if self.rank_low is None else ["ranks"]), "games"]

    def _cells(self, row: Row) -> list[str]:
        ends = "-" if row.low is None or row.high is None else f"{number(row.low)} to {number(row.high)}"
        interval = [] if self.level is None else [ends]
        ranks = [] if self.rank_low is None else ["-" if row.rank is None else f"{row.rank_low} to {row.rank_high}"]
        return ["-" if row.rank is None else str(row.rank), row.agent, number(row.rating), *interval, *ranks, f"{row.games:g}"]

    def _more(self) -> list[str]:
        """Lines below the table: agents that it omits, agents without a rating and why, and further findings."""
        lines = not_shown(len(self), SHOWN)
        lines += [*left_out_lines(self.extra.get("left_out", {})), *self._remarks()]
        if (why := self.extra.get("no_intervals_because")) is not None:
            lines.append(f"no intervals: {why}")
        return lines

    def _remarks(self) -> list[str]:
        return remarks(self.extra, int(np.isnan(self.ratings).sum()))

    def _rows(self, ids: NDArray[np.int64]) -> list[Row]:
        first, last = self.rank_low, self.rank_high
        return [
            Row(
                rank=None if np.isnan(self.ratings[i]) else int(self.ranking.rank[i]),
                agent=self.names[i],
                rating=float(self.ratings[i]),
                low=_end(self.low, i),
                high=_end(self.high, i),
                games=float(self.games[i]),
                rank_low=None if first is None else int(first[i]),
                rank_high=None if last is None else int(last[i]),
            )
            for i in ids.tolist()
        ]

    def _id(self, argument: str, agent: str | int) -> int:
        name = name_of(agent, argument)
        if name not in self.names:
            raise InputError(argument, agent, f"must be one of the rated agents{checks.similar(name, self.names)}")
        return self.names.index(name)


def _proven(value: float) -> str:
    """A certificate's value; below 1e-9 its digits are rounding."""
    return f"{value:.3g}" if value >= _ROUNDING else f"below {_ROUNDING:g}"


def _end(ends: Floats | None, i: int) -> float | None:
    """An end of an interval; None without one."""
    return float(ends[i]) if ends is not None and np.isfinite(ends[i]) else None
