"""The web pages: HTML, modules of JavaScript, a style sheet, and two libraries in `static/vendor`. Nothing is loaded from other hosts."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from services.web.routes import routes_page

_STATIC: Final = Path(__file__).parent / "static"
_SCRIPT: Final = "text/javascript; charset=utf-8"
_TYPES: Final = {".html": "text/html; charset=utf-8", ".js": _SCRIPT, ".mjs": _SCRIPT, ".css": "text/css; charset=utf-8"}
_PAGE: Final = "index.html"


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
    files = sorted(path for path in _STATIC.rglob("*") if path.suffix in _TYPES and path.name != _PAGE)
    return {path.relative_to(_STATIC).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix]) for path in files}


@cache
def digest() -> str:
    """Digest of all files. It is part of their addresses, so that browsers can keep them without limit.

    All files have one digest and not each its own, because modules name each other by relative addresses.
    """
    parts = (f"{name} {file.digest}\n" for name, file in assets().items())
    return blake2b("".join(parts).encode(), digest_size=8).hexdigest()


@cache
def page() -> Asset:
    """The document of all pages. The addresses of its files contain the digest."""
    text = (_STATIC / _PAGE).read_text()
    return Asset(text.replace('"/static/', f'"/static/{digest()}/').encode(), _TYPES[".html"])


def page_of_routes(api: Mapping[str, Any]) -> Asset:
    """The page that describes the API. api: its OpenAPI object."""
    return Asset(routes_page(api, f"/static/{digest()}/app.css").encode(), _TYPES[".html"])
