"""Bugs planted in an archive: the account of chaos finds each of them, and nothing without one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from services.archive import follow as following
from services.archive.encode import rows
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.protocol import Record as LogRecord
from services.log.sqlite.log import open_sqlite_log
from tests.chaos.archived import compare, position
from tests.chaos.oracle import Record, mark
from tests.chaos.traffic import Sent, traffic

PARTITIONS, RECORDS = 4, 1500
Encode = Callable[[Sequence[LogRecord]], pa.Table]


def changed(name: str, edit: Callable[[pa.Array, Any], pa.Array], where: Callable[[pa.Table], pa.Array]) -> Encode:
    """Encodes as the service does, except that `edit` changes a column in the rows that are chosen."""

    def encode(records: Sequence[LogRecord]) -> pa.Table:
        table = rows(records)
        column = table[name].combine_chunks()
        edited = pc.if_else(where(table), edit(column, pa.scalar(None, column.type)), column)
        return table.set_column(table.column_names.index(name), table.schema.field(name), edited)

    return encode


def without_one(records: Sequence[LogRecord]) -> pa.Table:
    return pa.concat_tables([rows(records[:50]), rows(records[51:])])


def of_kind(kind: str) -> Callable[[pa.Table], pa.Array]:
    return lambda table: pc.equal(table["kind"].combine_chunks(), kind)


PLANTED: Final[Mapping[str, Encode]] = {
    "a record is left out": without_one,
    "weights are lost": changed("weight", lambda column, _: pc.if_else(pc.is_valid(column), 1.0, None), of_kind("game")),
    "scores are lost": changed("scores", lambda _, null: null, of_kind("scores")),
    "a retraction names another outcome": changed("retracts", lambda column, _: pc.utf8_reverse(column), of_kind("retraction")),
    "places are those of another order": changed("places", lambda column, _: _negated(column), of_kind("game")),
    "refused bytes are cut": changed("raw", lambda column, _: pc.binary_slice(column, 0, 5), of_kind("unread")),
    "games are refused": changed("kind", lambda _, null: pa.scalar("unread", null.type), of_kind("game")),
}


def _negated(lists: pa.ListArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(lists.offsets, pc.negate(lists.values), mask=lists.is_null())


class Filled:
    """A log with traffic of every kind, and what chaos knows of it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.sent = list(islice(traffic(5, PARTITIONS), RECORDS))
        for one in self.sent:
            log.outcomes.append(self._home(one), [(one.pool.encode(), one.value)])
        self.refused = {mark(one.value): one.refused for one in self.sent if one.refused}

    def records(self) -> Iterator[Record]:
        at = dict.fromkeys(range(PARTITIONS), 0)
        for one in self.sent:
            yield self._home(one), at[self._home(one)], one.value
            at[self._home(one)] += 1

    def archive(self, url: str, partitions: Sequence[int] = range(PARTITIONS), *, left: int = 0) -> None:
        """left: records at the end of each partition that are not archived."""
        for number in partitions:
            following.follow(self.log.outcomes, {}, url, number, self.log.outcomes.end(number) - left)

    def complaints(self, url: str) -> list[str]:
        return compare(url, PARTITIONS, self.records(), self.refused, ())[1]

    @staticmethod
    def _home(sent: Sent) -> int:
        return partition_of(sent.pool, PARTITIONS) if sent.partition is None else sent.partition


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with closing(open_sqlite_log(tmp_path_factory.mktemp("log") / "log.sqlite", PARTITIONS)) as log:
        yield Filled(log)


def test_an_archive_of_all_records_passes(filled: Filled, tmp_path: Path) -> None:
    filled.archive(str(tmp_path))
    assert compare(str(tmp_path), PARTITIONS, filled.records(), filled.refused, ()) == (RECORDS, [])
    assert {kind for reasons in filled.refused.values() for kind in reasons.values()} >= {"unparsable", "bad_field", "wrong_partition"}


def test_a_partition_that_was_never_archived_is_found(filled: Filled, tmp_path: Path) -> None:
    filled.archive(str(tmp_path), [0, 1, 3])
    assert position(str(tmp_path), 2) == 0
    [found] = filled.complaints(str(tmp_path))
    assert "partition 2" in found
    assert "no archive" in found


def test_an_archive_that_ends_early_is_found(filled: Filled, tmp_path: Path) -> None:
    filled.archive(str(tmp_path), left=1)
    assert [position(str(tmp_path), number) for number in range(PARTITIONS)] == [
        filled.log.outcomes.end(number) - 1 for number in range(PARTITIONS)
    ]
    assert all("not in both" in one for one in filled.complaints(str(tmp_path)))
    assert len(filled.complaints(str(tmp_path))) == PARTITIONS


@pytest.mark.parametrize("planted", PLANTED)
def test_an_archive_with_other_content_is_found(filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    monkeypatch.setattr(following, "rows", PLANTED[planted])
    filled.archive(str(tmp_path))
    assert filled.complaints(str(tmp_path))
