"""Posteriors chosen to make the bound small: the Gibbs law, and Gaussians around a linear classifier."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.integrate import quad_vec
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import ndtr, rel_entr

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.finite_classes import union_deviation
from deeptheory.generalization.capacity.vc_bounds import sauer_deviation
from deeptheory.generalization.pac_bayes.bounds import maurer_budget, pac_bayes_kl
from deeptheory.generalization.pac_bayes.change_of_measure import diagonal_gaussian_kl, gibbs_posterior
from deeptheory.generalization.pac_bayes.comparison_bounds import catoni_bound
from deeptheory.generalization.pac_bayes.linear_posteriors import (
    best_linear_posterior,
    linear_gibbs_risk,
    scale_free_kl,
    scale_free_variance,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row


def noisy_linear_data(draw, samples, dimension, *, labels="true", hidden=None):
    """Gaussian points labelled by a hidden direction, one in twenty wrongly; or by coin flips."""
    x = draw.standard_normal((samples, dimension))
    hidden = draw.standard_normal(dimension) if hidden is None else hidden
    signs = np.sign(x @ hidden) * np.where(draw.random(samples) < 0.05, -1, 1)
    return x, signs if labels == "true" else draw.choice([-1.0, 1.0], samples), hidden


def least_bound(x, signs, delta):
    """The least value of Maurer's bound over μ, with kl never inverted nor its inverse differentiated.

    The inverse of kl is the least of Catoni's bounds over their temperature: one minimum, over both, from zero.
    """
    n, d = x.shape
    rows = signs[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True)

    def objective(state):
        direction, temperature = state[:-1], np.exp(state[-1])
        margins = rows @ direction
        risk, divergence = ndtr(-margins).mean(), d / 2 * np.log1p(direction @ direction / d)
        value = float(catoni_bound(risk, divergence, n, delta / (2 * np.sqrt(n)), temperature=temperature))
        share = -np.expm1(-temperature)
        by_risk = -np.exp(-(margins**2) / 2) @ rows / (n * np.sqrt(2 * np.pi))
        by_direction = temperature * by_risk + direction / (1 + direction @ direction / d) / n
        by_temperature = (1 - share * value) * risk - value * np.exp(-temperature)
        return value, np.append((1 - share * value) * by_direction, temperature * by_temperature) / share

    return minimize(objective, np.zeros(d + 1), jac=True, method="BFGS", options=dict(gtol=1e-8)).fun


def mean_wrong_sign(direction, points, signs):
    """The mean over the points of P[y·v·x < 0], v ~ N(μ, I), from the characteristic function of v·x alone."""

    def integrand(t):
        factors = np.exp(1j * t * direction * points - (t * points) ** 2 / 2)  # of the independent terms vᵢxᵢ
        return np.imag(np.prod(factors, axis=1)) / t

    chances, _ = quad_vec(integrand, 1e-12, 20.0, epsabs=1e-12, epsrel=1e-12)
    return np.mean(0.5 - signs * chances / np.pi)


def along_the_direction(direction, x, signs, delta):
    """Shares of a direction's length with the Gibbs risk, the divergence per point and the bound at each."""
    lengths = np.geomspace(0.02, 8, 60)
    risks = np.array([float(linear_gibbs_risk(t * direction, x, signs)) for t in lengths])
    divergences = np.array([float(scale_free_kl(t * direction)) for t in lengths])
    bounds = np.asarray(pac_bayes_kl(risks, maurer_budget(divergences, len(x), delta)))
    return np.stack([lengths, risks, divergences / len(x), bounds])


def trade_off(curves, title=""):
    """Risk, divergence and bound along the length of the direction, as a picture."""
    lengths, risks, divergences, bounds = curves
    return Curves(
        [
            Line("bound", lengths, bounds),
            Line("errors on the sample", lengths, risks),
            Line("divergence per point", lengths, divergences),
            Level("a coin", y=0.5),
            Level("found", x=1.0),
        ],
        title=title,
        x="length of the mean, as a multiple of the one found",
        y="risk, bound, divergence",
        log="x",
        ys=(0, 0.7),
    )


@claim(
    items={
        "H11.3": (
            "the Gibbs law is best",
            "best scale of the posterior",
            "risk of drawn classifiers",
            "risk by another route",
            "least bound",
            "bound below ½",
            "true risk below the bound",
        )
    },
    says=r"$\lambda n\,\mathbb E_QR_S+KL(Q\|P)$ exceeds its least value by $KL(Q\|G)$, $G\propto Pe^{-\lambda nR_S}$. "
    r"Weights $N(s\mu,s^2I)$ of a linear classifier err with mean $\Phi(-y\mu\cdot x/\|x\|)$ whatever $s$, and "
    r"$s^2=d/(d+|\mu|^2)$ brings KL from $N(0,I)$ down to $\frac d2\ln(1+|\mu|^2/d)$.",
    needs="a prior that does not depend on the sample; 0–1 loss",
    symbols={
        r"\lambda": "the weight of an error against the divergence",
        r"n": "the number of examples",
        r"Q,\ P": "posterior and prior",
        r"R_S": "the share of errors on the sample",
        r"G": "the Gibbs law",
        r"s,\ \mu": "the width of the posterior, and its mean in units of the width",
        r"\Phi": "the normal distribution function; $y=\\pm1$ is the label of $x$",
        r"d": "the dimension of the inputs, 20 here",
    },
    why=r"The logarithm of $Q/G$ is that of $Q/P$ plus $\lambda nR_S$ and a constant: so the objective is $KL(Q\|G)$ "
    r"up to that constant, and $G$ its only minimum. A linear answer is a Gaussian of mean $s\mu\cdot x$ and deviation "
    r"$s\|x\|$; only their ratio decides, so $s$ is free to bring the law near to the prior. At $n=1000$ the least "
    r"value of the bound over $\mu$, by two searches the same, certifies a risk below ½ where one label in twenty is "
    r"wrong, and not for coin flips.",
    notice=r"A longer mean makes fewer errors on the sample and costs more divergence; the bound has its least value "
    r"in between, where the search found it.",
    full=dict(trials=400_000),
)
def best_posteriors(key, *, trials: Trials = 100_000, problems: Annotated[int, Interval(ge=2, le=100)] = 3):
    draw = generator(key)
    prior, other = draw.dirichlet(np.ones(8), 2)
    risks, weight = draw.random(8), 12.0

    def objective(law):
        return weight * law @ risks + rel_entr(law, prior).sum()

    gibbs = np.asarray(gibbs_posterior(prior, -weight * risks))
    direction = draw.standard_normal(20) * 2
    search = minimize_scalar(
        lambda log: float(diagonal_gaussian_kl(np.exp(log / 2) * direction, np.full(20, log), 0.0, 0.0)),
        bounds=(-6, 1), method="bounded", options=dict(xatol=1e-9),
    )  # fmt: skip
    log_variance, closest = search.x, search.fun  # pyright: ignore[reportAttributeAccessIssue]
    points, signs, _ = noisy_linear_data(draw, 30, 20)
    drawn = draw.integers(0, 30, trials)
    answers = draw.standard_normal(trials) * np.linalg.norm(points, axis=1)[drawn] + (points @ direction)[drawn]
    stretched = points * np.geomspace(0.1, 3, 30)[:, None]  # the answers do not depend on the lengths of the points
    # The last problem has coin flips for labels, where every classifier has risk ½.
    bounds, true_risks, seen = np.full((3, problems + 1), 0.5)
    curves, least = np.empty((4, 0)), 0.0
    for i in range(problems + 1):
        x, y, hidden = noisy_linear_data(draw, 1000, 20, labels="true" if i < problems else "random")
        found = best_linear_posterior(x, y, delta=0.05)
        bounds[i], seen[i] = found.bound, found.risk
        if i == 0:
            least, curves = least_bound(x, y, 0.05), along_the_direction(found.direction, x, y, 0.05)
        if i < problems:
            fresh = draw.standard_normal((40_000, 20))
            clean = float(linear_gibbs_risk(found.direction, fresh, np.sign(fresh @ hidden)))
            true_risks[i] = 0.05 + 0.9 * clean
    return {
        "the Gibbs law is best": Identity(
            objective(other) - objective(gibbs), rel_entr(other, gibbs).sum(), scale=weight,
            aside={"turned": rel_entr(gibbs, other).sum()},
        ),
        "best scale of the posterior": Identity(
            [np.exp(log_variance), closest], [float(scale_free_variance(direction)), float(scale_free_kl(direction))],
            error=[1e-7, 1e-12], aside={"as wide": np.array([1.0, direction @ direction / 2])},
        ),
        "risk of drawn classifiers": Share(
            np.sum(answers * signs[drawn] < 0), trials, float(linear_gibbs_risk(direction, points, signs))
        ),
        "risk by another route": Identity(
            float(linear_gibbs_risk(direction, stretched, signs)), mean_wrong_sign(direction, stretched, signs),
            error=1e-10,
        ),
        # The quasi-Newton search stops when a step gains less than some 1e-9 of the bound.
        "least bound": Identity(bounds[0], least, error=2e-6, aside={"curves": curves}),
        "bound below ½": Inequality(bounds[:-1], 0.5, aside={"coin flips": bounds[-1]}),
        "true risk below the bound": Inequality(true_risks, bounds, aside={"seen": seen}),
    }  # fmt: skip


@best_posteriors.control("coin flips certify too", of="bound below ½")
def coin_flips(evidence):
    return replace(evidence, quantity=evidence.aside["coin flips"])


@best_posteriors.control("posterior as wide as the prior: KL = |μ|²/2", of="best scale of the posterior")
def equal_width(evidence):
    return replace(evidence, right=evidence.aside["as wide"])


@best_posteriors.control("KL(G‖Q) for KL(Q‖G)", of="the Gibbs law is best")
def turned(evidence):
    return replace(evidence, right=evidence.aside["turned"])


@best_posteriors.control("the errors on the sample bound the risk", of="true risk below the bound")
def nothing_added(evidence):
    return replace(evidence, bound=evidence.aside["seen"])


@best_posteriors.picture
def least_value(pieces):
    """Errors, divergence and bound as the mean of the posterior is shortened or lengthened from the one found."""
    return trade_off(pieces["least bound"].aside["curves"])


def realised_labelings(points):
    """How many labelings of the points some halfspace through the origin has, by a linear program for each."""
    labelings = 2.0 * np.indices((2,) * len(points)).reshape(len(points), -1).T - 1
    size = points.shape[1]
    return sum(
        linprog(np.zeros(size), A_ub=-signs[:, None] * points, b_ub=-np.ones(len(points)), bounds=(None, None)).success
        for signs in labelings
    )


@claim(
    items={"L9.10": ("labelings that are realised", "least PAC-Bayes bound", "bounds for true and random labels")},
    says=r"Halfspaces through the origin of $\mathbb R^d$ realise all labelings of $d$ points and not of $d+1$, so a "
    r"VC bound is the same for true and random labels. The PAC-Bayes bound of the best Gaussian posterior is below ½ "
    r"for true labels, above it for random ones.",
    needs="points in general position; 0–1 loss",
    scale="printed: networks on MNIST; here: linear classifiers, 1,000 points in 20 dimensions",
    symbols={
        r"d": "the dimension of the inputs, and the VC dimension of these halfspaces",
        r"n": "the number of examples",
    },
    why=r"Capacity counts what a class could fit and does not ask which labels came: with $d$ points in general "
    r"position a linear system finds a halfspace for every labeling, and at $n=1000$, $d=20$ the VC bound exceeds 1. "
    r"A PAC-Bayes bound pays for the distance from prior to posterior. True labels agree on a direction, and a short "
    r"step towards it errs little; coin flips have no such direction, and every step costs more than it gains. A "
    r"bound from a thousand held-out points is lower still.",
    notice=r"Left, true labels: errors fall while the divergence is still small, and the bound dips below ½. Right, "
    r"coin flips on the same points: errors hardly fall before the divergence counts, and the bound stays above ½.",
)
def labels_and_capacity(key):
    draw = generator(key)
    d, n, delta = 20, 1000, 0.05
    x, y, hidden = noisy_linear_data(draw, n, d)
    coins = draw.choice([-1.0, 1.0], n)
    true, random = (best_linear_posterior(x, each, delta=delta) for each in (y, coins))
    held, answers, _ = noisy_linear_data(draw, n, d, hidden=hidden)
    on_held_out = float(linear_gibbs_risk(true.direction, held, answers)) + float(union_deviation(n, 1, delta, sides=1))
    gap = float(sauer_deviation(n, d, delta))
    sides = ((true.direction, y), (random.direction, coins))
    return {
        # Of d + 1 points in general position two labelings, opposite to each other, are missed (Radon).
        "labelings that are realised": Exact(
            [realised_labelings(draw.standard_normal((count, 4))) for count in (4, 5)],
            [2**4, 2**5 - 2],
            along={"points": np.array([4, 5])},
        ),
        "least PAC-Bayes bound": Identity(
            [true.bound, random.bound],
            [least_bound(x, each, delta) for each in (y, coins)],
            error=2e-6,  # as near as the quasi-Newton search comes
            aside={"curves": np.stack([along_the_direction(mean, x, each, delta) for mean, each in sides])},
        ),
        "bounds for true and random labels": Chain(
            {
                "held-out below PAC-Bayes": (on_held_out, true.bound),
                "PAC-Bayes with true labels": (true.bound, 0.5),
                "PAC-Bayes with random labels": (0.5, random.bound),
                "VC with true labels": (1.0, true.risk + gap),
                "VC with random labels": (1.0, random.risk + gap),
            }
        ),
    }


@labels_and_capacity.control("random labels bound like true ones", of="bounds for true and random labels")
def alike(evidence):
    bound = evidence.links["PAC-Bayes with true labels"][0]
    return replace(evidence, links=evidence.links | {"PAC-Bayes with random labels": (0.5, bound)})


@labels_and_capacity.control("all labelings of d + 1 points too", of="labelings that are realised")
def one_point_more(evidence):
    return replace(evidence, right=2 ** evidence.along["points"])


@labels_and_capacity.picture
def true_and_random(pieces):
    """Errors, divergence and PAC-Bayes bound along the length of the mean, for true labels and for coin flips."""
    curves = np.asarray(pieces["least PAC-Bayes bound"].aside["curves"])
    return Row([trade_off(each, title) for each, title in zip(curves, ("true labels", "coin flips"), strict=True)])
