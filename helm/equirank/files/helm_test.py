"""Stream outcomes through the API, read the boards back: what `helm test` runs in a pod of the release. Standard library only."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

POOL, OUTCOMES, BATCH, SECONDS = "helm-test", 1_000, 100, 120.0


def main() -> None:
    """Create the pool, write the outcomes twice (an id counts once), wait for the board, check it."""
    address, run = sys.argv[1], f"{time.time():.0f}"
    admin = json.loads(os.environ["EQUIRANK_ADMIN_KEYS"])[0]
    write = json.loads(os.environ["EQUIRANK_WRITE_KEYS"])[0]
    _expect(_status(address, "POST", "/v1/outcomes", [_game(run, 0)], key=None) == 401, "outcomes without a key are refused")
    _ask(address, "PUT", f"/v1/pools/{POOL}", {"kind": "games"}, admin)
    before = _outcomes(address)
    for start in range(0, OUTCOMES, BATCH):
        batch = [_game(run, number) for number in range(start, start + BATCH)]
        for _ in range(2):
            _ask(address, "POST", "/v1/outcomes", batch, write)
    deadline = time.monotonic() + SECONDS
    while _outcomes(address) < before + OUTCOMES and time.monotonic() < deadline:
        time.sleep(0.5)
    counted = _outcomes(address) - before
    _expect(counted == OUTCOMES, f"{counted} of {OUTCOMES} outcomes are counted, each once")
    rows = _ask(address, "GET", f"/v1/pools/{POOL}/boards/elo?count=3")["rows"]
    best = [row["agent"] for row in rows]
    _expect(best == ["agent-0", "agent-1", "agent-2"], f"the board begins with {', '.join(best)}")


def _game(run: str, number: int) -> dict[str, object]:
    """Agent i beats agent j when i < j."""
    first, second = sorted((number % 5, (number // 5 + number + 1) % 5))
    if first == second:
        second = (first + 1) % 5
        first, second = sorted((first, second))
    sides = [{"agents": [f"agent-{first}"], "place": 1}, {"agents": [f"agent-{second}"], "place": 2}]
    return {"v": 1, "id": f"{run}-{number}", "pool": POOL, "time": float(run) - OUTCOMES + number, "sides": sides}


def _outcomes(address: str) -> int:
    """Outcomes that the published boards count. Another replica of the API may not know a new pool for a moment."""
    try:
        head = _ask(address, "GET", f"/v1/pools/{POOL}")["head"]
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return 0
    return int(head["outcomes"]) if head else 0


def _status(address: str, method: str, path: str, body: object, key: str | None) -> int:
    try:
        _ask(address, method, path, body, key)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def _ask(address: str, method: str, path: str, body: object = None, key: str | None = None) -> dict[str, object]:
    """The answer's body. A busy API says 429 or 503 and when to come again; ids make it safe to send outcomes again."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, headers, method=method)
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or time.monotonic() > deadline:
                raise
            time.sleep(float(error.headers.get("Retry-After", "1")))


def _expect(condition: bool, statement: str) -> None:
    print(f"{'ok' if condition else 'FAILED'}: {statement}", flush=True)
    if not condition:
        sys.exit(1)


if __name__ == "__main__":
    main()
