"""The page of the API: every route in the order of its groups, and requests that are sent from it, with a key where keys are set."""

from pathlib import Path

from tests.support.api import running
from tests.support.browser import NEEDED, Browser
from tests.support.redis import flush

pytestmark = NEEDED
GAME = '{"v":1,"id":"g1","pool":"blitz","time":0,"sides":[{"agents":["ann"],"place":1},{"agents":["bob"],"place":2}]}'
WRITE = """(() => {
  const field = document.querySelector('#routes SELECTOR');
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, VALUE);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  field.dispatchEvent(new Event('change', { bubbles: true }));
})()"""


def test_requests_are_sent_from_the_page_with_a_key_where_keys_are_set(tmp_path: Path, page_redis: str, browser: Browser) -> None:
    flush(page_redis)
    with running(tmp_path, page_redis, write_keys=("w-key",)) as here, browser.page(here.url, "/docs") as page:
        page.until("document.querySelectorAll('#routes .opblock').length")
        document = here.client.get("/openapi.json").json()
        wanted = {(verb, path) for path, verbs in document["paths"].items() for verb in verbs if verb != "head"}
        shown = page.evaluate(
            "[...document.querySelectorAll('#routes .opblock')].map((one) => [one.querySelector('.opblock-summary-method').textContent"
            ".toLowerCase(), one.querySelector('.opblock-summary-path').dataset.path])"
        )
        assert {tuple(one) for one in shown} == wanted
        groups = page.evaluate("[...document.querySelectorAll('#routes .opblock-tag')].map((one) => one.dataset.tag)")
        assert groups == [*sorted(set(groups) - {"health"}), "health"]

        def tried(operation: str) -> str:
            return f"document.querySelector('[id$={operation}]')"

        def send(operation: str) -> None:
            page.evaluate(f"{tried(operation)}.querySelector('.execute').click()")

        page.evaluate(f"{tried('list_pools')}.querySelector('.opblock-summary-control').click()")
        page.until(f"{tried('list_pools')}.querySelector('.try-out button')")
        page.evaluate(f"{tried('list_pools')}.querySelector('.try-out button').click()")
        page.until(f"{tried('list_pools')}.querySelector('.execute')")
        send("list_pools")
        page.until(
            f"{tried('list_pools')}.querySelector('.live-responses-table tbody .response-col_status')?.textContent.startsWith('200')"
        )

        page.click("#routes .btn.authorize")
        page.until("document.querySelector('#routes .modal-ux input')")
        page.evaluate(WRITE.replace("SELECTOR", ".modal-ux input").replace("VALUE", "'w-key'"))
        page.click("#routes .modal-ux .auth.authorize")
        page.click("#routes .modal-ux .btn-done")
        page.evaluate(f"{tried('send_outcomes')}.querySelector('.opblock-summary-control').click()")
        page.until(f"{tried('send_outcomes')}.querySelector('.try-out button')")
        page.evaluate(f"{tried('send_outcomes')}.querySelector('.try-out button').click()")
        page.until(f"{tried('send_outcomes')}.querySelector('textarea')")
        page.evaluate(WRITE.replace("SELECTOR", "[id$=send_outcomes] textarea").replace("VALUE", repr(GAME)))
        send("send_outcomes")
        page.until(
            f"{tried('send_outcomes')}.querySelector('.live-responses-table tbody .response-col_status')?.textContent.startsWith('202')"
        )

        assert page.complaints() == []
