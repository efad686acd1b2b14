"""Options of moments: times are --at, --since and --until, and positions are --position, --from, --to and --against, in every command."""

import re
import sys
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from services.boards.past import SeveralGenerations
from services.cli import main as cli
from services.cli.top import _past_boards
from services.runtime.settings import Settings

ROOT = Path(__file__).parents[3]
POSITIONS, TIMES = {"--position", "--from", "--to", "--against"}, {"--at", "--since", "--until"}


def test_every_command_takes_times_and_positions_by_the_same_options() -> None:
    rows = re.findall(r"^\| `(--\w+) <(\w+)>", (ROOT / "docs" / "reference" / "commands.md").read_text(), re.MULTILINE)
    moments = {(option, kind) for option, kind in rows if option in POSITIONS | TIMES}
    assert moments == {(option, "int") for option in POSITIONS} | {(option, "str") for option in TIMES}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("why", "blitz", "ann", "--method", "elo", "--from", "2026-11-29"), "'--from': must be a log position, a whole number from 0 on"),
        (("why", "blitz", "ann", "--method", "elo", "--from", "2026-11-29"), "a time belongs to --since, got '2026-11-29'"),
        (("export", "a.csv", "--pool", "blitz", "--to", "-1"), "a time belongs to --until, got '-1'"),
        (("top", "--pool", "blitz", "--position", "yesterday"), "a time belongs to --at, got 'yesterday'"),
        (("seasons", "start", "blitz", "two", "--position", "now"), "'--position': must be a log position, a whole number from 0 on, got"),
        (("solve", "--pool", "blitz", "--method", "elo", "--from", "²"), "'--from': must be a log position"),
    ],
)
def test_a_time_in_the_place_of_a_position_is_told_the_option_that_takes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["equirank", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_a_position_of_several_generations_names_them_and_what_to_add(tmp_path: Path) -> None:
    rule = "--position has boards of generations 1 and 2: add --generation 1 or --generation 2, got 30"
    with pytest.raises(InputError, match=rule), _past_boards(Settings(data=tmp_path), None, "copeland"):  # type: ignore[arg-type]
        raise SeveralGenerations(30, [2, 1])
