"""Stochastic gradients: batches of examples, how much they vary, and how fast they lead to a stationary point.

`drop` is by how much f can fall (M or Δ), `step_size` η, `smoothness` β or L, `second_moment` σ², `variance` γ² of a
single example, `batch` B, `accuracy` ε.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from deeptheory.foundations.arrays import AnyArray, Numbers
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, numeric
from deeptheory.foundations.randomness import generator

__all__ = [
    "StationaritySteps",
    "batch_stationarity_bound",
    "batch_steps",
    "best_sgd_step_size",
    "escape_exponent",
    "gradient_variance",
    "mean_square_factor",
    "minibatches",
    "sgd_stationarity_bound",
    "sgd_step_size",
    "stationarity_steps",
]


def minibatches(
    key: Key[Array, ""] | UInt32[Array, "2"],
    *,
    examples: int,
    batch: int,
    steps: int,
    runs: int = 1,
    replacement: bool = True,
) -> Int[np.ndarray, "runs steps batch"]:
    """Draw the indices of the examples that stochastic gradient descent looks at, for a number of independent runs.

    With replacement every index is uniform and independent of all others. Without, the examples are shuffled anew at
    every pass and cut into batches; what is left of a pass, fewer than `batch`, is not used. For `batches` of
    `trajectory`.

    Reference: arora 2.2.
    """
    if batch > examples and not replacement:
        raise ValueError(f"batch must be at most examples without replacement, got {batch} of {examples}")
    affordable(batches=(runs, steps, batch))
    random = generator(key)
    if replacement:
        return random.integers(examples, size=(runs, steps, batch))
    passes, used = -(-steps // (examples // batch)), examples // batch * batch
    affordable(passes=(runs, passes, examples))
    order = np.tile(np.arange(examples), (runs, passes, 1))
    shuffled = random.permuted(order, axis=-1)[..., :used]
    return shuffled.reshape(runs, -1, batch)[:, :steps]


def gradient_variance(losses: Callable[[Any], Float[Array, "n"]], point: Any) -> Float[Array, ""]:
    """Return var(x) = (1/n) Σᵢ‖∇f(x) − ∇fᵢ(x)‖², how much the gradients of single examples differ at a point.

    `losses` gives the losses fᵢ of all n examples, f is their mean, and `point` is any tree of arrays. A batch of r has
    1/r of it with replacement, and (n − r)/(r(n − 1)) of it without. At a minimizer it decides where a constant step
    stops; it is zero there if every example is fitted. Keeps all n gradients at once.

    Reference: lucchi 5.7.
    """
    numeric(point=point)
    single = jax.tree.leaves(jax.jacrev(losses)(point))
    deviations = [leaf - leaf.mean(0) for leaf in single]
    return jnp.stack([jnp.sum(each**2) / len(each) for each in deviations]).sum()


def sgd_step_size(drop: Numbers, *, smoothness: Numbers, second_moment: Numbers, steps: Numbers) -> Numbers:
    """The step size of arora Thm 2.5.2: √(M/(βσ²T)), for T = `steps` steps on a function that can fall by M = `drop`.

    `second_moment` σ² bounds E‖ĝ‖², the mean of the squared estimate, not its variance. √2 times it would make the
    bound least.
    """
    return (drop / (smoothness * second_moment * steps)) ** 0.5


def sgd_stationarity_bound(
    drop: Numbers, *, step_size: Numbers, smoothness: Numbers, second_moment: Numbers, steps: Numbers
) -> Numbers:
    """Bound the mean of E‖∇f(w_t)‖² over T steps of stochastic gradient descent: M/(ηT) + ηβσ²/2, for every η.

    `drop` M is f(w₁) − E f(w_{T+1}) or more, `second_moment` σ² at least every E‖ĝ_t‖². At the step of `sgd_step_size`
    it is (3/2)√(Mβσ²/T), where print has 2. An equality for ½βx² with M and σ² as they are in the run. No convexity.

    Reference: arora Thm 2.5.2.
    """
    return drop / (step_size * steps) + step_size * smoothness * second_moment / 2


def best_sgd_step_size(drop: Numbers, *, smoothness: Numbers, second_moment: Numbers, steps: Numbers) -> Numbers:
    """The step at which `sgd_stationarity_bound` is least: √(2Δ/(Lσ²K)), where it is σ√(2ΔL/K).

    `drop` Δ is f(x₀) − f*, `second_moment` σ² bounds E‖∇f_i‖², `steps` is K. √2 times `sgd_step_size`.

    Reference: lucchi Thm 41, where it is c/√K.
    """
    return (2 * drop / (smoothness * second_moment * steps)) ** 0.5


class StationaritySteps(NamedTuple):
    """How many steps bring E‖∇f‖² to ε: of single examples, and of full gradients, each of n examples' cost."""

    stochastic: Numbers
    full: Numbers


def stationarity_steps(
    square: Numbers, *, drop: Numbers, smoothness: Numbers, second_moment: Numbers
) -> StationaritySteps:
    """Return how many steps suffice for a mean squared gradient of ε = `square`: 2ΔLσ²/ε² stochastic, or 2ΔL/ε full.

    From σ√(2ΔL/K) ≤ ε at the best step, and from 2LΔ/K ≤ ε at the step 1/L. In gradients of single examples the second
    is n times as much, so stochastic gradients promise less work exactly if n > σ²/ε. Not rounded up. lucchi calls
    n/ε an iteration complexity; it is this count of examples.

    Reference: lucchi 5.7.1.
    """
    full = 2 * drop * smoothness / square
    return StationaritySteps(full * second_moment / square, full)


def batch_stationarity_bound(
    drop: Numbers, *, step_size: Numbers, smoothness: Numbers, variance: Numbers, batch: Numbers, steps: Numbers
) -> Numbers:
    """Bound the mean of E‖∇f(w_t)‖² over T steps with batches of B examples: 2M/(ηT) + ηβγ²/B, for η ≤ 1/β.

    `variance` γ² bounds E‖ĝ − ∇f‖² of a single example, whatever the size of the gradient itself. An equality for
    ½βx² at η = 1/β.

    Reference: arora Problem 2.5.3(b).
    """
    return 2 * drop / (step_size * steps) + step_size * smoothness * variance / batch


def batch_steps(
    accuracy: Numbers, *, drop: Numbers, smoothness: Numbers, variance: Numbers, batch: Numbers
) -> tuple[Numbers, Numbers]:
    """Return how many steps bring the bound of `batch_stationarity_bound` to ε², at the best step size, and that size.

    T = 8Mβγ²/(Bε⁴) at η = ε²B/(2βγ²) for batches up to 2γ²/ε²: twice the batch, half the steps. Beyond it the step is
    1/β and T = 2Mβ/(ε² − γ²/B), which comes down to the 2Mβ/ε² of exact gradients and no further. Not rounded up.

    Reference: arora Problem 2.5.3(b).
    """
    noise, square = np.asarray(variance) / batch, np.asarray(accuracy) ** 2
    small = noise >= square / 2
    safe = np.where(small, 1.0, square - noise)
    step = np.where(small, square / (2 * smoothness * np.where(small, noise, 1.0)), 1 / np.asarray(smoothness))
    steps = np.where(small, 8 * drop * smoothness * noise / square**2, 2 * drop * smoothness / safe)
    return steps, step


def mean_square_factor(
    curvatures: Float[AnyArray, "n"], *, step_size: Numbers, batch: Annotated[int, "[1, ∞)"]
) -> Numbers:
    """The factor (1 − ηh)² + η²v/B by which E θ² grows in a step of SGD in a well that all examples share.

    Of n examples with losses ½h_iθ² the mean curvature is h, the variance v, and B are drawn with replacement. Below
    one exactly for η < 2h/(h² + v/B): noise lowers the step that a well bears from 2/h, the more the smaller the batch.

    Reference: Wu, Ma and E 2018; handbook Sec. 5.4.
    """
    values = np.asarray(curvatures)
    return (1 - step_size * values.mean()) ** 2 + np.asarray(step_size) ** 2 * values.var() / batch


def escape_exponent(curvatures: Float[AnyArray, "n"], *, step_size: float, batch: Annotated[int, "[1, 12]"]) -> float:
    """The rate E ln|1 − ηh_B| at which ln|θ| grows under SGD in a well of losses ½h_iθ², h_B the mean of a batch.

    Every run leaves the well if it is positive, and comes to rest in it if it is negative, with probability one; runs
    that do may still have means that explode (`mean_square_factor`). By all n^B batches, drawn with replacement.
    Reference: Furstenberg and Kesten 1960 for products of random factors; handbook Sec. 5.4.
    """
    values = np.asarray(curvatures, float)
    affordable(batches=(len(values),) * batch)
    means = sum(np.ix_(*[values] * batch)) / batch
    with np.errstate(divide="ignore"):
        return float(np.mean(np.log(np.abs(1 - step_size * means))))


doors(
    __name__,
    examples="[1, 1e9]",
    batch="[1, ∞)",
    steps="[1, ∞)",
    runs="[1, ∞)",
    drop="[0, ∞)",
    smoothness="(0, ∞)",
    second_moment="(0, ∞)",
    variance="[0, ∞)",
    step_size="(0, ∞)",
    accuracy="(0, ∞)",
    square="(0, ∞)",
)
