"""Tables at 80 columns: times, numbers and headings are whole, names are complete, and what is left out is said."""

import io
from collections.abc import Sequence

import pytest
from rich.console import Console, RenderableType

from services.boards.agent_history import AgentOutcome, AgentOutcomes, OutcomeSide
from services.boards.agent_profile import AgentProfile, MethodRating
from services.boards.result import AgentRow
from services.boards.season_boards import SeasonView
from services.cli.agent import outcomes_table, profile_table
from services.cli.cells import ranked_table
from services.cli.fitted import FittedTable, cut, folded, whole
from services.cli.seasons import season_table
from services.control.seasons import SeasonStatus

LONG = "meta-llama-3.1-405b-instruct-bf16-preview"
TIME = 1_795_000_000.0


def printed(shown: RenderableType, width: int = 80) -> str:
    """The text of a table on a terminal of `width` columns."""
    file = io.StringIO()
    Console(file=file, width=width).print(shown)
    assert all(len(line) <= width for line in file.getvalue().splitlines())
    return file.getvalue()


def column_text(output: str, part: str) -> bool:
    """Whether the cells of one column, joined over lines, hold `part`."""
    rows = [line.split("│")[1:-1] for line in output.splitlines() if line.startswith("│")]
    return any(part in "".join(row[i].strip() for row in rows) for i in range(len(rows[0])))


def check(output: str, *texts: str) -> None:
    """Check that a table has these texts whole, and the long name complete."""
    assert "…" not in output
    for text in texts:
        assert text in output, text
    assert column_text(output, LONG)


def test_a_board_with_details_keeps_names_ratings_and_ranks() -> None:
    row = AgentRow(
        agent=LONG, rating=1770.734, rank=1, low=1663.49, high=1877.97, deviation=41.1557, rank_low=1, rank_high=3, display_name="Llama",
        country="US", organisation="Meta Platforms", licence="Llama-3.1-Community", games=1570.0, wins=1130.0, draws=140.0, losses=300.0,
    )  # fmt: skip
    narrow, wide = (printed(ranked_table([row], {}), width) for width in (80, 250))
    check(narrow, "rank ", "agent", "rating", "ranks", "1770.73", "1 to 3", "1570")
    assert "left out, because a line has 80 characters: licence, organisation, " in narrow
    check(wide, "licence", "Llama-3.1-Community", "Meta Platforms", "1663.49 to 1877.97", "deviation", LONG)
    assert "left out" not in wide


def test_times_of_seasons_are_whole() -> None:
    season = SeasonView(
        name=LONG, status=SeasonStatus.CLOSED, generation=12, start=100_000, end=200_000, began_at=TIME, ended_at=TIME + 86_400, keep=0.5,
        outcomes=123_456,
    )  # fmt: skip
    output = printed(season_table("blitz", [season]))
    check(output, "2026-11-18 11:06", "2026-11-19 11:06", "status", "outcomes", "123456", "began (UTC)", "ended (UTC)")
    assert "left out, because a line has 80 characters: positions, keep" in output


def test_the_end_of_the_running_season_says_that_it_is_running() -> None:
    begun = {"generation": 2, "start": 40, "end": None, "began_at": TIME, "ended_at": None, "keep": 0.5}
    rows = {
        status: printed(season_table("blitz", [SeasonView(name="autumn", status=status, **begun)]), 140).splitlines()[-2]
        for status in (SeasonStatus.RUNNING, SeasonStatus.STARTING)
    }
    assert (rows[SeasonStatus.RUNNING].count("running"), "40 to now" in rows[SeasonStatus.RUNNING]) == (2, True)
    assert (rows[SeasonStatus.STARTING].count("running"), "40 to -" in rows[SeasonStatus.STARTING]) == (0, True)


def test_outcomes_of_an_agent_have_whole_times_and_headings() -> None:
    outcome = AgentOutcome(
        outcome=1, time=TIME, weight=1.0, score=1.0, result="won", place=1, team=[], opponents=[OutcomeSide(agents=[LONG], place=2)],
        before=1678.52, after=1691.04, change=12.52, expected_score=0.599689, p_win=0.51, p_tie=0.18, gain=31.3, ids=[LONG],
    )  # fmt: skip
    answer = AgentOutcomes(
        pool="blitz", agent="a", generation=1, position=9, age_seconds=0.0, method="elo", total=1, missing=0, outcomes=[outcome], next=None
    )
    output = printed(outcomes_table(answer))
    check(output, "time (UTC)", "2026-11-18 11:06:40", "opponents", "result", "after", "change", "1691.04", "+12.52", "id")
    assert column_text(output, LONG)


def test_methods_of_a_profile_are_complete() -> None:
    rated = MethodRating(
        source="solved", generation=1, age_seconds=0.0, total=100_000, ranked=100_000,
        rating=1770.734, rank=1, provisional=False, position=123_456, low=1663.49, high=1877.97, rank_low=1, rank_high=3,
        deviation=41.1557,
    )  # fmt: skip
    answer = AgentProfile(
        pool="blitz", agent="a", generation=1, position=9, age_seconds=0.0, outcomes=3, methods={LONG: rated}, games=None, scores=None,
        no_record=None, first_played=None, last_played=None, streak=None,
    )  # fmt: skip
    check(printed(profile_table(answer)), "1663.49 to 1877.97", "1 of 100000", "method", "interval")


@pytest.mark.parametrize("least", [(), ("number",), ("number", "other")])
def test_only_the_columns_that_may_be_left_out_are(least: Sequence[str]) -> None:
    table = FittedTable(folded("name"), whole("number", right=True), whole("other"), cut("text"), least=least)
    table.add_row(LONG, "1" * 12, "2" * 12, "[bold]" + "x" * 60)
    output = printed(table, 50 if least else 60)
    assert ("left out" in output) == bool(least)
    assert ("number" in output.splitlines()[1]) == (not least)
    assert column_text(output, LONG)
    assert "[bold]x" in printed(table, 200)


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells and the table 2 columns"):
        FittedTable(folded("name"), whole("number")).add_row("a")
