"""Findings about hostile input and dead parts, each shown on another checkout and on this one by the same command.

`python -m benchmarks.hostile [--quick] [--before CHECKOUT] [--case NAME]`. With `--before`, every case first runs on another checkout of
Equirank in the same run. Crowds, a hung log, a frozen store and garbage in the store have a benchmark of their own: `benchmarks.crowd`.

Each case prints one line. `--quick` uses smaller inputs and leaves out the cases that start a whole system or
three brokers (about a minute each).
"""

import os
import signal
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx

from benchmarks.checkouts import GAME, program, system, until
from benchmarks.common import header, parser
from benchmarks.crowd import HERE, api
from deploy.local.kafka.broker import Quorum
from tests.support.bombs import batch, compressed, record_bytes

NOTICED: Final = 75.0
WRONG_KEYS: Final = 200
IDLE_RETRACTIONS: Final = 10
_EVENTS: Final = """
try:
    from services.wire import events
except ImportError:
    from services import events
"""
_READ: Final = (
    _EVENTS
    + """
import sys, time
text = b'"' + b'\\\\"' * (int(sys.argv[1]) // 2)
began = time.perf_counter()
events.decode([text])
print(f"{time.perf_counter() - began:.2f} s")
"""
)
_ITEMS: Final = (
    _EVENTS
    + """
import sys, time
body = b"[" + b",".join([b"{}"] * (int(sys.argv[1]) // 3)) + b"]"
began, made = time.perf_counter(), []
events.decode_request(body, now=0.0, new_id=lambda: made.append(1) or str(len(made)), future_seconds=1.0)
print(f"{time.perf_counter() - began:.2f} s, {len(made):,} ids made")
"""
)
_UNPACK: Final = """
import resource, sys
from pathlib import Path
try:
    import services.log.kafka.log
except ImportError:
    import services.log.kafka
from kafka.record.memory_records import MemoryRecords
def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
before, data = megabytes(), Path(sys.argv[1]).read_bytes()
try:
    size = sum(len(record.value) for record in MemoryRecords(data).next_batch())
    result = f"read a record of {size / 1e6:,.0f} MB"
except Exception as error:
    result = f"refused ({type(error).__name__})"
print(f"{result}, {megabytes() - before:,.0f} MB of memory")
"""
_DURABLE: Final = """
import sys
try:
    from services.log.kafka.client import Connection
    from services.log.kafka.log import open_kafka_log
except ImportError:
    from services.log.kafka import open_kafka_log
    Connection = str
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
prefix = f"{abs(hash(sys.path[1]))}."
log = open_kafka_log(Connection(sys.argv[1]), 1, replication=3, topic_prefix=prefix)
admin = KafkaAdminClient(bootstrap_servers=sys.argv[1])
asked = [ConfigResource(ConfigResourceType.TOPIC, prefix + "outcomes")]
found = admin.describe_configs(asked)["topic"][prefix + "outcomes"]
def told(name):
    return f"{name}={found[name]['value']}" if name in found else f"{name} is left to the cluster (its default: 1 or false)"
print(", ".join(map(told, ("min.insync.replicas", "unclean.leader.election.enable"))))
admin.close()
log.close()
"""


def quotes(checkout: Path, *, quick: bool) -> str:
    """A record of one open string of escaped quotes: how long a shard's decoder takes to refuse it."""
    sizes = (15_000, 30_000) if quick else (15_000, 30_000, 60_000, 1_000_000)
    return "; ".join(f"{size:,} bytes {program(checkout, _READ, str(size))}" for size in sizes)


def items(checkout: Path, *, quick: bool) -> str:
    """A request of empty objects, far more than one may hold."""
    size = 1 << 18 if quick else 1 << 20
    return f"{size:,} bytes of {{}}: {program(checkout, _ITEMS, str(size))}"


def bomb(checkout: Path, *, quick: bool) -> str:
    """A Zstandard batch whose one record is large after decompression, as the consumer reads it."""
    size = 1 << 28 if quick else 1 << 30
    packed = batch("zstd", compressed("zstd", record_bytes(size)))
    with tempfile.NamedTemporaryFile() as file:
        file.write(packed)
        file.flush()
        return f"{len(packed):,} bytes that become {size / 1e6:,.0f} MB: {program(checkout, _UNPACK, file.name)}"


def names(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """Outcomes of agents whose names have characters that are not displayed."""
    hidden = {"zero-width space": "pay\u200bpal", "left-to-right mark": "paypal\u200e", "soft hyphen": "pay\u00adpal"}
    with api(checkout) as here:
        url = f"http://127.0.0.1:{here.port}/v1/outcomes"
        statuses = {
            what: httpx.post(url, content=GAME % (what, name), headers={"Content-Type": "application/json"}, trust_env=False).status_code
            for what, name in hidden.items()
        }
    return "names with " + ", ".join(f"{what} {status}" for what, status in statuses.items())


def stopped(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """What readers are told while engine and shards are stopped (SIGSTOP)."""
    with system(checkout) as here:
        pids = [pid for pid, line in here.processes().items() if line.startswith("ray::ShardActor") or " engine" in line]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            seconds = until(lambda: here.status("/freshz") == "503", NOTICED)
            told = f"/readyz {here.status('/readyz')}, /freshz {here.status('/freshz')}"
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
    return f"engine and shards are stopped: {told}, {_after('readers are told', seconds)}"


def dead_ray(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """SIGKILL of the raylet and a shard: whether outcomes are folded again."""
    with system(checkout) as here:
        lines = here.processes()
        for pid in [pid for pid, line in lines.items() if line.startswith("ray::ShardActor") or "raylet/raylet " in line]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        before, status = here.outcomes(), here.play("after")
        seconds = until(lambda: here.outcomes() > before, NOTICED)
        told = f"POST {status}, /readyz {here.status('/readyz')}, /freshz {here.status('/freshz')}"
    return f"raylet and shard are killed: {told}, {_after('folded by new shards', seconds)}"


def modes(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """What others may read of Ray's token and of the data folder, with the usual umask of 022."""
    with tempfile.TemporaryDirectory() as home:
        before = os.umask(0o022)
        try:
            with system(checkout, HOME=home) as here:
                return f"data folder: {_open_to_others(here.data)}; ~/.ray: {_open_to_others(Path(home) / '.ray')}"
        finally:
            os.umask(before)


def _open_to_others(root: Path) -> str:
    """The files and folders below `root` that group or others may use."""
    if not root.exists():
        return "none"
    entries = [path for path in (root, *root.rglob("*")) if not path.is_symlink() and (path.is_dir() or path.is_file())]
    wide = [f"{path.name} {mode:o}" for path in entries if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077]
    return f"{len(wide)} of {len(entries)} entries are open to others" + (f" ({', '.join(sorted(wide)[:3])})" if wide else "")


def idle_retractions(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """Retractions that name nothing, one every two seconds: how many generations they start."""
    with system(checkout) as here:
        before = here.generation()
        statuses = Counter[int]()
        for number in range(IDLE_RETRACTIONS):
            statuses[here.send(f'{{"v":1,"id":"r{number}","pool":"mine","retracts":"nothing{number}"}}')] += 1
            time.sleep(2.0)
        time.sleep(5.0)
        return f"{IDLE_RETRACTIONS} retractions that name nothing: {_counts(statuses)}, {here.generation() - before} generations started"


def wrong_keys(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """Guesses of a key from one address, as fast as they are answered."""
    keys = {"EQUIRANK_WRITE_KEYS": f'["{"w" * 40}"]', "EQUIRANK_ADMIN_KEYS": f'["{"a" * 40}"]'}
    with api(checkout, **keys) as here, httpx.Client(trust_env=False) as client:
        url, began = f"http://127.0.0.1:{here.port}/v1/outcomes", time.perf_counter()
        guesses = ({"Content-Type": "application/json", "Authorization": f"Bearer guess{number}"} for number in range(WRONG_KEYS))
        statuses = Counter(client.post(url, content=GAME % ("one", "a"), headers=guess).status_code for guess in guesses)
        return f"{WRONG_KEYS} wrong keys in {time.perf_counter() - began:.1f} s: {_counts(statuses)}"


def _counts(statuses: Counter[int]) -> str:
    return ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))


def durable(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """Settings of the topics that are made on three brokers, with three replicas."""
    with Quorum(3) as brokers:
        return f"topics of three replicas: {program(checkout, _DURABLE, brokers.bootstrap)}"


CASES: Final[dict[str, Callable[..., str]]] = {
    "quotes": quotes, "items": items, "bomb": bomb, "names": names, "wrong_keys": wrong_keys, "durable": durable, "modes": modes,
    "idle_retractions": idle_retractions, "stopped": stopped, "dead_ray": dead_ray,
}  # fmt: skip
SYSTEMS: Final = ("durable", "modes", "idle_retractions", "stopped", "dead_ray")


def _after(what: str, seconds: float | None) -> str:
    return f"not {what} within {NOTICED:g} s" if seconds is None else f"{what} after {seconds:.1f} s"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the cases on another checkout, if one is given, and on this one."""
    options = parser(__doc__ or "")
    options.add_argument("--before", type=Path, help="another checkout, on which each case runs first")
    options.add_argument("--case", action="append", choices=list(CASES), help="only these cases")
    chosen = options.parse_args(argv)
    header("Hostile input and dead parts", ("msgspec", "kafka-python", "ray"))
    for name in chosen.case or [name for name in CASES if not (chosen.quick and name in SYSTEMS)]:
        for label, checkout in (("before", chosen.before), ("now", HERE)):
            if checkout is not None:
                print(f"{name} {label}: {CASES[name](checkout.resolve(), quick=chosen.quick)}", flush=True)


if __name__ == "__main__":
    main()
