"""Where uniform convergence fails: one gradient step on a signal plus high-dimensional noise (Nagarajan and Kolter).

Labelled points are x = (signal·y·u, z) with y a fair sign, ‖u‖² = 1/m and z ~ N(0, (c/D)·I_D), c = `noise`.
One step of size 1 from 0 on Σ yᵢ h(xᵢ) gives w = (m·signal·u, Σ yᵢ zᵢ). arora (5.4.1) takes signal 1 and c = 1,
handbook 9.3 takes signal 2 and c = 32. Every error below is exact for finite m and D: given the squared length of one
noise vector the margin is Gaussian, and that length is a χ² variable, so one quadrature remains.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import ndtr

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, positive
from deeptheory.foundations.randomness import generator

__all__ = [
    "LinearClassifier",
    "SignalNoiseSample",
    "conditional_test_error",
    "expected_flipped_error",
    "expected_test_error",
    "expected_train_error",
    "limiting_flipped_error",
    "limiting_test_error",
    "margins",
    "one_step_classifier",
    "signal_noise_sample",
    "squared_norm",
]


class SignalNoiseSample(NamedTuple):
    """Labels yᵢ and noise parts zᵢ of samples; the K signal coordinates are signal·yᵢ·u and need no storage.

    Leading axes, where there are any, are independent samples.
    """

    labels: Int[np.ndarray, "*batch m"]
    noise: Float[np.ndarray, "*batch m D"]
    signal: float

    def flipped(self) -> "SignalNoiseSample":
        """The sample with every noise part negated: as probable as the sample itself."""
        return self._replace(noise=-self.noise)


class LinearClassifier(NamedTuple):
    """Weights (along·u/‖u‖², across): `along` is the answer on the vector u, `across` the weights on the noise."""

    along: float
    across: Float[np.ndarray, "*batch D"]

    def pruned(self) -> "LinearClassifier":
        """The classifier with its D noise weights set to zero."""
        return self._replace(across=np.zeros_like(self.across))


def _check(samples: int, dimension: int, noise: float, signal: float) -> None:
    inside(1, np.inf, samples=samples, dimension=dimension)
    positive(noise=noise, signal=signal)


def signal_noise_sample(
    key: Key[Array, ""],
    samples: int,
    dimension: int,
    *,
    noise: float = 1.0,
    signal: float = 1.0,
    batch: tuple[int, ...] = (),
) -> SignalNoiseSample:
    """Draw labels and noise parts: yᵢ fair signs, zᵢ ~ N(0, (noise/D)·I_D); `batch` independent samples of them."""
    _check(samples, dimension, noise, signal)
    affordable(noise=(*batch, samples, dimension))
    rng = generator(key)
    labels = 2 * rng.integers(0, 2, (*batch, samples)) - 1
    parts = rng.standard_normal((*batch, samples, dimension))
    parts *= np.sqrt(noise / dimension)
    return SignalNoiseSample(labels, parts, signal)


def one_step_classifier(sample: SignalNoiseSample) -> LinearClassifier:
    """Weights after one gradient step of size 1 from zero on Σ yᵢ h(xᵢ): (m·signal·u, Σ yᵢ zᵢ); arora (5.5)."""
    # m·signal·u answers m·signal·‖u‖² = signal on u, whatever K and the direction of u.
    return LinearClassifier(sample.signal, np.einsum("...m,...md->...d", sample.labels.astype(float), sample.noise))


def margins(classifier: LinearClassifier, sample: SignalNoiseSample) -> Float[np.ndarray, "*batch m"]:
    """Margins yᵢ·⟨w, xᵢ⟩ of a sample; a point counts as an error when its margin is negative."""
    answers = np.einsum("...md,...d->...m", sample.noise, classifier.across)
    return classifier.along * sample.signal + sample.labels * answers


def squared_norm(classifier: LinearClassifier, samples: int) -> Float[np.ndarray, "*batch"]:
    """Squared length of the weights at ‖u‖² = 1/samples; its mean over samples is m·(signal² + c) exactly."""
    return np.asarray(samples * classifier.along**2 + np.sum(classifier.across**2, -1))


def conditional_test_error(
    classifier: LinearClassifier, *, noise: float = 1.0, signal: float = 1.0
) -> Float[np.ndarray, "*batch"]:
    """Exact probability of error on a fresh point given the weights: Φ(−along·signal / (√(c/D)·‖across‖))."""
    spread = np.sqrt(noise / classifier.across.shape[-1]) * np.linalg.norm(classifier.across, axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(ndtr(-classifier.along * signal / spread))


def _chi_square_rule(degrees: int) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Nodes and weights for expectations over χ²_degrees/degrees, by the trapezoidal rule in its logarithm.

    The density in the logarithm is analytic and decays at both ends, so the rule converges geometrically.
    """
    half = degrees / 2
    width = 14 / np.sqrt(half) + 75 / half  # far enough for the exponential left tail of few degrees of freedom
    nodes = np.linspace(-width, np.minimum(14 / np.sqrt(half) + 4 / half, width), 4001)
    weights = np.exp(half * (nodes + 1 - np.exp(nodes)))
    return np.exp(nodes), weights / weights.sum()


def expected_test_error(samples: int, dimension: int, *, noise: float = 1.0, signal: float = 1.0) -> float:
    """Test error of the one-step classifier averaged over samples, exact for finite m and D.

    E Φ(−signal²·√(D/m) / (c·√ρ)) with ρ ~ χ²_D/D, the squared length of Σ yᵢ zᵢ over its mean c·m.
    """
    _check(samples, dimension, noise, signal)
    nodes, weights = _chi_square_rule(dimension)
    return float(weights @ ndtr(-(signal**2) * np.sqrt(dimension / samples / nodes) / noise))


def limiting_test_error(samples: int, dimension: int, *, noise: float = 1.0, signal: float = 1.0) -> float:
    """Its limit for large D at fixed D/m: Φ(−signal²·√(D/m)/c). Reference: arora (5.4.1), handbook 9.3."""
    _check(samples, dimension, noise, signal)
    return float(ndtr(-(signal**2) * np.sqrt(dimension / samples) / noise))


def _own_point_error(sign: int, samples: int, dimension: int, noise: float, signal: float) -> float:
    _check(samples, dimension, noise, signal)
    nodes, weights = _chi_square_rule(dimension)
    mean = signal**2 + sign * noise * nodes  # the point's own noise enters the weights once, with this sign
    spread = noise * np.sqrt((samples - 1) * nodes / dimension)
    with np.errstate(divide="ignore"):
        return float(weights @ ndtr(-mean / spread))


def expected_train_error(samples: int, dimension: int, *, noise: float = 1.0, signal: float = 1.0) -> float:
    """Error of the one-step classifier on its own sample, averaged over samples; exact for finite m and D."""
    return _own_point_error(1, samples, dimension, noise, signal)


def expected_flipped_error(samples: int, dimension: int, *, noise: float = 1.0, signal: float = 1.0) -> float:
    """Error on S of the classifier trained on S with its noise negated, averaged over S; exact for finite m and D.

    E Φ((c·ρ − signal²) / (c·√((m−1)ρ/D))) with ρ ~ χ²_D/D. It tends to 1 for c > signal², to 1/2 at c = signal².
    """
    return _own_point_error(-1, samples, dimension, noise, signal)


def limiting_flipped_error(samples: int, dimension: int, *, noise: float = 1.0, signal: float = 1.0) -> float:
    """Gaussian approximation of the flipped error: Φ((c − signal²)/(c·√((m+1)/D))), from the margin's two moments."""
    _check(samples, dimension, noise, signal)
    return float(ndtr((noise - signal**2) / (noise * np.sqrt((samples + 1) / dimension))))


doors(__name__, noise="[0, ∞)", signal="[0, ∞)", samples="[1, ∞)", dimension="[1, ∞)")
