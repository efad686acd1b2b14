"""Imports go down only, and never from a test file: the layers of `services` and `ratings_core`, read from the import statements."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.syntax import parsed, source, statements

ROOT = Path(__file__).parents[3]
SERVICES = (
    ("runtime",),
    ("wire",),
    ("log",),
    ("control",),
    ("state",),
    ("checkpoints",),
    ("archive",),
    ("boards",),
    ("backends",),
    ("imports",),
    ("shard", "solve"),
    ("admin",),
    ("engine", "web"),
    ("api",),
    ("demo",),
    ("precompile",),
    ("cli",),
)
"""Folders and flat modules of `services`, lowest layer first. Those of one layer never import each other."""
LIBRARY = (
    ("errors", "solution", "kernels", "words"),
    ("checks", "extras", "options"),
    ("arrays", "deadline", "graphs", "ranking"),
    ("records",),
    ("columns",),
    ("tallies", "online"),
    ("games",),
    ("voting",),
    ("batch", "equilibria", "formats"),
    ("margins",),
    ("problems", "analysis"),
    ("methods",),
    ("reference", "findings"),
    ("front",),
    ("precompile",),
)
"""The same for `ratings_core`."""
PACKAGES = ("services", "ratings_core")
IMPORTS_RAY = ("services/engine/", "services/solve/worker/task_pool.py", "services/shard/actor.py")
"""Where Ray may be imported."""


def paths(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = sorted((ROOT / package).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in found}


def modules(package: str) -> dict[str, ast.Module]:
    """The trees of these modules."""
    return {name: parsed(path) for name, path in paths(package).items()}


def imports(tree: ast.Module, known: Mapping[str, object]) -> Iterator[str]:
    """The modules that a module imports: `from a import b` names `a.b` where that is a module, else `a`."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module or ''}.{alias.name}"
                yield full if full in known or node.module is None else node.module


def part(name: str) -> str:
    """The folder or flat module directly below the package: `services.log.kafka.log` is in `log`."""
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize(("package", "layers"), [("services", SERVICES), ("ratings_core", LIBRARY)])
def test_imports_go_down_only(package: str, layers: tuple[tuple[str, ...], ...]) -> None:
    level = {name: number for number, layer in enumerate(layers) for name in layer}
    known = modules(package)
    broken = []
    for name, tree in known.items():
        upper = part(name)
        for target in imports(tree, known):
            lower = part(target) if target.split(".")[0] == package else ""
            if not upper or not lower or upper == lower:
                continue
            assert upper in level, f"{package}/{upper} has no layer: add it to the table of this test and to docs/concepts/architecture.md"
            assert lower in level, f"{name} imports {target}, which has no layer"
            if level[lower] >= level[upper]:
                broken.append(f"{name} imports {target}: `{upper}` may only import layers below it, and `{lower}` is not below `{upper}`")
    assert broken == []


@pytest.mark.parametrize("package", ["services", "ratings_core"])
def test_folders_form_no_circles(package: str) -> None:
    """At every depth: two folders beside each other do not import each other, directly or through others."""
    known = modules(package)
    beside: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, tree in known.items():
        for target in imports(tree, known):
            ours, theirs = name.split("."), target.split(".")
            depth = next((i for i, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), None)
            if depth and depth < len(ours) - 1 and depth < len(theirs) - 1:  # both are in folders below their common one
                beside[".".join(ours[:depth])][ours[depth]].add(theirs[depth])
    circles = []
    for folder, edges in beside.items():
        try:
            TopologicalSorter(edges).prepare()
        except CycleError as error:
            circles.append(f"{folder}: {' -> '.join(error.args[1])}")
    assert circles == [], "move what both need into a folder below them"


@pytest.mark.parametrize("package", ["services", "ratings_core"])
def test_modules_form_no_circles(package: str) -> None:
    """Imports inside functions and imports of types count too."""
    known = modules(package)
    edges = {name: {target for target in imports(tree, known) if target in known and target != name} for name, tree in known.items()}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        pytest.fail(f"{' -> '.join(error.args[1])}: move what both need into a module below them")


def test_ray_is_imported_by_the_engine_the_task_pool_and_the_actor_only() -> None:
    known = modules("services")
    users = [name for name, tree in known.items() if any(target.split(".")[0] == "ray" for target in imports(tree, known))]
    files = [name.replace(".", "/") + ".py" for name in users]
    assert [path for path in files if not path.startswith(IMPORTS_RAY)] == []
    assert users


def from_test_files(tree: ast.Module, known: Mapping[str, object]) -> set[str]:
    """The test files that a file imports from."""
    return {target for target in imports(tree, known) if target.rpartition(".")[2].startswith("test_")}


def test_nothing_imports_from_a_test_file() -> None:
    known, broken = paths("tests"), []
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python3")]
    assert scripts
    for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), *scripts]):
        if "test_" not in source(path):
            continue
        found = from_test_files(ast.parse(source(path)), known)
        broken += [f"{path.relative_to(ROOT)} imports from the test file {target}" for target in sorted(found)]
    assert broken == [], "nothing imports from a test file: move what is shared to tests/support, a fixture to a conftest.py of its folder"


@pytest.mark.parametrize(
    "statement",
    [
        "import tests.web.test_page",
        "from tests.web import test_page",
        "from tests.web.test_page import texts",
        "from .test_page import texts",
        "from . import test_page",
        "def late():\n    from tests.web.test_page import texts",
    ],
)
def test_an_import_from_a_test_file_is_recognized(statement: str) -> None:
    assert from_test_files(ast.parse(statement), {"tests.web.test_page": None})


def test_the_page_of_the_architecture_names_every_folder_and_existing_files_only() -> None:
    page = (ROOT / "docs/concepts/architecture.md").read_text(encoding="utf-8")
    folders = {str(path.parent.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")} - set(PACKAGES)
    rows = re.findall(r"^\| `((?:services|ratings_core)/[^`]+)` \| .* \| (.*) \|$", page.partition("\n## Folders\n")[2], re.MULTILINE)
    assert sorted(folder for folder, _ in rows) == sorted(folders)
    named = [f"{folder}/{name}" for folder, files in rows for name in re.findall(r"`([\w/]+(?:\.py|/))`", files)]
    for line in page.partition("\n## The path in the code\n")[2].partition("\n## ")[0].splitlines():
        folder = Path()
        for name in re.findall(r"`([\w/]+\.py)`", line):
            folder = Path(name).parent if "/" in name else folder
            named.append(str(folder / Path(name).name))
    named += re.findall(r"`((?:services|ratings_core|tests|docs|deploy)/[\w/.]+)`", page)
    assert len(named) > 2 * len(folders)
    assert [path for path in named if not (ROOT / path).exists()] == []
