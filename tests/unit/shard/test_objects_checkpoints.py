"""Data objects and checkpoints: what was written is read, and whatever is not whole is passed over with its reason."""

import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry, SkippedCheckpoint, object_name
from services.checkpoints.objects import MAGIC, BadObject, pack, unpack
from services.runtime.settings import Settings

DTYPES = ("<i8", "<i4", "<u8", "<u4", "|u1", "|i1", "<f8", "|b1")
ARRAYS = {
    "empty": np.zeros((0, 2), np.uint64),
    "flags": np.array([True, False, True]),
    "ratings": np.array([1500.0, -0.0, np.inf]),
    "table": np.arange(12, dtype=np.int32).reshape(3, 4),
}


def packed(arrays: dict[str, np.ndarray], meta: dict[str, object] | None = None) -> bytes:
    return b"".join(pack(arrays, meta or {}))


def same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    kinds = {name: (a.dtype, a.shape) for name, a in found.items()} == {name: (a.dtype, a.shape) for name, a in wanted.items()}
    return kinds and all(found[name].tobytes() == wanted[name].tobytes() for name in wanted)


@given(st.dictionaries(st.text(max_size=9), st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 4), max_size=3)), max_size=5))
def test_objects_come_back_as_they_were(kinds: dict[str, tuple[str, list[int]]]) -> None:
    arrays = {name: np.arange(int(np.prod(shape)), dtype="<i8").astype(dtype).reshape(shape) for name, (dtype, shape) in kinds.items()}
    found, meta = unpack(packed(arrays, {"pool": "blitz"}))
    assert same(found, arrays)
    assert meta == {"pool": "blitz"}


def test_the_same_content_gives_the_same_bytes_whatever_its_layout_in_memory() -> None:
    strided = {name: np.asfortranarray(array) for name, array in reversed(ARRAYS.items())}
    big_endian = {**ARRAYS, "table": ARRAYS["table"].astype(">i4")}
    assert packed(ARRAYS) == packed(strided) == packed(big_endian)


def test_arrays_are_views_that_nobody_can_write_to() -> None:
    found, _ = unpack(packed(ARRAYS))
    with pytest.raises(ValueError, match="read-only"):
        found["table"][0, 0] = 7


def test_an_array_that_readers_could_not_map_is_refused() -> None:
    with pytest.raises(TypeError, match="bad"):
        pack({"bad": np.array(["text"])}, {})


def test_every_truncation_is_seen() -> None:
    whole = packed(ARRAYS, {"pool": "blitz"})
    content = max(i for i, byte in enumerate(whole) if byte) + 1  # what follows is padding
    for length in range(content):
        with pytest.raises(BadObject):
            unpack(whole[:length])


def test_every_flipped_bit_of_content_is_seen() -> None:
    whole = packed(ARRAYS, {"pool": "blitz"})
    undetected = []
    for at in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            try:
                found, meta = unpack(bytes(changed))
            except BadObject:
                continue
            undetected.append(at)
            assert same(found, ARRAYS), f"byte {at}"
            assert meta == {"pool": "blitz"}
    assert all(whole[at] == 0 for at in undetected), "only padding is not checked"


def test_another_format_is_named() -> None:
    with pytest.raises(BadObject) as caught:
        unpack(packed(ARRAYS).replace(MAGIC, b"EQRANK2\n"))
    assert str(caught.value) == f"starts with {b'EQRANK2' + bytes([10])!r}, not {MAGIC!r}"


@pytest.mark.parametrize("header", [b"{", b"[]", b'{"arrays":[{"name":"a"}],"meta":{}}', b"\xff"])
def test_a_header_that_is_no_header_is_named(header: bytes) -> None:
    lead = MAGIC + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + header
    with pytest.raises(BadObject, match=r"^header: "):
        unpack(lead)


# -- checkpoints


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CheckpointStore]:
    """A local folder, and a store of objects that has no folders and no fsync."""
    if request.param == "folder":
        yield CheckpointStore(str(tmp_path / "state"))
        return
    root = f"memory://{uuid.uuid4().hex}"
    yield CheckpointStore(root)
    if (files := fsspec.filesystem("memory")).exists(root):
        files.rm(root, recursive=True)


def entry(store: CheckpointStore, pool: str, position: int, epoch: int, number: int = 3) -> PoolEntry:
    """A pool's data object, written, and its entry."""
    name = object_name(number, pool, 1, position, epoch)
    sha256, size = store.write_object(name, {"at": np.array([position, epoch])}, {"pool": pool})
    return PoolEntry(
        pool=pool, kind="games", generation=1, position=position, outcomes=position, object=name, sha256=sha256, bytes=size, digest="d"
    )


def manifest(position: int, epoch: int, entries: list[PoolEntry], number: int = 3, format_: int = FORMAT) -> Manifest:
    return Manifest(
        format=format_, partition=number, position=position, epoch=epoch, log_identity="log", last_offset=position - 1,
        last_sha256="0" * 64, fold_version=1, written_at=0.0, pools=entries,
    )  # fmt: skip


def write(store: CheckpointStore, position: int, epoch: int, *pools: str) -> str:
    return store.write_manifest(manifest(position, epoch, [entry(store, pool, position, epoch) for pool in pools]))


def at(store: CheckpointStore, skipped: list[SkippedCheckpoint]) -> tuple[int, int] | None:
    """Position and epoch of what recovery takes, as its objects hold them."""
    found = store.recover(3, skipped)
    if found is None:
        return None
    taken, arrays = found
    held = {tuple(arrays[one.object]["at"].tolist()) for one in taken.pools}
    assert held <= {(taken.position, taken.epoch)}
    return taken.position, taken.epoch


def test_a_written_checkpoint_is_durable_with_all_folders_that_were_made_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, synced, fsync = CheckpointStore(str(tmp_path / "state")), set[int](), os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.add(os.fstat(file).st_ino), fsync(file)))
    write(store, 5, 1, "blitz")
    made = [tmp_path, *(tmp_path / "state").rglob("*"), tmp_path / "state"]
    assert len(made) == 8, "two files, five folders, and the folder that holds them"
    assert [path for path in made if path.stat().st_ino not in synced] == []
    store.write_manifest(manifest(7, 1, [], number=9))  # a partition without pools has no folder of objects


def damage(store: CheckpointStore, name: str, byte: int) -> None:
    data = bytearray(store.blobs.read(name))
    data[byte] ^= 1
    store.blobs.write(name, [bytes(data)])


def test_a_checkpoint_comes_back(store: CheckpointStore) -> None:
    name = write(store, 10, 2, "blitz", "bullet")
    found = store.recover(3, [])
    assert found is not None
    taken, arrays = found
    assert taken == store.read_manifest(name) == store.newest(3)
    assert sorted(arrays) == sorted(one.object for one in taken.pools)
    assert store.recover(4, []) is None, "partitions are apart"


@pytest.mark.parametrize("name", ["a b", "é", "50%", "%41", "a::b", "#?&"])
def test_a_data_folder_of_any_name_holds_its_own_checkpoints(tmp_path: Path, name: str) -> None:
    written = write(CheckpointStore(Settings(data=tmp_path / name).checkpoint_url), 10, 2, "blitz")
    assert (tmp_path / name / "state" / written).is_file()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_nothing_there_is_no_checkpoint(store: CheckpointStore) -> None:
    assert store.manifests(3) == []
    assert store.recover(3, []) is None


@given(order=st.permutations([(9, 4), (10, 1), (10, 2), (100, 1)]))
def test_the_newest_is_by_position_then_epoch(order: list[tuple[int, int]]) -> None:
    store = CheckpointStore(f"memory://{uuid.uuid4().hex}")
    for position, epoch in order:
        write(store, position, epoch, "blitz")
    assert at(store, []) == (100, 1)
    assert [tuple(map(int, name.rsplit("/", 1)[-1].removesuffix(".json").split("-"))) for name in store.manifests(3)] == [
        (100, 1), (10, 2), (10, 1), (9, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("byte", [0, 70, -1])
def test_a_damaged_manifest_is_passed_over(store: CheckpointStore, byte: int) -> None:
    write(store, 10, 1, "blitz")
    damage(store, write(store, 20, 1, "blitz"), byte)
    skipped: list[SkippedCheckpoint] = []
    assert at(store, skipped) == (10, 1)
    assert [one.position for one in skipped] == [20]
    assert "checksum" in skipped[0].reason


def test_every_truncation_of_a_manifest_is_seen(store: CheckpointStore) -> None:
    name = write(store, 10, 1)
    whole = store.blobs.read(name)
    for length in range(len(whole)):
        store.blobs.write(name, [whole[:length]])
        with pytest.raises(BadObject):
            store.read_manifest(name)


def test_a_damaged_or_missing_object_takes_its_checkpoint_along(store: CheckpointStore) -> None:
    for position in (10, 20, 30):
        write(store, position, 1, "blitz", "bullet")
    damage(store, object_name(3, "bullet", 1, 30, 1), -64)
    store.blobs.remove(object_name(3, "blitz", 1, 20, 1))
    skipped: list[SkippedCheckpoint] = []
    assert at(store, skipped) == (10, 1)
    assert [(one.position, one.reason.rpartition(": ")[2]) for one in skipped] == [(30, "checksum differs"), (20, "not found")]


def test_an_object_whole_in_itself_but_not_the_one_named_is_seen(store: CheckpointStore) -> None:
    write(store, 10, 1, "blitz")
    store.write_object(object_name(3, "blitz", 1, 10, 1), {"at": np.array([99, 99])}, {"pool": "blitz"})
    assert store.recover(3, []) is None


def test_a_manifest_of_a_later_format_is_passed_over_and_named(store: CheckpointStore) -> None:
    write(store, 10, 1, "blitz")
    store.write_manifest(manifest(20, 1, [], format_=FORMAT + 1))
    skipped: list[SkippedCheckpoint] = []
    assert at(store, skipped) == (10, 1)
    assert f"format {FORMAT + 1}" in skipped[0].reason


def test_a_manifest_of_unknown_shape_is_passed_over(store: CheckpointStore) -> None:
    name = write(store, 10, 1, "blitz")
    body = msgspec.json.encode({"format": FORMAT, "surprise": True})
    store.blobs.write(name, [hashlib.sha256(body).hexdigest().encode() + b"\n" + body])
    with pytest.raises(BadObject):
        store.read_manifest(name)


def test_pruning_keeps_what_the_newest_manifests_name(store: CheckpointStore) -> None:
    old = entry(store, "quiet", 10, 1)  # a pool that does not move is named again and again
    for position in (10, 20, 30, 40):
        store.write_manifest(manifest(position, 1, [old, entry(store, "busy", position, 1)]))
    entry(store, "orphan", 35, 1)  # written before a crash, named by nobody
    other = store.write_manifest(manifest(5, 1, [entry(store, "busy", 5, 1, number=4)], number=4))
    store.prune(3, keep=2, epoch=1)
    assert [store.read_manifest(name).position for name in store.manifests(3)] == [40, 30]
    kept = [object_name(3, *at, 1) for at in (("busy", 1, 30), ("busy", 1, 40), ("quiet", 1, 10))]
    assert store.blobs.tree("objects/p00003") == sorted(kept)
    for name in store.manifests(3):
        for one in store.read_manifest(name).pools:
            store.read_object(one.object, one.sha256)
    assert store.manifests(4) == [other], "other partitions are left alone"
    assert len(store.blobs.tree("objects/p00004")) == 1


def test_a_manifest_of_the_release_before_with_copies_of_objects_is_read_and_pruned(store: CheckpointStore) -> None:
    """That release wrote a second object (`spare`) of a pool that did not move."""
    held = entry(store, "quiet", 10, 1)
    store.blobs.write(copy := "objects/p00003/quiet-1-copy.eqr", [store.blobs.read(held.object)])
    older = msgspec.to_builtins(written := manifest(20, 1, [held]))
    older["pools"][0]["spare"] = copy
    body = msgspec.json.encode(older)
    store.blobs.write(store.write_manifest(written), [hashlib.sha256(body).hexdigest().encode() + b"\n" + body])
    found = store.recover(3, skipped := [])
    assert found is not None
    assert (found[0], list(found[1]), skipped) == (written, [held.object], [])
    store.prune(3, keep=1, epoch=1)
    assert store.blobs.tree("objects/p00003") == [held.object]


def test_pruning_leaves_what_a_newer_owner_is_about_to_name(store: CheckpointStore) -> None:
    write(store, 10, 1, "blitz")
    coming = entry(store, "blitz", 20, 7)
    store.prune(3, keep=1, epoch=1)
    store.read_object(coming.object, coming.sha256)
    store.prune(3, keep=1, epoch=7)
    with pytest.raises(BadObject, match="not found"):
        store.read_object(coming.object, coming.sha256)


def test_pruning_when_a_kept_manifest_is_damaged_leaves_a_checkpoint_that_verifies(store: CheckpointStore) -> None:
    write(store, 10, 1, "blitz")
    write(store, 20, 1, "blitz")
    damage(store, write(store, 30, 1, "blitz"), -1)
    store.prune(3, keep=2, epoch=1)
    assert at(store, []) == (20, 1)


# -- some arrays


def test_some_arrays_are_read_without_the_others(store: CheckpointStore) -> None:
    sha256, size = store.write_object("some", ARRAYS, {})
    one = msgspec.structs.replace(entry(store, "blitz", 1, 1), object="some", sha256=sha256, bytes=size)
    assert same(store.read_arrays(one, {"ratings", "empty", "unknown"}), {name: ARRAYS[name] for name in ("ratings", "empty")})
    damaged = packed(ARRAYS).replace(ARRAYS["table"].tobytes(), bytes(ARRAYS["table"].nbytes))
    store.blobs.write("some", [damaged])
    assert same(store.read_arrays(one, {"ratings"}), {"ratings": ARRAYS["ratings"]})
    with pytest.raises(BadObject, match="table: checksum differs"):
        store.read_arrays(one, {"ratings", "table"})
    for broken, reason in ((damaged[:100], "header"), (damaged[:-64], "table"), (b"", "starts with")):
        store.blobs.write("some", [broken])
        with pytest.raises(BadObject, match=reason):
            store.read_arrays(one, {"table"})
    store.blobs.write("some", [damaged[:8], bytes([255] * 7 + [127]), damaged[16:]])  # the length of the header
    with pytest.raises(BadObject, match="header"):
        store.read_arrays(one, {"ratings"})
    store.blobs.remove("some")
    with pytest.raises(BadObject, match="not found"):
        store.read_arrays(one, {"ratings"})


def test_the_newest_entry_of_a_generation_may_be_a_build(store: CheckpointStore) -> None:
    assert store.newest_entry(3, "blitz", 1) is None
    serving, built = entry(store, "blitz", 5, 1), msgspec.structs.replace(entry(store, "blitz", 4, 2), generation=2)
    store.write_manifest(msgspec.structs.replace(manifest(5, 1, [serving]), builds=[built], written_at=7.0))
    assert store.newest_entry(3, "blitz", 1) == (serving, 7.0)
    assert store.newest_entry(3, "blitz", 2) == (built, 7.0)
    assert store.newest_entry(3, "blitz", 3) is None
    assert store.newest_entry(3, "other", 1) is None
