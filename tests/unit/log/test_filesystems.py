"""The embedded log is refused on network file systems, by what the kernel says of the mounts."""

from pathlib import Path

import pytest

from services.log.protocol import LogError
from services.log.sqlite.filesystems import Mount, is_network, mount_of, refuse_network_filesystem
from services.log.sqlite.log import open_sqlite_log

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
40 22 0:50 / /home rw,relatime shared:9 master:2 - nfs4 server:/home rw,vers=4.2
41 40 8:2 / /home/local rw - xfs /dev/sdb1 rw
42 22 0:51 / /mnt/with\\040space rw - cifs //server/share rw
43 22 0:52 / /srv rw - nfs server:/srv rw
44 43 8:3 / /srv rw - btrfs /dev/sdc1 rw
45 22 0:53 / /remote rw - fuse.sshfs user@host: rw
46 22 0:54 / /ntfs rw - fuseblk /dev/sdd1 rw
not a line of mountinfo
"""


@pytest.mark.parametrize(
    ("path", "point", "kind"),
    [
        ("/data/log", "/", "ext4"),
        ("/home/a/log", "/home", "nfs4"),
        ("/homework/log", "/", "ext4"),
        ("/home/local/log", "/home/local", "xfs"),
        ("/mnt/with space/log", "/mnt/with space", "cifs"),
        ("/srv/log", "/srv", "btrfs"),
        ("/remote", "/remote", "fuse.sshfs"),
    ],
)
def test_the_nearest_and_latest_mount_holds_a_path(path: str, point: str, kind: str) -> None:
    mount = mount_of(Path(path), MOUNTINFO)
    assert mount is not None
    assert (mount.point, mount.kind) == (point, kind)


def test_no_mount_is_none() -> None:
    assert mount_of(Path("/data"), "nothing that fits\n") is None
    assert mount_of(Path("/srv/x"), MOUNTINFO) == Mount("/srv", "btrfs")


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.glusterfs", "lustre", "ceph", "afs"])
def test_network_file_systems_are_known(kind: str) -> None:
    assert is_network(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "f2fs", "fuseblk", "fuse.ntfs-3g", "fuse", "vfat"])
def test_local_file_systems_pass(kind: str) -> None:
    assert not is_network(kind)


def test_the_refusal_says_what_to_do(tmp_path: Path) -> None:
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(MOUNTINFO + f"50 22 0:60 / {tmp_path} rw - nfs4 server:/x rw\n", encoding="utf-8")
    with pytest.raises(LogError, match=r"network file system \(nfs4\).*local disk.*Kafka") as caught:
        refuse_network_filesystem(tmp_path / "not" / "yet" / "there", mountinfo)
    assert not caught.value.retriable
    refuse_network_filesystem(tmp_path, tmp_path / "no mountinfo")


def test_opening_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise LogError(f"asked for {path}", retriable=False)

    monkeypatch.setattr("services.log.sqlite.file.refuse_network_filesystem", refuse)
    with pytest.raises(LogError, match="asked for"):
        open_sqlite_log(tmp_path / "log", 1)
    assert not (tmp_path / "log").exists()
