"""Every online rater against every law of `Rater`. A new rater is one line of `SUBJECTS` in tests/support/online_subjects.py."""

import dataclasses
import itertools
import sys

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.online import RATERS, Elo, FenchelYoung, Glicko2, Melo, Prequential, Rater, Sco, WengLin, elo, fenchel_young, sco
from ratings_core.online.games import scoring
from ratings_core.online.pairwise import no_noise, play
from ratings_core.online.prequential import record, settle
from ratings_core.online.trace import tracing
from ratings_core.records.forecasts import Strength, expected_scores
from ratings_core.records.games import games_of
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.assembly import FORBIDDEN, fresh
from tests.support.game_streams import at_times, batch_of, duels, game, mixed_games
from tests.support.online_subjects import SUBJECTS

subjects = pytest.mark.parametrize(("rater", "twin"), SUBJECTS)
AGENTS = 40
TIMES = np.random.default_rng(8).integers(-3600, 7200, 400).cumsum()
"""Of 400 games, some of them late: in 150 to 300 different hours, and three weeks."""
GAMES = at_times(mixed_games(7, 400, AGENTS), TIMES)


def folded(rater, games, cuts=(), state=None, score=None):
    state = rater.init(0) if state is None else state
    edges = [0, *cuts, len(games)]
    for start, stop in itertools.pairwise(edges):
        rater.fold(state, batch_of(games[start:stop]), score)
    return state


def kernel_of(rater):
    return sys.modules[type(rater).__module__]._fold


@pytest.mark.parametrize("rater", [kind() for kind in RATERS.values()], ids=list(RATERS))
def test_kernels_hold_neither_libm_nor_fused_operations(rater, monkeypatch):
    compiled = fresh(kernel_of(rater))
    monkeypatch.setattr(sys.modules[type(rater).__module__], "_fold", compiled)
    folded(rater, GAMES[:20], score=Prequential())
    assert compiled.signatures
    assert not [found[0] for assembly in compiled.inspect_asm().values() for found in FORBIDDEN.finditer(assembly)]


@pytest.mark.parametrize(("kind", "setting"), [(kind, one.name) for kind in RATERS.values() for one in dataclasses.fields(kind)])
def test_no_setting_takes_what_is_no_number(kind, setting):
    for wrong in (float("nan"), float("-inf"), "x"):
        with pytest.raises(InputError) as caught:
            kind(**{setting: wrong} | ({"provisional_outcomes": 5} if setting == "provisional_k" else {}))
        assert caught.value.argument == setting


def test_the_table_holds_every_rater():
    assert {subject.values[0].name for subject in SUBJECTS} == set(RATERS)
    assert all(isinstance(subject.values[0], Rater) for subject in SUBJECTS)


@subjects
def test_agrees_with_its_readable_twin(rater, twin):
    score = Prequential()
    state, book = folded(rater, GAMES, score=score), twin(rater, GAMES)
    assert len(state) == AGENTS
    np.testing.assert_allclose(state.rating, [book.rating[a] for a in range(AGENTS)], rtol=0, atol=1e-9)
    for name, entries in book.other.items():
        np.testing.assert_allclose(state.column(name), [entries[a] for a in range(AGENTS)], rtol=1e-11, atol=1e-11)
    assert state.outcomes.tolist() == [book.outcomes[a] for a in range(AGENTS)]
    assert (score.pairs, score.counts[1] / WEIGHT_ONE) == pytest.approx((book.weight, book.decided), rel=1e-12)
    assert score.sums[0, :3] == pytest.approx([book.log_loss, book.brier, book.discordance], rel=1e-9)
    assert (score.scale, score.sums[1, 1]) == pytest.approx((book.scale, book.information), rel=1e-9)
    assert score.sums[2].tolist() == [0.0] * 4
    np.testing.assert_allclose(score.sums[3:], book.bins, rtol=1e-9, atol=1e-9)


@subjects
@pytest.mark.parametrize("size", [1, 7, 150])
def test_batch_boundaries_change_no_bit(rater, twin, size):
    whole, cut = Prequential(), Prequential()
    once = folded(rater, GAMES, score=whole)
    often = folded(rater, GAMES, range(size, len(GAMES), size), score=cut)
    assert digest(once.arrays()) == digest(often.arrays())
    assert digest(whole.arrays()) == digest(cut.arrays())


@subjects
def test_a_slice_of_a_batch_folds_as_the_games_do(rater, twin):
    state, whole = rater.init(0), batch_of(GAMES)
    for start in range(0, len(GAMES), 64):
        rater.fold(state, whole.slice(start, min(start + 64, len(GAMES))))
    assert digest(state.arrays()) == digest(folded(rater, GAMES).arrays())


@subjects
def test_outcomes_of_disjoint_agents_commute(rater, twin):
    left = mixed_games(1, 60, 20)
    right = [g._replace(sides=tuple((tuple(a + 20 for a in members), place) for members, place in g.sides)) for g in mixed_games(2, 60, 20)]
    woven = [g for pair in zip(right, left, strict=True) for g in pair]
    assert digest(folded(rater, left + right).arrays()) == digest(folded(rater, woven).arrays())


@subjects
def test_outcomes_of_disjoint_agents_commute_inside_a_period(rater, twin):
    left = mixed_games(1, 60, 20)
    right = [g._replace(sides=tuple((tuple(a + 20 for a in members), place) for members, place in g.sides)) for g in mixed_games(2, 60, 20)]
    one, other = [], []
    for start in range(0, 60, 10):
        times, parts = [start * 1e6] * 10, (left[start : start + 10], right[start : start + 10])
        one += at_times(parts[0], times) + at_times(parts[1], times)
        other += at_times(parts[1], times) + at_times(parts[0], times)
    assert digest(folded(rater, one).arrays()) == digest(folded(rater, other).arrays())


@subjects
def test_renaming_agents_permutes_the_columns(rater, twin):
    new = np.random.default_rng(3).permutation(AGENTS)
    renamed = [g._replace(sides=tuple((tuple(int(new[a]) for a in members), place) for members, place in g.sides)) for g in GAMES]
    first = rater.init(AGENTS).arrays()
    renamed_first = {name: column[np.argsort(new)] if len(column) == AGENTS else column for name, column in first.items()}
    plain = folded(rater, GAMES).arrays()
    moved = folded(rater, renamed, state=type(rater.init(0)).from_arrays(renamed_first)).arrays()
    assert digest(plain) == digest({name: column[new] if len(column) == AGENTS else column for name, column in moved.items()})


@subjects
def test_nothing_happens_to_who_does_not_play(rater, twin):
    state = folded(rater, GAMES, state=rater.init(AGENTS + 5))
    before = state.arrays()
    rater.fold(state, batch_of([]), Prequential())
    assert digest(state.arrays()) == digest(before)
    rater.fold(state, batch_of([game(3, 4), game((5, 6), 7)]))
    bystanders = np.setdiff1d(np.arange(len(state)), [3, 4, 5, 6, 7])
    for name in state.COLUMNS:
        assert digest({"rows": state.column(name)[bystanders]}) == digest({"rows": before[name][bystanders]})
    assert digest({"rows": state.rating[AGENTS:]}) == digest({"rows": rater.init(5).rating})


@subjects
def test_scoring_does_not_change_ratings(rater, twin):
    assert digest(folded(rater, GAMES).arrays()) == digest(folded(rater, GAMES, score=Prequential()).arrays())


@subjects
def test_growing_changes_no_bit_and_compiles_nothing(rater, twin):
    grown = folded(rater, GAMES, range(1, len(GAMES)))
    roomy = folded(rater, GAMES, state=rater.init(AGENTS))
    assert digest(grown.arrays()) == digest(roomy.arrays())
    restored = type(grown).from_arrays(grown.arrays())
    for column in (batch := batch_of(GAMES)).agent, batch.place, batch.weight:
        column.flags.writeable = False
    strided = dataclasses.replace(batch, agent=np.repeat(batch.agent, 2)[::2])
    for state, games in ((grown, batch), (roomy, strided), (restored, batch_of(GAMES))):
        rater.fold(state, games, Prequential())
    assert digest(grown.arrays()) == digest(roomy.arrays()) == digest(restored.arrays())
    assert len(kernel_of(rater).signatures) == 1


@kernel
def _play_sco(rating, outcomes, games, key, slope, settings, trace, room):
    mean, luck, total, odds, results = room
    traced, before, after, _ = trace
    play(
        rating, outcomes, games, 0, key, slope, settings, traced, before, after, no_noise, sco._push, sco.projected_step, mean, luck, total,
        odds, results, 0,
    )  # fmt: skip


@kernel
def _play_elo(rating, outcomes, games, key, slope, settings, trace, room):
    mean, luck, total, odds, results = room
    traced, before, after, _ = trace
    play(
        rating, outcomes, games, 0, key, slope, settings, traced, before, after, no_noise, elo._push, elo._moved, mean, luck, total,
        odds, results, 0,
    )  # fmt: skip


@kernel
def _play_fenchel_young(rating, outcomes, games, key, slope, settings, trace, room):
    mean, luck, total, odds, results = room
    traced, before, after, _ = trace
    play(
        rating, outcomes, games, 0, key, slope, settings, traced, before, after, fenchel_young._noise, fenchel_young._push,
        sco.projected_step, mean, luck, total, odds, results, 0,
    )  # fmt: skip


@kernel
def _record(score, odds, results, weight):
    """The two steps that `score_games` takes for many outcomes."""
    _, counts, sums, rows = score
    record(counts, sums, rows[0], odds[0], results[0], weight)
    settle(sums, rows[0], 2)


PAIRWISE = {Elo: _play_elo, Sco: _play_sco, FenchelYoung: _play_fenchel_young}


@pytest.mark.parametrize(("rater", "twin"), [subject for subject in SUBJECTS if type(subject.values[0]) in PAIRWISE])
def test_one_against_one_has_the_bits_of_the_general_way(rater, twin):
    """The kernel itself never takes the general way for one against one, so that is driven by hand."""
    games = duels(11, 300)
    fast, slow = folded(rater, games), rater.init(AGENTS)
    fast_score, slow_score = Prequential(), Prequential()
    fast = folded(rater, games, score=fast_score)
    for one in games:
        general_duel(rater, slow, batch_of([one]), slow_score)
    assert digest(fast.arrays()) == digest(slow.arrays())
    assert digest(fast_score.arrays()) == digest(slow_score.arrays())


def general_duel(rater, state, batch, score):
    given, _ = games_of(batch)
    key = batch.key.copy()
    key.flags.writeable = False
    if isinstance(rater, Elo):
        provisional_k = rater.k if rater.provisional_k is None else rater.provisional_k
        settings = rater.k, provisional_k, rater.provisional_outcomes
    else:
        rate = rater.alpha * rater._slope if isinstance(rater, Sco) else rater.alpha
        settings = rate, rater.low, rater.high, np.uint64(getattr(rater, "seed", 0))
    room = tuple(np.empty(64) for _ in range(5))
    PAIRWISE[type(rater)](state.rating, state.outcomes, given, key, rater._slope, settings, tracing(None, batch, score), room)
    _record(scoring(score, given), *room[3:], given.weight[0])


BROKEN = {
    "batch.side_start must cut": [("side_start", values) for values in ([1, 2], [0, 1], [0, 3], [0], [0, 2, 2])],
    "batch.agent_start must cut": [("agent_start", values) for values in ([1, 1, 2], [0, 1, 3], [0, 1])],
    "batch must have agents within the batch": [("agent_start", [0, 2, 2])],
    "batch must name agents by ids >= 0": [("agent", [0, -1])],
    "batch must have a weight": [("weight", [0]), ("weight", [-5])],
}


@subjects
@pytest.mark.parametrize(("rule", "column", "values"), [(rule, *case) for rule, cases in BROKEN.items() for case in cases])
def test_a_broken_batch_is_refused_and_changes_nothing(rater, twin, rule, column, values):
    state, score, sound = rater.init(1), Prequential(), batch_of([game(0, 1)])
    before = digest(state.arrays())
    broken = dataclasses.replace(sound, **{column: np.array(values, getattr(sound, column).dtype)})
    with pytest.raises(InputError, match=f"^{rule}"):
        rater.fold(state, broken, score)
    assert digest(state.arrays()) == before
    assert not score.counts.any()


@subjects
def test_a_column_of_another_type_is_refused(rater, twin):
    sound = batch_of([game(0, 1)])
    with pytest.raises(InputError, match="agent must be int32"):
        rater.fold(rater.init(0), dataclasses.replace(sound, agent=sound.agent.astype(np.float64)))


@subjects
def test_predictions_are_fair(rater, twin):
    state = folded(rater, GAMES)
    for a, b in itertools.combinations(range(0, AGENTS, 3), 2):
        assert 0 < rater.predict(state, a, b) < 1
        assert rater.predict(state, a, b) + rater.predict(state, b, a) == pytest.approx(1, abs=1e-15)
    assert rater.predict(state, 3, 3) == 0.5
    for a, b in ((-1, 0), (0, AGENTS)):
        with pytest.raises(InputError, match="must be the id of an agent"):
            rater.predict(state, a, b)


@pytest.mark.parametrize(("rater", "twin"), [subject for subject in SUBJECTS if not isinstance(subject.values[0], Melo)])
def test_the_higher_rated_is_predicted_to_win(rater, twin):
    """Except by mElo, whose vectors may say otherwise."""
    state = folded(rater, GAMES)
    rating = rater.read(state, np.arange(AGENTS, dtype=np.int32)).rating if isinstance(rater, Glicko2) else state.rating
    for a, b in itertools.combinations(range(AGENTS), 2):
        assert (rater.predict(state, a, b) > 0.5) == (rating[a] > rating[b])


@subjects
def test_a_reading_gives_the_same_predictions(rater, twin):
    state, model = folded(rater, GAMES), rater.forecasts
    if model is None:
        return
    reading = rater.read(state, np.arange(AGENTS, dtype=np.int32))
    known = [Strength(rating) for rating in reading.rating.tolist()]
    if reading.beliefs is not None:
        rated = zip(reading.rating.tolist(), reading.beliefs.each(), reading.deviation.tolist(), strict=True)
        known = [Strength(rater.beliefs.mean(rating, belief), deviation) for rating, belief, deviation in rated]
    log_odds = model.log_odds(known)
    for a, b in itertools.combinations(range(AGENTS), 2):
        assert log_odds[a, b] == pytest.approx(rater.log_odds(state, a, b), rel=1e-9, abs=1e-12)


@subjects
def test_a_reading_gives_the_predictions_of_teams(rater, twin):
    if (model := rater.forecasts) is None:
        return
    state, score = folded(rater, GAMES), Prequential()
    reading = rater.read(state, np.arange(5, dtype=np.int32))
    known = [Strength(rating) for rating in reading.rating.tolist()]
    if reading.beliefs is not None:
        rated = zip(reading.rating.tolist(), reading.beliefs.each(), reading.deviation.tolist(), strict=True)
        known = [Strength(rater.beliefs.mean(rating, belief), deviation) for rating, belief, deviation in rated]
    rater.fold(state, batch_of([game((0, 1, 2), (3, 4), time=GAMES[-1].time)]), score)
    p = expected_scores(model.log_odds([model.team(known[:3]), model.team(known[3:])]))[0, 1]
    assert score.brier == pytest.approx((1 - p) ** 2, rel=1e-9)


def test_all_methods_but_melo_forecast_from_readings():
    assert [name for name, rater in RATERS.items() if rater().forecasts is None] == ["melo"]


@subjects
def test_what_is_scored_is_what_was_predicted(rater, twin):
    state = rater.init(AGENTS)
    for one in at_times(duels(5, 60), range(60)):
        (((a,), place), ((b,), other)), score = one.sides, Prequential()
        p, result = rater.predict(state, a, b), 0.5 if place == other else float(place < other)
        rater.fold(state, batch_of([one]), score)
        assert score.brier == pytest.approx((result - p) ** 2, rel=1e-9, abs=1e-15)


@subjects
def test_reading_looks_at_those_asked_for_and_changes_nothing(rater, twin):
    state = folded(rater, GAMES)
    before = digest(state.arrays())
    whole, some = rater.read(state, np.arange(AGENTS, dtype=np.int32)), rater.read(state, np.array([7, 3, 7], np.int32))
    assert some.rating.tolist() == whole.rating[[7, 3, 7]].tolist()
    assert some.outcomes.tolist() == state.outcomes[[7, 3, 7]].tolist()
    assert (some.deviation is None) == (whole.deviation is None)
    assert whole.deviation is None or (whole.deviation > 0).all()
    assert digest(state.arrays()) == before
    for wrong in (-1, AGENTS):
        with pytest.raises(InputError, match="must be ids of agents"):
            rater.read(state, np.array([wrong], np.int32))


@subjects
def test_what_ranks_changes_only_by_playing(rater, twin):
    """So boards need to be told of the agents of an outcome alone."""
    state = folded(rater, GAMES)
    others = np.arange(8, AGENTS, dtype=np.int32)
    before = rater.read(state, others).rating
    rater.fold(state, batch_of([game(0, 1, time=1e9), game((2, 3), (4, 5), time=2e9), game(6, 7, time=3e9)]))
    assert digest({"shown": rater.read(state, others).rating}) == digest({"shown": before})


@subjects
def test_later_deviations_follow_from_an_earlier_reading(rater, twin):
    """So whoever holds a reading can say what a deviation is while others play, without the state."""
    state, others = folded(rater, GAMES), np.arange(8, AGENTS, dtype=np.int32)
    known = rater.read(state, others)
    assert (known.beliefs is None) == (known.deviation is None) == (rater.beliefs is None)
    for time in (float(TIMES.max()) + after for after in (0.0, 3599.0, 7200.0, 2e6, 1e8, 1e12)):
        rater.fold(state, batch_of([game(0, 1, time=time)]))
        if rater.beliefs is not None:
            follow = [rater.beliefs.deviation(belief, time) for belief in known.beliefs.each()]
            np.testing.assert_allclose(follow, rater.read(state, others).deviation, rtol=1e-13)
    if rater.beliefs is not None:
        newcomer = rater.read(rater.init(1), np.zeros(1, np.int32))
        assert newcomer.deviation.tolist() == [rater.beliefs.newcomer] == [rater.beliefs.deviation(*newcomer.beliefs.each(), 1e12)]
        assert (rater.read(state, others).deviation <= rater.beliefs.newcomer).all()


@subjects
def test_the_less_an_outcome_weighs_the_less_it_moves(rater, twin):
    start = folded(rater, GAMES).arrays()

    def moved(weight):
        state = type(rater.init(0)).from_arrays(start)
        rater.fold(state, batch_of([game(0, 1, 2, weight=weight, time=float(TIMES.max()))]))
        known = rater.read(state, np.arange(3, dtype=np.int32))
        return known.rating - rater.read(type(state).from_arrays(start), np.arange(3, dtype=np.int32)).rating

    full = moved(WEIGHT_ONE)
    if isinstance(rater, Glicko2):  # a new period is entered, too, whatever an outcome weighs
        assert np.abs(moved(WEIGHT_ONE // 1000) - moved(WEIGHT_ONE // 2000)).max() <= 1e-3 * np.abs(full).max() + 1e-2
    else:
        assert np.abs(moved(WEIGHT_ONE // 1000)).max() <= 2e-3 * np.abs(full).max()


@subjects
def test_a_state_comes_back_from_its_arrays(rater, twin):
    state = folded(rater, GAMES[:200])
    restored = type(state).from_arrays(state.arrays())
    assert digest(folded(rater, GAMES[200:], state=restored).arrays()) == digest(folded(rater, GAMES).arrays())


@subjects
def test_arrays_that_are_no_state_are_refused(rater, twin):
    kind, arrays = type(rater.init(0)), rater.init(3).arrays()
    for broken in (
        {name: column for name, column in arrays.items() if name != "rating"},
        arrays | {"extra": np.zeros(3)},
        arrays | {"rating": np.zeros(4)},
        arrays | {"rating": np.zeros(3, np.float32)},
        arrays | {"rating": np.array([0.0, np.nan, 0.0])},
    ):
        with pytest.raises(InputError):
            kind.from_arrays(broken)


@subjects
def test_ratings_can_be_set_before_a_season(rater, twin):
    state = rater.init(2)
    state.rating[1] -= 1
    assert rater.predict(state, 0, 1) > 0.5
    with pytest.raises(InputError):
        rater.init(-1)


@subjects
def test_memory_is_bounded_while_growing(rater, twin):
    state = rater.init(0)
    for agents in range(2, 3000, 7):
        rater.fold(state, batch_of([game(0, agents - 1)]))
    row = sum(column.nbytes for name, column in state.arrays().items() if name in state.COLUMNS) / len(state)
    assert state.nbytes <= 2 * row * len(state)
    assert row <= {"elo": 16, "sco": 16, "fenchel_young": 16, "weng_lin": 24, "glicko2": 56}.get(rater.name, 64)


@pytest.mark.parametrize(
    ("kind", "settings", "argument"),
    [
        (Elo, {"k": -1}, "k"), (Elo, {"k": float("nan")}, "k"), (Elo, {"scale": 0}, "scale"), (Elo, {"base": 1}, "base"),
        (Elo, {"start": float("inf")}, "start"), (Elo, {"start": "high"}, "start"),
        (Elo, {"provisional_k": 40}, "provisional_outcomes"), (Elo, {"provisional_outcomes": 3}, "provisional_outcomes"),
        (Elo, {"provisional_k": -1, "provisional_outcomes": 3}, "provisional_k"),
        (Elo, {"provisional_k": 40, "provisional_outcomes": 2.5}, "provisional_outcomes"),
        (Sco, {"tau": 0}, "tau"), (Sco, {"alpha": -1}, "alpha"), (Sco, {"low": 100}, "high"), (Sco, {"start": 101}, "start"),
        (Sco, {"start": -1}, "start"), (Sco, {"low": float("-inf")}, "low"),
        (FenchelYoung, {"sigma": 0}, "sigma"), (FenchelYoung, {"alpha": -1}, "alpha"), (FenchelYoung, {"high": 0}, "high"),
        (FenchelYoung, {"start": 101}, "start"), (FenchelYoung, {"seed": -1}, "seed"), (FenchelYoung, {"seed": 2**53 + 1}, "seed"),
        (FenchelYoung, {"seed": 1.5}, "seed"), (FenchelYoung, {"low": float("nan")}, "low"),
        (Melo, {"k": -1}, "k"), (Melo, {"rate": -1}, "rate"), (Melo, {"scale": 0}, "scale"), (Melo, {"base": 1}, "base"),
        (Melo, {"start": float("inf")}, "start"), (Melo, {"dimensions": 3}, "dimensions"), (Melo, {"dimensions": 0}, "dimensions"),
        (Melo, {"dimensions": 66}, "dimensions"), (Melo, {"spread": -1}, "spread"), (Melo, {"seed": "x"}, "seed"),
        (WengLin, {"mu": float("nan")}, "mu"), (WengLin, {"sigma": 0}, "sigma"), (WengLin, {"beta": 0}, "beta"),
        (WengLin, {"kappa": 0}, "kappa"), (WengLin, {"kappa": 2}, "kappa"), (WengLin, {"tau": -1}, "tau"), (WengLin, {"z": -1}, "z"),
        (Glicko2, {"start": 1e10}, "start"), (Glicko2, {"deviation": 0}, "deviation"), (Glicko2, {"volatility": 0}, "volatility"),
        (Glicko2, {"volatility": 3}, "volatility"), (Glicko2, {"tau": 0}, "tau"), (Glicko2, {"scale": 0}, "scale"),
        (Glicko2, {"period_seconds": 0}, "period_seconds"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(kind, settings, argument):
    with pytest.raises(InputError) as caught:
        kind(**settings)
    assert caught.value.argument == argument


def test_settings_compare_by_value_and_whole_floats_count():
    assert Elo(k=32) == Elo(k=32.0, provisional_outcomes=0.0)
    assert hash(Sco(tau=1)) == hash(Sco())
    assert Melo(dimensions=4.0, seed=3.0) == Melo(dimensions=4, seed=3)
    with pytest.raises(TypeError):
        Elo(K=3)


def test_who_is_provisional_is_told_when_read():
    elo, weng_lin = Elo(), WengLin()
    games = [batch_of([game(0, 1), game(0, 1), game(0, 2)])]
    plain, believed = elo.init(3), weng_lin.init(3)
    elo.fold(plain, *games)
    weng_lin.fold(believed, *games)
    agents = np.arange(3, dtype=np.int32)
    assert elo.read(plain, agents).provisional(outcomes=2).tolist() == [False, False, True]
    assert elo.read(plain, agents).provisional(deviation=1.0).tolist() == [False, False, False]
    known = weng_lin.read(believed, agents)
    assert known.provisional(deviation=float(known.deviation[2]) - 1e-9).tolist() == [False, False, True]
    assert known.provisional(outcomes=3, deviation=1e9).tolist() == [False, True, True]
