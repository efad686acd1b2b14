"""Past boards of live methods on Kafka: from the archive up to its end, then from the topic."""

from contextlib import closing
from pathlib import Path

import pytest

from services.backends import open_log
from services.demo import simulated
from services.runtime.settings import Settings
from tests.support.archiving import archive, fold, served_api
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.worker import folded_without, head_of

pytestmark = [pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]


def test_a_past_board_is_folded_from_archive_and_topic(settings: Settings, tmp_path: Path, kafka: str) -> None:  # noqa: F811
    more = {"kafka": kafka, "topic_prefix": "past.", "archive": str(tmp_path / "archive"), "checkpoints_kept": 1, "create_pools": True}
    on_kafka = settings.model_copy(update=more)
    positions = dict[int, int]()
    with closing(open_log(on_kafka)) as log:
        for start, stop in ((0, 120), (120, 200), (200, 300)):
            fold(on_kafka, log, start, stop)
            positions[stop] = head_of(on_kafka).position
            if stop == 200:
                assert archive(on_kafka) == positions[200]
        with served_api(on_kafka, log) as client:
            for stop, position in positions.items():
                answer = client.get(f"/v1/pools/{simulated.POOL}/boards/elo", params={"position": position, "count": 1000})
                assert answer.status_code == 200, answer.text
                assert answer.json()["position"] == position
                assert {row["agent"]: row["rating"] for row in answer.json()["rows"]} == folded_without(range(stop, 300), 300)
