"""Three rounds of colour refinement on random graphs, by edges, beside networkx's Weisfeiler–Lehman hashes."""

import warnings

import networkx as nx
import numpy as np

from benchmarks.harness import Contender, compare, timed
from deeptheory.graphs.refinement import neighbour_views, refine

ROUNDS = 3
DEGREE = 10
"""mean: twice the edges over the nodes"""


def inputs(edges: int, seed: int) -> tuple[np.ndarray, int]:
    """Distinct random edges without loops, and the number of nodes."""
    draw, nodes = np.random.default_rng(seed), max(2 * edges // DEGREE, 10)
    pairs = draw.integers(nodes, size=(edges + edges // 20 + 100, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return draw.permutation(pairs)[:edges], nodes


def ours(edges: int, seed: int):
    """From the edges on, what each node sees included: colours after every round are what the other side gives."""
    pairs, nodes = inputs(edges, seed)
    seconds, found = timed(lambda: refine(neighbour_views(pairs, nodes), rounds=ROUNDS))
    return seconds, np.array(found.classes[1:])


def theirs(edges: int, seed: int):
    """From a graph of networkx on, whose making is not counted."""
    pairs, nodes = inputs(edges, seed)
    graph = nx.empty_graph(nodes)
    graph.add_edges_from(pairs.tolist())
    with warnings.catch_warnings(action="ignore"):  # hashes differ from those of earlier versions
        seconds, hashes = timed(lambda: nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=ROUNDS))
    return seconds, np.array([len(set(after)) for after in zip(*hashes.values(), strict=True)])


def main(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000), rounds: int = 2) -> str:
    contenders = [
        Contender("deeptheory", f"NumPy {np.__version__}", ours),
        Contender("networkx", f"networkx {nx.__version__}", theirs),
    ]
    title = "Three rounds of colour refinement, by edges, mean degree 10"
    return compare(title, contenders, sizes, rounds=rounds, tolerance=0)
