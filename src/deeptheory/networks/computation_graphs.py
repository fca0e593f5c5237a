"""Computation graphs without cycles: what every node computes, in which layer, and what moves when one is clamped.

A graph is a table of steps: ComputationGraph({"u": ("multiply", "w", "x"), "f": ("tanh", "u")}, "f"). Names that are
used and not computed are its leaves, inputs and parameters alike; numbers among the inputs of a step are constants.

Reference: arora 4.1 and 4.2; lucchi 2.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from deeptheory.foundations.arrays import namespace
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator
from deeptheory.networks.operations import OPERATIONS

__all__ = ["ComputationGraph", "clamped_derivative", "evaluate", "perceptron_graph", "random_network_graph"]

Value = Any
"""a number or an array, of NumPy or JAX"""
Leaves = Mapping[str, Value]
STEP = 1e-30
"""an imaginary step: f(x + ih) has imaginary part h f′(x) with nothing subtracted, so no step is too small"""


@dataclass(frozen=True)
class ComputationGraph:
    """Steps by name, (operation, *inputs), in any order, and the name of the output.

    Operations are those of `networks.operations`. A graph with a cycle is refused: `recurrences.unroll` makes it one
    without. Reference: arora 4.1.
    """

    steps: Mapping[str, tuple[Any, ...]]
    output: str

    def __post_init__(self) -> None:
        for name, step in self.steps.items():
            _checked(name, step)
        if self.output not in self.nodes:
            raise ValueError(f"output must be one of the {len(self.nodes)} nodes, got {self.output!r}")

    @cached_property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """The nodes that each step reads, in order, constants left out."""
        return {name: tuple(z for z in step[1:] if isinstance(z, str)) for name, step in self.steps.items()}

    @cached_property
    def layers(self) -> dict[str, int]:
        """The layer of every node: 0 for leaves, else one above the highest of its inputs."""
        try:
            order = list(TopologicalSorter(self.inputs).static_order())
        except CycleError as error:
            # graphlib lists a cycle against the direction in which values flow.
            raise ValueError(
                f"a computation graph must have no cycle, got {' → '.join(reversed(error.args[1]))}"
            ) from None
        found: dict[str, int] = {}
        for node in order:
            found[node] = 1 + max((found[z] for z in self.inputs[node]), default=0) if node in self.inputs else 0
        return found

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, layer by layer from the leaves up: each after everything it reads."""
        return tuple(sorted(self.layers, key=self.layers.__getitem__))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The nodes that are given and not computed."""
        return tuple(node for node in self.nodes if node not in self.steps)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs (input, node), one for every time that a node is read."""
        return tuple((z, node) for node in self.nodes if node in self.inputs for z in self.inputs[node])

    @property
    def size(self) -> int:
        """V + E."""
        return len(self.nodes) + len(self.edges)


def _checked(name: str, step: Any) -> None:
    if not isinstance(step, tuple | list) or not step or step[0] not in OPERATIONS:
        raise ValueError(
            f"the step {name!r} must be an operation and its inputs, one of {', '.join(OPERATIONS)}; got {step!r:.60}"
        )
    arity = OPERATIONS[step[0]].arity
    if len(step) - 1 != arity if arity else len(step) < 2:
        raise ValueError(f"the step {name!r} must have {arity or 'some'} inputs for {step[0]}, got {len(step) - 1}")
    for z in step[1:]:
        if not isinstance(z, str) and not (isinstance(z, float | int) and np.isfinite(z)):
            raise ValueError(f"the step {name!r} must read names and finite numbers, got {z!r:.60}")


def evaluate(graph: ComputationGraph, leaves: Leaves, *, clamped: Leaves | None = None) -> dict[str, Value]:
    """Return the value of every node.

    Args:
        graph: the steps.
        leaves: a value for each leaf, numbers or arrays; arrays of JAX can be traced, so `jax.grad` goes through.
        clamped: nodes that are cut off from their inputs and held at the value given here.
    """
    clamped = clamped or {}
    given = {**_fitting(graph, leaves), **{name: np.asarray(value)[()] for name, value in clamped.items()}}
    if stray := [name for name in clamped if name not in graph.layers]:
        raise ValueError(f"clamped must name nodes of the graph, got {stray[0]!r}")
    xp = namespace(*given.values())
    values: dict[str, Value] = {}
    for node in graph.nodes:
        values[node] = given[node] if node in given else computed(node, graph.steps[node], values, xp)
    return values


def computed(node: str, step: tuple[Any, ...], values: Leaves, xp: Any = np) -> Value:
    """Return what one step makes of the values of its inputs."""
    value = applied(step[0], *(values[z] if isinstance(z, str) else z for z in step[1:]), xp=xp, node=node)
    return np.float64(value) if type(value) in (float, int) else value


def applied(name: str, *inputs: Value, xp: Any = np, node: str = "") -> Value:
    """Return the value of an operation, whose tensors must fit each other."""
    # A number written into the graph is a plain one of Python and fits any shape; a node that holds a number does not.
    shapes = [np.shape(z) for z in inputs if type(z) not in (float, int)]
    if not OPERATIONS[name].fits(shapes):
        raise ValueError(f"{name}{f' at {node!r}' if node else ''} must get inputs that fit, got shapes {shapes}")
    return OPERATIONS[name].value(xp, *inputs)


def _fitting(graph: ComputationGraph, leaves: Leaves) -> dict[str, Value]:
    """Every leaf with a value, made of real numbers; more than that is refused as a slip of the pen."""
    missing = [name for name in graph.leaves if name not in leaves]
    stray = [name for name in leaves if name not in graph.leaves]
    if missing or stray:
        what = f"no value for {missing[0]!r}" if missing else f"a value for {stray[0]!r}"
        raise ValueError(
            f"leaves must have a value for each of the {len(graph.leaves)} leaves and no others, got {what}"
        )
    return {name: _number(name, value) for name, value in leaves.items()}


def _number(name: str, value: Value) -> Value:
    if isinstance(value, jax.Array):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)):
        raise ValueError(f"the leaf {name!r} must be made of finite real numbers, got {value!r:.60}".replace("\n", " "))
    return array.astype(float)[()]


def clamped_derivative(graph: ComputationGraph, leaves: Leaves, node: str) -> Value:
    """Return ∂f/∂u by its definition: cut u off from its inputs, hold it near its value, and watch the output move.

    The rate is the imaginary part of the output after an imaginary step, which has no error of differences; one entry
    of a tensor after another. One evaluation of the whole graph for every entry of one node: to check `backpropagate`
    against, not to train with. At a kink of ReLU it is the derivative from the left.

    Args:
        graph: the steps; its output is a number.
        leaves: a value for each leaf.
        node: the u of ∂f/∂u.

    Reference: arora 4.1.
    """
    values = evaluate(graph, leaves)
    if node not in values:
        raise ValueError(f"node must be one of the {len(graph.nodes)} nodes, got {node!r}")
    if np.shape(values[graph.output]):
        raise ValueError(f"the output must be a number, got an array of shape {np.shape(values[graph.output])}")
    at = np.asarray(values[node], complex)
    result = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        moved = at.copy()
        moved[place] += 1j * STEP
        result[place] = np.imag(evaluate(graph, leaves, clamped={node: moved[()]})[graph.output]) / STEP
    return result[()]


def perceptron_graph(widths: tuple[int, ...], *, activation: str = "sigmoid") -> ComputationGraph:
    """Return the graph of a fully connected network with every weight a leaf, and its squared error as the output.

    Leaves are the inputs `x1`, …, the weights `w1_i_j` of layer 1 from unit i to unit j, … and the target `y`; the
    output is L = ½(ŷ − y)² of the last and only unit ŷ, which has the activation too (lucchi 2.6).

    Args:
        widths: units of each layer from the inputs to the output; the last is 1.
        activation: the operation that every unit applies to its sum.
    """
    if len(widths) < 2 or widths[-1] != 1 or min(widths) < 1:
        raise ValueError(f"widths must go from the inputs to one output, got {widths}")
    if activation not in OPERATIONS or OPERATIONS[activation].arity != 1:
        raise ValueError(f"activation must be an operation with one input, got {activation!r}")
    steps: dict[str, tuple[Any, ...]] = {}
    below = [f"x{i}" for i in range(1, widths[0] + 1)]
    for layer, (_, width) in enumerate(pairwise(widths), start=1):
        above = [f"h{layer}_{j}" for j in range(1, width + 1)]
        for j, unit in enumerate(above, start=1):
            weighed = [f"z{layer}_{i}_{j}" for i in range(1, len(below) + 1)]
            steps |= {z: ("multiply", f"w{z[1:]}", unit_below) for z, unit_below in zip(weighed, below, strict=True)}
            steps[f"net{layer}_{j}"] = ("add", *weighed)
            steps[unit] = (activation, f"net{layer}_{j}")
        below = above
    steps |= {"error": ("subtract", below[0], "y"), "squared": ("square", "error"), "L": ("multiply", 0.5, "squared")}
    return ComputationGraph(steps, "L")


def random_network_graph(key: Key[Array, ""], *, inputs: int = 3, units: int = 8) -> ComputationGraph:
    """Draw a network without layers: each unit weighs one to three of the inputs and units before it, some twice.

    Every weight is a leaf. Unit j has the nodes `z{j}_{k}` = `w{j}_{k}` times what is read, `net{j}`, their sum, and
    `h{j}`, a sine, tanh, sigmoid or softplus of it; the output `f` adds up all units. A graph to check things on.
    """
    rng = generator(key)
    steps: dict[str, tuple[Any, ...]] = {}
    before = [f"x{i}" for i in range(1, inputs + 1)]
    for j in range(1, units + 1):
        read = [str(name) for name in rng.choice(before, rng.integers(1, 4))]
        steps |= {f"z{j}_{k}": ("multiply", f"w{j}_{k}", name) for k, name in enumerate(read, start=1)}
        steps[f"net{j}"] = ("add", *(f"z{j}_{k}" for k in range(1, len(read) + 1)))
        steps[f"h{j}"] = (str(rng.choice(["sin", "tanh", "sigmoid", "softplus"])), f"net{j}")
        before.append(f"h{j}")
    return ComputationGraph(steps | {"f": ("add", *(f"h{j}" for j in range(1, units + 1)))}, "f")


doors(__name__, inputs="[1, 1000]", units="[1, 10000]")
