"""Every online rater against every law of `Rater`. A new rater is one line of SUBJECTS."""

import dataclasses
import itertools
import sys

import numpy as np
import pytest

from ratings_core.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import RATERS, Elo, Prequential, Rater, Sco
from ratings_core.outcomes import WEIGHT_ONE
from tests.support.game_streams import batch_of, duels, game, mixed_games
from tests.unit.core.online_twins import elo_twin, sco_twin

SUBJECTS = [
    pytest.param(Elo(), elo_twin, id="elo"),
    pytest.param(Elo(k=24, scale=200, base=2, start=0, provisional_k=60, provisional_outcomes=5), elo_twin, id="elo-provisional"),
    pytest.param(Sco(), sco_twin, id="sco"),
    pytest.param(Sco(tau=2, alpha=1, low=-2, high=2, start=0), sco_twin, id="sco-narrow"),
]
subjects = pytest.mark.parametrize(("rater", "twin"), SUBJECTS)
AGENTS = 40
GAMES = mixed_games(7, 400, AGENTS)


def folded(rater, games, cuts=(), state=None, score=None):
    state = rater.init(0) if state is None else state
    edges = [0, *cuts, len(games)]
    for start, stop in itertools.pairwise(edges):
        rater.fold(state, batch_of(games[start:stop]), score)
    return state


def kernel_of(rater):
    return sys.modules[type(rater).__module__]._fold


def test_the_table_holds_every_rater():
    assert {subject.values[0].name for subject in SUBJECTS} == set(RATERS)
    assert all(isinstance(subject.values[0], Rater) for subject in SUBJECTS)


@subjects
def test_agrees_with_its_readable_twin(rater, twin):
    score = Prequential()
    state, book = folded(rater, GAMES, score=score), twin(rater, GAMES)
    assert len(state) == AGENTS
    np.testing.assert_allclose(state.rating, [book.rating[a] for a in range(AGENTS)], rtol=0, atol=1e-9)
    assert state.outcomes.tolist() == [book.outcomes[a] for a in range(AGENTS)]
    assert (score.pairs, score.counts[1] / WEIGHT_ONE) == pytest.approx((book.weight, book.decided), rel=1e-12)
    assert score.sums == pytest.approx([book.log_loss, book.brier, book.discordance], rel=1e-9)


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
def test_renaming_agents_permutes_the_columns(rater, twin):
    new = np.random.default_rng(3).permutation(AGENTS)
    renamed = [g._replace(sides=tuple((tuple(int(new[a]) for a in members), place) for members, place in g.sides)) for g in GAMES]
    plain, moved = folded(rater, GAMES).arrays(), folded(rater, renamed).arrays()
    assert digest(plain) == digest({name: column[new] for name, column in moved.items()})


@subjects
def test_nothing_happens_to_who_does_not_play(rater, twin):
    state = folded(rater, GAMES, state=rater.init(AGENTS + 5))
    before = state.arrays()
    rater.fold(state, batch_of([]), Prequential())
    assert digest(state.arrays()) == digest(before)
    rater.fold(state, batch_of([game(3, 4), game((5, 6), 7)]))
    bystanders = np.setdiff1d(np.arange(len(state)), [3, 4, 5, 6, 7])
    for name, column in state.arrays().items():
        assert digest({"rows": column[bystanders]}) == digest({"rows": before[name][bystanders]})
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


@subjects
def test_one_against_one_has_the_bits_of_the_general_way(rater, twin):
    """The kernel itself never takes the general way for one against one, so its parts are driven by hand."""
    games = duels(11, 300)
    fast, slow = folded(rater, games), rater.init(AGENTS)
    fast_score, slow_score = Prequential(), Prequential()
    fast = folded(rater, games, score=fast_score)
    for one in games:
        general_duel(rater, slow, batch_of([one]), slow_score)
    assert digest(fast.arrays()) == digest(slow.arrays())
    assert digest(fast_score.arrays()) == digest(slow_score.arrays())


def general_duel(rater, state, batch, score):
    module = sys.modules[type(rater).__module__]
    games, _ = module.games_of(batch)
    mean, moves = np.empty(64), np.empty(64)
    module.side_means(state.rating, games.agent_start, games.agent, 0, 2, mean)
    among = (games.place, 0, 2, games.weight[0], mean)
    scoring = (True, score.counts, score.sums)
    move = (state.rating, state.outcomes, games.agent_start, games.agent, 0, 2, games.weight[0])
    if isinstance(rater, Elo):
        module._gains(*among, rater._slope, *scoring, moves)
        provisional_k = rater.k if rater.provisional_k is None else rater.provisional_k
        module._move(*move, (rater.k, provisional_k, rater.provisional_outcomes), moves)
    else:
        module._pushes(*among, rater._slope, *scoring, moves)
        module._move(*move, (rater._slope, rater.alpha * rater._slope, rater.low, rater.high), moves)


BROKEN = {
    "side_start": [[1, 2], [0, 1], [0, 3], [0], [0, 2, 2]],
    "agent_start": [[0, 2, 2], [1, 1, 2], [0, 1, 3], [0, 1]],
    "agent": [[0, -1]],
    "weight": [[0], [-5]],
}


@subjects
@pytest.mark.parametrize(("column", "values"), [(column, values) for column, cases in BROKEN.items() for values in cases])
def test_a_broken_batch_is_refused_and_changes_nothing(rater, twin, column, values):
    state, score, sound = rater.init(1), Prequential(), batch_of([game(0, 1)])
    before = digest(state.arrays())
    broken = dataclasses.replace(sound, **{column: np.array(values, getattr(sound, column).dtype)})
    with pytest.raises(InputError) as caught:
        rater.fold(state, broken, score)
    assert caught.value.argument in (column, "side_start", "agent_start")
    assert digest(state.arrays()) == before
    assert not score.counts.any()


@subjects
def test_a_column_of_another_type_is_refused(rater, twin):
    sound = batch_of([game(0, 1)])
    with pytest.raises(InputError, match="agent must be int32"):
        rater.fold(rater.init(0), dataclasses.replace(sound, agent=sound.agent.astype(np.float64)))


@subjects
def test_predictions_are_fair_and_ordered(rater, twin):
    state = folded(rater, GAMES)
    order = np.argsort(state.rating)
    low, mid, high = (int(order[i]) for i in (0, AGENTS // 2, -1))
    assert 0 <= rater.predict(state, low, high) <= rater.predict(state, low, mid) <= rater.predict(state, high, low) <= 1
    assert rater.predict(state, low, high) + rater.predict(state, high, low) == pytest.approx(1, abs=1e-15)
    assert rater.predict(state, mid, mid) == 0.5
    for a, b in ((-1, 0), (0, AGENTS)):
        with pytest.raises(InputError, match="must be the id of an agent"):
            rater.predict(state, a, b)


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
    state.rating[:] = [rater.start, rater.start - 1]
    assert rater.predict(state, 0, 1) > 0.5
    with pytest.raises(InputError):
        rater.init(-1)


@subjects
def test_memory_is_bounded_while_growing(rater, twin):
    state = rater.init(0)
    for agents in range(2, 3000, 7):
        rater.fold(state, batch_of([game(0, agents - 1)]))
    assert state.nbytes <= 2 * 16 * len(state)


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
    ],
)  # fmt: skip
def test_bad_settings_are_refused(kind, settings, argument):
    with pytest.raises(InputError) as caught:
        kind(**settings)
    assert caught.value.argument == argument


def test_settings_compare_by_value_and_whole_floats_count():
    assert Elo(k=32) == Elo(k=32.0, provisional_outcomes=0.0)
    assert hash(Sco(tau=1)) == hash(Sco())
    with pytest.raises(TypeError):
        Elo(K=3)
