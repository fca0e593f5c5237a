"""The size of the weights at which weight decay and gradients balance (arora 13.4, announced in chapter 12)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line
from deeptheory.normalization.equilibrium import effective_rate, equilibrium_norm, norm_step, relaxation_factor
from deeptheory.normalization.normalizers import layer_norm
from deeptheory.normalization.weight_decay import decayed_descent


@jax.jit
def tangential(starts, noise, rate, decays):
    """By decay, squared norms along steps whose gradients are given vectors, made orthogonal to w, over its size."""

    def one(start, noise, decay):
        def gradient(w, draw):
            unit = w / jnp.linalg.norm(w)
            return (draw - (draw @ unit) * unit) / jnp.linalg.norm(w)

        path = decayed_descent(gradient, start, rates=jnp.full(len(noise), rate), decays=decay, batches=noise)
        return jnp.sum(path**2, 1)

    return jax.vmap(lambda decay: jax.vmap(partial(one, decay=decay))(starts, noise))(decays)


@jax.jit
def label_noise(starts, inputs, targets, top, rate, decays):
    """By decay, squared norms and squared unit gradients of a layer under normalization that is trained on noise."""

    def one(start, inputs, targets, decay):
        def loss(w, batch):
            x, y = batch
            return jnp.mean((jax.nn.relu(layer_norm(x @ w.T)) @ top - y) ** 2)

        slope, batches = jax.grad(loss), (inputs, targets)
        path = decayed_descent(slope, start, rates=jnp.full(len(inputs), rate), decays=decay, batches=batches)
        squares = jnp.sum(path**2, (1, 2))
        return squares[:-1], jnp.sum(jax.vmap(slope)(path[:-1], batches) ** 2, (1, 2)) * squares[:-1]

    return jax.vmap(lambda decay: jax.vmap(partial(one, decay=decay))(starts, inputs, targets))(decays)


@claim(
    items={"A13.25": ("norm in the end", "approach to the norm", "mean norm with noise", "effective rate")},
    says=r"On a scale-invariant loss whose stochastic gradients have mean square $G^2$ at unit vectors, descent with "
    r"weight decay settles at $\|w\|^4=\eta G^2/(\lambda(2-\eta\lambda))$, so that directions move at the rate "
    r"$\eta/\|w\|^2\approx\sqrt{2\eta\lambda}/G$; a small distance shrinks by "
    r"$2(1-\eta\lambda)^2-1\approx1-4\eta\lambda$ a step.",
    needs="a scale-invariant loss; G² about constant over the weights met; ηλ small where G² varies",
    symbols={
        r"G^2": r"the mean of $\|\nabla L_t(w/\|w\|)\|^2$ over batches",
        r"\eta,\lambda": "learning rate and weight decay",
        "w": "the scale-invariant weights",
    },
    why=r"Gradients are orthogonal to the weights and of size $G/\|w\|$, so $\|w\|^2$ gains $\eta^2G^2/\|w\|^2$ and "
    r"loses the share $1-(1-\eta\lambda)^2$ in a step. Where the two are equal it stays. The direction sees only "
    r"$\eta/\|w\|^2$, and there only the product $\eta\lambda$ is left: the intrinsic learning rate, which also sets "
    r"the time $1/4\eta\lambda$ that the approach takes.",
    notice=r"From weights too large and too small alike the norm goes to one value. The small ones are there after a "
    r"few steps; the large ones wait for decay, first at the rate $2\eta\lambda$ of their own shrinking.",
    explore={"decay": (0.02, 0.05, 0.2)},
)
def norms_settle_where_decay_balances_gradients(
    key,
    *,
    rate: Annotated[float, Interval(ge=0.01, le=0.5)] = 0.1,
    decay: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.05,
    trials: Trials = 32,
):
    random, d, decays = generator(key), 40, decay * np.array([4.0, 2.0, 1.0])
    steps = int(6 / (rate * decay))
    noise = random.standard_normal((trials, steps, d))
    starts = random.standard_normal((trials, d)) * np.geomspace(0.1, 1, trials)[:, None]
    squares = np.asarray(tangential(starts, noise, rate, decays))
    setting, many = dict(rate=rate, decay=decay), dict(rate=rate, decay=decays[:, None])
    settled = squares[:, :, steps // 2 :] ** 2 / np.asarray(equilibrium_norm(d - 1.0, **many) ** 4)[..., None]

    # Without noise in the size of the gradient the norm follows a recursion of its own.
    sizes, g = np.array([0.01, 1.0, 100.0]), np.array([0.5, 2.0, 7.0])
    for _ in range(2 * steps):
        sizes = norm_step(sizes, g, **setting)
    exact = equilibrium_norm(g, **setting) ** 2
    off, nearby = 1e-6, exact * (1 + 1e-6)
    for _ in range(20):
        nearby = norm_step(nearby, g, **setting)

    inputs, targets = random.standard_normal((trials, steps, 8, 5)), random.standard_normal((trials, steps, 8))
    weights, top = random.standard_normal((trials, 6, 5)), random.standard_normal(6)
    found = label_noise(weights, inputs, targets, top, rate, decays)
    norms, gradients = (np.asarray(each)[:, :, steps // 3 :] for each in found)
    mean = gradients.mean(2)
    effective = (rate / norms).mean(2) / np.asarray(effective_rate(mean, **many))
    # Where the size of the gradient varies the formulas are limits of small ηλ.
    limit: dict[str, Any] = dict(sizes=1 / (rate * decays), order=1.0)
    every = slice(None, None, max(steps // 100, 1))
    return {
        "norm in the end": Identity(sizes, exact, condition=1e3),
        "approach to the norm": Identity(
            (nearby / exact - 1) / off,
            float(relaxation_factor(**setting)) ** 20,
            error=1e-5,
            aside={"half": (2 * (1 - rate * decay) - 1) ** 20},
        ),
        "mean norm with noise": Law(
            1.0,
            settled.mean(2),
            **limit,
            aside={
                "paths": squares[-1, :: max(trials // 6, 1), every],
                "step": np.arange(steps + 1)[every],
                "level": float(equilibrium_norm(d - 1.0, **setting)) ** 2,
            },
        ),
        "effective rate": Law(1.0, effective, **limit),
    }


@norms_settle_where_decay_balances_gradients.control("‖w‖⁴ = ηG²/λ, without the 2", of="mean norm with noise")
def without_the_two(evidence):
    return replace(evidence, predicted=2.0)


@norms_settle_where_decay_balances_gradients.control("an effective rate √(ηλ)/G", of="effective rate")
def root_of_two(evidence):
    return replace(evidence, predicted=0.5**0.5)


@norms_settle_where_decay_balances_gradients.control("a factor 1 − 2ηλ", of="approach to the norm")
def half_the_rate(evidence):
    return replace(evidence, right=evidence.aside["half"])


@norms_settle_where_decay_balances_gradients.picture
def settling(pieces, settings):
    """Squared norms along descent on tangential noise from starts of different sizes, and the predicted level."""
    noise = pieces["mean norm with noise"]
    marks = [Line("runs", noise.aside["step"], path, thin=True) for path in noise.aside["paths"]]
    return Curves(
        [*marks, Level("equilibrium", y=float(noise.aside["level"]))],
        x="step",
        y="squared norm of the weights",
        log="y",
    )
