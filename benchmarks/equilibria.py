"""CCE and limiting logit equilibria of king of the hill, beside cvxpy with Clarabel, pygambit and polarix.

`python -m benchmarks.equilibria [--quick] [--full]`. Goals, one core: CCE of 1500 prompts x 17 x 17 <= 3 s to a regret of eps + 1e-6;
200 x 30 x 30 to 1e-6 <= 3 s; the limiting logit equilibrium of 1500 x 17 x 17 <= 3 s to 1e-6; both of 10,000 x 50 x 50 within 5 min and
6 GiB (`--full`). polarix runs by the interpreter that `EQUIRANK_PEERS` names (see `benchmarks.peers`; it needs polarix, too), for 60 CPU
seconds at most: `left` is the largest gain that a player has at what it ends with. Its correlated equilibrium is finer than a coarse
one, so only seconds and gaps compare. Seconds are CPU seconds, one thread; `cert` is the largest regret beyond eps over a player's
unit, `off` the difference from the reference's entropy or mixes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import io
import resource
import time

import cvxpy as cp
import numpy as np
import pygambit

from benchmarks.common import Row, header, parser, seconds, show
from benchmarks.peers import ask
from benchmarks.workloads import preferences
from ratings_core.equilibria import LLE, cce, lle
from ratings_core.games import KingOfTheHill, NormalForm

FoundT = TypeVar("FoundT")

POLARIX = 60.0
"""CPU seconds that polarix gets."""
POLARIX_JOINTS = 200_000
CLARABEL_JOINTS = 30_000
GAMBIT_STRATEGIES = 140
"""Sizes above which a peer takes many minutes, and is not run."""


def hill(prompts: int, models: int) -> KingOfTheHill:
    return KingOfTheHill.of(preferences(prompts, models))


def peak() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


def cce_rows(prompts: int, models: int, eps: float, repeats: int, budget: float, *, conic: bool) -> Iterator[Row]:
    """One size, with the references that end in bounded time."""
    game = hill(prompts, models)
    found, ours = _timed(lambda: cce(game, target="even", eps=eps), repeats)
    name, size = f"CCE, eps {eps:g}, {peak()}", f"{prompts} x {models}^2, cert {found.certificate.value:.0e}"
    if conic and np.prod(game.shape) <= CLARABEL_JOINTS:
        theirs, entropy = clarabel(game.normal_form(), eps)
        if entropy is None:
            yield Row(name, size, ours, f"cvxpy + Clarabel (failed after {theirs:.3g} s)", None)
        else:
            yield Row(name, f"{size}, off {abs(found.relative_entropy - entropy):.0e}", ours, "cvxpy + Clarabel", theirs)
    yield polarix("cce", name, size, ours, prompts, models, budget)


def lle_rows(prompts: int, models: int, repeats: int, budget: float) -> Iterator[Row]:
    """One size, with the references that end in bounded time."""
    game = hill(prompts, models)
    found, ours = _timed(lambda: lle(game, target="even"), repeats)
    name, size = f"limiting logit equilibrium, {peak()}", f"{prompts} x {models}^2, cert {found.certificate.value:.0e}"
    if sum(game.shape) <= GAMBIT_STRATEGIES:
        yield gambit(name, size, ours, game.normal_form(), found)
    yield polarix("lle", name, size, ours, prompts, models, budget)


def random_rows(strategies: int, repeats: int) -> Iterator[Row]:
    """Three players, normal payoffs, for gambit."""
    rng = np.random.default_rng(0)
    game = NormalForm.of([rng.normal(size=(strategies,) * 3) for _ in range(3)])
    found, ours = _timed(lambda: lle(game, target="even"), repeats)
    size = f"3 players x {strategies}, cert {found.certificate.value:.0e}"
    yield gambit("limiting logit equilibrium", size, ours, game, found)


def clarabel(game: NormalForm, eps: float) -> tuple[float, float | None]:
    """Seconds and relative entropy to the even split, None where it fails."""
    started = time.process_time()
    rows = [np.expand_dims(np.take(G, own, axis=p), p) - G for p, G in enumerate(game.payoffs) for own in range(G.shape[p])]
    A = np.array([gains.ravel() for gains in rows])
    sigma = cp.Variable(A.shape[1], nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(sigma))), [cp.sum(sigma) == 1, A @ sigma <= eps])
    try:
        problem.solve(solver="CLARABEL")
    except cp.SolverError:
        return time.process_time() - started, None
    return time.process_time() - started, float(np.log(A.shape[1]) - problem.value)


def gambit(name: str, size: str, ours: float, game: NormalForm, found: LLE) -> Row:
    """gambit's logit solver on the stored game; reading the game is not counted."""
    players, counts = " ".join(f'"{p}"' for p in range(3)), " ".join(map(str, game.shape))
    payoffs = np.stack([tensor.ravel(order="F") for tensor in game.payoffs], axis=1).ravel().tolist()
    read = pygambit.read_nfg(io.BytesIO(f'NFG 1 R "game" {{ {players} }} {{ {counts} }}\n{" ".join(map(repr, payoffs))}'.encode()))
    started = time.process_time()
    theirs = pygambit.nash.logit_solve(read, use_strategic=True, maxregret=1e-6)
    spent = time.process_time() - started
    mixes = [[float(theirs.equilibrium[str(p)][str(k + 1)]) for k in range(n)] for p, n in enumerate(game.shape)]
    off = max(float(np.abs(np.array(mix) - own).max()) for mix, own in zip(mixes, found.mixes, strict=True))
    return Row(name, f"{size}, off {off:.0e}", ours, "pygambit", spent)


def polarix(what: str, name: str, size: str, ours: float, prompts: int, models: int, budget: float) -> Row:
    if prompts * models**2 > POLARIX_JOINTS:
        return Row(name, size, ours, "polarix (not run at this size)", None)
    question = {"what": what, "ahead": preferences(prompts, models).tolist(), "seconds": budget}
    answer = ask("equilibrium_polarix", question, 10 * budget + 120)
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
    cce(hill(4, 3))  # compiles
    lle(hill(4, 3))
    repeats = min(given.repeats, 3)
    if given.quick:
        show(*cce_rows(40, 6, 1e-3, 1, 3.0, conic=True), *lle_rows(40, 6, 1, 3.0), *random_rows(6, 1))
        return
    show(*cce_rows(100, 17, 1e-3, repeats, POLARIX, conic=True))
    show(*cce_rows(200, 30, 0.0, repeats, POLARIX, conic=False))
    show(*cce_rows(1_500, 17, 1e-3, repeats, POLARIX, conic=False))
    show(*random_rows(20, repeats))
    for prompts, models in ((100, 17), (200, 30), (1_500, 17)):
        show(*lle_rows(prompts, models, repeats, POLARIX))
    if given.full:
        show(*lle_rows(10_000, 50, 1, POLARIX))
        show(*cce_rows(10_000, 50, 1e-3, 1, POLARIX, conic=False))


if __name__ == "__main__":
    main()
