"""Symmetry: a minimum comes with its orbit, the average of which is no minimum, and between two there is a saddle.

arora Sec. 6.3.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.critical_points import find_critical_points, inertia, spectra_at
from deeptheory.landscapes.symmetry import NeuronSumLoss, mountain_pass, permutation_orbit, symmetrized


@jax.jit
def losses(function, points):
    """The loss at flat weights."""
    return jax.vmap(function)(points)


def ring(w):
    """(‖w‖² − 1)²/4: symmetric under all rotations."""
    return (w @ w - 1) ** 2 / 4


@claim(
    items={
        "A6.12": ("loss at all orders of the neurons", "network at the average", "loss at the average"),
        "A6.13": ("directions down at the pass", "height of the pass", "a ring of minima"),
    },
    says=r"The loss of $h_\theta(x)=\sum_{i\le k}\sigma(\langle w_i,x\rangle)$ is the same at all $k!$ orders of a "
    r"minimum $\theta^*$; at their average $\bar\theta$ the network is $k\sigma(\langle\bar w,x\rangle)$ and the loss "
    "higher, so that it is not convex. The lowest pass between two of them is a saddle with one way down.",
    needs="neurons of distinct weights; isolated minima and dimension at least two for the pass",
    symbols={
        r"h_\theta": r"the network with weights $\theta=(w_1,\dots,w_k)$",
        r"\sigma": "the activation; here tanh",
        "k": "the number of neurons",
        r"\theta^*": "weights of least loss",
        r"\bar\theta": r"the average over all orders, in which every neuron has the weights $\bar w$",
        "x": "an input",
    },
    why="A sum does not see the order of its terms. A convex function is at an average no higher than at the points, "
    "and here it is: one neuron cannot do the work of several different ones. Any way from one minimum to another "
    "must climb; on the way whose highest point is lowest, that point cannot be avoided by moving sideways and is "
    "left by moving on: a saddle of index one.",
    notice="Straight from one minimum to the one with two neurons exchanged the loss climbs a hill, and its top is "
    "where the two are equal. The path that has settled goes over a lower pass, from which exactly one direction "
    r"leads down. A ring, $(\|\theta\|^2-1)^2$, is symmetric too and has no saddle: its minima are not isolated.",
)
def symmetry_makes_saddles(
    key,
    *,
    neurons: Annotated[int, Interval(ge=2, le=5)] = 3,
    samples: Annotated[int, Interval(ge=20, le=400)] = 60,
):
    random = generator(key)
    inputs = random.standard_normal((samples, 2))
    # Neurons in distinct directions, of alternating sign of the first weight.
    angles = np.pi * (np.arange(neurons) + random.uniform(0.2, 0.8, neurons)) / neurons
    teacher = 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    loss = NeuronSumLoss(jnp.asarray(inputs), jnp.asarray(np.tanh(inputs @ teacher.T).sum(1)))
    other = random.standard_normal((neurons, 2))
    orbit = losses(loss, jnp.asarray(permutation_orbit(other).reshape(-1, 2 * neurons)))
    # The weights of one input exchanged between neurons, those of the other left where they are.
    halves = np.stack([np.stack([each[:, 0], other[:, 1]], axis=1) for each in permutation_orbit(other)])
    mean = symmetrized(teacher)
    output = np.asarray(loss.output(jnp.asarray(mean.ravel())))
    average = float(losses(loss, jnp.asarray(mean.reshape(1, -1)))[0])

    exchanged = teacher[[1, 0, *range(2, neurons)]]
    # On one side of the segment, so that the path is free to leave the plane on which two neurons are equal.
    bend = 0.3 * random.standard_normal(2 * neurons)
    ends = jnp.asarray(teacher.ravel()), jnp.asarray(exchanged.ravel())
    top, path = mountain_pass(loss, *ends, bend=jnp.asarray(bend), images=31, steps=4000, step_size=0.3)
    found = spectra_at(loss, top[None])
    assume(found.slope[0] < 1e-9, "the highest point of the path is critical")
    heights, steps = losses(loss, path), np.linspace(0, 1, 61)[:, None]
    straight = losses(loss, jnp.asarray((1 - steps) * teacher.ravel() + steps * exchanged.ravel()))

    # At every length from the maximum's neighbourhood to beyond the ring: by chance all might be near the maximum.
    starts = random.standard_normal((12, 2))
    starts *= np.geomspace(0.01, 2, 12)[:, None] / np.linalg.norm(starts, axis=1, keepdims=True)
    flat = find_critical_points(ring, jnp.asarray(starts))
    counts = inertia(np.asarray(flat.eigenvalues), tolerance=1e-6)
    seen = [[0, 1, 1] in counts.tolist(), [2, 0, 0] in counts.tolist(), [1, 0, 1] in counts.tolist()]
    return {
        "loss at all orders of the neurons": Identity(
            orbit,
            float(losses(loss, jnp.asarray(other.reshape(1, -1)))[0]),
            size=samples,
            aside={"one input": losses(loss, jnp.asarray(halves.reshape(-1, 2 * neurons)))},
        ),
        "network at the average": Identity(
            output,
            neurons * np.tanh(inputs @ teacher.mean(axis=0)),
            scale=neurons,
            aside={"sum of weights": np.tanh(inputs @ teacher.sum(axis=0))},
        ),
        "loss at the average": Inequality(0.0, average, scale=1.0),
        "directions down at the pass": Exact(
            inertia(np.asarray(found.eigenvalues))[:, 0], np.array([1]), aside={"path": heights, "straight": straight}
        ),
        "height of the pass": Inequality(float(found.value[0]), float(np.max(straight)), scale=1.0),
        "a ring of minima": Exact(
            np.array(seen), np.array([True, True, False]), along={"kind": ["valley", "maximum", "saddle"]}
        ),
    }


@symmetry_makes_saddles.control(
    "the weights of one input exchanged, the others not", of="loss at all orders of the neurons"
)
def one_input_exchanged(evidence):
    return replace(evidence, left=evidence.aside["one input"])


@symmetry_makes_saddles.control("one neuron with the sum of the weights", of="network at the average")
def sum_of_weights(evidence):
    return replace(evidence, right=evidence.aside["sum of weights"])


@symmetry_makes_saddles.control("convex: the average is no higher than the minima", of="loss at the average")
def convex(evidence):
    return replace(evidence, quantity=evidence.bound, bound=evidence.quantity)


@symmetry_makes_saddles.control("the pass is a minimum", of="directions down at the pass")
def no_way_down(evidence):
    return replace(evidence, right=np.array([0]))


@symmetry_makes_saddles.control("whatever is symmetric and not constant has a saddle", of="a ring of minima")
def always_a_saddle(evidence):
    return replace(evidence, right=np.array([True, True, True]))


@symmetry_makes_saddles.picture
def over_the_pass(pieces):
    """The loss from one minimum to the one with two neurons exchanged: straight on, and along the settled path."""
    found = pieces["directions down at the pass"].aside
    straight, path = np.asarray(found["straight"]), np.asarray(found["path"])
    marks = [
        Line("straight", np.linspace(0, 1, len(straight)), straight),
        Line("settled path", np.linspace(0, 1, len(path)), path),
        Dots("saddle of index 1", [float(np.argmax(path)) / (len(path) - 1)], [float(path.max())]),
    ]
    return Row([Curves(marks, x="way from one minimum to the other", y="loss")])
