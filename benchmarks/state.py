"""What a pool's state costs: bytes a name, a met pair and a remembered id, and how fast each is kept.

`python -m benchmarks.state [--quick]`. Goals: <= 64 bytes a met pair steady and at most twice that while growing, 28 bytes an id of
the dedupe window, >= 5 M random and tens of millions of hot pairs a second, >= 3 M ids a second. References are
what plain Python and bare loops need.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from numba import njit

from benchmarks.common import Row, arguments, header, seconds, show
from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.hashing import hash128
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch, ScoreBatch
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from services.control.records import FoldSettings
from services.state.dedupe import DedupeWindow
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.outcomes import game_event
from tests.support.pools import state_of

BATCH = 4096


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    header("State: bytes and rates", ["numpy", "numba"])
    scale = 20 if options.quick else 1
    repeats = min(options.repeats, 3)
    for rows in (
        names(1_000_000 // scale, repeats),
        pair_memory(5_000_000 // scale),
        pair_rates(2_000_000 // scale, repeats),
        other_rates(500_000 // scale, repeats),
        checkpoint(10_000_000 // scale, repeats),
        dedupe(4_194_304 // scale, repeats),
        refusals(64_000 // scale, repeats),
    ):
        show(*rows)


def names(n: int, repeats: int) -> Iterator[Row]:
    texts, size = [f"player-{i:09d}" for i in range(n)], f"{n} names of 16 bytes"
    arena = pack(texts)
    order = np.random.default_rng(1).permutation(n)
    mixed, texts_mixed = arena.take(order), [texts[i] for i in order]
    roster, table = interned(arena), interned_by_dict(texts)
    held, _ = traced(lambda: interned(arena))
    theirs, _ = traced(lambda: interned_by_dict([text[:1] + text[1:] for text in texts]))
    yield Row("a name entry", size, held / n, "dict of str to int", theirs / n, "B")
    yield rate("names to an arena", size, n, repeats, lambda: pack(texts), "encode each", lambda: [t.encode() for t in texts])
    yield rate("hash of 128 bits", size, n, repeats, lambda: hash128(arena.bytes, arena.start), "hash of new str", lambda: hashed(texts))
    yield rate("interning, all new", size, n, repeats, lambda: interned(arena), "dict", lambda: interned_by_dict(texts))
    yield rate(
        "interning, known, random", size, n, repeats, lambda: roster.intern_packed(mixed), "dict", lambda: looked_up(table, texts_mixed)
    )


def pair_memory(n: int) -> Iterator[Row]:
    first, second = random_pairs(n, 2_000_000)
    batch = OutcomeBatch.of_pairs(first, second, np.ones(n), 2_000_000)
    held, peak = traced(lambda: tallied(PairTally(), batch, BATCH * 16))
    theirs, _ = traced(lambda: dict_of_pairs(first[: n // 10], second[: n // 10]))
    yield Row("a met pair, steady", f"{n} pairs", held / n, "dict of tuple to list", 10 * theirs / n, "B")
    yield Row("a met pair, at the peak of growth", f"{n} pairs", peak / n, "dict of tuple to list", 10 * theirs / n, "B")


def pair_rates(n: int, repeats: int) -> Iterator[Row]:
    for name, agents in (("hot", 100), ("random", 2_000)):
        first, second = random_pairs(n, agents)
        batch = OutcomeBatch.of_pairs(first, second, np.ones(n), agents)
        dense, tally = np.zeros((agents, agents), np.int64), tallied(PairTally(), batch, n)
        yield rate(
            f"pair tally, known pairs, {name}", f"{n} of {agents}^2/2 pairs", n, repeats,
            lambda batch=batch, tally=tally: tallied(tally, batch, BATCH),
            "bare loop, dense matrix", lambda first=first, second=second, dense=dense: bare_pairs(first, second, dense),
        )  # fmt: skip
    first, second = random_pairs(n, 2_000_000)
    batch = OutcomeBatch.of_pairs(first, second, np.ones(n), 2_000_000)
    yield rate(
        "pair tally, all pairs new", f"{n} pairs", n, repeats, lambda: tallied(PairTally(), batch, BATCH),
        "dict of tuple to list", lambda: dict_of_pairs(first, second),
    )  # fmt: skip


def other_rates(n: int, repeats: int) -> Iterator[Row]:
    rng = np.random.default_rng(3)
    games = np.argsort(rng.random((n // 7, 20)), axis=1)[:, :7].astype(np.int32) * 50
    ranked = OutcomeBatch.of_rankings(games, 1000)
    scores = ScoreBatch(
        np.arange(0, n + 1, 10), rng.integers(0, 1000, n).astype(np.int32), rng.random(n), rng.integers(0, 100, n // 10).astype(np.int32),
        np.full(n // 10, WEIGHT_ONE),
    )  # fmt: skip
    for name, count, tally, batch in (
        ("pair tally, 7 sides (games)", n // 7, PairTally(), ranked),
        ("place tally, 7 sides (games)", n // 7, PlaceTally(), ranked),
        ("score table, 10 agents (scores)", n, ScoreTable(), scores),
    ):
        tallied(tally, batch, BATCH)
        yield rate(name, f"{count} known", count, repeats, lambda tally=tally, batch=batch: tallied(tally, batch, BATCH), "none", None)


def checkpoint(n: int, repeats: int) -> Iterator[Row]:
    first, second = random_pairs(n, 2_000_000)
    tally = tallied(PairTally(), OutcomeBatch.of_pairs(first, second, np.ones(n), 2_000_000), n)
    arrays = tally.arrays()
    yield Row("canonical arrays of a pair tally", f"{n} pairs", seconds(tally.arrays, repeats), "none", None)
    yield Row("pair tally from its arrays", f"{n} pairs", seconds(lambda: PairTally.from_arrays(arrays), repeats), "none", None)


def dedupe(n: int, repeats: int) -> Iterator[Row]:
    rng = np.random.default_rng(4)
    ids, bodies = rng.integers(0, 2**64, (2 * n, 2), np.uint64), rng.integers(0, 2**64, 2 * n, np.uint64)
    window = DedupeWindow(n)
    admitted(window, ids[:n], bodies[:n])
    size, keys = f"window of {n}", [tuple(row) for row in ids[: n // 4].tolist()]
    theirs, _ = traced(lambda: {(a + 0, b + 0): 0 for a, b in ids[: n // 10].tolist()})
    yield Row("a remembered id", size, window.nbytes / n, "dict of tuples (no order, no bodies)", 10 * theirs / n, "B")
    halves = cycle([slice(n, 2 * n), slice(0, n)])

    def evict() -> None:
        half = next(halves)
        admitted(window, ids[half], bodies[half])

    yield rate("ids new, oldest pushed out", size, n, repeats, evict, "dict, nothing pushed out", lambda: remembered(keys), len(keys))
    known = window.arrays()["ids"]
    yield rate("ids known", size, n, repeats, lambda: admitted(window, known, bodies[:n]), "none", None)
    yield rate("ids looked up, as for retractions", size, n, repeats, lambda: window.holds(known), "none", None)


def refusals(n: int, repeats: int) -> Iterator[Row]:
    """Outcomes of agents that a full pool has no room for, in one call. The rate at two sizes shows whether the time is linear."""
    for count in (n // 4, n):
        full = state_of(kind=Kind.GAMES, fold=FoldSettings(max_agents=2))
        fold_events(full, [game_event("g", "a", "b")])
        events = [game_event(f"g{i}", f"x{i}", "a") for i in range(count)]
        yield rate("outcomes refused by a full pool", f"{count} in a call", count, repeats, partial(full.fold, events), "none", None)


def rate(
    name: str,
    size: str,
    n: int,
    repeats: int,
    ours: Callable[[], Any],
    reference: str,
    theirs: Callable[[], Any] | None,
    their_n: int | None = None,
) -> Row:
    ours()
    bare = None if theirs is None else (their_n or n) / seconds(theirs, repeats)
    return Row(name, size, n / seconds(ours, repeats), reference, bare, "/s")


def traced(build: Callable[[], Any]) -> tuple[int, int]:
    """Bytes that what `build` returns holds, and the most held while it was built."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        built = build()
        now, peak = tracemalloc.get_traced_memory()
        del built
        return now - before, peak - before
    finally:
        tracemalloc.stop()


def interned(arena: Arena) -> Roster:
    roster = Roster()
    roster.intern_packed(arena)
    return roster


def interned_by_dict(texts: list[str]) -> dict[str, int]:
    table: dict[str, int] = {}
    for text in texts:
        table.setdefault(text, len(table))
    return table


def looked_up(table: dict[str, int], texts: list[str]) -> list[int]:
    return [table[text] for text in texts]


def remembered(keys: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
    table: dict[tuple[int, int], int] = {}
    for key in keys:
        table.setdefault(key, 0)
    return table


def hashed(texts: list[str]) -> list[int]:
    return [hash(text + "!") for text in texts]


def random_pairs(n: int, agents: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    first = rng.integers(0, agents, n)
    second = (first + rng.integers(1, agents, n)) % agents
    return first.astype(np.int32), second.astype(np.int32)


def dict_of_pairs(first: np.ndarray, second: np.ndarray) -> dict[tuple[int, int], list[int]]:
    table: dict[tuple[int, int], list[int]] = {}
    for pair in zip(first.tolist(), second.tolist(), strict=True):
        table.setdefault(pair, [0, 0, 0])[0] += 1
    return table


@njit
def bare_pairs(first: np.ndarray, second: np.ndarray, dense: np.ndarray) -> None:
    for i in range(len(first)):
        dense[first[i], second[i]] += WEIGHT_ONE


def tallied(tally: Any, batch: Any, size: int) -> Any:
    bucket = np.zeros(min(size, len(batch)), np.int64)
    if isinstance(batch, ScoreBatch):
        tally.add(batch, np.zeros(len(batch), np.int64))
        return tally
    for start in range(0, len(batch), size):
        part = batch.slice(start, min(start + size, len(batch)))
        tally.add(part, bucket[: len(part)])
    return tally


def admitted(window: DedupeWindow, ids: np.ndarray, bodies: np.ndarray) -> None:
    for start in range(0, len(ids), BATCH):
        window.admit(ids[start : start + BATCH], bodies[start : start + BATCH])


if __name__ == "__main__":
    main()
