"""The sampled Gram matrix of the first layer: how near to its mean, how its eigenvalues move, when it is invertible."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.stats import binom

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.generalization.capacity.rademacher import ball_supremum, exact_complexity
from deeptheory.kernels.finite.first_layer import (
    first_layer_coefficient,
    first_layer_gram,
    first_layer_limit,
    first_layer_outputs,
)
from deeptheory.kernels.lazy.lazy_bounds import (
    closeness,
    concentration_tolerance,
    concentration_width,
    entry_tolerance,
    least_eigenvalue_bound,
    sampled_gram_deviation,
    width_for_least_eigenvalue,
)
from deeptheory.lab import Chain, Chance, Count, Exact, Identity, Inequality, Integers, Law, Reals, Trials, claim
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


@claim(
    items={
        "A9.9": ("four distances in order", "all four equal", "shared eigenvectors"),
        "L8.28": ("extreme eigenvalues of a sum", "equality for shared eigenvectors", "kernels near their limit"),
    },
    says=r"For symmetric matrices $|\lambda_i(A)-\lambda_i(B)|\le\|A-B\|_2\le\|A-B\|_F\le n\max|A_{ij}-B_{ij}|$. A "
    r"sum has $\lambda_{\max}(A+B)\le\lambda_{\max}(A)+\lambda_{\max}(B)$, and $\lambda_{\min}(A+B)$ is at least the "
    r"sum of the two. So a kernel near its limit inherits its least eigenvalue.",
    needs="symmetric matrices",
    symbols={
        r"A,B": r"symmetric $n\times n$ matrices; $A_{ij}$ an entry",
        r"\lambda_i": r"the eigenvalue number $i$ in order of size",
        r"\|\cdot\|_2,\|\cdot\|_F": "the largest singular value, and the root of the sum of all squared entries",
    },
    why=r"A largest eigenvalue is the maximum of $v^\top Av$ over unit vectors, and the maximum of a sum is at most "
    r"the sum of maxima; with $B=A+(B-A)$ that moves no eigenvalue farther than $\|A-B\|_2$. The norms follow from "
    r"each other by counting entries. With $A-B$ constant all four are equal; for shared eigenvectors the first two "
    r"are the largest difference of sorted and of paired eigenvalues, the third the root of the sum of squared "
    r"differences, and the sums of extreme eigenvalues are attained. For kernels this says "
    r"$\lambda_{\min}(H(0))\ge\lambda_{\min}(H^*)-\|H(0)-H^*\|_2$.",
    notice=r"For every pair of matrices no eigenvalue moves farther than the spectral norm, and the Frobenius norm "
    r"lies between that and $n$ times the largest entry. With $\sqrt n$ for $n$ some come below it.",
    full=dict(pairs=10_000),
)
def eigenvalues_move_less_than_the_matrix(key, *, pairs: Count = 500):
    draw = generator(key)
    one, two = draw.standard_normal((2, pairs, 5, 5)) * np.exp(draw.uniform(-3, 3, (2, pairs, 1, 1)))
    one, two = one + np.swapaxes(one, 1, 2), two + np.swapaxes(two, 1, 2)
    apart = closeness(one, two)
    values = [np.linalg.eigvalsh(each) for each in (one, two, one + two)]
    constant = closeness(3 * np.eye(5) + 0.7, 3 * np.eye(5))
    frame, powers = np.linalg.qr(draw.standard_normal((5, 5)))[0], np.sort(draw.standard_normal((2, 5)))
    shared = np.linalg.eigvalsh(sum((frame * each) @ frame.T for each in powers))
    # The same eigenvectors in any order: all distances but that of the entries are known from the eigenvalues.
    a, b = draw.standard_normal((2, 50, 5))
    pairs_of = [np.einsum("ij,pj,kj->pik", frame, each, frame) for each in (a, b)]
    known = np.array(closeness(*pairs_of)[:3])
    sorts = np.abs(np.sort(a) - np.sort(b)).max(1)
    designed = np.array([sorts, np.abs(a - b).max(1), np.sqrt(np.sum((a - b) ** 2, axis=1))])
    x = unit_vectors(draw, 6, 4)
    limit = np.asarray(first_layer_limit(x))
    sampled = np.asarray(grams(draw.standard_normal((40, 50, 4)), x))
    moved = closeness(sampled, np.broadcast_to(limit, sampled.shape))
    return {
        "four distances in order": Chain(
            {
                "Weyl": (apart.eigenvalues, apart.spectral),
                "Frobenius": (apart.spectral, apart.frobenius),
                "entries": (apart.frobenius, apart.entries),
            }
        ),
        "all four equal": Identity(np.array(constant), 3.5, size=5.0),
        "shared eigenvectors": Identity(known, designed, scale=5.0, size=5.0),
        "extreme eigenvalues of a sum": Chain(
            {
                "largest": (values[2][:, -1], values[0][:, -1] + values[1][:, -1]),
                "smallest": (values[0][:, 0] + values[1][:, 0], values[2][:, 0]),
            }
        ),
        "equality for shared eigenvectors": Identity(shared[[0, -1]], powers.sum(0)[[0, -1]], scale=5.0, size=5.0),
        "kernels near their limit": Chain(
            {
                "least eigenvalue": (np.linalg.eigvalsh(limit)[0] - moved.spectral, np.linalg.eigvalsh(sampled)[:, 0]),
                "eigenvalues": (moved.eigenvalues, moved.spectral),
            }
        ),
    }


@eigenvalues_move_less_than_the_matrix.picture
def four_distances(pieces):
    """Farthest move of an eigenvalue, Frobenius norm and entries times n against the spectral norm, for drawn pairs."""
    links = pieces["four distances in order"].links
    (moved, spectral), (_, frobenius), (_, entries) = (
        [np.asarray(side)[:100] for side in links[name]] for name in ("Weyl", "Frobenius", "entries")
    )
    ends = np.asarray([spectral.min(), spectral.max()])
    return Curves(
        [
            Line("spectral norm", ends, ends),
            Dots("farthest eigenvalue", spectral, moved),
            Dots("Frobenius norm", spectral, frobenius),
            Dots("entries times n", spectral, entries),
            Dots("", spectral, entries / 5**0.5, rival="entries times √n"),
        ],
        x="spectral norm of A − B",
        y="distance",
        log="xy",
    )


@eigenvalues_move_less_than_the_matrix.control("entries times √n in place of n", of="all four equal")
def root_of_size(evidence):
    return replace(evidence, left=evidence.left * np.array([1, 1, 1, 5**-0.5]))


@eigenvalues_move_less_than_the_matrix.control("the eigenvalues move as far as the matrix", of="shared eigenvectors")
def as_far(evidence):
    return replace(evidence, right=evidence.right[[1, 1, 2]])


@eigenvalues_move_less_than_the_matrix.control(
    "the smallest eigenvalue below the sum too", of="extreme eigenvalues of a sum"
)
def smallest_below(evidence):
    small, large = evidence.links["smallest"]
    return Chain({"smallest": (large, small)})


@claim(
    items={
        "A9.12": (
            "least eigenvalue above the bound",
            "bound by its series",
            "orthonormal inputs",
            "two inputs at an acute angle",
            "a repeated input",
            "spectrum with antipodes",
            "rank with antipodes",
        )
    },
    says=r"On $n$ unit inputs with all $|x_i\cdot x_j|\le\rho<1$ the first-layer ReLU kernel has "
    r"$\lambda_{\min}(H^*)\ge\sum_pc_p(1-(n-1)\rho^p)_+>0$; repeated inputs make it singular. On $\pm x_1,\dots,\pm "
    r"x_k$ its rank is $k+\min(k,d)$: antipodes do harm only beyond $d$ pairs.",
    needs="unit inputs; ReLU; no biases; directions in general position for the rank",
    full=dict(sets=200),
    symbols={
        "H^*": "the first-layer kernel in the limit of infinite width, on $n$ unit inputs $x_i$",
        r"\rho": "the largest cosine between two of them, in size",
        "c_p": r"the coefficient of $\rho^p$ in $\rho(\pi-\arccos\rho)/2\pi$",
        "K": "the matrix of inner products of $x_1,\\dots,x_k$, in $d$ dimensions",
    },
    why=r"The kernel is a power series in the cosines with coefficients that are not negative, so its matrix is a sum "
    r"of entrywise powers of a Gram matrix, each positive semidefinite. High powers of cosines below one die away and "
    r"leave nearly $c_p$ times the identity: by Gershgorin at least $c_p(1-(n-1)\rho^p)$. Orthonormal inputs and two "
    r"at an acute angle attain the bound. On pairs $\pm x$ even and odd labels decouple: the eigenvalues are those of "
    r"$K/2$, whose rank is at most $d$, and of $K\circ\arcsin(K)/\pi$.",
    notice=r"The least eigenvalue of random inputs lies above the bound, and of two inputs at an acute angle on it. It "
    r"goes to zero only as two inputs become parallel.",
)
def kernel_is_positive_definite_unless_inputs_repeat(key, *, sets: Annotated[int, Interval(ge=2, le=1000)] = 30):
    draw = generator(key)
    bounds, least, largest, fewer = [], [], [], []
    for count, dimension in ((2, 2), (4, 3), (12, 6), (12, 20)):
        for _ in range(sets):
            x = unit_vectors(draw, count, dimension)
            cosine = float(np.abs(x @ x.T - np.eye(count)).max())
            largest.append(cosine)
            bounds.append(least_eigenvalue_bound(cosine, count))
            fewer.append(least_eigenvalue_bound(cosine, count - 1))
            least.append(np.linalg.eigvalsh(first_layer_limit(x))[0])
    # The sum as it stands: beyond p = 200 the cosines are spent, and the coefficients of even powers sum to 1/4.
    degrees = np.arange(1, 201)
    coefficients = np.array([first_layer_coefficient(int(p)) for p in degrees])
    grid = [(n, r) for n in (3, 12, 100) for r in (0.1, 0.45, 0.8)]
    summed = [coefficients @ np.maximum(1 - (n - 1) * r**degrees, 0) + 0.5 - coefficients.sum() for n, r in grid]
    alone = np.linalg.eigvalsh(first_layer_limit(np.linalg.qr(draw.standard_normal((4, 4)))[0]))[0]
    cosines = draw.uniform(0, 0.95, 8)
    duos = [np.array([[1.0, 0.0], [c, np.sqrt(1 - c * c)]]) for c in cosines]
    x = unit_vectors(draw, 4, 3)
    repeated = np.linalg.eigvalsh(first_layer_limit(np.concatenate([x[:3], x[:1]])))[0]
    ranks, spectra, halves, pairs = [], [], [], (1, 2, 3, 4, 5)
    for count in pairs:
        x = unit_vectors(draw, count, 3)
        values = np.linalg.eigvalsh(first_layer_limit(np.concatenate([x, -x])))
        product = np.clip(x @ x.T, -1, 1)
        np.fill_diagonal(product, 1.0)
        even = np.linalg.eigvalsh(product * np.arcsin(product) / np.pi)
        spectra.append(values)
        halves.append(np.sort(np.concatenate([np.linalg.eigvalsh(product) / 2, even])))
        ranks.append(int(np.sum(values > 1e-7)))
    return {
        "least eigenvalue above the bound": Chain(
            {"positive": (np.finfo(float).tiny, np.array(bounds)), "below": (np.array(bounds), np.array(least))},
            error=1e-13,
            aside={"largest cosine": np.array(largest), "one input fewer": np.array(fewer)},
        ),
        "bound by its series": Identity(
            [least_eigenvalue_bound(r, int(n)) for n, r in grid], summed, scale=0.5, size=100.0
        ),
        "orthonormal inputs": Identity(alone, least_eigenvalue_bound(0.0, 4), size=4.0),
        "two inputs at an acute angle": Identity(
            [np.linalg.eigvalsh(first_layer_limit(duo))[0] for duo in duos],
            [least_eigenvalue_bound(float(c), 2) for c in cosines],
            scale=0.5,
            size=8.0,
            aside={"cosine": cosines},
        ),
        "a repeated input": Identity(repeated, 0.0, scale=0.5, error=1e-8),
        # The angle of x and −x is π only up to the root of rounding.
        "spectrum with antipodes": Identity(np.concatenate(spectra), np.concatenate(halves), scale=0.5, error=2e-8),
        "rank with antipodes": Exact(
            np.array(ranks), np.array([k + min(k, 3) for k in pairs]), along={"pairs": np.array(pairs)}
        ),
    }


@kernel_is_positive_definite_unless_inputs_repeat.control(
    "antipodes are as bad as repetitions", of="rank with antipodes"
)
def one_per_pair(evidence):
    return replace(evidence, right=evidence.along["pairs"])


@kernel_is_positive_definite_unless_inputs_repeat.control(
    "n cosines in a row in place of n − 1", of="two inputs at an acute angle"
)
def one_cosine_more(evidence):
    return replace(evidence, right=[least_eigenvalue_bound(float(c), 3) for c in evidence.aside["cosine"]])


@kernel_is_positive_definite_unless_inputs_repeat.control(
    "n − 2 cosines in a row", of="least eigenvalue above the bound"
)
def one_input_fewer(evidence):
    return replace(evidence, links={"below": (evidence.aside["one input fewer"], evidence.links["below"][1])})


@kernel_is_positive_definite_unless_inputs_repeat.picture
def least_eigenvalues(pieces):
    """The least eigenvalue of the kernel matrix against the largest cosine between two of the inputs."""
    grid, duo, drawn = (
        np.linspace(0, 0.999, 200),
        pieces["two inputs at an acute angle"],
        pieces["least eigenvalue above the bound"],
    )
    return Curves(
        [
            Line("bound for two inputs", grid, [least_eigenvalue_bound(float(c), 2) for c in grid]),
            Dots("two inputs", duo.aside["cosine"], duo.left),
            Line("bound for twelve", grid, [least_eigenvalue_bound(float(c), 12) for c in grid]),
            Dots("two to twelve random inputs", drawn.aside["largest cosine"], drawn.links["below"][1]),
        ],
        x="largest cosine",
        y="least eigenvalue",
    )


@kernel_is_positive_definite_unless_inputs_repeat.control("the linear part K/4 alone", of="orthonormal inputs")
def linear_part(evidence):
    return replace(evidence, right=0.25)
