"""Graph tangent kernels against a recursion over pairs of nodes written out by hand."""

import numpy as np
import pytest

from deeptheory.kernels.layers.graphs import closed_neighbourhoods, graph_network, padded_graphs
from deeptheory.kernels.limits.recursion import limit_kernel


def by_hand(features, hearing, other_features, other_hearing, *, blocks, layers):
    """Θ of two graphs as in Du et al. (2019): sums over neighbours, arc-cosine steps, sum over all pairs of nodes."""

    def run(left, right, p, q):
        pairs = {
            key: a @ b.T / a.shape[1]
            for key, (a, b) in {"lr": (left, right), "ll": (left, left), "rr": (right, right)}.items()
        }
        tangent = np.zeros_like(pairs["lr"])
        ends = {"lr": (p, q), "ll": (p, p), "rr": (q, q)}
        for _ in range(blocks):
            pairs = {key: ends[key][0] @ pairs[key] @ ends[key][1].T for key in pairs}
            tangent = p @ tangent @ q.T
            for _ in range(layers):
                own = {"l": np.diagonal(pairs["ll"]), "r": np.diagonal(pairs["rr"])}
                steps = {}
                for key, matrix in pairs.items():
                    size = np.sqrt(np.outer(own[key[0]], own[key[1]]))
                    angle = np.arccos(np.clip(matrix / size, -1, 1))
                    steps[key] = (
                        size * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi,
                        (np.pi - angle) / np.pi,
                    )
                tangent = (2 * pairs["lr"] + 2 * tangent) * steps["lr"][1] / 2
                pairs = {key: step[0] for key, step in steps.items()}
        return float((pairs["lr"] + tangent).sum())

    return run(features, other_features, hearing, other_hearing)


@pytest.mark.parametrize("blocks, layers, average", [(1, 1, False), (2, 2, False), (3, 1, True)])
def test_kernel_of_graphs_of_different_sizes(blocks, layers, average):
    rng = np.random.default_rng(3)
    sizes = (2, 3, 4)
    edges = [np.triu(rng.random((n, n)) < 0.7, 1).astype(float) for n in sizes]
    adjacency = [each + each.T for each in edges]
    features = [rng.standard_normal((n, 3)) for n in sizes]
    x, padded = padded_graphs(features, adjacency)
    pattern = closed_neighbourhoods(padded, average=average)
    found = limit_kernel(graph_network(blocks=blocks, layers=layers), x, want=("ntk",), pattern=(pattern, None)).ntk
    hearing = []
    for each in adjacency:
        whole = each + np.eye(len(each))
        hearing.append(whole / whole.sum(1, keepdims=True) if average else whole)
    expected = [
        [by_hand(a, p, b, q, blocks=blocks, layers=layers) for b, q in zip(features, hearing, strict=True)]
        for a, p in zip(features, hearing, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_bad_graphs_are_refused():
    with pytest.raises(ValueError, match=r"blocks must lie in \[1, 1000\], got 0"):
        graph_network(blocks=0)
    with pytest.raises(ValueError, match="adjacency"):
        padded_graphs([np.ones((2, 1))], [np.ones((3, 3))])
