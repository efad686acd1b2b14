"""The fold of a partition: cut-independence, restore, and what becomes of everything that is wrong."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ratings_core.arrays.digest import digest
from ratings_core.columns.outcomes import Games
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.log.dead_letters import DeadLetter, write
from services.log.partition import partition_of
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard import batch
from services.shard.partition import Partition
from services.shard.publishing.updates import head_of
from services.state.pool import PoolState
from services.wire import reading
from services.wire.pools import Kind
from services.wire.scanning.scan import scan
from tests.support.log_records import records
from tests.support.pools import control_of, first_generation

PARTITIONS = 4


def directory(*pools: PoolCreated, start: int = 0) -> FixedDirectory:
    return FixedDirectory(control_of(*pools, start=start))


def created(name: str, kind: Kind = Kind.GAMES, **fold: object) -> PoolCreated:
    return PoolCreated(pool=name, kind=kind, time=0.0, fold=FoldSettings(**fold))


def pools_of(partition: int, count: int) -> list[str]:
    names = (f"pool{i}" for i in range(1000))
    return [name for name in names if partition_of(name, PARTITIONS) == partition][:count]


def game(pool: str, number: int, draw: random.Random) -> dict[str, object]:
    agents = draw.sample([f"agent-{i}" for i in range(30)], draw.choice([2, 2, 2, 4, 7]))
    if draw.random() < 0.2:
        sides = [{"agents": agents[: len(agents) // 2], "place": 1}, {"agents": agents[len(agents) // 2 :], "place": draw.choice([1, 2])}]
    else:
        sides = [{"agents": [agent], "place": draw.choice([1, 2, 3])} for agent in agents]
    return {
        "v": 1,
        "id": f"g{number}",
        "pool": pool,
        "time": draw.uniform(-1e6, 1e6),
        "sides": sides,
        "weight": draw.choice([1.0, 0.5, 3.25]),
        "task": draw.choice(["map-1", "map-2", "map-3"]),
    }


def folded(cut: int, stream: TopicRecords, known: FixedDirectory, number: int) -> Partition:
    partition = Partition(number, PARTITIONS)
    for start in range(0, len(stream), cut):
        partition.fold(stream[start : start + cut], known)
    return partition


def digests(partition: Partition) -> dict[str, str]:
    return {name: digest(state.arrays()) for name, state in partition.pools.items()}


@pytest.fixture(scope="module")
def stream() -> tuple[TopicRecords, FixedDirectory]:
    """600 records of three pools of partition 1: repeats, conflicts, arrays, retractions, nonsense, buckets, limits."""
    draw = random.Random(7)
    games, bucketed, scores = pools_of(1, 3)
    values: list[object] = []
    for number in range(600):
        pool = draw.choice([games, bucketed])
        repeat = draw.random() < 0.1 and number > 10
        value: object = game(pool, draw.randrange(number) if repeat else number, draw)
        if draw.random() < 0.2:
            value = [value, game(pool, number + 10_000, draw), {"v": 1, "pool": pool}]
        if draw.random() < 0.1:
            measured = {"a": draw.random(), f"b{number % 7}": 0.5}
            value = {"v": 1, "id": f"s{number}", "pool": scores, "time": 0, "task": f"t{number % 9}", "scores": measured}
        if draw.random() < 0.03:
            value = {"v": 1, "id": f"r{number}", "pool": games, "time": 0, "retracts": "g1"}
        values.append(value)
    known = directory(
        created(games, per_task=True, clustered=True, max_tasks=2, dedupe_window=64),
        created(bucketed, bucket_seconds=100_000, buckets_kept=3, max_agents=25),
        created(scores, Kind.SCORES, max_tasks=8),
    )
    return records(values), known


@pytest.mark.parametrize("cut", [1, 7, 64])
def test_cuts_change_no_bit(stream: tuple[TopicRecords, FixedDirectory], cut: int) -> None:
    whole, part = folded(1000, *stream, 1), folded(cut, *stream, 1)
    assert len(whole.pools) == 3
    assert digests(part) == digests(whole)
    assert part.position == whole.position == 600
    assert part.last == whole.last


def test_cuts_change_no_dead_letter(stream: tuple[TopicRecords, FixedDirectory]) -> None:
    records_, known = stream
    whole = Partition(1, PARTITIONS).fold(records_, known)
    cut = Partition(1, PARTITIONS)
    single = [letter for record in records_ for letter in cut.fold(TopicRecords([record]), known)]
    assert {letter.key: letter for letter in whole} == {letter.key: letter for letter in single}
    assert {letter.reason for letter in whole} >= {"bad_field", "too_many_agents", "too_many_tasks", "conflicting_id"}


@pytest.mark.parametrize("cut", [1, 500, 10_000])
def test_of_very_many_conflicts_the_first_thousand_and_then_each_thousandth_have_a_letter(cut: int) -> None:
    (pool,), draw = pools_of(1, 1), random.Random(3)
    first = game(pool, 1, draw)
    stream = records([first, *([[{**first, "weight": 1.5 + i / 64} for i in range(j, j + 10)] for j in range(0, 3500, 10)])])
    partition, known = Partition(1, PARTITIONS), directory(created(pool))
    letters = [letter for start in range(0, len(stream), cut) for letter in partition.fold(stream[start : start + cut], known)]
    told = [letter.rule.partition("(conflict ")[2].strip(")").partition("; ") for letter in letters]
    assert [int(number.replace(",", "")) for number, _, _ in told] == [*range(1, 1001), 2000, 3000]
    rest = "the 999 conflicts before it have no dead letter"
    assert [missing for *_, missing in told] == [""] * 999 + ["of later conflicts, one of 1,000 has a dead letter", rest, rest]
    head = head_of(partition.pools[pool], partition, 0.0)
    assert (head.conflicts, head.dead_letters, head.refused) == (3500, len(letters), 0)
    assert [(letter.offset, letter.item) for letter in letters[-2:]] == [(200, 9), (300, 9)]


@pytest.mark.parametrize("cut", [1, 7, 64, 1000])
def test_games_read_as_columns_are_folded_and_refused_as_events_are(
    stream: tuple[TopicRecords, FixedDirectory], cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    records_, known = stream
    fast, slow = Partition(1, PARTITIONS), Partition(1, PARTITIONS)
    parts = [records_[start : start + cut] for start in range(0, len(records_), cut)]
    letters = [fast.fold(part, known) for part in parts]
    monkeypatch.setattr(reading, "plain_games", lambda values: replace(scan([]), rest=range(len(values))))
    assert letters == [slow.fold(part, known) for part in parts]
    assert digests(fast) == digests(slow)
    assert (fast.outcomes, fast.counters) == (slow.outcomes, slow.counters)


def test_a_pool_is_read_as_columns_beside_one_that_is_not() -> None:
    first, second = pools_of(1, 2)
    draw = random.Random(5)
    values = [game(pool, number, draw) for number in range(9) for pool in (first, second)]
    values[4]["meta"] = {}
    shares = batch.Batch(1, records(list(values))).shares
    assert list(shares) == [first, second]
    assert {pool: type(share.outcomes) for pool, (share,) in shares.items()} == {first: Games, second: Games}
    assert [offset for (share,) in shares.values() for offset in share.offset.tolist()] == [*range(0, 18, 2), *range(1, 18, 2)]


@pytest.mark.parametrize(("pools", "scans"), [(64, True), (65, False)])
def test_a_call_with_very_many_pools_is_read_as_events(pools: int, scans: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its time would grow with pools times outcomes."""
    draw, split = random.Random(5), list[int]()
    of_columns = reading._of_columns
    monkeypatch.setattr(reading, "_of_columns", lambda scanned, left_out: split.append(1) or of_columns(scanned, left_out))
    shares = batch.Batch(1, records([game(f"pool{i}", i, draw) for i in range(pools)])).shares
    assert {pool: type(share.outcomes) for pool, (share,) in shares.items()} == {f"pool{i}": Games for i in range(pools)}
    assert bool(split) == scans


@pytest.mark.parametrize("meta", [[], range(9)], ids=["columns", "events"])
def test_a_share_is_cut_at_an_offset(meta: Sequence[int]) -> None:
    (pool,) = pools_of(1, 1)
    draw = random.Random(5)
    values: list[object] = [[game(pool, 2 * n, draw), game(pool, 2 * n + 1, draw)] for n in range(9)]
    for n in meta:
        values[n][0]["meta"] = {}  # type: ignore[index]
    ((share,),) = batch.Batch(1, records(values)).shares.values()
    for at in range(10):
        below, since = share.below(at), share.since(at)
        assert (len(below), len(since)) == (len(below.outcomes), len(since.outcomes)) == (2 * at, 18 - 2 * at)
        assert [*below.offset, *since.offset] == [n // 2 for n in range(18)]
        assert [*below.item, *since.item] == [0, 1] * 9


def test_a_restored_state_goes_on_bit_for_bit(stream: tuple[TopicRecords, FixedDirectory]) -> None:
    records_, known = stream
    whole, half = folded(1000, records_, known, 1), folded(1000, records_[:300], known, 1)
    for name, state in list(half.pools.items()):
        found = known.generation(name, None, 0)
        assert found is not None
        half.pools[name] = PoolState.restore(*found, state.arrays(), 300)
    half.fold(records_[300:], known)
    assert digests(half) == digests(whole)


def test_records_below_the_position_are_not_folded_again(stream: tuple[TopicRecords, FixedDirectory]) -> None:
    records_, known = stream
    once = folded(1000, records_, known, 1)
    again = folded(1000, records_, known, 1)
    assert again.fold(records_, known) == []
    assert digests(again) == digests(once)


def test_a_generation_starts_where_it_says() -> None:
    (pool,) = pools_of(1, 1)
    draw = random.Random(3)
    stream = records([game(pool, number, draw) for number in range(20)])
    late = folded(100, stream, directory(created(pool), start=12), 1)
    assert late.pools[pool].content.counts["outcomes"] == 8


def test_wrong_things_end_as_dead_letters_with_their_reason() -> None:
    (pool,), (other,) = pools_of(1, 1), pools_of(2, 1)
    draw = random.Random(5)
    good = game(pool, 1, draw)
    scores = {"v": 1, "id": "s", "pool": pool, "time": 0, "task": "t", "scores": {"a": 1.0}}
    elsewhere, mixed = game(other, 2, draw), [good, game(other, 9, draw)]
    values = [b"{not json", b" " * (1 << 20) + b"{}", good, good, {**good, "weight": 2.0}, elsewhere, scores, mixed]
    stream = TopicRecords(
        [Record(i, value if isinstance(value, bytes) else json.dumps(value).encode(), 0.0) for i, value in enumerate(values)]
    )
    partition = Partition(1, PARTITIONS)
    letters = partition.fold(stream, directory(created(pool)))
    assert [(letter.offset, letter.item, letter.reason) for letter in sorted(letters, key=lambda letter: (letter.offset, letter.item))] == [
        (0, -1, "unparsable"),
        (1, -1, "too_large"),
        (4, 0, "conflicting_id"),
        (5, 0, "wrong_partition"),
        (6, 0, "wrong_kind"),
        (7, 1, "mixed_pools"),
    ]
    counts = partition.pools[pool].content.counts
    assert (counts["outcomes"], counts["duplicates"], counts["conflicts"]) == (1, 2, 1)
    conflict = next(letter for letter in letters if letter.reason == "conflicting_id")
    assert (conflict.path, conflict.rule) == ("id", "must be new: the pool counts another outcome with this id (conflict 1)")
    assert json.loads(conflict.excerpt) == values[4]
    assert counts["refused"] == 1, "a conflict is not counted as refused"
    assert "partitioner" in next(letter.rule for letter in letters if letter.reason == "wrong_partition")
    assert all(len(letter.excerpt) <= 4096 for letter in letters)


@pytest.mark.parametrize("wrong", [{"pool": "No pool"}, {"pool": "other", "id": "a\u0301"}, {"pool": "other", "weight": 1e300}], ids=str)
def test_a_wrong_record_is_a_dead_letter_among_plain_ones_and_no_pool(wrong: dict[str, object]) -> None:
    (pool,) = pools_of(1, 1)
    draw = random.Random(5)
    values = [game(pool, number, draw) for number in range(3)]
    values[1] |= wrong
    partition = Partition(1, PARTITIONS)
    letters = partition.fold(records(list(values)), directory(created(pool)))
    assert [(letter.offset, letter.item, letter.reason) for letter in letters] == [(1, 0, "bad_field")]
    assert {name: state.content.counts["outcomes"] for name, state in partition.pools.items()} == {pool: 2}


def test_an_entry_shows_its_own_item() -> None:
    (pool,) = pools_of(1, 1)
    good, bad = game(pool, 1, random.Random(1)), {"v": 1, "pool": pool, "id": "x" * 5000}
    stream = records([[good, bad, 7], bad])
    letters = Partition(1, PARTITIONS).fold(stream, directory(created(pool)))
    assert [(letter.offset, letter.item, letter.excerpt) for letter in letters] == [
        (0, 1, json.dumps(bad)[:4096]),
        (0, 2, "7"),
        (1, 0, json.dumps(bad)[:4096]),
    ]


def test_a_record_of_little_things_does_not_make_gigabytes_of_entries() -> None:
    stream = TopicRecords([Record(0, b"[" + b"0," * 524_286 + b"0]", 0.0), Record(1, b"[" + b"0," * 20_000 + b"0]", 0.0)])
    letters = Partition(1, PARTITIONS).fold(stream, directory())
    assert [letter.item for letter in letters] == [-1, *range(20_001)]
    assert sum(len(letter.excerpt) for letter in letters[1:]) < len(stream[1].value)


def test_entries_are_written_some_at_a_time() -> None:
    calls: list[int] = []

    class Letters:
        def append(self, partition: int, records: list[tuple[bytes, bytes]]) -> list[int]:
            calls.append(len(records))
            return [partition] * len(records)

    letter = DeadLetter(generation=0, partition=1, offset=2, item=3, reason="r", path="$", rule="must", pool=None, excerpt="")
    write(Letters(), [letter] * 2500)
    assert calls == [1000, 1000, 500]


def test_an_unknown_pool_is_a_dead_letter_and_no_pool() -> None:
    (pool,) = pools_of(1, 1)
    partition = Partition(1, PARTITIONS)
    letters = partition.fold(records([game(pool, 1, random.Random(1))]), directory())
    assert [letter.reason for letter in letters] == ["unknown_pool"]
    assert not partition.pools


class OnFirstUse:
    """Creates pools as an embedded installation does: by the first outcome that has a kind."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[PoolCreated, Generation]] = {}

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, Generation] | None:
        if pool not in self.made and kind is not None:
            made = created(pool, kind)
            self.made[pool] = made, Generation(pool=pool, number=1, start=offset, time=0.0, fold=made.fold)
        return self.made.get(pool)


@pytest.mark.parametrize("together", [False, True])
def test_retractions_before_a_pool_take_none_of_its_outcomes_along(together: bool) -> None:
    """However records are cut into calls: a retraction to an unknown pool is refused, the outcome after it makes the pool."""
    (pool,) = pools_of(1, 1)
    draw = random.Random(2)
    early = {"v": 1, "id": "r", "pool": pool, "time": 0, "retracts": "g0"}
    values = [early, game(pool, 1, draw), game(pool, 2, draw)]
    stream = records([values] if together else list(values))
    known: dict[int, Partition] = {}
    letters = {}
    for cut in (1, 2, 3):
        partition, directory_ = Partition(1, PARTITIONS), OnFirstUse()
        found = [one for start in range(0, len(stream), cut) for one in partition.fold(stream[start : start + cut], directory_)]
        letters[cut] = [(one.key, one.reason) for one in found]
        known[cut] = partition
        again = Partition(1, PARTITIONS).fold(stream, directory_)
        assert [one.key for one in again] == [one.key for one in found], "a refold tells it again"
    assert {cut: partition.pools[pool].content.counts["outcomes"] for cut, partition in known.items()} == {1: 2, 2: 2, 3: 2}
    assert {cut: digests(partition) for cut, partition in known.items()} == dict.fromkeys(known, digests(known[1]))
    assert letters == dict.fromkeys(letters, [] if together else [("0/1/0/0", "unknown_pool")])


def test_a_failing_directory_leaves_the_partition_as_it_was() -> None:
    first, second = pools_of(1, 2)
    known = directory(created(first))

    class Failing:
        def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, Generation] | None:
            if pool == second:
                raise ConnectionError(pool)
            return known.generation(pool, kind, offset)

    draw = random.Random(1)
    stream = records([game(first, 1, draw), game(second, 2, draw)])
    partition = Partition(1, PARTITIONS)
    with pytest.raises(ConnectionError):
        partition.fold(stream, Failing())
    assert partition.position == 0
    partition.fold(stream, directory(created(first), created(second)))
    assert [state.content.counts["outcomes"] for state in partition.pools.values()] == [1, 1]


def test_a_pool_that_breaks_stops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pools_of(1, 2)
    known = directory(created(first), created(second))
    draw = random.Random(1)
    partition = Partition(1, PARTITIONS)
    partition.fold(records([game(first, 1, draw), game(second, 2, draw)]), known)
    monkeypatch.setattr(partition.pools[first].content.tallies.pairs, "add", lambda *_: 1 / 0)
    more = TopicRecords(
        [Record(2 + i, record.value, 0.0) for i, record in enumerate(records([game(first, 3, draw), game(second, 4, draw)]))]
    )
    partition.fold(more, known)
    assert "ZeroDivisionError" in (partition.pools[first].stopped or "")
    assert partition.pools[first].folded_to(partition.position) == 2, "readers are not told that what came later counts"
    assert partition.pools[second].folded_to(partition.position) == 4
    assert partition.pools[second].stopped is None
    assert partition.pools[second].content.counts["outcomes"] == 2
    assert partition.position == 4


@pytest.mark.parametrize(
    ("fold", "words"),
    [
        ({"online": {"glicko9": {}}}, "glicko9"),
        ({"features": ("x", "x")}, "must name each feature once"),
        ({"bucket_seconds": 10**400}, "bucket_seconds"),
    ],
)
def test_settings_that_cannot_run_stop_the_pool_with_words(fold: dict[str, object], words: str) -> None:
    first, second = pools_of(1, 2)
    draw, partition = random.Random(1), Partition(1, PARTITIONS)
    partition.fold(records([game(first, 1, draw), game(second, 2, draw)]), directory(created(first, **fold), created(second)))
    assert words in (partition.pools[first].stopped or "")
    assert partition.pools[second].content.counts["outcomes"] == 1


@pytest.mark.parametrize(
    "asked",
    [
        {"initial": {"glicko9": {"a": 1.0}}},
        {"initial": {"elo": {"a": float("nan")}}},
        {"aliases": {"a": "b", "b": "c"}},
        {"aliases": {"a": "b"}, "bans": ("a",)},
        {"bans": (" a",)},
        {"retraction_horizon": 3},
    ],
    ids=str,
)
def test_a_generation_that_this_version_cannot_fold_stops_its_pool(asked: dict[str, object]) -> None:
    """Folding it as if nothing had been asked would be a wrong answer in silence; failing would take the other pools along."""
    first, second = pools_of(1, 2)
    state = ControlState()
    for offset, made in enumerate((created(first), created(second))):
        state.apply(2 * offset, made)
        more = asked if made.pool == first else {}
        state.apply(2 * offset + 1, first_generation(made, **more))
    draw, partition = random.Random(1), Partition(1, PARTITIONS)
    partition.fold(records([game(first, 1, draw), game(second, 2, draw)]), FixedDirectory(state))
    assert partition.pools[first].stopped is not None
    assert partition.pools[first].content.counts["outcomes"] == 0
    assert partition.pools[second].content.counts["outcomes"] == 1


def test_initial_ratings_are_where_the_fold_starts() -> None:
    (pool,) = pools_of(1, 1)
    made = created(pool)
    initial = {"elo": {"agent-3": 1800.0, "agent-1": 1700.0}}
    state = PoolState(made, first_generation(made, initial=initial))
    ratings = state.content.ratings.online["elo"].rating.tolist()
    assert dict(zip(state.content.agents.names(), ratings, strict=True)) == {"agent-1": 1700.0, "agent-3": 1800.0}
    assert state.changes.take().tolist() == [0, 1]
