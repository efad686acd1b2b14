"""Decoding the wire schema with all checks, beside a bare msgspec decode that discards; and outcomes as columns with their hashes.

`python -m benchmarks.events [--quick]`. Goals on one core: 0.25 M single-outcome records/s, 0.6 M outcomes/s in arrays of 500; decode,
columns and interning 0.4 M outcomes/s. Rates are outcomes a CPU second. Shards raise the collector's threshold, so most rows do; the
last ones show Python's default. Then what shards do with plain games: columns with hashes from JSON by the scanner, and from streams (v1c).
"""

import gc
import io
import random
from collections.abc import Sequence

import msgspec
from pyarrow import json as arrow_json

from benchmarks.common import Row, arguments, header, seconds, show
from ratings_core.records.roster import Roster
from services.wire import events
from services.wire.columns import columns_of_games
from services.wire.events import Event, GameEvent, Side
from services.wire.plain import plain_games
from tests.support.streams import packed

UNIT = "M outcomes/s"
POLL_OUTCOMES = 2_000
STREAM_OUTCOMES = 8_000
PLAYERS = 100_000


def games(n: int, seed: int = 1) -> list[Event]:
    rng = random.Random(seed)
    made: list[Event] = []
    for i in range(n):
        a, b = rng.sample(range(PLAYERS), 2)
        sides = [Side([f"player-{a}"], 1), Side([f"player-{b}"], 2)]
        made.append(GameEvent(v=1, id=f"01J9ABCDEFGHJKMN{i:010d}", pool="blitz", time=1_764_547_200.25 + i, sides=sides))
    return made


def polls(records: Sequence[bytes], each: int) -> list[Sequence[bytes]]:
    step = max(1, POLL_OUTCOMES // each)
    return [records[start : start + step] for start in range(0, len(records), step)]


def decode(batches: Sequence[Sequence[bytes]]) -> None:
    for batch in batches:
        if events.decode(batch).refusals:
            raise ValueError("the workload must be sound")


def bare(batches: Sequence[Sequence[bytes]]) -> None:
    decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder()
    for batch in batches:
        for value in batch:
            decoder.decode(value)


def to_ids(batches: Sequence[Sequence[bytes]]) -> None:
    roster = Roster()
    for batch in batches:
        columns = columns_of_games([event for event in events.decode(batch).events if isinstance(event, GameEvent)])
        roster.intern_coded(columns.names)


def columns(batches: Sequence[Sequence[bytes]]) -> None:
    for batch in batches:
        if plain_games(batch).rest:
            raise ValueError("the workload must be plain")


def plain_rows(sent: Sequence[Event], repeats: int) -> None:
    """Plain games as columns, beside pyarrow's reader of JSON lines, which checks nothing and makes no hashes."""
    n, lines = len(sent), b"\n".join([events.encode([event]) for event in sent])
    one_thread = arrow_json.ReadOptions(use_threads=False)
    limit = n / seconds(lambda: arrow_json.read_json(io.BytesIO(lines), read_options=one_thread), repeats) / 1e6
    streams = [packed(sent[start : start + STREAM_OUTCOMES]) for start in range(0, n, STREAM_OUTCOMES)]
    forms = {
        "JSON, one outcome a record": polls([events.encode([event]) for event in sent], 1),
        "JSON, 500 outcomes a record": polls(events.encode_records(sent), 500),
        f"v1c, {STREAM_OUTCOMES} outcomes a record": [[stream] for stream in streams],
    }
    for size, batches in forms.items():
        columns(batches[:1])
        ours = n / seconds(lambda batches=batches: columns(batches), repeats) / 1e6
        show(Row("columns, hashes, without objects", size, ours, "pyarrow's JSON reader", limit, UNIT))


def main() -> None:
    given = arguments(__doc__ or "")
    header("Wire events", ("msgspec", "numpy", "numba"))
    n = 10_000 if given.quick else 200_000
    sent = games(n)
    alone, together = [events.encode([event]) for event in sent], events.encode_records(sent)
    sizes = (("one outcome a record", 1, alone), ("500 outcomes a record", 500, together))
    standard = gc.get_threshold()
    for threshold in ((100_000, 20, 100), standard):
        gc.set_threshold(*threshold)
        collector = "" if threshold != standard else ", default gc"
        for size, each, records in sizes:
            batches = polls(records, each)
            to_ids(batches[:1])

            def rate(run: object, batches: Sequence[Sequence[bytes]] = batches) -> float:
                return n / seconds(run, given.repeats, lambda: (batches,)) / 1e6  # type: ignore[arg-type]

            reference, limit = "msgspec decode and discard", rate(bare)
            show(
                Row("decode with all checks", size + collector, rate(decode), reference, limit, UNIT),
                Row("decode, columns, hashes, ids", size + collector, rate(to_ids), reference, limit, UNIT),
            )
    plain_rows(sent, given.repeats)


if __name__ == "__main__":
    main()
