"""Generate the keys and passwords of the compose installation once, and make the services' user the owner of its volumes."""

import hashlib
import os
import secrets
from pathlib import Path

USER = 10001
FOLDER = Path("/secrets")


def main() -> None:
    """Write the files of the volume `secrets`, with `ready` last. A second run changes no file."""
    for volume in ("/secrets", "/kafka", "/checkpoints", "/prometheus", "/grafana"):
        os.chown(volume, USER, USER)
    if (FOLDER / "ready").exists():
        return
    redis, keys = secrets.token_hex(24), {name: secrets.token_urlsafe(32) for name in ("write", "admin")}
    for name, key in keys.items():
        _write(f"{name}-key", key)
    _write("keys", "".join(f"{name} compose sha256:{hashlib.sha256(key.encode()).hexdigest()}\n" for name, key in keys.items()))
    _write("users.acl", f"user default off\nuser equirank on >{redis} ~equirank:* &* +@all -@admin -@dangerous +info\n")
    _write("redis-url", f"redis://equirank:{redis}@redis:6379/0")
    _write("grafana", secrets.token_urlsafe(24))
    _write("ready", "ready\n")


def _write(name: str, text: str) -> None:
    path = FOLDER / name
    path.touch(mode=0o400)
    path.write_text(text, encoding="utf-8")
    os.chown(path, USER, USER)


main()
