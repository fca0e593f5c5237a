"""Norms, margins and compression of networks (arora 5.5, handbook 8)."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.concentration import log_hoeffding
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.compression import (
    compressed_within,
    degrees_of_freedom,
    project,
    sparsify,
    truncate,
    truncate_network,
    truncation_rank,
)
from deeptheory.generalization.networks.norm_bounds import (
    handbook_spectral_bound,
    neyshabur_bound,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.networks.norms import (
    frobenius_norm,
    lipschitz_bound,
    margin_loss,
    margins,
    normalized_margins,
    path_norm,
    relu_network,
    spectral_norm,
    stable_rank,
)
from deeptheory.generalization.pac_bayes.description_length import occam_bound
from deeptheory.lab import Chain, Chance, Exact, Identity, Inequality, Law, Reals, Trials, assume, claim

SHAPES = ((20, 12), (20, 20), (4, 20))
jacobians = jax.jit(jax.vmap(jax.jacobian(lambda x, layers: relu_network(layers, x[None])[0]), (0, None)))


def random_network(draw, shapes=SHAPES):
    return [draw.standard_normal(shape) / np.sqrt(shape[1]) for shape in shapes]


@claim(
    items={"A5.26": ("slopes", "steps", "aligned"), "H8.2": ("slopes", "steps", "aligned", "power")},
    says=r"A ReLU network is Lipschitz with constant $\prod\|A_i\|_2$, and no better when the layers are aligned, of "
    r"rank one and non-negative.",
    needs="no biases, or any; Euclidean norms",
)
def lipschitz_constant(key, *, stretch: Literal["largest", "typical"] = "largest"):
    draw = generator(key)
    network = random_network(draw)
    x, y = draw.standard_normal((2, 200, 12))
    slopes = np.linalg.norm(np.asarray(jacobians(x, network)), 2, axis=(1, 2))
    steps = np.linalg.norm(relu_network(network, x) - relu_network(network, y), axis=1) / np.linalg.norm(x - y, axis=1)
    units = [np.abs(draw.standard_normal(n)) for n in (5, 6, 4)]
    units = [u / np.linalg.norm(u) for u in units]
    aligned = [2 * np.outer(units[1], units[0]), 0.7 * np.outer(units[2], units[1])]
    output = np.asarray(relu_network(aligned, units[0][None]))
    vector = draw.standard_normal(12)
    for _ in range(2000):
        vector = network[0].T @ (network[0] @ vector)
        vector /= np.linalg.norm(vector)
    # The typical stretch of a layer is the root mean square over directions, ‖A‖_F/√inputs.
    typical = np.prod([frobenius_norm(layer) / np.sqrt(layer.shape[1]) for layer in network])
    bound = lipschitz_bound(network) if stretch == "largest" else typical
    return {
        "slopes": Inequality(slopes, bound),
        "steps": Inequality(steps, bound),
        "aligned": Identity(np.linalg.norm(output), lipschitz_bound(aligned)),
        "power": Identity(np.linalg.norm(network[0] @ vector), spectral_norm(network[0]), error=1e-6),
    }


lipschitz_constant.control("the typical stretch of every layer", of="slopes", stretch="typical")


@lipschitz_constant.control("the sum of the norms", of="aligned")
def sum_of_norms(evidence):
    return replace(evidence, right=2 + 0.7)


@claim(
    items={"A5.20": ("monotone", "error"), "H8.1": ("error", "homogeneous", "normalized")},
    says=r"The margin loss grows with the margin and is the 0–1 error at margin 0; multiplying L layers by c "
    r"multiplies margins by $c^L$ and leaves those divided by $\prod\|A_i\|_2$ as they were.",
    needs="no biases; c > 0",
)
def margin_distributions(key, *, scale: Annotated[float, Interval(ge=0.1, le=10)] = 1.7, bias: bool = False):
    draw = generator(key)
    network, x, labels = random_network(draw), draw.standard_normal((300, 12)), draw.integers(0, 4, 300)
    outputs = np.asarray(relu_network(network, x))
    larger = [scale * layer for layer in network]
    shift = np.array([3.0, 0, 0, 0]) if bias else 0.0  # biases of the last layer, which are not multiplied
    losses = np.array([margin_loss(margins(outputs, labels), g) for g in np.linspace(-1, 1, 21)])
    return {
        "monotone": Inequality(losses[:-1], losses[1:]),
        "error": Identity(margin_loss(margins(outputs, labels)), np.mean(np.argmax(outputs, axis=1) != labels)),
        "homogeneous": Identity(
            margins(np.asarray(relu_network(larger, x)) + shift, labels),
            scale**3 * margins(outputs + shift, labels),
            scale=10.0 * max(1.0, scale**3),
        ),
        "normalized": Identity(
            normalized_margins(larger, x, labels), normalized_margins(network, x, labels), scale=1.0
        ),
    }


margin_distributions.control("with biases", of="homogeneous", bias=True)


@margin_distributions.control("divided by one norm instead of the product", of="normalized")
def divided_by_one(evidence):
    return replace(evidence, left=1.7**2 * np.asarray(evidence.left))


@claim(
    items={
        "A5.24": ("ranks", "dimension"),
        "A5.27": ("change", "kept", "attained"),
        "A5.28": ("layers", "together"),
    },
    says=r"The stable rank lies between 1 and the rank; matrices of rank r have $r(h+w-r)$ degrees of freedom. "
    r"Dropping singular values below $\delta\|A\|_2$ changes A by less than that and keeps at most "
    r"$\operatorname{srank}/\delta^2$ (attained when all are equal, at $\delta=1$); done in every layer at "
    r"$\delta=\gamma/(3d\|x\|\prod\|A_j\|_2)$ it moves outputs by at most $0.396\,\gamma$, one layer alone by "
    r"$\gamma/3d$.",
    needs="γ at most ‖x‖∏‖A‖",
)
def truncation(key, *, share: Annotated[float, Interval(ge=0.01, le=1)] = 0.2):
    draw = generator(key)
    matrices = []
    spectra = [np.arange(1, 31.0) ** -power for power in (0.3, 0.7, 1.0, 1.5, 2.5)]
    # One large value and many just large enough to be kept: there both powers of δ count.
    for spectrum in [*spectra, np.append(1.0, np.full(29, 1.001 * share))]:
        u, v = (np.linalg.qr(draw.standard_normal((30, 30)))[0] for _ in range(2))
        matrices.append((u * spectrum) @ v)
    ranks = np.array([stable_rank(a) for a in matrices])
    kept = [truncate(a, share) for a in matrices]
    u, v = draw.standard_normal((6, 2)), draw.standard_normal((5, 2))
    tangent = [np.outer(e, v[:, r]).ravel() for e in np.eye(6) for r in range(2)]
    tangent += [np.outer(u[:, r], e).ravel() for e in np.eye(5) for r in range(2)]
    equal = np.eye(9)[draw.permutation(9)][:, :4]  # all singular values equal, without rounding
    network = [matrices[1], matrices[2], matrices[3][:8]]
    x = draw.standard_normal((200, 30))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    margin = 0.9 * lipschitz_bound(network)  # as large as allowed: the cut is then coarse enough to be felt
    smaller, cut = truncate_network(network, margin=margin, radius=1.0)
    outputs = np.asarray(relu_network(network, x))
    alone = [np.asarray(relu_network([*network[:i], smaller[i], *network[i + 1 :]], x)) for i in range(3)]
    change = np.linalg.norm(np.asarray(relu_network(smaller, x)) - outputs, axis=1)
    return {
        "ranks": Chain({"at least one": (1.0, ranks), "at most the rank": (ranks, 30.0)}),
        "dimension": Exact(int(np.linalg.matrix_rank(np.array(tangent))), degrees_of_freedom(6, 5, 2)),
        "change": Inequality(
            np.array([spectral_norm(a - b) for a, b in zip(matrices, kept, strict=True)]),
            share * np.array([spectral_norm(a) for a in matrices]),
        ),
        "kept": Inequality(
            np.array([np.linalg.matrix_rank(b) for b in kept], float), truncation_rank(1.0, share) * ranks
        ),
        "attained": Identity(
            truncation_rank(stable_rank(equal), 1.0), float(np.linalg.matrix_rank(truncate(equal, 1.0)))
        ),
        "layers": Inequality(
            np.array([np.linalg.norm(o - outputs, axis=1).max() for o in alone]), margin / 9 + 0 * np.ones(3)
        ),
        "together": Chain(
            {
                "layer by layer": (change, lipschitz_bound(network) * ((1 + cut) ** 3 - 1)),
                "below the margin": (lipschitz_bound(network) * ((1 + cut) ** 3 - 1), np.expm1(1 / 3) * margin),
            }
        ),
    }


@truncation.control("one power of the share", of="kept")
def one_power(evidence):
    return replace(evidence, bound=0.2 * np.asarray(evidence.bound))


@truncation.control("entries 2hr for the dimension", of="dimension")
def entries(evidence):
    return replace(evidence, right=22)


@claim(
    items={
        "A5.21": ("kept", "variance", "spread", "failure"),
        "A5.22": ("kept", "heavy"),
        "A5.23": ("projection mean", "projection variance"),
    },
    says=r"Keeping coordinate i with probability $p_i=\min(1,8c_i^2/\gamma^2)$ and dividing by it keeps $8/\gamma^2$ "
    r"coordinates in mean (fewer when some are large), with variance $\sum(1/p_i-1)c_i^2u_i^2$ and failure probability "
    r"at most 1/8. A Gaussian map to k dimensions has $\langle Mc,Mu\rangle$ of variance $(1+\langle c,u\rangle^2)/k$.",
    needs="unit vectors",
    full=dict(trials=20_000),
)
def sparsified_classifiers(key, *, trials: Trials = 6000, divided: bool = True):
    key, first, second = jax.random.split(key, 3)
    draw, margin, d = generator(key), 0.3, 400
    # No coordinate near 0: kept once in a thousand times and then huge, it would spoil the mean of squares.
    c, u = draw.choice([-1, 1], d) * draw.uniform(0.5, 1.5, d), draw.standard_normal(d)
    heavy = draw.standard_normal(d) ** 3
    c, u, heavy = c / np.linalg.norm(c), u / np.linalg.norm(u), heavy / np.linalg.norm(heavy)
    kept = np.minimum(1, 8 * c**2 / margin**2)
    # Few coordinates: c·u nearly as far from ĉ·u as the variance allows, drawn in a batch.
    sparse = sparsify(first, c, margin, trials)
    errors = sparse @ u - c @ u if divided else (sparse * kept) @ u - c @ u
    variance = np.sum((1 / kept - 1) * c**2 * u**2)
    tilted = 0.6 * c + 0.8 * (u - (c @ u) * c) / np.linalg.norm(u - (c @ u) * c)
    products = project(second, c, tilted, 200, trials)
    return {
        "kept": Law(kept.sum(), np.sum(sparse != 0, axis=1).astype(float), exact=True),
        "heavy": Inequality(
            np.array([kept.sum(), np.minimum(1, 8 * heavy**2 / margin**2).sum(), np.sum(heavy**2 > margin**2 / 8)]),
            8 / margin**2,
        ),
        "variance": Chain({"Chebyshev": (variance, margin**2 / 8)}),
        # Squares of nearly normal errors: 6,000 resolve their mean to an eighth.
        "spread": Law(variance, errors**2, exact=True, resolution=0.2),
        "failure": Chance(np.sum(np.abs(errors) >= margin), trials, 1 / 8),
        "projection mean": Law(c @ tilted, products, exact=True),
        "projection variance": Law((1 + 0.6**2) / 200, (products - 0.6) ** 2, exact=True, resolution=0.2),
    }


sparsified_classifiers.control("not divided by the probability", of="spread", divided=False)


@sparsified_classifiers.control("the variance with the printed factor two", of="spread")
def printed_factor(evidence):
    return replace(evidence, predicted=2 * np.asarray(evidence.predicted))


@sparsified_classifiers.control("the variance for orthogonal vectors", of="projection variance")
def orthogonal_vectors(evidence):
    return replace(evidence, predicted=1 / 200)


@claim(
    items={"A5.18": "", "A5.19": ""},
    says=r"If a compression moves every output by at most $\gamma$, margins move by at most $2\gamma$, and this "
    r"happens: an example with margin above $2\gamma$ stays right.",
    needs="any three outputs, any change of them up to γ",
    over=dict(outputs=Reals(-2, 2, shape=(3,)), change=Reals(-1, 1, shape=(3,)), gamma=Reals(0.01, 1)),
    each="loop",
)
def compression_keeps_twice_the_margin(outputs, change, gamma):
    moved = outputs + gamma * change
    size = compressed_within(outputs[None], moved[None])
    before, after = (margins(o[None], np.array([0]))[0] for o in (outputs, moved))
    return Inequality(before - after, 2 * size, scale=1.0)


@compression_keeps_twice_the_margin.control("margins move by γ at most")
def once_gamma(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@compression_keeps_twice_the_margin.control("margins do not move")
def no_margin(evidence):
    return replace(evidence, bound=0.0 * np.asarray(evidence.bound))


def chance_of_a_word(width, samples, words):
    """What the union bound allows for some word being off by `width`: Hoeffding's tail of one, times their number."""
    return words * np.exp(log_hoeffding(samples * width, np.ones(samples)))


@claim(
    items={"A5.19": ("codewords", "implication", "coverage"), "A5.18": "coverage"},
    says=r"With probability $1-\delta$ a function from a code of $r^q$ words has risk at most its training error plus "
    r"$\sqrt{(q\ln r+\ln\frac1\delta)/2m}$; so a classifier rounded to that code, on the margin loss at $2\gamma$ of "
    r"the original.",
    needs="the code fixed before the data; here linear classifiers of the plane rounded to r angles",
)
def compression_bounds(key, *, trials: Trials = 600, samples: Annotated[int, Interval(ge=20, le=2000)] = 100):
    draw, delta, words = generator(key), 0.1, 64
    angles = 2 * np.pi * np.arange(words) / words
    code = np.stack([np.cos(angles), np.sin(angles)])
    x = draw.standard_normal((trials, samples, 2))
    labels = np.where(draw.random((trials, samples)) < 0.1, -1, 1) * np.sign(x[..., 0])
    w = np.einsum("tn,tnk->tk", labels, x)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    nearest = code[:, np.argmax(w @ code, axis=1)].T
    outputs, rounded = np.einsum("tnk,tk->tn", x, w), np.einsum("tnk,tk->tn", x, nearest)
    gamma = np.max(np.abs(outputs - rounded), axis=1, keepdims=True)  # the two logits are ± half of this
    loose = np.mean(labels * outputs <= gamma, axis=1)
    turned = np.arccos(np.clip(nearest[:, 0], -1, 1)) / np.pi
    risk = 0.1 + 0.8 * turned
    width = occam_bound(np.log2(words), samples, delta)
    return {
        "codewords": Identity(chance_of_a_word(width, samples, words), delta, condition=64.0),
        "implication": Inequality(np.mean(labels * rounded <= 0, axis=1), loose),
        "coverage": Chance(np.sum(risk > loose + width), trials, delta),
    }


@compression_bounds.control("the number of words not paid for", of="codewords")
def words_for_free(evidence):
    return replace(evidence, left=chance_of_a_word(occam_bound(0, 100, 0.1), 100, 64))


@claim(
    items={
        "A5.25": ("stable ranks", "arithmetic"),
        "H8.3": ("handbook", "memorised"),
        "H8.4": ("spectral", "neyshabur", "units", "identity"),
    },
    says=r"Margin bounds do not change when a layer is multiplied by c and another divided, nor when inputs and margin "
    r"change their unit; the confidence term of the PAC-Bayes form alone does. None but the path norm ignores rescaled "
    r"single units, and inserted identity layers make all larger. For a network that has memorised random labels, "
    r"whose gap is 1/2, bounds with the input norm stay true however long the inputs.",
    needs="no biases; orders taken with constant 1",
)
def norm_bounds_and_units(key, *, unit: Annotated[float, Interval(ge=1e-3, le=1e3)] = 50.0):
    draw = generator(key)
    network = random_network(draw)
    other = [3 * network[0], network[1] / 6, 2 * network[2]]
    # Coin-flip labels fitted exactly by a last layer on random features: training error 0, risk one half.
    x, coins = draw.standard_normal((40, 12)), draw.integers(0, 2, 40)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    hidden = draw.standard_normal((80, 12))
    readout = np.linalg.lstsq(np.maximum(x @ hidden.T, 0), 2.0 * coins - 1, rcond=None)[0]
    memory = [hidden, np.stack([-readout, readout])]
    reach = float(margins(relu_network(memory, x), coins).min())
    assume(reach > 1, "the network has memorised its coin flips")
    single = np.ones(20)
    single[0] = 40.0
    units = [network[0] * single[:, None], network[1] / single, network[2]]
    deeper = [np.eye(20) @ network[0], np.eye(20), *network[1:]]

    def stable(layers, c=1.0):
        return stable_rank_bound(layers, radius=c, margin=0.1 * c, samples=500)

    def handbook(layers, c=1.0, margin=0.1):
        return handbook_spectral_bound(layers, size=c, margin=margin * c, samples=len(x))

    def spectral(layers, c=1.0):
        return spectrally_normalized_bound(layers, size=c, margin=0.1 * c, samples=500, delta=0.05)

    def neyshabur(layers, c=1.0):
        return neyshabur_bound(layers, radius=c, margin=0.1 * c, samples=500, delta=0.05)

    # The rank that survives truncation, written out, gives the square of max‖x‖.
    share = 0.1 / (3 * 3 * lipschitz_bound(network))
    ranks = sum(truncation_rank(stable_rank(layer), share) for layer in network)
    return {
        "stable ranks": Identity(np.array([stable(other), stable(network, unit)]), stable(network)),
        "arithmetic": Identity(np.sqrt(20 * ranks / 500) / 3, stable(network)),
        "handbook": Identity(np.array([handbook(other), handbook(network, unit)]), handbook(network)),
        "spectral": Identity(np.array([spectral(other), spectral(network, unit)]), spectral(network)),
        "neyshabur": Chain(
            {
                "layers": (abs(neyshabur(other) / neyshabur(network) - 1), 1e-12),
                "units": (1e-9, abs(neyshabur(network, unit) / neyshabur(network) - 1)),
            }
        ),
        "units": Chain(
            {
                "path norm": (abs(path_norm(units) / path_norm(network) - 1), 1e-12),
                "products": (1.5, np.array([b(units) / b(network) for b in (stable, handbook, spectral, neyshabur)])),
            }
        ),
        "identity": Inequality(
            1.0, np.array([b(deeper) / b(network) for b in (stable, handbook, spectral, neyshabur)])
        ),
        "memorised": Inequality(0.5, np.array([handbook(memory, c, reach) for c in (1.0, unit, unit**2)])),
    }


@norm_bounds_and_units.control("the first power of the input norm, as printed", erratum="A5.25a", of="stable ranks")
def first_power(evidence):
    left = np.asarray(evidence.left).copy()
    left[1] /= np.sqrt(50.0)
    return replace(evidence, left=left)


@norm_bounds_and_units.control("no input norm, as printed", erratum="H8.3a", of="memorised")
def no_input_norm(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / np.array([1.0, 50.0, 2500.0]))
