"""Kills a process group when its supervisor ended, even by a crash.

Run as `python -m services.runtime.guardian`, as the leader of the group, with the read end of a pipe as standard input. Only the supervisor
has the write end open, so the end of file means that the supervisor ended. Every process can be killed at any time, because all state is
recovered from the log.
"""

import os
import signal


def main() -> None:
    """Wait for the end of standard input, then kill the group, which includes this process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
