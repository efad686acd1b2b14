"""Checkpoints: data objects written first, then a manifest that names them. Crash at any moment leaves the one before intact.

A manifest is named by partition, position, epoch, and a number where those repeat; recovery takes the newest one that verifies by
content (its own checksum, and the checksum of every object it names). Nothing is renamed or overwritten with other bytes, so plain
object stores serve. An object is named by pool, generation, position and epoch: a pool that did not move is named again, not written again.
"""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from mmap import mmap
from typing import Any, Final

import msgspec
import numpy as np

from services.checkpoints.blob_files import CALL_SECONDS, BlobFiles
from services.checkpoints.objects import BadObject, pack, unpack

log = logging.getLogger("equirank.checkpoint")

FORMAT: Final = 1
_MANIFEST = re.compile(r"(\d{20})-(\d{20})(?:-(\d{6}))?\.json$")
_OBJECT = re.compile(r"-(\d{20})\.eqr$")


class PoolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One pool in a manifest. position: log offset up to which its object was folded (behind the partition's when stopped)."""

    pool: str
    kind: str
    generation: int
    position: int
    outcomes: int
    object: str
    sha256: str
    bytes: int
    digest: str
    stopped: str | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One checkpoint of one partition. position: first offset not yet folded; last_offset, last_sha256: the record before it.

    builds: generations under construction, each at its own position; sequence: counts manifests of one position and epoch.
    """

    format: int
    partition: int
    position: int
    epoch: int
    log_identity: str
    last_offset: int | None
    last_sha256: str | None
    fold_version: int
    written_at: float
    pools: list[PoolEntry]
    builds: list[PoolEntry] = []
    sequence: int = 0

    @property
    def entries(self) -> list[PoolEntry]:
        """Everything that has an object."""
        return [*self.pools, *self.builds]


class SkippedCheckpoint(msgspec.Struct, frozen=True):
    """A manifest that recovery passed over, and why."""

    name: str
    reason: str

    @property
    def position(self) -> int:
        """Its position, as its name tells, whatever folder stands before it."""
        return int(self.name.rsplit("/", 1)[-1].partition("-")[0])


class CheckpointStore:
    """Checkpoints under one fsspec URL. One writer a partition (the fence and the epoch see to that); any number of readers.

    A file system that fails or hangs raises `OSError`. seconds: deadline of one call to it, as `BlobFiles` has it.
    blobs: the files under the URL; results of solves and intervals lie there too.
    """

    def __init__(self, url: str, seconds: float = CALL_SECONDS) -> None:
        self.url = url
        self.blobs = BlobFiles(url, seconds)

    def write_object(self, name: str, arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> tuple[str, int]:
        """Write a data object; its SHA-256 and size."""
        parts, sha = pack(arrays, meta), hashlib.sha256()
        for part in parts:
            sha.update(part)
        self.blobs.write(name, parts)
        return sha.hexdigest(), sum(len(part) for part in parts)

    def read_object(
        self, name: str, sha256: str | None = None, *, mapped: bool = False
    ) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """(arrays, meta) of an object. mapped: as views of the file itself, where it is a local one: processes that read the same object
        share its memory, and one that is damaged while it is mapped may end its reader.

        Raises `BadObject` when it is missing, changed or of another format.
        """
        data = self._read(name, mapped=mapped and self.blobs.is_local)
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise BadObject(f"{name}: checksum differs")
        return unpack(data, checked=sha256 is not None)

    def read_pool(self, entry: PoolEntry, *, mapped: bool = False) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays of a pool. mapped: as `read_object` says. Raises `BadObject`."""
        return self.read_object(entry.object, entry.sha256, mapped=mapped)[0]

    def write_manifest(self, manifest: Manifest) -> str:
        """Write a manifest (its objects must stand already); its name."""
        body = msgspec.json.encode(manifest)
        name = _manifest_name(manifest)
        self.blobs.write(name, [hashlib.sha256(body).hexdigest().encode() + b"\n", body])
        return name

    def manifests(self, partition: int) -> list[str]:
        """Names of a partition's manifests, newest (position, then epoch) first."""
        names = self.blobs.names(_folder(partition))
        return [f"{_folder(partition)}/{name}" for name in sorted(filter(_MANIFEST.match, names), key=_order, reverse=True)]

    def read_manifest(self, name: str) -> Manifest:
        """The manifest of that name. Raises `BadObject` when it is not whole or of a later format."""
        checksum, _, body = bytes(self._read(name)).partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != checksum:
            raise BadObject(f"{name}: checksum differs")
        try:
            manifest = msgspec.json.decode(body, type=Manifest)
        except msgspec.DecodeError as error:
            raise BadObject(f"{name}: {error}") from error
        if manifest.format != FORMAT:
            raise BadObject(f"{name}: format {manifest.format}, this version reads {FORMAT}")
        return manifest

    def newest(self, partition: int, skipped: list[SkippedCheckpoint] | None = None) -> Manifest | None:
        """The newest manifest that is whole (its objects are not read); the others are added to `skipped`."""
        return next(self._whole(self.manifests(partition), skipped), None)

    def recover(self, partition: int, skipped: list[SkippedCheckpoint]) -> tuple[Manifest, dict[str, dict[str, Any]]] | None:
        """The newest checkpoint that verifies with all its objects: the manifest and the arrays of each object, by its name."""
        for manifest in self._whole(self.manifests(partition), skipped):
            try:
                return manifest, {entry.object: self.read_pool(entry) for entry in manifest.entries}
            except BadObject as error:
                skipped.append(SkippedCheckpoint(_manifest_name(manifest), str(error)))
        return None

    def generations(self, partition: int, pool: str) -> set[int]:
        """Numbers of the generations of a pool that have a data object, whether or not a manifest names it."""
        named = re.compile(rf"{re.escape(pool)}-(\d+)-\d{{20}}-\d{{20}}\.eqr$")
        return {int(match[1]) for name in self.blobs.names(_objects(partition)) if (match := named.match(name))}

    def drop_generations(self, partition: int, first: Mapping[str, int]) -> None:
        """Remove the manifests of a partition that hold an earlier generation of a pool than `first` says, whose names were erased.

        `prune` removes the objects that only these name.
        """
        for name in self.manifests(partition):
            for manifest in self._whole([name]):
                if any(entry.generation < first.get(entry.pool, 0) for entry in manifest.entries):
                    self.blobs.remove(name)

    def objects(self, partition: int) -> set[str]:
        """Names of the data objects of a partition, whether or not a manifest names them."""
        return {f"{_objects(partition)}/{file}" for file in self.blobs.names(_objects(partition))}

    def prune(self, partition: int, keep: int, epoch: int, written: str | None = None) -> None:
        """Remove all but the newest `keep` manifests of a partition; then the objects that no manifest left names.

        Objects of epochs after `epoch` stay: their owner may be about to name them. written: name of the manifest just written. Those of
        later positions stay and do not count: recovery passed them over, or another owner wrote them.
        """
        names = self.manifests(partition)
        keep += names.index(written) if written in names else 0
        for name in names[keep:]:
            self.blobs.remove(name)
        named = {entry.object for manifest in self._whole(names[:keep]) for entry in manifest.entries}
        for name in self.objects(partition) - named:
            if _epoch(name) <= epoch:
                self.blobs.remove(name)

    def _whole(self, names: Sequence[str], skipped: list[SkippedCheckpoint] | None = None) -> Iterator[Manifest]:
        """The manifests of these names that are whole. The others are added to `skipped`, which recovery logs."""
        for name in names:
            try:
                yield self.read_manifest(name)
            except BadObject as error:
                if skipped is not None:
                    skipped.append(SkippedCheckpoint(name, str(error)))

    def _read(self, name: str, *, mapped: bool = False) -> bytes | mmap:
        try:
            return self.blobs.map(name) if mapped else self.blobs.read(name)
        except FileNotFoundError as error:
            raise BadObject(f"{name}: not found") from error


def object_name(partition: int, pool: str, generation: int, position: int, epoch: int) -> str:
    """Name of a pool's data object."""
    return f"{_objects(partition)}/{pool}-{generation}-{position:020d}-{epoch:020d}.eqr"


def _epoch(name: str) -> int:
    """Epoch in an object's name; a file of another kind counts as old."""
    match = _OBJECT.search(name)
    return int(match[1]) if match else 0


def _order(name: str) -> list[int]:
    """Position, epoch and sequence in a manifest's name."""
    match = _MANIFEST.match(name)
    return [int(part or 0) for part in match.groups()] if match else []


def _manifest_name(manifest: Manifest) -> str:
    again = f"-{manifest.sequence:06d}" if manifest.sequence else ""
    return f"{_folder(manifest.partition)}/{manifest.position:020d}-{manifest.epoch:020d}{again}.json"


def _folder(partition: int) -> str:
    return f"checkpoints/p{partition:05d}"


def _objects(partition: int) -> str:
    return f"objects/p{partition:05d}"
