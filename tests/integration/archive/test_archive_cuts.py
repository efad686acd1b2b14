"""Games with teams and ties, duplicates, conflicts, retractions and scores: the same digests wherever the archive ends.

`scripts/archive-cuts` does the same with a million outcomes.
"""

from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.chaos.traffic import POOLS
from tests.support.archive_cuts import hold

CUTS = 3


def test_live_json_log_and_archive_with_topic_give_the_same_digests_at_every_cut(settings: Settings, log: Log) -> None:
    report = hold(settings, log, outcomes=6_000, cuts=CUTS, seed=1, say=print)
    assert report.wrong == []
    assert report.digests == (1 + CUTS) * len(POOLS)
    assert min(report[:4]) > 0
    assert report.outcomes > 5_000
