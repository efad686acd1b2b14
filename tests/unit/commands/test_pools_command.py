"""`equirank pools`: from options and CSV files to a wish in the control log, and what is told of it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.backends import open_log
from services.boards.store.protocol import Building, PoolHead, StoreError
from services.cli import confirm, installation
from services.cli import main as cli
from services.cli import pools as command
from services.cli.edits import read_aliases, read_bans, read_initial
from services.cli.pool_settings import KEYS, PoolSettings, present
from services.cli.pools import _state, await_generation, served
from services.control import generations
from services.control.log import ControlLog, NoPool
from services.control.records import FoldSettings, Generation, GenerationRequest, PoolCreated
from services.runtime.settings import Settings
from services.wire.pools import Kind
from tests.support.boards import head_of

NEW = FoldSettings().with_defaults(Kind.GAMES)
"""Settings of a new pool of games."""


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


def sets(*texts: str) -> list[str]:
    return [word for text in texts for word in ("--set", text)]


def waiting(control: ControlLog, pool: str = "blitz") -> GenerationRequest:
    found = control.refresh().wish(pool)
    assert found is not None
    return found[1]


def test_settings_are_shown_and_nothing_is_asked_for(control: ControlLog) -> None:
    shown = json.loads(run("settings", "blitz", "--format", "json"))
    table = run("settings", "blitz")
    assert all(part in table for part in ("blitz (games)", "online.elo", "default parameters", "per_task", "bans"))
    assert set(shown) == set(KEYS)
    assert (shown["online"], shown["per_task"], shown["start"]) == ({"elo": {}, "sco": {}, "glicko2": {}}, False, "same")
    assert control.refresh().wish("blitz") is None


def test_a_changed_k_keeps_the_other_methods(control: ControlLog) -> None:
    assert "when it starts" in run("settings", "blitz", "--set", "online.elo.k=20")
    assert waiting(control).fold == FoldSettings(by_shape=True, online={"elo": {"k": 20.0}, "sco": {}, "glicko2": {}})
    run("settings", "blitz", *sets("online.sco.tau=2", "per_task=true", "bucket_seconds=60"))
    wanted = FoldSettings(by_shape=True, online={"elo": {"k": 20.0}, "sco": {"tau": 2.0}, "glicko2": {}}, per_task=True, bucket_seconds=60)
    assert waiting(control).fold == wanted
    run("settings", "blitz", *sets("online=elo", "bucket_seconds="))
    assert waiting(control).fold == FoldSettings(by_shape=True, online={"elo": {"k": 20.0}}, per_task=True)
    run("settings", "blitz", *sets("online=elo,glicko2", "online.elo.k=", "online.glicko2.tau=0.3"))
    assert waiting(control).fold.online == {"elo": {}, "glicko2": {"tau": 0.3}}
    run("settings", "blitz", "--set", "online=")
    assert waiting(control).fold == replace(NEW, per_task=True)


def test_features_are_named_shown_and_given_up(control: ControlLog) -> None:
    run("settings", "blitz", *sets("features=length,first-side", "feature_window=500"))
    assert waiting(control).fold == replace(NEW, features=("length", "first-side"), feature_window=500)
    assert '["length","first-side"]' in run("settings", "blitz")
    run("settings", "blitz", "--set", 'features=["a,b"]')
    assert waiting(control).fold.features == ("a,b",)
    run("settings", "blitz", "--set", "features=")
    assert waiting(control).fold == replace(NEW, feature_window=500)
    with pytest.raises(InputError, match="must be left out for scores"):
        run("settings", "suite", "--set", "features=length")


def test_tables_of_names_are_read_and_given_up(control: ControlLog, tmp_path: Path) -> None:
    tables = {"aliases": "alias,agent\nbob2,bob\n", "bans": "agent\neve\n", "initial": "agent,elo,sco\nann,1800,\nbob,,60\n"}
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    run("settings", "blitz", *sets(*(f"{name}=@{tmp_path / name}" for name in tables), "start=now"))
    wanted = waiting(control)
    assert (wanted.aliases, wanted.bans, wanted.start) == ({"bob2": "bob"}, ("eve",), "now")
    assert wanted.initial == {"elo": {"ann": 1800.0}, "sco": {"bob": 60.0}}
    run("settings", "blitz", *sets("bans=", "initial="), "--yes")
    wanted = waiting(control)
    assert (wanted.aliases, wanted.bans, wanted.initial, wanted.start) == ({"bob2": "bob"}, (), {}, "now")


def test_a_file_of_all_settings_gives_them_back(control: ControlLog, tmp_path: Path) -> None:
    given = ("online.elo.k=20", "per_task=true", "features=length", "bucket_seconds=60", 'aliases={"bob2":"bob"}', "bans=eve", "start=now")
    run("settings", "blitz", *sets(*given, 'initial={"elo":{"ann":1800}}'))
    wanted = waiting(control)
    (file := tmp_path / "settings.json").write_text(run("settings", "blitz", "--format", "json"))
    assert "nothing changes" in run("settings", "blitz", "--file", str(file))
    run("settings", "blitz", *sets(*(f"{key}=" for key in KEYS)), "--yes")
    assert present(waiting(control), Kind.GAMES) == PoolSettings(online=NEW.online, by_shape=True)
    run("settings", "blitz", "--file", str(file))
    assert msgspec.structs.replace(waiting(control), time=wanted.time) == wanted


def test_games_in_teams_are_counted_unless_a_setting_says_otherwise(control: ControlLog) -> None:
    run("settings", "blitz", "--set", "by_shape=false")
    assert waiting(control).fold.by_shape is False
    run("settings", "blitz", "--set", "by_shape=")
    assert waiting(control).fold == NEW, "no value: the default of new pools"
    old = control.create_pool(PoolCreated(pool="old", kind=Kind.GAMES, time=0.0, fold=FoldSettings(by_shape=False)))
    control.create_generation(Generation(pool="old", number=1, start=0, time=0.0, fold=msgspec.structs.replace(old.fold, by_shape=None)))
    run("settings", "old", "--set", "per_task=true")
    assert waiting(control, "old").fold.by_shape is None, "as an earlier release recorded it"
    run("settings", "old", "--set", "by_shape=true")
    assert waiting(control, "old").fold.by_shape is True


def test_a_file_changes_its_keys_only_and_options_come_after_it(control: ControlLog, tmp_path: Path) -> None:
    run("settings", "blitz", "--set", "dedupe_window=500")
    (file := tmp_path / "settings.toml").write_text('per_task = true\nmax_tasks = 7\nbans = ["eve"]\n[online.elo]\nk = 20\n')
    run("settings", "blitz", "--file", str(file), "--set", "max_tasks=9")
    wanted = waiting(control)
    assert wanted.fold == FoldSettings(by_shape=True, online={"elo": {"k": 20.0}}, per_task=True, max_tasks=9, dedupe_window=500)
    assert wanted.bans == ("eve",)


def test_the_leading_method_changes_alone_and_makes_no_generation(control: ControlLog) -> None:
    shown = run("settings", "blitz", "--set", "leading_method=sco")
    assert shown.splitlines() == ["- leading_method: none", "+ leading_method: sco"]
    assert (control.refresh().leading, control.refresh().wish("blitz")) == ({"blitz": "sco"}, None)
    assert json.loads(run("settings", "blitz", "--format", "json"))["leading_method"] == "sco"
    assert "nothing changes" in run("settings", "blitz", "--set", "leading_method=sco")
    with pytest.raises(InputError, match=r"leading_method must be a method of the pool: elo, sco, glicko2, .*weng_lin"):
        run("settings", "blitz", "--set", "leading_method=weng_lin")
    run("settings", "blitz", *sets("online=elo,weng_lin", "leading_method=weng_lin"))
    assert (control.refresh().leading["blitz"], waiting(control).fold.online) == ("weng_lin", {"elo": {}, "weng_lin": {}})
    run("settings", "blitz", "--set", "leading_method=")
    assert control.refresh().leading["blitz"] == ""


def test_changes_are_shown_before_they_are_applied(control: ControlLog) -> None:
    words = sets("online.elo.k=20", "bucket_seconds=60", "bans=eve")
    shown = run("settings", "blitz", *words, "--dry-run").splitlines()
    assert shown == [
        "- online.elo: default parameters", "+ online.elo.k: 20.0", "- bucket_seconds: none", "+ bucket_seconds: 60",
        "- bans: none", "+ bans.eve: banned", "nothing was changed",
    ]  # fmt: skip
    assert control.refresh().wish("blitz") is None
    assert run("settings", "blitz", *words).splitlines()[:-1] == shown[:-1]
    assert waiting(control).bans == ("eve",)


def test_a_long_change_shows_its_first_lines_and_their_number(control: ControlLog) -> None:
    shown = run("settings", "blitz", "--set", "bans=" + ",".join(f"a{i:04}" for i in range(5000)), "--dry-run").splitlines()
    assert shown[0] == "- bans: none"
    assert shown[-2:] == ["  and 4981 more lines of bans", "nothing was changed"]


@pytest.mark.parametrize(("answer", "status", "applied"), [("y\n", 0, True), ("n\n", 1, False), ("", 1, False)])
def test_on_a_terminal_a_change_waits_for_a_confirmation(
    control: ControlLog, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, applied: bool
) -> None:
    monkeypatch.setattr(confirm, "on_terminal", lambda: True)
    words = ["pools", "settings", "blitz", "--set", "per_task=true"]
    found = CliRunner().invoke(cli.application("pools"), words, input=answer, catch_exceptions=False)
    assert (found.exit_code, control.refresh().wish("blitz") is not None) == (status, applied), found.output
    assert found.output.index("+ per_task: true") < found.output.index("Fold blitz again")
    run("settings", "blitz", "--set", "clustered=true", "--yes")
    assert waiting(control).fold.clustered, "--yes does not ask"


@pytest.mark.parametrize(
    "words",
    [
        ["seasons", "start", "blitz", "autumn", "--no-wait"],
        ["erase", "--pool", "blitz", "--agent", "ada", "--by", "case 1", "--unknown", "--no-wait"],
        ["partitions", "accept-loss", "0"],
        ["partitions", "skip", "0", "--offset", "1"],
    ],
)
def test_what_cannot_be_undone_is_asked_on_a_terminal(control: ControlLog, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setattr(confirm, "on_terminal", lambda: True)
    end = control.refresh().position
    found = CliRunner().invoke(cli.application(words[0]), words, input="n\n", catch_exceptions=False)
    assert (found.exit_code, "This cannot be undone." in found.stderr, control.refresh().position) == (1, True, end), found.output


@pytest.mark.parametrize("terminal", [False, True])
def test_a_script_is_not_asked_and_a_person_says_yes(control: ControlLog, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    monkeypatch.setattr(confirm, "on_terminal", lambda: terminal)
    words = ["seasons", "start", "blitz", "autumn", "--no-wait", *(["--yes"] if terminal else [])]
    found = CliRunner().invoke(cli.application("seasons"), words, catch_exceptions=False)
    assert (found.exit_code, "undone" in found.output) == (0, False), found.output
    asked = waiting(control).season
    assert asked is not None
    assert asked.name == "autumn"


def test_a_process_without_standard_input_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert confirm.confirmed("Go on?", yes=False)


def test_settings_that_changed_during_the_confirmation_are_not_overwritten(control: ControlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*_: object, **__: object) -> bool:
        control.want(generations.wish(control.standing("blitz"), time=1.0, bans=["eve"]))
        return True

    monkeypatch.setattr(command, "_confirmed", meanwhile)
    with pytest.raises(InputError, match="they changed meanwhile"):
        run("settings", "blitz", "--set", "per_task=true")
    assert (waiting(control).bans, waiting(control).fold) == (("eve",), NEW)


def test_resume_asks_for_the_same_anew(control: ControlLog) -> None:
    run("resume", "suite")
    assert waiting(control, "suite").fold == FoldSettings(by_shape=False, online={})


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
        (["--set", "online.elo.kk=20"], "kk"),
        (["--set", "online.elo.k=much"], "must be a number"),
        (["--set", "online.elo=3"], "online.elo.k"),
        (["--set", "online.weng_lin.z=3"], "set online to all methods"),
        (["--set", "online=glicko9"], "glicko9"),
        (["--set", "per_task"], "key=value"),
        (["--set", "feature-window=3"], r"must be one of online, .*did you mean feature_window"),
        (["--set", "elo.k=3"], r"or online\.METHOD\.PARAMETER"),
        (["--set", "feature_window=0"], "feature_window must have the form of this setting"),
        (["--set", "per_task=maybe"], "Expected `bool`"),
        (["--set", "start=soon"], "start must have the form"),
        (["--set", "bans=@{tmp}/none"], "readable"),
        (["--set", "initial=@{tmp}/bans"], "online method"),
        (["--set", "aliases=@{tmp}/chain"], "alias"),
        (["--set", "online=@{tmp}/bans"], "must be among"),
        (["--file", "{tmp}/none.json"], "readable"),
        (["--file", "{tmp}/bans"], r"must end in \.json or \.toml"),
        (["--file", "{tmp}/open.json"], "must be a JSON file"),
        (["--file", "{tmp}/open.toml"], "must be a TOML file"),
        (["--file", "{tmp}/list.json"], "must hold an object"),
        (["--file", "{tmp}/typo.json"], "did you mean max_agents"),
        (["--file", "{tmp}/text.json"], "Expected `int`, got `str`"),
    ],
)
def test_what_cannot_be_is_refused_and_asks_for_nothing(control: ControlLog, tmp_path: Path, arguments: list[str], words: str) -> None:
    files = {"bans": "agent\nann\n", "chain": "alias,agent\na,b\nb,c\n", "open.json": "{", "open.toml": "[", "list.json": "[]"}
    files |= {"typo.json": '{"max_agent": 3}', "text.json": '{"max_agents": "3"}'}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        run("settings", "blitz", *[one.format(tmp=tmp_path) for one in arguments])
    assert control.refresh().wishes == {}


def test_online_methods_are_refused_for_scores(control: ControlLog) -> None:
    with pytest.raises(InputError, match="scores"):
        run("settings", "suite", "--set", "online=elo")
    assert control.refresh().wishes == {}


@pytest.mark.usefixtures("control")
def test_an_unknown_pool_is_told_with_what_to_do() -> None:
    with pytest.raises(NoPool, match="pools list"):
        run("settings", "typo", "--set", "per_task=true")


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
    run("settings", "blitz", "--set", "per_task=true", "--no-wait")
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
    clock, request = iter(range(0, 1000, 40)), 0
    while request < 8:  # the generation fulfils requests up to offset 7
        request = control.want(GenerationRequest(pool="blitz", time=0.0, fold=created.fold))
    with pytest.raises(TimeoutError, match="check that the engine runs"):
        await_generation(control, Shown(head(1)), "blitz", request, told.append, lambda: float(next(clock)))  # type: ignore[arg-type]


def test_a_new_generation_says_how_many_outcomes_it_counts_and_how_many_fewer() -> None:
    before = head_of(outcomes=10_001)
    line = served(head_of(generation=2, outcomes=9_835, left_out=499), before)
    why = "left out by retractions, bans or aliases: 499, where an outcome counts as often as it was sent"
    assert line == f"blitz: generation 2 serves and counts 9835 outcomes, 166 fewer than before; {why}"
    assert served(head_of(generation=2, outcomes=10_003), before).endswith("counts 10003 outcomes, 2 more than before")
    assert served(head_of(generation=2, outcomes=10_001), before).endswith("counts 10001 outcomes, as many as before")
    assert served(head_of(generation=2, outcomes=1), None).endswith("counts 1 outcome")
    assert served(head_of(generation=2, season="autumn"), before).startswith("blitz: season autumn began, and generation 2 serves; ")


def test_a_season_is_requested_and_withdrawn_by_commands(control: ControlLog) -> None:
    def seasons(*arguments: str) -> str:
        found = CliRunner().invoke(cli.application("seasons"), ["seasons", *arguments], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        return found.stdout

    seasons("start", "blitz", "autumn", "--no-wait")
    request = control.refresh().wishes["blitz"][0]
    assert "autumn waits for the " in seasons("list", "blitz")
    assert "season autumn of blitz is withdrawn; the present season goes on" in seasons("withdraw", "blitz", "autumn")
    assert control.refresh().wish("blitz") is None
    with pytest.raises(InputError, match="must be a season of pool blitz that was requested and has not begun"):
        seasons("withdraw", "blitz", "autumn")
    with pytest.raises(InputError, match="its request was withdrawn"):
        await_generation(control, Shown(head(1)), "blitz", request, lambda _: None)  # type: ignore[arg-type]
    seasons("start", "blitz", "autumn", "--no-wait")
    assert waiting(control).season is not None
    request = control.want(msgspec.structs.replace(waiting(control), bans=("eve",)))
    seasons("withdraw", "blitz", "autumn")
    clock = iter(range(0, 1000, 40))
    with pytest.raises(TimeoutError, match="the request stays"):  # its ban stays requested
        await_generation(control, Shown(head(1)), "blitz", request, lambda _: None, lambda: float(next(clock)))  # type: ignore[arg-type]


def test_bans_one_by_one(control: ControlLog) -> None:
    run("ban", "blitz", "eve", "mallory")
    run("ban", "blitz", "trudy")
    assert "- bans.eve: banned" in run("unban", "blitz", "eve")
    assert waiting(control).bans == ("mallory", "trudy")
    with pytest.raises(InputError, match="must name an agent that is banned"):
        run("unban", "blitz", "eve")
    assert "nothing changes" in run("ban", "blitz", "trudy")
    assert waiting(control).bans == ("mallory", "trudy")


def test_a_list_that_ends_a_ban_says_so_before_it_does(control: ControlLog, tmp_path: Path) -> None:
    (tmp_path / "bans.csv").write_text("agent\ntrudy\n")
    run("ban", "blitz", "eve")
    with pytest.raises(InputError, match="ends the ban of eve"):
        run("settings", "blitz", "--set", f"bans=@{tmp_path / 'bans.csv'}")
    assert waiting(control).bans == ("eve",)
    run("settings", "blitz", "--set", f"bans=@{tmp_path / 'bans.csv'}", "--yes")
    assert waiting(control).bans == ("trudy",)
