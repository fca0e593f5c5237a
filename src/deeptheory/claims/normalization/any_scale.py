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
from deeptheory.normalization.spheres import RayleighQuotient, SteepestCircle
from deeptheory.normalization.weight_decay import decayed_descent

SMOOTHNESS, OTHER = 2.0, 0.7
"""of the losses, in the setting that is drawn and in another"""


@partial(jax.jit, static_argnames="steps")
def runs(function, starts, rate, decay, *, steps):
    """Squared norms, and squared gradients at the unit vectors, along descent from each start."""

    def one(start):
        slope = jax.grad(lambda w: function(w))
        path = decayed_descent(slope, start, rates=jnp.full(steps, rate), decays=decay)
        squares = jnp.sum(path**2, 1)
        return squares, jnp.sum(jax.vmap(slope)(path) ** 2, 1) * squares

    return jax.vmap(one)(starts)


@jax.jit
def steepest(smoothness, angles):
    """The largest gradient seen at unit vectors of these angles on the steepest circle, for each smoothness."""
    points = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
    slopes = lambda rho: jax.vmap(jax.grad(SteepestCircle(rho)))(points)  # noqa: E731
    return jax.vmap(lambda rho: jnp.linalg.norm(slopes(rho), axis=1).max())(smoothness)


@claim(
    items={
        "A13.17": ("steps until the gradient is small", "steps for a tenfold norm"),
        "A13.18": "guarantee over the largest gradient seen",
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
    r"a step, so this phase ends within $1/6\lambda\eta$ steps, with $\|w\|^2$ at most "
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
    # Another rate, decay and smoothness, for which all symbols move; starts are as many turning sizes large.
    settings = (rate, intrinsic, SMOOTHNESS), (3 * rate, 1.3 * intrinsic, OTHER)
    scales, between = 10.0 ** np.arange(-3, 5), np.array([0.8, *[0.05] * 8, 0.6])
    # The quotient starts between its extreme eigenvectors: there the gradient is large.
    losses = {
        "quotient": (lambda rho: RayleighQuotient(jnp.diag(jnp.linspace(0.0, rho / 2, 10))), between),
        "circle": (lambda rho: SteepestCircle(jnp.asarray(rho)), np.array([np.cos(1.2), np.sin(1.2)])),
    }
    norms = np.stack([scales * float(turning_square(rate=eta, smoothness=rho)) ** 0.5 for eta, _, rho in settings])
    each = [dict(rate=eta, smoothness=rho, decay=both / eta) for eta, both, rho in settings]
    bound = np.stack([steps_from_any_scale(size**2, **one) for size, one in zip(norms, each, strict=True)])
    steps, small, large = int(bound.max()) + 1, scales < 1, scales > 1
    hits, waits, growths, ends = (np.zeros((len(each), len(losses), *shape)) for shape in ((8,), (3,), (), (3,)))
    for place in np.ndindex(len(each), len(losses)):
        one, size = each[place[0]], norms[place[0]]
        made, direction = list(losses.values())[place[1]]
        starts = size[:, None] * direction / np.linalg.norm(direction)
        found = runs(made(one["smoothness"]), starts, one["rate"], one["decay"], steps=steps)
        squares, met = np.asarray(found[0]), np.asarray(found[1] <= float(gradient_guarantee(**one)))
        turn = float(turning_square(rate=one["rate"], smoothness=one["smoothness"]))
        over = np.asarray(first_hit((squares >= turn) | met))[small].astype(int)
        hits[place], waits[place], ends[place] = first_hit(met), over, squares[small, over]
        growths[place] = np.diff(squares, axis=1)[(squares[:, :-1] <= turn) & ~met[:, :-1]].min()

    def stacked(law):
        """What a law says of both settings, for both losses alike."""
        return np.stack([np.asarray(law(size, one)) for size, one in zip(norms, each, strict=True)])[:, None]

    rates, decays = np.array([one["rate"] for one in each]), np.array([one["decay"] for one in each])
    # Bounds with room do not see their own constants: once, as they are printed, at η, λ, ρ and ‖w₀‖² that all differ.
    eta, lam, rho, square = 0.7, 0.2, 1.3, 30.0
    turn, one = np.pi**2 * rho * eta, dict(rate=eta, decay=lam)
    printed = {
        "steps from any scale": (abs(np.log(square / (rho * np.pi**2 * eta))) + 3) / (2 * lam * eta),
        "steps at a small norm": 1 / (6 * lam * eta),
        "steps from a large norm": np.log(4 * square / (rho * np.pi**2 * eta)) / (2 * eta * lam),
        "growth at a small norm": 6 * np.pi**2 * rho * lam * eta**2,
        "norm after the jump": 2 * turn**2 / square,
    }
    computed = [
        steps_from_any_scale(square, **one, smoothness=rho),
        small_norm_steps(**one),
        large_norm_steps(square, **one, smoothness=rho),
        small_norm_growth(**one, smoothness=rho),
        overshoot_bound(square, rate=eta, smoothness=rho),
    ]
    smooth, share = np.array([0.5, SMOOTHNESS, 3.0]), np.array([1e-6, 1e-4, 1 / (8 * np.pi**2)])
    seen = np.asarray(steepest(jnp.asarray(smooth), jnp.linspace(0, 2 * np.pi, 721)))[:, None]
    promised = np.stack([gradient_guarantee(rate=share, decay=1.0, smoothness=rho) for rho in smooth])
    return {
        "steps until the gradient is small": Inequality(
            hits,
            np.broadcast_to(bound[:, None], hits.shape),
            along={"setting": [f"ρ = {rho}" for *_, rho in settings], "loss": list(losses), "start": scales},
            aside={"rates": np.array([rates[0], decays[0]]), "turn": norms[0] @ (scales == 1), "norms": norms[0]},
        ),
        "steps at a small norm": Inequality(
            waits,
            stacked(lambda _, one: np.floor(small_norm_steps(rate=one["rate"], decay=one["decay"])) + 1.0)[..., None],
        ),
        "growth at a small norm": Inequality(
            np.broadcast_to(stacked(lambda _, one: small_norm_growth(**one)), growths.shape), growths
        ),
        "norm after the jump": Inequality(
            ends,
            stacked(
                lambda size, one: overshoot_bound(size[small] ** 2, rate=one["rate"], smoothness=one["smoothness"])
            ),
            aside={"squares over the turning size": scales[small] ** 2},
        ),
        "jump along the norm": Rate(norms[0][small], ends[0, 1], exponent=-2.0, rivals=(-1.0,)),
        "steps from a large norm": Inequality(
            hits[..., large], stacked(lambda size, one: large_norm_steps(size[large] ** 2, **one))
        ),
        "steps for a tenfold norm": Identity(
            hits[..., -1] - hits[..., -2], np.log(10) / -np.log1p(-rates * decays)[:, None], error=3.0
        ),  # times are whole numbers
        "bounds written out": Identity(computed, list(printed.values()), along={"bound": list(printed)}),
        # The steepest scale-invariant loss has a slope of ρ tanh(π/2), not of the πρ to which the promise is compared.
        "guarantee over the largest gradient seen": Identity(
            promised / seen**2,
            np.asarray(guaranteed_share(rate=share, decay=1.0)) * (np.pi / np.tanh(np.pi / 2)) ** 2,
            condition=10.0,
            along={"smoothness": smooth, "rate times decay": share},
            aside={"slope ρ": 8 * np.pi**4 * share},
        ),
    }


@small_gradients_from_any_scale.control("half the time", of="steps until the gradient is small")
def half_the_time(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@small_gradients_from_any_scale.control("half the time for large norms", of="steps from a large norm")
def half_for_large(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@small_gradients_from_any_scale.control("a single step leaves the small norms", of="steps at a small norm")
def out_at_once(evidence):
    return replace(evidence, bound=np.ones_like(evidence.bound))


@small_gradients_from_any_scale.control(
    "growth by 8π⁴ρλη², as if norms turned at ρη without decay", of="growth at a small norm"
)
def smaller_turning_size(evidence):
    return replace(evidence, quantity=evidence.quantity * 4 * np.pi**2 / 3)


@small_gradients_from_any_scale.control("at most 2π²ρη, however small the start", of="norm after the jump")
def whatever_the_start(evidence):
    return replace(evidence, bound=evidence.bound * evidence.aside["squares over the turning size"])


@small_gradients_from_any_scale.control("1/(2λη) steps per factor e", of="steps for a tenfold norm")
def half_the_slope(evidence):
    return replace(evidence, right=evidence.right / 2)


@small_gradients_from_any_scale.control("a largest gradient of ρ", of="guarantee over the largest gradient seen")
def as_steep_as_smooth(evidence):
    return replace(evidence, right=evidence.aside["slope ρ"])


@small_gradients_from_any_scale.picture
def waiting(pieces):
    """Steps until the gradient at the unit vector is small, by the size of the start, beside the bound."""
    time = pieces["steps until the gradient is small"]
    norms, (rate, decay) = np.asarray(time.aside["norms"]), time.aside["rates"]
    fine = np.geomspace(norms[0], norms[-1], 200)
    bound = steps_from_any_scale(fine**2, rate=rate, decay=decay, smoothness=SMOOTHNESS)
    marks = [Line("bound", fine, bound)]
    marks += [Dots(name, norms, time.quantity[0, i]) for i, name in enumerate(time.along["loss"])]
    marks += [Level("π√(ρη)", x=float(time.aside["turn"]))]
    return Curves(marks, x="size of the start ‖w₀‖", y="steps", log="x")
