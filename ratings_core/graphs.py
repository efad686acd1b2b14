"""Connected components of graphs, such as the graph of agents and their results."""

from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel

Labels: TypeAlias = NDArray[np.int64]
Nodes: TypeAlias = NDArray[np.integer[Any]]


def strong_components(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int) -> Labels:
    """Strongly connected components of the directed graph on 0 to size-1 with arcs tails[k] -> heads[k].

    tails, heads: integers (k,). Returns int64 (size,): a label per node; labels count up from 0 in the order of each component's smallest
    node. Raises `InputError` unless tails and heads have equal length and contain nodes.
    """
    tails, heads, size = _arcs(tails, heads, size)
    if len(tails) and _reaches_all(tails, heads, size) and _reaches_all(heads, tails, size):
        return np.zeros(size, np.int64)
    arcs = scipy.sparse.csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(size, size))
    _, component = scipy.sparse.csgraph.connected_components(arcs, directed=True, connection="strong")
    _, first = np.unique(component, return_index=True)
    renamed = np.empty(len(first), np.int64)
    renamed[np.argsort(first)] = np.arange(len(first))
    return np.asarray(renamed[component], np.int64)


def weak_components(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int) -> Labels:
    """Components of the same graph without the direction of its arcs; labels and errors as in `strong_components`."""
    return _united(*_arcs(tails, heads, size))


def members(labels: Labels) -> list[list[int]]:
    """List the nodes of each component in ascending order, by label. Raises `InputError` unless `labels` are a label per node."""
    checked = _nodes("labels", labels, len(checks.sequence("labels", labels)))
    order = np.argsort(checked, kind="stable")
    ends = np.cumsum(np.bincount(checked))
    return [part.tolist() for part in np.split(order, ends)[:-1]]


def _arcs(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int) -> tuple[Nodes, Nodes, int]:
    """The arguments, checked."""
    size = checks.count("size", size, high=checks.MAX_IDS)
    tails, heads = _nodes("tails", tails, size), _nodes("heads", heads, size)
    if len(tails) != len(heads):
        raise InputError("heads", len(heads), f"must have the length of tails, {len(tails)}")
    return tails, heads, size


@kernel
def _united(tails: Nodes, heads: Nodes, size: int) -> Labels:
    """Labels of the components, by union-find: the root of a set is its smallest node, and each search halves the path that it takes.

    scipy finds the same ones, but its sparse matrices take a fifth of a second to load.
    """
    parent = np.arange(size)
    for arc in range(len(tails)):
        a, b = np.int64(tails[arc]), np.int64(heads[arc])  # numba joins uint64 and int64 to float64
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    labels, components = np.empty(size, np.int64), 0
    for node in range(size):
        if parent[node] == node:
            labels[node] = components
            components += 1
        else:
            labels[node] = labels[parent[node]]
    return labels


@kernel
def _reaches_all(tails: NDArray[np.integer[Any]], heads: NDArray[np.integer[Any]], size: int) -> bool:
    """Whether every node is found from node 0 in two passes over the arcs tails[k] -> heads[k]. False can also mean a longer search.

    If this holds along the arcs and against them, there is one component of either kind. Most graphs of games pass, and the passes end at
    the last node that is found, so this costs much less than building a sparse matrix.
    """
    reached = np.zeros(size, np.bool_)
    reached[0] = True
    left = size - 1
    for _ in range(2):
        for arc in range(len(tails)):
            if left and reached[tails[arc]] and not reached[heads[arc]]:
                reached[heads[arc]] = True
                left -= 1
    return left == 0


def _nodes(argument: str, values: NDArray[np.integer[Any]], size: int) -> NDArray[np.integer[Any]]:
    nodes = checks.ids(argument, values)
    if nodes.ndim != 1 or (nodes.size and not (nodes.min() >= 0 and nodes.max() < size)):
        raise InputError(argument, values, f"must be one-dimensional, with integers from 0 to {size - 1}")
    return nodes
