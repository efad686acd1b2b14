"""The hash of the sources that a compiled kernel depends on.

numba compiles the functions that a kernel calls and the constants that it reads into the kernel. So machine code depends on the kernel's
module and on every module that this module imports from its own package or from `ratings_core`, directly or indirectly.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_IMPORT: Final = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)|import[ \t]+([^\n]+))", re.MULTILINE)
_COMMENT: Final = re.compile(r"#[^\n]*")
_LIBRARY: Final = __name__.partition(".")[0]


@cache
def fingerprint(module: str, file: Path) -> str:
    """Hash the sources that determine the machine code of a module's kernels.

    Args:
        module: Dotted name of the module.
        file: Its source file.

    Returns:
        64 hexadecimal digits: SHA-256 over names and texts, in the order of names. File times do not count, so a copy has the same hash.

    Raises:
        OSError: A source cannot be read.
    """
    packages = {_LIBRARY, module.partition(".")[0]}
    sources = {module: _Source.of(file)}
    waiting = [module]
    while waiting:
        for name in sources[waiting.pop()].imports:
            if name not in sources and name.partition(".")[0] in packages and (source := _source(name)) is not None:
                sources[name] = source
                waiting.append(name)
    digest = hashlib.sha256()
    for name in sorted(sources):
        for data in (name.encode(), sources[name].text.encode()):
            digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Source:
    """A source file. imports: names that may be modules; `from a import b` may name `a` and `a.b`."""

    text: str
    imports: frozenset[str]

    @classmethod
    def of(cls, file: Path) -> "_Source":
        text = file.read_text(encoding="utf-8")
        return cls(text, frozenset(_imported(text)))


def _imported(text: str) -> Iterator[str]:
    for origin, names, modules in _IMPORT.findall(text):
        parts = [part.split()[0] for part in _COMMENT.sub("", names or modules).strip("() \n").split(",") if part.strip()]
        if origin:
            yield origin
            yield from (f"{origin}.{part}" for part in parts)
        else:
            yield from parts


@cache
def _source(module: str) -> _Source | None:
    """The source of a module in an imported package; None if there is no such module. Kernels share most of their imports."""
    top, *rest = module.split(".")
    for folder in getattr(sys.modules.get(top), "__path__", ()):
        base = Path(folder, *rest)
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                return _Source.of(path)
    return None
