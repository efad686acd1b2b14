"""Games in matrix form: two-player zero-sum games solved exactly, and their exact duplicates."""

from ratings_core.games.clones import CloneClasses, clone_classes, split_evenly
from ratings_core.games.zero_sum import GameSolution, SymmetricSolution, solve_symmetric, solve_zero_sum

__all__ = ["CloneClasses", "GameSolution", "SymmetricSolution", "clone_classes", "solve_symmetric", "solve_zero_sum", "split_evenly"]
