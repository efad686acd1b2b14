"""What `equirank replay` has sent: a small file for each (log, pool, content), so that a replay that was cut off goes on."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from services.runtime.atomic_write import write_whole


class Progress(msgspec.Struct, frozen=True):
    """sent: outcomes the log acknowledged, from the file's first on; total: those of the file; position: after the last one sent."""

    sent: int
    total: int
    position: int


@dataclass(frozen=True, slots=True)
class Journal:
    """One replay's file in the data folder. Written after the log acknowledged, so what it says is never more than was sent."""

    path: Path

    @classmethod
    def of(cls, folder: Path, *key: str) -> "Journal":
        """The journal of a replay. key: all that decides what it sends and where."""
        name = hashlib.blake2b(msgspec.json.encode(key), digest_size=16).hexdigest()
        return cls(folder / f"{name}.json")

    def read(self) -> Progress | None:
        """What was noted; None where nothing readable was."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Progress)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def write(self, progress: Progress) -> None:
        """Note it, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(self.path, msgspec.json.encode(progress))
