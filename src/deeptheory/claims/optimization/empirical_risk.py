"""Training as a flow on the empirical risk: it never rises, and many directions lead down from where it starts.

jagannath 8.1.
"""

import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.integrate import solve_ivp

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.optimization.empirical_risk import (
    autoencoder_saddle,
    negative_directions,
    phase_retrieval_hessian,
    phase_retrieval_risk,
    risk_rate,
)
from deeptheory.optimization.landscapes import TanhNetworkLoss

STENCIL = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12
"""Weights of the derivative from five values a unit apart, exact to fourth order."""
SPREAD = 2e-3

rates = jax.jit(lambda inputs, labels, points: risk_rate(TanhNetworkLoss(inputs, labels, (4,)), points))
curvature_of = jax.jit(jax.hessian(phase_retrieval_risk))
slope = jax.jit(lambda inputs, labels, point: jax.value_and_grad(TanhNetworkLoss(inputs, labels, (4,)))(point))


@claim(
    items={"J8.1": ("rate", "balance", "steps")},
    says=r"Along gradient flow $\dot\theta=-\nabla\hat R$ from a random start the empirical risk falls at the rate "
    r"$\frac{d}{dt}\hat R=-\|\nabla\hat R\|^2$, hence by $\int\|\nabla\hat R\|^2dt$ in all; an Euler step of length "
    r"$\eta$ misses $-\eta\|\nabla\hat R\|^2$ by order $\eta^2$.",
    needs="a differentiable risk",
)
def risk_falls_by_the_squared_gradient(
    key, *, samples: Annotated[int, Interval(ge=4, le=200)] = 20, starts: Annotated[int, Interval(ge=1, le=20)] = 3
):
    draw = generator(key)
    seen, stated, lost, drops = [], [], [], []
    defects = np.empty((5, starts))
    steps = 0.1 * 0.5 ** np.arange(5)
    for index in range(starts):
        inputs, labels = draw.standard_normal((samples, 6)), draw.standard_normal(samples)
        begin = np.append(draw.standard_normal(24) / 6**0.5, draw.standard_normal(4) / 2)

        def flow(_, state, inputs=inputs, labels=labels):
            gradient = np.asarray(slope(inputs, labels, state[:-1])[1])
            return np.append(-gradient, gradient @ gradient)

        # The last coordinate of the state adds up ‖∇R‖² dt. Around each time five values, for a derivative.
        centres = np.array([0.05, 0.5, 2.0, 6.0])
        times = (centres[:, None] + SPREAD * np.arange(-2, 3)).ravel()
        found = solve_ivp(flow, (0, 7.0), np.append(begin, 0.0), "DOP853", times, rtol=1e-12, atol=1e-12)
        path, spent = found.y[:-1].T, found.y[-1]
        risks, falling, _ = map(np.asarray, rates(inputs, labels, np.vstack([begin, path])))
        around = risks[1:].reshape(4, 5)
        seen.append(around @ STENCIL / SPREAD)
        stated.append(falling[3::5])
        lost.append(risks[0] - around[:, 2])
        drops.append(spent[2::5])
        gradient = np.asarray(slope(inputs, labels, begin)[1])
        after = np.array([slope(inputs, labels, begin - step * gradient)[0] for step in steps])
        defects[:, index] = np.abs(after - risks[0] - steps * falling[0])
    largest = np.max(np.abs(stated))
    return {
        # A derivative from five values that are known to 1e-13, over times 2e-3 apart.
        "rate": Identity(np.array(seen), np.array(stated), scale=largest, error=1e-8 * largest),
        "balance": Identity(np.array(lost), np.array(drops), scale=1.0, error=1e-10),
        "steps": Rate(steps, defects.mean(1), exponent=2.0, rivals=(1.0, 3.0)),
    }


@risk_falls_by_the_squared_gradient.control("half the squared gradient", of="rate")
def half_the_square(evidence):
    return replace(evidence, right=evidence.right / 2)


@risk_falls_by_the_squared_gradient.control("the gradient's length, not its square", of="rate")
def length(evidence):
    return replace(evidence, right=-np.sqrt(-evidence.right))


@jax.jit
def spectra(inputs, labels, points):
    """Hessian eigenvalues of networks with four hidden units, one problem a row."""
    return jax.vmap(lambda x, y, p: risk_rate(TanhNetworkLoss(x, y, (4,)), p[None]).spectrum[0])(inputs, labels, points)


@jax.jit
def origin_spectra(inputs):
    """Hessian eigenvalues at zero of autoencoders x ↦ Vtanh(Wx) with two hidden units, one data set a row."""

    def one(x):
        size = 2 * x.shape[1]

        def risk(p):
            inner, outer = p[:size].reshape(2, -1), p[size:].reshape(-1, 2)
            return jnp.mean(jnp.sum((x - jnp.tanh(x @ inner.T) @ outer.T) ** 2, axis=1)) / 2

        return risk_rate(risk, jnp.zeros((1, 2 * size))).spectrum[0]

    return jax.vmap(one)(inputs)


@claim(
    items={"J8.2": ("origin", "count at the origin", "phase retrieval", "small start", "start", "random start")},
    says=r"The Hessian of the empirical risk has a number of negative eigenvalues proportional to $d$, the dimension "
    r"of the inputs, in three cases: an autoencoder with $h$ hidden units has $hd$ at the origin, the negatives of "
    r"the singular values of $E[xx^\top]$; phase retrieval has Hessian $(3\|w\|^2-\|v\|^2)I+6ww^\top-2vv^\top$, with "
    r"$d$ negative eigenvalues at random $w$ with $\|w\|=\frac14\|v\|$ and $d-1$ at $\frac12\|v\|$; a tanh network "
    r"with four hidden units and 64 samples, at a start of variance one over the fan-in, has a mean number that grows "
    r"like $d^1$ from $d=4$ to 32.",
    needs="an activation with σ(0) = 0, σ′(0) = 1 for the autoencoder; standard normal inputs for phase retrieval",
    full=dict(trials=256),
)
def negative_curvature_of_order_the_dimension(key, *, dimensions: Sizes = (4, 8, 16, 32), trials: Trials = 64):
    draw = generator(key)
    # Data of fewer dimensions lie in coordinates of a larger space: one compiled shape, and zeros in the spectrum.
    ranks = np.array([1, 2, 4, 6])
    data = draw.standard_normal((4, 40, 6)) * np.exp(draw.uniform(-1, 1, (4, 1, 6)))
    data = data * (np.arange(6) < ranks[:, None, None])
    seen = np.asarray(origin_spectra(data))
    stated = np.array([autoencoder_saddle(x.T @ x / 40, hidden=2) for x in data])
    weights, target = draw.standard_normal((2, 6))
    nodes, masses = np.polynomial.hermite_e.hermegauss(8)
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    measure = np.outer(masses, masses).ravel() / masses.sum() ** 2
    # The risk depends on x through two directions: a quadrature exact for its degree, in an orthonormal basis of them.
    frame = np.linalg.qr(np.stack([weights, target], 1))[0]
    gap = (grid @ frame.T @ weights) ** 2 - (grid @ frame.T @ target) ** 2
    risk = measure @ gap**2 / 4
    differentiated = np.asarray(curvature_of(weights, target))
    hessian = phase_retrieval_hessian(weights, target)
    size = np.linalg.norm(weights) ** 2 + np.linalg.norm(target) ** 2
    counts = {"small": [], "expected": []}
    # Below a third of the target's length every direction is negative, from there to 1/√3 of it all but one.
    for dimension, length in itertools.product((10, 20, 40), (0.25, 0.5)):
        unit, start = (each / np.linalg.norm(each) for each in draw.standard_normal((2, dimension)))
        start = length * start
        x = draw.standard_normal((1000 * dimension, dimension))
        curvature = (3 * (x @ start) ** 2 - (x @ unit) ** 2)[:, None] * x
        counts["small"].append(np.sum(np.linalg.eigvalsh(curvature.T @ x / len(x)) < 0))
        counts["expected"].append(negative_directions(np.linalg.eigvalsh(phase_retrieval_hessian(start, unit))))
    largest = max(dimensions)
    inputs = draw.standard_normal((len(dimensions), trials, 64, largest))
    inputs = inputs * (np.arange(largest) < np.array(dimensions)[:, None, None, None])
    labels = np.sum(inputs[..., :2] ** 2, axis=3) - 2
    points, squares = np.zeros((len(dimensions), trials, 4 * largest + 4)), []
    for (i, d), trial in itertools.product(enumerate(dimensions), range(trials)):
        network = TanhNetworkLoss(jnp.zeros((1, d)), jnp.zeros(1), (4,))
        drawn = np.asarray(network.initial(jax.random.fold_in(key, trials * i + trial)))
        points[i, trial, : 4 * d], points[i, trial, -4:] = drawn[:-4], drawn[-4:]
        squares.append(np.append(d * drawn[:-4] ** 2, 4 * drawn[-4:] ** 2))
    flat = [each.reshape(-1, *each.shape[2:]) for each in (inputs, labels, points)]
    found = negative_directions(np.asarray(spectra(*flat))).reshape(len(dimensions), trials)
    return {
        "origin": Identity(seen, stated, scale=stated.max(), size=24),
        "count at the origin": Exact(np.sum(seen < -1e-9, axis=1), 2 * ranks, along={"dimension": ranks}),
        "phase retrieval": Identity(
            np.append(differentiated, risk),
            np.append(hessian, phase_retrieval_risk(weights, target)),
            scale=size**2,
        ),
        "small start": Exact(np.array(counts["small"]), np.array(counts["expected"])),
        # Squares of eight thousand weights, each times its fan-in: their mean is known to a twelfth.
        "start": Law(1.0, np.concatenate(squares), exact=True, resolution=0.15),
        # Beside what each dimension adds there may be a number that does not grow.
        "random start": Rate(
            np.array(dimensions), found.astype(float), exponent=1.0, rivals=(0.0, 0.5, 2.0), order=1.0
        ),
    }


@negative_curvature_of_order_the_dimension.control(
    "one negative direction for each hidden unit", of="count at the origin"
)
def one_each(evidence):
    return replace(evidence, right=np.full_like(evidence.right, 2))


@negative_curvature_of_order_the_dimension.control("the Gauss–Newton matrix: no negative direction", of="small start")
def gauss_newton(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))
