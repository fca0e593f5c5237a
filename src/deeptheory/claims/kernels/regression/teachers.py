"""Teachers of bounded energy: what the kernel of a trained first layer learns from few samples."""

from dataclasses import replace
from math import comb, factorial
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.generalization.capacity.rademacher_bounds import kernel_label_complexity, label_energy
from deeptheory.kernels.finite.first_layer import first_layer_coefficient, first_layer_limit
from deeptheory.kernels.lazy.teachers import (
    cosine_energy_bound,
    cosine_energy_limit,
    cosine_teacher,
    power_energy_bound,
    power_teacher,
)
from deeptheory.lab import Chain, Count, Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

EVEN = (2, 4, 6, 8)
BOUNDS = cosine_energy_limit, cosine_energy_bound
"""Of the root of a cosine teacher's energy: the series, and its closed form."""


@claim(
    items={
        "A9.15": (
            "kernel above each of its terms",
            "inverse below four times the linear one",
            "complexity of linear labels",
            "linear labels with antipodes",
        ),
        "L7.24": (
            "inverse below four times the linear one",
            "complexity of linear labels",
            "linear labels with antipodes",
        ),
        "A9.17": (
            "kernel above each of its terms",
            "energy of powers",
            "a single power attains the bound",
            "the constant 3p",
        ),
    },
    says=r"Labels $\sum\alpha_j(\beta_j\cdot x)^p$ with $p=1$ or even have $\sqrt{y^\top "
    r"H^{*-1}y}\le\sum|\alpha_j|\|\beta_j\|^p/\sqrt{c_p}$, where $1/\sqrt{c_p}\le3p$, since $H^*\succeq c_pK^{\circ "
    r"p}$. For linear labels the complexity is at most $2\|\beta\|/\sqrt n$, attained on inputs with their antipodes.",
    needs="unit inputs; ReLU; first layer trained",
    symbols={
        r"H^*": r"the first-layer ReLU kernel in the limit of infinite width, on $n$ unit inputs $x$",
        r"y": r"the labels; their complexity is $\sqrt{y^\top H^{*-1}y/n}$",
        r"c_p": r"the coefficient of $\rho^p$ in $\rho(\pi-\arccos\rho)/2\pi$; $c_1=\frac14$",
        r"K^{\circ p}": r"the matrix of the $p$-th powers of the inner products of the inputs",
    },
    why=r"The kernel is a power series in the inner products with coefficients $c_p\ge0$, each term positive "
    r"semidefinite, so it dominates each of them and its inverse is dominated. For the kernel $c_pK^{\circ p}$ alone "
    r"a power of a projection is one of its features and has the energy $\|\beta\|^{2p}/c_p$: the bound is attained "
    r"there. For $p=1$ this says $H^{*-1}\preceq4K^{-1}$; the bound needs no inverse of $K$ and holds for $n>d$ too. "
    r"Where every input comes with its antipode the even terms drop out of odd labels, and nothing is lost.",
    notice=r"Left, no energy of drawn labels comes above its bound. Right, the constant $1/\sqrt{c_p}$ stays below "
    r"$3p$, and above $p$ while the power is small.",
    full=dict(sets=200),
)
def linear_and_even_teachers_have_bounded_energy(key, *, sets: Annotated[int, Interval(ge=2, le=1000)] = 12):
    draw = generator(key)
    least, inverse, linear, powers = [], [], [], []
    for count, dimension in ((6, 9), (40, 4)):
        for _ in range(sets):
            x = unit_vectors(draw, count, dimension)
            kernel, product = np.asarray(first_layer_limit(x)), x @ x.T
            least += [np.linalg.eigvalsh(kernel - first_layer_coefficient(p) * product**p)[0] for p in (1, *EVEN)]
            if count <= dimension:
                inverse.append(np.linalg.eigvalsh(4 * np.linalg.inv(product) - np.linalg.inv(kernel))[0])
            beta = draw.standard_normal((3, dimension)) * draw.uniform(0.3, 1, (3, 1))
            alpha, one = draw.standard_normal(3), np.ones(1)
            labels = power_teacher(x, one, beta[:1], power=1)
            bound = power_energy_bound(one, beta[:1], power=1) / count**0.5
            linear.append(
                [kernel_label_complexity(kernel, labels), bound, 2 * 2**0.5 * np.linalg.norm(beta[0]) / count**0.5]
            )
            powers += [
                [
                    label_energy(kernel, power_teacher(x, alpha, beta, power=p)) ** 0.5,
                    power_energy_bound(alpha, beta, power=p),
                ]
                for p in EVEN
            ]
    complexity, sharp, printed = np.array(linear).T
    x = unit_vectors(draw, 4, 4)
    x, beta = np.concatenate([x, -x]), draw.standard_normal((1, 4))
    odd = power_teacher(x, one, beta, power=1)
    energy, whole = label_energy(first_layer_limit(x), odd), kernel_label_complexity(first_layer_limit(x), odd)
    # The cosine −1 of x and −x is off by a few ε, hence their angle by √(8ε) and the kernel by √(8ε)/2π; that changes
    # yᵀH⁻¹y by as many times ‖H⁻¹y‖², and H⁻¹y = ±2X⁻ᵀβ here, since the kernel halves to XXᵀ/2 on odd labels.
    doubt = (8 * np.finfo(float).eps) ** 0.5 / (2 * np.pi) * 2 * np.sum((2 * np.linalg.solve(x[:4].T, beta[0])) ** 2)
    # Twelve points of the circle see all monomials of degree p: the fit is then the teacher itself.
    ring = np.linspace(0, np.pi, 12, endpoint=False)
    ring, ray = np.stack([np.cos(ring), np.sin(ring)], axis=1), draw.standard_normal((1, 2))
    alone = [
        label_energy(first_layer_coefficient(p) * (ring @ ring.T) ** p, power_teacher(ring, one, ray, power=p)) ** 0.5
        for p in EVEN
    ]
    degrees = range(2, 400, 2)
    return {
        "kernel above each of its terms": Inequality(-np.array(least), 0.0, scale=0.5, error=1e-13),
        "inverse below four times the linear one": Inequality(-np.array(inverse), 0.0, scale=1.0, error=1e-9),
        "complexity of linear labels": Chain({"2‖β‖/√n": (complexity, sharp), "printed": (sharp, printed)}),
        # Energy, and complexity times √n: the trace of the kernel is n/2.
        "linear labels with antipodes": Identity(
            np.array([energy**0.5, whole * len(x) ** 0.5]),
            power_energy_bound(one, beta, power=1),
            error=doubt / (2 * energy**0.5),
        ),
        "energy of powers": Inequality(*np.array(powers).T),
        # cosᵖ has Fourier coefficients between 1 and C(p, p/2), in units of the least: that is its condition.
        "a single power attains the bound": Identity(
            np.array(alone),
            np.array([power_energy_bound(one, ray, power=p) for p in EVEN]),
            condition=np.array([comb(p, p // 2) for p in EVEN]),
            size=len(ring),
        ),
        "the constant 3p": Inequality(
            np.array([power_energy_bound(one, np.eye(1), power=p) for p in degrees]), 3.0 * np.array(degrees)
        ),
    }


@linear_and_even_teachers_have_bounded_energy.picture
def energies_and_constants(pieces):
    """Energies of drawn labels against their bounds; and the constant of a power beside three times the power."""
    drawn, constant = pieces["energy of powers"], pieces["the constant 3p"]
    ends = np.asarray([np.min(drawn.bound), np.max(drawn.bound)])
    power = np.asarray(constant.bound) / 3
    return Row(
        [
            Curves(
                [Line("bound", ends, ends), Dots("drawn labels", drawn.bound[:200], drawn.quantity[:200])],
                x="bound on the root of the energy",
                y="root of the energy",
                log="xy",
            ),
            Curves(
                [
                    Line("1/√c_p", power, constant.quantity),
                    Line("3p", power, constant.bound),
                    Line("", power, power, rival="at most p"),
                ],
                x="power p",
                y="constant",
                log="xy",
            ),
        ]
    )


@linear_and_even_teachers_have_bounded_energy.control("‖β‖ in place of 2‖β‖", of="linear labels with antipodes")
def once_the_length(evidence):
    return replace(evidence, right=evidence.right / 2)


@linear_and_even_teachers_have_bounded_energy.control("1/√c_p at most p", of="the constant 3p")
def at_most_the_power(evidence):
    return replace(evidence, bound=evidence.bound / 3)


@claim(
    items={
        "A9.18": (
            "cosines by their series",
            "energy below the bound",
            "first bound in closed form",
            "second bound in closed form",
            "energy of short waves",
        )
    },
    consistency=("cosines by their series",),
    says=r"Labels $\sum\alpha_j(\cos(\beta_j\cdot x)-1)$ have $\sqrt{y^\top H^{*-1}y}\le\sum_j|\alpha_j|\sum_k"
    r"\frac{\|\beta_j\|^{2k}}{(2k)!\sqrt{c_{2k}}}\le3\sum_j|\alpha_j|\|\beta_j\|\sinh\|\beta_j\|$: the sine hyperbolic "
    r"of "
    r"the length, not of its square. For short $\beta$ the left side is of order $\|\beta\|^2$, as the bound is.",
    needs="unit inputs; ReLU; first layer trained",
    full=dict(sets=1000),
    symbols={
        r"\alpha_j,\beta_j": "amplitudes and wave vectors of the teacher",
        "H^*": "the kernel of the first layer in the limit of infinite width, on the inputs",
        "c_p": r"the coefficient of $\rho^p$ in $\rho(\pi-\arccos\rho)/2\pi$",
    },
    why=r"The cosine less one is a sum of even powers $(\beta\cdot x)^{2k}/(2k)!$, and $H^*\succeq c_pK^{\circ p}$ "
    r"bounds the energy of "
    r"each by $\|\beta\|^{p}/\sqrt{c_p}$. The triangle inequality adds them, $1/\sqrt{c_p}\le3p$ turns the sum into "
    r"$3\|\beta\|$ times the "
    r"series of $\sinh\|\beta\|$. Only the square remains for short $\beta$, so nothing of third order can be a bound.",
    notice=r"The energy of a single cosine and both bounds are parallel for short $\beta$: all of order $\|\beta\|^2$. "
    r"With "
    r"$\sinh\|\beta\|^2$ the bound falls like $\|\beta\|^3$ and crosses the energy, whatever its constant.",
)
def cosine_teachers_have_bounded_energy(key, *, sets: Count = 60):
    draw = generator(key)
    links, closed, lengths = [], [], np.exp(draw.uniform(np.log(0.05), np.log(4), (sets, 2)))
    amplitudes = draw.standard_normal((sets, 2))
    for size, alpha in zip(lengths, amplitudes, strict=True):
        x, beta = unit_vectors(draw, 30, 3), size[:, None] * unit_vectors(draw, 2, 3)
        energy = label_energy(first_layer_limit(x), cosine_teacher(x, alpha, beta))
        links.append([energy**0.5, cosine_energy_limit(alpha, beta), cosine_energy_bound(alpha, beta)])
        powers = [power_energy_bound(alpha / factorial(2 * k), beta, power=2 * k) for k in range(1, 40)]
        rounded = [3 * 2 * k * np.abs(alpha) @ size ** (2 * k) / factorial(2 * k) for k in range(1, 40)]
        closed.append([sum(powers), sum(rounded)])
    energy, summed, bound = np.array(links).T
    drawn = {"length": lengths, "amplitude": amplitudes}
    terms = [(-1) ** k / factorial(2 * k) * power_teacher(x, alpha, beta, power=2 * k) for k in range(1, 30)]
    short, one = np.geomspace(1, 1 / 128, 8), np.ones(1)
    single = [size * beta[:1] / np.linalg.norm(beta[0]) for size in short]
    alone = [label_energy(first_layer_limit(x), cosine_teacher(x, one, each)) ** 0.5 for each in single]
    return {
        "cosines by their series": Identity(
            cosine_teacher(x, alpha, beta), np.sum(terms, axis=0), scale=np.abs(terms).max(), size=30.0
        ),
        "energy below the bound": Chain(
            {"term by term": (energy, summed), "1/√c_p ≤ 3p": (summed, bound)}, aside=drawn
        ),
        "first bound in closed form": Identity(summed, np.array(closed)[:, 0], size=40.0),
        "second bound in closed form": Identity(
            bound,
            np.array(closed)[:, 1],
            size=40.0,
            aside=drawn,
        ),
        # Towards short β; the printed ‖β‖ sinh ‖β‖² would be of third order, with any constant.
        "energy of short waves": Rate(
            short,
            np.array(alone),
            exponent=2.0,
            rivals=(3.0, 1.0),
            aside={"bounds": np.array([[f(one, each) for each in single] for f in BOUNDS])},
        ),
    }


@cosine_teachers_have_bounded_energy.control(
    "3‖β‖ sinh ‖β‖²: the length squared under the sine", of="energy below the bound"
)
def squared_length(evidence):
    lengths, amplitudes = evidence.aside["length"], evidence.aside["amplitude"]
    squared = 3 * np.sum(np.abs(amplitudes) * lengths * np.sinh(lengths**2), axis=1)
    return replace(evidence, links={"the square": (evidence.links["term by term"][0], squared)})


@cosine_teachers_have_bounded_energy.control(
    "3‖β‖²: the first term of the series alone", of="second bound in closed form"
)
def first_term(evidence):
    lengths, amplitudes = evidence.aside["length"], evidence.aside["amplitude"]
    return replace(evidence, right=3 * np.sum(np.abs(amplitudes) * lengths**2, axis=1))


@cosine_teachers_have_bounded_energy.picture
def towards_short_waves(pieces):
    """The root of the energy of one cosine against the length of its wave vector, and what bounds it."""
    short = pieces["energy of short waves"]
    summed, closed = short.aside["bounds"]
    return Curves(
        [
            Line("the series of the bound", short.x, summed),
            Line("3‖β‖ sinh ‖β‖", short.x, closed),
            Dots("energy of the labels", short.x, short.y),
            Line("3‖β‖ sinh ‖β‖", short.x, 3 * short.x * np.sinh(short.x**2), rival="3‖β‖ sinh ‖β‖²"),
        ],
        x="length of β",
        y="root of the energy, √(yᵀH⁻¹y)",
        log="xy",
    )
