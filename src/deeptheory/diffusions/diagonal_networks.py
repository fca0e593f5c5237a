"""Diagonal linear networks w = u∘u − v∘v fitted to labels by gradient flow, gradient descent and descent with noise.

Many problems are followed at once, one a row: examples x_i with labels y_i, and the loss L = Σ(⟨w, x_i⟩ − y_i)²/2n.
Gradient flow keeps u∘v, and this scale decides which of many fitting w it comes to: of least ℓ2 norm where the scale is
large, of least ℓ1 norm where it is small. A step of descent along the residual g of one example multiplies u_j·v_j by
1 − 4η²g²x_j², exactly: labels with fresh noise never stop shrinking the scale, and small batches shrink it until all
examples are fitted.

Reference: arora 8.1, Example 8.1.5; Woodworth et al. 2020; Pesme, Pillaud-Vivien and Flammarion 2021.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import followed
from deeptheory.foundations.guards import affordable

__all__ = ["Diagonal", "batch_descent", "diagonal_descent", "diagonal_flow", "label_noise_descent", "scale_decay"]

Examples = Float[np.ndarray, "problem example d"]
Labels = Float[np.ndarray, "problem example"]


class Diagonal(NamedTuple):
    """The two layers u and v of diagonal networks, one network a row."""

    up: Float[np.ndarray, "problem d"]
    down: Float[np.ndarray, "problem d"]

    @property
    def weights(self) -> Any:
        """w = u∘u − v∘v, the coefficients of the linear function."""
        return self.up**2 - self.down**2

    @property
    def scale(self) -> Any:
        """u∘v, which gradient flow keeps."""
        return self.up * self.down


def _slope(given: Any, answer: Any, at: Diagonal) -> Any:
    """∇L in w."""
    residual = (given @ at.weights[..., None])[..., 0] - answer
    return (residual[:, None] @ given)[:, 0] / given.shape[1]


def diagonal_flow(
    given: Examples, answer: Labels, start: Diagonal, *, time: float, tolerance: float = 1e-9
) -> Diagonal:
    """Return where gradient flow u̇ = −2∇L(w)∘u, v̇ = 2∇L(w)∘v is at `time`. arora Example 8.1.5."""
    shape = (2, *np.shape(start.up))

    def velocity(t: float, flat: np.ndarray) -> np.ndarray:
        at = Diagonal(*flat.reshape(shape))
        slope = 2 * _slope(given, answer, at)
        return np.stack([-slope * at.up, slope * at.down]).ravel()

    begin = np.stack([np.asarray(each, float) for each in start]).ravel()
    end = followed(velocity, 0.0, begin, np.array([time]), method="DOP853", tolerance=tolerance)
    return Diagonal(*end[-1].reshape(shape))


def diagonal_descent(given: Examples, answer: Labels, start: Diagonal, *, rate: float, steps: int) -> Diagonal:
    """Return the network after so many steps of gradient descent on all examples.

    u ← u∘(1 − 2η∇L(w)) and v ← v∘(1 + 2η∇L(w)), η = `rate`; `given` is problems × examples × d. Reference: arora
    Example 8.1.5.
    """
    at = start
    for _ in range(steps):
        move = 2 * rate * _slope(given, answer, at)
        at = Diagonal(at.up * (1 - move), at.down * (1 + move))
    return at


def batch_descent(
    given: Examples, answer: Labels, start: Diagonal, chosen: Int[np.ndarray, "problem steps batch"], *, rate: float
) -> Diagonal:
    """Return the network after steps along the mean gradients of batches, the examples of each given by their places.

    `chosen` is for example that of `minibatches`, one run a problem; `rate` is η as in `diagonal_descent`. Reference:
    Pesme, Pillaud-Vivien and Flammarion 2021; arora Example 8.1.5 for the network.
    """
    examples = given.shape[1]
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < examples):
        raise ValueError(f"chosen must be places of examples, 0 to {examples - 1}")
    rows, at = np.arange(len(given))[:, None], start
    for which in np.swapaxes(chosen, 0, 1):
        move = 2 * rate * _slope(given[rows, which], answer[rows, which], at)
        at = Diagonal(at.up * (1 - move), at.down * (1 + move))
    return at


def scale_decay(
    given: Examples, answer: Labels, start: Diagonal, *, batch: float, time: float, tolerance: float = 1e-9
) -> Float[np.ndarray, "problem d"]:
    """Return how fast batches shrink the scale: −log(u∘v) grows by η times this until `time`, as the rate η tends to 0.

    4∫(g_j² + Σ_jj/B) dt along gradient flow, g = ∇L(w) and Σ the covariance of the gradients of single examples, of
    which a batch drawn with replacement has the B-th part; B = ∞ is the whole sample. Smaller batches leave a smaller
    scale, as if the first weights had been smaller.

    Reference: Pesme, Pillaud-Vivien and Flammarion 2021; arora 8.1.
    """
    shape = (3, *np.shape(start.up))

    def velocity(t: float, flat: np.ndarray) -> np.ndarray:
        up, down, _ = flat.reshape(shape)
        residual = (given @ (up**2 - down**2)[..., None])[..., 0] - answer
        single = residual[..., None] * given
        slope, spread = single.mean(1), single.var(1)
        return np.stack([-2 * slope * up, 2 * slope * down, 4 * (slope**2 + spread / batch)]).ravel()

    begin = np.stack([*(np.asarray(each, float) for each in start), np.zeros(shape[1:])]).ravel()
    end = followed(velocity, 0.0, begin, np.array([time]), method="DOP853", tolerance=tolerance)
    return end[-1].reshape(shape)[2]


def label_noise_descent(
    draw: np.random.Generator,
    given: Examples,
    answer: Labels,
    start: Diagonal,
    *,
    rate: float,
    deviation: float,
    steps: int,
) -> Diagonal:
    """Return the network after so many steps, each along one random example with label y_i ± deviation (fair signs).

    Label and example are drawn anew at each step, for every problem its own. `rate` is η as in `diagonal_descent`.
    Reference: HaoChen et al. 2021.
    """
    problems, examples, _ = given.shape
    affordable(draws=(steps, problems))
    rows, at = np.arange(problems), start
    chosen = draw.integers(0, examples, (steps, problems))
    noise = deviation * (2 * draw.integers(0, 2, (steps, problems)) - 1.0)
    for which, added in zip(chosen, noise, strict=True):
        x = given[rows, which]
        residual = np.einsum("pd,pd->p", x, at.weights) - answer[rows, which] - added
        move = (2 * rate * residual)[:, None] * x
        at = Diagonal(at.up * (1 - move), at.down * (1 + move))
    return at


doors(
    __name__,
    infinite=("batch",),
    batch="[1, ∞]",
    rate="(0, ∞)",
    deviation="[0, ∞)",
    steps="[0, 1e6]",
    time="[0, ∞)",
    tolerance="[1e-13, 0.1]",
)
