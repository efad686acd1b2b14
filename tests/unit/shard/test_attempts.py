"""Which records are noted before they are folded, in which runs, and what is left out when an operator skips records."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from services.control.log import ControlLog
from services.control.records import Attempt, Skipped, Takeover
from services.log.protocol import BatchDamaged, Log, Record, Records
from services.log.records import TopicRecords
from services.log.skipping import SkippingReader, beyond, open_reader
from services.log.sqlite.log import open_sqlite_log
from services.shard.attempts import Attempts, Isolated, isolated_at

EPOCH = 0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 2)
    yield log
    log.close()


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    control = ControlLog(log.control)
    control.append(Takeover(partition=1, owner="test", time=0.0))
    yield control
    control.close()


def attempts(control: ControlLog, until: int, position: int = 0) -> Attempts:
    control.refresh()
    made = Attempts(1, EPOCH, until, control, clock=lambda: 5.0)
    made.look_back(position)
    return made


def note(control: ControlLog, begin: int, end: int, deaths: int = 0) -> None:
    control.append(Attempt(partition=1, epoch=EPOCH, begin=begin, end=end, deaths=deaths, time=0.0))


def noted(control: ControlLog) -> tuple[int, int, int] | None:
    found = control.refresh().partitions.attempts.get(1)
    return None if found is None else (found.begin, found.end, found.deaths)


def records(begin: int, end: int) -> TopicRecords:
    return TopicRecords([Record(offset, b"x", 0.0) for offset in range(begin, end)])


def folded(
    made: Attempts, control: ControlLog, begin: int, end: int, *, isolated: bool = False
) -> list[tuple[list[int], tuple[int, int, int] | None]]:
    """Offsets of each run, and the note that stands while it is folded. isolated: whether the isolated record follows."""
    found = []
    with pytest.raises(Isolated) if isolated else nullcontext():
        for part in made.parts(records(begin, end)):
            found.append(([one.offset for one in part], noted(control)))  # noqa: PERF401 - the runs before the error count
    return found


class TestNotes:
    def test_what_was_in_the_log_at_the_start_is_noted_in_runs(self, control: ControlLog) -> None:
        assert folded(attempts(control, 20), control, 10, 15) == [([10, 11, 12, 13, 14], (10, 15, 0))]

    def test_a_run_that_begins_before_the_end_is_noted(self, control: ControlLog) -> None:
        assert folded(attempts(control, 11), control, 10, 13) == [([10, 11, 12], (10, 13, 0))]

    def test_what_came_later_is_not_noted(self, control: ControlLog) -> None:
        assert folded(attempts(control, 10), control, 10, 13) == [([10, 11, 12], None)]

    def test_the_note_is_withdrawn_where_the_end_is_reached(self, control: ControlLog) -> None:
        made = attempts(control, 20)
        folded(made, control, 10, 15)
        made.settle(15, idle=False)
        assert noted(control) == (10, 15, 0)
        folded(made, control, 15, 20)
        made.settle(20, idle=False)
        assert noted(control) == (0, 0, 0)

    def test_the_note_is_withdrawn_where_nothing_follows_for_now(self, control: ControlLog) -> None:
        made = attempts(control, 20)
        folded(made, control, 10, 15)
        made.settle(15, idle=True)
        assert noted(control) == (0, 0, 0)

    def test_no_note_is_withdrawn_twice(self, control: ControlLog) -> None:
        made = attempts(control, 20)
        folded(made, control, 10, 15)
        made.settle(15, idle=True)
        end = control._topic.end(0)
        made.settle(15, idle=True)
        assert control._topic.end(0) == end


class TestAfterADeath:
    def test_suspected_records_are_folded_one_at_a_time_and_the_others_in_runs(self, control: ControlLog) -> None:
        note(control, 12, 14)
        assert folded(attempts(control, 20), control, 10, 17) == [
            ([10, 11], (12, 14, 0)),  # the evidence stands while what comes before it is folded
            ([12], (12, 13, 0)), ([13], (13, 14, 0)), ([14, 15, 16], (14, 17, 0)),
        ]  # fmt: skip

    def test_a_run_that_begins_inside_what_is_suspected_is_noted_too(self, control: ControlLog) -> None:
        note(control, 12, 15)
        assert folded(attempts(control, 0, position=13), control, 13, 15) == [([13], (13, 14, 0)), ([14], (14, 15, 0))]

    def test_records_that_are_folded_already_are_not_suspected(self, control: ControlLog) -> None:
        note(control, 12, 14)
        assert folded(attempts(control, 0, position=14), control, 14, 16) == [([14, 15], (12, 14, 0))]

    def test_a_second_death_at_one_record_isolates_it(self, control: ControlLog) -> None:
        note(control, 12, 13, deaths=1)
        made = attempts(control, 20)
        assert made.isolated == 12
        assert noted(control) == (12, 13, 2)
        assert [offsets for offsets, _ in folded(made, control, 10, 15, isolated=True)] == [[10, 11]]
        made.settle(12, idle=True)
        assert noted(control) == (12, 13, 2), "it stays until an operator decides"
        assert isolated_at(1, control.refresh()) == 12

    def test_records_of_odd_and_even_offsets_are_isolated_alike(self, control: ControlLog) -> None:
        note(control, 11, 12, deaths=1)
        assert attempts(control, 20).isolated == 11

    def test_the_first_death_at_one_record_is_counted(self, control: ControlLog) -> None:
        note(control, 12, 13)
        made = attempts(control, 20)
        assert made.isolated is None
        assert folded(made, control, 12, 14) == [([12], (12, 13, 1)), ([13], (13, 14, 0))]

    def test_two_deaths_at_several_records_isolate_none(self, control: ControlLog) -> None:
        note(control, 12, 14, deaths=1)
        assert attempts(control, 20).isolated is None

    def test_a_skipped_record_is_not_suspected(self, control: ControlLog) -> None:
        note(control, 12, 13, deaths=2)
        control.append(Skipped(partition=1, begin=12, end=13, time=0.0))
        made = attempts(control, 20)
        assert made.isolated is None
        assert isolated_at(1, control.refresh()) is None
        assert [offsets for offsets, _ in folded(made, control, 13, 15)] == [[13, 14]]

    def test_an_operators_word_lets_it_go_on(self, control: ControlLog) -> None:
        note(control, 12, 13, deaths=2)
        made = attempts(control, 20)
        folded(made, control, 10, 15, isolated=True)
        assert not made.is_decided(control.refresh())
        control.append(Attempt(partition=1, epoch=EPOCH, time=0.0))
        assert made.is_decided(control.refresh())
        made.resume(14, 12, control.refresh())
        assert made.isolated is None
        assert folded(made, control, 12, 16) == [([12, 13, 14, 15], (12, 16, 0))]
        made.settle(16, idle=False)
        assert noted(control) == (0, 0, 0)

    def test_the_isolated_record_is_noted_again_though_the_end_of_the_log_was_not_read_yet(self, control: ControlLog) -> None:
        note(control, 12, 13, deaths=2)
        made = attempts(control, 20)
        control.append(Attempt(partition=1, epoch=EPOCH, time=0.0))
        made.resume(0, 10, control.refresh())
        assert folded(made, control, 12, 13) == [([12], (12, 13, 0))]
        made.settle(13, idle=False)
        assert noted(control) == (0, 0, 0)

    @pytest.mark.parametrize(("position", "isolated"), [(11, 12), (12, 12), (13, None)])
    def test_a_decision_on_records_before_the_isolated_one_leaves_it_isolated(
        self, control: ControlLog, position: int, isolated: int | None
    ) -> None:
        note(control, 12, 13, deaths=2)
        made = attempts(control, 20)
        control.append(Skipped(partition=1, begin=10, end=11, time=0.0))
        made.resume(20, position, control.refresh())
        assert made.isolated == isolated
        made.settle(position, idle=True)
        assert noted(control) == ((12, 13, 2) if isolated else (0, 0, 0))

    def test_what_nobody_isolated_is_not_decided(self, control: ControlLog) -> None:
        assert not attempts(control, 20).is_decided(control.refresh())


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
