"""`scripts/stages` counts what tests did, runs a failed one once more, and takes no stage for passed that did not end."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
TESTS = """
import pathlib
import pytest

first = pathlib.Path(__file__).with_name("first")

def test_passes():
    pass

def test_is_skipped():
    pytest.skip("no broker")

def test_fails_at_first():
    if not first.exists():
        first.touch()
        raise AssertionError

def test_fails_always():
    raise AssertionError
"""


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, which keeps its outputs in a folder of the test."""
    loader = SourceFileLoader("equirank_stages", str(ROOT / "scripts" / "stages"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, loader.name, module)  # dataclasses look their module up
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "OUTPUTS", tmp_path / "outputs")
    monkeypatch.setattr(module, "PYTEST", [sys.executable, "-m", "pytest", "-q"])
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take seconds
    return module


def run(stages: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], **known: object) -> tuple[int, str]:
    """Status of the script that runs the stages `known`, and the table that it prints at the end."""
    monkeypatch.setattr(stages, "stages", lambda: known)
    monkeypatch.setattr(sys, "argv", ["stages", *known])
    status = stages.main()
    return status, capfd.readouterr().out.rpartition("stage ")[2]


def test_a_failed_test_is_run_once_more_and_fails_if_it_fails_twice(
    stages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_of_a_stage.py"
    file.write_text(TESTS)
    status, table = run(stages, monkeypatch, capfd, some=stages.Stage(2, [str(file)]))
    assert status == 1
    assert table.splitlines()[1].split()[:5] == ["some", "1", "1", "1", "1"]
    assert "FAILED some: " in table
    assert "test_fails_always" in table
    assert "FLAKY some: " in table
    assert "test_fails_at_first: failed once" in table
    status, table = run(stages, monkeypatch, capfd, some=stages.Stage(2, [str(file), "-k", "not always"]))
    assert status == 0
    assert table.splitlines()[1].split()[:5] == ["some", "2", "0", "0", "1"]


def test_a_stage_that_does_not_end_has_failed(
    stages: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    status, table = run(
        stages,
        monkeypatch,
        capfd,
        hangs=stages.Stage(0.01, command=["sleep", "600"]),
        breaks=stages.Stage(2, command=["sh", "-c", "exit 3"]),
        works=stages.Stage(2, command=["true"]),
        collects_nothing=stages.Stage(2, ["no/such/file.py"]),
    )
    assert status == 1
    assert "FAILED hangs: not finished within 0.01 minutes" in table
    assert "FAILED breaks: ended with status 3" in table
    assert "FAILED collects_nothing: ended with status 4" in table
    assert [line.split()[:3] for line in table.splitlines() if line.startswith("works")] == [["works", "1", "0"]]


def test_what_needs_a_program_that_is_missing_is_skipped_and_counted(
    stages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_of_a_stage.py"
    file.write_text("import pytest\n\ndef test_needs_a_node():\n    pytest.skip('no node')\n")
    status, table = run(stages, monkeypatch, capfd, node=stages.Stage(2, [str(file)], ["sh", "-c", "exit 77"]))
    assert status == 0
    assert table.splitlines()[1].split()[:5] == ["node", "0", "0", "0", "1"]
