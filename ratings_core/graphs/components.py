"""Connected components of graphs, such as the graph of agents and their results."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

Labels: TypeAlias = NDArray[np.int64]
Connection: TypeAlias = Literal["strong", "weak"]


def strong_components(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int) -> Labels:
    """Strongly connected components of the directed graph on 0 to size-1 with arcs tails[k] -> heads[k].

    Returns int64 (size,): a label per node; labels count up from 0 in the order of each component's smallest node.
    """
    return _labels(tails, heads, size, "strong")


def weak_components(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int) -> Labels:
    """Components of the same graph without the direction of its arcs; labels as in `strong_components`."""
    return _labels(tails, heads, size, "weak")


def members(labels: Labels) -> list[list[int]]:
    """List the nodes of each component in ascending order, by label."""
    order = np.argsort(labels, kind="stable")
    edges = np.cumsum(np.bincount(labels))[:-1]
    return [part.tolist() for part in np.split(order, edges)]


def _labels(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int, connection: Connection) -> Labels:
    arcs = sparse.csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(size, size))
    _, found = csgraph.connected_components(arcs, directed=True, connection=connection)
    _, first = np.unique(found, return_index=True)
    renamed = np.empty(len(first), np.int64)
    renamed[np.argsort(first)] = np.arange(len(first))
    return np.asarray(renamed[found], np.int64)
