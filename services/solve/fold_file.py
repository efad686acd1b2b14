"""Online methods on a file: `equirank solve FILE --method elo` folds the rows of the file in their order.

The fold is `services.state.pool.PoolState`, which shards use too. The ratings therefore equal, digit for digit, those of a live pool that
received the same outcomes in the same order. Retractions in the file apply to all of its rows, as in a generation that was built after
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ratings_core.checks import similar
from ratings_core.columns import Games
from ratings_core.errors import InputError
from ratings_core.formats.parts import FilePart
from ratings_core.front.counted import nothing_counts
from ratings_core.methods.separate import separate_groups
from ratings_core.online import RATERS, Rater
from ratings_core.options import Value
from ratings_core.ranking import Ranking
from services.boards.result import AgentRow, CertificateRow, SolveResult
from services.boards.store.beliefs import belief_intervals, believed
from services.control.records import FoldSettings, Generation, PoolCreated
from services.imports.wire_files import Line
from services.solve.problems.load import NamedPool, with_number_ids
from services.state.dedupe import MAX_CAPACITY
from services.state.edits import Retracted
from services.state.pool import PoolState, without_conflicts
from services.wire.columns import by_kind
from services.wire.pools import Kind


class FoldedRows:
    """The fold of one slice of a file. state: An empty state."""

    def __init__(self, state: PoolState) -> None:
        self.state, self._games = state, 0

    def add(self, part: FilePart) -> None:
        """Fold games in order. Raises `InputError` for the first one that the state refuses, with the number of refused games."""
        if not isinstance(part.columns, Games):
            raise InputError("file", "scores", "must hold games: online methods rate games")
        refused = self.state.fold(with_number_ids(part.columns, self._games))
        self._games += len(part)
        if refused:
            first = refused[0]
            raise InputError(f"row {part.rows[first.at]}: {first.path}", f"{len(refused)} refused", first.rule)


def fold_lines(file: str, state: PoolState, lines: Sequence[Line]) -> None:
    """Fold outcomes of the wire schema. Raises `InputError` for the first one that the state refuses.

    A repeated id is no error, also with another body: as in the service, and for solved methods, the first outcome counts.
    """
    parts = by_kind([line.event for line in lines])
    refused = sorted((int(at[refusal.at]), refusal) for at, outcomes in parts for refusal in without_conflicts(state.fold(outcomes)))
    if refused:
        first, refusal = refused[0]
        raise InputError(f"{file}: line {lines[first].number}: {refusal.path}", f"{len(refused)} refused", refusal.rule)


def offline_fold(method: str, parameters: dict[str, str]) -> FoldSettings:
    """Fold settings with one online method and the largest dedupe window. Raises `InputError` for an invalid parameter."""
    return FoldSettings(online={method: _numbers(method, parameters)}, dedupe_window=MAX_CAPACITY)


def _numbers(method: str, parameters: dict[str, str]) -> dict[str, float]:
    """Parameters as numbers: int where the method's default is an int, otherwise float. Raises `InputError`."""
    known = {one.name: one.default for one in fields(RATERS[method])}  # type: ignore[arg-type]  # raters are dataclasses by their protocol
    numbers: dict[str, float] = {}
    for name, text in parameters.items():
        if name not in known:
            raise InputError("parameter", name, f"must be one of {', '.join(known)}{similar(name, list(known))}")
        try:
            numbers[name] = int(text) if isinstance(known[name], int) else float(text)
        except ValueError:
            raise InputError(name, text, "must be a number") from None
    return numbers


def state_of(named: NamedPool, fold: FoldSettings) -> PoolState:
    """The empty state of a pool's first generation. It leaves out the outcomes that the file retracts."""
    created = PoolCreated(pool=named.pool, kind=Kind.GAMES, time=0.0)
    generation = Generation(pool=named.pool, number=1, start=0, time=0.0, fold=fold, retraction_horizon=len(named.retractions))
    return PoolState(created, generation, Retracted.of([named.retractions.id_hash]))


def folded_result(state: PoolState, method: str, rater: Rater[Any], seconds: float, left_out: Mapping[str, int]) -> SolveResult:
    """The result with all agents of a state. Ranks and rows equal those of a live board.

    Args:
        state: The state.
        method: Name of the online method.
        rater: The method with its parameters.
        seconds: Duration of the fold.
        left_out: Reason -> number of rows that are not outcomes, for the error.

    Raises:
        InputError: The state has no games.
    """
    if not len(state.content.agents):
        raise InputError("games", 0, nothing_counts(left_out))
    ids = np.arange(len(state.content.agents), dtype=np.int32)
    shown = rater.read(state.content.ratings.online[method], ids)
    ranking = Ranking.from_scores(shown.rating)
    names, ranks, model = state.content.agents.names(), ranking.rank.tolist(), rater.beliefs
    rows = [AgentRow(agent=names[i], rating=float(shown.rating[i]), rank=ranks[i]) for i in ids.tolist()]
    if model is not None and shown.beliefs is not None:
        rows = [believed(row, belief, model, state.content.clock.time) for row, belief in zip(rows, shown.beliefs.each(), strict=True)]
    parameters: dict[str, Value] = {one.name: getattr(rater, one.name) for one in fields(rater)}  # type: ignore[arg-type]
    return SolveResult(
        method=method,
        input="games",
        agents=sorted(rows, key=lambda row: (row.rank, row.agent)),
        certificate=CertificateRow(kind="none", value=None),
        status="folded",
        seconds=seconds,
        extra={
            "parameters": parameters,
            "outcomes": state.content.counts["outcomes"],
            "duplicates": state.content.counts["duplicates"],
            **separate_groups(state.content.tallies.pairs.counts(), len(ids)),
        },
        intervals=belief_intervals(model),
    )
