"""When a requested season begins."""

from services.control import generations
from services.control.records import Generation, SeasonStart
from services.shard.generations.build import Build
from services.shard.generations.due import DueGenerations
from services.shard.generations.pace import BuildPace
from services.shard.partition import Partition
from services.state.pool import PoolState
from tests.support.pools import control_of, pool_of


def test_a_season_waits_while_a_stopped_pool_cannot_be_folded_again() -> None:
    """A season that began with the stopped generation could never be folded, and nothing would fold the pool again."""
    created = pool_of("p")
    control, partition = control_of(created), Partition(0, 1, 40)
    first = control.generations["p"][1]
    state = partition.pools["p"] = PoolState(created, first)
    state.stop("for a test", 20)
    control.apply(control.position, generations.wish(first, time=0.0, season=SeasonStart(name="autumn"), start=30))
    due = DueGenerations(partition, BuildPace(), lambda: 1.0)
    again = due.due(state, control, 0.0)
    assert isinstance(again, Generation)
    assert (again.number, again.season) == (2, "first"), "the pool is folded again first"
    control.apply(control.position, again)
    build = Build(created, again, state.retracted_for(again))
    build.fail("for a test")
    partition.builds[build.key] = build
    assert due.due(state, control, 0.0) is None
    other = partition.pools["p"] = PoolState(created, first)
    season = due.due(other, control, 0.0)
    assert season is not None
    assert (season.season, season.number) == ("autumn", 3), "a failed change of a pool that folds delays nothing"
