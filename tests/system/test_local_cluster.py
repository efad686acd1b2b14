"""deploy/local/cluster: brokers, Ray nodes and two APIs behind nginx. A killed API is seen by no client."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deploy.local.cluster.installation import Installation
from deploy.local.kafka.broker import missing
from tests.support import outcomes
from tests.support.installation import until
from tests.support.waiting import PATIENCE

LACKING = missing() or next((f"{program} is missing" for program in ("redis-server", "nginx") if shutil.which(program) is None), None)
pytestmark = pytest.mark.skipif(LACKING is not None, reason=f"no local cluster: {LACKING}")
POOL = "/v1/pools/ladder"


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="eqc-") as folder, Installation(Path(folder)) as running:
        running.wait_until_ready()
        yield running


def game(number: int) -> dict[str, object]:
    return outcomes.game(f"g{number}", "ann", "bob", pool="ladder", time=1.7e9 + number)


def test_a_killed_api_is_seen_by_no_client(installation: Installation) -> None:
    with httpx.Client(base_url=installation.environment["EQUIRANK_URL"], timeout=PATIENCE, trust_env=False) as client:
        assert client.put(POOL, json={"kind": "games"}).status_code == 201
        answers = []
        for number in range(60):
            if number == 20:
                installation.kill("api-0")
            answers += [client.post("/v1/outcomes", json=[game(number)]).status_code, client.get("/v1/pools").status_code]
        assert set(answers) <= {200, 202}, f"{answers}\n{installation.output('nginx')}\n{installation.output('api-1')}"
        until(lambda: (head := client.get(POOL).json()["head"]) and head["outcomes"] == 60, "each outcome is counted once")


def test_a_killed_nginx_is_started_again_once(installation: Installation) -> None:
    with httpx.Client(base_url=installation.environment["EQUIRANK_URL"], timeout=PATIENCE, trust_env=False) as client:
        installation.kill("nginx")
        until(lambda: not _answers(client), "no process of nginx keeps the port")
        assert "nginx" in installation.revive()
        until(lambda: _answers(client), "nginx answers")
    assert installation.revive() == []


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/livez").status_code == 200
    except httpx.TransportError:
        return False
