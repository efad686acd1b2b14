"""Detection of network file systems. SQLite's write-ahead log is not safe on them, because its index is shared memory of one machine."""

import re
from pathlib import Path
from typing import NamedTuple

from services.log.protocol import LogError

MOUNTINFO = Path("/proc/self/mountinfo")

NETWORK = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "drvfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "kafs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "prl_fs",
        "pvfs2",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "v9fs",
        "vboxsf",
        "wekafs",
    )
)
NETWORK_FUSE = frozenset(
    (
        "afpfs",
        "blobfuse",
        "blobfuse2",
        "ceph",
        "ceph-fuse",
        "curlftpfs",
        "cvmfs2",
        "davfs",
        "davfs2",
        "gcsfuse",
        "geesefs",
        "glusterfs",
        "goofys",
        "grpcfuse",
        "hdfs",
        "juicefs",
        "lizardfs",
        "mfs",
        "moosefs",
        "mount-s3",
        "rclone",
        "s3fs",
        "seaweedfs",
        "sshfs",
        "vmhgfs-fuse",
        "weed",
    )
)


class Mount(NamedTuple):
    """One mount. point: the folder; kind: the kernel's name of the file system, such as ext4, nfs4 or fuse.sshfs."""

    point: str
    kind: str


def mount_of(path: Path, mountinfo: str) -> Mount | None:
    """The mount that contains `path`; None if no line of `mountinfo` fits. Of several mounts on a folder, the last one hides the others.

    Args:
        path: Absolute path with symbolic links resolved.
        mountinfo: Text of /proc/self/mountinfo, see proc(5).
    """
    best: Mount | None = None
    for line in mountinfo.splitlines():
        mount = _parse(line)
        if mount and path.is_relative_to(mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def refuse_network_filesystem(path: Path, mountinfo: Path = MOUNTINFO) -> None:
    """Raise `LogError` if `path` is on a network file system. The path need not exist.

    On systems without /proc/self/mountinfo (other than Linux), the function accepts every path.
    """
    if not mountinfo.exists():
        return
    mount = mount_of(path.resolve(), mountinfo.read_text(encoding="utf-8", errors="surrogateescape"))
    if mount and is_network(mount.kind):
        raise LogError(
            f"{path} is on {mount.point}, a network file system ({mount.kind}), where SQLite can lose acknowledged records; "
            "put the data folder on a local disk, or use Kafka as the log",
            retriable=False,
        )


def is_network(kind: str) -> bool:
    """Whether a file system is a network file system. kind: the kernel's name of it."""
    name, _, helper = kind.partition(".")
    return name in NETWORK or (name == "fuse" and helper in NETWORK_FUSE)


def _parse(line: str) -> Mount | None:
    fields, separator, rest = line.partition(" - ")
    left, right = fields.split(" "), rest.split(" ")
    if not separator or len(left) < 5 or len(right) < 2:
        return None
    return Mount(_unescape(left[4]), right[0])


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
