"""Ranks of solved boards count settled agents: compared with a plain count, and with the ranks of all agents that they came from."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.boards.evidence import TOO_LITTLE_EVIDENCE, few_outcomes, reason, settled_first
from services.boards.history import kept, unpacked
from services.boards.ranked import ranked
from services.boards.result import LOTTERY, AgentRow, CertificateRow, SolveResult
from services.runtime.settings import PROVISIONAL, Provisional
from services.solve.problems.checkpointed import problem
from services.solve.registry.methods import solve
from services.solve.worker.evidence import by_evidence
from services.wire.events import Event, decode
from services.wire.pools import Kind
from tests.support.boards import rows_of, solved_of
from tests.support.folds import fold_events
from tests.support.pools import state_of

Agents = Sequence[tuple[int | None, bool]]
"""Rating and mark of each agent."""


def result_of(agents: Agents, spread: int = 0, method: str = "copeland") -> SolveResult:
    """A result with ranks of all agents, and rank intervals `spread` ranks wide on both sides."""
    ratings = [(f"a{i:02}", None if rating is None else float(rating)) for i, (rating, _) in enumerate(agents)]
    marks, n = {name: mark for (name, _), (_, mark) in zip(ratings, agents, strict=True)}, len(agents)
    rows = []
    for row in sorted(rows_of([(name, -1e9 if rating is None else rating) for name, rating in ratings]), key=lambda row: row.rank or 0):
        rank, rating = row.rank or 0, None if row.rating == -1e9 else row.rating
        ends = {"rank_low": max(1, rank - spread), "rank_high": min(n, rank + spread)} if spread else {}
        rows.append(AgentRow(agent=row.agent, rating=rating, rank=rank, provisional=marks[row.agent], **ends))
    return SolveResult(
        method=method, input="pairs", agents=rows, certificate=CertificateRow(kind="none", value=None), status="optimal", seconds=0.0
    )


AGENTS = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.booleans()), min_size=1, max_size=12)


@given(AGENTS)
def test_ranks_are_those_of_the_settled_agents_alone(agents: Agents) -> None:
    result = settled_first(result_of(agents), "why")
    settled, provisional = ([row for row in result.agents if row.provisional is mark] for mark in (False, True))
    assert result.agents == settled + provisional
    assert result.ranked == len(settled)
    alone = settled_first(result_of([agent for agent in agents if not agent[1]]) if settled else result_of([(1, False)]))
    if settled:
        assert [(row.rating, row.rank) for row in settled] == [(row.rating, row.rank) for row in alone.agents]
    assert {row.rank for row in provisional} <= {None}
    values = [-1 if row.rating is None else row.rating for row in provisional]
    assert values == sorted(values, reverse=True), "in their own order"
    assert (result.status, result.reason) == ((TOO_LITTLE_EVIDENCE, "why") if not settled else ("optimal", msgspec.UNSET))


@given(AGENTS, st.integers(0, 4))
def test_intervals_of_ranks_contain_the_rank_and_are_no_wider(agents: Agents, spread: int) -> None:
    before = {row.agent: row for row in result_of(agents, spread).agents}
    result = settled_first(result_of(agents, spread))
    for row in result.agents:
        if row.rank is None or not spread:
            assert (row.rank_low, row.rank_high) == (None, None)
            continue
        assert row.rank_low is not None
        assert row.rank_high is not None
        assert 1 <= row.rank_low <= row.rank <= row.rank_high <= result.ranked  # type: ignore[operator]
        was = before[row.agent]
        assert row.rank_high - row.rank_low <= was.rank_high - was.rank_low  # type: ignore[operator]


@given(AGENTS)
def test_insight_names_the_ranks_that_readers_see(agents: Agents) -> None:
    result = settled_first(result_of(agents))
    found = ranked(msgspec.structs.replace(solved_of(method="copeland"), result=result))
    assert found.rank == {row.agent: row.rank for row in result.agents if row.rank is not None and row.rating is not None}
    assert list(found.rank.values()) == sorted(found.rank.values())


@given(AGENTS)
def test_a_kept_solve_has_the_ranks_of_its_board(agents: Agents) -> None:
    result = settled_first(result_of(agents), "why")
    found = kept(msgspec.structs.replace(solved_of(), result=result))
    assert [(row.agent, row.rank) for row in unpacked(found.rows)] == [(row.agent, row.rank) for row in result.agents]
    assert (found.past.ranked, found.past.reason) == (result.ranked, None if result.ranked else "why")


def test_a_lottery_says_where_its_support_ends() -> None:
    for marks, expected in (((False, False, False), 2), ((True, False, False), 3), ((True, True, True), 2), ((False, True, False), 3)):
        agents = [(rating, mark) for rating, mark in zip((6, 4, 0), marks, strict=True)]
        result = msgspec.structs.replace(result_of(agents, method=LOTTERY), extra={"support": ["a00", "a01"]})
        assert settled_first(result).extra["support_rows"] == expected, marks
    assert "support_rows" not in settled_first(msgspec.structs.replace(result_of([(1, False)]), extra={"support": ["a00"]})).extra


def test_rank_intervals_that_count_all_agents_are_on_no_board() -> None:
    extra: dict[str, object] = {"rank_intervals": {"a00": (1, 2)}, "nu": 0.5}
    assert settled_first(msgspec.structs.replace(result_of([(1, False), (2, True)]), extra=extra)).extra == {"nu": 0.5}


def test_reasons_name_what_is_needed() -> None:
    assert reason(10) == "no agent has 10 outcomes yet, so all are provisional, without a rank"
    assert "has 10 outcomes and 2 opponents yet" in reason(10, 2)
    assert "has 1 outcome and 2 opponents yet" in reason(1, 2)
    assert "has 2 opponents yet" in reason(0, 2)
    assert "has 10 outcomes or a score on every task yet" in reason(10, tasks=True)
    assert reason(10, 1) == reason(10), "whoever has played has met one"
    assert few_outcomes([9, 10, 11], Provisional(10)).tolist() == [True, False, False]
    assert few_outcomes([0], Provisional(0)).tolist() == [False]


def wins(*pairs: tuple[str, str], times: int) -> list[Event]:
    values = [
        {
            "v": 1,
            "id": f"{pair}-{i}",
            "pool": "p",
            "time": float(i),
            "sides": [{"agents": [name], "place": at} for at, name in enumerate(pair)],
        }
        for pair in pairs
        for i in range(times)
    ]
    return decode([msgspec.json.encode(value) for value in values]).events


@pytest.mark.parametrize("method", ["copeland", "maximal_lottery", "bradley_terry"])
def test_four_wins_over_the_best_agent_give_no_rank(method: str) -> None:
    state = state_of()
    ladder = [("a", "b"), ("b", "c"), ("a", "c")]
    assert fold_events(state, wins(*ladder, times=10)) == []
    before = [("a", 1), ("b", 2), ("c", 3)] if method == "copeland" else None
    if before is not None:
        assert [(row.agent, row.rank) for row in solve(method, problem(Kind.GAMES, state.arrays())).agents] == before
    assert fold_events(state, wins(("new", "a"), times=4)) == []
    given_ = problem(Kind.GAMES, state.arrays())
    result = by_evidence(solve(method, given_), state.arrays(), given_, PROVISIONAL)
    assert result.ranked == 3
    assert before in (None, [(row.agent, row.rank) for row in result.agents[:3]])
    (last,) = result.agents[3:]
    assert (last.agent, last.rank, last.provisional, last.outcomes, last.opponents) == ("new", None, True, 4, 1)


def test_a_seasons_first_games_give_no_proof() -> None:
    state = state_of()
    assert fold_events(state, wins(("anna", "bob"), times=4)) == []
    given_ = problem(Kind.GAMES, state.arrays())
    for method in ("copeland", "maximal_lottery"):
        result = by_evidence(solve(method, given_), state.arrays(), given_, PROVISIONAL)
        assert (result.status, result.reason, result.ranked) == (TOO_LITTLE_EVIDENCE, reason(10), 0)
    assert by_evidence(solve("copeland", given_), state.arrays(), given_, Provisional(4)).ranked == 2, "there is no other opponent"


def test_a_score_on_every_task_is_evidence_enough() -> None:
    state = state_of(kind=Kind.SCORES)
    values = [{"v": 1, "id": f"t{i}", "pool": "p", "time": float(i), "task": f"t{i}", "scores": {"ann": 2.0, "bob": 1.0}} for i in range(3)]
    values += [{"v": 1, "id": f"late{i}", "pool": "p", "time": 9.0, "task": "t0", "scores": {"cem": 3.0}} for i in range(4)]
    assert fold_events(state, decode([msgspec.json.encode(value) for value in values]).events) == []
    given_ = problem(Kind.SCORES, state.arrays())
    result = by_evidence(solve("copeland", given_), state.arrays(), given_, PROVISIONAL)
    assert {row.agent: row.provisional for row in result.agents} == {"ann": False, "bob": False, "cem": True}, (
        "four scores on one of three tasks are no score on every task"
    )
    assert {row.agent: row.outcomes for row in result.agents} == {"ann": 3, "bob": 3, "cem": 4}
