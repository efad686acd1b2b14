"""Places of an archive, by its URL. The extra `archive` is not needed."""

from pathlib import Path
from urllib.parse import unquote, urlparse

from services.log.protocol import Topic
from services.runtime.settings import Settings, no_tables_in


def folder_of(url: str) -> Path | None:
    """Local folder of an archive's URL, a path or `file:` URL; None for an object store."""
    parts = urlparse(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(url) if "://" not in url else None


def table_uri(url: str, partition: int) -> str:
    """URL of a partition's table. url: the archive's folder, or its prefix in an object store."""
    return f"{url.rstrip('/')}/partition-{partition:05d}"


def unused_archive(settings: Settings, topic: Topic) -> list[str]:
    """Warning that the data folder has an archive that the settings do not name, or cannot have one; empty otherwise.

    No erasure reaches an archive that is not in use. If the log dropped records, this archive can be the only place that has them.

    Args:
        settings: The service's settings.
        topic: The outcome log.

    Raises:
        LogError: The log cannot be read.
    """
    folder, url = settings.default_archive, settings.archive_url
    if url is None and settings.archive is None and settings.embedded:
        why = f"its tables cannot be in a path with {no_tables_in(str(folder))}: {folder}"
        return [f"there is no archive, because {why}; name another folder by EQUIRANK_ARCHIVE"]
    if not folder.exists() or (url is not None and folder_of(url) == folder):
        return []
    what = f"the archive {folder} is not in use: nothing is appended to it or erased in it"
    if any(topic.begin(number) for number in range(topic.partitions)):
        return [f"{what}; keep it, because it can have records that the log dropped; it is in use again if EQUIRANK_ARCHIVE is this folder"]
    return [f"{what}; remove it, or do not set EQUIRANK_ARCHIVE"]
