"""Machine code on disk is that of the sources: a copy of `ratings_core` is edited, made read-only, and run in processes of its own."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba.core import config

from ratings_core.kernels import cache
from ratings_core.kernels.cache import VERSIONS_KEPT, KernelCache
from ratings_core.kernels.compile import inlined, kernel, reducing, reducing_inlined, template, unlocked
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
CALL = """
import sys, warnings
warnings.simplefilter("always")
import numpy as np
from ratings_core.online.noise import keyed_word
one = np.uint64(1)
print(int(keyed_word(one, one, one, one)), sum(keyed_word.stats.cache_hits.values()), sum(keyed_word.stats.cache_misses.values()))
print("numba.np.arraymath" in sys.modules)
"""

LOAD_ALL = """
import importlib, pkgutil, sys
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
import ratings_core
from ratings_core.kernels.cache import KernelCache

for module in pkgutil.walk_packages(ratings_core.__path__, "ratings_core."):
    importlib.import_module(module.name)
modules = [module for name, module in sys.modules.items() if name.startswith("ratings_core.")]
kernels = {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
context, loaded = cpu_target.target_context, 0
rtsys.initialize(context)
for cache in (kernel._cache for kernel in kernels):
    if isinstance(cache, KernelCache):
        for file in map(cache._file, cache._folders()):
            for key in file._load_index():
                CompileResult._rebuild(context, *file.load(key))
                loaded += 1
print(loaded, "numba.cpython.unicode" in sys.modules)
"""


class Copy:
    """A copy of the library, and what its kernel `keyed_word` gives: its value, cache hits and cache misses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "ratings_core/online/__pycache__"

    @classmethod
    def of_sources(cls, folder: Path) -> "Copy":
        shutil.copytree(ROOT / "ratings_core", folder / "ratings_core", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "ratings_core/online/__init__.py").write_text("")  # importing all raters takes half a second in each process
        return cls(folder)

    def call(self, *prefix: str, **environment: str) -> tuple[int, int, int]:
        value, hits, misses, _ = self.run(*prefix, **environment).stdout.split()
        return int(value), int(hits), int(misses)

    def run(self, *prefix: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        variables = {name: value for name, value in os.environ.items() if name not in {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}}
        variables |= {"HOME": str(self.folder / "home"), "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"} | environment
        done = subprocess.run(
            [*prefix, sys.executable, "-c", CALL],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done

    def edit_called_kernel(self) -> None:
        """Change a constant of `mix64`, which `keyed_word` calls from another file; size and time of the file stay the same."""
        file = self.folder / "ratings_core/arrays/hashing.py"
        text, times = file.read_text(), file.stat()
        assert "np.uint64(33)" in text
        file.write_text(text.replace("np.uint64(33)", "np.uint64(31)"))
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def folders(self) -> list[str]:
        return sorted(path.name for path in self.cache.glob("ratings_core.online.noise-*"))


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy.of_sources(tmp_path)


@pytest.fixture(scope="module")
def first_call(tmp_path_factory: pytest.TempPathFactory) -> tuple[Copy, list[str]]:
    """A copy whose kernel was called once, and the words that the call printed."""
    copy = Copy.of_sources(tmp_path_factory.mktemp("called"))
    return copy, copy.run().stdout.split()


@pytest.fixture
def value(first_call: tuple[Copy, list[str]]) -> int:
    return int(first_call[1][0])


@pytest.fixture
def called(first_call: tuple[Copy, list[str]], tmp_path: Path) -> Copy:
    """A copy with the machine code that the first call saved."""
    shutil.copytree(first_call[0].folder, tmp_path, dirs_exist_ok=True)
    return Copy(tmp_path)


def test_an_edit_of_a_called_kernel_takes_effect_and_other_file_times_compile_nothing(called: Copy, value: int) -> None:
    for file in (called.folder / "ratings_core").rglob("*.py"):
        os.utime(file, (1, 1))  # image layers keep whole seconds
    assert called.call() == (value, 1, 0)
    called.edit_called_kernel()
    other, hits, misses = called.call()
    assert (hits, misses) == (0, 1)
    assert other != value
    assert len(called.folders()) == 2


def test_a_process_that_compiles_nothing_does_not_load_what_the_compiler_needs(first_call: tuple[Copy, list[str]]) -> None:
    """Half a second of each start of a command."""
    copy, printed = first_call
    assert printed[1:] == ["0", "1", "True"]
    assert copy.run().stdout.split()[1:] == ["1", "0", "False"]


def test_all_machine_code_finds_the_functions_that_it_calls_without_the_compiler() -> None:
    """`KernelCache.load_overload` does not load the compiler, nor numba's modules of the functions that were compiled into kernels.

    LLVM ends a process that asks for an unknown function.
    """
    for program in (CALL, LOAD_ALL):  # the call saves machine code where there is none yet
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
    loaded, with_compiler = done.stdout.split()
    assert int(loaded) > 0
    assert with_compiler == "False"


def test_old_folders_are_removed(copy: Copy) -> None:
    copy.cache.mkdir()
    for age in range(10):
        old = copy.cache / f"ratings_core.online.noise-{age:016x}"
        old.mkdir()
        os.utime(old, (1e9 - age, 1e9 - age))
    other = copy.cache / "ratings_core.online.noise_of_another-0123456789abcdef"
    other.mkdir()
    copy.call()
    newest = {f"ratings_core.online.noise-{age:016x}" for age in range(VERSIONS_KEPT - 1)}
    assert newest < set(copy.folders())
    assert len(copy.folders()) == VERSIONS_KEPT
    assert other.exists()


def without_override() -> list[str]:
    """A prefix that takes the right to write everywhere from root; nothing for other users."""
    if os.geteuid() != 0:
        return []
    prefix = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
    if shutil.which("setpriv") is None or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("root may write everywhere here, and setpriv cannot take that right away")
    return prefix


def read_only(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_kernels_of_a_read_only_installation_are_loaded(called: Copy, value: int) -> None:
    prefix = without_override()
    read_only(called.folder)
    assert called.call(*prefix, HOME="/proc/nowhere") == (value, 1, 0)


def test_a_named_folder_is_the_only_one_and_may_be_read_only(called: Copy, value: int) -> None:
    named = called.folder / "named"
    assert called.call(NUMBA_CACHE_DIR=str(named)) == (value, 0, 1)
    assert [path.name for path in named.iterdir()] == ["equirank"]
    prefix = without_override()
    read_only(called.folder)
    assert called.call(*prefix, HOME="/proc/nowhere", NUMBA_CACHE_DIR=str(named)) == (value, 1, 0)


def test_where_nothing_can_be_written_kernels_work_and_say_so_once(copy: Copy) -> None:
    prefix = without_override()
    read_only(copy.folder)
    done = copy.run(*prefix, HOME="/proc/nowhere")
    assert done.stdout.split()[1:3] == ["0", "1"]
    assert done.stderr.count("compiled kernels cannot be saved, so every start compiles them again") == 1
    assert "set NUMBA_CACHE_DIR to a writable folder" in done.stderr


def test_an_installation_that_cannot_be_written_uses_the_cache_of_its_user(copy: Copy) -> None:
    prefix = without_override()
    home = copy.folder / "home"
    home.mkdir()
    read_only(copy.folder / "ratings_core")
    value, _, misses = copy.call(*prefix)
    assert misses == 1
    assert list((home / ".cache/equirank").iterdir())
    assert copy.call(*prefix) == (value, 1, 0)


def test_a_closure_is_refused() -> None:
    number = 2

    def closure(x: int) -> int:
        return x * number

    with pytest.raises(TypeError, match=r"closure is a closure: a kernel is a function of a module"):
        kernel(closure)


def test_flush_removes_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    compiled = kernel(_double)
    assert compiled(3) == 6
    cache = KernelCache(_double)
    assert len(list(Path(cache.cache_path).iterdir())) == 2
    cache.flush()
    assert not list(Path(cache.cache_path).iterdir())


def _double(x: int) -> int:
    return 2 * x


def test_every_kernel_is_compiled_by_the_same_decorators() -> None:
    """numba's own cache would serve old machine code: `from numba import njit` belongs in one file."""
    files = [path for package in ("ratings_core", "services") for path in (ROOT / package).rglob("*.py")]
    using = [str(path.relative_to(ROOT)) for path in files if "import njit" in path.read_text()]
    assert using == ["ratings_core/kernels/compile.py"]


@pytest.mark.parametrize("decorator", [kernel, unlocked, inlined, template, reducing, reducing_inlined])
def test_no_option_is_inherited_from_the_caller_that_compiles_first(decorator: Callable[[Any], Any]) -> None:
    """numba hands these down to functions that do not set them: machine code would depend on which kernel was called first."""
    assert {"fastmath", "forceinline", "error_model"} <= set(decorator(_double).targetoptions)


def twice(x: float) -> float:
    return 2.0 * x


def thrice(x: float) -> float:
    return 3.0 * x


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stderr", "lines"), [(Terminal, 1), (io.StringIO, 0)])
def test_a_person_at_a_terminal_is_told_once_that_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stderr: type[io.StringIO], lines: int
) -> None:
    text = stderr()
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "SLOW", 0.0)
    monkeypatch.setattr(cache, "_told", [])
    monkeypatch.setattr("sys.stderr", text)
    assert kernel(twice)(1.0) + kernel(thrice)(1.0) == 5.0
    assert text.getvalue().count("equirank: compiling kernels for this machine, once (twice took ") == lines
    assert text.getvalue().count("\n") == lines


def test_a_kernel_that_is_loaded_is_not_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = Terminal()
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert kernel(twice)(1.0) == 2.0
    monkeypatch.setattr(cache, "SLOW", 0.0)
    monkeypatch.setattr(cache, "_told", [])
    monkeypatch.setattr("sys.stderr", text)
    assert kernel(twice)(1.0) == 2.0
    assert text.getvalue() == ""
