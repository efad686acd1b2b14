"""Solved boards with erased names replaced by their tokens."""

from typing import Any

import msgspec

from services.boards.result import SolvedBoard
from services.control.erasures import NameMatcher


def without_names(board: SolvedBoard, names: NameMatcher) -> SolvedBoard:
    """`board` with tokens in place of erased names: in its rows, in `extra`, and in the stored start of the next solve.

    A string value or a key is replaced only if it equals the name. Longer texts that contain the name stay unchanged.
    """
    result = board.result
    rows = [msgspec.structs.replace(row, agent=token) if (token := names.token(row.agent)) else row for row in result.agents]
    extra: dict[str, object] = _replaced(result.extra, names)
    start = board.start
    if start is not None:
        start = msgspec.structs.replace(start, strategies=tuple(tuple(map(names.replaced, own)) for own in start.strategies))
    return msgspec.structs.replace(board, result=msgspec.structs.replace(result, agents=rows, extra=extra), start=start)


def _replaced(value: Any, names: NameMatcher) -> Any:
    match value:
        case str():
            return names.replaced(value)
        case dict():
            return {names.replaced(key): _replaced(item, names) for key, item in value.items()}
        case list() | tuple():
            return [_replaced(item, names) for item in value]
    return value
