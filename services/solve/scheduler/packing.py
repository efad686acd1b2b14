"""Compact form of the newest boards in the engine: the best rows as objects, and all rows compressed until they are published.

A row object takes many times the memory of a compressed row, and a board may have a million rows.
"""

import zlib
from typing import Final

import msgspec

from ratings_core.methods.refits import TOP
from services.boards.result import AgentRow, SolvedBoard

_FAST: Final = 1
_decode = msgspec.json.Decoder(list[AgentRow]).decode


def packed(board: SolvedBoard) -> tuple[SolvedBoard, bytes]:
    """The board with its best rows only, and all of its rows compressed."""
    rows = board.result.agents
    return _with(board, rows[:TOP]), zlib.compress(msgspec.json.encode(rows), _FAST)


def whole(board: SolvedBoard, rows: bytes) -> SolvedBoard:
    """The board with all of its rows. rows: Compressed rows, as `packed` returns them."""
    return _with(board, _decode(zlib.decompress(rows)))


def _with(board: SolvedBoard, rows: list[AgentRow]) -> SolvedBoard:
    return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows))
