"""Run one program again and again, in the interpreter of Equirank or of the peers. It needs numpy and nothing of this project.

usage: PYTHON child.py PROGRAM.py FUNCTION INPUT.npz, then lines of JSON on stdin

The function takes the arrays of the input, imports its package, prepares what the package takes, and returns two functions: the first is
timed, the second makes arrays of what the first returned. Lines of stdin are `{"do": "run"}` and `{"do": "values", "file": FILE.npz}`. A
reply is one line of JSON: `{"seconds": CPU seconds}`, or `{"error": TEXT}`. The first reply, `{"imports": CPU seconds, "versions": {...}}`,
comes when all is prepared.
"""

import importlib.util
import json
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np


def loaded(file, function):
    """A function of a file that is no package."""
    spec = importlib.util.spec_from_file_location("equirank_bench_program", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, getattr(module, function)


def versions_of(packages):
    """Versions of installed distributions."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def prepared(file, function, source):
    """The two functions of a program, and what is known before the first run."""
    started = time.process_time()
    module, prepare = loaded(file, function)
    imports = time.process_time() - started
    with np.load(source, allow_pickle=False) as arrays:
        run, values = prepare(dict(arrays))
    versions = versions_of(module.PACKAGES) | (module.versions() if hasattr(module, "versions") else {})
    return run, values, {"imports": imports, "versions": versions}


def serve(run, values, questions, reply):
    """Answer questions until stdin ends."""
    found = None
    for line in questions:
        question = json.loads(line)
        if question["do"] == "run":
            started = time.process_time()
            found = run()
            reply({"seconds": time.process_time() - started})
        else:
            np.savez(question["file"], **{name: np.asarray(value) for name, value in values(found).items()})
            reply({})


def main():
    """Serve one program; an exception is the last reply."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is no reply
    sys.path[0] = str(Path(sys.argv[1]).parent)

    def reply(answer):
        replies.write(json.dumps(answer) + "\n")
        replies.flush()

    try:
        run, values, known = prepared(*sys.argv[1:4])
        reply(known)
        serve(run, values, sys.stdin, reply)
    except Exception as error:  # noqa: BLE001 - the asker decides
        reply({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
