"""Online raters on any games that hypothesis thinks of: any number of sides, teams, ties, weights and times, in any order."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import Elo, Glicko2, Melo, OnlineState, Prequential, WengLin
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.game_streams import Game, batch_of
from tests.support.online_subjects import SUBJECTS

AGENTS = 7
subjects = pytest.mark.parametrize(("rater", "twin"), SUBJECTS)
any_games = settings(max_examples=8, deadline=None)


@st.composite
def games(draw):
    """1 to 12 games of 2 to 4 sides of 1 to 3 agents."""
    found = []
    for number in range(draw(st.integers(1, 12))):
        sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4).filter(lambda sizes: sum(sizes) <= AGENTS))
        order = iter(draw(st.permutations(range(AGENTS))))
        sides = tuple((tuple(itertools.islice(order, size)), draw(st.integers(-2, 2))) for size in sizes)
        weight = draw(st.sampled_from([1049, WEIGHT_ONE // 2, WEIGHT_ONE, 8 * WEIGHT_ONE]))
        found.append(Game(sides, weight, (7, number + 1), draw(st.floats(-1e7, 1e9))))
    return found


def folded(rater, parts, n=AGENTS):
    state = rater.init(n)
    for part in parts:
        rater.fold(state, batch_of(part))
    return state


@subjects
@any_games
@given(played=games())
def test_it_is_its_twin_and_what_it_says_is_finite(rater, twin, played):
    score = Prequential()
    state, book = rater.init(AGENTS), twin(rater, played)
    rater.fold(state, batch_of(played), score)
    took_part = sorted({agent for one in played for members, _ in one.sides for agent in members})
    assert state.rating[took_part] == pytest.approx([book.rating[agent] for agent in took_part], rel=1e-8, abs=1e-8)
    assert all(np.isfinite(state.column(name)).all() for name in state.COLUMNS)
    assert score.sums[0, :2] == pytest.approx([book.log_loss, book.brier], rel=1e-7, abs=1e-12)
    assert score.sums[0, 2] == pytest.approx(book.discordance, rel=1e-7, abs=book.doubtful + 1e-12)
    assert score.sums[1, :2] == pytest.approx([book.scale, book.information], rel=1e-6)
    assert score.sums[3:, [0, 1, 3]].sum(axis=0) == pytest.approx(np.sum(book.bins, axis=0)[[0, 1, 3]], rel=1e-7)
    for a, b in itertools.pairwise(took_part):
        assert 0 <= rater.predict(state, a, b) <= 1
        assert rater.predict(state, a, b) + rater.predict(state, b, a) == pytest.approx(1, abs=1e-12)


@subjects
@any_games
@given(played=games(), cut=st.integers(0, 12))
def test_a_cut_anywhere_changes_no_bit(rater, twin, played, cut):
    assert digest(folded(rater, [played]).arrays()) == digest(folded(rater, [played[:cut], played[cut:]]).arrays())


@subjects
def test_duels_alone_and_beside_other_games_have_the_same_bits(rater, twin):
    """Batches of duels alone are read without their starts, and agents of later duels are prefetched."""
    random = np.random.default_rng(5)
    pairs = [random.permutation(AGENTS)[:2].tolist() for _ in range(40)]
    duels = [Game((((a,), 0), ((b,), int(random.integers(2)))), WEIGHT_ONE, (7, i), float(i)) for i, (a, b) in enumerate(pairs)]
    others = [Game((((0, 1), 1), ((2,), 0)), WEIGHT_ONE, (7, 90), 90.0), Game((((3,), 1), ((4,), 0), ((5,), 2)), WEIGHT_ONE, (7, 91), 91.0)]
    apart, together = folded(rater, [duels, others]), folded(rater, [duels + others])
    assert digest(apart.arrays()) == digest(together.arrays())
    assert digest(folded(rater, [others, duels]).arrays()) == digest(folded(rater, [others + duels]).arrays())


@subjects
@any_games
@given(played=games(), new=st.permutations(range(AGENTS)))
def test_other_names_are_other_rows(rater, twin, played, new):
    if isinstance(rater, Melo):
        rater = dataclasses.replace(rater, spread=0.0)  # first vectors are drawn by the agents' numbers
    renamed = [one._replace(sides=tuple((tuple(new[a] for a in members), place) for members, place in one.sides)) for one in played]
    before, after = folded(rater, [played]), folded(rater, [renamed])
    for name in before.COLUMNS:
        np.testing.assert_array_equal(after.column(name)[new], before.column(name))


@subjects
@any_games
@given(played=games(), where=st.integers(0, 50), value=st.sampled_from([-1, -(2**31)]))
def test_a_broken_id_or_weight_is_refused_and_changes_nothing(rater, twin, played, where, value):
    sound = batch_of(played)
    state = folded(rater, [played])
    before = digest(state.arrays())
    agent, weight = sound.agent.copy(), sound.weight.copy()
    agent[where % len(agent)], weight[where % len(weight)] = value, value + 1
    for broken in (dataclasses.replace(sound, agent=agent), dataclasses.replace(sound, weight=weight)):
        with pytest.raises(InputError) as caught:
            rater.fold(state, broken, Prequential())
        assert caught.value.argument
        assert digest(state.arrays()) == before


@subjects
def test_what_is_no_state_no_batch_and_no_agent_is_refused(rater, twin):
    state, batch = rater.init(2), batch_of([Game((((0,), 1), ((1,), 2)))])
    other = (WengLin() if not isinstance(rater, WengLin) else Glicko2()).init(2)
    calls = [lambda: rater.fold(state, None), lambda: rater.fold(state, [batch]), lambda: rater.fold(state, batch, "scored")]
    for stranger in (None, other, [1500.0, 1500.0]):
        calls += [lambda s=stranger: rater.fold(s, batch), lambda s=stranger: rater.predict(s, 0, 1), lambda s=stranger: rater.read(s, [0])]
    calls += [lambda a=a: rater.predict(state, a, 1) for a in (-1, 2, 0.5, True, None, "0")]
    calls += [lambda ids=ids: rater.read(state, ids) for ids in ([-1], [2], [0.5], [[0]], "0", None)]
    before = digest(state.arrays())
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.rule
    assert digest(state.arrays()) == before
    assert rater.read(state, [1, 0]).rating.tolist() == rater.read(state, np.array([1, 0], np.int32)).rating.tolist()
    assert len(rater.read(state, []).rating) == 0


def test_a_state_knows_its_kind():
    state = Elo().init(1)
    assert OnlineState.checked(state) is state
    with pytest.raises(InputError, match="must be a OnlineState"):
        OnlineState.checked(Glicko2().init(1))
