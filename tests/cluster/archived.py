"""What the archive of the secured release holds, beside what was sent."""

import json
from collections.abc import Mapping
from typing import Final

from tests.cluster.secure import api

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
