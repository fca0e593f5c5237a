"""The published scaling laws of language models, and how a budget of compute is best spent under such a law.

Losses are in nats a token; N counts parameters and D tokens read in training, which cost 6ND floating-point operations.
The constants hold for one architecture, tokenizer and way of training. Hoffmann et al.'s own fit and its re-fit by
Besiroglu et al. to the data in their figure disagree: the first asks for some 90 tokens a parameter at the budget of
Chinchilla, the second for some 20, as Chinchilla was trained.

Reference: arora 15.3; Kaplan et al. 2020; Hoffmann et al. 2022; Besiroglu, Erdil, Barnett and You 2024.
"""

from typing import Annotated, NamedTuple

import numpy as np

from deeptheory.foundations.arrays import HostReals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import positive
from deeptheory.scaling.power_laws import ScalingLaw, loss_at

__all__ = [
    "BESIROGLU",
    "HOFFMANN",
    "KAPLAN_DATA",
    "KAPLAN_PARAMETERS",
    "Allocation",
    "compute_for_reduction",
    "frontier_exponents",
    "kaplan_loss",
    "optimal_allocation",
]


HOFFMANN = ScalingLaw(np.array(1.69), np.array([406.4, 410.7]), np.array([0.34, 0.28]))
"""L(N, D) of Hoffmann et al. (2022), Sec. D.3 ("approach 3"); arora (15.8) prints 1.61 for the floor"""
BESIROGLU = ScalingLaw(np.array(1.8172), np.array([482.01, 2085.43]), np.array([0.3478, 0.3658]))
"""the same law fitted again to the same runs by Besiroglu et al. (2024), Chinchilla scaling: a replication attempt"""
KAPLAN_PARAMETERS = ScalingLaw(np.array(0.0), np.array([8.8e13**0.076]), np.array([0.076]))
"""L(N) = (N_c/N)^0.076 with N_c = 8.8e13 non-embedding parameters; Kaplan et al. (2020), (1.1)"""
KAPLAN_DATA = ScalingLaw(np.array(0.0), np.array([5.4e13**0.095]), np.array([0.095]))
"""L(D) = (D_c/D)^0.095 with D_c = 5.4e13 tokens; Kaplan et al. (2020), (1.2)"""


class Allocation(NamedTuple):
    """Parameters and tokens for a budget, and the loss they reach."""

    parameters: HostReals
    tokens: HostReals
    loss: HostReals


def kaplan_loss(parameters: HostReals, tokens: HostReals) -> HostReals:
    """The joint law [(N_c/N)^(a_N/a_D) + D_c/D]^a_D of Kaplan et al. (2020), (1.5), with the constants above.

    Those are of the laws in one variable, (1.1) and (1.2); the paper's own fit of the joint law differs a little.

    It tends to L(N) as D → ∞ and to L(D) as N → ∞, and to 0 as both do: without a floor it cannot hold for text of
    positive entropy at all scales. Reference: handbook Sec. 13.2.2, which gives the two limits.
    """
    of_size = 0.076 / 0.095 * (np.log(8.8e13) - np.log(np.asarray(parameters, float)))
    return np.exp(0.095 * np.logaddexp(of_size, np.log(5.4e13) - np.log(np.asarray(tokens, float))))[()]


def optimal_allocation(
    law: ScalingLaw, compute: HostReals, *, flops_per_token: Annotated[float, "(0, ∞)"] = 6.0
) -> Allocation:
    """Parameters N and tokens D of least loss E + A/N^a + B/D^b with 6ND = `compute`.

    N = G (C/6)^(b/(a+b)) and D = (C/6)^(a/(a+b))/G with G = (aA/bB)^(1/(a+b)): both grow alike only if a = b.
    `flops_per_token` are those of one parameter. Reference: Hoffmann et al. (2022), (4); handbook Sec. 13.2.2.
    """
    a, b, first, second = _two(law)
    size = np.asarray(compute, float) / flops_per_token
    ratio = (a * first / (b * second)) ** (1 / (a + b))
    parameters, tokens = ratio * size ** (b / (a + b)), size ** (a / (a + b)) / ratio
    return Allocation(parameters[()], tokens[()], loss_at(law, parameters, tokens))


def frontier_exponents(law: ScalingLaw) -> tuple[float, float, float]:
    """Exponents of the compute-optimal parameters, tokens, and (falling) loss above the floor: b, a and ab over a+b."""
    a, b, *_ = _two(law)
    return b / (a + b), a / (a + b), a * b / (a + b)


def compute_for_reduction(law: ScalingLaw, factor: Annotated[HostReals, "(0, ∞)"]) -> HostReals:
    """How many times the compute divides the loss above the floor by `factor`, if spent best: factor^((a+b)/ab).

    About 90 times for one half under Hoffmann et al.'s constants, whereas ten times N and ten times D, which halve it
    as arora says (Sec. 15.9.3), are 100 times the compute.
    """
    return np.asarray(factor, float) ** (1 / frontier_exponents(law)[2])


def _two(law: ScalingLaw) -> tuple[float, float, float, float]:
    if np.shape(law.exponents) != (2,):
        raise ValueError(
            f"law must have two terms, parameters and tokens, got exponents of shape {np.shape(law.exponents)}"
        )
    positive(exponents=law.exponents, coefficients=law.coefficients)
    (a, b), (first, second) = law.exponents, law.coefficients
    return float(a), float(b), float(first), float(second)


doors(__name__, parameters="(0, ∞]", tokens="(0, ∞]", compute="(0, ∞)", infinite=("parameters", "tokens"))
