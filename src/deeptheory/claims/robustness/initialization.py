"""Before training: outputs and gradients of random two-layer networks, and one step that flips the sign."""

import itertools
from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from deeptheory.lab import Chance, Distribution, Identity, Inequality, Law, Limit, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Row
from deeptheory.robustness.sign_flips import (
    activation_moment,
    flip_length_cdf,
    flipping_step,
    mean_squared_gradient,
    normal_defect,
    output_cdf,
    random_two_layer,
    slope_moment,
    two_layer_gradient,
    two_layer_value,
)

KINDS = ("relu", "softplus", "tanh")


@claim(
    items={"L12.9": ("output of drawn networks", "variance of the output", "distance from the normal law")},
    says=r"The output of a random two-layer network of width $k$ at $\|x\|=\sqrt d$ has variance $\mathbb "
    r"E\,\sigma(X)^2$ in every dimension, and its law is normal up to $O(1/k)$.",
    needs="weights N(0, I/d), signs ±1 in the second layer; ReLU, softplus and tanh",
    full=dict(trials=16_000),
    symbols={
        "k": "the width",
        "x": "the input",
        "d": "its dimension",
        r"\sigma": "the activation",
        "X": "a standard normal variable",
    },
    why=r"Each $w_j\cdot x$ is standard normal, whatever $d$, so the output is a sum of $k$ independent terms "
    r"$\pm\sigma(X)/\sqrt k$. Random signs make the terms symmetric: the skewness that would cost $k^{-1/2}$ is zero, "
    "and the kurtosis is the first thing to be seen. The law at finite width is found from its characteristic "
    "function.",
    notice="Left, outputs of drawn networks of width 20 under the exact density and the normal one: they differ in the "
    "peak, by little. Right, the largest difference of the distribution functions falls like $1/k$ towards the "
    "constant that the kurtosis gives, not like $k^{-1/2}$.",
)
def random_network_outputs(key, *, trials: Trials = 4000, dimension: Annotated[int, Interval(ge=2, le=12)] = 5):
    x = np.ones(dimension)
    widths = np.array([40, 80, 160, 320])
    grid = np.linspace(0, 3, 601)
    ranks, squares, distances = [], [], []
    for i, kind in enumerate(KINDS):
        values = two_layer_value(
            random_two_layer(jax.random.fold_in(key, i), trials, 20, dimension), x, activation=kind
        )
        ranks.append(output_cdf(values, activation=kind, width=20))
        squares.append(values**2)
        spread = np.sqrt(activation_moment(kind))
        laws = [output_cdf(grid * spread, activation=kind, width=int(k)) for k in widths]
        distances.append([np.max(np.abs(law - ndtr(grid))) for law in laws])
    first, scaled = np.array(distances), np.array(distances) * widths
    limits = np.array([normal_defect(kind) for kind in KINDS])
    variances = np.array([activation_moment(kind) for kind in KINDS])
    means = np.array([0.0 if kind == "tanh" else activation_moment(kind, 1.0) for kind in KINDS])
    own = np.sqrt(np.array(squares)) * np.where(np.array(ranks) > 0.5, 1, -1)
    return {
        "output of drawn networks": Distribution(
            np.ravel(ranks), aside={"values": own, "centred": variances - means**2}
        ),
        "variance of the output": Law(
            variances,
            np.array(squares),
            exact=True,
            resolution=0.2,  # eight standard errors of a mean of squares of about normal variables
            along={"activation": list(KINDS)},
            aside={"centred": variances - means**2},
        ),
        "distance from the normal law": Limit(
            widths,
            np.max(np.abs(scaled / limits[:, None] - 1), 0),
            order=1.0,
            aside={"distances": first, "limits": limits},
        ),
    }


@random_network_outputs.control("a normal law with the variance of σ(X)", of="output of drawn networks")
def centred_law(evidence):
    spread = np.sqrt(evidence.aside["centred"])[:, None]
    return replace(evidence, ranks=np.ravel(ndtr(evidence.aside["values"] / spread)))


@random_network_outputs.control("the variance of σ(X) in place of its second moment", of="variance of the output")
def centred_variance(evidence):
    return replace(evidence, predicted=evidence.aside["centred"])


@random_network_outputs.control("distances fall like one over the root of k", of="distance from the normal law")
def slow_fall(evidence):
    ratio = evidence.aside["distances"] * np.sqrt(evidence.x) / evidence.aside["limits"][:, None]
    return replace(evidence, y=np.max(np.abs(ratio * np.sqrt(evidence.x[0]) - 1), 0))


@random_network_outputs.picture
def outputs_and_distances(pieces):
    """Outputs of ReLU networks of width 20 (left); distance from the normal law, by the kurtosis dashed (right)."""
    drawn, far = pieces["output of drawn networks"], pieces["distance from the normal law"]
    values = drawn.aside["values"][0]
    grid = np.linspace(-3, 3, 241)
    exact = np.gradient(output_cdf(grid, activation="relu", width=20), grid)
    marks = [
        Line("exact, width 20", grid, exact),
        Line("normal, variance ½", grid, np.exp(-(grid**2)) / np.sqrt(np.pi)),
    ]
    falls = []
    for kind, distances, limit in zip(KINDS, far.aside["distances"], far.aside["limits"], strict=True):
        name = {"relu": "ReLU"}.get(kind, kind)
        falls += [Line(name, far.x, distances), Line(name, far.x, limit / far.x, dashed=True)]
    falls.append(Line("", far.x, far.aside["distances"][0, 0] * (far.x / far.x[0]) ** -0.5, rival="order 1/√k"))
    return Row(
        [
            Histogram(marks, samples=values, bins=40, x="output f(x)", y="density"),
            Curves(falls, x="width k", y="largest difference of distribution functions", log="xy"),
        ]
    )


@claim(
    items={"L12.14": ("gradient across the input", "mean squared gradient", "chance of a smaller gradient")},
    says=r"The input gradient of a random two-layer network has $\mathbb E\|\nabla f\|^2=\frac{d-1}d\mathbb E\sigma'^2+"
    r"\frac1d\mathbb E X^2\sigma'^2$. Across $x$ it is $s/\sqrt d$ times a normal vector of $d-1$ entries, $s^2=\frac1k"
    r"\sum_j\sigma'(w_j\cdot x)^2$; so it is longer than $(1-5\sqrt{\log(2/\gamma)/d})s$ with probability $1-\gamma$.",
    needs="weights N(0, I/d), signs ±1, ‖x‖ = √d; 0 < γ < 2/e; tanh in the drawn pieces",
    full=dict(trials=80_000),
    symbols={
        r"\nabla f": "the gradient by the input",
        "d": "the dimension of the input",
        r"\sigma'": "the slope of the activation at a standard normal $X$",
        "x": "the input",
        "s": "the root mean square of the slopes",
        "k": "the width",
        "w_j": "weights of a unit",
        r"\gamma": "how likely a shorter gradient may be",
    },
    why="Split each $w_j$ into its part along $x$ and the rest. The rest is normal, in $d-1$ directions, and "
    r"independent of the slope $\sigma'(w_j\cdot x)$: given the slopes, a sum of normals is normal. Its squared length "
    r"is a $\chi^2_{d-1}$, near $d$, and the average of the squared slopes is near its mean because the slopes have "
    "moments (Bernstein).",
    notice="Norms of order one scatter about the root mean square. In more dimensions this moves to its limit, close "
    "by, and no farther, and the spread becomes smaller.",
    explore={"dimension": (4, 8, 16)},
)
def random_network_gradients(key, *, trials: Trials = 16_000, dimension: Annotated[int, Interval(ge=3, le=16)] = 5):
    width, x = 12, np.ones(dimension)
    weights, signs = random_two_layer(key, trials, width, dimension)
    gradient = two_layer_gradient((weights, signs), x)
    slopes = 1 - np.tanh(weights @ x) ** 2
    across = gradient - np.mean(gradient, 1, keepdims=True) * x
    ratio = np.sum(across**2, 1) * width * dimension / np.sum(slopes**2, 1)
    d, gamma = (each.ravel() for each in np.meshgrid([60, 100, 400, 2000, 10**4], [0.5, 0.1, 1e-2, 1e-4, 1e-8]))
    level = np.log(2 / gamma)
    said = 25 * level < d  # elsewhere the bound is not positive and says nothing
    d, gamma, level = d[said], gamma[said], level[said]
    return {
        "gradient across the input": Distribution(
            chi2.cdf(ratio, dimension - 1), aside={"ratio": ratio, "dimension": dimension}
        ),
        "mean squared gradient": Law(
            mean_squared_gradient("tanh", dimension),
            np.sum(gradient**2, 1),
            exact=True,
            resolution=0.08,
            aside={"limit": slope_moment("tanh"), "norms": np.linalg.norm(gradient, axis=1)},
        ),
        "chance of a smaller gradient": Inequality(
            chi2.logcdf(d * (1 - 5 * np.sqrt(level / d)) ** 2, d - 1),
            np.log(gamma),
            log=True,
            aside={"half": chi2.logcdf(d * (1 - 0.5 * np.sqrt(level / d)) ** 2, d - 1)},
        ),
    }


@random_network_gradients.control("d degrees of freedom for d − 1", of="gradient across the input")
def one_more_degree(evidence):
    return replace(evidence, ranks=chi2.cdf(evidence.aside["ratio"], evidence.aside["dimension"]))


@random_network_gradients.control("the limit of high dimension already here", of="mean squared gradient")
def high_dimension(evidence):
    return replace(evidence, predicted=evidence.aside["limit"])


@random_network_gradients.control("the constant one half for five", of="chance of a smaller gradient")
def half_for_five(evidence):
    return replace(evidence, quantity=evidence.aside["half"])


@random_network_gradients.picture
def gradient_norms(pieces, settings):
    """Gradient norms of drawn tanh networks, the root of their mean square, and its limit in high dimension."""
    law = pieces["mean squared gradient"]
    marks = [
        Level("root mean square", x=float(np.sqrt(law.predicted))),
        Level("limit of high dimension", x=float(np.sqrt(law.aside["limit"]))),
    ]
    return Histogram(marks, samples=law.aside["norms"], bins=40, x="norm of the gradient", y="density", ys=(0, 2.4))


@claim(
    items={
        "L12.15": ("networks whose sign stays", "length of the step", "length along the dimension"),
        "L12.16": ("linear models are turned round", "length of the linear step"),
    },
    says=r"At random initialization one step $-2f\nabla f/\|\nabla f\|^2$ flips the sign of a two-layer network with "
    r"probability near 1; its length does not grow with $d$ while $\|x\|=\sqrt d$. A linear model goes to exactly "
    r"$-f$.",
    needs="width and dimension large: 100 each here, for the growth of the length 25, 100 and 400 dimensions; a smooth "
    "activation (tanh), or none",
    full=dict(trials=4000),
    symbols={
        "f": "the output at $x$",
        r"\nabla f": "its gradient by the input",
        "d": "the dimension",
        "x": "the input",
    },
    why="Value and gradient are both of order one, so a linear function would vanish after a step of length "
    r"$|f|/\|\nabla f\|$, of order one, and be $-f$ after twice that. Such a step is short beside $\sqrt d$: it moves "
    "every pre-activation by $O(d^{-1/2})$, and the network is nearly linear there. The step has to go against the "
    "sign of $f$: up the gradient a positive value only grows.",
    notice="Outputs before and after the step lie along the line of exact reversal. Up the gradient, "
    "whatever the length, a linear network flips only if its output is negative: the upper left quarter.",
)
def one_step_flips_the_sign(
    key, *, trials: Trials = 1000, step: Literal["against the value", "up the gradient"] = "against the value"
):
    width, dimension, gamma = 100, 100, 0.05
    x = np.ones(dimension)
    before, after, lengths = np.empty((3, trials))
    for start in range(0, trials, 250):  # a batch of networks is twenty megabytes
        part = slice(start, min(start + 250, trials))
        networks = random_two_layer(jax.random.fold_in(key, start), part.stop - start, width, dimension)
        value, gradient = two_layer_value(networks, x), two_layer_gradient(networks, x)
        move = flipping_step(value, gradient)
        lengths[part] = np.linalg.norm(move, axis=1)
        before[part], after[part] = value, two_layer_value(networks, x + move)
    several = np.array([dimension // 4, dimension, 4 * dimension])
    moves = np.empty((len(several), trials))
    for (i, d), start in itertools.product(enumerate(several.tolist()), range(0, trials, 250)):
        part = slice(start, min(start + 250, trials))
        drawn = random_two_layer(jax.random.fold_in(key, 10_000 * (i + 1) + start), part.stop - start, width, d)
        step_to = flipping_step(two_layer_value(drawn, np.ones(d)), two_layer_gradient(drawn, np.ones(d)))
        moves[i, part] = np.linalg.norm(step_to, axis=1)
    linear = random_two_layer(jax.random.fold_in(key, 1), 12 * trials, 1, 4)[0][:, 0]
    own = linear @ np.ones(4)
    turn = flipping_step(own, linear)
    if step == "up the gradient":
        # With σ(z) = z, which the theorem allows, f(x + η∇f) = f + η‖∇f‖² at any width: a positive value stays so for
        # every η > 0. A negative value gets one that is large enough.
        before = own[:trials]
        after = np.where(before > 0, before, -before)
    half = 2 * np.sqrt(activation_moment("tanh") / slope_moment("tanh"))
    limit = half * np.sqrt(2 / np.pi)
    return {
        "networks whose sign stays": Chance(
            np.array([np.sum(before * after >= 0)]), trials, gamma, aside={"before": before, "after": after}
        ),
        "length of the step": Law(
            limit, lengths, exact=True, resolution=0.2, aside={"square": half**2 * np.sqrt(2 / np.pi)}
        ),
        "length along the dimension": Rate(several, moves, exponent=0.0, rivals=(0.5,)),
        "linear models are turned round": Identity(
            np.sum(linear * (1.0 + turn), 1), -own, scale=np.abs(own) + 1, condition=10.0, aside={"own": own}
        ),
        "length of the linear step": Distribution(
            flip_length_cdf(np.linalg.norm(turn, axis=1), 4), aside={"lengths": np.linalg.norm(turn, axis=1)}
        ),
    }


one_step_flips_the_sign.control(
    "a step up the gradient of a linear network, of any positive size",
    of="networks whose sign stays",
    step="up the gradient",
)


@one_step_flips_the_sign.control("the ratio of variances for the ratio of roots", of="length of the step")
def variances_for_roots(evidence):
    return replace(evidence, predicted=evidence.aside["square"])


@one_step_flips_the_sign.control("a length like ‖x‖ = √d", of="length along the dimension")
def as_long_as_the_input(evidence):
    return replace(evidence, exponent=0.5, rivals=())


@one_step_flips_the_sign.control("a step of once the value over the gradient", of="linear models are turned round")
def half_the_step(evidence):
    return replace(evidence, left=0 * evidence.aside["own"])


@one_step_flips_the_sign.control("a half-normal length in four dimensions", of="length of the linear step")
def half_normal(evidence):
    return replace(evidence, ranks=2 * ndtr(evidence.aside["lengths"] / 2) - 1)


@one_step_flips_the_sign.picture
def reversal(pieces):
    """Outputs of random networks before and after the step (left), and how long the step was (right)."""
    flips, length = pieces["networks whose sign stays"], pieces["length of the step"]
    before, after = flips.aside["before"][:400], flips.aside["after"][:400]
    ends = np.array([-2.0, 2.0])
    quantiles = np.linspace(0.005, 0.995, 100)
    scale = float(length.predicted) / np.sqrt(2 / np.pi)
    at = scale * ndtri((1 + quantiles) / 2)
    density = 2 / scale * np.exp(-((at / scale) ** 2) / 2) / np.sqrt(2 * np.pi)
    return Row(
        [
            Curves(
                [Line("exact reversal", ends, -ends), Dots("networks", before, after)],
                x="output before", y="output after", xs=(-2, 2), ys=(-2, 2),
            ),
            Histogram(
                [Line("limit of wide networks", at, density)], samples=length.observed, bins=40,
                x="length of the step (the input has length 10)", y="density",
            ),
        ]
    )  # fmt: skip
