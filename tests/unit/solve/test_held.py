"""Boards as the engine holds them: what is packed comes out again as it was, and takes a small part of what its rows take."""

import gc
import random
import tracemalloc

import msgspec
import pytest

from ratings_core.methods.refits import TOP
from services.boards.result import AgentRow, CertificateRow, SolvedBoard, SolveResult
from services.solve.scheduler.packing import packed, whole


def board_of(count: int) -> SolvedBoard:
    draw = random.Random(5)
    rows = [
        AgentRow(
            agent=f"agent \N{SNOWMAN} {i}",
            rating=None if i % 97 == 1 else draw.gauss(1500.0, 200.0),
            rank=i + 1,
            low=draw.random() if i % 3 else None,
            rank_before=draw.randrange(1, count + 1) if i % 2 else None,
            provisional=i % 5 == 0,
        )
        for i in range(count)
    ]
    certificate = CertificateRow(kind="gap", value=1e-9)
    result = SolveResult(method="copeland", input="pairs", agents=rows, certificate=certificate, status="optimal", seconds=0.1)
    return SolvedBoard(
        pool="p", generation=1, position=1, outcomes=1, data="d", parameters={"a": 0.5}, solved_at=1e9, result=result, error="late", log="l"
    )


@pytest.mark.parametrize("count", [0, 1, TOP, 1000])
def test_a_board_comes_out_as_it_was(count: int) -> None:
    board = board_of(count)
    held, rows = packed(board)
    assert held.result.agents == board.result.agents[:TOP]
    assert whole(held, rows) == board
    assert whole(msgspec.structs.replace(held, error=None), rows) == msgspec.structs.replace(board, error=None)


def test_rows_take_a_fifth_of_what_they_take_as_objects_at_most() -> None:
    text = msgspec.json.encode(board_of(4_000))
    gc.collect()
    tracemalloc.start()
    try:
        board = msgspec.json.decode(text, type=SolvedBoard)
        as_objects = tracemalloc.get_traced_memory()[0]
        kept = packed(board)
        del board
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < as_objects / 5
        assert len(kept[0].result.agents) == TOP
    finally:
        tracemalloc.stop()
