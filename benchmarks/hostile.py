"""Findings about hostile input and dead parts, each shown on another checkout and on this one by the same command.

`python -m benchmarks.hostile [--quick] [--before CHECKOUT] [--case NAME]`. With `--before`, every case first runs on another checkout of
Equirank in the same run. Crowds, a hung log, a frozen store and garbage in the store have a benchmark of their own: `benchmarks.crowd`.

Each case prints one line. `--quick` uses smaller inputs and leaves out the two cases that start a whole system (a minute each).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import httpx

from benchmarks.common import header, parser
from benchmarks.crowd import HERE, api
from tests.support.bombs import batch, compressed, record_bytes
from tests.support.installation import processes_with

LONGEST: Final = 30.0
"""Seconds after which a program that still runs is ended."""
STARTED: Final = 120.0
NOTICED: Final = 75.0
_GAME: Final = '{"v":1,"id":"%s","pool":"mine","sides":[{"agents":["%s"],"place":1},{"agents":["b"],"place":2}]}'
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


def quotes(checkout: Path, *, quick: bool) -> str:
    """A record of one open string of escaped quotes: how long a shard's decoder takes to refuse it."""
    sizes = (15_000, 30_000) if quick else (15_000, 30_000, 60_000, 1_000_000)
    return "; ".join(f"{size:,} bytes {_program(checkout, _READ, str(size))}" for size in sizes)


def items(checkout: Path, *, quick: bool) -> str:
    """A request of empty objects, far more than one may hold."""
    size = 1 << 18 if quick else 1 << 20
    return f"{size:,} bytes of {{}}: {_program(checkout, _ITEMS, str(size))}"


def bomb(checkout: Path, *, quick: bool) -> str:
    """A Zstandard batch whose one record is large after decompression, as the consumer reads it."""
    size = 1 << 28 if quick else 1 << 30
    packed = batch("zstd", compressed("zstd", record_bytes(size)))
    with tempfile.NamedTemporaryFile() as file:
        file.write(packed)
        file.flush()
        return f"{len(packed):,} bytes that become {size / 1e6:,.0f} MB: {_program(checkout, _UNPACK, file.name)}"


def names(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """Outcomes of agents whose names have characters that are not displayed."""
    hidden = {"zero-width space": "pay\u200bpal", "left-to-right mark": "paypal\u200e", "soft hyphen": "pay\u00adpal"}
    with api(checkout) as here:
        url = f"http://127.0.0.1:{here.port}/v1/outcomes"
        statuses = {
            what: httpx.post(url, content=_GAME % (what, name), headers={"Content-Type": "application/json"}, trust_env=False).status_code
            for what, name in hidden.items()
        }
    return "names with " + ", ".join(f"{what} {status}" for what, status in statuses.items())


def stopped(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """What readers are told while engine and shards are stopped (SIGSTOP)."""
    with _system(checkout) as here:
        pids = [pid for pid, line in here.processes().items() if line.startswith("ray::ShardActor") or " engine" in line]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            seconds = _until(lambda: here.status("/freshz") == "503", NOTICED)
            told = f"/readyz {here.status('/readyz')}, /freshz {here.status('/freshz')}"
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
    return f"engine and shards are stopped: {told}, {_after('readers are told', seconds)}"


def dead_ray(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """SIGKILL of the raylet and a shard: whether outcomes are folded again."""
    with _system(checkout) as here:
        lines = here.processes()
        for pid in [pid for pid, line in lines.items() if line.startswith("ray::ShardActor") or "raylet/raylet " in line]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        before, status = here.outcomes(), here.play("after")
        seconds = _until(lambda: here.outcomes() > before, NOTICED)
        told = f"POST {status}, /readyz {here.status('/readyz')}, /freshz {here.status('/freshz')}"
    return f"raylet and shard are killed: {told}, {_after('folded by new shards', seconds)}"


CASES: Final[dict[str, Callable[..., str]]] = {
    "quotes": quotes, "items": items, "bomb": bomb, "names": names, "stopped": stopped, "dead_ray": dead_ray,
}  # fmt: skip
SYSTEMS: Final = ("stopped", "dead_ray")


class _System:
    """`equirank up` of one checkout."""

    def __init__(self, data: Path, url: str, redis: str) -> None:
        self.data, self.url, self._redis = data, url, redis

    def processes(self) -> dict[int, str]:
        """Command lines of its processes, by process."""
        return processes_with(f"EQUIRANK_DATA={self.data}", self._redis)

    def status(self, path: str) -> str:
        """Status of a GET, or what went wrong."""
        try:
            return str(httpx.get(self.url + path, trust_env=False, timeout=10.0).status_code)
        except httpx.HTTPError as error:
            return type(error).__name__

    def play(self, name: str) -> int:
        """Send one outcome; the status."""
        headers = {"Content-Type": "application/json"}
        answer = httpx.post(f"{self.url}/v1/outcomes", content=_GAME % (name, "a"), headers=headers, trust_env=False, timeout=30.0)
        return answer.status_code

    def outcomes(self) -> int:
        """Outcomes that readers see."""
        try:
            answer = httpx.get(f"{self.url}/v1/pools/mine", trust_env=False, timeout=10.0)
        except httpx.HTTPError:
            return 0
        head = answer.json().get("head") if answer.status_code == httpx.codes.OK else None
        return int(head["outcomes"]) if head else 0


@contextmanager
def _system(checkout: Path) -> Iterator[_System]:
    """`equirank up` of `checkout`, with one outcome folded."""
    with tempfile.TemporaryDirectory(prefix="eqh-") as folder:
        data = Path(folder) / "data"
        more = {"EQUIRANK_DATA": str(data), "EQUIRANK_PORT": "0", "EQUIRANK_METRICS_PORT": "0", "EQUIRANK_SHARDS": "1"}
        child = subprocess.Popen(
            _command(checkout, "-m", _cli(checkout), "up"), env=_environment(checkout) | more, cwd=checkout,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        redis = "no such socket"
        try:
            _must(lambda: (data / "up.json").exists() or child.poll() is not None)
            addresses = json.loads((data / "up.json").read_bytes())
            redis = addresses["redis"].removeprefix("unix://")
            here = _System(data, addresses["api"], redis)
            here.play("before")
            _must(lambda: here.outcomes() > 0)
            yield here
        finally:
            child.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                child.wait(30.0)
            child.kill()
            child.wait()
            for pid in processes_with(f"EQUIRANK_DATA={data}", redis):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _program(checkout: Path, text: str, argument: str) -> str:
    """What a program prints in `checkout`, or how it ended."""
    command, environment = _command(checkout, "-c", text, argument), _environment(checkout)
    try:
        done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"not within {LONGEST:g} s"
    if done.returncode:
        return f"ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return done.stdout.strip()


def _command(checkout: Path, *arguments: str) -> list[str]:
    own = checkout / ".venv" / "bin" / "python"
    return [str(own if own.exists() else sys.executable), *arguments]


def _cli(checkout: Path) -> str:
    return "services.cli.main" if (checkout / "services" / "cli" / "main.py").exists() else "services.cli"


def _environment(checkout: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")}
    return {**kept, "PYTHONPATH": str(checkout)}


def _until(condition: Callable[[], bool], seconds: float) -> float | None:
    """Seconds until `condition` held; None where it did not within `seconds`."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if condition():
            return time.monotonic() - began
        time.sleep(0.1)
    return None


def _must(condition: Callable[[], bool]) -> None:
    if _until(condition, STARTED) is None:
        raise RuntimeError("the system did not start")


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
