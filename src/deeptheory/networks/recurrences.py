"""Shared weights and time: tied leaves of a graph, networks with loops unrolled, and backpropagation through time."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.networks.computation_graphs import ComputationGraph

__all__ = ["ThroughTime", "clipped_gradient", "recurrent_states", "through_time", "tie", "unroll"]

Matrix = Float[np.ndarray, "d d"]
States = Float[np.ndarray, "times d"]


def tie(graph: ComputationGraph, occurrences: Sequence[str], shared: str) -> ComputationGraph:
    """Return the graph in which several leaves hold one value: each becomes a copy of the new leaf `shared`.

    Its derivative is the sum of theirs. A network with shared weights is one whose weights were free and were tied.

    Args:
        graph: the steps.
        occurrences: the leaves that are to be the same.
        shared: a new name for what they share.

    Reference: arora 4.4.
    """
    for name in occurrences:
        if name not in graph.leaves:
            raise ValueError(f"occurrences must be leaves of the graph, got {name!r}")
    if shared in graph.layers:
        raise ValueError(f"shared must be a new name, got {shared!r}, which is a node already")
    return ComputationGraph({**graph.steps, **{name: ("copy", shared) for name in occurrences}}, graph.output)


def unroll(
    steps: Mapping[str, tuple[Any, ...]],
    *,
    carried: Mapping[str, str],
    output: str,
    length: int,
    inputs: Sequence[str] = (),
    tied: bool = True,
) -> ComputationGraph:
    """Return a network with loops as a graph without, one copy of its steps for each time from 1 to `length`.

    Args:
        steps: what happens at one time; ComputationGraph would refuse the loops that `carried` closes.
        carried: for each name that stands for the time before, the step whose value it takes: {"before": "h"}.
        output: the step whose value at the last time is the output.
        length: how many times; the node u at time t is called `u@t`, and `h@0` is a leaf for each carried h.
        inputs: leaves that have another value at each time, `x@1` to `x@length`.
        tied: other leaves are parameters, the same at all times; with False `w@t` of their own, so that the
            derivative of each occurrence can be read. `tie` makes one of them.

    Reference: arora 4.4.
    """
    read_somewhere = {z for step in steps.values() for z in step[1:]}
    for kind, names, known, what in (
        ("carried", carried.values(), steps, "steps"),
        ("output", [output], steps, "a step"),
        ("inputs", inputs, read_somewhere, "what some step reads"),
    ):
        if stray := [name for name in names if name not in known]:
            raise ValueError(f"{kind} must name {what}, got {stray[0]!r}")

    def at(name: str | float, time: int) -> str | float:
        if not isinstance(name, str):
            return name
        if name in carried:
            return f"{carried[name]}@{time - 1}"
        return f"{name}@{time}" if name in steps or name in inputs or not tied else name

    return ComputationGraph(
        {
            f"{name}@{time}": (operation, *(at(z, time) for z in read))
            for time in range(1, length + 1)
            for name, (operation, *read) in steps.items()
        },
        f"{output}@{length}",
    )


def recurrent_states(
    recurrent: Matrix, drive: States, initial: Float[np.ndarray, " d"], *, linear: bool = False
) -> Float[np.ndarray, "all_times d"]:
    """Return h₀, …, h_T of the recurrent network h_t = tanh(W h_{t−1} + d_t), or without the tanh if `linear`.

    Args:
        recurrent: W.
        drive: d_t for t = 1, …, T: what the inputs add, U x_t + b.
        initial: h₀.

    Reference: arora 4.4; Elman 1990.
    """
    states = [initial]
    for pushed in drive:
        states.append(recurrent @ states[-1] + pushed)
        if not linear:
            states[-1] = np.tanh(states[-1])
    return np.array(states)


class ThroughTime(NamedTuple):
    """The gradient of a loss in the recurrent matrix and the drive, and ∂F/∂h_t for t = 0, …, T."""

    recurrent: Float[np.ndarray, "d d"]
    drive: Float[np.ndarray, "times d"]
    messages: Float[np.ndarray, "all_times d"]
    occurrences: Float[np.ndarray, "times d d"]


def through_time(
    recurrent: Matrix, drive: States, initial: Float[np.ndarray, " d"], slopes: States, *, linear: bool = False
) -> ThroughTime:
    """Backpropagate through time: the gradient of F = Σ_t ℓ_t(h_t) for the network of `recurrent_states`.

    The message ∂F/∂h_{t−1} = ∇ℓ_{t−1} + Wᵀ(1 − h_t²)∂F/∂h_t runs from the last time to the first. The gradient of W is
    the sum of what its occurrences get, `occurrences`, one a time. After K steps without loss a message of a linear
    network is (Wᵀ)ᴷ of what it was: it vanishes or explodes unless the singular values of W are 1.

    Args:
        recurrent: W.
        drive: d_t for t = 1, …, T.
        initial: h₀.
        slopes: ∇ℓ_t(h_t) for t = 1, …, T, zero where there is no loss; those of a loss that is not linear are taken
            at the states of `recurrent_states`.

    Reference: arora 4.4.
    """
    states = recurrent_states(recurrent, drive, initial, linear=linear)
    messages, pushed = [np.zeros_like(initial)], []
    for before_tanh, slope in zip(1 - states[:0:-1] ** 2, slopes[::-1], strict=True):
        messages[-1] = messages[-1] + slope
        pushed.append(messages[-1] * (1.0 if linear else before_tanh))
        messages.append(recurrent.T @ pushed[-1])
    drives = np.array(pushed[::-1])
    occurrences = drives[:, :, None] * states[:-1, None, :]
    return ThroughTime(occurrences.sum(0), drives, np.array(messages[::-1]), occurrences)


def clipped_gradient(gradient: Float[np.ndarray, "*shape"], *, radius: float) -> Float[np.ndarray, "*shape"]:
    """Return the gradient, shortened to length `radius` where it is longer: its direction stays (arora 4.4)."""
    largest = np.abs(gradient).max()
    length = largest * np.linalg.norm(gradient / largest) if largest else 0.0  # the squares of huge entries overflow
    return gradient if length <= radius else gradient * (radius / length)


doors(__name__, length="[1, 10000]", radius="(0, ∞)")
