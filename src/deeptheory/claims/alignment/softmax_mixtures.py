"""Online descent on a mixture of Gaussian classes turns into the outlier eigenspaces of its own test matrices.

jagannath Thms 13.3 to 13.5, with Figures 1.3, 1.4 and 1.7.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.alignment.overlaps import alignment, top_eigenspace
from deeptheory.alignment.softmax_mixtures import (
    mixture_draws,
    softmax_loss,
    softmax_velocity,
    symmetric_solution,
)
from deeptheory.alignment.test_matrices import (
    gradient_weights,
    hessian_weights,
    population_hessian,
    population_second_moment,
    weighted_second_moment,
)
from deeptheory.alignment.trajectories import ridge_descent
from deeptheory.foundations.flows import flow
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Law, Limit, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Mark, Row, power_law, seen

K = 3
RATIO = 2.0
"""Steps of descent are RATIO/d."""
TIMES = np.array([1.0, 3.0, 8.0])
TESTS = 20
"""Test inputs a dimension."""
EDGE = (1 + TESTS**-0.5) ** 2
"""Where the bulk of a test matrix ends, in units of its mean."""
Decay = Annotated[float, Interval(ge=0.1, le=0.4)]
GRAMS = {
    "oblique": np.array([[1.0, 0.4, 0.0], [0.4, 1.0, -0.2], [0.0, -0.2, 1.0]]),
    "orthonormal": np.eye(K),
}


@jax.jit
def limit(gram, precision, decay, times):
    """Overlaps with the means and the inner products beside them, from a start of length one without overlaps."""
    velocity = lambda _, state: softmax_velocity(state, gram, precision=precision, decay=decay, ratio=RATIO)  # noqa: E731
    return flow(velocity, (jnp.zeros((K, K)), jnp.eye(K)), times, substeps=12)


def parameters(overlaps, rest, means):
    """A point with these summary statistics, in the coordinates of the means and as many beside them."""
    beside = np.linalg.cholesky(rest)
    frame = np.eye(2 * K)
    return np.linalg.solve(means @ means.T, overlaps.T).T @ means + beside @ frame[K:]


@jax.jit
def descents(starts, inputs, labels, means, decay):
    """Overlaps with the means and inner products at every step, of runs that are batched on the first axis."""
    step = RATIO / starts.shape[-1]
    keep = lambda point: (point @ means.T, point @ point.T)  # noqa: E731
    one = lambda start, *data: ridge_descent(  # noqa: E731
        softmax_loss, start, data, step=step, decay=decay, statistics=keep
    )
    return jax.vmap(one)(starts, inputs, labels)


def begun(key, gram, size, trials, precision, time):
    """The means, uniform starts of length one, and inputs and labels for runs of online descent until a time."""
    means = np.zeros((K, size))
    means[:, :K] = np.linalg.cholesky(gram)
    steps = round(time * size / RATIO)
    inputs, labels = mixture_draws(key, means, count=trials * steps, precision=precision)
    starts = unit_vectors(generator(jax.random.fold_in(key, 1)), trials * K, size).reshape(trials, K, size)
    return means, starts, inputs.reshape(trials, steps, size), labels.reshape(trials, steps)


def trained(key, gram, size, trials, precision, decay):
    """Runs of online descent from uniform directions of length one: overlaps and inner products at the times."""
    means, starts, *data = begun(key, gram, size, trials, precision, TIMES[-1])
    at = np.round(TIMES * size / RATIO).astype(int)
    overlaps, products = descents(starts, *data, means, decay)[1]
    return np.asarray(overlaps)[:, at], np.asarray(products)[:, at]


def unseen(point, inputs, labels):
    """1 − ρ of each class with the k leading eigenvectors of its blocks of test Hessian and test G-matrix: the most."""
    pairs = hessian_weights(point, inputs), gradient_weights(point, inputs, labels)
    own = np.stack([np.einsum("mcc->mc", each) for each in pairs], axis=1)
    return np.max(1 - alignment(point, top_eigenspace(weighted_second_moment(inputs, own), K)))


def on_test_data(key, precision, decay, *, size, trials, time):
    """What test matrices of TESTS inputs a dimension miss of descents, at their starts and at their ends."""
    means, starts, *data = begun(key, GRAMS["oblique"], size, trials, precision, time)
    ends = np.asarray(descents(starts, *data, means, decay)[0])
    inputs, labels = mixture_draws(jax.random.fold_in(key, 2), means, count=trials * TESTS * size, precision=precision)
    tests = inputs.reshape(trials, -1, size), labels.reshape(trials, -1)
    return [[unseen(*each) for each in zip(points, *tests, strict=True)] for points in (starts, ends)]


@claim(
    items={
        "J13.6": (
            "alignment with the means",
            "misalignment with outlier eigenspaces",
            "misalignment with eigenspaces of test matrices",
        ),
        "J13.15": ("alignment with the means", "squared lengths"),
    },
    says=r"Online descent with steps of order $1/d$ on a mixture of $k$ Gaussian classes turns into the span of the "
    r"means up to $\|x^c_\perp\|^2$ of order $1/\lambda$, with $\|x^c\|$ of order one; $1-\rho(x^c,E_k)$ is then of "
    r"order $1/\lambda$ for the outlier eigenspaces $E_k$ of Hessian and G-matrix.",
    needs="k fixed, λ large, penalty β > 0, times long against 1/β; uniform starts of length one; expected matrices, "
    "and test matrices of twenty inputs a dimension",
    symbols={
        r"d": "the dimension",
        r"k": "the number of classes",
        r"x^c": "the parameters of a class",
        r"x^c_\perp": "their part orthogonal to all means",
        r"\lambda": r"the precision: the noise has covariance $I/\lambda$",
        r"\rho(x,B)": r"the alignment $\|P_Bx\|/\|x\|$",
        r"E_k": "the span of the $k$ leading eigenvectors of a class's block",
    },
    why=r"Beside the means the inputs are pure noise. There the loss pulls only through its curvature, $A/\lambda$, "
    r"the penalty shrinks what is left of the start like $e^{-\beta t}$, and every step adds noise: $\dot R=-2\beta "
    r"R-(AR+RA)/\lambda+cE(\pi-y)(\pi-y)^\top/\lambda$ for $R=\langle x_\perp,x_\perp\rangle$ and steps $c/d$. The "
    r"blocks are of order one on the means and $1/\lambda$ beside them, so their $k$ leading eigenvectors span the "
    r"means up to $1/\lambda$ as well, and both spaces meet.",
    notice="Left: a random start has nothing in the span of three means; by time 8 most of it. Dots are "
    "descents, lines the limiting equation. Right: what is missing from the outlier eigenspaces falls like one over "
    "the precision, of expected matrices and of matrices of test data; at the start nearly everything is missing.",
)
def descent_aligns_with_outlier_eigenspaces(
    key,
    *,
    precision: Annotated[float, Interval(ge=8, le=40)] = 10.0,
    decay: Decay = 0.25,
    trials: Trials = 192,
):
    gram, sizes = GRAMS["oblique"], (32, 128)
    overlaps, rest = (np.asarray(each) for each in limit(gram, precision, decay, TIMES))
    shares, lengths = [], []
    for size, one in zip(sizes, jax.random.split(key, len(sizes)), strict=True):
        seen_overlaps, products = trained(one, gram, size, trials, precision, decay)
        squares = np.einsum("...cc->...c", products)
        inside = np.einsum("...ca,ab,...cb->...c", seen_overlaps, np.linalg.inv(gram), seen_overlaps)
        shares.append(np.moveaxis(inside / squares, 0, -1))
        lengths.append(np.moveaxis(squares, 0, -1))
    inside = np.einsum("...ca,ab,...cb->...c", overlaps, np.linalg.inv(gram), overlaps)
    whole = inside + np.einsum("tcc->tc", rest)

    precisions, missing = np.array([50.0, 200.0, 800.0, 3200.0]), []
    means = np.pad(np.linalg.cholesky(gram), ((0, 0), (0, K)))
    for each in precisions:
        late, beside = (np.asarray(state)[-1] for state in limit(gram, each, decay, 8 * TIMES))
        point = parameters(late, beside, means)
        blocks = [f(point, means, precision=each, nodes=8) for f in (population_hessian, population_second_moment)]
        spaces = [[top_eigenspace(matrix[c, c], K) for c in range(K)] for matrix in blocks]
        missing.append([1 - alignment(point, np.array(space)) for space in spaces])
    tested = np.array([64.0, 256.0, 1024.0])
    on_tests = [
        on_test_data(jax.random.fold_in(key, 2 + i), each, decay, size=48, trials=max(8, trials // 12), time=20.0)
        for i, each in enumerate(tested)
    ]
    start, end = np.moveaxis(np.array(on_tests), 1, 0)
    labels = {"time": TIMES, "class": np.arange(1, K + 1)}
    return {
        "misalignment with eigenspaces of test matrices": Limit(tested, end, order=1.0, aside={"start": start}),
        "alignment with the means": Law(
            # Midway runs differ by a tenth; extrapolated from two sizes, 8 standard errors are 0.05.
            inside / whole, np.array(shares), along=labels, sizes=sizes, order=1, scale=1.0, resolution=0.08,
            aside={"inside": inside, "start": np.exp(-2 * decay * TIMES)},
        ),
        "squared lengths": Law(
            whole, np.array(lengths), along=labels, sizes=sizes, order=1, scale=1.0, aside={"inside": inside}
        ),
        "misalignment with outlier eigenspaces": Rate(
            precisions, np.array(missing).max((-2, -1)), exponent=-1.0, rivals=(-0.5, -2.0)
        ),
    }  # fmt: skip


@descent_aligns_with_outlier_eigenspaces.control(
    "what is beside the means only decays, without noise from the steps", of="alignment with the means"
)
def no_floor(evidence):
    inside = np.asarray(evidence.aside["inside"])
    return replace(evidence, predicted=inside / (inside + np.asarray(evidence.aside["start"])[:, None]))


@descent_aligns_with_outlier_eigenspaces.control("lengths of the part inside the means alone", of="squared lengths")
def inside_alone(evidence):
    return replace(evidence, predicted=evidence.aside["inside"])


@descent_aligns_with_outlier_eigenspaces.control(
    "classes as they start", of="misalignment with eigenspaces of test matrices"
)
def at_the_start(evidence):
    return replace(evidence, y=evidence.aside["start"])


@descent_aligns_with_outlier_eigenspaces.control("order 1/λ²", of="misalignment with eigenspaces of test matrices")
def second_order(evidence):
    return replace(evidence, order=2.0)


@descent_aligns_with_outlier_eigenspaces.picture
def turning(pieces, settings):
    """Left: squared alignment of each class with the span of the means along training. Right: what eigenspaces miss."""
    shares, missing = pieces["alignment with the means"], pieces["misalignment with outlier eigenspaces"]
    gram, times = GRAMS["oblique"], np.linspace(0.05, 1.1 * TIMES[-1], 40)
    overlaps, rest = (np.asarray(each) for each in limit(gram, settings["precision"], settings["decay"], times))
    inside = np.einsum("tca,ab,tcb->tc", overlaps, np.linalg.inv(gram), overlaps)
    curves = inside / (inside + np.einsum("tcc->tc", rest))
    plain = inside / (inside + np.exp(-2 * settings["decay"] * times)[:, None])
    left: list[Mark] = [Line("", times, plain[:, 0], rival="no noise from steps")]
    for which in range(K):
        left.append(Line(f"class {which + 1}", times, curves[:, which]))
        left.append(seen(f"class {which + 1}", TIMES, np.asarray(shares.observed)[-1, :, which]))
    tested = pieces["misalignment with eigenspaces of test matrices"]
    right = Curves(
        [
            *power_law("1 − alignment", missing, rivals={-0.5: "order 1/√λ"}),
            seen("test matrices, at the end", tested.x, tested.y),
            seen("test matrices, at the start", tested.x, tested.aside["start"]),
        ],
        x="precision λ",
        y="misalignment 1 − ρ",
        log="xy",
    )
    return Row([Curves(left, x="time (steps × step size)", y="squared alignment with the means", ys=(0, 1)), right])


def tested_spectrum(overlaps, rest, inputs):
    """The k + 1 leading eigenvalues of the first class's test Hessian, at a point with these summary statistics."""
    # Beside the means test inputs have no preferred direction, so that any point with these statistics will do.
    point = np.pad(parameters(overlaps, rest, np.eye(2 * K)[:K]), ((0, 0), (0, inputs.shape[1] - 2 * K)))
    block = weighted_second_moment(inputs, hessian_weights(point, inputs)[:, 0, 0])
    return np.linalg.eigvalsh(block)[: -K - 2 : -1]


def spectrum(overlaps, rest, precision):
    """The k leading eigenvalues of the first class's expected Hessian, and the edge of its bulk on test data.

    Beside the means weights π(1 − π) differ little, so that the bulk is Marchenko and Pastur's, d/M̃ = 1/TESTS.
    """
    means = np.eye(2 * K)[:K]
    block = population_hessian(parameters(overlaps, rest, means), means, precision=precision, nodes=6)[0, 0]
    return np.linalg.eigvalsh(block)[: -K - 2 : -1] * np.append(np.ones(K), EDGE)


@claim(
    items={
        "J13.8": ("leading eigenvector and own mean", "eigenvalues without noise", "overlaps along training"),
        "J13.9": ("overlaps along training", "eigenvalues along training"),
    },
    says=r"For $k\ge3$ equal classes with orthonormal means, the leading eigenvector of class $c$'s block of "
    r"Hessian and G-matrix is $\mu_c$ up to $O(1/\lambda)$; without noise $k$ times its eigenvalue is "
    r"$\pi(1-\pi)$ or $(1-\pi)^2$, the others $q(1-q)$ or $q^2$, and "
    r"$\langle x^c,\mu_b\rangle=-\langle x^c,\mu_c\rangle/(k-1)$.",
    needs="orthonormal means, equal weights, at least three classes; eigenvectors at the minimizer of the penalized "
    "loss; along training, Hessians of twenty test inputs a dimension",
    symbols={
        r"k": "the number of classes",
        r"\mu_c": "the mean of a class",
        r"\lambda": r"the precision: the noise has covariance $I/\lambda$",
        r"\pi": "the chance that the minimizer gives the right class at its mean",
        r"q": r"the chance it gives each other class, $(1-\pi)/(k-1)$",
        r"x^c": "the parameters of a class",
        r"\text{G-matrix}": "the mean of the products of a sample's gradient with itself, beside the mean Hessian",
        r"\beta": "the strength of the penalty on the squared parameters",
    },
    why=r"By symmetry the minimizer gives the right class chance $\pi$ at its mean and $q$ to each other, and solves "
    r"$k\beta a=1-\pi$ with $a=\langle x^c,\mu_c\rangle$. The Hessian's block of class $c$ is then diagonal in the "
    r"means, with $\pi(1-\pi)/k$ at its own and $q(1-q)/k$ at the others: different as soon as $\pi>1/k$, if $k>2$. "
    r"For two classes $q=1-\pi$: the two eigenvalues are equal, and any noise makes $(\mu_1\pm\mu_2)/\sqrt2$ the "
    r"eigenvectors.",
    notice="Left: three outliers of the test Hessian above its bulk from the beginning; that of the own mean splits "
    "off. Right: so do the overlaps with the means, the own one up and the others down to minus half of it.",
)
def own_mean_leads(key, *, decay: Decay = 0.1, trials: Trials = 96):
    precisions, missing = np.array([25.0, 100.0, 400.0, 1600.0]), []
    for precision in precisions:
        row = []
        for classes in (2, 3, 4):
            size, means = (
                symmetric_solution(classes, decay=decay, precision=precision, nodes=8),
                np.eye(classes + 1)[:-1],
            )
            point = size * (classes * means - means.sum(0)) / (classes - 1)
            blocks = [
                f(point, means, precision=precision, nodes=8) for f in (population_hessian, population_second_moment)
            ]
            row.append([1 - alignment(top_eigenspace(each[0, 0], 1)[0], means[:1]) for each in blocks])
        missing.append(row)
    missing = np.array(missing)

    counts, rest_values, formula = (3, 4, 5), [], []
    for classes in counts:
        size, means = symmetric_solution(classes, decay=decay), np.eye(classes)
        point, right = size * (classes * means - 1) / (classes - 1), 1 - classes * decay * size
        wrong = (1 - right) / (classes - 1)
        for block, own, other in (
            (population_hessian, right * (1 - right), wrong * (1 - wrong)),
            (population_second_moment, (1 - right) ** 2, wrong**2),
        ):
            values = np.linalg.eigvalsh(block(point, means, precision=np.inf, nodes=1)[0, 0])[::-1]
            rest_values.append(values[[0, 1, -1]])
            formula.append([own / classes, other / classes, other / classes])

    precision, sizes, gram = 20.0, (32, 128), GRAMS["orthonormal"]
    overlaps, rest = (np.asarray(each) for each in limit(gram, precision, decay, TIMES))
    values = np.array([spectrum(*each, precision) for each in zip(overlaps, rest, strict=True)])
    firsts, spectra = [], []
    for size, one in zip(sizes, jax.random.split(key, len(sizes)), strict=True):
        m, products = trained(one, gram, size, trials, precision, decay)
        beside = products - m @ np.swapaxes(m, -1, -2)
        own = np.einsum("...cc->...", m)
        firsts.append(np.moveaxis(np.stack([own / K, (m.sum((-2, -1)) - own) / (K * (K - 1))], axis=-1), 0, -1))
        count, axes = trials * TESTS * size, np.eye(size)[:K]
        tests, _ = mixture_draws(jax.random.fold_in(one, 2), axes, count=count, precision=precision)
        spectra.append([
            [tested_spectrum(one_m, one_beside, test) for one_m, one_beside in zip(of, aside, strict=True)]
            for of, aside, test in zip(m, beside, tests.reshape(trials, -1, size), strict=True)
        ])  # fmt: skip
    spectra = np.moveaxis(np.array(spectra), 1, -1)
    return {
        "leading eigenvector and own mean": Limit(
            precisions, missing[:, 1:].max((-2, -1)), order=1.0, aside={"two": missing[:, 0].max(-1)}
        ),
        "eigenvalues without noise": Identity(
            np.array(rest_values), np.array(formula), error=1e-12, aside={"classes": np.array(counts)},
            along={"matrix": [f"{name}, {k} classes" for k in counts for name in ("Hessian", "G-matrix")]},
        ),
        "overlaps along training": Law(
            overlaps[:, 0, :2], np.array(firsts), along={"time": TIMES, "mean": ["own", "other"]}, sizes=sizes, order=1,
            # Starts differ by a tenth in their overlaps; extrapolated from two sizes, 8 standard errors are 0.05.
            scale=1.0, resolution=0.08,
        ),
        "eigenvalues along training": Law(
            values, spectra, along={"time": TIMES, "eigenvalue": ["first", "second", "third", "bulk"]},
            # Early on eigenvalues are nearly equal and repel each other: 3 % that fall like d^(−1/2) only.
            sizes=sizes, order=1, resolution=0.1,
        ),
    }  # fmt: skip


@own_mean_leads.control(
    "two classes, which the theorem does not exclude", of="leading eigenvector and own mean", erratum="J13.8a"
)
def two_classes(evidence):
    return replace(evidence, y=evidence.aside["two"])


@own_mean_leads.control("chances of the other classes (1 − π)/k", of="eigenvalues without noise")
def among_all(evidence):
    right = np.array(evidence.right)
    # Rows of the G-matrix: the own eigenvalue is (1 − π)²/k.
    right[1::2, 1:] = right[1::2, :1] / np.asarray(evidence.aside["classes"])[:, None] ** 2
    return replace(evidence, right=right)


@own_mean_leads.control("overlaps with other means that vanish", of="overlaps along training")
def no_negative_overlaps(evidence):
    predicted = np.array(evidence.predicted)
    predicted[:, 1] = 0.0
    return replace(evidence, predicted=predicted)


@own_mean_leads.control("eigenvalues that stay as one", of="eigenvalues along training")
def no_splitting(evidence):
    predicted = np.array(evidence.predicted)
    predicted[:, :K] = predicted[:, :K].mean(-1, keepdims=True)
    return replace(evidence, predicted=predicted)


@own_mean_leads.control("a bulk as narrow as in expectation", of="eigenvalues along training")
def narrow_bulk(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / np.append(np.ones(K), EDGE))


@own_mean_leads.picture
def splitting(pieces, settings):
    """Eigenvalues of the first class's test Hessian (left) and overlaps of its parameters with the means (right), along
    training: the limit as lines, means over descents as dots."""
    values, overlaps = pieces["eigenvalues along training"], pieces["overlaps along training"]
    times = np.linspace(0.05, 1.1 * TIMES[-1], 30)
    m, rest = (np.asarray(each) for each in limit(GRAMS["orthonormal"], 20.0, settings["decay"], times))
    path = np.array([spectrum(*each, 20.0) for each in zip(m, rest, strict=True)])
    left, right = [], []
    for which, name in enumerate(("eigenvalue 1", "eigenvalue 2", "eigenvalue 3", "bulk")):
        left.append(Line(name, times, path[:, which]))
        left.append(seen("descents", TIMES, np.asarray(values.observed)[-1, :, which]))
    for which, name in enumerate(("own mean", "each other mean")):
        right.append(Line(name, times, m[:, 0, which]))
        right.append(seen("descents", TIMES, np.asarray(overlaps.observed)[-1, :, which]))
    clock = "time (steps × step size)"
    return Row([Curves(left, x=clock, y="eigenvalue"), Curves(right, x=clock, y="overlap")])
