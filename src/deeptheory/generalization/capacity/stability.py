"""Algorithmic stability: what replacing one example changes, measured on coupled runs, and the bounds on it.

Two data sets differ in one example; runs on them share every random choice.

Reference: handbook Secs. 10.1 to 10.3; Bousquet and Elisseeff 2002; Hardt, Recht and Singer 2016.
"""

from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "bounded_loss_stability",
    "convex_sgd_stability",
    "coupled_sgd",
    "escape_distances",
    "ghost_gaps",
    "nonconvex_sgd_stability",
    "on_average_bound",
    "regularized_stability",
    "strongly_convex_sgd_stability",
]

Numbers = float | int | Num[np.ndarray, "..."] | np.number
Parameters = Float[Array, " d"]
SAMPLES = 20_000
"""how many samples are enumerated: every one is trained on with every replacement"""


def coupled_sgd(
    gradient: Callable[[Parameters, Float[Array, " k"]], Parameters],
    start: Float[AnyArray, " d"],
    data: Float[AnyArray, "n k"],
    replaced: Float[AnyArray, "n k"],
    indices: Int[AnyArray, "runs steps"],
    step_sizes: Float[AnyArray, " steps"],
) -> tuple[Float[Array, "runs d"], Float[Array, "runs d"]]:
    """Last iterates of SGD on two data sets, with the same example numbers drawn in both.

    w ← w − η_t·∇f(w; z_{i_t}). Reference: Hardt, Recht and Singer 2016; handbook 10.2.
    """
    data, replaced = jnp.asarray(data), jnp.asarray(replaced)

    def run(order):
        def step(pair, at):
            index, eta = at
            one, two = pair
            return (one - eta * gradient(one, data[index]), two - eta * gradient(two, replaced[index])), None

        begin = jnp.asarray(start, jnp.result_type(start, data, replaced, step_sizes))
        return jax.lax.scan(step, (begin, begin), (order, jnp.asarray(step_sizes)))[0]

    return jax.vmap(run)(jnp.asarray(indices))


def convex_sgd_stability(lipschitz: Numbers, step_sizes: Float[np.ndarray, " steps"], samples: Numbers) -> Numbers:
    """(2L²/n)·Σ η_t for convex L-Lipschitz β-smooth losses and η_t ≤ 2/β; attained by linear losses.

    The parameters are (2L/n)·Σ η_t apart in mean. Reference: handbook 10.2.
    """
    positive(lipschitz=lipschitz, samples=samples)
    inside(0, np.inf, step_sizes=step_sizes)
    return 2 * lipschitz**2 * np.sum(step_sizes) / samples


def strongly_convex_sgd_stability(lipschitz: Numbers, curvature: Numbers, samples: Numbers) -> Numbers:
    """2L²/(γn) at any time, for γ-strongly convex losses and constant steps at most 1/β.

    `lipschitz` is L, `curvature` γ. Reference: Hardt, Recht and Singer 2016, Thm 3.9.
    """
    positive(lipschitz=lipschitz, curvature=curvature, samples=samples)
    return 2 * lipschitz**2 / (curvature * samples)


def regularized_stability(lipschitz: Numbers, curvature: Numbers, samples: Numbers) -> Numbers:
    """2L/(λn): how far the minimiser of mean loss + (λ/2)‖w‖² moves, losses convex and L-Lipschitz.

    The loss changes by at most L times this. `lipschitz` is L, `curvature` λ. Reference: Bousquet and
    Elisseeff 2002, Thm 22.
    """
    positive(lipschitz=lipschitz, curvature=curvature, samples=samples)
    return 2 * lipschitz / (curvature * np.asarray(samples))


def bounded_loss_stability(largest: Numbers, steps: Numbers, samples: Numbers) -> Numbers:
    """M·(1 − (1 − 1/n)^T) ≤ M·T/n: a loss at most M can differ only if the replaced example was ever drawn.

    M is `largest`, T the number of `steps`, n that of `samples`, drawn with replacement. Reference: handbook 10.3.1.
    """
    inside(0, np.inf, largest=largest, steps=steps)
    inside(1, np.inf, samples=samples)
    return largest * -np.expm1(np.asarray(steps) * np.log1p(-1 / np.asarray(samples)))


def nonconvex_sgd_stability(
    lipschitz: float, smoothness: float, scale: float, steps: Numbers, samples: Numbers
) -> Numbers:
    """(1 + 1/(βc))/(n−1)·(2cL²)^{1/(βc+1)}·T^{βc/(βc+1)} for losses in [0, 1] and steps η_t ≤ c/t.

    `lipschitz` is L, `smoothness` β and `scale` c; T `steps` on n `samples`.

    Reference: Hardt, Recht and Singer 2016, Thm 3.12; what handbook 10.3.1 would need in place of T/n.
    """
    positive(lipschitz=lipschitz, smoothness=smoothness, scale=scale, steps=steps)
    inside(2, np.inf, samples=samples)
    power = smoothness * scale
    front = (1 + 1 / power) / (np.asarray(samples) - 1)
    return front * (2 * scale * lipschitz**2) ** (1 / (power + 1)) * np.asarray(steps) ** (power / (power + 1))


def escape_distances(eta: float, steps: Annotated[int, "[0, 1e6]"]) -> Float[np.ndarray, " steps"]:
    """Distance of two coupled runs s steps after the replaced example was first drawn, on the example that runs away.

    f(w; z) = −(√(1+w²) − 1) + zw with z = 0 everywhere except one example, +1 in one data set and −1 in the other: both
    sit at w = 0 until it is drawn, then leave in opposite directions at speed up to η. Their sum over s = 0 … T−1,
    divided by n, is a lower bound for the mean distance up to 1/n². `eta` is the rate η, s goes from 0 to `steps` − 1.
    Reference: against handbook 10.3.1.
    """
    distances, w = [], eta
    for _ in range(steps):
        distances.append(2 * w)
        w += eta * w / np.sqrt(1 + w * w)
    return np.array(distances)


def ghost_gaps(
    algorithm: Callable[[np.ndarray], np.ndarray],
    loss: Callable[[np.ndarray, np.ndarray], Float[np.ndarray, " m"]],
    atoms,
    n: int,
) -> dict[str, float]:
    """Enumerate all samples of n atoms, equally likely, with all replacements of one example by another.

    Returns the mean gap E[R − R_S], the mean change E[ℓ(A(S⁽ⁱ⁾), zᵢ) − ℓ(A(S), zᵢ)] that equals it, the largest change
    (uniform stability β), the mean training loss, and the mean squared change of the parameters; handbook 10.1.
    """
    from itertools import product

    atoms = np.asarray(atoms)
    if len(atoms) ** n > SAMPLES:
        raise ValueError(f"at most {SAMPLES:,} samples are enumerated, got {len(atoms)} atoms to the power n = {n}")
    trained = {s: algorithm(atoms[list(s)]) for s in product(range(len(atoms)), repeat=n)}
    losses = {s: loss(w, atoms) for s, w in trained.items()}
    gap, change, worst, training, moved = 0.0, 0.0, 0.0, 0.0, 0.0
    for s in trained:
        gap += float(np.mean(losses[s]) - np.mean(losses[s][list(s)]))
        training += float(np.mean(losses[s][list(s)]))
        for i in range(n):
            for other in range(len(atoms)):
                t = (*s[:i], other, *s[i + 1 :])
                change += float(losses[t][s[i]] - losses[s][s[i]]) / (n * len(atoms))
                worst = max(worst, float(np.max(np.abs(losses[t] - losses[s]))))
                moved += float(np.sum((trained[t] - trained[s]) ** 2)) / (n * len(atoms))
    count = len(trained)
    return {
        "gap": gap / count,
        "change": change / count,
        "stability": worst,
        "training": training / count,
        "moved": moved / count,
    }


def on_average_bound(training: float, moved: Numbers, smoothness: float, parameter: Numbers) -> Numbers:
    """(L/g)·E R_S + ((L+g)/2)·E‖A(S⁽ⁱ⁾) − A(S)‖² ≥ E[R − R_S] for L-smooth losses ≥ 0 and any g > 0.

    Attained for one step of f = Lw²/2 from w along its gradient over g. `training` is E R_S, `moved` the mean squared
    change, `smoothness` L and `parameter` g. Reference: Lei and Ying 2020, handbook 10.3.
    """
    inside(0, np.inf, training=training, moved=moved)
    positive(smoothness=smoothness, parameter=parameter)
    return smoothness / parameter * training + (smoothness + parameter) / 2 * moved


doors(__name__, n="[1, 20]", step_sizes="[0, ∞)")
