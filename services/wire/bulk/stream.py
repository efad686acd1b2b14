"""Conversion of untrusted bytes to a checked Arrow table. The messages and the schema are checked before any buffer is read.

1. Every message is checked. Streams with compressed buffers are refused, so all buffers are slices of the record, and a length written by
   the sender cannot make the reader allocate memory. (Kafka compresses batches by itself, within its own limit.)
2. The schema is compared with `layout.COLUMNS`, and the rows are counted.
3. Arrow's full validation checks the offsets, indices and UTF-8 of every array.
4. The total length of the texts is limited. A text in a dictionary counts for each use, because each use takes only a few bytes.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import ipc, types

from ratings_core.arrays.arrow import starts
from services.wire.bulk.layout import COLUMNS, MAX_BATCHES, MAX_TEXT_BYTES, TEXT_COLUMNS, fits
from services.wire.bulk.recognition import STREAM_START
from services.wire.refusals import Reason, UnreadableError
from services.wire.rules import count_rule, member_path

_SHOWN: Final = 200
_END: Final = STREAM_START + bytes(4)
"""The end-of-stream marker. It is required, because a stream that was cut off between two batches would otherwise look complete."""
_SCHEMA, _DICTIONARY, _BATCH = "schema", "dictionary", "record batch"
_HEADER, _COMPRESSION, _DICTIONARY_DATA, _IS_DELTA = 2, 3, 1, 2
"""Indices of fields in the FlatBuffers tables Message, RecordBatch and DictionaryBatch of Arrow's format (Message.fbs)."""
_COMPRESSED: Final = "must not compress its buffers (Kafka compresses batches: set compression.type)"
_DICTIONARIES: Final = "must send each dictionary once, whole, before its first record batch (pyarrow: Table.unify_dictionaries)"


def read(value: bytes) -> pa.Table:
    """Read a stream into a table with columns of `layout.COLUMNS`, in one chunk each. Raises `UnreadableError` for an invalid stream."""
    try:
        _check_messages(value)
        reader = ipc.open_stream(pa.py_buffer(value))
        _check_schema(reader.schema)
        batches = list(reader)
        if (rule := count_rule(sum(batch.num_rows for batch in batches))) is not None:
            raise UnreadableError(Reason.BAD_FIELD, rule)
        for batch in batches:
            batch.validate(full=True)
        table = pa.Table.from_batches(batches).combine_chunks()
    except (pa.ArrowException, struct.error, OSError, ValueError, OverflowError) as error:
        raise UnreadableError(Reason.UNPARSABLE, f"must be a whole Arrow IPC stream ({' '.join(str(error).split())[:_SHOWN]})") from error
    _check_texts(table)
    return table


def _check_messages(value: bytes) -> None:
    """Refuse compressed buffers, messages of other types, too many record batches, and a missing end-of-stream marker."""
    source = pa.BufferReader(value)
    kinds: list[str] = []
    for message in ipc.MessageReader.open_stream(source):
        kinds.append(message.type)
        _check_message(message, kinds)
    if source.tell() != len(value) or not value.endswith(_END):
        raise UnreadableError(
            Reason.UNPARSABLE, f"must end with the end-of-stream marker, and there (byte {source.tell()} of {len(value)})"
        )
    if kinds.count(_BATCH) > MAX_BATCHES:
        raise UnreadableError(Reason.UNPARSABLE, f"must hold at most {MAX_BATCHES} record batches, not {kinds.count(_BATCH)}")


def _check_message(message: Any, kinds: Sequence[str]) -> None:
    """Refuse a message of another type, a late or repeated dictionary, and compressed buffers. kinds: types up to this message."""
    if message.type not in (_SCHEMA, _DICTIONARY, _BATCH):
        raise UnreadableError(Reason.UNPARSABLE, f"must hold a schema, dictionaries and record batches only, not a {message.type}")
    if message.type == _SCHEMA:
        return
    header = _Table.root(message.metadata).table(_HEADER)
    if message.type == _DICTIONARY:
        if _BATCH in kinds or header.flag(_IS_DELTA) or kinds.count(_DICTIONARY) > len(TEXT_COLUMNS):
            raise UnreadableError(Reason.UNPARSABLE, _DICTIONARIES)
        header = header.table(_DICTIONARY_DATA)
    if header.has(_COMPRESSION):
        raise UnreadableError(Reason.UNPARSABLE, _COMPRESSED)


class _Table(NamedTuple):
    """Reader of a table in a FlatBuffers message. Arrow verified the message when it read it, so offsets are not checked again."""

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
        """Offset of a field from the table; 0 if the field is absent."""
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
            raise UnreadableError(
                Reason.BAD_FIELD, f"is no column of an outcome; the columns are {', '.join(COLUMNS)}", member_path("$", name)
            )
        if names.count(name) > 1:
            raise UnreadableError(Reason.BAD_FIELD, "must be one column, not several of one name", member_path("$", name))
        if not fits(COLUMNS[name], kind):
            rule = f"{COLUMNS[name].rule}, not {str(kind)[:_SHOWN]}"
            raise UnreadableError(Reason.BAD_FIELD, rule, member_path("$", name))


def _check_texts(table: pa.Table) -> None:
    columns = [column.chunk(0) for name, column in zip(table.column_names, table.columns, strict=True) if name in TEXT_COLUMNS]
    if sum(map(_most_text_bytes, columns)) <= MAX_TEXT_BYTES:
        return
    if (total := sum(map(_text_bytes, columns))) > MAX_TEXT_BYTES:
        rule = f"must hold at most {MAX_TEXT_BYTES} bytes of text, not {total}; a text in a dictionary counts for each row that has it"
        raise UnreadableError(Reason.TOO_LARGE, rule)


def _most_text_bytes(texts: Any) -> int:
    """Upper bound of `_text_bytes`. For a dictionary column, its time does not depend on the number of rows."""
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
