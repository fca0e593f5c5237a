"""Descent with weight decay finds a small gradient from any size of the start, in logarithmic time (arora 13.4)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.normalization.any_scale import (
    first_hit,
    gradient_guarantee,
    guaranteed_share,
    large_norm_steps,
    overshoot_bound,
    small_norm_growth,
    small_norm_steps,
    steps_from_any_scale,
    turning_square,
)
from deeptheory.normalization.spheres import RayleighQuotient, SteepestCircle, gradient_bound
from deeptheory.normalization.weight_decay import decayed_descent

SMOOTHNESS = 2.0


@partial(jax.jit, static_argnames="steps")
def runs(function, starts, rate, decay, *, steps):
    """Squared norms, and squared gradients at the unit vectors, along descent from each start."""

    def one(start):
        slope = jax.grad(lambda w: function(w))
        path = decayed_descent(slope, start, rates=jnp.full(steps, rate), decays=decay)
        squares = jnp.sum(path**2, 1)
        return squares, jnp.sum(jax.vmap(slope)(path) ** 2, 1) * squares

    return jax.vmap(one)(starts)


@claim(
    items={
        "A13.17": ("steps until the gradient is small", "steps for a tenfold norm", "share of the trivial bound"),
        "A13.18": "share of the trivial bound",
        "A13.23": ("steps at a small norm", "growth at a small norm", "norm after the jump", "jump along the norm"),
        "A13.24": ("steps from a large norm", "steps for a tenfold norm"),
        "A13.26": "steps for a tenfold norm",
    },
    says=r"On a scale-invariant loss descent with $\eta\lambda<\frac12$ meets $\|\nabla "
    r"L(w_t/\|w_t\|)\|^2\le8\pi^4\rho^2\lambda\eta$ at some "
    r"$t\le\frac1{2\lambda\eta}(|\ln\frac{\|w_0\|^2}{\rho\pi^2\eta}|+3)$, for any $\|w_0\|$; large starts need "
    r"$\frac1{\lambda\eta}$ steps more per factor $e$. The promise is empty from $\lambda\eta=1/8\pi^2$ on.",
    needs="ρ the smoothness on the unit sphere; a twice differentiable scale-invariant loss",
    symbols={
        r"\eta,\lambda": "learning rate and weight decay",
        "w_t": "the weights after $t$ steps",
        "L": "the loss",
        r"\rho": "the largest norm of the Hessian on the unit sphere",
    },
    why=r"While $\|w\|^2<\pi^2\rho\eta$ a large gradient makes the norm grow, at least by $6\pi^2\rho\lambda\eta^2$ "
    r"a step, so this phase ends within $1/6\lambda\eta$ steps, and far beyond at most "
    r"$2(\pi^2\rho\eta)^2/\|w_0\|^2$. Above, every step lowers the loss, by no more than $\pi^2\rho/2$ in all, while "
    r"decay shrinks the norm exponentially; when it falls below $\pi^2\rho\eta$ in one step, that step's gradient "
    r"cannot have been large. The time is a logarithm because decay is exponential. In the book's large-norm lemma a "
    r"2 under the logarithm should be a 4 for its proof to hold.",
    notice="Large starts wait, in proportion to the logarithm of their size, until decay has made the weights small "
    "enough to turn. Tiny starts are thrown far out by their first step, and then wait too. Between lies a valley of "
    "starts that need no waiting. The bound is a V around the turning size.",
)
def small_gradients_from_any_scale(
    *,
    rate: Annotated[float, Interval(ge=0.01, le=1.0)] = 0.1,
    intrinsic: Annotated[float, Interval(ge=5e-5, le=2e-4)] = 1.5e-4,
):
    decay, rho = intrinsic / rate, SMOOTHNESS
    setting = dict(rate=rate, smoothness=rho)
    turn, both = float(turning_square(**setting)), setting | {"decay": decay}
    norms = np.sqrt(turn) * 10.0 ** np.arange(-3, 5)
    between = np.array([0.8, *[0.05] * 8, 0.6])  # the extreme eigenvectors: there the gradient is large
    functions = {
        "quotient": (RayleighQuotient(jnp.diag(jnp.linspace(0.0, rho / 2, 10))), between / np.linalg.norm(between)),
        "circle": (SteepestCircle(jnp.asarray(rho)), np.array([np.cos(1.2), np.sin(1.2)])),
    }
    bound = np.asarray(steps_from_any_scale(norms**2, **both))
    steps, wanted = int(bound.max()) + 1, float(gradient_guarantee(**both))
    hits, first_squares, growths, ends = [], [], [], []
    for function, direction in functions.values():
        squares, gradients = runs(function, norms[:, None] * direction, rate, decay, steps=steps)
        met = np.asarray(gradients <= wanted)
        hits.append(np.asarray(first_hit(met)))
        squares, small = np.asarray(squares), norms**2 < turn
        over = np.asarray(first_hit((squares >= turn) | met))[small].astype(int)
        first_squares.append(over)
        ends.append(squares[small, over])
        inside = (squares[:, :-1] <= turn) & ~met[:, :-1]
        growths.append(np.diff(squares, axis=1)[inside].min())
    hits, ends = np.array(hits), np.array(ends)
    large = norms**2 > turn
    far = hits[:, -2:]
    per_factor = np.log(10) / -np.log1p(-intrinsic)
    share = np.array([1e-6, 1e-4, 1 / (8 * np.pi**2)])
    return {
        "steps until the gradient is small": Inequality(
            hits,
            np.broadcast_to(bound, hits.shape),
            along={"loss": list(functions), "norm": norms},
            aside={"rates": np.array([rate, decay]), "turn": np.sqrt(turn)},
        ),
        "steps at a small norm": Inequality(
            np.array(first_squares), np.floor(small_norm_steps(rate=rate, decay=decay)) + 1.0
        ),
        "growth at a small norm": Inequality(np.full(2, float(small_norm_growth(**both))), np.array(growths)),
        "norm after the jump": Inequality(ends, np.asarray(overshoot_bound(norms[norms**2 < turn] ** 2, **setting))),
        "jump along the norm": Rate(norms[norms**2 < turn], ends[1], exponent=-2.0, rivals=(-1.0,)),
        "steps from a large norm": Inequality(hits[:, large], np.asarray(large_norm_steps(norms[large] ** 2, **both))),
        "steps for a tenfold norm": Identity(
            np.diff(far, axis=1)[:, 0], per_factor, error=3.0
        ),  # times are whole numbers
        "share of the trivial bound": Identity(
            guaranteed_share(rate=share, decay=1.0),
            gradient_guarantee(rate=share, decay=1.0, smoothness=rho) / float(gradient_bound(rho)) ** 2,
            aside={"printed": 8 * np.pi**4 * share},
        ),
    }


@small_gradients_from_any_scale.control("half the time", of="steps until the gradient is small")
def half_the_time(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@small_gradients_from_any_scale.control("half the time for large norms", of="steps from a large norm")
def half_for_large(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@small_gradients_from_any_scale.control("1/(2λη) steps per factor e", of="steps for a tenfold norm")
def half_the_slope(evidence):
    return replace(evidence, right=evidence.right / 2)


@small_gradients_from_any_scale.control("largest gradient ρ for πρ", of="share of the trivial bound")
def without_pi(evidence):
    return replace(evidence, left=evidence.aside["printed"])


@small_gradients_from_any_scale.picture
def waiting(pieces):
    """Steps until the gradient at the unit vector is small, by the size of the start, beside the bound."""
    time = pieces["steps until the gradient is small"]
    norms, (rate, decay) = np.asarray(time.along["norm"]), time.aside["rates"]
    fine = np.geomspace(norms[0], norms[-1], 200)
    bound = steps_from_any_scale(fine**2, rate=rate, decay=decay, smoothness=SMOOTHNESS)
    marks = [Line("bound", fine, bound)]
    marks += [Dots(name, norms, time.quantity[i]) for i, name in enumerate(time.along["loss"])]
    marks += [Level("π√(ρη)", x=float(time.aside["turn"]))]
    return Curves(marks, x="size of the start ‖w₀‖", y="steps", log="x")
