"""The examples of docs/guides/agents.md: each request, and its answer on the games of the page."""

import json
import re
from pathlib import Path

import msgspec

from services.runtime.settings import PROVISIONAL
from services.wire.events import Event, GameEvent
from tests.support.api import NOW, Running
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

PAGE = (Path(__file__).parents[3] / "docs/guides/agents.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```sh\ncurl -s '?http://127\.0\.0\.1:8000(/v1/\S+?)'?\n```\n\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_answers_of_the_page_are_those_of_the_api(api: Running, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz")
    assert fold_events(state, games()) == []
    served.checkpoint(state, 5, written_at=NOW - 3.0)
    served.publish(state, 5, published_at=NOW - 1.0, limits=PROVISIONAL)
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == len(re.findall("^curl -s '?http.*/v1/pools/blitz", PAGE, re.MULTILINE)) >= 4
    for path, answer in examples:
        found = api.client.get(path)
        assert (found.status_code, found.json()) == (200, json.loads(answer)), path


def games() -> list[Event]:
    """The games that the page sends."""
    (sent,) = re.findall(r"^curl -s http://127\.0\.0\.1:8000/v1/outcomes .* -d '\n(.*?)'$", PAGE, re.MULTILINE | re.DOTALL)
    return [msgspec.convert({"time": 0.0, **one}, GameEvent) for one in json.loads(sent)]
