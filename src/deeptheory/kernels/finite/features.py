"""Kernels of feature maps, the random-feature model, and the Gaussian laws of both before and after training.

Reference: lucchi 7.1 and 7.2; jagannath Ch. 8 Sec. 3.1; Rahimi and Recht 2007.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.randomness import generator
from deeptheory.kernels.layers.activations import Activation
from deeptheory.kernels.layers.combinators import serial
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import GaussianLaw, diagonalize, flow, interpolation, predicted_ensemble

__all__ = [
    "RandomFeatures",
    "feature_limit_kernel",
    "fourier",
    "init_random_features",
    "initial_law",
    "quadratic_features",
    "rbf_kernel",
    "sample_gaussian_process",
    "train_features",
    "trained_law",
    "zero_crossing_rate",
]

Inputs = Float[AnyArray, "n d"]
Others = Float[AnyArray, "m d"]


def quadratic_features(x: Float[AnyArray, "n 2"]) -> Float[Array, "n 3"]:
    """Return (x₁², x₂², √2 x₁x₂), whose kernel is (x·x′)² (lucchi Def. 25, Fig. 7.1)."""
    x = jnp.asarray(x)
    return jnp.stack([x[:, 0] ** 2, x[:, 1] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1]], 1)


def polynomial_kernel(x: Inputs, other: Others | None = None, *, degree: int = 2) -> Float[Array, "n m"]:
    """Return (1 + x·x′)^q (arora Example 3.2.1 and Problem 3.2.2a, where the power has slipped inside)."""
    x = jnp.asarray(x)
    return (1 + x @ (x if other is None else jnp.asarray(other)).T) ** degree


def polynomial_features(x: Inputs, *, degree: int = 2) -> Float[Array, "n p"]:
    """Return the features of (1 + x·x′)^q: every monomial x^a of degree |a| ≤ q times √(q!/(a!(q − |a|)!)).

    There are C(d + q, q) of them. For q = 2: 1, √2xᵢ, √2xᵢxⱼ for i < j, and xᵢ² (arora Example 3.2.1).
    """
    if degree < 1:
        raise ValueError(f"degree must be at least 1, got {degree}")
    dimension = np.shape(x)[1]
    monomials = [each for order in range(degree + 1) for each in combinations_with_replacement(range(dimension), order)]
    exponents = np.array([[each.count(index) for index in range(dimension)] for each in monomials])
    counts = [prod(map(factorial, (degree - sum(row), *row))) for row in exponents.tolist()]
    sizes = jnp.asarray(np.sqrt(factorial(degree) / np.array(counts)))
    return sizes * jnp.prod(jnp.asarray(x)[:, None] ** exponents, -1)


def rbf_kernel(x: Inputs, other: Others | None = None, *, scale: float = 1.0) -> Float[Array, "n m"]:
    """Return exp(−‖x − x′‖²/(2s²)).

    `scale` is the width s. Reference: lucchi 7.2.2; Rasmussen and Williams 2006, Gaussian Processes for Machine
    Learning, 4.2.1.
    """
    x = jnp.asarray(x) / scale
    other = x if other is None else jnp.asarray(other) / scale
    squared = jnp.sum((x[:, None] - other[None]) ** 2, -1)
    return jnp.exp(-squared / 2)


def laplace_kernel(x: Inputs, other: Others | None = None, *, scale: float = 1.0) -> Float[Array, "n m"]:
    """Return exp(−‖x − x′‖/s); with a plus sign, as arora Problem 3.2.2c prints it, it would not be a kernel."""
    x = jnp.asarray(x) / scale
    other = x if other is None else jnp.asarray(other) / scale
    return jnp.exp(-jnp.sqrt(jnp.sum((x[:, None] - other[None]) ** 2, -1)))


class RandomFeatures(NamedTuple):
    """f(x, θ) = θ·φ(Wx + c)/√p: a network with one hidden layer of which only the top is trained (lucchi 7.2)."""

    directions: Float[AnyArray, "p d"]
    phases: float | Float[AnyArray, " p"]
    activation: Callable[[Array], Array]

    @door
    def features(self, x: Inputs) -> Float[Array, "n p"]:
        """Return φ(Wx + c)/√p, with the scale that makes the kernel their inner product."""
        directions = jnp.asarray(self.directions)
        if x.shape[1] != directions.shape[1]:
            raise ValueError(f"x must have {directions.shape[1]} columns, one for each input, got {x.shape[1]}")
        return self.activation(jnp.asarray(x) @ directions.T + self.phases) / np.sqrt(directions.shape[0])

    @door
    def outputs(self, theta: Float[AnyArray, "*draws p"], x: Inputs) -> Float[Array, "*draws n"]:
        if theta.shape[-1] != len(self.directions):
            raise ValueError(f"theta must have {len(self.directions)} entries, one a feature, got {theta.shape[-1]}")
        return jnp.asarray(theta) @ self.features(x).T

    @door
    def kernel(self, x: Inputs, other: Others | None = None) -> Float[Array, "n m"]:
        """Return K_p(x, x′) = φ(x)·φ(x′)/p, at once the covariance at initialization and the tangent kernel."""
        left = self.features(x)
        return left @ (left if other is None else self.features(other)).T


def init_random_features(
    key: Key[Array, ""],
    *,
    inputs: int,
    count: int,
    activation: Callable[[Array], Array] = jax.nn.relu,
    random_phases: bool = False,
) -> RandomFeatures:
    """Draw directions from N(0, I) and, if asked, phases uniform on the circle.

    `inputs` is the dimension d of x, `count` the number p of features. Reference: lucchi 7.2; Rahimi and Recht 2007.
    """
    if inputs < 1 or count < 1:
        raise ValueError(f"inputs and count must be at least 1, got {inputs} and {count}")
    rng = generator(key)
    directions = rng.standard_normal((count, inputs))
    phases = rng.uniform(0, 2 * np.pi, count) if random_phases else np.zeros(count)
    return RandomFeatures(directions, phases, activation)


def fourier(u: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return √2 cos u: with random phases its limit kernel is the RBF kernel (Rahimi and Recht 2007)."""
    return np.sqrt(2) * jnp.cos(u)


def fourier_variance(x: Inputs, other: Others | None = None) -> Float[Array, "n m"]:
    """Return p times the variance of K_p(x, x′) for random Fourier features: 1 + ½e^{−2δ²} − e^{−δ²}, δ = ‖x − x′‖.

    Two cosines, of w·(x − x′) and of w·(x + x′) + 2c, are uncorrelated thanks to the phase (Sutherland and Schneider
    2015). It is ½ at x = x′: the diagonal is random too.
    """
    kernel = rbf_kernel(x, other)
    return 1 + kernel**4 / 2 - kernel**2


def feature_limit_kernel(x: Inputs, other: Others | None = None, *, activation: Activation) -> Float[Array, "n m"]:
    """Return lim K_p = E φ(w·x)φ(w·x′) for w ~ N(0, I) and an activation of the engine (`Relu()`, `Erf()`, …).

    Reference: Cho and Saul 2009; jagannath Ch. 8 Sec. 3.1.
    """
    features = serial(Dense(1, np.shape(x)[1] ** 0.5), activation)
    return limit_kernel(features, x, other, want=("nngp",)).nngp


def initial_law(model: RandomFeatures, x: Inputs) -> GaussianLaw:
    """Return the law of f(X, θ₀) for θ₀ ~ N(0, I): centred, covariance K_p, exact at every p (lucchi Thm 55)."""
    covariance = model.kernel(x)
    return GaussianLaw(jnp.zeros(covariance.shape[0], covariance.dtype), covariance)


def trained_law(
    model: RandomFeatures,
    x: Inputs,
    y: Float[AnyArray, " n"],
    other: Others,
    *,
    time: float | Float[Array, ""] | None = None,
) -> GaussianLaw:
    """Return the law of f(x, θ_t) over θ₀ ~ N(0, I), gradient flow on ½‖f(X) − y‖²; at convergence if time is None.

    At convergence mean K(x, X)K⁻¹y and covariance K(x, x′) − K(x, X)K⁻¹K(X, x′), the noise-free posterior of the
    process with covariance K (lucchi Thm 56, with the last factor the column it must be).
    """
    kernel, cross = model.kernel(x), model.kernel(other, x)
    rule = interpolation() if time is None else flow(time)
    return predicted_ensemble(
        diagonalize(kernel),
        rule,
        y,
        cross,
        covariance=kernel,
        cross_covariance=cross,
        other_covariance=model.kernel(other),
    )


def train_features(
    features: Float[AnyArray, "n p"],
    y: Float[AnyArray, " n"],
    theta: Float[AnyArray, "*draws p"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
) -> Float[Array, "*draws p"]:
    """Run gradient descent on ½‖Φθ − y‖² from each θ.

    θ ← θ − ηΦᵀ(Φθ − y), `steps` times with η = `step_size`; it converges for η < 2/λ_max(ΦΦᵀ). Starts may be stacked
    along leading axes. Reference: lucchi 7.2.1.
    """
    features = jnp.asarray(features)

    def step(theta, _):
        return theta - step_size * (theta @ features.T - y) @ features, None

    theta = jnp.asarray(theta, jnp.result_type(theta, features, y))
    return jax.lax.scan(step, theta, None, length=steps)[0]


def sample_gaussian_process(key: Key[Array, ""], law: GaussianLaw, *, count: int) -> Float[np.ndarray, "count n"]:
    """Draw paths of a Gaussian process at finitely many points (lucchi Def. 26); its covariance may be singular."""
    values, vectors = np.linalg.eigh(np.asarray(law.covariance, float))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(law.mean) + generator(key).standard_normal((count, len(values))) @ root.T


def zero_crossing_rate(*, second_moment: float = 1.0) -> float:
    """Return the mean zeros per unit length of a smooth stationary process, √(λ₂)/π with λ₂ = −k″(0)/k(0) (Rice).

    `second_moment` is λ₂, and k the covariance function; for `rbf_kernel` of width s λ₂ is 1/s². Reference: Rice 1945;
    Cramér and Leadbetter 1967, Stationary and Related Stochastic Processes.
    """
    return float(np.sqrt(second_moment) / np.pi)


doors(
    __name__,
    inputs="[1, 1e6]",
    count="[1, 1e7]",
    steps="[0, 1e7]",
    step_size="[0, ∞)",
    scale="(0, ∞)",
    second_moment="(0, ∞)",
)
