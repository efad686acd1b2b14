"""Boards, differences and explanations of slices at any past position, folded again from the archive."""

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.solve.registry.methods import problem_for, solve
from services.wire.events import GameEvent
from services.wire.pools import Kind
from tests.support.archiving import archive
from tests.support.folds import fold_events
from tests.support.forgetting import forget
from tests.support.pools import state_of
from tests.support.sliced_pools import FOLD, GAMES, POOL, append, client_of, installation, ratings, slice_ratings, values_of
from tests.support.sliced_solves import METHODS, SLICES, solving
from tests.support.worker import HOME, head_of, published, store_of, until, working

RECORD = 7
"""Games of a record."""
STOPS = (140, 210, 300)
"""Numbers of games after which a shard stopped."""
VALUE = values_of(GAMES, "language")[0]
SLICE = f"language:{VALUE}"
BOARDS = [(f"{tag}:{value}", method) for tag in FOLD.slices for value in values_of(GAMES, tag) for method in FOLD.slices[tag]]


def own(position: int) -> list[GameEvent]:
    """The games of the slice that are counted at a position."""
    return [one for one in GAMES[: RECORD * position] if isinstance(one.tags, dict) and one.tags.get("language") == VALUE]


def slice_rating(position: int, method: str, agent: str) -> float:
    return slice_ratings(GAMES[: RECORD * position], "language", VALUE, method)[agent]


def rows(client: httpx.Client, part: str, method: str, **when: Any) -> list[tuple[Any, ...]]:
    """Agent, rating, deviation, rank and mark of each row, by agent: equal ratings are in any order."""
    answer = client.get(f"/boards/{method}", params={"slice": part, "count": 100, **when})
    assert answer.status_code == 200, answer.text
    names = ("agent", "rating", "deviation", "rank", "provisional")
    return sorted(tuple(row.get(name) for name in names) for row in answer.json()["rows"])


@contextmanager
def folded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Settings, Log, httpx.Client, dict[int, Any]]]:
    """The sliced pool after all games, whose records are in the archive alone.

    The last of the four is what was served: position -> its time, and the rows of all boards of slices.
    """
    with installation(folder) as (settings, log), client_of(settings, log) as client:
        sent, was = 0, dict[int, Any]()
        for stop in STOPS:
            append(log, GAMES[sent:stop])
            sent = stop
            with working(settings, log):
                until(lambda stop=stop: published(settings) == stop, "the games are published")  # type: ignore[misc]
            was[head_of(settings).position] = time.time(), [rows(client, *board) for board in BOARDS]
        forget(settings, archive(settings))
        for key, setting in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))
        yield settings, log, client, was


def printed(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(application(words[0]), [*words, "--format", "json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_a_past_board_of_a_slice_is_the_one_that_was_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with folded(tmp_path, monkeypatch) as (_, _, client, was):
        assert sorted(was) == [20, 30, 43]
        for position in (30, 20, 43):
            at, served = was[position]
            assert [rows(client, *board, position=position) for board in BOARDS] == served
            assert rows(client, SLICE, "glicko2", at=str(at)) == served[BOARDS.index((SLICE, "glicko2"))]
        for position in (25, 3, 42):
            answer = client.get("/boards/elo", params={"slice": SLICE, "count": 100, "position": position})
            assert ratings(answer) == slice_ratings(GAMES[: RECORD * position], "language", VALUE, "elo")
            shown = answer.json()
            assert (shown["source"], shown["position"], shown["slice"]) == ("past", position, SLICE)
            assert shown["outcomes"] == len(own(position))
        for part, method, position in (
            (SLICE, "elo", 0),
            ("language:Latin", "elo", 30),
            ("map:a/b", "glicko2", 30),
        ):
            answer = client.get(f"/boards/{method}", params={"slice": part, "position": position})
            assert (answer.status_code, f"at position {position}" in answer.text.lower()) == (404, True), answer.text
        assert printed("top", "--pool", POOL, "--method", "elo", "--slice", SLICE, "--position", "25")["outcomes"] == len(own(25))


def test_what_changed_in_a_slice_between_two_positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with folded(tmp_path, monkeypatch) as (_, _, client, _):
        answer = client.get("/boards/elo/diff", params={"slice": SLICE, "against": 6, "position": 25, "count": 100})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        old, new = (slice_ratings(GAMES[: RECORD * position], "language", VALUE, "elo") for position in (6, 25))
        assert (found["slice"], found["outcomes"], found["because"]) == (SLICE, len(own(25)) - len(own(6)), ["outcomes", "roster"])
        assert {row["agent"]: (row["rating_before"], row["rating"]) for row in found["moved"]} == {
            agent: (old[agent], rating) for agent, rating in new.items() if agent in old and old[agent] != rating
        }
        assert {row["agent"] for row in found["joined"]} == set(new) - set(old)
        shown = printed("top", "--pool", POOL, "--slice", SLICE, "--diff", "--against", "6", "--position", "25")
        assert [shown[end]["outcomes"] for end in ("before", "after")] == [found[end]["outcomes"] for end in ("before", "after")]
        same = client.get("/boards/elo/diff", params={"slice": SLICE, "against": 25, "position": 25}).json()
        assert (same["because"], same["moved"], same["outcomes"]) == ([], [], 0)
        assert client.get("/boards/elo/diff", params={"slice": SLICE, "against": 0}).status_code == 404, "the slice had no outcome then"


def test_an_online_rating_in_a_slice_is_explained_between_any_two_positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with folded(tmp_path, monkeypatch) as (_, _, client, was):
        agent = next(
            one for one in slice_ratings(GAMES[: RECORD * 6], "language", VALUE, "elo") if one in {s.agents[0] for s in own(6)[0].sides}
        )
        for method in FOLD.slices["language"]:
            address = f"/boards/{method}/why/{agent}"
            found = client.get(address, params={"slice": SLICE, "from": 6, "to": 25, "count": 100}).json()
            change = found["change"]
            assert (found["slice"], found["position"], found["outcomes"]) == (SLICE, 25, len(own(25)))
            assert [change[end]["outcomes"] for end in ("before", "after")] == [len(own(6)), len(own(25))]
            assert [change[end]["rating"] for end in ("before", "after")] == [slice_rating(at, method, agent) for at in (6, 25)]
            words = ("why", POOL, agent, "--method", method, "--slice", SLICE, "--count", "100")
            assert printed(*words, "--from", "6", "--to", "25")["change"] == change
            (first, _), (last, _) = was[20], was[30]
            moments = client.get(address, params={"slice": SLICE, "since": str(first), "until": str(last)}).json()["change"]
            assert [moments[end]["outcomes"] for end in ("before", "after")] == [len(own(20)), len(own(30))]
            begun = client.get(address, params={"slice": SLICE, "from": 0, "to": 25}).json()["change"]
            assert (begun["before"]["outcomes"], begun["outcomes"]) == (0, len(own(25))), "the slice had no outcome then"


def test_a_solved_method_of_a_slice_is_solved_again_at_any_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with folded(tmp_path, monkeypatch) as (settings, log, client, _), solving(settings, log) as solver:
        solver.choose(SLICES)
        with store_of(settings, log) as store:
            solver.until(lambda: len(store.solved.slice_boards(POOL)) == 6, "every slice is solved")
        board = {"slice": SLICE, "count": 100}
        wanted = {position: alone(position) for position in (6, 25)}
        for position in (6, 25):
            answer = client.get("/boards/bradley_terry", params={**board, "position": position})
            assert ratings(answer) == wanted[position]
            assert (answer.json()["slice"], answer.json()["outcomes"]) == (SLICE, len(own(position)))
        shown = printed("top", "--pool", POOL, "--method", "bradley_terry", "--slice", SLICE, "--position", "6")
        assert {row["agent"]: row["rating"] for row in shown["rows"]} == wanted[6]
        change = client.get("/boards/bradley_terry/diff", params={**board, "against": 6, "position": 25}).json()
        assert (change["slice"], change["outcomes"]) == (SLICE, len(own(25)) - len(own(6)))
        assert {row["agent"]: row["rating"] for row in change["moved"]}.items() <= wanted[25].items()
        agent = next(iter(wanted[6]))
        found = client.get(f"/boards/bradley_terry/why/{agent}", params={**board, "from": 6, "to": 25}).json()
        assert (found["slice"], found["position"], found["outcomes"]) == (SLICE, 25, len(own(25)))
        assert [found["change"][end]["rating"] for end in ("before", "after")] == [wanted[at][agent] for at in (6, 25)]
        refused = {"/boards/bradley_terry": {"position": 0}, "/boards/bradley_terry/diff": {"against": 0, "position": 25}}
        refused[f"/boards/bradley_terry/why/{agent}"] = {"from": 0}
        for address, when in refused.items():
            answer = client.get(address, params={**board, **when})
            assert (answer.status_code, "At position 0, generation 1 of pool" in answer.text) == (404, True), (
                address,
                answer.text,
            )


def test_an_erased_name_is_in_no_past_board_of_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with folded(tmp_path, monkeypatch) as (settings, log, client, _):
        was = slice_ratings(GAMES[: RECORD * 25], "language", VALUE, "elo")
        assert "a1" in was
        with closing(ControlLog(log.control)) as control, working(settings, log):
            erased = erased_name("a1", ())
            control.append(ErasureRequest(pool=POOL, name=erased, by="ann", time=1.0))
            until(lambda: head_of(settings).generation == 2, "a generation without the name")
        expected = {erased.token if name == "a1" else name: rating for name, rating in was.items()}
        for generation in ({}, {"generation": 1}):
            answer = client.get("/boards/elo", params={"slice": SLICE, "count": 100, "position": 25, **generation})
            assert ratings(answer) == expected


def test_without_an_archive_the_newest_kept_checkpoint_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with folded(tmp_path, monkeypatch) as (settings, log, client, _), solving(settings, log) as solver:
        solver.choose(SLICES)
        with store_of(settings, log) as store:
            solver.until(lambda: len(store.solved.slice_boards(POOL)) == 6, "every slice is solved")
        log.archived = None
        positions = [entry.position for entry, _ in CheckpointStore(settings.checkpoint_url).kept_entries(HOME, POOL)]
        before = max(position for position in positions if position < 43)
        assert rows(client, SLICE, "elo", position=42) == rows(client, SLICE, "elo", position=before)
        shown = client.get("/boards/elo", params={"slice": SLICE, "position": 42}).json()
        assert (shown["position"], shown["outcomes"]) == (before, len(own(before)))
        agent = next(iter(alone(before)))
        change = client.get(f"/boards/bradley_terry/why/{agent}", params={"slice": SLICE, "from": 42}).json()["change"]
        assert (change["before"]["position"], change["before"]["outcomes"]) == (before, len(own(before)))
        assert client.get(f"/boards/bradley_terry/why/{agent}", params={"slice": SLICE, "from": 0}).status_code == 410


def alone(position: int) -> dict[str, float | None]:
    """Ratings of a pool of the slice's games alone, by the solved method."""
    state = state_of(fold=FoldSettings(online={"elo": {}}))
    fold_events(state, own(position))
    solved = solve("bradley_terry", problem_for("bradley_terry", Kind.GAMES, state.arrays()), METHODS["bradley_terry"])
    return {row.agent: row.rating for row in solved.agents}
