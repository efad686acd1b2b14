"""Untrusted bytes to a checked Arrow table. What a stream asks for is decided before any of its buffers is read.

1. Every message is walked. Streams with compressed buffers are refused, so all buffers lie in the record itself, and no length that a
   sender writes makes the reader allocate memory. (Kafka compresses batches by itself, within its own limit.)
2. The schema is compared with `layout.COLUMNS`, and the rows are counted.
3. Arrow's full validation checks offsets, indices and UTF-8 of every array.
4. Texts are added up as they would be written out, because a dictionary repeats a text for a few bytes.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import ipc, types

from services.wire.bulk.arrays import starts
from services.wire.bulk.layout import COLUMNS, MAX_BATCHES, MAX_TEXT_BYTES, TEXT_COLUMNS, fits
from services.wire.bulk.recognition import STREAM_START
from services.wire.events import Reason
from services.wire.rules import count_rule, member_path

_SHOWN: Final = 200
_END: Final = STREAM_START + bytes(4)
"""The end-of-stream marker. Without it a stream that was cut off between two batches would look whole."""
_SCHEMA, _DICTIONARY, _BATCH = "schema", "dictionary", "record batch"
_HEADER, _COMPRESSION, _DICTIONARY_DATA, _IS_DELTA = 2, 3, 1, 2
"""Numbers of fields in the tables Message, RecordBatch and DictionaryBatch of Arrow's format (Message.fbs)."""
_COMPRESSED: Final = "must not compress its buffers (Kafka compresses batches: set compression.type)"
_DICTIONARIES: Final = "must send each dictionary once, whole, before its first record batch (pyarrow: Table.unify_dictionaries)"


class StreamError(Exception):
    """A stream is refused as a whole. path: `$`, or a column in JSON's terms."""

    def __init__(self, reason: Reason, rule: str, path: str = "$") -> None:
        self.reason, self.rule, self.path = reason, rule, path
        super().__init__(f"{path} {rule}")


def read(value: bytes) -> pa.Table:
    """The rows of a stream, with columns of `layout.COLUMNS` in one chunk each. Raises `StreamError`."""
    try:
        _check_messages(value)
        reader = ipc.open_stream(pa.py_buffer(value))
        _check_schema(reader.schema)
        batches = list(reader)
        if (rule := count_rule(sum(batch.num_rows for batch in batches))) is not None:
            raise StreamError(Reason.BAD_FIELD, rule)
        for batch in batches:
            batch.validate(full=True)
        table = pa.Table.from_batches(batches).combine_chunks()
    except (pa.ArrowException, struct.error, OSError, ValueError, OverflowError) as error:
        raise StreamError(Reason.UNPARSABLE, f"must be a whole Arrow IPC stream ({' '.join(str(error).split())[:_SHOWN]})") from error
    _check_texts(table)
    return table


def _check_messages(value: bytes) -> None:
    """Refuse what would have to be unpacked, and streams of more parts than the rows need."""
    source = pa.BufferReader(value)
    kinds: list[str] = []
    for message in _messages(source):
        kinds.append(message.type)
        _check_message(message, kinds)
    if source.tell() != len(value) or not value.endswith(_END):
        raise StreamError(Reason.UNPARSABLE, f"must end with the end-of-stream marker, and there (byte {source.tell()} of {len(value)})")
    if kinds.count(_BATCH) > MAX_BATCHES:
        raise StreamError(Reason.UNPARSABLE, f"must hold at most {MAX_BATCHES} record batches, not {kinds.count(_BATCH)}")


def _messages(source: pa.BufferReader) -> Iterator[Any]:
    reader = ipc.MessageReader.open_stream(source)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _check_message(message: Any, kinds: Sequence[str]) -> None:
    """kinds: of the messages up to this one."""
    if message.type not in (_SCHEMA, _DICTIONARY, _BATCH):
        raise StreamError(Reason.UNPARSABLE, f"must hold a schema, dictionaries and record batches only, not a {message.type}")
    if message.type == _SCHEMA:
        return
    header = _Table.root(message.metadata).table(_HEADER)
    if message.type == _DICTIONARY:
        if _BATCH in kinds or header.flag(_IS_DELTA) or kinds.count(_DICTIONARY) > len(TEXT_COLUMNS):
            raise StreamError(Reason.UNPARSABLE, _DICTIONARIES)
        header = header.table(_DICTIONARY_DATA)
    if header.has(_COMPRESSION):
        raise StreamError(Reason.UNPARSABLE, _COMPRESSED)


class _Table(NamedTuple):
    """A table of a FlatBuffers message, which Arrow verified when it read the message."""

    data: memoryview
    at: int

    @classmethod
    def root(cls, metadata: pa.Buffer) -> "_Table":
        data = memoryview(metadata)
        return cls(data, _number(data, "<I", 0))

    def table(self, field: int) -> "_Table":
        place = self.at + self._offset(field)
        return _Table(self.data, place + _number(self.data, "<I", place))

    def flag(self, field: int) -> bool:
        return self.has(field) and _number(self.data, "<B", self.at + self._offset(field)) != 0

    def has(self, field: int) -> bool:
        return self._offset(field) != 0

    def _offset(self, field: int) -> int:
        """From the table to its field; 0 where it has none."""
        fields = self.at - _number(self.data, "<i", self.at)
        entry = 4 + 2 * field
        return _number(self.data, "<H", fields + entry) if entry < _number(self.data, "<H", fields) else 0


def _number(data: memoryview, form: str, at: int) -> int:
    (number,) = struct.unpack_from(form, data, at)
    return int(number)


def _check_schema(schema: pa.Schema) -> None:
    names = schema.names
    for name, kind in zip(names, schema.types, strict=True):
        if name not in COLUMNS:
            raise StreamError(Reason.BAD_FIELD, f"is no column of an outcome; the columns are {', '.join(COLUMNS)}", member_path("$", name))
        if names.count(name) > 1:
            raise StreamError(Reason.BAD_FIELD, "must be one column, not several of one name", member_path("$", name))
        if not fits(COLUMNS[name], kind):
            rule = f"{COLUMNS[name].rule}, not {str(kind)[:_SHOWN]}"
            raise StreamError(Reason.BAD_FIELD, rule, member_path("$", name))


def _check_texts(table: pa.Table) -> None:
    columns = [column.chunk(0) for name, column in zip(table.column_names, table.columns, strict=True) if name in TEXT_COLUMNS]
    if sum(map(_most_text_bytes, columns)) <= MAX_TEXT_BYTES:
        return
    if (total := sum(map(_text_bytes, columns))) > MAX_TEXT_BYTES:
        rule = f"must hold at most {MAX_TEXT_BYTES} bytes of text, not {total}; a text in a dictionary counts for each row that has it"
        raise StreamError(Reason.TOO_LARGE, rule)


def _most_text_bytes(texts: Any) -> int:
    """As many bytes as `_text_bytes` gives, or more: found without a look at each row."""
    texts = _flat(texts)
    if types.is_dictionary(texts.type):
        return len(texts) * int(np.diff(starts(texts.dictionary)).max(initial=0))
    return _text_bytes(texts)


def _text_bytes(texts: Any) -> int:
    texts = _flat(texts)
    if texts.null_count == len(texts):
        return 0
    if types.is_dictionary(texts.type):
        return int(np.diff(starts(texts.dictionary))[np.asarray(texts.indices.drop_null())].sum())
    start = starts(texts)
    return int(start[-1]) - int(start[0])


def _flat(texts: Any) -> Any:
    return texts.flatten() if types.is_list(texts.type) or types.is_large_list(texts.type) else texts
