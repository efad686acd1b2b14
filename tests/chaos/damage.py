"""What disks and crashes do to checkpoints."""

import os
import random
import shutil
from pathlib import Path

from services.checkpoints.checkpoint import FORMAT


def spoil(folder: Path, draw: random.Random) -> None:
    """Damage the newest checkpoint of a partition that has two or more, in one of the ways that disks and crashes have.

    The partition has pools. One without any gets no records at the end of a run, so the damaged checkpoint would stay its newest, and
    `equirank verify` would rightly report it.
    """
    partitions = [sorted(one.glob("*.json"), key=lambda path: path.stem) for one in sorted(folder.glob("checkpoints/p*"))]
    newest = draw.choice([manifests[-1] for manifests in partitions if len(manifests) > 1 and _has_pools(manifests[-1])])
    objects = sorted(folder.glob(f"objects/{newest.parent.name}/*-{newest.name.split('-')[0]}-*.eqr"))
    match draw.randrange(5):
        case 0:
            flip(newest, draw)
        case 1:
            os.truncate(newest, newest.stat().st_size // 2)
        case 2 if objects:
            flip(draw.choice(objects), draw)
        case 3 if objects:
            os.truncate(draw.choice(objects), 1000)
        case _:
            position, epoch, *_ = newest.stem.split("-")
            later = newest.with_name(f"{position}-{epoch}-999999.json")  # of a later version, the newest of this epoch
            shutil.copyfile(newest, later)
            later.write_bytes(later.read_bytes().replace(b'"format":%d' % FORMAT, b'"format":%d' % (FORMAT + 1)))


def _has_pools(manifest: Path) -> bool:
    return b'"pools":[]' not in manifest.read_bytes()


def flip(path: Path, draw: random.Random) -> None:
    """Turn one bit of the file's first thousand bytes."""
    data = bytearray(path.read_bytes())
    data[draw.randrange(min(1000, len(data)))] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(data))
