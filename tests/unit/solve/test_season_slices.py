"""Final boards of the slices of an ended season: solved on the slice's final state, and read by slice."""

from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ratings_core.errors import InputError
from services.boards.season_boards import NoSeason, SeasonBoards
from services.boards.season_files import SeasonEnd, SeasonFiles, tokenized
from services.boards.slice_boards import SliceName
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.slice_entries import slice_entries
from services.control.erasures import NameMatcher, erased_name
from services.control.records import Opening, Serve, SolvePlan
from services.engine.season_closer import SeasonCloser
from services.runtime.settings import PROVISIONAL, Settings
from tests.support.folds import fold_events
from tests.support.pools import control_of, pool_of, state_of
from tests.support.sliced_pools import FOLD, GAMES, POOL, slice_ratings, values_of
from tests.support.task_pool import InlineTaskPool

PLAN = SolvePlan(pool=POOL, methods={"bradley_terry": {"prior": 1.0}, "copeland": {}}, time=0.0, slices={"language": ("bradley_terry",)})


class Season:
    """An ended season of the sliced pool, with its final boards."""

    def __init__(self, folder: Path) -> None:
        settings, self.control = Settings(data=folder), control_of(pool_of(POOL, fold=FOLD))
        opening = Opening(generation=1, position=5, keep=0.0, first=2)
        later = msgspec.structs.replace(self.control.generations[POOL][1], number=2, start=5, season="autumn", opening=opening)
        for record in (later, PLAN, Serve(pool=POOL, number=2, time=0.0)):
            self.control.apply(self.control.position, record)
        self.state = state_of(POOL, fold=FOLD)
        fold_events(self.state, GAMES)
        entry = PoolEntry(
            pool=POOL, kind="games", generation=1, position=5, outcomes=len(GAMES), object="", sha256="", bytes=0, digest="",
            slices=slice_entries(self.state.slices),
        )  # fmt: skip
        checkpoints = CheckpointStore(settings.checkpoint_url)
        self.files = SeasonFiles(checkpoints, "log")
        self.files.write_end(SeasonEnd(season="first", entry=entry, ended_at=0.0, log="log"), self.state.arrays())
        closer, now = SeasonCloser(settings, InlineTaskPool(), checkpoints, "log"), 0.0
        while self.files.complete(POOL, "first") is None:
            closer.step(now := now + 50.0, self.control)
        self.boards = SeasonBoards(self.files, lambda: self.control)


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Season:
    return Season(tmp_path_factory.mktemp("season"))


def test_every_slice_has_its_final_boards(season: Season) -> None:
    names = [SliceName("language", value).board("bradley_terry") for value in values_of(GAMES, "language")]
    complete = season.files.complete(POOL, "first")
    assert complete is not None
    assert complete.methods == sorted([*PLAN.methods, *names])
    [_, ended] = reversed(season.boards.seasons(POOL, None))
    assert ended.boards == ["elo", "glicko2", "bradley_terry", "copeland"], "of all outcomes"
    for value in values_of(GAMES, "language"):
        own = [one for one in GAMES if isinstance(one.tags, dict) and one.tags.get("language") == value]
        page = season.boards.board(
            POOL, "first", "bradley_terry", start=0, count=100, now=1.0, provisional=PROVISIONAL, part=f"language:{value}"
        )
        assert (page.source, page.slice, page.outcomes, page.status) == ("season", f"language:{value}", len(own), "optimal")
        assert {row.agent for row in page.rows} == {name for one in own for side in one.sides for name in side.agents}
        assert page.extra["parameters"]["prior"] == 1.0  # type: ignore[index]


def test_online_methods_have_final_boards_of_slices(season: Season) -> None:
    for tag, methods in FOLD.slices.items():
        for value in values_of(GAMES, tag):
            for method in methods:
                read = partial(season.boards.board, POOL, "first", method, now=1.0, provisional=PROVISIONAL, part=f"{tag}:{value}")
                page = read(start=0, count=100)
                assert {row.agent: row.rating for row in page.rows} == slice_ratings(GAMES, tag, value, method)
                assert (page.source, page.season, page.slice) == ("season", "first", f"{tag}:{value}")
                best = page.rows[0].agent
                assert [row.agent for row in read(start=0, count=100, agents=[best]).rows] == [best]


def test_what_slices_of_a_season_do_not_have_is_refused(season: Season) -> None:
    def read(method: str, part: str) -> None:
        season.boards.board(POOL, "first", method, start=0, count=9, now=1.0, provisional=PROVISIONAL, part=part)

    with pytest.raises(NoSeason, match="no final board copeland of the slice language:English"):
        read("copeland", "language:English")
    with pytest.raises(NoSeason, match="no final board bradley_terry of the slice map:"):
        read("bradley_terry", "map:a/b")
    for method, part, rule in (
        ("elo", "language:Klingon", "have an outcome .*"),
        ("elo", "speed:fast", r"be of a tag by which generation 1 of pool .* makes slices \(language, map\): .*"),
        ("glicko2", "map:a/b", "have the board glicko2 .*"),
    ):
        with pytest.raises(NoSeason, match=f"ended without it: slice must {rule} got '{part}'"):
            read(method, part)
    with pytest.raises(InputError, match="a colon and a value"):
        read("bradley_terry", "English")


def test_an_erased_name_is_replaced_in_slices_too(tmp_path: Path) -> None:
    season, erased = Season(tmp_path), erased_name("a3", ())  # not the one that other tests read, because files are written
    arrays = season.state.arrays()
    after = tokenized(arrays, NameMatcher([erased]))
    names = [name for name in arrays if name.endswith("agents.bytes")]
    assert len(names) == 1 + len(season.state.slices.slices if season.state.slices else ())
    texts = [b"".join(np.asarray(after[name]).tobytes() for name in (one,)) for one in names]
    assert all(erased.token.encode() in text for text in texts)
    assert tokenized(after, NameMatcher([erased])) is after
    season.files.erase(POOL, NameMatcher([erased]))
    for board in season.files.boards(POOL, "first"):
        found = season.files.board(POOL, "first", board)
        assert found is not None
        assert "a3" not in {row.agent for row in found.result.agents}
