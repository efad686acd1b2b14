"""README and docs against the code: links, examples, generated parts, every method and parameter, every decision."""

import contextlib
import dataclasses
import io
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
import typer.main
from packaging.requirements import Requirement

from benchmarks.papers.registry import chosen
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS
from services.api.replies import PoolWanted
from services.cli.main import COMMANDS, application
from services.control.generations import make_raters
from services.control.lifecycles import PartitionStatus
from services.runtime.settings import Settings
from services.solve.registry import methods
from services.wire import events, refusals
from services.wire.pools import Kind
from tests.support.files import outcomes_of
from tests.support.loading import load

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
METHODS_PAGE = (ROOT / "docs/reference/methods.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
LABELS = ("Answers", "Takes", "Certificate", "Holds", "Does not hold", "Source", "Departures", "Reproduce")
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def examples() -> Iterator[pytest.param]:
    """Those that need no installation; tests/integration runs the others."""
    for page, name in zip(PAGES, IDS, strict=True):
        if name in ("docs/guides/archive.md", "docs/guides/ratings-topic.md"):
            continue
        for i, block in enumerate(blocks(page.read_text(encoding="utf-8"), "python")):
            yield pytest.param(block, id=f"{name}-{i}")


def anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def section(method: str) -> str:
    return re.split(rf"^### {method}$", METHODS_PAGE, flags=re.MULTILINE)[1].split("\n##")[0]


# links and examples


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page.name}: {target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        waiting += [(page.parent / target).resolve() for target in targets if "://" not in target]
    assert set(PAGES) <= seen


@pytest.mark.parametrize("example", [*examples()])
def test_python_examples_print_what_they_say(example: str) -> None:
    said = [line.removeprefix("# ") for line in example.splitlines() if line.startswith("# ")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "example", "exec"), {})  # noqa: S102 - our own documentation
    assert printed.getvalue().splitlines() == said


def test_there_is_a_python_example_in_the_readme() -> None:
    assert len(blocks(README, "python")) == 1


def test_outcomes_of_the_readme_are_outcomes() -> None:
    sent = re.search(r"-d '(.*?)'", README, re.DOTALL)
    scores = re.search(r"`(\{\"v\": 1, \"id\": \"s1\".*?\})`", README)
    assert sent
    assert scores
    numbers = iter(range(1000))
    for body, count in ((sent[1], 3), (scores[1], 1)):
        found = events.decode_request(body.encode(), now=0.0, new_id=lambda: str(next(numbers)), future_seconds=0.0)
        assert (len(found.events), found.refusals) == (count, [])


@pytest.mark.parametrize("method", ["maximal_lottery", "bradley_terry"])
def test_the_readmes_table_of_games_is_read_and_solved(method: str, tmp_path: Path) -> None:
    table = re.search(r"<<'CSV'\n(.*?)^CSV$", README, re.DOTALL | re.MULTILINE)
    assert table
    file = tmp_path / "games.csv"
    file.write_text(table[1])
    assert len(outcomes_of(file, "league").events) == 3
    found = methods.solve(method, load(file, ReadOptions(unplayed="refuse")).problem)
    assert found.status == "optimal"
    assert [agent.rank for agent in found.agents] == [1, 1, 1]


def test_commands_in_the_docs_exist_with_their_options() -> None:
    shell = "".join(block for page in PAGES for block in blocks(page.read_text(encoding="utf-8"), "sh"))
    lines = [line.partition("#")[0].split() for line in shell.splitlines() if re.match(r"(\.venv/bin/)?equirank ", line)]
    assert lines
    for words in lines:
        assert words[1] in COMMANDS
        command = _command(words[1])
        if hasattr(command, "commands"):
            command = command.commands[words[2]]
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= options, words


def _command(name: str):
    return typer.main.get_command(application(name)).commands[name]  # type: ignore[attr-defined]


def test_every_method_has_its_function_in_the_page_of_the_library() -> None:
    page = (ROOT / "docs/guides/library.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", page, re.MULTILINE))
    assert set(named) == {*METHODS, *RATERS}
    for path in named.values():
        module, _, name = path.rpartition(".")
        assert callable(getattr(import_module(module), name)), path


def test_make_targets_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"^make ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert {"run", "test"} <= named <= targets


# generated parts


def test_the_docs_and_bootstrap_name_the_same_sizes_of_an_environment() -> None:
    script = (ROOT / "scripts/bootstrap").read_text(encoding="utf-8")
    run, everything = (re.findall(rf'^  {what}\) lock=\S+ size="([\d.]+ GB)"', script, re.MULTILINE)[0] for what in ("run", "all"))
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.findall(r"^scripts/bootstrap +#.*\(([\d.]+ GB)\)", contributing, re.MULTILINE) == [everything]
    assert re.findall(r"^make run +#.*\(([\d.]+ GB)\)", contributing, re.MULTILINE) == [run]
    assert f"The first run installs {run} into `.venv`" in README
    assert f"({everything})" in (ROOT / "docs/papers/README.md").read_text(encoding="utf-8")


def test_generated_docs_are_fresh() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "scripts/reference"), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), "run `make docs`"


def test_every_reason_of_a_dead_letter_is_explained() -> None:
    page = (ROOT / "docs/reference/dead-letters.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(refusals.Reason)


def test_every_reason_why_a_partition_stops_is_explained() -> None:
    page = (ROOT / "docs/concepts/unreadable-records.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert explained == {status.value for status in PartitionStatus} - {PartitionStatus.RUNNING.value}


def test_every_setting_says_what_it_is() -> None:
    assert all(field.description and field.description.endswith(".") for field in Settings.model_fields.values())


# methods


def test_every_method_has_its_table_once() -> None:
    assert sorted(re.findall(r"<!-- parameters of (\w+) -->", METHODS_PAGE)) == sorted([*RATERS, *METHODS])


@pytest.mark.parametrize("method", [*RATERS, *METHODS])
def test_a_method_says_all_that_it_must(method: str) -> None:
    text = section(method)
    assert all(f"**{label}.** " in text for label in LABELS)
    assert f"<!-- parameters of {method} -->" in text
    assert f"[{method}](#{method})" in METHODS_PAGE


@pytest.mark.parametrize("method", [*RATERS, *METHODS])
def test_a_method_links_its_departures_and_none_means_none(method: str) -> None:
    said = re.findall(r"^\*\*Departures\.\*\* (?:None|\[.+?\]\(\.\./concepts/departures\.md#([\w-]+)\))\.$", section(method), re.MULTILINE)
    page = (ROOT / "docs/concepts/departures.md").read_text(encoding="utf-8")
    parts = {
        heading.strip().lower().replace(" ", "-"): rows for heading, _, rows in (one.partition("\n") for one in page.split("\n## ")[1:])
    }
    listed = [anchor for anchor, rows in parts.items() if re.search(rf"^\| [^|]*`{method}`", rows, re.MULTILINE)]
    assert said == (listed or [""])


@pytest.mark.parametrize("method", [*RATERS, *METHODS])
def test_a_method_names_the_command_that_reproduces_a_table_of_it(method: str) -> None:
    (said,) = re.findall(r"^\*\*Reproduce\.\*\* (.+)$", section(method), re.MULTILINE)
    if item := re.fullmatch(r"`equirank papers (\w+/[\w-]+)`\.", said):
        assert chosen([item[1]])
    else:
        test = re.fullmatch(r"No table of the five papers\. Compared with .+: `python -m pytest (tests/[\w/]+\.py)( -k \w+)?`\.", said)
        assert test
        assert (ROOT / test[1]).exists()


def test_the_table_of_methods_has_a_row_for_each_with_its_cost() -> None:
    rows = re.findall(r"^\| \[(\w+)\]\(#\1\) \|.*\| ([^|]+) \|$", METHODS_PAGE, re.MULTILINE)
    assert len(rows) == len(RATERS) + len(METHODS)
    assert dict(rows) == dict.fromkeys(RATERS, "a game") | {name: str(method.cost) for name, method in METHODS.items()}


@pytest.mark.parametrize("method", RATERS)
def test_parameters_of_online_methods_are_explained(method: str) -> None:
    prose = re.sub(r"<!-- parameters.*?<!-- end -->", "", section(method), flags=re.DOTALL)
    for field in dataclasses.fields(RATERS[method]):
        assert f"`{field.name}`" in prose, field.name


def test_the_certificates_in_the_table_are_those_of_the_methods() -> None:
    assert {re.search(r"\*\*Certificate\.\*\* `(\w+)`", section(name))[1] for name in METHODS} == set(  # type: ignore[index]
        re.findall(r"^\| `(\w+)` \| ", METHODS_PAGE.split("| certificate |")[1].split("\n\n")[0], re.MULTILINE)
    )


def test_the_settings_of_the_example_make_a_pool() -> None:
    given = re.search(r"^`(\{\"kind\".*\})`\.$", METHODS_PAGE, re.MULTILINE)
    assert given
    wanted = msgspec.json.decode(given[1], type=PoolWanted)
    assert set(make_raters(Kind.GAMES, wanted.fold)) == {"elo", "sco"}  # type: ignore[arg-type]


# decisions and versions


def test_decisions_are_numbered_and_listed() -> None:
    folder = ROOT / "docs/decisions"
    files = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert [path.name for path in files] == sorted(listed), "the index by subject names each decision once"
    for number, path in enumerate(files, 1):
        assert path.name.startswith(f"{number:04d}-")
        assert path.read_text(encoding="utf-8").startswith(f"# {number}. ")


def test_the_index_of_decisions_names_what_changed_each() -> None:
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    named: dict[str, str] = dict(re.findall(r"^- \[(\d+)\..*\(changed by ([\d, ]+)\)$", index, re.MULTILINE))
    for path in folder.glob("0*.md"):
        note = re.search(r"^\*Changed by .*\*$", path.read_text(encoding="utf-8"), re.MULTILINE)
        later = ", ".join(re.findall(r"\[(\d+)\]\(", note[0])) if note else None
        assert named.get(str(int(path.name[:4]))) == later, path.name


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUNTIME = ("service", "reference", "chess", "plot")


def requirements(*extras: str) -> list[Requirement]:
    """The library's requirements and those of `extras`, without extras that name extras."""
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in PROJECT["optional-dependencies"][extra])]
    return [requirement for requirement in map(Requirement, texts) if requirement.name != PROJECT["name"]]


def pins(lock: str) -> dict[str, list[str]]:
    """Blocks of the lock file (version, marker, hashes), by package; a package has several where its version depends on Python's."""
    blocks = re.findall(r"^([\w.-]+)==(.+(?:\n .+)*)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
    return {name: [text for other, text in blocks if other == name] for name, _ in blocks}


def test_the_client_has_the_version_of_the_service() -> None:
    client = tomllib.loads((ROOT / "services/client/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert client["version"] == PROJECT["version"]


def test_every_runtime_dependency_has_its_reason() -> None:
    reasons = re.findall(r"^\| ([\w, ().-]+) \|", (ROOT / "docs/decisions/0001-dependencies.md").read_text(encoding="utf-8"), re.MULTILINE)
    explained = {name.split(" ")[0] for reason in reasons for name in reason.split(", ")}
    assert {requirement.name for requirement in requirements(*RUNTIME)} <= explained


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("requirements.lock", RUNTIME),
        ("requirements-dev.lock", tuple(PROJECT["optional-dependencies"])),
        ("deploy/docker/requirements.lock", ("service",)),
    ],
)
def test_lock_and_project_agree(lock: str, extras: tuple[str, ...]) -> None:
    locked = pins(lock)
    for requirement in requirements(*extras):
        versions = [text.split(maxsplit=1)[0] for text in locked.get(requirement.name, [])]
        assert versions, requirement
        assert all(requirement.specifier.contains(version) for version in versions), requirement


def test_tests_run_with_the_versions_that_are_installed_to_run() -> None:
    run, everything = pins("requirements.lock"), pins("requirements-dev.lock")
    everywhere = {name: [re.sub(r" ; [^\\\n]*", " ", text) for text in texts] for name, texts in run.items()}
    assert [name for name in run if everything.get(name) not in (run[name], everywhere[name])] == []


def test_running_installs_no_test_tool() -> None:
    tools = {requirement.name for requirement in requirements("dev", "bench")} - {requirement.name for requirement in requirements()}
    assert tools & pins("requirements.lock").keys() == {"jsonschema", "httpx"}  # which Ray and Litestar need


# files


def test_every_kind_of_file_is_explained() -> None:
    page = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(FileKind)
