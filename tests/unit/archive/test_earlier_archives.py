"""Tables of earlier releases have a column `chain`, or no column `tags`: they are read, appended to, compacted and erased as others."""

import json

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake

from services.archive.compaction import compact
from services.archive.encode import rows
from services.archive.erasure import erase_rows
from services.archive.location import table_uri
from services.archive.reader import open_reader
from services.archive.schema import APP_ID, SCHEMA, TABLE, layout
from services.archive.table import erasures_of
from services.archive.writer import open_writer
from services.control.erasures import ErasureDone, ErasureRequest, erased_name
from services.control.records import decode
from services.log.protocol import Record
from services.log.records import TopicRecords
from tests.support.archive import LOG, append, check, contents, fill, mixed
from tests.support.outcomes import game

RECORDS = mixed(7, 120)


@pytest.fixture
def earlier(url: str, small_segments: None) -> DeltaTable:
    """Table of an earlier release with the first 60 records. Each 64th row has a link of a hash chain."""
    return made(url, SCHEMA.append(pa.field("chain", pa.binary())), RECORDS)


def made(url: str, schema: pa.Schema, records: TopicRecords) -> DeltaTable:
    """Table of an earlier release, with the columns of `schema` and the first 60 records."""
    uri, found = table_uri(url, 0), rows(records[:60])
    DeltaTable.create(
        uri, Schema.from_arrow(schema), partition_by=["segment"], description=f"equirank log {LOG}", configuration=dict(TABLE)
    )
    number = range(len(found))
    links = [b"link" * 8 if row % 64 == 63 else None for row in number]
    for name, values in (("segment", [row // 256 for row in number]), ("row", list(number)), ("chain", links)):
        if name in schema.names:
            found = found.append_column(name, pa.array(values, schema.field(name).type))
    properties = CommitProperties(app_transactions=[Transaction(APP_ID, records[59].offset + 1)])
    table = DeltaTable(uri)
    write_deltalake(table, found.select(schema.names).cast(schema), mode="append", commit_properties=properties, writer_properties=layout())
    return table


@pytest.mark.parametrize("merged", [False, True])
def test_rows_of_a_release_without_tags_have_none(url: str, small_segments: None, merged: bool) -> None:
    """Also where all later rows have the same tags: statistics of their files say nothing about earlier files."""
    sent = [Record(i, json.dumps(game(f"g{i}", "a", "b", **({"tags": {"map": "x"}} if i >= 60 else {}))).encode(), 0.0) for i in range(120)]
    records = TopicRecords(sent)
    made(url, SCHEMA.remove(SCHEMA.get_field_index("tags")), records)
    assert check(url, records) == 60
    fill(url, records, 17)
    if merged:
        compact(url, 0, open_files=2)
    assert check(url, records) == 120
    for coded in (False, True):
        found = pa.concat_tables([table.select(["tags"]) for table in open_reader(url, 0).read(coded=coded)])
        assert found["tags"].to_pylist() == [None] * 60 + ['{"map":"x"}'] * 60


def test_its_rows_are_read_and_appends_go_on(url: str, earlier: DeltaTable) -> None:
    assert check(url, RECORDS) == RECORDS[59].offset + 1
    assert "chain" not in contents(url).column_names
    while append(open_writer(url, 0, LOG), RECORDS, 17):
        pass
    assert check(url, RECORDS) == RECORDS[-1].offset + 1
    assert contents(url).num_rows > 256


def test_its_files_are_merged_with_later_ones(url: str, earlier: DeltaTable) -> None:
    fill(url, RECORDS, 17)
    assert compact(url, 0, open_files=2)
    assert check(url, RECORDS) == RECORDS[-1].offset + 1


@pytest.mark.parametrize("name", ["agent 7", "nobody"])
def test_names_are_erased_from_it(url: str, earlier: DeltaTable, name: str) -> None:
    one = ErasureRequest(pool="games", name=erased_name(name, ()), by="ann", time=1.0)
    fill(url, RECORDS, 17)
    fill(f"{url}-fresh", RECORDS, 17)
    assert erase_rows(url, 0, LOG, [one]) == erase_rows(f"{url}-fresh", 0, LOG, [one])
    assert contents(url).equals(contents(f"{url}-fresh"))
    assert erasures_of(DeltaTable(table_uri(url, 0))) == (1, 0)


def test_the_end_of_an_erasure_is_read_without_what_it_noted_of_the_chain() -> None:
    change = b'{"rows":3,"covered":8192,"before":"aa","after":"bb"}'
    value = b'{"type":"erased","pool":"p","token":"t","time":1.0,"archive":%b,"elsewhere":{"2":%b}}' % (change, change)
    assert decode(value) == ErasureDone(pool="p", token="t", time=1.0)  # noqa: S106 - no password
