"""Games read straight from bytes are those that the decoder gives, whatever the bytes; and plain ones are read so."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.wire import events
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side
from services.wire.scanning.scan import scan
from tests.support.plain import assert_the_decoder_agrees

ROOT = Path(__file__).parents[3]
NAMES = st.sampled_from(
    ["a", "b", "c", "player-000000012", "e e", 'q"\\/', "Curaçao", "日本", "\u0800", "x" * 256, "é" * 128, "a\u0301", "ü ", "😀"]
)
SPACES = st.sampled_from(["", "", " ", "\n\t\r "])
TIMES = st.floats(-1e11, 1e11) | st.integers(-(10**11), 10**11)
TIMES |= st.sampled_from([0.1, 1764547200.123, 1764547200.1234567, 1e-300, 1e22, 5e-324])
WEIGHTS = st.floats(0.001, 1000) | st.integers(1, 1000) | st.sampled_from([0.001, 0.1, 1e3])
TAGS = st.dictionaries(
    st.sampled_from(["map", "language", "k-1", "Bad"]),
    st.sampled_from(["a", "Ελληνικά", 'q"', "x y", "b}", "{[", "é" * 33, "z "]),
    max_size=3,
)


@st.composite
def game(draw: st.DrawFn, pool: str = "blitz") -> dict[str, Any]:
    agents = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    cuts = sorted(draw(st.sets(st.integers(1, len(agents) - 1), min_size=1, max_size=3)))
    teams = [agents[a:b] for a, b in zip([0, *cuts], [*cuts, len(agents)], strict=True)]
    sides = [draw(shuffled({"agents": team, "place": draw(st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1))})) for team in teams]
    made = {"v": 1, "id": draw(NAMES), "pool": pool, "time": draw(TIMES), "sides": sides}
    made |= draw(st.fixed_dictionaries({}, optional={"task": st.none() | NAMES, "weight": WEIGHTS, "tags": TAGS}))
    return draw(shuffled(made))


@st.composite
def shuffled(draw: st.DrawFn, item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in draw(st.permutations(list(item)))}


@st.composite
def record(draw: st.DrawFn) -> bytes:
    """A record of sound games, or nearly so, as some producer may spell it."""
    pool = draw(st.sampled_from(["blitz", "a.b", "Blitz", "rapid"]))
    one = draw(st.booleans())
    item: Any = draw(game(pool)) if one else draw(st.lists(game(pool), max_size=4))
    space = draw(SPACES)
    text = json.dumps(item, ensure_ascii=draw(st.booleans()), separators=(f"{space},{space}", f"{space}:{space}"))
    return (space + text + space).encode()


SPLICES = st.sampled_from(
    [
        b'"', b"\\", b",", b"}", b"]", b"{", b"[", b":", b"0", b"-", b"1", b".", b"e", b"e5", b"_", b"+", b" ", b"\n", b"null", b"true",
        b"\x00", b"\x7f", b"\xff", b"\xc3", b"\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\xc2\xa0",
        b"\\u0041", b"\\u00e9", b"\\ud800", b"\\ud83d\\ude00", b"\\u0000", b"\\n",
        b'"meta":1,', b'"task":"t",', b'"weight":2,', b'"id":"i",', b'"pool":"blitz",',
        b'"tags":{},', b'"tags":{"a":"b"},', b'"tags":{"a":"b","a":"c"},', b'"tags":{"a":{}},', b'"tags":["a"],',
    ]
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Such a record with bytes taken out, put in or doubled."""
    value = bytearray(draw(record()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(value)))
        width = draw(st.integers(0, 6))
        value[at : at + width] = draw(SPLICES | st.binary(max_size=2) | st.just(bytes(value[at : at + 2 * width])))
    return bytes(value)


@given(st.lists(record(), max_size=5))
def test_what_is_read_is_what_the_decoder_gives(values: list[bytes]) -> None:
    assert_the_decoder_agrees(values, scan(values))


@given(st.lists(damaged() | record(), min_size=1, max_size=5))
def test_of_damaged_records_nothing_is_read_that_the_decoder_refuses(values: list[bytes]) -> None:
    assert_the_decoder_agrees(values, scan(values))


@given(st.lists(st.binary(max_size=80), max_size=5))
def test_no_bytes_raise(values: list[bytes]) -> None:
    assert_the_decoder_agrees(values, scan(values))


def plain(i: int = 0, **changed: Any) -> GameEvent:
    sides = [Side([f"player-{i}"], 1), Side([f"player-{i + 1}"], 2)]
    return GameEvent(**{"v": 1, "id": f"g{i}", "pool": "blitz", "time": 1_764_547_200.25 + i, "sides": sides} | changed)


ONE = json.loads(events.encode([plain()]))
TWO = json.loads(events.encode([plain(7, task="map", weight=0.5)]))


@pytest.mark.parametrize(
    "value",
    [
        events.encode([plain()]),
        events.encode([plain(i) for i in range(500)]),
        events.encode([plain(task="Curaçao", weight=0.1, time=-1.5)]),
        events.encode([plain(time=1764547200.1234567)]),
        events.encode([plain(i, tags={"map": f"m{i % 3}", "language": "Ελληνικά"} if i % 2 else {}) for i in range(50)]),
        events.encode([plain()])[:-1] + b',"tags": {"b" : "x}", "a":"y{[" }}',
        events.encode([plain(sides=[Side([f"a{i}"], i - 9) for i in range(64)])]),
        events.encode([plain(sides=[Side(["a", "b"], 1), Side(["c"], 1), Side(["d", "e"], 3)])]),
        json.dumps(ONE).encode(),
        json.dumps([ONE, TWO], indent=2).encode(),
        json.dumps(dict(reversed(ONE.items()))).encode(),
        json.dumps(ONE | {"id": 'Curaçao "日本"', "task": None, "weight": 1}).encode(),
        b" " + events.encode([plain()]) + b"\n",
        events.encode([plain()]) + b" " * ((1 << 20) - len(events.encode([plain()]))),
    ],
)
def test_plain_records_are_read(value: bytes) -> None:
    found = scan([value])
    assert found.rest == []
    assert_the_decoder_agrees([value], found)


NOT_PLAIN = {
    "nothing": b"",
    "no game": b"[]",
    "scores": events.encode([ScoreEvent(v=1, id="s", pool="blitz", time=0.0, task="t", scores={"a": 1.0})]),
    "a retraction": events.encode([RetractEvent(v=1, id="r", pool="blitz", time=0.0, retracts="g")]),
    "a field that is carried": json.dumps(ONE | {"meta": {}}).encode(),
    "an unknown field": json.dumps(ONE | {"x": 1}).encode(),
    "a long unknown field": json.dumps(ONE | {"weights": 1}).encode(),
    "a field too few": json.dumps({key: value for key, value in ONE.items() if key != "time"}).encode(),
    "a field twice": events.encode([plain()])[:-1] + b',"id":"other"}',
    "another version": json.dumps(ONE | {"v": 2}).encode(),
    "a version that is no whole number": json.dumps(ONE | {"v": 1.0}).encode(),
    "two pools": json.dumps([ONE, TWO | {"pool": "rapid"}]).encode(),
    "no pool's name": json.dumps(ONE | {"pool": "Blitz"}).encode(),
    "a pool beyond ASCII": json.dumps(ONE | {"pool": "é"}, ensure_ascii=False).encode(),
    "one side": json.dumps(ONE | {"sides": ONE["sides"][:1]}).encode(),
    "an agent twice": json.dumps(ONE | {"sides": [ONE["sides"][0]] * 2}).encode(),
    "a side of nobody": json.dumps(ONE | {"sides": [*ONE["sides"], {"agents": [], "place": 1}]}).encode(),
    "too many agents to compare": events.encode([plain(sides=[Side([f"a{i}" for i in range(64)], 1), Side(["b"], 1)])]),
    "a place that is no whole number": json.dumps(ONE).replace('"place": 1', '"place": 1.0').encode(),
    "a place with a leading zero": json.dumps(ONE).replace('"place": 1', '"place": 01').encode(),
    "a place beyond 32 bits": json.dumps(ONE).replace('"place": 1', '"place": 2147483648').encode(),
    "a place of very many digits": json.dumps(ONE).replace('"place": 1', '"place": 18446744073709551617').encode(),
    "a name of 257 bytes": json.dumps(ONE | {"id": "x" * 257}).encode(),
    "no name": json.dumps(ONE | {"id": ""}).encode(),
    "a space at an end": json.dumps(ONE | {"task": "t "}).encode(),
    "a wide space at an end": json.dumps(ONE | {"task": "t\u3000"}).encode(),
    "a control character": json.dumps(ONE | {"task": "a\u0085b"}, ensure_ascii=False).encode(),
    "an escaped control character": json.dumps(ONE | {"task": "a\tb"}).encode(),
    "no normal form": json.dumps(ONE | {"task": "a\u0301"}).encode(),
    "half a surrogate pair": json.dumps(ONE | {"task": "\ud800"}).encode(),
    "no UTF-8": events.encode([plain(task="xyz")]).replace(b"xyz", b"\xc3\x28"),
    "a surrogate in UTF-8": events.encode([plain(task="xyz")]).replace(b"xyz", b"\xed\xa0\x80"),
    "a time too late": json.dumps(ONE | {"time": 100000000000.1}).encode(),
    "a time too late, with an exponent": json.dumps(ONE).replace("1764547200.25", "1e12").encode(),
    "a time beyond doubles": json.dumps(ONE).replace("1764547200.25", "1e999").encode(),
    "no fraction after the point": json.dumps(ONE).replace("1764547200.25", "1.").encode(),
    "no exponent after its letter": json.dumps(ONE).replace("1764547200.25", "1e+").encode(),
    "a time in Python's spelling": json.dumps(ONE).replace("1764547200.25", "1_000").encode(),
    "infinity": json.dumps(ONE).replace("1764547200.25", "Infinity").encode(),
    "a weight beyond all": json.dumps(ONE | {"weight": 1e300}).encode(),
    "a weight beyond doubles": json.dumps(ONE | {"weight": 0.5}).replace("0.5", "1e400").encode(),
    "a weight of nothing": json.dumps(ONE | {"weight": 0}).encode(),
    "a weight that is too small, in many digits": json.dumps(ONE | {"weight": 0.00099999999999999}).encode(),
    "a byte order mark": b"\xef\xbb\xbf" + events.encode([plain()]),
    "more after the end": events.encode([plain()]) + b" 1",
    "a zero byte after the end": events.encode([plain()]) + b"\0",
    "a comma too many": b"[" + events.encode([plain()]) + b",]",
    "an array too deep": b"[[" + events.encode([plain()]) + b"]]",
    "a record too long": events.encode([plain()]) + b" " * (1 << 20),
}  # fmt: skip


@pytest.mark.parametrize("value", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_is_not_plain_is_left_and_harms_no_neighbour(value: bytes) -> None:
    values = [events.encode([plain(1)]), value, events.encode([plain(2), plain(3)])]
    found = scan(values)
    assert (found.rest, found.record.tolist(), found.item.tolist()) == ([1], [0, 2, 2], [0, 0, 1])
    assert found.pools == ["blitz"]
    assert_the_decoder_agrees(values, found)


def test_a_pool_of_which_nothing_is_read_is_not_told() -> None:
    values = [events.encode([plain(pool="rapid", id="a\u0301")]), events.encode([plain()]), events.encode([plain(pool="Blitz")])]
    found = scan(values)
    assert (found.rest, found.record.tolist(), found.pool.tolist(), found.pools) == ([0, 2], [1], [0], ["blitz"])


@pytest.mark.parametrize("number", ["-0", "-0.0", "-0e0", "0", "0.0", "0e0", "1E5", "1e-5", "12345678901.123456789012", "0.1e1", "00"])
def test_times_are_rounded_as_by_the_decoder(number: str) -> None:
    value = json.dumps(ONE).replace("1764547200.25", number).encode()
    assert_the_decoder_agrees([value], scan([value]))


@given(st.lists(st.integers(0, 10**25).map(str), min_size=1, max_size=20), st.data())
def test_numbers_of_any_length_are_rounded_as_by_the_decoder(digits: list[str], data: st.DataObject) -> None:
    numbers = [f"{text[:k] or '0'}.{text[k:] or '0'}" for text in digits for k in [data.draw(st.integers(0, min(11, len(text))))]]
    values = [json.dumps(ONE).replace("1764547200.25", number).encode() for number in numbers]
    assert_the_decoder_agrees(values, scan(values))


def test_more_left_to_python_than_there_is_room_for_is_not_plain() -> None:
    """Notes of a record that is given up are given back."""
    names = [chr(0x100 + i) for i in range(64)]  # each in its normal form
    dense = json.dumps(ONE | {"sides": [{"agents": names[:32], "place": 1}, {"agents": names[32:], "place": 2}]}, ensure_ascii=False)
    values = [dense.replace(" ", "").encode(), events.encode([plain()])] * 3
    found = scan(values)
    assert set(found.record.tolist()) >= {1, 3, 5}
    assert_the_decoder_agrees(values, found)


def test_many_records_of_many_pools_and_lengths_stay_apart() -> None:
    draw = random.Random(3)
    pools = [f"pool-{i}" for i in range(5)]
    made = [[plain(draw.randrange(9), pool=draw.choice(pools))] * draw.randrange(1, 4) for _ in range(300)]
    values = [events.encode(group) for group in made]
    found = scan(values)
    assert found.rest == []
    assert set(found.pools) == set(pools)
    assert_the_decoder_agrees(values, found)


AT_THE_END_OF_MEMORY = """
import ctypes, mmap, sys
import numpy as np
from services.wire.scanning.games import scan
from services.wire.scanning.buffers import OUTCOMES, ColumnBuffers
from services.wire.scanning.values import END
size = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * size)
pages = np.frombuffer(memory, np.uint8)
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(pages.ctypes.data + size), ctypes.c_size_t(size), 0) == 0
for value in (text.encode() for text in sys.argv[1:]):
    for length in range(len(value) + 1):
        data = pages[size - length - 1 : size]
        data[:] = np.frombuffer(value[:length] + END, np.uint8)
        room = ColumnBuffers(len(data))
        scan(data, np.array([0, len(data)]), len(data), room.table)
    assert room.table[OUTCOMES] == 1, value
"""


def test_nothing_is_read_beyond_the_end_of_the_last_record() -> None:
    """Wherever it is cut off: memory ends there, and reading on would end the process."""
    escaped = json.dumps(ONE | {"id": 'a"\\/\u00e9', "task": None, "weight": 0.5}).replace("0.5", "5E-01")
    several = json.dumps([dict(reversed(ONE.items())) | {"task": "\u00e9"}], ensure_ascii=False).replace(".25", ".25e+0")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", AT_THE_END_OF_MEMORY, escaped, several], check=True, cwd=ROOT, env=environment)


def test_nothing_gives_nothing() -> None:
    found = scan([])
    assert (len(found.columns), found.rest, list(found.pools), found.item.tolist()) == (0, [], [], [])
    np.testing.assert_array_equal(found.record, [])
