"""Checkpoints and archive in an object store: a new shard goes on from there, and the archive holds what was sent."""

from tests.cluster import cluster, secure, store
from tests.cluster.archived import is_archived
from tests.cluster.cluster import Loader, wait_until
from tests.cluster.secure import all_ready, api, kubectl
from tests.cluster.survival import survive


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
