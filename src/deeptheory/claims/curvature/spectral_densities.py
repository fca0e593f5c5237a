"""What random vectors tell of a Hessian, and how well: its trace, its diagonal, how its eigenvalues are spread."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.curvature.density import diagonal, spectral_density, spectral_quadratures, spectral_sum, trace
from deeptheory.curvature.operators import blocks, hessian
from deeptheory.data import digits
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.spheres import direction_rule
from deeptheory.lab import Identity, Law, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

PROBES = 32
KINDS = "signs", "normals", "unit vectors"
TIMES = 0, 20, 200
"""steps of training, by the last of which some eigenvalues of the Hessian have left the rest"""
VECTORS, PLACES, WIDTH = 16, 33, 0.15
"""random vectors a density, points at which it is evaluated, and how wide its bells are"""


def loss(weights, data):
    """Mean cross-entropy of a network with one layer of tanh."""
    first, last = weights
    outputs = jnp.tanh(data[0] @ first.T) @ last.T
    return optax.softmax_cross_entropy_with_integer_labels(outputs, data[1]).mean()


@jax.jit
def descended(weights, data, steps):
    """The weights after so many steps of gradient descent."""
    down = lambda _, weights: jax.tree.map(lambda w, g: w - 0.5 * g, weights, jax.grad(loss)(weights, data))  # noqa: E731
    return jax.lax.fori_loop(0, steps, down, weights)


def trained_hessians(draw, times, *, samples, side, hidden):
    """The Hessian of a small network on digits at each time of its training, and the same written out."""
    found = digits(samples, 1, side=side)
    data = jnp.asarray(found.train_images / found.train_images.std()), jnp.asarray(found.train_labels)
    shapes = (hidden, side**2), (10, hidden)
    weights = [jnp.asarray(draw.standard_normal(shape) / shape[1] ** 0.5) for shape in shapes]
    first = hessian(loss, weights, data)
    curvatures = [first.at(descended(weights, data, steps)) for steps in times]
    # By JAX, so that products which are wrong are not written out wrong too.
    whole = jax.jit(jax.hessian(lambda flat: loss(first.unravel(flat), data)))
    return curvatures, [np.asarray(whole(curvature.parameters)) for curvature in curvatures]


@claim(
    items={},
    says=r"$\mathrm{tr}A$ is the mean of $z^\top Az$; its variance is $2(\|A\|_F^2-\sum_iA_{ii}^2)$ for random "
    r"signs $z$, $2\|A\|_F^2$ for normals, $\frac{2p}{p+2}(\|A\|_F^2-(\mathrm{tr}A)^2/p)$ for unit "
    r"vectors times $\sqrt p$. For signs $z_i(Az)_i$ has mean $A_{ii}$ and variance $\sum_{j\ne i}A_{ij}^2$.",
    needs="a symmetric matrix; entries of $z$ independent, or $z$ uniform on the sphere",
    symbols={
        "A,p": "the Hessian of a network, and its number of parameters",
        "z": "a random vector whose entries have mean 0 and variance 1",
        r"\|A\|_F^2": r"$\sum_{ij}A_{ij}^2$",
    },
    why=r"Of $z^\top Az=\sum_iA_{ii}z_i^2+2\sum_{i<j}A_{ij}z_iz_j$ the products of different entries are uncorrelated. "
    r"Signs have $z_i^2=1$, and the diagonal does not scatter; for normals each $z_i^2$ adds $2A_{ii}^2$. On the "
    r"sphere the length does not scatter, which takes away what the mean of the eigenvalues would add.",
    notice="Signs scatter least in the trace here, and the less the more of the matrix lies on its diagonal. Small "
    "entries of the diagonal may hide behind the rest of their row: their error bars are larger than they are.",
)
def probed_traces_and_diagonals(
    key,
    *,
    samples: Annotated[int, Interval(ge=20, le=400)] = 100,
    trials: Annotated[int, Interval(ge=64, le=10_000)] = 256,
):
    draw = generator(key)
    (curvature,), (matrix,) = trained_hessians(draw, TIMES[-1:], samples=samples, side=2, hidden=3)
    size, entries = curvature.size, np.diag(matrix)
    whole, own, mean = np.sum(matrix**2), np.sum(entries**2), entries.mean()
    off = np.sum(matrix**2, axis=1) - entries**2

    def scatter(vectors):
        """The variance of zᵀAz over the vectors of every trial."""
        each = np.einsum("...i,...i", vectors @ matrix, vectors)
        return each.var(axis=-1, ddof=1)

    normals = draw.standard_normal((trials, 512, size))
    units = normals * np.sqrt(size / np.sum(normals**2, axis=-1, keepdims=True))
    signs = 2.0 * draw.integers(0, 2, normals.shape) - 1
    keys = jax.random.split(key, trials)
    diagonals = [diagonal(curvature, each, probes=PROBES) for each in keys]
    traces = [trace(curvature, each, probes=PROBES) for each in keys]
    centred = whole - size * mean**2
    return {
        # Rivals are a tenth and a quarter off.
        "variance of a probe": Law(
            np.array([2 * (whole - own), 2 * whole, 2 * size / (size + 2) * centred]),
            np.stack([scatter(vectors) for vectors in (signs, normals, units)]),
            exact=True,
            along={"vectors": KINDS},
            resolution=0.08,
        ),
        "squared error bar of the trace": Law(
            2 * (whole - own) / PROBES,
            np.array([found.error**2 for found in traces]),
            exact=True,
            resolution=0.2,
            aside={"normals": 2 * whole / PROBES},
        ),
        "diagonal": Law(
            entries,
            np.stack([found.value for found in diagonals], axis=1),
            exact=True,
            along={"parameter": np.arange(size)},
            scale=np.sqrt(off + entries**2),
            resolution=0.1,
        ),
        "squared error bars of the diagonal": Law(
            off / PROBES,
            np.stack([found.error**2 for found in diagonals], axis=1),
            exact=True,
            along={"parameter": np.arange(size)},
            resolution=0.16,
            aside={"row": (off + entries**2) / PROBES},
        ),
    }


@probed_traces_and_diagonals.control("signs as if they were normals", of="variance of a probe")
def signs_as_normals(evidence):
    return replace(evidence, predicted=evidence.predicted[[1, 1, 2]])


@probed_traces_and_diagonals.control("unit vectors as if they were normals", of="variance of a probe")
def units_as_normals(evidence):
    return replace(evidence, predicted=evidence.predicted[[0, 1, 1]])


@probed_traces_and_diagonals.control("error bars as for normals", of="squared error bar of the trace")
def bars_of_normals(evidence):
    return replace(evidence, predicted=evidence.aside["normals"])


@probed_traces_and_diagonals.control("the whole row, j = i too", of="squared error bars of the diagonal")
def whole_row(evidence):
    return replace(evidence, predicted=evidence.aside["row"])


@probed_traces_and_diagonals.picture
def entries_with_errors(pieces):
    """The diagonal of the Hessian in falling order: the entries, and one estimate of them from 32 vectors of signs with
    two standard errors as the rest of their rows makes them."""
    found, bars = pieces["diagonal"], pieces["squared error bars of the diagonal"]
    order = np.argsort(-np.asarray(found.predicted))
    rank = np.arange(1, len(order) + 1)
    error = 2 * np.sqrt(np.asarray(bars.predicted)[order])
    return Curves(
        [
            Line("entry of the diagonal", rank, np.asarray(found.predicted)[order]),
            Dots("estimate", rank, np.asarray(found.observed)[order, 0], error=error),
        ],
        x="rank",
        y="second derivative in one parameter",
    )


def moments_seen(curvature, matrix, starts, steps):
    """Σwθᵏ of the quadratures and vᵀAᵏv/vᵀv by eigenvalues, in units of the largest, for k = 0, …, 2·steps."""
    nodes, weights = spectral_quadratures(curvature, starts, steps=steps)
    values, vectors = np.linalg.eigh(matrix)
    shares = (starts @ vectors) ** 2 / np.sum(starts**2, axis=1, keepdims=True)
    unit, powers = np.abs(values).max(), np.arange(2 * steps + 1)[:, None, None]
    return [np.sum(w * (x / unit) ** powers, axis=2) for w, x in ((weights, nodes), (shares, values))]


def bells(places, values):
    """A normal density of standard deviation WIDTH around each value, at each place."""
    return np.exp(-0.5 * (np.subtract.outer(places, values) / WIDTH) ** 2) / (np.sqrt(2 * np.pi) * WIDTH)


@claim(
    items={},
    says=r"From a vector $v$, $m$ products with $A$ give nodes and weights such that $\sum_jw_j\theta_j^k$ is "
    r"$v^\top A^kv/v^\top v$ for all $k<2m$. Over all directions of $v$ the mean of $\sum_jw_jf(\theta_j)$ is "
    r"$\bar f=\frac1p\sum_if(\lambda_i)$ and the variance $\frac2{p+2}\cdot\frac1p\sum_i(f(\lambda_i)-\bar f)^2$.",
    needs="a symmetric matrix; $v$ drawn evenly; for mean and variance steps enough that the quadrature knows $f$",
    symbols={
        "A,p,v": "a Hessian or the block of a layer, its number of rows, and the vector that the products start from",
        r"m,\theta_j,w_j": "the number of products, and nodes and weights of the quadrature they give",
        r"\lambda_i,f": "the eigenvalues, and a function of them: a bell, for a density, or a step, for a count",
        "k": "a power",
    },
    why=r"$v$ sees $\lambda_i$ with the weight $u_i^2$, its squared share along the eigenvector. Lanczos makes the "
    r"polynomials orthogonal under these weights, and Gauss quadrature of $m$ nodes is exact below degree $2m$. For a "
    r"direction $u$ drawn evenly the $u_i^2$ add up to one, each of mean $1/p$: only how $f$ differs between "
    r"eigenvalues scatters. The square of what $v$ sees is of degree four in $u$, and $p^2$ directions with weights of "
    "their own have the same mean as all: no chance is left.",
    notice="Training sends a few eigenvalues far up and leaves the rest near zero. The bands are two standard errors, "
    "told by the vectors alone. The block of a layer has a spectrum of its own.",
)
def lanczos_quadratures_of_a_hessian(
    key,
    *,
    samples: Annotated[int, Interval(ge=20, le=400)] = 60,
    trials: Annotated[int, Interval(ge=2, le=256)] = 8,
):
    draw = generator(key)
    curvatures, matrices = trained_hessians(draw, TIMES, samples=samples, side=2, hidden=2)
    whole, matrix = curvatures[-1], matrices[-1]
    size, layers = whole.size, blocks(whole)
    cases = {f"all weights, m = {steps}": (whole, matrix, steps) for steps in (2, 3, 4)}
    for name, (layer, block) in zip(("first", "last"), layers.items(), strict=True):
        cut = slice(*block.part)
        cases[f"{name} layer {layer}, m = 3"] = block, matrix[cut, cut], 3
    moments = [moments_seen(at, of, draw.standard_normal((4, at.size)), steps) for at, of, steps in cases.values()]
    names = [f"{case}, k = {k}" for case, (_, _, steps) in cases.items() for k in range(2 * steps)]
    left, right = (np.concatenate([each[side][:-1] for each in moments]) for side in (0, 1))
    beyond = {name: np.stack([each[side][-1] for each in moments]) for side, name in enumerate(("quadrature", "true"))}

    # Eigenvalues, places of a density, and where to count: in the widest gap below the third to the sixth largest.
    systems = [np.linalg.eigh(each) for each in matrices]
    values = np.stack([each[::-1] for each, _ in systems])
    places = np.linspace(values[:, -1] - 4 * WIDTH, values[:, 0] + 4 * WIDTH, PLACES, axis=1)
    ranks = 3 + np.argmax(values[:, 2:6] - values[:, 3:7], axis=1)
    cuts = values[np.arange(len(TIMES)), ranks - 1] / 2 + values[np.arange(len(TIMES)), ranks] / 2

    # As many products as rows would know every function if they were exact. Rounding brings back large eigenvalues as
    # copies, and what tells a step in a narrow gap from a slope comes some products later.
    known = 2 * size
    # All directions by those of an exact rule, turned at random.
    points, shares = direction_rule(size)
    turned = points @ np.linalg.qr(draw.standard_normal((size, size)))[0]
    seen, counted, nodes_above = [], [], []
    for curvature, at, cut in zip(curvatures, places, cuts, strict=True):
        nodes, weights = spectral_quadratures(curvature, turned, steps=known)
        seen.append(np.einsum("vj,xvj->xv", weights, bells(at, nodes)))
        counted.append(size * np.sum(weights * (nodes > cut), axis=1))
        nodes_above.append(np.mean(np.sum(nodes > cut, axis=1)))
    seen, counted, density = np.stack(seen), np.stack(counted), np.stack(list(map(bells, places, values)))
    peaks = np.arange(len(TIMES)), density.mean(2).argmax(1)
    functions = np.stack([density[peaks], size * (values > cuts[:, None])], axis=1)
    single = np.stack([seen[peaks], counted], axis=1)
    means = np.sum(shares * single, axis=2)
    scatter = np.sum(shares * (single - means[..., None]) ** 2, axis=2)
    large = np.sum(np.abs(shares) * single**2, axis=2)

    # What vectors drawn by chance say of themselves, and what their shares along the eigenvectors say.
    told, true = [], []
    for own in jax.random.split(key, trials):
        starts = generator(own).standard_normal((VECTORS, size))
        for curvature, (each, vectors), cut in zip(curvatures, systems, cuts, strict=True):
            found = spectral_density(curvature, own, probes=VECTORS, steps=known, points=PLACES, width=WIDTH)
            count = spectral_sum(found, cut.__lt__, size)
            told.append([[*found.density, count.value], [*found.error, count.error]])
            weights = (starts @ vectors) ** 2 / np.sum(starts**2, axis=1, keepdims=True)
            exact = weights @ np.vstack([bells(found.points, each), size * (each > cut)]).T
            true.append([exact.mean(0), exact.std(0, ddof=1) / np.sqrt(VECTORS)])
    told, true = (np.array(each).reshape(trials, len(TIMES), 2, PLACES + 1) for each in (told, true))
    shown = [spectral_density(each, key, probes=VECTORS, steps=known) for each in (*curvatures, *layers.values())]
    along: dict[str, Any] = {"training steps": TIMES, "of": ("density at its peak", "count")}
    rounded: dict[str, Any] = dict(size=size**2, condition=size)
    return {
        "moments of what a vector sees": Identity(
            left, right, scale=1.0, along={"moment": names, "vector": np.arange(4)}, aside=beyond
        ),
        "density of eigenvalues": Identity(
            np.sum(shares * seen, axis=2),
            density.mean(2),
            scale=np.sum(np.abs(shares) * seen, axis=2).max(1, keepdims=True),
            along={"training steps": TIMES, "place": np.arange(PLACES)},
            aside={"before": np.stack([bells(at, values[0]).mean(1) for at in places])}
            | {name: np.stack([getattr(each, name) for each in shown]) for name in ("points", "density", "error")},
            **rounded,
        ),
        "number of eigenvalues above a gap": Identity(
            means[:, 1],
            ranks.astype(float),
            scale=size,
            along={"training steps": TIMES},
            aside={"nodes": nodes_above},
            **rounded,
        ),
        "variance over all directions": Identity(
            scatter,
            2 / (size + 2) * functions.var(axis=2),
            scale=large,
            along=along,
            aside={
                "normals": 2 / size * np.mean(functions**2, axis=2),
                "p": 2 / size * functions.var(axis=2),
            },
            **rounded,
        ),
        "estimates and error bars of drawn vectors": Identity(
            told, true, scale=np.abs(true).max((0, 2, 3), keepdims=True), **rounded
        ),
    }


@lanczos_quadratures_of_a_hessian.control("exact to degree 2m as well", of="moments of what a vector sees")
def one_degree_more(evidence):
    return replace(evidence, left=evidence.aside["quadrature"], right=evidence.aside["true"], along={})


@lanczos_quadratures_of_a_hessian.control("the spectrum before training", of="density of eigenvalues")
def nothing_moves(evidence):
    return replace(evidence, right=evidence.aside["before"])


@lanczos_quadratures_of_a_hessian.control("every node is as many eigenvalues", of="number of eigenvalues above a gap")
def nodes_counted(evidence):
    return replace(evidence, right=evidence.aside["nodes"])


@lanczos_quadratures_of_a_hessian.control("2/p for 2/(p + 2)", of="variance over all directions")
def two_more_forgotten(evidence):
    return replace(evidence, right=evidence.aside["p"])


@lanczos_quadratures_of_a_hessian.control("lengths scatter too, as for normals", of="variance over all directions")
def not_of_unit_length(evidence):
    return replace(evidence, right=evidence.aside["normals"])


@lanczos_quadratures_of_a_hessian.control(
    "deviations over 16, not 15, in error bars", of="estimates and error bars of drawn vectors"
)
def all_sixteen(evidence):
    biased = np.array([1.0, np.sqrt(1 - 1 / VECTORS)])[:, None]
    return replace(evidence, right=evidence.right * biased)


@lanczos_quadratures_of_a_hessian.picture
def spectra_along_training(pieces):
    """Densities of eigenvalues with two standard errors: of the Hessian at three times of training (left), and of its
    block of each layer at the last of them (right)."""
    points, density, error = (pieces["density of eigenvalues"].aside[name] for name in ("points", "density", "error"))
    names = *(f"after {steps} steps" for steps in TIMES), "first layer", "last layer"
    lines = [
        Line(name, x, y, low=np.maximum(y - 2 * off, 0), high=y + 2 * off)
        for name, x, y, off in zip(names, points, density, error, strict=True)
    ]
    words: dict[str, Any] = dict(x="eigenvalue", y="density", ys=(0.003, 20), log="y")
    whole, layers = lines[: len(TIMES)], lines[len(TIMES) :]
    return Row([Curves(whole, **words, title="All weights"), Curves(layers, **words, title="Layers, trained")])
