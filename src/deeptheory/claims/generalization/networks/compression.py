"""Compression of classifiers and networks: what they lose (arora 5.5)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.compression import (
    degrees_of_freedom,
    project,
    sparsify,
    truncate,
    truncate_network,
    truncation_rank,
)
from deeptheory.generalization.networks.norms import (
    lipschitz_bound,
    relu_network,
    spectral_norm,
    stable_rank,
)
from deeptheory.lab import Chain, Chance, Exact, Identity, Inequality, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Row


def aligned_networks(share, scales):
    """Networks s₁D₁, s₂D₂, …: one layer passes one coordinate with a gain just below `share`, all else with gain 1."""
    for i in range(len(scales)):
        layers = [scale * np.eye(4) for scale in scales]
        layers[i] = scales[i] * np.diag([1, 1, 1, 0.999 * share])
        yield layers


@claim(
    items={
        "A5.24": ("stable rank and rank", "dimension of matrices of one rank"),
        "A5.27": ("change of the matrix", "singular values kept", "bound on what is kept attained"),
        "A5.28": ("one layer truncated", "all layers truncated", "threshold written out"),
    },
    says=r"Dropping singular values below $\delta\|A\|_2$ changes $A$ by less than that and keeps at most "
    r"$\mathrm{srank}(A)/\delta^2$ of them. In every layer at $\delta=\gamma/(3d\|x\|\prod\|A_j\|_2)$ it moves outputs "
    r"by at most $\gamma/3d$ for one layer, and $\gamma/(3d\sqrt{1-\delta^2})$ for all together.",
    needs="no biases; inputs of length at most ‖x‖",
    symbols={
        r"\delta": "the share of the largest singular value below which others are dropped",
        r"\|A\|_2": "the largest singular value",
        r"\mathrm{srank}(A)": r"the stable rank $\|A\|_F^2/\|A\|_2^2$, between 1 and the rank",
        r"\gamma": "the margin that the outputs have to spare",
        r"d": "the number of layers",
    },
    why=r"Each value that is kept has a square of at least $\delta^2\|A\|_2^2$, and the squares add up to $\|A\|_F^2$: "
    r"so there are few. A change by $\delta\|A_i\|_2$ in one layer is carried to the outputs by the other norms. For "
    r"all layers the changes do not add up: a layer sends what it keeps and what it drops in orthogonal directions, "
    r"and what of a vector is dropped is missing from what goes on.",
    notice=r"Left: the values kept lie below the curve $\mathrm{srank}/\delta^2$, and one matrix almost reaches it. "
    r"Right: random networks lose far less than is allowed; networks made for it, with the input along the dropped "
    r"direction, lose $\gamma/3d$ to a thousandth.",
)
def truncation(key, *, share: Annotated[float, Interval(ge=0.01, le=1)] = 0.2):
    draw = generator(key)
    matrices = []
    spectra = [np.arange(1, 31.0) ** -power for power in (0.3, 0.7, 1.0, 1.5, 2.5)]
    for spectrum in [*spectra, np.append(1.0, np.full(29, 1.001 * share))]:
        u, v = (np.linalg.qr(draw.standard_normal((30, 30)))[0] for _ in range(2))
        matrices.append((u * spectrum) @ v)
    # One large value and many just large enough to be kept: there both powers of δ count.
    many = np.diag(np.append(1.0, np.full(min(round(10 / share**2), 300), 1.001 * share)))
    ranks = np.array([stable_rank(a) for a in [*matrices, many]])
    kept = [truncate(a, share) for a in [*matrices, many]]
    u, v = draw.standard_normal((6, 2)), draw.standard_normal((5, 2))
    tangent = [np.outer(e, v[:, r]).ravel() for e in np.eye(6) for r in range(2)]
    tangent += [np.outer(u[:, r], e).ravel() for e in np.eye(5) for r in range(2)]
    equal = np.eye(9)[draw.permutation(9)][:, :4]  # all singular values equal, without rounding
    line = np.outer(draw.standard_normal(7), draw.standard_normal(5))
    network = [matrices[1], matrices[2], matrices[3][:8]]
    x = draw.standard_normal((200, 30))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    scales = (2.0, 0.7, 1.5)
    tight = list(aligned_networks(0.1, scales))
    alone, together, margin, cut = [], [], [], []
    for layers, inputs in [(network, x), *((each, np.eye(4)[3:]) for each in tight)]:
        margin.append(0.9 * lipschitz_bound(layers))  # so large that the cut is felt
        smaller, size = truncate_network(layers, margin=margin[-1], radius=1.0)
        cut.append(size)
        outputs = np.asarray(relu_network(layers, inputs))
        changed = [[*layers[:i], smaller[i], *layers[i + 1 :]] for i in range(3)] + [smaller]
        moves = [np.linalg.norm(np.asarray(relu_network(each, inputs)) - outputs, axis=1) for each in changed]
        alone.append(np.max(moves[:3]))
        together.append(np.max(moves[3]))
    margin, cut = np.array(margin), np.array(cut)
    # Another depth and another length of the inputs, with all of it written out.
    shapes = (
        (network[:2], 2.5, 0.8),
        (network, 0.3, 2.0),
        (next(aligned_networks(0.1, (2.0, 0.7, 1.5, 0.4))), 1.7, 0.6),
    )
    thresholds = [truncate_network(each, margin=gamma, radius=length)[1] for each, length, gamma in shapes]
    norms = [np.prod([np.linalg.norm(layer, 2) for layer in each]) for each, _, _ in shapes]
    by_hand = [
        gamma / (3 * len(each) * length * norm) for (each, length, gamma), norm in zip(shapes, norms, strict=True)
    ]
    lengths = np.array([length for _, length, _ in shapes])
    allowed = margin / 9
    aside = {"one layer more": margin / 12}
    return {
        "stable rank and rank": Chain(
            {
                "at least one": (1.0, np.array([*ranks, stable_rank(line) + 1e-12])),
                "at most the rank": (np.array([*ranks[:-1], stable_rank(equal)]), np.array([30.0] * 6 + [4.0])),
            }
        ),
        "dimension of matrices of one rank": Exact(
            int(np.linalg.matrix_rank(np.array(tangent))), degrees_of_freedom(6, 5, 2)
        ),
        "change of the matrix": Inequality(
            np.array([spectral_norm(a - b) for a, b in zip(matrices, kept[:6], strict=True)]),
            share * np.array([spectral_norm(a) for a in matrices]),
            aside={"share": share},
        ),
        "singular values kept": Inequality(
            np.array([np.linalg.matrix_rank(b) for b in kept], float),
            truncation_rank(1.0, share) * ranks,
            aside={"share": share, "stable rank": ranks},
        ),
        "bound on what is kept attained": Identity(
            truncation_rank(stable_rank(equal), 1.0), float(np.linalg.matrix_rank(truncate(equal, 1.0)))
        ),
        "one layer truncated": Inequality(np.array(alone), allowed, aside=aside),
        "threshold written out": Identity(
            np.array(thresholds), np.array(by_hand), condition=30.0, size=30.0, along={"length": lengths}
        ),
        "all layers truncated": Chain(
            {
                "what is dropped is orthogonal to what is kept": (np.array(together), allowed / np.sqrt(1 - cut**2)),
                "well within the margin": (allowed / np.sqrt(1 - cut**2), margin / 3),
            },
            aside=aside,
        ),
    }


@truncation.control("one power of the share", of="singular values kept")
def one_power(evidence):
    return replace(evidence, bound=evidence.aside["share"] * np.asarray(evidence.bound))


@truncation.control("the square of the share", of="change of the matrix")
def squared_share(evidence):
    return replace(evidence, bound=evidence.aside["share"] * np.asarray(evidence.bound))


@truncation.control("all r(h + w) entries of two factors for the dimension", of="dimension of matrices of one rank")
def entries(evidence):
    return replace(evidence, right=2 * (6 + 5))


@truncation.control("stable ranks below the rank", of="stable rank and rank")
def below_the_rank(evidence):
    stable, rank = evidence.links["at most the rank"]
    return replace(evidence, links={"below the rank": (stable, rank - 0.5)})


@truncation.control("without the length of the inputs", of="threshold written out")
def without_the_length(evidence):
    return replace(evidence, right=evidence.right * evidence.along["length"])


@truncation.control("γ/3(d + 1), one layer more", of="one layer truncated")
def one_layer_more(evidence):
    return replace(evidence, bound=evidence.aside["one layer more"])


@truncation.control("γ/3(d + 1), one layer more, for all together", of="all layers truncated")
def one_more_together(evidence):
    moved, _ = evidence.links["what is dropped is orthogonal to what is kept"]
    return replace(evidence, links={"one layer more": (moved, evidence.aside["one layer more"])})


@truncation.picture
def kept_and_moved(pieces):
    """Singular values kept against the stable rank, with the bound; and how far outputs move, of what is allowed."""
    kept, layers, together = (
        pieces["singular values kept"],
        pieces["one layer truncated"],
        pieces["all layers truncated"],
    )
    ranks, share = kept.aside["stable rank"], kept.aside["share"]
    grid = np.geomspace(1, 1.2 * ranks.max(), 40)
    moved = together.links["what is dropped is orthogonal to what is kept"][0]
    cases = np.arange(len(layers.quantity))
    return Row(
        [
            Curves(
                [
                    Line("bound", grid, truncation_rank(1.0, share) * grid),
                    Dots("kept", ranks, kept.quantity),
                    Line("srank/δ", grid, grid / share, rival="one power of δ"),
                ],
                x="stable rank",
                y="singular values kept",
                log="xy",
            ),
            Curves(
                [
                    Dots("one layer truncated", cases, np.asarray(layers.quantity) / layers.bound),
                    Dots("all truncated", cases + 0.15, np.asarray(moved) / layers.bound),
                    Level("γ/3d", y=1.0),
                ],
                x="network: 0 random, 1–3 aligned",
                y="change of the outputs, as a multiple of γ/3d",
                ys=(0, 1.2),
            ),
        ]
    )


@claim(
    items={
        "A5.21": ("coordinates kept", "variance of an answer", "squared error of an answer", "answers that change"),
        "A5.22": ("coordinates kept", "few large coordinates"),
        "A5.23": ("mean after a projection", "variance after a projection"),
    },
    says=r"Keeping coordinate $i$ of $c$ with probability $p_i=\min(1,8c_i^2/\gamma^2)$ and dividing by it keeps "
    r"$\sum p_i\le8/\gamma^2$ in mean, with variance $\sum(1/p_i-1)c_i^2u_i^2$ along $u$. A Gaussian map to $k$ "
    r"dimensions has $\langle Mc,Mu\rangle$ of variance $(1+\langle c,u\rangle^2)/k$.",
    needs="unit vectors",
    full=dict(trials=20_000),
    symbols={
        r"c": "the classifier, a unit vector",
        r"u": "an input, a unit vector that $c$ classifies with margin $\\gamma$",
        r"p_i": "the probability with which coordinate $i$ is kept",
        r"k": "the number of dimensions projected to, 50 and 200 here",
        r"M": "a matrix with independent Gaussian entries of variance $1/k$",
    },
    why=r"Dividing by the probability makes the sparse vector right on average, and since coordinates are kept "
    r"independently their variances add. With probabilities proportional to $c_i^2$ each term is at most "
    r"$\gamma^2u_i^2/8$, so that by Chebyshev the answer is off by $\gamma$ with probability at most 1/8. A coordinate "
    r"with $8c_i^2>\gamma^2$ is simply kept: it adds no variance, and there are at most $8/\gamma^2$ of them.",
    notice=r"The errors are normal with the predicted variance, and beyond $\gamma$ a hundred times rarer than "
    r"Chebyshev allows. Undivided, the sparse vector would answer with a fraction of $c\cdot u$.",
)
def sparsified_classifiers(key, *, trials: Trials = 6000, divided: bool = True):
    key, first, second, third = jax.random.split(key, 4)
    draw, margin, d = generator(key), 0.3, 400
    # No coordinate near 0: kept once in a thousand times and then huge, it would spoil the mean of squares.
    c, u = draw.choice([-1, 1], d) * draw.uniform(0.5, 1.5, d), draw.standard_normal(d)
    heavy = draw.standard_normal(d) ** 3
    c, u, heavy = c / np.linalg.norm(c), u / np.linalg.norm(u), heavy / np.linalg.norm(heavy)
    kept, kept_heavy = (np.minimum(1, 8 * each**2 / margin**2) for each in (c, heavy))
    sparse, sparse_heavy = sparsify(first, c, margin, trials), sparsify(third, heavy, margin, trials)
    errors = sparse @ u - c @ u if divided else (sparse * kept) @ u - c @ u
    variance = np.sum((1 / kept - 1) * c**2 * u**2)
    across, rows, inner = u - (c @ u) * c, np.array([50, 200, 200]), np.array([-0.6, 0.6, 0.96])
    across /= np.linalg.norm(across)
    products = np.stack(
        [
            project(jax.random.fold_in(second, i), c, t * c + (1 - t**2) ** 0.5 * across, int(k), trials)
            for i, (t, k) in enumerate(zip(inner, rows, strict=True))
        ]
    )
    # Sixty-four equal coordinates at γ² = 1/8, where 8c_i²/γ² is 1 for each of them.
    squares, levels = (heavy**2, np.full(64, 1 / 64)), (margin**2, 1 / 8)
    return {
        "coordinates kept": Law(
            np.array([kept.sum(), kept_heavy.sum()]),
            np.stack([np.sum(each != 0, axis=1).astype(float) for each in (sparse, sparse_heavy)]),
            along={"classifier": np.array(["even", "with large coordinates"])},
            exact=True,
            aside={"all small": 8 / margin**2},
        ),
        "few large coordinates": Inequality(
            [float(np.sum(each >= level / 8)) for each, level in zip(squares, levels, strict=True)],
            np.array([8 / level for level in levels]),
        ),
        "variance of an answer": Chain({"Chebyshev": (variance, margin**2 / 8)}),
        # Squares of nearly normal errors: 6,000 resolve their mean to an eighth.
        "squared error of an answer": Law(
            variance, errors**2, exact=True, resolution=0.2, aside={"errors": errors, "margin": margin}
        ),
        "answers that change": Chance(np.sum(np.abs(errors) >= margin), trials, 1 / 8),
        "mean after a projection": Law(inner, products, exact=True, along={"rows": rows}),
        "variance after a projection": Law(
            (1 + inner**2) / rows,
            (products - inner[:, None]) ** 2,
            exact=True,
            resolution=0.2,
            along={"rows": rows},
            aside={"orthogonal": 1 / rows},
        ),
    }


sparsified_classifiers.control("not divided by the probability", of="squared error of an answer", divided=False)


@sparsified_classifiers.control("8/γ² coordinates kept, though some are large", of="coordinates kept")
def none_large(evidence):
    return replace(evidence, predicted=np.full(2, evidence.aside["all small"]))


@sparsified_classifiers.control("fewer than 8/γ² large coordinates, by one", of="few large coordinates")
def one_fewer(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) - 1)


@sparsified_classifiers.control("a variance of at most γ²/16", of="variance of an answer")
def half_the_variance(evidence):
    variance, bound = evidence.links["Chebyshev"]
    return replace(evidence, links={"Chebyshev": (variance, bound / 2)})


@sparsified_classifiers.control("twice the variance", of="squared error of an answer")
def twice_the_variance(evidence):
    return replace(evidence, predicted=2 * np.asarray(evidence.predicted))


@sparsified_classifiers.control("the variance for orthogonal vectors", of="variance after a projection")
def orthogonal_vectors(evidence):
    return replace(evidence, predicted=evidence.aside["orthogonal"])


@sparsified_classifiers.picture
def errors_of_sparse_classifiers(pieces):
    """By how much the sparse classifier's answer is off, over draws, under the normal density of the same variance."""
    spread = pieces["squared error of an answer"]
    sigma, margin = float(spread.predicted) ** 0.5, float(spread.aside["margin"])
    grid = np.linspace(-1.2 * margin, 1.2 * margin, 200)
    density = np.exp(-(grid**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
    return Histogram(
        [Line("normal, predicted variance", grid, density), Level("−γ", x=-margin), Level("γ", x=margin)],
        samples=spread.aside["errors"],
        x="answer of the sparse classifier minus the true one",
        y="density over draws",
    )
