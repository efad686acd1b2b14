"""POST /v1/outcomes with columns: an Arrow IPC stream is taken or refused as the JSON array of its rows is."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.wire.bulk.layout import COLUMNS, MAX_BATCHES
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side, decode
from services.wire.rules import MAX_ITEMS
from tests.support.api import NOW, Running
from tests.support.streams import packed, row, stream, table

STREAM = "application/vnd.apache.arrow.stream"
SCORES = ScoreEvent(v=1, id="s1", pool="atari", time=5.0, task="pong", scores={"a": 1.0})


def game(number: int, pool: str = "blitz", **changed: Any) -> GameEvent:
    sides = [Side([f"a{number}"], 1), Side(["b"], 2)]
    return GameEvent(**{"v": 1, "id": f"g{number}", "pool": pool, "time": 5.0, "sides": sides} | changed)


def post(api: Running, body: bytes, kind: str = STREAM) -> httpx.Response:
    return api.client.post("/v1/outcomes", content=body, headers={"Content-Type": kind})


def test_a_stream_of_games_is_in_the_log_as_it_was_sent(api: Running) -> None:
    body = packed([game(number, **({"tags": {"map": f"m{number % 3}"}} if number % 2 else {})) for number in range(2_000)])
    answer = post(api, body)
    assert answer.status_code == 202
    found = answer.json()
    assert (found["accepted"], found["positions"]) == (2_000, {"blitz": 1})
    assert found["ids"] == [f"g{number}" for number in range(2_000)]
    assert [(key, value) for _, key, value in api.records()] == [(b"blitz", body)]
    assert post(api, body).json()["positions"] == {"blitz": 2}, "a retry is harmless: ids count once"


def test_ids_and_times_that_are_null_are_filled_in(api: Running) -> None:
    rows = [row(game(1)) | {"id": None}, row(game(2)) | {"time": None}]
    answer = post(api, stream(table(rows)))
    found = decode([value for _, _, value in api.records()])
    assert (answer.status_code, answer.json()["ids"]) == (202, [event.id for event in found.events])
    assert [(len(event.id), event.time) for event in found.events] == [(32, 5.0), (2, NOW)]


def test_streams_of_scores_and_of_games_with_other_letters_are_taken(api: Running) -> None:
    japanese = game(1, sides=[Side(["日本"], 1), Side(["b"], 2)])
    assert [post(api, packed([event])).status_code for event in (SCORES, japanese)] == [202, 202]
    assert sorted(event.id for event in decode([value for _, _, value in api.records()]).events) == ["g1", "s1"]


REFUSED = {
    "a rule": (game(2, sides=[Side(["a"], 1), Side(["a"], 2)]), "$[1].sides[1].agents[0]", "bad_field"),
    "a time ahead": (game(2, time=NOW + 301), "$[1].time", "future_time"),
    "a name that is not displayed": (game(2, sides=[Side(["a\u200b"], 1), Side(["b"], 2)]), "$[1].sides[0].agents[0]", "bad_field"),
    "a tag that is not displayed": (game(2, tags={"map": "a\u200b"}), "$[1].tags.map", "bad_field"),
    "a key of a tag": (game(2, tags={"Map": "a"}), "$[1].tags.Map", "bad_field"),
    "another pool": (game(2, pool="rapid"), "$[1].pool", "mixed_pools"),
}


@pytest.mark.parametrize(("event", "path", "reason"), REFUSED.values(), ids=REFUSED)
def test_one_bad_row_refuses_all(api: Running, event: GameEvent, path: str, reason: str) -> None:
    answer = post(api, packed([game(1), event, game(3)]))
    assert answer.status_code == 422
    assert [(one["item"], one["path"], one["reason"]) for one in answer.json()["refusals"]] == [(1, path, reason)]
    assert api.records() == []


def test_games_for_a_pool_of_scores_are_refused(api: Running) -> None:
    assert post(api, packed([SCORES])).status_code == 202
    answer = post(api, packed([game(1, pool="atari")]))
    assert [(one["path"], one["reason"]) for one in answer.json()["refusals"]] == [("$[0].sides", "wrong_kind")]


def test_a_column_that_is_unknown_is_named(api: Running) -> None:
    answer = post(api, stream(table([row(game(1))]).rename_columns({"task": "tasks"})))
    assert answer.status_code == 422
    assert answer.json()["refusals"][0]["path"] == "$.tasks"


def test_compressed_buffers_are_refused(api: Running) -> None:
    answer = post(api, stream(table([row(game(1))]), compression="zstd"))
    assert (answer.status_code, "must not compress" in answer.text) == (422, True)


@pytest.mark.parametrize(("body", "kind"), [(b"[]", STREAM), (packed([game(1)]), "application/json"), (packed([game(1)]), "text/plain")])
def test_a_body_is_what_its_type_says(api: Running, body: bytes, kind: str) -> None:
    answer = post(api, body, kind)
    assert (answer.status_code, STREAM in answer.json()["detail"]) == (415, True)
    assert api.records() == []


def test_more_than_a_record_holds_is_refused(api: Running) -> None:
    assert post(api, packed([game(number) for number in range(20_000)])).status_code == 413


def test_a_retraction_in_a_stream_needs_the_right_to_retract(api: Running) -> None:
    assert post(api, packed([game(1)])).status_code == 202
    answer = post(api, packed([RetractEvent(v=1, id="r", pool="blitz", time=5.0, retracts="g1")]))
    assert (answer.status_code, bool(answer.json()["note"])) == (202, True)


def test_the_producer_of_the_guide_is_understood(api: Running) -> None:
    page = (Path(__file__).parents[3] / "docs/guides/bulk.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(example.replace("17645472", "10"), "bulk.md", "exec"), names)  # noqa: S102 - our own documentation
    assert post(api, names["body"]).json()["ids"] == ["g1", "g2"]
    assert [value for _, _, value in api.records()] == [names["body"]]
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(COLUMNS)
    assert all(f"{limit:,}" in page for limit in (MAX_ITEMS, MAX_BATCHES))


def test_the_description_names_both_types(api: Running) -> None:
    described = api.client.get("/openapi.json").json()["paths"]["/v1/outcomes"]["post"]["requestBody"]["content"]
    assert set(described) == {"application/json", STREAM}
