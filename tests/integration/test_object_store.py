"""Checkpoints and archive in a real S3-compatible store: what holds in a folder holds there, and a store that refuses is no empty one."""

import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from services.admin.export import COLUMNS
from services.archive.writer import open_writer
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.objects import BadObject
from services.cli import main as cli
from tests.support import archive
from tests.support.object_store import BUCKET, SECRET, serving

RECORDS = archive.mixed(11, 60)
RESTORE = Path(__file__).resolve().parents[2] / "deploy" / "restore" / "archived_pools.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    with serving(tmp_path_factory.mktemp("s3")) as environment:
        yield environment


@pytest.fixture
def url(server: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix of the test's own."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


def test_files_are_written_listed_read_and_removed(url: str) -> None:
    files = BlobFiles(url)
    assert not files.is_local
    assert files.names("a") == files.tree("a") == []
    files.write("a/small", [b"by", memoryview(b"tes")])
    files.write("a/b/large", [bytes(7_000_000)] * 3)  # more than one part of an upload
    files.write("a/small", [b"other"])
    assert (sorted(files.names("a")), files.tree("a")) == (["b", "small"], ["a/b/large", "a/small"])
    assert files.read("a/small") == b"other"
    assert files.read("a/b/large") == bytes(21_000_000)
    files.remove("a/small")
    files.remove("a/b/large")
    assert files.tree("a") == []
    with pytest.raises(FileNotFoundError):
        files.read("a/small")
    with pytest.raises(FileNotFoundError):
        files.remove("a/small")


def test_an_object_comes_back_and_a_missing_one_is_told(url: str) -> None:
    store = CheckpointStore(url)
    sha256, size = store.write_object("objects/p00000/pool-1.eqr", {"x": np.arange(1000)}, {"pool": "pool"})
    assert size > 8000
    arrays, meta = store.read_object("objects/p00000/pool-1.eqr", sha256, mapped=True)
    assert (arrays["x"].tolist(), meta) == (list(range(1000)), {"pool": "pool"})
    with pytest.raises(BadObject, match="not found"):
        store.read_object("objects/p00000/pool-2.eqr")
    assert store.newest(0) is None


@pytest.mark.parametrize("wrong", [{"AWS_SECRET_ACCESS_KEY": "guessed"}, {"AWS_ACCESS_KEY_ID": "mallory"}])
def test_a_store_that_refuses_is_not_taken_for_an_empty_one(url: str, wrong: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    BlobFiles(url).write("a/b", [b"bytes"])
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    files = BlobFiles(url)
    for call in (lambda: files.names("a"), lambda: files.read("a/b"), lambda: files.write("a/c", [b"bytes"])):
        with pytest.raises(OSError, match=r"AWS Error") as refused:
            call()
        assert SECRET not in str(refused.value)
    with pytest.raises(OSError, match=r"InvalidAccessKeyId|UserNotFound|SignatureDoesNotMatch"):
        open_writer(f"{url}/archive", 0, archive.LOG)


def test_a_command_says_in_a_line_that_the_store_refuses(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "guessed")
    monkeypatch.setattr(cli, "application", lambda _: lambda **_: CheckpointStore(url).manifests(0))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n")) == (2, 1)
    assert told.startswith("equirank: ")
    assert "AWS Error ACCESS_DENIED" in told


def test_of_two_writers_of_an_archive_exactly_one_wins(url: str) -> None:
    for table in (f"{url}/{number}" for number in range(3)):
        open_writer(table, 0, archive.LOG)  # so that the race is about the append, not about who makes the table
        assert archive.race(table, RECORDS) == ["lost", "won"]
        archive.check(table, RECORDS)


def test_what_is_archived_is_read_back_bit_for_bit(url: str) -> None:
    writer = archive.fill(url, RECORDS, 17)
    assert archive.check(url, RECORDS) == writer.position == RECORDS[-1].offset + 1


def test_the_pools_of_an_archive_are_written_to_files_without_its_log(url: str, tmp_path: Path) -> None:
    archive.fill(url, RECORDS, 17)
    done = subprocess.run([sys.executable, "-", url, str(tmp_path / "files")], input=RESTORE.read_bytes(), capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == [f"{pool}: {len(table)} rows" for pool, table in of_pools(url).items()]
    for pool, table in of_pools(url).items():
        assert pq.read_table(tmp_path / "files" / f"{pool}.parquet").equals(table)


def of_pools(url: str) -> dict[str, pa.Table]:
    """The rows of each pool of an archive, with the columns of an export."""
    rows = archive.contents(url)
    return {pool: rows.filter(pc.equal(rows["pool"], pool)).select(COLUMNS) for pool in ("games", "scores")}


def test_a_server_that_is_gone_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        files = BlobFiles(f"s3://{BUCKET}/x")
        files.write("a", [b"bytes"])
    with pytest.raises(OSError, match=r"AWS Error NETWORK_CONNECTION"):
        files.read("a")
