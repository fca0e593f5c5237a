"""All-layer margins, and what norms and margins of trained networks say about their labels and widths (handbook 8)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
import scipy.optimize
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.all_layer_margin import (
    all_layer_margin_bound,
    all_layer_margins,
    last_layer_margins,
    least_all_layer_margins,
    linear_layer_margins,
    perturbed_outputs,
)
from deeptheory.generalization.networks.memorization import corrupt_labels, fit_labels, initial_layers, small_digits
from deeptheory.generalization.networks.norm_bounds import (
    handbook_spectral_bound,
    spectral_complexity,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.networks.norms import (
    frobenius_norm,
    lipschitz_bound,
    margins,
    normalized_margins,
    relu_network,
    stable_rank,
)
from deeptheory.lab import Chain, Identity, Inequality, Positive, Trend, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, Table

fitted = jax.jit(fit_labels, static_argnames=("most", "rate"))


def nearest_change(layer, x, label, rival):
    """The least perturbation of one layer that brings two outputs together, a quadratic program.

    The lead is affine in the perturbation δ, so that it is known from 0 and the unit vectors. The least ‖δ‖ with
    −slope·δ ≥ lead is found by non-negative least squares, as in Lawson and Hanson's least distance programming: no
    starting point, no line search that may stop early.
    """
    size = len(layer)
    changes = np.concatenate([np.zeros((1, size)), np.eye(size)])
    outputs = perturbed_outputs([layer], np.repeat(x[None], size + 1, axis=0), [changes])
    lead = outputs[:, label] - outputs[:, rival]
    system, target = np.append(lead[0] - lead[1:], lead[0])[:, None], np.append(np.zeros(size), 1.0)
    residual = system @ scipy.optimize.nnls(system, target)[0] - target
    return np.linalg.norm(residual[:-1]) / np.abs(residual[-1])


@claim(
    items={
        "H8.5": (
            "one layer, by search",
            "one layer, by a quadratic program",
            "chain of units",
            "one hidden layer",
            "between the two bounds",
            "lower bound for one layer",
            "change of the last layer alone",
            "bound made of the margins",
        )
    },
    says=r"The all-layer margin is margin$/(\sqrt2\,\|x\|)$ for one linear layer and has a closed form with one "
    r"hidden layer. In general it is at most the least change of any single layer, and at least the $m$ with "
    r"$\|x\|(\prod(\|A_i\|_2+m)-\prod\|A_i\|_2)=$ margin$/\sqrt2$.",
    needs="no biases; inputs that reach the outputs; perturbations times the norm of a layer's input, behind its ReLU",
    symbols={
        r"\text{all-layer margin}": (
            "the least size of perturbations at all layers together that change the answer, each counted relative to "
            "the length of what enters its layer"
        ),
        r"\text{margin}": "by how much the largest output exceeds the next",
        r"x": "the input",
        r"A_i": r"the matrix of layer $i$, with largest singular value $\|A_i\|_2$",
    },
    why=r"To change the answer two outputs must meet, and each moves half of the way: hence $\sqrt2$. Changes at "
    r"several layers help each other, so all together need be no larger than the best alone, of which the last "
    r"layer's is margin$/(\sqrt2\,\|h_{L-1}\|)$; and a change of size $m$ at every layer grows by no more than the "
    r"product of $\|A_i\|_2+m$. With one hidden layer $h_1$ the best division between the two layers is a rotation, "
    r"and the margin the least over rivals of $|a\cdot c|/(s+\sqrt{s^2-2(a\cdot c)^2})^{1/2}$ with $a=h_1/\|x\|$, $c$ "
    r"the difference of the two output rows and $s=\|a\|^2+\|c\|^2/2$. A chain of single units with positive weights "
    r"has the least of them, the last divided by $\sqrt2$. For one layer the bound made of these margins, $(\log "
    r"n)^2\,\mathrm{mean}(1/m^2)/n$, is $2(\log n)^2\,\mathrm{mean}(\|x\|^2/\mathrm{margin}^2)/n$.",
    notice=r"Left, a network of three layers: for every input the all-layer margin lies between the bound made of "
    r"norms and the least change of one layer alone. Right, one layer: a search finds what the formula says, and a "
    r"margin that is not divided by the length of the input is off by that length.",
)
def all_layer_margin_of_networks(key):
    draw = generator(key)
    layer, x = draw.standard_normal((4, 6)), draw.standard_normal((80, 6))
    x *= np.exp(draw.standard_normal((80, 1)) / 2)
    network = [draw.standard_normal(shape) / np.sqrt(shape[1]) for shape in ((12, 6), (10, 12), (4, 10))]
    # Inputs at which all hidden units are silent have no largest output and margin 0.
    x = x[np.any(np.asarray(relu_network(network, x)) != 0, axis=1)][:40]
    assume(len(x) == 40, "most inputs reach the outputs")
    labels = np.argmax(x @ layer.T, axis=1)
    closed = linear_layer_margins(layer, x, labels)
    searched = all_layer_margins([layer], x, labels)
    program = np.array(
        [
            min(nearest_change(layer, one, own, c) for c in range(4) if c != own)
            for one, own in zip(x, labels, strict=True)
        ]
    )
    weights = np.exp(draw.standard_normal((4, 3)) / 2)
    weights[0], weights[1] = (
        np.sort(weights[0])[::-1],
        np.sort(weights[1]),
    )  # the last is the least once, the first once
    chains = [[np.array([[a]]), np.array([[b]]), np.array([[c], [0.0]])] for a, b, c in weights]
    units = np.array([all_layer_margins(chain, np.array([[1.7]]), np.array([0]))[0] for chain in chains])
    shallow = [network[0], draw.standard_normal((3, 12))]
    few, active = x[:6], np.maximum(x[:6] @ network[0].T, 0) / np.linalg.norm(x[:6], axis=1, keepdims=True)
    best = np.argmax(active @ shallow[1].T, axis=1)
    both = all_layer_margins(shallow, few, best)
    # Turning the hidden vector by θ: the least of A·sin²(θ − φ) + B·cos²θ, for each rival output.
    away = np.stack([[shallow[1][own] - shallow[1][c] for c in range(3) if c != own] for own in best])
    lead, first, second = np.einsum("nrh,nh->nr", away, active), np.sum(active**2, axis=1), np.sum(away**2, axis=2) / 2
    total = first[:, None] + second
    turned = np.min(lead / np.sqrt(total + np.sqrt(total**2 - 2 * lead**2)), axis=1)
    singly = np.min(lead / np.sqrt(2 * np.maximum(first[:, None], second)), axis=1)
    answers = np.argmax(np.asarray(relu_network(network, x)), axis=1)
    hidden = np.maximum(np.maximum(x @ network[0].T, 0) @ network[1].T, 0)
    together = all_layer_margins(network, x, answers)
    alone = all_layer_margins(network, x, answers, together=False)
    gaps = margins(x @ layer.T, labels) / np.linalg.norm(x, axis=1)
    outputs = hidden @ network[-1].T
    # Margins are differences of outputs.
    lost = np.max(np.abs(x @ layer.T), axis=1) / margins(x @ layer.T, labels)
    lost_last = np.max(np.abs(hidden) @ np.abs(network[-1].T), axis=1) / margins(outputs, answers)
    return {
        "one layer, by search": Identity(searched, closed, condition=lost, along={"length": np.linalg.norm(x, axis=1)}),
        # The last residual of the program is 1/(1 + m²), a difference from 1.
        "one layer, by a quadratic program": Identity(program, closed, condition=lost * (1 + closed**2)),
        "chain of units": Identity(
            units, np.min(weights / [1, 1, np.sqrt(2)], axis=1), error=1e-9, along={"least": weights.min(axis=1)}
        ),
        "one hidden layer": Identity(both, turned, error=1e-9, along={"singly": singly}),
        "between the two bounds": Chain(
            {
                "lower bound": (least_all_layer_margins(network, x, answers), together),
                "below every single layer": (together, alone),
                "below the last": (alone, last_layer_margins(network, x, answers) * (1 + 1e-12)),
            }
        ),
        "lower bound for one layer": Identity(least_all_layer_margins([layer], x, labels), closed, error=1e-9 * closed),
        "change of the last layer alone": Identity(
            last_layer_margins(network, x, answers),
            all_layer_margins([network[-1]], hidden, answers),
            condition=lost_last,
        ),
        "bound made of the margins": Identity(
            all_layer_margin_bound(closed), 2 * np.log(40) ** 2 * np.mean(1 / gaps**2) / 40
        ),
    }


@all_layer_margin_of_networks.control("not divided by the length of the input", of="one layer, by search")
def not_divided(evidence):
    return replace(evidence, right=evidence.right * evidence.along["length"])


@all_layer_margin_of_networks.control("one output moves alone: no √2", of="one layer, by a quadratic program")
def one_output(evidence):
    return replace(evidence, right=np.sqrt(2) * evidence.right)


@all_layer_margin_of_networks.control("the least weight, also at the outputs", of="chain of units")
def least_weight(evidence):
    return replace(evidence, right=evidence.along["least"])


@all_layer_margin_of_networks.control("the better of the two layers alone", of="one hidden layer")
def better_layer(evidence):
    return replace(evidence, right=evidence.along["singly"])


@all_layer_margin_of_networks.control(
    "all layers together are no easier to change than the best alone", of="between the two bounds"
)
def no_easier_together(evidence):
    together, alone = evidence.links["below every single layer"]
    return replace(evidence, links={"above the best alone": (alone, together)})


@all_layer_margin_of_networks.picture
def between_two_bounds(pieces):
    """All-layer margins of a network between their two bounds; and those of one layer against the closed form."""
    links, one = pieces["between the two bounds"].links, pieces["one layer, by search"]
    together, alone = (np.asarray(side) for side in links["below every single layer"])
    order = np.argsort(together)
    x = np.arange(1, len(order) + 1)
    ends = np.asarray([np.min(one.right), np.max(one.right)])
    return Row(
        [
            Curves(
                [
                    Line("bound by norms", x, np.asarray(links["lower bound"][0])[order]),
                    Dots("all layers together", x, together[order]),
                    Line("one layer alone", x, alone[order]),
                ],
                x="input, in order of its margin",
                y="least change",
                log="y",
                title="Three layers",
            ),
            Curves(
                [
                    Line("equal", ends, ends),
                    Dots("searched", one.right, one.left),
                    Dots("", one.right * one.along["length"], one.left, rival="not divided by the length"),
                ],
                x="margin by the formula",
                y="margin by search",
                log="xy",
                title="One layer",
            ),
        ]
    )


def trained(draw, images, labels, sample, *, width=64, widest=64, loss=0.05, weights=None):
    """A network of this width among units that stay zero, so that all widths share one compiled program.

    Networks that fit are compared: a start from which training stalls, which happens among few units, is drawn anew.
    """
    for attempt in range(1, 9):
        start = initial_layers(jax.random.fold_in(draw, attempt), (49, width, 2))
        start = [np.pad(start[0], ((0, widest - width), (0, 0))), np.pad(start[1], ((0, 0), (0, widest - width)))]
        network = fitted(start, images[sample], labels, loss=loss, most=3000, weights=weights)
        if float(network.errors[-1]) == 0:
            break
    assume(float(network.errors[-1]) == 0, "training leaves no error")
    layers = [np.asarray(layer, float) for layer in network.layers]
    first, second = start
    return [layers[0][:width], layers[1][:, :width]], [first[:width], second[:, :width]]


@claim(
    items={
        "H8.6": (
            "spectral complexity",
            "normalised margins",
            "all-layer margins",
            "bound of the handbook",
            "bound by stable ranks",
            "test error",
        ),
        "A5.24": "stable rank of the first layer",
    },
    says="At equal loss on 200 digits random labels take at least twice the spectral complexity and norm bounds of "
    "true ones, at most half the normalised margins, and 0.2 more test error. True labels take the first layer's "
    "stable rank below a sixth of its start.",
    needs="equal architecture, start and loss; the median margin: the smallest one depends on where training stops",
    symbols={
        r"\text{spectral complexity}": r"$\prod\|A_i\|_2\,(\sum_i(\|A_i^\top\|_{2,1}/\|A_i\|_2)^{2/3})^{3/2}$",
        r"\text{normalised margin}": "the margin over the product of the spectral norms",
        r"\text{all-layer margin}": (
            "the least change of all layers together that alters the answer; its square falls to half or less"
        ),
        r"\text{stable rank}": r"$\|A\|_F^2/\|A\|_2^2$",
    },
    why=r"Random labels of images that look alike differ, so the network has to tell them apart by steep changes: "
    r"large weights, and small margins for their size. True labels need one gentle change between the classes. What "
    r"norms and margins charge is thus larger where less is learned, as a measure of generalization should be.",
    notice=r"Every measure is larger with random labels, on the same images, from the same start and at the same loss. "
    r"They order the two cases rightly; what they are worth as bounds is not shown.",
    scale="printed no scale; here 7×7 pixels of two digits, one hidden layer of 64 units, cross-entropy 0.05",
)
def random_labels_cost_norms_and_margins(key, *, trials: Trials = 24):
    images, truth = small_digits(3, 8)
    names = (
        "spectral complexity",
        "normalised margins",
        "all-layer margins",
        "bound of the handbook",
        "bound by stable ranks",
        "test error",
    )
    found, ranks = np.empty((6, 3, trials)), np.empty((3, trials))
    for t in range(trials):
        draw = jax.random.fold_in(key, t)
        order = generator(draw).permutation(len(truth))
        sample, fresh = order[:200], order[200:]
        shuffled = corrupt_labels(jax.random.fold_in(draw, 2), truth[sample], 1.0, classes=2)
        for i, labels in enumerate((truth[sample], shuffled, 1 - truth[sample])):
            layers, start = trained(draw, images, labels, sample)
            x = images[sample].astype(float)
            values = normalized_margins(layers, x, labels)
            every = all_layer_margins(layers, x[:9], labels[:9], steps=8)
            said = np.argmax(np.asarray(relu_network(layers, images[fresh])), axis=1)
            wrong = said != (1 - truth[fresh] if i == 2 else truth[fresh])
            sizes = [spectral_complexity(layers), 1 / np.median(values), 1 / np.median(every) ** 2]
            typical = float(np.median(margins(relu_network(layers, x), labels)))
            sizes.append(handbook_spectral_bound(layers, size=1.0, margin=typical, samples=200))
            sizes.append(stable_rank_bound(layers, radius=1.0, margin=typical, samples=200))
            found[:, i, t] = *np.log(sizes), np.mean(wrong)
            if i < 2:
                ranks[[0, i + 1], t] = stable_rank(start[0]), stable_rank(layers[0])
    falls = np.log(ranks[0] / ranks[1:] / 6)
    # Twice as large at least, and a fifth more errors.
    least = np.append(np.full(5, np.log(2)), 0.2)[:, None]
    rises, exchanged = found[:, 1] - found[:, 0] - least, found[:, 2] - found[:, 0] - least
    return {
        name: Trend(rise, aside={"exchanged": other}) for name, rise, other in zip(names, rises, exchanged, strict=True)
    } | {"stable rank of the first layer": Trend(falls[0], aside={"random labels": falls[1]})}


ALL_OTHER = "every label exchanged, all of them other: {}"


@random_labels_cost_norms_and_margins.control(ALL_OTHER.format("complexity"), of="spectral complexity")
@random_labels_cost_norms_and_margins.control(ALL_OTHER.format("margins"), of="normalised margins")
@random_labels_cost_norms_and_margins.control(ALL_OTHER.format("all layers"), of="all-layer margins")
@random_labels_cost_norms_and_margins.control(ALL_OTHER.format("handbook"), of="bound of the handbook")
@random_labels_cost_norms_and_margins.control(ALL_OTHER.format("stable ranks"), of="bound by stable ranks")
@random_labels_cost_norms_and_margins.control(ALL_OTHER.format("errors"), of="test error")
def all_other_labels(evidence):
    return replace(evidence, differences=evidence.aside["exchanged"])


@random_labels_cost_norms_and_margins.picture
def costs_of_random_labels(pieces):
    """How many times larger each measure is with random labels than with true ones: geometric mean and two errors."""
    names = (
        "spectral complexity",
        "normalised margins",
        "all-layer margins",
        "bound of the handbook",
        "bound by stable ranks",
    )
    logs = np.array([np.asarray(pieces[name].differences) for name in names]) + np.log(2)
    middle, error = logs.mean(1), 2 * logs.std(1, ddof=1) / np.sqrt(logs.shape[1])
    return Table(
        {
            "measure": [
                "spectral complexity",
                "1 / normalised margin",
                "1 / all-layer margin²",
                "bound of the handbook",
                "bound by stable ranks",
            ],
            "times larger": np.exp(middle),
            "at least": np.exp(middle - error),
            "at most": np.exp(middle + error),
        }
    )


@random_labels_cost_norms_and_margins.control("on random labels as well", of="stable rank of the first layer")
def rank_with_random_labels(evidence):
    return replace(evidence, differences=evidence.aside["random labels"])


@claim(
    items={
        "H8.7": (
            "margin over spectral norms",
            "Frobenius norms over margin",
            "margin over spectral norms, on average",
            "complexity over margin",
            "more samples, typical margin",
            "more samples, smallest margin",
            "orthogonal layers",
        )
    },
    says="From 16 to 128 hidden units, at equal loss, the median margin over the product of spectral norms hardly "
    "changes; over Frobenius norms it falls, and the complexity that the bound charges grows. With more samples the "
    "bound rises at the smallest margin.",
    needs="equal data and loss; starts with variance 2/fan-in; changes are observed at this scale, no theorem is meant",
    symbols={
        r"\text{margin}": "by how much the right output exceeds the other",
        r"\text{complexity}": (
            r"$\prod\|A_i\|_2\,(\sum_i(\|A_i^\top\|_{2,1}/\|A_i\|_2)^{2/3})^{3/2}$ of the layers $A_i$"
        ),
        r"\text{spectral, Frobenius norm}": "the largest singular value, and the root of the sum of squared weights",
    },
    why=r"A wider layer has more, smaller weights: its largest singular value grows little, while its Frobenius norm, "
    r"a sum over all weights, grows with the width. A bound that contains more than spectral norms therefore charges "
    r"a wider network more for the same function: $L$ layers that are $s_i$ times orthogonal $k\times k$ matrices "
    r"have complexity $kL^{3/2}\prod s_i$. The smallest margin is set by the one example on which training was "
    r"hardest, and with more examples there is a harder one.",
    notice=r"From 16 to 128 units the normalised margin changes little on average, by less than a factor of two on any "
    r"sample; the Frobenius norms for the same margin grow, and the complexity, which the bound charges, threefold.",
    scale="printed no scale; here 7×7 pixels of two digits, one hidden layer, cross-entropy 0.05",
)
def wider_networks_and_margins(
    key, *, trials: Trials = 28, widest: Annotated[int, Interval(ge=64, le=512)] = 128, loss: Positive = 0.05
):
    images, truth = small_digits(3, 8)
    settings = ((16, 100), (widest, 100), (widest, 25), (widest, 200))  # hidden units, samples
    found = np.empty((5, len(settings), trials))
    for t in range(trials):
        draw = jax.random.fold_in(key, t)
        sample = generator(draw).permutation(len(truth))[:200]
        for i, (width, n) in enumerate(settings):
            weights = (np.arange(200) < n).astype(np.float32)
            layers, _ = trained(
                draw, images, truth[sample], sample, width=width, widest=widest, loss=loss, weights=weights
            )
            values = margins(relu_network(layers, images[sample[:n]].astype(float)), truth[sample[:n]])
            typical = float(np.median(values))
            found[:, i, t] = (
                typical / lipschitz_bound(layers),
                np.prod([frobenius_norm(layer) for layer in layers]) / typical,
                spectral_complexity(layers) / typical,
                1 / spectrally_normalized_bound(layers, size=1.0, margin=typical, samples=n, delta=0.05),
                spectrally_normalized_bound(layers, size=1.0, margin=float(values.min()), samples=n, delta=0.05),
            )
    changes = np.log(found[:3, 1] / found[:3, 0]), np.log(found[3:4, 3] / found[3:4, 2])
    # A smallest margin may be as small as chance has it: the part of the bound that is new, at most 1, has no tail.
    grown = 1 - found[4:, 2] / found[4:, 3]
    spectral, *others = np.concatenate([*changes, grown])
    draw = generator(jax.random.fold_in(key, trials))
    factors, k = np.exp(draw.standard_normal(3)), 6
    layers = [s * np.linalg.qr(draw.standard_normal((k, k)))[0] for s in factors]
    product = float(np.prod(factors))
    bound = spectrally_normalized_bound(layers, size=2.0, margin=0.3, samples=50, delta=0.05)
    charged = 2 * k * 3**1.5 * product * np.log(k) / (0.3 * np.sqrt(50)) + np.sqrt(np.log(20) / 50)
    return {
        # Its change is a few per cent, less than twenty pairs can give a sign to.
        "margin over spectral norms": Inequality(np.abs(spectral), np.log(2)),
        "margin over spectral norms, on average": Inequality(np.mean(np.abs(spectral)), np.log(1.25)),
        "orthogonal layers": Identity(
            [lipschitz_bound(layers), spectral_complexity(layers), bound],
            [product, k * 3**1.5 * product, charged],
        ),
        # By a tenth at least, more than spectral norms over the margin do.
        "Frobenius norms over margin": Trend(others[0] - np.log(1.1), aside={"spectral": -spectral - np.log(1.1)}),
        "complexity over margin": Trend(others[1] - np.log(1.1), aside={"spectral": -spectral - np.log(1.1)}),
        "more samples, typical margin": Trend(others[2]),
        # The part of the bound that is new at the typical margin is below zero: there it falls.
        "more samples, smallest margin": Trend(others[3], aside={"typical": -np.expm1(others[2])}),
    }


@wider_networks_and_margins.control("unchanged to a hundredth on average", of="margin over spectral norms, on average")
def unchanged(evidence):
    return replace(evidence, bound=np.log(1.01))


@wider_networks_and_margins.control("unchanged to a twentieth for every sample", of="margin over spectral norms")
def hardly_changed(evidence):
    return replace(evidence, bound=np.log(1.05))


@wider_networks_and_margins.picture
def changes_with_width(pieces):
    """Changes from the narrow to the wide network for each sample of digits, as factors."""
    logs = {
        "normalised margin, up or down": np.asarray(pieces["margin over spectral norms"].quantity),
        "Frobenius norms over margin": np.asarray(pieces["Frobenius norms over margin"].differences) + np.log(1.1),
        "complexity over margin": np.asarray(pieces["complexity over margin"].differences) + np.log(1.1),
    }
    samples = np.arange(1, len(logs["normalised margin, up or down"]) + 1)
    marks = [Dots(name, samples, np.exp(values)) for name, values in logs.items()]
    return Curves([*marks, Level("no change", y=1.0)], x="sample of digits", y="wide over narrow", log="y")


@wider_networks_and_margins.control("spectral norms in place of Frobenius norms", of="Frobenius norms over margin")
@wider_networks_and_margins.control("spectral norms in place of the complexity", of="complexity over margin")
def spectral_norms_alone(evidence):
    return replace(evidence, differences=evidence.aside["spectral"])


@wider_networks_and_margins.control("the same at the typical margin", of="more samples, smallest margin")
def at_the_typical_margin(evidence):
    return replace(evidence, differences=evidence.aside["typical"])
