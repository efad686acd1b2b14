"""The route for operators: partitions as shards report them, refused outcomes with their rules, and keys."""

from pathlib import Path

import msgspec

from services.api.replies import Operations
from services.boards.folding import Heartbeat
from services.log.dead_letters import DeadLetter
from tests.support.api import Running, running
from tests.support.redis import flush

PATH = "/v1/operations"
LETTER = DeadLetter(
    generation=1, partition=3, offset=7, item=0, reason="wrong_kind", path="$.sides", rule="must be scores", pool="blitz", excerpt="{}"
)  # fmt: skip


def test_partitions_have_the_newest_report_or_none(api: Running) -> None:
    reason = "a damaged batch: skip it"
    told = Heartbeat(
        partition=2, epoch=4, shard="s/h/9", position=11, lag=5, lag_seconds=1.5, idle_seconds=0.5, stopped=True, reason=reason
    )
    api.store.heartbeats.write([told])
    answer = msgspec.convert(api.client.get(PATH).json(), Operations)
    assert [one.partition for one in answer.partitions] == list(range(8))
    assert [one.partition for one in answer.partitions if one.shard is not None] == [2]
    found = answer.partitions[2]
    assert (found.shard, found.position, found.lag_records, found.lag_seconds, found.stopped, found.reason) == (
        "s/h/9",
        11,
        5,
        1.5,
        True,
        reason,
    )
    assert found.idle_seconds is not None
    assert found.idle_seconds >= 0.5


def test_refused_outcomes_are_newest_first_and_repeated_or_damaged_entries_are_left_out(api: Running) -> None:
    letters = [LETTER, msgspec.structs.replace(LETTER, offset=8, pool=None), LETTER]
    api.log.dead_letters.append(0, [(b"", msgspec.json.encode(letter)) for letter in letters])
    api.log.dead_letters.append(0, [(b"", b"{damaged")])
    answer = api.client.get(PATH).json()
    assert answer["refused_total"] == 4
    assert [(one["offset"], one["pool"], one["rule"]) for one in answer["refused"]] == [
        (8, None, "must be scores"),
        (7, "blitz", "must be scores"),
    ]
    assert "excerpt" not in answer["refused"][0], "the sender's text can name agents that are hidden"
    assert [one["offset"] for one in api.client.get(PATH, params={"count": 2}).json()["refused"]] == [7]
    assert api.client.get(PATH, params={"count": 0}).json()["refused"] == []
    assert api.client.get(PATH, params={"count": 201}).status_code == 422


def test_where_keys_are_set_any_of_them_is_needed(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    with running(tmp_path, api_redis, write_keys=("w-key",), admin_keys=("a-key",)) as here:
        asked = {key: here.client.get(PATH, headers={"Authorization": f"Bearer {key}"}).status_code for key in ("w-key", "a-key", "other")}
        assert asked == {"w-key": 200, "a-key": 200, "other": 403}
        assert here.client.get(PATH).status_code == 401
