"""The wheel as its users install it: the library alone, then the service beside somebody else's package named `services`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installation import until
from tests.support.wheel import CLIENT, ROOT, Environment, InstalledWheel, build

EVERY_MODULE = """
import gc, importlib, pkgutil, sys
from numba.core.dispatcher import Dispatcher
import ratings_core
for module in pkgutil.walk_packages(ratings_core.__path__, "ratings_core."):
    importlib.import_module(module.name)
kernels = [one for one in gc.get_objects() if isinstance(one, Dispatcher) and one.py_func.__module__.startswith("ratings_core")]
print(len([name for name in sys.modules if name.startswith("ratings_core")]), len(kernels), sum(bool(one.overloads) for one in kernels))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def library(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """`pip install equirank`, with the locked versions."""
    environment = Environment(tmp_path_factory.mktemp("library") / "env")
    environment.make()
    locked = re.findall(r"^[\w.-]+==[^\\\n]+", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
    constraints = environment.folder.parent / "versions.txt"
    constraints.write_text("\n".join(locked))
    environment.install(str(wheel), "--constraints", str(constraints))
    return environment


@pytest.fixture(scope="module")
def service(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """`pip install equirank[service]`, in an environment that has another package named `services`."""
    environment = Environment(tmp_path_factory.mktemp("service") / "env")
    environment.make()
    environment.install("--no-deps", str(wheel))
    environment.borrow()
    theirs = environment.packages / "services"
    theirs.mkdir()
    (theirs / "__init__.py").write_text("owner = 'somebody else'\n")
    environment.take_kernels(besides="ratings_core.online.elo")
    assert not list((environment.packages / "ratings_core/online/__pycache__").glob("ratings_core.online.elo-*"))
    compiled = environment.run(environment.command, "precompile")  # as the docs say: else the first outcome waits for the compiler
    assert compiled.returncode == 0, compiled.stderr
    assert list((environment.packages / "ratings_core/online/__pycache__").glob("ratings_core.online.elo-*"))
    return environment


@pytest.mark.smoke
def test_the_library_brings_six_packages_and_their_compiler(library: Environment) -> None:
    names = library.python_output("from importlib.metadata import distributions as all; print(*sorted(d.name for d in all()))")
    assert names.split() == ["equirank", "highspy", "llvmlite", "msgspec", "numba", "numpy", "pyarrow", "scipy"]


def test_the_library_installs_no_package_named_services(library: Environment) -> None:
    assert library.python_output("from importlib.util import find_spec; print(find_spec('services'))").strip() == "None"
    ours = "from importlib.metadata import files; print(*sorted({f.parts[0] for f in files('equirank') if f.suffix == '.py'}))"
    assert library.python_output(ours).split() == ["equirank_services", "ratings_core"]


@pytest.mark.smoke
def test_the_client_brings_httpx_and_msgspec_and_nothing_else_of_equirank(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    environment.make()
    environment.install(str(build(tmp_path / "wheel", CLIENT)))
    assert environment.python_output("import equirank_client as c; print(c.__file__)").startswith(str(environment.packages))
    installed = "from importlib.metadata import distributions as all; print(*sorted(d.name for d in all()))"
    needed = {"anyio", "certifi", "h11", "httpcore", "httpx", "idna", "msgspec", "sniffio", "typing_extensions"}
    assert set(environment.python_output(installed).split()) - needed == {"equirank-client"}


@pytest.mark.smoke
def test_an_editable_install_copies_nothing_but_the_launcher(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    environment.make()
    environment.install("--no-deps", "-e", str(ROOT), "-e", str(CLIENT))
    copied = {path.relative_to(environment.packages).as_posix() for path in environment.packages.rglob("*.py")}
    assert {name for name in copied if name.startswith(("equirank", "ratings_core", "services"))} == {"equirank_services/__init__.py"}
    for name, folder in (("equirank_client", CLIENT), ("ratings_core", ROOT), ("services", ROOT)):
        where = f"from importlib.util import find_spec; print(find_spec({name!r}).origin)"
        assert environment.python_output(where).strip() == str(folder / name / "__init__.py")


def test_no_module_of_the_library_compiles_or_loads_a_kernel_when_it_is_imported(library: Environment) -> None:
    """What the start of a command costs is a row of `benchmarks.files`."""
    modules, kernels, loaded = map(int, library.python_output(EVERY_MODULE).split())
    assert modules > 120
    assert kernels > 50
    assert loaded == 0


@pytest.mark.smoke
def test_the_example_of_the_docs_runs(library: Environment) -> None:
    page = (ROOT / "docs/guides/library.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    printed = re.findall(r"^# (.+)", example, re.MULTILINE)
    assert library.python_output(example).splitlines() == printed


@pytest.mark.parametrize(
    ("program", "purpose", "package", "extra"),
    [
        ("from ratings_core.formats.pgn import iter_games; next(iter_games(io.BytesIO(b'')))", "reading PGN", "chess", "chess"),
        ("from ratings_core import rate; rate([('a', 'b')]).plot()", "plotting ratings", "plotly", "plot"),
    ],
)
def test_a_function_names_the_extra_that_it_needs(library: Environment, program: str, purpose: str, package: str, extra: str) -> None:
    done = library.run(library.python, "-c", f"import io; {program}")
    error = f"{purpose} needs the package {package}, which is not installed: pip install 'equirank[{extra}]'"
    assert done.stderr.splitlines()[-1] == f"ratings_core.errors.MissingExtraError: {error}"


def test_the_command_names_the_extra_that_it_needs(library: Environment) -> None:
    done = library.run(library.command, "--help")
    assert done.returncode == 2
    assert done.stderr == "equirank: the package typer is not installed; the commands need it: pip install 'equirank[service]'\n"


def test_a_package_of_somebody_else_named_services_is_left_alone(service: Environment) -> None:
    assert service.python_output("import services; print(services.owner)").strip() == "somebody else"
    done = service.run(service.command, "--version")
    assert (done.returncode, done.stdout[:9]) == (0, "equirank ")


@pytest.fixture
def installed(service: Environment, tmp_path: Path) -> Iterator[InstalledWheel]:
    directory = tmp_path / "empty"
    directory.mkdir()
    up = InstalledWheel(service, tmp_path / "data", directory)
    try:
        yield up
    finally:
        up.close()


@pytest.mark.smoke
def test_the_installed_service_runs_beside_that_package(service: Environment, installed: InstalledWheel, tmp_path: Path) -> None:
    installed.ready()
    table = tmp_path / "games.csv"
    table.write_text("date,home_team,away_team,home_score,away_score\n2026-03-01,Reds,Blues,2,1\n2026-03-08,Blues,Greens,3,0\n")
    sent = installed.run("replay", str(table), "--pool", "cup")
    assert sent.returncode == 0, sent.stdout + sent.stderr
    until(lambda: installed.outcomes("cup") == 2, "both games folded by Ray's worker")
    best = installed.run("top", "--pool", "cup", "--method", "elo", "--format", "json")
    assert json.loads(best.stdout)["rows"][0]["agent"] == "Reds", best.stdout + best.stderr
    verified = installed.run("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_working_directory_that_would_shadow_the_service_is_refused(service: Environment, tmp_path: Path) -> None:
    (tmp_path / "services").mkdir()
    (tmp_path / "services/__init__.py").write_text("")
    environment = {"EQUIRANK_DATA": str(tmp_path / "data"), "EQUIRANK_METRICS_PORT": "0"}
    done = service.run("env", *(f"{name}={value}" for name, value in environment.items()), service.command, "engine", directory=tmp_path)
    assert done.returncode == 2
    assert "the working directory holds another package named services" in done.stderr
