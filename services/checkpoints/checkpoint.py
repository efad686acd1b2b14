"""Checkpoints: the data objects are written first, then the manifest that names them. A crash leaves the previous checkpoint intact.

The name of a manifest has its partition, position and epoch, and a sequence number if these repeat. Recovery takes the newest manifest
whose own checksum and whose objects' checksums match. No file is renamed or overwritten with other bytes, so a plain object store is
sufficient. The name of an object has its pool, generation, position and epoch. If a pool did not change since the last checkpoint, the
new manifest names the existing object.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from services.checkpoints.blob_files import CALL_SECONDS, BlobFiles
from services.checkpoints.history_files import HistoryFiles, folder_of
from services.checkpoints.objects import BadObject, pack, unpack, unpack_some
from services.state.parts import part

log = logging.getLogger("equirank.checkpoint")

FORMAT: Final = 1
_MANIFEST = re.compile(r"(\d{20})-(\d{20})(?:-(\d{6}))?\.json$")
_OBJECT = re.compile(r"-(\d{20})\.eqr$")


class SliceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One slice of a pool in a manifest.

    Attributes:
        dimension: Key of the tag.
        value: Value of the tag.
        outcomes: Number of outcomes that the slice counted.
        prefix: Prefix of the slice's arrays in the pool's object.
        digest: Digest of these arrays. It changes exactly when the slice does.
    """

    dimension: str
    value: str
    outcomes: int
    prefix: str
    digest: str = ""


class PoolEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pool in a manifest.

    position: log offset up to which the object is folded; of a stopped pool it is below the partition's. history_from: number of the
    first outcomes of the generation whose history has expired. slices: the pool's slices. part: one of them, if the entry is that of a
    slice (`of_slice`), whose arrays are then those of the entry; entries in manifests are of complete pools.
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
    history_from: int = 0
    slices: list[SliceEntry] = []
    part: SliceEntry | None = None

    def slice_of(self, text: str) -> "PoolEntry | None":
        """The entry of the slice that queries write as `text`; None if the pool has no such slice here."""
        known = (self.of_slice(part) for part in self.slices)
        return next((entry for entry in known if entry.slice == text), None)

    def of_slice(self, part: SliceEntry) -> "PoolEntry":
        """The entry of one of the pool's slices: `read_pool` reads the slice's arrays, as those of a pool of its outcomes alone."""
        return msgspec.structs.replace(self, outcomes=part.outcomes, digest=part.digest, slices=[], part=part)

    @property
    def slice(self) -> str:
        """The entry's slice as queries write it; empty for a complete pool."""
        return "" if self.part is None else f"{self.part.dimension}:{self.part.value}"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One checkpoint of one partition.

    Attributes:
        position: First log offset that is not folded.
        last_offset, last_sha256: Offset and SHA-256 of the last folded record; None before the first record.
        pools: Pools that serve.
        builds: Generations under construction, each at its own position.
        sequence: Number of the manifest among those with equal position and epoch.
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
        """Entries of the pools and of the generations under construction: all entries with an object."""
        return [*self.pools, *self.builds]


class SkippedCheckpoint(msgspec.Struct, frozen=True):
    """A manifest that recovery could not use, and the reason."""

    name: str
    reason: str

    @property
    def position(self) -> int:
        """Position of the checkpoint, parsed from the name of the manifest. The name may include folders."""
        return int(self.name.rsplit("/", 1)[-1].partition("-")[0])


class CheckpointStore:
    """Checkpoints under one fsspec URL, for any number of readers. Fence and epoch ensure a single writer for each partition.

    All methods raise `OSError` if the file system fails or exceeds the deadline.

    Args:
        url: URL of the folder.
        seconds: Deadline of a call, see `BlobFiles`.

    Attributes:
        blobs: The files under the URL. Results of solves and intervals are stored there too.
    """

    def __init__(self, url: str, seconds: float = CALL_SECONDS) -> None:
        self.url = url
        self.blobs = BlobFiles(url, seconds)

    def write_object(self, name: str, arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any]) -> tuple[str, int]:
        """Write a data object. Returns its SHA-256 and its size in bytes."""
        parts, sha = pack(arrays, meta), hashlib.sha256()
        for piece in parts:
            sha.update(piece)
        self.blobs.write(name, parts)
        return sha.hexdigest(), sum(len(piece) for piece in parts)

    def read_object(
        self, name: str, sha256: str | None = None, *, mapped: bool = False
    ) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """Read an object. Returns its arrays and its `meta`.

        Args:
            name: Name of the object.
            sha256: Expected SHA-256 of the file; if None, the checksums within the file are checked.
            mapped: Return the arrays as views of the memory-mapped file, if the file is local. Processes that map the same object share
                its memory. If the file is truncated while it is mapped, the process that reads it can crash.

        Raises:
            BadObject: The object is missing or damaged, or has another format.
        """
        data = self._read(name, mapped=mapped and self.blobs.is_local)
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise BadObject(f"{name}: checksum differs")
        return unpack(data, checked=sha256 is not None)

    def read_pool(self, entry: PoolEntry, *, mapped: bool = False) -> dict[str, np.ndarray[Any, Any]]:
        """Read the arrays of a pool, or of the slice of `entry`. mapped: see `read_object`. Raises `BadObject`.

        Of a slice, only its arrays are read and checked: hundreds of slices can lie in one object.
        """
        if entry.part is None:
            return self.read_object(entry.object, entry.sha256, mapped=mapped)[0]
        lead = f"{entry.part.prefix}."
        return part(self._read_some(entry, lambda name: name.startswith(lead)), entry.part.prefix)

    def read_arrays(self, entry: PoolEntry, names: Collection[str]) -> dict[str, np.ndarray[Any, Any]]:
        """Read some arrays of a pool, or of the slice of `entry`, by their names in `read_pool`. The checksum of each array is checked.

        Arrays that the object does not have are left out.

        Arrays of a local file are views of the memory-mapped file; see `read_object`. From an object store, only their bytes are read.

        Raises:
            BadObject: The object is missing or damaged, or has another format.
        """
        if entry.part is None:
            return self._read_some(entry, names.__contains__)
        lead = f"{entry.part.prefix}."
        return part(self._read_some(entry, {lead + name for name in names}.__contains__), entry.part.prefix)

    def _read_some(self, entry: PoolEntry, wanted: Callable[[str], bool]) -> dict[str, np.ndarray[Any, Any]]:
        try:
            if self.blobs.is_local:
                mapped = self.blobs.map(entry.object)
                return unpack_some(lambda start, stop: mapped[start:stop], wanted)
            read = self.blobs.read_range  # a damaged header can give any length
            return unpack_some(lambda start, stop: read(entry.object, start, max(start, min(stop, entry.bytes))), wanted)
        except FileNotFoundError as error:
            raise BadObject(f"{entry.object}: not found") from error

    def newest_entry(self, partition: int, pool: str, generation: int, part: str = "") -> tuple[PoolEntry, float] | None:
        """The entry of a generation of a pool in the newest undamaged manifest, and the time of the manifest in seconds since 1970.

        Until the checkpoint after a switch to a new generation, this generation is one of the manifest's builds. Returns None if the
        manifest does not name the generation, or there is no manifest.

        part: Slice of the pool, such as `language:English`, whose entry is wanted; None is returned if the generation has no such slice.
        """
        manifest = self.newest(partition)
        entries = [] if manifest is None else manifest.entries
        entry = next((candidate for candidate in entries if (candidate.pool, candidate.generation) == (pool, generation)), None)
        if entry is not None and part:
            entry = entry.slice_of(part)
        return None if manifest is None or entry is None else (entry, manifest.written_at)

    def kept_entries(self, partition: int, pool: str, generation: int | None = None) -> Iterator[tuple[PoolEntry, Manifest]]:
        """The entries of a pool in all undamaged manifests, newest first, each with its manifest. Raises `OSError`.

        generation: A generation, which is one of the builds in checkpoints from before its switch. None for the generation that each
            checkpoint's pools have.
        """
        for manifest in self._read_undamaged(self.manifests(partition)):
            entries = manifest.pools if generation is None else manifest.entries
            yield from ((entry, manifest) for entry in entries if entry.pool == pool and generation in (None, entry.generation))

    def write_manifest(self, manifest: Manifest) -> str:
        """Write a manifest, and return its name once the checkpoint is durable. The objects that it names must be written before."""
        body = msgspec.json.encode(manifest)
        name = _manifest_name(manifest)
        self.blobs.write(name, [hashlib.sha256(body).hexdigest().encode() + b"\n", body])
        self.blobs.sync(_objects(manifest.partition), folder_of(manifest.partition), _folder(manifest.partition))
        return name

    def manifests(self, partition: int) -> list[str]:
        """Names of a partition's manifests, in descending order of position, epoch and sequence."""
        names = self.blobs.names(_folder(partition))
        return [f"{_folder(partition)}/{name}" for name in sorted(filter(_MANIFEST.match, names), key=_order, reverse=True)]

    def read_manifest(self, name: str) -> Manifest:
        """Read a manifest. Raises `BadObject` if it is missing or damaged, or has another format."""
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
        """The newest undamaged manifest, without a check of its objects; None if none is left. Damaged ones are added to `skipped`."""
        return next(self._read_undamaged(self.manifests(partition), skipped), None)

    def recover(self, partition: int, skipped: list[SkippedCheckpoint]) -> tuple[Manifest, dict[str, dict[str, Any]]] | None:
        """Load the newest checkpoint whose manifest and objects all have matching checksums.

        Args:
            partition: Number of the partition.
            skipped: List that gets the newer manifests that could not be used.

        Returns:
            The manifest, and the arrays by name of the object; None if no checkpoint can be used.
        """
        for manifest in self._read_undamaged(self.manifests(partition), skipped):
            try:
                return manifest, {entry.object: self.read_pool(entry) for entry in manifest.entries}
            except BadObject as error:
                skipped.append(SkippedCheckpoint(_manifest_name(manifest), str(error)))
        return None

    def generations(self, partition: int, pool: str) -> set[int]:
        """Numbers of the generations of a pool with a data object, including objects that no manifest names."""
        named = re.compile(rf"{re.escape(pool)}-(\d+)-\d{{20}}-\d{{20}}\.eqr$")
        return {int(match[1]) for name in self.blobs.names(_objects(partition)) if (match := named.match(name))}

    def drop_generations(self, partition: int, first: Mapping[str, int]) -> None:
        """Remove the manifests that name old generations of a pool, because these generations still have erased names.

        `prune` removes the objects that only these manifests name.

        Args:
            partition: Number of the partition.
            first: First generation to keep, by pool.
        """
        for name in self.manifests(partition):
            for manifest in self._read_undamaged([name]):
                if any(entry.generation < first.get(entry.pool, 0) for entry in manifest.entries):
                    self.blobs.remove(name)

    def objects(self, partition: int) -> set[str]:
        """Names of the data objects of a partition, including objects that no manifest names."""
        return {f"{_objects(partition)}/{file}" for file in self.blobs.names(_objects(partition))}

    def prune(self, partition: int, keep: int, epoch: int, written: str | None = None) -> None:
        """Remove all but the newest `keep` manifests of a partition, then the objects and files of history that none of these needs.

        Args:
            partition: Number of the partition.
            keep: Number of manifests to keep.
            epoch: Epoch of the caller. Objects of later epochs are kept, because their owner may be about to write a manifest for them.
            written: Name of the manifest just written. Manifests before it in the order of `manifests` are kept and not counted: recovery
                could not use them, or another owner wrote them.
        """
        names = self.manifests(partition)
        keep += names.index(written) if written in names else 0
        for name in names[keep:]:
            self.blobs.remove(name)
        entries = [entry for manifest in self._read_undamaged(names[:keep]) for entry in manifest.entries]
        for name in self.objects(partition) - {entry.object for entry in entries}:
            if _epoch(name) <= epoch:
                self.blobs.remove(name)
        oldest_first = sorted(entries, key=lambda entry: entry.history_from, reverse=True)
        HistoryFiles(self.blobs).prune(partition, epoch, {(entry.pool, entry.generation): entry.history_from for entry in oldest_first})

    def _read_undamaged(self, names: Sequence[str], skipped: list[SkippedCheckpoint] | None = None) -> Iterator[Manifest]:
        """Yield the undamaged manifests of these names. The others are added to `skipped`, which recovery logs."""
        for name in names:
            try:
                yield self.read_manifest(name)
            except BadObject as error:
                if skipped is not None:
                    skipped.append(SkippedCheckpoint(name, str(error)))

    def _read(self, name: str, *, mapped: bool = False) -> bytes | memoryview:
        try:
            return self.blobs.map(name) if mapped else self.blobs.read(name)
        except FileNotFoundError as error:
            raise BadObject(f"{name}: not found") from error


def object_name(partition: int, pool: str, generation: int, position: int, epoch: int) -> str:
    """Name of a pool's data object."""
    return f"{_objects(partition)}/{pool}-{generation}-{position:020d}-{epoch:020d}.eqr"


def _epoch(name: str) -> int:
    """Epoch in the name of an object; 0 for another file, so that `prune` can remove it."""
    match = _OBJECT.search(name)
    return int(match[1]) if match else 0


def _order(name: str) -> list[int]:
    """Position, epoch and sequence in a manifest's name."""
    match = _MANIFEST.match(name)
    return [int(number or 0) for number in match.groups()] if match else []


def _manifest_name(manifest: Manifest) -> str:
    suffix = f"-{manifest.sequence:06d}" if manifest.sequence else ""
    return f"{_folder(manifest.partition)}/{manifest.position:020d}-{manifest.epoch:020d}{suffix}.json"


def _folder(partition: int) -> str:
    return f"checkpoints/p{partition:05d}"


def _objects(partition: int) -> str:
    return f"objects/p{partition:05d}"
