"""Softmax regression on a mixture of k Gaussian classes: draws, loss, exact expectations, dynamics and its solution.

Class a has probability p_a, mean μ_a and covariance I/λ. Parameters are one vector x^c a class, rows of a k × d matrix;
the loss is −x^y·Y + log Σ_c exp(x^c·Y). It sees Y through the k − 1 differences of logits alone, so every expectation
is an integral over k − 1 Gaussians, whatever d is.

Reference: jagannath Sec. 13.1.2; Ben Arous, Gheissari, Huang and Jagannath 2023.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32
from scipy.optimize import brentq
from scipy.special import softmax

from deeptheory.calculus.expectations import gaussian_product_rule
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "SoftmaxQuadrature",
    "mixture_draws",
    "population_gradient",
    "reduced_coordinates",
    "softmax_loss",
    "softmax_quadrature",
    "softmax_velocity",
    "symmetric_solution",
]

Means = Float[np.ndarray, "k d"]
Number = float | Float[Array, ""]


def mixture_draws(
    key: Key[Array, ""] | UInt32[Array, "2"],
    means: Means,
    *,
    count: int,
    precision: float,
    weights: Float[np.ndarray, " k"] | None = None,
    freedom: float = np.inf,
) -> tuple[Float[np.ndarray, "count d"], Int[np.ndarray, " count"]]:
    """Draw inputs Y = μ_a + noise of covariance I/λ, and their classes a.

    `means` has the μ_a in rows, `precision` is λ, `weights` are the p_a (equal unless given). `freedom` makes the noise
    heavy-tailed: Student's with so many degrees in place of Gaussian, scaled to the same covariance where it has one
    (above 2), one scale for all coordinates of a draw. Reference: jagannath Sec. 13.1.2.
    """
    affordable(draws=(count, means.shape[1]))
    random = generator(key)
    classes = random.choice(len(means), count, p=weights)
    noise = random.standard_normal((count, means.shape[1])) / precision**0.5
    if np.isfinite(freedom):
        noise *= np.sqrt((freedom - 2) / random.chisquare(freedom, (count, 1)))
    return means[classes] + noise, classes


def softmax_loss(
    parameters: Float[AnyArray, "k d"],
    sample: tuple[Float[AnyArray, " d"], Int[AnyArray, ""]],
) -> Float[Array, ""]:
    """Return −x^y·Y + log Σ_c exp(x^c·Y) for one sample (Y, y), y a class number. Reference: jagannath Sec. 13.1.2."""
    inputs, label = sample
    return label_cross_entropy(jnp.asarray(parameters) @ inputs, label)


class SoftmaxQuadrature(NamedTuple):
    """What a softmax sees of each class: a rule for the Gaussian coordinates of Y that its chances depend on.

    `frame`: orthonormal rows f that span the differences of the parameters; `inside` (class, point, row): ⟨f, Y⟩;
    `chances` (class, point, c): π_c(Y); `rule`: the points' weights, p_a over a class; `outside`: the means' parts
    orthogonal to the frame, where Y is Gaussian with covariance I/λ and independent of the chances.
    """

    frame: Float[np.ndarray, "q d"]
    inside: Float[np.ndarray, "k points q"]
    chances: Float[np.ndarray, "k points k"]
    rule: Float[np.ndarray, "k points"]
    outside: Float[np.ndarray, "k d"]


def softmax_quadrature(
    parameters: Means,
    means: Means,
    *,
    precision: float,
    weights: Float[np.ndarray, " k"] | None = None,
    nodes: int = 12,
) -> SoftmaxQuadrature:
    """Return the rule for expectations of functions of the chances under each class.

    k − 1 variables or fewer; Gauss–Hermite with 12 `nodes` in each is good to about 10⁻⁸ while the logits' noise
    ‖x^b − x^c‖/√λ is below one, and off by some per cent where that is √nodes: more noise is refused.
    `precision` is λ, infinite without noise; `weights` are the p_a, equal unless given. `parameters` and `means` have
    one row a class. Reference: Golub and Welsch 1969 for the rule.
    """
    noise = np.linalg.norm(parameters[:, None] - parameters, axis=-1).max() / precision**0.5
    if noise**2 > nodes:
        raise ValueError(f"nodes must be at least the square of the logits' noise, {noise:.3g}, got {nodes}")
    return _quadrature(parameters, means, precision, weights, nodes)


def _quadrature(
    parameters: Means, means: Means, precision: float, weights: Float[np.ndarray, " k"] | None, nodes: int
) -> SoftmaxQuadrature:
    shares = np.full(len(means), 1 / len(means)) if weights is None else weights
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"weights must sum to 1, got {shares.sum():.6g}")
    spread = parameters - parameters.mean(0)
    _, sizes, rows = np.linalg.svd(spread, full_matrices=False)
    frame = rows[sizes > 1e-12 * np.abs(parameters).max()]
    points, rule = gaussian_product_rule(len(frame), nodes)
    inside = (means @ frame.T)[:, None] + points / precision**0.5
    chances = softmax(inside @ (spread @ frame.T).T, axis=-1)
    return SoftmaxQuadrature(frame, inside, chances, np.outer(shares, rule), means - means @ frame.T @ frame)


def reduced_coordinates(parameters: Means, means: Means) -> tuple[np.ndarray, np.ndarray]:
    """Return parameters and means in coordinates of their joint span, means first: at most 2k numbers each.

    All expectations are the same there, and every direction beside the span is bulk: exact spectra in any dimension.
    The first coordinates span the means, as many as there are.
    """
    frame = np.linalg.qr(np.concatenate([means, parameters]).T)[0]
    return parameters @ frame, means @ frame


def population_gradient(
    parameters: Means,
    means: Means,
    *,
    precision: float,
    weights: Float[np.ndarray, " k"] | None = None,
    nodes: int = 12,
) -> Float[np.ndarray, "k d"]:
    """Return E(π_c − y_c)Y, the gradient of the expected loss without penalty, by quadrature.

    `precision` is λ, `weights` the p_a. Reference: jagannath Sec. 13.1.2.
    """
    return _pull(softmax_quadrature(parameters, means, precision=precision, weights=weights, nodes=nodes))


def _pull(seen: SoftmaxQuadrature) -> np.ndarray:
    residual = seen.rule[..., None] * (seen.chances - np.eye(len(seen.outside))[:, None])
    return np.einsum("anc,anq->cq", residual, seen.inside) @ seen.frame + residual.sum(1).T @ seen.outside


def softmax_velocity(
    state: tuple[Float[AnyArray, "k k"], Float[AnyArray, "k k"]],
    gram: Float[AnyArray, "k k"],
    *,
    precision: Number,
    decay: Number,
    ratio: Number = 1.0,
    nodes: int = 6,
) -> tuple[Float[Array, "k k"], Float[Array, "k k"]]:
    """Return the velocity of (m, R) in the limit of online descent with steps δ = c/d, d → ∞, classes equally likely.

    m_{cb} = ⟨x^c, μ_b⟩, and R_{bc} = ⟨x^b_⊥, x^c_⊥⟩ of the parts orthogonal to all means; `gram` has ⟨μ_a, μ_b⟩,
    `decay` is β, `ratio` c. By Stein's identity the expectations are over the k logits: dm/dt = E(y − π) gram − A m/λ −
    βm and dR/dt = −2βR − (AR + RA)/λ + (c/λ)E(π − y)(π − y)ᵀ, A = E(diag π − ππᵀ). So what is orthogonal to the means
    falls like e^(−2βt) to a floor of order c/(2βλ). Pure, for `foundations.flows.flow`. Good while the logits' noise is
    small beside √`nodes`, as with `softmax_quadrature`. `precision` is λ. Reference: jagannath Sec. 13.2
    (Thm 5.7 to Cor. 5.12 of the paper it sums up); the corrector is that of Thm 12.4.
    """
    overlaps, rest = (jnp.asarray(each) for each in state)
    gram, classes = jnp.asarray(gram), len(overlaps)
    points, rule = gaussian_product_rule(classes, nodes)
    values, vectors = jnp.linalg.eigh(overlaps @ jnp.linalg.solve(gram, overlaps.T) + rest)
    root = vectors * jnp.sqrt(jnp.maximum(values, 0))
    chances = jax.nn.softmax(overlaps.T[:, None] + points @ root.T / precision**0.5)
    residual = chances - jnp.eye(classes)[:, None]
    share = rule / classes
    pull = jnp.einsum("n,anc->ac", share, residual)
    mean = jnp.einsum("n,anc->c", share, chances)
    bend = jnp.diag(mean) - jnp.einsum("n,anb,anc->bc", share, chances, chances)
    square = jnp.einsum("n,anb,anc->bc", share, residual, residual)
    drift = -pull.T @ gram - bend @ overlaps / precision - decay * overlaps
    return drift, -2 * decay * rest + (ratio * square - bend @ rest - rest @ bend) / precision


def symmetric_solution(
    classes: Annotated[int, "[2, 6]"],
    *,
    decay: Annotated[float, "[1e-10, 10]"],
    precision: Annotated[float, "[1e-12, ∞]"] = np.inf,
    nodes: int = 12,
) -> float:
    """Return a = ⟨x^c, μ_c⟩ where the penalized expected loss is least, for equal weights and orthonormal means.

    There x^c = aμ_c − a/(k−1) Σ_{b≠c} μ_b, and without noise kβa = 1 − e^a/(e^a + (k−1)e^(−a/(k−1))); with noise the
    slope of the expected loss is integrated. `decay` is β, `precision` λ. Reference: jagannath Thm 13.5; the equation
    is ours. A penalty below 1e-10 is lost in the rounding of the chances that it balances, as is λ below 1e-12.
    """
    means = np.eye(classes)
    shape = (classes * means - 1) / (classes - 1)

    def slope(size: float) -> float:
        return _pull(_quadrature(size * shape, means, precision, None, nodes))[0, 0] + decay * size

    # The pull is at most E|Y·μ| ≤ 1 + 1/√λ, which the penalty outweighs at the upper end.
    root: Any = brentq(slope, 0.0, (1 + precision**-0.5) / decay, xtol=1e-300, maxiter=4000)
    softmax_quadrature(root * shape, means, precision=precision, nodes=nodes)  # refuses what it cannot resolve
    return float(root)


doors(
    __name__,
    infinite=("precision", "freedom"),
    count="[1, 1e8]",
    precision="(0, ∞]",
    weights="(0, 1]",
    freedom="(2, ∞]",
    decay="(0, 10]",
    ratio="[0, ∞)",
    axes="[0, 20]",
    nodes="[1, 200]",
    symmetric=("gram",),
)
