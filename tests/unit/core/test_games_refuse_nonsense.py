"""All that is public of games and equilibria, argument by argument, against values that make no sense: each is refused by name."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ratings_core import equilibria, games
from ratings_core.equilibria import AffinityTarget
from ratings_core.errors import InputError
from ratings_core.games import AgentAgentTask, Duels, JointDistribution, KingOfTheHill, NormalForm
from ratings_core.tallies import PairCounts
from tests.support.options import arguments_of, assert_refused, called, record_of

SCORES = np.array([[1.0, 2.0], [3.0, 0.5], [0.0, 4.0]])
MARGINS = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 2.0], [1.0, -2.0, 0.0]])
GAME = NormalForm.of([SCORES, -SCORES])
PLAY = JointDistribution.of([[0, 0], [1, 1]], [0.5, 0.5], (3, 2))
MIXES = [[1.0, 0.0, 0.0], [0.5, 0.5]]
COUNTS = PairCounts.from_dense([[0, 3, 1], [2, 0, 2], [1, 1, 0]])
DUELS = Duels.of_counts([COUNTS, COUNTS], 3)
KERNEL = np.eye(3)
TABLE = {"scores": SCORES, "normalise": "none", "missing": "refuse", "merge": True, "agents": list("abc"), "tasks": list("xy")}
HARD = {"missing": "prior", "kappa": 1.0, "merge": True, "agents": list("abc")}
LIMITS = {"tolerance": 1e-3, "max_seconds": 60.0, "accept_approximate": True}
PATH = {"tolerance": 1e-3, "close": 1e-6, "max_iterations": 100, "max_seconds": 60.0}
CHAIN = {"alpha": 1.0, "population": 5, "noise": 1e-3, **LIMITS}
SUBJECTS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "NormalForm.of": (NormalForm.of, {"payoffs": [SCORES, -SCORES], "strategies": [list("abc"), list("xy")], "players": ["p", "q"]}),
    "JointDistribution.of": (JointDistribution.of, {"joints": [[0, 0], [1, 1]], "probability": [0.5, 0.5], "shape": (3, 2)}),
    "JointDistribution.from_dense": (JointDistribution.from_dense, {"probability": np.full((2, 2), 0.25)}),
    "AgentAgentTask.of": (AgentAgentTask.of, {"scores": SCORES, "agents": list("abc"), "tasks": list("xy")}),
    "KingOfTheHill.of": (KingOfTheHill.of, {"ahead": [MARGINS] * 2, "penalty": 1.0, "prompts": list("xy"), "models": list("abc")}),
    "Duels.of_counts": (Duels.of_counts, {"counts": [COUNTS], "agents": 3}),
    "Duels.of_scores": (Duels.of_scores, {"scores": SCORES, "compare": "wins"}),
    "Duels.pooled": (DUELS.pooled, {"group": [0, 0]}),
    "agent_vs_agent": (games.agent_vs_agent, {"counts": COUNTS, "n": 3, "payoff": "logit", "pseudo_count": 1.0, **HARD}),
    "agent_vs_task": (games.agent_vs_task, TABLE),
    "agent_vs_agent_vs_task": (games.agent_vs_agent_vs_task, TABLE),
    "bipartite_matrix": (games.bipartite_matrix, {"scores": SCORES}),
    "skill_matrix": (games.skill_matrix, {"scores": SCORES}),
    "clone_classes": (games.clone_classes, {"rows": SCORES, "within": 0.0}),
    "split_evenly": (games.split_evenly, {"totals": [0.5, 0.2, 0.3], "classes": games.clone_classes(SCORES)}),
    "preferences": (games.preferences, {"duels": DUELS, **HARD, "tasks": None}),
    "duel_for_the_hill": (games.duel_for_the_hill, {"duels": DUELS, "penalty": 1.0, **HARD, "tasks": None}),
    "duel_on_task": (games.duel_on_task, {"duels": DUELS, "difference": "denoised", **HARD, "tasks": None}),
    "duelist_vs_task": (games.duelist_vs_task, {"duels": DUELS, **HARD, "tasks": None}),
    "cce_gap": (games.cce_gap, {"game": GAME, "play": PLAY}),
    "deviation_gains": (games.deviation_gains, {"game": GAME, "play": PLAY}),
    "expected_payoffs": (games.expected_payoffs, {"game": GAME, "play": PLAY}),
    "regrets": (games.regrets, {"game": GAME, "play": PLAY}),
    "mix_regrets": (games.mix_regrets, {"game": GAME, "mixes": MIXES}),
    "uniform_mixes": (games.uniform_mixes, {"shape": (2, 3)}),
    "solve_symmetric": (games.solve_symmetric, {"margins": MARGINS, **PATH}),
    "solve_zero_sum": (games.solve_zero_sum, {"payoffs": SCORES, **PATH}),
    "AffinityTarget": (AffinityTarget, {"sigma": 1.0, "floor": 0.1, "samples": 10, "seed": 0, "p": 0.5}),
    "affinity_entropy": (equilibria.affinity_entropy, {"mix": [0.5, 0.5, 0.0], "kernel": KERNEL, "p": 1.0}),
    "affinity_targets": (equilibria.affinity_targets, {"game": GAME, "how": AffinityTarget()}),
    "most_affine": (equilibria.most_affine, {"kernel": KERNEL, "p": 0.5, **LIMITS}),
    "alpharank": (equilibria.alpharank, {"game": GAME, **CHAIN}),
    "alpharank_symmetric": (equilibria.alpharank_symmetric, {"payoffs": MARGINS, **CHAIN}),
    "deviation": (equilibria.deviation, {"game": GAME, "merge": True, "max_solves": 100, **LIMITS}),
    "cce": (equilibria.cce, {"game": GAME, "target": "even", "eps": 0.1, "merge": True, "max_iterations": 100, **LIMITS}),
    "lle": (equilibria.lle, {"game": GAME, "target": "even", "merge": True, "max_steps": 100, **LIMITS}),
    "nash_average": (
        equilibria.nash_average,
        {"scores": SCORES, "normalise": "none", "missing": "refuse", "merge": True, "accept_approximate": True, **PATH},
    ),
    "nash_average_agents": (equilibria.nash_average_agents, {"payoffs": MARGINS, "merge": True, "accept_approximate": True, **PATH}),
    "payoff_ratings": (
        equilibria.payoff_ratings,
        {"game": GAME, "play": PLAY, "against": "others", "tolerance": 1e-3, "accept_approximate": True},
    ),
    "mass_ratings": (equilibria.mass_ratings, {"game": GAME, "play": PLAY, "tolerance": 1e-3, "accept_approximate": True}),
    "uniform": (equilibria.uniform, {"game": GAME}),
}
RECORDS = {"AlphaRank", "CCE", "Deviation", "FromEquilibrium", "GameSolution", "LLE", "MostAffine", "NashAverage", "NashAverageAgents"}
RECORDS |= {"SymmetricSolution", "Uniform", "CloneClasses", "Gamified", "Preferences"}
"""What functions return; nobody makes them by hand."""
PROTOCOLS = {"Game"}
NONSENSE = {
    "nothing": None,
    "a number": 5,
    "less than nothing": -1,
    "a broken number": 2.5,
    "no number": float("nan"),
    "a complex number": 1j,
    "text": "nonsense",
    "bytes": b"nonsense",
    "true": True,
    "an object": object(),
    "a function": len,
    "a class": NormalForm,
    "an empty list": [],
    "a dict": {"a": 1},
    "a ragged list": [[1.0], [1.0, 2.0]],
    "lists too deep": [[[[1.0]]]],
    "complex numbers": np.array([[0, 1j], [-1j, 0]]),
    "objects": np.array([[object()] * 2] * 2),
    "numbers as text": np.array([["0", "1"], ["-1", "0"]]),
    "a masked array": np.ma.masked_array(np.zeros((3, 3)), np.eye(3)),
    "numbers as names": [1, 2, 3],
    "names and a number": ["a", 2, "c"],
    "names and nothing": ["a", None, "c"],
    "too many names": list("abcdefgh"),
    "names and names": [["a", "b", "c"], ["x", 5]],
}
ACCEPTED = {
    "nothing": {"strategies", "players", "agents", "tasks", "prompts", "models", "max_seconds", "sigma", "samples"},
    "a number": {"n", "penalty", "pseudo_count", "kappa", "within", "tolerance", "close", "max_iterations", "max_seconds", "sigma"}
    | {"samples", "seed", "alpha", "population", "max_solves", "max_steps", "eps", "agents"},
    "a broken number": {"penalty", "pseudo_count", "kappa", "within", "tolerance", "close", "max_seconds", "sigma", "alpha", "eps"},
    "true": {"merge", "accept_approximate"},
    "numbers as names": {"shape", "totals"},
    "lists too deep": {"probability"},
}
"""Values that do make sense for some arguments."""
CASES = [(name, argument) for name, (_, given) in SUBJECTS.items() for argument in given]


def test_all_that_is_public_is_here():
    public = set(games.__all__) | set(equilibria.__all__)
    tried = {name.partition(".")[0] for name in SUBJECTS}
    options = {record.__name__ for function, _ in SUBJECTS.values() if (record := record_of(function))}
    assert public - tried - RECORDS - PROTOCOLS == options
    assert len(CASES) > 150


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_argument_is_tried(name):
    function, given = SUBJECTS[name]
    known = set(arguments_of(function)) - {"start"}
    assert set(given) == known - ({"deadline"} if name == "affinity_targets" else set())
    called(function, given)


@pytest.mark.parametrize(("name", "argument"), CASES, ids=[f"{name}-{argument}" for name, argument in CASES])
def test_nonsense_is_refused_by_name(name, argument):
    function, given = SUBJECTS[name]
    for what, value in NONSENSE.items():
        if argument in ACCEPTED.get(what, ()):
            continue
        assert_refused(partial(called, function, {**given, argument: value}), what)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: NormalForm.of([[[np.inf, 1.0]], [[0.0, 1.0]]]), "payoffs[0][0, 0]"),
        (lambda: games.duelist_vs_task(Duels.of_scores([[1.0, 2.0]])), "duels"),
        (lambda: NormalForm.of([[1.0, 2.0]]), "payoffs"),
        (lambda: equilibria.payoff_ratings(GAME, [[0.0, 0.0, 0.0], [0.5, 0.5]]), "mixes[0]"),
        (lambda: JointDistribution.of(np.empty((0, 2), int), [], (3, 2)), "joints"),
        (lambda: NormalForm.of([[[1.0], [1.0, 2.0]], [[1.0]]]), "payoffs[0]"),
        (lambda: games.agent_vs_task([[1.0, 2.0], [np.nan, np.nan]], missing="prior"), "scores[1]"),
        (lambda: games.agent_vs_task([[1.0, 2.0], [np.nan, np.nan]]), "scores[1, 0]"),
    ],
    ids=["non-finite", "one strategy", "one player", "empty support", "no joint", "ragged", "empty row to fill", "empty row"],
)
def test_games_that_are_none_are_refused_with_argument_value_and_rule(make, argument):
    with pytest.raises(InputError) as refused:
        make()
    assert refused.value.argument == argument
    assert refused.value.rule
    assert hasattr(refused.value, "value")


@pytest.mark.parametrize("name", [name for name, (function, _) in SUBJECTS.items() if record_of(function)])
@pytest.mark.parametrize("what", NONSENSE)
def test_what_is_no_record_of_options_is_refused(name, what):
    function, given = SUBJECTS[name]
    fields = {*arguments_of(function)} - {*inspect.signature(function).parameters}
    with pytest.raises(InputError, match=f"options must be a record of {record_of(function).__name__}"):
        function(**{key: value for key, value in given.items() if key not in fields}, options=NONSENSE[what])
