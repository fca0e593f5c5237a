"""Covers of the parameter ball and what they say about losses that are Lipschitz in their parameters (arora 5.2)."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.covers import (
    best_cover_deviation,
    cover_deviation,
    cover_size,
    greedy_cover,
    interval_cover_size,
    loss_change,
    squared_loss_lipschitz,
    two_layer_gradient_norm,
)
from deeptheory.generalization.capacity.finite_classes import finite_class_deviation
from deeptheory.lab import Chain, Chance, Identity, Inequality, Reals, Trials, assume, claim

RADII = (0.9, 0.5, 0.25)

squared_slopes = jax.jit(jax.vmap(jax.grad(lambda w, x, y: (w @ x - y) ** 2), (0, None, None)))
network_slopes = jax.jit(jax.grad(lambda p, x, y: (p[1] @ jax.nn.relu(p[0] @ x) - y) ** 2))
squared_changes = jax.jit(
    jax.vmap(lambda x, y, start, r: loss_change(lambda w: (w @ x - y) ** 2, start, r), (None, None, None, 0))
)


def ball_grid(dimension, step):
    """Points of the unit ball on a cubic grid."""
    axis = np.arange(-np.floor(1 / step), np.floor(1 / step) + 1) * step
    points = np.stack(np.meshgrid(*[axis] * dimension), axis=-1).reshape(-1, dimension)
    return points[np.linalg.norm(points, axis=1) <= 1 + 1e-12]


@claim(
    items={"A5.8": ("sizes", "interval", "needed")},
    says=r"At most $(1+2/\rho)^k$ points of the unit ball of $\mathbb R^k$ are pairwise $\rho$ or more apart, attained "
    r"for $k=1$ when $2/\rho$ is whole; so a greedy $\rho$-cover, whose points are farther apart, has fewer, and any "
    r"cover has at least $\rho^{-k}$.",
    needs="0 < ρ ≤ 1; the ball is represented by a fine grid, whose spacing enters the lower bound",
)
def covers_of_the_ball(*, dimensions: Annotated[tuple[int, ...], Interval(ge=1, le=3)] = (1, 2, 3)):
    sizes, least, most = [], [], []
    for k in dimensions:
        # Every point of the ball has a grid point of the ball within step·√k, so these balls, enlarged, cover it.
        step = (0.002, 0.02, 0.07)[k - 1]
        grid = ball_grid(k, step)
        for radius in RADII:
            sizes.append(len(greedy_cover(grid, radius)))
            least.append((radius + step * np.sqrt(k)) ** -k)
            most.append(cover_size(radius, k))
    # Halving what is left over, the greedy choice fills [−1, 1] evenly when 2/ρ is a power of two.
    whole = 2.0 ** -np.arange(0, 7)
    packings = [len(greedy_cover(ball_grid(1, whole[-1] / 2), radius * (1 - 1e-9))) for radius in whole]
    return {
        "sizes": Chain(
            {"volume": (np.array(least), np.array(sizes, float)), "fewer": (np.array(sizes) + 1.0, np.ceil(most))}
        ),
        "interval": Identity(np.array(packings, float), np.array([cover_size(radius, 1) for radius in whole])),
        "needed": Inequality(
            np.array([interval_cover_size(radius) for radius in RADII], float),
            np.array([cover_size(radius, 1) for radius in RADII]),
        ),
    }


@covers_of_the_ball.control("the printed size", erratum="A5.8a", of="needed")
def printed_size(evidence):
    return replace(evidence, bound=np.array([(2 + radius) / (2 * radius) for radius in RADII]))


@covers_of_the_ball.control("the announced number of steps", of="interval")
def announced_steps(evidence):
    return replace(evidence, right=np.asarray(evidence.right) - 1)


@claim(
    items={"A5.9": ""},
    says=r"Between two parameters at distance $\rho$ the gap $R-R_S$ of a C-Lipschitz loss moves by at most $2C\rho$: "
    r"the training and the test loss may each move by $C\rho$, and in opposite directions.",
    needs="one parameter, |w·x − y| on two atoms of the population, of which the sample contains only the first",
    over=dict(w=Reals(-1, 1), v=Reals(-1, 1), rare=Reals(0, 1), y=Reals(-1, 1)),
)
def gap_between_neighbours(w, v, rare, y):
    def gap(parameter):
        seen, unseen = jnp.abs(parameter - y), jnp.abs(-parameter - y)
        return (1 - rare) * seen + rare * unseen - seen

    return Inequality(gap(w) - gap(v), 2 * jnp.abs(w - v), scale=1.0)


@gap_between_neighbours.control("one γ between neighbours")
def one_change(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@claim(
    items={"A5.9": ("corrected", "formula", "radius", "confidence")},
    says=r"With probability $1-\delta$ every linear predictor in the unit ball of $\mathbb R^k$, with absolute loss, "
    r"has $R-R_S\le2C\rho+2\sqrt{(k\log(1+2/\rho)+\log\frac1\delta)/m}$: twice the Lipschitz step and the finite-class "
    r"bound over the cover. The confidence term is needed: of two atoms one alone may be drawn m times.",
    needs="k = 2, sixteen atoms in the ball, losses in [0, 1]",
)
def cover_bound(key, *, trials: Trials = 400, samples: Annotated[int, Interval(ge=10, le=10_000)] = 200):
    draw, delta = generator(key), 0.05
    x = draw.standard_normal((16, 2))
    x /= 2 * np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
    y = draw.uniform(-0.5, 0.5, 16)
    losses = np.abs(ball_grid(2, 0.1) @ x.T - y)
    assume(losses.max() <= 1, "the losses lie in [0, 1]")
    counts = draw.multinomial(samples, np.full(16, 1 / 16), trials)
    gaps = np.max(losses.mean(1)[:, None] - losses @ counts.T / samples, axis=0)
    smallest = best_cover_deviation(0.5, 2, samples, delta)[1]
    radii = np.array([0.01, 0.1, 0.5])
    bounds = np.array([cover_deviation(0.5, r, 2, samples, delta) for r in radii])
    over_cover = np.array([finite_class_deviation(samples, cover_size(r, 2), delta) for r in radii])
    # Atoms (x, y) = (½e₁, ±½), only the first drawn: w = e₁ is right on all of the sample, wrong by 1 on the other.
    m = np.array([10, 100, 1000])
    unlucky = np.abs(np.array([[1.0, 0.0]]) @ np.array([[0.5, 0.5], [0.0, 0.0]]) - np.array([0.5, -0.5]))[0]
    return {
        "corrected": Chance(np.sum(gaps > smallest), trials, delta),
        "formula": Identity(bounds, 2 * 0.5 * radii + over_cover),
        "radius": Inequality(smallest, bounds),
        "confidence": Inequality(
            unlucky.mean() - unlucky[0], np.array([cover_deviation(0.5, 0.01, 2, k, 0.5**k) for k in m.tolist()])
        ),
    }


@cover_bound.control("for every sample, whatever its probability", of="confidence")
def without_confidence(evidence):
    return replace(evidence, bound=0.5 * 0.01 + 2 * np.sqrt(2 * np.log(2 / 0.01) / np.array([10, 100, 1000])))


@cover_bound.control("the logarithm of 2/ρ", of="formula")
def printed_logarithm(evidence):
    radii = np.array([0.01, 0.1, 0.5])
    return replace(evidence, right=radii + np.array([finite_class_deviation(200, (2 / r) ** 2, 0.05) for r in radii]))


@claim(
    items={"A5.5": ("profile", "below", "largest"), "A5.6": ("reached", "everywhere"), "A5.7": "two layers"},
    says=r"On the unit ball $(w\cdot x-y)^2$ changes by at most $2(\|x\|+|y|)\|x\|$ per unit of w, reached at "
    r"$w=-\operatorname{sign}(y)x/\|x\|$; for a two-layer ReLU net the slope is "
    r"$2|f-y|(\sum_j\sigma(w_j\cdot x)^2+\|x\|^2\sum_ja_j^2\mathbf 1[w_j\cdot x>0])^{1/2}$. The local change "
    r"$\gamma(\rho)$ grows with $\rho$ and stays below the constant.",
    needs="finite differences and automatic differentiation as the other route",
)
def parameter_lipschitz_constants(
    key,
    *,
    end: Literal["far", "near"] = "far",
    trained: Literal["both layers", "first layer"] = "both layers",
    reach: Annotated[float, Interval(ge=1, le=100)] = 1.0,
):
    draw = generator(key)
    reached, constants, slopes, nets, formulas = [], [], [], [], []
    for _ in range(6):
        x, y = draw.standard_normal(3), draw.standard_normal()
        w = draw.standard_normal((200, 3))
        w *= reach / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1)
        w[0] = (1 if end == "near" else -1) * np.sign(y) * x / np.linalg.norm(x)
        norms = np.linalg.norm(squared_slopes(w, x, y), axis=1)
        reached.append(norms[0])
        slopes.append(norms.max())
        constants.append(squared_loss_lipschitz(x, y))
        layers = draw.standard_normal((5, 3)), draw.standard_normal(5)
        slopes_of_net = network_slopes(layers, x, y)[: 1 if trained == "first layer" else 2]
        nets.append(np.sqrt(sum(np.sum(np.square(g)) for g in slopes_of_net)))
        formulas.append(two_layer_gradient_norm(*layers, x, y))
    x, y, start = draw.standard_normal(3), 1.0, np.array([0.3, -0.2, 0.1])
    radii = np.array([0.05, 0.1, 0.2, 0.4])
    profile = np.asarray(squared_changes(x, y, start, radii))
    return {
        "reached": Identity(np.array(reached), np.array(constants)),
        "everywhere": Inequality(np.array(slopes), np.array(constants)),
        "two layers": Identity(np.array(nets), np.array(formulas), size=15),
        "profile": Inequality(profile[:-1], profile[1:]),
        "below": Inequality(profile / radii, squared_loss_lipschitz(x, y)),
        # The largest change of a square within ρ of w is at one of two ends, along x.
        "largest": Identity(profile, _largest_change(x, y, start, radii), error=1e-9),
    }


def _largest_change(x, y, start, radii):
    residual, reach = start @ x - y, radii * np.linalg.norm(x)
    return np.maximum(np.abs((residual + reach) ** 2 - residual**2), np.abs((residual - reach) ** 2 - residual**2))


parameter_lipschitz_constants.control("beyond the ball", of="everywhere", reach=30.0)
parameter_lipschitz_constants.control("only the first layer", of="two layers", trained="first layer")
parameter_lipschitz_constants.control("at the other end of the ball", of="reached", end="near")
