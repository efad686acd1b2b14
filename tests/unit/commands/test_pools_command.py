"""`equirank pools`: from options and CSV files to a wish in the control log, and what is told of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.store.protocol import Building, PoolHead, StoreError
from services.cli import installation
from services.cli import main as cli
from services.cli import pools as command
from services.cli.edits import read_aliases, read_bans, read_initial
from services.cli.pools import _state, await_generation
from services.control.log import ControlLog, NoPool
from services.control.records import FoldSettings, Generation, GenerationRequest, PoolCreated
from services.runtime.settings import Settings
from services.wire.pools import Kind


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlLog]:
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path))
    log = open_log(Settings())
    control = ControlLog(log.control)
    for pool, kind in (("blitz", Kind.GAMES), ("suite", Kind.SCORES)):
        created = control.create_pool(PoolCreated(pool=pool, kind=kind, time=0.0))
        control.create_generation(Generation(pool=pool, number=1, start=3, time=0.0, fold=created.fold))
    yield control
    control.close()
    log.close()


def run(*arguments: str) -> str:
    found = CliRunner().invoke(cli.application("pools"), ["pools", *arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def waiting(control: ControlLog, pool: str = "blitz") -> GenerationRequest:
    found = control.refresh().wish(pool)
    assert found is not None
    return found[1]


def test_settings_are_shown_and_nothing_is_asked_for(control: ControlLog) -> None:
    shown = json.loads(run("settings", "blitz", "--format", "json"))
    table = run("settings", "blitz")
    assert all(part in table for part in ("blitz (games)", "method elo", "default parameters", "per_task", "bans"))
    assert (shown["pool"], shown["number"], shown["fold"]["per_task"]) == ("blitz", 1, False)
    assert control.refresh().wish("blitz") is None


def test_a_changed_k_keeps_the_other_methods(control: ControlLog) -> None:
    assert "when it starts" in run("settings", "blitz", "--param", "elo.k=20")
    assert waiting(control).fold == FoldSettings(online={"elo": {"k": 20.0}, "sco": {}})
    run("settings", "blitz", "--param", "sco.tau=2", "--per-task", "--bucket-seconds", "60")
    wanted = FoldSettings(online={"elo": {"k": 20.0}, "sco": {"tau": 2.0}}, per_task=True, bucket_seconds=60)
    assert waiting(control).fold == wanted
    run("settings", "blitz", "--method", "elo", "--bucket-seconds", "0")
    assert waiting(control).fold == FoldSettings(online={"elo": {"k": 20.0}}, per_task=True)


def test_features_are_named_shown_and_given_up(control: ControlLog) -> None:
    run("settings", "blitz", "--feature", "length", "--feature", "first-side", "--feature-window", "500")
    assert waiting(control).fold == FoldSettings(features=("length", "first-side"), feature_window=500)
    assert "length, first-side" in run("settings", "blitz")
    run("settings", "blitz", "--feature", "")
    assert waiting(control).fold == FoldSettings(feature_window=500)
    with pytest.raises(InputError, match="must be left out for scores"):
        run("settings", "suite", "--feature", "length")


def test_files_of_edits_are_read_and_given_up(control: ControlLog, tmp_path: Path) -> None:
    files = {"aliases": "alias,agent\nbob2,bob\n", "bans": "agent\neve\n", "initial": "agent,elo,sco\nann,1800,\nbob,,60\n"}
    options = []
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        options += [f"--{name}", str(tmp_path / name)]
    run("settings", "blitz", *options, "--start", "now")
    wanted = waiting(control)
    assert (wanted.aliases, wanted.bans, wanted.start) == ({"bob2": "bob"}, ("eve",), "now")
    assert wanted.initial == {"elo": {"ann": 1800.0}, "sco": {"bob": 60.0}}
    run("settings", "blitz", "--clear", "bans", "--clear", "initial")
    wanted = waiting(control)
    assert (wanted.aliases, wanted.bans, wanted.initial, wanted.start) == ({"bob2": "bob"}, (), {}, "now")


def test_resume_asks_for_the_same_anew(control: ControlLog) -> None:
    run("resume", "suite")
    assert waiting(control, "suite").fold == FoldSettings()


def test_the_list_tells_where_pools_are(control: ControlLog) -> None:
    run("resume", "suite")
    lines = run("list").splitlines()
    assert lines[0].startswith("only names and kinds are shown, because the store does not answer: no store runs in")
    assert any("blitz" in line and "games" in line and "unknown" in line for line in lines)
    assert any("suite" in line and "new settings wait" in line for line in lines)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({}, "live"),
        ({"unmatched": 3}, "live; retracted ids have no outcome: 3"),
        ({"conflicts": 2}, "live; ids were repeated with other content, which does not count: 2"),
        ({"stopped": "generation 2 could not be folded again"}, "stopped at 9: generation 2 could not"),
    ],
)
def test_the_state_of_a_pool_in_words(shown: dict[str, object], words: str) -> None:
    assert _state(msgspec.structs.replace(head(2), **shown), None).startswith(words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["settings", "blitz", "--param", "elo.kk=20"], "kk"),
        (["settings", "blitz", "--param", "elo.k=much"], "elo.k=20"),
        (["settings", "blitz", "--param", "elo=3"], "elo.k=20"),
        (["settings", "blitz", "--param", "glicko9.k=3"], "glicko9"),
        (["settings", "blitz", "--method", "glicko9"], "glicko9"),
        (["settings", "suite", "--method", "elo"], "scores"),
        (["settings", "blitz", "--start", "soon"], "same, now"),
        (["settings", "blitz", "--bans", "{tmp}/none"], "readable"),
        (["settings", "blitz", "--bans", "{tmp}/bans", "--clear", "bans"], "--clear"),
        (["settings", "blitz", "--initial", "{tmp}/bans"], "online method"),
        (["settings", "blitz", "--aliases", "{tmp}/chain"], "alias"),
    ],
)
def test_what_cannot_be_is_refused_and_asks_for_nothing(control: ControlLog, tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "bans").write_text("agent\nann\n")
    (tmp_path / "chain").write_text("alias,agent\na,b\nb,c\n")
    with pytest.raises(InputError, match=words):
        run(*[one.format(tmp=tmp_path) for one in arguments])
    assert control.refresh().wishes == {}


@pytest.mark.usefixtures("control")
def test_an_unknown_pool_is_told_with_what_to_do() -> None:
    with pytest.raises(NoPool, match="pools list"):
        run("settings", "typo", "--per-task")


def test_more_than_a_record_holds_is_refused(control: ControlLog) -> None:
    many = {f"agent-{i:010d}": float(i) for i in range(40_000)}
    wanted = GenerationRequest(pool="blitz", time=0.0, fold=FoldSettings(), initial={"elo": many})
    with pytest.raises(InputError, match="names"):
        control.want(wanted)


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (read_aliases, "alias,agent\na,b\na,c\n", "row 3"),
        (read_aliases, "alias,name\na,b\n", "alias,agent"),
        (read_bans, "agent\n x\n", "row 2"),
        (read_initial, "agent,elo\na,1\na,2\n", "row 3"),
        (read_initial, "agent,elo\na,inf\n", "row 2"),
        (read_initial, "agent\na\n", "online method"),
        (read_initial, "agent,eloo\na,1\n", "file.csv: row 1 must name agent and at least one online method .elo, sco"),
        (read_initial, "elo\n1\n", "agent"),
    ],
)
def test_files_that_break_a_rule_are_refused_by_line(read, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "file.csv")


class Shown:
    """A store whose pool shows one head after the other."""

    def __init__(self, *heads: PoolHead) -> None:
        self.heads = list(heads)

    def head(self, _pool: str) -> PoolHead:
        return self.heads.pop(0) if len(self.heads) > 1 else self.heads[0]


def head(generation: int, building: Building | None = None) -> PoolHead:
    return PoolHead(
        pool="blitz", kind="games", label="", partition=0, generation=generation, position=9, published_at=0.0, pool_time=None,
        outcomes=1, agents=2, tasks=0, duplicates=0, conflicts=0, retractions=0, dead_letters=0, online=["elo"], building=building,
    )  # fmt: skip


class Closable(Shown):
    """A store that tells whether it was given back."""

    def __init__(self, reached: bool) -> None:
        super().__init__(head(2))
        self.live, self.reached, self.closed = self, reached, 0

    def ping(self) -> None:
        if not self.reached:
            raise StoreError("away", retriable=True)

    def pools(self) -> list[PoolHead]:
        return self.heads

    def close(self) -> None:
        self.closed += 1


@pytest.mark.usefixtures("control")
@pytest.mark.parametrize("reached", [True, False])
def test_stores_that_were_opened_are_given_back(reached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Closable] = []

    def opening(_: Settings, _log: str) -> Closable:
        opened.append(Closable(reached))
        return opened[-1]

    for module in (command, installation):
        monkeypatch.setattr(module, "open_store", opening)
    run("settings", "blitz", "--per-task", "--no-wait")
    run("list")
    assert [store.closed for store in opened] == [1, 1]


def test_waiting_goes_on_while_somebody_writes_to_the_pool(control: ControlLog) -> None:
    created = control.refresh().pools["blitz"]
    control.create_generation(Generation(pool="blitz", number=2, start=3, time=0.0, fold=created.fold, wanted=7))
    building = Building(generation=2, progress=0.5)
    heads = [msgspec.structs.replace(head(1, building), published_at=float(i)) for i in range(4)]
    clock = iter(range(0, 1000, 40))
    store = Shown(*heads, head(2))
    found = await_generation(control, store, "blitz", 7, lambda _: None, lambda: float(next(clock)))  # type: ignore[arg-type]
    assert found.generation == 2, "two minutes and a half without progress"


def test_waiting_ends_when_readers_see_it_fails_or_nothing_moves(control: ControlLog) -> None:
    created = control.refresh().pools["blitz"]
    control.create_generation(Generation(pool="blitz", number=2, start=3, time=0.0, fold=created.fold, wanted=7))
    told: list[float] = []
    store = Shown(head(1, Building(generation=2, progress=0.5)), head(2))
    assert await_generation(control, store, "blitz", 7, told.append).generation == 2  # type: ignore[arg-type]
    assert told == [0.5]
    failed = Shown(head(1, Building(generation=2, progress=0.5, failed="broken")))
    with pytest.raises(InputError, match="broken"):
        await_generation(control, failed, "blitz", 7, told.append)  # type: ignore[arg-type]
    clock = iter(range(0, 1000, 40))
    with pytest.raises(TimeoutError, match="check that the engine runs"):
        await_generation(control, Shown(head(1)), "blitz", 8, told.append, lambda: float(next(clock)))  # type: ignore[arg-type]


def test_bans_one_by_one(control: ControlLog) -> None:
    run("settings", "blitz", "--ban", "eve", "--ban", "mallory")
    run("settings", "blitz", "--unban", "eve", "--ban", "trudy")
    assert waiting(control).bans == ("mallory", "trudy")
    for words, rule in ((("--unban", "eve"), "must name an agent that is banned"), (("--ban", "a", "--unban", "a"), "must name an agent")):
        with pytest.raises(InputError, match=rule):
            run("settings", "blitz", *words)
    assert waiting(control).bans == ("mallory", "trudy")


def test_a_list_that_ends_a_ban_says_so_before_it_does(control: ControlLog, tmp_path: Path) -> None:
    (tmp_path / "bans.csv").write_text("agent\ntrudy\n")
    run("settings", "blitz", "--ban", "eve")
    with pytest.raises(InputError, match="ends the ban of eve"):
        run("settings", "blitz", "--bans", str(tmp_path / "bans.csv"))
    assert waiting(control).bans == ("eve",)
    run("settings", "blitz", "--bans", str(tmp_path / "bans.csv"), "--yes")
    assert waiting(control).bans == ("trudy",)
