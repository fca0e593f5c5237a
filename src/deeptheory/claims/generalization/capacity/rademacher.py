"""Rademacher complexity: values by enumeration, what bounds it, and what it bounds."""

import math
from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.special import gammaln

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.rademacher import (
    absolute_ball_supremum,
    all_signs,
    ball_supremum,
    exact_complexity,
    finite_supremum,
    kernel_ball_supremum,
    relu_plane_supremum,
    sampled_complexity,
    threshold_supremum,
    two_sample_threshold_complexity,
)
from deeptheory.generalization.capacity.rademacher_bounds import (
    complexity_deviation,
    empirical_complexity_deviation,
    finite_class_complexity,
    frobenius_network_complexity,
    kernel_label_complexity,
    linear_complexity,
    vc_complexity,
)
from deeptheory.lab import Chain, Chance, Identity, Inequality, Law, Limit, Reals, Trials, claim

POINTS = 10
Radius = Annotated[float, Interval(ge=0.1, le=10)]
SIGNS = all_signs(7)


@claim(
    items={
        "L8.15": ("by hand", "draws"),
        "H7.6": ("by hand", "draws", "linear", "absolute", "finite", "shattering"),
        "L8.19": ("linear", "orthogonal"),
        "A5.12": ("linear", "orthogonal", "many dimensions"),
    },
    says=r"Over all $2^n$ signs: all labelings have complexity 1, one function 0; the linear ball has "
    r"$\frac Bn\mathbb E\|\sum\sigma_ix_i\|$, between $1/\sqrt2$ times and once $\frac Bn\sqrt{\sum\|x_i\|^2}\le "
    r"B\max\|x_i\|/\sqrt n$, equal for orthogonal inputs and in the limit of many dimensions; finite classes lie below "
    r"$\max\|f\|\sqrt{2\ln N}/n$, thresholds (VC dimension 1) below $\sqrt{2V\ln(en/V)/n}$.",
    needs="ten points, enumerated; the expectation is over signs alone",
    full=dict(trials=65_536),
)
def complexities_by_enumeration(
    key, *, trials: Trials = 16_384, radius: Radius = 1.5, inputs: Literal["orthogonal", "parallel"] = "orthogonal"
):
    key, signs = jax.random.split(key)
    draw, n = generator(key), POINTS
    x = draw.standard_normal((n, 4))
    square = (
        np.linalg.qr(draw.standard_normal((n, n)))[0] if inputs == "orthogonal" else np.outer(np.ones(n), np.eye(n)[0])
    )
    values = draw.standard_normal((30, n))
    constant = finite_supremum(np.array([np.ones(n), -np.ones(n)]))
    exact = exact_complexity(ball_supremum(x, radius), n)
    bound = linear_complexity(x, radius)
    sizes = np.array([4, 16, 64, 256])
    wide = [[draw.standard_normal((8, d)) for _ in range(40)] for d in sizes]
    shares = np.array([[exact_complexity(ball_supremum(z), 8) / linear_complexity(z) for z in each] for each in wide])
    return {
        # E|Σσ| of ten signs is 2·10·C(9, 4)/2¹⁰·… = 2520/1024.
        "by hand": Identity(
            np.array(
                [exact_complexity(s, n) for s in (finite_supremum(all_signs(n)), finite_supremum(values[:1]), constant)]
            ),
            np.array([1.0, 0.0, 2520 / 1024 / n]),
            scale=1.0,
        ),
        "draws": Law(exact, sampled_complexity(signs, ball_supremum(x, radius), n, trials), exact=True),
        "linear": Chain(
            {
                "Jensen": (exact, bound),
                "Khintchine": (bound, np.sqrt(2) * exact),
                "largest norm": (bound, radius * np.max(np.linalg.norm(x, axis=1)) / np.sqrt(n)),
            }
        ),
        "orthogonal": Identity(exact_complexity(ball_supremum(square, radius), n), linear_complexity(square, radius)),
        "absolute": Inequality(
            exact_complexity(absolute_ball_supremum(x, radius), n),
            finite_class_complexity(radius * np.vstack([x.T, -x.T])),
        ),
        "finite": Inequality(exact_complexity(finite_supremum(values), n), finite_class_complexity(values)),
        "shattering": Inequality(2 * exact_complexity(threshold_supremum(x[:, 0]), n), vc_complexity(n, 1)),
        "many dimensions": Limit(sizes.astype(float), 1 - shares.mean(1), order=1.0),
    }


complexities_by_enumeration.control("parallel inputs", of="orthogonal", inputs="parallel")


@complexities_by_enumeration.control("the labels' values 0 and 1 for ±1", of="by hand")
def zero_and_one(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / 2)


@complexities_by_enumeration.control("the root of the mean square for the mean", of="draws")
def root_mean_square(evidence):
    return replace(evidence, predicted=np.sqrt(np.mean(np.square(evidence.observed))))


@complexities_by_enumeration.control("equality in one dimension too", of="linear")
def always_equal(evidence):
    exact, bound = evidence.links["Jensen"]
    return replace(evidence, links={"equal": (bound, exact)})


CONTRACTIONS = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "absolute value": jnp.abs,
    "clip": lambda t: jnp.clip(t, -0.5, 0.5),
    "shifted": lambda t: 1 + jnp.sin(t),
    "twice": lambda t: 2 * jnp.abs(t),
}
SMOOTH = ("relu", "tanh", "absolute value", "clip", "shifted")


@claim(
    items={"L8.20": "", "H7.7": ""},
    says=r"Composing with a function of Lipschitz constant L multiplies the complexity by at most L, whether or not it "
    r"vanishes at 0.",
    needs="any six functions on seven points; complexity without an absolute value",
    over=dict(values=Reals(-2, 2, shape=(6, 7))),
)
def contraction(values, *, activation: Literal["1-Lipschitz", "2-Lipschitz"] = "1-Lipschitz"):
    names = SMOOTH if activation == "1-Lipschitz" else ("twice",)
    composed = jnp.stack([CONTRACTIONS[name](values) for name in names])
    before = jnp.mean(jnp.max(SIGNS @ values.T, axis=1)) / 7
    after = jnp.mean(jnp.max(jnp.einsum("sn,cfn->csf", SIGNS, composed), axis=2), axis=1) / 7
    return Inequality(jnp.max(after), before, scale=1.0)


contraction.control("a function of constant 2", activation="2-Lipschitz")


@claim(
    items={"L8.25": ""},
    says=r"The complexity of all sums $f+g$ is the sum of the complexities.",
    needs="any two classes of four functions on seven points",
    over=dict(first=Reals(-2, 2, shape=(4, 7)), second=Reals(-2, 2, shape=(4, 7))),
)
def complexity_of_sums(first, second, *, together: Literal["sums", "union"] = "sums"):
    sums = (first[:, None] + second).reshape(-1, 7) if together == "sums" else jnp.concatenate([first, second])

    def complexity(values):
        return jnp.mean(jnp.max(SIGNS @ values.T, axis=1)) / 7

    return Identity(complexity(sums), complexity(first) + complexity(second), scale=1.0, size=7.0)


complexity_of_sums.control("the union of the classes", together="union")


@claim(
    items={"L8.21": ("unit", "unit attained"), "L8.22": ("two layers", "equal inputs", "depth")},
    says=r"One rectified unit with $\|w\|\le B$ has complexity at most $B\max\|x_i\|/\sqrt n$, half the linear "
    r"ball's when all inputs agree; two layers with Frobenius norms at most B at most $(2B)^2/\sqrt n$, the exact "
    r"value being that of a single unit, whatever the width. Each further layer multiplies the bound by 2B, and three "
    r"layers drawn from the balls stay below theirs.",
    needs="inputs in the unit disc",
)
def network_complexities(key, *, radius: Radius = 1.0, reach: Annotated[float, Interval(ge=0.1, le=100)] = 1.0):
    draw, n = generator(key), 9
    x = draw.standard_normal((6, n, 2))
    x /= np.maximum(np.linalg.norm(x, axis=2, keepdims=True), 1)
    same = np.tile([[1.0, 0.0]], (n, 1))
    x = reach * np.concatenate([x, same[None]])  # equal inputs come nearest to the bound for two layers
    unit = np.array([radius * exact_complexity(relu_plane_supremum(z), n) for z in x])
    two = np.array([radius**2 * exact_complexity(relu_plane_supremum(z, both_signs=True), n) for z in x])
    signs, first = all_signs(n)[::37], draw.standard_normal((2000, 3, 2))
    first *= radius / np.linalg.norm(first, axis=(1, 2), keepdims=True)
    second = draw.standard_normal((2000, 3))
    second *= radius / np.linalg.norm(second, axis=1, keepdims=True)
    outputs = np.einsum("ch,chn->cn", second, np.maximum(np.einsum("chk,nk->chn", first, x[0]), 0))
    # Any networks in the balls bound the complexity from below: drawn ones, and the best single unit passed on.
    middle = draw.standard_normal((2000, 3, 3))
    middle *= radius / np.linalg.norm(middle, axis=(1, 2), keepdims=True)
    hidden = np.maximum(np.einsum("chk,nk->chn", first, x[0]), 0)
    deep = np.einsum("ch,chn->cn", second, np.maximum(np.einsum("cgh,chn->cgn", middle, hidden), 0))
    return {
        "unit": Inequality(unit, np.array([linear_complexity(z, radius) for z in x])),
        # Inputs all equal to e₁: the unit gives B·E max(Σσ, 0)/n, half of the linear ball's B·E|Σσ|/n.
        "unit attained": Identity(
            radius * exact_complexity(relu_plane_supremum(same), n),
            exact_complexity(ball_supremum(same, radius), n) / 2,
        ),
        "two layers": Inequality(two, frobenius_network_complexity(n, 2, radius)),
        "any width": Inequality(
            np.max(signs @ outputs.T, axis=1),
            radius**2 * relu_plane_supremum(x[0], both_signs=True)(signs),
        ),
        "three layers": Inequality(
            np.array([exact_complexity(finite_supremum(deep), n), radius * two[0]]),
            frobenius_network_complexity(n, 3, radius),
        ),
        "depth": Identity(
            np.array([frobenius_network_complexity(100, layers, radius) for layers in (2, 3, 4)]),
            np.array([0.4 * radius**2, 0.8 * radius**3, 1.6 * radius**4]),
            aside={"radius": radius},
        ),
        # E|σ₁ + … + σ₉| = 9·C(8, 4)/2⁸ in closed form, a fifth of what the bound allows.
        "equal inputs": Identity(two[-1], reach * radius**2 * math.comb(8, 4) / 2**8),
    }


network_complexities.control("inputs outside the disc of radius 4.9", of="two layers", reach=5.0)


@network_complexities.control("a factor 2B for every layer but one", of="depth")
def one_layer_free(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / (2 * evidence.aside["radius"]))


@network_complexities.control("half the linear ball's, as when all inputs agree", of="unit")
def half_for_all_inputs(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@claim(
    items={
        "L8.16": ("one function", "all functions", "reached"),
        "H7.7": ("one function", "all functions", "reached", "empirical", "composed"),
        "A5.11": ("one function", "all functions", "reached"),
        "L8.24": ("empirical", "composed"),
        "L8.26": "clipped",
    },
    says=r"With probability $1-\delta$ all f with values in [0, 1] have "
    r"$\mathbb Ef-\hat{\mathbb E}f\le2R+\sqrt{\log\frac1\delta/2n}$, and on both sides $2\hat "
    r"R+3\sqrt{\log\frac2\delta/2n}$ with the complexity of the sample; printed constants are $\sqrt2$ times larger. "
    r"For the class of one coin the failure rate is exact.",
    needs="independent samples, values in [0, 1]",
)
def complexity_bounds(key, *, trials: Trials = 1500, width: Annotated[float, Interval(ge=0.1, le=4)] = 1.0):
    from scipy.stats import binom

    draw, delta, n = generator(key), 0.1, 60
    # One coin: nothing to choose, R = 0, and the deviation's chance is a binomial tail.
    sizes = np.array([20, 60, 500])
    deviation = complexity_deviation(0.0, sizes, delta, width=width)
    coin = binom.cdf(np.floor(sizes * (0.5 - deviation) + 1e-9), sizes, 0.5)
    # Linear functions of eight directions, clipped to [0, 1], on twelve atoms.
    x, w = draw.standard_normal((12, 3)), draw.standard_normal((8, 3))
    values = np.clip(0.5 + w @ x.T / 4, 0, 1)
    samples = draw.integers(0, 12, (trials, n))
    seen = values[:, samples]
    gaps = values.mean(1)[:, None] - seen.mean(2)
    # The complexity of each sample, from 200 signs shared by all, and its mean.
    signs = draw.choice([-1.0, 1.0], (n, 200))
    complexities = np.mean(np.max(seen @ signs, axis=0), axis=1) / n
    unclipped = np.mean(np.max((w @ x.T / 4)[:, samples] @ signs, axis=0), axis=1) / n
    # All functions to {0, 1} on many atoms: 0 on the sample and 1 elsewhere has gap 1 − n/M, and the complexity is ½.
    atoms = 10**6
    spread = np.sqrt(np.log(2 / delta) / (2 * n))
    return {
        "one function": Inequality(coin, delta),
        "all functions": Chance(
            np.sum(gaps.max(0) > complexity_deviation(complexities.mean(), n, delta)), trials, delta
        ),
        "empirical": Chance(
            np.sum(np.abs(gaps).max(0) > empirical_complexity_deviation(complexities, n, delta)), trials, delta
        ),
        # The ramp is 1-Lipschitz: the complexity of what it is applied to will do.
        "clipped": Chance(np.sum(gaps.max(0) > empirical_complexity_deviation(unclipped, n, delta)), trials, delta),
        "reached": Inequality(
            1 - n / atoms, complexity_deviation(exact_complexity(finite_supremum((1 + all_signs(9)) / 2), 9), n, 1.0)
        ),
        # Once for the gap and, doubled, once for the complexity, each at δ/2.
        "composed": Identity(
            empirical_complexity_deviation(0.1, n, delta), complexity_deviation(0.1 + spread, n, delta / 2)
        ),
    }


complexity_bounds.control("half the width of the interval", of="one function", width=0.5)


@claim(
    items={"A5.10": ("thresholds", "limit", "linear"), "A5.14": ("flipped", "shattered")},
    says=r"The two-sample complexity of thresholds is half the mean Kolmogorov–Smirnov distance of two samples, "
    r"$\sim\frac12\sqrt{2/m}\sqrt{\pi/2}\ln2$; for the unit linear class on Gaussian data it is "
    r"$\mathbb E\chi_d/\sqrt{2m}$. On every draw the signed form is 1/2 less the smallest error after flipping the "
    r"labels of the first half, so a class that fits all labels has complexity 1/2.",
    needs="0–1 losses; no absolute value in the second statement",
)
def two_sample_complexity(key, *, trials: Trials = 8192, m: Annotated[int, Interval(ge=5, le=200)] = 50):
    draw = generator(key)
    ranks = np.argsort(draw.random((trials, 2 * m)), axis=1)
    steps = np.where(ranks < m, 1, -1)
    distances = np.max(np.abs(np.cumsum(steps, axis=1)), axis=1) / (2 * m)
    d = 20
    norms = np.linalg.norm(draw.standard_normal((trials, d)) * np.sqrt(2 * m), axis=1) / (2 * m)
    chi = np.sqrt(2) * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2))
    sizes = np.array([20, 80, 320, 1280])
    asymptote = 0.5 * np.sqrt(2 / sizes) * np.sqrt(np.pi / 2) * np.log(2)
    ratios = np.array([two_sample_threshold_complexity(int(k)) for k in sizes]) / asymptote
    # Thresholds 1{z ≤ h} against labels: ℓ = 1{prediction ≠ label}; half of the labels flipped.
    z, labels = draw.random((200, 2 * m)), draw.integers(0, 2, (200, 2 * m))
    order = np.argsort(z, axis=1)
    predictions = np.tril(np.ones((2 * m + 1, 2 * m)), -1)
    sorted_labels = np.take_along_axis(labels, order, axis=1)
    first = np.take_along_axis(np.broadcast_to(np.arange(2 * m) < m, z.shape), order, axis=1)
    losses = predictions[None] != sorted_labels[:, None]
    flipped = np.where(first, 1 - sorted_labels, sorted_labels)
    smallest = np.min(np.mean(predictions[None] != flipped[:, None], axis=2), axis=1)
    signed = np.max(np.sum(np.where(first, 1, -1)[:, None] * losses, axis=2), axis=1) / (2 * m)
    every = all_signs(8) > 0
    half = np.where(np.arange(8) < 4, 1, -1)
    return {
        "thresholds": Law(two_sample_threshold_complexity(m), distances, exact=True),
        "limit": Limit(sizes.astype(float), np.abs(ratios - 1), order=0.5),
        "linear": Law(chi / np.sqrt(2 * m), norms, exact=True),
        "flipped": Identity(signed, 0.5 - smallest, scale=1.0),
        "shattered": Identity(np.max(every @ half) / 8, 0.5),
    }


@two_sample_complexity.control("the one-sample distance", of="limit")
def one_sample(evidence):
    return replace(evidence, y=np.abs((1 + np.asarray(evidence.y)) / np.sqrt(2) - 1))


two_sample_complexity.control("the root of d for the mean of χ", of="linear")(
    lambda evidence: replace(evidence, predicted=np.sqrt(20 / 100))
)
two_sample_complexity.control("labels of nobody flipped", of="flipped")(
    lambda evidence: replace(evidence, right=1 - np.asarray(evidence.right))
)


@claim(
    items={"A5.13": ("below", "invariant", "smooth labels")},
    says=r"The Hilbert ball just large enough to interpolate y has complexity at most "
    r"$\sqrt{2y^\top G^{-1}y\operatorname{tr}G}/n$, which does not change when the kernel is multiplied by a number; "
    r"smooth labels need less than random ones.",
    needs="a positive definite Gram matrix (RBF on the sphere)",
)
def kernel_complexity(key, *, scale: Annotated[float, Interval(ge=1e-3, le=1e3)] = 1.0, trials: Trials = 4000):
    key, signs = jax.random.split(key)
    draw, n = generator(key), 40
    x = draw.standard_normal((n, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gram = np.exp(x @ x.T - 1)
    labels = {"random": draw.choice([-1.0, 1.0], n), "smooth": x[:, 0] * np.sqrt(n / np.sum(x[:, 0] ** 2))}
    radius = {name: np.sqrt(y @ np.linalg.solve(gram * scale, y)) for name, y in labels.items()}
    observed = {
        name: sampled_complexity(signs, kernel_ball_supremum(gram * scale, r), n, trials).mean()
        for name, r in radius.items()
    }
    bounds = {name: kernel_label_complexity(gram * scale, y) for name, y in labels.items()}
    return {
        "below": Chain(
            {
                "corrected": (np.array(list(observed.values())), np.array(list(bounds.values()))),
                # E√(σᵀGσ) is within √2 of √(tr G), and the bound carries another √2.
                "not far below": (np.array(list(bounds.values())), 2 * np.array(list(observed.values()))),
            }
        ),
        "invariant": Identity(
            bounds["random"], kernel_label_complexity(gram, labels["random"]), condition=np.linalg.cond(gram)
        ),
        "smooth labels": Inequality(bounds["smooth"], bounds["random"]),
    }


@kernel_complexity.control("the Gram matrix not inverted, as printed", erratum="A5.13a", of="below")
def printed_form(evidence):
    # With the kernel c·G the complexity is the same and yᵀGy·tr G at most c²n³, whatever the labels: here c = 1/100.
    observed = np.asarray(evidence.links["corrected"][0])
    return replace(evidence, links={"printed": (observed, np.sqrt(2 * 0.01**2 * 40**3) / 40)})
