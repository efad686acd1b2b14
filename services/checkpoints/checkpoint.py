"""Checkpoints: data objects written first, then a manifest that names them. Crash at any moment leaves the one before intact.

A manifest is named by partition, position, epoch, and a number where those repeat; recovery takes the newest one that verifies by
content (its own checksum, and the checksum of every object it names). Nothing is renamed or overwritten with other bytes, so plain
object stores serve. An object is named by pool, generation, position and epoch: a pool that did not move is named again, not written again.
"""

import hashlib
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from mmap import mmap
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from services.checkpoints.anchors import Anchors
from services.checkpoints.blob_files import CALL_SECONDS, BlobFiles
from services.checkpoints.objects import BadObject, pack, unpack

log = logging.getLogger("equirank.checkpoint")

FORMAT: Final = 1
_MANIFEST = re.compile(r"(\d{20})-(\d{20})(?:-(\d{6}))?\.json$")
_OBJECT = re.compile(r"-(\d{20})\.eqr$")


class PoolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One pool in a manifest. position: log offset up to which its object was folded (behind the partition's when stopped).

    spare: another object of the same bytes, where the pool rests for so long that all kept checkpoints name its object: one bad file must
    not cost them all.
    """

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
    spare: str | None = None

    @property
    def objects(self) -> list[str]:
        """Names of its objects."""
        return [self.object] if self.spare is None else [self.object, self.spare]


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


class _Anchor(NamedTuple):
    """What pruning has to know of an older manifest that stays: it is read once, as there may be many."""

    written_at: float
    objects: tuple[str, ...]


class SkippedCheckpoint(msgspec.Struct, frozen=True):
    """A manifest that recovery passed over, and why."""

    name: str
    reason: str

    @property
    def position(self) -> int:
        """Its position, as its name tells."""
        return _position(self.name)


class CheckpointStore:
    """Checkpoints under one fsspec URL. One writer a partition (the fence and the epoch see to that); any number of readers.

    A file system that fails or hangs raises `OSError`. seconds: deadline of one call to it, as `BlobFiles` has it.
    blobs: the files under the URL; results of solves and intervals lie there too.
    """

    def __init__(self, url: str, seconds: float = CALL_SECONDS) -> None:
        self.url = url
        self.blobs = BlobFiles(url, seconds)
        self._anchors: dict[int, dict[str, _Anchor]] = {}

    @property
    def is_local(self) -> bool:
        """Whether only this machine sees them, however the URL spells it."""
        return self.blobs.is_local

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
        data = self._read(name, mapped=mapped and self.is_local)
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise BadObject(f"{name}: checksum differs")
        return unpack(data, checked=sha256 is not None)

    def read_pool(self, entry: PoolEntry, *, mapped: bool = False) -> tuple[PoolEntry, dict[str, np.ndarray[Any, Any]]]:
        """The arrays of a pool, and its entry without an object that is not whole. mapped: as `read_object` says. Raises `BadObject`
        where none is whole.
        """
        try:
            return entry, self.read_object(entry.object, entry.sha256, mapped=mapped)[0]
        except BadObject as error:
            if entry.spare is None:
                raise
            log.warning("the spare object is read: %s", error, extra={"pool": entry.pool})
        return msgspec.structs.replace(entry, object=entry.spare, spare=None), self.read_object(entry.spare, entry.sha256, mapped=mapped)[0]

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
        return next(self._whole(partition, skipped), None)

    def recover(self, partition: int, skipped: list[SkippedCheckpoint]) -> tuple[Manifest, dict[str, dict[str, Any]]] | None:
        """The newest checkpoint that verifies with all its objects: the manifest and the arrays of each object, by its name.

        Where a pool's object is not whole and its spare is, the manifest names that one.
        """
        for manifest in self._whole(partition, skipped):
            try:
                return self._arrays(manifest)
            except BadObject as error:
                skipped.append(SkippedCheckpoint(_manifest_name(manifest), str(error)))
        return None

    def first_from(self, partition: int, position: int) -> int | None:
        """Position of the oldest manifest at or after `position`, as its name tells."""
        found = [_position(name) for name in self.manifests(partition)]
        return min((at for at in found if at >= position), default=None)

    def oldest(
        self, partition: int, serves: Callable[[Manifest], bool]
    ) -> tuple[Manifest, dict[str, dict[str, Any]]] | None:
        """The oldest checkpoint that `serves` and verifies with all its objects."""
        for name in reversed(self.manifests(partition)):
            try:
                if serves(manifest := self.read_manifest(name)):
                    return self._arrays(manifest)
            except BadObject:
                continue  # told by recovery, which names it with its reason
        return None

    def drop_generations(self, partition: int, first: Mapping[str, int]) -> None:
        """Remove the manifests of a partition that hold an earlier generation of a pool than `first` says, whose names were erased.

        `prune` removes the objects that only these name.
        """
        for name in self.manifests(partition):
            for manifest in self._kept([name]):
                if any(entry.generation < first.get(entry.pool, 0) for entry in manifest.entries):
                    self.blobs.remove(name)

    def prune(self, partition: int, keep: int, epoch: int, anchors: Anchors | None = None) -> None:
        """Remove all but the newest `keep` manifests of a partition, and its anchors; then the objects that no manifest left names.

        Objects of epochs after `epoch` stay: their owner may be about to name them.
        """
        names = self.manifests(partition)
        anchored = self._anchored(partition, names[keep:], anchors) if anchors is not None else {}
        for name in names[keep:]:
            if name not in anchored:
                self.blobs.remove(name)
        named = {name for manifest in self._kept(names[:keep]) for entry in manifest.entries for name in entry.objects}
        named = named.union(*(one.objects for one in anchored.values()))
        for name in [f"{_objects(partition)}/{file}" for file in self.blobs.names(_objects(partition))]:
            if name not in named and _epoch(name) <= epoch:
                self.blobs.remove(name)

    def _whole(self, partition: int, skipped: list[SkippedCheckpoint] | None) -> Iterator[Manifest]:
        for name in self.manifests(partition):
            try:
                yield self.read_manifest(name)
            except BadObject as error:
                if skipped is not None:
                    skipped.append(SkippedCheckpoint(name, str(error)))

    def _arrays(self, manifest: Manifest) -> tuple[Manifest, dict[str, dict[str, Any]]]:
        pools, builds = [self.read_pool(entry) for entry in manifest.pools], [self.read_pool(entry) for entry in manifest.builds]
        manifest = msgspec.structs.replace(manifest, pools=[entry for entry, _ in pools], builds=[entry for entry, _ in builds])
        return manifest, {entry.object: arrays for entry, arrays in (*pools, *builds)}

    def _kept(self, names: list[str]) -> Iterator[Manifest]:
        for name in names:
            try:
                yield self.read_manifest(name)
            except BadObject:
                continue  # told by recovery, which names it with its reason

    def _anchored(self, partition: int, names: list[str], anchors: Anchors) -> dict[str, _Anchor]:
        """Those of the older manifests (newest first) that stay as anchors."""
        known, found = self._anchors.get(partition, {}), dict[str, _Anchor]()
        for name in reversed(names):
            if name in known:
                found[name] = known[name]
                continue
            for manifest in self._kept([name]):
                objects = tuple(sys.intern(one) for entry in manifest.entries for one in entry.objects)
                found[name] = _Anchor(manifest.written_at, objects)
        older = list(found)
        chosen = anchors.choose([(_position(name), found[name].written_at) for name in older])
        self._anchors[partition] = {older[i]: found[older[i]] for i in chosen}
        return self._anchors[partition]

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


def _position(name: str) -> int:
    """Position in a manifest's name, whatever folder stands before it."""
    return int(name.rsplit("/", 1)[-1].partition("-")[0])


def _manifest_name(manifest: Manifest) -> str:
    again = f"-{manifest.sequence:06d}" if manifest.sequence else ""
    return f"{_folder(manifest.partition)}/{manifest.position:020d}-{manifest.epoch:020d}{again}.json"


def _folder(partition: int) -> str:
    return f"checkpoints/p{partition:05d}"


def _objects(partition: int) -> str:
    return f"objects/p{partition:05d}"
