"""Kills a process group when its supervisor is gone, however that ended.

Run as `python -m services.runtime.guardian GROUP` with the read end of a pipe as standard input: the supervisor alone holds the write
end, so end of file means that it ended. Everything is safe to kill at any moment: the log is the truth.
"""

import os
import signal
import sys


def main() -> None:
    """Wait for the end of standard input, then kill the group (which holds this process too)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    group = int(sys.argv[1])
    while os.read(0, 4096):
        pass
    os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
