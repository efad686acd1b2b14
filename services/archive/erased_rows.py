"""Replace erased names by their tokens in rows of the archive."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from services.control.erasures import NameMatcher
from services.state.features import numbers_of
from services.wire import events
from services.wire.bulk.recognition import STREAM_START, is_stream


def erased(rows: pa.Table, names: Mapping[str, NameMatcher]) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Replace erased names in rows. Ids and tasks do not change.

    - In `agents`, the token replaces the name.
    - In `meta` of a row with an erased name, only numbers stay, because features of the pool read them. Texts may identify the agent.
    - In refused bytes (`raw`), the token replaces each JSON string that is an erased name of any pool. A refused Arrow stream that
      cannot be read is cut to its first bytes, because its names cannot be compared by hash.

    Args:
        rows: Rows with the columns pool, agents and meta, and raw if they include refused items.
        names: Pool -> matcher of its erased names.

    Returns:
        The rows, and whether each of them was changed: bool (n,).
    """
    changed = np.zeros(len(rows), np.bool_)
    if not names or not len(rows):
        return rows, changed
    agents, by_agent = _agents(rows, names)
    columns = {"agents": agents}
    changed |= by_agent
    if "raw" in rows.column_names:
        columns["raw"], by_raw = _raw(rows, names)
        changed |= by_raw
    if not changed.any():
        return rows, changed
    for name, values in (columns | {"meta": _meta(rows, changed)}).items():
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), values)
    return rows, changed


def _agents(rows: pa.Table, names: Mapping[str, NameMatcher]) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Column of agents with tokens, and the changed rows: bool (n,). Each distinct name of a pool is hashed once."""
    lists, changed = rows["agents"].combine_chunks(), np.zeros(len(rows), np.bool_)
    row = pc.list_parent_indices(lists).to_numpy()
    encoded = lists.flatten().dictionary_encode()
    code, texts = encoded.indices.to_numpy().copy(), encoded.dictionary
    tokens: list[str] = []
    here = set(rows["pool"].unique().to_pylist())
    for pool, matcher in [(pool, matcher) for pool, matcher in names.items() if pool in here]:
        of_pool = np.flatnonzero(_is(rows["pool"], pool)[row])
        for name_code in np.unique(code[of_pool]).tolist():
            if name_code < len(texts) and (token := matcher.token(texts[name_code].as_py())) is not None:
                entries = of_pool[code[of_pool] == name_code]
                code[entries] = len(texts) + len(tokens)
                changed[row[entries]] = True
                tokens.append(token)
    if not tokens:
        return lists, changed
    values = pa.concat_arrays([texts, pa.array(tokens, texts.type)]).take(pa.array(code))
    length = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    start = pa.array(np.append(0, np.cumsum(length)), pa.int32())
    return pa.ListArray.from_arrays(start, values, mask=lists.is_null()), changed


def _meta(rows: pa.Table, changed: NDArray[np.bool_]) -> pa.Array:
    """Column `meta`, reduced to its numbers in the rows of the mask `changed`."""
    texts = rows["meta"].filter(pa.array(changed)).to_pylist()
    numbers = pa.array([None if text is None else numbers_of(text) for text in texts], pa.binary())
    return pc.replace_with_mask(rows["meta"].combine_chunks(), pa.array(changed), numbers)


def _raw(rows: pa.Table, names: Mapping[str, NameMatcher]) -> tuple[pa.ChunkedArray | pa.Array, NDArray[np.bool_]]:
    """Column of refused bytes with tokens, and the changed rows: bool (n,)."""
    column, changed = rows["raw"], np.zeros(len(rows), np.bool_)
    texts = column.to_pylist() if column.null_count < len(column) else []
    for at in [at for at, text in enumerate(texts) if text is not None]:
        text = sent = _as_json(texts[at]) if is_stream(texts[at]) else texts[at]
        for matcher in names.values():
            text = matcher.in_text(text)
        is_cut = sent == STREAM_START and texts[at] != STREAM_START
        changed[at] = text != sent or is_cut
        texts[at] = text if changed[at] else texts[at]
    return (pa.array(texts, column.type) if changed.any() else column), changed


def _as_json(stream: bytes) -> bytes:
    """JSON array equal to an Arrow stream; the stream's first bytes if it cannot be read."""
    texts = events.item_texts(stream)
    return STREAM_START if list(texts) == [stream] else b"[" + b",".join(texts) + b"]"


def _is(column: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.equal(column, value), False))
