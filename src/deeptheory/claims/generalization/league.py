"""The league of bounds for trained networks (arora Ch. 5): which hold, which say something."""

from dataclasses import replace
from functools import cache
from typing import Literal

import jax
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, rel_entr
from scipy.stats import binom

from deeptheory.generalization.league.ranking import rank_bounds
from deeptheory.generalization.memorization import corrupt_labels, fit_labels, initial_layers, small_digits
from deeptheory.lab import Chance, Exact, Identity, Inequality, Trials, assume, claim
from deeptheory.lab.evidence.intervals import binomial
from deeptheory.randomness import generator
from deeptheory.robustness.smoothing import clopper_pearson_lower

DELTA = 0.05
HELD_OUT = "hold-out, exact binomial"
RANDOMISED = "PAC-Bayes, kl inverted"
COUNTED = "Occam, bits as stored"
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


def as_linear(weights):
    """A matrix as an Equinox layer without bias."""
    import equinox as eqx

    return eqx.tree_at(lambda layer: layer.weight, blank_layer(*np.shape(weights)), weights)


def kl_limit(share, budget) -> float:
    """The largest q with kl(share‖q) at most the budget, by a root finder."""

    def over(q):
        return rel_entr(share, q) + rel_entr(1 - share, 1 - q) - budget

    return brentq(over, share, 1 - 1e-15)  # type: ignore[return-value]


def linear_network(key, *, count=64, weight=1.5, moved=0.2, draws=200):
    """The league's PAC-Bayes entry for a linear network on unit vectors, and what it must be.

    The two outputs differ by w and two noises of variance s², so an error has probability Φ(−w/√2s), independently.
    Returns the entry, its value by root finding, how far six standard errors of the estimate move that, and the value
    were the estimate the error itself.
    """

    def model(value):
        return as_linear(np.stack([np.full(count, value), np.zeros(count)]).astype(np.float32))

    data = (np.eye(count, dtype=np.float32), np.zeros(count, int))
    league = rank_bounds(model(weight), data, data, initial=model(weight - moved), delta=DELTA, key=key)
    scales = np.geomspace(1e-3, 0.3, 10)[6:]  # less noise is so far from the start that the limit is 1
    chances = ndtr(-weight / (np.sqrt(2) * scales))
    budgets = moved**2 / (2 * scales**2) + np.log(40 * np.sqrt(count) / DELTA) / count
    unpaid, chance, budget = min(
        (kl_limit(chance, budget), chance, budget) for chance, budget in zip(chances, budgets, strict=True)
    )
    error = np.sqrt(chance * (1 - chance) / (count * draws))
    low, middle, high = (
        kl_limit(kl_limit(estimate, np.log(2 / DELTA) / draws), budget)
        for estimate in (max(chance - 6 * error, 0.0), chance, chance + 6 * error)
    )
    return league[RANDOMISED].value, middle, max(high - middle, middle - low), unpaid


@claim(
    items={
        "A5.35": (
            "above the error",
            "above the coin",
            "not below guessing",
            "smallest",
            "others",
            "linear network",
            "counting",
            "VC",
            "hold-out",
        )
    },
    says=r"Networks trained on 200 digits, narrow and wide, with true and with random labels: every bound of the "
    r"league whose assumptions are met lies above the true error. Of those from the training data alone a PAC-Bayes "
    r"bound around the start is the smallest: those by bits, dimension and norms exceed 1, which the inverse of kl "
    r"never does; none of these is below 1/2, the error of guessing. Counting parameters at 32 bits gives "
    r"$\sqrt{(32W\ln 2+\ln\frac1\delta)/2n}$, the VC dimension $WL\log_2W>2n$ the bound "
    r"$2\sqrt{2(2n\ln2+\ln\frac2\delta)/n}$ of all labelings, and the held-out "
    r"digits the exact binomial limit. On $n$ unit vectors a linear network of weights $w$, from $w_0$, errs "
    r"with $p=\Phi(-w/\sqrt2s)$ under noise $s$, and PAC-Bayes gives the $q$ with "
    r"$n\,\mathrm{kl}(p'\|q)=n(w-w_0)^2/2s^2+\ln(40\sqrt n/\delta)$ at the best of ten $s$, where "
    r"$200\,\mathrm{kl}(p\|p')=\ln(2/\delta)$ pays for 200 draws.",
    needs="two classes; bounds whose constants are unknown or hypotheses not met are not compared; true error "
    "by its binomial limit at one in a million, exactly 1/2 for random labels",
    scale="printed deep networks; here 7×7 pixels of two digits, one hidden layer of 32 or 64 units",
    full=dict(networks="all four"),
)
def league_of_bounds(key, *, networks: Literal["two", "all four"] = "two"):
    images, truth = small_digits(3, 8)
    order = generator(key).permutation(len(truth))
    sample, fresh = order[:200], order[200:]
    coins = corrupt_labels(jax.random.fold_in(key, 1), truth, 1.0, classes=2)
    chosen = [(32, truth), (64, coins)] + ([(64, truth), (32, coins)] if networks == "all four" else [])
    errors, values, by_data, others, one, smallest, counted, tails, capacity = ([] for _ in range(9))
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
        errors += [float(binomial(wrong, len(fresh), 2e-6)[0])] * len(valid)
        values += [entry.value for entry in valid]
        trained = {e.name: e.value for e in valid if e.name != HELD_OUT and e.value is not None}
        by_data.append(list(trained.values()))
        others += [value for name, value in trained.items() if not name.startswith("PAC-Bayes")]
        smallest.append(min(trained, key=lambda name: trained[name]).split(",")[0])
        one.append(league["Hoeffding, one function"].value)
        counted.append((51 * width, league[COUNTED].value))
        capacity.append(league["VC dimension"].value)
        tails.append(binom.cdf(wrong, len(fresh), league[HELD_OUT].value))
    weights, occam = np.array(counted).T
    entry, expected, chance, unpaid = linear_network(jax.random.fold_in(key, 3))
    return {
        "above the error": Inequality(np.array(errors), np.array(values)),
        "above the coin": Inequality(0.5, np.array(by_data[1]), along={"bound": np.array(list(trained))}),
        "not below guessing": Inequality(0.5, np.array(by_data)),
        "smallest": Exact(np.array(smallest), np.array(["PAC-Bayes"] * len(chosen))),
        "others": Inequality(1.0, np.array(others)),
        "counting": Identity(occam, np.sqrt((32 * weights * np.log(2) + np.log(1 / DELTA)) / 400)),
        "VC": Identity(np.array(capacity), 2 * np.sqrt(2 * (400 * np.log(2) + np.log(2 / DELTA)) / 200)),
        "linear network": Identity([entry], [expected], error=chance, along={"unpaid": np.array([unpaid])}),
        "hold-out": Identity(np.array(tails), DELTA, condition=200.0),
        "one function": Inequality(np.array(one), 1.0),
    }


@league_of_bounds.control("Hoeffding for one function, though the data chose it", of="one function")
def chosen_by_the_data(evidence):
    return Inequality(0.5, np.asarray(evidence.quantity)[1:2])


@league_of_bounds.control("the bound by parameters is the smallest", of="smallest")
def parameters_smallest(evidence):
    return replace(evidence, right=np.array([COUNTED.split(",")[0]] * len(evidence.right)))


@league_of_bounds.control("a deviation without the half in the exponent", of="counting")
def without_half(evidence):
    return replace(evidence, right=np.sqrt(2) * np.asarray(evidence.right))


@league_of_bounds.control("the Monte Carlo estimate taken for the error itself", of="linear network")
def not_paid(evidence):
    return replace(evidence, right=evidence.along["unpaid"])


FAILING = 0.3
BY_ITSELF = (
    HELD_OUT,
    COUNTED,
    "compression by truncated layers",
    "VC dimension",
    "Rademacher, linear class",
    "Frobenius product",
    "path norm",
    RANDOMISED,
    "PAC-Bayes, Langford–Seeger",
    "PAC-Bayes, McAllester",
    "PAC-Bayes, Catoni",
)


@claim(
    items={"A5.35": "valid"},
    says=r"Labels are fair coins, so every classifier, with noise or truncated or not, errs with probability exactly "
    r"1/2. A linear network on 64 unit vectors takes the majority of 64 coins at each. Each of eleven bounds that the "
    r"league calls valid (held-out data, bits, truncation, VC dimension, three norms, four of PAC-Bayes) is below 1/2 "
    r"for at most a share $\delta$ of the samples.",
    needs="the failures of each bound by itself, at δ = 0.3; 6 held-out coins",
    scale="printed deep networks; here linear ones, whose true error is known",
    full=dict(trials=256),
)
def valid_bounds_rarely_fail(key, *, trials: Trials = 64):
    draw = generator(key)
    fails, one, again = np.zeros((trials, len(BY_ITSELF)), bool), 0, 0
    for trial in range(trials):
        places, coins = draw.integers(0, 64, 70), draw.integers(0, 2, 70)
        inputs = np.eye(64, dtype=np.float32)[places]
        majority = np.sign(inputs[:64].T @ (2.0 * coins[:64] - 1))
        league = rank_bounds(
            as_linear(0.3 * np.stack([-majority, majority]).astype(np.float16)),
            (inputs[:64], coins[:64]),
            (inputs[64:], coins[64:]),
            delta=FAILING,
            key=jax.random.fold_in(key, trial),
        )
        entries = [league[name] for name in BY_ITSELF]
        assume(all(entry.valid for entry in entries), "the league calls all of them valid")
        fails[trial] = np.array([entry.value for entry in entries], float) < 0.5
        one += np.array(league["Hoeffding, one function"].value, float) < 0.5
        right = 64 - round(64 * league.train_error)
        again += 1 - clopper_pearson_lower(right, 64, FAILING) < 0.5
    rivals = {"one function": np.array([one]), "training data": np.array([again])}
    return {"valid": Chance(fails.sum(axis=0), trials, FAILING, along={"bound": np.array(BY_ITSELF), **rivals})}


@valid_bounds_rarely_fail.control("Hoeffding for one function, though the data chose it", of="valid")
def as_if_chosen_before(evidence):
    return Chance(evidence.along["one function"], evidence.trials, FAILING)


@valid_bounds_rarely_fail.control("the training data as if they were held out", of="valid")
def trained_on(evidence):
    return Chance(evidence.along["training data"], evidence.trials, FAILING)
