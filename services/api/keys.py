"""Bearer keys: who they are, what they allow, and where they are read from. Only their SHA-256 digests are held.

A key is 256 random bits, so its plain digest cannot be turned back; a slow hash would protect nothing more.
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
"""How often a keys file is looked at, so that keys can be changed without a restart."""


class Key(NamedTuple):
    """name: for the log; admin: whether it allows more than writing outcomes."""

    name: str
    admin: bool


class Keys:
    """The keys of one installation, from settings and from the keys file. timer: seconds that never go back.

    Raises `InputError` where the keys file cannot be read or breaks its format, which is only looked at once at the start: later a file
    that cannot be read leaves the keys as they are.
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
        """Whether there are keys at all; a keys file closes the API also while it is empty."""
        return bool(self._fixed) or self._file is not None

    def find(self, given: str) -> Key | None:
        """The key whose text is `given`."""
        self._look()
        digest = _digest(given)
        return self._fixed.get(digest) or self._of_file.get(digest)

    def _look(self) -> None:
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
            return  # in the middle of being written: looked at again


def read_keys(path: Path) -> Mapping[str, Key]:
    """The keys of a file, by digest. Each line: `write|admin NAME sha256:DIGEST`; lines that are empty or begin with # are skipped.

    Raises `InputError` with the line's number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("EQUIRANK_KEYS_FILE", str(path), f"must name a text file that can be read ({error})") from error
    found: dict[str, Key] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InputError("EQUIRANK_KEYS_FILE", f"line {number}", "must be `write NAME sha256:DIGEST` or `admin NAME sha256:DIGEST`")
        found[match["digest"]] = Key(match["name"], admin=match["scope"] == "admin")
    return found


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when the file does; None where it cannot be looked at."""
    try:
        status = None if path is None else path.stat()
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)
