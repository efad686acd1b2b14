"""What a pool has whose settings leave it out: its record says so, and pools of an earlier release keep what they had then."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ratings_core.errors import InputError
from services.control import generations
from services.control.directory import LiveDirectory
from services.control.generations import make_raters
from services.control.log import ControlLog, PoolExists
from services.control.records import DEFAULT_METHODS, FoldSettings, Generation, GenerationRequest, PoolCreated
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.state.pool import PoolState
from services.wire.pools import Kind

NEW = {method: {} for method in DEFAULT_METHODS}
FORMER = {"elo": {}, "sco": {}}
OLD_RECORD = b'{"type":"pool","pool":"p","kind":"games","time":0.0,"fold":{"online":null},"label":""}'
"""Record of a pool as the releases before wrote it."""
ASKED = PoolCreated(pool="p", kind=Kind.GAMES, time=1.0)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    yield log
    log.close()


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    control = ControlLog(log.control)
    yield control
    control.close()


def old(log: Log, control: ControlLog) -> PoolCreated:
    """The pool as an earlier release created it."""
    log.control.append(0, [(b"once/1", OLD_RECORD)])
    return control.refresh().pools["p"]


@pytest.mark.parametrize(("kind", "methods"), [(Kind.GAMES, NEW), (Kind.SCORES, {})])
def test_the_record_of_a_new_pool_names_its_methods(control: ControlLog, kind: Kind, methods: dict[str, object]) -> None:
    made = control.create_pool(replace(ASKED, kind=kind))
    assert (made.fold.online, list(make_raters(kind, made.fold))) == (methods, list(methods))
    assert control.create_pool(replace(ASKED, kind=kind)) == made, "the request can be repeated"


def test_a_pool_that_its_first_outcome_creates_has_the_same_methods(control: ControlLog) -> None:
    directory = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=True)
    found = directory.generation("p", Kind.GAMES, 0)
    assert found is not None
    assert (found[0].fold.online, found[1].fold.online) == (NEW, NEW)


def test_a_pool_of_an_earlier_release_keeps_its_methods(log: Log, control: ControlLog) -> None:
    created = old(log, control)
    control.create_generation(Generation(pool="p", number=1, start=0, time=0.0, fold=created.fold))
    control.want(generations.wish(control.standing("p"), time=2.0, bans=["eve"]))
    waiting = control.refresh().wish("p")
    assert waiting is not None
    assert waiting[1].fold == created.fold
    made = generations.after_wish(control.known(), waiting, 5, 0, 3.0)
    assert list(PoolState(created, made).content.ratings.online) == list(FORMER)


@pytest.mark.parametrize("kind", Kind)
def test_the_record_of_a_new_pool_says_whether_shapes_of_games_are_told_apart(control: ControlLog, kind: Kind) -> None:
    assert control.create_pool(replace(ASKED, kind=kind)).fold.by_shape is (kind is Kind.GAMES)
    off = control.create_pool(PoolCreated(pool="off", kind=kind, time=0.0, fold=FoldSettings(by_shape=False)))
    assert off.fold.by_shape is False
    if kind is Kind.SCORES:
        with pytest.raises(InputError, match="by_shape must be false for scores"):
            control.create_pool(PoolCreated(pool="on", kind=kind, time=0.0, fold=FoldSettings(by_shape=True)))


def test_a_pool_of_an_earlier_release_tells_no_shapes_apart_until_it_is_asked_to(log: Log, control: ControlLog) -> None:
    created = old(log, control)
    assert (created.fold.by_shape, created.fold.with_defaults(created.kind, created.fold)) == (None, created.fold)
    assert control.create_pool(ASKED) == control.create_pool(replace(ASKED, fold=FoldSettings(by_shape=False))) == created
    with pytest.raises(PoolExists):
        control.create_pool(replace(ASKED, fold=FoldSettings(by_shape=True)))
    made = Generation(pool="p", number=1, start=0, time=0.0, fold=created.fold)
    before = PoolState(created, made)
    kept = before.arrays()
    assert not any(name.startswith("teams.") for name in kept), "its digest is the one that the earlier release computed"
    assert [name for name in kept if name.startswith("prequential.elo.")] == ["prequential.elo.counts", "prequential.elo.sums"]
    after = PoolState(created, replace(made, fold=replace(created.fold, by_shape=True)))
    teams = {"teams.bucket", "teams.task", "teams.start", "teams.key", "teams.weight"}
    assert after.arrays().keys() - kept.keys() == teams | {f"prequential.{method}.shapes" for method in FORMER}


@pytest.mark.parametrize("online", [None, FORMER])
def test_a_request_for_a_pool_of_an_earlier_release_can_be_repeated(
    log: Log, control: ControlLog, online: dict[str, dict[str, float]] | None
) -> None:
    created = old(log, control)
    assert control.create_pool(replace(ASKED, fold=FoldSettings(online=online))) == created


def test_a_request_without_methods_asks_for_none(control: ControlLog) -> None:
    made = control.create_pool(replace(ASKED, fold=FoldSettings(online={"elo": {"k": 8.0}})))
    assert control.create_pool(ASKED) == made
    with pytest.raises(PoolExists, match="its settings by"):
        control.create_pool(replace(ASKED, fold=FoldSettings(per_task=True)))


@pytest.mark.parametrize("online", [{}, {"elo": {}}, {"elo": {"k": 8.0}, "sco": {}}])
def test_a_request_with_other_methods_is_refused(log: Log, control: ControlLog, online: dict[str, dict[str, float]]) -> None:
    old(log, control)
    with pytest.raises(PoolExists):
        control.create_pool(replace(ASKED, fold=FoldSettings(online=online)))


def test_slices_may_have_any_default_method(control: ControlLog) -> None:
    slices = {"map": ("glicko2",)}
    assert control.create_pool(replace(ASKED, fold=FoldSettings(slices=slices))).fold.slices == slices


def test_the_records_of_an_earlier_release_are_written_as_before() -> None:
    created = msgspec.json.decode(OLD_RECORD, type=PoolCreated)
    assert created.fold.online is None
    asked = GenerationRequest(pool="p", time=0.0, fold=created.fold)
    assert msgspec.json.decode(msgspec.json.encode(asked))["fold"]["online"] is None
