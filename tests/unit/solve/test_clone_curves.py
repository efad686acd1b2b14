"""The waves that `equirank up --demo clones` sends, and what each method makes of near copies."""

from importlib.resources import files

import numpy as np
import pytest

from ratings_core.problems.inputs import ScoresInput
from services.demo import clones
from services.solve.registry import methods

TABLE = (files("services.demo") / "atari.csv").read_text(encoding="utf-8")
NEAR = {(wave.copied, wave.noise): wave for wave in clones.near(TABLE, 0.0)}


def problem(wave: clones.Wave) -> ScoresInput:
    agents = tuple(dict.fromkeys(agent for event in wave.events for agent in event.scores))
    return ScoresInput(agents, tuple(event.task for event in wave.events), np.array([[e.scores[a] for e in wave.events] for a in agents]))


def standing(method: str, wave: clones.Wave) -> clones.Standing:
    rows = methods.solve(method, problem(wave), clones.METHODS[method]).agents
    return [(row.agent, row.rating) for row in rows if row.rating is not None]


def test_near_copies_are_of_a_task_and_of_an_agent_each_in_a_pool_of_its_own() -> None:
    assert list(NEAR) == [(what, noise) for what in ("task", "agent") for noise in clones.NOISES]
    assert len({wave.pool for wave in NEAR.values()} | {clones.POOL}) == len(clones.POOLS) == 9
    for (what, noise), wave in NEAR.items():
        given = problem(wave)
        assert given.scores.shape == ((20, 73) if what == "task" else (40, 53))
        assert wave.outcomes == len(given.tasks)
        own = clones.NEAR_TO[what]
        table = given.scores if what == "agent" else given.scores.T
        names = given.names if what == "agent" else given.tasks
        apart = np.array([table[i] - table[names.index(own)] for i, name in enumerate(names) if name.startswith(f"{own} (near")])
        assert apart.std() == pytest.approx(noise, rel=0.1)


@pytest.mark.parametrize("what", clones.NEAR)
def test_a_fair_method_moves_with_the_noise_and_elo_as_if_copies_were_exact(what: str) -> None:
    before = {name: standing(name, clones.waves(TABLE, 0.0)[0]) for name in ("bradley_terry", "uniform", "nash_average")}
    waves = [NEAR[what, noise] for noise in clones.NOISES]
    curves = {name: [clones.moved(name, old, standing(name, wave)).share for wave in waves] for name, old in before.items()}
    assert min(curves["bradley_terry"] + curves["uniform"]) > 0.1
    for noise, moved in zip(clones.NOISES, curves["nash_average"], strict=True):
        assert 0.01 * noise < moved < 4 * noise
