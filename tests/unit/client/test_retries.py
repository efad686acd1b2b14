"""What is sent again, when, and what is not; streams of events that break; parsers at every cut."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equirank_client import ApiError, AsyncClient, Client, ConnectionFailedError
from equirank_client.calls import Call, Retries, path, retry_after
from equirank_client.events import Event, EventParser, Lines
from equirank_client.structs import GenerationAsked, SentGame, SentSide

GAME = SentGame(pool="blitz", sides=[SentSide(agents=["ann"], place=1), SentSide(agents=["bob"], place=2)])
ACCEPTED = {"accepted": 1, "ids": ["x"], "positions": {"blitz": 1}}
EVENTS = Call("GET", "/events", accept="text/event-stream", repeatable=True)


class FailingServer(ThreadingHTTPServer):
    """A server that answers by a list: (status, headers, body), or None to close the connection without an answer.

    asked: body and `Last-Event-ID` of each request.
    """

    def __init__(self, answers: Sequence[tuple[int, dict[str, str], bytes] | None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked = list(answers), list[tuple[bytes, str | None]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: FailingServer

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.asked.append((body, self.headers.get("Last-Event-ID")))
        found = self.server.answers.pop(0)
        self.close_connection = True
        if found is None:
            return
        status, headers, content = found
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - names of the standard library

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def failing(*answers: tuple[int, dict[str, str], bytes] | None) -> Iterator[FailingServer]:
    server = FailingServer(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def busy(status: int, after: str = "3") -> tuple[int, dict[str, str], bytes]:
    problem = {"status": status, "title": "busy", "detail": "wait"}
    return status, {"Retry-After": after, "Content-Type": "application/problem+json"}, json.dumps(problem).encode()


def good(value: object) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def test_outcomes_are_sent_again_with_the_same_ids() -> None:
    pauses: list[float] = []
    with failing(busy(503), None, busy(429, "7"), good(ACCEPTED)) as server, Client(server.url, sleep=pauses.append) as client:
        assert client.send_outcomes([GAME]).accepted == 1
    bodies = [json.loads(body) for body, _ in server.asked]
    assert len(bodies) == 4
    assert all(body == bodies[0] and body[0]["id"] and body[0]["v"] == 1 for body in bodies)
    assert (pauses[0], pauses[2]) == (3.0, 7.0)


def test_asyncio_sends_again_too() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def run(url: str) -> int:
        async with AsyncClient(url, sleep=sleep) as client:
            return (await client.send_outcomes([GAME])).accepted

    with failing(busy(503), None, good(ACCEPTED)) as server:
        assert asyncio.run(run(server.url)) == 1
    assert pauses[0] == 3.0
    assert len({body for body, _ in server.asked}) == 1


@pytest.mark.parametrize("answer", [None, busy(503)])
def test_a_request_that_is_not_repeatable_is_sent_once_if_it_may_have_been_processed(answer) -> None:  # type: ignore[no-untyped-def]
    with failing(answer) as server, Client(server.url, sleep=lambda _: None) as client:
        with pytest.raises((ApiError, ConnectionFailedError)):
            client.request_generation("blitz", GenerationAsked())
        assert len(server.asked) == 1


def test_a_request_that_was_refused_for_its_rate_is_sent_again() -> None:
    with failing(busy(429), good({"pool": "blitz", "wish": 4})) as server, Client(server.url, sleep=lambda _: None) as client:
        assert client.request_generation("blitz", GenerationAsked()).wish == 4


def test_attempts_end_with_the_last_error() -> None:
    with failing(*[busy(503)] * 3) as server, Client(server.url, retries=Retries(attempts=3), sleep=lambda _: None) as client:
        with pytest.raises(ApiError) as found:
            client.get_pool("blitz")
        assert (found.value.status, found.value.title, found.value.detail, len(server.asked)) == (503, "busy", "wait", 3)


def test_a_longer_wait_than_allowed_is_an_error_at_once() -> None:
    with failing(busy(503, "31")) as server, Client(server.url, sleep=lambda _: None) as client:
        with pytest.raises(ApiError, match="503"):
            client.get_pool("blitz")
        assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 404, 422, 500])
def test_other_errors_are_not_sent_again(status: int) -> None:
    with failing((status, {"Content-Type": "text/html"}, b"<p>no</p>")) as server, Client(server.url) as client:
        with pytest.raises(ApiError) as found:
            client.get_pool("blitz")
        assert (found.value.status, found.value.detail, len(server.asked)) == (status, "<p>no</p>", 1)


def test_a_server_that_is_not_there_is_asked_as_often_as_allowed() -> None:
    with failing() as server:
        url = server.url
    pauses: list[float] = []
    with Client(url, retries=Retries(attempts=4, first_seconds=1.0), sleep=pauses.append) as client, pytest.raises(ConnectionFailedError):
        client.request_generation("blitz", GenerationAsked())
    assert len(pauses) == 3
    assert all(0.5 * 2**i <= pause <= 1.5 * 2**i for i, pause in enumerate(pauses))


def test_an_export_that_ends_early_is_an_error() -> None:
    with failing((200, {"Content-Length": "100"}, b'{"id": 1}\n{"id"')) as server, Client(server.url) as client:
        rows = []
        with client.export_outcomes("blitz") as download, pytest.raises(ConnectionFailedError):
            rows += [row for row in download.rows() if not rows.append(row)]  # type: ignore[func-returns-value]
        assert rows == [{"id": 1}]


def stream(text: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "text/event-stream"}, text.encode()


STREAMS = (
    stream(': hello\n\nid: a\nevent: board\ndata: {"n": 1}\n\nid: b\ndata: cut'),
    None,
    busy(503),
    stream('retry: 5\nid: c\nevent: board\ndata: {"n": 2}\n\n'),
    (204, {}, b""),
)


def test_a_stream_goes_on_after_the_last_complete_event() -> None:
    with failing(*STREAMS) as server, Client(server.url, sleep=lambda _: None) as client:
        with client._events(EVENTS) as events:
            found = list(events)
        assert [(one.name, one.json(), one.id) for one in found] == [("board", {"n": 1}, "a"), ("board", {"n": 2}, "c")]
        assert [last for _, last in server.asked] == [None, "a", "a", "a", "c"]


def test_a_stream_of_asyncio_goes_on_too() -> None:
    async def sleep(_: float) -> None:
        pass

    async def run(url: str) -> list[Event]:
        async with AsyncClient(url, sleep=sleep) as client, client._events(EVENTS) as events:
            return [event async for event in events]

    with failing(*STREAMS) as server:
        assert [event.id for event in asyncio.run(run(server.url))] == ["a", "c"]
        assert [last for _, last in server.asked] == [None, "a", "a", "a", "c"]


def test_a_refused_stream_is_an_error() -> None:
    with failing(busy(404)) as server, Client(server.url) as client, client._events(EVENTS) as events, pytest.raises(ApiError, match="404"):
        list(events)


def cut(content: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(content)) for place in places} | {len(content)})
    return [content[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"])), max_size=5),
    st.lists(st.integers(0, 200)),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_events_are_the_same_at_every_cut(texts: list[str], places: list[int], end: str) -> None:
    content = "".join(f"id: {i}{end}data: {text}{end}data:{text}{end}{end}" for i, text in enumerate(texts)).encode()
    parser = EventParser()
    found = [event for chunk in cut(b"\xef\xbb\xbf" + content + b": end\n", places) for event in parser.feed(chunk)]
    wanted = [f"{text}\n{text.removeprefix(' ')}" for text in texts]
    assert [(event.name, event.data, event.id) for event in found] == [("message", text, str(i)) for i, text in enumerate(wanted)]


@given(st.lists(st.text()), st.lists(st.integers(0, 200)))
def test_lines_are_the_same_at_every_cut(texts: list[str], places: list[int]) -> None:
    lines, content = Lines(), b"".join(msgspec.json.encode(text) + b"\n" for text in texts)
    found = [line for chunk in cut(content, places) for line in lines.feed(chunk)]
    assert ([msgspec.json.decode(line) for line in found], lines.rest()) == (texts, b"")


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after(httpx.Headers({"Retry-After": "4"})) == 4.0
    assert retry_after(httpx.Headers({"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"})) == 0.0
    assert [retry_after(httpx.Headers({"Retry-After": text})) for text in ("", "-1", "soon", "1.5")] == [None] * 4


def test_names_are_percent_encoded_and_not_empty() -> None:
    assert path("/v1/{pool}/{agent}", pool="a.b", agent="x/y %") == "/v1/a.b/x%2Fy%20%25"
    with pytest.raises(ValueError, match="agent"):
        path("/{agent}", agent="")


@pytest.mark.parametrize("given", [{"attempts": 0}, {"first_seconds": -1.0}, {"longest_seconds": 0.1}])
def test_retries_refuse_nonsense(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="retries"):
        Retries(**given)  # type: ignore[arg-type]


def test_a_body_that_cannot_be_unpacked_is_a_failed_connection() -> None:
    broken = (200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"no gzip")
    with failing(*[broken] * 2) as server, Client(server.url, retries=Retries(attempts=2), sleep=lambda _: None) as client:
        with pytest.raises(ConnectionFailedError):
            client.get_pool("blitz")
        assert len(server.asked) == 2


@pytest.mark.parametrize("digits", ["9" * 5000, "999999"])
def test_a_server_cannot_ask_for_a_pause_of_more_than_a_minute(digits: str) -> None:
    parser = EventParser()
    assert not list(parser.feed(f"retry: {digits}\n\n".encode()))
    assert parser.retry_seconds == 60.0
