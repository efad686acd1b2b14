"""`insight` at the front door: the findings that outcomes determine, from games and scores in any form."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ratings_core import Online, insight
from ratings_core.errors import InputError
from ratings_core.findings.report import of_outcomes
from ratings_core.formats.features import Feature
from ratings_core.formats.options import ReadOptions
from tests.support.insight import NAMES, OUTCOMES, WINS, games

PAIRS = [(NAMES[i], NAMES[j]) for i in range(len(NAMES)) for j in range(len(NAMES)) for _ in range(int(WINS[i, j]))]


def test_the_findings_are_those_of_a_pool_of_the_same_games() -> None:
    found, of_pool = insight(PAIRS), of_outcomes(games(), OUTCOMES).parts
    assert {name: getattr(found, name) for name in of_pool} == of_pool
    assert found.agents == len(NAMES)
    assert found.left_out == 0


def test_it_prints_words() -> None:
    found = insight(PAIRS)
    text = str(found)
    assert text == repr(found)
    title, *lines = text.splitlines()
    assert title == "insight of 7 agents"
    assert [line[:11].strip() for line in lines if line[0] != " "] == ["links", "cyclicity", "order", "cycles", "clones", "the top"]
    assert "cycles     paper > rock-copy > scissors > paper (head-to-head majorities of 60, 60, 60; proven)" in lines
    assert "clones     equal agents: rock, rock-copy" in lines
    html = found._repr_html_()
    assert "rock-copy &gt; scissors" in html
    assert "<th>finding</th>" in html
    assert "agents are linked<br>weakly connected" in insight([("a", "b"), ("b", "a")])._repr_html_()


def test_it_takes_the_words_of_rate_and_says_the_same_of_rows() -> None:
    table: dict[str, list[Any]] = {"p": [], "q": [], "who": [], "when": []}
    for day, (winner, loser) in enumerate(PAIRS):
        for name, cell in zip(table, (winner, loser, "W", f"2026-{1 + day % 12:02}-01"), strict=True):
            table[name].append(cell)
    columns = {"first": "p", "second": "q", "winner": "who", "time": "when"}
    reading = ReadOptions(values={"W": "first"})
    assert insight(table, columns=columns, reading=reading).cycles == insight(PAIRS).cycles
    old = insight(table, columns=columns, reading=reading, half_life=2.0, bucket_seconds=2_629_800.0)
    assert old.cycles.untested == "outcomes do not all have weight 1, so margins are not numbers of outcomes"
    unplayed = insight(
        table | {"who": ["", *table["who"][1:]]}, columns=columns, reading=ReadOptions(values={"W": "first"}, unplayed="skip")
    )
    assert any(line.startswith("left out: 1, ") for line in str(unplayed).splitlines())


def test_scores_have_findings_about_tasks(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("task,a,b,c\nt,1,2,3\nu,1,2,3\nv,3,1,2\n")
    found = insight(path)
    assert found.clones.tasks == [["t", "u"]]
    assert found.order.not_applicable is not None
    assert "order      not applicable: needs games" in str(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bucket_seconds": 60.0}, "bucket_seconds must be left out without half_life"),
        ({"half_life": 2.0}, "half_life must be 0 where games are not counted by time"),
        ({"half_life": -1.0}, "half_life must be a finite number >= 0"),
        ({"columns": {"frist": "x"}}, "did you mean first"),
    ],
)
def test_arguments_without_an_effect_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        insight(PAIRS, **arguments)


def test_margins_have_no_insight(tmp_path: Path) -> None:
    path = tmp_path / "margins.csv"
    path.write_text(",a,b\na,0,1\nb,-1,0\n")
    with pytest.raises(InputError, match=r"games must be games or scores: .*, got 'margins'"):
        insight(path)
    with pytest.raises(InputError, match=r"games must be games for elo: .*, got 'margins'"):
        Online("elo").learn_many(path)


def test_features_are_refused_as_an_insight_has_no_method() -> None:
    table = {"first": ["a", "b"], "second": ["b", "a"], "result": [1, 1], "x": [1.0, 2.0]}
    with pytest.raises(InputError, match="features must be left out: an insight does not use features, got"):
        insight(table, reading=ReadOptions(features=(Feature.parsed("x"),)))


def test_too_few_results_are_said() -> None:
    found = insight(np.array([(0, 1), (1, 2)]))
    assert found.order.not_applicable == "needs pairs with several decided games: no pair of agents has more than one"
