"""What the demo's clone attack notes of how far it came."""

from pathlib import Path

import msgspec
import pytest

from services.demo import attack, clones
from services.settings import Settings


@pytest.mark.parametrize("note", [None, b"", b'{"log": "x", "rep', b"[]"])
def test_a_note_that_is_missing_or_damaged_begins_the_attack_again(tmp_path: Path, note: bytes | None) -> None:
    if note is not None:
        (tmp_path / f"{clones.POOL}.json").write_bytes(note)
    assert attack.read(Settings(data=tmp_path)) is None


def test_a_whole_note_is_read(tmp_path: Path) -> None:
    noted = attack.Attack(log="x", before={"elo": [("a", 1.0)]})
    (tmp_path / f"{clones.POOL}.json").write_bytes(msgspec.json.encode(noted))
    assert attack.read(Settings(data=tmp_path)) == noted
