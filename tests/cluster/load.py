"""The load of the cluster tests, run in a pod: writes outcomes to Kafka, asks the API, and watches what the boards count.

Controlled by files in /tmp: `rate` holds the records a second (0 pauses), `writer` another key for writes through the API.
`status.json` is written five times a second. Every id is sent once, except those that are repeated on purpose; so the boards have to
count exactly `sent` outcomes and `repeated` duplicates.
"""

import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

RUN = sys.argv[3]
POOLS = [f"{RUN}-ladder-{number}" for number in range(8)]
AGENTS, BATCH, REPEATS = 200, 10, 0.05
CONTROL = Path("/tmp")
READERS, WRITERS, ASK_SECONDS = 2, 1, 0.05
API_POOL = f"{RUN}-from-api"


class Load:
    """Counters shared by the threads."""

    def __init__(self, address: str, first_burst: int) -> None:
        self.address, self.burst = address, first_burst
        self.admin = json.loads(os.environ["EQUIRANK_ADMIN_KEYS"])[0]
        self.writer = json.loads(os.environ["EQUIRANK_WRITE_KEYS"])[0]
        self.sent, self.asked = Counter[str](), Counter[str]()
        self.repeated = 0
        self.counted: dict[str, int] = {}
        self.duplicates = 0
        self.errors: list[str] = []
        self.longest = 0.0
        self.moved_at: dict[str, float] = {}
        self.stall = 0.0

    def run(self) -> None:
        """Create the pools, start every thread, write the status until the pod ends."""
        for pool in (*POOLS, API_POOL):
            self._create(pool)
        threads = [self._produce, self._watch, *[self._read] * READERS, *[self._write] * WRITERS]
        for target in threads:
            threading.Thread(target=target, daemon=True).start()
        while True:
            status = {
                "sent": self.sent, "repeated": self.repeated, "counted": self.counted, "duplicates": self.duplicates,
                "asked": self.asked, "errors": self.errors[-20:], "failed": len(self.errors), "longest": self.longest, "stall": self.stall,
            }  # fmt: skip
            next_file = CONTROL / "status.next"
            next_file.write_text(json.dumps(status), encoding="utf-8")
            next_file.rename(CONTROL / "status.json")
            time.sleep(0.2)

    def _create(self, pool: str) -> None:
        while True:
            try:
                self._ask("PUT", f"/v1/pools/{pool}", {"kind": "games"}, self.admin)
                return
            except (OSError, urllib.error.HTTPError) as error:
                print(f"{pool} is not created yet: {error}", file=sys.stderr, flush=True)
                time.sleep(1)

    def _produce(self) -> None:
        """Records of ten games at the asked rate; the first burst as fast as the broker takes them."""
        options = json.loads(os.environ["EQUIRANK_KAFKA_OPTIONS"])
        producer = KafkaProducer(
            bootstrap_servers=os.environ["EQUIRANK_KAFKA"], acks="all", enable_idempotence=True, linger_ms=20,
            delivery_timeout_ms=600_000, max_block_ms=600_000, **options,
        )  # fmt: skip
        topic = f"{os.environ['EQUIRANK_TOPIC_PREFIX']}outcomes"
        draw, number, began = random.Random("load"), 0, time.monotonic()
        while True:
            rate = self._rate()
            if number * BATCH < self.burst:
                rate = 1e9
            if rate <= 0:
                producer.flush()
                time.sleep(0.05)
                began = time.monotonic()
                continue
            pool = POOLS[number % len(POOLS)]
            record = json.dumps([_game(draw, pool, number * BATCH + item) for item in range(BATCH)]).encode()
            copies = 2 if draw.random() < REPEATS else 1
            for _ in range(copies):
                producer.send(topic, key=pool.encode(), value=record)
            self.sent[pool] += BATCH
            self.repeated += BATCH * (copies - 1)
            number += 1
            began = max(began + 1 / rate, time.monotonic() - 1)
            if (ahead := began - time.monotonic()) > 0:
                time.sleep(ahead)

    def _rate(self) -> float:
        try:
            return float((CONTROL / "rate").read_text())
        except (OSError, ValueError):
            return 0.0

    def _writer(self) -> str:
        try:
            return (CONTROL / "writer").read_text().strip()
        except OSError:
            return str(self.writer)

    def _watch(self) -> None:
        """Read what the boards of every pool count."""
        while True:
            try:
                pools = self._ask("GET", "/v1/pools?count=100")["pools"]
                heads = {pool["pool"]: pool["head"] for pool in pools if pool["head"] and pool["pool"] in (*POOLS, API_POOL)}
                self._note({name: head["outcomes"] for name, head in heads.items()})
                self.duplicates = sum(head["duplicates"] for head in heads.values())
            except (OSError, urllib.error.HTTPError, KeyError):
                pass  # the readers count what fails
            time.sleep(0.2)

    def _note(self, counted: dict[str, int]) -> None:
        """Take in new counts; `stall` is the longest time that a pool's count stood still since the file `watch` was written."""
        now = time.monotonic()
        if (CONTROL / "watch").exists():
            (CONTROL / "watch").unlink()
            self.stall, self.moved_at = 0.0, dict.fromkeys(POOLS, now)
        for pool in POOLS:
            if pool in self.moved_at:
                self.stall = max(self.stall, now - self.moved_at[pool])
            if counted.get(pool, 0) > self.counted.get(pool, 0):
                self.moved_at[pool] = now
        self.counted |= counted
        if self._rate() <= 0:  # nothing is sent, so nothing moves
            self.moved_at = {}

    def _read(self) -> None:
        """Read boards that were published already."""
        draw = random.Random()
        while True:
            published = [pool for pool in POOLS if pool in self.counted]
            if self._rate() > 0 and published:
                path = f"/v1/pools/{draw.choice(published)}/boards/elo?count=20"
                self._count("GET", lambda path=path: self._ask("GET", path))
            time.sleep(ASK_SECONDS)

    def _write(self) -> None:
        """One outcome by each request; a request that failed is sent again with the same id."""
        draw, number = random.Random("api"), 0
        while True:
            if self._rate() > 0:
                game = _game(draw, API_POOL, number)
                while not self._count("POST", lambda game=game: self._ask("POST", "/v1/outcomes", game, self._writer())):
                    time.sleep(0.2)
                self.sent[API_POOL] += 1
                number += 1
            time.sleep(ASK_SECONDS)

    def _count(self, kind: str, call: Any) -> bool:
        began = time.monotonic()
        self.asked[kind] += 1
        try:
            call()
        except (OSError, urllib.error.HTTPError) as error:
            detail = error.read().decode()[:200] if isinstance(error, urllib.error.HTTPError) else ""
            self.errors.append(f"{time.strftime('%X')} {kind} after {time.monotonic() - began:.1f} s: {error!r} {detail}")
            return False
        self.longest = max(self.longest, time.monotonic() - began)
        return True

    def _ask(self, method: str, path: str, body: object = None, key: str | None = None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"{}")


def _game(draw: random.Random, pool: str, number: int) -> dict[str, object]:
    first, second = sorted(draw.sample(range(AGENTS), 2))
    if draw.random() < 0.2:
        first, second = second, first
    sides = [{"agents": [f"agent-{first}"], "place": 1}, {"agents": [f"agent-{second}"], "place": 2}]
    return {"v": 1, "id": f"{pool}-{number}", "pool": pool, "time": 1.7e9 + number / 10, "sides": sides}


if __name__ == "__main__":
    Load(sys.argv[1], int(sys.argv[2])).run()
