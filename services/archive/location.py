"""Where an archive lies. Needs no package of the extra `archive`."""

from pathlib import Path
from urllib.parse import unquote, urlparse


def folder_of(url: str) -> Path | None:
    """The local folder that a URL of an archive names; None for an object store."""
    parts = urlparse(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(url) if "://" not in url else None
