"""Solved boards of slices: from a live pool's checkpoint to the store and HTTP, equal to the library on a file of the slice's outcomes."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from services.admin.verify_solved import verify_solved
from services.boards.slice_boards import SliceName
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.wire.events import GameEvent
from tests.support.redis import flush
from tests.support.sliced_pools import GAMES, POOL, append, client_of, installation, ratings, values_of
from tests.support.sliced_solves import METHODS, SLICES, solving
from tests.support.worker import published, store_of, until, working


def board_names(sent: list[GameEvent]) -> list[str]:
    """Names of all solved boards of the slices."""
    slices = [(SliceName(tag, value), method) for tag in SLICES for value in values_of(sent, tag) for method in SLICES[tag]]
    return sorted(name.board(method) for name, method in slices)


def positions(store: RedisStore) -> set[int]:
    return {board.board.position for board in store.solved.complete([POOL])[POOL].values()}


def offline(folder: Path, sent: list[GameEvent], method: str, tag: str, value: str) -> dict[str, Any]:
    """The answer of the library for a file with all outcomes, of which `--where` chooses the slice's."""
    file = folder / "outcomes.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in sent))
    given = [word for name, number in METHODS[method].items() for word in ("--param", f"{name}={number}")]
    words = ["solve", str(file), "--method", method, "--where", f"{tag}={value}", *given, "--format", "json"]
    done = CliRunner().invoke(application("solve"), words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_solved_boards_of_slices_are_those_of_the_library(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client, solving(settings, log) as solver:
        append(log, GAMES[:200])
        with working(settings, log):
            until(lambda: published(settings) == 200, "the first games are published")
        solver.choose(SLICES)
        with store_of(settings, log) as store:
            solver.until(lambda: store.solved.slice_boards(POOL) == board_names(GAMES), "every slice is solved")
            for tag, methods in SLICES.items():
                for value in values_of(GAMES, tag):
                    for method in methods:
                        answer = client.get(f"/boards/{method}", params={"slice": f"{tag}:{value}", "count": 100, "all": True})
                        shown, wanted = answer.json(), offline(tmp_path, GAMES[:200], method, tag, value)
                        assert ratings(answer) == pytest.approx({row["agent"]: row["rating"] for row in wanted["agents"]}, rel=0, abs=1e-9)
                        assert (shown["slice"], shown["status"], shown["source"]) == (f"{tag}:{value}", wanted["status"], "solved")
                        assert shown["certificate"]["kind"] == wanted["certificate"]["kind"]
                        assert shown["outcomes"] == sum(isinstance(one.tags, dict) and one.tags.get(tag) == value for one in GAMES[:200])
            assert store.solved.methods(POOL) == sorted(METHODS), "boards of slices are no boards of the pool"
            listed = client.get("/boards", params={"slice": f"map:{values_of(GAMES, 'map')[0]}", "count": 3}).json()
            assert listed["methods"] == {"live": ["elo"], "solved": ["bradley_terry"]}
            assert [board["method"] for board in listed["boards"]] == ["elo", "bradley_terry"]
            assert client.get("/boards").json()["methods"]["solved"] == sorted(METHODS)
            assert [one.difference for one in verify_solved(log, CheckpointStore(settings.checkpoint_url), store)] == [None] * 9


def test_solved_boards_of_slices_get_intervals(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client, solving(settings, log) as solver:
        append(log, GAMES[:200])
        with working(settings, log):
            until(lambda: published(settings) == 200, "the first games are published")
        solver.choose(SLICES)
        value = values_of(GAMES, "language")[0]

        def intervals(method: str) -> dict[str, Any]:
            answer = client.get(f"/boards/{method}", params={"slice": f"language:{value}", "count": 100}).json()
            return answer.get("intervals") or {}

        for method, kind in (("bradley_terry", "sandwich"), ("maximal_lottery", "posterior")):
            solver.until(lambda name=method: "kind" in intervals(name), "the board has intervals")  # type: ignore[misc]
            assert (intervals(method)["kind"], intervals(method).get("why_not")) == (kind, None)


def test_only_a_slice_with_new_outcomes_is_solved_again(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client, solving(settings, log) as solver:
        value, other = values_of(GAMES, "language")
        append(log, GAMES[:200])
        with working(settings, log):
            until(lambda: published(settings) == 200, "the first games are published")
        solver.choose(SLICES)
        solver.until(lambda: solver.solves == len(METHODS) + len(board_names(GAMES)), "all boards are solved")
        one = next(game for game in GAMES[200:] if game.tags == {"language": value})
        append(log, [one])
        with working(settings, log):
            until(lambda: published(settings) == 201, "one more game is published")
        before = solver.solves
        solver.until(lambda: solver.solves == before + len(METHODS) + len(SLICES["language"]), "the pool and this slice are solved again")
        for _ in range(3):
            solver.step()
        assert solver.solves == before + len(METHODS) + len(SLICES["language"])
        newest, older = (client.get("/boards/bradley_terry", params={"slice": f"language:{one}"}).json() for one in (value, other))
        assert newest["position"] > older["position"]


def test_slices_are_published_again_from_their_files_and_retired_with_their_choice(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES[:200])
        with working(settings, log):
            until(lambda: published(settings) == 200, "the first games are published")
        assert settings.redis is not None
        name = {"slice": f"language:{values_of(GAMES, 'language')[0]}"}
        with solving(settings, log) as solver, store_of(settings, log) as store:
            solver.choose(SLICES)
            solver.until(lambda: store.solved.slice_boards(POOL) == board_names(GAMES), "every slice is solved")
            before = {board: found.board.result.certificate for board, found in store.solved.complete([POOL])[POOL].items()}
        flush(settings.redis)
        with solving(settings, log) as solver, store_of(settings, log) as store:
            solver.until(lambda: len(store.solved.complete([POOL])[POOL]) == len(before), "all boards are back")
            assert {board: found.board.result.certificate for board, found in store.solved.complete([POOL])[POOL].items()} == before
            assert solver.solves == 0, "no board was solved again"
            with working(settings, log):
                until(lambda: published(settings) == 200, "live boards are back")
            assert client.get("/boards/maximal_lottery", params=name).status_code == 200
            solver.choose({"language": ["bradley_terry"]})
            left = [board for board in board_names(GAMES) if board.startswith("bradley_terry~language")]
            solver.until(lambda: store.solved.slice_boards(POOL) == left, "boards that are not chosen any more are removed")
            assert store.solved.page(POOL, SliceName.parsed(name["slice"]).board("maximal_lottery"), 0, 1) is None
            assert client.get("/boards/bradley_terry", params=name).status_code == 200
        assert not list((settings.data / "checkpoints").rglob("*maximal_lottery~*/*")), "with their files"


def test_kept_solves_of_a_slice_are_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client, solving(settings, log) as solver:
        value = values_of(GAMES, "language")[0]
        name, board = {"slice": f"language:{value}"}, SliceName("language", value).board("bradley_terry")
        solver.choose(SLICES)
        with store_of(settings, log) as store:
            for count, until_game in ((1, 150), (2, 300)):
                append(log, GAMES[until_game - 150 : until_game])
                with working(settings, log):
                    until(lambda games=until_game: published(settings) == games, "the games are published")  # type: ignore[misc]
                solver.until(lambda solves=count: len(store.solved.history(POOL, board)) == solves, "the slice is solved")  # type: ignore[misc]
        solves = client.get("/boards/bradley_terry/history", params=name).json()
        assert (solves["slice"], len(solves["solves"])) == (name["slice"], 2)
        newest, oldest = solves["solves"]
        changed = client.get("/boards/bradley_terry/diff", params=name).json()
        assert (changed["method"], changed["slice"], changed["because"][0]) == ("bradley_terry", name["slice"], "outcomes")
        assert changed["outcomes"] == newest["outcomes"] - oldest["outcomes"] > 0
        page = client.get("/boards/bradley_terry", params={**name, "position": oldest["position"], "count": 3}).json()
        assert (page["source"], page["slice"], page["position"]) == ("past", name["slice"], oldest["position"])
        rest = client.get("/boards/bradley_terry", params={**name, "cursor": page["next"], "count": 3}).json()
        wanted = offline(tmp_path, GAMES[:150], "bradley_terry", "language", value)["agents"]
        assert [row["agent"] for row in page["rows"] + rest["rows"]] == [row["agent"] for row in wanted[:6]]
        agent = page["rows"][0]["agent"]
        profile = client.get(f"/agents/{agent}", params=name).json()
        assert set(profile["methods"]) == {"elo", "glicko2", *SLICES["language"]}
        assert (profile["slice"], profile["games"]["games"], profile["no_record"]) == (name["slice"], profile["outcomes"], None)
        until(lambda: client.get(f"/agents/{agent}").json().get("outcomes", 0) > profile["outcomes"], "the pool counts more outcomes")
        points = client.get(f"/agents/{agent}/history", params={**name, "method": "bradley_terry"}).json()
        assert [point["position"] for point in points["points"]] == [oldest["position"], newest["position"]]
        for key, setting in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))
        words = ["top", "--pool", POOL, "--method", "bradley_terry", "--slice", name["slice"]]
        for more, text in (([], "bradley_terry (solved)"), (["--diff"], "because of: outcomes"), (["--position", "99999"], "(past)")):
            done = CliRunner(env={"COLUMNS": "200"}).invoke(application("top"), [*words, *more], catch_exceptions=False)
            assert text in done.output
            assert name["slice"] in done.output
