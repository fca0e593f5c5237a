"""Random graphs, by edges: colour refinement and bridges beside networkx, message passing beside sparse matrices."""

import warnings

import jax
import networkx as nx
import numpy as np
import scipy
from scipy.sparse import csr_array

from benchmarks.harness import Contender, compare, timed
from deeptheory.graphs.biconnectivity import bridges
from deeptheory.graphs.message_passing import init_layers, pass_messages
from deeptheory.graphs.refinement import neighbour_views, refine

ROUNDS = 3
WIDTH = 16
"""of the states of nodes"""
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
    graph = as_networkx(edges, seed)
    with warnings.catch_warnings(action="ignore"):  # hashes differ from those of earlier versions
        seconds, hashes = timed(lambda: nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=ROUNDS))
    return seconds, np.array([len(set(after)) for after in zip(*hashes.values(), strict=True)])


def as_networkx(edges: int, seed: int) -> nx.Graph:
    pairs, nodes = inputs(edges, seed)
    graph = nx.empty_graph(nodes)
    graph.add_edges_from(pairs.tolist())
    return graph


def our_bridges(edges: int, seed: int):
    """Of a graph of networkx, as on the other side."""
    graph = as_networkx(edges, seed)
    seconds, found = timed(lambda: bridges(graph))
    return seconds, np.array([len(found)])


def their_bridges(edges: int, seed: int):
    graph = as_networkx(edges, seed)
    seconds, found = timed(lambda: list(nx.bridges(graph)))
    return seconds, np.array([len(found)])


def network(nodes: int, seed: int):
    """Weights of three layers, and states to begin with, in single precision."""
    layers = init_layers(jax.random.key(seed), [WIDTH] * (ROUNDS + 1))
    states = np.random.default_rng(seed).standard_normal((nodes, WIDTH))
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), (layers, states))


passed = jax.jit(lambda layers, states, views: pass_messages(layers, states, views)[-1])


def our_messages(edges: int, seed: int):
    """From what each node sees on; the first call compiles."""
    pairs, nodes = inputs(edges, seed)
    layers, states = network(nodes, seed)
    views = neighbour_views(pairs, nodes)
    seconds, found = timed(lambda: jax.block_until_ready(passed(layers, states, views)))
    return seconds, np.mean(np.square(found), 0)


def sparse_messages(edges: int, seed: int):
    """The same layers with the neighbours as a sparse matrix, whose making is not counted."""
    pairs, nodes = inputs(edges, seed)
    layers, states = network(nodes, seed)
    ones = np.ones(2 * len(pairs), np.float32)
    neighbours = csr_array((ones, np.concatenate([pairs, pairs[:, ::-1]]).T), shape=(nodes, nodes))

    def passing():
        now = states
        for layer in layers:
            now = np.tanh(now @ layer.own + neighbours @ (now @ layer.heard[0]) + layer.bias)
        return now

    seconds, found = timed(passing)
    return seconds, np.mean(np.square(found), 0)


def main(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000), rounds: int = 2) -> str:
    contenders = [
        Contender("deeptheory", f"NumPy {np.__version__}", ours),
        Contender("networkx", f"networkx {nx.__version__}", theirs),
    ]
    title = "Three rounds of colour refinement, by edges, mean degree 10"
    cutting = [
        Contender("deeptheory", "a loop in Python", our_bridges),
        Contender("networkx", f"networkx {nx.__version__}", their_bridges),
    ]
    passing = [
        Contender("deeptheory", f"JAX {jax.__version__}", our_messages),
        Contender("sparse matrices", f"SciPy {scipy.__version__}", sparse_messages),
    ]
    return "\n\n".join(
        [
            compare(title, contenders, sizes, rounds=rounds, tolerance=0),
            compare("Bridges, by edges, mean degree 10", cutting, sizes, rounds=rounds, tolerance=0),
            compare(
                f"Messages in three layers of width {WIDTH}, by edges", passing, sizes, rounds=rounds, tolerance=1e-3
            ),
        ]
    )
