"""The client against a running API: each method, both twins, keys, errors and exports."""

import asyncio
import contextlib
import inspect
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from equirank_client import ApiError, AsyncClient, Client, structs
from equirank_client.structs import GenerationAsked, PoolWanted, SentGame, SentSide
from scripts.reference_api import body_example, client_examples, routes
from services.api.app import create_app, openapi_document
from services.boards.store.protocol import LiveBoard
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.api import NOW, Running
from tests.support.boards import head_of
from tests.support.redis import flush

DOCUMENT = openapi_document()
GAME = SentGame(pool="blitz", sides=[SentSide(agents=["ann"], place=1), SentSide(agents=["bob"], place=2)])


@pytest.fixture
def client(api: Running) -> Iterator[Client]:
    with Client(api.url) as found:
        yield found


def test_details_are_set_by_a_type_and_removed_by_a_dict(client: Client) -> None:
    client.create_pool("blitz", PoolWanted(kind="games"))
    assert client.change_agent("blitz", "ann", structs.DetailsChange(country="DE")).details == structs.AgentDetails(country="DE")
    assert client.change_agent("blitz", "ann", {"country": None}).details == structs.AgentDetails()  # type: ignore[arg-type]


def publish(api: Running) -> None:
    assert api.store.live.publish(head_of(position=1, published_at=NOW, online=["elo"]), 1, {"elo": LiveBoard(["ann", "a/b"], [2.0, 1.0])})


def test_the_import_needs_httpx_and_msgspec_alone(tmp_path: Path) -> None:
    program = (
        "import sys, equirank_client\n"
        "heavy = {'ray', 'numba', 'numpy', 'scipy', 'kafka', 'litestar', 'redis', 'pydantic', 'pyarrow', 'services', 'ratings_core'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    folder = Path(inspect.getfile(Client)).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_each_operation_has_its_method_in_both_twins() -> None:
    for route in routes(DOCUMENT):
        assert callable(getattr(Client, route.name))
        assert inspect.signature(getattr(Client, route.name)).parameters == inspect.signature(getattr(AsyncClient, route.name)).parameters


def test_every_type_can_be_decoded() -> None:
    """A union that msgspec cannot tell apart would fail here."""
    kinds = [kind for kind in vars(structs).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    assert len(kinds) > 50
    for kind in kinds:
        if kind is not msgspec.Struct:
            msgspec.json.Decoder(kind)


@pytest.mark.parametrize("route", routes(DOCUMENT), ids=lambda route: route.name)
def test_examples_of_answers_are_of_the_clients_types(route) -> None:  # type: ignore[no-untyped-def]
    entry = route.answers.get("application/json")
    if entry is None:
        return
    kind = getattr(structs, entry["schema"]["$ref"].rpartition("/")[2])
    found = msgspec.to_builtins(msgspec.convert(entry["example"], kind))
    assert found.keys() >= {name for name, value in entry["example"].items() if value}


@pytest.mark.parametrize("route", routes(DOCUMENT), ids=lambda route: route.name)
def test_examples_of_the_page_reach_the_route_that_they_describe(route) -> None:  # type: ignore[no-untyped-def]
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(404, json={"status": 404, "title": "no such pool", "detail": "none"})

    with Client("http://here", transport=httpx.MockTransport(answer)) as client:
        for example in client_examples(route, DOCUMENT["components"]["schemas"]):
            with pytest.raises(ApiError):
                exec(example, {"client": client, "msgspec": msgspec, **vars(structs)})  # noqa: S102
    if route.body is not None:
        sent, wanted = json.loads(asked[0].content), body_example(route, DOCUMENT["components"]["schemas"])
        if route.name == "send_outcomes":  # the client adds the ids that are missing
            given = wanted if isinstance(wanted, list) else [wanted]
            wanted = [{"id": one["id"], **example} for one, example in zip(sent, given, strict=True)]
        assert sent == wanted
    assert asked[0].method == route.method
    assert re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), asked[0].url.raw_path.decode().partition("?")[0])


def test_outcomes_get_ids_and_a_pool_its_answers(api: Running, client: Client) -> None:
    made = client.create_pool("blitz", PoolWanted(kind="games", label="Blitz"))
    assert (made.pool, made.label, made.head) == ("blitz", "Blitz", None)
    accepted = client.send_outcomes([GAME, {"v": 1, "pool": "blitz", "retracts": "x"}, msgspec.structs.replace(GAME, id="mine")])
    assert (accepted.accepted, len(set(accepted.ids)), accepted.ids[2]) == (3, 3, "mine")
    assert [one.pool for one in client.list_pools().pools] == ["blitz"]
    publish(api)
    board = client.get_board("blitz", "elo", count=1)
    assert (board.total, [row.agent for row in board.rows], board.certificate) == (2, ["ann"], None)
    assert client.get_board_around("blitz", "elo", "a/b", count=1).rows[0].agent == "a/b"
    assert client.request_generation("blitz", GenerationAsked(aliases={"ann-old": "ann"})).wish >= 0
    assert client.livez()


def test_an_export_yields_the_outcomes_that_were_sent(client: Client) -> None:
    sent = [msgspec.structs.replace(GAME, id=f"g{i}", time=5.0) for i in range(50)]
    client.send_outcomes(sent)
    with client.export_outcomes("blitz") as download:
        rows = list(download.rows())
    assert [row["id"] for row in rows] == [one.id for one in sent]
    with client.export_outcomes("blitz", format="csv") as download:
        assert b"".join(download.chunks()).count(b"\n") >= 50


def test_a_problem_is_an_error_with_its_parts(client: Client) -> None:
    with pytest.raises(ApiError) as found:
        client.get_pool("none")
    assert (found.value.status, found.value.title) == (404, "no such pool")
    assert found.value.request_id
    with pytest.raises(ApiError) as found:
        client.send_outcomes([{"v": 1, "pool": "blitz", "sides": []}])
    assert (found.value.status, found.value.refusals[0].item) == (422, 0)
    first = found.value.refusals[0]
    assert f"; outcome 0, {first.path}: {first.rule}" in str(found.value)
    assert "more" not in str(found.value)
    good = {"v": 1, "id": "g", "pool": "blitz", "time": 0.0, "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}
    with pytest.raises(ApiError, match=r"; outcome 1, .*: .* \(and 2 more in `refusals`\)$"):
        client.send_outcomes([good, *[{**good, "sides": good["sides"][:1]} for _ in range(3)]])


def test_a_key_is_sent(keyed: Running) -> None:
    with Client(keyed.url) as stranger, pytest.raises(ApiError, match="401"):
        stranger.create_pool("blitz", PoolWanted(kind="games"))
    with Client(keyed.url, "a-key") as admin:
        assert admin.create_pool("blitz", PoolWanted(kind="games")).pool == "blitz"


def test_the_asynchronous_twin_reads_and_writes_an_application_in_process(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    log = open_sqlite_log(tmp_path / "log.sqlite", 8)
    store = RedisStore(api_redis, log.outcomes.identity)
    app = create_app(Settings(data=tmp_path, redis=api_redis), log, store, clock=lambda: NOW)

    async def run() -> tuple[int, list[str]]:
        async with AsyncClient("http://127.0.0.1:8000", transport=httpx.ASGITransport(app)) as client:  # type: ignore[arg-type]
            await client.create_pool("blitz", PoolWanted(kind="games"))
            accepted = await client.send_outcomes([GAME, GAME])
            async with client.export_outcomes("blitz") as download:
                rows = [row["id"] async for row in download.rows()]
            with pytest.raises(ApiError):
                await client.get_pool("none")
            return accepted.accepted, [one for one in rows if one in accepted.ids]

    try:
        count, ids = asyncio.run(run())
    finally:
        log.close()
        store.close()
    assert (count, len(ids)) == (2, 2)


def test_the_examples_of_the_guide_print_what_they_say(api: Running) -> None:
    """In their order, as they stand in the guide, on one installation. tests/integration/test_examples.py runs those that print nothing."""
    page = (Path(__file__).parents[3] / "docs/guides/client.md").read_text(encoding="utf-8")
    blocks = [one for one in re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) if "\n# " in one]
    assert len(blocks) == 4
    for block in blocks:
        said = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.replace("http://127.0.0.1:8000", api.url), "example", "exec"), {"__name__": "example"})  # noqa: S102
        assert printed.getvalue().splitlines() == said
