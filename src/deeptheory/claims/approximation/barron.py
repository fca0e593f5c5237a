"""Barron constants: Gaussians in any dimension, and functions with kinks, which have none."""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from scipy.special import gammaln, sici

from deeptheory.approximation.barron import (
    barron_constant,
    bump_barron_constant,
    cosine_barron_constant,
    gaussian_barron_bound,
    gaussian_barron_constant,
    grid_barron_constant,
    tent_barron_constant,
)
from deeptheory.approximation.thresholds import CosineSum
from deeptheory.approximation.transforms import centred_grid, gaussian_transform, tent_transform
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.networks.pieces import network_function, relu_nodes
from deeptheory.networks.tent import tent_layers


@claim(
    items={
        "L4.3": ("constant by quadrature", "constant from values on a grid", "stretched functions", "largest slope"),
        "L4.19": ("constant by quadrature", "bound by Cauchy and Schwarz", "nearness of the bound"),
    },
    says=r"The density of $N(0,\sigma^2I_d)$ has $\int\|\widehat{\nabla f}\|d\omega=2\pi "
    r"C_f=\frac{\sqrt2\,\Gamma((d+1)/2)}{\sigma\,\Gamma(d/2)}(2\pi\sigma^2)^{-d/2}\le\frac{\sqrt "
    r"d}\sigma(2\pi\sigma^2)^{-d/2}$; $f(ax)$, as high as $f$, has $C=aC_f$, a shift changes nothing, and $\|\nabla "
    r"f\|\le2\pi C_f$.",
    needs="$f$ and its transform are integrable",
    explore={"scale": (0.25, 0.4, 0.6)},
    symbols={
        r"\sigma^2": "the variance of the Gaussian",
        "d": "the dimension",
        "f": "the density",
        "C_f": r"Barron's constant $\int\|\omega\||\widehat f(\omega)|d\omega$: $k$ units come to a squared error of "
        "order $C_f^2/k$",
        r"\widehat{\nabla f}": "the Fourier transform of the gradient",
        "a": "the factor by which a function is compressed",
    },
    why=r"The transform $e^{-2\pi^2\sigma^2\|\omega\|^2}$ is, up to a factor, the density of a Gaussian of variance "
    r"$1/(4\pi^2\sigma^2)$, so $C_f$ is that factor $(2\pi\sigma^2)^{-d/2}$ times the mean length of a Gaussian "
    r"vector, a little below $\sqrt d/(2\pi\sigma)$. The factor is the height of the density at its top: it decides "
    r"everything in high dimension. The gradient is an integral of waves that are at most $2\pi\|\omega\||\widehat "
    "f|$ steep.",
    notice=r"At $\sigma^2=1/(2\pi)$ the density has height one in every dimension and its constant grows like $\sqrt "
    "d$. A little wider and it vanishes exponentially, a little narrower and it explodes: networks need few units "
    "for a wide density because there is hardly anything to approximate. The bound can hardly be told from the "
    "constant.",
)
def barron_constants_of_gaussians(key, *, scale: Annotated[float, Interval(ge=0.2, le=1.0)] = 0.4):
    draw = generator(key)
    dimensions, scales = np.array([1, 2, 3, 5, 10, 30]), scale * np.array([0.8, 1.0, 1.3])
    closed = np.array([[gaussian_barron_constant(d, s) for s in scales] for d in dimensions.tolist()])
    found = np.array(
        [[barron_constant(lambda rho, s=s: gaussian_transform(rho, s), d) for s in scales] for d in dimensions.tolist()]
    )
    many = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    tops = np.array(
        [[gaussian_barron_constant(d, s), gaussian_barron_bound(d, s)] for d in many.tolist() for s in scales]
    )
    tops = tops.reshape(len(many), len(scales), 2)
    # A function that is no Gaussian, moved and compressed: differences of bumps on the line.
    t = centred_grid(4096, 0.01)
    shape = [
        np.exp(-((a * t - c) ** 2) / 2) - 0.7 * np.exp(-((a * t - c - 1.5) ** 2)) for a, c in ((1, 0), (1, 2), (2.5, 0))
    ]
    grid = np.array([grid_barron_constant(each, 0.01) for each in shape])
    centers = draw.uniform(-1, 1, (4, 2))
    x, y = np.meshgrid(centred_grid(160, 0.1), centred_grid(160, 0.1), indexing="ij")
    plane = [grid_barron_constant(np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * 0.5**2)), 0.1) for a, b in centers]
    # Sums of waves; of sines without phase the slope at zero along a common direction is the bound itself.
    slopes, bounds = [], []
    for aligned in (True, False) * 4:
        amplitudes, lengths = draw.uniform(0.2, 1, 5), draw.uniform(0.2, 2, 5)
        directions = draw.standard_normal((1 if aligned else 5, 3))
        frequencies = lengths[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        sum_of_waves = CosineSum(amplitudes, frequencies, np.full(5, -0.25) if aligned else draw.uniform(0, 1, 5))
        at = np.concatenate([np.zeros((1, 3)), draw.uniform(-1, 1, (400, 3))])
        turns = 2 * np.pi * (at @ frequencies.T + sum_of_waves.phases)
        gradient = -2 * np.pi * (np.sin(turns) * amplitudes) @ frequencies
        slopes.append(np.max(np.linalg.norm(gradient, axis=1)))
        bounds.append(2 * np.pi * cosine_barron_constant(amplitudes, frequencies))
    return {
        "constant by quadrature": Identity(
            closed, found, error=1e-8 * closed, condition=30.0, along={"dimension": dimensions, "scale": scales}
        ),
        # The sum over the dual grid is off by the corner of ‖ω‖ at zero, a cube of its step 1/16.
        "constant from values on a grid": Identity(
            np.array(plane), np.full(4, bump_barron_constant(2, 0.5)), error=2e-4, size=160.0**2
        ),
        "stretched functions": Identity(
            grid / grid[0], np.array([1.0, 1.0, 2.5]), error=2e-3, along={"variant": ["itself", "moved", "compressed"]}
        ),
        "largest slope": Inequality(np.array(slopes), np.array(bounds), along={"waves": ["aligned", "scattered"] * 4}),
        "bound by Cauchy and Schwarz": Inequality(
            tops[..., 0], tops[..., 1], along={"dimension": many, "scale": scales}
        ),
        # 1 − exact/bound is 1/(4d) to first order, by the expansion of the Gamma functions.
        "nearness of the bound": Limit(
            many[3:].astype(float), np.abs(4 * many * (1 - tops[:, 1, 0] / tops[:, 1, 1]) - 1)[3:], order=1.0
        ),
    }


@barron_constants_of_gaussians.control("Γ(d/2 + 1) for Γ((d + 1)/2)", of="constant by quadrature")
def half_a_dimension_more(evidence):
    d = evidence.along["dimension"][:, None]
    return replace(evidence, left=evidence.left * np.exp(gammaln(d / 2 + 1) - gammaln((d + 1) / 2)))


@barron_constants_of_gaussians.control("height (2πσ²)^(d/2), for the density", of="constant by quadrature")
def inverted_height(evidence):
    d, s = evidence.along["dimension"][:, None], evidence.along["scale"]
    return replace(evidence, left=evidence.left * (2 * np.pi * s**2) ** d)


@barron_constants_of_gaussians.control("d − 1 for d under the root", of="bound by Cauchy and Schwarz")
def one_dimension_less(evidence):
    d = evidence.along["dimension"][:, None]
    return replace(evidence, bound=evidence.bound * np.sqrt((d - 1) / d))


@barron_constants_of_gaussians.control("a bound that stays 1/(2d) too large", of="nearness of the bound")
def twice_as_far(evidence):
    return replace(evidence, y=np.abs((1 + evidence.y) / 2 - 1))


@barron_constants_of_gaussians.control("a compressed function has the same constant", of="stretched functions")
def unscaled(evidence):
    return replace(evidence, right=np.ones(3))


@barron_constants_of_gaussians.control(
    "the constant of a bump one dimension higher", of="constant from values on a grid"
)
def in_space(evidence):
    return replace(evidence, right=np.full(4, bump_barron_constant(3, 0.5)))


@barron_constants_of_gaussians.control("slopes within C_f, without the 2π", of="largest slope")
def angular(evidence):
    return replace(evidence, bound=evidence.bound / (2 * np.pi))


@barron_constants_of_gaussians.picture
def around_the_threshold(pieces):
    """The complexity 2πC of Gaussian densities by dimension, for three of them and at the threshold; bounds dashed."""
    d, found = np.arange(1, 129), pieces["bound by Cauchy and Schwarz"]
    threshold = float(1 / np.sqrt(2 * np.pi))
    marks: list[Any] = [
        Line("σ² = 1/2π", d, [2 * np.pi * gaussian_barron_constant(n, threshold) for n in d.tolist()], thin=True)
    ]
    for s, constants in zip(found.along["scale"].tolist(), np.asarray(found.quantity).T, strict=True):
        name = f"σ² = {s * s:.2g}"
        marks += [Dots(name, found.along["dimension"], 2 * np.pi * constants)]
        marks += [Line(name, d, [2 * np.pi * gaussian_barron_bound(n, s) for n in d.tolist()], dashed=True)]
    return Curves(marks, x="dimension d", y="complexity 2πC", log="y")


GRID = [Fraction(j, 24) for j in range(-12, 37)]
"""where the tent is compared with its network: from left of its base to right of it"""


def logistic(t):
    return 1 / (1 + np.exp(-np.clip(t, -700, 700)))


def ramp(t):
    return np.maximum(t, 0) - np.maximum(t - 1, 0)


def arcs(t):
    return 0.5 + np.arctan(t) / np.pi


@claim(
    items={
        "L4.9": ("constant up to a frequency", "growth with every doubling", "units of a tent", "units of the theorem")
    },
    says=r"The tent $\max(1-|x|/a,0)$ is made of three ReLUs, but up to frequency $W$ its Barron constant is "
    r"$\mathrm{Cin}(2\pi aW)/(\pi^2a)$, which grows like $\log W$: a kink has no finite $C_f$. Barron's units have "
    "limits $0$ and $1$, which the ReLU has not.",
    needs="the frequency W large beside 1/a",
    explore={"width": (0.5, 0.7, 2.0)},
    symbols={
        "a": "half the base of the tent",
        "W": "the highest frequency that is counted",
        r"\mathrm{Cin}": r"$\mathrm{Cin}(z)=\int_0^z(1-\cos t)/t\,dt$, about $\log z+0.577$",
        "C_f": r"Barron's constant $\int|\omega||\widehat f(\omega)|d\omega$",
    },
    why=r"A jump of the derivative makes the transform fall only like $1/\omega^2$, and $\omega$ times that has no "
    "finite integral: each doubling of the highest frequency adds the same amount. With finite $C_f$ the gradient is "
    "an absolutely convergent integral of waves, so it is continuous, and no function with a kink can have one. The "
    "constant says what suffices for Barron's sampling, not what is necessary: ReLUs have kinks of their own.",
    notice="On the left the constant of the tent climbs a straight line over the logarithm of the frequency, beside "
    "that of a Gaussian bump of the same area, which stops. On the right the units: two end at one, the ReLU leaves.",
)
def kinks_have_no_barron_constant(*, width: Annotated[float, Interval(ge=0.5, le=2.0)] = 0.7):
    cutoffs = 2.0 ** np.arange(0, 5) / width
    ends = 2.0 ** np.arange(2, 13) / width
    constants = np.array([tent_barron_constant(end, width) for end in ends])
    t = np.concatenate([-np.geomspace(1e6, 1, 30), np.geomspace(1, 1e6, 30)])
    three = tent_layers(1)
    units = {"sigmoid": logistic, "difference of ReLUs": ramp, "arctangent": arcs}
    return {
        "constant up to a frequency": Identity(
            np.array([tent_barron_constant(cutoff, width) for cutoff in cutoffs.tolist()]),
            np.array(
                [
                    barron_constant(lambda rho: tent_transform(rho, width), 1, cutoff=cutoff)
                    for cutoff in cutoffs.tolist()
                ]
            ),
            error=1e-8,
            aside={"angle": 2 * np.pi * width * cutoffs, "width": np.array(width)},
        ),
        "growth with every doubling": Limit(
            ends[1:],
            np.abs(np.diff(constants) * np.pi**2 * width / np.log(2) - 1),
            order=1.0,
            aside={"constants": constants, "ends": ends},
        ),
        "units of a tent": Exact(
            np.array([relu_nodes(three), *(network_function(three)(x) for x in GRID)]),
            np.array([3, *(max(1 - abs(2 * x - 1), Fraction(0)) for x in GRID)]),
        ),
        "units of the theorem": Inequality(
            np.abs(np.stack([unit(t) for unit in units.values()]) - (t > 0)),
            1 / np.abs(t),
            along={"unit": list(units), "argument": t},
        ),
    }


@kinks_have_no_barron_constant.control(
    "γ + log z for Cin(z), as if in the limit already", of="constant up to a frequency"
)
def limit_at_once(evidence):
    z, width = evidence.aside["angle"], evidence.aside["width"]
    return replace(evidence, left=evidence.left + sici(z)[1] / (np.pi**2 * width))


@kinks_have_no_barron_constant.control(
    "a constant that settles, nothing more from high frequencies", of="growth with every doubling"
)
def settled(evidence):
    return replace(evidence, y=np.ones_like(evidence.y))


@kinks_have_no_barron_constant.control(
    "growth from positive frequencies alone, half of it", of="growth with every doubling"
)
def one_sided(evidence):
    growth = np.diff(evidence.aside["constants"])
    return replace(evidence, y=np.abs(2 * growth / (growth[-1]) - 1))


@kinks_have_no_barron_constant.control("the tent without its third ReLU", of="units of a tent")
def two_units(evidence):
    two = network_function(tent_layers(1, units=2))
    return replace(evidence, left=np.array([3, *(two(x) for x in GRID)]))


@kinks_have_no_barron_constant.control(
    "the ReLU meets the assumption on the units", of="units of the theorem", erratum="L4.9a"
)
def relu_as_unit(evidence):
    t = evidence.along["argument"]
    return replace(evidence, quantity=np.abs(np.maximum(t, 0.0) - (t > 0)), along={})


@kinks_have_no_barron_constant.picture
def climbing_constant(pieces, settings):
    """The constant up to a frequency, of the tent and of a Gaussian bump (left); three units (right)."""
    grown, width = pieces["growth with every doubling"], settings["width"]
    ends = grown.aside["ends"]
    bump = [
        barron_constant(lambda r: width * gaussian_transform(r, width / np.sqrt(2 * np.pi)), 1, cutoff=end)
        for end in ends.tolist()
    ]
    left = [
        Line("tent", ends, grown.aside["constants"]),
        Line("Gaussian bump of the same area", ends, bump),
    ]
    t = np.linspace(-4, 4, 161)
    right = [
        Line("sigmoid", t, logistic(t)),
        Line("difference of ReLUs", t, ramp(t)),
        Line("", t, np.maximum(t, 0.0), rival="the ReLU, as in Remark 4"),
        Level("limit 1", y=1.0),
    ]
    return Row(
        [
            Curves(left, x="highest frequency W", y="Barron constant up to W", log="x"),
            Curves(right, x="argument t", y="value of the unit", ys=(-0.5, 3)),
        ]
    )
