"""Places of an archive, by its URL. The extra `archive` is not needed."""

from pathlib import Path
from urllib.parse import unquote, urlparse


def folder_of(url: str) -> Path | None:
    """Local folder of an archive's URL, a path or `file:` URL; None for an object store."""
    parts = urlparse(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(url) if "://" not in url else None


def table_uri(url: str, partition: int) -> str:
    """URL of a partition's table. url: the archive's folder, or its prefix in an object store."""
    return f"{url.rstrip('/')}/partition-{partition:05d}"
