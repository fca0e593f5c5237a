"""Relative entropies in closed form, and the inequality that trades a posterior for a prior."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from annotated_types import Interval
from scipy.integrate import quad_vec
from scipy.special import logsumexp, ndtri, rel_entr
from scipy.stats import multivariate_normal, norm

from deeptheory.foundations.entropies import finite_kl
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.pac_bayes.change_of_measure import (
    change_of_measure_gap,
    diagonal_gaussian_kl,
    flat_minimum_variances,
    gaussian_kl,
    gibbs_posterior,
    isotropic_gaussian_kl,
)
from deeptheory.lab import Chain, Count, Exact, Identity, Inequality, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen


def covariance(draw, size):
    """A random covariance whose eigenvalues are at least one half: narrow directions would make log-ratios unruly."""
    root = draw.standard_normal((size, size)) / size**0.5
    return root @ root.T + 0.5 * np.eye(size)


@claim(
    items={
        "H11.1": (
            "Gaussians on the line",
            "mean log-ratio",
            "Gaussians with common axes",
            "isotropic Gaussians",
            "a point mass",
            "never negative",
        ),
        "L9.2": ("finite sets", "Gaussians on the line", "never negative", "not symmetric"),
        "A5.30": ("through ever finer cells", "infinite where not dominated"),
    },
    says=r"$KL(Q\|P)=\mathbb E_Q\ln(dQ/dP)$ is for Gaussians $\frac12[\mathrm{tr}\,\Sigma_P^{-1}\Sigma_Q+"
    r"(m_Q-m_P)^\top\Sigma_P^{-1}(m_Q-m_P)-k+\ln\frac{\det\Sigma_P}{\det\Sigma_Q}]$, and $\ln 1/P(h)$ for a point "
    r"mass. It is at least twice the squared total variation, not symmetric, and infinite where $P$ does not "
    r"dominate $Q$.",
    needs="Q dominated by P; covariances of full rank",
    symbols={
        r"Q,\ P": "two laws: the posterior and the prior",
        r"m_Q,\ \Sigma_Q": "mean and covariance of a Gaussian $Q$; those of $P$ likewise",
        r"k": "the dimension",
        r"h": "one hypothesis",
    },
    why=r"The logarithm of a ratio of Gaussian densities is a quadratic form, whose mean under $Q$ needs only two "
    r"moments. The lower bound is Pinsker's inequality. A law on finitely many numbers has no density: seen "
    r"through $2^j$ cells of equal prior probability its divergence is that of a few cells, and grows by $\ln2$ each "
    r"time the cells are halved.",
    notice=r"Left: closed form and numerical integration agree for Gaussians on the line; in the other order the value "
    r"is another one. Right: the divergence of two points from a Gaussian grows with every halving of the cells, "
    r"without end.",
    full=dict(trials=500_000),
)
def relative_entropy(
    key,
    *,
    trials: Trials = 120_000,
    size: Annotated[int, Interval(ge=2, le=20)] = 3,
    order: Literal["posterior first", "prior first"] = "posterior first",
):
    def divergence(*both):
        return float(gaussian_kl(*(both if order == "posterior first" else both[2:] + both[:2])))

    draw = generator(key)
    laws = draw.dirichlet(np.full(6, 0.5), (2, 50)) + 1e-12
    laws /= laws.sum(-1, keepdims=True)
    # A law that is slightly larger on one half of the set and smaller on the other all but reaches Pinsker's bound.
    tilted = (1 + 0.1 * np.array([1, 1, 1, -1, -1, -1])) / 6
    q, p = np.concatenate([laws, [[tilted], [np.full(6, 1 / 6)]]], axis=1)
    # Gaussians on the line, by integrating q·log(q/p) numerically in units of q.
    m, n = draw.standard_normal((2, 12))
    s, t = np.exp(draw.uniform(-1, 1, (2, 12)))
    on_the_line, slip = quad_vec(
        lambda z: norm.pdf(z) * (norm.logpdf(z) - np.log(s) - norm.logpdf((m + s * z - n) / t) + np.log(t)), -12, 12
    )
    closed = [divergence(m[[i]], s[[i], None] ** 2, n[[i]], t[[i], None] ** 2) for i in range(12)]
    turned = [divergence(n[[i]], t[[i], None] ** 2, m[[i]], s[[i], None] ** 2) for i in range(12)]
    mean, prior_mean = draw.standard_normal((2, size))
    # A prior is wider than what is learned: the two orders then differ on every draw, not on most.
    sigma, prior_sigma = covariance(draw, size), 4 * covariance(draw, size)
    points = mean + draw.standard_normal((trials, size)) @ np.linalg.cholesky(sigma).T
    ratios = multivariate_normal(mean, sigma).logpdf(points) - multivariate_normal(prior_mean, prior_sigma).logpdf(
        points
    )
    # In axes that make the prior standard and the posterior diagonal, the divergence is a sum over the line.
    squares, axes = scipy.linalg.eigh(sigma, prior_sigma)
    along_axes = np.sum(squares - 1 - np.log(squares) + (axes.T @ (mean - prior_mean)) ** 2) / 2
    variances, prior_variance = np.exp(draw.uniform(-2, 1, size)), float(np.exp(draw.uniform(-1, 1)))
    level = prior_variance * np.eye(size)
    # Cells of equal prior probability are ever finer nets on the line; a point mass falls in one cell of each.
    posterior_cells, prior_cells = np.zeros((2, 10, 1024))
    for k in range(10):
        edges = ndtri(np.linspace(0, 1, 2 ** (k + 1) + 1))
        posterior_cells[k, : len(edges) - 1] = np.histogram([0.3, 1.1], bins=edges)[0] / 2
        prior_cells[k, : len(edges) - 1] = np.diff(norm.cdf(edges))
    through_cells = np.asarray(finite_kl(posterior_cells, prior_cells))
    return {
        "finite sets": Identity(
            finite_kl(q, p), rel_entr(q, p).sum(-1), scale=np.abs(q * np.log(q / p)).sum(-1), size=6.0
        ),
        "Gaussians on the line": Identity(
            closed, on_the_line, scale=1 + np.abs(on_the_line), error=1e-9 + slip, aside={"turned": np.array(turned)}
        ),
        "mean log-ratio": Law(divergence(mean, sigma, prior_mean, prior_sigma), ratios, exact=True),
        "Gaussians with common axes": Identity(
            divergence(mean, sigma, prior_mean, prior_sigma), along_axes, condition=100.0
        ),
        "isotropic Gaussians": Identity(
            isotropic_gaussian_kl(np.linalg.norm(mean - prior_mean), prior_variance),
            gaussian_kl(mean, level, prior_mean, level),
            condition=10.0,
        ),
        "diagonal Gaussians": Identity(
            diagonal_gaussian_kl(mean, np.log(variances), prior_mean, np.full(size, np.log(prior_variance))),
            gaussian_kl(mean, np.diag(variances), prior_mean, level),
            condition=10.0,
            aside={"deviations": gaussian_kl(mean, np.diag(np.sqrt(variances)), prior_mean, level)},
        ),
        "a point mass": Identity(finite_kl(np.eye(6), p[:1]), np.log(1 / p[0])),
        "never negative": Chain(
            {
                "Pinsker": (0.5 * np.abs(q - p).sum(-1) ** 2, finite_kl(q, p)),
                "zero for equal laws": (np.abs(finite_kl(q, q)), 0.0),
            },
            error=1e-14,
        ),
        # e and 1/e times the unit variance: ½(e − 2) one way, ½/e the other.
        "not symmetric": Identity(
            [diagonal_gaussian_kl(0.0, 1.0, 0.0, 0.0), diagonal_gaussian_kl(0.0, 0.0, 0.0, 1.0)],
            [np.e / 2 - 1, 0.5 / np.e],
        ),
        "through ever finer cells": Identity(
            np.diff(through_cells)[2:], np.full(7, np.log(2)), error=1e-9, aside={"cells": through_cells}
        ),
        "infinite where not dominated": Exact(
            np.isinf([finite_kl(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))]), [True]
        ),
    }


relative_entropy.control("the divergence in the other order", of="mean log-ratio", order="prior first")


@relative_entropy.control("the two orders agree", of="Gaussians on the line")
def orders_agree(evidence):
    return replace(evidence, left=evidence.aside["turned"])


@relative_entropy.control("a hundredth more than twice the squared total variation", of="never negative")
def more_than_pinsker(evidence):
    smaller, larger = evidence.links["Pinsker"]
    return replace(evidence, links={"Pinsker": (1.01 * smaller, larger)})


@relative_entropy.control("deviations in the place of variances", of="diagonal Gaussians")
def deviations(evidence):
    return replace(evidence, right=evidence.aside["deviations"])


@relative_entropy.picture
def divergences(pieces):
    """Closed form against numerical integration for Gaussians on the line; and the divergence of two points from a
    Gaussian, seen through ever finer cells."""
    line, cells = pieces["Gaussians on the line"], np.asarray(pieces["through ever finer cells"].aside["cells"])
    count = 2.0 ** np.arange(1, len(cells) + 1)
    ends = np.array([np.min(line.right), np.max(line.right)])
    return Row(
        [
            Curves(
                [
                    Line("equal", ends, ends),
                    Dots("closed form", line.right, line.left),
                    Dots("in the other order", line.right, line.aside["turned"], rival="KL(P‖Q)"),
                ],
                x="divergence KL(Q‖P) by integration",
                y="divergence KL(Q‖P) in closed form",
                log="xy",
            ),
            Curves(
                [Dots("two points, a Gaussian prior", count, cells), Line("ln(cells/2)", count, np.log(count / 2))],
                x="cells of equal prior probability",
                y="divergence in nats",
                log="x",
            ),
        ]
    )


@relative_entropy.control(
    "a Gaussian prior gives every vector positive probability, so the divergence stays finite",
    of="through ever finer cells",
)
def finite_after_all(evidence):
    return replace(evidence, right=np.zeros(7))


@claim(
    items={
        "L9.3": ("the inequality", "what is missing", "equality at the Gibbs law"),
        "A5.33": ("squared gaps on a sample", "equal gaps, and mean squares"),
    },
    says=r"$\mathbb E_Q\varphi\le KL(Q\|P)+\ln\mathbb E_Pe^\varphi$ for every $Q$ dominated by $P$; what is missing is "
    r"$KL(Q\|G)$ with $G\propto Pe^\varphi$. Hence for every sample "
    r"$\frac m2(\mathbb E_Q\Delta)^2-KL(Q\|P)\le\ln\mathbb E_Pe^{\frac m2\Delta^2}$, with equality where all "
    r"$\Delta$ are equal and $Q=P$.",
    needs="Q dominated by P",
    symbols={
        r"P": "the prior over hypotheses, fixed before the data",
        r"Q": "any posterior, which may depend on the data",
        r"\varphi": "any function of a hypothesis",
        r"KL(Q\|P)": r"the relative entropy $\mathbb E_Q\ln(dQ/dP)$",
        r"G": "the Gibbs law, the prior reweighted by $e^\\varphi$",
        r"\Delta": "true risk minus training error of a hypothesis",
        r"m": "the number of examples",
    },
    why=r"Write out $KL(Q\|G)$: its logarithm is $\ln(Q/P)-\varphi+\ln\mathbb E_Pe^\varphi$, so that "
    r"$KL(Q\|G)=KL(Q\|P)-\mathbb E_Q\varphi+\ln\mathbb E_Pe^\varphi$, and a relative entropy is never negative. "
    r"The right side no longer contains $Q$: a posterior chosen after the data is paid for by its distance from the "
    r"prior. With $\varphi=\frac m2\Delta^2$ and $(\mathbb E_Q\Delta)^2\le\mathbb E_Q\Delta^2$ the second follows.",
    notice=r"Each curve tilts one prior towards its $\varphi$, as $Q_t\propto Pe^{t\varphi}$. What is missing in the "
    r"inequality falls from $t=0$, the prior, to exactly zero at $t=1$, the Gibbs law, and grows again beyond.",
    full=dict(count=10_000),
)
def change_of_measure(
    key,
    *,
    count: Count = 2000,
    support: Literal["dominated", "not"] = "dominated",
    moment: Literal["exponential", "of the score"] = "exponential",
):
    draw = generator(key)
    p, q = draw.dirichlet(np.full(6, 0.7), (2, count)) + 1e-9
    p, q = p / p.sum(-1, keepdims=True), q / q.sum(-1, keepdims=True)
    score = draw.standard_normal((count, 6)) * np.exp(draw.uniform(-2, 2, (count, 1)))
    log_moment = np.asarray(logsumexp(score, b=p, axis=-1))
    gibbs = p * np.exp(score - log_moment[:, None])
    if support == "not":  # what the sum over the common support makes of a Q that P does not dominate
        p = np.where(np.arange(6) < 3, p, 0.0)
        p /= p.sum(-1, keepdims=True)
        log_moment = np.asarray(logsumexp(score, b=p, axis=-1))
        divergence = rel_entr(q[:, :3], p[:, :3]).sum(-1)
    else:
        divergence = rel_entr(q, p).sum(-1)
    if moment == "of the score":
        log_moment = (p * score).sum(-1)
    error = 1e-13 * (1 + np.abs(score).max(-1))
    m = draw.integers(5, 101, count)
    risks = draw.uniform(0.05, 0.95, (count, 6))
    gaps = risks - draw.binomial(m[:, None], risks) / m[:, None]
    same = np.repeat(gaps[:, :1], 6, axis=1)
    # Any posterior on the sample; and, where the inequality is reached, the prior itself with all gaps equal.
    squares = np.stack([(q * gaps).sum(-1) ** 2, (p * same).sum(-1) ** 2])
    paid = np.stack([divergence, np.asarray(finite_kl(p, p))])
    log_mean, log_same, log_fewer, same_fewer = (
        np.asarray(logsumexp(size[:, None] / 2 * each**2, b=p, axis=-1)) for size in (m, m - 1) for each in (gaps, same)
    )
    at_gibbs = np.asarray(gibbs_posterior(p, m[:, None] / 2 * gaps**2)) if support == "dominated" else q
    return {
        "the inequality": Inequality(
            (q * score).sum(-1), divergence + log_moment, error=error, aside={"prior": p[:3], "score": score[:3]}
        ),
        "what is missing": Identity(
            change_of_measure_gap(q, p, score),
            rel_entr(q, gibbs).sum(-1),
            scale=1 + np.abs(score).max(-1),
            condition=10.0,
        ),
        "equality at the Gibbs law": Identity(
            change_of_measure_gap(gibbs_posterior(p, score), p, score), 0.0, scale=1 + np.abs(score).max(-1), size=36.0
        ),
        "squared gaps on a sample": Inequality(
            m / 2 * squares - paid,
            np.stack([log_mean, log_same]),
            error=1e-13 * m,
            aside={"one more": (m + 1) / 2 * squares - paid},
        ),
        "equal gaps, and mean squares": Identity(
            np.stack(
                [
                    m / 2 * squares[1] - paid[1],
                    m / 2 * (at_gibbs * gaps**2).sum(-1) - np.asarray(finite_kl(at_gibbs, p)),
                ]
            ),
            np.stack([log_same, log_mean]),
            scale=m,
            aside={"one fewer": np.stack([same_fewer, log_fewer])},
        ),
    }


change_of_measure.control("Q not dominated by P, the sum over the common support", of="the inequality", support="not")


change_of_measure.control(
    "the mean of φ under P for the logarithm of a mean", of="the inequality", moment="of the score"
)


@change_of_measure.control("m + 1 in front of the squared mean", of="squared gaps on a sample")
def one_example_more(evidence):
    return replace(evidence, quantity=evidence.aside["one more"])


@change_of_measure.control("m − 1 in the exponent", of="equal gaps, and mean squares")
def one_example_fewer(evidence):
    return replace(evidence, right=evidence.aside["one fewer"])


@change_of_measure.picture
def tilted_priors(pieces):
    """What is missing in the inequality along laws tilted from the prior through the Gibbs law, for three priors."""
    aside = pieces["the inequality"].aside
    tilts = np.linspace(-1, 3, 161)
    marks: list[Any] = [Level("Gibbs law", x=1.0), Level("prior", x=0.0)]
    for i, (prior, score) in enumerate(zip(aside["prior"], aside["score"], strict=True)):
        laws = np.stack([np.asarray(gibbs_posterior(prior, t * score)) for t in tilts])
        same = np.broadcast_to(prior, laws.shape), np.broadcast_to(score, laws.shape)
        missing = np.asarray(change_of_measure_gap(laws, *same))
        marks.append(Line(f"prior {i + 1}", tilts, missing / missing[np.argmin(np.abs(tilts))]))
    return Curves(
        marks, x="tilt t of the prior towards φ", y="what is missing, as a multiple of that at the prior", ys=(-0.1, 4)
    )


@change_of_measure.control("an equality for every Q", of="what is missing")
def no_gap(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@claim(
    items={"L9.8": ("best variances", "loss added by noise", "prior or curvature limits the variance")},
    says=r"Around a minimum with curvatures $h_i$ noise of variance $\sigma_i$ on the weights adds $\frac12\sum h_i"
    r"\sigma_i$ to a quadratic loss, exactly, and the posterior that minimises $c\cdot$loss $+KL(Q\|N(\theta_0,\lambda "
    r"I))$ has $\sigma_i=1/(1/\lambda+ch_i)$: flat directions keep the width of the prior, curved ones pay.",
    needs="a loss that is quadratic around the minimum; diagonal Q",
    symbols={
        r"h_i": "the curvature of the loss along weight $i$",
        r"\sigma_i": "the variance of the posterior along weight $i$",
        r"c": "the weight of the loss against the divergence, 40 here",
        r"N(\theta_0,\lambda I)": r"the prior, of variance $\lambda$ in every direction; 0.5 here",
    },
    why=r"Noise of variance $\sigma_i$ adds $\frac12h_i\sigma_i$ to a quadratic loss, and the divergence of a Gaussian "
    r"is $\frac12(\sigma_i/\lambda-\ln\sigma_i)$ and what does not depend on it. The derivative in $\sigma_i$ vanishes "
    r"where $1/\sigma_i=1/\lambda+ch_i$: precisions of the prior and of the loss add up.",
    notice=r"Left: flat directions keep the prior's variance; from a curvature of about $1/c\lambda$ on the posterior "
    r"narrows like $1/ch$. Right: the loss rises in proportion to the variance of the noise.",
    explore={"weight": (4.0, 12.0, 40.0, 120.0, 400.0), "prior_variance": (0.05, 0.2, 0.5, 2.0)},
    full=dict(trials=40_000),
)
def flat_minima(
    key,
    *,
    trials: Trials = 4000,
    prior_variance: Annotated[float, Interval(ge=0.05, le=5.0)] = 0.5,
    weight: Annotated[float, Interval(ge=4.0, le=400.0)] = 40.0,
):
    from scipy.optimize import root

    draw = generator(key)
    size = 8
    design = draw.standard_normal((30, size)) * np.geomspace(0.03, 3, size)
    labels = draw.standard_normal(30)
    hessian = design.T @ design / 30
    curvatures = np.diag(hessian)
    best = np.linalg.solve(hessian, design.T @ labels / 30)

    def objective(logs):
        noise = 0.5 * weight * jnp.sum(curvatures * jnp.exp(logs))
        return noise + diagonal_gaussian_kl(best, logs, np.zeros(size), np.full(size, np.log(prior_variance)))

    # Convex in the logarithms, so a zero of the slope is the minimum; values alone place it to half the digits only.
    found = root(jax.jit(jax.grad(objective)), np.full(size, np.log(prior_variance)), options=dict(xtol=1e-12))
    predicted = np.asarray(flat_minimum_variances(curvatures, prior_variance, weight))
    scales = np.array([0.5, 1.0, 2.0])
    noise = draw.standard_normal((trials, size))
    losses = np.empty((len(scales), trials))
    at_best = 0.5 * np.mean((design @ best - labels) ** 2)
    for i, scale in enumerate(scales):
        residual = (best + noise * np.sqrt(scale * predicted)) @ design.T - labels
        losses[i] = 0.5 * np.mean(residual**2, axis=1) - at_best
    return {
        "best variances": Identity(
            np.exp(found.x),
            predicted,
            error=1e-9 * predicted,
            aside={"curvature": curvatures, "without prior": 1 / (weight * curvatures)},
        ),
        "loss added by noise": Law(
            0.5 * scales * (curvatures @ predicted),
            losses,
            along={"variance scale": scales},
            exact=True,
            resolution=0.1,
        ),  # squares of few Gaussians: their mean is known to some per cent
        "prior or curvature limits the variance": Inequality(
            np.exp(found.x), 1 / np.maximum(1 / prior_variance, weight * curvatures), error=1e-9 * predicted
        ),
    }


@flat_minima.control("the printed σ as a standard deviation", of="best variances")
def standard_deviation(evidence):
    return replace(evidence, right=np.sqrt(evidence.right))


@flat_minima.control("curvature alone, without the prior's own precision", of="best variances")
def curvature_alone(evidence):
    return replace(evidence, right=evidence.aside["without prior"])


@flat_minima.control("the smaller of the two variances, halved", of="prior or curvature limits the variance")
def halved(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@flat_minima.picture
def widths_and_curvatures(pieces, settings):
    """Posterior variance against curvature: formula and minimiser; and the loss added by noise of several sizes."""
    variances, loss = pieces["best variances"], pieces["loss added by noise"]
    curvature = np.asarray(variances.aside["curvature"])
    grid = np.geomspace(curvature.min() / 2, 2 * curvature.max(), 80)
    scales = loss.along["variance scale"]
    return Row(
        [
            Curves(
                [
                    Line("formula", grid, flat_minimum_variances(grid, settings["prior_variance"], settings["weight"])),
                    Dots("minimiser", curvature, variances.left),
                    Line("1/ch", grid, 1 / (settings["weight"] * grid), rival="curvature alone"),
                    Level("the prior's", y=settings["prior_variance"]),
                ],
                x="curvature h of the loss along a weight",
                y="variance of the posterior",
                log="xy",
                ys=(float(np.min(variances.left)) / 2, 4 * settings["prior_variance"]),
            ),
            Curves(
                [Line("½ Σ hσ", scales, loss.predicted), seen("observed", scales, loss.observed)],
                x="variance of the noise, as a multiple of the posterior's",
                y="loss added",
            ),
        ]
    )


@flat_minima.control("the loss grows with the width, not with its square", of="loss added by noise")
def linear_growth(evidence):
    return replace(evidence, predicted=evidence.predicted / np.sqrt(evidence.along["variance scale"]))
