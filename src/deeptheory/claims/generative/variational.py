"""Evidence lower bounds, what they lose, and gradients through samples."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.optimize import minimize
from scipy.special import roots_hermitenorm
from scipy.stats import multivariate_normal

from deeptheory.foundations.randomness import generator
from deeptheory.generative.mixtures import (
    component_log_densities,
    crabs,
    expectation_maximization,
    gaussian_mixture,
    log_density,
    pearson_mixture,
    responsibilities,
)
from deeptheory.generative.variational import (
    LinearGaussian,
    gaussian_gradient_estimates,
    isotropic_gap,
    mean_field_ascent,
    square_estimator_moments,
    table_bound,
    table_evidence,
    table_posterior,
)
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line


def log_normal(x, mean, covariance):
    """log N(x; mean, covariance), by scipy."""
    return multivariate_normal(mean, covariance).logpdf(x)


@claim(
    items={
        "A14.9": ("evidence is bound plus divergence", "the bound below the evidence", "the bound at the posterior"),
        "A14.10": (
            "the bound touches after each E-step",
            "evidence never falls",
            "variances of the best product law",
        ),
    },
    says=r"$\log p(x)=E_q[\log p(x,h)]+H[q]+\mathrm{KL}(q\,\|\,p(h|x))$ for every law $q$ of the hidden $h$, so the "
    r"first two terms are a lower bound, attained at the posterior. Improving $q$ and the model in turn never lowers "
    r"it; among products of Gaussians the best has variances $1/\Lambda_{ii}$.",
    needs="tables of twelve hidden values; Pearson's crabs; a Gaussian posterior with precision Λ",
    symbols={
        "x": "what is seen",
        "h": "what is hidden",
        "p": "the model's law of both",
        "q": "any law of the hidden variable",
        "H": "the entropy",
        r"\Lambda": "the precision matrix of a Gaussian posterior",
    },
    why=r"Write $p(x,h)=p(x)\,p(h|x)$ inside the expectation: $\log p(x)$ comes out, since it does not depend on $h$, "
    "and what is left is minus the divergence. With $q$ at the posterior bound and evidence touch; raising the bound "
    "by a better model then raises the evidence at least as much.",
    notice="Each step first lifts the bound to the evidence, then moves the model; the evidence climbs, fast at first. "
    "For a fixed model the bound falls short by exactly the divergence, however q is chosen.",
)
def evidence_lower_bound(key, *, tables: Annotated[int, Interval(ge=10, le=2000)] = 200):
    draw = generator(key)
    joint = draw.dirichlet(np.full(60, 0.5), tables).reshape(tables, 5, 12)[:, 0]  # one x of five
    joint, law = np.maximum(joint, 1e-12), draw.dirichlet(np.full(12, 0.7), tables)
    law = np.maximum(law, 1e-12) / np.maximum(law, 1e-12).sum(1, keepdims=True)
    posterior = joint / joint.sum(1, keepdims=True)
    divergence = (law * np.log(law / posterior)).sum(1)
    reverse = (posterior * np.log(posterior / law)).sum(1)
    bound, evidence = table_bound(joint, law), np.log(joint.sum(1))
    prior = np.full(12, 1 / 12)  # the conditional p(x|h) of a uniform prior
    points, steps = crabs()[:, None], 12
    start = pearson_mixture(crabs())._replace(weights=np.array([0.8, 0.2]))
    climbs, touches, stale = [], [], []
    _, trace = expectation_maximization(start, points, steps=steps)
    mixture = start
    for _ in range(steps):
        joints = np.exp(component_log_densities(mixture, points))
        # Densities of the ratio are near 20: scaled to a table, whose bound is off by the logarithm of the scale.
        touches.append((table_bound(joints / 100, table_posterior(joints / 100)) + np.log(100)).mean())
        climbs.append(touches[-1])
        following, _ = expectation_maximization(mixture, points, steps=1)
        after = np.exp(component_log_densities(following, points))
        climbs.append((table_bound(after / 100, table_posterior(joints / 100)) + np.log(100)).mean())
        stale.append(climbs[-1])
        mixture = following
    likelier = responsibilities(mixture, points).argmax(1)
    groups = [points[likelier == h] for h in (0, 1)]
    shares, middles, widths = np.array([(len(g) / len(points), g.mean(), g.var()) for g in groups]).T
    whole = gaussian_mixture(shares, middles[:, None], widths[:, None, None])
    factor = draw.standard_normal((5, 5))
    precision = factor @ factor.T + 0.5 * np.eye(5)
    _, variances, falling = mean_field_ascent(draw.standard_normal(5), precision, sweeps=30)
    # The best product by its definition: a solver minimizes KL over the logarithms of all variances.
    found = minimize(lambda v: 0.5 * (np.diag(precision) @ np.exp(v) - v.sum()), np.zeros(5), tol=1e-14).x
    return {
        "evidence is bound plus divergence": Identity(
            bound + divergence,
            evidence,
            scale=np.abs(evidence) + divergence,
            size=12,
            aside={"reverse": bound + reverse},
        ),
        "the bound below the evidence": Inequality(
            -evidence, -bound, aside={"without the prior": -(bound - law @ np.log(prior))}
        ),
        "the bound at the posterior": Identity(
            table_bound(joint, posterior), table_evidence(joint), size=12, aside={"law": bound}
        ),
        "the bound touches after each E-step": Identity(
            np.array(touches), trace, size=1000, aside={"climbs": np.array(climbs), "stale": np.array(stale)}
        ),
        "evidence never falls": Inequality(
            -np.diff(climbs),
            0.0,
            error=1e-12,
            aside={"fall of whole points": (log_density(mixture, points) - log_density(whole, points)).mean()},
        ),
        "variances of the best product law": Identity(
            variances,
            np.exp(found),
            error=1e-5,
            aside={"marginal": np.diag(np.linalg.inv(precision)), "falling": falling},
        ),
    }


@evidence_lower_bound.control("the divergence taken the other way round", of="evidence is bound plus divergence")
def other_way(evidence):
    return replace(evidence, left=evidence.aside["reverse"])


@evidence_lower_bound.control("p(x|h) in place of p(x,h)", of="the bound below the evidence")
def conditional(evidence):
    return replace(evidence, bound=evidence.aside["without the prior"])


@evidence_lower_bound.control("attained at any law", of="the bound at the posterior")
def anywhere(evidence):
    return replace(evidence, left=evidence.aside["law"])


@evidence_lower_bound.control("the law of the step before", of="the bound touches after each E-step")
def not_renewed(evidence):
    return replace(evidence, left=evidence.aside["stale"][:-1], right=evidence.right[1:])


@evidence_lower_bound.control("every crab given whole to its likelier kind", of="evidence never falls")
def whole_points(evidence):
    return replace(evidence, quantity=evidence.aside["fall of whole points"])


@evidence_lower_bound.control("the posterior's own variances", of="variances of the best product law")
def marginal_variances(evidence):
    return replace(evidence, right=evidence.aside["marginal"])


@evidence_lower_bound.picture
def staircase(pieces):
    """The bound for Pearson's crabs: lifted to the evidence by a new q, and raised with the model, in turn."""
    touch = pieces["the bound touches after each E-step"]
    climbs = np.asarray(touch.aside["climbs"])
    half = np.arange(len(climbs)) / 2
    marks = [Line("bound", half, climbs), Dots("evidence", half[::2], touch.right)]
    return Curves(marks, x="steps", y="mean log likelihood")


@claim(
    items={
        "A14.14": ("gap of the best isotropic encoder", "no gap for even loadings"),
        "A14.12": ("the bound by the printed terms",),
    },
    says=r"For the decoder $x=Wz+\sigma\varepsilon$ the best encoder $N(\mu_x,vI)$ falls short of $\log p(x)$ by "
    r"$\frac d2\log\frac{\mathrm{AM}}{\mathrm{GM}}$ of the eigenvalues of $I+W^\top W/\sigma^2$: nothing if and only "
    r"if $W^\top W\propto I$. The terms of (14.12) average to the bound plus $\frac n2\log2\pi$.",
    needs="prior N(0, I); decoder linear with known noise",
    symbols={
        "W": "the decoder's matrix, from $d$ hidden to $n$ seen numbers",
        r"z, \varepsilon": "the hidden numbers and the noise, standard normal",
        r"\sigma": "the deviation of the decoder's noise",
        r"\mu_x": "the encoder's mean, free for each $x$",
        "v": "the encoder's variance, one number",
        r"\mathrm{AM}, \mathrm{GM}": "arithmetic and geometric mean",
    },
    why="The posterior is Gaussian with the same precision matrix for every $x$. The divergence from an isotropic "
    r"Gaussian with its mean is $\frac12(v\,\mathrm{tr}P-d-d\log v-\log\det P)$, least at $v=d/\mathrm{tr}P$. What "
    "remains compares the arithmetic with the geometric mean of the eigenvalues.",
    notice="As one direction of the decoder grows louder than the other, the round encoder can follow neither, and "
    "the gap opens like the logarithm of their ratio.",
    explore={"noise": (0.3, 0.7, 1.5)},
)
def isotropic_encoder_gap(key, *, noise: Annotated[float, Interval(ge=0.1, le=3.0)] = 0.7):
    draw, shapes = generator(key), np.array([(5, 2), (5, 3), (2, 3)] * 2)  # numbers seen and hidden
    nodes, weights = roots_hermitenorm(4)  # exact for the quadratic terms
    gaps, formulas, printed, exact = [], [], [], []
    for (n, d), sigma in zip(shapes.tolist(), noise * np.geomspace(0.7, 1.5, len(shapes)), strict=True):
        eps = np.stack(np.meshgrid(*[nodes] * d), -1).reshape(-1, d)
        mass = np.prod(np.meshgrid(*[weights] * d), axis=0).ravel() / (2 * np.pi) ** (d / 2)
        loadings, x = draw.standard_normal((n, d)), 2 * draw.standard_normal(n)
        evidence = log_normal(x, np.zeros(n), loadings @ loadings.T + sigma**2 * np.eye(n))

        def terms(mean, scale, loadings=loadings, x=x, n=n, d=d, sigma=sigma, eps=eps, mass=mass):
            """(14.12) as it is printed, averaged over the noise."""
            z = mean + scale * eps
            misfit = ((x - z @ loadings.T) ** 2).sum(1) / sigma**2 + n * np.log(sigma**2)
            rest = (z**2).sum(1) - ((z - mean) ** 2).sum(1) / scale**2 - d * np.log(scale**2)
            return mass @ (-0.5 * (misfit + rest))

        best = minimize(lambda v, terms=terms: -terms(v[:-1], np.exp(v[-1])), np.zeros(d + 1), tol=1e-12)
        gaps.append(evidence - (-best.fun - 0.5 * n * np.log(2 * np.pi)))
        formulas.append(isotropic_gap(LinearGaussian(loadings, sigma)))
        # The bound from logarithms of densities, not from the printed terms.
        mean, scale = draw.standard_normal(d), 0.3 + draw.random()
        z = mean + scale * eps
        logs = [
            log_normal(x, loadings @ each, sigma**2 * np.eye(n))
            + log_normal(each, np.zeros(d), np.eye(d))
            - log_normal(each, mean, scale**2 * np.eye(d))
            for each in z
        ]
        printed.append(terms(mean, scale))
        exact.append(mass @ np.array(logs))
    even = np.linalg.qr(draw.standard_normal((5, 3)))[0]
    n, d = shapes.T
    ratios = np.linspace(1, 8, 30)
    return {
        # A solver's minimum is off by its squared distance to it.
        "gap of the best isotropic encoder": Identity(
            np.array(gaps), np.array(formulas), scale=1.0, error=1e-6, aside={"d": d, "ratios": ratios}
        ),
        "no gap for even loadings": Identity(
            1 + np.array([isotropic_gap(LinearGaussian(s * even, noise)) for s in (0.5, 1.0, 3.0)]),
            np.ones(3),
            aside={"uneven": 1 + isotropic_gap(LinearGaussian(even * np.array([1.0, 1.1, 1.0]), noise))},
        ),
        "the bound by the printed terms": Identity(
            np.array(printed) - 0.5 * n * np.log(2 * np.pi),
            np.array(exact),
            size=64,
            scale=np.abs(exact) + 20,
            aside={"both": np.array(printed) - 0.5 * (n + d) * np.log(2 * np.pi)},
        ),
    }


@isotropic_encoder_gap.control("½ log for (d/2) log", of="gap of the best isotropic encoder")
def without_dimension(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / evidence.aside["d"])


@isotropic_encoder_gap.control("loadings uneven by a tenth", of="no gap for even loadings")
def uneven(evidence):
    return replace(evidence, left=evidence.left * evidence.aside["uneven"])


@isotropic_encoder_gap.control("the constant of seen and hidden numbers together", of="the bound by the printed terms")
def both_constants(evidence):
    return replace(evidence, left=evidence.aside["both"])


@isotropic_encoder_gap.picture
def gap_by_ratio(pieces, settings):
    """What the best round encoder loses, by how much louder one direction of the decoder is than the other."""
    ratios, noise = np.asarray(pieces["gap of the best isotropic encoder"].aside["ratios"]), settings["noise"]
    gaps = [isotropic_gap(LinearGaussian(np.diag([1.0, r]), noise)) for r in ratios]
    return Curves([Line("gap", ratios, gaps)], x="loading of one direction over the other", y="nats lost")


@claim(
    items={"A14.13": ("means of both estimators", "variance of the estimators")},
    says=r"The gradient of $E f(z)$, $z\sim N(\varphi,s^2)$, has the unbiased estimates $f'(z)$ by "
    r"$z=\varphi+s\varepsilon$ and $f(z)\,\varepsilon/s$ by the density's score; a sampled mean with its samples held "
    r"fixed has gradient zero. For $f=z^2$ their variances are $4s^2$ and $\varphi^4/s^2+14\varphi^2+15s^2$.",
    needs="means over the noise by Gauss–Hermite quadrature, exact for the polynomials used",
    symbols={
        "f, z": "a function, and the number that is sampled",
        r"\varphi": "the mean of the law that is sampled",
        "s": "its standard deviation",
        r"\varepsilon": "standard normal noise that no parameter enters",
    },
    why=r"Differentiating $\int f(z)q_\varphi(z)\,dz$ moves the density: $q'=q\,(\log q)'$ gives the score form. "
    r"Substituting $z=\varphi+s\varepsilon$ first puts the parameter inside $f$ and leaves a law that does not depend "
    "on it, so derivative and mean exchange. Holding drawn samples fixed loses the dependence altogether.",
    notice="Both estimators have the right mean. The one through the density is noisier everywhere, and the more so "
    "the further the mean lies from zero.",
)
def gradients_through_samples(*, deviation: Annotated[float, Interval(ge=0.2, le=3.0)] = 0.8):
    nodes, weights = roots_hermitenorm(16)
    weights, phis = weights / np.sqrt(2 * np.pi), np.linspace(-2, 2, 9)
    cases = {
        "z²": (lambda z: z**2, lambda z: 2 * z, lambda m, s: (2 * m, 2 * s)),
        "z³": (lambda z: z**3, lambda z: 3 * z**2, lambda m, s: (3 * m**2 + 3 * s**2, 6 * m * s)),
    }
    means, truths = [], []
    for function, slope, gradient in cases.values():
        for phi in phis:
            estimates = gaussian_gradient_estimates(function, slope, phi, deviation, nodes)
            means.append([estimates.reparametrized @ weights, estimates.score @ weights])
            truths.append([gradient(phi, deviation)] * 2)
    spread, predicted = [], []
    for phi in phis:
        estimates = gaussian_gradient_estimates(np.square, lambda z: 2 * z, phi, deviation, nodes)
        both = np.stack([estimates.reparametrized[0], estimates.score[0]])
        spread.append((both**2) @ weights - (both @ weights) ** 2)
        moments = square_estimator_moments(phi, deviation)
        predicted.append([moments["reparametrized"], moments["score"]])
    scale = 1 + np.abs(phis).max() ** 3 / deviation
    return {
        "means of both estimators": Identity(
            np.array(means), np.array(truths), scale=10 * scale, size=16, along={"case": np.tile(phis, 2)}
        ),
        "variance of the estimators": Identity(
            np.array(spread),
            np.array(predicted),
            scale=100 * scale,
            size=16,
            along={"mean": phis, "estimator": np.array(["reparametrized", "score"])},
        ),
    }


@gradients_through_samples.control("the gradient with samples held fixed", of="means of both estimators")
def frozen(evidence):
    return replace(evidence, left=np.zeros_like(evidence.left))


@gradients_through_samples.control("12φ² for 14φ² in the score's variance", of="variance of the estimators")
def other_constant(evidence):
    phi = np.asarray(evidence.along["mean"])
    right = np.array(evidence.right)
    right[:, 1] -= 2 * phi**2
    return replace(evidence, right=right)


@gradients_through_samples.picture
def variances_by_mean(pieces, settings):
    """Variance of both estimators of the derivative of E z² by the mean of z."""
    seen = pieces["variance of the estimators"]
    phi, s = np.linspace(-2, 2, 100), settings["deviation"]
    curves = square_estimator_moments(phi, s)
    marks = [
        Line("reparametrized", phi, np.full(100, curves["reparametrized"])),
        Line("score", phi, curves["score"]),
        Dots("reparametrized", seen.along["mean"], np.asarray(seen.left)[:, 0]),
        Dots("score", seen.along["mean"], np.asarray(seen.left)[:, 1]),
    ]
    return Curves(marks, x="mean φ", y="variance of the estimate", log="y")
