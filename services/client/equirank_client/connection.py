"""Sends calls by httpx, and reads answers, downloads and events: once for threads and once for asyncio."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

import httpx
import msgspec

from equirank_client.calls import Call, Retries, decoded, failed_connection
from equirank_client.errors import problem_of
from equirank_client.events import Event, EventParser, Lines

T = TypeVar("T")
Failure: TypeAlias = httpx.Response | httpx.RequestError
"""Why a request has to be sent again."""
NEXT_HEADER: Final = "Equirank-Next"
"""Header with the cursor of the next page, of formats that have no place for it."""
SILENCE_SECONDS: Final = 60.0
"""Longest silence of a stream of events before the connection is opened again. The server sends comments more often."""


def _options(base_url: str, key: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": base_url, "headers": headers, "timeout": timeout, "follow_redirects": False}


def _event_request(call: Call, parser: EventParser, connect_seconds: float) -> dict[str, Any]:
    arguments = call.arguments()
    if parser.last_id:
        arguments["headers"]["Last-Event-ID"] = parser.last_id.encode()
    return {**arguments, "timeout": httpx.Timeout(connect_seconds, read=SILENCE_SECONDS)}


def _pause(retries: Retries, call: Call, failed: int, failure: Failure) -> float:
    """Return the seconds to wait after failure number `failed`. Raises the client's error if the call has failed."""
    pause = retries.pause(call, failed, failure)
    if pause is None:
        raise problem_of(failure) if isinstance(failure, httpx.Response) else failed_connection(call, failure)
    return pause


class Connection:
    """The part of `Client` that sends requests. Threads may share it.

    Its methods raise `ApiError` if the API refuses a request, and `ConnectionFailedError` if no complete answer arrived, both after the
    retries of `Retries`.

    Args:
        base_url: Address of the API, such as `http://127.0.0.1:8000`.
        key: A write or admin key; None if the installation has none, or for boards, which are public.
        timeout: Seconds to connect, and between two parts of an answer.
        retries: When requests are sent again.
        transport: How requests are sent; None for the network.
        sleep: Waits some seconds.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._retries, self._timeout, self._sleep = retries or Retries(), timeout, sleep
        self._http = httpx.Client(**_options(base_url, key, timeout), transport=transport)

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _value(self, call: Call, kind: type[T]) -> T:
        return decoded(self._response(call), kind)

    def _response(self, call: Call, *, stream: bool = False) -> httpx.Response:
        """Return a successful response. Its body is read unless `stream`."""
        failed = 0
        while True:
            failure: Failure
            try:
                response = self._http.send(self._http.build_request(**call.arguments()), stream=True)
                if not stream or not response.is_success:
                    response.read()
                if response.is_success:
                    return response
                failure = response
            except httpx.RequestError as error:
                failure = error
            failed += 1
            self._sleep(_pause(self._retries, call, failed, failure))

    def _download(self, call: Call) -> "Download":
        return Download(lambda: self._response(call, stream=True), call)

    def _events(self, call: Call) -> "Events":
        return Events(self._http, call, self._retries, self._timeout, self._sleep)


class Download(AbstractContextManager["Download"]):
    """An answer that is read in parts, inside of a `with` block. A connection that ends early raises `ConnectionFailedError`."""

    def __init__(self, begin: Callable[[], httpx.Response], call: Call) -> None:
        self._begin, self._call = begin, call

    def __enter__(self) -> Self:
        """Send the request. Raises as the methods of `Client`."""
        self._response = self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the answer."""
        self._response.close()

    @property
    def next(self) -> str | None:
        """Cursor of the page after this one; None on the last page, and of answers that have no pages."""
        found: str | None = self._response.headers.get(NEXT_HEADER)
        return found

    def chunks(self) -> Iterator[bytes]:
        """Yield the parts of the answer."""
        try:
            yield from self._response.iter_bytes()
        except httpx.RequestError as error:
            raise failed_connection(self._call, error) from error

    def rows(self) -> Iterator[Any]:
        """Yield the objects of an answer in NDJSON, one for each line."""
        lines = Lines()
        for chunk in self.chunks():
            yield from (msgspec.json.decode(line) for line in lines.feed(chunk))
        if rest := lines.rest():
            yield msgspec.json.decode(rest)


class Events(AbstractContextManager["Events"]):
    """Server-sent events, inside of a `with` block. A connection that ends is opened again and goes on after the last event.

    It ends when the server answers 204 or refuses the request. Raises `ApiError`; and `ConnectionFailedError` after as many failures in
    a row as `Retries` allows.
    """

    def __init__(self, http: httpx.Client, call: Call, retries: Retries, timeout: float, sleep: Callable[[float], object]) -> None:
        self._http, self._call, self._retries, self._timeout, self._sleep = http, call, retries, timeout, sleep
        self._parser, self._iterator = EventParser(), self._read()

    @property
    def last_id(self) -> str:
        """Id of the last event."""
        return self._parser.last_id

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the connection."""
        self._iterator.close()

    def __iter__(self) -> Iterator[Event]:
        """Return the events."""
        return self._iterator

    def _read(self) -> Generator[Event, None, None]:
        failed = 0
        while True:
            failure: Failure = httpx.RemoteProtocolError("the stream ended")
            self._parser.restart()
            try:
                with self._http.stream(**_event_request(self._call, self._parser, self._timeout)) as response:
                    if response.status_code == 204:
                        return
                    if not response.is_success:
                        response.read()
                        failure = response
                    else:
                        for chunk in response.iter_bytes():
                            failed = 0  # a comment too shows that the stream works
                            yield from self._parser.feed(chunk)
            except httpx.RequestError as error:
                failure = error
            failed += 1
            self._sleep(max(_pause(self._retries, self._call, failed, failure), self._parser.retry_seconds or 0.0))


class AsyncConnection:
    """The part of `AsyncClient` that sends requests. Tasks of one event loop may share it.

    Its methods raise `ApiError` if the API refuses a request, and `ConnectionFailedError` if no complete answer arrived, both after the
    retries of `Retries`.

    Args:
        base_url: Address of the API, such as `http://127.0.0.1:8000`.
        key: A write or admin key; None if the installation has none, or for boards, which are public.
        timeout: Seconds to connect, and between two parts of an answer.
        retries: When requests are sent again.
        transport: How requests are sent; None for the network.
        sleep: Waits some seconds.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._retries, self._timeout, self._sleep = retries or Retries(), timeout, sleep
        self._http = httpx.AsyncClient(**_options(base_url, key, timeout), transport=transport)

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _value(self, call: Call, kind: type[T]) -> T:
        return decoded(await self._response(call), kind)

    async def _response(self, call: Call, *, stream: bool = False) -> httpx.Response:
        """Return a successful response. Its body is read unless `stream`."""
        failed = 0
        while True:
            failure: Failure
            try:
                response = await self._http.send(self._http.build_request(**call.arguments()), stream=True)
                if not stream or not response.is_success:
                    await response.aread()
                if response.is_success:
                    return response
                failure = response
            except httpx.RequestError as error:
                failure = error
            failed += 1
            await self._sleep(_pause(self._retries, call, failed, failure))

    def _download(self, call: Call) -> "AsyncDownload":
        return AsyncDownload(lambda: self._response(call, stream=True), call)

    def _events(self, call: Call) -> "AsyncEvents":
        return AsyncEvents(self._http, call, self._retries, self._timeout, self._sleep)


class AsyncDownload(AbstractAsyncContextManager["AsyncDownload"]):
    """An answer that is read in parts, inside of an `async with` block. A connection that ends early raises `ConnectionFailedError`."""

    def __init__(self, begin: Callable[[], Awaitable[httpx.Response]], call: Call) -> None:
        self._begin, self._call = begin, call

    async def __aenter__(self) -> Self:
        """Send the request. Raises as the methods of `AsyncClient`."""
        self._response = await self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the answer."""
        await self._response.aclose()

    @property
    def next(self) -> str | None:
        """Cursor of the page after this one; None on the last page, and of answers that have no pages."""
        found: str | None = self._response.headers.get(NEXT_HEADER)
        return found

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the parts of the answer."""
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx.RequestError as error:
            raise failed_connection(self._call, error) from error

    async def rows(self) -> AsyncIterator[Any]:
        """Yield the objects of an answer in NDJSON, one for each line."""
        lines = Lines()
        async for chunk in self.chunks():
            for line in lines.feed(chunk):
                yield msgspec.json.decode(line)
        if rest := lines.rest():
            yield msgspec.json.decode(rest)


class AsyncEvents(AbstractAsyncContextManager["AsyncEvents"]):
    """Server-sent events, inside of an `async with` block. A connection that ends is opened again and goes on after the last event.

    It ends when the server answers 204 or refuses the request. Raises `ApiError`; and `ConnectionFailedError` after as many failures in
    a row as `Retries` allows.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        call: Call,
        retries: Retries,
        timeout: float,
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        self._http, self._call, self._retries, self._timeout, self._sleep = http, call, retries, timeout, sleep
        self._parser, self._iterator = EventParser(), self._read()

    @property
    def last_id(self) -> str:
        """Id of the last event."""
        return self._parser.last_id

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the connection."""
        await self._iterator.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        """Return the events."""
        return self._iterator

    async def _read(self) -> AsyncGenerator[Event, None]:
        failed = 0
        while True:
            failure: Failure = httpx.RemoteProtocolError("the stream ended")
            self._parser.restart()
            try:
                async with self._http.stream(**_event_request(self._call, self._parser, self._timeout)) as response:
                    if response.status_code == 204:
                        return
                    if not response.is_success:
                        await response.aread()
                        failure = response
                    else:
                        async for chunk in response.aiter_bytes():
                            failed = 0  # a comment too shows that the stream works
                            for event in self._parser.feed(chunk):
                                yield event
            except httpx.RequestError as error:
                failure = error
            failed += 1
            await self._sleep(max(_pause(self._retries, self._call, failed, failure), self._parser.retry_seconds or 0.0))
