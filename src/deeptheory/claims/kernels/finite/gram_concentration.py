"""The sampled Gram matrix of the first layer: how near it is to its mean, entry by entry and in norm."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.stats import binom

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.generalization.capacity.rademacher import ball_supremum, exact_complexity
from deeptheory.kernels.finite.first_layer import first_layer_gram, first_layer_limit, first_layer_outputs
from deeptheory.kernels.lazy.lazy_bounds import (
    closeness,
    concentration_tolerance,
    concentration_width,
    entry_tolerance,
    sampled_gram_deviation,
    width_for_least_eigenvalue,
)
from deeptheory.lab import Chain, Chance, Identity, Inequality, Integers, Law, Reals, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line


def unit_ball_complexity(matrices):
    """Rademacher complexity of the maps ⟨·, V⟩ over ‖V‖_F ≤ 1 on matrices given as rows, over all signs."""
    return exact_complexity(ball_supremum(matrices), len(matrices))


@claim(
    items={"A9.6": ""},
    says=r"Each of $m$ neurons is active on both of two inputs at angle $\vartheta$ with probability "
    r"$(\pi-\vartheta)/2\pi$. The share that is, times $x_i\cdot x_j$, is an entry of $H(0)$, and leaves "
    r"$\pm\sqrt{\log(2n^2/\delta)/2m}$ about its mean with probability at most $\delta/n^2$.",
    needs="unit inputs; ReLU; standard normal weights; any width, angle and number of inputs, δ at most 1",
    symbols={
        r"m": "the number of neurons",
        r"\vartheta": r"the angle between the inputs $x_i$ and $x_j$, two of $n$",
        r"H(0)": "the kernel of the first layer at the random start",
        r"\delta": r"the probability with which any of the $n^2$ entries may leave",
    },
    why=r"A neuron is active on an input in a half-space of weights, on both in a wedge of angle $\pi-\vartheta$: its "
    r"share of the full turn is the probability. The entry is a mean of $m$ independent variables that are 0 or "
    r"$x_i\cdot x_j$, and Hoeffding's inequality bounds how far such a mean strays. The printed tolerance "
    r"$\sqrt{(2/m)\log(2n^2/\delta)}$ is twice as wide, since it takes the terms to fill $[-1,1]$.",
    notice=r"Each dot is a width, an angle, a number of inputs and a $\delta$: the exact chance of leaving never "
    r"comes above the allowed one. With half of the tolerance it often does.",
    over=dict(
        width=Integers(1, 2000, log=True),
        angle=Reals(0, np.pi),
        samples=Integers(1, 100, log=True),
        failure=Reals(1e-3, 1, log=True),
    ),
    each="array",
)
def entries_of_the_gram_matrix_concentrate(
    width,
    angle,
    samples,
    failure,
    *,
    spread: Annotated[float, Interval(ge=0.1, le=2)] = 1.0,
    sides: Literal["two", "one"] = "two",
    entries: Literal["of the matrix", "of a row"] = "of the matrix",
):
    count = samples if entries == "of the matrix" else np.sqrt(samples)
    share = (np.pi - angle) / (2 * np.pi)

    def leaving(tolerance):
        allowed = np.asarray(tolerance) / np.maximum(np.abs(np.cos(angle)), 1e-12)
        # The number of neurons active on both inputs is binomial; its two tails, exactly.
        above = binom.sf(np.ceil(width * (share + allowed) - 1e-9) - 1, width, share)
        below = binom.cdf(np.floor(width * (share - allowed) + 1e-9), width, share)
        return np.log(np.clip(above + below, 1e-300, 1.0))

    tolerance = entry_tolerance(width, count, failure, spread=spread, sides=2 if sides == "two" else 1)
    return Inequality(
        leaving(tolerance), np.log(failure / samples**2), log=True, aside={"half": leaving(np.asarray(tolerance) / 2)}
    )


entries_of_the_gram_matrix_concentrate.control("half of that tolerance again", spread=0.5)
entries_of_the_gram_matrix_concentrate.control("the exponent of one side for both", sides="one")
entries_of_the_gram_matrix_concentrate.control("δ shared among n entries", entries="of a row")


@entries_of_the_gram_matrix_concentrate.picture
def chances_of_leaving(pieces):
    """The exact chance that an entry leaves its tolerance against the allowed one, as logarithms, where searched."""
    (piece,) = pieces.values()
    ends = np.array([-16.0, 0.0])
    return Curves(
        [
            Line("allowed", ends, ends),
            Dots("exact", piece.bound, piece.quantity),
            Dots("", piece.bound, piece.aside["half"], rival="half of the tolerance"),
        ],
        x="logarithm of the allowed chance",
        y="logarithm of the exact chance",
        xs=(-16, 0),
        ys=(-40, 1),
    )


grams = jax.jit(jax.vmap(lambda weights, x: first_layer_gram(weights, x), in_axes=(0, None)))
single_grams = jax.jit(jax.vmap(lambda weight, x: first_layer_gram(weight[None], x), in_axes=(0, None)))


@jax.jit
def with_amplitudes(weights, amplitudes, x):
    """The kernel of a network with any amplitudes, from its formula and from its Jacobian."""
    jacobian = jax.jacrev(lambda w: first_layer_outputs(w, amplitudes, x))(weights).reshape(len(x), -1)
    return first_layer_gram(weights, x, amplitudes=amplitudes), jacobian @ jacobian.T, first_layer_gram(weights, x)


@claim(
    items={
        "A9.6": (
            "entries are shares of active neurons",
            "mean of the entries",
            "exponent of the entries is sharp",
            "tolerance of entries and of the matrix",
            "both tolerances at δ = ½",
            "widths that suffice",
            "failures of the bounds",
        ),
        "L8.27": (
            "norm of one neuron's term",
            "norm of one neuron's term, attained",
            "complexity of the terms",
            "complexity by hand",
            "bound as the theorem gives it",
            "failures of the bounds",
            "amplitudes enter by their squares",
        ),
        "L8.28": ("failures of the bounds", "widths that suffice"),
    },
    consistency=("both tolerances at δ = ½", "widths that suffice"),
    says=r"With probability $1-\delta$ a kernel $\hat G=\frac1m\sum_kH_k$ sampled with $m$ neurons has $\|\hat "
    r"G-G\|_2\le2B^2\|X\|_F^2/\sqrt m+6B^2\|X\|_F^2\sqrt{\log(2/\delta)/2m}$, and likewise "
    r"$\le4n\sqrt{\log(n/\delta)/m}$; the extreme eigenvalues move by no more.",
    needs=r"$|\sigma'|\le B$; ReLU, unit inputs and $n\ge2$, $\delta\le1/2$ for the second bound",
    symbols={
        r"H_k": r"what neuron $k$ adds to the kernel of the first layer; $\|H_k\|_F\le B^2\|X\|_F^2$",
        r"G": "the mean, the kernel of infinite width",
        r"B": "the largest slope of the activation, 1 for ReLU",
        r"X": r"the matrix of the $n$ inputs; $\|X\|_F^2$ is the sum of their squared lengths",
        r"\delta": "the probability with which the bound may fail",
    },
    why=r"The first bound is that of a Rademacher complexity: the $H_k$ have norms of at most $B^2\|X\|_F^2$, so "
    r"their complexity is at most that over $\sqrt m$, and $\|H\|_F\,\mathbb E|\sum_k\varepsilon_k|/m$ for equal "
    r"ones; the second term pays for the confidence. The second bound is a union over entries: it is at least $2n$ "
    r"times the printed tolerance of entries $\sqrt{(2/m)\log(2n^2/\delta)}$, equal at $\delta=\frac12$, so half of "
    r"it would do. The mean of many fair signs leaves that tolerance with probability $\delta/n^2$ over "
    r"$2\sqrt{\pi\log(2n^2/\delta)}$: its exponent is sharp. Amplitudes other than $\pm1$ enter by their squares.",
    notice=r"Both bounds stand far to the right of all sampled kernels: they hold, and are loose by a factor of ten "
    r"and more. The guess $1/\sqrt m$, without the number of inputs, lies among them.",
    full=dict(trials=10_000),
)
def sampled_gram_matrix_concentrates(
    key,
    *,
    width: Annotated[int, Interval(ge=8, le=4096)] = 50,
    failure: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.1,
    trials: Trials = 1000,
):
    draw = generator(key)
    x = unit_vectors(draw, 6, 4)
    limit = np.asarray(first_layer_limit(x))
    drawn = draw.standard_normal((trials, width, 4))
    sampled = np.asarray(grams(drawn, x))
    # Neurons active on both inputs, counted in the first ten networks; an entry is their share times a product.
    active = drawn[:10] @ x.T > 0
    shares = np.mean(active[..., None] & active[:, :, None], axis=1)
    upper = np.triu_indices(6)
    apart = closeness(sampled, np.broadcast_to(limit, sampled.shape)).spectral
    values, mean = np.linalg.eigvalsh(sampled), np.linalg.eigvalsh(limit)
    star, printed = (
        float(sampled_gram_deviation(width, 6.0, failure)),
        float(concentration_tolerance(width, 6, failure)),
    )
    bounds = np.array(["8.28", "9.2.2", "λ_min", "λ_max"])
    outside = [apart > star, apart > printed, values[:, 0] < mean[0] - star, values[:, -1] > mean[-1] + star]
    # Inputs of any length, with slopes from −B to B as matrices D X Xᵀ D; then all parallel with slopes ±B.
    inputs, slopes = draw.standard_normal((50, 5, 3)), draw.uniform(-1.5, 1.5, (50, 8, 5))
    weighted = slopes[..., None] * inputs[:, None]
    terms = weighted @ np.swapaxes(weighted, -1, -2)
    size = 1.5**2 * np.sum(inputs**2, axis=(1, 2))
    parallel = np.outer(draw.standard_normal(5), draw.standard_normal(3))
    signed = 1.5 * draw.choice([-1.0, 1.0], 5)[:, None] * parallel
    largest = 1.5**2 * np.sum(parallel**2)
    norms = np.linalg.norm(terms, axis=(2, 3))
    flat = terms.reshape(50, 8, -1)
    complexity = np.array([unit_ball_complexity(each) for each in flat])
    # Neurons that see one input each have orthogonal terms; equal ones have equal norms.
    alone = np.eye(6)[:, :, None] * unit_vectors(draw, 6, 4)
    alone = (alone @ np.swapaxes(alone, 1, 2)).reshape(6, -1)
    exact = unit_ball_complexity(np.array([[largest]]))
    # Equal terms add up like a random walk, whose mean distance after eight steps is a binomial sum.
    walk = np.abs(2 * np.arange(9) - 8) @ binom.pmf(np.arange(9), 8, 0.5)
    n, delta = np.meshgrid([2, 3, 10, 1000], [0.5, 0.1, 1e-3, 1e-9])
    enough = width_for_least_eigenvalue(float(mean[0]), 6.0, failure)
    weights, amplitudes = draw.standard_normal((30, 4)), draw.uniform(-1, 1, 30)
    formula, jacobian, without = map(np.asarray, with_amplitudes(weights, amplitudes, x))
    least = float(mean[0])
    # Ten million coins, 1 or 0 and then 1 or −1, with δ/n² = 10⁻²⁵⁰ from a large n.
    leaving = np.array([entry_tolerance(1e7, 1e60, 1e-130, spread=1.0), entry_tolerance(1e7, 1e60, 1e-130) / 2])
    rare = np.log(2) + binom.logsf(np.ceil(1e7 * (0.5 + leaving)) - 1, 1e7, 0.5)
    return {
        "norm of one neuron's term": Inequality(norms, size[:, None]),
        "norm of one neuron's term, attained": Identity(np.linalg.norm(signed @ signed.T), largest, size=5.0),
        "complexity of the terms": Chain(
            {
                "Jensen": (complexity, np.sqrt(np.sum(norms**2, axis=1)) / 8),
                "each norm": (np.sqrt(np.sum(norms**2, axis=1)) / 8, size / np.sqrt(8)),
            }
        ),
        "complexity by hand": Identity(
            np.array([unit_ball_complexity(alone), exact, unit_ball_complexity(np.full((8, 1), largest))]),
            np.array([1 / np.sqrt(6), largest, largest * walk / 8]),
            size=8.0,
        ),
        # One neuron: 2R + 3(b − a)√(log(2/δ)/2m) with values of ⟨H, V⟩ from −‖H‖ to ‖H‖; then four times the width.
        "bound as the theorem gives it": Identity(
            np.array([sampled_gram_deviation(m, np.sum(parallel**2), failure, slope=1.5) for m in (1, 4)]),
            (2 * exact + 3 * (2 * largest) * np.sqrt(np.log(2 / failure) / 2)) / np.array([1.0, 2.0]),
        ),
        "entries are shares of active neurons": Identity(
            sampled[:10], (x @ x.T) * shares, scale=1.0, size=float(width)
        ),
        "mean of the entries": Law(limit[upper], sampled[:, *upper].T, exact=True, scale=0.5),
        # Hoeffding's 2e^{−t²/2} is √(2π)t times the two tails beyond t standard deviations. With 10⁷ coins those of the
        # binomial law are less than the normal ones by t⁴/12m = 0.011 in the logarithm, and Mills' ratio by 1/t².
        "exponent of the entries is sharp": Identity(
            rare, -250 * np.log(10) - np.log(4 * np.pi * np.log(2e250)) / 2, error=0.03
        ),
        "tolerance of entries and of the matrix": Inequality(
            2 * entry_tolerance(width, n, delta), concentration_tolerance(width, n, delta) / n
        ),
        "both tolerances at δ = ½": Identity(
            2 * n * entry_tolerance(width, n, 0.5), concentration_tolerance(width, n, 0.5)
        ),
        "widths that suffice": Identity(
            np.array(
                [
                    concentration_tolerance(concentration_width(6, 0.3, failure), 6, failure),
                    sampled_gram_deviation(width_for_least_eigenvalue(least, 6.0, failure), 6.0, failure),
                ]
            ),
            np.array([0.3, least / 2]),
            # (8.28) written out with log(1/δ), at the width for log(2/δ).
            aside={"one side": (12 + 36 * np.sqrt(-np.log(failure) / 2)) / np.sqrt(enough)},
        ),
        "failures of the bounds": Chance(
            np.sum(outside, axis=1),
            trials,
            failure,
            along={"bound": bounds},
            aside={
                "beyond 1/√m": np.array([np.sum(apart > width**-0.5)]),
                "distances": apart,
                "reach": np.array([star, printed]),
            },
        ),
        "amplitudes enter by their squares": Identity(
            formula, jacobian, scale=1.0, size=30.0, along={"without": without}
        ),
    }


@sampled_gram_matrix_concentrates.control("amplitudes left out", of="amplitudes enter by their squares")
def without_amplitudes(evidence):
    return replace(evidence, left=evidence.along["without"])


@sampled_gram_matrix_concentrates.control("the width for log(2/δ) with log(1/δ) in the bound", of="widths that suffice")
def one_sided(evidence):
    return replace(evidence, left=np.array([evidence.left[0], evidence.aside["one side"]]))


@sampled_gram_matrix_concentrates.control("‖Ĝ − G‖ at most 1/√m, whatever n and δ", of="failures of the bounds")
def without_the_size(evidence):
    return replace(evidence, failures=evidence.aside["beyond 1/√m"], along={})


@sampled_gram_matrix_concentrates.control("a complexity of the mean norm over m", of="complexity by hand")
def over_the_width(evidence):
    return replace(evidence, right=evidence.right / np.array([np.sqrt(6), 1.0, np.sqrt(8)]))


@sampled_gram_matrix_concentrates.control(
    "the root of the mean square for the mean of equal terms", of="complexity by hand"
)
def mean_square(evidence):
    left, right = np.array(evidence.left), np.array(evidence.right)
    return replace(evidence, left=left[2], right=right[1] / np.sqrt(8))


@sampled_gram_matrix_concentrates.picture
def distances_and_bounds(pieces, settings):
    """The share of sampled kernels that are farther from their mean than a distance, with the two bounds on it."""
    aside = pieces["failures of the bounds"].aside
    distances, (star, printed) = np.sort(np.asarray(aside["distances"])), np.asarray(aside["reach"])
    some = np.linspace(0, len(distances) - 1, 120).astype(int)
    return Curves(
        [
            Line("networks farther than this", distances[some], 1 - some / len(distances)),
            Level("by entries", x=float(printed)),
            Level("by complexity", x=float(star)),
            Level("1/√m", x=settings["width"] ** -0.5, rival="whatever n and δ"),
        ],
        x="distance ‖Ĝ − G‖",
        y="share of networks",
        log="x",
        xs=(0.05, 15),
    )
