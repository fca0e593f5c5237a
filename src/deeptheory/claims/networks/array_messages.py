"""Nodes that are vectors and matrices: messages are products with transposed Jacobians (arora 4.3)."""

from dataclasses import replace

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import HeatMap, Row
from deeptheory.networks.computation_graphs import ComputationGraph, computed, perceptron_graph
from deeptheory.networks.operations import OPERATIONS
from deeptheory.networks.reverse_mode import backpropagate

STEP = 1e-30
SIZES = ((2, 3, 4), (4, 2, 1), (3, 3, 3))
"""rows of W, columns of W and columns of Z; where all are equal, any order of the factors fits"""
SHAPES = {"matmul": [(2, 3), (3, 4)], "transpose": [(2, 3)], "spread": [(), (2, 3)], "correlate": [(2,), (5,)]}
SHAPES |= {"convolve": [(3,), (4,)]}
TWICE = ("add", "subtract", "multiply", "divide", "convolve")
"""operations whose inputs may be one and the same"""
WIDTHS = (3, 4, 4, 1)


def transposed_jacobian(step, values, name):
    """One row for each entry of an input, with the slopes of all outputs: by imaginary steps, no rule of ours."""
    rows = []
    for place in np.ndindex(np.shape(values[name])):
        moved = np.array(values[name], complex)
        moved[place] += 1j * STEP
        rows.append(np.imag(computed("u", step, values | {name: moved})).ravel() / STEP)
    return np.array(rows)


def sent_and_stated(rng, step, values):
    """Of one step: what its inputs receive for a drawn message, the last message to each, and the definition's."""
    message = rng.standard_normal(np.shape(computed("u", step, values)))
    run = backpropagate(ComputationGraph({"u": step}, "u"), values, message=message)
    last = {each.receiver: each.value for each in run.messages}
    parts = [
        (run.derivatives[z], last.get(z, run.derivatives[z]), transposed_jacobian(step, values, z) @ message.ravel())
        for z in values
    ]
    return [np.concatenate([np.ravel(each) for each in part]) for part in zip(*parts, strict=True)]


def matrix_graph(depth):
    """The perceptron of `perceptron_graph` with tanh, one matrix a layer: its steps."""
    steps, below = {}, "x"
    for layer in range(1, depth + 1):
        steps |= {f"a{layer}": ("matmul", f"W{layer}", below), f"h{layer}": ("tanh", f"a{layer}")}
        below = f"h{layer}"
    steps |= {"error": ("subtract", below, "y"), "squared": ("square", "error"), "sum": ("total", "squared")}
    return ComputationGraph(steps | {"L": ("multiply", 0.5, "sum")}, "L")


@claim(
    items={
        "A4.7": ("messages of every operation", "matrices as leaves, or every weight"),
        "A4.8": "messages of a product",
    },
    says=r"A node $u\in\mathbb R^p$ that receives $S$ sends $\big(\frac{\partial u}{\partial z}\big)^\top S$ to its "
    r"input $z\in\mathbb R^q$. Of $U=WZ$ the messages are $W^\top S$ to $Z$ and $SZ^\top$ to $W$. Weights are leaves "
    "like any other, so one rule for each operation differentiates every graph.",
    needs="differentiable steps, no cycle; no rule enters the other side, which is made of imaginary steps",
    symbols={
        "S": r"what a node has received, $\partial f/\partial u$, of the shape of $u$",
        r"\big(\frac{\partial u}{\partial z}\big)^\top": "the transposed Jacobian, a row for each entry of the input",
        "W, Z, U": "two matrices and their product",
    },
    why=r"A move $dz$ of the input moves the output by $\langle S,\frac{\partial u}{\partial z}dz\rangle$, and the "
    r"transpose brings the matrix to the other side. For a product, $\langle S,W\,dZ\rangle=\langle W^\top S,dZ"
    r"\rangle$ and $\langle S,dW\,Z\rangle=\langle SZ^\top,dW\rangle$: the Jacobian, with as many entries as input and "
    "output have pairs, is never written down. An input that is read twice receives two messages, and they add.",
    notice=r"Left the transposed Jacobian of $U=WZ$ by $Z$: each entry of $W^\top$ stands on a diagonal of its own, "
    r"since columns do not mix; all else is zero. Right what comes out of its product with $S$, which is $W^\top S$.",
)
def messages_between_arrays(key):
    rng = generator(key)
    received, stated, other, drawn = [], [], [], []
    for rows, inner, columns in SIZES:
        w, z, s = (rng.standard_normal(shape) for shape in ((rows, inner), (inner, columns), (rows, columns)))
        run = backpropagate(ComputationGraph({"u": ("matmul", "w", "z")}, "u"), {"w": w, "z": z}, message=s)
        of_z, of_w = np.kron(w, np.eye(columns)).T, np.kron(np.eye(rows), z.T).T
        received.append(np.concatenate([np.ravel(run.derivatives[each]) for each in "zw"]))
        stated.append(np.concatenate([of_z @ s.ravel(), of_w @ s.ravel()]))
        other.append(np.concatenate([(s @ w.T).ravel(), (z.T @ s).ravel()]) if rows == inner == columns else stated[-1])
        drawn.append((of_z, s, run.derivatives["z"]))

    cases = []
    for name, operation in OPERATIONS.items():
        shapes = SHAPES.get(name, [(2, 3)] * (operation.arity or 3))
        leaves = {f"x{i}": rng.uniform(0.5, 2, shape) for i, shape in enumerate(shapes)}
        cases.append(sent_and_stated(rng, (name, *leaves), leaves))
    for name in TWICE:
        x = rng.uniform(0.5, 2, 4)
        cases.append(sent_and_stated(rng, (name, "x", "x"), {"x": x}))
    ours, last, theirs = (np.concatenate(part) for part in zip(*cases, strict=True))

    matrices = [rng.standard_normal(shape) for shape in zip(WIDTHS[1:], WIDTHS, strict=False)]
    x, y = rng.standard_normal(WIDTHS[0]), 0.3
    named = {f"W{layer}": w for layer, w in enumerate(matrices, 1)}
    slopes = backpropagate(matrix_graph(len(matrices)), named | {"x": x[:, None], "y": np.full((1, 1), y)}).derivatives
    single = {
        f"w{layer}_{i}_{j}": w[j - 1, i - 1]
        for layer, w in enumerate(matrices, 1)
        for i in range(1, w.shape[1] + 1)
        for j in range(1, w.shape[0] + 1)
    }
    inputs = {f"x{i}": value for i, value in enumerate(x, 1)}
    one_by_one = backpropagate(perceptron_graph(WIDTHS, activation="tanh"), single | inputs | {"y": y}).derivatives
    return {
        "messages of a product": Identity(
            np.concatenate(received),
            np.concatenate(stated),
            scale=1.0,
            size=10,
            aside={
                "of the factors in the other order": np.concatenate(other),
                **dict(zip(("jacobian", "sent", "received"), drawn[0], strict=True)),
            },
        ),
        "messages of every operation": Identity(ours, theirs, scale=1.0, size=40, aside={"last message": last}),
        "matrices as leaves, or every weight": Identity(
            np.concatenate([slopes[name].T.ravel() for name in named]),
            np.array([one_by_one[name] for name in single]),
            scale=1.0,
            size=40,
            aside={"rows for columns": np.concatenate([slopes[name].ravel() for name in named])},
        ),
    }


@messages_between_arrays.control("SWᵀ and ZᵀS, as of U = ZW, where they fit", of="messages of a product")
def other_order(evidence):
    return replace(evidence, right=evidence.aside["of the factors in the other order"])


@messages_between_arrays.control("an input that is read twice keeps the last message", of="messages of every operation")
def last_message(evidence):
    return replace(evidence, left=evidence.aside["last message"])


@messages_between_arrays.control(
    "the weight from i to j in row i of its matrix", of="matrices as leaves, or every weight"
)
def rows_for_columns(evidence):
    return replace(evidence, left=evidence.aside["rows for columns"])


@messages_between_arrays.picture
def jacobian_of_a_product(pieces):
    """The transposed Jacobian of a product of matrices by its second factor, the message S, and what arrives."""
    aside = pieces["messages of a product"].aside

    def places(shape):
        return [f"{i},{j}" for i in range(1, shape[0] + 1) for j in range(1, shape[1] + 1)]

    sent, received = np.asarray(aside["sent"]), np.asarray(aside["received"])
    whole = HeatMap(
        np.asarray(aside["jacobian"]), places(received.shape), places(sent.shape), y="entry of Z", x="entry of U",
        value="slope", middle=0.0, title="transposed Jacobian",
    )  # fmt: skip
    arrived = HeatMap(
        received, [f"{i}" for i in range(1, len(received) + 1)], [f"{j}" for j in range(1, received.shape[1] + 1)],
        y="row of Z", x="column of Z", value="derivative", middle=0.0, title="received by Z",
    )  # fmt: skip
    return Row([whole, arrived])
