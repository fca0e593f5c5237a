"""Training as a flow on the empirical risk: it never rises, and many directions lead down from where it starts.

jagannath 8.1.
"""

import itertools
from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.integrate import solve_ivp

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen as averaged
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
    items={"J8.1": ("speed of the fall", "risk lost by the end", "what an Euler step misses")},
    says=r"Along gradient flow $\dot\theta=-\nabla\hat R$ from a random start the empirical risk falls at the rate "
    r"$\frac{d}{dt}\hat R=-\|\nabla\hat R\|^2$, hence by $\int\|\nabla\hat R\|^2dt$ in all; an Euler step of length "
    r"$\eta$ misses $-\eta\|\nabla\hat R\|^2$ by order $\eta^2$.",
    needs="a differentiable risk",
    symbols={
        r"\hat R": "the empirical risk: the mean loss over the samples",
        r"\theta": "the parameters of the network",
        "t": "the time of the flow",
        r"\eta": "the length of an Euler step, that is of gradient descent",
    },
    why=r"By the chain rule the risk changes at the rate $\nabla\hat R\cdot\dot\theta$, and along the flow "
    r"$\dot\theta$ is $-\nabla\hat R$: minus a square, never positive. Integrated, the fall of the risk is what has "
    "been spent on squared gradients. An Euler step follows the tangent of this path, and misses by half its squared "
    "length times the curvature.",
    notice=r"Each short line has the slope $-\|\nabla\hat R\|^2$ computed at its middle, and touches the curve there. "
    "The risk never rises from any start, and falls the more slowly the smaller the gradient has become. On the "
    "right, halving the step quarters what an Euler step misses.",
)
def risk_falls_by_the_squared_gradient(
    key, *, samples: Annotated[int, Interval(ge=4, le=200)] = 20, starts: Annotated[int, Interval(ge=1, le=20)] = 3
):
    draw = generator(key)
    seen, stated, lost, drops, paths = [], [], [], [], []
    defects = np.empty((5, starts))
    steps, centres = 0.1 * 0.5 ** np.arange(5), np.array([0.05, 0.5, 2.0, 6.0])
    for index in range(starts):
        inputs, labels = draw.standard_normal((samples, 6)), draw.standard_normal(samples)
        begin = np.append(draw.standard_normal(24) / 6**0.5, draw.standard_normal(4) / 2)

        def flow(_, state, inputs=inputs, labels=labels):
            gradient = np.asarray(slope(inputs, labels, state[:-1])[1])
            return np.append(-gradient, gradient @ gradient)

        # The last coordinate of the state adds up ‖∇R‖² dt. Around each time five values, for a derivative.
        times = (centres[:, None] + SPREAD * np.arange(-2, 3)).ravel()
        # Between them a few more, for the picture.
        every = np.unique(np.concatenate([times, np.geomspace(0.01, 7.0, 40)]))
        found = solve_ivp(flow, (0, 7.0), np.append(begin, 0.0), "DOP853", every, rtol=1e-12, atol=1e-12)
        asked = np.searchsorted(every, times)
        risks, falling, _ = map(np.asarray, rates(inputs, labels, np.vstack([begin, found.y[:-1].T])))
        around = risks[1:][asked].reshape(4, 5)
        seen.append(around @ STENCIL / SPREAD)
        stated.append(falling[1:][asked][2::5])
        lost.append(risks[0] - around[:, 2])
        drops.append(found.y[-1][asked][2::5])
        paths.append(risks[1:])
        gradient = np.asarray(slope(inputs, labels, begin)[1])
        after = np.array([slope(inputs, labels, begin - step * gradient)[0] for step in steps])
        defects[:, index] = np.abs(after - risks[0] - steps * falling[0])
    largest = np.max(np.abs(stated))
    return {
        # A derivative from five values that are known to 1e-13, over times 2e-3 apart.
        "speed of the fall": Identity(
            *(np.array(seen), np.array(stated)),
            scale=largest,
            error=1e-8 * largest,
            along={"start": np.arange(starts), "time": centres},
            aside={"times": every, "risks": np.array(paths)},
        ),
        "risk lost by the end": Identity(np.array(lost), np.array(drops), scale=1.0, error=1e-10),
        "what an Euler step misses": Rate(steps, defects.mean(1), exponent=2.0, rivals=(1.0, 3.0)),
    }


@risk_falls_by_the_squared_gradient.control("half the squared gradient", of="speed of the fall")
def half_the_square(evidence):
    return replace(evidence, right=evidence.right / 2)


@risk_falls_by_the_squared_gradient.control("the gradient's length, not its square", of="speed of the fall")
def length(evidence):
    return replace(evidence, right=-np.sqrt(-evidence.right))


@risk_falls_by_the_squared_gradient.control("half the integral of the squared gradient", of="risk lost by the end")
def half_the_integral(evidence):
    return replace(evidence, right=evidence.right / 2)


@risk_falls_by_the_squared_gradient.picture
def falling_risk(pieces):
    """The empirical risk along gradient flow from several starts, with lines of slope −‖∇R‖² at four times."""
    rate = pieces["speed of the fall"]
    times, centres = rate.aside["times"], rate.along["time"]
    marks = [Line(f"start {place + 1}", times, risks) for place, risks in enumerate(rate.aside["risks"])]
    for risks, slopes in zip(rate.aside["risks"], rate.right, strict=True):
        for time, slope in zip(centres, slopes, strict=True):
            reach = np.array([0.7, 1.5]) * time
            here = np.interp(time, times, risks)
            marks.append(Line("slope −‖∇R‖²", reach, here + slope * (reach - time)))
    left = Curves(marks, x="time", y="empirical risk", log="x")
    steps = pieces["what an Euler step misses"]
    defect = [
        Dots("seen", steps.x, steps.y),
        Line("order η²", steps.x, steps.y[-1] * (steps.x / steps.x[-1]) ** 2),
    ]
    return Row([left, Curves(defect, x="Euler step η", y="what the step misses", log="xy")])


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
    items={
        "J8.2": (
            "autoencoder: eigenvalues at the origin",
            "autoencoder: negative ones counted",
            "phase retrieval: Hessian",
            "phase retrieval: negative ones counted",
            "network: size of the start",
            "network: negative ones counted",
        )
    },
    says=r"The Hessian of the empirical risk can have of the order of $d$ negative eigenvalues: an autoencoder with "
    r"$h$ hidden units has $hd$ at the origin; phase retrieval $d$ at $\|w\|=\frac14\|v\|$ and $d-1$ at "
    r"$\frac12\|v\|$; a tanh network at a random start a mean number that grows like $d$.",
    needs="for the autoencoder σ(0) = 0, σ′(0) = 1 and inputs that span all d dimensions; for phase retrieval standard "
    "normal inputs and w not nearly along v; for the network four hidden units, 2d samples, weights of variance one "
    "over the fan-in, d from 8 to 64",
    full=dict(trials=256),
    symbols={
        "d": "the dimension of the inputs",
        "h": "the number of hidden units",
        "w": "the weights at which the Hessian is taken",
        "v": "the weights that made the labels",
    },
    why="At the origin the autoencoder's risk is bilinear in its two layers to second order, and a bilinear form has "
    "as many negative directions as positive ones, $d$ for each hidden unit. Phase retrieval, with Hessian "
    r"$(3\|w\|^2-\|v\|^2)I+6ww^\top-2vv^\top$, is a hilltop at a small start: all directions lead down, and from a "
    "third of the target's length on, if $w$ is about orthogonal to $v$, all but the one along $w$. In a network each "
    "hidden unit has a block of $d$ rows whose sign is roughly that of its outer weight times the mean residual where "
    "it bends, negative for about half of the units.",
    notice="All counts lie on lines through the origin: two for each dimension of the autoencoder with its two hidden "
    "units, one for phase retrieval, less one at the larger start. The random networks have about $2d$ of their "
    "$4d+4$ directions negative, which is half of the first layer.",
)
def negative_curvature_of_order_the_dimension(key, *, dimensions: Sizes = (8, 16, 32, 64), trials: Trials = 32):
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
    # Two samples a dimension. Rows and columns beyond are zero, and a zero row adds nothing: one compiled shape again.
    largest, own = max(dimensions), np.array(dimensions)[:, None, None]
    inputs, there = draw.standard_normal((len(dimensions), trials, 2 * largest, largest)), np.arange(2 * largest)
    inputs = inputs * (there[:largest] < own[..., None]) * (there[:, None] < 2 * own[..., None])
    labels = (np.sum(inputs[..., :2] ** 2, axis=3) - 2) * (there < 2 * own)
    points, squares = np.zeros((len(dimensions), trials, 4 * largest + 4)), []
    for (i, d), trial in itertools.product(enumerate(dimensions), range(trials)):
        network = TanhNetworkLoss(jnp.zeros((1, d)), jnp.zeros(1), (4,))
        drawn = np.asarray(network.initial(jax.random.fold_in(key, trials * i + trial)))
        points[i, trial, : 4 * d], points[i, trial, -4:] = drawn[:-4], drawn[-4:]
        squares.append(np.append(d * drawn[:-4] ** 2, 4 * drawn[-4:] ** 2))
    flat = [each.reshape(-1, *each.shape[2:]) for each in (inputs, labels, points)]
    found = negative_directions(np.asarray(spectra(*flat))).reshape(len(dimensions), trials)
    return {
        "autoencoder: eigenvalues at the origin": Identity(seen, stated, scale=stated.max(), size=24),
        "autoencoder: negative ones counted": Exact(
            np.sum(seen < -1e-9, axis=1), 2 * ranks, along={"dimension": ranks}
        ),
        "phase retrieval: Hessian": Identity(
            np.append(differentiated, risk),
            np.append(hessian, phase_retrieval_risk(weights, target)),
            scale=size**2,
            aside={"two for six": np.append(hessian - 4 * np.outer(weights, weights), risk)},
        ),
        "phase retrieval: negative ones counted": Exact(
            np.array(counts["small"]).reshape(3, 2),
            np.array(counts["expected"]).reshape(3, 2),
            along={"dimension": np.array([10, 20, 40]), "length": np.array([0.25, 0.5])},
        ),
        # Squares of fifteen thousand weights, each times its fan-in: their mean is known to a twelfth.
        "network: size of the start": Law(1.0, np.concatenate(squares), exact=True, resolution=0.15),
        # Beside what each dimension adds there may be a number that does not grow.
        "network: negative ones counted": Rate(
            np.array(dimensions), found.astype(float), exponent=1.0, rivals=(0.0, 0.5, 2.0), order=1.0
        ),
    }


@negative_curvature_of_order_the_dimension.control(
    "one negative direction for each hidden unit", of="autoencoder: negative ones counted"
)
def one_each(evidence):
    return replace(evidence, right=evidence.right // evidence.along["dimension"])


@negative_curvature_of_order_the_dimension.control("2ww⊤ for 6ww⊤", of="phase retrieval: Hessian")
def two_for_six(evidence):
    return replace(evidence, right=evidence.aside["two for six"])


@negative_curvature_of_order_the_dimension.control(
    "the Gauss–Newton matrix: no negative direction", of="phase retrieval: negative ones counted"
)
def gauss_newton(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@negative_curvature_of_order_the_dimension.picture
def counts_by_dimension(pieces):
    """Negative Hessian directions by input dimension: exactly known at two starts (left), at random ones (right)."""
    origin, small, start = (
        pieces["autoencoder: negative ones counted"],
        pieces["phase retrieval: negative ones counted"],
        pieces["network: negative ones counted"],
    )
    d, x = small.along["dimension"], np.asarray(start.x, float)
    exact = [
        Dots("autoencoder", origin.along["dimension"], origin.left),
        Line("2d", [1, 20], [2, 40]),
        Dots("‖w‖ = ‖v‖/4", d, small.left[:, 0]),
        Dots("‖w‖ = ‖v‖/2", d, small.left[:, 1]),
        Line("d", [1, 40], [1, 40]),
    ]
    random = [averaged("tanh network", x, start.y), Line("2d: half of its first layer", x, 2 * x)]
    axes: dict[str, Any] = dict(x="input dimension d", y="negative directions")
    return Row([Curves(exact, **axes), Curves(random, log="xy", **axes)])
