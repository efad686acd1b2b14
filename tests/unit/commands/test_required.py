"""On a machine that should have the servers, a test that is skipped for want of one fails."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.support.required import REASONS
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
SKIPS = {
    "inside": "def test_it():\n    pytest.skip({reason!r})",
    "mark": "@pytest.mark.skipif(True, reason={reason!r})\ndef test_it():\n    pass",
    "fixture": "@pytest.fixture\ndef server():\n    pytest.skip({reason!r})\n\ndef test_it(server):\n    pass",
    "module": "pytest.skip({reason!r}, allow_module_level=True)",
}


def run(folder: Path, texts: Iterable[str], require: str) -> tuple[int, str]:
    """Status and output of pytest on one file for each text."""
    for number, text in enumerate(texts):
        (folder / f"test_{number}.py").write_text(f"import pytest\n\n{text}\n\ndef test_another():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.required", "-p", "no:cacheprovider", str(folder)]
    environment = os.environ | {"EQUIRANK_REQUIRE": require, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout + done.stderr


def test_skips_for_want_of_a_required_server_fail(tmp_path: Path) -> None:
    texts = [text.format(reason="no Kafka broker: java is missing") for way, text in SKIPS.items() if way != "module"]
    status, said = run(tmp_path, texts, "redis kafka")
    assert (status, "3 passed" in said, "skipped," in said) == (1, True, True), said
    assert said.count("EQUIRANK_REQUIRE=kafka says that this machine has kafka") >= 3, said
    assert "java is missing" in said


def test_the_skip_of_a_module_fails(tmp_path: Path) -> None:
    status, said = run(tmp_path, [SKIPS["module"].format(reason="no chromium here")], "browser")
    assert status != 0
    assert "EQUIRANK_REQUIRE=browser says that this machine has browser" in said


def test_other_skips_stay_skips(tmp_path: Path) -> None:
    texts = [text.format(reason="no Kafka broker: java is missing") for text in SKIPS.values()]
    status, said = run(tmp_path, [*texts, SKIPS["mark"].format(reason="too small a disk")], "redis browser")
    assert (status, "5 skipped" in said) == (0, True), said


def test_an_unknown_server_is_refused(tmp_path: Path) -> None:
    status, said = run(tmp_path, [""], "kafka mongo")
    assert status != 0
    assert "'mongo' must be among kafka, redis, browser" in said


def test_the_reasons_are_those_of_the_tests() -> None:
    """A reason that nobody uses would require nothing."""
    sources = [path.read_text() for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__) and path.name != "required.py"]
    for reason in REASONS.values():
        assert any(reason in source for source in sources), reason
