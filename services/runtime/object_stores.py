"""Folders and object stores as file systems of pyarrow.

pyarrow reads the address and the credentials of a store from the environment or from the cloud's metadata service, like deltalake.
"""

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

OBJECT_STORES: Final = frozenset({"s3", "gs", "gcs", "abfs", "abfss"})
"""Schemes of URLs of object stores."""
SCHEMES: Final = OBJECT_STORES | {"file"}
"""All schemes that `open_file_system` accepts."""


def scheme_of(url: str) -> str:
    """Scheme of a URL; empty for a path."""
    return urlsplit(url).scheme


def open_file_system(url: str) -> "tuple[FileSystem, str]":
    """Open the file system of a URL with one of the `SCHEMES`. Returns it and the path in it. Raises `OSError`."""
    from pyarrow.fs import FileSystem  # noqa: PLC0415 - takes a tenth of a second that a folder of checkpoints does not need

    if scheme_of(url) == "s3":  # with this option, a small file takes one request instead of three
        url += ("&" if urlsplit(url).query else "?") + "allow_delayed_open=true"
    store, path = FileSystem.from_uri(url)
    return store, path.rstrip("/")
