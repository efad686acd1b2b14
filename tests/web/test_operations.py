"""The page of operators: pools, solves, partitions and refused outcomes, with a key where keys are set."""

from pathlib import Path

import msgspec

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.log.dead_letters import DeadLetter
from services.wire.refusals import Reason
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.pages import beat
from tests.support.redis import flush

pytestmark = NEEDED
LETTER = DeadLetter(
    generation=1, partition=3, offset=7, item=0, reason="wrong_kind", path="$.sides", rule="must be <i>scores</i>", pool="rps", excerpt="{}"
)  # fmt: skip


def test_lag_solves_and_refusals_are_shown(filled: Running, browser: Browser) -> None:
    filled.log.dead_letters.append(0, [(b"", msgspec.json.encode(LETTER))])
    with browser.page(filled.url, "/operations") as page:
        page.wait(
            "Folded in time: 0 records waiting",
            "exploitability 1.0e-12",
            "it took too long",
            "shard-0/9",
            "wrong kind",
            "must be <i>scores</i>",
            "Needs attention: the newest solve of Maximal lottery in pool rps failed",
        )
        assert page.complaints() == []


def test_nothing_is_missing_on_a_phone(filled: Running, browser: Browser) -> None:
    filled.log.dead_letters.append(0, [(b"", msgspec.json.encode(LETTER))])
    with browser.page(filled.url, "/operations", width=390) as page:
        page.wait("0 refused · 0 duplicates · partition 0 · generation 1", "exploitability 1.0e\u201112", "outcomes since")
        page.wait("next offset", "shard-0/9", "offset 7")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.complaints() == []


def test_each_reason_of_a_refusal_has_a_remedy(filled: Running, browser: Browser) -> None:
    letters = [msgspec.structs.replace(LETTER, offset=i, reason=str(reason)) for i, reason in enumerate(Reason)]
    filled.log.dead_letters.append(0, [(b"", msgspec.json.encode(letter)) for letter in letters])
    with browser.page(filled.url, "/operations") as page:
        page.wait("send to a pool of the right kind")
        remedies = "[...document.querySelectorAll('caption')].find((one) => one.textContent === 'Refused outcomes').parentElement"
        texts = page.evaluate(f"[...{remedies}.querySelectorAll('tbody td:nth-child(4)')].map((one) => one.textContent)")
        assert len(texts) == len(Reason)
        assert "–" not in texts
        assert page.violations() == []


def test_one_line_says_whether_all_is_well(filled: Running, browser: Browser) -> None:
    assert filled.store.solved.publish(solved_of("rps", position=12))
    with browser.page(filled.url, "/operations") as page:
        page.wait("All well: outcomes of all partitions are folded in time, and no pool is stopped")
        beat(filled, idle=1000.0)
        page.until("document.querySelector('p.state.bad')")
        assert "All well" not in page.text


def test_partitions_and_refusals_need_a_key_where_keys_are_set(tmp_path: Path, page_redis: str, browser: Browser) -> None:
    flush(page_redis)
    with running(tmp_path, page_redis, write_keys=("w-key",)) as here:
        board = LiveBoard(["rock"], [1510.5])
        assert here.store.live.publish(head_of("rps", published_at=NOW, online=["elo"]), 1, {"elo": board, ACTIVITY: board})
        beat(here)
        with browser.page(here.url, "/operations") as page:
            page.wait("send Authorization: Bearer", "rps")
            assert "shard-0/9" not in page.text
            page.type("input[type=password]", "w-key")
            page.click("form button", "Show")
            page.wait("shard-0/9", "None.")
            assert page.violations() == []
