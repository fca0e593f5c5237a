"""A row of attention is a Gibbs measure, and what inverse temperature does to one (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.attention.clusters import attention_matrix, random_tokens
from deeptheory.attention.gibbs import gibbs_entropy, gibbs_measure, log_partition, mean_energy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Level, Line

SHOWN = np.linspace(0.05, 8.0, 40)


@jax.jit
def measured(tokens, query, key, betas, scores, misfit, log_prior, squares):
    """Attention, the slopes of log Z and of the entropy with the entropy, and two families of Gibbs measures."""

    def along(function):
        return jax.vmap(jax.vmap(jax.value_and_grad(function, argnums=1), (0, None)), (None, 0))(-scores, SHOWN)

    rows = jax.vmap(lambda beta: attention_matrix(tokens, beta, query, key))(betas)
    posterior = jax.vmap(lambda beta: gibbs_measure(misfit, beta, log_prior))(betas)
    held = jax.vmap(lambda beta: mean_energy(squares, beta))(betas)
    return rows, along(log_partition)[1], *along(gibbs_entropy), posterior, held


@claim(
    items={
        "J14.4": ("attention of each token", "slope of the entropy of attention"),
        "J14.15": (
            "slope of the log partition function",
            "tempered posterior of a Gaussian mean",
            "energy in the cold",
        ),
    },
    says=r"Attention $A_{ij}=e^{\beta\langle Qx_i,Kx_j\rangle}/Z_{\beta,i}$ has rows that are Gibbs measures with "
    r"energies $-\langle Qx_i,Kx_j\rangle$: row sums 1, entropy falling at the rate $\beta\,\mathrm{Var}$. For any "
    r"energy $\frac{d}{d\beta}\log Z=-\langle E\rangle$; with $-E$ a log-likelihood it is Bayes' rule at $\beta=1$.",
    needs="finitely many states; a sum of weights for each row",
    symbols={
        r"A_{ij}": "the attention that token $i$ pays to token $j$",
        r"\beta": "the inverse temperature",
        r"Q,K": "the query and key matrices",
        r"x_i": "token $i$, a unit vector",
        r"Z_{\beta,i}": "the sum of the weights of row $i$; $Z$ of all weights",
        r"E": "the energy of a state; angle brackets are its mean, Var its variance",
    },
    why=r"A softmax is what a physicist calls a Gibbs measure: states of low energy have weight $e^{-\beta E}$. The "
    r"logarithm of the sum of weights generates the cumulants of the energy, the mean as its first derivative and the "
    r"variance as its second. The entropy is $\log Z+\beta\langle E\rangle$, so its derivative is "
    r"$-\beta\,\mathrm{Var}\,E$. A likelihood raised to the power $\beta$ counts each observation $\beta$ times.",
    notice=r"Each line is the entropy of one token's attention. All start at the logarithm of the number of tokens, "
    "where attention is uniform, leave it with slope zero and fall to zero, where one token has all the attention.",
    explore={"count": (4, 8, 16)},
)
def attention_rows_are_gibbs_measures(
    key,
    *,
    count: Annotated[int, Interval(ge=2, le=64)] = 12,
    dimension: Annotated[int, Interval(ge=2, le=64)] = 6,
    observations: Annotated[int, Interval(ge=1, le=50)] = 7,
):
    rng, betas = generator(key), np.array([0.5, 1.0, 2.0, 8.0])
    tokens, (query, keys) = random_tokens(key, count, dimension), rng.standard_normal((2, dimension, dimension))
    scores = np.array([[np.dot(query @ x, keys @ y) for y in tokens] for x in tokens])
    # A Gaussian mean with prior N(0, τ²), observed with noise σ², the likelihood raised to the power β.
    prior, noise, seen = 1.5, 0.8, 0.4 + rng.standard_normal(observations)
    grid = np.linspace(-12.0, 12.0, 4001)
    misfit, squares = np.sum((seen[:, None] - grid) ** 2, 0) / (2 * noise), grid**2
    attention, falls, entropies, entropy_slopes, posterior, held = map(
        np.asarray, measured(tokens, query, keys, betas, scores, misfit, -squares / (2 * prior), squares)
    )
    weights = np.exp(betas[:, None, None] * (scores - scores.max(-1, keepdims=True)))
    sums = weights.sum(-1, keepdims=True)
    literal = np.exp(SHOWN[:, None, None] * scores)
    literal /= literal.sum(-1, keepdims=True)
    mean = np.sum(literal * scores, -1)
    spread = np.sum(literal * (scores - mean[..., None]) ** 2, -1)
    centre = posterior @ grid
    width = np.sum(posterior * (grid - centre[:, None]) ** 2, -1)
    data = observations / noise
    precision, pulled = 1 / prior + betas * data, seen.sum() / noise
    bound = np.abs(scores).max()
    return {
        "attention of each token": Identity(
            attention,
            weights / sums,
            scale=1.0,
            size=count,
            condition=betas.max() * bound,
            aside={"one sum for all rows": weights / sums.mean(-2, keepdims=True)},
        ),
        "slope of the entropy of attention": Identity(
            entropy_slopes,
            -SHOWN[:, None] * spread,
            scale=(1 + SHOWN[:, None] * bound) * bound,
            condition=SHOWN.max() * bound,
            along={"inverse temperature": SHOWN, "token": np.arange(count)},
            aside={"entropy": entropies},
        ),
        "slope of the log partition function": Identity(
            falls,
            mean,
            scale=bound,
            condition=SHOWN.max() * bound,
            aside={"variance": spread},
        ),
        "tempered posterior of a Gaussian mean": Identity(
            np.stack([centre, width]),
            np.stack([betas * pulled / precision, 1 / precision]),
            scale=12.0,
            size=len(grid),
            aside={"prior tempered too": np.stack([0 * betas + pulled, 1 / betas]) / (1 / prior + data)},
        ),
        "energy in the cold": Identity(betas * held, 0.5, size=len(grid)),
    }


@attention_rows_are_gibbs_measures.control("one sum of weights for all tokens", of="attention of each token")
def one_sum(evidence):
    return replace(evidence, right=evidence.aside["one sum for all rows"])


@attention_rows_are_gibbs_measures.control("without the factor β", of="slope of the entropy of attention")
def without_beta(evidence):
    return replace(evidence, right=evidence.right / np.asarray(evidence.along["inverse temperature"])[:, None])


@attention_rows_are_gibbs_measures.control("the variance for the mean", of="slope of the log partition function")
def second_cumulant(evidence):
    return replace(evidence, right=evidence.aside["variance"])


@attention_rows_are_gibbs_measures.control(
    "the prior raised to the same power", of="tempered posterior of a Gaussian mean"
)
def tempered_prior(evidence):
    return replace(evidence, right=evidence.aside["prior tempered too"])


@attention_rows_are_gibbs_measures.control("1/β, as of two degrees of freedom", of="energy in the cold")
def two_degrees(evidence):
    return replace(evidence, right=2 * evidence.right)


@attention_rows_are_gibbs_measures.picture
def entropies(pieces):
    """The entropy of every token's attention against the inverse temperature."""
    found = pieces["slope of the entropy of attention"]
    lines = np.asarray(found.aside["entropy"]).T
    betas = found.along["inverse temperature"]
    uniform = Level("uniform attention", y=float(np.log(len(lines))))
    marks = [Line("tokens", betas, each, thin=True) for each in lines]
    return Curves([*marks, uniform], x="inverse temperature β", y="entropy of a token's attention")
