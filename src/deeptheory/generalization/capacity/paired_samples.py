"""How far uniform convergence fails at least: a search over pairs of samples, and a case where the answer is known.

Reference: handbook Secs. 7.2 and 9.3; Nagarajan and Kolter 2019.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import stdtr

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, numeric
from deeptheory.foundations.randomness import generator

__all__ = ["logistic_classifier", "noise_labels", "one_step_noise_gap", "uniform_gap"]

Sample = TypeVar("Sample")
Hypothesis = TypeVar("Hypothesis")


def uniform_gap(
    learn: Callable[[Sample], Hypothesis],
    trained_on: Sequence[Sample],
    tested_on: Sequence[Sample],
    *,
    risk: Callable[[Hypothesis], float],
    error: Callable[[Hypothesis, Sample], float],
) -> float:
    """The largest |R(A(S)) − R_{S′}(A(S))| over the given samples S and S′: a lower bound on sup over outputs of A.

    It never decreases with more samples; how near it comes to the supremum is a matter of the S′ that one thinks of (S
    itself, or a twin of it that is equally probable). `learn` is A, `risk` R of what was learnt, and `error` its mean
    loss on a sample. Reference: handbook 7.2 and 9.3, Nagarajan and Kolter 2019.
    """
    numeric(trained_on=list(trained_on), tested_on=list(tested_on))
    learned = [learn(sample) for sample in trained_on]
    return float(max(abs(risk(h) - error(h, other)) for h in learned for other in tested_on))


def noise_labels(
    key: Key[Array, ""], samples: int, dimension: int, *, batch: tuple[int, ...] = ()
) -> tuple[Float[np.ndarray, "*batch n V"], Float[np.ndarray, "*batch n"]]:
    """Standard Gaussian inputs with fair signs for labels, independent of them: every classifier has risk 1/2.

    `batch` is a shape of independent samples in front.
    """
    affordable(inputs=(*batch, samples, dimension))
    draw = generator(key)
    return draw.standard_normal((*batch, samples, dimension)), draw.choice([-1.0, 1.0], (*batch, samples))


def logistic_classifier(
    inputs: Float[np.ndarray, "n V"], labels: Float[np.ndarray, " n"], *, steps: int = 8
) -> Float[np.ndarray, " V"]:
    """Weights of logistic regression without intercept, labels ±1, by Newton steps from zero; 0 steps: the first slope.

    Needs V well below n, where the classes overlap and a minimum exists.
    """
    signed = labels[:, None] * inputs
    if steps == 0:
        return signed.sum(0)
    weights = np.zeros(inputs.shape[1])
    for _ in range(steps):
        chance = 0.5 * (1 - np.tanh(signed @ weights / 2))
        curvature = (signed * (chance * (1 - chance))[:, None]).T @ signed
        weights = weights + np.linalg.solve(curvature, signed.T @ chance)
    return weights


def one_step_noise_gap(samples: int | float, dimension: int | float) -> float:
    """Mean of 1/2 − R_S after one step of logistic regression from zero on noise labels: P(0 < t < √(V/(n−1))).

    Here t is Student's with V degrees of freedom. The step is along Σ yⱼxⱼ, so a point's own term adds ‖xᵢ‖² to its
    margin and the others add ‖xᵢ‖·N(0, n − 1). About √(V/(2πn)) for 1 ≪ V ≪ n: the rate of the VC bound, without its
    logarithm.
    """
    if samples < 2 or dimension < 1:
        raise ValueError(f"need at least 2 samples and 1 dimension, got {samples} and {dimension}")
    return float(stdtr(dimension, np.sqrt(dimension / (samples - 1))) - 0.5)


doors(__name__, steps="[0, 1e5]", dimension="[1, ∞)")
