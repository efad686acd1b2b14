"""Bearer keys: their names, their scopes, and their sources. Only the SHA-256 digests of keys are kept in memory.

A key has 256 random bits, so it cannot be computed from its SHA-256 digest. A slow hash would not add protection.
"""

import re
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from ratings_core.errors import InputError
from services.runtime.settings import Settings

_LINE: Final = re.compile(r"(?P<scope>write|admin)\s+(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,62})\s+sha256:(?P<digest>[0-9a-f]{64})")
_LOOK_SECONDS: Final = 5.0
"""Time between two checks whether the keys file changed. Keys can thereby be changed without a restart."""


class Key(NamedTuple):
    """A key. name: for the log; admin: whether the key allows more than writing outcomes and exporting them."""

    name: str
    admin: bool


class Keys:
    """The keys of one installation, from the settings and from the keys file. timer: monotonic time in seconds.

    Raises `InputError` at construction if the keys file cannot be read or is invalid. If a changed file cannot be read or is invalid later,
    the present keys stay.
    """

    def __init__(self, settings: Settings, timer: Callable[[], float] = time.monotonic) -> None:
        self._fixed = {
            **{_digest(key.get_secret_value()): Key(f"write-{i}", admin=False) for i, key in enumerate(settings.write_keys, 1)},
            **{_digest(key.get_secret_value()): Key(f"admin-{i}", admin=True) for i, key in enumerate(settings.admin_keys, 1)},
        }
        self._file, self._timer = settings.keys_file, timer
        self._looked_at, self._stamp = timer(), _stamp(self._file)
        self._of_file = {} if self._file is None else read_keys(self._file)

    @property
    def any(self) -> bool:
        """Whether requests need a key. True with a keys file, even an empty one."""
        return bool(self._fixed) or self._file is not None

    def find(self, given: str) -> Key | None:
        """Return the key whose text is `given`; None for an unknown key."""
        self._reload_if_changed()
        digest = _digest(given)
        return self._fixed.get(digest) or self._of_file.get(digest)

    def _reload_if_changed(self) -> None:
        now = self._timer()
        if self._file is None or now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        stamp = _stamp(self._file)
        if stamp in (None, self._stamp):
            return
        try:
            self._of_file, self._stamp = read_keys(self._file), stamp
        except InputError:
            return  # perhaps half written: `_stamp` stays, so the next check reads the file again


def read_keys(path: Path) -> Mapping[str, Key]:
    """Read the keys of a file, by digest. Raises `InputError` with the line's number.

    Each line is `write|admin NAME sha256:DIGEST`. Empty lines and lines that begin with # are skipped.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("EQUIRANK_KEYS_FILE", str(path), f"must name a text file that can be read ({error})") from error
    keys: dict[str, Key] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InputError("EQUIRANK_KEYS_FILE", f"line {number}", "must be `write NAME sha256:DIGEST` or `admin NAME sha256:DIGEST`")
        keys[match["digest"]] = Key(match["name"], admin=match["scope"] == "admin")
    return keys


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """Return the file's modification time (ns), size and inode, to detect changes; None if the file cannot be read."""
    try:
        status = None if path is None else path.stat()
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)
