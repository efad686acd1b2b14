"""The web pages: HTML, modules of JavaScript, a style sheet, and three libraries in `static/vendor`. Nothing is loaded from other hosts."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Final

_STATIC: Final = Path(__file__).parent / "static"
_SCRIPT: Final = "text/javascript; charset=utf-8"
_TYPES: Final = {".html": "text/html; charset=utf-8", ".js": _SCRIPT, ".mjs": _SCRIPT, ".css": "text/css; charset=utf-8"}
_PAGE: Final = "index.html"
_DOCS: Final = "docs.html"
_PAGES_KEPT: Final = 1024


@dataclass(frozen=True)
class Asset:
    """A file of the pages, as it is sent to browsers."""

    content: bytes
    media_type: str

    @cached_property
    def digest(self) -> str:
        """Digest of the content."""
        return blake2b(self.content, digest_size=8).hexdigest()

    @cached_property
    def gzipped(self) -> bytes:
        """The content compressed with gzip, without a time, so that its bytes are always the same."""
        return gzip.compress(self.content, 6, mtime=0)


@cache
def assets() -> Mapping[str, Asset]:
    """The files that the pages load, by their path below `static`."""
    files = sorted(path for path in _STATIC.rglob("*") if path.suffix in _TYPES and path.name not in (_PAGE, _DOCS))
    return {path.relative_to(_STATIC).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix]) for path in files}


@cache
def digest() -> str:
    """Digest of all files. It is part of their addresses, so that browsers can keep them without limit.

    All files have one digest and not each its own, because modules name each other by relative addresses.
    """
    parts = (f"{name} {file.digest}\n" for name, file in assets().items())
    return blake2b("".join(parts).encode(), digest_size=8).hexdigest()


@lru_cache(_PAGES_KEPT)
def page(pool: str = "", agent: str = "") -> Asset:
    """The document of a page. The addresses of its files contain the digest.

    Its title and description name the pool and the agent, for sites that show a link with what its page says, and do not run scripts.

    Args:
        pool: Name of the pool; empty for pages that are of no pool.
        agent: Name of the agent; empty for the page of a pool.
    """
    title, about = "Equirank", "Live leaderboards that cycles and copies do not fool."
    if agent:
        title, about = f"{agent} · {pool} · Equirank", f"{agent} in {pool}: rank by each method, rating over time, opponents, forecasts."
    elif pool:
        title, about = f"{pool} · Equirank", f"Leaderboard of {pool}: ratings with intervals, who beats whom, and what is proven."
    text = _document().format(title=escape(title), about=escape(about))
    return Asset(text.encode(), _TYPES[".html"])


@cache
def _document() -> str:
    return _with_digest(_PAGE)


def _with_digest(name: str) -> str:
    return (_STATIC / name).read_text().replace('"/static/', f'"/static/{digest()}/')


@cache
def docs_page() -> Asset:
    """The document of the page that describes the API, and from which requests can be sent."""
    return Asset(_with_digest(_DOCS).encode(), _TYPES[".html"])
