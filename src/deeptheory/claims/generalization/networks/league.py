"""The league of bounds for trained networks (arora Ch. 5): which hold, which say something."""

from dataclasses import replace
from functools import cache
from typing import Literal

import jax
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, rel_entr
from scipy.stats import binom

from deeptheory.foundations.binomial import clopper_pearson_lower
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.league.ranking import rank_bounds
from deeptheory.generalization.networks.memorization import corrupt_labels, fit_labels, initial_layers, small_digits
from deeptheory.lab import Chance, Identity, Inequality, Trials, assume, claim
from deeptheory.lab.evidence.intervals import binomial
from deeptheory.lab.pictures import HeatMap

DELTA = 0.05
HELD_OUT = "hold-out, exact binomial"
RANDOMISED = "PAC-Bayes"
COUNTED = "Occam, bits as stored"
SHORTER = "compression, truncated and rounded"
fitted = jax.jit(fit_labels, static_argnames=("most", "rate"))


def as_model(layers):
    """The two layers as an Equinox network without biases."""
    import equinox as eqx
    import jax.numpy as jnp

    width, inputs = np.shape(layers[0])
    blank = eqx.filter_eval_shape(
        eqx.nn.MLP, inputs, 2, width, 1, use_bias=False, use_final_bias=False, key=jax.random.key(0)
    )
    weights = [jnp.asarray(layer, jnp.float32) for layer in layers]
    return eqx.tree_at(lambda model: [layer.weight for layer in model.layers], blank, weights)


@cache
def blank_layer(outputs, inputs):
    """An Equinox layer without bias whose weights are yet to come."""
    import equinox as eqx

    return eqx.filter_eval_shape(eqx.nn.Linear, inputs, outputs, use_bias=False, key=jax.random.key(0))


@cache
def blank_network(inputs, classes, width):
    """An Equinox network of one hidden layer whose weights and biases are yet to come."""
    import equinox as eqx

    return eqx.filter_eval_shape(eqx.nn.MLP, inputs, classes, width, 1, key=jax.random.key(0))


def as_linear(weights):
    """A matrix as an Equinox layer without bias."""
    import equinox as eqx

    return eqx.tree_at(lambda layer: layer.weight, blank_layer(*np.shape(weights)), weights)


def kl_limit(share, budget) -> float:
    """The largest q with kl(share‖q) at most the budget, by a root finder."""

    def over(q):
        return rel_entr(share, q) + rel_entr(1 - share, 1 - q) - budget

    return brentq(over, share, 1 - 1e-15)  # type: ignore[return-value]


def linear_network(key, *, count=64, weight=1.5, moved=0.25):
    """The league's PAC-Bayes entry for a linear network on unit vectors, and what it must be.

    The two outputs differ by w and two noises of variance s², so an error has probability Φ(−w/√2s), independently.
    Returns the entry, its value by root finding, how far six standard errors of the estimate move that, and the value
    were the estimate the error itself.
    """

    def model(value):
        return as_linear(np.stack([np.full(count, value), np.zeros(count)]).astype(np.float32))

    data = (np.eye(count, dtype=np.float32), np.zeros(count, int))
    league = rank_bounds(model(weight), data, data, initial=model(weight - moved), delta=DELTA, key=key)
    scales, draws = np.geomspace(1e-3, 3, 24), count * min(np.ceil(100_000 / count), 500)
    # Less noise is so far from the start that the limit is 1.
    scales = scales[scales > moved / 4]
    chances, apart = ndtr(-weight / (np.sqrt(2) * scales)), moved**2 / (2 * scales**2)

    def inverted(risk, apart):
        return kl_limit(risk, apart + np.log(192 * np.sqrt(count) / DELTA) / count)

    def smaller(risk, apart):
        c = np.geomspace(0.05, 10, 8)
        catoni = (1 - np.exp(-c * risk - apart - np.log(768 / DELTA) / count)) / (1 - np.exp(-c))
        return min(inverted(risk, apart), *catoni)

    _, chance, apart = min((inverted(p, d), p, d) for p, d in zip(chances, apart, strict=True))
    error = np.sqrt(chance * (1 - chance) / draws)
    low, middle, high = (
        smaller(kl_limit(estimate, np.log(2 / DELTA) / draws), apart)
        for estimate in (max(chance - 6 * error, 0.0), chance, chance + 6 * error)
    )
    return league[RANDOMISED].value, middle, max(high - middle, middle - low), smaller(chance, apart)


@claim(
    items={
        "A5.35": (
            "bounds above the true error",
            "random labels: bounds above ½",
            "all others above 1",
            "PAC-Bayes of a linear network",
            "counting stored bits",
            "VC dimension",
            "held-out data",
        )
    },
    says=r"For networks trained on 200 digits with true and with random labels every bound whose assumptions are met "
    r"lies above the true error, at confidence $1-\delta$. From the training data alone only two stay below 1; for "
    r"random labels none is below $\frac12$.",
    needs="two classes; bounds whose constants are unknown or hypotheses not met are not compared; true error "
    "by its binomial limit at one in a million, exactly 1/2 for random labels",
    scale="printed deep networks; here 7×7 pixels of two digits, one hidden layer of 32 or 64 units",
    symbols={r"\delta": "the probability with which a bound may fail, 0.05"},
    why=r"A bound from the training data pays for the choice made by them. Counting pays for every stored bit, "
    r"$\sqrt{(32W\ln2+\ln\frac1\delta)/2n}$ for $W$ numbers; the VC dimension, here above $2n$, for all labelings, "
    r"$2\sqrt{2(2n\ln2+\ln\frac2\delta)/n}$; norms over margins for all networks with such norms. PAC-Bayes pays only "
    r"for the distance from the start in units of a noise that the network bears. On unit vectors a linear network "
    r"errs with probability $\Phi(-w/\sqrt2s)$ under noise $s$, and the entry is what kl and Catoni's bound give by a "
    r"root finder.",
    notice="Held-out digits give by far the best bound, where they can be spared. Of those from the training data two "
    "stay below 1, PAC-Bayes around the start and the description of a shorter network, and yet above guessing even "
    "for true labels; the others are vacuous, more so for random labels.",
    full=dict(networks="all four"),
)
def league_of_bounds(key, *, networks: Literal["two", "all four"] = "two"):
    images, truth = small_digits(3, 8)
    order = generator(key).permutation(len(truth))
    sample, fresh = order[:200], order[200:]
    coins = corrupt_labels(jax.random.fold_in(key, 1), truth, 1.0, classes=2)
    chosen = [(32, truth), (64, coins)] + ([(64, truth), (32, coins)] if networks == "all four" else [])
    errors, values, by_data, others, one, counted, tails, capacity, shown, least = ([] for _ in range(10))
    for width, labels in chosen:
        start = initial_layers(jax.random.fold_in(key, width), (49, width, 2))
        # Units without weights stay so: both widths share one compiled program.
        padded = [np.pad(start[0], ((0, 64 - width), (0, 0))), np.pad(start[1], ((0, 0), (0, 64 - width)))]
        network = fitted(padded, images[sample], labels[sample], loss=0.003, rate=0.02, most=5000)
        first, second = (np.asarray(layer) for layer in network.layers)
        assume(float(network.errors[-1]) == 0, "training leaves no error")
        league = rank_bounds(
            as_model([first[:width], second[:, :width]]),
            (images[sample], labels[sample]),
            (images[fresh], labels[fresh]),
            initial=as_model(start),
            delta=DELTA,
            key=jax.random.fold_in(key, 2),
        )
        valid = [entry for entry in league.entries if entry.valid]
        wrong = round(league.test_error * len(fresh))
        shown.append({entry.name: entry.value for entry in valid} | {"error on held-out digits": league.test_error})
        least.append(float(binomial(wrong, len(fresh), 2e-6)[0]))
        errors += least[-1:] * len(valid)
        values += [entry.value for entry in valid]
        trained = {e.name: e.value for e in valid if e.name != HELD_OUT and e.value is not None}
        by_data.append(list(trained.values()))
        others += [value for name, value in trained.items() if name not in (RANDOMISED, SHORTER)]
        one.append(league["Hoeffding, one function"].value)
        counted.append((51 * width, league[COUNTED].value))
        capacity.append(league["VC dimension"].value)
        tails.append(binom.cdf(wrong, len(fresh), league[HELD_OUT].value))
    weights, occam = np.array(counted).T
    # With mistakes, and with weights so large that noise makes none: there the price of the draws is all that shows.
    cases = [
        linear_network(jax.random.fold_in(key, 3 + case), weight=weight) for case, weight in enumerate((1.5, 40.0))
    ]
    entry, expected, chance, unpaid = np.array(cases).T
    return {
        "bounds above the true error": Inequality(
            np.array(errors),
            np.array(values),
            aside={
                "bounds": list(shown[0]),
                "values": np.array([[each.get(name, np.nan) for each in shown] for name in shown[0]]),
                "networks": [
                    f"{width} units, {'random' if labels is coins else 'true'} labels" for width, labels in chosen
                ],
                "one function": np.array(one),
                "least errors": np.array(least),
            },
        ),
        "random labels: bounds above ½": Inequality(
            0.5, np.array(by_data[1]), along={"bound": np.array(list(trained))}, aside={"one function": one[1]}
        ),
        "all others above 1": Inequality(1.0, np.array(others)),
        "counting stored bits": Identity(occam, np.sqrt((32 * weights * np.log(2) + np.log(1 / DELTA)) / 400)),
        "VC dimension": Identity(np.array(capacity), 2 * np.sqrt(2 * (400 * np.log(2) + np.log(2 / DELTA)) / 200)),
        "PAC-Bayes of a linear network": Identity(entry, expected, error=chance, along={"unpaid": unpaid}),
        "held-out data": Identity(np.array(tails), DELTA, condition=200.0),
    }


@league_of_bounds.control("Hoeffding for one function, though the data chose it", of="bounds above the true error")
def chosen_by_the_data(evidence):
    return replace(evidence, quantity=evidence.aside["least errors"], bound=evidence.aside["one function"])


@league_of_bounds.control(
    "Hoeffding for one function that has memorised coin flips", of="random labels: bounds above ½"
)
def memorised_coins(evidence):
    return replace(evidence, bound=np.array([evidence.aside["one function"]]), along={})


@league_of_bounds.control("all others above 10", of="all others above 1")
def above_ten(evidence):
    return replace(evidence, quantity=10.0)


@league_of_bounds.control("a deviation without the half in the exponent", of="counting stored bits")
def without_half(evidence):
    return replace(evidence, right=np.sqrt(2) * np.asarray(evidence.right))


@league_of_bounds.control("the Monte Carlo estimate taken for the error itself", of="PAC-Bayes of a linear network")
def not_paid(evidence):
    return replace(evidence, right=evidence.along["unpaid"])


@league_of_bounds.picture
def table_of_bounds(pieces):
    """Every valid bound of each network, above the error on held-out digits; values from 1 on say nothing."""
    aside = pieces["bounds above the true error"].aside
    return HeatMap(
        aside["values"],
        [str(name) for name in aside["bounds"]],
        [str(name) for name in aside["networks"]],
        x="network",
        y="bound",
        value="bound on the error",
        middle=1.0,
        log=True,
    )


FAILING = 0.3
BY_ITSELF = (HELD_OUT, COUNTED, SHORTER, "Frobenius product", "path norm", RANDOMISED)
LINEAR = (*BY_ITSELF, "VC dimension")


def majority_network(inputs, labels, classes, draw):
    """A network that takes the majority of the labels seen at each unit vector; more than two classes: with biases."""
    votes = np.eye(classes, dtype=np.float32)[labels].T @ inputs
    most = (votes == votes.max(axis=0)) - votes.min(axis=0).clip(0, 1)
    if classes == 2:
        return as_linear(0.3 * (most - most[::-1]).astype(np.float16))
    import equinox as eqx

    count, kind = inputs.shape[1], np.float32
    numbers = [np.eye(count, dtype=kind), most.astype(kind)]
    biases = [0.1 * draw.standard_normal(count).astype(kind), 0.1 * draw.standard_normal(classes).astype(kind)]
    blank = blank_network(count, classes, count)
    model = eqx.tree_at(lambda each: [layer.weight for layer in each.layers], blank, numbers)
    return eqx.tree_at(lambda each: [layer.bias for layer in each.layers], model, biases)


def coin_failures(key, trials, classes, count, names):
    """How often each bound is below 1 − 1/k, the error of everything where labels are fair coins of k sides.

    Also counted: Hoeffding's bound for one function, and the training data taken as held out.
    """
    draw, fails = generator(key), np.zeros((trials, len(names) + 2), bool)
    for trial in range(trials):
        places, coins = draw.integers(0, count, 70), draw.integers(0, classes, 70)
        inputs = np.eye(count, dtype=np.float32)[places]
        league = rank_bounds(
            majority_network(inputs[:64], coins[:64], classes, draw),
            (inputs[:64], coins[:64]),
            (inputs[64:], coins[64:]),
            delta=FAILING,
            key=jax.random.fold_in(key, trial),
        )
        entries = [league[name] for name in names]
        assume(all(entry.valid for entry in entries), "the league calls all of them valid")
        right = 64 - round(64 * league.train_error)
        rivals = [league["Hoeffding, one function"].value, 1 - clopper_pearson_lower(right, 64, FAILING)]
        fails[trial] = np.array([entry.value for entry in entries] + rivals, float) < 1 - 1 / classes
    return fails.sum(axis=0)


@claim(
    items={"A5.35": ("two classes", "three classes")},
    says=r"If labels are fair coins with $k$ sides, every classifier errs with probability $1-1/k$, and a bound below "
    r"that is wrong. On networks that fit 64 such labels as well as can be, each bound that the league calls valid is "
    r"wrong on at most a share $\delta$ of samples.",
    needs="networks that answer, at each of their unit vectors, with the majority of the labels seen there; the "
    "failures of each bound by itself, at δ = 0.3; 6 held-out coins",
    scale="printed deep networks; here small ones, whose true error is known",
    symbols={
        r"k": "the number of classes: two, linear networks on 64 vectors; three, a hidden layer and biases, on 16",
        r"\text{league}": (
            "the table of all bounds that apply to a trained network, each with the assumptions it needs; valid are "
            "those whose assumptions are met"
        ),
        r"\delta": "the share of samples on which a bound may fail, 0.3 here",
    },
    why=r"A bound promises to lie above the true error except with probability $\delta$. Usually the true error is "
    r"unknown; where labels have nothing to do with inputs it is the same for every classifier, with noise, rounded "
    r"or not, and failures can be counted. The networks fit these coins, so their training error is far too small. A "
    r"bound must pay for the fact that the data chose the network; one that forgets it takes the small training error "
    r"for the true one and is almost always wrong.",
    notice="One row for each bound, one column for each kind of labels: how often the bound failed, where 1 is as "
    "often as it may. Held-out data fail less than half as often as they may: six coins leave their limit few values. "
    "Bounds that pay for the choice by counting, norms or noise never fail here. The last two rows, in brackets, are "
    "no bounds, and always fail.",
    full=dict(trials=256),
)
def valid_bounds_rarely_fail(key, *, trials: Trials = 64):
    found = {}
    for classes, count, names in ((2, 64, LINEAR), (3, 16, BY_ITSELF)):
        *fails, one, again = coin_failures(jax.random.fold_in(key, classes), trials, classes, count, names)
        along = {"bound": np.array(names), "one function": np.array([one]), "training data": np.array([again])}
        found["two classes" if classes == 2 else "three classes"] = Chance(
            np.array(fails), trials, FAILING, along=along
        )
    return found


@valid_bounds_rarely_fail.control("Hoeffding for one function, though the data chose it", of="two classes")
def as_if_chosen_before(evidence):
    return Chance(evidence.along["one function"], evidence.trials, FAILING)


@valid_bounds_rarely_fail.control("the training data as if they were held out", of="three classes")
def trained_on(evidence):
    return Chance(evidence.along["training data"], evidence.trials, FAILING)


@valid_bounds_rarely_fail.picture
def shares_of_failures(pieces):
    """The share of samples on which each bound lies below the known error, in units of what it may; in brackets two
    that are none: one function, as if chosen before, and the training data, as if held out."""
    columns = {}
    for classes, piece in pieces.items():
        trials = float(np.max(piece.trials))
        found = dict(zip(map(str, piece.along["bound"]), np.asarray(piece.failures, float), strict=True))
        found["(one function)"] = float(piece.along["one function"][0])
        found["(training data)"] = float(piece.along["training data"][0])
        columns[classes] = {name: failures / trials / FAILING for name, failures in found.items()}
    names = list(columns["two classes"])
    names.sort(key=lambda name: name.startswith("("))
    return HeatMap(
        np.array([[columns[classes].get(name, np.nan) for classes in columns] for name in names]),
        names,
        list(columns),
        x="labels",
        y="bound",
        value="share of failures, as a multiple of δ",
        middle=1.0,
    )
