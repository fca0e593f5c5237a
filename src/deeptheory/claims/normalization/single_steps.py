"""What one step does to a scale-invariant loss and to the size of its weights (arora 13.4)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.normalization.spheres import (
    RayleighQuotient,
    decayed_decrease,
    orthogonal_step_bound,
    sharp_decayed_decrease,
)
from deeptheory.normalization.weight_decay import decayed_descent, unrolled_square_norm

NEAR = 64
"""instances whose descent starts beside their minimum, in the direction of largest curvature"""


@partial(jax.jit, static_argnames="steps")
def descents(matrices, starts, rates, decays, *, steps):
    """Runs of descent with weight decay on Rayleigh quotients: losses, squared norms, squared gradients."""

    def one(matrix, start, rate, decay):
        loss = RayleighQuotient(matrix)
        path = decayed_descent(jax.grad(loss), start, rates=jnp.full(steps, rate), decays=decay)
        gradients = jax.vmap(jax.grad(loss))(path)
        return jax.vmap(loss)(path), jnp.sum(path**2, 1), jnp.sum(gradients**2, 1)

    return jax.vmap(one)(matrices, starts, rates, decays)


@claim(
    items={
        "A13.20": ("orthogonal step", "orthogonal step attained"),
        "A13.21": ("descent of a step", "sharp descent", "fall of a small step"),
        "A13.22": "norms from step to step",
    },
    says=r"For a scale-invariant loss, $x\perp v$: $L(x+v)-L(x)\le\langle v,\nabla "
    r"L(x)\rangle+\rho\|v\|^2/2\|x\|^2$. A step $w'=(1-\eta\lambda)w-\eta\nabla L(w)$, $\eta\lambda\le\frac12$, "
    r"lowers $L$ by at least $\eta(1-2\rho\eta/\|w\|^2)\|\nabla L(w)\|^2$, and "
    r"$\|w'\|^2=(1-\eta\lambda)^2\|w\|^2+\eta^2\|\nabla L(w)\|^2$.",
    needs="a twice differentiable scale-invariant loss, ρ its smoothness on the unit sphere",
    symbols={
        "L": "the loss",
        "x, v": "a point and a step orthogonal to it",
        r"\rho": "the largest norm of the Hessian on the unit sphere",
        "w, w'": "the weights before and after a step",
        r"\eta,\lambda": "learning rate and weight decay",
    },
    why=r"Along an orthogonal step one never comes nearer to the origin than $\|x\|$, so the Hessian on the way is "
    r"at most $\rho/\|x\|^2$, and Taylor's formula gives the first. A step of descent with weight decay is such a "
    r"step, from $(1-\eta\lambda)w$ where the loss is what it was at $w$. Orthogonality is Pythagoras for the norms.",
    notice=r"Each dot is a step. Right of $\|w\|^2=2\rho\eta$ every step lowers the loss, and none falls below the "
    r"line; left of it the promise is empty and some steps climb.",
)
def steps_of_scale_invariant_descent(
    key,
    *,
    instances: Annotated[int, Interval(ge=128, le=20000)] = 2000,
    steps: Annotated[int, Interval(ge=8, le=1000)] = 40,
):
    random, d = generator(key), 4
    symmetric = random.standard_normal((instances, d, d))
    matrices = symmetric + symmetric.transpose(0, 2, 1)
    eigenvalues, vectors = np.linalg.eigh(matrices)
    rho = 2 * (eigenvalues[:, -1] - eigenvalues[:, 0])

    def quotient(w):
        return np.einsum("ni,nij,nj->n", w, matrices, w) / np.sum(w**2, -1)

    def slope(w):
        return 2 * (np.einsum("nij,nj->ni", matrices, w) - quotient(w)[:, None] * w) / np.sum(w**2, -1, keepdims=True)

    x = random.standard_normal((instances, d))
    v = random.standard_normal((instances, d)) * np.geomspace(1e-3, 1e3, instances)[:, None]
    v -= np.sum(v * x, 1, keepdims=True) / np.sum(x**2, 1, keepdims=True) * x
    # From the lowest eigenvector towards the highest the bound is attained but for a factor 1/(1 + ‖v‖²/‖x‖²).
    small = np.geomspace(1e-1, 1e-3, NEAR)
    x[:NEAR], v[:NEAR] = vectors[:NEAR, :, 0], small[:, None] * vectors[:NEAR, :, -1]
    change = quotient(x + v) - quotient(x)
    terms = [np.sum(v * slope(x), 1), rho, np.sum(v**2, 1), np.sum(x**2, 1)]
    bound = np.asarray(orthogonal_step_bound(*terms))

    rates, products = random.uniform(0.01, 0.2, instances), random.uniform(0, 0.5, instances)
    decays = products / rates
    starts = random.standard_normal((instances, d)) * np.geomspace(0.3, 3, instances)[:, None]
    starts[:NEAR] = vectors[:NEAR, :, 0] + 1e-4 * vectors[:NEAR, :, -1]
    losses, squares, gradients = (np.asarray(each) for each in descents(matrices, starts, rates, decays, steps=steps))
    fall, before = losses[:, :-1] - losses[:, 1:], squares[:, :-1]
    rate, decay, smooth, gradients = rates[:, None], decays[:, None], rho[:, None], gradients[:, :-1]
    promised = decayed_decrease(gradients, before, rate=rate, smoothness=smooth)
    sharper = sharp_decayed_decrease(gradients, before, rate=rate, decay=decay, smoothness=smooth)
    undecayed = sharp_decayed_decrease(gradients, before, rate=rate, decay=0.0, smoothness=smooth)
    unrolled = jax.jit(jax.vmap(lambda s, g, r, w: unrolled_square_norm(s, g, rates=r, decays=w)))
    many = np.broadcast_to(rate, (instances, steps))
    norms, late = (unrolled(squares[:, 0], g, many, decays) for g in (gradients, gradients * (1 - rate * decay) ** 2))
    rounding, unit = 1e-13 * smooth, rate * gradients
    return {
        "orthogonal step": Inequality(
            change, bound, error=1e-13 * rho, aside={"half": orthogonal_step_bound(terms[0], rho / 2, *terms[2:])}
        ),
        "orthogonal step attained": Limit(1 / small, 1 - change[:NEAR] / bound[:NEAR], order=2.0),
        "descent of a step": Inequality(
            promised,
            fall,
            error=rounding,
            aside={"reach": (before / (smooth * rate))[::10, ::8], "fall": (fall / unit)[::10, ::8]},
        ),
        "sharp descent": Chain({"a step": (sharper, fall), "simpler": (promised, sharper)}, error=rounding),
        "fall of a small step": Identity(
            (fall / unit)[:NEAR, 0],
            (sharper / unit)[:NEAR, 0],
            scale=1.0,
            error=1e-4,  # of the order of the squared distance, and of rounding over it
            aside={"without decay": (undecayed / unit)[:NEAR, 0]},
        ),
        "norms from step to step": Identity(
            squares[:, 1:], norms, condition=100.0, size=steps, aside={"one later": np.asarray(late)}
        ),
    }


@steps_of_scale_invariant_descent.control("half the curvature", of="orthogonal step")
def half_the_curvature(evidence):
    return replace(evidence, bound=evidence.aside["half"])


@steps_of_scale_invariant_descent.control("η(1 − ρη/2‖w‖²)‖∇L‖², as without weight decay", of="fall of a small step")
def without_decay(evidence):
    return replace(evidence, right=evidence.aside["without decay"])


@steps_of_scale_invariant_descent.control("weights (1 − ηλ)^(2(T−t)), one too many", of="norms from step to step")
def one_too_many(evidence):
    return replace(evidence, right=evidence.aside["one later"])


@steps_of_scale_invariant_descent.picture
def promised_falls(pieces):
    """The fall of the loss in a step, over η‖∇L‖², by the squared norm of the weights over ρη; and what is promised."""
    aside = pieces["descent of a step"].aside
    reach = np.geomspace(0.05, 1e3, 100)
    marks = [
        Dots("steps", np.ravel(aside["reach"]), np.ravel(aside["fall"])),
        Line("promised", reach, 1 - 2 / reach),
        Level("‖w‖² = 2ρη", x=2.0),
        Level("", y=0.0),
    ]
    return Curves(
        marks, x="squared norm of the weights, over ρη", y="fall of the loss / η‖∇L‖²", log="x", ys=(-2.0, 2.0)
    )
