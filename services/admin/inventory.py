"""Inventory of a backup, a file in its folder: names, sizes and checksums. SQLite has no checksums and would not notice a flipped bit."""

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from ratings_core.errors import InputError

FILE: Final = "backup.json"
_FORMAT: Final = 1


class FileEntry(msgspec.Struct, frozen=True):
    """One file."""

    bytes: int
    sha256: str


class _Lead(msgspec.Struct, frozen=True, kw_only=True):
    """What every format has. version: of Equirank, that made it."""

    format: int
    version: str


class Inventory(_Lead, frozen=True, kw_only=True):
    """Of one backup. files: by their paths in the folder, with slashes."""

    files: dict[str, FileEntry]


def write(folder: Path) -> None:
    """Take stock of a folder. Raises `OSError`."""
    files = {path.relative_to(folder).as_posix(): _held(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    body = msgspec.json.encode(Inventory(format=_FORMAT, version=version("equirank"), files=files))
    (folder / FILE).write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def check(folder: Path) -> Inventory | None:
    """The inventory of a folder that holds all that it names, as it was; None where an earlier release took none. Raises `InputError`."""
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
