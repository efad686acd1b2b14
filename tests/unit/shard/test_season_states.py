"""The first state of a season: a function of the final state of the season before, for every online method."""

import random
from typing import Any

import msgspec
import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from services.control.directory import FixedDirectory
from services.control.records import FoldSettings, Generation, Opening
from services.log.protocol import Record
from services.shard.batch import Batch
from services.shard.checkpointing.entries import PoolEntries
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.publishing.updates import Track, update_of
from services.state import opening
from services.state.edits import Retracted
from services.state.opening import FINAL_ARRAYS, FinalState, rated_initial
from services.state.pool import PoolState
from services.wire.pools import Kind
from tests.support.log_records import records
from tests.support.pools import control_of, first_generation, pool_of

ONLINE: dict[str, dict[str, float]] = {method: {} for method in ("elo", "sco", "fenchel_young", "melo", "weng_lin", "glicko2")}
FOLD = FoldSettings(online=ONLINE)
CREATED = pool_of("p", Kind.GAMES, FOLD)
FIRST = first_generation(CREATED)


def games(start: int, stop: int, agents: int = 12) -> list[object]:
    found: list[object] = []
    for number in range(start, stop):
        draw = random.Random(number)
        names = draw.sample([f"agent-{i}" for i in range(agents)], 2)
        sides = [{"agents": [name], "place": place} for name, place in zip(names, draw.choice([(1, 2), (2, 1), (1, 1)]), strict=True)]
        found.append({"v": 1, "id": f"g{number}", "pool": "p", "time": 7200.0 * number, "sides": sides})
    return found


def season(**fields: Any) -> Generation:
    keep = fields.pop("keep", 0.5)
    opening = Opening(generation=1, position=100, keep=keep, first=2, methods=tuple(ONLINE))
    return Generation(**{"pool": "p", "number": 2, "start": 100, "time": 0.0, "fold": FOLD, "season": "s", "opening": opening, **fields})


def ended() -> PoolState:
    """The first season after 100 games."""
    partition = Partition(0, 1)
    partition.fold(records(games(0, 100)), FixedDirectory(control_of(CREATED)))
    return partition.pools["p"]


def opened(state: PoolState, made: Generation) -> PoolState:
    return PoolState(CREATED, made, final=FinalState.of(Kind.GAMES, FIRST, state.arrays()))


def folded(state: PoolState, values: list[object], cut: int = 1000) -> PoolState:
    """The state after the records from offset 100 on, in parts of `cut`."""
    partition = Partition(0, 1, 100)
    partition.pools["p"] = state
    every = [Record(100 + record.offset, record.value, record.time) for record in records(values)]
    for start in range(0, len(every), cut):
        partition.fold(type(records(values))(every[start : start + cut]), FixedDirectory(control_of(CREATED)))
    return state


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_a_season_has_the_same_bits_however_its_records_are_cut(cut: int) -> None:
    state = folded(opened(ended(), season()), games(100, 200, 15), cut)
    whole = folded(opened(ended(), season()), games(100, 200, 15))
    assert digest(state.arrays()) == digest(whole.arrays())
    assert state.content.counts["outcomes"] == 100


def test_a_season_continues_from_its_checkpoint_with_the_same_bits() -> None:
    half = folded(opened(ended(), season()), games(100, 150))
    restored = PoolState.restore(CREATED, season(), half.arrays(), 150)
    assert restored.opened
    assert digest(restored.arrays()) == digest(half.arrays())


def test_everything_kept_shows_the_ratings_of_the_season_before() -> None:
    before, after = ended(), opened(ended(), season(keep=1.0))
    ids = np.arange(len(before.content.agents), dtype=np.int32)
    assert after.content.agents.names() == before.content.agents.names()
    for method in ONLINE:
        old, new = before.content.ratings.read(method, ids), after.content.ratings.read(method, ids)
        assert new.rating.tolist() == old.rating.tolist(), method
        assert (None if new.deviation is None else new.deviation.tolist()) == (None if old.deviation is None else old.deviation.tolist())
    assert after.content.ratings.activity.tolist() == [0] * len(ids)
    assert after.content.counts["outcomes"] == 0


def test_nothing_kept_leaves_no_agent_and_known_ids() -> None:
    state = opened(ended(), season(keep=0.0))
    assert len(state.content.agents) == 0
    folded(state, games(95, 105))
    assert (state.content.counts["outcomes"], state.content.counts["duplicates"]) == (5, 5)


def test_a_retracted_outcome_that_is_sent_again_does_not_count_in_the_next_season() -> None:
    values = games(0, 101)
    ids = np.concatenate([share.outcomes.id_hash for share in Batch(0, records(values)).shares["p"]])
    retracted = Retracted.of([ids[[3, 100]]])  # the last one comes in the next season for the first time
    first = msgspec.structs.replace(FIRST, retraction_horizon=101)
    state = PoolState(CREATED, first, retracted)
    partition = Partition(0, 1)
    partition.pools["p"] = state
    partition.fold(records(values[:100]), FixedDirectory(control_of(CREATED)))
    assert state.content.counts["outcomes"] == 99
    final = FinalState.of(Kind.GAMES, first, {name: a for name, a in state.arrays().items() if name.startswith(FINAL_ARRAYS)})
    after = folded(PoolState(CREATED, season(), final=final), [values[3], values[4], values[100]])
    counts = after.content.counts
    assert (counts["outcomes"], counts["duplicates"], counts["conflicts"]) == (0, 1, 2)
    third = PoolState(CREATED, season(), final=FinalState.of(Kind.GAMES, season(), after.arrays()))
    assert folded(third, [values[3]]).content.counts["outcomes"] == 0, "nor in a later one"


def test_a_smaller_window_knows_the_newest_ids() -> None:
    state = opened(ended(), season(fold=FoldSettings(online=ONLINE, dedupe_window=10)))
    folded(state, games(85, 100))
    assert (state.content.counts["outcomes"], state.content.counts["duplicates"]) == (15, 0), "each older one pushed a newer one out"
    state = opened(ended(), season(fold=FoldSettings(online=ONLINE, dedupe_window=10)))
    folded(state, games(90, 100))
    assert state.content.counts["duplicates"] == 10


def test_banned_agents_are_not_carried_over_and_an_alias_stands_for_its_agent() -> None:
    before = ended()
    ratings = dict(zip(before.content.agents.names(), before.content.ratings.online["elo"].rating.tolist(), strict=True))
    made = season(keep=1.0, bans=("agent-0",), aliases={"agent-1": "agent-2", "agent-3": "somebody", "agent-4": "agent-0"})
    state = opened(before, made)
    shown = dict(zip(state.content.agents.names(), state.content.ratings.online["elo"].rating.tolist(), strict=True))
    gone = ("agent-0", "agent-1", "agent-3", "agent-4")
    assert shown == {**{name: rating for name, rating in ratings.items() if name not in gone}, "somebody": ratings["agent-3"]}


def test_a_new_method_and_other_dimensions_begin_from_nothing() -> None:
    before = ended()
    first = first_generation(CREATED, fold=FoldSettings(online={"elo": {}, "melo": {}}))
    final = FinalState.of(Kind.GAMES, first, before.arrays())
    state = PoolState(CREATED, season(fold=FoldSettings(online={"elo": {"k": 8.0}, "melo": {"dimensions": 4}, "glicko2": {}})), final=final)
    ratings = state.content.ratings.online
    assert np.ptp(ratings["elo"].rating) > 0.0
    assert ratings["melo"].column("vector").shape[1] == 4
    assert np.ptp(ratings["glicko2"].rating) == 0.0


@pytest.mark.parametrize("kind", list(Kind))
def test_a_pool_without_ratings_carries_no_agent_over(kind: Kind) -> None:
    """Solved methods of a table of scores would count an agent that has no score yet."""
    created = pool_of("p", kind, FoldSettings(online={}))
    before, first = PoolState(created, first_generation(created)), first_generation(created)
    score = {"v": 1, "id": "s0", "pool": "p", "time": 0.0, "task": "t", "scores": {"ann": 1.0, "bob": 2.0}}
    partition = Partition(0, 1)
    partition.pools["p"] = before
    partition.fold(records([score] if kind is Kind.SCORES else games(0, 5)), FixedDirectory(control_of(created)))
    assert len(before.content.agents) > 0
    final = FinalState.of(kind, first, before.arrays())
    assert len(PoolState(created, season(keep=0.5, fold=created.fold), final=final).content.agents) == 0


def test_a_state_without_the_end_of_the_season_before_is_not_folded() -> None:
    state = PoolState(CREATED, season())
    assert not state.opened
    build = Build(CREATED, season())
    with pytest.raises(ValueError, match="has not caught up"):
        build.switch(100)
    partition, control = Partition(0, 1, 100), control_of(CREATED)
    partition.fold(records([{}] * 100 + games(100, 101)), FixedDirectory(control, {"p": season()}))
    assert "the end of the season before" in (partition.pools["p"].stopped or "")


def test_agents_with_an_initial_rating_are_found_once_and_not_at_each_publication(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Generation] = []
    monkeypatch.setattr(opening, "rated_initial", lambda made: calls.append(made) or rated_initial(made))
    state = PoolState(CREATED, first_generation(CREATED, initial={"elo": {"ann": 1700.0}, "sco": {"bob": 60.0}}))
    restored = PoolState.restore(CREATED, state.generation, folded(state, games(0, 1, 2)).arrays(), 101)
    for _ in range(3):
        restored.changes.mark_all()
        update = update_of(restored, Track(1, 0), 1, Partition(0, 1, 101), 0.0)
        assert update is not None
        assert (update.boards["elo"].total, update.boards["sco"].total) == (3, 3)
    assert len(calls) == 1


def test_only_agents_with_an_outcome_or_a_rating_of_their_own_are_on_a_live_board() -> None:
    state = PoolState(CREATED, first_generation(CREATED, initial={"elo": {"ann": 1700.0}, "sco": {"bob": 60.0}}))
    folded(state, games(0, 1, 2))
    agents = state.content.agents
    elo, sco = state.rated("elo"), state.rated("sco")
    assert elo is not None
    assert sco is not None
    assert agents.names() == ["ann", "bob", *(name for name in agents.names() if name.startswith("agent"))]
    assert (elo.tolist(), sco.tolist()) == ([True, False, True, True], [False, True, True, True])
    update = update_of(state, Track(1, 0), 1, Partition(0, 1, 101), 0.0)
    assert update is not None
    assert {method: (len(board.names), board.total) for method, board in update.boards.items()} == {
        **dict.fromkeys(ONLINE, (2, 2)),
        **dict.fromkeys(("elo", "sco"), (3, 3)),
        "outcomes": (4, 4),
    }
    carried = opened(ended(), season())
    assert carried.rated("elo") is None
    other = carried.rated("another")
    assert other is not None
    assert not other.any()


def test_a_pool_that_breaks_before_its_first_checkpoint_is_written_with_the_ratings_that_its_season_began_with() -> None:
    """As after a recovery without checkpoints, in which the season begins with the final state of the one before."""
    state, entries = folded(opened(ended(), season()), games(100, 150)), PoolEntries(1, [])
    state.stop("half of a call was folded", 150, broken=True)
    item = entries.freeze(state, 150, 0)
    assert item.content is not None
    assert digest(item.content.arrays()) == digest(opened(ended(), season()).arrays())
    assert (item.entry.position, item.entry.outcomes, item.entry.stopped) == (100, 0, "half of a call was folded")
    item.close()


def test_a_state_keeps_what_its_season_began_with_until_a_checkpoint_has_it() -> None:
    state, entries = folded(opened(ended(), season()), games(100, 150)), PoolEntries(1, [])
    item = entries.freeze(state, 150, 0)
    assert state.final is not None, "the checkpoint is not written yet"
    entries.replace([item])
    entries.freeze(state, 150, 0)
    assert state.final is None
    item.close()
