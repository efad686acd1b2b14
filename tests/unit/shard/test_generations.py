"""New generations, pure: what they give is the fold of the log as it should have been, however records are cut and wherever it crashes."""

import json
import random
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from services.control import generations
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation, GenerationRequest, PoolCreated, Serve
from services.log.partition import partition_of
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.state.edits import Retracted
from services.state.pool import PoolState
from services.wire import events
from services.wire.pools import Kind
from tests.support.log_records import records
from tests.support.pools import control_of, pool_of

PARTITIONS = 4
NUMBER = 1
POOL, OTHER, SCORES = [name for i in range(100) if partition_of(name := f"pool{i}", PARTITIONS) == NUMBER][:3]
KINDS = {POOL: Kind.GAMES, OTHER: Kind.GAMES, SCORES: Kind.SCORES}
LENGTH = 400
RETRACTED = ("g3", "g50", "g51", "g200", "g201", "g399")


def control() -> ControlState:
    return control_of(*(pool_of(pool, kind) for pool, kind in KINDS.items()))


def game(pool: str, number: int, draw: random.Random) -> dict[str, object]:
    agents = draw.sample([f"agent-{i}" for i in range(30)], draw.choice([2, 2, 2, 4]))
    sides = [{"agents": [agent], "place": draw.choice([1, 2, 3])} for agent in agents]
    return {"v": 1, "id": f"g{number}", "pool": pool, "time": float(number), "sides": sides}


def retraction(pool: str, number: int, what: str) -> dict[str, object]:
    return {"v": 1, "id": f"r{number}", "pool": pool, "time": float(number), "retracts": what}


def measured(number: int, draw: random.Random) -> dict[str, object]:
    scores = {agent: draw.random() for agent in draw.sample(["a", "b", "c", "d"], 3)}
    return {"v": 1, "id": f"g{number}", "pool": SCORES, "time": float(number), "task": f"t{number % 5}", "scores": scores}


def stream() -> list[object]:
    """Games of two pools and scores of a third, repeats and arrays among them, then retractions, one before its outcome."""
    draw = random.Random(11)
    values: list[object] = []
    for number in range(LENGTH):
        pool = POOL if f"g{number}" in RETRACTED else draw.choice([POOL, POOL, OTHER, SCORES])
        value: object = measured(number, draw) if pool == SCORES else game(pool, number, draw)
        if number == 100:
            values.append(retraction(POOL, 0, "g200"))
        if draw.random() < 0.1:
            value = [value, measured(number + 1000, draw) if pool == SCORES else game(pool, number + 1000, draw)]
        values.append(value)
        if draw.random() < 0.05:
            values.append(value)
    values += [retraction(POOL, i + 1, what) for i, what in enumerate(RETRACTED) if what != "g200"]
    values.append(retraction(OTHER, 99, "g7"))
    return values


def without(values: Sequence[object], drop: Callable[[dict[str, object]], bool]) -> list[object]:
    """The log without some items; a record of which nothing is left is one that says nothing, so that offsets stay."""
    found: list[object] = []
    for value in values:
        items = [item for item in (value if isinstance(value, list) else [value]) if not drop(item)]
        found.append(items or [0])
    return found


def made(number: int = 2, pool: str = POOL, **asked: object) -> Generation:
    return Generation(**{"pool": pool, "number": number, "start": 0, "time": 0.0, "fold": pool_of(pool, KINDS[pool]).fold, **asked})


def content(state: PoolState | None) -> dict[str, str]:
    """Digests of a state's arrays, without what it keeps of its edits."""
    assert state is not None
    assert state.stopped is None
    return {name: digest({name: array}) for name, array in state.arrays().items() if not name.startswith("edits.")}


def fold(values: Sequence[object], known: ControlState | None = None) -> Partition:
    partition = Partition(NUMBER, PARTITIONS)
    partition.fold(records(values), FixedDirectory(known or control()))
    return partition


def built(values: Sequence[object], generation: Generation, cut: int = 1000, known: ControlState | None = None) -> PoolState:
    """The pool's state after `generation` was begun at the end of `values` and caught up, read in slices of `cut`."""
    partition = fold(values, known)
    state = partition.pools[generation.pool]
    partition.begin(Build(state.created, generation))
    catch_up(partition, records(values), cut)
    partition.switch(partition.builds[generation.pool, generation.number])
    return partition.pools[generation.pool]


def catch_up(partition: Partition, log: Sequence[Record], cut: int, most: int = 10_000) -> None:
    """Read `log` for all builds, in slices of `cut`, at most `most` of them."""
    for _ in range(most):
        behind = [build.position for build in partition.builds.values() if build.behind(partition.position)]
        if not behind:
            return
        start = min(behind)
        partition.catch_up(TopicRecords([record for record in log if record.offset >= start][:cut]), start)


VALUES = stream()
END = len(VALUES)


@pytest.mark.parametrize("cut", [1, 7, 64, 1000])
def test_without_retracted_outcomes_it_is_the_fold_of_the_log_without_them(cut: int) -> None:
    state = built(VALUES, made(retraction_horizon=END), cut)
    expected = fold(without(VALUES, lambda item: item.get("pool") == POOL and item.get("id") in RETRACTED)).pools[POOL]
    assert content(state) == content(expected)
    assert content(state) != content(fold(VALUES).pools[POOL])
    assert state.content.edits is not None
    assert state.content.edits.left_out[0] >= len(RETRACTED)
    assert state.retractions.count == 0


@pytest.mark.parametrize("cut", [1, 13, 1000])
def test_every_cut_gives_one_digest(cut: int) -> None:
    generation = made(retraction_horizon=END, aliases={"agent-1": "agent-2"}, bans=("agent-3",))
    assert digest(built(VALUES, generation, cut).arrays()) == digest(built(VALUES, generation, 64).arrays())


def test_a_changed_k_is_the_fold_with_that_k_digest_and_all() -> None:
    fold_ = FoldSettings(online={"elo": {"k": 10.0}, "sco": {}})
    other = ControlState()
    for offset, record in enumerate([PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=fold_), made(1, fold=fold_)]):
        other.apply(offset, record)
    assert digest(built(VALUES, made(fold=fold_)).arrays()) == digest(fold(VALUES, other).pools[POOL].arrays())


def test_aliases_are_the_fold_of_a_log_that_names_the_agent_itself() -> None:
    def renamed(item: dict[str, object]) -> dict[str, object]:
        sides = item.get("sides")
        if not isinstance(sides, list):
            return item
        named = [{**side, "agents": ["agent-2" if name == "agent-1" else name for name in side["agents"]]} for side in sides]
        return {**item, "sides": named}

    def merged(item: dict[str, object]) -> bool:
        names = [name for side in item.get("sides", ()) for name in side["agents"]]
        return item.get("pool") == POOL and len(set(names)) < len(names)

    state = built(VALUES, made(aliases={"agent-1": "agent-2"}))
    rewritten = [[renamed(item) for item in value] if isinstance(value, list) else renamed(value) for value in VALUES]  # type: ignore[arg-type]
    expected = content(fold(without(rewritten, merged)).pools[POOL])
    assert {**content(state), "dedupe.bodies": ""} == {**expected, "dedupe.bodies": ""}, "a repeat is told by what was sent"
    assert "agent-1" not in state.content.agents.names()
    assert state.content.edits is not None
    assert state.content.edits.left_out[2] > 0


def test_games_of_banned_agents_do_not_count() -> None:
    bans = ("agent-4", "agent-5")
    named = [f'"{name}"' for name in bans]
    expected = without(VALUES, lambda item: item.get("pool") == POOL and any(name in json.dumps(item) for name in named))
    assert content(built(VALUES, made(bans=bans))) == content(fold(expected).pools[POOL])


def test_scores_of_banned_agents_are_left_out_and_the_others_stay() -> None:
    def unscored(item: dict[str, object]) -> dict[str, object]:
        scores = item.get("scores")
        return {**item, "scores": {name: score for name, score in scores.items() if name != "a"}} if isinstance(scores, dict) else item

    state = built(VALUES, made(pool=SCORES, bans=("a",)))
    rewritten = [[unscored(item) for item in value] if isinstance(value, list) else unscored(value) for value in VALUES]  # type: ignore[arg-type]
    expected = content(fold(rewritten).pools[SCORES])
    assert {**content(state), "dedupe.bodies": ""} == {**expected, "dedupe.bodies": ""}
    alone = [{"v": 1, "id": "x", "pool": SCORES, "time": 0, "task": "t", "scores": {"a": 1.0}}]
    nothing = built(alone, made(pool=SCORES, bans=("a",)))
    assert nothing.content.counts["outcomes"] == 0
    assert nothing.content.edits is not None
    assert nothing.content.edits.left_out.tolist() == [0, 1, 0]


def test_aliases_in_scores_measure_the_agent_itself() -> None:
    state = built(VALUES, made(pool=SCORES, aliases={"a": "b"}))
    assert "a" not in state.content.agents.names()
    activity, expected = state.content.ratings.activity, fold(VALUES).pools[SCORES].content.ratings.activity
    assert activity.sum() == expected.sum(), "every measurement counts, for another agent"


def test_initial_ratings_are_where_the_new_generation_starts() -> None:
    fold_ = FoldSettings(online={"elo": {"k": 0.0}})
    state = built(VALUES, made(fold=fold_, initial={"elo": {"agent-1": 1800.0, "new": 900.0}}))
    ratings = dict(zip(state.content.agents.names(), state.content.ratings.online["elo"].rating.tolist(), strict=True))
    assert (ratings["agent-1"], ratings["new"], ratings["agent-2"]) == (1800.0, 900.0, 1500.0)


def test_what_comes_while_it_is_built_and_after_counts_in_it_too() -> None:
    generation = made(retraction_horizon=END)
    draw = random.Random(5)
    more = [game(POOL, 5000 + i, draw) if i % 3 else game(OTHER, 5000 + i, draw) for i in range(60)]
    log = records([*VALUES, *more])
    partition = fold(VALUES)
    partition.begin(Build(partition.pools[POOL].created, generation))
    directory = FixedDirectory(control())
    for i in range(END, len(log), 4):
        partition.fold(log[i : i + 4], directory)
        catch_up(partition, log, 40, most=1)
    catch_up(partition, log, 40)
    tail = records([game(POOL, 7000, draw)], len(log))
    partition.fold(tail, directory)
    assert partition.builds[POOL, 2].position == partition.position
    partition.switch(partition.builds[POOL, 2])
    whole = built([*VALUES, *more, json.loads(tail[0].value)], generation)
    assert digest(partition.pools[POOL].arrays()) == digest(whole.arrays())
    assert content(partition.pools[OTHER]) == content(fold([*VALUES, *more]).pools[OTHER])


def test_a_switch_lets_no_counter_fall() -> None:
    partition = fold([*VALUES, VALUES[0]])
    log = records([*VALUES, VALUES[0]])
    before = dict(partition.counters.outcomes)
    states = partition.pools.values()
    assert before == {name: sum(state.content.counts[name] for state in states) for name in before}
    held = partition.pools[POOL].content.counts["outcomes"]
    partition.begin(Build(partition.pools[POOL].created, made(retraction_horizon=END)))
    catch_up(partition, log, 50)
    partition.switch(partition.builds[POOL, 2])
    assert partition.pools[POOL].content.counts["outcomes"] < held, "the new generation leaves outcomes out"
    assert partition.counters.outcomes == before
    partition.fold(records([game(POOL, 9000, random.Random(5))], len(log)), FixedDirectory(control()))
    assert partition.counters.outcomes == {**before, "outcomes": before["outcomes"] + 1}


def test_a_second_retraction_while_one_is_built_waits_for_the_next_generation() -> None:
    known = control()
    partition = fold(VALUES)
    partition.begin(Build(known.pools[POOL], made(retraction_horizon=END)))
    late = records([retraction(POOL, 500, "g60")], END)
    partition.fold(late, FixedDirectory(known))
    log = [*records(VALUES), *late]
    catch_up(partition, log, 50)
    partition.switch(partition.builds[POOL, 2])
    assert partition.pools[POOL].retractions.count == 1
    partition.begin(Build(known.pools[POOL], made(3, retraction_horizon=END + 1)))
    catch_up(partition, log, 50)
    partition.switch(partition.builds[POOL, 3])
    gone = {*RETRACTED, "g60"}
    values = [*VALUES, retraction(POOL, 500, "g60")]
    expected = fold(without(values, lambda item: item.get("pool") == POOL and item.get("id") in gone))
    assert content(partition.pools[POOL]) == content(expected.pools[POOL])


def test_progress_counts_what_was_read_of_both_readings() -> None:
    """First all records below the horizon are searched for retractions, then the records up to the partition are folded."""
    created = fold(VALUES).pools[POOL].created
    build = Build(created, made(retraction_horizon=10))
    build.position = 5
    assert build.progress(30) == 5 / 40
    folding = Build(created, msgspec.structs.replace(made(), start=20), retracted=Retracted.of([]))
    folding.position = 25
    assert folding.progress(40) == 5 / 20
    assert folding.progress(10) == 1.0


@pytest.mark.parametrize("slices", range(0, 26, 3))
def test_a_crash_at_any_step_gives_the_same_digest(slices: int) -> None:
    """What a checkpoint held of the build is gone on with; of retractions looked for, nothing is kept."""
    generation, log = made(retraction_horizon=END), records(VALUES)
    partition = fold(VALUES)
    created = partition.pools[POOL].created
    partition.begin(Build(created, generation))
    catch_up(partition, log, 40, most=slices)
    held: dict[tuple[str, int], tuple[Arrays, int]] = {
        key: (build.state.arrays(), build.position) for key, build in partition.builds.items() if build.state is not None
    }
    again = fold(VALUES)
    for arrays, position in held.values():
        build = Build.restored(PoolState.restore(created, generation, arrays, position), position)
        again.begin(build)
    if not held:
        again.begin(Build(created, generation))
    catch_up(again, log, 33)
    again.switch(again.builds[POOL, 2])
    assert digest(again.pools[POOL].arrays()) == digest(built(VALUES, generation).arrays())
    assert again.pools[POOL].changes.take().size == len(again.pools[POOL].content.agents), "nobody was told of it"


def test_a_build_takes_nothing_that_does_not_begin_where_it_stands() -> None:
    """What was read ahead for one build is not whole for another that begins before it, such as one that has just found its retractions."""
    log = records(VALUES)
    partition = fold(VALUES)
    build = Build(partition.pools[POOL].created, made(retraction_horizon=END))
    partition.begin(build)
    partition.catch_up(log[100:200], 100)
    assert build.position == 0
    for start in range(0, END, 100):
        partition.catch_up(log[start : start + 100], start)
    assert build.state is not None
    partition.catch_up(log[100:200], 100)
    assert (build.position, build.state.content.counts["outcomes"]) == (0, 0)
    partition.catch_up(log[:200], 0)
    assert build.position == 200


def test_records_of_other_pools_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    partition, seen = fold(VALUES), []
    partition.begin(Build(partition.pools[POOL].created, made(retraction_horizon=END)))
    decode = events.decode
    monkeypatch.setattr(events, "decode", lambda values: seen.extend(values) or decode(values))
    catch_up(partition, records(VALUES), 50)
    pools = [json.loads(value) for value in seen]
    assert {(item[0] if isinstance(item, list) else item)["pool"] for item in pools} == {POOL}


def test_names_in_other_spellings_are_found() -> None:
    draw = random.Random(1)
    values = [game(POOL, 1, draw), game(POOL, 2, draw), retraction(POOL, 1, "g1")]
    spelled = [json.dumps(value).encode() for value in values]
    spelled[1] = spelled[1].replace(POOL.encode(), POOL.replace("p", "\\u0070").encode())
    spelled[2] = spelled[2].replace(b"retracts", b"retr\\u0061cts")
    log = TopicRecords([Record(i, value, 0.0) for i, value in enumerate(spelled)])
    partition = Partition(NUMBER, PARTITIONS)
    partition.fold(log, FixedDirectory(control()))
    assert partition.pools[POOL].content.counts["outcomes"] == 2
    partition.begin(Build(partition.pools[POOL].created, made(retraction_horizon=3)))
    catch_up(partition, log, 10)
    state = partition.builds[POOL, 2].state
    assert state is not None
    assert state.content.counts["outcomes"] == 1


def test_a_build_that_breaks_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = fold(VALUES)
    before = digest(partition.pools[POOL].arrays())
    build = Build(partition.pools[POOL].created, made())
    assert build.state is not None
    monkeypatch.setattr(build.state.content.tallies.pairs, "add", lambda *_: 1 / 0)
    partition.begin(build)
    catch_up(partition, records(VALUES), 50)
    assert "ZeroDivisionError" in (build.failed or "")
    assert partition.pools[POOL].stopped is None
    assert digest(partition.pools[POOL].arrays()) == before
    with pytest.raises(ValueError, match="not caught up"):
        partition.switch(build)


def test_a_pool_that_broke_goes_on_with_a_generation_that_leaves_the_outcome_out(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = fold(VALUES[:50])
    monkeypatch.setattr(partition.pools[POOL].content.tallies.pairs, "add", lambda *_: 1 / 0)
    partition.fold(records(VALUES)[50:], FixedDirectory(control()))
    assert partition.pools[POOL].broken
    partition.begin(Build(partition.pools[POOL].created, made(retraction_horizon=END)))
    catch_up(partition, records(VALUES), 50)
    partition.switch(partition.builds[POOL, 2])
    assert digest(partition.pools[POOL].arrays()) == digest(built(VALUES, made(retraction_horizon=END)).arrays())


def test_a_generation_that_starts_later_reads_from_there() -> None:
    state = built(VALUES, made(start=200))
    assert content(state) == content(fold([[0]] * 200 + VALUES[200:]).pools[POOL])
    empty = built(VALUES, made(start=END))
    assert empty.content.counts["outcomes"] == 0


# which generation is next


def wishing(known: ControlState, **asked: object) -> GenerationRequest:
    wanted = generations.wish(known.generations[POOL][max(known.generations[POOL])], time=1.0, **asked)  # type: ignore[arg-type]
    known.apply(known.position, wanted)
    return wanted


def test_a_wish_keeps_what_it_does_not_name() -> None:
    known = control()
    known.apply(known.position, made(2, bans=("x",), initial={"elo": {"y": 1.0}}))
    fold_ = FoldSettings(online={"elo": {"k": 10.0}})
    wanted = wishing(known, fold=fold_, aliases={"a": "b"})
    assert (wanted.fold, wanted.aliases, wanted.bans, wanted.initial) == (fold_, {"a": "b"}, ("x",), {"elo": {"y": 1.0}})


def test_a_wish_beside_one_that_waits_keeps_its_start() -> None:
    known = control()
    waiting = wishing(known, bans=("x",), start="now")
    assert generations.wish(waiting, time=2.0, bans=("x", "y")).start == "now"
    assert generations.wish(known.generations[POOL][1], time=2.0, bans=("y",)).start == "same"


@pytest.mark.parametrize(("start", "expected"), [("same", 0), ("now", 77), (40, 40)])
def test_a_wish_becomes_the_next_generation_once(start: generations.Start, expected: int) -> None:
    known = control()
    wishing(known, bans=("x",), start=start)
    wish = known.wish(POOL)
    assert wish is not None
    generation = generations.after_wish(known, wish, 77, 50, 2.0)
    assert (generation.number, generation.start, generation.bans) == (2, expected, ("x",))
    assert generation.retraction_horizon == (50 if expected < 50 else 0)
    known.apply(known.position, generation)
    assert known.wish(POOL) is None
    assert generations.target(known, POOL, 1) == generation
    assert generations.target(known, POOL, 2) is None


def test_the_newest_generation_is_built_and_the_one_that_serves_where_it_failed() -> None:
    known = control()
    for number in (2, 3):
        known.apply(known.position, made(number))
    assert generations.target(known, POOL, 1) == made(3)
    assert generations.target(known, POOL, 1, failed=[3]) is None
    known.apply(known.position, Serve(pool=POOL, number=2, time=0.0))
    assert generations.target(known, POOL, 1, failed=[3]) == made(2)


def test_serving_never_goes_back() -> None:
    known = control()
    for number in (3, 2):
        known.apply(known.position, Serve(pool=POOL, number=number, time=0.0))
    assert known.served(POOL) == 3


def test_retracted_ids_are_told_exactly() -> None:
    draw = np.random.default_rng(3)
    ids = draw.integers(0, 3, (300, 2), dtype=np.uint64)
    some = Retracted(np.unique(ids[:40], axis=0))
    expected = [tuple(one) in {tuple(other) for other in ids[:40].tolist()} for one in ids.tolist()]
    assert some.among(ids).tolist() == expected


def test_a_build_reads_no_record_below_its_position() -> None:
    build, of_log = Build(control().pools[POOL], made(retraction_horizon=END)), records(VALUES)
    build.position = 390
    assert [record.offset for record in build.concerned(of_log[:390])] == []
    assert build.concerned(TopicRecords([])) == []
    whole, part = build.concerned(of_log), build.concerned(of_log[380:])
    assert part == whole
    assert min(record.offset for record in whole) >= 390


def test_the_name_that_is_both_alias_and_agent_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="aliases must not be an alias itself: name the agent of this alias, got 'b'"):
        generations.check(Kind.GAMES, FoldSettings(), {}, {"a": "b", "b": "c"}, ())
