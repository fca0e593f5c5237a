"""The objects of learning theory: losses, the risk on the distribution and on the sample, and their gap."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.margin_losses import (
    label_probability,
    logistic_derivative,
    logistic_loss,
    ramp_loss,
    sigmoid_loss,
    zero_one_loss,
)
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.risks import (
    LinearProblem,
    all_counts,
    empirical_minimizers,
    empirical_risks,
    generalization_gaps,
    multinomial_chances,
    ridge_path,
)
from deeptheory.lab import Chain, Identity, Inequality, Law, Positive, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, compared


@claim(
    items={
        "A1.1": ("mean of the sample risk", "squared deviation along n", "variance of the sample risk"),
        "L5.2": ("mean of the sample risk", "squared deviation along n", "variance of the sample risk"),
    },
    says=r"In linear regression with standard normal inputs the sample risk of fixed weights has mean "
    r"$L=\|w-w_*\|^2+\sigma^2$ and mean square error $2L^2/n$: it tends to the risk like $n^{-1/2}$.",
    needs="weights that do not depend on the sample",
    full=dict(sizes=(100, 1000, 10_000), trials=8000),
    symbols={
        r"w,\ w_*": "the weights, fixed beforehand, and those that made the labels",
        r"\sigma^2": "the variance of the noise",
        r"L": "the risk: the mean squared error on the population",
        r"n": "the size of the sample",
    },
    why=r"The error of one example is Gaussian with mean zero and variance $L=\|w-w_*\|^2+\sigma^2$, so its square "
    r"has mean $L$ and variance $2L^2$. The sample risk is the mean of $n$ such squares: the variance is divided by "
    r"$n$.",
    notice=r"The mean square deviation of the sample risk lies on the line $2L^2/n$. It would be half of it if the "
    r"fourth moment of a Gaussian were 2 instead of 3.",
    explore={"noise": (0.1, 0.5, 2.0)},
)
def sample_risk_tends_to_risk(key, *, sizes: Sizes = (50, 200, 800), trials: Trials = 8000, noise: Positive = 0.5):
    draw = generator(key)
    problem = LinearProblem(draw.standard_normal(3), noise)
    weights = problem.target + draw.standard_normal(3) / 2
    found = np.empty((len(sizes), trials))
    for i, n in enumerate(sizes):
        size = max(1, min(500, 1_000_000 // n))  # a batch of inputs stays small at every n
        for start in range(0, trials, size):
            part = slice(start, min(start + size, trials))
            x, y = problem.draw(jax.random.fold_in(key, trials * i + start), part.stop - start, n)
            found[i, part] = problem.sample_risk(weights, x, y)
    risk, along = float(problem.risk(weights)), {"n": np.asarray(sizes)}
    return {
        "mean of the sample risk": Law(
            np.full(len(sizes), risk), found, along=along, exact=True, aside={"noise": noise}
        ),
        "squared deviation along n": Rate(
            np.asarray(sizes), (found - risk) ** 2, exponent=-1.0, resolution=0.1, rivals=(-0.5,)
        ),
        # Squares have heavy tails: eight thousand of them give their mean to a tenth, at this level.
        "variance of the sample risk": Law(
            2 * risk**2 / along["n"], (found - risk) ** 2, along=along, exact=True, resolution=0.2
        ),
    }


@sample_risk_tends_to_risk.control("the distance alone, without the noise of the labels", of="mean of the sample risk")
def without_noise(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["noise"])


@sample_risk_tends_to_risk.control(
    "the square of the mean for the variance of a square, L² for 2L²", of="variance of the sample risk"
)
def once_the_square(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / 2)


@sample_risk_tends_to_risk.picture
def spread_of_the_sample_risk(pieces):
    """Mean square deviation of the sample risk from the risk, along the size of the sample."""
    piece = pieces["variance of the sample risk"]
    return compared(
        piece.along["n"], piece.predicted, piece.observed, rivals={"L²/n": np.asarray(piece.predicted) / 2},
        names=("2L²/n", "observed"), x="samples n", y="mean square deviation", log="xy",
    )  # fmt: skip


@claim(
    items={
        "A1.2": (
            "least empirical risk",
            "gap of a fixed hypothesis",
            "gap of the minimiser",
            "ridge by two routes",
            "along the penalty",
        )
    },
    says=r"A hypothesis fixed beforehand has expected gap $\mathbb E[L-\hat L]=0$; the empirical minimiser, chosen "
    r"for the least $\hat L$, one that is never negative (all samples enumerated). Along the minimisers of $\hat "
    r"L+\lambda\|w\|^2$ the norm falls and $\hat L$ rises with $\lambda$.",
    full=dict(classes=400),
    symbols={
        r"L,\ \hat L": "the risk, on the population, and the empirical risk, on the sample",
        r"\lambda": "the strength of a penalty",
        r"w": "the weights of a linear predictor",
    },
    why=r"For a fixed hypothesis the mean of $\hat L$ is $L$. The minimiser is chosen for its small $\hat L$: on "
    r"every sample its $\hat L$ is at most that of the best hypothesis, whose $\hat L$ has the mean $\min L$, and its "
    r"$L$ is at least $\min L$. Along the path, compare two minimisers on each other's objectives and add: the larger "
    r"penalty has the smaller norm, and therefore the larger error.",
    notice=r"Each dot is a class of five hypotheses: the minimiser of six examples looks better on them, on average, "
    r"than it is. On the right, as the penalty grows, the norm falls and the training error rises.",
)
def empirical_minimisers_look_better_than_they_are(key, *, classes: Annotated[int, Interval(ge=1, le=2000)] = 40):
    draw = generator(key)
    counts = all_counts(4, 6)
    least, fixed, chosen, best = [], [], [], []
    for _ in range(classes):
        losses, law = draw.uniform(0, 1, (5, 4)), draw.dirichlet(np.ones(4))
        chances = multinomial_chances(counts, law)
        picked = empirical_minimizers(losses, counts)
        risks, gaps = empirical_risks(losses, counts), generalization_gaps(losses, law, counts)
        rows = np.arange(len(counts))
        least.append((risks[rows, picked][:, None] - risks).max())
        best.append((risks[:, [np.argmin(losses @ law)]] - risks).max())
        fixed.append(chances @ gaps)
        # Recomputed point by point, so that the sign of the gap is settled by the losses alone.
        on_sample = (counts * losses[picked]).sum(1) / 6
        chosen.append((chances @ on_sample, chances @ (losses[picked] @ law), chances @ gaps[rows, picked]))
    chosen = np.transpose(chosen)
    x, y = draw.standard_normal((12, 5)), draw.standard_normal(12)
    penalties = np.geomspace(1e-4, 1e3, 40)
    path = ridge_path(x, y, penalties)
    norms, errors = (path**2).sum(1), ((x @ path.T - y[:, None]) ** 2).mean(0)
    stacked = [
        np.linalg.lstsq(np.concatenate([x, (12 * p) ** 0.5 * np.eye(5)]), np.append(y, np.zeros(5)))[0]
        for p in penalties
    ]
    return {
        "least empirical risk": Inequality(np.asarray(least), 0.0, scale=1.0, aside={"best": np.asarray(best)}),
        "gap of a fixed hypothesis": Identity(np.asarray(fixed), 0.0, scale=1.0),
        "gap of the minimiser": Chain(
            {
                "better on the sample than in truth": (chosen[0], chosen[1]),
                "by the gap": (chosen[1], chosen[0] + chosen[2] + 1e-12),
                "and no less": (chosen[0] + chosen[2], chosen[1] + 1e-12),
            }
        ),
        "ridge by two routes": Identity(
            path, np.asarray(stacked), scale=np.linalg.norm(path, axis=1)[:, None], condition=1e4
        ),
        "along the penalty": Chain(
            {"norms fall": (norms[1:], norms[:-1]), "errors rise": (errors[:-1], errors[1:])},
            aside={"penalties": penalties, "norms": norms, "errors": errors},
        ),
    }


@empirical_minimisers_look_better_than_they_are.control(
    "no gap on average for the minimiser either", of="gap of the minimiser"
)
def unbiased_minimiser(evidence):
    small, large = evidence.links["better on the sample than in truth"]
    return Identity(small, large)


@empirical_minimisers_look_better_than_they_are.control(
    "the hypothesis of least risk has the least empirical risk too", of="least empirical risk"
)
def best_on_every_sample(evidence):
    return replace(evidence, quantity=evidence.aside["best"])


@empirical_minimisers_look_better_than_they_are.control(
    "squared norms that fall faster than 1/λ", of="along the penalty"
)
def faster_than_the_inverse(evidence):
    priced = evidence.aside["penalties"] * evidence.aside["norms"]
    return replace(evidence, links={"λ‖w‖² falls": (priced[1:], priced[:-1])})


@empirical_minimisers_look_better_than_they_are.picture
def looks_and_is(pieces):
    """Mean risk of the empirical minimiser against its mean empirical risk; norm and training error along a penalty."""
    seems, true = (
        np.asarray(each) for each in pieces["gap of the minimiser"].links["better on the sample than in truth"]
    )
    aside, ends = pieces["along the penalty"].aside, np.array([0.0, float(true.max())])
    return Row(
        [
            Curves(
                [Line("equal", ends, ends), Dots("classes of five", seems, true)],
                x="mean empirical risk of the minimiser", y="mean risk of the minimiser",
            ),
            Curves(
                [
                    Line("squared norm", aside["penalties"], aside["norms"]),
                    Line("training error", aside["penalties"], aside["errors"]),
                ],
                x="penalty λ", y="squared norm and training error", log="x",
            ),
        ]
    )  # fmt: skip


@claim(
    items={"A1.3": ("loss falls with the margin", "derivative", "loss and probability", "above the 0–1 loss")},
    says=r"The logistic loss $\ln(1+e^{-m})$ decreases strictly in the margin, has derivative $-1/(1+e^m)$, and over "
    r"$\ln2$ is never below the number of errors, equal to it at margin 0, which is one; the bounded $1/(1+e^m)$, the "
    r"chance of a wrong label, decreases too.",
    symbols={r"m": "the margin: the output times the label, positive where the sign is right"},
    why=r"If labels have log-odds equal to the output, $1/(1+e^{-m})$ is the chance of the label seen, and minus its "
    r"logarithm is the logistic loss: a sum of decreasing terms whose slope is minus the chance of the other label. "
    r"It is convex and positive, so over its value at 0 it lies above the step that counts errors.",
    notice=r"Every curve but one falls with the margin and lies above the step. The probability of the right label, "
    r"which stands for the loss in one display, grows with it.",
)
def logistic_loss_rewards_margin():
    margins = np.linspace(-30, 30, 601)
    losses = np.stack([np.asarray(logistic_loss(margins)), np.asarray(sigmoid_loss(margins))])
    falling = losses[:, np.abs(margins) <= 10]  # beyond, the sigmoid's steps are lost to rounding near 1
    # A step of 1e-20 along the imaginary axis: a derivative without cancellation.
    step = np.imag(np.log(1 + np.exp(-(margins + 1e-20j)))) / 1e-20
    wrong = np.asarray(zero_one_loss(margins))
    bounded = np.asarray(ramp_loss(margins))
    return {
        "loss falls with the margin": Inequality(falling[:, 1:], falling[:, :-1] * (1 - 1e-6)),
        "derivative": Identity(np.asarray(logistic_derivative(margins)), step, condition=4.0),
        "loss and probability": Identity(
            np.stack([losses[0], np.asarray(label_probability(margins))]),
            np.stack([np.logaddexp(0, -margins), 1 - losses[1]]),
            scale=np.stack([losses[0], np.ones(601)]),
            condition=4.0,
        ),
        "above the 0–1 loss": Chain(
            {
                "logistic": (wrong, losses[0] / np.log(2)),
                "and equal at margin zero": (logistic_loss(0.0) / np.log(2), zero_one_loss(0.0)),
                "ramp": (wrong, bounded),
                "ramp at most one": (bounded, 1.0),
                "ramp is zero from margin one": (bounded[margins >= 1], 0.0),
                "sigmoid, doubled": (wrong, 2 * losses[1]),
            },
            aside={"margins": margins},
        ),
    }


@logistic_loss_rewards_margin.control(
    "the probability of the right label in place of the loss", of="loss falls with the margin"
)
def printed_loss(evidence):
    values = np.asarray(label_probability(np.linspace(-10, 10, 201)))
    return replace(evidence, quantity=values[1:], bound=values[:-1] * (1 - 1e-6))


@logistic_loss_rewards_margin.control("the logistic loss itself, not over ln 2", of="above the 0–1 loss")
def natural_units(evidence):
    errors, scaled = evidence.links["logistic"]
    return replace(evidence, links={"logistic": (errors, np.log(2) * scaled)})


@logistic_loss_rewards_margin.picture
def losses_along_the_margin(pieces):
    """Losses along the margin: the count of errors, the logistic loss over ln 2, the ramp, the sigmoid loss doubled."""
    piece = pieces["above the 0–1 loss"]
    margins = piece.aside["margins"]
    curves = {"logistic, over ln 2": "logistic", "ramp": "ramp", "sigmoid, doubled": "sigmoid, doubled"}
    lines = [Line(name, margins, piece.links[link][1]) for name, link in curves.items()]
    step = Line("errors", [-3.0, 0.0, 0.0, 3.0], [1.0, 1.0, 0.0, 0.0])
    right = Line("loss", margins, label_probability(margins), rival="a misprint: the probability of the right label")
    return Curves([step, *lines, right], x="margin m", y="loss", xs=(-3, 3), ys=(0, 4))
