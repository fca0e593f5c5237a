"""Norms, margins and the bounds made of them, for networks without biases (arora 5.5, handbook 8)."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
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
)
from deeptheory.lab import Bounded, Chain, Identity, Inequality, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Row

SHAPES = ((20, 12), (20, 20), (4, 20))
jacobians = jax.jit(jax.vmap(jax.jacobian(lambda x, layers: relu_network(layers, x[None])[0]), (0, None)))


def random_network(draw, shapes=SHAPES):
    return [draw.standard_normal(shape) / np.sqrt(shape[1]) for shape in shapes]


@claim(
    items={
        "A5.26": ("slopes of networks", "steps between two inputs", "aligned layers attain the bound"),
        "H8.2": (
            "slopes of networks",
            "steps between two inputs",
            "aligned layers attain the bound",
            "spectral norm by power iteration",
        ),
    },
    says=r"A ReLU network is Lipschitz with constant $\prod\|A_i\|_2$, and no better when the layers are aligned, of "
    r"rank one and non-negative.",
    needs="no biases, or any; Euclidean norms",
    symbols={
        r"A_i": "the weight matrix of layer $i$",
        r"\|A_i\|_2": "its largest singular value: by how much the layer can stretch a vector",
    },
    why=r"A layer stretches the difference of two inputs by at most its largest singular value, and a ReLU brings no "
    r"two numbers further apart; so the factors multiply. Equality needs that what one layer stretches most comes out "
    r"in the direction that the next one stretches most, and that no ReLU cuts anything off.",
    notice=r"Random layers are not aligned, and half of the units are silent: the network stretches several times less "
    r"than the product of the norms. It stretches more than a typical direction would be stretched by every layer, "
    r"so that the product of typical stretches is no bound.",
)
def lipschitz_constant(key):
    draw = generator(key)
    network = random_network(draw)
    x, y = draw.standard_normal((2, 200, 12))
    _, slopes, steepest = np.linalg.svd(np.asarray(jacobians(x, network)), full_matrices=False)
    # Half of the steps go far, in any direction; half are short and go where the network is steepest.
    y = np.concatenate([y, x + 1e-3 * steepest[:, 0]])
    moved = relu_network(network, np.concatenate([x, x])) - relu_network(network, y)
    steps = np.linalg.norm(moved, axis=1) / np.linalg.norm(np.concatenate([x, x]) - y, axis=1)
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
    shared: dict[str, Any] = dict(bound=lipschitz_bound(network), aside={"typical": typical})
    return {
        "slopes of networks": Inequality(slopes[:, 0], **shared),
        "steps between two inputs": Inequality(steps, **shared),
        "aligned layers attain the bound": Identity(
            np.linalg.norm(output),
            lipschitz_bound(aligned),
            aside={"sum": sum(spectral_norm(layer) for layer in aligned)},
        ),
        "spectral norm by power iteration": Identity(
            np.linalg.norm(network[0] @ vector), spectral_norm(network[0]), error=1e-6
        ),
    }


@lipschitz_constant.control("the typical stretch of every layer", of="slopes of networks")
def typical_slope(evidence):
    return replace(evidence, bound=evidence.aside["typical"])


@lipschitz_constant.control("the typical stretch of every layer, for steps", of="steps between two inputs")
def typical_step(evidence):
    return replace(evidence, bound=evidence.aside["typical"])


@lipschitz_constant.control("the sum of the norms", of="aligned layers attain the bound")
def sum_of_norms(evidence):
    return replace(evidence, right=evidence.aside["sum"])


@lipschitz_constant.picture
def stretches(pieces):
    """By how much a random network stretches small changes of 200 inputs, beside the product of the norms."""
    slopes = pieces["slopes of networks"]
    return Histogram(
        [
            Level("product of the spectral norms", x=float(slopes.bound)),
            Level("product of typical stretches", x=float(slopes.aside["typical"]), rival="the typical stretch"),
        ],
        samples=slopes.quantity,
        bins=30,
        x="largest slope of the network at an input",
        y="density over inputs",
        xs=(0.0, 1.35 * float(slopes.bound)),
    )


@claim(
    items={
        "A5.20": ("margin loss by hand", "margin loss at zero", "margin loss grows"),
        "H8.1": ("margin loss at zero", "margins of larger layers", "normalised margins"),
    },
    says=r"The margin loss, the share of margins at most $\gamma$, grows with $\gamma$ and is the 0–1 error at "
    r"$\gamma=0$, ties counted; multiplying $L$ layers by $c$ multiplies margins by $c^L$ and leaves those divided by "
    r"$\prod\|A_i\|_2$ as they were.",
    needs="no biases; c > 0; the handbook's loss counts margins below γ, which differs at ties only",
    symbols={
        r"\gamma": "the margin asked for: output of the right class minus the largest other",
        r"L": "the number of layers, 3 here",
        r"c": "a positive number that multiplies every layer",
        r"\|A_i\|_2": "the largest singular value of layer $i$",
    },
    why=r"An example is classified right exactly where its margin is positive, and the margin loss is the distribution "
    r"function of the margins. A ReLU passes positive factors on, so each layer times $c$ multiplies all outputs by "
    r"$c$: margins alone say nothing before they are divided by something that grows alike, such as the product of "
    r"the norms.",
    notice=r"Left: the same classifier with all layers multiplied has a margin distribution stretched by $c^3$, "
    r"through the same point at $\gamma=0$. Right: normalised, the two curves are one.",
    explore={"scale": (0.5, 0.8, 1.25, 1.7, 3.0)},
)
def margin_distributions(key, *, scale: Annotated[float, Interval(ge=0.1, le=10)] = 1.7, bias: bool = False):
    draw = generator(key)
    network, x, labels = random_network(draw), draw.standard_normal((300, 12)), draw.integers(0, 4, 300)
    outputs = np.asarray(relu_network(network, x))
    larger = [scale * layer for layer in network]
    shift = np.array([3.0, 0, 0, 0]) if bias else 0.0  # biases of the last layer, which are not multiplied
    grid = np.linspace(-1, 1, 21)
    losses = np.array([margin_loss(margins(outputs, labels), g) for g in grid])
    # Four examples of three classes with margins 2, −2, 0 and −1.
    few = margins(np.array([[3.0, 1, 0], [1, 3, 0], [2, 2, 0], [0, 1, 0.5]]), np.array([0, 0, 1, 0]))
    places = np.array([-2.5, -1, 0, 1, 2])
    return {
        "margin loss by hand": Identity(
            [margin_loss(few, g) for g in places],
            np.array([0, 2, 3, 3, 4]) / 4,
            along={"margin": places},
            aside={"below": np.mean(few < places[:, None], axis=1)},
        ),
        "margin loss grows": Inequality(losses[:-1], losses[1:], aside={"margin": grid}),
        "margin loss at zero": Identity(
            margin_loss(margins(outputs, labels)), np.mean(np.argmax(outputs, axis=1) != labels)
        ),
        "margins of larger layers": Identity(
            margins(np.asarray(relu_network(larger, x)) + shift, labels),
            scale**3 * margins(outputs + shift, labels),
            scale=10.0 * max(1.0, scale**3),
        ),
        "normalised margins": Identity(
            normalized_margins(larger, x, labels),
            normalized_margins(network, x, labels),
            scale=1.0,
            aside={"scale": scale},
        ),
    }


margin_distributions.control("with biases", of="margins of larger layers", bias=True)


@margin_distributions.control("ties counted as right", of="margin loss by hand")
def ties_right(evidence):
    return replace(evidence, left=evidence.aside["below"])


@margin_distributions.control("the share with a margin above γ", of="margin loss grows")
def share_above(evidence):
    return replace(evidence, quantity=1 - np.asarray(evidence.quantity), bound=1 - np.asarray(evidence.bound))


@margin_distributions.control("the product over all layers but one", of="normalised margins")
def one_norm_less(evidence):
    return replace(evidence, left=evidence.aside["scale"] * np.asarray(evidence.left))


@margin_distributions.picture
def margin_curves(pieces, settings):
    """Margin loss against the margin for one network and for the same with every layer multiplied, plain and divided
    by the product of the norms."""
    scale = settings["scale"]
    homogeneous, normalized = pieces["margins of larger layers"], pieces["normalised margins"]
    pairs = (
        (np.asarray(homogeneous.right) / scale**3, homogeneous.left, "margin γ"),
        (normalized.right, normalized.left, "margin γ over the product of spectral norms"),
    )
    share = np.arange(1, 301) / 300
    names = "network", f"layers times {scale:g}"
    return Row(
        [
            Curves(
                [Line(names[0], np.sort(plain), share), Line(names[1], np.sort(scaled), share, dashed=True)],
                x=label,
                y="margin loss: share of margins at most γ",
            )
            for plain, scaled, label in pairs
        ]
    )


def known_spectra(draw):
    """A network of two to four layers with the singular values it was made of.

    A layer is P·diag(s)·Vᵀ, P a permutation: its rows have lengths s, and nothing has to be decomposed.
    """
    widths = draw.integers(3, 9, draw.integers(3, 6))
    spectra = [draw.uniform(0.2, 2.0, min(pair)) for pair in zip(widths[1:], widths[:-1], strict=True)]
    layers = []
    for s, rows, columns in zip(spectra, widths[1:], widths[:-1], strict=True):
        middle = np.zeros((rows, columns))
        np.fill_diagonal(middle, s)
        layers.append(middle[draw.permutation(rows)] @ np.linalg.qr(draw.standard_normal((columns, columns)))[0])
    return layers, spectra, int(widths.max())


def memorised_coins(draw):
    """Forty unit vectors with coin flips for labels, ±1, and a network with one output that has these values."""
    x, coins = draw.standard_normal((40, 12)), draw.choice([-1.0, 1.0], 40)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    hidden = draw.standard_normal((80, 12))
    readout = np.linalg.lstsq(np.maximum(x @ hidden.T, 0), coins, rcond=None)[0]
    return x, coins, [hidden, readout[None]]


@claim(
    items={
        "A5.25": ("bound by stable ranks", "coin flips: bound by stable ranks"),
        "H8.3": ("bound of the handbook", "coin flips: bound of the handbook"),
        "H8.4": ("spectrally normalised bound", "PAC-Bayes bound"),
    },
    says=r"Inputs $c$ times as long leave a classifier as it is, so a true bound on its gap cannot fall to zero with "
    r"$c$. Margin bounds in $\|x\|/\gamma$ do not; with $\sqrt{\|x\|}/\gamma$, as one is printed, or $1/\gamma$ "
    r"alone they fall below the gap ½ of a network that has memorised coin flips.",
    needs="no biases; orders taken with constant 1, which a power of the length beats whatever it is",
    symbols={
        r"c": "the unit in which the inputs are measured: their lengths are multiplied by it",
        r"\text{gap}": "test error less training error; ½ when labels are fair coins and all of them are fitted",
        r"\|x\|": "the length of the inputs",
        r"\gamma": "the least margin on the sample: by how much the right output exceeds the others",
    },
    why=r"Inputs $c$ times as long make all outputs of a network without biases, and so all margins, $c$ times as "
    r"large, while the classifier and its errors stay what they are. A bound that is to hold must therefore depend on "
    r"$\|x\|/\gamma$ alone, or grow. With a smaller power of $\|x\|$ it falls to zero along $c$ and ends below the "
    r"gap, whatever constant or logarithm stands in front. Four such bounds are made of products of spectral norms "
    r"with stable ranks or sums of row lengths: computed from matrices, and written out from singular values that are "
    r"known beforehand, they agree.",
    notice=r"From left to right the inputs of one network, which has memorised coin flips, become longer by a factor "
    r"up to $10^{12}$. The bounds with the length of the inputs are level, far above the gap of ½ and hence of no "
    r"use, but true. With the root of the length, as one is printed, or without it they fall like "
    r"$c^{-1/2}$ and $c^{-1}$, through the gap: there they are false.",
)
def norm_bounds_and_units(key, *, unit: Annotated[float, Interval(ge=1e-3, le=1e3)] = 50.0):
    draw = generator(key)
    names = ("bound by stable ranks", "bound of the handbook", "spectrally normalised bound", "PAC-Bayes bound")
    found, written, rivals = np.empty((3, 4, 12))
    for i in range(12):
        layers, spectra, width = known_spectra(draw)
        depth, n, delta = len(layers), int(draw.integers(20, 2000)), float(draw.uniform(0.01, 0.3))
        x, gamma = draw.standard_normal((n, 3)) * np.exp(draw.standard_normal()), float(np.exp(draw.standard_normal()))
        radius, size = (float(f(np.linalg.norm(x, axis=1))) for f in (np.max, lambda r: np.sqrt(np.mean(r**2))))
        largest, squares = (np.array([f(s) for s in spectra]) for f in (np.max, lambda s: np.sum(s**2)))
        rows, ranks, product = np.array([np.sum(s) for s in spectra]), np.sum(squares / largest**2), np.prod(largest)
        columns = np.array([np.sum(np.linalg.norm(layer, axis=0)) for layer in layers])
        confidence = np.sqrt(np.log(1 / delta) / n)
        capacity = radius**2 * depth**2 * width * np.log(depth * width) * product**2 * ranks
        shared: dict[str, Any] = dict(margin=gamma, samples=n)
        found[:, i] = (
            stable_rank_bound(layers, radius=radius, **shared),
            handbook_spectral_bound(layers, size=size, **shared),
            spectrally_normalized_bound(layers, size=size, delta=delta, **shared),
            neyshabur_bound(layers, radius=radius, delta=delta, **shared),
        )

        def grouped(norms, x=x, n=n, gamma=gamma, width=width, product=product, largest=largest):
            return (
                np.linalg.norm(x) * product * np.sum((norms / largest) ** (2 / 3)) ** 1.5 * np.log(width) / (gamma * n)
            )

        written[:, i] = (
            np.sqrt(width * depth**2 * radius**2 * product**2 * ranks / (gamma**2 * n)),
            product * np.sqrt(ranks) * size / (gamma * np.sqrt(n)),
            grouped(rows) + confidence,
            np.sqrt((capacity + np.log(depth * n / delta)) / (gamma**2 * n)),
        )
        rivals[:, i] = (
            np.sqrt(width * depth * radius**2 * product**2 * ranks / (gamma**2 * n)),
            product * np.sqrt(sum(len(s) for s in spectra)) * size / (gamma * np.sqrt(n)),
            grouped(columns) + confidence,
            np.sqrt((capacity + np.log(n / delta)) / (gamma**2 * n)),
        )
    x, coins, memory = memorised_coins(draw)
    reach = float(np.min(coins * np.asarray(relu_network(memory, x))[:, 0]))
    assume(reach > 0.99, "the network has memorised its coin flips")
    lengths = 10.0 ** np.arange(0, 13, 3)
    # The same network with two outputs, ± half of the one, has the same margins.
    pair = [memory[0], np.concatenate([memory[1], -memory[1]]) / 2]
    stable = [stable_rank_bound(memory, radius=c, margin=c * reach, samples=40) for c in lengths]
    simple = [handbook_spectral_bound(pair, size=c, margin=c * reach, samples=40) for c in lengths]
    network = random_network(draw)
    single = np.ones(20)
    single[0] = 40.0
    units = [network[0] * single[:, None], network[1] / single, network[2]]
    other = [3 * network[0], network[1] / 6, 2 * network[2]]

    def values(layers, c=1.0):
        shared: dict[str, Any] = dict(margin=0.1 * c, samples=500)
        return np.array(
            [
                stable_rank_bound(layers, radius=c, **shared),
                handbook_spectral_bound(layers, size=c, **shared),
                spectrally_normalized_bound(layers, size=c, delta=0.05, **shared),
                neyshabur_bound(layers, radius=c, delta=0.05, **shared),
            ]
        )

    plain = values(network)
    return {
        name: Identity(found[i], written[i], size=60.0, aside={"rival": rivals[i]}) for i, name in enumerate(names)
    } | {
        "coin flips: bound by stable ranks": Inequality(0.5, np.array(stable), along={"length": lengths}),
        "coin flips: bound of the handbook": Inequality(0.5, np.array(simple), along={"length": lengths}),
        "layers scaled against each other": Identity(values(other), plain),
        # The last carries its confidence term under the margin, and so changes with the unit.
        "inputs in another unit": Identity(values(network, unit)[:3], plain[:3]),
        "units scaled against each other": Chain(
            {
                "the path norm stays": (abs(path_norm(units) / path_norm(network) - 1), 1e-12),
                "products grow": (1.5, values(units) / plain),
            }
        ),
    }


@norm_bounds_and_units.control(
    "the first power of the input norm", erratum="A5.25a", of="coin flips: bound by stable ranks"
)
def first_power(evidence):
    # Whatever the constant of Õ(·): the gap over the printed bound would stay bounded.
    lengths = evidence.along["length"]
    return Bounded(lengths, evidence.quantity * np.sqrt(lengths) / np.asarray(evidence.bound))


@norm_bounds_and_units.control("no input norm", of="coin flips: bound of the handbook")
def no_input_norm(evidence):
    lengths = evidence.along["length"]
    return Bounded(lengths, evidence.quantity * lengths / np.asarray(evidence.bound))


def rival_formula(evidence):
    return replace(evidence, right=evidence.aside["rival"])


norm_bounds_and_units.control("d under the root, not d²", of="bound by stable ranks")(rival_formula)
norm_bounds_and_units.control("ranks for stable ranks", of="bound of the handbook")(rival_formula)
norm_bounds_and_units.control("sums of the lengths of columns, not of rows", of="spectrally normalised bound")(
    rival_formula
)
norm_bounds_and_units.control("ln(n/δ), the layers not counted", of="PAC-Bayes bound")(rival_formula)


@norm_bounds_and_units.picture
def bounds_along_the_length(pieces):
    """Two margin bounds of a network that has memorised coin flips, as its inputs grow, beside the gap of one half."""
    marks = []
    for piece, name, power in (
        ("coin flips: bound by stable ranks", "√‖x‖ in place of ‖x‖", 0.5),
        ("coin flips: bound of the handbook", "no ‖x‖ at all", 1.0),
    ):
        bound, lengths = np.asarray(pieces[piece].bound), pieces[piece].along["length"]
        grid = np.geomspace(lengths[0], lengths[-1], 50)
        said = "as printed in Thm 5.5.6" if power < 1 else "one constant for all lengths"
        marks += [
            Line(piece.removeprefix("coin flips: "), lengths, bound),
            Dots(piece.removeprefix("coin flips: "), lengths, bound),
            Line(name, grid, bound[0] * grid**-power, rival=said),
        ]
    return Curves(
        [*marks, Level("gap 1/2", y=0.5)],
        x="length of the inputs, as a multiple c of the first",
        y="bound on the gap",
        log="xy",
        ys=(1e-6, 1e4),
    )
