"""What a pool holds can be exported in each format, whatever it is."""

import sys

import msgspec
import pyarrow as pa
import pytest

from ratings_core.errors import InputError, MissingExtraError
from services.admin.export import COLUMNS, Wanted
from services.admin.export_formats import Format, encoded
from services.admin.pool_range import PoolRange
from services.archive.encode import rows
from services.log.protocol import Record
from services.wire import events
from services.wire.rules import MAX_RECORD_BYTES
from tests.support.streams import stream


def test_a_measurement_that_is_longer_in_json_than_a_record_is_a_line_like_others() -> None:
    agents = [f"{number:05d}" for number in range(45_000)]
    scores = [1 / (number + 3) for number in range(len(agents))]
    columns = {"id": ["s"], "pool": ["p"], "time": [1.0], "task": ["t"], "agents": [agents], "scores": [scores]}
    sent = stream(pa.table(columns))
    table = rows([Record(0, sent, 1.0)]).select(COLUMNS)
    lines = b"".join(part.data for part in encoded(iter([(table, 1)]), Format.JSONL, COLUMNS)).splitlines()
    assert [len(line) > MAX_RECORD_BYTES for line in lines] == [True]
    assert [msgspec.json.decode(line, type=events.ScoreEvent) for line in lines] == events.decode([sent]).events


def test_a_column_that_is_asked_for_twice_is_refused() -> None:
    with pytest.raises(InputError, match="column must name each column once"):
        Wanted(PoolRange("p"), columns=("id", "pool", "id"))


@pytest.mark.parametrize("form", Format)
def test_the_extra_is_named_if_its_packages_are_missing(monkeypatch: pytest.MonkeyPatch, form: Format) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.delitem(sys.modules, "services.archive.schema")
    with pytest.raises(MissingExtraError, match=r"exporting outcomes needs the package deltalake, .* 'equirank\[archive\]'"):
        next(encoded(iter([]), form, COLUMNS))
