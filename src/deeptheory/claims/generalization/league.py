"""The league of bounds for trained networks (arora Ch. 5): which hold, which say something."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np
from scipy.stats import binom

from deeptheory.generalization.league import rank_bounds
from deeptheory.generalization.memorization import corrupt_labels, fit_labels, initial_layers, small_digits
from deeptheory.lab import Exact, Identity, Inequality, assume, claim
from deeptheory.lab.evidence.intervals import binomial
from deeptheory.randomness import generator

DELTA = 0.05
HELD_OUT = "hold-out, exact binomial"
RANDOMISED = "PAC-Bayes, kl inverted"
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


@claim(
    items={
        "A5.35": (
            "above the error",
            "above the coin",
            "not below guessing",
            "smallest",
            "others",
            "counting",
            "hold-out",
        )
    },
    says=r"Networks trained on 200 digits, narrow and wide, with true and with random labels: every bound of the "
    r"league whose assumptions are met lies above the true error. Of those from the training data alone PAC-Bayes "
    r"around the start is the smallest, because inverting kl never exceeds 1 and the others do; none is below 1/2, the "
    r"error of guessing. Counting parameters at 32 bits gives $\sqrt{(32W\ln 2+\ln\frac1\delta)/2n}$, and the "
    r"held-out digits the exact binomial limit.",
    needs="two classes; true error by its binomial limit at one in a million, exactly 1/2 for random labels",
    scale="printed deep networks; here 7×7 pixels of two digits, one hidden layer of 32 or 64 units",
    full=dict(networks="all four"),
)
def league_of_bounds(key, *, networks: Literal["two", "all four"] = "two"):
    images, truth = small_digits(3, 8)
    order = generator(key).permutation(len(truth))
    sample, fresh = order[:200], order[200:]
    coins = corrupt_labels(jax.random.fold_in(key, 1), truth, 1.0, classes=2)
    chosen = [(32, truth), (64, coins)] + ([(64, truth), (32, coins)] if networks == "all four" else [])
    errors, values, by_data, others, one, smallest, counted, tails = ([] for _ in range(8))
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
        others += [value for name, value in trained.items() if name != RANDOMISED]
        smallest.append(min(trained, key=lambda name: trained[name]))
        one.append(league["Hoeffding, one function"].value)
        counted.append((51 * width, league["Occam, 32 bits a parameter"].value))
        tails.append(binom.cdf(wrong, len(fresh), league[HELD_OUT].value))
    weights, occam = np.array(counted).T
    return {
        "above the error": Inequality(np.array(errors), np.array(values)),
        "above the coin": Inequality(0.5, np.array(by_data[1]), along={"bound": np.array(list(trained))}),
        "not below guessing": Inequality(0.5, np.array(by_data)),
        "smallest": Exact(np.array(smallest), np.array([RANDOMISED] * len(chosen))),
        "others": Inequality(1.0, np.array(others)),
        "counting": Identity(occam, np.sqrt((32 * weights * np.log(2) + np.log(1 / DELTA)) / 400)),
        "hold-out": Identity(np.array(tails), DELTA, condition=200.0),
        "one function": Inequality(np.array(one), 1.0),
    }


@league_of_bounds.control("Hoeffding for one function, though the data chose it", of="one function")
def chosen_by_the_data(evidence):
    return Inequality(0.5, np.asarray(evidence.quantity)[1:2])


@league_of_bounds.control("the bound by parameters is the smallest", of="smallest")
def parameters_smallest(evidence):
    return replace(evidence, right=np.array(["Occam, 32 bits a parameter"] * len(evidence.right)))


@league_of_bounds.control("a deviation without the half in the exponent", of="counting")
def without_half(evidence):
    return replace(evidence, right=np.sqrt(2) * np.asarray(evidence.right))
