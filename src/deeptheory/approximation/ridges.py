"""From one dimension to many: sums of ridge functions g(θ·x), and networks whose units are ridges.

Reference: lucchi Thms 19, 21 and 22; Fischer 1994 for monomials as sums of powers of linear forms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import factorial
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.approximation.monomials import monomial_network
from deeptheory.approximation.shallow import ShallowNetwork, scaled_sum
from deeptheory.foundations.entrances import doors

__all__ = ["PowersOfForms", "as_powers_of_forms", "lifted", "polynomial_ridge_network", "ridge_sum"]


def ridge_sum(
    directions: Float[np.ndarray, "m d"], profiles: Sequence[Callable[..., Any]], x: Float[np.ndarray, "*n d"]
) -> Float[np.ndarray, "*n"]:
    """Return Σₖ gₖ(θₖ·x) for `directions` θₖ and `profiles` gₖ: functions that vary along one direction each.

    Their sums come near every continuous function on a compact set (lucchi Thm 21).
    """
    if len(directions) != len(profiles):
        raise ValueError(f"profiles must be one for each of the {len(directions)} directions, got {len(profiles)}")
    return sum(
        (np.asarray(g(x @ theta), float) for theta, g in zip(directions, profiles, strict=True)), np.zeros(x.shape[:-1])
    )


def lifted(directions: Float[np.ndarray, "m d"], networks: Sequence[ShallowNetwork]) -> ShallowNetwork:
    """Return Σₖ Nₖ(θₖ·x) as one network of d inputs, for networks Nₖ of one input (lucchi Thm 22).

    A unit σ(az + b) becomes σ(aθ·x + b): its offset stays, and cannot be left out. If each Nₖ is within ε/(2m) of a
    profile gₖ where θₖ·x lives, and Σ gₖ(θₖ·x) within ε/2 of f, then the network is within ε of f.
    """
    if len(directions) != len(networks):
        raise ValueError(f"networks must be one for each of the {len(directions)} directions, got {len(networks)}")
    if any(each.weights.shape[1] != 1 for each in networks):
        raise ValueError("networks must have one input each")
    raised = [
        ShallowNetwork(each.weights * theta, each.biases, each.output, each.activation)
        for theta, each in zip(directions, networks, strict=True)
    ]
    return scaled_sum([1.0] * len(raised), raised)


@dataclass(frozen=True)
class PowersOfForms:
    """A monomial as Σ wₖ (θₖ·x)^r: `directions` θₖ of whole numbers, `weights` wₖ, `power` r."""

    directions: Float[np.ndarray, "m d"]
    weights: Float[np.ndarray, " m"]
    power: int


def as_powers_of_forms(exponents: Sequence[int]) -> PowersOfForms:
    """Return x₁^α₁ ⋯ x_d^α_d as a sum of powers of linear forms, by polarization; `exponents` are the αⱼ.

    With y the list in which xⱼ stands αⱼ times, r in all, ∏ yᵢ = (2^(r−1) r!)⁻¹ Σ_s s₂⋯s_r (y₁ + s₂y₂ + … + s_r y_r)^r
    over signs s, as xy = ((x + y)² − (x − y)²)/4. Forms that agree up to sign are joined. So every polynomial is a sum
    of ridge functions, exactly; there are at most 2^(r−1) of them a monomial.
    """
    power = sum(exponents)
    if not 1 <= power <= 12:
        raise ValueError(f"exponents must add up to a power from 1 to 12, got {power}")
    which = np.repeat(np.arange(len(exponents)), exponents)
    found: dict[tuple[int, ...], int] = {}
    for tail in product((1, -1), repeat=power - 1):
        signs = np.array((1, *tail))
        form = np.zeros(len(exponents), int)
        np.add.at(form, which, signs)
        sign, lead = int(signs.prod()), form[np.flatnonzero(form)[:1]]
        if len(lead) and lead[0] < 0:  # (−θ·x)^r = (−1)^r (θ·x)^r
            form, sign = -form, sign * (-1) ** power
        if len(lead):
            found[tuple(form.tolist())] = found.get(tuple(form.tolist()), 0) + sign
    kept = {form: count for form, count in found.items() if count}
    scale = 2 ** (power - 1) * factorial(power)
    return PowersOfForms(np.array(list(kept), float), np.array(list(kept.values()), float) / scale, power)


def polynomial_ridge_network(
    terms: Sequence[tuple[tuple[int, ...], float]],
    activation: Callable[..., Any],
    at: float,
    step: float,
    *,
    radius: float = 0.8,
) -> ShallowNetwork:
    """Return a network of one hidden layer near the polynomial Σ c x^α, `terms` being pairs (α, c) with |α| ≥ 1.

    Each monomial becomes powers of linear forms, each power k + 1 units by centred differences with step h = `step` at
    b = `at`, where the derivatives that are needed must not vanish. See `monomials.monomial_network` for the error. For
    `radius` see `monomials.derivatives_at`.
    """
    directions, networks = [], []
    for exponents, coefficient in terms:
        forms = as_powers_of_forms(exponents)
        power = monomial_network(forms.power, activation, at, step, centred=True, radius=radius)
        directions += list(forms.directions)
        networks += [scaled_sum([coefficient * weight], [power]) for weight in forms.weights]
    if len({len(each) for each in directions}) > 1:
        raise ValueError(f"terms must all have as many exponents, got {[each for each, _ in terms]}")
    return lifted(np.array(directions), networks)


doors(__name__, radius="(0, 100]", step="(0, 10]", at="(-1000, 1000)")
