"""The objects of learning theory: losses, the risk on the distribution and on the sample, their gap, a first fit."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.filters import pseudo_inverse_filter, ridge_filter, spectral_operator
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.risks import (
    LinearProblem,
    all_counts,
    empirical_minimizers,
    empirical_risks,
    generalization_gaps,
    label_probability,
    logistic_derivative,
    logistic_loss,
    multinomial_chances,
    ramp_loss,
    ridge_path,
    sigmoid_loss,
    zero_one_loss,
)
from deeptheory.generalization.interpolation.polynomials import (
    legendre_features,
    monomial_features,
    monomials_in_legendre,
)
from deeptheory.generalization.interpolation.ridgeless import bias_variance_of_operator
from deeptheory.lab import Chain, Identity, Inequality, Law, Positive, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen


@claim(
    items={"A1.1": ("mean", "rate", "spread")},
    says=r"In linear regression with Gaussian inputs the sample risk of fixed weights has mean "
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
def sample_risk_tends_to_risk(key, *, sizes: Sizes = (50, 200, 800), trials: Trials = 4000, noise: Positive = 0.5):
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
        "mean": Law(np.full(len(sizes), risk), found, along=along, exact=True, aside={"noise": noise}),
        "rate": Rate(np.asarray(sizes), (found - risk) ** 2, exponent=-1.0, resolution=0.1, rivals=(-0.5,)),
        # Squares have heavy tails: four thousand of them give their mean to an eighth, at this level.
        "spread": Law(2 * risk**2 / along["n"], (found - risk) ** 2, along=along, exact=True, resolution=0.2),
    }


@sample_risk_tends_to_risk.control("the distance alone, without the noise of the labels", of="mean")
def without_noise(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["noise"])


@sample_risk_tends_to_risk.control("the square of the mean for the variance of a square, L² for 2L²", of="spread")
def once_the_square(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / 2)


@sample_risk_tends_to_risk.picture
def spread_of_the_sample_risk(pieces):
    """Mean square deviation of the sample risk from the risk, along the size of the sample."""
    piece = pieces["spread"]
    n, predicted = piece.along["n"], np.asarray(piece.predicted)
    return Curves(
        [
            Line("2L²/n", n, predicted),
            seen("observed", n, piece.observed),
            Line("variance", n, predicted / 2, rival="L²/n"),
        ],
        x="samples n", y="mean square deviation", log="xy",
    )  # fmt: skip


@claim(
    items={"A1.2": ("least", "fixed", "chosen", "ridge", "path")},
    says=r"The empirical minimiser has the least empirical risk; a hypothesis fixed beforehand has expected gap "
    r"$\mathbb E[L-\hat L]=0$, the empirical minimiser one that is never negative (all samples enumerated); along the "
    r"minimisers of $\hat L+\lambda\|w\|^2$ the norm falls and $\hat L$ rises with $\lambda$.",
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
        "least": Inequality(np.asarray(least), 0.0, scale=1.0, aside={"best": np.asarray(best)}),
        "fixed": Identity(np.asarray(fixed), 0.0, scale=1.0),
        "chosen": Chain(
            {
                "better on the sample than in truth": (chosen[0], chosen[1]),
                "by the gap": (chosen[1], chosen[0] + chosen[2] + 1e-12),
                "and no less": (chosen[0] + chosen[2], chosen[1] + 1e-12),
            }
        ),
        "ridge": Identity(path, np.asarray(stacked), scale=np.linalg.norm(path, axis=1)[:, None], condition=1e4),
        "path": Chain(
            {"norms fall": (norms[1:], norms[:-1]), "errors rise": (errors[:-1], errors[1:])},
            aside={"penalties": penalties, "norms": norms, "errors": errors},
        ),
    }


@empirical_minimisers_look_better_than_they_are.control("no gap on average for the minimiser either", of="chosen")
def unbiased_minimiser(evidence):
    small, large = evidence.links["better on the sample than in truth"]
    return Identity(small, large)


@empirical_minimisers_look_better_than_they_are.control(
    "the hypothesis of least risk has the least empirical risk too", of="least"
)
def best_on_every_sample(evidence):
    return replace(evidence, quantity=evidence.aside["best"])


@empirical_minimisers_look_better_than_they_are.control("a penalty that lowers the training error", of="path")
def penalty_helps_training(evidence):
    return replace(evidence, links={"errors fall": evidence.links["errors rise"][::-1]})


@empirical_minimisers_look_better_than_they_are.picture
def looks_and_is(pieces):
    """Mean risk of the empirical minimiser against its mean empirical risk; norm and training error along a penalty."""
    seems, true = (np.asarray(each) for each in pieces["chosen"].links["better on the sample than in truth"])
    aside, ends = pieces["path"].aside, np.array([0.0, float(true.max())])
    return Row(
        [
            Curves(
                [Line("equal", ends, ends), Dots("classes of five", seems, true)],
                x="mean empirical risk of the minimiser", y="its mean risk",
            ),
            Curves(
                [
                    Line("squared norm", aside["penalties"], aside["norms"]),
                    Line("training error", aside["penalties"], aside["errors"]),
                ],
                x="penalty λ", y="along the minimisers", log="x",
            ),
        ]
    )  # fmt: skip


@claim(
    items={"A1.3": ("decreasing", "derivative", "value", "above errors")},
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
        "decreasing": Inequality(falling[:, 1:], falling[:, :-1] * (1 - 1e-6)),
        "derivative": Identity(np.asarray(logistic_derivative(margins)), step, condition=4.0),
        "value": Identity(
            np.stack([losses[0], np.asarray(label_probability(margins))]),
            np.stack([np.logaddexp(0, -margins), 1 - losses[1]]),
            scale=np.stack([losses[0], np.ones(601)]),
            condition=4.0,
        ),
        "above errors": Chain(
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


@logistic_loss_rewards_margin.control("the probability of the right label in place of the loss", of="decreasing")
def printed_loss(evidence):
    values = np.asarray(label_probability(np.linspace(-10, 10, 201)))
    return replace(evidence, quantity=values[1:], bound=values[:-1] * (1 - 1e-6))


@logistic_loss_rewards_margin.control("the logistic loss itself, not over ln 2", of="above errors")
def natural_units(evidence):
    errors, scaled = evidence.links["logistic"]
    return replace(evidence, links={"logistic": (errors, np.log(2) * scaled)})


@logistic_loss_rewards_margin.picture
def losses_along_the_margin(pieces):
    """Losses along the margin: the count of errors, the logistic loss over ln 2, the ramp, the sigmoid loss doubled."""
    piece = pieces["above errors"]
    margins = piece.aside["margins"]
    errors, logistic = piece.links["logistic"]
    curves = {"errors": errors, "logistic, over ln 2": logistic} | {
        name: piece.links[name][1] for name in ("ramp", "sigmoid, doubled")
    }
    lines = [Line(name, margins, values) for name, values in curves.items()]
    right = Line("loss", margins, label_probability(margins), rival="a misprint: the probability of the right label")
    return Curves([*lines, right], x="margin m", y="loss", xs=(-3, 3), ys=(0, 4))


TRUTH = np.asarray([1.0, 0.8, 0.6, 0.7])
"""Coefficients of the true cubic in the orthonormal polynomials: the last is far above the noise of its estimate."""


@claim(
    items={"A5.3": ("truth", "ridge", "basis", "variance", "valley", "flattened")},
    says=r"Thirty points of a cubic with noise $\sigma^2$: the truth has expected loss $n\sigma^2$. Least squares of "
    r"degree $N\le25$ has its least test error at $N=3$, and variance "
    r"$\sigma^2\operatorname{tr}(\Phi^\top\Phi)^{-1}$; the best ridge penalty keeps degree 25 below a tenth of the "
    r"error of least squares.",
    needs="uniform points on [0, 1]; a cubic whose leading coefficient is far above its noise; ridge on the "
    "coefficients of the orthonormal polynomials",
    full=dict(designs=20),
    symbols={
        r"n": "the number of points, 30",
        r"\sigma^2": "the variance of the noise",
        r"N": "the degree of the fitted polynomial",
        r"\Phi": "the polynomials up to that degree, orthonormal on $[0,1]$, at the points",
    },
    why=r"Below degree 3 the cubic cannot be written down, whatever the data. Beyond it every degree fits one more "
    r"direction of the noise, and where points are few the new polynomial is hardly seen by the sample but large "
    r"between its points: the smallest eigenvalue of $\Phi^\top\Phi$ falls, and the noise is divided by it. A penalty "
    r"keeps such directions small.",
    notice=r"A valley at the true degree, then an error that grows by powers of ten towards degree 25, on every design "
    r"drawn. The best ridge penalty keeps degree 25 below the error of the zero polynomial.",
)
def polynomial_interpolation(key, *, designs: Annotated[int, Interval(ge=1, le=100)] = 4, trials: Trials = 8000):
    draw = generator(key)
    n, top, noise = 30, 25, 0.25
    losses = ((noise**0.5 * draw.standard_normal((trials, n))) ** 2).sum(1)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    nodes, weights = (nodes + 1) / 2, weights / 2
    risks, best, variance, ridges, bases = np.empty((designs, top + 1)), [], [], [], []
    for i in range(designs):
        x = draw.uniform(0, 1, n)
        full = legendre_features(x, top)
        answers = full[:, :4] @ TRUTH
        for degree in range(top + 1):
            target = np.append(TRUTH, np.zeros(top))[: degree + 1]
            missed = (TRUTH[degree + 1 :] ** 2).sum()
            operator = np.asarray(spectral_operator(full[:, : degree + 1], pseudo_inverse_filter))
            risks[i, degree] = ((operator @ answers - target) ** 2).sum() + missed + noise * (operator**2).sum()
        target = np.append(TRUTH, np.zeros(top - 3))
        penalized = [np.asarray(spectral_operator(full, ridge_filter(p))) for p in np.geomspace(1e-6, 1e4, 60)]
        best.append(min(bias_variance_of_operator(o, full, target, np.eye(top + 1), noise).risk for o in penalized))
        # The variance again: responses to noise at one point after another, squared and integrated by quadrature.
        operator = np.asarray(spectral_operator(full[:, :7], pseudo_inverse_filter))
        responses = legendre_features(nodes, 6) @ operator
        trace = np.trace(np.linalg.inv(full[:, :7].T @ full[:, :7]))
        variance.append((noise * (weights @ responses**2).sum(), noise * trace))
        y = answers + noise**0.5 * draw.standard_normal(n)
        stacked = np.concatenate([full, 0.1**0.5 * np.eye(top + 1)])
        ridge = np.asarray(spectral_operator(full, ridge_filter(0.1))) @ y
        ridges.append((ridge, np.linalg.lstsq(stacked, np.append(y, np.zeros(top + 1)))[0]))
        monomial = np.linalg.lstsq(monomial_features(x, 4), y)[0]
        legendre = np.linalg.lstsq(legendre_features(x, 4), y)[0]
        bases.append((monomials_in_legendre(monomial), legendre))
    (varied, traced), (ridge, stacked), (moved, legendre) = (np.swapaxes(a, 0, 1) for a in (variance, ridges, bases))
    size = np.linalg.norm(stacked, axis=1, keepdims=True)
    setting = {"noise": noise, "samples": n}
    return {
        "truth": Law(n * noise, losses, exact=True, aside=setting),
        "ridge": Identity(ridge, stacked, scale=size, condition=1e4),
        # Monomials to the fourth power have a condition number of some thousands on a random sample.
        "basis": Identity(moved, legendre, scale=np.linalg.norm(legendre, axis=1, keepdims=True), condition=1e5),
        "variance": Identity(varied, traced, condition=1e3, aside=setting),
        "valley": Chain(
            aside={"risks": risks, "ridge": np.asarray(best)},
            links={
                "too few degrees miss the cubic": (np.full(designs, 0.3), risks[:, :3].min(1)),
                "the right degree is best": (risks[:, 3:4], np.delete(risks, 3, axis=1)),
                "every further degree costs": (risks[:, 3:-1], risks[:, 4:]),
            },
        ),
        "flattened": Chain(
            {
                "below the zero polynomial": (best, np.full(designs, (TRUTH**2).sum())),
                "a tenth of least squares": (best, risks[:, -1] / 10),
            }
        ),
    }


@polynomial_interpolation.control("n − 4 degrees of freedom, as if the truth had been fitted", of="truth")
def fitted_truth(evidence):
    return replace(evidence, predicted=(evidence.aside["samples"] - 4) * evidence.aside["noise"])


@polynomial_interpolation.control("the error on the sample's own points, σ²(N + 1)/n", of="variance")
def own_points(evidence):
    return replace(
        evidence, right=np.full_like(evidence.right, evidence.aside["noise"] * 7 / evidence.aside["samples"])
    )


@polynomial_interpolation.control("no degree too many: every further one helps", of="valley")
def every_degree_helps(evidence):
    return replace(evidence, links={"helps": evidence.links["every further degree costs"][::-1]})


@polynomial_interpolation.control("no better than least squares of the same degree", of="flattened")
def no_better(evidence):
    return replace(evidence, links={"no better": evidence.links["a tenth of least squares"][::-1]})


@polynomial_interpolation.picture
def valley_of_degrees(pieces):
    """Test error of least squares along the degree, a line a design, and of the best ridge of degree 25."""
    risks, ridge = (pieces["valley"].aside[name] for name in ("risks", "ridge"))
    degrees = np.arange(risks.shape[1])
    return Curves(
        [
            *(Line("least squares", degrees, row, thin=True) for row in risks),
            Line("median of the designs", degrees, np.median(risks, axis=0)),
            Dots("best ridge, degree 25", np.full(len(ridge), degrees[-1]), ridge),
            Level("the true degree", x=3.0),
        ],
        x="degree N", y="test error", log="y",
    )  # fmt: skip
