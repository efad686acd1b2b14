"""GET /v1/pools/{pool}/insight and `equirank insight`."""

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from ratings_core.errors import InputError
from ratings_core.findings.records import Cyclicity, Disagreement, Disputed, Distance, ThinLeaders
from ratings_core.findings.words import _cyclicity, _disagreement, _leaders
from services.boards.insight import Insight
from services.boards.reading import board as board_of
from services.boards.result import CertificateRow, SolvedBoard, SolveResult
from services.cli.insight import find, none_yet, table
from services.runtime.settings import Settings
from tests.support.api import NOW, Running
from tests.support.boards import head_of, solved_of
from tests.support.insight import board


@pytest.fixture
def seen(api: Running) -> Running:
    assert api.store.live.publish(head_of(position=12, published_at=NOW), 1, {})
    assert api.store.solved.publish(solved_of(position=10))
    assert api.store.solved.publish(board("blitz"))
    return api


def test_it_is_read_with_its_age_and_kept_while_nothing_changes(seen: Running) -> None:
    answer = seen.client.get("/v1/pools/blitz/insight")
    found = answer.json()
    assert (found["position"], found["age_seconds"], found["status"], found["error"]) == (7, NOW - 995.0, "optimal", None)
    assert found["findings"]["clones"]["exact"] == [["rock", "rock-copy"]]
    assert seen.client.get("/v1/pools/blitz/insight", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_it_is_no_board(seen: Running) -> None:
    assert seen.client.get("/v1/pools/blitz/boards").json()["methods"]["solved"] == ["maximal_lottery"]
    assert seen.client.get("/v1/pools/blitz/boards/insight").status_code == 404
    assert board_of(seen.store, "blitz", "insight", start=0, count=1, now=NOW) is None
    assert "insight" in seen.store.solved.complete(["blitz"])["blitz"], "the engine sees that it is there"


def test_before_the_first_there_is_nothing_and_a_failure_says_why(api: Running) -> None:
    assert api.client.get("/v1/pools/blitz/insight").status_code == 404
    api.client.put("/v1/pools/blitz", json={"kind": "games"})
    found = api.client.get("/v1/pools/blitz/insight").json()
    assert (found["findings"], found["status"], "not computed yet" in found["error"]) == (None, "pending", True)
    nothing = SolveResult(
        method="insight", input="none", agents=[], certificate=CertificateRow(kind="none", value=None), status="failed", seconds=0.0
    )
    failed = SolvedBoard(
        pool="blitz", generation=1, position=3, outcomes=3, data="", parameters={}, solved_at=0.0, result=nothing, error="out of memory"
    )
    assert api.store.solved.publish(failed)
    found = api.client.get("/v1/pools/blitz/insight").json()
    assert (found["findings"], found["status"], found["error"]) == (None, "failed", "out of memory")


def test_the_command_tells_all_of_it(seen: Running, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "elsewhere")
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table(find(seen.store, "blitz", settings)))
    text = console.export_text()
    for part in (
        "7 agents, position 7", "2 groups without games between them; outside the largest: other, stranger",
        "weakly connected among the first 7 by elo, maximal_lottery: ",
        "paper > rock-copy > scissors > paper", "equal agents: rock, rock-copy",
        "by majority of head-to-head results, stranger loses to no opponent; without 1 outcome, other would be level or ahead",
        "other: place 2 by maximal_lottery, 7 by elo", "elo: log loss 0.5000", "to compare: a coin has log loss 0.6931",
        "sco: not enough outcomes yet (0 of 100 predicted pairs)", "other boards rank it lower: 6 by elo",
    ):  # fmt: skip
        assert part in text, (part, text)
    with pytest.raises(InputError, match="there are: blitz"):
        find(seen.store, "nowhere", settings)


def test_boards_that_the_same_agents_lead_share_a_line() -> None:
    led = {"elo": ["b", "a"], "sco": ["a", "b"], "borda": ["c"]}
    boards = [ThinLeaders(method=name, agents=agents, of=3) for name, agents in led.items()]
    assert list(_leaders(boards)) == [
        "weakly connected among the first 3 by elo, sco: b, a",
        "weakly connected among the first 3 by borda: c",
    ]


@pytest.mark.parametrize(
    ("kendall", "tied", "says"),
    [
        (0.4, 0.8, "order no pair of agents oppositely; 80.0% of the pairs are tied by one of the two alone"),
        (0.4, 0.0, "order 40.0% of the pairs of agents oppositely"),
        (0.0002, 0.0, "order less than 0.1% of the pairs of agents oppositely"),
        (0.4, None, "order 40.0% of the pairs of agents differently, where a pair that only one of them ties counts as half"),
    ],
)
def test_the_command_says_how_two_methods_differ_as_the_page_does(kendall: float, tied: float | None, says: str) -> None:
    disputed = [Disputed(agent="a", high="elo", high_place=1, low="sco", low_place=3, places=2)]
    found = Disagreement(agents=3, disputed=disputed, distances=[Distance(methods=("elo", "sco"), kendall=kendall, tied=tied)])
    assert list(_disagreement(found)) == ["a: place 1 by elo, 3 by sco", f"elo and sco differ most: they {says}"]


@pytest.mark.parametrize(
    ("share", "least", "says"),
    [
        (0.25, 0.25, "the best order contradicts 25.0% of"),
        (0.25, 0.125, "the best order contradicts 12.5% to 25.0% of"),
        (0.25, 1e-6, "the best order contradicts at most 25.0% of"),
        (1e-6, 1e-6, "the best order contradicts less than 0.1% of"),
        (0.0, 0.0, "one order agrees with all"),
    ],
)
def test_the_command_never_says_of_a_cycle_that_nothing_is_contradicted(share: float, least: float, says: str) -> None:
    assert next(_cyclicity(Cyclicity(against_order=share, against_order_least=least, unexplained=0.2))).startswith(says)


def test_the_command_says_how_many_agents_share_a_place() -> None:
    row = Disputed(agent="a", high="copeland", high_place=1, high_shared=3, low="elo", low_place=7, places=4)
    found = Disagreement(agents=9, disputed=[row], distances=[Distance(methods=("elo", "copeland"), kendall=0.4, tied=0.1)])
    assert next(_disagreement(found)) == "a: place 1 (shared by 3) by copeland, 7 by elo"


def test_the_command_says_how_many_agents_are_left_out(seen: Running, tmp_path: Path) -> None:
    report = find(seen.store, "blitz", Settings(data=tmp_path / "elsewhere"))
    assert report.findings is not None
    large = msgspec.structs.replace(report, findings=msgspec.structs.replace(report.findings, left_out=2500))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table(large))
    assert "7 agents without the 2,500 least active ones, position 7" in console.export_text()
    console.print(table(report))
    assert "least active" not in console.export_text()


def test_the_command_says_that_there_is_none_yet() -> None:
    assert none_yet(Insight(pool="blitz", error="late")) == "blitz · no insight yet: late"


def test_hidden_agents_are_in_no_finding_and_others_have_their_display_names(seen: Running) -> None:
    def details(agent: str, **change: object) -> None:
        assert seen.client.patch(f"/v1/pools/blitz/agents/{agent}", json=change).status_code == 200

    assert seen.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    address = "/v1/pools/blitz/insight"
    before = seen.client.get(address)
    assert (before.json()["hidden_agents"], "display_names" in before.json()) == (0, False)
    details("paper", display_name="Paper 2")
    details("nobody", display_name="of no finding")
    named = seen.client.get(address, headers={"If-None-Match": before.headers["etag"]})
    assert (named.status_code, named.json()["display_names"]) == (200, {"paper": "Paper 2"})
    for hidden in ("rock-copy", "stranger"):
        details(hidden, hidden=True)
    answer = seen.client.get(address)
    found = answer.json()["findings"]
    assert answer.json()["hidden_agents"] == 2
    assert found["cycles"]["cycles"] == [], "a cycle without one of its agents is none"
    assert (found["clones"]["exact"], found["clones"]["exact_total"]) == ([], 0)
    assert (found["top"]["agents"], found["top"]["agents_total"]) == ([], before.json()["findings"]["top"]["agents_total"])
    assert [board["agents"] for board in found["connectivity"]["leaders"]] == [["other"]] * len(found["connectivity"]["leaders"])
    assert "rock-copy" not in answer.text
    assert "stranger" not in answer.text
    assert seen.client.get(address, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
