"""Checkpoints and archive in an object store: a new shard goes on from there, and the archive holds what was sent."""

import json
from collections.abc import Mapping
from typing import Final

from tests.cluster import cluster, secure, store
from tests.cluster.cluster import Loader, ready, wait_until
from tests.cluster.secure import api, kubectl
from tests.cluster.survival import survive

_ARCHIVED: Final = """
import collections, json, os
from deltalake.exceptions import TableNotFoundError
from services.archive.reader import open_reader
rows, ids = collections.Counter(), collections.defaultdict(set)
for partition in range(int(os.environ["EQUIRANK_PARTITIONS"])):
    try:
        archive = open_reader(os.environ["EQUIRANK_ARCHIVE"], partition)
    except TableNotFoundError:
        continue
    for table in archive.read(columns=["pool", "id"]):
        for row in table.to_pylist():
            rows[row["pool"]] += 1
            ids[row["pool"]].add(row["id"])
print(json.dumps({"rows": rows, "ids": {pool: len(found) for pool, found in ids.items()}}))
"""
"""Prints how many rows and ids the archive has of each pool."""


def archived() -> dict[str, dict[str, int]]:
    """Rows and ids in the archive by pool."""
    found: dict[str, dict[str, int]] = json.loads(api("python", "-c", _ARCHIVED).splitlines()[-1])
    return found


def is_archived(sent: Mapping[str, int], repeated: int) -> bool:
    """Whether the archive holds every outcome that was sent, and each as often as it was sent."""
    found = archived()
    of_load = {pool: found["ids"].get(pool, 0) for pool in sent}
    return of_load == sent and sum(found["rows"][pool] for pool in sent) == sum(sent.values()) + repeated


def all_ready() -> bool:
    """Whether the whole release is ready."""
    return ready(secure.COMPONENTS, secure.NAMESPACE)


def test_a_new_shard_goes_on_from_its_checkpoint_in_the_store(secured_load: Loader) -> None:
    wait_until("a checkpoint is in the store", lambda: store.files("equirank/checkpoints"), 60)
    (old,) = cluster.pods("shards", secure.NAMESPACE)

    def recovered() -> bool:
        return cluster.pods("shards", secure.NAMESPACE) != [old] and all_ready()

    survive(secured_load, "shards pod deleted, state in an object store", lambda: kubectl("delete", "pod", old, "--wait=false"), recovered)


def test_the_archive_in_the_store_holds_what_was_sent(secured_load: Loader) -> None:
    status = secured_load.settled(120)
    wait_until("everything is archived", lambda: is_archived(status.sent, status.duplicates), 120)
    assert store.files("archive/partition-00000/_delta_log")


def test_every_board_equals_an_offline_fold(secured_load: Loader) -> None:
    secured_load.settled(60)
    verdict = api("equirank", "verify")
    assert "no difference" in verdict, verdict


def test_the_store_refuses_other_credentials(secured_load: Loader) -> None:
    said = api("env", "AWS_SECRET_ACCESS_KEY=guessed", "equirank", "verify")
    assert "AWS Error ACCESS_DENIED" in said
    assert "no difference" not in said
    assert "Traceback" not in said
