"""Compiled kernels on disk, in folders named by the hash of the sources that they were compiled from.

numba's own cache only checks the modification time of the kernel's file. It returns outdated machine code after an edit of a called kernel
in another file, compiles again after a file was copied, and fails if no folder is writable. This cache never returns machine code of other
sources. It also reads from folders that it may not write, as in a container whose kernels were compiled when its image was built.

Folders, in this order:

1. ``$NUMBA_CACHE_DIR``, if set: only this folder.
2. ``__pycache__`` beside the source.
3. The user's cache folder, ``$XDG_CACHE_HOME/equirank`` or ``~/.cache/equirank``.

Kernels are read from all of these folders and written to the first that is writable.
"""

import inspect
import pickle
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys
from numba.misc.appdirs import AppDirs

from ratings_core.kernels.sources import fingerprint

VERSIONS_KEPT: Final = 4
"""Number of folders kept for a module. Several checkouts may share a cache; a new folder replaces the oldest one."""
_DIGITS: Final = 16
SLOW: Final = 0.5
"""Seconds. The first kernel of a process that took longer to compile is named on stderr, if a person reads it."""
_told: Final[list[str]] = []
"""The kernel that was named."""
_REBUILD: Final = ("numba.core.environment", "_rebuild_env")
"""Module and name of the function that numba's files name for each environment: globals and constants of a compiled function."""
_unsaved: Final[list[str]] = []
"""Reasons why kernels could not be saved, from the first failure of the process."""


class KernelCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """The cache of one kernel. numba's dispatcher reads machine code from it before compiling, and saves machine code to it afterwards.

    Nothing is read before the first call of the kernel, so importing a module costs nothing.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        if function.__closure__:
            raise TypeError(f"{function.__qualname__} is a closure: a kernel is a function of a module, so that its sources are known")
        self._py_func = function
        self._missed_at = 0.0
        self.enable()

    @property
    def cache_path(self) -> str:
        """The first folder for writes; numba shows it in statistics."""
        return str(next(self._folders()))

    def flush(self) -> None:
        """Delete all files of this kernel that can be removed."""
        for folder in self._folders():
            for path in folder.glob(f"{self._name}.*"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code for one signature.

        numba would first load all that it can compile, which takes half a second of a process that compiles nothing. Here it loads the
        functions that machine code calls; before numba compiles a kernel, it loads the rest itself.

        Args:
            sig: Types of the arguments, as numba describes them.
            target_context: numba's target.

        Returns:
            numba's `CompileResult`; None if no folder has machine code for this processor.
        """
        rtsys.initialize(target_context)
        key = self._index_key(sig, target_context.codegen())
        for folder in self._folders():
            with suppress(PermissionError):  # another user's folder
                if (data := self._file(folder).load(key)) is not None:
                    return CompileResult._rebuild(target_context, *data)  # noqa: SLF001 - numba's cache does so
        self._missed_at = time.perf_counter()  # numba compiles now, and then calls save_overload
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the machine code for one signature in the first writable folder; warn once if no folder is writable.

        The first kernel of a process that took longer than `SLOW` to compile is named on stderr, if that is a terminal or a notebook.

        Args:
            sig: Types of the arguments, as numba describes them.
            data: numba's `CompileResult`.
        """
        if data.lifted or data.library.has_dynamic_globals:
            _warn(f"{self._py_func.__qualname__} uses an object loop or a global array, or NUMBA_OPT is 0")
            return
        key, code = self._index_key(sig, data.codegen), data._reduce()  # noqa: SLF001 - numba's cache does so
        reasons = []
        for folder in self._folders():
            try:
                self._make(folder)
                self._file(folder).save(key, code)
            except OSError as error:
                reasons.append(f"{folder.parent}: {error.strerror}")
            else:
                _tell(self._py_func.__qualname__, time.perf_counter() - self._missed_at, folder.parent)
                return
        _warn("; ".join(reasons))

    @cached_property
    def _module(self) -> tuple[str, Path]:
        return self._py_func.__module__, Path(inspect.getfile(self._py_func))

    @cached_property
    def _hash(self) -> str:
        return fingerprint(*self._module)

    @property
    def _name(self) -> str:
        return f"{self._py_func.__qualname__}-{self._py_func.__code__.co_firstlineno}.{sys.implementation.cache_tag}"

    def _folders(self) -> Iterator[Path]:
        module, file = self._module
        for root in _roots(file):
            yield root / f"{module}-{self._hash[:_DIGITS]}"

    def _file(self, folder: Path) -> Any:
        return _File(str(folder), self._name, self._hash)

    def _make(self, folder: Path) -> None:
        """Create the folder, and remove the oldest folders of the same module."""
        if folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        others = (path for path in folder.parent.glob(f"{self._module[0]}-{'?' * _DIGITS}") if path != folder)
        for old in sorted(others, key=_written, reverse=True)[VERSIONS_KEPT - 1 :]:
            shutil.rmtree(old, ignore_errors=True)  # another process that uses it compiles again


class _File(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """The files of one kernel. Reading machine code imports no module of the functions that were compiled into it."""

    def _load_data(self, name: str) -> Any:
        with Path(self._data_path(name)).open("rb") as file:
            return _Unpickler(file).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """See `pickle.Unpickler`."""
        return _environment if (module, name) == _REBUILD else super().find_class(module, name)


def _environment(module: str, constants: list[object], name: str) -> Environment:
    """What `_rebuild_env` of numba returns, without an import of the module.

    Only object mode reads the module's globals, and code that uses it is never saved. numba's modules of arrays and texts, which each
    kernel with an array names here, would take a tenth of a second of every process.
    """
    environment = lookup_environment(name)
    if environment is None:
        known = sys.modules.get(module)
        environment = Environment(vars(known) if known else {"__name__": module})
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment  # noqa: SLF001 - where numba looks for it
    return environment


def _roots(file: Path) -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / "equirank"
        return
    yield file.parent / "__pycache__"
    yield Path(AppDirs(appname="equirank", appauthor=False).user_cache_dir)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _tell(name: str, seconds: float, folder: Path) -> None:
    """Tell a waiting person once per process that kernels are compiled now, and only once. Logs of programs do not get this line."""
    reader = sys.stderr.isatty() or "ipykernel" in sys.modules
    if seconds >= SLOW and reader and not _told:
        _told.append(name)
        sys.stderr.write(f"equirank: compiling kernels for this machine, once ({name} took {seconds:.1f} s); they are kept in {folder}\n")


def _warn(reasons: str) -> None:
    """Warn once per process that kernels cannot be saved. They work, but every start compiles them again."""
    if not _unsaved:
        _unsaved.append(reasons)
        message = f"compiled kernels cannot be saved, so every start compiles them again ({reasons})"
        warnings.warn(f"{message}: set NUMBA_CACHE_DIR to a writable folder", RuntimeWarning, stacklevel=2)
