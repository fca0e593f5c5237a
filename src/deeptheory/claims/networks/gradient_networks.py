"""The gradient as a network of the size of the graph, and products with the Hessian from its gradient (arora 4.4)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Rate, Sizes, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.networks.computation_graphs import clamped_derivative, evaluate, perceptron_graph, random_network_graph
from deeptheory.networks.reverse_mode import gradient_graph, hessian_vector_graph

STEPS = (1e-3, 2e-3)


def sizes_by_hand(width):
    """Size of the graph of the tanh perceptron, two hidden layers of `width`, and what its messages add, sums last."""
    weights, units = 2 * width**2 + width, 2 * width + 1
    size = width + 5 * weights + 3 * units + 8
    # A product sends two messages of one step and two edges each, a tanh one of three steps and four edges, a sum its
    # own; the squared error and the first message add ten.
    messages = 6 * weights + 7 * units + 10
    # Inputs and units of the first hidden layer add up as many messages as the layer above has units.
    return size, messages, 2 * width * (width + 1)


def moved_gradient(graph, leaves, vector, step):
    """The gradient at z + step·v: every leaf moved by an imaginary step, no rule of ours."""
    at = {z: leaves[z] + step * part for z, part in zip(leaves, vector, strict=True)}
    return np.array([clamped_derivative(graph, at, z) for z in leaves])


@claim(
    items={
        "A4.11": (
            "values of the gradient's graph",
            "size of the gradient's graph",
            "growth of the gradient's graph",
        ),
        "A4.12": ("product with the Hessian", "growth of the Hessian's graph"),
    },
    says=r"The messages of a graph with $V$ nodes and $E$ edges are a graph again, of size $O(V+E)$, which computes "
    r"all $\partial f/\partial z_i$. The same done to $\langle\nabla f,v\rangle$ gives $\nabla^2f\,v$ for a vector $v$ "
    r"of new inputs in size $O(V+E)$; the Hessian itself has $m^2$ entries for $m$ leaves.",
    needs="messages of a fixed number of steps; values on a random network that skips layers, sizes on perceptrons of "
    "growing width",
    symbols={
        "f": "the output of the graph",
        "V, E": "the number of nodes and of edges; the size of a graph is $V+E$",
        "z_1, …, z_m": "the leaves: inputs and weights",
        "v": "a vector with an entry for each leaf",
    },
    why="Every message is computed from the values of the graph by a few steps: a product, and the slope of one "
    "operation. So each edge adds a few nodes, each node one sum, and the graph of the gradient is at most some "
    "constant times as large. It is a graph like any other, so one may take the product of its outputs with a vector, "
    "a number, and go through the same again: the constant is squared and the size is still linear.",
    notice="The gradient's graph is two and a half times as large as the network, that of the Hessian's product not "
    "quite eleven times, at every width. The number of entries of the Hessian grows with the square of the size.",
)
def gradients_as_networks(key, *, widths: Annotated[Sizes, MinLen(3)] = (2, 4, 8)):
    first, second, third = jax.random.split(key, 3)
    graph = random_network_graph(first, units=8)
    leaves = dict(zip(graph.leaves, generator(second).standard_normal(len(graph.leaves)), strict=True))
    vector = generator(third).standard_normal(len(graph.leaves))
    # Differences of the fourth order: their error is step⁴ times the fifth derivative, some 1e-11.
    near, far = (
        moved_gradient(graph, leaves, vector, step) - moved_gradient(graph, leaves, vector, -step) for step in STEPS
    )
    gradient, curved = moved_gradient(graph, leaves, vector, 0.0), (8 * near - far) / (12 * STEPS[0])
    once, twice = gradient_graph(graph), hessian_vector_graph(graph)
    slopes = evaluate(once.graph, leaves)
    products, *columns = (
        evaluate(twice.graph, leaves | {f"v:{z}": v for z, v in zip(leaves, each, strict=True)})
        for each in (vector, *np.eye(len(vector)))
    )
    diagonal = [column[twice.slopes[z]] for z, column in zip(leaves, columns, strict=True)]
    networks = [perceptron_graph((width, width, width, 1), activation="tanh") for width in widths]
    size, count = np.array([(network.size, len(network.leaves)) for network in networks]).T
    single = np.array([gradient_graph(network).graph.size for network in networks])
    double = np.array([hessian_vector_graph(network).graph.size for network in networks])
    by_hand = np.array([sizes_by_hand(width) for width in widths])
    return {
        "values of the gradient's graph": Identity(
            np.array([slopes[once.slopes[z]] for z in leaves]), gradient, scale=np.abs(gradient).max(), size=len(leaves)
        ),
        "product with the Hessian": Identity(
            np.array([products[twice.slopes[z]] for z in leaves]),
            curved,
            scale=np.abs(curved).max(),
            error=1e-8 * np.abs(curved).max(),
            aside={"diagonal": diagonal * vector, "squares": gradient * (gradient @ vector)},
        ),
        "size of the gradient's graph": Exact(
            single,
            by_hand.sum(1),
            along={"width": np.array(widths)},
            aside={"size": size, "Hessian": double, "entries": count**2, "sums": by_hand[:, 2]},
        ),
        "growth of the gradient's graph": Rate(size, single, exponent=1.0, resolution=0.1, rivals=(1.25,)),
        "growth of the Hessian's graph": Rate(size, double, exponent=1.0, resolution=0.1, rivals=(1.25,)),
    }


@gradients_as_networks.control("sums of messages are not counted", of="size of the gradient's graph")
def without_sums(evidence):
    return replace(evidence, right=evidence.right - evidence.aside["sums"])


@gradients_as_networks.control("the diagonal of the Hessian alone", of="product with the Hessian")
def diagonal(evidence):
    return replace(evidence, right=evidence.aside["diagonal"])


@gradients_as_networks.control("the outer product of the gradient with itself", of="product with the Hessian")
def outer_product(evidence):
    return replace(evidence, right=evidence.aside["squares"])


@gradients_as_networks.picture
def sizes(pieces):
    """Sizes of the network, of its gradient's graph and of that of the Hessian's product, over the network's size."""
    counted = pieces["size of the gradient's graph"]
    size = counted.aside["size"]
    marks = [
        Line("the network", size, size),
        Dots("its gradient", size, counted.left),
        Line("12/5 of it, the limit", size, 2.4 * size),
        Dots("product with the Hessian", size, counted.aside["Hessian"]),
        Dots("entries of the Hessian", size, counted.aside["entries"]),
    ]
    return Curves(marks, x="nodes and edges of the network", y="nodes and edges", log="xy")
