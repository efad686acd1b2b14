"""Write and check the inventory of a backup: a file in its folder with paths, sizes and checksums of all other files.

SQLite files have no checksums, so SQLite does not detect a flipped bit.
"""

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from ratings_core.errors import InputError

FILE: Final = "backup.json"
_FORMAT: Final = 1


class FileEntry(msgspec.Struct, frozen=True):
    """Size in bytes and SHA-256 (hexadecimal) of a file."""

    bytes: int
    sha256: str


class _Lead(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of every format. version: release of Equirank that made the backup."""

    format: int
    version: str


class Inventory(_Lead, frozen=True, kw_only=True):
    """Inventory of one backup. files: path in the folder, with slashes -> file."""

    files: dict[str, FileEntry]


def write(folder: Path) -> None:
    """Write the inventory of all files of a folder. Raises `OSError`."""
    files = {path.relative_to(folder).as_posix(): _held(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    body = msgspec.json.encode(Inventory(format=_FORMAT, version=version("equirank"), files=files))
    (folder / FILE).write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def check(folder: Path) -> Inventory | None:
    """Read the inventory of a folder, and compare all files that it lists.

    Returns:
        The inventory; None for a backup of an early release without one.

    Raises:
        InputError: A file is missing or changed, or a later release made the backup.
    """
    if not (folder / FILE).exists():
        return None
    checksum, _, body = (folder / FILE).read_bytes().partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise _damaged(folder, FILE, "its checksum differs")
    lead = msgspec.json.decode(body, type=_Lead)
    if lead.format > _FORMAT:
        raise InputError("source", str(folder), f"was made by a later release (Equirank {lead.version}): restore it with that release")
    inventory = msgspec.json.decode(body, type=Inventory)
    for name, held in inventory.files.items():
        _check_file(folder, name, held)
    return inventory


def _check_file(folder: Path, name: str, held: FileEntry) -> None:
    if not (folder / name).is_file():
        raise _damaged(folder, name, "it is missing")
    if (size := (folder / name).stat().st_size) != held.bytes:
        raise _damaged(folder, name, f"it has {size} of {held.bytes} bytes")
    if _held(folder / name) != held:
        raise _damaged(folder, name, "its checksum differs")


def _damaged(folder: Path, name: str, why: str) -> InputError:
    return InputError("source", str(folder), f"must be complete and intact, but {name} is not: {why}; restore another backup")


def _held(path: Path) -> FileEntry:
    with path.open("rb") as file:
        return FileEntry(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
