"""When a requested season begins."""

import msgspec

from services.control import generations
from services.control.directory import FixedDirectory
from services.control.records import Generation, SeasonStart
from services.log.protocol import Record
from services.log.records import TopicRecords
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


def test_retractions_from_the_end_of_a_season_on_do_not_delay_the_next_one() -> None:
    """They count in the next season. A generation that applied them would change the season that ended, and more of them could come."""
    created = pool_of("p")
    games = [
        {"v": 1, "id": f"g{i}", "pool": "p", "time": 0.0, "sides": [{"agents": [a], "place": i} for i, a in enumerate("ab")]} for i in "012"
    ]
    retractions = [{"v": 1, "id": f"r{i}", "pool": "p", "time": 0.0, "retracts": f"g{i}"} for i in "01"]
    records = TopicRecords([Record(i, msgspec.json.encode(value), 0.0) for i, value in enumerate([*games, *retractions])])

    def asked(start: int) -> Generation:
        control, partition = control_of(created), Partition(0, 1)
        first = control.generations["p"][1]
        partition.fold(records, FixedDirectory(control, {"p": first}))
        control.apply(control.position, generations.wish(first, time=0.0, season=SeasonStart(name="autumn"), start=start))
        due = DueGenerations(partition, BuildPace(), lambda: 1.0).due(partition.pools["p"], control, 0.0)
        assert due is not None
        return due

    before, season = asked(4), asked(3)
    assert (before.season, before.retraction_horizon) == ("first", 4), "the retraction at 3 counts in the season that ends at 4"
    assert (season.season, season.start, season.retraction_horizon) == ("autumn", 3, 5), "both count in the season from 3 on"
