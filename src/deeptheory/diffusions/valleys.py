"""Noise along a valley of minima: two factors u·v fitted to a number, where everything can be worked out.

½(uv − y)² is least on the hyperbola uv = y, and as sharp there as S = u² + v². The imbalance D = u² − v² says where
along it one stands: gradient flow keeps it, so what moves it is noise. Noise that comes from labels points across the
valley; isotropic noise also points along it.

Reference: arora Sec. 12.1; Blanc, Gupta, Valiant and Valiant 2020; Li, Wang and Arora 2021; HaoChen et al. 2021.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "Factors",
    "fair_changes",
    "gaussian_label_noise",
    "isotropic_mean_square_sharpness",
    "isotropic_noise",
    "label_noise",
    "label_noise_imbalance",
    "on_the_valley",
    "product_descent",
    "valley_drift",
]

Number = float | Float[np.ndarray, "..."]


class Factors(NamedTuple):
    """The two factors u and v, numbers or arrays of one shape."""

    first: Number
    second: Number

    @property
    def imbalance(self) -> Any:
        """D = u² − v², which gradient flow keeps."""
        return self.first**2 - self.second**2

    @property
    def sharpness(self) -> Any:
        """S = u² + v², on the valley the only curvature that is not zero."""
        return self.first**2 + self.second**2

    @property
    def position(self) -> Number:
        """x = ln(u/v), the place along the valley; zero where it is flattest."""
        return np.log(np.asarray(self.first) / self.second)


def on_the_valley(position: Number, *, target: Number = 1.0) -> Factors:
    """The factors with product `target` at x = ln(u/v).

    `position` is x, `target` y = uv.
    """
    return Factors(np.sqrt(target) * np.exp(np.divide(position, 2)), np.sqrt(target) * np.exp(np.divide(position, -2)))


Noise = Callable[[np.random.Generator, Factors, float], tuple[Number, Number]]


def label_noise(draw: np.random.Generator, at: Factors, deviation: float) -> tuple[Number, Number]:
    """What labels y ± deviation (fair signs) add to the gradient: ξ·(v, u), across the valley."""
    sign = deviation * (2 * draw.integers(0, 2, np.shape(at.first)) - 1.0)
    return sign * at.second, sign * at.first


def gaussian_label_noise(draw: np.random.Generator, at: Factors, deviation: float) -> tuple[Number, Number]:
    """Gaussian noise of the covariance of label noise, deviation²·(v, u)(v, u)ᵀ."""
    size = deviation * draw.standard_normal(np.shape(at.first))
    return size * at.second, size * at.first


def isotropic_noise(draw: np.random.Generator, at: Factors, deviation: float) -> tuple[Number, Number]:
    """Isotropic Gaussian noise of the trace of label noise: variance ½·deviation²·(u² + v²) in both directions.

    Reference: HaoChen et al. 2021 for the contrast with label noise.
    """
    size = deviation * np.sqrt(at.sharpness / 2)
    return size * draw.standard_normal(np.shape(at.first)), size * draw.standard_normal(np.shape(at.first))


def product_descent(
    draw: np.random.Generator,
    start: Factors,
    noise: Noise,
    *,
    rate: float,
    deviation: float,
    steps: int,
    target: float = 1.0,
) -> Factors:
    """Gradient descent on ½(uv − target)² with noise added to every gradient, at times 0, …, steps (first axis).

    `start` may hold arrays, one entry a run. `rate` times the sharpness must stay well below 2. `noise` is one of the
    three above, called with this `deviation`.
    """
    affordable(path=(steps + 1, *np.shape(start.first)))
    u, v = (np.empty((steps + 1, *np.shape(each))) for each in start)
    u[0], v[0] = start
    for k in range(steps):
        residual = u[k] * v[k] - target
        by_u, by_v = noise(draw, Factors(u[k], v[k]), deviation)
        u[k + 1] = u[k] - rate * (residual * v[k] + by_u)
        v[k + 1] = v[k] - rate * (residual * u[k] + by_v)
    return Factors(u, v)


def fair_changes(path: Factors, *, rate: float, target: float = 1.0) -> Float[np.ndarray, "steps ..."]:
    """The part of every change of D along a path of `product_descent` that is linear in its noise.

    Its mean is zero whatever happened before, so that a sum of these, weighted by what was known before, may be taken
    from anything that is averaged over runs: the mean stays, most of the scatter goes. `rate` and `target` are those of
    the path.
    """
    u, v = (np.asarray(each)[:-1] for each in path)
    after = [np.asarray(each)[1:] for each in path]
    residual = u * v - target
    still = u - rate * residual * v, v - rate * residual * u
    return 2 * (still[0] * (after[0] - still[0]) - still[1] * (after[1] - still[1]))


def label_noise_imbalance(start: Number, time: Number, *, variance: Number) -> Number:
    """D at time t = (rate)²·steps under label noise: D₀e^(−σ²t), with no spread, for small rates.

    A step multiplies D by 1 − η²g², g the residual with its noise, exactly. `start` is D₀, `variance` σ² that of the
    labels. Reference: Blanc et al. 2020, Li, Wang and Arora 2021 in general.
    """
    return start * np.exp(-np.asarray(variance) * time)


def isotropic_mean_square_sharpness(start: Number, time: Number, *, variance: Number) -> Number:
    """E S² at time t = (rate)²·steps under isotropic noise of the same trace: S₀²e^(2σ²t), for small rates.

    D moves by √2·σS·dW, without drift, and S² = D² + 4y² on the valley. `start` is S₀, `variance` σ² that of the
    labels.
    """
    return start**2 * np.exp(2 * np.asarray(variance) * time)


def valley_drift(position: Number, *, variance: Number) -> Number:
    """The drift −σ²·tanh x of x = ln(u/v) a unit of time (rate)²·steps: the same for both noises.

    Isotropic noise adds a diffusion of √2·σ, so that it comes to rest nowhere; label noise adds nothing. `position` is
    x, `variance` σ².
    """
    return -variance * np.tanh(position)


doors(__name__, rate="(0, ∞)", deviation="[0, ∞)", variance="[0, ∞)", steps="[0, 1e5]", target="(0, ∞)", time="[0, ∞)")
