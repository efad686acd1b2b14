"""Progress of `equirank replay`: a small file for each log, pool and content, so that an interrupted replay can continue."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from services.runtime.atomic_write import write_atomically


class Progress(msgspec.Struct, frozen=True):
    """Progress of a replay.

    Attributes:
        sent: Number of outcomes, from the beginning of the file, that the log acknowledged.
        total: Number of outcomes in the file.
        position: Log offset after the last sent record.
    """

    sent: int
    total: int
    position: int


@dataclass(frozen=True, slots=True)
class Journal:
    """Progress file of one replay. It is written after the log's acknowledgement, so it never counts outcomes that were not sent."""

    path: Path

    @classmethod
    def of(cls, folder: Path, *key: str) -> "Journal":
        """The journal of a replay. folder: Folder of journals. key: Everything that determines what is sent and where."""
        name = hashlib.blake2b(msgspec.json.encode(key), digest_size=16).hexdigest()
        return cls(folder / f"{name}.json")

    def read(self) -> Progress | None:
        """The recorded progress; None if there is no readable file."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Progress)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def write(self, progress: Progress) -> None:
        """Write the progress atomically."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(self.path, msgspec.json.encode(progress))
