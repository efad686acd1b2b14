"""Files that only their owner may read: names and results of people, and Ray's token, with which others could run code on this machine."""

import os
import secrets
from pathlib import Path
from typing import Final

_PRIVATE: Final = 0o077
_TOKEN_BYTES: Final = 32


def make_files_private() -> None:
    """Set the umask so that only the owner may read the files that this process and its children create."""
    os.umask(_PRIVATE)


def write_token(folder: Path) -> Path:
    """Write a new random token to a file in `folder`, and return the path of the file. The folder gets mode 0700 and the file 0600."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    path = folder / "auth_token"
    path.unlink(missing_ok=True)
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w") as file:
        file.write(secrets.token_hex(_TOKEN_BYTES))
    return path
