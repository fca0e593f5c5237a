"""Gradient flow and descent on Σ exp(−qᵢ(θ)) of a homogeneous model, with the loss as a logarithm: e^(−10⁶) is near.

The weights go to infinity, and what is left to ask is their direction. As in `homogeneous` a model is given by its
signed outputs q(θ), a function of any pytree of weights with q(cθ) = c^L q(θ).

`margins` is q and `degree` L, as in `homogeneous`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import followed
from deeptheory.foundations.guards import inside
from deeptheory.implicit_bias.homogeneous import flat_weights

__all__ = ["HomogeneousRun", "homogeneous_descent", "homogeneous_flow", "settling"]


class HomogeneousRun(NamedTuple):
    """Where a run is: directions, lengths and losses as logarithms, each point's margin and share of the loss."""

    directions: Float[np.ndarray, "times parameters"]
    log_norms: Float[np.ndarray, " times"]
    log_losses: Float[np.ndarray, " times"]
    margins: Float[np.ndarray, "times n"]  # of the direction: qᵢ(θ)/|θ|^L
    shares: Float[np.ndarray, "times n"]  # exp(−qᵢ(θ)) over their sum
    alignment: Float[np.ndarray, " times"]  # cosine between θ and −∇L, 1 in a stationary direction
    smoothed: Float[np.ndarray, " times"]  # −log L/|θ|^L; along the flow it never falls once the loss is below 1

    @property
    def margin(self) -> Float[np.ndarray, " times"]:
        """The normalized margin minᵢ qᵢ(θ)/|θ|^L."""
        return self.margins.min(1)


@partial(jax.jit, static_argnames=("margins", "unravel", "degree"))
def _pieces(state, margins, unravel, degree):
    """Unit margins, shares of the loss and Σ pᵢ∇qᵢ(v), at the direction v and the logarithm of the length."""
    values, pull = jax.vjp(lambda v: jnp.asarray(margins(unravel(v))), state[:-1])
    shares = jax.nn.softmax(-jnp.exp(degree * state[-1]) * values)
    return values, shares, pull(shares)[0]


def _velocity(state: Any, force: Any) -> Any:
    """How the direction turns and the logarithm of the length grows, along the unit vector of the force."""
    force = force / (force @ force) ** 0.5
    radial = force @ state[:-1]
    return state.__array_namespace__().concat([force - radial * state[:-1], radial[None]])


@partial(jax.jit, static_argnames=("margins", "unravel", "degree"))
def _bending(state, margins, unravel, degree):
    return jax.jacfwd(lambda s: _velocity(s, _pieces(s, margins, unravel, degree)[2]))(state)


def _looked_at(states: np.ndarray, degree: float, **model: Any) -> HomogeneousRun:
    seen = [_pieces(state, degree=degree, **model) for state in states]  # one by one: a batch would compile again
    values, shares, force = (np.array(each) for each in zip(*seen, strict=True))
    directions, log_norms = states[:, :-1], states[:, -1]
    scaled = np.exp(degree * log_norms)[:, None] * values
    least = scaled.min(1)
    log_losses = np.log(np.exp(least[:, None] - scaled).sum(1)) - least
    sizes = np.linalg.norm(force, axis=1) * np.linalg.norm(directions, axis=1)
    alignment = np.sum(force * directions, axis=1) / np.where(sizes > 0, sizes, 1.0)
    smoothed = -log_losses * np.exp(-degree * log_norms)
    return HomogeneousRun(directions, log_norms, log_losses, values, shares, alignment, smoothed)


def homogeneous_flow(
    margins: Callable[[Any], Any],
    start: Any,
    lengths: Float[AnyArray, " times"],
    *,
    degree: float,
    tolerance: float = 1e-9,
) -> HomogeneousRun:
    """Follow gradient flow on Σᵢ exp(−qᵢ(θ)) from `start`, at given lengths of its path measured by dσ = |dθ|/|θ|.

    The path does not depend on how fast it is run through, so time is replaced: in σ the direction v = θ/|θ| obeys
    v′ = (1 − vvᵀ)g and log|θ| grows by ⟨v, g⟩, where g is the unit vector along Σ pᵢ∇qᵢ(v) and p the shares of the
    loss, a softmin of |θ|^L q(v). Nothing overflows; |θ| grows by a factor e per unit in the end, and the loss falls to
    e^(−margin·|θ|^L). `lengths` increase from 0, where the flow is at its start; 6 to 10 beyond its turns suffice.
    `margins` maps the weights, any pytree, to the signed outputs and must be homogeneous of the given degree (see
    `normalization.homogeneity`). For smooth models: a ReLU network may slide along a kink, or a unit die and stay on
    one, which is too stiff and is refused; take `homogeneous_descent` then. Beyond |θ|^L of 1e14 the rounding of the
    margins decides the shares. References: arora 8.4, lucchi Thm 73.
    """
    flat, unravel = flat_weights(margins, start)
    with jax.enable_x64(True):
        model: Any = {"margins": margins, "unravel": unravel, "degree": degree}
        size = np.linalg.norm(flat)
        begin = np.append(flat / size, np.log(size))
        if not np.any(_pieces(begin, **model)[2]):
            raise ValueError("the gradient vanishes at the start: the flow stays where it is")
        states = followed(
            lambda _, state: _velocity(state, np.asarray(_pieces(state, **model)[2])),
            0.0,
            begin,
            lengths,
            method="LSODA",
            tolerance=tolerance,
            jacobian=lambda _, state: np.asarray(_bending(state, **model)),
        )
        return _looked_at(states, **model)


@partial(jax.jit, static_argnames=("margins", "unravel"))
def _descend(flat, counts, share, margins, unravel):
    def own(w):
        return jnp.asarray(margins(unravel(w)))

    def step(_, w):
        values, gradients = own(w), jax.jacrev(own)(w)
        shares = jax.nn.softmax(-values)
        width = shares @ jnp.sum(gradients**2, axis=1)
        return w + share / jnp.where(width > 0, width, 1.0) * (shares @ gradients)

    def to_next(w, count):
        w = lax.fori_loop(0, count, step, w)
        size = jnp.linalg.norm(w)
        return w, jnp.append(w / size, jnp.log(size))

    return lax.scan(to_next, flat, counts)[1]


def homogeneous_descent(
    margins: Callable[[Any], Any],
    start: Any,
    checkpoints: Int[AnyArray, " times"],
    *,
    degree: float,
    share: float = 0.1,
) -> HomogeneousRun:
    """Run gradient descent on Σᵢ exp(−qᵢ(θ)) with steps share/(B² L), B the largest |∇qᵢ| at the moment.

    Each step lowers the logarithm of the loss by about as much as the last, so a thousand of them take a network below
    1e-30 where constant steps would stop moving; `checkpoints` are increasing numbers of steps. Any network, kinks
    included. Larger shares than 1 may overshoot, and a direction is found to about the share's precision only: lower it
    to see one converge. Reference: the steps of arora Thm 8.3.2, for models that are not linear.
    """
    flat, unravel = flat_weights(margins, start)
    with jax.enable_x64(True):
        counts = np.diff(np.asarray(checkpoints), prepend=0)
        inside(0, np.inf, "[)", checkpoints=counts)
        states = _descend(flat, jnp.asarray(counts), share, margins, unravel)
        return _looked_at(np.asarray(states), degree, margins=margins, unravel=unravel)


def settling(run: HomogeneousRun) -> tuple[Float[np.ndarray, " times"], Float[np.ndarray, " times"]]:
    """Return how far the direction, and the shares of the loss, are from where the run ends.

    The theorem on first-order points assumes that both have limits; along a run that has come to them these distances
    fall to rounding, and where they do not, its conclusion is not to be relied upon. Reference: arora
    Assumption 8.4.3.
    """
    directions = np.linalg.norm(run.directions - run.directions[-1], axis=1)
    return directions, np.abs(run.shares - run.shares[-1]).sum(1)


doors(__name__, degree="(0, 100]", share="(0, 1]", tolerance="(0, 1]")
