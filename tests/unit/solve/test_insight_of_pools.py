"""A pool's insight as the service finds it: every part, what does not apply and why, and the task in a process of its own."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ratings_core.findings import parts as insight_parts
from ratings_core.findings.ranked_board import RankedBoard
from ratings_core.findings.records import Findings
from ratings_core.findings.words import forecast_lines, lines
from ratings_core.online import Elo, Prequential, Sco
from ratings_core.problems.inputs import GamesInput, ScoresInput
from ratings_core.records.shapes import MOST_SHAPES
from ratings_core.tallies import PairCounts, PlaceCounts
from services.boards.ranked import ranked
from services.boards.result import SolveResult
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.records import ControlState
from services.solve.insight import job as insight
from services.solve.planning.jobs import Job
from services.solve.problems.checkpointed import problem
from services.solve.results import ResultFiles
from services.solve.worker.tasks import solve_pool
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.boards import solved_of
from tests.support.folds import fold_events
from tests.support.game_streams import batch_of, game
from tests.support.insight import NAMES, OUTCOMES, STANDINGS, WINS, board, forecasts, games, places, result
from tests.support.pools import state_of

JOB = Job("blitz", insight.INSIGHT)
SCORES = ScoresInput(
    ("a", "b", "c"), ("u", "v", "w", "w again"), np.array([[3.0, 3.0, 1.0, 1.0], [2.0, 2.0, math.nan, math.nan], [1.0, 4.0, 2.0, 2.0]])
)


def found_in(given: SolveResult) -> Findings:
    return msgspec.convert(given.extra, Findings)


def test_every_part_of_a_pool_of_games() -> None:
    found = found_in(result())
    links = found.connectivity
    assert (links.components, links.largest, links.apart, links.rateable, links.pairs) == (2, 5, ["other", "stranger"], False, 11)
    assert [(one.agent, one.games, one.opponents, one.effective_games) for one in links.thin[:1]] == [("other", 1, 1, 0)]
    assert [(one.method, one.agents) for one in links.leaders] == [
        ("elo", ["stranger", "other"]),
        ("maximal_lottery", ["stranger", "other"]),
    ]
    assert found.cyclicity.against_order == found.cyclicity.against_order_least == pytest.approx(60 / 621)
    assert found.cyclicity.unexplained == pytest.approx(0.5, abs=0.25)
    assert found.cyclicity.assumes == "independent games"
    assert found.order.pairs > 0
    assert found.order.kappa is not None
    assert 0 < found.order.low < found.order.kappa
    assert found.order.p_value < 0.05
    assert [(cycle.agents, cycle.proven) for cycle in found.cycles.cycles] == [(["paper", "rock-copy", "scissors"], True)]
    assert all(games >= margin > 0 for one in found.cycles.cycles for games, margin in zip(one.games, one.margins, strict=True))
    assert found.clones.exact == [["rock", "rock-copy"]]
    assert [pair.agents for pair in found.clones.near] == [("rock", "rock-copy")]
    assert (found.top.agents, found.top.rival, found.top.low, found.top.high, found.top.unit) == (["stranger"], "other", 1, 1, "outcomes")
    assert [row.method for row in found.disagreement.methods] == ["elo", "maximal_lottery"]
    assert found.disagreement.left_out == ["bradley_terry"]
    [between] = found.disagreement.distances
    assert between.tied == pytest.approx(3 / 21), "the lottery ties three of seven agents, so three of 21 pairs, and Elo ties none"
    assert between.opposite == pytest.approx(between.kendall - 1.5 / 21)
    first = found.disagreement.disputed[0]
    assert (first.agent, first.high, first.high_place, first.low, first.low_place) == ("other", "maximal_lottery", 2, "elo", 7)
    assert [(row.method, row.enough) for row in found.prequential.forecasts] == [("elo", True), ("sco", False)]
    assert found.top.elsewhere == {"elo": 6}
    assert found.cyclicity.within_noise is False
    assert (found.prequential.forecasts[0].log_loss, found.prequential.forecasts[1].log_loss) == (0.5, None)
    assert found.prequential.forecasts[0].classes == [(400.0, 2.1 / 4, 2.5 / 4, 0.25)]
    assert found.prequential.forecasts[0].calibration_error == pytest.approx(0.1)
    assert (found.prequential.forecasts[1].classes, found.prequential.forecasts[1].calibration_error) == ([], None)


def test_results_that_one_order_explains_have_no_finite_kappa() -> None:
    rng, places = np.random.default_rng(0), PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))
    strength = np.linspace(-1, 1, 12)
    wins = np.triu(rng.binomial(20, 1 / (1 + np.exp(strength - strength[:, None]))), 1)
    tally = PairCounts.from_dense(wins + np.triu(20 - wins, 1).T)
    found = insight_parts.order(GamesInput(tuple(map(str, range(12))), tally, places))
    assert (found.pairs, found.high) == (66, None)
    assert found.p_value > 0.05
    single = insight_parts.order(GamesInput(("a", "b"), PairCounts.from_dense([[0, 1.0], [0, 0]]), places))
    assert "no pair of agents has more than one" in str(single.not_applicable)


def test_tasks_are_the_votes_of_scores() -> None:
    found = found_in(insight.solve(SCORES, 4, [], {}))
    assert found.clones.tasks == [["w", "w again"]]
    assert found.top.unit == "tasks"
    assert found.top.agents == ["c"] or found.top.low is not None
    assert set(found.top.votes) <= {*SCORES.tasks}
    assert found.cyclicity.not_applicable or found.cyclicity.assumes == "independent pairs"
    assert "no online method" in str(found.prequential.not_applicable)
    assert "two boards" in str(found.disagreement.not_applicable)


@pytest.mark.parametrize(
    ("wins", "outcomes", "part", "words"),
    [
        (np.zeros((3, 3)), 0, "connectivity", "games of teams are not counted by pairs"),
        (np.zeros((1, 1)), 0, "cycles", "two agents at least"),
        (np.array([[0, 2.5], [0, 0]]), 3, "top", "do not all have weight 1"),
        (np.array([[0, 4.0], [0, 0]]), 2, "top", "do not all have weight 1"),
    ],
)
def test_what_does_not_apply_says_why(wins: np.ndarray, outcomes: int, part: str, words: str) -> None:
    found = found_in(insight.solve(games(wins), outcomes, [], {}))
    assert words in getattr(found, part).not_applicable


def test_strengths_of_a_forest_are_not_tested_and_weights_leave_cycles_untested() -> None:
    found = found_in(insight.solve(games(np.array([[0, 2.0], [0, 0]])), 2, [], {}))
    assert (found.cyclicity.against_order, found.cyclicity.unexplained) == (0, None)
    assert "forest" in str(found.cyclicity.no_unexplained)
    ring = found_in(insight.solve(games(np.array([[0, 2.5, 0], [0, 0, 2.5], [2.5, 0, 0]])), 9, [], {}))
    assert [cycle.proven for cycle in ring.cycles.cycles] == [None]
    assert "not tested against chance: outcomes do not all have weight 1" in dict(lines(ring))["cycles"]


def test_boards_that_rest_on_no_result_are_not_compared() -> None:
    """Answers by pairs that an earlier release gave a pool of team games, and the board of a method without an answer."""
    ranks = {name: at for at, name in enumerate(NAMES[:4], 1)}
    standings = [RankedBoard(method, 1, ranks) for method in ("elo", "sco", "copeland", "plurality")]
    nowhere = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))
    teams = GamesInput(NAMES[:4], PairCounts.from_dense(np.zeros((4, 4))), nowhere)
    told = found_in(insight.solve(teams, 600, [*standings, RankedBoard("schulze", 1, {})], {})).disagreement
    assert ([row.method for row in told.methods], told.left_out) == (["elo", "sco"], [])
    duels = games(WINS[:4, :4])
    told = found_in(insight.solve(duels, 600, standings, {})).disagreement
    assert [row.method for row in told.methods] == ["elo", "sco", "copeland", "plurality"]


def test_games_of_many_sides_bound_the_votes_from_below() -> None:
    top = found_in(insight.solve(games(np.array([[0, 2.0, 0], [0, 0, 2.0], [2.0, 0, 0]]), sides=3), 9, [], {})).top
    assert (top.low, top.high) == (2, None)


def test_ids_change_nothing() -> None:
    order = [4, 2, 0, 1, 3, 6, 5]
    given = games()
    turned = insight.solve(given.take(np.array(order)), OUTCOMES, STANDINGS, forecasts())
    assert turned.extra == result().extra


def test_the_task_reads_the_checkpoint_and_the_boards_of_its_own_log_and_generation(tmp_path: Path) -> None:
    state = state_of("blitz")
    pairs = [(NAMES[a], NAMES[b]) for a in range(4) for b in range(4) if a != b for _ in range(int(WINS[a, b]) // 10)]
    sides = [[Side(agents=[one], place=1), Side(agents=[other], place=2)] for one, other in pairs]
    fold_events(state, [GameEvent(v=1, id=str(i), pool="blitz", time=0.0, sides=both) for i, both in enumerate(sides)])
    files = CheckpointStore(tmp_path.as_uri())
    sha256, size = files.write_object("o", state.arrays(), {})
    entry = PoolEntry(
        pool="blitz", kind="games", generation=1, position=50, outcomes=len(pairs), object="o", sha256=sha256, bytes=size, digest="d"
    )
    ratings = [(name, float(i)) for i, name in enumerate(NAMES[:4])]
    for method, log, generation in (("copeland", "mine", 1), ("borda", "theirs", 1), ("schulze", "mine", 2)):
        made = msgspec.structs.replace(solved_of("blitz", method=method, ratings=ratings, position=40), log=log, generation=generation)
        ResultFiles(files.blobs, 5).write(made)
    failed = solved_of("blitz", method="bradley_terry", ratings=[], position=40)
    ResultFiles(files.blobs, 5).write(msgspec.structs.replace(failed, log="mine"))
    given = insight.offered([entry], ControlState(), {}, "mine")[JOB]
    told = solve_pool(files.url, msgspec.json.encode(entry), insight.INSIGHT, given.parameters, 1 << 32).result
    found = found_in(told)
    assert [row.method for row in found.disagreement.methods] == ["elo", "sco", "copeland"]
    assert [row.pairs for row in found.prequential.forecasts] == [len(pairs)] * 2
    assert found.top.rival is not None
    assert "bradley_terry" not in [*found.disagreement.left_out, *found.top.unrated_by], "a solve without rows is no board"
    assert told.certificate.kind == "divergence"


def test_it_is_asked_again_when_outcomes_or_boards_changed() -> None:
    fields = {"pool": "blitz", "kind": "games", "generation": 1, "position": 1, "outcomes": 1, "object": "o", "sha256": "", "bytes": 0}
    entry = PoolEntry(**fields, digest="d")
    solved = {Job("blitz", "copeland"): solved_of("blitz"), Job("chess", "copeland"): solved_of("chess")}
    seen = [
        insight.offered([entry], ControlState(), {}, "mine")[JOB],
        insight.offered([entry], ControlState(), solved, "mine")[JOB],
        insight.offered([PoolEntry(**fields, digest="e")], ControlState(), {}, "mine")[JOB],
    ]
    assert len({one.data for one in seen}) == 3
    again = insight.offered([entry], ControlState(), {JOB: board("blitz")}, "mine")[JOB]
    assert again == seen[0], "its own result is no reason"


def test_alarms_count_pools() -> None:
    assert insight.alarms([board("blitz"), solved_of("blitz")]) == {"unconnected": 1, "thinly_led": 1}


def test_standings_leave_out_who_is_not_rated() -> None:
    one = ranked(solved_of(ratings=[("b", 1.0), ("a", None)]))
    assert (len(one.rank), one.leaders(5)) == (1, ["b"])
    assert RankedBoard.of_ratings("elo", 1, ["b", "a", "c"], np.array([1.0, 1.0, 2.0]), np.ones(3, np.bool_)).leaders(3) == ["c", "a", "b"]
    assert RankedBoard.of_ratings("elo", 1, ["b", "a", "c"], np.array([1.0, 1.0, 2.0]), np.array([True, True, False])).rank == {
        "a": 1,
        "b": 1,
    }


def test_an_unexplained_share_is_no_evidence_where_one_strength_is_compatible_with_the_results() -> None:
    """Near-equal agents: noise is most of the flow, so a share of 30 % stood beside an infinite kappa, as a finding of cycles."""
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        strength = rng.normal(0, 0.15, 8)
        wins = np.triu(rng.binomial(12, 1 / (1 + np.exp(strength - strength[:, None]))), 1).astype(float)
        tally = PairCounts.from_dense(wins + np.triu(12 - wins, 1).T)
        given = GamesInput(tuple(map(str, range(8))), tally, places())
        found = found_in(insight.solve(given, 12 * 28, [], {}))
        if found.cyclicity.unexplained is not None and found.order.kappa is None:
            shares.append(found.cyclicity.unexplained)
            assert found.cyclicity.within_noise is True
            assert "one strength for each agent is compatible with the results" in dict(lines(found))["cyclicity"]
            assert not any(cycle.proven for cycle in found.cycles.cycles)
    assert max(shares) > 0.3


def test_the_top_by_observed_majorities_names_boards_with_another_top() -> None:
    """An agent with one win has no head-to-head loss; Copeland counts agents beaten, and put it third."""
    wins = np.zeros((4, 4))
    wins[0, 3] = 1.0  # one win, met nobody else
    wins[1, 2], wins[2, 1], wins[1, 3], wins[3, 1], wins[2, 3], wins[3, 2] = 8, 5, 9, 2, 7, 3
    standings = [RankedBoard("copeland", 1, {NAMES[1]: 1, NAMES[2]: 2, NAMES[0]: 3, NAMES[3]: 4})]
    found = found_in(insight.solve(games(wins), int(wins.sum()), standings, {}))
    assert set(found.top.agents) == {NAMES[0], NAMES[1]}
    assert found.top.elsewhere == {}, "one of them leads that board"
    wins[1, 2], wins[2, 1] = 5, 8
    standings = [RankedBoard("copeland", 1, {NAMES[2]: 1, NAMES[1]: 2, NAMES[0]: 3, NAMES[3]: 4})]
    cut = games(wins).take(np.array([0, 1, 3]))
    found = found_in(insight.solve(cut, int(cut.counts.wins.sum() + cut.counts.losses.sum()), standings, {}))
    assert found.top.elsewhere == {"copeland": 2}
    text = dict(lines(found))["the top"]
    assert "by majority of head-to-head results" in text
    assert "other boards rank the best of them lower: 2 by copeland" in text


def test_forecasts_have_a_row_for_each_method_and_shape() -> None:
    sums = {name: Prequential(by_shape=True) for name in ("elo", "sco")}
    batch = batch_of([game((0, 1), (2, 3))] * 120 + [game(0, 1)] * 20)
    for rater in (Elo(), Sco()):
        rater.fold(rater.init(0), batch, sums[rater.name])
    part = insight_parts.prequential(sums)
    assert [(row.shape, row.pairs, row.enough) for row in part.forecasts] == [("2:2", 120.0, True)] * 2 + [("1:1", 20.0, False)] * 2
    assert {row.method for row in part.forecasts[:2]} == {row.method for row in part.forecasts[2:]} == {"elo", "sco"}
    for row in part.forecasts:
        assert row.scale == sums[row.method].by_shape[str(row.shape)].scale
    assert "\n".join(forecast_lines(part)).count(", games 1:1: not enough outcomes yet (20 of 100 predicted pairs)") == 2


@pytest.mark.parametrize(("weight", "tested"), [(1.0, True), (2.0, False)])
def test_heavy_outcomes_of_many_sides_are_no_votes(weight: float, tested: bool) -> None:
    state, cycle = state_of("r"), ("rock", "scissors", "paper")
    orders = [(cycle[i % 3], cycle[(i + 1) % 3], "pebble") for i in range(60)]
    sides = [[Side(agents=[agent], place=place) for place, agent in enumerate(order)] for order in orders]
    fold_events(state, [GameEvent(v=1, id=str(i), pool="r", time=60.0 * i, weight=weight, sides=row) for i, row in enumerate(sides)])
    found = found_in(insight.solve(problem(Kind.GAMES, state.arrays()), len(orders), [], {}))
    assert (found.cycles.untested is None) == tested
    assert (found.top.not_applicable is None) == tested


def test_forecasts_of_other_shapes_are_the_last() -> None:
    """They are a mix, so they are not the shape with most forecasts, also if they are most."""
    few = [game(0, tuple(range(1, 1 + n))) for n in range(1, MOST_SHAPES + 1)]
    sums = Prequential(by_shape=True)
    Elo().fold(Elo().init(0), batch_of([*few, few[0], *[game(0, tuple(range(1, 1 + n))) for n in range(20, 50)]]), sums)
    part = insight_parts.prequential({"elo": sums})
    assert [row.shape for row in part.forecasts][:1] == ["1:1"]
    assert (part.forecasts[-1].shape, part.forecasts[-1].pairs) == ("others", 30.0)
    assert [*forecast_lines(part)][-1].startswith("elo, games of other shapes: ")
