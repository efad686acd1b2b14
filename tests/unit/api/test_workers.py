"""Threads of the API: places, deadlines, and what they mean to one another."""

import asyncio
import gc
import threading

import pytest

from services.api.problems import ApiError
from services.api.workers import Workers
from tests.support.waiting import PATIENCE


def _status(error: BaseException | object) -> object:
    return error.status if isinstance(error, ApiError) else error


def pass_the_deadline() -> None:
    """Put the clock of the running loop forward, so that all deadlines of requests have passed."""
    loop = asyncio.get_running_loop()
    time = loop.time
    loop.time = lambda: time() + PATIENCE  # type: ignore[method-assign]


def test_work_beyond_the_places_is_refused_and_the_rest_is_answered() -> None:
    """Each request for a checkpoint would hold a whole pool: one reads and eight wait; the next is told to come back."""
    gate = threading.Event()

    async def asked() -> list[object]:
        workers = Workers("checkpoints", threads=1, places=9, seconds=PATIENCE)
        running = [asyncio.create_task(workers.run(gate.wait)) for _ in range(9)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await workers.run(gate.wait)
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "1")
        gate.set()
        return list(await asyncio.gather(*running))

    assert asyncio.run(asked()) == [True] * 9


def test_a_request_past_its_deadline_is_answered_while_its_work_keeps_the_place() -> None:
    gate, began = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        gate.wait()
        return "done"

    async def asked() -> None:
        workers = Workers("the log", threads=1, places=1, seconds=PATIENCE)
        request = asyncio.create_task(workers.run(work))
        await asyncio.to_thread(began.wait)
        pass_the_deadline()
        with pytest.raises(ApiError, match="did not answer within") as late:
            await request
        assert late.value.status == 503
        with pytest.raises(ApiError, match="wait for the log already"):
            await workers.run(work)
        gate.set()
        while True:
            try:
                assert await workers.run(lambda: "free") == "free"
            except ApiError:
                await asyncio.sleep(0)
            else:
                return

    asyncio.run(asked())


def test_work_that_had_not_begun_at_its_deadline_never_begins() -> None:
    """A writer that was told that nothing is known must not be written later, once a log that hung goes on."""
    gate, ran = threading.Event(), list[str]()

    async def asked() -> None:
        workers = Workers("the log", threads=1, places=2, seconds=PATIENCE)
        requests = [asyncio.create_task(workers.run(work)) for work in (gate.wait, lambda: ran.append("late"))]
        await asyncio.sleep(0)
        pass_the_deadline()
        for request in requests:
            with pytest.raises(ApiError):
                await request
        gate.set()
        await asyncio.to_thread(workers._threads.shutdown)

    asyncio.run(asked())
    assert ran == []


@pytest.mark.parametrize("ended", [ApiError, asyncio.CancelledError])
def test_work_that_fails_after_its_request_ended_is_no_unhandled_error(ended: type[BaseException]) -> None:
    """Each write that a log refused after its request was answered left a traceback in the log. A client that leaves ends one, too."""
    gate, began, unhandled = threading.Event(), threading.Event(), list[object]()

    def work() -> None:
        began.set()
        gate.wait()
        raise ValueError("too late")

    async def asked() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, found: unhandled.append(found))
        workers = Workers("the log", threads=1, places=2, seconds=PATIENCE)
        request = asyncio.create_task(workers.run(work))
        await asyncio.to_thread(began.wait)
        if ended is ApiError:
            pass_the_deadline()
        else:
            request.cancel()
        with pytest.raises(ended):
            await request
        del request  # its traceback holds the result
        following = asyncio.create_task(workers.run(lambda: "next"))
        await asyncio.sleep(0)
        gate.set()
        assert await following == "next"
        gc.collect()

    asyncio.run(asked())
    assert unhandled == []
