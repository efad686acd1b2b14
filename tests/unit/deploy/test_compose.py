"""deploy/compose.yaml: its files exist, its settings exist, only loopback is open, and no password is written down."""

import hashlib
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.api.keys import read_keys
from services.runtime.settings import Settings

FOLDER = Path(__file__).resolve().parents[3] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_mounted_files_and_volumes_exist() -> None:
    for name, service in SERVICES.items():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert (FOLDER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], (name, source)


def test_services_wait_for_services_that_exist() -> None:
    assert {other for service in SERVICES.values() for other in service.get("depends_on", [])} <= set(SERVICES)


def test_only_loopback_is_open_by_default() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert {re.sub(r"^\$\{EQUIRANK_BIND:-(.*?)\}", r"\1", port).split(":")[0] for port in ports} == {"127.0.0.1"}
    assert "ports" not in SERVICES["kafka"] | SERVICES["redis"]


def test_every_process_but_the_first_is_an_ordinary_user() -> None:
    assert {name for name, service in SERVICES.items() if service["user"] == "0:0"} == {"prepare"}


def test_settings_exist() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    used = {name.lower() for name in re.findall(r"^ +EQUIRANK_([A-Z_]+):", text, re.MULTILINE)}
    assert len(used) >= 6
    assert used <= set(Settings.model_fields)


def test_keys_are_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.chown", lambda *_: None)
    script = (FOLDER / "compose/prepare.py").read_text(encoding="utf-8").replace('"/secrets"', f'"{tmp_path}"')
    (tmp_path / "prepare.py").write_text(script, encoding="utf-8")
    for _ in range(2):
        runpy.run_path(str(tmp_path / "prepare.py"))
    keys = read_keys(tmp_path / "keys")
    assert {key.admin for key in keys.values()} == {True, False}
    for name in ("write", "admin"):
        digest = hashlib.sha256((tmp_path / f"{name}-key").read_bytes()).hexdigest()
        assert f"{name} compose sha256:{digest}\n" in (tmp_path / "keys").read_text()
    assert (tmp_path / "redis-url").read_text().split(":")[2].split("@")[0] in (tmp_path / "users.acl").read_text()
