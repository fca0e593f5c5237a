"""Backpropagation on computation graphs: derivatives by clamping, by messages, and the cost of each (arora Ch. 4)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Rate, Sizes, claim
from deeptheory.lab.pictures import Curves, Dots, Graph, Line, Row, Table
from deeptheory.networks.computation_graphs import (
    clamped_derivative,
    computed,
    evaluate,
    perceptron_graph,
    random_network_graph,
)
from deeptheory.networks.reverse_mode import backpropagate, forward_accumulation

STEP = 1e-30


def slopes_of_steps(graph, values):
    """∂u/∂z for every edge, by an imaginary step in one input of one step: no rule of ours enters."""
    found = {}
    for node, inputs in graph.inputs.items():
        for position, z in enumerate(inputs):
            moved = [values[name] + 1j * STEP * (place == position) for place, name in enumerate(inputs)]
            # Inputs by place, so that one that is read twice moves once.
            step = (graph.steps[node][0], *(str(place) for place in range(len(inputs))))
            value = computed(node, step, {str(place): each for place, each in enumerate(moved)})
            found[node, position, z] = np.imag(value) / STEP
    return found


def sent_by_distance(graph, slopes):
    """Sums of messages if a node sends as soon as the fewest steps lead to it, not when all its readers have sent."""
    sums, wave, sent = {node: 0.0 for node in graph.nodes} | {graph.output: 1.0}, [graph.output], set()
    while wave:
        node, *wave = wave
        if node in sent:
            continue
        sent.add(node)
        for (reader, _, z), slope in slopes.items():
            if reader == node:
                sums[z] += sums[node] * slope
                wave.append(z)
    return sums


def worked_example():
    """The two-two-one network of sigmoids: its leaves, and the derivatives of the loss written out as in lucchi 2.6."""
    x1, x2, y = 0.6, -1.1, 0.9
    w11, w21, w12, w22, w31, w32 = 0.5, -0.3, 0.8, 0.2, 1.4, -0.7

    def sigma(z):
        return 1 / (1 + np.exp(-z))

    def slope(z):
        return sigma(z) * (1 - sigma(z))

    net1, net2 = w11 * x1 + w21 * x2, w12 * x1 + w22 * x2
    h1, h2 = sigma(net1), sigma(net2)
    out = w31 * h1 + w32 * h2
    error = sigma(out) - y
    written = {
        "h2_1": error,
        "w2_1_1": error * slope(out) * h1,
        "w2_2_1": error * slope(out) * h2,
        "h1_1": error * slope(out) * w31,
        "h1_2": error * slope(out) * w32,
        "w1_1_1": error * slope(out) * w31 * slope(net1) * x1,
        "w1_2_1": error * slope(out) * w31 * slope(net1) * x2,
        "w1_1_2": error * slope(out) * w32 * slope(net2) * x1,
        "w1_2_2": error * slope(out) * w32 * slope(net2) * x2,
    }
    weights = {"w1_1_1": w11, "w1_2_1": w21, "w1_1_2": w12, "w1_2_2": w22, "w2_1_1": w31, "w2_2_1": w32}
    return {"x1": x1, "x2": x2, "y": y, **weights}, written, slope(out)


@claim(
    items={
        "A4.1": "messages against clamped nodes",
        "A4.2": "derivative by every weight",
        "A4.3": "chain rule at every node",
        "A4.6": "messages against clamped nodes",
        "L2.13": "the two-two-one network",
    },
    says=r"Cut a node $u$ off from its inputs and move it: the output moves at the rate $\partial f/\partial u$. It is "
    r"$\sum_j\frac{\partial f}{\partial u_j}\frac{\partial u_j}{\partial u}$ over what reads $u$, is the sum of the "
    r"messages that $u$ receives, and gives $\frac{\partial f}{\partial u}z_i$ for each weight of $u=\sum_iw_iz_i$.",
    needs="differentiable steps and no cycle; four random networks that skip layers",
    symbols={
        "u": "a node of the graph",
        r"\partial f/\partial u": "the rate at which the output $f$ moves with $u$, all leaves held",
        "u_j": "the nodes that read $u$",
        "w_i, z_i": "a weight, and the node that it multiplies",
    },
    why="Whatever the node does to the output it does through the nodes that read it, and to first order their "
    "effects add; that is the chain rule. If all of them already know their own derivative, one multiplication for "
    "each of them and a sum give that of the node. Going down from the output, where it is one, in an order in which "
    "every reader comes first, everybody knows it in time. A weight acts on nothing but its own product.",
    notice="The network of the worked example with the values that go up and, below them, the derivatives that come "
    "down. A weight's derivative is the number at its sum times the number that it multiplies.",
)
def node_derivatives_by_messages(key, *, units: Annotated[int, Interval(ge=3, le=20)] = 10):
    by_message, clamped, weights, local, readers = [], [], [], [], []
    early, direct, adjacent, sizes = [], [], [], []
    for each in jax.random.split(key, 4):
        graph = random_network_graph(each, units=units)
        leaves = dict(zip(graph.leaves, generator(each).standard_normal(len(graph.leaves)), strict=True))
        values, run = evaluate(graph, leaves), backpropagate(graph, leaves)
        truth = {node: clamped_derivative(graph, leaves, node) for node in graph.nodes}
        slopes = slopes_of_steps(graph, values)
        by_distance = sent_by_distance(graph, slopes)
        for node in graph.nodes:
            read_by = [(reader, slope) for (reader, _, z), slope in slopes.items() if z == node]
            by_message.append(run.derivatives[node])
            clamped.append(truth[node])
            early.append(by_distance[node])
            direct.append(sum(slope for reader, slope in read_by if reader == "f") + (node == "f"))
            if read_by:
                local.append(truth[node])
                readers.append(sum(truth[reader] * slope for reader, slope in read_by))
                next_up = [(r, slope) for r, slope in read_by if graph.layers[r] == graph.layers[node] + 1]
                adjacent.append(sum(truth[reader] * slope for reader, slope in next_up))
                sizes.append(sum(abs(truth[reader] * slope) for reader, slope in read_by))
        for name in (name for name in graph.leaves if name[0] == "w"):
            unit, place = name[1:].split("_")
            factor = values[graph.steps[f"z{unit}_{place}"][2]]
            weights.append((truth[name], truth[f"net{unit}"] * factor, truth[f"h{unit}"] * factor))
    leaves, written, unused = worked_example()
    example = backpropagate(perceptron_graph((2, 2, 1)), leaves)
    moved, stated, beyond = np.array(weights).T
    return {
        # Sums of many paths that may cancel: rounding is that of the largest derivative.
        "messages against clamped nodes": Identity(
            np.array(by_message),
            np.array(clamped),
            scale=np.max(np.abs(clamped)),
            size=units,
            aside={"in the order of distance": np.array(early), "all others held": np.array(direct)},
        ),
        "derivative by every weight": Identity(
            moved, stated, scale=np.max(np.abs(moved)), size=units, aside={"after the activation": beyond}
        ),
        "chain rule at every node": Identity(
            np.array(local),
            np.array(readers),
            scale=np.max(sizes),
            size=units,
            aside={"readers one layer above": np.array(adjacent)},
        ),
        "the two-two-one network": Identity(
            np.array([example.derivatives[name] for name in written]),
            np.array(list(written.values())),
            size=10,
            along={"derivative by": np.array(list(written))},
            aside={"slope of the output": unused},
        ),
    }


@node_derivatives_by_messages.control(
    "a node sends as soon as the fewest steps lead to it", of="messages against clamped nodes"
)
def too_early(evidence):
    return replace(evidence, left=evidence.aside["in the order of distance"])


@node_derivatives_by_messages.control("all other nodes are held while one moves", of="messages against clamped nodes")
def all_held(evidence):
    return replace(evidence, right=evidence.aside["all others held"])


@node_derivatives_by_messages.control(
    "the derivative of the unit after its activation", of="derivative by every weight"
)
def after_activation(evidence):
    return replace(evidence, right=evidence.aside["after the activation"])


@node_derivatives_by_messages.control("only readers one layer above count", of="chain rule at every node")
def no_skips(evidence):
    return replace(evidence, right=evidence.aside["readers one layer above"])


@node_derivatives_by_messages.control("no slope of the output's own sigmoid", of="the two-two-one network")
def no_output_slope(evidence):
    below = np.arange(len(evidence.right)) > 0
    return replace(
        evidence, right=np.where(below, evidence.right / evidence.aside["slope of the output"], evidence.right)
    )


# Of the worked example what is drawn: name in the book, node of the graph, place.
DRAWN = [
    ("x₁", "x1", (0, 1)), ("x₂", "x2", (0, -1)), ("w₁₁", "w1_1_1", (0.8, 1.8)), ("w₂₁", "w1_2_1", (0.5, 0.4)),
    ("w₁₂", "w1_1_2", (0.5, -0.4)), ("w₂₂", "w1_2_2", (0.8, -1.8)), ("net₁", "net1_1", (1.6, 1)),
    ("net₂", "net1_2", (1.6, -1)), ("h₁", "h1_1", (2.6, 1)), ("h₂", "h1_2", (2.6, -1)), ("w₃₁", "w2_1_1", (3.2, 1.8)),
    ("w₃₂", "w2_2_1", (3.2, -1.8)), ("net", "net2_1", (4, 0)), ("ŷ", "h2_1", (5, 0)), ("y", "y", (5, -1)),
    ("L", "L", (6, 0)),
]  # fmt: skip


@node_derivatives_by_messages.picture
def values_up_and_derivatives_down(pieces):
    """The network of the worked example, and at each of its nodes the value and the derivative of the loss by it."""
    graph, leaves = perceptron_graph((2, 2, 1)), worked_example()[0]
    run = backpropagate(graph, leaves)
    labels, names, places = zip(*DRAWN, strict=True)
    # Products and the parts of the loss are drawn as edges.
    short = {f"z{layer}_{i}_{j}": f"net{layer}_{j}" for layer in (1, 2) for i in (1, 2) for j in (1, 2)}
    ends = {(short.get(a, a), short.get(b, b)) for a, b in graph.edges} | {("h2_1", "L"), ("y", "L")}
    edges = [(names.index(a), names.index(b)) for a, b in sorted(ends) if a != b and a in names and b in names]
    kinds = ["weight" if name[0] == "w" else "given" if name in leaves else "computed" for name in names]
    values, slopes = ([f"{part[name]:.4f}" for name in names] for part in (run.values, run.derivatives))
    table = Table({"node": labels, "value, going up": values, "derivative, coming down": slopes})
    return Row([Graph(places, edges, kinds=kinds, labels=labels), table])


def layer_table(width):
    """(nodes, edges that end in them) of each layer of the graph of the perceptron, by hand."""
    layers = [(width + 2 * width**2 + width + 1, 0)]
    for units in (width, width, 1):
        weights = width * units
        layers += [(weights, 2 * weights), (units, weights), (units, units)]
    return [*layers, (1, 2), (1, 1), (1, 1)]


@claim(
    items={
        "A4.4": ("products of forward accumulation", "products against V·E", "both give the gradient"),
        "A4.5": ("messages of backpropagation", "messages against V + E", "both give the gradient"),
    },
    says=r"Backpropagation finds $\partial f/\partial u$ for all $V$ nodes with one message for each of the $E$ edges. "
    r"Forward accumulation of all $\partial u_i/\partial u_j$ multiplies once for each edge and each node in a layer "
    r"below its end: at most $VE$ times, in wide networks more than half of that.",
    needs="nodes that are numbers; every node leads to the output; networks with two hidden layers of equal width, "
    "every weight a leaf",
    symbols={
        "V, E": "the number of nodes and of edges",
        r"\partial f/\partial u": "how the output moves with node $u$",
        r"\partial u_i/\partial u_j": "how node $i$ moves with node $j$ below it",
    },
    why="Coming from the output, a node needs one number, its own derivative, and hands one number along each edge. "
    "Coming from the leaves, it must carry one number for every node below that might be asked about, along every "
    "edge. Weights are leaves, so most nodes lie below most edges.",
    notice="Both compute the same derivatives. On logarithmic axes the messages rise with slope one, the products "
    "with slope two: at width 16 they are nearly eight hundred times as many.",
    explore={"widths": ((2, 4, 8), (2, 4, 8, 16), (4, 8, 16, 20))},
)
def messages_and_products(key, *, widths: Annotated[Sizes, MinLen(3)] = (2, 4, 8, 16)):
    rng, counts, gradients = generator(key), [], []
    for width in widths:
        graph = perceptron_graph((width, width, width, 1), activation="tanh")
        leaves = dict(zip(graph.leaves, rng.standard_normal(len(graph.leaves)) / width**0.5, strict=True))
        run, forward = backpropagate(graph, leaves), forward_accumulation(graph, leaves)
        counts.append((len(graph.nodes), len(run.messages), forward.products))
        last = forward.derivatives[forward.nodes.index(graph.output)]
        gradients.append((last, np.array([run.derivatives[node] for node in forward.nodes])))
    nodes, messages, products = np.array(counts).T
    tables = [np.array(layer_table(width)) for width in widths]
    edges = np.array([table[:, 1].sum() for table in tables])
    by_hand = [table[1:, 1] @ np.cumsum(table[:, 0])[:-1] for table in tables]
    along = {"width": np.array(widths)}
    ours, theirs = (np.concatenate(each) for each in zip(*gradients, strict=True))
    return {
        "messages of backpropagation": Exact(messages, edges, along=along),
        "products of forward accumulation": Exact(
            products, np.array(by_hand), along=along, aside={"V": nodes, "E": edges, "messages": messages}
        ),
        "products against V·E": Rate(nodes * edges, products, exponent=1.0, resolution=0.1, rivals=(0.75,)),
        "messages against V + E": Rate(nodes + edges, messages, exponent=1.0, resolution=0.1, rivals=(1.25,)),
        "at most V·E": Inequality(products, nodes * edges, along=along),
        "both give the gradient": Identity(ours, theirs, scale=np.max(np.abs(ours)), size=widths[-1]),
    }


@messages_and_products.control("V messages, one a node", of="messages of backpropagation")
def one_a_node(evidence):
    return replace(
        evidence,
        left=evidence.left,
        right=np.array([sum(n for n, _ in layer_table(w)) for w in evidence.along["width"]]),
    )


@messages_and_products.control("V·E products, the bound itself", of="products of forward accumulation")
def the_bound(evidence):
    return replace(evidence, right=evidence.aside["V"] * evidence.aside["E"])


@messages_and_products.control("half of V·E is enough", of="at most V·E")
def half_of_it(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@messages_and_products.picture
def work_by_size(pieces):
    """Products of forward accumulation and messages of backpropagation over the size of the graph."""
    counted = pieces["products of forward accumulation"]
    size = counted.aside["V"] + counted.aside["E"]
    marks = [
        Dots("forward accumulation", size, counted.left),
        Line("V·E", size, counted.aside["V"] * counted.aside["E"]),
        Dots("backpropagation", size, counted.aside["messages"]),
        Line("E", size, counted.aside["E"]),
    ]
    return Curves(marks, x="size of the graph V + E", y="products", log="xy")
