"""The processes of `deploy/local/cluster/run`. The module needs the standard library and the programs that it starts."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from deploy.local.kafka.broker import Broker, Quorum
from deploy.local.ports import free_ports

ROOT: Final = Path(__file__).resolve().parents[3]
NGINX: Final = ROOT / "deploy/systemd/nginx.conf"
BIN: Final = Path(sys.executable).parent if (Path(sys.executable).parent / "equirank").exists() else ROOT / ".venv/bin"
NODES: Final = 2
APIS: Final = 2
_READY_SECONDS: Final = 180.0
_STOP_SECONDS: Final = 30.0


class Missing(Exception):  # noqa: N818 - names the fact
    """A program is missing, or a part does not start. The text contains its name and the end of its output."""


class Installation:
    """A running installation; a context manager that ends every process it started.

    Args:
        folder: for data, checkpoints and the output of each part.
        settings: further ones, as environment variables of every part.

    environment: settings of every command, and EQUIRANK_URL, the address of nginx.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        for program in ("redis-server", "nginx"):
            if shutil.which(program) is None:
                raise Missing(f"{program} is missing: install it with the system's package manager")
        self._folder = folder
        self._parts: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[list[str], dict[str, str]]] = {}
        redis, ray, metrics, front, *self._api_ports = free_ports(4 + APIS)
        self._brokers = Quorum(parent=folder)
        self.environment = {
            "EQUIRANK_URL": f"http://127.0.0.1:{front}",
            "EQUIRANK_DATA": str(folder / "data"),
            "EQUIRANK_KAFKA": self._brokers.bootstrap,
            "EQUIRANK_KAFKA_REPLICATION": str(len(self._brokers.brokers)),
            "EQUIRANK_REDIS": f"redis://127.0.0.1:{redis}/0",
            "EQUIRANK_RAY": f"{_node_ip(0)}:{ray}",
            "EQUIRANK_CHECKPOINTS": f"file://{folder}/checkpoints",
            "EQUIRANK_SHARDS": str(NODES),
            "EQUIRANK_METRICS_PORT": str(metrics),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            **(settings or {}),
        }
        try:
            self._start_all(redis, ray, front)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def wait_until_ready(self) -> None:
        """Return once every partition is folded, as /freshz says through nginx. Raises `Missing` with the output of a part that ended."""
        deadline = time.monotonic() + _READY_SECONDS
        while not self._fresh():
            self._check()
            if time.monotonic() > deadline:
                raise Missing(f"the installation is not ready after {_READY_SECONDS:g} s:\n{self.output('engine')}")
            time.sleep(0.3)

    def watch(self) -> None:
        """Wait without limit. Raises `Missing` if a part has ended unexpectedly."""
        while True:
            self._check()
            time.sleep(0.5)

    @property
    def brokers(self) -> Sequence[Broker]:
        """The Kafka brokers."""
        return self._brokers.brokers

    @property
    def apis(self) -> Sequence[str]:
        """The address of each API, without nginx."""
        return [f"http://127.0.0.1:{port}" for port in self._api_ports]

    def pid(self, part: str) -> int:
        """The process of a part, such as `engine`."""
        return self._parts[part].pid

    def kill(self, part: str) -> None:
        """End a part at once, such as `api-0`, with the processes of its group: nginx's worker would keep the port."""
        process = self._parts.pop(part)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def revive(self) -> list[str]:
        """Restart all parts that were killed or have ended. Returns their names."""
        ended = [part for part in self._commands if part not in self._parts or self._parts[part].poll() is not None]
        for part in ended:
            self._run(part)
        return ended

    def close(self) -> None:
        """End everything, the newest first: APIs and engine in order, then what they use."""
        for part in reversed(list(self._parts)):
            self._end(self._parts.pop(part))
        self._brokers.close()

    def _start_all(self, redis: int, ray: int, front: int) -> None:
        self._start("redis", "redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--maxmemory-policy", "noeviction")
        common = ["--block", "--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats"]
        common += ["--min-worker-port=0", "--max-worker-port=0", '--resources={"equirank_shard": 1}']
        head = ["--head", f"--port={ray}", "--include-dashboard=false", f"--temp-dir={self._folder}/ray"]
        self._start("ray-0", BIN / "ray", "start", f"--node-ip-address={_node_ip(0)}", *head, *common)
        for node in range(1, NODES):
            self._wait_for_port((_node_ip(0), ray), "ray-0")
            joining = [f"--address={_node_ip(0)}:{ray}", f"--node-ip-address={_node_ip(node)}"]
            self._start(f"ray-{node}", BIN / "ray", "start", *joining, *common)
        self._start("engine", BIN / "equirank", "engine")
        for number, port in enumerate(self._api_ports):
            self._start(f"api-{number}", BIN / "equirank", "api", EQUIRANK_PORT=str(port))
        self._start("nginx", "nginx", "-c", str(self._nginx(front)), "-p", str(self._folder))

    def _start(self, part: str, *command: str | Path, **variables: str) -> None:
        """Start a part for the first time."""
        self._commands[part] = list(map(str, command)), variables
        self._run(part)

    def _run(self, part: str) -> None:
        """Start a part in a session of its own; its output goes to the end of a file."""
        command, variables = self._commands[part]
        more = {"PYTHONPATH": str(ROOT), "RAY_worker_niceness": "0", "PATH": f"{BIN}:{os.environ['PATH']}:/usr/sbin"}
        with self._output(part).open("ab") as output:
            self._parts[part] = subprocess.Popen(
                command, env=os.environ | self.environment | more | variables, cwd=self._folder,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def _nginx(self, front: int) -> Path:
        """The configuration of deploy/systemd with the ports of this installation."""
        text = NGINX.read_text(encoding="utf-8").replace("server_name ratings.example.org;", "")
        text = text.replace("listen 80;", f"listen 127.0.0.1:{front};")
        for number, port in enumerate(self._api_ports):
            text = text.replace(f"127.0.0.1:{8000 + number} ", f"127.0.0.1:{port} ")
        paths = "".join(f"{kind}_temp_path {self._folder}/nginx-{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        path = self._folder / "nginx.conf"
        user = "user root;\n" if os.geteuid() == 0 else ""
        main = f"{user}daemon off;\nworker_processes 1;\npid {self._folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        path.write_text(f"{main}http {{\naccess_log off;\n{paths}{text}}}\n", encoding="utf-8")
        return path

    def _wait_for_port(self, address: tuple[str, int], part: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            self._check()
            with socket.socket() as probe:
                if probe.connect_ex(address) == 0:
                    return
            time.sleep(0.2)
        raise Missing(f"{part} does not listen on port {address[1]}:\n{self.output(part)}")

    def _fresh(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.environment['EQUIRANK_URL']}/freshz", timeout=5) as answer:  # noqa: S310 - our own nginx
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _check(self) -> None:
        """Raises `Missing` when a part has ended. A node of Ray that a busy machine did not start within half a minute is started again."""
        for part, process in list(self._parts.items()):
            if process.poll() is None:
                continue
            if not (part.startswith("ray-") and "timed out during startup" in self.output(part)):
                raise Missing(f"{part} ended with status {process.returncode}:\n{self.output(part)}")
            self._output(part).write_bytes(b"")
            self._run(part)

    def output(self, part: str) -> str:
        """The end of the output of a part."""
        return self._output(part).read_text(encoding="utf-8", errors="replace")[-2000:]

    def _output(self, part: str) -> Path:
        return self._folder / f"{part}.out"

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        """Ask the process to end, then end its whole session's group."""
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _node_ip(node: int) -> str:
    """A loopback address for each node. Ray replaces 127.0.0.1 by the machine's outer address, and leaves the others."""
    return f"127.0.0.{node + 2}"
