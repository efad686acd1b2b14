"""`equirank engine`: shards and solves against the log, Ray and Redis of the settings."""

import fcntl
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from services.cli.begin import begin
from services.cli.ports import refuse_busy
from services.runtime.atomic_write import write_atomically
from services.runtime.data_folder import DataFolder
from services.runtime.disk_space import temporary_folder
from services.runtime.private_files import write_token
from services.runtime.settings import Settings
from services.runtime.signals import on_signals

log = logging.getLogger("equirank.engine")

_ON_LOOPBACK: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray's switch for one machine: its servers bind 127.0.0.1 only. Ray has it for systems where a firewall asks the user."""

_ASK_ONCE: Final = ("RAY_NUM_REDIS_GET_RETRIES", "1")
"""Ray tries to reach a cluster only once. By default it tries twenty times, each for about 40 seconds, before it reports an error."""

_JOINED: Final = "_EQUIRANK_JOINED"
"""Environment variable that is set after this engine lost a cluster that it had joined. It then waits until the cluster is back."""
_REJOIN_SECONDS: Final = 5.0

_SIGNALS: Final = signal.SIGINT, signal.SIGTERM
_TOKEN_VARIABLES: Final = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_PREFIX: Final = "equirank-ray-"


def engine() -> None:
    """Run shards and solves until TERM or Ctrl-C. A second signal ends the engine at once.

    Settings come from EQUIRANK_* variables, or from the TOML file named by EQUIRANK_CONFIG: docs/reference/settings.md.
    The other programs of an installation: docs/operations/servers.md.
    """
    settings = begin()
    if settings.embedded:
        DataFolder(settings.data).refuse_beside_another()
    refuse_busy(settings.metrics_host, settings.metrics_port, "EQUIRANK_METRICS_PORT")
    folder = _ray_folder(settings)
    on_signals(_SIGNALS, partial(_end_before_start, folder), _end_hard)
    if folder is not None:
        os.environ.update(_ON_LOOPBACK)
        os.environ.update(_ray_token(settings))
    else:
        os.environ.setdefault(*_ASK_ONCE)
    try:
        _run(settings, folder)
    except SystemExit as end:  # raised by Ray's handler of SIGTERM, which is installed while Ray starts
        if end.code != signal.SIGTERM:
            raise
        _end_before_start(folder)


def _end_before_start(folder: Path | None) -> NoReturn:
    """End this process with status 0, and Ray's processes with it. Python's finalization is skipped, because it crashes while Ray starts.

    A thread calls this function. It does not raise `SystemExit`, because Python drops an exception that is raised in a callback.
    """
    log.info("stopped by a signal before the engine ran")
    _remove(folder)
    os._exit(0)


def _end_hard(number: int) -> NoReturn:
    os._exit(128 + number)


def _remove(folder: Path | None) -> None:
    """Remove the folder of the local Ray, if any."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _run(settings: Settings, folder: Path | None) -> None:
    from services.engine.cluster import NoCluster  # noqa: PLC0415 - importing Ray reads the environment
    from services.engine.engine import Engine  # noqa: PLC0415
    from services.engine.guard import RayLost  # noqa: PLC0415
    from services.engine.metrics import EngineMetrics  # noqa: PLC0415

    log.info("the engine starts %s", "Ray" if settings.ray == "local" else f"on the Ray cluster {settings.ray}")
    stop = threading.Event()
    metrics = EngineMetrics(settings.metrics_port, settings.metrics_host)
    try:
        driver = Engine(settings, metrics)
        driver.start(str(folder / "r") if folder else None)
        on_signals(_SIGNALS, stop.set, _end_hard)  # again, because Ray has replaced the handlers
        driver.run(stop, partial(_leave, settings))
    except RayLost as error:
        if folder is None:
            _leave(settings, error)
        raise
    except NoCluster as error:
        if _JOINED not in os.environ:
            raise
        stop.wait(_REJOIN_SECONDS)
        _join_again(error)
    finally:
        metrics.close()
        _remove(folder)


def _leave(settings: Settings, problem: Exception) -> None:
    """End this process at once. An engine with a local Ray is restarted by the supervisor; an engine on a cluster joins it again."""
    if settings.ray != "local" and type(problem).__name__ == "RayLost":
        _join_again(problem)
    log.critical("ends at once: %s", problem)
    os._exit(1)


def _join_again(problem: Exception) -> NoReturn:
    """Restart this program in the same process, because Ray's client cannot be reset after its cluster is lost."""
    log.error("the engine joins the Ray cluster again: %s", problem)
    os.environ[_JOINED] = "yes"
    os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - starts the same program


def _ray_folder(settings: Settings) -> Path | None:
    """Make a private folder with a short path for a local Ray. Ray makes a folder inside that every user can read.

    The folder of a killed engine is removed first; the folder of a running engine is locked and stays. None on a cluster.
    """
    if settings.ray != "local":
        return None
    note = settings.data / "ray-folder"
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    if note.exists():
        left = Path(note.read_text())
        if left.name.startswith(_PREFIX) and left.is_dir() and _hold(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=temporary_folder()))
    _hold(folder)
    try:
        write_atomically(note, str(folder).encode())
    except OSError:
        folder.rmdir()
        raise
    return folder


def _ray_token(settings: Settings) -> dict[str, str]:
    """Environment variables that give a local Ray a private token; empty if the operator has set a token.

    Every process with the token can run code here. Ray's default token is in a file of the home folder that other users can read.
    """
    if any(os.environ.get(name) for name in _TOKEN_VARIABLES):
        return {}
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(write_token(settings.data / "ray"))}


def _hold(folder: Path) -> bool:
    """Lock a folder until this process ends for any reason. Returns False if another process holds the lock."""
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        return False
    return True
