"""Online tensor decomposition, the strict-saddle problem that handbook 5.3 cites."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Chance, Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, HeatMap, Row
from deeptheory.landscapes.critical_points import distinct_points, find_critical_points
from deeptheory.landscapes.tensor_decomposition import (
    OrthogonalTensor,
    online_components,
    sphere_spectrum,
    tensor_critical_points,
)


class OnRays(OrthogonalTensor):
    """The loss of a direction, whatever the length of the vector: its critical points are rays."""

    def __call__(self, u):
        return super().__call__(u) / (u @ u) ** 2


@jax.jit
def measured(function, points):
    """Spectra along the sphere, and values."""
    return jax.vmap(lambda u: sphere_spectrum(function, u))(points), jax.vmap(function)(points)


@jax.jit
def decompose(samples, start, rates):
    """What runs find that all begin at one point, each from its samples."""
    return jax.vmap(lambda stream: online_components(stream, start, rates=rates))(samples)


@jax.jit
def still(function, start):
    """Two hundred steps of plain gradient descent on the sphere."""

    def step(_, u):
        u = u - 0.05 * jax.grad(function)(u)
        return u / jnp.linalg.norm(u)

    return jax.lax.fori_loop(0, 200, step, start)


@claim(
    items={"H5.7": ("nothing but the list", "curvature", "plain descent stays", "components missed")},
    says=r"On the sphere $-\sum_{i\le d}w_i\langle a_i,u\rangle^4$ has $3^d-1$ critical points: for each choice of $k$ "
    r"components and signs one, of curvature $-8\lambda$ in $k-1$ directions and $4\lambda$ in the others, "
    r"$\lambda=1/\sum_I\frac1{w_i}$. Minima are the $\pm a_i$ alone; online descent from the worst saddle finds all.",
    needs="orthonormal components, positive weights; online, independent signals with fourth moments 3 − wᵢ",
    symbols={
        "d": "the dimension, and the number of components",
        "w_i": "the weight of a component; 3 less the fourth moment of its signal",
        "a_i": "the components, orthonormal",
        "u": "a point of the unit sphere",
        "k": "how many components a critical point mixes",
        r"\lambda": "what the tensor is there",
        "I": "the set of these components",
    },
    why=r"With $c_i=\langle a_i,u\rangle$ a critical point has $w_ic_i^3=\lambda c_i$: either $c_i=0$ or "
    r"$c_i^2=\lambda/w_i$. Moving weight from one chosen component to another makes the sum of fourth powers larger, "
    r"since it is convex in the squares; moving it to one that is not chosen makes it smaller. So a mixture always has "
    r"a way down, no flatter than $8/\sum_i\frac1{w_i}$, and the noise of single samples finds it.",
    notice="Left, the loss at all critical points: each further component that is mixed in raises it, and adds a way "
    "down. The online runs start at the highest, where plain descent would stay. Right, the shares of the "
    "components in the directions that one run found, one after another: a permutation with signs.",
    full=dict(dimension=4, samples=6000),
)
def tensors_are_decomposed_online(
    key,
    *,
    dimension: Annotated[int, Interval(ge=2, le=4)] = 3,
    samples: Annotated[int, Interval(ge=3000, le=100_000)] = 3000,
    signals: Literal["signs and uniform", "Gaussian"] = "signs and uniform",
    trials: Trials = 100,
):
    random = generator(key)
    components = np.linalg.qr(random.standard_normal((dimension, dimension)))[0]
    weights = random.uniform(0.5, 2.0, dimension)
    function = OrthogonalTensor(jnp.asarray(components), jnp.asarray(weights))
    listed = tensor_critical_points(components, weights)
    spectra, values = measured(function, jnp.asarray(np.stack([point.position for point in listed])))

    # From everywhere: no critical point is found that is not listed, and every orbit is met.
    starts = jnp.asarray(unit_vectors(random, 25 * 3**dimension, dimension))
    rays = OnRays(function.components, function.weights)
    found = jax.tree.map(np.asarray, find_critical_points(rays, starts, steps=40))
    shares = np.abs(found.position / np.linalg.norm(found.position, axis=1, keepdims=True) @ components.T)
    shares = shares[found.slope < 1e-9]
    orbits = shares[distinct_points(shares, tolerance=1e-6)]
    own = np.abs(np.stack([point.position for point in listed]) @ components.T)
    near = np.linalg.norm(orbits[:, None] - own, axis=2).min(1)

    # Signals: signs (fourth moment 1) and uniform ones (9/5), so that the weights are 2 and 6/5 in turn.
    shape = (trials, dimension, samples, dimension)
    odd = np.arange(dimension) % 2 == 1
    signal = np.where(odd, random.uniform(-1, 1, shape) * 3**0.5, random.choice([-1.0, 1.0], shape))
    if signals == "Gaussian":
        signal = random.standard_normal(shape)
    kurtosis = np.where(odd, 6 / 5, 2.0)
    worst = tensor_critical_points(components, kurtosis)[-1].position
    # Less what has been found this is, for later directions, the worst saddle of what is left.
    begun = jnp.asarray(np.tile(worst, (dimension, 1)))
    rates = 0.03 / (1 + np.arange(samples) / (samples / 20))
    reached = np.asarray(decompose(jnp.asarray(signal @ components), begun, jnp.asarray(rates)))
    overlap = np.abs(reached @ components.T)
    matched = np.sort(np.argmax(overlap, axis=2), axis=1) == np.arange(dimension)
    missed = ~(np.all(overlap.max(2) > 0.95, axis=1) & np.all(matched, axis=1))
    even = np.ones(2) / 2**0.5
    plain = still(OrthogonalTensor(jnp.eye(2), jnp.ones(2)), jnp.asarray(even))
    return {
        "nothing but the list": Exact(
            np.array([np.sum(near < 1e-6), len(orbits), sum(point.orbit for point in listed)]),
            np.array([2**dimension - 1, 2**dimension - 1, 3**dimension - 1]),
            aside={"dimension": dimension},
        ),
        "curvature": Identity(
            np.column_stack([spectra, values]),
            np.stack([np.append(point.spectrum, point.value) for point in listed]),
            scale=8.0,
            aside={"top": [-point.value for point in listed], "size": [len(point.chosen) for point in listed]},
        ),
        "plain descent stays": Exact(np.asarray(plain[0] == plain[1]), np.array(True)),
        "components missed": Chance(int(missed.sum()), trials, 0.1, aside={"overlap": reached[0] @ components.T}),
    }


@tensors_are_decomposed_online.control("a point and its negative only, no other signs", of="nothing but the list")
def two_signs(evidence):
    orbits = 2 ** evidence.aside["dimension"] - 1
    return replace(evidence, right=np.array([orbits, orbits, 2 * orbits]))


@tensors_are_decomposed_online.control("without the bend of the sphere: −12λ and 0", of="curvature")
def flat_space(evidence):
    bent = np.array(evidence.right)
    bent[:, :-1] -= 4 * np.asarray(evidence.aside["top"])[:, None]
    return replace(evidence, right=bent)


@tensors_are_decomposed_online.control("k descending directions where k components are mixed", of="curvature")
def one_more(evidence):
    top, size = np.asarray(evidence.aside["top"]), np.asarray(evidence.aside["size"])
    down = np.arange(evidence.right.shape[1] - 1) < size[:, None]
    return replace(evidence, right=np.column_stack([np.where(down, -8, 4) * top[:, None], -top]))


tensors_are_decomposed_online.control(
    "Gaussian signals, of which fourth moments know nothing", of="components missed", signals="Gaussian"
)


@tensors_are_decomposed_online.picture
def steps_and_components(pieces):
    """The loss at every critical point by the components it mixes (left); what one run found, in shares (right)."""
    curvature, missed = pieces["curvature"], pieces["components missed"]
    size, top = np.asarray(curvature.aside["size"]), np.asarray(curvature.aside["top"])
    overlap = np.asarray(missed.aside["overlap"])
    names = [f"a{i + 1}" for i in range(len(overlap))]
    stairs = [Dots(f"index {k}", size[size == k + 1], -top[size == k + 1]) for k in range(len(overlap))]
    return Row(
        [
            Curves(stairs, x="components mixed", y="loss −T(u)"),
            HeatMap(overlap, [f"direction {i + 1}" for i in range(len(overlap))], names, middle=0.0),
        ]
    )
