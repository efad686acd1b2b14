"""The examples of docs/guides/streams.md, run on a live API: by curl, and by the EventSource of Node where it has one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from services.api import feeds, streams
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running
from tests.support.boards import head_of
from tests.support.waiting import PATIENCE

PAGE = (Path(__file__).parents[3] / "docs/guides/streams.md").read_text(encoding="utf-8")
NODE = shutil.which("node")
FLAG = "--experimental-eventsource"


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def publish(here: Running, position: int, rating: float) -> None:
    board = LiveBoard(["ann", "bob"], [rating, 1400.0])
    assert here.store.live.publish(head_of(position=position, published_at=NOW, online=["elo"]), 1, {"elo": board, ACTIVITY: board})


def has_event_source() -> bool:
    if NODE is None:
        return False
    done = subprocess.run([NODE, FLAG, "-e", "EventSource"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_the_example_for_curl(api: Running) -> None:
    publish(api, 1, 1500.0)
    command = re.search(r"^curl (.*)$", block("sh"), re.MULTILINE)
    assert command
    line = f"curl -sS {command[1]}".replace("http://127.0.0.1:8000", api.url)
    with subprocess.Popen(["sh", "-c", f"exec {line}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as curl:
        assert curl.stdout is not None
        names = []
        while not names or names[-1] != "pool":
            received = curl.stdout.readline()
            assert received, curl.stderr.read() if curl.stderr else ""
            names += [received.removeprefix("event: ").strip()] if received.startswith("event: ") else []
        curl.kill()
    assert names == ["board", "agents", "pool"]


@pytest.mark.skipif(not has_event_source(), reason="no node with EventSource")
def test_the_example_for_browsers(api: Running) -> None:
    publish(api, 1, 1500.0)
    script = block("js").replace('"/v1', f'"{api.url}/v1')
    with subprocess.Popen([str(NODE), FLAG, "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        assert node.stdout.readline().strip() == "elo at 1: 1. ann 1500, 2. bob 1400"
        publish(api, 2, 1300.0)
        assert node.stdout.readline().strip() == "elo at 2: 1. bob 1400, 2. ann 1300"
        api.store.live.remove(["blitz"])
        _, errors = node.communicate(timeout=PATIENCE)  # it closes the stream of a deleted pool, and then has nothing to wait for
    assert (node.returncode, "Error" in errors) == (0, False)


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    assert f"| {feeds._FOLLOWED} | 503 with `Retry-After: 60` |" in PAGE
    assert f"| a reader that takes nothing | {streams._SEND_SECONDS:g} s |" in PAGE
    assert f"a comment is sent every {streams._KEEP_ALIVE_SECONDS:g} s" in PAGE
    assert f"{streams._RETRY_MILLISECONDS / 1000:g} s after a stream ends" in PAGE
    assert f"does not answer for {feeds._STALE_SECONDS:g} s" in PAGE
    assert f"up to {streams._MOST_AGENTS} times" in PAGE
