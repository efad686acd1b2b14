"""Names erased from the archive: no file holds them, other rows stay, kills and other commits do no harm, zombies bring nothing back."""

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.arrays.arena import pack
from services.archive import erasure
from services.archive.compaction import compact
from services.archive.encode import rows
from services.archive.erased_rows import erased
from services.archive.erasure import erase_rows
from services.archive.location import table_uri
from services.archive.reader import open_reader
from services.archive.records import ArchivedRecords, parts
from services.archive.schema import CONTENT
from services.archive.table import OtherLogError, erasures_of
from services.archive.writer import ArchiveMovedError, UnknownErasureError, open_writer
from services.control.erasures import ErasureRequest, erased_name, matchers
from services.log.protocol import Record
from services.state.features import values_of
from services.wire import events
from services.wire.events import Side
from tests.support.archive import LOG, append, check, contents, fill, mixed
from tests.support.streams import stream, table

NAME, OTHER, SCORED = "agent 7", "agent 21", "a3"


def request(name: str, pool: str = "games") -> ErasureRequest:
    return ErasureRequest(pool=pool, name=erased_name(name, ()), by="ann", time=1.0)


FIRST, SECOND, THIRD = request(NAME), request(SCORED, "scores"), request(OTHER)
ALL = [FIRST, SECOND, THIRD]


def with_refused(records: list[Record]) -> list[Record]:
    """`records`, some of which are replaced by ones that the schema refuses and that hold a name."""
    refused = b'{"v":1,"id":"x","pool":"games","time":1,"sides":[{"agents":["agent 7"],"place":1}]}'
    escaped = b'[{"v":1,"id":"y","pool":"games","time":1,"sides":[{"agents":["\\u0061gent 7", "agent 77"'
    return [one._replace(value=(refused, escaped)[at % 2]) if at % 25 == 3 else one for at, one in enumerate(records)]


RECORDS = with_refused(mixed(7, 120))


def replaced(records: list[Record], requests: list[ErasureRequest]) -> list[Record]:
    """`records` as they would be, had producers sent the tokens, and no `meta` with them."""
    return [record._replace(value=_replaced(record.value, requests)) for record in records]


def _replaced(value: bytes, requests: list[ErasureRequest]) -> bytes:
    text = value.decode()
    if FIRST in requests:
        text = text.replace("\\u0061gent 7", NAME)
    for name, one in ((NAME, FIRST), (SCORED, SECOND), (OTHER, THIRD)):
        if one in requests:
            text = text.replace(f'"{name}"', f'"{one.name.token}"')
    if "erased-" not in text or "meta" not in text:
        return text.encode()
    items = json.loads(text)
    for item in items if isinstance(items, list) else [items]:
        if "erased-" in json.dumps(item):
            item.pop("meta", None)
    return json.dumps(items).encode()


def stored(url: str) -> str:
    """All texts in all files of an archive, those that no snapshot holds too."""
    folder = Path(urlparse(url).path)
    tables = [pq.read_table(path, partitioning=None).to_pylist() for path in sorted(folder.rglob("*.parquet"))]  # type: ignore[no-untyped-call]
    logs = [path.read_text() for path in sorted(folder.rglob("*.json"))]
    return repr(tables) + repr(logs)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), requests=st.lists(st.sampled_from(ALL), unique=True))
def test_rows_without_names_are_the_rows_of_records_that_held_the_tokens(seed: int, requests: list[ErasureRequest]) -> None:
    records = with_refused(mixed(seed, 60))
    before = rows(records)
    found, changed = erased(before, matchers(requests))
    assert found.to_pylist() == rows(replaced(records, requests)).to_pylist()
    assert changed.tolist() == [one != other for one, other in zip(before.to_pylist(), found.to_pylist(), strict=True)]


def _stream(*agents: str) -> bytes:
    return stream(table([{"id": "g", "pool": "games", "time": 1.0, "agents": list(agents), "sides": [0, 1], "places": [1, 2]}]))


def test_of_a_refused_stream_that_cannot_be_read_only_the_first_bytes_stay() -> None:
    """It is refused as before, and once it is replaced an erasure changes nothing."""
    before = rows([Record(0, _stream("agent 7", "b")[:-8], 0.0), Record(1, b"\xff\xff", 0.0)])
    assert before["kind"].to_pylist() == ["unread", "unread"]
    found, changed = erased(before, matchers([SECOND]))
    assert (found["raw"].to_pylist(), changed.tolist()) == ([b"\xff\xff\xff\xff", b"\xff\xff"], [True, False])
    (again,) = [record.value for record in ArchivedRecords(found.slice(0, 1))]
    assert [(one.item, one.reason) for one in events.decode([again]).refusals] == [(-1, "unparsable")]
    assert not erased(found, matchers(ALL))[1].any()


def test_a_stream_that_an_older_release_refused_is_searched() -> None:
    """Where it holds the name it becomes the array that it means, so that its dead letter can still be sent again."""
    refused = rows([Record(0, b"\xff\xff\xff\xff", 0.0), Record(1, b"\xff\xff\xff\xff", 0.0)])
    kept, named = _stream("agent 77", "b"), _stream("agent 7", "b")
    before = refused.set_column(refused.column_names.index("raw"), "raw", pa.array([kept, named], pa.binary()))
    found, changed = erased(before, matchers(ALL))
    assert changed.tolist() == [False, True]
    assert found["raw"][0].as_py() == kept
    tokens = events.decode([named]).events
    assert events.decode([found["raw"][1].as_py()]).events == [
        msgspec.structs.replace(one, sides=[Side([FIRST.name.token], 1), Side(["b"], 2)]) for one in tokens
    ]


def test_of_meta_the_numbers_stay_that_features_read() -> None:
    meta = b'{"length":3.5,"who":"Ann","words":-2,"is":true,"big":1e16,"more":{"a":1}}'
    sides = b'"sides":[{"agents":["agent 7"],"place":1},{"agents":["b"],"place":2}]'
    before = b'{"v":1,"id":"g","pool":"games","time":1,' + sides + b',"meta":' + meta + b"}"
    found, _ = erased(rows([Record(0, before, 0.0), Record(1, before.replace(meta, b"[1]"), 0.0)]), matchers([FIRST]))
    assert found["meta"].to_pylist() == [b'{"length":3.5,"words":-2}', None]
    names = ["length", "who", "words", "is", "big", "more"]
    packed = [pack([text.decode()]) for text in (meta, found["meta"][0].as_py())]
    assert np.array_equal(*(values_of(one, names) for one in packed), equal_nan=True)


def test_nothing_of_the_archive_holds_an_erased_name(url: str, small_segments: None) -> None:
    fill(url, RECORDS, 17)
    assert NAME in stored(url)
    compact(url, 0, open_files=2)  # leaves files that no snapshot holds
    assert erase_rows(url, 0, LOG, ALL) == int(erased(rows(RECORDS), matchers(ALL))[1].sum())
    found = stored(url)
    assert not [name for name in (f"'{NAME}'", f"'{OTHER}'", f"'{SCORED}'", f'"{NAME}"') if name in found]
    fill(f"{url}-fresh", replaced(RECORDS, ALL), 40)
    assert contents(url).equals(contents(f"{url}-fresh"))
    assert "'agent 8'" in found
    assert erasures_of(DeltaTable(table_uri(url, 0)))[0] == 3


def test_erasures_come_one_after_another_and_appends_go_on(url: str, small_segments: None) -> None:
    fill(url, RECORDS[:40], 17)
    assert not erase_rows(url, 0, LOG, [])
    for known in ([FIRST], [FIRST, SECOND], ALL):
        erase_rows(url, 0, LOG, known)
        append(open_writer(url, 0, LOG, known), RECORDS, 20)  # names that come later are not archived
    position = open_reader(url, 0).position
    expected = rows(replaced([record for record in RECORDS if record.offset < position], ALL))
    assert contents(url).select(CONTENT).to_pylist() == expected.to_pylist()
    offsets = [record.offset for part in parts(open_reader(url, 0), 0) for record in part]
    assert offsets == sorted(set(expected["offset"].to_pylist()))


def test_an_erasure_that_changes_no_row_is_noted(url: str, small_segments: None) -> None:
    fill(url, RECORDS, 40)
    before = contents(url)
    assert not erase_rows(url, 0, LOG, [request("nobody")])
    assert contents(url).equals(before)
    assert erasures_of(DeltaTable(table_uri(url, 0)))[0] == 1


def test_a_partition_without_an_archive_needs_nothing(url: str) -> None:
    assert not erase_rows(url, 0, LOG, ALL)
    append(open_writer(url, 0, LOG, ALL), RECORDS, 30)  # a table that begins later holds no erased name
    assert f"'{NAME}'" not in stored(url)
    assert erasures_of(DeltaTable(table_uri(url, 0)))[0] == 3
    with pytest.raises(OtherLogError):
        erase_rows(url, 0, "other", ALL)


def test_names_of_pools_of_other_partitions_are_erased_too(url: str, small_segments: None) -> None:
    """Their outcomes came to this partition by mistake. A writer that does not know of such an erasure is refused as well."""
    fill(url, RECORDS[:40], 17)
    zombie = open_writer(url, 0, LOG)
    assert erase_rows(url, 0, LOG, [FIRST], [SECOND])
    append(open_writer(url, 0, LOG, [FIRST], [SECOND, THIRD]), RECORDS, 20)
    assert f"'{SCORED}'" not in stored(url)
    table = DeltaTable(table_uri(url, 0))
    assert erasures_of(table) == (1, 1)
    expected = rows(replaced(RECORDS[:40], [FIRST, SECOND])).to_pylist()
    assert contents(url).select(CONTENT).to_pylist()[: len(expected)] == expected
    with pytest.raises(UnknownErasureError, match="2 erasures, and this writer knows 1"):
        append(open_writer(url, 0, LOG, [FIRST]), RECORDS, 5)
    with pytest.raises(ArchiveMovedError):
        append(zombie, RECORDS, 5)
    assert erase_rows(url, 0, LOG, [FIRST], [SECOND, THIRD], settled=(1, 1))
    assert f"'{OTHER}'" not in stored(url)
    assert erase_rows(url, 0, LOG, [FIRST], [SECOND, THIRD], settled=(1, 2)) == 0


def test_a_zombie_cannot_bring_a_name_back(url: str, small_segments: None) -> None:
    fill(url, RECORDS[:40], 17)
    zombie, ignorant = open_writer(url, 0, LOG), open_writer(url, 0, LOG, [FIRST])
    erase_rows(url, 0, LOG, ALL)
    for late in (zombie, ignorant):
        with pytest.raises(ArchiveMovedError):  # opened before the erasure
            append(late, RECORDS, 5)
        with pytest.raises((ArchiveMovedError, UnknownErasureError)):  # also when it tries again
            append(late, RECORDS, 5)
    with pytest.raises(UnknownErasureError, match="3 erasures, and this writer knows 1"):  # opened after it, with an old control log
        append(open_writer(url, 0, LOG, [FIRST]), RECORDS, 5)
    assert f"'{NAME}'" not in stored(url)


def test_an_erasure_that_another_commit_precedes_changes_nothing(url: str, small_segments: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(url, RECORDS[:40], 17)
    search = erasure._search

    def meanwhile(*given: Any) -> Any:
        append(open_writer(url, 0, LOG), RECORDS, 10)
        return search(*given)

    monkeypatch.setattr(erasure, "_search", meanwhile)
    with pytest.raises(ArchiveMovedError):
        erase_rows(url, 0, LOG, ALL)
    monkeypatch.undo()
    assert f"'{NAME}'" in stored(url)
    assert check(url, RECORDS)
    assert erase_rows(url, 0, LOG, ALL)
    assert f"'{NAME}'" not in stored(url)


class Killed(Exception):  # noqa: N818 - names the fact
    """In place of a kill."""


@pytest.mark.parametrize("moment", ["read", "written", "committed"])
def test_a_killed_erasure_is_done_again(url: str, small_segments: None, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    fill(url, RECORDS, 17)

    def kill(*given: object, **named: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        match moment:
            case "read":
                patch.setattr(erasure, "_batches", kill)
            case "written":
                patch.setattr(erasure, "sync_commit", kill)
            case _:
                patch.setattr(erasure.DeltaTable, "vacuum", kill)
        with pytest.raises(Killed):
            erase_rows(url, 0, LOG, ALL)
    if moment == "read":
        assert check(url, RECORDS)
    assert bool(erase_rows(url, 0, LOG, ALL)) == (moment == "read"), "a commit is not repeated"
    assert f"'{NAME}'" not in stored(url)
    assert contents(url).select(CONTENT).to_pylist() == rows(replaced(RECORDS, ALL)).to_pylist()


def test_only_the_files_of_segments_with_the_name_are_written_again(url: str, small_segments: None) -> None:
    duel = b'{"v":1,"id":"g%d","pool":"games","time":1,"sides":[{"agents":["%s"],"place":1},{"agents":["b"],"place":2}]}'
    names = {100: b"agent 7", 700: b"agent 7"}
    records = [Record(offset, duel % (offset, names.get(offset, b"a")), 0.0) for offset in range(1000)]
    fill(url, records, 128)
    before = set(DeltaTable(table_uri(url, 0)).file_uris())
    assert erase_rows(url, 0, LOG, [FIRST]) == 2
    after = set(DeltaTable(table_uri(url, 0)).file_uris())
    assert {segment_of(file) for file in before - after} == {segment_of(file) for file in after - before} == {"segment=0", "segment=2"}
    assert contents(url).select(CONTENT).to_pylist() == rows(replaced(records, [FIRST])).to_pylist()


def segment_of(file: str) -> str:
    """Name of a file's folder."""
    return file.split("/")[-2]


def test_files_that_the_log_of_the_table_has_forgotten_are_deleted_too(url: str, small_segments: None) -> None:
    """Delta forgets replaced files after a week, and knows nothing of those that a killed append left; a new file may be committed yet."""
    fill(url, RECORDS, 17)
    table = DeltaTable(table_uri(url, 0))
    folder = Path(urlparse(table.table_uri).path)
    new = next(folder.rglob("*.parquet")).with_name("new.parquet")
    compact(url, 0, open_files=2)
    for path in (folder / "_delta_log").glob("*.json"):
        path.write_text(re.sub(r'("deletionTimestamp":)\d+', r"\g<1>1000000", path.read_text()))
    for path in folder.rglob("*.parquet"):
        os.utime(path, (1e9, 1e9))
    new.write_bytes(b"")
    table = DeltaTable(table_uri(url, 0))
    table.create_checkpoint()
    for version in range(table.version()):
        (folder / "_delta_log" / f"{version:020d}.json").unlink()
    erase_rows(url, 0, LOG, ALL)
    kept = {str(path) for path in folder.rglob("*.parquet") if path.parent.name != "_delta_log"}
    assert kept == {*(urlparse(file).path for file in DeltaTable(table_uri(url, 0)).file_uris()), str(new)}
