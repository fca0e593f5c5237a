"""What robustness costs, in a model where both errors are known."""

from dataclasses import replace
from itertools import product
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Share, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.robustness.linear_classifiers import gaussian_error, most_robust_weights
from deeptheory.robustness.threats import Threat

STRONG, NOISE, WEAK, MANY = 1.0, 1.176, 0.1408, 100
"""One feature that answers four of five alone, and a hundred weak ones: together 95 %."""
LINE = {"xatol": 1e-11}
TRAINED, ATTACKED = (0.0, 0.07, 0.12, 0.3), (0.0, 0.1, 0.3)


def problem():
    means = np.append(STRONG, np.full(MANY, WEAK))
    return means, np.append(NOISE, np.ones(MANY))


def errors(trained, attacked):
    means, deviations = problem()
    weights = [most_robust_weights(means, deviations, r) for r in trained]
    return np.array([[gaussian_error(w, means, deviations, Threat(r)) for r in attacked] for w in weights])


@claim(
    items={
        "A18.7": ("errors with and without an adversary", "least adversarial error"),
        "L12.17": ("errors with and without an adversary", "worst corner of the box"),
    },
    says=r"For $x=y\mu+\sigma z$ the adversarial error of a linear classifier is "
    r"$\Phi\big(-(w\cdot\mu-\epsilon\|w\|_1)/\sqrt{\sum\sigma_i^2w_i^2}\big)$, least at "
    r"$w_i=(\mu_i-\epsilon)_+/\sigma_i^2$: weak features are given up, and with them accuracy.",
    needs="independent Gaussian features with nonnegative means; perturbations bounded in the maximum norm",
    full=dict(draws=1_000_000),
    symbols={
        r"x, y": "an input and its label, 1 or −1",
        r"\mu, \sigma": "means and standard deviations of the features",
        "z": "standard normal noise",
        r"\Phi": "the normal distribution function",
        "w": "the weights of the classifier",
        r"\epsilon": "how far the adversary may move every feature",
    },
    why=r"The adversary shifts every feature against its weight: one of mean $\mu_i$ is worth $\mu_i-\epsilon$. "
    "One whose mean is smaller works for the adversary and gets no weight; the others are weighed as Fisher's "
    "discriminant would weigh the shifted means, by Cauchy and Schwarz. Many weak features that together make a "
    "classifier accurate are then useless.",
    notice="Trained without an adversary 95 % are right, and nearly all are lost to a large perturbation. Trained for "
    "one, 80 % are right and far fewer are lost. All of it is given up on the way from no adversary to one as large "
    "as the weak features' mean.",
)
def robustness_costs_accuracy(key, *, draws: Annotated[int, Interval(ge=200_000, le=2_000_000)] = 200_000):
    random = generator(key)
    means, deviations = problem()
    weights = np.stack([most_robust_weights(means, deviations, r) for r in TRAINED], axis=1)
    wrong = np.zeros((len(TRAINED), len(ATTACKED)), int)
    for _ in range(4):
        # The label is 1 without loss: the problem is symmetric. The adversary moves every feature against its weight.
        inputs = means + deviations * random.standard_normal((draws // 4, len(means)))
        for j, radius in enumerate(ATTACKED):
            wrong[:, j] += np.sum(inputs @ weights - np.sum(radius * np.sign(weights) * weights, 0) < 0, axis=0)
    predicted = errors(TRAINED, ATTACKED)
    plane = np.array(
        [
            [ndtr(-(w @ means - r * np.linalg.norm(w)) / np.linalg.norm(deviations * w)) for r in ATTACKED]
            for w in weights.T
        ]
    )
    # By symmetry the weak features have one weight; the best is found without the formula.
    radii = np.array([0.0, 0.03, 0.07, 0.1, 0.12, 0.2])  # the last beyond the weak means

    def error(weak, radius):
        margin = STRONG - radius + MANY * (WEAK * weak - radius * abs(weak))
        return ndtr(-margin / np.sqrt(NOISE**2 + MANY * weak**2))

    def least(radius):
        best: Any = minimize_scalar(error, bounds=(-0.5, 1.0), args=(radius,), method="bounded", options=LINE)
        return best.fun

    found = [least(r) for r in radii]
    # The adversary by trying every corner of the box, where a linear function is least, with weights of either sign.
    slopes, places, reach = random.standard_normal((20, 8)), random.standard_normal((20, 8)), random.uniform(0, 2, 20)
    corners = np.array(list(product([-1.0, 1.0], repeat=8)))
    worst = np.min(slopes @ corners.T * reach[:, None], axis=1) + np.sum(slopes * places, axis=1)
    late = [gaussian_error(most_robust_weights(means, deviations, r / 2), means, deviations, Threat(r)) for r in radii]
    return {
        "errors with and without an adversary": Share(
            wrong,
            4 * (draws // 4),
            predicted,
            resolution=0.1,  # twelve cells, the smallest of them 0.05 to a relative 1 %
            along={"trained for": np.array(TRAINED), "attacked with": np.array(ATTACKED)},
            aside={"plane": plane},
        ),
        "worst corner of the box": Identity(
            worst,
            np.sum(slopes * places, axis=1) - reach * np.sum(np.abs(slopes), axis=1),
            scale=20.0,
            aside={
                "positive": np.sum(slopes * places, axis=1) - reach * np.abs(np.sum(slopes, axis=1)),
            },
        ),
        "least adversarial error": Identity(
            np.array(found),
            np.array([errors([r], [r])[0, 0] for r in radii]),
            error=1e-10,
            along={"epsilon": radii},
            aside={"late": np.array(late)},
        ),
    }


@robustness_costs_accuracy.control("the adversary takes ε‖w‖₂", of="errors with and without an adversary")
def euclidean_loss(evidence):
    return replace(evidence, predicted=evidence.aside["plane"])


@robustness_costs_accuracy.control("all features moved the same way, ε|Σw|", of="worst corner of the box")
def the_same_way(evidence):
    return replace(evidence, right=evidence.aside["positive"])


@robustness_costs_accuracy.control("means lowered by half of ε", of="least adversarial error")
def half_the_radius(evidence):
    return replace(evidence, right=evidence.aside["late"])


@robustness_costs_accuracy.picture
def two_accuracies(pieces):
    """Accuracy without and with an adversary, for classifiers trained against more and more of one."""
    counted = pieces["errors with and without an adversary"]
    trained = np.linspace(0, 0.3, 90)
    exact = 1 - errors(trained, ATTACKED)
    seen = 1 - np.asarray(counted.count) / np.asarray(counted.trials)
    marks = []
    for j, radius in enumerate(ATTACKED):
        name = f"attacked with {radius:g}" if radius else "not attacked"
        marks += [Line(name, trained, exact[:, j]), Dots(name, np.asarray(TRAINED), seen[:, j])]
    return Curves(marks, x="trained against perturbations of size", y="share answered rightly", ys=(0, 1))
