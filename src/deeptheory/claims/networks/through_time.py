"""Shared weights and loops: gradients of occurrences add, and messages through time vanish or explode (arora 4.4)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.networks.computation_graphs import clamped_derivative, random_network_graph
from deeptheory.networks.recurrences import through_time, tie
from deeptheory.networks.reverse_mode import backpropagate

RADII = np.array([0.8, 0.95, 1.0, 1.05, 1.2])


@jax.jit
def differentiated(recurrent, drive, initial, slopes):
    """The gradient of Σ⟨slopes_t, h_t⟩ by JAX."""

    def value(recurrent, drive, initial):
        def step(state, pushed):
            state = jnp.tanh(recurrent @ state + pushed)
            return state, state

        return jnp.sum(jax.lax.scan(step, initial, drive)[1] * slopes)

    return jax.grad(value, argnums=(0, 1, 2))(recurrent, drive, initial)


def flat(parts):
    return np.concatenate([np.ravel(part) for part in parts])


@claim(
    items={
        "A4.9": "derivative of a shared weight",
        "A4.10": ("gradient through time", "message after K steps", "length of the message after K steps"),
    },
    says=r"The derivative by a shared parameter is the sum of those by its occurrences, so $\partial F/\partial W$ of "
    r"a recurrent network is a sum over times. In $h_t=Wh_{t-1}$ a message that came down $K$ steps is $(W^\top)^K$ of "
    r"itself: $\rho^K$ as long if $W/\rho$ is orthogonal.",
    needs="one value for all occurrences; the tanh network with a loss at every time, the linear ones with a loss at "
    "the last",
    symbols={
        "F": "the loss, a function of the states",
        "W": "the recurrent matrix, the same at every time",
        "h_t": "the state at time $t$",
        "K": "how many steps of time the message has passed",
        r"\rho": "how much longer $W$ makes every vector, if $W/\\rho$ is orthogonal",
    },
    why="Moving a shared weight moves all its occurrences at once, and to first order the effects add. Each step down "
    "in time multiplies the message by the transposed Jacobian of one step, the same matrix again and again where the "
    "network is linear. Lengths therefore go like a power of the number of steps unless the matrix keeps all lengths.",
    notice="On a logarithmic axis the lengths are straight lines: after fifty steps of 1.2 a message is nine thousand "
    "times as long, after fifty of 0.8 it is a seventy-thousandth. With an orthogonal matrix it keeps its length.",
    explore={"steps": (10, 25, 50)},
)
def messages_through_time(key, *, steps: Annotated[int, Interval(ge=2, le=60)] = 50):
    first, second = jax.random.split(key)
    rng = generator(second)
    graph = random_network_graph(first, units=8)
    weights = [z for z in graph.leaves if z[0] == "w"]
    shared, given = rng.standard_normal(), {z: rng.standard_normal() for z in graph.leaves if z[0] == "x"}
    copies = backpropagate(graph, given | dict.fromkeys(weights, shared)).derivatives
    moved, added = [], []
    for count in range(2, len(weights) + 1):  # ever more of them tied, the others free at the same value
        leaves = given | dict.fromkeys(weights[count:], shared) | {"w": shared}
        moved.append(clamped_derivative(tie(graph, weights[:count], "w"), leaves, "w"))
        added.append([copies[z] if z in weights[:count] else 0.0 for z in weights])
    recurrent, initial = rng.standard_normal((4, 4)), rng.standard_normal(4)
    drive, slopes = rng.standard_normal((2, 12, 4))
    ours, theirs = through_time(recurrent, drive, initial, slopes), differentiated(recurrent, drive, initial, slopes)
    last = np.zeros((steps, 4))
    last[-1] = slopes[-1]
    still = np.zeros((steps, 4))
    # Far from normal, and no power of it is out of range.
    skew = recurrent / np.linalg.norm(recurrent, 2)
    powers = [np.linalg.matrix_power(each, steps) @ last[-1] for each in (skew.T, skew)]
    came = through_time(skew, still, initial, last, linear=True).messages[0]
    turn = np.linalg.qr(recurrent)[0]
    lengths = [
        np.linalg.norm(through_time(radius * turn, still, initial, last, linear=True).messages, axis=1)[::-1]
        for radius in RADII
    ]
    back = np.arange(steps + 1)
    passed = np.maximum(back - 1, 0)  # the message at the last state is the slope itself, and nothing came before
    return {
        "derivative of a shared weight": Identity(
            np.array(moved),
            np.sum(added, axis=1),
            scale=np.sum(np.abs(added), axis=1),
            size=len(graph.nodes),
            along={"occurrences": np.arange(2, len(weights) + 1)},
        ),
        "gradient through time": Identity(
            flat([ours.recurrent, ours.drive, ours.messages[0]]),
            flat(theirs),
            scale=np.abs(flat(theirs)).max(),
            size=12 * 4,
            aside={"without the first step": flat([ours.occurrences[1:].sum(0), ours.drive, ours.messages[0]])},
        ),
        "message after K steps": Identity(
            came, powers[0], scale=np.abs(powers[0]).max(), size=4 * steps, aside={"not transposed": powers[1]}
        ),
        "length of the message after K steps": Identity(
            np.array(lengths),
            np.linalg.norm(slopes[-1]) * RADII[:, None] ** back,
            size=4 * steps,
            along={"rho": RADII, "steps down": back},
            aside={"passed": passed},
        ),
    }


@messages_through_time.control("the mean of the occurrences", of="derivative of a shared weight")
def mean(evidence):
    return replace(evidence, right=evidence.right / evidence.along["occurrences"])


@messages_through_time.control("the first step is left out of the sum", of="gradient through time")
def truncated(evidence):
    return replace(evidence, left=evidence.aside["without the first step"])


@messages_through_time.control("powers of W, not of its transpose", of="message after K steps")
def not_transposed(evidence):
    return replace(evidence, right=evidence.aside["not transposed"])


@messages_through_time.control("one power less", of="length of the message after K steps")
def one_less(evidence):
    start = evidence.right[:, :1]
    return replace(evidence, right=start * evidence.along["rho"][:, None] ** evidence.aside["passed"])


@messages_through_time.picture
def lengths_over_time(pieces):
    """The length of a message on its way down through time, for matrices that are ρ times an orthogonal one."""
    seen = pieces["length of the message after K steps"]
    radii, back = seen.along["rho"], seen.along["steps down"]
    marks = []
    for radius, line, dots in zip(radii, seen.right, seen.left, strict=True):
        marks += [Line(f"ρ = {radius:g}", back, line), Dots(f"ρ = {radius:g}", back[::5], dots[::5])]
    return Curves(marks, x="steps down in time", y="length of the message", log="y")
