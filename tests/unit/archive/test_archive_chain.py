"""The chain does not depend on commits or files, and shows changed, removed and exchanged rows."""

import shutil
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from services.archive import chain
from services.archive.chain import ChainBrokenError, ChainHead, genesis
from services.archive.compaction import compact
from services.archive.reader import ArchiveDamagedError, open_reader
from services.archive.table import table_uri
from tests.support.archive import LOG, fill, mixed

RECORDS = mixed(3, 150)


def verified(url: str) -> ChainHead:
    return chain.verify(genesis(LOG, 0), open_reader(url, 0).read())


def test_the_chain_is_the_same_for_all_cuts_and_after_compaction(url: str, small_blocks: None) -> None:
    heads = {fill(f"{url}-{count}", RECORDS, count).head for count in (1000, 40, 13)}
    assert len(heads) == 1
    compact(f"{url}-13", 0, open_files=2)
    assert {verified(f"{url}-{count}") for count in (1000, 40, 13)} == heads
    assert heads.pop().rows > 200


def test_the_chain_belongs_to_one_log_and_partition() -> None:
    assert len({genesis("a", 0).link, genesis("a", 1).link, genesis("b", 0).link}) == 3


@pytest.mark.parametrize(
    ("column", "value"),
    [("id", "'other'"), ("time", "1.25"), ("weight", "7.0"), ("pool", "'other'"), ("logged", "timestamp '2020-01-01 00:00:00'")],
)
def test_a_changed_row_is_found(url: str, small_blocks: None, column: str, value: str) -> None:
    fill(url, RECORDS, 40)
    DeltaTable(table_uri(url, 0)).update(predicate="row = 70", updates={column: value})
    with pytest.raises(ChainBrokenError, match="rows 64 to 127 of the archive were changed"):
        verified(url)


def test_changed_verdicts_do_not_break_the_chain(url: str, small_blocks: None) -> None:
    head = fill(url, RECORDS, 40).head
    DeltaTable(table_uri(url, 0)).update(predicate="row = 70", updates={"verdict": "'duplicate'", "generation": "2"})
    assert verified(url) == head


def test_exchanged_rows_are_found(url: str, small_blocks: None) -> None:
    fill(url, RECORDS, 40)
    table = pa.concat_tables(open_reader(url, 0).read())
    order = [*range(70), 71, 70, *range(72, len(table))]
    exchanged = table.take(order).set_column(table.column_names.index("row"), "row", table["row"])
    with pytest.raises(ChainBrokenError, match="rows 64 to 127"):
        chain.verify(genesis(LOG, 0), [exchanged])


def test_a_removed_row_is_found(url: str, small_blocks: None) -> None:
    fill(url, RECORDS, 40)
    whole = open_reader(url, 0)
    DeltaTable(table_uri(url, 0)).delete("row = 70")
    with pytest.raises(ArchiveDamagedError, match="each of the rows"):
        verified(url)
    table = pa.concat_tables(whole.read())
    with pytest.raises(ChainBrokenError, match="gaps"):
        chain.verify(genesis(LOG, 0), [table.slice(0, 70), table.slice(71)])


def test_an_exchanged_file_is_found(url: str, small_blocks: None) -> None:
    fill(url, RECORDS, 40)
    fill(url + "-other", mixed(4, 150), 40)
    ours, other = (sorted(Path(urlparse(table_uri(one, 0)).path).glob("segment=0/*.parquet")) for one in (url, url + "-other"))
    shutil.copy(other[0], ours[0])
    with pytest.raises((ArchiveDamagedError, ChainBrokenError)):  # its length, its rows or their content are others
        verified(url)
