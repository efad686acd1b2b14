"""Decoding the wire schema with all checks, beside a bare msgspec decode that discards; and outcomes as columns with their hashes.

`python -m benchmarks.events [--quick]`. Goals on one core: 0.25 M single-outcome records/s, 0.6 M outcomes/s in arrays of 500; decode,
columns and interning 0.4 M outcomes/s. Rates are outcomes a CPU second. Shards raise the collector's threshold, so most rows do; the
last ones show Python's default.
"""

import gc
import random
from collections.abc import Sequence

import msgspec

from benchmarks.common import Row, arguments, header, seconds, show
from ratings_core.records.roster import Roster
from services.wire import events
from services.wire.columns import GameColumns
from services.wire.events import Event, GameEvent, Side

UNIT = "M outcomes/s"
POLL_OUTCOMES = 2_000
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
        columns = GameColumns.of([event for event in events.decode(batch).events if isinstance(event, GameEvent)])
        roster.intern_coded(columns.names)


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


if __name__ == "__main__":
    main()
