"""What the condition number of a quadratic costs gradient descent (arora 2.1, 2.4)."""

from dataclasses import replace
from math import ceil, log
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.claims.optimization.gradient_descent import descend
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Rate, Sizes, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.optimization.conditioning import quadratic_offsets, steps_to_accuracy
from deeptheory.optimization.landscapes import Quadratic


@claim(
    items={
        "A2.1": "path along each eigenvector",
        "A2.16": (
            "path along each eigenvector",
            "steps needed from the worst start",
            "growth with the condition number",
            "steps needed from any start",
        ),
    },
    says=r"On $\frac12w^\top Aw$ gradient descent is at $(I-\eta A)^tw_0$. With $\eta=1/(2\lambda_1)$ the steepest "
    r"coordinate halves at each step, the flattest shrinks to $1-1/(2\kappa)$, and to come to $\varepsilon$ times the "
    r"distance takes $\lceil\ln\varepsilon/\ln(1-\frac1{2\kappa})\rceil\approx2\kappa\ln\frac1\varepsilon$ steps.",
    needs="A symmetric and positive definite; the number is for the worst start, others need no more",
    symbols={
        "A": "a symmetric matrix, the curvature",
        r"\eta": "the step size",
        "w_0": "the start; the minimizer is 0",
        "t": "the number of steps",
        r"\lambda_1": "the largest eigenvalue of $A$",
        r"\kappa": r"the condition number: $\lambda_1$ over the least eigenvalue",
        r"\varepsilon": "the share of the first distance to the minimizer that is left",
    },
    why=r"The gradient is $Aw$, so a step multiplies $w$ by $I-\eta A$, and each coordinate along an eigenvector by "
    r"$1-\eta\lambda$. The step must be small enough for the steepest direction, of order $1/\lambda_1$, and then the "
    r"flattest shrinks only by $1-1/(2\kappa)\approx e^{-1/(2\kappa)}$: it takes $2\kappa$ steps for each factor $e$.",
    notice="On the left, in the basis of the eigenvectors, each coordinate falls on a line of its own: the steepest is "
    "gone when the flattest has hardly moved. On the right, the steps needed from the worst start lie on a line of "
    r"slope one; a random start needs somewhat fewer. The rival line grows like $\sqrt\kappa$.",
    explore={"accuracy": (1e-1, 1e-2, 1e-3, 1e-4)},
)
def steps_grow_with_the_condition_number(
    key,
    *,
    conditions: Annotated[Sizes, MinLen(3)] = (10, 30, 100, 300, 1000),
    dimension: Annotated[int, Interval(ge=2, le=100)] = 6,
    accuracy: Annotated[float, Interval(ge=1e-8, le=0.1)] = 1e-3,
    steepest: Annotated[float, Interval(ge=0.01, le=100.0)] = 3.0,
):
    random, kappa = generator(key), np.array(conditions)
    basis, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    direction = random.standard_normal(dimension)
    start, step = direction / np.linalg.norm(direction), 1 / (2 * steepest)
    most = np.array([ceil(2 * condition * log(1 / accuracy)) for condition in conditions])

    def run(condition, first):
        """The coordinates along the eigenvectors, flattest first, of a run that does not know them."""
        spectrum = steepest * np.geomspace(1 / condition, 1, dimension)
        function = Quadratic(jnp.asarray(basis * spectrum @ basis.T), jnp.zeros(dimension))
        states = descend(function, jnp.asarray(basis @ first), step, steps=int(most[-1]))
        return spectrum, np.asarray(states.position) @ basis

    def count(first):
        """Steps until the distance is `accuracy` times the first, for each condition number."""
        near = [np.linalg.norm(run(condition, first)[1], axis=1) <= accuracy for condition in conditions]
        return np.array([np.argmax(each) for each in near])

    worst, other = count(np.eye(dimension)[0]), count(start)
    needed = steps_to_accuracy(accuracy, step_size=step, smallest=steepest / kappa, largest=steepest)
    shown = 40  # steps of the path, enough for the steepest to vanish
    spectrum, seen = run(conditions[0], start)
    path = quadratic_offsets(jnp.asarray(spectrum), jnp.asarray(start), step_size=step, steps=shown)
    flow = np.exp(-step * spectrum * np.arange(shown + 1)[:, None]) * start
    return {
        "path along each eigenvector": Identity(
            seen[: shown + 1],
            path,
            scale=1.0,
            size=dimension * shown,
            along={"step": np.arange(shown + 1), "share of the steepest": spectrum / steepest},
            aside={"flow": flow},
        ),
        "steps needed from the worst start": Exact(
            worst, np.asarray(needed).astype(int), along={"condition": kappa}, aside={"rounded up": most}
        ),
        "growth with the condition number": Rate(kappa, worst, exponent=1.0, rivals=(0.5,)),
        "steps needed from any start": Chain(
            {"no more than the worst": (other, worst), "2κ ln(1/ε) suffice": (worst, most)},
            along={"condition": kappa},
        ),
    }


@steps_grow_with_the_condition_number.control("the gradient flow at time ηt", of="path along each eigenvector")
def flow_instead(evidence):
    return replace(evidence, right=evidence.aside["flow"])


@steps_grow_with_the_condition_number.control(
    "exactly 2κ ln(1/ε) steps, rounded up", of="steps needed from the worst start"
)
def leading_term_alone(evidence):
    return replace(evidence, right=evidence.aside["rounded up"])


@steps_grow_with_the_condition_number.control(
    "half as many steps, κ ln(1/ε), suffice", of="steps needed from any start"
)
def half_the_steps(evidence):
    worst, most = evidence.links["2κ ln(1/ε) suffice"]
    return replace(evidence, links={"κ ln(1/ε) suffice": (worst, most / 2)})


@steps_grow_with_the_condition_number.picture
def coordinates_and_counts(pieces):
    """Coordinates along eigenvectors, step by step (left), and steps to the accuracy by condition number (right)."""
    path, count, chain = (
        pieces["path along each eigenvector"],
        pieces["steps needed from the worst start"],
        pieces["steps needed from any start"],
    )
    time, shares, kappa = path.along["step"], path.along["share of the steepest"], count.along["condition"]
    fall = []
    for place in (0, len(shares) // 2, len(shares) - 1):
        name, first = f"λ = {shares[place]:.2g} λ₁", path.right[0, place]
        fall += [
            Line(name, time, path.right[:, place] / first),
            Dots(name, time[::2], path.left[::2, place] / first),
        ]
    other, _ = chain.links["no more than the worst"]
    counts = [
        Line("predicted", kappa, count.right),
        Dots("worst start", kappa, count.left),
        Dots("a random start", kappa, other),
        Line("predicted", kappa, count.right[0] * np.sqrt(kappa / kappa[0]), rival="growth like √κ"),
    ]
    return Row(
        [
            Curves(fall, x="step t", y="coordinate, share of the first", log="y", ys=(1e-6, 1.0)),
            Curves(counts, x="condition number κ", y="steps needed", log="xy"),
        ]
    )
