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
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen

POINTS = 10
Radius = Annotated[float, Interval(ge=0.1, le=10)]
SIGNS = all_signs(7)


@claim(
    items={
        "L8.15": ("by hand", "draws"),
        "H7.6": ("by hand", "draws", "linear"),
        "L8.19": ("linear", "orthogonal"),
        "A5.12": ("linear", "orthogonal"),
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
    over=dict(values=Reals(-2, 2, shape=(6, 7)), shift=Reals(0, 3)),
    symbols={r"L": "the most by which the composed function stretches the distance of two values"},
    why=r"Remove the function at one point after another. Average over the sign there: what is left is a supremum "
    r"over pairs of functions of $\varphi(f(x))-\varphi(g(x))$ plus terms that are symmetric in the pair, and this is "
    r"at most $L|f(x)-g(x)|$ plus the same terms. The pair may be exchanged, so the absolute value goes, and a sign "
    r"before $Lf(x)$ comes back. A constant drops out of every difference: nothing needs to vanish at 0.",
    notice=r"Each dot is a class of six functions: its complexity before and after the composition that makes it "
    r"largest. All lie on or below the diagonal, and many on it: where all values are positive the rectifier "
    r"changes nothing.",
)
def contraction(values, shift, *, activation: Literal["1-Lipschitz", "2-Lipschitz"] = "1-Lipschitz"):
    names = SMOOTH if activation == "1-Lipschitz" else ("twice",)
    # A constant changes no complexity; moved where all values are positive, the rectifier is the identity.
    composed = jnp.stack([CONTRACTIONS[name](values + shift) for name in names])
    before = jnp.mean(jnp.max(SIGNS @ values.T, axis=1)) / 7
    after = jnp.mean(jnp.max(jnp.einsum("sn,cfn->csf", SIGNS, composed), axis=2), axis=1) / 7
    return Inequality(jnp.max(after), before, scale=1.0)


contraction.control("a function of constant 2", activation="2-Lipschitz")


@contraction.picture
def before_and_after(pieces):
    """Complexities of classes of six functions before and after composition with 1-Lipschitz functions, the worst."""
    (evidence,) = pieces.values()
    after, before = np.ravel(evidence.quantity), np.ravel(evidence.bound)
    ends = np.array([0.0, 1.05 * before.max()])
    return Curves(
        [
            Line("equal", ends, ends),
            Line("half", ends, ends / 2, dashed=True),
            Dots("classes searched", before, after),
        ],
        x="complexity of the class", y="complexity after the composition",
    )  # fmt: skip


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
        "H7.7": ("one function", "all functions", "reached", "empirical", "composed", "memorized"),
        "A5.11": ("one function", "all functions", "reached"),
        "L8.24": ("empirical", "composed", "memorized"),
        "L8.26": ("clipped", "memorized"),
    },
    says=r"With probability $1-\delta$ all $f$ with values in $[0,1]$ have $\mathbb Ef-\hat{\mathbb E}f\le2R+"
    r"\sqrt{\log\frac1\delta/2n}$, and on both sides $2\hat R+3\sqrt{\log\frac2\delta/2n}$ with the complexity of the "
    r"sample, before or after clipping. Neither 2 can be smaller.",
    needs="independent samples, values in [0, 1]; the printed roots are √2 times larger, or twice for the clipped loss",
    symbols={
        r"\delta": "the probability with which the bound may fail",
        r"\mathbb Ef,\ \hat{\mathbb E}f": "the mean of a function on the population and on the sample",
        r"R": "the Rademacher complexity, averaged over samples",
        r"\hat R": "the Rademacher complexity on the sample at hand",
        r"n": "the size of the sample",
    },
    why=r"Replacing one of $n$ points moves the largest gap by at most $1/n$, so it stays near its mean, by "
    r"McDiarmid's inequality; and its mean is at most $2R$, by comparison with a second sample and random signs. The "
    r"complexity of the sample is such a function too, so it may stand for its mean at twice the price of the same "
    r"root. Clipping is 1-Lipschitz and adds nothing to the complexity.",
    notice=r"All functions from many atoms to $\{0,1\}$ fit every sample: complexity $\frac12$, gap near 1. The bound "
    r"comes down to it as the sample grows; with the complexity taken once it would soon lie below what is seen. For "
    r"eight functions on twelve atoms no gap comes near the bound.",
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
    # All functions to {0, 1}, which clipping leaves alone, on n² atoms: 0 on the sample and 1 elsewhere.
    every = exact_complexity(finite_supremum((1 + all_signs(9)) / 2), 9)
    grown = 4 ** np.arange(2, 8)
    memorized = np.array([1 - len(np.unique(draw.integers(0, k * k, k))) / k**2 for k in grown])
    bounds = empirical_complexity_deviation(every, grown, delta)
    spread = np.sqrt(np.log(2 / delta) / (2 * n))
    return {
        "one function": Inequality(coin, delta),
        "all functions": Chance(
            np.sum(gaps.max(0) > complexity_deviation(complexities.mean(), n, delta)), trials, delta
        ),
        "empirical": Chance(
            np.sum(np.abs(gaps).max(0) > empirical_complexity_deviation(complexities, n, delta)),
            trials,
            delta,
            aside={"largest": np.abs(gaps).max(), "samples": n},
        ),
        # The ramp is 1-Lipschitz: the complexity of what it is applied to will do.
        "clipped": Chance(np.sum(gaps.max(0) > empirical_complexity_deviation(unclipped, n, delta)), trials, delta),
        "reached": Inequality(memorized, complexity_deviation(every, grown, 1.0)),
        "memorized": Limit(
            grown, bounds - memorized, order=0.5, aside={"gap": memorized, "bound": bounds, "complexity": every}
        ),
        # Once for the gap and, doubled, once for the complexity, each at δ/2: 2(R̂ + s) + s.
        "composed": Identity(
            empirical_complexity_deviation(0.1, n, delta),
            complexity_deviation(0.1 + spread, n, delta / 2),
            aside={"samples": n, "delta": delta},
        ),
    }


complexity_bounds.control("half the width of the interval", of="one function", width=0.5)


@complexity_bounds.control("R in place of 2R", of="reached")
def complexity_once(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@complexity_bounds.control("the complexity of the sample once, not twice", of="memorized")
def sample_complexity_once(evidence):
    return replace(evidence, y=np.abs(np.asarray(evidence.y) - evidence.aside["complexity"]))


@complexity_bounds.control("both steps at δ itself, without halving it", of="composed")
def not_halved(evidence):
    n, delta = int(evidence.aside["samples"]), float(evidence.aside["delta"])
    return replace(evidence, right=complexity_deviation(0.1 + np.sqrt(np.log(1 / delta) / (2 * n)), n, delta))


@complexity_bounds.picture
def memorizing_class(pieces):
    """The gap of a class that fits every sample, under 2R̂ + 3√(log(2/δ)/2n), as the sample grows."""
    piece, small = pieces["memorized"], pieces["empirical"].aside
    aside = piece.aside
    return Curves(
        [
            Line("bound", piece.x, aside["bound"]),
            Dots("a class that fits every sample", piece.x, aside["gap"]),
            Dots("eight functions, largest of all gaps", [small["samples"]], [small["largest"]]),
            Line("bound", piece.x, aside["bound"] - aside["complexity"], rival="with R̂ in place of 2R̂"),
        ],
        x="samples n", y="generalization gap", log="x", ys=(0, 2),
    )  # fmt: skip


@claim(
    items={"A5.10": ("thresholds", "limit", "linear"), "A5.14": ("flipped", "shattered")},
    says=r"The two-sample complexity of thresholds is half the mean Kolmogorov–Smirnov distance of two samples of size "
    r"$m$, $\sim\frac12\sqrt{\pi/m}\ln2$; of the unit linear class on Gaussian data $\mathbb E\chi_d/\sqrt{2m}$. It is "
    r"$\frac12$ less the smallest error after the labels of one sample are flipped.",
    needs="0–1 losses and no absolute value for the last statement",
    symbols={
        r"m": "the size of each of the two samples",
        r"d": "the dimension of the inputs",
        r"\chi_d": "the length of a standard Gaussian vector of $d$ coordinates",
    },
    why=r"The complexity asks how differently one function can treat two samples from one source, on average. For "
    r"thresholds this is how far two empirical distribution functions come apart, for linear functions the length of "
    r"the difference of two means. With 0–1 losses, flipping the labels of the first sample turns its loss into one "
    r"less it, so a large difference is a small error on labels that are half wrong: fitting noise.",
    notice=r"The distance of two samples follows its exact law, and comes to the limit like $1/\sqrt m$; one sample "
    r"against the truth would be $\sqrt2$ times nearer.",
)
def two_sample_complexity(key, *, trials: Trials = 8192, m: Annotated[int, Interval(ge=5, le=200)] = 50):
    draw = generator(key)
    ranks = np.argsort(draw.random((trials, 2 * m)), axis=1)
    steps = np.where(ranks < m, 1, -1)
    distances = np.max(np.abs(np.cumsum(steps, axis=1)), axis=1) / (2 * m)
    # The two samples themselves: the difference of their sums is what the unit ball meets best along its direction.
    dimensions = np.array([4, 8])
    halves = np.where(np.arange(2 * m) < m, 1.0, -1.0)
    lengths = np.stack(
        [np.linalg.norm(halves @ draw.standard_normal((trials // 2, 2 * m, d)), axis=1) for d in dimensions]
    )
    chi = np.sqrt(2) * np.exp(gammaln((dimensions + 1) / 2) - gammaln(dimensions / 2))
    sizes = np.array([20, 80, 320, 1280])
    asymptote = 0.5 * np.sqrt(2 / sizes) * np.sqrt(np.pi / 2) * np.log(2)
    exact = np.array([two_sample_threshold_complexity(int(k)) for k in sizes])
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
        "thresholds": Law(two_sample_threshold_complexity(m), distances, exact=True, aside={"m": m}),
        "limit": Limit(
            sizes.astype(float), np.abs(exact / asymptote - 1), order=0.5, aside={"exact": exact, "limit": asymptote}
        ),
        "linear": Law(
            chi / np.sqrt(2 * m), lengths / (2 * m), along={"dimension": dimensions}, exact=True, aside={"m": m}
        ),
        "flipped": Identity(signed, 0.5 - smallest, scale=1.0, aside={"kept": losses.mean(2).min(1)}),
        "shattered": Identity(np.max(every @ half) / 8, 0.5),
    }


@two_sample_complexity.control("the one-sample distance", of="limit")
def one_sample(evidence):
    return replace(evidence, y=np.abs((1 + np.asarray(evidence.y)) / np.sqrt(2) - 1))


@two_sample_complexity.control("the root of d for the mean of χ", of="linear")
def root_of_dimension(evidence):
    return replace(evidence, predicted=np.sqrt(evidence.along["dimension"] / (2 * evidence.aside["m"])))


@two_sample_complexity.control("no labels flipped", of="flipped")
def nothing_flipped(evidence):
    return replace(evidence, right=0.5 - evidence.aside["kept"])


@two_sample_complexity.picture
def distances_of_samples(pieces):
    """Complexity of thresholds along the sample size: the exact law, what was drawn at one size, and the limit."""
    limit, drawn = pieces["limit"], pieces["thresholds"]
    return Curves(
        [
            Line("exact", limit.x, limit.aside["exact"]),
            Line("limit for large m", limit.x, limit.aside["limit"], dashed=True),
            seen("drawn", [drawn.aside["m"]], np.asarray(drawn.observed)[None]),
            Line("limit", limit.x, limit.aside["limit"] / np.sqrt(2), rival="one sample against the truth"),
        ],
        x="size m of each sample", y="two-sample complexity", log="xy",
    )  # fmt: skip


@claim(
    items={"A5.13": ("below", "invariant")},
    says=r"The Hilbert ball just large enough to interpolate the labels $y$ has complexity at most "
    r"$\sqrt{2y^\top G^{-1}y\operatorname{tr}G}/n$; neither side changes when the kernel is multiplied by a number. "
    r"Smooth labels need less than random ones.",
    needs="a positive definite Gram matrix (RBF on the sphere); the book names no class: the ball of the interpolant's "
    "norm is our reading of its hint, a linear classifier in the Hilbert space",
    symbols={
        r"y": "the labels of the sample",
        r"G": "the Gram matrix, the kernel at all pairs of inputs",
        r"n": "the number of inputs",
    },
    why=r"The interpolant of least norm has $\|f\|^2=y^\top G^{-1}y$. On a ball of radius $B$ the supremum over the "
    r"ball is $B\sqrt{\sigma^\top G\sigma}$ for signs $\sigma$, and its mean is at most $B\sqrt{\operatorname{tr}G}$. "
    r"Multiplying the kernel by $c$ divides $B^2$ by $c$ and multiplies the trace by it. Labels along large "
    r"eigenvalues of $G$ are cheap.",
    notice=r"The complexity and its bound do not depend on the scale of the kernel. The form with $G$ in place of its "
    r"inverse is proportional to it, and falls below the complexity for small kernels.",
)
def kernel_complexity(key, *, scale: Annotated[float, Interval(ge=1e-3, le=1e3)] = 0.01, trials: Trials = 4000):
    key, signs = jax.random.split(key)
    draw, n = generator(key), 40
    x = draw.standard_normal((n, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gram = np.exp(x @ x.T - 1)
    kernels = np.stack([gram, scale * gram])
    labels = np.stack([draw.choice([-1.0, 1.0], n), x[:, 0] * np.sqrt(n / np.sum(x[:, 0] ** 2))])
    radii = np.sqrt([[y @ np.linalg.solve(kernel, y) for y in labels] for kernel in kernels])
    # The supremum is proportional to the radius.
    unit = [sampled_complexity(signs, kernel_ball_supremum(kernel, 1.0), n, trials).mean() for kernel in kernels]
    observed = radii * np.array(unit)[:, None]
    bounds = np.stack([kernel_label_complexity(kernel, labels) for kernel in kernels])
    printed = (
        np.sqrt(2 * np.einsum("ai,kij,aj->ka", labels, kernels, labels) * np.trace(kernels, axis1=1, axis2=2)[:, None])
        / n
    )
    return {
        "below": Chain(
            {
                "with the inverse": (observed, bounds),
                # E√(σᵀGσ) is within √2 of √(tr G), and the bound carries another √2.
                "not far below": (bounds, 2 * observed),
            },
            aside={"printed": printed, "scales": np.array([1.0, scale])},
        ),
        "invariant": Identity(
            np.stack([observed[1], bounds[1]]), np.stack([observed[0], bounds[0]]), condition=np.linalg.cond(gram)
        ),
        "smooth labels": Inequality(bounds[:, 1], bounds[:, 0]),
    }


@kernel_complexity.control("the Gram matrix not inverted, as printed", erratum="A5.13a", of="below")
def printed_form(evidence):
    return replace(evidence, links={"printed": (evidence.links["with the inverse"][0], evidence.aside["printed"])})


@kernel_complexity.picture
def scales_of_the_kernel(pieces):
    """Complexity of the ball that interpolates, at two scales of the kernel, with the bound and the printed form."""
    piece = pieces["below"]
    observed, bounds = piece.links["with the inverse"]
    scales, printed = piece.aside["scales"], piece.aside["printed"]
    panels = [
        Curves(
            [
                Line("bound", scales, np.asarray(bounds)[:, i]),
                Dots("complexity", scales, np.asarray(observed)[:, i]),
                Line("bound", scales, printed[:, i], rival="as printed in Problem 5.3.3"),
            ],
            x="scale of the kernel", y="complexity", title=title, log="xy",
        )
        for i, title in enumerate(("random labels", "smooth labels"))
    ]  # fmt: skip
    return Row(panels)
