"""What insight says is what the boards say: every place, rank, share and cycle of random pools, counted again from boards and outcomes."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pytest
from scipy.stats import binomtest

from ratings_core.findings.records import Findings
from ratings_core.findings.words import lines
from ratings_core.records.roster import Roster
from services.boards.ranked import ranked
from services.boards.result import AgentRow
from services.control.records import FoldSettings
from services.runtime.settings import Provisional
from services.solve.insight import job
from services.solve.problems.checkpointed import problem
from services.solve.registry import methods
from services.solve.worker.evidence import by_evidence
from services.state.parts import part
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.boards import solved_of
from tests.support.folds import fold_events
from tests.support.pools import state_of

POOLS: Final = range(40)
SOLVED: Final = ("bradley_terry", "copeland", "maximal_lottery")
ONLINE: Final = {"elo": dict[str, float](), "sco": dict[str, float]()}
LIMITS: Final = Provisional(outcomes=4)
KINDS: Final = ("noise", "strength", "cycle", "stronger always wins", "two groups")


class Pool(NamedTuple):
    """A pool. rows: Method -> rows of its board. margins: Pair -> wins of the first less losses. decided: Its games without ties."""

    found: Findings
    rows: Mapping[str, Sequence[AgentRow]]
    margins: Mapping[tuple[str, str], int]
    decided: Mapping[tuple[str, str], int]
    agents: Sequence[str]

    def places(self, method: str, agent: str) -> range:
        """Places of an agent on a board, for all ways of breaking its ties. Empty if the board does not rate it."""
        ranks = {row.agent: row.rank for row in self.rows[method] if row.rating is not None and row.rank is not None}
        if agent not in ranks:
            return range(0)
        return range(ranks[agent], ranks[agent] + sum(rank == ranks[agent] for rank in ranks.values()))

    def rated(self, method: str) -> list[str]:
        """Agents that a board rates and ranks."""
        return [row.agent for row in self.rows[method] if row.rating is not None and row.rank is not None]


def played(number: int) -> list[tuple[str, str, int]]:
    """Games of a random pool: two agents, and 1 if the first won, -1 if it lost, else 0."""
    rng = np.random.default_rng(1000 + number)
    size, games, ties = int(rng.choice([2, 3, 4, 5, 8, 12, 20])), int(rng.choice([3, 6, 15, 60, 300])), float(rng.choice([0, 0, 0.2, 0.6]))
    kind, strength, rows = KINDS[number % len(KINDS)], rng.normal(size=size), []
    for _ in range(games):
        a, b = rng.choice(size, 2, replace=False).tolist()
        if kind == "two groups" and size >= 4 and (a < size // 2) != (b < size // 2):
            continue
        chance = {
            "noise": 0.5,
            "cycle": 0.9 if (b - a) % size <= size / 2 else 0.1,
            "stronger always wins": float(strength[a] > strength[b]),
        }.get(kind, 1 / (1 + np.exp(strength[b] - strength[a])))
        rows.append((f"p{a}", f"p{b}", 0 if rng.random() < ties else 1 if rng.random() < chance else -1))
    return rows or [("p0", "p1", 1)]


@cache
def pool(number: int) -> Pool:
    """A random pool, its boards and its insight."""
    games = played(number)
    state = state_of("r", fold=FoldSettings(online=ONLINE))
    sides = [[Side(agents=[one], place=1 + (won < 0)), Side(agents=[other], place=1 + (won > 0))] for one, other, won in games]
    fold_events(state, [GameEvent(v=1, id=str(i), pool="r", time=60.0 * i, sides=both) for i, both in enumerate(sides)])
    arrays = state.arrays()
    names = Roster.from_arrays(part(arrays, "agents")).names()
    live = job.online_standings(Kind.GAMES, ONLINE, arrays, names, len(games), LIMITS)
    given = methods.problem_for(SOLVED[0], Kind.GAMES, arrays)
    results = [by_evidence(methods.solve(method, given, {}), arrays, given, LIMITS) for method in SOLVED]
    boards = [msgspec.structs.replace(solved_of("r", method=result.method), result=result) for result in results]
    standings = [*live, *(ranked(board) for board in boards)]
    found = msgspec.convert(job.solve(problem(Kind.GAMES, arrays), len(games), standings, {}).extra, Findings)
    rows: dict[str, Sequence[AgentRow]] = {
        board.method: [AgentRow(agent=name, rating=1.0, rank=rank) for name, rank in board.rank.items()] for board in live
    }
    margins, decided = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one, other, won in games:
        for pair, points in (((one, other), won), ((other, one), -won)):
            margins[pair] += points
            decided[pair] += abs(won)
    return Pool(found, rows | {result.method: result.agents for result in results}, margins, decided, sorted(names))


@pytest.mark.parametrize("number", POOLS)
def test_places_are_those_of_the_boards(number: int) -> None:
    given = pool(number)
    part = given.found.disagreement
    for row in part.disputed:
        high, low = given.places(row.high, row.agent), given.places(row.low, row.agent)
        assert (row.high_place, row.high_shared) == (high.start, len(high))
        assert (row.low_place, row.low_shared) == (low.start, len(low))
        assert 0 < row.places <= low[0] - high[-1]
        between = [other for other in given.agents if opposite(given, row.high, row.low, row.agent, other)]
        assert between, "the boards order it and another agent oppositely"
    for pair in part.distances:
        both = [agent for agent in given.agents if all(agent in given.rated(method) for method in pair.methods)]
        pairs = list(combinations(both, 2))
        assert pair.agents == len(both)
        against = sum(opposite(given, *pair.methods, one, other) for one, other in pairs)
        assert pair.opposite == pytest.approx(against / len(pairs))
    if not part.not_applicable:
        assert {board.method: board.rated for board in part.methods} == {
            board.method: len(given.rated(board.method)) for board in part.methods
        }
        assert {*part.left_out, *(board.method for board in part.methods)} == set(given.rows)
        assert part.unsettled == given.found.agents - part.agents
        assert part.agents == len({agent for board in part.methods for agent in given.rated(board.method)})


def opposite(given: Pool, method: str, other_method: str, one: str, other: str) -> bool:
    """Whether two boards that rate both agents order them oppositely."""
    places = [[given.places(board, agent) for agent in (one, other)] for board in (method, other_method)]
    if not all(place for board in places for place in board):
        return False
    (a, b), (c, d) = ([place.start for place in board] for board in places)
    return (a - b) * (c - d) < 0


@pytest.mark.parametrize("number", POOLS)
def test_the_words_of_the_command_agree_with_the_boards(number: int) -> None:
    given = pool(number)
    words = dict(lines(given.found))
    part = given.found.disagreement
    named = re.findall(r"^(\S+): place (\d+)(| \(.*?\)) by (\w+), (\d+)(| \(.*?\)) by (\w+)$", words["disagreement"], re.MULTILINE)
    assert len(named) == min(5, len(part.disputed))
    for agent, *both in named:
        for rank, shared, method in (both[:3], both[3:]):
            places = given.places(method, agent)
            assert int(rank) == places.start, "the rank that the board shows"
            assert shared == (f" (shared by {len(places)})" if len(places) > 1 else "")
    compared = [board.method for board in part.methods]
    opposed = any(opposite(given, *pair, one, other) for pair in combinations(compared, 2) for one, other in combinations(given.agents, 2))
    if not part.not_applicable:
        assert ("none:" in words["disagreement"]) == (not opposed)
        for method in compared:
            said = f"{method} has settled ratings of {len(given.rated(method))} of the {part.agents} agents" in words["disagreement"]
            assert said == (len(given.rated(method)) < part.agents)
        assert all(method in words["disagreement"] for method in part.left_out)
    acyclic = not given.found.cycles.cycles
    assert ("one order agrees with all head-to-head majorities" in words["cyclicity"]) == acyclic
    assert ("form no cycle" in words["cycles"]) == acyclic
    assert words["cycles"].count("; proven") == sum(cycle.proven is True for cycle in given.found.cycles.cycles)


@pytest.mark.parametrize("number", POOLS)
def test_the_top_and_its_ranks_are_those_of_the_majorities_and_the_boards(number: int) -> None:
    given = pool(number)
    top = given.found.top
    beaten = {a for a in given.agents if any(given.margins[a, b] > 0 for b in given.agents)}
    lost = {a for a in given.agents if any(given.margins[a, b] < 0 for b in given.agents)}
    if top.not_applicable:
        assert not beaten
        return
    assert set(top.agents) == beaten - lost
    for method in given.rows:
        ranks = [places.start for agent in top.agents if (places := given.places(method, agent))]
        assert (method in top.unrated_by) == (not ranks and bool(top.agents))
        assert top.elsewhere.get(method, 1) == min(ranks, default=1)
    for board in given.found.connectivity.leaders:
        assert set(board.agents) <= set(given.rated(board.method)[: board.of])


@pytest.mark.parametrize("number", POOLS)
def test_cycles_are_in_the_results_and_their_share_is_that_of_the_best_order(number: int) -> None:
    given = pool(number)
    found, agents = given.found, given.agents
    for cycle in found.cycles.cycles:
        pairs = list(zip(cycle.agents, [*cycle.agents[1:], cycle.agents[0]], strict=True))
        assert cycle.margins == [given.margins[pair] for pair in pairs]
        assert cycle.weakest == min(cycle.margins) > 0
        chances = [binomtest((given.decided[pair] + given.margins[pair]) // 2, given.decided[pair]).pvalue for pair in pairs]
        assert not cycle.proven or max(chances) <= 0.05
    if found.cyclicity.not_applicable:
        return
    assert (found.cyclicity.against_order == 0) == (not found.cycles.cycles)
    assert found.cyclicity.against_order_least <= found.cyclicity.against_order  # type: ignore[operator]
    if len(agents) <= 5:
        weight = sum(max(0, given.margins[pair]) for pair in permutations(agents, 2))
        least = min(sum(max(0, given.margins[b, a]) for a, b in combinations(order, 2)) for order in permutations(agents))
        assert found.cyclicity.against_order == pytest.approx(least / weight if weight else 0)
    if any(cycle.proven for cycle in found.cycles.cycles):
        assert not found.cyclicity.within_noise


def test_the_random_pools_have_what_can_contradict_a_board() -> None:
    """Boards with unrated and provisional agents, a top that a board does not rate, cycles proven, not proven, and none."""
    found = [pool(number) for number in POOLS]
    assert sum(any(row.rank is None for rows in one.rows.values() for row in rows) for one in found) >= 5
    assert sum(any(len(one.rated(method)) < len(one.agents) for method in one.rows) for one in found) >= 5
    assert sum(bool(one.found.top.unrated_by) for one in found) >= 3
    assert {cycle.proven for one in found for cycle in one.found.cycles.cycles} == {True, False}
    assert sum(row.high_shared > 1 for one in found for row in one.found.disagreement.disputed) >= 2
    assert sum((one.found.cyclicity.unexplained or 0) > 0.1 and not one.found.cycles.cycles for one in found) >= 1
