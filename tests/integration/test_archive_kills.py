"""Writers of the archive are killed at random moments, and others continue: nothing is lost, twice or half."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from services.archive import chain
from services.archive.compaction import compact
from services.archive.reader import open_reader
from tests.support.archive import LOG, check, fill, mixed

SEED, RECORDS, BATCH, KILLS = 23, 600, 6, 6


@pytest.mark.timeout(1200)
def test_killed_writers_leave_whole_appends_and_others_continue(tmp_path: Path) -> None:
    url = (tmp_path / "archive").as_uri()
    rng, records = np.random.default_rng(SEED), mixed(SEED, RECORDS)
    positions = [0]
    for _ in range(KILLS):
        positions.append(killed(url, int(rng.integers(1, 9)), float(rng.uniform(0.0, 0.1)), records))
        assert positions[-1] >= positions[-2]
        compact(url, 0, open_files=8)
    assert 0 < positions[-1] < records[-1].offset + 1  # kills came while it wrote
    arguments = [sys.executable, "-m", "tests.support.archive", url, str(SEED), str(RECORDS), "60"]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    assert check(url, records) == records[-1].offset + 1
    whole = fill((tmp_path / "whole").as_uri(), records, RECORDS)
    assert chain.verify(chain.genesis(LOG, 0), open_reader(url, 0).read()) == whole.head
    print(f"positions after each kill: {positions[1:]}")  # noqa: T201


def killed(url: str, appends: int, seconds: float, records: list) -> int:
    """Start a writer, kill it up to `seconds` after it began its append number `appends`; the position then."""
    command = [sys.executable, "-m", "tests.support.archive", url, str(SEED), str(RECORDS), str(BATCH)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(appends):
            assert process.stdout.readline()
        try:
            process.wait(seconds)  # a random moment of the append
        except subprocess.TimeoutExpired:
            process.kill()
    assert process.returncode == -9
    return check(url, records)
