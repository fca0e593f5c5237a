"""Population losses as functions of the overlap: principal components, mixtures, teachers and students.

Jagannath 11.2. Losses of whole vectors are drawn; the prediction sees only the overlap.
"""

from dataclasses import replace
from math import factorial, pi, sqrt
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.integrate import solve_ivp

from deeptheory.dynamics.single_index import (
    fisher_consistent,
    mixture_loss,
    mixture_series,
    principal_component_series,
    teacher_student_series,
)
from deeptheory.foundations.hermite import gaussian_panels, hermite_coefficients, hermite_link
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Positive, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Row, seen

DIMENSION = 8
OVERLAPS = np.array([-0.5, 0.0, 0.4, 0.8])
Polynomial = np.polynomial.Polynomial


def projections(draw, trials):
    """Fields ⟨a, v⟩ and ⟨a, x⟩ of whole Gaussian vectors, for unit vectors of each overlap; samples last."""
    v, w = np.linalg.qr(draw.standard_normal((DIMENSION, 2)))[0].T
    students = np.outer(OVERLAPS, v) + np.outer(np.sqrt(1 - OVERLAPS**2), w)
    inputs = draw.standard_normal((trials, DIMENSION))
    return inputs @ v, students @ inputs.T


@claim(
    items={
        "J11.5": "population loss",
        "J11.6": ("Hermite coefficients", "norm by Hermite coefficients"),
        "J11.7": "population loss",
    },
    says=r"A student $g(\langle a,x\rangle)$ of a teacher $f(\langle a,v\rangle)+\epsilon$ has the population loss "
    r"$\phi(m)=-2\sum_ku_k(f)u_k(g)m^k+\|f\|^2+\|g\|^2+E\epsilon^2$, $m=\langle x,v\rangle$, with the Hermite "
    r"coefficients $u_k(f)=E[f(z)h_k(z)]$.",
    needs="Gaussian inputs, unit vectors, squared loss",
    symbols={
        r"a": "the input, a standard Gaussian vector",
        r"f,g": "how the teacher's and the student's answers follow from one projection of the input",
        r"\phi": "the population loss, the mean of the squared error over all inputs",
        r"x,v": "the student's direction and the teacher's, unit vectors",
        r"\epsilon": "the noise of the answers",
        r"m": "the overlap of the two directions",
        r"h_k": r"the Hermite polynomials, of unit norm under the law of $z$",
        r"z": "a standard normal variable",
    },
    why=r"The two fields are normal with correlation $m$. Given one of them, the mean of $h_k$ of the other is $m^kh_k$"
    r" of the one: the Hermite polynomials are the eigenfunctions of that conditioning. So the mean product of $f$ and "
    r"$g$ is the sum of the products of their coefficients with $m^k$, and the square has only this as a cross term.",
    notice="In phase retrieval teacher and student answer with squares, which do not tell the signs of the overlap "
    "apart: at $m=0$ the loss is flat. That of tanh against ReLU has a slope there, and so can be followed down.",
)
def teacher_and_student_loss(key, *, trials: Trials = 200_000, noise: Positive = 0.6):
    draw = generator(key)
    pairs = {
        "phase retrieval": (lambda x: x**2, lambda x: x**2),
        "tanh against ReLU": (jnp.tanh, jax.nn.relu),
        "cosine against square": (jnp.cos, lambda x: x**2),
        "sine against line": (jnp.sin, lambda x: x),
    }
    predicted, observed = [], []
    for f, g in pairs.values():
        teacher, student = projections(draw, trials)
        answers = np.asarray(f(jnp.asarray(teacher))) + noise * draw.standard_normal(trials)
        observed.append((answers - np.asarray(g(jnp.asarray(student)))) ** 2)
        predicted.append(Polynomial(teacher_student_series(f, g, degree=60))(OVERLAPS) + noise**2)

    powers = range(9)
    roots = np.array([sqrt(factorial(k)) for k in powers])
    double = [1.0, 1.0, 1.0, 1.0, 3.0, 1.0, 15.0, 1.0, 105.0]  # (k − 3)!! at even k, 1 where it is not asked for
    relu = [(-1) ** (k // 2 + 1) * double[max(k - 2, 0)] / sqrt(2 * pi) if k % 2 == 0 else 0.0 for k in powers]
    relu[0], relu[1] = 1 / sqrt(2 * pi), 0.5
    closed = {
        "square": (lambda x: x**2, np.array([1, 0, 2, 0, 0, 0, 0, 0, 0.0])),
        "cosine": (jnp.cos, np.exp(-0.5) * np.array([1, 0, -1, 0, 1, 0, -1, 0, 1.0])),
        "exponential": (lambda x: jnp.exp(x / 2), np.exp(1 / 8) * 0.5 ** np.arange(9)),
        "ReLU": (jax.nn.relu, np.array(relu)),
    }
    ours = np.array([hermite_coefficients(link, 8) for link, _ in closed.values()])
    smooth = [lambda x: jnp.exp(x / 2), jnp.cos, jnp.sin]
    return {
        "population loss": Law(
            np.array(predicted),
            np.array(observed),
            exact=True,
            scale=5.0,
            along={"pair": list(pairs), "overlap": OVERLAPS},
            aside={"noise": noise},
        ),
        "Hermite coefficients": Identity(
            ours, np.array([row / roots for _, row in closed.values()]), scale=1.0, size=512, aside={"roots": roots}
        ),
        "norm by Hermite coefficients": Identity(
            [np.sum(hermite_coefficients(link, 40) ** 2) for link in smooth],
            [np.exp(1 / 2), (1 + np.exp(-2)) / 2, (1 - np.exp(-2)) / 2],
            size=512,
            scale=2.0,
        ),
    }


@teacher_and_student_loss.control("the noise of the answers left out", of="population loss")
def noiseless(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) - float(evidence.aside["noise"]) ** 2)


@teacher_and_student_loss.control("Hermite polynomials with leading coefficient 1", of="Hermite coefficients")
def monic(evidence):
    return replace(evidence, right=np.asarray(evidence.right) * np.asarray(evidence.aside["roots"]))


@teacher_and_student_loss.picture
def losses_by_overlap(pieces, settings):
    """Population loss against overlap; dots are mean losses of whole vectors."""
    found, grid = pieces["population loss"], np.linspace(-0.95, 0.95, 80)
    links = {
        "phase retrieval": (lambda x: x**2, None),
        "tanh against ReLU": (jnp.tanh, jax.nn.relu),
    }
    marks = []
    for name, (f, g) in links.items():
        row = list(found.along["pair"]).index(name)
        curve = Polynomial(teacher_student_series(f, g, degree=60))(grid) + settings["noise"] ** 2
        marks += [Line(name, grid, curve), seen(name, OVERLAPS, np.asarray(found.observed)[row])]
    return Curves(marks, x="overlap m", y="mean squared error")


@claim(
    items={"J11.3": "loss of principal components", "J11.4": ("loss of a mixture", "derivatives at zero overlap")},
    says=r"Online principal components have $\phi(m)=-\lambda m^2-1$. The likelihood of a mixture of $\mathcal N(v,I)$ "
    r"and $\mathcal N(-v,I)$ with weights $p=e^h/(e^h+e^{-h})$ and $1-p$ has "
    r"$\phi(m)=-E\log\cosh(z+\epsilon m+h)$, $\epsilon=\pm1$ with probabilities $p,1-p$.",
    needs="unit vectors; covariance I + λvvᵀ; the losses −⟨x, Y⟩² and −log cosh(⟨Y, x⟩ + h)",
    symbols={
        r"\phi": "the population loss as a function of the overlap",
        r"\lambda": "the strength of the signal",
        r"m": "the overlap of the estimate with the hidden direction",
        r"v": "the hidden direction, a unit vector",
        r"p": "the weight of the first component",
        r"h": "half of its log odds",
        r"z": "a standard normal variable",
    },
    why=r"Both losses see a sample through one number, its projection on the estimate. For principal components that "
    r"has variance $1+\lambda m^2$; for the mixture it is $\epsilon m$ plus a standard normal variable, whatever the "
    r"dimension.",
    notice="Components and the balanced mixture are flat at the equator; the unbalanced mixture has a slope there, "
    r"$-\tanh h\,E\tanh(z+h)$, which makes it the easiest of the three.",
)
def component_and_mixture_loss(
    key,
    *,
    trials: Trials = 200_000,
    signal: Positive = 1.5,
    field: Annotated[float, Interval(ge=-2.0, le=2.0)] = 0.5,
):
    draw = generator(key)
    _, student = projections(draw, trials)
    extra = np.sqrt(signal) * draw.standard_normal(trials)
    components = -((student + OVERLAPS[:, None] * extra) ** 2)  # Y = a + √λ g v
    mixtures = []
    for h in (field, 0.0):
        _, student = projections(draw, trials)
        signs = np.where(draw.random(trials) < 1 / (1 + np.exp(-2 * h)), 1.0, -1.0)
        mixtures.append(-np.log(np.cosh(student + OVERLAPS[:, None] * signs + h)))
    points, weights = gaussian_panels()
    fields = np.array([field, 0.0, -1.0])
    slopes = [-np.tanh(h) * (np.tanh(points + h) @ weights) for h in fields]
    bends = [-(np.cosh(points + h) ** -2) @ weights for h in fields]
    series = np.array([mixture_series(h) for h in fields])
    predicted = np.array([mixture_loss(OVERLAPS, h) for h in (field, 0.0)])
    return {
        "loss of principal components": Law(
            -1 - signal * OVERLAPS**2, components, exact=True, along={"overlap": OVERLAPS}, aside={"signal": signal}
        ),
        "loss of a mixture": Law(
            predicted, np.array(mixtures), exact=True, along={"field": [field, 0.0], "overlap": OVERLAPS}
        ),
        "derivatives at zero overlap": Identity(
            series[:, 1:3] * [1, 2], np.stack([slopes, bends], 1), scale=1.0, size=512
        ),
        "loss by its series": Identity(
            Polynomial(principal_component_series(signal))(OVERLAPS), -1 - signal * OVERLAPS**2
        ),
    }


@component_and_mixture_loss.control("λm for λm²", of="loss of principal components")
def linear_in_the_overlap(evidence):
    overlaps = np.asarray(evidence.along["overlap"])
    return replace(evidence, predicted=-1 - float(evidence.aside["signal"]) * overlaps)


@component_and_mixture_loss.control("both components equally likely, whatever h", of="loss of a mixture")
def balanced(evidence):
    predicted = np.array(evidence.predicted)
    predicted[0] = (predicted[0] + np.array(mixture_loss(-OVERLAPS, float(evidence.along["field"][0])))) / 2
    return replace(evidence, predicted=predicted)


@component_and_mixture_loss.picture
def two_problems(pieces, settings):
    """Population loss against overlap: principal components (left), mixtures (right); dots are whole vectors."""
    grid = np.linspace(-0.95, 0.95, 80)
    components, mixture = pieces["loss of principal components"], pieces["loss of a mixture"]
    left = [
        Line("predicted", grid, -1 - settings["signal"] * grid**2),
        seen("seen", OVERLAPS, np.asarray(components.observed)),
    ]
    right = []
    for row, h in enumerate(mixture.along["field"]):
        name = f"h = {float(h):g}"
        right += [
            Line(name, grid, mixture_loss(grid, float(h))),
            seen(name, OVERLAPS, np.asarray(mixture.observed)[row]),
        ]
    return Row([Curves(left, x="overlap m", y="mean loss"), Curves(right, x="overlap m", y="mean loss")])


@claim(
    items={"J11.12": "decreasing loss and recovery"},
    says=r"$\phi'<0$ on $(0,1)$ if and only if gradient flow on the population loss, $\dot m=-(1-m^2)\phi'(m)$, comes "
    r"to $m=1$ from every positive overlap.",
    needs="φ differentiable, its power series converged on [0, 1]",
    symbols={
        r"\phi": "the population loss as a function of the overlap",
        r"m": "the overlap of the flow with the hidden direction",
    },
    why="The overlap of gradient flow moves on a line and only in the direction in which the loss falls. If the loss "
    "falls everywhere it must come to the end; where the loss has a valley or is flat inside, a flow that starts below "
    "it stays there.",
    notice="A teacher and a student whose third coefficients have opposite signs: the loss falls at the equator, and "
    "yet has its valley on the way, in which every flow ends.",
)
def fisher_consistency():
    first, third, both = hermite_link(1), hermite_link(3), np.array([0.05, 0.4, 0.9])
    pairs = {
        "line": (first, first),
        "square": (hermite_link(2), hermite_link(2)),
        "third Hermite": (third, third),
        "ReLU": (jax.nn.relu, jax.nn.relu),
        "opposite third": (lambda x: first(x) + third(x), lambda x: first(x) - third(x)),
        "weakly opposite third": (lambda x: first(x) + third(x), lambda x: first(x) - 0.3 * third(x)),
        "opposite first": (lambda x: third(x) + 0.2 * first(x), lambda x: third(x) - 0.2 * first(x)),
    }
    series = {name: teacher_student_series(f, g, degree=24) for name, (f, g) in pairs.items()}
    series |= {"components": principal_component_series(1.0), "mixture": mixture_series(0.5, degree=24)}
    arrived, begun = [], []
    for entry in series.values():
        slope = Polynomial(entry).deriv()
        ends = [
            solve_ivp(lambda t, m, s=slope: -(1 - m**2) * s(m), (0, 400), [m], "LSODA", rtol=1e-8).y[0, -1]
            for m in both
        ]
        arrived.append(bool(np.all(np.array(ends) > 0.999)))
        begun.append(bool(next(c for c in entry[1:] if abs(c) > 1e-9) < 0))
    verdicts = [fisher_consistent(entry) for entry in series.values()]
    return {
        "decreasing loss and recovery": Exact(
            np.array(verdicts),
            np.array(arrived),
            along={"problem": list(series)},
            aside={"begun": np.array(begun), "valley": series["opposite third"], "fall": series["third Hermite"]},
        )
    }


@fisher_consistency.control("the loss falls at the equator", of="decreasing loss and recovery")
def falls_at_the_equator(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["begun"]))


@fisher_consistency.picture
def valley(pieces):
    """Two population losses against overlap: one falls all the way to 1, the other has a valley before."""
    grid, found = np.linspace(0, 1, 100), pieces["decreasing loss and recovery"].aside
    names = {"consistent: third Hermite polynomial": "fall", "not: opposite third coefficients": "valley"}
    return Curves(
        [Line(name, grid, Polynomial(np.asarray(found[key]))(grid)) for name, key in names.items()],
        x="overlap m",
        y="population loss",
    )
