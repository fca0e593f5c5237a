"""Relative entropies in closed form, and the inequality that trades a posterior for a prior."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from annotated_types import Interval
from scipy.integrate import quad_vec
from scipy.special import logsumexp, ndtri, rel_entr
from scipy.stats import multivariate_normal, norm

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.pac_bayes.change_of_measure import (
    change_of_measure_gap,
    diagonal_gaussian_kl,
    finite_kl,
    flat_minimum_variances,
    gaussian_kl,
    gibbs_posterior,
    isotropic_gaussian_kl,
)
from deeptheory.lab import Chain, Count, Exact, Identity, Inequality, Law, Trials, claim


def covariance(draw, size):
    """A random covariance whose eigenvalues are at least one half: narrow directions would make log-ratios unruly."""
    root = draw.standard_normal((size, size)) / size**0.5
    return root @ root.T + 0.5 * np.eye(size)


@claim(
    items={
        "H11.1": ("quadrature", "sampled", "common axes", "isotropic", "point mass", "not negative"),
        "L9.2": ("finite", "quadrature", "not negative", "not symmetric"),
        "A5.29": ("sampled", "diagonal"),
        "L9.7": "diagonal",
        "A5.30": ("not dominated", "infinite"),
    },
    says=r"$KL(Q\|P)=\mathbb E_Q\ln(dQ/dP)$. On a finite set it is $\sum Q\ln(Q/P)$, and $\ln 1/P(h)$ for a point "
    r"mass at $h$; for Gaussians $\frac12[\mathrm{tr}\,\Sigma_P^{-1}\Sigma_Q+(m_Q-m_P)^\top\Sigma_P^{-1}(m_Q-m_P)-k+"
    r"\ln\frac{\det\Sigma_P}{\det\Sigma_Q}]$, which for $N(\theta_0,\lambda I)$ and variances $\sigma_i$ is "
    r"$\frac12[\sum\sigma_i/\lambda+|\theta-\theta_0|^2/\lambda-p+p\ln\lambda-\sum\ln\sigma_i]$, and "
    r"$\|w\|^2/2\sigma^2$ for a shift alone. It is at least twice the squared total variation, so zero only for equal "
    r"laws, and it is not symmetric. A law on finitely many numbers is not dominated by a Gaussian: seen through "
    r"cells of equal prior probability its divergence grows by $\ln 2$ with each halving of the cells.",
    needs="Q dominated by P; covariances of full rank",
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
    q, p = laws
    # Gaussians on the line, by integrating q·log(q/p) numerically in units of q.
    m, n = draw.standard_normal((2, 12))
    s, t = np.exp(draw.uniform(-1, 1, (2, 12)))
    on_the_line, slip = quad_vec(
        lambda z: norm.pdf(z) * (norm.logpdf(z) - np.log(s) - norm.logpdf((m + s * z - n) / t) + np.log(t)), -12, 12
    )
    closed = [divergence(m[[i]], s[[i], None] ** 2, n[[i]], t[[i], None] ** 2) for i in range(12)]
    mean, prior_mean = draw.standard_normal((2, size))
    sigma, prior_sigma = covariance(draw, size), covariance(draw, size)
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
    seen = np.asarray(finite_kl(posterior_cells, prior_cells))
    return {
        "finite": Identity(finite_kl(q, p), rel_entr(q, p).sum(-1), scale=np.abs(q * np.log(q / p)).sum(-1), size=6.0),
        "quadrature": Identity(closed, on_the_line, scale=1 + np.abs(on_the_line), error=1e-9 + slip),
        "sampled": Law(divergence(mean, sigma, prior_mean, prior_sigma), ratios, exact=True),
        "common axes": Identity(divergence(mean, sigma, prior_mean, prior_sigma), along_axes, condition=100.0),
        "isotropic": Identity(
            isotropic_gaussian_kl(np.linalg.norm(mean - prior_mean), prior_variance),
            gaussian_kl(mean, level, prior_mean, level),
            condition=10.0,
        ),
        "diagonal": Identity(
            diagonal_gaussian_kl(mean, np.log(variances), prior_mean, np.full(size, np.log(prior_variance))),
            gaussian_kl(mean, np.diag(variances), prior_mean, level),
            condition=10.0,
        ),
        "point mass": Identity(finite_kl(np.eye(6), p[:1]), np.log(1 / p[0])),
        "not negative": Chain(
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
        "not dominated": Identity(np.diff(seen)[2:], np.full(7, np.log(2)), error=1e-9),
        "infinite": Exact(np.isinf([finite_kl(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))]), [True]),
    }


relative_entropy.control("the divergence in the other order", of="sampled", order="prior first")
relative_entropy.control("the two orders agree", of="quadrature", order="prior first")


@relative_entropy.control(
    "a Gaussian prior gives every vector positive probability, so the divergence stays finite",
    of="not dominated",
)
def finite_after_all(evidence):
    return replace(evidence, right=np.zeros(7))


@claim(
    items={"L9.3": ("inequality", "gap", "equality"), "A5.33": ("on a sample", "one sign")},
    says=r"$\mathbb E_Q\varphi\le KL(Q\|P)+\ln\mathbb E_Pe^\varphi$ for every $Q$ dominated by $P$; what is missing is "
    r"$KL(Q\|G)$ with $G\propto Pe^\varphi$, so equality holds at $G$ and only there. Hence for every sample and $Q$ "
    r"$\frac m2(\mathbb E_Q\Delta)^2-KL(Q\|P)\le\ln\mathbb E_Pe^{\frac m2\Delta^2}$, with equality where all "
    r"$\Delta$ are equal and $Q=P$; with the mean square of $\Delta$ in place of the squared mean, at the Gibbs law.",
    needs="Q dominated by P",
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
    m = 50
    risks = draw.uniform(0.05, 0.95, (count, 6))
    gaps = risks - draw.binomial(m, risks) / m
    level = np.abs(gaps[:, :1])
    log_mean = np.asarray(logsumexp(m / 2 * gaps**2, b=p, axis=-1))
    at_gibbs = np.asarray(gibbs_posterior(p, m / 2 * gaps**2)) if support == "dominated" else q
    return {
        "inequality": Inequality((q * score).sum(-1), divergence + log_moment, error=error),
        "gap": Identity(
            change_of_measure_gap(q, p, score),
            rel_entr(q, gibbs).sum(-1),
            scale=1 + np.abs(score).max(-1),
            condition=10.0,
        ),
        "equality": Identity(
            change_of_measure_gap(gibbs_posterior(p, score), p, score), 0.0, scale=1 + np.abs(score).max(-1), size=36.0
        ),
        "on a sample": Inequality(m / 2 * (q * gaps).sum(-1) ** 2 - divergence, log_mean, error=1e-13 * m),
        "one sign": Identity(
            np.stack(
                [
                    m / 2 * (p * level).sum(-1) ** 2 - np.asarray(finite_kl(p, p)),
                    m / 2 * (at_gibbs * gaps**2).sum(-1) - np.asarray(finite_kl(at_gibbs, p)),
                ]
            ),
            np.stack([m / 2 * level[:, 0] ** 2, log_mean]),
            scale=float(m),
        ),
    }


change_of_measure.control("Q not dominated by P, the sum over the common support", of="inequality", support="not")


change_of_measure.control("the mean of φ under P for the logarithm of a mean", of="inequality", moment="of the score")


@change_of_measure.control("an equality for every Q", of="gap")
def no_gap(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@claim(
    items={"L9.8": ("variances", "mean loss", "trade-off")},
    says=r"Around a minimum with curvatures $h_i$ noise of variance $\sigma_i$ on the weights adds $\frac12\sum h_i"
    r"\sigma_i$ to a quadratic loss, exactly, and the posterior that minimises $c\cdot$loss $+KL(Q\|N(\theta_0,\lambda "
    r"I))$ has $\sigma_i=1/(1/\lambda+ch_i)$: flat directions keep the width of the prior, curved ones pay.",
    needs="a loss that is quadratic around the minimum; diagonal Q",
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
        "variances": Identity(np.exp(found.x), predicted, error=1e-9 * predicted),
        "mean loss": Law(
            0.5 * scales * (curvatures @ predicted),
            losses,
            along={"variance scale": scales},
            exact=True,
            resolution=0.1,
        ),  # squares of few Gaussians: their mean is known to some per cent
        "trade-off": Inequality(
            np.exp(found.x), 1 / np.maximum(1 / prior_variance, weight * curvatures), error=1e-9 * predicted
        ),
    }


@flat_minima.control("the printed σ as a standard deviation", of="variances")
def standard_deviation(evidence):
    return replace(evidence, right=np.sqrt(evidence.right))


@flat_minima.control("curvature alone, without the prior's own precision", of="variances")
def curvature_alone(evidence):
    return replace(evidence, right=1 / (1 / np.asarray(evidence.right) - 2.0))


@flat_minima.control("the loss grows with the width, not with its square", of="mean loss")
def linear_growth(evidence):
    return replace(evidence, predicted=evidence.predicted / np.sqrt([0.5, 1.0, 2.0]))
