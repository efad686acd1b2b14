"""Keys: from settings and from a file, hashed, named, paced, and slowed where they fail."""

import logging
import os
import ssl
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from ratings_core.errors import InputError
from services.api.keys import Key, Keys, read_keys
from services.api.rates import Buckets
from services.cli.ports import free_port as picked
from services.runtime.settings import Settings
from tests.support.api import Running, running
from tests.support.redis import flush
from tests.support.waiting import PATIENCE, until

GAME = {"v": 1, "pool": "blitz", "time": 5.0, "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}
RETRACT = {"v": 1, "pool": "blitz", "time": 5.0, "retracts": "g1"}


def line(scope: str, name: str, key: str) -> str:
    return f"{scope} {name} sha256:{sha256(key.encode()).hexdigest()}\n"


def post(here: Running, key: str | None, body: object = GAME) -> httpx.Response:
    return here.client.post("/v1/outcomes", json=body, headers={"Authorization": f"Bearer {key}"} if key else {})


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_keys_of_the_settings_are_named_by_their_place() -> None:
    keys = Keys(Settings(write_keys=("w1", "w2"), admin_keys=("a1",)))
    assert [keys.find(key) for key in ("w1", "w2", "a1")] == [
        Key("write-1", admin=False), Key("write-2", admin=False), Key("admin-1", admin=True)
    ]  # fmt: skip


class TestFile:
    def test_a_key_is_found_by_its_digest_only(self, tmp_path: Path) -> None:
        file = tmp_path / "keys"
        file.write_text(f"# who writes\n{line('write', 'ingest.eu', 'k1')}\n{line('admin', 'ops', 'k2')}")
        keys = Keys(Settings(keys_file=file))
        assert (keys.find("k1"), keys.find("k2"), keys.find("k3")) == (Key("ingest.eu", admin=False), Key("ops", admin=True), None)
        assert keys.find(sha256(b"k1").hexdigest()) is None

    def test_it_is_read_again_when_it_changes(self, tmp_path: Path) -> None:
        file, clock = tmp_path / "keys", Clock()
        file.write_text(line("write", "old", "k1"))
        keys = Keys(Settings(keys_file=file), clock)
        file.write_text(line("write", "newer", "k2"))
        clock.now += 4.9
        assert keys.find("k1") is not None
        clock.now += 0.1
        assert (keys.find("k1"), keys.find("k2")) == (None, Key("newer", admin=False))
        file.write_text("write half-a-li")
        clock.now += 6.0
        assert keys.find("k2") == Key("newer", admin=False)
        file.unlink()
        clock.now += 6.0
        assert keys.find("k2") == Key("newer", admin=False)

    @pytest.mark.parametrize("text", ["write a", "root a sha256:" + "0" * 64, "write a sha256:xyz", "write a b sha256:" + "0" * 64, "k1"])
    def test_a_line_of_another_form_is_refused_at_the_start(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "keys"
        file.write_text(f"\n{text}\n")
        with pytest.raises(InputError, match="line 2"):
            read_keys(file)

    def test_a_file_that_is_not_there_is_refused_at_the_start(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="must name a text file"):
            Keys(Settings(keys_file=tmp_path / "none"))

    def test_an_empty_file_closes_the_api(self, tmp_path: Path, api_redis: str) -> None:
        flush(api_redis)
        file = tmp_path / "keys"
        file.touch()
        with running(tmp_path, api_redis, keys_file=file) as here:
            assert post(here, None).status_code == 401
            assert post(here, "anything").status_code == 403


def test_admin_keys_alone_close_the_api(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    with running(tmp_path, api_redis, admin_keys=("a-key",)) as here:
        assert [post(here, key).status_code for key in (None, "wrong", "a-key")] == [401, 403, 202]


def test_who_wrote_is_in_the_log_and_the_key_is_not(tmp_path: Path, api_redis: str, caplog: pytest.LogCaptureFixture) -> None:
    flush(api_redis)
    file = tmp_path / "keys"
    file.write_text(line("admin", "ops", "secret-key"))
    with running(tmp_path, api_redis, keys_file=file) as here, caplog.at_level(logging.INFO, "equirank.api"):
        assert post(here, "secret-key").status_code == 202
        assert post(here, "guess").status_code == 403
    assert "key ops" in caplog.text
    assert "secret-key" not in caplog.text
    assert "guess" not in caplog.text


def test_an_address_whose_keys_fail_is_slowed_and_right_keys_from_it_are_let_in(keyed: Running) -> None:
    """Behind a proxy all clients have one address: a wrong key of one locked out the others."""
    answers = [post(keyed, f"guess-{i}") for i in range(12)]
    assert [answer.status_code for answer in answers] == [403] * 10 + [429] * 2
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 6
    assert keyed.client.put("/v1/pools/blitz", json={"kind": "games"}, headers={"Authorization": "Bearer a-key"}).status_code == 201
    assert [post(keyed, key).status_code for key in ("w-key", None, "guess", "w-key")] == [202, 401, 429, 202]
    assert keyed.client.get("/v1/pools").status_code == 200


def test_a_slowed_address_waits_to_the_end(keyed: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buckets, "wait", lambda *_: 0.5)
    slowed = post(keyed, "guess")
    assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "1")


def test_a_write_key_creates_no_pool(keyed: Running) -> None:
    def put(key: str) -> httpx.Response:
        return keyed.client.put("/v1/pools/of-keys", json={"kind": "games"}, headers={"Authorization": f"Bearer {key}"})

    refused = put("w-key")
    assert (refused.status_code, "needs an admin key" in refused.text) == (403, True)
    assert put("a-key").status_code == 201


def test_a_key_has_a_rate_of_its_own(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    with running(tmp_path, api_redis, write_keys=("k1", "k2"), admin_keys=("a-key",), api_key_rate=0.01) as here:
        assert [post(here, "k1").status_code for _ in range(2)] == [202, 429]
        refused = post(here, "k1")
        assert (refused.status_code, int(refused.headers["retry-after"]) > 50) == (429, True)
        assert post(here, "k2").status_code == 202
        assert post(here, "a-key", RETRACT).status_code == 202, "a retraction is one request"


def test_buckets_refill_and_forget() -> None:
    clock = Clock()
    buckets = Buckets(2.0, 4.0, clock)
    for _ in range(4):
        assert buckets.wait("a") == 0.0
        buckets.take("a")
    assert buckets.wait("a") == pytest.approx(0.5)
    assert buckets.wait("b") == 0.0
    clock.now += 0.5
    assert buckets.wait("a") == 0.0
    buckets.take("a")
    clock.now += 100.0
    for _ in range(4):
        buckets.take("a")
    assert buckets.wait("a") > 0.0, "no more than the burst was saved"
    for i in range(10_001):
        buckets.take(f"n{i}")
    assert len(buckets._left) == 10_000


class TestTls:
    def test_certificate_and_key_come_together(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="set together"):
            Settings(tls_certificate=tmp_path / "c.pem")

    def test_the_api_speaks_https(self, tmp_path: Path, api_redis: str) -> None:
        """`equirank api` itself, with a certificate of the test's own."""
        certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(["openssl", "req", *options, *subject], check=True, capture_output=True)
        port = picked("127.0.0.1")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")} | {
            "EQUIRANK_DATA": str(tmp_path / "data"), "EQUIRANK_REDIS": api_redis, "EQUIRANK_PORT": str(port),
            "EQUIRANK_TLS_CERTIFICATE": str(certificate), "EQUIRANK_TLS_KEY": str(key),
        }  # fmt: skip
        child = subprocess.Popen([sys.executable, "-m", "services.cli.main", "api"], env=environment, stderr=subprocess.PIPE)
        try:
            context = ssl.create_default_context(cafile=str(certificate))
            answer = until_answered(f"https://127.0.0.1:{port}/livez", context)
            assert answer.status_code == 200
            with pytest.raises(httpx.HTTPError):
                httpx.get(f"http://127.0.0.1:{port}/livez", trust_env=False)
        finally:
            child.terminate()
            child.communicate(timeout=PATIENCE)


def until_answered(url: str, context: ssl.SSLContext) -> httpx.Response:
    def answer() -> httpx.Response | None:
        try:
            return httpx.get(url, verify=context, timeout=PATIENCE, trust_env=False)
        except httpx.ConnectError:
            return None

    found: httpx.Response = until(answer, f"{url} answers")
    return found
