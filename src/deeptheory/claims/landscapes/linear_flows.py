"""Gradient flow of a deep linear network: what is conserved, what the product alone decides, and mode by mode.

lucchi Ch. 6, Problem 1.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.linear_flows import (
    balanced_factors,
    factor_velocity,
    flow_factors,
    imbalance,
    mode_curve,
    product_velocity,
)


@jax.jit
def sensing_gradient(factors, target, measured):
    """The gradient of the mean of ½L⁻¹⟨W − W*, A⟩² over an orthogonal set of measurements A, by differentiation."""

    def loss(factors):
        product = jnp.eye(factors.shape[-1])
        for factor in factors:
            product = factor @ product
        return jnp.sum(jnp.einsum("kij,ij->k", measured, product - target) ** 2) / (2 * len(factors))

    return jax.grad(loss)(factors)


@claim(
    items={
        "L6.22": (
            "velocity of the flow",
            "rates of the two Gram matrices",
            "what the flow conserves",
            "balance is kept",
            "singular values of each matrix",
            "the product moves alone",
        ),
        "L6.23": "singular values over time",
    },
    says=r"Gradient flow of $W_L\cdots W_1$ towards $W^*$ conserves $W_{k+1}^\top W_{k+1}-W_kW_k^\top$. From balanced "
    r"weights the product moves alone, $\dot W=\frac1L\sum_k[WW^\top]^{\frac{L-k}L}(W^*-W)[W^\top W]^{\frac{k-1}L}$, "
    r"and its singular values, if aligned, by $\dot s=s^{2-2/L}(s^*-s)$.",
    needs="the loss ‖W − W*‖²/2L; balanced weights, W_{k+1}ᵀW_{k+1} = W_kW_kᵀ, for the second part",
    symbols={
        "W_1, \\dots, W_L": "the matrices, and $W$ their product",
        "W^*": "the target",
        "s, s^*": "a singular value of the product, and of the target",
        "L": "the depth",
        "k": "a layer",
    },
    why=r"$W_{k+1}^\top\dot W_{k+1}$ and $\dot W_kW_k^\top$ are the same product of matrices, so the difference of the "
    r"two squares does not move. If it is zero, neighbours share their singular values and vectors, each has the "
    r"$L$-th root of those of the product, and every factor in $\dot W$ is a power of $WW^\top$ or $W^\top W$.",
    notice="The largest singular value is learnt first, and the deeper the network the later and the more suddenly: "
    "one after the other, like stairs. From weights that are not balanced the two squares never become equal: what is "
    "conserved is their difference.",
    explore={"depth": (2, 3, 4)},
)
def balanced_flows(
    key, *, depth: Annotated[int, Interval(ge=2, le=5)] = 3, size: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.1
):
    random = generator(key)
    loose, target = random.standard_normal((depth, 3, 3)) * 0.7, random.standard_normal((3, 3))
    # All unit matrices as measurements: what independent Gaussian ones are on average.
    measured = np.eye(9).reshape(9, 3, 3)
    velocity = np.asarray(factor_velocity(jnp.asarray(loose), jnp.asarray(target)))
    gradient = np.asarray(sensing_gradient(jnp.asarray(loose), jnp.asarray(target), jnp.asarray(measured)))
    rates = [np.einsum("kji,kjl->kil", loose[1:], velocity[1:]), np.einsum("kij,klj->kil", velocity[:-1], loose[:-1])]

    end = flow_factors(jnp.asarray(loose), jnp.asarray(target), time=3.0, steps=600)[-1]
    begin = random.standard_normal((3, 3))
    balanced = balanced_factors(jnp.asarray(begin), depth)
    later = np.asarray(flow_factors(balanced, jnp.asarray(target), time=3.0, steps=600))[-1]
    product = np.linalg.multi_dot(list(later[::-1])) if depth > 2 else later[1] @ later[0]
    moves = np.asarray(factor_velocity(jnp.asarray(later), jnp.asarray(target)))
    total = np.zeros((3, 3))
    for k in range(depth):
        part = np.eye(3)
        for j in range(depth):
            part = (moves[j] if j == k else later[j]) @ part
        total += part
    alone = np.asarray(product_velocity(jnp.asarray(product), jnp.asarray(target), depth))
    values = np.linalg.svd(later, compute_uv=False)

    left, right = (np.linalg.qr(random.standard_normal((3, 3)))[0] for _ in range(2))
    wanted, horizon = np.array([3.0, 2.0, 1.0]), 3.0 / size ** (2 - 2 / depth) / (1 if depth == 2 else 4)
    started = balanced_factors(jnp.asarray(size * left @ right), depth)
    path = np.asarray(flow_factors(started, jnp.asarray(left * wanted @ right), time=min(horizon, 40.0), steps=4000))[
        ::200
    ]
    times = np.linspace(0, min(horizon, 40.0), len(path))
    whole = path[:, 0]
    for k in range(1, depth):
        whole = path[:, k] @ whole
    modes = np.einsum("ia,tij,aj->at", left, whole, right)
    curves = np.stack([mode_curve(size, star, depth, times) for star in wanted])
    other = np.stack([mode_curve(size, star, depth + 1, times) for star in wanted])
    grams = [np.einsum("kji,kjl->kil", w[1:], w[1:]) for w in (later, np.asarray(end))]
    outers = [np.einsum("kij,klj->kil", w[:-1], w[:-1]) for w in (later, np.asarray(end))]
    return {
        "velocity of the flow": Identity(velocity, -gradient, scale=np.abs(velocity).max(), size=27),
        "rates of the two Gram matrices": Identity(*rates, scale=np.abs(velocity).max(), size=27),
        "what the flow conserves": Identity(imbalance(end), imbalance(jnp.asarray(loose)), scale=1.0, error=1e-6),
        "balance is kept": Identity(
            grams[0], outers[0], scale=1.0, error=1e-6, aside={"loose squares": grams[1], "loose outer": outers[1]}
        ),
        "singular values of each matrix": Identity(
            values, np.broadcast_to(np.linalg.svd(product, compute_uv=False) ** (1 / depth), values.shape), error=1e-5
        ),
        "the product moves alone": Identity(
            total, alone, scale=np.abs(total).max(), error=1e-6, aside={"depth": depth}
        ),
        "singular values over time": Identity(
            modes,
            curves,
            scale=wanted[:, None],
            error=1e-5,
            along={"target": wanted, "time": times},
            aside={"deeper": other},
        ),
    }


@balanced_flows.control(
    "from any weights the two squares are equal, as printed", erratum="L6.22a", of="balance is kept"
)
def from_any_weights(evidence):
    return replace(evidence, left=evidence.aside["loose squares"], right=evidence.aside["loose outer"])


@balanced_flows.control("the sum over layers without 1/L", of="the product moves alone")
def without_depth(evidence):
    return replace(evidence, right=evidence.aside["depth"] * evidence.right)


@balanced_flows.control("the rate of one layer more", of="singular values over time")
def deeper(evidence):
    return replace(evidence, right=evidence.aside["deeper"])


@balanced_flows.picture
def stairs(pieces):
    """Singular values of the product along the flow (dots) and the curves predicted for each (lines)."""
    modes = pieces["singular values over time"]
    t = modes.along["time"]
    marks = [
        each
        for star, seen, line in zip(modes.along["target"], modes.left, modes.right, strict=True)
        for each in (Dots(f"s* = {star:g}", t, seen), Line(f"s* = {star:g}", t, line))
    ]
    rival = [Line("s* = 3", t, modes.aside["deeper"][0], rival="one layer more")]
    return Row([Curves([*marks, *rival], x="time", y="singular value of the product")])
