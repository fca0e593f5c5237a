"""The power series of the kernel of a trained first layer."""

from dataclasses import replace
from math import factorial
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.kernels.finite.first_layer import first_layer_coefficient, first_layer_limit, first_layer_series
from deeptheory.lab import Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, power_law


def apart(matrix):
    """Entries above the diagonal."""
    return np.asarray(matrix)[np.triu_indices(len(matrix), 1)]


@claim(
    items={
        "A9.16": (
            "coefficients by differentiation",
            "coefficients in closed form",
            "sum of the series",
            "series of the arccosine",
            "what the series leaves",
            "constant of what is left",
        ),
        "L7.23": (
            "coefficients by differentiation",
            "coefficients in closed form",
            "sum of the series",
            "what the series leaves",
            "constant of what is left",
        ),
    },
    consistency=("sum of the series",),
    says=r"$\rho(\pi-\arccos\rho)/2\pi=\frac\rho4+\frac1{2\pi}\sum_{l\ge0}\frac{(2l)!}{4^l(l!)^2}"
    r"\frac{\rho^{2l+2}}{2l+1}$: besides $\rho/4$ only even powers, with $c_p=\frac{(p-3)!!}{(p-2)!!}/2\pi(p-1)$. Off "
    r"the diagonal the series gives the kernel matrix; at $\rho=1$ what L terms of the sum leave is "
    r"$\frac1{2\pi^{3/2}\sqrt L}(1+\frac1{24L}+O(L^{-2}))$.",
    needs="unit inputs; ReLU",
    symbols={
        r"\rho": "the cosine between two unit inputs; the left side is the first-layer ReLU kernel",
        r"c_p": r"the coefficient of $\rho^p$",
        r"L": "the number of terms that are kept",
    },
    why=r"$\pi-\arccos\rho=\frac\pi2+\arcsin\rho$, and the arcsine has only odd powers, with positive coefficients; "
    r"times $\rho$ they are even. The coefficients $c_p$ fall like $p^{-3/2}$, so what $L$ terms leave at $\rho=1$ "
    r"falls only like $L^{-1/2}$.",
    notice=r"The coefficients of even powers fall like $p^{-3/2}$, so that what the series leaves at $\rho=1$ falls "
    r"only like $L^{-1/2}$: a hundred times the terms for one digit.",
)
def kernel_series(key, *, terms: Annotated[int, Interval(ge=50, le=5000)] = 600):
    import mpmath

    draw = generator(key)
    # Nearly parallel inputs would want thousands of terms: only ρ whose powers are below rounding by the last are kept.
    x, most = unit_vectors(draw, 40, 3), np.finfo(float).eps ** (0.5 / terms)
    cosines = apart(x @ x.T)
    kept = np.abs(cosines) < most
    with mpmath.workdps(40):
        taylor = mpmath.taylor(lambda z: z * (mpmath.pi - mpmath.acos(z)) / (2 * mpmath.pi), 0, 12)
    orders = np.arange(40)
    exact = [factorial(2 * n) / (4**n * factorial(n) ** 2) / (2 * np.pi * (2 * n + 1)) for n in orders.tolist()]
    z = min(0.9, most) * np.linspace(-1, 1, 19)[np.arange(19) != 9]
    lengths = np.array([100, 200, 400, 800])
    left = 0.5 - np.array([float(first_layer_series(np.array(1.0), terms=int(length))) for length in lengths])
    return {
        "coefficients by differentiation": Identity(
            [first_layer_coefficient(degree) for degree in range(13)], np.array([float(c) for c in taylor]), scale=0.25
        ),
        "coefficients in closed form": Identity(
            [first_layer_coefficient(2 * n + 2) for n in orders.tolist()], exact, size=40.0
        ),
        "sum of the series": Identity(
            first_layer_series(cosines[kept], terms=terms), apart(first_layer_limit(x))[kept], scale=0.5, size=terms
        ),
        # The kernel is ρ(π − arccos ρ)/2π: its series is one of the arccosine.
        "series of the arccosine": Identity(
            np.pi - 2 * np.pi * first_layer_series(z, terms=terms) / z, np.arccos(z), size=terms, along={"z": z}
        ),
        "what the series leaves": Rate(lengths, left, exponent=-0.5, rivals=(-1.0, -1.5)),
        # A term more or less would count 1/2L; half a unit of L⁻² is left for what follows.
        "constant of what is left": Identity(
            left * np.sqrt(lengths), 0.5 * np.pi**-1.5 * (1 + 1 / (24 * lengths)), error=0.05 / lengths**2
        ),
    }


@kernel_series.picture
def coefficients_and_rest(pieces):
    """Coefficients of the even powers of the cosine, and what the first terms of the series leave at cosine one."""
    closed, rest = pieces["coefficients in closed form"], pieces["what the series leaves"]
    power = 2 * np.arange(len(closed.left)) + 2
    return Row(
        [
            Curves(
                [Line("closed form", power, closed.right), Dots("coefficients", power, closed.left)],
                x="power p",
                y="coefficient of ρ^p",
                log="xy",
            ),
            Curves(
                power_law("left at ρ = 1", rest, rivals={-1.0: "1/L", -1.5: "L^(−3/2), like the coefficients"}),
                x="terms L",
                y="what is left",
                log="xy",
            ),
        ]
    )


@kernel_series.control("the series without powers or denominators", of="series of the arccosine")
def printed_arccos(evidence):
    z = np.asarray(evidence.along["z"])
    ratios = np.cumprod(np.concatenate([[1.0], np.arange(1, 59, 2) / np.arange(2, 60, 2)]))
    return replace(evidence, left=np.pi / 2 - z - z * np.sum(ratios))


@kernel_series.control("the half of the diagonal as coefficient of ρ", of="coefficients by differentiation")
def half_linear(evidence):
    return replace(evidence, left=np.array(evidence.left) + 0.25 * (np.arange(13) == 1))
