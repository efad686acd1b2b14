"""OpenSpiel: voting rules in Python, zero-sum games by CVXPY, alpha-Rank."""

import sys
import types
import warnings
from functools import partialmethod
from importlib import import_module

import numpy as np

PACKAGES = ("open-spiel", "cvxpy", "numpy")


def election(data, name):
    base = import_module("open_spiel.python.voting.base")
    module, method = name.split(".")
    rule, orders = getattr(import_module(f"open_spiel.python.voting.{module}"), method), data["orders"].tolist()
    return lambda: rule().run_election(base.PreferenceProfile(votes=orders, alternatives=list(range(len(orders[0])))))


def scores(found):
    return {"ratings": [float(score) for _, score in sorted(zip(found.ranking, found.scores, strict=True))]}


def borda(data):
    return election(data, "borda.BordaVoting"), scores


def copeland(data):
    return election(data, "copeland.CopelandVoting"), scores


def schulze(data):
    m = data["orders"].shape[1]
    return election(data, "schulze.SchulzeVoting"), lambda found: {"winners": (np.arange(m) == found.ranking[0]).astype(float)}


def zero_sum(data):
    """The first player's mix. Clarabel solves: the solver that OpenSpiel names by default, HiGHS, clashes with GLOP in one process."""
    solver, pyspiel = import_module("open_spiel.python.algorithms.lp_solver"), import_module("pyspiel")
    solver.LinearProgram.solve = partialmethod(solver.LinearProgram.solve, solver="CLARABEL", solver_kwargs={})
    A = data["scores"] if "scores" in data else data["margins"]

    def run():
        return solver.solve_zero_sum_matrix_game(pyspiel.create_matrix_game(A.tolist(), (-A).tolist()))

    return run, lambda found: {"lottery": np.asarray(found[0], float).ravel()}


def alpharank(data):
    drawing = "open_spiel.python.egt.alpharank_visualizer"
    sys.modules.setdefault(drawing, types.ModuleType(drawing))  # it draws, by a library that nothing here needs
    solver, A = import_module("open_spiel.python.egt.alpharank"), data["payoffs"]

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return solver.compute([A], m=50, alpha=1.0, use_local_selection_model=False)

    return run, lambda found: {"masses": np.asarray(found[2], float).ravel()}
