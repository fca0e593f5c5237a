"""Eigenvalues of nearby matrices, and the least one of the first-layer kernel."""

import itertools
from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.claims.kernels.finite.gram_concentration import grams
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.kernels.finite.first_layer import first_layer_coefficient, first_layer_limit
from deeptheory.kernels.lazy.lazy_bounds import closeness, least_eigenvalue_bound
from deeptheory.lab import Chain, Count, Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line


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
    r"the sum of maxima; on subspaces the same, with $B=A+(B-A)$, moves no eigenvalue farther than $\|A-B\|_2$. The "
    r"norms follow from each other by counting entries. With $B$ a multiple of the identity and all entries of $A-B$ "
    r"equal all four agree; for shared eigenvectors the first two are the largest difference of sorted and of paired "
    r"eigenvalues, the third the root of the sum of squared differences. The sums of extreme eigenvalues are attained "
    r"if the eigenvectors are shared in the same order. For kernels this says "
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
    notice=r"The least eigenvalue of random inputs lies above the bound, and of two inputs at an acute angle on it. "
    r"For two inputs it goes to zero only as they become parallel.",
)
def kernel_is_positive_definite_unless_inputs_repeat(key, *, sets: Annotated[int, Interval(ge=2, le=1000)] = 30):
    draw = generator(key)
    bounds, least, largest, fewer = [], [], [], []
    for count, dimension in ((2, 2), (4, 3), (12, 6), (12, 20)):
        for _ in range(sets):
            cosine = 1.0
            while cosine > 0.9999:  # nearer to one too many powers count
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
    ranks, spectra, halves, dimensions, pairs = [], [], [], np.array([2, 3, 4]), np.array([1, 2, 3, 4, 5])
    for dimension, count in itertools.product(dimensions, pairs):
        # In a subspace of one space, so that all dimensions share a compiled program.
        x = np.pad(unit_vectors(draw, count, dimension), ((0, 0), (0, dimensions[-1] - dimension)))
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
            np.reshape(ranks, (len(dimensions), len(pairs))),
            pairs + np.minimum(pairs, dimensions[:, None]),
            along={"dimension": dimensions, "pairs": pairs},
        ),
    }


@kernel_is_positive_definite_unless_inputs_repeat.control(
    "antipodes are as bad as repetitions", of="rank with antipodes"
)
def one_per_pair(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.along["pairs"], np.shape(evidence.right)))


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
