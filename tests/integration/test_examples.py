"""Every example of a request in the docs works: curl lines, and lines and programs of the client, on one installation.

An answer that is not there yet is asked for again, while games go on: a solve, its successor, a generation, a checkpoint.
"""

import itertools
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import httpx
import msgspec
import pytest

from equirank_client import ApiError, Client, structs
from scripts.reference_api import client_examples, routes
from tests.support.doc_examples import DOCUMENT, ROOT, CurlRequest, check_answer, client_blocks, curl_lines, pages, parsed
from tests.support.event_streams import Events
from tests.support.example_system import example_system
from tests.support.http import PLAIN
from tests.support.installation import Installation, until
from tests.support.tasks import PAGE, TASKS, tasks_page, without_times
from tests.support.waiting import PATIENCE

NOT_YET: Final = {404, 503}
VARIABLES: Final[Mapping[str, tuple[str, Callable[[Any], object]]]] = {
    "NEXT": ("next", lambda cursor: cursor),
    "KEPT": ("solves", lambda solves: solves[-1]["position"]),
}
"""Shell variables of the docs -> the field of the JSON answer before that gives their value."""


class Examples:
    """Runs examples. A requested season cannot begin before the example that withdraws it, because the shards are stopped in between."""

    def __init__(self, system: Installation) -> None:
        self.system, self._numbers, self._stopped = system, itertools.count(), list[int]()

    def run(self, route: str, attempt: Callable[[], int], what: str | Callable[[], str]) -> int:
        """Call `attempt`, which returns a status, until the answer is there. Returns the status.

        route: name of its operation. what: names the example in a failure.
        """
        if route == "start_season":
            self._stopped = self.system.shard_pids()
            self._signal(signal.SIGSTOP)
        status = int(until(lambda: self._tried(attempt), what))
        if route == "withdraw_season":
            self.resume()
        return status

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._stopped = []

    def _signal(self, number: int) -> None:
        for pid in self._stopped:
            os.kill(pid, number)

    def _tried(self, attempt: Callable[[], int]) -> int:
        status = attempt()
        if status not in NOT_YET:
            return status
        for pool in ("blitz", "arena"):
            sides = [{"agents": ["ann"], "place": 1}, {"agents": ["bob"], "place": 2}]
            tags = {"language": "English", "category": "math"}
            self.system.post("/v1/outcomes", {"v": 1, "id": f"on-{next(self._numbers)}", "pool": pool, "sides": sides, "tags": tags})
        time.sleep(0.1)
        return 0


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with example_system(tmp_path_factory.mktemp("examples") / "data") as one:
        yield one


@pytest.fixture
def examples(system: Installation) -> Iterator[Examples]:
    found = Examples(system)
    yield found
    found.resume()


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Content of the files that curl lines send, as the guides make them."""
    bulk, agents = ((ROOT / f"docs/guides/{name}.md").read_text(encoding="utf-8") for name in ("bulk", "agents"))
    made: dict[str, Any] = {}
    exec(re.findall(r"^```python\n(.*?)^```$", bulk, re.DOTALL | re.MULTILINE)[0].partition("print(")[0], made)  # noqa: S102
    return {"games.arrows": made["body"], "agents.csv": re.findall(r"^```csv\n(.*?)^```$", agents, re.DOTALL | re.MULTILINE)[0].encode()}


def test_the_docs_have_examples_of_every_route() -> None:
    lines = curl_lines((ROOT / "docs/reference/api.md").read_text(encoding="utf-8"))
    variables = dict.fromkeys(("KEY", *VARIABLES), "x")
    assert [parsed(line, variables, {}).route.name for line in lines] == [route.name for route in routes(DOCUMENT)]


def test_every_curl_line_is_answered_as_the_api_describes(examples: Examples, files: Mapping[str, bytes]) -> None:
    run = 0
    with httpx.Client(base_url=examples.system.api, timeout=PATIENCE, trust_env=False, verify=PLAIN) as client:
        for page in pages():
            variables = {"KEY": "key"}
            for line in curl_lines(page.read_text(encoding="utf-8")):
                request = parsed(line, variables, files)
                where = f"{page.relative_to(ROOT)}: {line}"
                response = sent(examples, client, request, where)
                assert response.is_success, f"{where}\n{response.status_code} {response.text}"
                if not request.streams and response.content:
                    check_answer(request, response)
                    variables |= made_by(response)
                run += 1
    assert run > 80


def sent(examples: Examples, client: httpx.Client, request: CurlRequest, where: str) -> httpx.Response:
    """The answer to a request. Of a stream, its first state is read. where: names the example in a failure."""
    found: list[httpx.Response] = []

    def attempt() -> int:
        with client.stream(request.method, request.target, headers=request.headers, content=request.body) as response:
            if request.streams and response.is_success:
                Events(response).until_pool()
            else:
                response.read()
        found.append(response)
        return response.status_code

    examples.run(request.route.name, attempt, lambda: f"{where}\n{found[-1].status_code} {found[-1].text}")
    return found[-1]


def made_by(response: httpx.Response) -> dict[str, str]:
    """The shell variables that a JSON answer gives."""
    if response.headers["content-type"] != "application/json":
        return {}
    answer = response.json()
    return {name: str(value(answer[key])) for name, (key, value) in VARIABLES.items() if answer.get(key)}


class Enough(Exception):  # noqa: N818 - it ends an example that would go on
    """The example has shown what it shows."""


def run_python(examples: Examples, name: str, program: str, **names: Any) -> list[tuple[object, ...]]:
    """Run an example of the client. It ends with the first state of a stream. Returns what it prints. name: operation that it calls."""
    printed: list[tuple[object, ...]] = []

    def show(*values: object) -> None:
        printed.append(values)
        if values[0] == "pool":
            raise Enough

    def attempt() -> int:
        printed.clear()
        try:
            exec(compile(program, name, "exec"), {"print": show, "msgspec": msgspec, **vars(structs), **names})  # noqa: S102
        except Enough:
            pass
        except ApiError as error:
            if error.status not in NOT_YET:
                raise
            return error.status
        return 200

    examples.run(name, attempt, program)
    return printed


def test_every_line_of_the_client_in_the_reference_shows_something(examples: Examples) -> None:
    with Client(examples.system.api) as client:
        for route in routes(DOCUMENT):
            for program in client_examples(route, DOCUMENT["components"]["schemas"]):
                assert run_python(examples, route.name, program, client=client), program


def test_every_program_of_the_client_in_the_guides_runs(examples: Examples) -> None:
    run = 0
    for page in pages():
        for program in client_blocks(page.read_text(encoding="utf-8")):
            run_python(examples, page.stem, program.replace("http://127.0.0.1:8000", examples.system.api))
            run += 1
    assert run >= 2


def test_the_tasks_have_the_answers_of_their_page(system: Installation) -> None:
    found = tasks_page(system)
    assert without_times(found) == without_times(PAGE.read_text(encoding="utf-8"))
    assert len(TASKS) >= 30
