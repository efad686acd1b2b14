"""CCE and limiting logit equilibria of king of the hill, beside cvxpy with Clarabel, pygambit and polarix.

`python -m benchmarks.equilibria [--quick] [--full]`. Goals, one core: CCE of 1500 prompts x 17 x 17 <= 3 s to a regret of eps + 1e-6;
200 x 30 x 30 to 1e-6 <= 3 s; the limiting logit equilibrium of 1500 x 17 x 17 <= 3 s to 1e-6; both of 10,000 x 50 x 50 within 5 min and
6 GiB (`--full`). polarix runs in the environment of `make peers`:

    make peers
    .venv/bin/python -m benchmarks.equilibria

It gets 30 CPU seconds: `left` is the largest gain that a player has at what it ends with. Its correlated equilibrium is finer than a
coarse one, so only seconds and gaps compare. Seconds are CPU seconds, one thread; `cert` is the largest regret beyond eps over a
player's unit, `off` the difference from the reference's entropy or mixes, `peak` the memory of the process that solved it. Every part
has a process of its own and five minutes at most (15 with `--full`); all takes about eight minutes on two quiet cores, most of it
peers, and `--full` five more.
"""

import os
from collections.abc import Callable, Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import io
import time
from functools import partial
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
import pygambit

from benchmarks.common import Row, header, parser, seconds, stream
from benchmarks.isolated import memory, run
from benchmarks.peers import LONGEST, ask
from benchmarks.workloads import preferences
from ratings_core.equilibria import CCE, LLE, CCEOptions, cce, lle
from ratings_core.games import KingOfTheHill, NormalForm, mix_regrets
from ratings_core.games.merging import units_of

FoundT = TypeVar("FoundT")
_OURS = "benchmarks.equilibria:ours"

POLARIX = 30.0
"""CPU seconds that polarix gets."""
POLARIX_JOINTS = 200_000
CLARABEL_JOINTS = 30_000
GAMBIT_STRATEGIES = 140
"""Sizes above which a peer takes many minutes, and is not run."""


def hill(prompts: int, models: int) -> KingOfTheHill:
    return KingOfTheHill.of(preferences(prompts, models))


def ours(what: str, prompts: int, models: int, eps: float, repeats: int) -> dict[str, Any]:
    """In a process of its own: the seconds of the fastest, and what was found."""
    game = hill(prompts, models)
    solve: Callable[[KingOfTheHill], CCE | LLE] = (
        partial(cce, target="even", options=CCEOptions(eps=eps)) if what == "cce" else partial(lle, target="even")
    )
    solve(hill(4, 3))  # compiles
    found, spent = _timed(lambda: solve(game), repeats)
    entropy = {"relative_entropy": found.relative_entropy} if isinstance(found, CCE) else {"mixes": [own.tolist() for own in found.mixes]}
    return {"seconds": spent, "certificate": found.certificate.value, **entropy}


def ours_random(strategies: int, repeats: int) -> dict[str, Any]:
    """In a process of its own: of three players with normal payoffs."""
    game = random_game(strategies)
    found, spent = _timed(lambda: lle(game, target="even"), repeats)
    return {"seconds": spent, "certificate": found.certificate.value, "mixes": [own.tolist() for own in found.mixes]}


def random_game(strategies: int) -> NormalForm:
    rng = np.random.default_rng(0)
    return NormalForm.of([rng.normal(size=(strategies,) * 3) for _ in range(3)])


def cce_rows(prompts: int, models: int, eps: float, repeats: int, budget: float, longest: float) -> Iterator[Row]:
    """One size, with the references that end in bounded time; longest: wall seconds that each part may take."""
    size = f"{prompts} x {models}^2"
    asked = {"what": "cce", "prompts": prompts, "models": models, "eps": eps, "repeats": repeats}
    found = run(_OURS, asked, longest, f"CCE {size}")
    if isinstance(found, str):
        yield Row(f"CCE, eps {eps:g} ({found})", size, float("nan"), "-", None)
        return
    name, size = f"CCE, eps {eps:g}, peak {memory(found['peak'])}", f"{size}, cert {found['certificate']:.0e}"
    if eps and prompts * models**2 <= CLARABEL_JOINTS:
        theirs = run("benchmarks.equilibria:clarabel", {"prompts": prompts, "models": models, "eps": eps}, longest, "Clarabel")
        if isinstance(theirs, str):
            yield Row(name, size, found["seconds"], f"cvxpy + Clarabel ({theirs})", None)
        else:
            off = abs(found["relative_entropy"] - theirs["entropy"])
            yield Row(name, f"{size}, off {off:.0e}", found["seconds"], "cvxpy + Clarabel", theirs["seconds"])
    yield polarix("cce", name, size, found["seconds"], prompts, models, budget)


def lle_rows(prompts: int, models: int, repeats: int, budget: float, longest: float) -> Iterator[Row]:
    """One size, with the references that end in bounded time."""
    size = f"{prompts} x {models}^2"
    asked = {"what": "lle", "prompts": prompts, "models": models, "eps": 0.0, "repeats": repeats}
    found = run(_OURS, asked, longest, f"LLE {size}")
    if isinstance(found, str):
        yield Row(f"limiting logit equilibrium ({found})", size, float("nan"), "-", None)
        return
    name, size = f"limiting logit equilibrium, peak {memory(found['peak'])}", f"{size}, cert {found['certificate']:.0e}"
    if prompts + 2 * models <= GAMBIT_STRATEGIES:
        yield _gambit_row(name, size, found, {"prompts": prompts, "models": models}, longest)
    yield polarix("lle", name, size, found["seconds"], prompts, models, budget)


def random_rows(strategies: int, repeats: int, longest: float) -> Iterator[Row]:
    """Three players, normal payoffs, for gambit."""
    name, size = "limiting logit equilibrium", f"3 players x {strategies}"
    found = run("benchmarks.equilibria:ours_random", {"strategies": strategies, "repeats": repeats}, longest, f"LLE {size}")
    if isinstance(found, str):
        yield Row(f"{name} ({found})", size, float("nan"), "-", None)
        return
    yield _gambit_row(name, f"{size}, cert {found['certificate']:.0e}", found, {"strategies": strategies}, longest)


def _gambit_row(name: str, size: str, found: dict[str, Any], asked: dict[str, int], longest: float) -> Row:
    theirs = run("benchmarks.equilibria:gambit", asked, longest, "pygambit")
    if isinstance(theirs, str):
        return Row(name, size, found["seconds"], f"pygambit ({theirs})", None)
    off = max(float(np.abs(np.array(mix) - own).max()) for mix, own in zip(theirs["mixes"], found["mixes"], strict=True))
    return Row(name, f"{size}, off {off:.0e}", found["seconds"], f"pygambit, regret {theirs['regret']:.0e}", theirs["seconds"])


def clarabel(prompts: int, models: int, eps: float) -> dict[str, Any]:
    """In a process of its own: seconds and relative entropy to the even split."""
    game = hill(prompts, models).normal_form()
    started = time.process_time()
    rows = [np.expand_dims(np.take(G, own, axis=p), p) - G for p, G in enumerate(game.payoffs) for own in range(G.shape[p])]
    A = np.array([gains.ravel() for gains in rows])
    sigma = cp.Variable(A.shape[1], nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(sigma))), [cp.sum(sigma) == 1, A @ sigma <= eps])
    problem.solve(solver="CLARABEL")
    return {"seconds": time.process_time() - started, "entropy": float(np.log(A.shape[1]) - problem.value)}


def gambit(prompts: int = 0, models: int = 0, strategies: int = 0) -> dict[str, Any]:
    """In a process of its own: gambit's logit solver on the stored game; reading the game is not counted."""
    game = random_game(strategies) if strategies else hill(prompts, models).normal_form()
    players, counts = " ".join(f'"{p}"' for p in range(3)), " ".join(map(str, game.shape))
    payoffs = np.stack([tensor.ravel(order="F") for tensor in game.payoffs], axis=1).ravel().tolist()
    read = pygambit.read_nfg(io.BytesIO(f'NFG 1 R "game" {{ {players} }} {{ {counts} }}\n{" ".join(map(repr, payoffs))}'.encode()))
    started = time.process_time()
    theirs = pygambit.nash.logit_solve(read, use_strategic=True, maxregret=1e-6)
    spent = time.process_time() - started
    mixes = [np.array([float(theirs.equilibrium[str(p)][str(k + 1)]) for k in range(n)]) for p, n in enumerate(game.shape)]
    regret = float((mix_regrets(game, mixes) / units_of(game)).max())
    return {"seconds": spent, "mixes": [own.tolist() for own in mixes], "regret": regret}


def polarix(what: str, name: str, size: str, ours: float, prompts: int, models: int, budget: float) -> Row:
    if prompts * models**2 > POLARIX_JOINTS:
        return Row(name, size, ours, "polarix (not run at this size)", None)
    question = {"what": what, "ahead": preferences(prompts, models).tolist(), "seconds": budget}
    answer = ask("equilibrium_polarix", question, 3 * budget + 60)
    if isinstance(answer, str):
        return Row(name, size, ours, f"polarix ({answer})", None)
    return Row(name, size, ours, f"polarix (left {answer['gap']:.0e})", answer["seconds"])


def _timed(run: Callable[[], FoundT], repeats: int) -> tuple[FoundT, float]:
    """What the last call returned, and the seconds of the fastest."""
    kept: list[FoundT] = []
    best = seconds(lambda: kept.append(run()), repeats)
    return kept[-1], best


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--full", action="store_true", help="10,000 prompts x 50 x 50, too: some minutes")
    given = options.parse_args(argv)
    header("Equilibria of king of the hill", ("cvxpy", "clarabel", "pygambit", "numpy", "numba"))
    repeats = min(given.repeats, 3)
    if given.quick:
        stream(cce_rows(40, 6, 1e-3, 1, 3.0, 60.0))
        stream(lle_rows(40, 6, 1, 3.0, 60.0))
        stream(random_rows(6, 1, 60.0))
        return
    stream(random_rows(20, repeats, LONGEST))
    for prompts, models in ((100, 17), (200, 30), (1_500, 17)):
        stream(lle_rows(prompts, models, repeats, POLARIX, LONGEST))
    for prompts, models, eps in ((100, 17, 1e-3), (200, 30, 0.0), (1_500, 17, 1e-3)):
        stream(cce_rows(prompts, models, eps, repeats, POLARIX, LONGEST))
    if given.full:
        stream(lle_rows(10_000, 50, 1, POLARIX, 3 * LONGEST))
        stream(cce_rows(10_000, 50, 1e-3, 1, POLARIX, 3 * LONGEST))


if __name__ == "__main__":
    main()
