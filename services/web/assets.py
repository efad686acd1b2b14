"""The web pages: HTML, a script, a style sheet, and plotly.js from the plotly wheel. Nothing is loaded from other hosts."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from services.web.routes import routes_page

_STATIC: Final = Path(__file__).parent / "static"
_TYPES: Final = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_NAMES: Final = ("app.js", "app.css", "plotly.min.js")


@dataclass(frozen=True)
class Asset:
    """A file of the pages, as it is sent to browsers."""

    content: bytes
    media_type: str

    @cached_property
    def digest(self) -> str:
        """Digest of the content. It is part of the file's address, so that browsers can cache the file."""
        return blake2b(self.content, digest_size=8).hexdigest()

    @cached_property
    def gzipped(self) -> bytes:
        """The content compressed with gzip, without a time, so that its bytes are always the same."""
        return gzip.compress(self.content, 6, mtime=0)


@cache
def asset(name: str) -> Asset | None:
    """A file that the page loads; None for any other name."""
    if name not in _NAMES:
        return None
    path = _plotly() if name == "plotly.min.js" else _STATIC / name
    return Asset(path.read_bytes(), _TYPES[path.suffix])


@cache
def page() -> Asset:
    """The main page. The addresses of its files contain their digests."""
    text = (_STATIC / "index.html").read_text()
    for name in _NAMES:
        file = asset(name)
        if file is not None:
            text = text.replace(f"/static/{name}", f"/static/{file.digest}/{name}")
    return Asset(text.encode(), _TYPES[".html"])


def page_of_routes(api: Mapping[str, Any]) -> Asset:
    """The page that describes the API. api: its OpenAPI object."""
    style = asset("app.css")
    return Asset(routes_page(api, f"/static/{style.digest}/app.css" if style else "").encode(), _TYPES[".html"])


def _plotly() -> Path:
    # The package is not imported, because that takes a second and only its script is needed.
    spec = find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("plotly is not installed: install Equirank with its dependencies")
    return Path(next(iter(spec.submodule_search_locations))) / "package_data" / "plotly.min.js"
