"""`equirank bench`: its options and files on rows that are given, and real runs of small inputs beside packages of this environment."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import typer

from benchmarks.bench import command
from benchmarks.bench.children import PROGRAMS, Child, ProgramError
from benchmarks.bench.measure import Found, measured
from benchmarks.bench.rows import Row, Scaling
from benchmarks.bench.tasks import TASKS, Peer, chosen
from benchmarks.peers import interpreter, require
from ratings_core.errors import InputError
from services.cli.bench import bench

ROW = Row("elo", "evalica elo", 1_000, ours=0.5, theirs=2.0, difference=0.0, tolerance=1e-6)
SCALING = Scaling("elo", "games", (10, 100), (1.0, 10.0))


@pytest.fixture
def given(monkeypatch):
    """A function that sets the rows that the tasks find; it returns the arguments of the runs."""
    asked = []

    def set_rows(*rows):
        def found(task, **how):
            asked.append((task.name, how))
            return iter([Found(row, {"ours": {"numpy": "2"}, "peers": {"numpy": "1"}}) for row in rows])

        monkeypatch.setattr(command, "measured", found)
        monkeypatch.setattr(command, "require", lambda: "the-peers-python")
        return asked

    return set_rows


def status(**options):
    with pytest.raises(typer.Exit) as ended:
        bench(**{"only": ["elo"]} | options)
    return ended.value.exit_code


def test_files_are_written_and_tasks_run_as_asked(given, tmp_path, capsys):
    asked = given(ROW, SCALING)
    assert status(only=["csv", "elo"], quick=True, runs=7, output=tmp_path) == 0
    assert asked == [(name, {"quick": True, "runs": 7, "peers_python": "the-peers-python"}) for name in ("elo", "csv")]
    written = json.loads((tmp_path / "bench.json").read_text())
    assert written["quick"] is True
    assert written["versions"] == {"ours": {"numpy": "2"}, "peers": {"numpy": "1"}}
    assert {"processor", "cores", "numpy", "BLAS", "seed", "commit"} <= set(written["machine"])
    assert f"commit {written['machine']['commit']}" in (tmp_path / "bench.md").read_text()
    assert "| elo | evalica elo |" in (tmp_path / "bench.md").read_text()
    assert (tmp_path / "bench.svg").read_text().startswith("<?xml")
    assert "elo: size to the power 1.00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ROW, 0),
        (replace(ROW, difference=1.0), 1),
        (replace(ROW, difference=1.0, why="another tolerance"), 0),
        (replace(ROW, tolerance=None, difference=1.0), 0),
        (Row("elo", "absent", 1_000, error="ended: no message"), 1),
    ],
)
def test_the_status_is_1_for_failures_and_differences_without_a_reason(given, tmp_path, row, expected):
    given(row)
    assert status(output=tmp_path) == expected


def test_a_row_that_got_worse_gives_status_1_and_is_marked(given, tmp_path, capsys):
    given(ROW)
    assert status(output=tmp_path / "old") == 0
    given(replace(ROW, ours=2.0))
    assert status(output=tmp_path / "new", compare=tmp_path / "old" / "bench.json") == 1
    assert "slower   elo beside evalica elo: ratio 4x, now 1x" in capsys.readouterr().out
    assert "**slower**" in (tmp_path / "new" / "bench.md").read_text()


def test_an_earlier_run_of_other_sizes_is_refused_before_anything_runs(given, tmp_path):
    asked = given(ROW)
    assert status(output=tmp_path, quick=True) == 0
    asked.clear()
    with pytest.raises(InputError, match="must be a run without --quick"):
        bench(only=["elo"], output=tmp_path, compare=tmp_path / "bench.json")
    assert not asked


def test_tasks_are_chosen_by_name():
    assert [task.name for task in chosen([])] == list(TASKS)
    with pytest.raises(InputError, match="did you mean elo"):
        chosen(["eloo"])


def test_without_the_peers_environment_the_error_says_how_to_make_it(monkeypatch, tmp_path):
    monkeypatch.delenv("EQUIRANK_PEERS", raising=False)
    monkeypatch.setattr("benchmarks.peers.ENVIRONMENT", tmp_path)
    assert interpreter() is None
    with pytest.raises(InputError, match="run `make peers`"):
        bench(only=["elo"], output=tmp_path)
    monkeypatch.setenv("EQUIRANK_PEERS", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="run `make peers`"):
        require()


def test_programs_of_all_tasks_and_peers_exist():
    for task in TASKS.values():
        assert task.peers, task.name
        for program in (f"ours:{task.program}", *(peer.program for peer in task.peers)):
            file, function = program.split(":")
            assert f"\ndef {function}(" in (PROGRAMS / f"{file}.py").read_text(), program


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_the_input_of_a_task_is_the_same_each_time(task):
    size = min(task.quick)
    first, second = task.data(size), task.data(size)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def small(name, *peers):
    task = TASKS[name]
    return replace(task, quick=(20, 40), peers=peers or tuple(replace(peer, quick=200) for peer in task.peers))


def test_a_real_run_beside_evalica_finds_equal_ratings():
    evalica, *_ = TASKS["elo"].peers
    task = small("elo", replace(evalica, quick=200))
    row, scaling = [one.row for one in measured(task, quick=True, runs=1, peers_python=sys.executable)]
    assert row.error == ""
    assert row.equal is True
    assert row.runs == 1
    assert row.ratio > 0
    assert scaling.sizes == (20, 40)
    assert scaling.error == ""


def test_a_peer_that_is_missing_raises_or_has_other_values_is_a_row_with_its_error():
    peers = [
        Peer("absent", "trueskill_rows:free_for_alls", 20, 20, "means", 1e-6),
        Peer("wrong input", "choix_rows:dense", 20, 20, "means", 1e-6),
    ]
    found = [one.row for one in measured(small("elo", *peers), quick=True, runs=1, peers_python=sys.executable)]
    assert [row.peer for row in found[:2]] == ["absent", "wrong input"]
    assert found[0].error == "ModuleNotFoundError: No module named 'trueskill'"
    assert found[1].error == "KeyError: 'wins'"
    assert found[0].ratio is None


def test_a_program_that_does_not_answer_in_time_is_ended(tmp_path):
    source = TASKS["elo"].stored(20, tmp_path)
    with pytest.raises(ProgramError, match="no answer within 0 s"):
        Child(sys.executable, "ours:elo", source, 0.0)


def test_an_interpreter_that_ends_at_once_is_reported(tmp_path):
    source = TASKS["elo"].stored(20, tmp_path)
    with pytest.raises(ProgramError, match="ended: no message"):
        Child("/bin/true", "ours:elo", source, 60.0)
