"""Requests that a page repeats: how long it waits between them, and that a hidden page sends none.

A file of the pages is opened alone. It runs nothing, so `fetch` and the clock belong to the test.
"""

from typing import Any

import pytest

from services.web.assets import digest
from tests.support.api import Running
from tests.support.browser import NEEDED, Browser

pytestmark = NEEDED

_PAUSE = """
  const poll = new api.Poll('/v1/pools', SECONDS), pauses = [];
  window.fetch = async () => new Response(STATUS === 304 ? null : '{}', { status: STATUS });
  window.setTimeout = (resume, milliseconds) => { pauses.push(milliseconds); poll.ended = true; resume(); };
  await poll.run(() => {});
  return pauses;"""
"""The pauses of a poll that ends with the first one."""

_HIDDEN = """
  let hidden = true, asked = 0;
  Object.defineProperty(document, 'hidden', { get: () => hidden });
  window.fetch = async () => { asked += 1; return new Response('{}'); };
  const poll = new api.Poll('/v1/pools', 0);
  const ended = poll.run(() => { poll.ended = true; });
  for (let turn = 0; turn < 100; turn++) await null;  // every step that needs no event
  const before = asked;
  hidden = false;
  document.dispatchEvent(new Event('visibilitychange'));
  await ended;
  return [before, asked];"""
"""Requests of a poll while its page is hidden, and until it ends once the page is visible."""


def run(api: Running, browser: Browser, script: str) -> Any:
    """What a script returns that uses the module `api`."""
    module = f"/static/{digest()}/api.js"
    with browser.page(api.url, module) as page:
        return page.evaluate(f"import('{module}').then(async (api) => {{{script}}})")


@pytest.mark.parametrize(
    ("seconds", "status", "milliseconds"),
    [(30, 200, 30_000), (30, 304, 30_000), (30, 404, 30_000), (30, 503, 5_000), (2, 503, 2_000)],
)
def test_a_request_is_repeated_after_its_pause_and_sooner_if_the_service_could_not_answer(
    api: Running, browser: Browser, seconds: int, status: int, milliseconds: int
) -> None:
    assert run(api, browser, _PAUSE.replace("SECONDS", str(seconds)).replace("STATUS", str(status))) == [milliseconds]


def test_a_hidden_page_asks_nothing_until_it_is_visible(api: Running, browser: Browser) -> None:
    assert run(api, browser, _HIDDEN) == [0, 1]


def test_boards_of_the_past_are_asked_for_once_a_minute(api: Running, browser: Browser) -> None:
    scopes = "[{}, { slice: 'language:English' }, { season: 'spring' }, { at: '2026-11-22T06:00:00Z' }]"
    assert run(api, browser, f"return {scopes}.map((scope) => api.pauseOf(scope, 5))") == [5, 5, 60, 60]
