"""Child processes that run programs, with a limit for each answer."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAMS: Final = Path(__file__).parent / "programs"
THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that are 1 in a child. CPU seconds are those of all threads, so other threads cannot hide work."""


class ProgramError(RuntimeError):
    """A program raised, ended or did not answer in time."""


class Child:
    """One program in a separate process.

    Args:
        python: Interpreter.
        program: `FILE:FUNCTION` of `programs`.
        source: File of the input's arrays.
        longest: Wall seconds that an answer may take.

    Raises:
        ProgramError: The program could not be prepared.
    """

    def __init__(self, python: str, program: str, source: Path, longest: float) -> None:
        file, function = program.split(":")
        self._longest, self._buffer = longest, b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        path = str(ROOT) if python == sys.executable else ""
        own = dict.fromkeys(THREADS, "1") | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [python, str(Path(__file__).parent / "child.py"), str(PROGRAMS / f"{file}.py"), function, str(source)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=os.environ | own, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        try:
            self.known = self._answer()
        except ProgramError:
            self.close()
            raise

    def seconds(self) -> float:
        """CPU seconds of one run, of all threads."""
        return float(self._ask({"do": "run"})["seconds"])

    def values(self) -> dict[str, np.ndarray]:
        """Arrays of what the last run returned."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "values.npz"
            self._ask({"do": "values", "file": str(file)})
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)

    def _ask(self, question: dict[str, str]) -> dict[str, Any]:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ProgramError(f"ended: {self._last_error()}") from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._line()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ProgramError(" ".join(answer["error"].split())[:200])
        return answer

    def _line(self) -> bytes:
        assert self._process.stdout
        source, end = self._process.stdout.fileno(), time.monotonic() + self._longest
        while b"\n" not in self._buffer:
            if not select.select([source], [], [], max(0.0, end - time.monotonic()))[0]:
                raise ProgramError(f"no answer within {self._longest:.0f} s")
            if not (part := os.read(source, 65_536)):
                raise ProgramError(f"ended: {self._last_error()}")
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "no message"

    def close(self) -> None:
        """End the process. A run that has not finished is killed."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
