"""Backpropagation as messages that can be watched, beside the slower ways to the same derivatives, with their costs.

Every node sends S · ∂u/∂z to each of its inputs z, where S is the sum of what it received itself, and 1 at the output:
one message an edge. Forward accumulation of ∂uᵢ/∂uⱼ for all pairs takes one product for every edge and every j below
it, and a sum over all paths from a node to the output one for every path. The messages are written in the operations of
the graph, so they make a graph too, of size O(V + E), and its own gradient gives products with the Hessian.

Reference: arora Ch. 4, lucchi 2.6; Werbos 1988, Pearlmutter 1994.
"""

from typing import Any, NamedTuple

import numpy as np

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.networks.computation_graphs import ComputationGraph, Leaves, Value, applied, evaluate
from deeptheory.networks.operations import OPERATIONS

__all__ = [
    "Backward",
    "GradientGraph",
    "Message",
    "backpropagate",
    "forward_accumulation",
    "gradient_graph",
    "hessian_vector_graph",
    "hessian_vector_product",
    "sum_over_paths",
    "trace",
]


class Message(NamedTuple):
    """What one node sends to one of its inputs, S · ∂u/∂z, and the sum that the receiver has by then."""

    sender: str
    receiver: str
    value: Value
    received: Value


class Backward(NamedTuple):
    """Values of all nodes, ∂f/∂u of all nodes, and the messages in the order in which they were sent."""

    values: dict[str, Value]
    derivatives: dict[str, Value]
    messages: list[Message]


def backpropagate(graph: ComputationGraph, leaves: Leaves, *, message: float | np.ndarray | None = None) -> Backward:
    """Compute ∂f/∂u for every node u by one wave of messages from the output down; one message an edge.

    Args:
        graph: the steps.
        leaves: a value for each leaf.
        message: what the output starts with, of its shape; 1 unless said, for which the output must be a number. With
            another one derivatives are those of ⟨message, output⟩; for a graph of elementwise operations alone whose
            leaves are batches, an array of ones gives the derivatives of every example in one call.

    Nodes that the output does not depend on have derivative 0. At a kink of ReLU the derivative is 0.
    Reference: arora Algorithm 4.
    """
    values = evaluate(graph, leaves)
    shape = np.shape(values[graph.output])
    if message is None and shape:
        raise ValueError(f"the output must be a number unless a message is given, got an array of shape {shape}")
    if message is not None and np.shape(message) != shape:
        raise ValueError(f"message must have the shape of the output, {shape}, got {np.shape(message)}")
    sums = {graph.output: np.asarray(1.0 if message is None else message, float)[()]}
    messages = []
    for sender in reversed(graph.nodes):
        if sender not in sums or sender not in graph.steps:
            continue
        operation, *inputs = graph.steps[sender]
        read = [values[z] if isinstance(z, str) else z for z in inputs]
        for position, receiver in enumerate(inputs):
            rule = OPERATIONS[operation].rule(position)
            if rule is None or not isinstance(receiver, str):
                continue
            sent = rule(applied, sums[sender], values[sender], *read)
            sums[receiver] = sums[receiver] + sent if receiver in sums else sent
            messages.append(Message(sender, receiver, sent, sums[receiver]))
    nothing = {node: np.zeros(np.shape(values[node]))[()] for node in graph.nodes}
    return Backward(values, nothing | sums, messages)


def trace(graph: ComputationGraph, leaves: Leaves) -> str:
    """Return the run of `backpropagate` as a text: every value on the way up, every message on the way down."""
    run = backpropagate(graph, leaves)
    lines = [f"{node} = {_shown(run.values[node])}" for node in graph.nodes]
    lines += [f"S({graph.output}) = 1"]
    for sender, receiver, value, received in run.messages:
        lines.append(f"{sender} → {receiver}: {_shown(value)}   S({receiver}) = {_shown(received)}")
    return "\n".join(lines)


def _shown(value: Value) -> str:
    return np.array2string(np.asarray(value), precision=6, suppress_small=True).replace("\n", "")


class Accumulation(NamedTuple):
    """∂uᵢ/∂uⱼ at [i, j] for all pairs of nodes, in the order `nodes`, and how many products it took."""

    nodes: tuple[str, ...]
    derivatives: np.ndarray
    products: int


def forward_accumulation(graph: ComputationGraph, leaves: Leaves) -> Accumulation:
    """Compute ∂uᵢ/∂uⱼ for every pair of nodes from the leaves up: one product an edge for each j in a lower layer.

    That is at most V·E products, and the last row alone is what `backpropagate` needs E messages for. For graphs whose
    nodes are all numbers.

    Reference: arora 4.1.2.
    """
    values = evaluate(graph, leaves)
    slopes = _local(graph, values)
    place = {node: i for i, node in enumerate(graph.nodes)}
    lower = np.searchsorted([graph.layers[node] for node in graph.nodes], range(max(graph.layers.values()) + 1))
    affordable(derivatives=(len(place),) * 2)
    derivatives, products = np.eye(len(place)), 0
    for node in graph.nodes:
        below = lower[graph.layers[node]]
        for z, slope in slopes.get(node, ()):
            derivatives[place[node], :below] += slope * derivatives[place[z], :below]
            products += int(below)
    return Accumulation(graph.nodes, derivatives, products)


def sum_over_paths(graph: ComputationGraph, leaves: Leaves, node: str) -> tuple[float, int]:
    """Return ∂f/∂u as the sum, over all paths from u to the output, of the products of local derivatives along them.

    The second number is how many paths there are: it may double with every layer, so this is for small graphs whose
    nodes are all numbers. Reference: arora 4.1.1, the chain rule applied until only local derivatives are left.
    """
    if node not in graph.layers:
        raise ValueError(f"node must be one of the {len(graph.nodes)} nodes, got {node!r}")
    slopes = _local(graph, evaluate(graph, leaves))
    readers: dict[str, list[tuple[str, float]]] = {}
    for reader, read in slopes.items():
        for z, slope in read:
            readers.setdefault(z, []).append((reader, slope))
    total, paths, open_paths = 0.0, 0, [(node, 1.0)]
    while open_paths:
        end, product = open_paths.pop()
        if end == graph.output:
            total, paths = total + product, paths + 1
        open_paths += [(reader, product * slope) for reader, slope in readers.get(end, ())]
    return float(total), paths


def _local(graph: ComputationGraph, values: dict[str, Value]) -> dict[str, list[tuple[str, Value]]]:
    """∂u/∂z for every edge, as a list of (z, ∂u/∂z) for every node u."""
    if tensors := [node for node in graph.nodes if np.shape(values[node])]:
        raise ValueError(
            f"every node must be a number, got an array of shape {np.shape(values[tensors[0]])} at {tensors[0]!r}"
        )
    found: dict[str, list[tuple[str, Value]]] = {}
    for node, (operation, *inputs) in graph.steps.items():
        read = [values[z] if isinstance(z, str) else z for z in inputs]
        rules = [OPERATIONS[operation].rule(position) for position in range(len(inputs))]
        found[node] = [
            (z, rule(applied, np.float64(1.0), values[node], *read) if rule else 0.0)
            for z, rule in zip(inputs, rules, strict=True)
            if isinstance(z, str)
        ]
    return found


class GradientGraph(NamedTuple):
    """A graph that computes derivatives beside the output, and the node that holds ∂f/∂z for each leaf z."""

    graph: ComputationGraph
    slopes: dict[str, str]


def gradient_graph(graph: ComputationGraph) -> GradientGraph:
    """Return a graph that contains this one and computes the derivative of its output, a number, by every leaf.

    The messages of `backpropagate` become steps: a constant number of them for each edge, so the size stays O(V + E). A
    leaf that the output does not depend on gets a node that is zero. Evaluate it with `evaluate` at the same leaves;
    differentiate it again for second derivatives.

    Reference: arora Claim 4.4.1.
    """
    made = dict(graph.steps)
    mark = "∂" * (1 + max((len(name) - len(name.lstrip("∂")) for name in graph.nodes), default=0))

    def do(operation: str, *inputs: str | float) -> str:
        name = f"{mark}{len(made) - len(graph.steps) + 1}"
        made[name] = (operation, *inputs)
        return name

    received: dict[str, list[Any]] = {graph.output: [do("copy", 1.0)]}
    sums: dict[str, str] = {}
    for node in reversed(graph.nodes):
        messages = received.get(node)
        if messages is None:
            continue
        sums[node] = messages[0] if len(messages) == 1 else do("add", *messages)
        operation, *inputs = graph.steps.get(node, ("copy",))
        for position, z in enumerate(inputs):
            rule = OPERATIONS[operation].rule(position)
            if rule is not None and isinstance(z, str):
                received.setdefault(z, []).append(rule(do, sums[node], node, *inputs))
    slopes = {leaf: sums[leaf] if leaf in sums else do("multiply", 0.0, leaf) for leaf in graph.leaves}
    return GradientGraph(ComputationGraph(made, graph.output), slopes)


def hessian_vector_graph(graph: ComputationGraph) -> GradientGraph:
    """Return a graph of size O(V + E) that computes the Hessian of the output times a vector.

    It differentiates ⟨∇f(z), v⟩. The vector is given by new leaves, `v:z` for each leaf z; its output is ⟨∇f(z), v⟩,
    and `slopes` holds the node of (∇²f v)_z for each leaf z of the graph given. Of a graph with ReLU it is the Hessian
    of the smooth piece around the point.

    Reference: arora 4.4.1.
    """
    first = gradient_graph(graph)
    steps = dict(first.graph.steps)
    for leaf, slope in first.slopes.items():
        steps |= {f"{slope}·v:{leaf}": ("multiply", slope, f"v:{leaf}")}
        steps |= {f"⟨{slope},v:{leaf}⟩": ("total", f"{slope}·v:{leaf}")}
    steps["⟨∇,v⟩"] = ("add", *(f"⟨{slope},v:{leaf}⟩" for leaf, slope in first.slopes.items()))
    second = gradient_graph(ComputationGraph(steps, "⟨∇,v⟩"))
    return GradientGraph(second.graph, {leaf: second.slopes[leaf] for leaf in graph.leaves})


def hessian_vector_product(graph: ComputationGraph, leaves: Leaves, vector: Leaves) -> dict[str, Value]:
    """Return ∇²f(z) v, by leaf, without forming the Hessian: the work of a few gradients.

    Args:
        graph: the steps; the output is a number.
        leaves: where, a value for each leaf.
        vector: v, a number or an array of the leaf's shape for each leaf.
    """
    if list(vector) != list(leaves) and set(vector) != set(leaves):
        raise ValueError(f"vector must have an entry for each of the {len(graph.leaves)} leaves, got {len(vector)}")
    second = hessian_vector_graph(graph)
    values = evaluate(second.graph, {**leaves, **{f"v:{name}": part for name, part in vector.items()}})
    return {leaf: values[node] for leaf, node in second.slopes.items()}


doors(__name__)
