"""Where the restart counter is written, which records are folded alone, and what is left out when an operator skips records."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, Restarts, Skipped, Takeover
from services.log.protocol import BatchDamaged, Log, LogError, Record, Records
from services.log.records import TopicRecords
from services.log.skipping import SkippingReader, beyond, open_reader
from services.log.sqlite.log import open_sqlite_log
from services.shard import restarts
from services.shard.restarts import Isolated, RestartCounter, isolated_at

ISOLATED = MOST_RESTARTS + 1


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 2)
    yield log
    log.close()


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    control = ControlLog(log.control)
    take_over(control)
    yield control
    control.close()


def take_over(control: ControlLog, partition: int = 1) -> int:
    """The epoch of a new owner."""
    return control.append(Takeover(partition=partition, owner="test", time=0.0))


def counter(control: ControlLog, position: int, end: int) -> RestartCounter:
    """The counter of a shard that takes the partition over at `position`."""
    made = RestartCounter(1, take_over(control), control, clock=lambda: 5.0)
    control.refresh()
    made.begin(position, end)
    return made


def count(control: ControlLog, position: int, count: int) -> None:
    """Write the counter as the owner of the partition does."""
    epoch = control.refresh().partitions.epochs[1]
    control.append(Restarts(partition=1, epoch=epoch, position=position, count=count, time=0.0))


def counted(control: ControlLog) -> tuple[int, int] | None:
    found = control.refresh().partitions.restarts.get(1)
    return None if found is None else (found.position, found.count)


def records(begin: int, end: int) -> TopicRecords:
    return TopicRecords([Record(offset, b"x", 0.0) for offset in range(begin, end)])


def folded(
    made: RestartCounter, control: ControlLog, begin: int, end: int, *, isolated: bool = False
) -> list[tuple[list[int], tuple[int, int] | None]]:
    """Offsets of each call, and the counter in the control log while it is folded. isolated: whether the isolated record follows."""
    found = []
    with pytest.raises(Isolated) if isolated else nullcontext():
        for part in made.calls(records(begin, end)):
            found.append(([one.offset for one in part], counted(control)))  # noqa: PERF401 - the calls before the error count
    return found


def fail(_: object) -> int:
    raise LogError("no answer", retriable=True)


class TestFirstShard:
    def test_the_counter_is_written_once(self, control: ControlLog) -> None:
        made = counter(control, 10, 20)
        assert folded(made, control, 10, 13) == [([10, 11, 12], (10, 1))]
        assert folded(made, control, 13, 15) == [([13, 14], (10, 1))]

    def test_a_call_that_begins_before_the_end_is_counted(self, control: ControlLog) -> None:
        assert folded(counter(control, 10, 11), control, 10, 13) == [([10, 11, 12], (10, 1))]

    def test_what_came_later_is_not_counted(self, control: ControlLog) -> None:
        assert folded(counter(control, 10, 10), control, 10, 13) == [([10, 11, 12], None)]

    def test_the_counter_is_0_where_the_end_is_reached(self, control: ControlLog) -> None:
        made = counter(control, 10, 20)
        folded(made, control, 10, 15)
        made.settle(15)
        assert counted(control) == (10, 1), "it does not move, so it blames no record"
        folded(made, control, 15, 20)
        made.settle(20)
        assert counted(control) == (20, 0)

    def test_the_counter_is_settled_once(self, control: ControlLog) -> None:
        made = counter(control, 10, 20)
        folded(made, control, 10, 20)
        made.settle(20)
        end = control._topic.end(0)
        made.settle(20)
        assert control._topic.end(0) == end

    def test_folding_goes_on_if_the_control_log_fails(self, control: ControlLog, monkeypatch: pytest.MonkeyPatch) -> None:
        made = counter(control, 10, 20)
        monkeypatch.setattr(control, "append", fail)
        assert folded(made, control, 10, 13) == [([10, 11, 12], None)]
        assert folded(made, control, 13, 15) == [([13, 14], None)]

    def test_a_reset_that_fails_is_tried_again(self, control: ControlLog, monkeypatch: pytest.MonkeyPatch) -> None:
        made = counter(control, 10, 12)
        folded(made, control, 10, 12)
        with monkeypatch.context() as patch:
            patch.setattr(control, "append", fail)
            made.settle(12)
        assert counted(control) == (10, 1)
        made.settle(12)
        assert counted(control) == (12, 0)

    def test_its_own_counter_is_no_death(self, control: ControlLog) -> None:
        """An operator decides while the counter stands, and the shard begins again."""
        made = counter(control, 10, 20)
        folded(made, control, 10, 13)
        control.refresh()
        made.begin(13, 20)
        assert folded(made, control, 13, 15) == [([13, 14], (13, 1))]
        assert folded(made, control, 15, 17) == [([15, 16], (13, 1))], "the counter does not move, as before any death"


class TestAfterADeath:
    @pytest.mark.parametrize(("earlier", "blames"), [(0, False), (1, True), (2, True), (3, True)])
    def test_a_death_is_counted_for_the_records_of_a_call_until_the_counter_is_settled(
        self, control: ControlLog, earlier: int, blames: bool
    ) -> None:
        count(control, 10, earlier)
        made = counter(control, 10, 20)
        assert not made.blames
        for _ in made.calls(records(10, 13)):
            assert made.blames == blames
        assert made.blames == blames
        made.settle(13)
        assert not made.blames

    @pytest.mark.parametrize("earlier", range(4))
    def test_a_partition_is_folded_with_care_up_to_the_end_that_its_shard_began_with(self, control: ControlLog, earlier: int) -> None:
        count(control, 10, earlier)
        made = counter(control, 10, 20)
        for end in (13, 20):
            assert made.careful(end - 1) == (earlier > 0)
            folded(made, control, end - 3, end)
            made.settle(end)
        assert made.careful(19) == (earlier > 0)
        assert not made.careful(20)

    @pytest.mark.parametrize("died", [8, 10])
    def test_after_a_death_the_counter_moves_with_the_calls(self, control: ControlLog, died: int) -> None:
        """Also if a checkpoint was written after the counter: the record at which the shard died is not known yet."""
        count(control, died, 1)
        made = counter(control, 10, 20)
        assert folded(made, control, 10, 13) == [([10, 11, 12], (10, 2))]
        assert folded(made, control, 13, 15) == [([13, 14], (13, 2))]
        made.settle(15)
        assert counted(control) == (15, 0), "no folded call is blamed while other partitions are folded"
        assert folded(made, control, 15, 20) == [([15, 16, 17, 18, 19], (15, 2))]
        made.settle(20)
        assert counted(control) == (20, 0)

    def test_the_records_of_the_blamed_call_are_folded_alone_and_the_others_in_calls(
        self, control: ControlLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(restarts, "BATCH_RECORDS", 2)
        count(control, 12, 2)
        assert folded(counter(control, 10, 20), control, 10, 17) == [
            ([10, 11], (12, 2)),  # the counter stays while what comes before it is folded
            ([12], (12, 3)), ([13], (13, 3)), ([14, 15, 16], (14, 2)),
        ]  # fmt: skip

    def test_a_call_has_at_most_as_many_records_as_are_folded_alone(self, control: ControlLog) -> None:
        """The third shard may get the records of the second one's call in other calls, so it counts records."""
        count(control, 10, 2)
        made, end = counter(control, 10, 5000), 10 + restarts.BATCH_RECORDS
        alone = [part for begin in range(10, end, 500) for part in made.calls(records(begin, begin + 500))]
        assert [len(part) for part in alone] == [1] * restarts.BATCH_RECORDS
        assert [len(part) for part in made.calls(records(end, end + 500))] == [500]

    @pytest.mark.parametrize("died", [2, 3, 4])
    def test_records_that_a_checkpoint_covers_are_not_blamed(self, control: ControlLog, died: int) -> None:
        count(control, 12, died)
        made = counter(control, 14, 20)
        assert made.isolated_offset is None
        assert folded(made, control, 14, 16) == [([14, 15], (14, 2))]

    def test_a_counter_of_0_blames_nothing(self, control: ControlLog) -> None:
        count(control, 10, 0)
        assert folded(counter(control, 10, 20), control, 10, 12) == [([10, 11], (10, 1))]

    def test_the_record_at_which_the_third_shard_died_is_folded_alone(self, control: ControlLog) -> None:
        count(control, 12, 3)
        made = counter(control, 12, 20)
        assert made.isolated_offset is None
        assert folded(made, control, 12, 15) == [([12], (12, 4)), ([13, 14], (13, 2))]

    def test_a_death_before_the_blamed_record_does_not_raise_the_counter(self, control: ControlLog) -> None:
        count(control, 12, 3)
        for _ in range(3):
            assert folded(counter(control, 10, 20), control, 10, 12) == [([10, 11], (12, 3))]

    def test_a_fourth_death_isolates_the_record(self, control: ControlLog) -> None:
        count(control, 12, MOST_RESTARTS)
        for _ in range(2):
            made = counter(control, 10, 20)
            assert made.isolated_offset == 12
            assert [offsets for offsets, _ in folded(made, control, 10, 15, isolated=True)] == [[10, 11]]
            made.settle(12)
            assert counted(control) == (12, ISOLATED), "it stays until an operator decides"
            assert isolated_at(1, control.refresh()) == 12

    @pytest.mark.parametrize("deadly", [10, 13, 19])
    def test_a_record_that_ends_each_shard_isolates_its_partition_after_four(self, control: ControlLog, deadly: int) -> None:
        for _ in range(MOST_RESTARTS):
            made = counter(control, 10, 20)
            for begin in (10, 15):
                assert made.isolated_offset is None
                if any(deadly in part.offset for part in made.calls(records(begin, begin + 5))):
                    break
            else:
                pytest.fail("the record was not folded")
        assert counter(control, 10, 20).isolated_offset == deadly

    def test_the_end_of_a_shard_by_an_error_of_a_log_counts_for_no_record_and_hides_no_death(self, control: ControlLog) -> None:
        first = counter(control, 10, 20)
        folded(first, control, 10, 12)
        first.withdraw()
        assert counted(control) == (10, 0)
        count(control, 12, MOST_RESTARTS)
        for _ in range(3):
            refused = counter(control, 10, 20)
            folded(refused, control, 10, 12)
            refused.withdraw()
            assert counted(control) in {(12, MOST_RESTARTS), (12, ISOLATED)}
        assert counter(control, 10, 20).isolated_offset == 12

    def test_a_partition_beside_the_deadly_record_is_not_isolated(self, control: ControlLog) -> None:
        """Its records of the same poll are folded before, and more records wait."""
        deadly = 13
        for _ in range(MOST_RESTARTS):
            beside, ending = (RestartCounter(number, take_over(control, number), control) for number in (0, 1))
            control.refresh()
            for one in (beside, ending):
                one.begin(10, 20)
                assert one.isolated_offset is None
            for _part in beside.calls(records(10, 15)):
                pass
            beside.settle(15)
            assert any(deadly in part.offset for part in ending.calls(records(10, 15))), "the shard dies"
        control.refresh()
        beside.begin(10, 20)
        ending.begin(10, 20)
        assert (beside.isolated_offset, ending.isolated_offset) == (None, deadly)

    def test_a_shard_that_another_one_superseded_does_not_count(self, control: ControlLog) -> None:
        old = counter(control, 10, 20)
        control.append(Takeover(partition=1, owner="another", time=0.0))
        assert folded(old, control, 10, 12) == [([10, 11], None)]

    @pytest.mark.parametrize("died", range(1, ISOLATED + 1))
    def test_a_skipped_record_is_not_blamed(self, control: ControlLog, died: int) -> None:
        count(control, 12, died)
        control.append(Skipped(partition=1, begin=12, end=13, time=0.0))
        made = counter(control, 12, 20)
        assert made.isolated_offset is None
        assert isolated_at(1, control.refresh()) is None
        assert folded(made, control, 13, 15) == [([13, 14], (13, 1))]

    @pytest.mark.parametrize("end", [0, 20])
    def test_a_retried_record_is_folded_alone_once_more(self, control: ControlLog, end: int) -> None:
        """end: 0 if the end of the log was not read yet when the operator decided."""
        count(control, 12, ISOLATED)
        made = counter(control, 10, 20)
        folded(made, control, 10, 15, isolated=True)
        count(control, 12, MOST_RESTARTS - 1)
        assert isolated_at(1, control.refresh()) is None
        made.begin(12, end)
        assert made.isolated_offset is None
        assert folded(made, control, 12, 13) == [([12], (12, MOST_RESTARTS))]
        made.settle(13)
        assert counted(control) == (13, 0)

    def test_an_isolated_record_is_never_folded_also_if_the_control_log_fails(
        self, control: ControlLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        count(control, 12, MOST_RESTARTS)
        made = RestartCounter(1, take_over(control), control)
        control.refresh()
        monkeypatch.setattr(control, "append", fail)
        made.begin(10, 20)
        assert folded(made, control, 10, 15, isolated=True) == [([10, 11], (12, MOST_RESTARTS))]

    def test_a_skip_of_the_isolated_record_lets_the_shard_go_on(self, control: ControlLog) -> None:
        count(control, 12, ISOLATED)
        made = counter(control, 10, 20)
        control.append(Skipped(partition=1, begin=12, end=13, time=0.0))
        control.refresh()
        made.begin(12, 20)
        assert made.isolated_offset is None
        assert folded(made, control, 13, 16) == [([13, 14, 15], (13, 1))]

    def test_a_decision_on_records_before_the_isolated_one_leaves_it_isolated(self, control: ControlLog) -> None:
        count(control, 12, ISOLATED)
        made = counter(control, 10, 20)
        control.append(Skipped(partition=1, begin=10, end=11, time=0.0))
        control.refresh()
        made.begin(11, 20)
        assert made.isolated_offset == 12
        made.settle(11)
        assert counted(control) == (12, ISOLATED)


class TestSkipping:
    @pytest.mark.parametrize(("offset", "first"), [(0, 0), (2, 5), (4, 5), (5, 5), (7, 9), (8, 9), (9, 9)])
    def test_the_first_offset_that_is_not_skipped(self, offset: int, first: int) -> None:
        assert beyond([(7, 8), (2, 5), (8, 9)], offset) == first

    def test_skipped_records_are_left_out_and_no_others(self, log: Log) -> None:
        log.outcomes.append(1, [(None, b"%d" % number) for number in range(10)])
        log.outcomes.append(0, [(None, b"a"), (None, b"b")])
        reader = open_reader(log.outcomes, {0: 0, 1: 0}, {1: [(2, 5), (9, 10)]})
        assert values(reader, 2) == {0: [b"a", b"b"], 1: [b"0", b"1", b"5", b"6", b"7", b"8"]}
        assert (reader.position(0), reader.position(1)) == (2, 10)
        reader.close()

    def test_what_lies_before_the_position_needs_no_skipping(self, log: Log) -> None:
        log.outcomes.append(1, [(None, b"%d" % number) for number in range(10)])
        assert not isinstance(open_reader(log.outcomes, {1: 5}, {1: [(2, 5)]}), SkippingReader)
        assert isinstance(open_reader(log.outcomes, {1: 1}, {1: [(2, 5)]}), SkippingReader)
        assert open_reader(log.outcomes, {1: 4}, {1: [(2, 5)]}).position(1) == 5

    @pytest.mark.parametrize("end", [6, 7])
    def test_a_damaged_batch_is_passed_over_only_where_its_first_record_is_skipped(self, log: Log, end: int) -> None:
        log.outcomes.append(1, [(None, b"%d" % number) for number in range(10)])
        topic = Damaged(log, 4, 6)
        reader = SkippingReader(topic, {1: 4}, {1: [(4, end)]})  # type: ignore[arg-type]
        assert reader.poll(0.1, 100) == {}
        assert values(reader, 1) == {1: [b"%d" % number for number in range(end, 10)]}
        other = SkippingReader(topic, {1: 4}, {1: [(3, 4), (5, 6)]})  # type: ignore[arg-type]
        with pytest.raises(BatchDamaged):
            other.poll(0.1, 100)


class Damaged:
    """A topic whose offsets from `begin` to before `end` cannot be read."""

    name, partitions = "outcomes", 2

    def __init__(self, log: Log, begin: int, end: int) -> None:
        self._log, self._begin, self._end = log, begin, end

    def reader(self, positions: Mapping[int, int]) -> "Damaged":
        self._positions = dict(positions)
        self._reader = self._log.outcomes.reader(positions)
        return self

    def poll(self, timeout: float, most: int) -> Mapping[int, Records]:
        if self._begin <= self._positions[1] < self._end:
            raise BatchDamaged("outcomes", 1, self._positions[1], self._end, "for a test", self._begin)
        return self._reader.poll(timeout, most)

    def position(self, partition: int) -> int:
        return self._positions[partition]

    def close(self) -> None:
        self._reader.close()


def values(reader: object, partitions: int) -> dict[int, list[bytes]]:
    """What a reader gives of so many partitions."""
    found: dict[int, list[bytes]] = {}
    while len(found) < partitions:
        for partition, batch in reader.poll(1.0, 100).items():  # type: ignore[attr-defined]
            found.setdefault(partition, []).extend(record.value for record in batch)
    return found
