"""What the kernel of a trained first layer can learn: its power series, and teachers of small and of growing energy."""

from dataclasses import replace
from math import comb, factorial
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.generalization.capacity.rademacher_bounds import kernel_label_complexity, label_energy
from deeptheory.kernels.finite.first_layer import (
    first_layer_coefficient,
    first_layer_limit,
    first_layer_series,
    first_layer_spectrum,
)
from deeptheory.kernels.lazy.teachers import (
    cosine_energy_bound,
    cosine_energy_limit,
    cosine_teacher,
    power_energy_bound,
    power_teacher,
)
from deeptheory.kernels.regression.predictions import diagonalize, interpolation, trained
from deeptheory.lab import Chain, Count, Identity, Inequality, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, power_law, seen
from deeptheory.spectra.self_consistent import effective_ridge

EVEN = (2, 4, 6, 8)
BOUNDS = cosine_energy_limit, cosine_energy_bound
"""Of the root of a cosine teacher's energy: the series, and its closed form."""


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


POWERS = np.array([1, 2, 4, 3])
HARMONICS = np.array(
    [[0, 1 / 2, 0, 0, 0], [1 / 4, 0, 1 / 4, 0, 0], [1 / 8, 0, 3 / 16, 0, 1 / 16], [0, 1 / 4, 0, 1 / 8, 0]]
)
"""The powers t, t², t⁴ and t³ in U₀ … U₄, the harmonics of four dimensions, each of mean square one."""
PAIRINGS = np.array([[0, 1, 0, 0, 0], [1, 0, 2, 0, 0], [9, 0, 72, 0, 24], [0, 9, 0, 6, 0]])
"""How often (u·x)ᵖ(u·x′)ᵖ pairs off to each power of x·x′; its mean over the sphere is this over 4·6·8···(2p + 2)."""
CUBIC = 3
"""Where the cubic stands among them, last."""

fits = jax.jit(
    jax.vmap(lambda kernel, y: trained(diagonalize(kernel), interpolation(cutoff=1e-6), y), in_axes=(None, 0))
)


@claim(
    items={
        "A9.19": (
            "training ends at the linear fit",
            "complexity of a cubic on a circle",
            "complexity of a cubic in four dimensions",
            "trace of the inverse",
            "energy of a cubic",
            "energies of other powers",
            "complexity of other powers",
        )
    },
    says=r"Without biases odd labels that are not linear are out of reach: on inputs with their antipodes training "
    r"ends at the linear fit of an odd teacher; on scattered ones the complexity $\sqrt{y^\top H^{*-1}y/n}$ of a "
    r"cubic does not fall, that of powers 1, 2, 4 does like $n^{-1/2}$.",
    needs="unit inputs; ReLU without biases; first layer trained",
    full=dict(sizes=(160, 320, 640, 1280), trials=48),
    symbols={
        r"H^*": "the kernel of the first layer in the limit of infinite width, on the inputs",
        r"y": "the labels at the inputs",
        r"n": "the number of random inputs",
        r"d": "their dimension: 2, evenly spaced, and 4",
    },
    why=r"But for $\rho/4$ the kernel $\rho(\pi-\arccos\rho)/2\pi$ has even powers only: no function in its space has "
    r"an odd part that is not linear. On scattered inputs harmonics of eigenvalue $\lambda$ add their mean square "
    r"over $\lambda+\kappa$ to $y^\top H^{*-1}y$, with the ridge $\kappa$ that interpolation carries with it, "
    r"$\sum\lambda/(\lambda+\kappa)=n$. The third harmonic of a cubic has $\lambda=0$ and is fitted as noise of its "
    r"mean square $v$, at the cost $v\operatorname{tr}H^{*-1}$. Near $\rho=\pm1$ the kernel bends like the distance, "
    r"so its small eigenvalues are of the order of the distance $n^{-1/(d-1)}$ between neighbours and the root of "
    r"this cost grows like $n^{d/2(d-1)}$.",
    notice=r"The complexities of the linear, the square and the quartic teacher fall together like $n^{-1/2}$; that of "
    r"the cubic rises, along "
    r"the curve of pure noise: by this measure more data make it no better than random labels.",
)
def odd_powers_are_not_learnable(key, *, sizes: Sizes = (160, 320, 640), trials: Trials = 40):
    draw = generator(key)
    x, one, beta = unit_vectors(draw, 9, 3), np.ones(1), 1.5 * unit_vectors(draw, 1, 3)
    both = np.concatenate([x, -x])
    labels = np.array([power_teacher(both, one, beta, power=p) for p in (1, 2, 3, 4, 5)])
    linear = (both @ np.linalg.lstsq(both, labels.T, rcond=None)[0]).T
    expected = np.where(np.array([True, False, True, False, True])[:, None], linear, labels)
    values, many = first_layer_spectrum(100_000)
    counts = np.append(sizes, (10**3, 10**4, 10**5))
    ridges = np.array([effective_ridge(0.0, values, many / many.sum(), many.sum() / n).value for n in counts])
    lengths = 1.5 ** (2 * POWERS[:, None])
    squares, directions = lengths * HARMONICS**2, lengths * PAIRINGS / [[4], [24], [1920], [192]]
    # What a teacher's harmonics cost, but for those out of sight.
    few, degrees = values[:5, None], np.arange(5)[:, None]
    parts = np.where(few.T > 0, squares, 0.0) @ (1 / (few + ridges))
    nearest = np.where(few.T > 0, squares, 0.0) @ (1 / (few * ((degrees + 3) / (degrees + 2)) ** 2 + ridges))
    energies, spread = np.empty((len(sizes), len(POWERS), trials)), np.empty((len(sizes), trials))
    for i, t in np.ndindex(len(sizes), trials):
        points = unit_vectors(draw, sizes[i], 4)
        inverse, cosines = np.linalg.inv(first_layer_limit(points)), points @ points.T
        # The mean over the directions in which a teacher may look: it matters more than which inputs were drawn.
        energies[i, :, t] = directions @ [np.sum(inverse * cosines**k) for k in range(5)]
        spread[i, t] = np.trace(inverse)
    x = np.array(sizes)
    cost = parts.T[: len(sizes), :, None] + squares[CUBIC, 3] * spread[:, None] * (np.arange(4) == CUBIC)[:, None]
    # Points evenly on a circle, an odd number, so that no antipodes coincide: the teacher is the third harmonic alone.
    odd = np.array([81, 161, 321])
    rings = [2 * np.pi * np.arange(count) / count for count in odd]
    even = [np.stack([np.cos(ring), np.sin(ring)], axis=1) for ring in rings]
    around = [label_energy(first_layer_limit(x), np.cos(3 * ring)) for x, ring in zip(even, rings, strict=True)]
    return {
        # Rounding of the angle π leaves 1e-8 where an eigenvalue is zero, below the cutoff of the fit.
        "training ends at the linear fit": Identity(
            fits(first_layer_limit(both), labels), expected, scale=np.abs(labels).max(), error=1e-5
        ),
        "complexity of a cubic on a circle": Rate(
            odd, np.sqrt(around), exponent=1.0, resolution=0.1, rivals=(0.75, 1.25)
        ),
        "complexity of a cubic in four dimensions": Rate(
            counts[-3:], ridges[-3:] ** -0.5, exponent=2 / 3, resolution=0.01, rivals=(0.5, 0.75, 1.0)
        ),
        # Inputs drawn at random lie closer together here and there than equations for means know: a constant, no power.
        "trace of the inverse": Rate(
            x,
            spread * ridges[: len(sizes), None],
            exponent=0.0,
            resolution=0.15,
            rivals=(-1 / 3, 1 / 3),
            aside={"complexity": np.moveaxis(np.sqrt(energies / x[:, None, None]), 1, 2)},
        ),
        # Extrapolated from draws whose energies differ by a tenth.
        "energy of a cubic": Law(
            1.0,
            energies[:, CUBIC] / cost[:, CUBIC],
            sizes=x,
            order=1.0,
            resolution=0.1,
            aside={"whole": squares[CUBIC].sum() * spread / energies[:, CUBIC]},
        ),
        "energies of other powers": Law(
            1.0,
            (energies / cost)[:, :CUBIC],
            sizes=x,
            order=1.0,
            resolution=0.01,
            along={"power": POWERS[:CUBIC]},
            aside={"nearest": energies[:, :CUBIC] / nearest.T[: len(sizes), :CUBIC, None]},
        ),
        "complexity of other powers": Rate(
            counts[-3:],
            np.sqrt(parts[:CUBIC] / counts).mean(0)[-3:],
            exponent=-0.5,
            resolution=0.01,
            rivals=(0.0, -1.0),
        ),
    }


@odd_powers_are_not_learnable.control("noise of the variance of the whole cubic", of="energy of a cubic")
def with_the_linear_part(evidence):
    return replace(evidence, observed=1 / np.asarray(evidence.aside["whole"]))


@odd_powers_are_not_learnable.control("l + 2 for l + 3 in the eigenvalues", of="energies of other powers")
def nearest_eigenvalues(evidence):
    return replace(evidence, observed=evidence.aside["nearest"])


@odd_powers_are_not_learnable.picture
def with_more_data(pieces):
    """Complexities √(2yᵀH⁻¹y tr H)/n of teachers of four powers on random inputs in four dimensions."""
    sizes, complexity = (
        np.asarray(pieces["trace of the inverse"].x, float),
        pieces["trace of the inverse"].aside["complexity"],
    )
    names = {"linear": 0, "square": 1, "quartic": 2, "cubic": CUBIC}
    marks = [seen(name, sizes, complexity[..., power]) for name, power in names.items()]
    slopes = {"linear": -0.5, "square": -0.5, "quartic": -0.5, "cubic": 1 / 6}
    lines = [
        Line(name, sizes, np.mean(complexity[0, :, power]) * (sizes / sizes[0]) ** slopes[name])
        for name, power in names.items()
    ]
    return Curves([*marks, *lines], x="number of inputs n", y="complexity of the labels", log="xy")


@odd_powers_are_not_learnable.control("a cubic is fitted like any labels", of="training ends at the linear fit")
def everything_fitted(evidence):
    cubic = np.array(evidence.right)
    cubic[2] = (cubic[0]) ** 3
    return replace(evidence, right=cubic)
