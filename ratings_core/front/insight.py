"""`insight`: what ratings do not show, such as cycles, copies and weakly connected agents, from games in any form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.findings.records import Clones, Connectivity, Cycles, Cyclicity, Order, Top
from ratings_core.findings.report import of_outcomes
from ratings_core.findings.words import outcome_lines
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.front.rate import check_buckets, read, with_columns
from ratings_core.front.remarks import left_out_lines
from ratings_core.front.tables import drawn_html
from ratings_core.methods.recency import recent
from ratings_core.problems.inputs import GamesInput, ScoresInput
from ratings_core.words import counted

_PAIRS: Final = "copeland"
"""A method that takes what an insight takes: results of pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Insight:
    """Findings about games or scores. Printed, it says them in words. A part that does not apply says why in `not_applicable`.

    Attributes:
        agents: Number of agents that the findings are of.
        left_out: Number of less active agents that were left out, because there are too many.
        connectivity: Which agents met, and which are weakly connected.
        cyclicity: How far results are from an order, and from one strength for each agent.
        order: How far pairs deviate from one strength for each agent, and how sure this is (kappa).
        cycles: The strongest cycles of head-to-head majorities, and which are proven.
        clones: Agents and tasks with equal or nearly equal results.
        top: The agents that lose to no other one, and the fewest outcomes or tasks without which another would be level.
        remarks: Lines about how the rows were used.
    """

    agents: int
    left_out: int
    connectivity: Connectivity
    cyclicity: Cyclicity
    order: Order
    cycles: Cycles
    clones: Clones
    top: Top
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = self._lines()
        width = max(len(about) for about, _ in lines)
        said = [f"{'' if at else about:{width}}  {line}" for about, text in lines for at, line in enumerate(text.split("\n"))]
        return "\n".join([self._title(), *said, *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return drawn_html(self._title(), ("about", "finding"), self._lines(), self.remarks)

    def _title(self) -> str:
        without = f" without the {self.left_out} least active ones" if self.left_out else ""
        return f"insight of {counted(self.agents, 'agent')}{without}"

    def _lines(self) -> list[tuple[str, str]]:
        return outcome_lines({name: getattr(self, name) for name in ("connectivity", "cyclicity", "order", "cycles", "clones", "top")})


def insight(
    games: Any,
    *,
    columns: Mapping[str, str] | None = None,
    reading: ReadOptions = PLAIN,
    half_life: float = 0.0,
    bucket_seconds: float | None = None,
) -> Insight:
    """Find what ratings do not show: cycles, copies, weakly connected agents, how far results are from an order, and what decides the top.

    The findings are those of `equirank insight` that outcomes determine: look-alike names, forecasts, and what needs boards are left out
    (so `connectivity.leaders`, `top.elsewhere` and `top.unrated_by` are empty). The order of the rows does not matter.

    Args:
        games: Games in one of the forms that `rate` takes, or scores (a file, or `TaskScores`).
        columns: Role -> column, as in `rate`.
        reading: Further options for reading a table or a file.
        half_life: Number of time buckets after which a game has half its weight; 0: equal weights. Cycles of games of unequal weights are
            not tested against chance, and `top` does not apply.
        bucket_seconds: Width of the time buckets in seconds; None for no buckets. It is refused without `half_life`.

    Raises:
        InputError: A value breaks a rule, an argument would have no effect, or there are neither games nor scores.
        SolverError: A computation did not reach its accuracy.
    """
    source = read(games, with_columns(reading, columns, ()))
    half_life = checks.number("half_life", half_life, low=0.0)
    check_buckets(_PAIRS, {"half_life": half_life} if half_life else {}, bucket_seconds)
    if source.part is not None and source.part.features is not None:
        raise InputError("features", [one.text for one in reading.features], "must be left out: an insight does not use features")
    problem, uncounted = source.problem_of(_PAIRS, bucket_seconds, clustered=False)
    problem, _ = recent(problem, {"half_life": half_life})
    if not isinstance(problem, GamesInput | ScoresInput):
        raise InputError("games", source.kind, "must be games or scores: margins and ballots do not have single outcomes")
    outcomes = 0 if source.part is None else len(source.part) - sum(uncounted.values())
    found = of_outcomes(problem, outcomes)
    remarks = (*left_out_lines({**source.left_out, **uncounted}), *source.notes(_PAIRS))
    return Insight(agents=len(found.taken.names), left_out=found.left_out, remarks=remarks, **found.parts)
