"""Boards as readers ask for them: pages by cursor, some agents, formats, and HEAD."""

import csv
import io
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from itertools import count, repeat
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.errors import InputError
from services.api.context import EXPORTS
from services.api.media_types import MEDIA_TYPES, accepted
from services.boards import history, reading
from services.boards.cursors import Cursor, cursor_of
from services.boards.formats import COLUMNS, BoardFormat
from services.boards.history import kept
from services.boards.result import Intervals
from services.boards.store.protocol import ACTIVITY, BoardPage, LiveBoard
from tests.support.api import Running
from tests.support.boards import head_of, solved_of
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool
from tests.support.waiting import until

AGENTS = ["rock", "=1+1", 'a,"b"\u00e9', "<b>", "paper", "z"]
ELO, LOTTERY = "/v1/pools/blitz/boards/elo", "/v1/pools/blitz/boards/maximal_lottery"
BINARY = {BoardFormat.ARROW, BoardFormat.PARQUET}


def publish(api: Running, position: int, ratings: list[float]) -> None:
    live = {"elo": LiveBoard(AGENTS, ratings), ACTIVITY: LiveBoard(AGENTS, [9.0] * len(AGENTS))}
    assert api.store.live.publish(head_of(position=position, online=["elo"], agents=len(AGENTS)), 1, live)


@pytest.fixture
def filled(api: Running) -> Running:
    publish(api, 12, [5.0, 5.0, 4.0, 3.0, 3.0, 1.0])
    assert api.store.solved.publish(solved_of(position=10, ratings=[(name, 1.0 / 6) for name in AGENTS]))
    return api


def pages(api: Running, path: str, size: int) -> list[dict[str, object]]:
    """All pages of a board, read by cursor."""
    found = [api.client.get(f"{path}?count={size}").json()]
    while (cursor := found[-1]["next"]) is not None:
        found.append(api.client.get(f"{path}?count={size}", params={"count": size, "cursor": cursor}).json())
        assert len(found) <= len(AGENTS)
    return found


@pytest.mark.parametrize("path", [ELO, LOTTERY])
@pytest.mark.parametrize("size", range(1, 8))
def test_pages_by_cursor_are_the_whole_board(filled: Running, path: str, size: int) -> None:
    found = pages(filled, path, size)
    whole = filled.client.get(path).json()
    assert [row for page in found for row in page["rows"]] == whole["rows"]
    assert [page.get("changed") for page in found] == [None, *([False if path == ELO else None] * (len(found) - 1))]
    assert whole["next"] is None


def test_a_page_of_a_live_board_that_was_written_since_says_that_it_changed(filled: Running) -> None:
    cursor = filled.client.get(f"{ELO}?count=2").json()["next"]
    publish(filled, 13, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    page = filled.client.get(ELO, params={"cursor": cursor}).json()
    assert (page["changed"], page["position"]) == (True, 13)


def with_publications(filled: Running, tokens: Iterator[str]) -> Callable[..., BoardPage | None]:
    """A reader of pages of live boards that gives each page the next token."""
    read = filled.store.live.page

    def page(*place: Any) -> BoardPage | None:
        shown = read(*place)
        return None if shown is None else shown._replace(publication=next(tokens))

    return page


def test_a_page_that_was_read_during_a_publication_promises_nothing(filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filled.store.live, "page", with_publications(filled, repeat("")))
    cursor = filled.client.get(f"{ELO}?count=2").json()["next"]
    monkeypatch.undo()
    assert filled.client.get(ELO, params={"cursor": cursor}).json()["changed"] is True


def test_a_cursor_of_a_solve_that_was_replaced_is_410(filled: Running) -> None:
    cursor = filled.client.get(f"{LOTTERY}?count=2").json()["next"]
    assert filled.store.solved.publish(msgspec.structs.replace(solved_of(position=10), solved_at=5.0, sequence=2))
    answer = filled.client.get(LOTTERY, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["title"]) == (410, "board replaced")


def test_an_unchanged_page_of_a_file_has_the_cursor_of_the_present_board(filled: Running) -> None:
    path = f"{LOTTERY}?format=csv&count=2"
    before = filled.client.get(path)
    rows = [(name, 1.0 / 6) for name in AGENTS]
    assert filled.store.solved.publish(msgspec.structs.replace(solved_of(position=10, ratings=rows), solved_at=5.0, sequence=2))
    same = filled.client.get(path, headers={"If-None-Match": before.headers["etag"]})
    assert same.status_code == 304
    assert filled.client.get(LOTTERY, params={"cursor": before.headers["equirank-next"]}).status_code == 410
    assert filled.client.get(LOTTERY, params={"cursor": same.headers["equirank-next"]}).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        *(
            "cursor=x",
            "cursor=",
            "cursor=%ff",
            "cursor=" + "a" * 2000,
            "agents=rock&start=1",
            "agents=rock&count=1",
            "agents=rock&agents=rock",
        ),
        *("format=xml", "agents=", "&".join(f"agents={i}" for i in range(201))),
    ],
)
def test_parameters_that_break_a_rule_are_refused(filled: Running, query: str) -> None:
    assert filled.client.get(f"{ELO}?{query}").status_code == 422


@pytest.mark.parametrize("more", ["start=0", "position=1", "at=5", "agents=rock"])
def test_a_cursor_excludes_other_places(filled: Running, more: str) -> None:
    cursor = filled.client.get(f"{ELO}?count=2").json()["next"]
    assert filled.client.get(f"{ELO}?cursor={cursor}&{more}").status_code == 422
    assert filled.client.get(f"{LOTTERY}?cursor={cursor}").status_code == 422


@given(st.text(max_size=40))
def test_a_text_is_a_cursor_or_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        cursor_of(text, "blitz", "elo")


@given(st.integers(0, 2**31 - 1), st.sampled_from(["live", "solved"]))
def test_a_cursor_survives_its_text(start: int, source: str) -> None:
    cursor = Cursor("blitz", "elo", source, "v", start)
    assert cursor_of(cursor.text(), "blitz", "elo") == cursor


@pytest.mark.parametrize("path", [ELO, LOTTERY])
def test_agents_have_their_rows_of_the_whole_board_in_the_order_of_the_request(filled: Running, path: str) -> None:
    rows = {row["agent"]: row for row in filled.client.get(path).json()["rows"]}
    found = filled.client.get(path, params={"agents": ["z", "=1+1"]}).json()
    assert found["rows"] == [rows["z"], rows["=1+1"]]
    assert found["total"] == 6
    assert "next" not in found


@pytest.mark.parametrize("path", [ELO, LOTTERY])
@pytest.mark.parametrize("names", [["rock", "nobody"], ["nobody"]])
def test_agents_without_a_row_are_404_and_named(filled: Running, path: str, names: list[str]) -> None:
    answer = filled.client.get(path, params={"agents": names})
    assert (answer.status_code, answer.json()["title"]) == (404, "no such agents")
    assert "'nobody'" in answer.json()["detail"]
    assert "'rock'" not in answer.json()["detail"]


def decoded(form: BoardFormat, body: bytes) -> list[dict[str, object]]:
    match form:
        case BoardFormat.CSV:
            assert body.endswith(b"\r\n")
            return [
                {"rank": int(row["rank"]), "agent": row["agent"], "rating": float(row["rating"])}
                for row in csv.DictReader(io.StringIO(body.decode(), newline=""))
            ]
        case BoardFormat.JSONL:
            return [json.loads(line) for line in body.splitlines()]
        case BoardFormat.ARROW:
            return pa.ipc.open_stream(body).read_all().to_pylist()
        case BoardFormat.PARQUET:
            return pq.read_table(io.BytesIO(body)).to_pylist()
        case BoardFormat.JSON:
            return json.loads(body)["rows"]


@pytest.mark.parametrize("path", [ELO, LOTTERY])
@pytest.mark.parametrize("form", BoardFormat)
def test_every_format_has_the_same_rows_with_a_tag(filled: Running, path: str, form: BoardFormat) -> None:
    rows = [(row["rank"], row["agent"], row["rating"]) for row in filled.client.get(path).json()["rows"]]
    by_type = filled.client.get(path, headers={"Accept": MEDIA_TYPES[form]})
    by_name = filled.client.get(f"{path}?format={form}")
    assert by_type.content == by_name.content
    assert by_type.headers["content-type"].split(";")[0] == MEDIA_TYPES[form]
    assert by_type.headers["vary"].lower().split(", ")[0] == "accept"
    assert [(row["rank"], row["agent"], row["rating"]) for row in decoded(form, by_type.content)] == rows
    again = filled.client.get(path, headers={"Accept": MEDIA_TYPES[form], "If-None-Match": by_type.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_csv_has_all_columns_and_names_as_they_are(filled: Running) -> None:
    lines = filled.client.get(f"{ELO}?format=csv").text.split("\r\n")
    assert lines[0] == ",".join(COLUMNS)
    assert any('"a,""b""é"' in line for line in lines)
    assert any(line.startswith("1,=1+1,5.0") for line in lines)


def test_a_board_larger_than_a_read_is_complete_in_one_request(filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS_A_READ", 2)
    for path in (ELO, LOTTERY):
        assert len(filled.client.get(f"{path}?format=jsonl").content.splitlines()) == len(AGENTS)
    monkeypatch.setattr(reading, "MOST_ROWS", 5)
    assert filled.client.get(f"{ELO}?format=jsonl").status_code == 422
    page = filled.client.get(f"{ELO}?format=jsonl&count=4")
    assert (len(page.content.splitlines()), page.headers["equirank-total"]) == (4, "6")
    after = filled.client.get(ELO, params={"format": "jsonl", "cursor": page.headers["equirank-next"]})
    assert (len(after.content.splitlines()), after.headers["equirank-changed"]) == (2, "false")


def test_a_large_live_board_that_changes_during_every_attempt_is_503(filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS_A_READ", 2)
    monkeypatch.setattr(filled.store.live, "page", with_publications(filled, map(str, count())))
    answer = filled.client.get(f"{ELO}?format=csv")
    assert answer.status_code == 503
    assert "keeps changing" in answer.json()["detail"]


def test_intervals_that_arrive_during_a_download_are_in_all_rows(filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS_A_READ", 2)
    bare = solved_of(position=10, ratings=[(name, 1.0 / 6) for name in AGENTS])
    rows = [msgspec.structs.replace(row, low=0.0, high=1.0) for row in bare.result.agents]
    result = msgspec.structs.replace(bare.result, agents=rows, intervals=Intervals(kind="cells", replicates=9))
    read, reads = filled.store.solved.page, count()

    def page(*place: Any) -> Any:
        if next(reads) == 1:
            assert filled.store.solved.publish(msgspec.structs.replace(bare, result=result))
        return read(*place)

    monkeypatch.setattr(filled.store.solved, "page", page)
    lines = csv.DictReader(io.StringIO(filled.client.get(f"{LOTTERY}?format=csv").text, newline=""))
    assert [line["high"] for line in lines] == ["1.0"] * len(AGENTS)


def test_an_address_that_was_answered_as_json_is_answered_in_other_formats(filled: Running) -> None:
    assert filled.client.get(ELO).headers["content-type"] == "application/json"
    assert filled.client.get(ELO, headers={"Accept": "text/csv"}).headers["content-type"].startswith("text/csv")
    refused = filled.client.get(ELO, headers={"Accept": "image/png"})
    assert refused.status_code == 406
    assert all(media in refused.json()["detail"] for media in MEDIA_TYPES.values())


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        *(("", BoardFormat.JSON), ("*/*", BoardFormat.JSON), ("text/html,*/*;q=0.8", BoardFormat.JSON), ("text/*", BoardFormat.CSV)),
        *(("text/csv;q=0.5, application/x-ndjson", BoardFormat.JSONL), ("*/*, application/json;q=0", BoardFormat.CSV)),
        *(("image/png", None), ("text/csv;q=0", None), ("text/csv;q=x", None), ("TEXT/CSV", BoardFormat.CSV)),
    ],
)
def test_the_most_wanted_format_is_sent(accept: str, form: BoardFormat | None) -> None:
    assert accepted(accept) is form


@pytest.mark.parametrize("form", sorted(BINARY))
def test_a_missing_package_is_501_and_the_other_formats_do_not_need_it(
    filled: Running, form: BoardFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = filled.client.get(f"{ELO}?format={form}")
    assert (answer.status_code, answer.json()["title"]) == (501, "not installed")
    assert filled.client.get(f"{ELO}?format=csv").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/pools", "/v1/pools/blitz", "/v1/pools/blitz/boards?count=2", ELO, f"{ELO}?format=csv", f"{ELO}?format=parquet"),
        *("/v1/pools/blitz/agents/rock", "/v1/pools/nothing", f"{ELO}?cursor=x", "/docs", "/livez", "/openapi.json"),
    ],
)
def test_head_is_get_without_a_body(filled: Running, path: str) -> None:
    for _ in range(2):  # the second time, a poll is answered from the cache
        got, head = filled.client.get(path), filled.client.head(path)
        assert head.status_code == got.status_code
        assert head.content == b""
        ignored = {"x-request-id", "date"}
        assert {k: v for k, v in head.headers.items() if k not in ignored} == {k: v for k, v in got.headers.items() if k not in ignored}


def test_head_of_a_route_without_get_is_405_and_head_is_counted(filled: Running) -> None:
    assert filled.client.head("/v1/outcomes").status_code == 405
    filled.client.head(ELO)
    assert 'method="HEAD",route="/v1/pools/{pool}/boards/{method}",status="200"' in filled.client.get("/metrics").text


def test_head_of_an_export_ends_after_the_headers_and_gives_its_place_back(filled: Running) -> None:
    assert filled.client.put("/v1/pools/sent", json={"kind": "games"}).status_code == 201
    for _ in range(2 * EXPORTS + 1):
        assert filled.client.head("/v1/pools/sent/export").status_code == 200
        assert until(lambda: filled.client.get("/v1/pools/sent/export").status_code == 200, "an export may begin")


def test_a_maximal_lottery_is_its_support_and_the_number_of_the_others(api: Running) -> None:
    publish(api, 12, [5.0, 5.0, 4.0, 3.0, 3.0, 1.0])
    assert api.store.solved.publish(solved_of(ratings=[(name, max(0.0, 0.5 - 0.2 * i)) for i, name in enumerate(AGENTS)]))
    board = api.client.get(LOTTERY).json()
    assert ([row["agent"] for row in board["rows"]], board["outside"], board["total"], board["next"]) == (AGENTS[:3], 3, 6, None)
    everyone = api.client.get(f"{LOTTERY}?all=true").json()
    assert ([row["agent"] for row in everyone["rows"]], "outside" in everyone) == (AGENTS, False)
    [shown] = [one for one in api.client.get("/v1/pools/blitz/boards?count=5").json()["boards"] if one["method"] == "maximal_lottery"]
    assert (shown["rows"], shown["outside"]) == (board["rows"], 3)
    assert [row for page in pages(api, LOTTERY, 2) for row in page["rows"]] == board["rows"]
    first = api.client.get(f"{LOTTERY}?all=true&count=4").json()
    after = api.client.get(LOTTERY, params={"cursor": first["next"]}).json()
    assert first["rows"] + after["rows"] == everyone["rows"]
    assert len(api.client.get(f"{LOTTERY}?format=csv").text.splitlines()) == 1 + len(AGENTS)
    assert api.client.get(LOTTERY, params={"agents": "z"}).json()["rows"][0]["rating"] == 0.0


def settled_status(api: Running, verb: str, path: str, headers: dict[str, str]) -> int:
    """Status of a request, which is repeated after a 503: the index of agents is being loaded."""
    return int(until(lambda: (now := api.client.request(verb, path, headers=headers).status_code) != 503 and now, path))


def test_the_examples_of_the_guide_are_answered(api: Running, tmp_path: Path) -> None:
    names = ["ann", "bob", "cem"]
    ServedPool(api.store, tmp_path).checkpoint(state_of("blitz"), 12)
    live = {"elo": LiveBoard(names, [3.0, 2.0, 1.0]), ACTIVITY: LiveBoard(names, [9.0] * 3)}
    assert api.store.live.publish(head_of(position=12, online=["elo"], agents=3), 1, live)
    assert api.store.solved.publish(solved_of(ratings=[(name, 1.0 / 3) for name in names]))
    cursor = api.client.get(f"{ELO}?count=2").json()["next"]
    page = (Path(__file__).parents[3] / "docs/guides/boards.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) for line in block.splitlines()]
    assert len(lines) == 12
    for line in lines:
        words = shlex.split(line.replace("$NEXT", cursor))
        headers = dict(words[i + 1].split(": ") for i, word in enumerate(words) if word == "-H")
        verb = "HEAD" if "-sI" in words else "GET"
        path = words[-1].removeprefix("http://127.0.0.1:8000")
        assert settled_status(api, verb, path, headers) == 200, line
    assert all(f"| `{form}` | `{media}` |" in page for form, media in MEDIA_TYPES.items())
    assert f"{reading.MOST_ROWS:,}" in page


def test_a_past_board_has_pages_and_formats_until_it_is_not_kept(filled: Running) -> None:
    early, late = (solved_of(position=position, ratings=[(name, 1.0 / 6) for name in AGENTS]) for position in (10, 12))
    filled.store.solved.publish_history("blitz", "maximal_lottery", [kept(early), kept(late)])
    path = f"{LOTTERY}?position=11"
    first = filled.client.get(f"{path}&count=4").json()
    after = filled.client.get(LOTTERY, params={"cursor": first["next"]}).json()
    assert (first["source"], after["source"], after["position"], after["next"]) == ("past", "past", 10, None)
    assert [row["agent"] for row in first["rows"] + after["rows"]] == sorted(AGENTS)
    assert len(filled.client.get(f"{path}&format=csv").text.splitlines()) == 1 + len(AGENTS)
    filled.store.solved.publish_history("blitz", "maximal_lottery", [kept(late)])
    assert filled.client.get(LOTTERY, params={"cursor": first["next"]}).status_code == 410


def test_a_past_solve_of_a_large_board_has_the_rows_that_it_keeps(filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "ROWS", 3)
    monkeypatch.setattr(reading, "MOST_ROWS", 5)
    solve = kept(solved_of(position=10, ratings=[(name, 1.0 / 6) for name in AGENTS]))
    filled.store.solved.publish_history("blitz", "maximal_lottery", [solve])
    answer = filled.client.get(f"{LOTTERY}?position=11&format=jsonl")
    assert (answer.status_code, len(answer.content.splitlines()), answer.headers["equirank-total"]) == (200, 3, "6")


@pytest.mark.parametrize("path", [ELO, LOTTERY])
def test_position_and_time_exclude_each_other(filled: Running, path: str) -> None:
    assert filled.client.get(f"{path}?position=3&at=5").status_code == 422
