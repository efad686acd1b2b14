"""Open pages in a real browser without a window, and drive them by the DevTools protocol over two pipes."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.support.waiting import PATIENCE, until

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
NEEDED = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page is not tried (Debian: apt-get install chromium)")
"""Skips the marked test if no browser is installed."""

_OPTIONS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
)  # fmt: skip
_AXE: Final = Path(__file__).parents[1] / "web" / "vendor" / "axe.min.js"
_HIGH: Final = 100
"""Lowest number of the copied file descriptors, so that none of them is 3 or 4, where the browser expects its pipes."""


class CommandError(AssertionError):
    """The browser did not carry out a command, for example because the page is being replaced by another one."""


class Browser:
    """A running browser. `command` sends one command and returns its result; events are kept in `events`."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, os.fdopen(receive, "rb", buffering=0)
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def command(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its result. Raises `CommandError`, and `AssertionError` if the browser ended."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        unsent = memoryview(json.dumps(message).encode() + b"\0")
        while unsent:
            unsent = unsent[os.write(self._send, unsent) :]
        while True:
            answer = self._next()
            if answer.get("id") != self._number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise CommandError(f"{method}: {answer['error']}")
            return dict(answer["result"])

    def targets(self) -> list[dict[str, Any]]:
        """The open tabs, each with its `targetId` and `url`."""
        return list(self.command("Target.getTargets")["targetInfos"])

    def close(self) -> None:
        """Close the pipes."""
        os.close(self._send)
        self._receive.close()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = self._receive.read(1 << 16)
            assert part, "the browser ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    @contextmanager
    def page(self, url: str, path: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator["Page"]:
        """Open a page in a new tab. url: base URL of the site. width, height: size of the view in pixels."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, url)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        page.call("Emulation.setEmulatedMedia", features=scheme)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.go(path)
        try:
            yield page
        finally:
            self.command("Target.closeTarget", targetId=target)


class Page:
    """An open page of a site."""

    def __init__(self, browser: Browser, session: str, url: str) -> None:
        self._browser, self._session, self._url = browser, session, url

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page."""
        return self._browser.command(method, self._session, **parameters)

    def go(self, path: str) -> None:
        """Open another address of the site."""
        self.call("Page.navigate", url=self._url + path)
        until(lambda: self._look("document.readyState") == "complete", f"{path} is loaded")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression; a promise is awaited."""
        result = self._run(script)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def _run(self, script: str) -> dict[str, Any]:
        return self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)

    def _look(self, script: str) -> Any:
        """Return the value of an expression; None while the page is being replaced by another one, or has no body or element yet."""
        try:
            result = self._run(script)
        except CommandError:
            return None
        thrown = result.get("exceptionDetails")
        assert thrown is None or thrown["exception"].get("className") == "TypeError", thrown
        return None if thrown else result["result"].get("value")

    @property
    def text(self) -> str:
        """The text that a reader sees."""
        return str(self.evaluate("document.body.innerText"))

    @property
    def document(self) -> str:
        """The document as HTML."""
        return str(self.evaluate("document.documentElement.outerHTML"))

    def wait(self, *parts: str) -> str:
        """Wait until the document's text has all parts, also in closed details. Returns this text."""

        def found() -> str:
            text = " ".join(str(self._look("document.body.textContent")).split())
            return text if all(part in text for part in parts) else ""

        return str(until(found, lambda: f"{parts} in {self.evaluate('document.body.textContent')!r}"))

    def until(self, condition: str) -> Any:
        """Wait until the value of an expression is true, and return it."""
        value = f"((found) => (found instanceof Node ? true : found))({condition})"
        return until(lambda: self._look(value), lambda: f"{condition} in {self.text!r}")

    def type(self, selector: str, text: str) -> None:
        """Type a text into a field."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.until(found)
        self.evaluate(f"{found}.focus()")
        self.call("Input.insertText", text=text)

    def click(self, selector: str, text: str = "") -> None:
        """Click the first visible element that a selector finds and whose text contains `text`."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})].find((one) => one.textContent.includes({json.dumps(text)}))"
        self.until(f"Boolean({found})")
        self.evaluate(f"{found}.click()")

    def press(self, selector: str) -> None:
        """Press the mouse on the first element that a selector finds, as a person does: so a link may open a tab."""
        place = "((one) => { one.scrollIntoView({ block: 'center' }); const place = one.getBoundingClientRect();"
        place += f" return [place.x + place.width / 2, place.y + place.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        x, y = self.until(place)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, *, whole: bool = False) -> bytes:
        """The page as a PNG. whole: with what is below the view."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def violations(self) -> list[str]:
        """What axe-core finds to be not accessible: rule and elements."""
        self.evaluate(_AXE.read_text() + "\nundefined")
        told = "`${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`"
        return list(self.evaluate(f"axe.run().then((found) => found.violations.map((one) => {told}))"))

    def complaints(self) -> list[str]:
        """Errors and warnings in the console so far, uncaught exceptions, and requests to another host."""
        self.evaluate("1")  # events that came before its answer are kept
        mine = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [text for event in mine if (text := _complaint(event["method"], event.get("params", {}), urlsplit(self._url).netloc))]


def _complaint(method: str, told: dict[str, Any], host: str) -> str:
    if method == "Runtime.exceptionThrown":
        return f"exception: {told['exceptionDetails']}"
    if method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
        return f"console: {told['args']}"
    if method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
        return f"log: {told['entry']['text']} {told['entry'].get('url', '')}"
    if method == "Network.requestWillBeSent":
        asked = urlsplit(told["request"]["url"])
        return f"request to {asked.netloc}" if asked.scheme in ("http", "https", "ws", "wss") and asked.netloc != host else ""
    return ""


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start a browser, and end it afterwards."""
    inputs, outputs = os.pipe(), os.pipe()
    theirs = [fcntl.fcntl(number, fcntl.F_DUPFD, _HIGH) for number in (inputs[0], outputs[1])]
    mine = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH) for number in (inputs[1], outputs[0])]
    for number in (*inputs, *outputs):
        os.close(number)

    with tempfile.TemporaryDirectory(prefix="eqr-chrome-", ignore_cleanup_errors=True) as profile:
        placed = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        process = subprocess.Popen(
            ["bash", "-c", placed, str(BROWSER), *_OPTIONS, f"--user-data-dir={profile}"],
            env={**os.environ, "HOME": profile}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=theirs,
        )  # fmt: skip
        for number in theirs:
            os.close(number)
        browser = Browser(*mine)
        try:
            yield browser
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
            browser.close()
