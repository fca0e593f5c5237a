"""Summary statistics that close: drift, corrector and volatility of spiked tensors by differentiation (jagannath 12).

Expectations are over a finite law of tensors with the moments that matter, so that nothing is left to chance.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.dynamics.effective import effective_dynamics, localizability
from deeptheory.dynamics.spiked_tensors import (
    spiked_tensor_design,
    spiked_tensor_loss,
    spiked_tensor_samples,
    tensor_statistics,
)
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Law, Limit, Positive, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen

Small = Annotated[Sizes, Interval(ge=3, le=24), MinLen(3)]


@jax.jit
def generators(x, v, tensors, step):
    """Drift, corrector, volatility and mean loss at every point, by differentiation of the loss of whole tensors."""

    def at(x):
        found = effective_dynamics(spiked_tensor_loss, partial(tensor_statistics, direction=v), x, tensors, step=step)
        return found, jax.vmap(spiked_tensor_loss, (None, 0))(x, tensors).mean()

    return jax.vmap(at)(x)


def placed(draw, size, overlap, rest):
    """A direction, and vectors with these overlaps and rests that are random otherwise."""
    v, *others = unit_vectors(draw, 1 + len(overlap), size)
    sides = np.array(others) - np.outer(np.array(others) @ v, v)
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    return v, np.multiply.outer(overlap, v) + np.sqrt(rest)[:, None] * sides


@claim(
    items={
        "J12.1": "statistics decide the drift",
        "J12.3": ("drift", "corrector", "volatility"),
        "J12.5": ("corrector in the limit", "corrector with shorter steps", "volatility in the limit"),
        "J12.6": "population loss",
        "J12.7": ("drift", "corrector in the limit"),
    },
    says=r"For spiked tensors $\Phi=-2\lambda m^k+R^{2k}+c$, and with steps $\delta=c_\delta/N$ the statistics $(m,r)$ "
    r"have in the limit the effective drift $(2m(\lambda km^{k-2}-kR^{2(k-1)}),-4kR^{2(k-1)}(r-c_\delta))$, the part "
    r"with $c_\delta$ being the corrector, and no volatility.",
    needs="Gaussian noise in every entry of Y = λv^{⊗k} + W, loss ‖Y − x^{⊗k}‖²",
    symbols={
        r"\Phi": "the population loss",
        r"\lambda": "the strength of the signal",
        r"m": r"the overlap $\langle x,v\rangle$ of the estimate with the hidden direction",
        r"k": "the order of the tensor",
        r"R": "the length of the estimate",
        r"c": "a constant that depends on no parameter",
        r"\delta": "the length of a step",
        r"c_\delta": "that length times the dimension",
        r"N": "the dimension",
        r"r": r"what the estimate has beside the hidden direction, $R^2-m^2$",
    },
    why=r"Both statistics have simple derivatives, $\nabla m=v$ and $\nabla r=2(x-mv)$, so their products with "
    r"$\nabla\Phi$ are functions of $m$ and $r$ again. The noise of a gradient has nearly the same size in all "
    "directions; it does not push a linear statistic, but it lengthens the vector, by "
    r"$\frac\delta2\mathrm{tr}(G\nabla^2r)$ with its covariance $G$, a sum over $N$ directions that makes up for the "
    "factor $1/N$ in the step. What the noise does to $m$ and $r$ at random is one direction's worth and vanishes.",
    notice=r"At steps $1/N$ the corrector comes to its limit while the volatility falls like $1/N$: a noise that only "
    r"shows in the drift. At shorter steps, $N^{-3/2}$, both vanish and gradient flow on $\Phi$ is left.",
)
def spiked_tensors_close(key, *, sizes: Small = (5, 10, 20), ratio: Positive = 0.8, points: Trials = 8):
    draw = generator(key)
    pieces: dict[str, list] = {name: [] for name in ("population loss", "drift", "corrector", "volatility")}
    lengths = []
    for order, size in ((2, 6), (3, 4), (3, 5)):
        m, r, signal = draw.uniform(-1, 1, points), draw.uniform(0.1, 2, points), draw.uniform(0.5, 3)
        v, x = placed(draw, size, m, r)
        found, loss = generators(x, v, spiked_tensor_design(v, signal=signal, order=order), ratio / size)
        square, step, k = m**2 + r, ratio / size, order
        own, crossed = 4 * k * square ** (k - 1), 4 * k * (k - 1) * square ** (k - 2)
        pieces["population loss"].append((loss - signal**2 - size**k, -2 * signal * m**k + square**k))
        lengths.append(square**k)
        still = 2 * m * (signal * k * m ** (k - 2) - k * square ** (k - 1)), -4 * k * square ** (k - 1) * r
        pieces["drift"].append((-found.drift.T, np.array(still)))
        pieces["corrector"].append((found.corrector.T, [0 * m, step * (own * (size - 1) + crossed * r)]))
        between = 2 * crossed * m * r
        spread = [[own + crossed * m**2, between], [between, 4 * own * r + 4 * crossed * r**2]]
        pieces["volatility"].append((np.moveaxis(found.volatility, 0, -1), step * np.array(spread)))

    # One value of the statistics in growing dimensions, for the limits; and points that share only the overlap.
    correctors, short, spreads, same, loose = [], [], [], [], []
    for size in sizes:
        v, x = placed(draw, size, np.full(4, 0.6), np.array([0.7, 0.7, 0.3, 1.5]))
        found, _ = generators(x, v, spiked_tensor_design(v, signal=1.5), ratio / size)
        correctors.append(found.corrector[0, 1])
        spreads.append(np.abs(found.volatility[0]).max())
        short.append(found.corrector[0, 1] * size**-0.5)  # the corrector is proportional to the step
        same.append(np.concatenate([found.velocity[:2].T, found.volatility[:2, 0].T]))
        loose.append(np.concatenate([found.velocity[2:].T, found.volatility[2:, 0].T]))
    numbers, same = np.array(sizes, float), np.array(same)
    limit = 8 * (0.6**2 + 0.7) * ratio

    rounding: dict[str, Any] = {"scale": 100.0, "size": 2.0 * max(sizes) ** 2}

    def identity(name, **aside):
        left, right = (np.concatenate([np.asarray(side[i]) for side in pieces[name]], axis=-1) for i in (0, 1))
        return Identity(left, right, **rounding, aside=aside)

    return {
        "population loss": identity("population loss", lengths=np.concatenate(lengths)),
        "drift": identity("drift"),
        "corrector": identity("corrector"),
        "volatility": identity("volatility"),
        "statistics decide the drift": Identity(
            same[..., 0], same[..., 1], **rounding, aside={"loose": np.array(loose)}
        ),
        "corrector in the limit": Limit(
            numbers,
            np.abs(np.array(correctors) - limit),
            order=1.0,
            aside={"correctors": np.array(correctors), "limit": limit},
        ),
        "corrector with shorter steps": Rate(numbers, np.array(short), exponent=-0.5, rivals=(0.0, -1.0)),
        "volatility in the limit": Rate(numbers, np.array(spreads), exponent=-1.0, rivals=(0.0, -0.5)),
    }


@spiked_tensors_close.control("λm^k for 2λm^k", of="population loss")
def half_the_signal(evidence):
    lengths = np.asarray(evidence.aside["lengths"])
    return replace(evidence, right=lengths + (evidence.right - lengths) / 2)


@spiked_tensors_close.control("2 for 4 in the drift of r", of="drift")
def half_the_drift(evidence):
    return replace(evidence, right=evidence.right * np.array([[1.0], [0.5]]))


@spiked_tensors_close.control("the volatility of r without its factor 4", of="volatility")
def quarter_of_the_spread(evidence):
    return replace(evidence, right=evidence.right * np.array([[1, 1], [1, 0.25]])[..., None])


@spiked_tensors_close.control("the overlap alone closes", of="statistics decide the drift")
def overlap_alone(evidence):
    loose = np.asarray(evidence.aside["loose"])
    return replace(evidence, left=loose[..., 0], right=loose[..., 1])


@spiked_tensors_close.control("no corrector in the limit, as in fixed dimension", of="corrector in the limit")
def no_corrector(evidence):
    return replace(evidence, y=np.asarray(evidence.aside["correctors"]))


@spiked_tensors_close.picture
def corrector_and_volatility(pieces):
    """Corrector of r (left) and largest entry of the volatility (right) at one point of (m, r), by dimension."""
    critical, short, spread = (
        pieces["corrector in the limit"],
        pieces["corrector with shorter steps"],
        pieces["volatility in the limit"],
    )
    x, grid = np.asarray(critical.x), np.geomspace(min(critical.x), max(critical.x), 50)
    return Row(
        [
            Curves(
                [
                    Dots("steps c/N", x, critical.aside["correctors"]),
                    Level("limit", y=float(critical.aside["limit"])),
                    Dots("steps c/√N³", x, short.y),
                ],
                x="dimension N", y="corrector of r", ys=(0, 8),
            ),
            Curves(
                [
                    Dots("steps c/N", x, spread.y),
                    Line("falls like 1/N", grid, np.asarray(spread.y)[-1] * x[-1] / grid),
                ],
                x="dimension N", y="largest entry of the volatility", log="xy",
            ),
        ]
    )  # fmt: skip


@jax.jit
def localized(x, v, tensors, step):
    """The five quantities of localizability at each point, every point with tensors of its own."""
    return jax.vmap(
        lambda x, y: localizability(
            spiked_tensor_loss, partial(tensor_statistics, direction=v), x, y, step=step, iterations=40
        )
    )(x, tensors)


@claim(
    items={
        "J12.2": (
            "curvature of the statistics",
            "squared gradient of the population loss",
            "eighth moment of the noise",
            "noise along the gradient of a statistic",
            "noise along the curvature of a statistic",
            "size of the noise along the curvature",
        )
    },
    says=r"The statistics $(m,r)$ of the spiked matrix are $\delta$-localizable for $\delta=1/N$: "
    r"$\|\nabla\Phi\|$ and $\delta^4E\|\nabla H\|^8$ stay bounded, $\delta^{1/2}\|\nabla^2u\|$ and "
    r"$\delta^2E\langle\nabla H,\nabla u\rangle^4$ fall, and "
    r"$\delta^3E\langle\nabla^2u,\nabla H\otimes\nabla H-G\rangle^2\to0$.",
    needs="points with bounded m and r; standard normal noise",
    full=dict(sizes=(6, 12, 24, 48)),
    symbols={
        r"m,r": "the overlap with the hidden direction, and the squared length of what is orthogonal to it",
        r"\delta": "the length of a step",
        r"N": "the dimension",
        r"\Phi": "the population loss",
        r"\nabla H": "the noise of a gradient, its deviation from the gradient of the population loss",
        r"u": "any of the two statistics",
        r"G": r"the covariance of $\nabla H$",
    },
    why=r"The noise is a Gaussian vector of about $N$ equal components, so that $\|\nabla H\|^2$ is of order $N$, its "
    r"fourth power of order $N^4$: steps of order $1/N$ are the longest that balance it. A projection on one direction "
    r"is of order one. Through $\nabla^2r=2(I-vv^T)$ the fifth quantity is the variance of a sum of $N$ squares, of "
    "order $N$, against $\\delta^3$.",
    notice=r"Along growing dimensions one quantity levels off and three fall. With steps $N^{-1/2}$ the eighth moment "
    "would grow like $N^2$: such steps are too long.",
)
def spiked_matrices_are_localizable(
    key,
    *,
    sizes: Annotated[Sizes, Interval(ge=4, le=128), MinLen(3)] = (6, 12, 24),
    trials: Trials = 64,
    power: Annotated[float, Interval(ge=0.25, le=2.0)] = 1.0,
):
    draw, found, m, r, signal = generator(key), [], 0.6, 0.7, 1.5
    # A sum of few squares has the longer tail, and a small matrix costs less: it gets more samples.
    samples = 6144 // np.array(sizes)
    for size, count, each in zip(sizes, samples, jax.random.split(key, len(sizes)), strict=True):
        v, x = placed(draw, size, np.full(trials, m), np.full(trials, r))
        tensors = spiked_tensor_samples(each, v, signal=signal, count=int(count) * trials)
        found.append(localized(x, v, tensors.reshape(trials, count, size, size), size**-power))
    numbers = np.array(sizes, float)
    curvature, slope, noise, projected, bent = (
        np.array([getattr(each, name) for each in found])
        for name in ("curvature", "slope", "noise", "projected", "bent")
    )
    # ∇H = −2(W + Wᵀ)x has covariance 8(R²I + xxᵀ), and 2∇Hᵀ(I − vvᵀ)∇H the variance 8 tr((I − vvᵀ)G)²; the variance of
    # samples about their own mean falls short of it by two factors.
    square, short = m**2 + r, (1 - 1 / samples) * (1 - 2 / samples)
    unit = 512 * short * numbers ** (-3 * power)
    # Φ = (m² + r)² − 2λm² + const. has ∇Φ = 4(R²x − λmv); a mean over samples adds its share of the noise.
    steep = 16 * (m**2 * (square - signal) ** 2 + square**2 * r)
    spread = 8 * square * (numbers + 1)
    return {
        "curvature of the statistics": Rate(numbers, curvature[:, 0], exponent=-0.5, rivals=(0.0, -1.0)),
        "squared gradient of the population loss": Law(
            steep + spread / samples,
            slope**2,
            exact=True,
            along={"dimension": numbers},
            resolution=0.15,
            aside={"of a sample": steep + spread},
        ),
        "eighth moment of the noise": Limit(numbers, noise, order=0.0),  # bounded: no growth
        "noise along the gradient of a statistic": Limit(numbers, projected, order=2.0),
        "noise along the curvature of a statistic": Limit(numbers, bent, order=2.0),
        "size of the noise along the curvature": Law(
            unit * ((numbers - 2) * square**2 + (square + r) ** 2),
            bent,
            exact=True,
            along={"dimension": numbers},
            resolution=0.15,
            aside={"even": unit * (numbers - 1) * square**2},
        ),
    }


spiked_matrices_are_localizable.control("steps N^(−1/2)", of="eighth moment of the noise", power=0.5)


@spiked_matrices_are_localizable.control("of order N^(−5/2)", of="noise along the curvature of a statistic")
def half_an_order_more(evidence):
    return replace(evidence, order=2.5)


@spiked_matrices_are_localizable.control(
    "of order N^(−5/2), along the gradient", of="noise along the gradient of a statistic"
)
def half_an_order_more_along_the_gradient(evidence):
    return replace(evidence, order=2.5)


@spiked_matrices_are_localizable.control("the gradient of one sample", of="squared gradient of the population loss")
def noise_and_all(evidence):
    return replace(evidence, predicted=evidence.aside["of a sample"])


@spiked_matrices_are_localizable.control("noise that is no larger along x", of="size of the noise along the curvature")
def even_noise(evidence):
    return replace(evidence, predicted=evidence.aside["even"])


@spiked_matrices_are_localizable.picture
def five_lines(pieces):
    """What localizability bounds, by dimension, at steps 1/N."""
    marks = [Dots("√δ‖∇²u‖", pieces["curvature of the statistics"].x, pieces["curvature of the statistics"].y)]
    names = {
        "eighth moment of the noise": "δ⁴E‖∇H‖⁸",
        "noise along the gradient of a statistic": "δ²E⟨∇H, ∇u⟩⁴",
        "noise along the curvature of a statistic": "δ³E⟨∇²u, ∇H⊗∇H − G⟩²",
    }
    marks += [seen(title, pieces[name].x, pieces[name].y) for name, title in names.items()]
    return Curves(marks, x="dimension N", y="quantity", log="xy")
