"""A random two-layer network before training: how large its outputs and gradients are, and the step that flips a sign.

f(x) = k^(−1/2) Σⱼ aⱼσ(wⱼ·x) with wⱼ ~ N(0, I/d), aⱼ = ±1 and ‖x‖ = √d. Values are of order one and so are gradients, in
any dimension: a step of order one, next to an input of length √d, changes the sign.

Reference: lucchi 12.3; Bubeck, Cherapanamjeri, Gidel and Tachet des Combes 2021, A single gradient step finds
adversarial examples on random two-layers neural networks.
"""

from math import lgamma, log

import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import betainc

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, positive
from deeptheory.foundations.hermite import gaussian_panels
from deeptheory.foundations.randomness import generator
from deeptheory.networks.activations import ACTIVATIONS

__all__ = [
    "activation_moment",
    "flip_length_cdf",
    "flipping_step",
    "gradient_lower_bound",
    "mean_squared_gradient",
    "moment_condition",
    "normal_defect",
    "output_cdf",
    "random_two_layer",
    "slope_moment",
    "two_layer_gradient",
    "two_layer_value",
]

Networks = tuple[Float[np.ndarray, "*trials k d"], Float[np.ndarray, "*trials k"]]
CONTINUOUS = ("relu", "sigmoid", "sine", "softplus", "tanh")
"""activations that take no value twice as often as others, but for the 0 of a ReLU: their sums have densities"""


def random_two_layer(key: Key[Array, ""], trials: int, width: int, dimension: int) -> Networks:
    """Draw networks: rows wⱼ ~ N(0, I/d) and signs aⱼ, the trials first. Reference: lucchi (12.6)."""
    affordable(weights=(trials, width, dimension))
    draw = generator(key)
    weights = draw.standard_normal((trials, width, dimension)) / np.sqrt(dimension)
    return weights, 2.0 * draw.integers(0, 2, (trials, width)) - 1


def two_layer_value(
    networks: Networks, x: Float[np.ndarray, "*#trials d"], *, activation: str = "tanh"
) -> Float[np.ndarray, "*trials"]:
    """Return f(x) = k^(−1/2) Σⱼ aⱼσ(wⱼ·x) for one input or an input for each network. Reference: lucchi (12.6)."""
    weights, signs = networks
    before = (weights @ x[..., None])[..., 0]
    return np.asarray(np.sum(signs * _known(activation)[0](before), -1) / np.sqrt(weights.shape[-2]))


def two_layer_gradient(
    networks: Networks, x: Float[np.ndarray, "*#trials d"], *, activation: str = "tanh"
) -> Float[np.ndarray, "*trials d"]:
    """Return ∇f(x) = k^(−1/2) Σⱼ aⱼσ′(wⱼ·x)wⱼ, by the input. Reference: lucchi Prop. 79."""
    weights, signs = networks
    slopes = _known(activation)[1]((weights @ x[..., None])[..., 0])
    return ((signs * slopes)[..., None, :] @ weights)[..., 0, :] / np.sqrt(weights.shape[-2])


def activation_moment(activation: str, order: float = 2.0) -> float:
    """E|σ(X)|^q for a standard normal X; at q = 2 the variance of a wide network's output. Reference: lucchi (12.7)."""
    z, weight = gaussian_panels()
    return float(np.sum(weight * np.abs(_known(activation)[0](z)) ** order))


def slope_moment(activation: str, order: float = 2.0) -> float:
    """E|σ′(X)|^q for a standard normal X; at q = 2 the square to which a wide network's gradient norm tends."""
    z, weight = gaussian_panels()
    return float(np.sum(weight * np.abs(_known(activation)[1](z)) ** order))


def mean_squared_gradient(activation: str, dimension: int) -> float:
    """E‖∇f(x)‖² = ((d − 1)·E σ′(X)² + E X²σ′(X)²)/d, exactly, at any width: d − 1 directions are as good as fresh.

    Across x the weights are independent of wⱼ·x; along x they are wⱼ·x itself.
    """
    z, weight = gaussian_panels()
    along = float(np.sum(weight * (z * _known(activation)[1](z)) ** 2))
    return ((dimension - 1) * slope_moment(activation) + along) / dimension


def gradient_lower_bound(
    slopes: Float[np.ndarray, "*trials k"], dimension: int, gamma: float
) -> Float[np.ndarray, "*trials"]:
    """(1 − 5√(log(2/γ)/d))·√(mean of σ′(wⱼ·x)²): what ‖∇f(x)‖ falls below with probability at most γ < 2/e.

    Nothing is said (0) in dimensions below 25·log(2/γ). Reference: lucchi Prop. 79, last display of the proof.
    """
    inside(0, 2 / np.e, "()", gamma=gamma)
    share = max(0.0, 1 - 5 * np.sqrt(log(2 / gamma) / dimension))
    return np.asarray(share * np.sqrt(np.mean(slopes**2, -1)))


def moment_condition(activation: str, scale: float, *, orders: int = 20) -> float:
    """Least s² with E|σ′(X)|^(2q) ≤ (q!/2)·s²·c^(q−2) for q = 2, …, `orders`; `scale` is c.

    With |σ′| ≤ B the pair s² = B⁴, c = B² will always do. Reference: lucchi Assumption 5.
    """
    positive(scale=scale)
    q = np.arange(2, orders + 1)
    factorials = np.array([lgamma(n + 1) for n in q])
    moments = np.log([slope_moment(activation, 2.0 * n) for n in q])
    return float(np.exp(np.max(log(2) + moments - factorials - (q - 2) * log(scale))))


def output_cdf(values: Float[np.ndarray, "*n"], *, activation: str, width: int) -> Float[np.ndarray, "*n"]:
    """Distribution function of f(x) at any finite width, and in any dimension: wⱼ·x is standard normal if ‖x‖ = √d.

    The sign makes every term symmetric, with characteristic function E cos(tσ(X)/√k); its k-th power is inverted by
    Gil-Pelaez, ½ + (1/π)∫ sin(tv)φ(t)/t dt. All units of a ReLU network are silent with probability 2^(−k); half of
    that jump is the error, hence width 20 at least. Reference: the limit is lucchi (12.7).
    """
    if activation not in CONTINUOUS:
        raise ValueError(f"activation must be one of {', '.join(CONTINUOUS)}, got {activation!r}")
    z, weight = gaussian_panels()
    spread = np.sqrt(activation_moment(activation))
    t, step = np.polynomial.legendre.leggauss(400)
    t, step = 6 * (t + 1) / spread, 6 * step / spread
    shrunk = np.cos(t[:, None] * _known(activation)[0](z) / np.sqrt(width)) @ weight
    kernel = step * np.sign(shrunk) ** width * np.abs(shrunk) ** width / t
    flat = np.clip(np.ravel(values), -12 * spread, 12 * spread)
    return np.clip(0.5 + np.sin(flat[:, None] * t) @ kernel / np.pi, 0.0, 1.0).reshape(np.shape(values))


def normal_defect(activation: str) -> float:
    """Limit of k·max|F_k − Φ|: a symmetric sum is normal up to |κ|/(24k)·max|(x³ − 3x)φ(x)|, κ its excess kurtosis.

    Reference: Feller 1971, An Introduction to Probability Theory and Its Applications II, ch. XVI, for the expansion.
    """
    kurtosis = activation_moment(activation, 4.0) / activation_moment(activation) ** 2 - 3
    x = np.sqrt(3 - np.sqrt(6))
    return abs(kurtosis) / 24 * float(abs(x**3 - 3 * x) * np.exp(-x * x / 2) / np.sqrt(2 * np.pi))


def flipping_step(
    value: Float[np.ndarray, "*n"], gradient: Float[np.ndarray, "*n d"], *, factor: float = 2.0
) -> Float[np.ndarray, "*n d"]:
    """The perturbation −factor·f∇f/‖∇f‖²: against the value, of length factor·|f|/‖∇f‖.

    A linear model becomes (1 − factor)·f exactly, −f at factor 2. Reference: lucchi (12.9).
    """
    square = np.sum(gradient**2, -1)
    if np.any(square == 0):
        raise ValueError("where the gradient is zero no step along it changes anything")
    return -factor * (value / square)[..., None] * gradient


def flip_length_cdf(length: Float[np.ndarray, "*n"], dimension: int) -> Float[np.ndarray, "*n"]:
    """P(‖Δ‖ ≤ ℓ) for the step Δ that turns a random linear model w·x into −w·x, ‖x‖ = √d.

    ‖Δ‖ = 2|w·x|/‖w‖ = 2√d·|u₁| with u uniform on the sphere, so ‖Δ‖²/(4d) is a Beta(½, (d − 1)/2) variable; for large d
    ‖Δ‖ is twice a half-normal one. Any rotation-invariant law of w gives the same.
    """
    inside(0, np.inf, length=length)
    return np.asarray(betainc(0.5, (dimension - 1) / 2, np.clip(length**2 / (4 * dimension), 0.0, 1.0)))


def _known(activation: str):
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    return ACTIVATIONS[activation]


doors(
    __name__,
    trials="[1, ∞)",
    width="[1, ∞)",
    dimension="[2, ∞)",
    order="(0, 200]",
    orders="[2, 80]",
    factor="(-∞, ∞)",
)
