"""Bounds that say nothing: a network of coins, two interpolators, a sample and its twin (handbook 9.3, lucchi 8.4)."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.stats import beta

from deeptheory.claims.generalization.networks.memorization import answers, fitted
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.paired_samples import (
    logistic_classifier,
    noise_labels,
    one_step_noise_gap,
    uniform_gap,
)
from deeptheory.generalization.capacity.rademacher_bounds import complexity_deviation, frobenius_network_complexity
from deeptheory.generalization.capacity.uniform_convergence import (
    conditional_test_error,
    margins,
    one_step_classifier,
    signal_noise_sample,
)
from deeptheory.generalization.capacity.vc_bounds import (
    piecewise_linear_dimension,
    vc_deviation,
    vc_dimension_deviation,
)
from deeptheory.generalization.networks.memorization import initial_layers, small_digits
from deeptheory.generalization.networks.norms import frobenius_norm, relu_network
from deeptheory.lab import Exact, Identity, Inequality, Law, Rate, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Table, seen


@claim(
    items={"L8.23": ("training error", "test error", "fit of signs", "VC dimensions", "bounds above the gap")},
    says="A network with 1,000 hidden units fits 200 points with labels of a half-space and with fair coins alike, "
    "without an error; on coins its test error is ½. Its signs reach the largest Rademacher average, 1, and VC and "
    "norm bounds exceed 1 for both.",
    needs="points in 20 dimensions; width well above n/d; VC dimension with constant 1; B the larger Frobenius norm "
    "for inputs of length 1",
    symbols={
        r"\text{VC dimension}": r"of order $WL\log_2W$ for $W$ weights in $L$ layers, here taken with constant 1",
        r"\text{by norms}": (
            r"the bound $(2B)^L/\sqrt n$, $B$ the larger Frobenius norm of the layers, for $n=200$ inputs of length 1"
        ),
        r"\text{Rademacher average}": "how well the network fits random signs, at most 1",
    },
    why=r"A bound that holds for all functions of a class must hold for the one that has memorised coin flips, whose "
    r"gap is 1/2. The same class, with the same number of weights and much the same norms, contains the network that "
    r"learned the half-space, so the bound cannot be smaller there.",
    notice="Both columns of bounds are far above one, where they say nothing: that by the dimension above 400, that "
    "by norms above 10,000. Those for the half-space are no smaller in kind than those for coins: they do not see "
    "which labels were learned.",
)
def random_labels_make_bounds_vacuous(key, *, labels: Literal["all drawn", "of a half-space"] = "all drawn"):
    draw, n, delta = generator(key), 200, 0.05
    x = draw.standard_normal((n, 20)).astype(np.float32)
    fresh = draw.standard_normal((40_000, 20)).astype(np.float32)
    normal = draw.standard_normal(20)
    largest = np.max(np.linalg.norm(x, axis=1))
    coins = [draw.integers(0, 2, n) for _ in range(3)] if labels == "all drawn" else [(x @ normal > 0).astype(int)] * 3
    start = initial_layers(key, (20, 1000, 2))
    # A mean below log 2/n: no example is left at the brink.
    networks = [fitted(start, x, y, loss=0.003, most=1000, rate=0.02) for y in ((x @ normal > 0).astype(int), *coins)]
    wrong = [round(n * float(network.errors[-1])) for network in networks]
    targets = draw.integers(0, 2, len(fresh)) if labels == "all drawn" else (fresh @ normal > 0).astype(int)
    errors = np.sum(answers(networks[1].layers, fresh) != targets)
    attained = [np.mean((2 * y - 1) * (2 * answers(f.layers, x) - 1)) for y, f in zip(coins, networks[1:], strict=True)]
    bounds = []
    sizes = [2, 1024, 65_536]
    dimensions = [round(float(piecewise_linear_dimension(w, depth))) for w, depth in zip(sizes, (1, 2, 5), strict=True)]
    for network in networks:
        # Inputs are divided by the largest length and the first layer multiplied by it: the same function.
        first, second = (np.asarray(layer, float) for layer in network.layers)
        norm = max(largest * frobenius_norm(first), frobenius_norm(second))
        weights = first.size + second.size
        bounds.append(vc_dimension_deviation(n, piecewise_linear_dimension(weights, 2), delta))
        bounds.append(complexity_deviation(frobenius_network_complexity(n, 2, norm), n, delta))
    return {
        "training error": Exact(wrong, [0, 0, 0, 0]),
        "test error": Share(errors, len(fresh), 0.5),
        "fit of signs": Identity(np.array(attained), 1.0),
        # Where the logarithm is a whole number: 2·1·1, 1024·2·10, 65536·5·16.
        "VC dimensions": Exact(dimensions, [2, 20_480, 5_242_880]),
        "bounds above one": Inequality(1.0, np.array(bounds)),
        "bounds above 400 and 10,000": Inequality(np.array([400.0, 10_000.0] * 4), np.array(bounds)),
        "bounds above the gap": Inequality(0.5, np.array(bounds)),
    }


random_labels_make_bounds_vacuous.control(
    "labels of a half-space in place of the coins", of="test error", labels="of a half-space"
)


@random_labels_make_bounds_vacuous.picture
def bounds_above_one(pieces):
    """Bounds on the gap by VC dimension and by norms, for the network of the half-space and three of coins."""
    bounds = np.asarray(pieces["bounds above the gap"].bound).reshape(-1, 2)
    names = ["half-space", *(f"coins {i}" for i in range(1, len(bounds)))]
    return Table({"labels": names, "by the VC dimension": list(bounds[:, 0]), "by norms": list(bounds[:, 1])})


@random_labels_make_bounds_vacuous.control("the capacity of one function alone", of="bounds above the gap")
def one_function(evidence):
    return replace(evidence, bound=complexity_deviation(0.0, 200, 0.05))


@jax.jit
@jax.grad
def slope(layers, inputs, labels):
    return jnp.mean(label_cross_entropy(relu_network(layers, inputs), labels))


def twenty_steps(layers, inputs, labels):
    """Layers after twenty steps of Adam at rate 0.02 on these examples, by its definition."""
    means, squares = ([np.zeros(np.shape(each)) for each in layers] for _ in range(2))
    for time in range(1, 21):
        for i, each in enumerate(slope(layers, inputs, labels)):
            means[i] = 0.9 * means[i] + 0.1 * np.asarray(each)
            squares[i] = 0.999 * squares[i] + 0.001 * np.asarray(each) ** 2
        layers = [
            layer - 0.02 * mean / (1 - 0.9**time) / (np.sqrt(square / (1 - 0.999**time)) + 1e-8)
            for layer, mean, square in zip(layers, means, squares, strict=True)
        ]
    return layers


@claim(
    items={"H9.4": ("errors on the sample", "error of the good one", "error of the bad one", "gap of the worse")},
    says="Two networks of one architecture make no error on the same 40 digits: one, trained by Adam on them "
    "alone, errs on less than a fifth of fresh digits, the other, trained on 400 wrongly labelled ones besides, on at "
    "least three quarters. The gap can be 0.75.",
    needs="no two images nearly alike, as some ones are; true errors by their binomial limits at one in a million",
    symbols={
        r"\text{gap}": (
            "true error less training error; the largest over all networks that are perfect on the sample is at least "
            "0.75"
        ),
    },
    why=r"A wide network can fit 440 labels as well as 40. Asked to fit the sample and, besides, many digits with "
    r"labels turned round, it learns the opposite of the rule and keeps the sample as exceptions. Both networks are "
    r"in the class and perfect on the sample, so no bound that holds for all such functions can be below their gap.",
    notice=r"On the sample the two cannot be told apart: no error. On fresh digits one errs rarely, the other nearly "
    r"always; bars are the binomial limits.",
    scale="printed any overparametrized network; here 7×7 pixels and one hidden layer of 128 units",
)
def good_and_bad_interpolators(
    key, *, poisoned: Annotated[int, Interval(ge=0, le=400)] = 400, pairs: Annotated[int, Interval(ge=1, le=64)] = 4
):
    images, labels = small_digits(0, 7)
    on_sample, low, high = np.empty((2, pairs), int), *np.empty((2, 2, pairs))
    for t in range(pairs):
        draw = jax.random.fold_in(key, t)
        order = generator(draw).permutation(len(labels))
        sample, other, fresh = order[:40], order[40:440], order[440:]
        taken = np.concatenate([sample, other])
        targets = np.concatenate([labels[sample], 1 - labels[other]])
        start = initial_layers(jax.random.fold_in(draw, 1), (49, 128, 2))
        for i, count in enumerate((0, poisoned)):
            weights = (np.arange(440) < 40 + count).astype(np.float32)
            # A mean below log 2/440 leaves no example at the brink, where another order of summation could turn it.
            network = fitted(start, images[taken], targets, loss=0.0015, rate=0.02, most=2000, weights=weights)
            on_sample[i, t] = np.sum(answers(network.layers, images[sample]) != labels[sample])
            wrong, right = (
                np.sum((answers(network.layers, images[fresh]) != labels[fresh]) == w) for w in (True, False)
            )
            low[i, t] = beta.ppf(1e-6, wrong, right + 1) if wrong else 0.0
            high[i, t] = beta.ppf(1 - 1e-6, wrong + 1, right) if right else 1.0
    # The last pair again, in double precision, where steps can be compared.
    x, alone = images[taken].astype(float), (np.arange(440) < 40).astype(float)
    begun = fitted(start, x, targets, loss=0.0, rate=0.02, most=21, weights=alone).layers
    by_hand = [twenty_steps(start, x[:count], targets[:count]) for count in (40, 440)]
    joined = [np.concatenate([np.ravel(layer) for layer in layers]) for layers in (begun, *by_hand)]
    return {
        "errors on the sample": Exact(on_sample, np.zeros((2, pairs), int), aside={"low": low, "high": high}),
        # Adam divides by the size of a gradient, which may be small.
        "steps on the sample alone": Identity(joined[0], joined[1], scale=1.0, error=1e-9, aside={"on all": joined[2]}),
        "error of the good one": Inequality(high[0], 0.2),
        "error of the bad one": Inequality(0.75, low[1]),
        "gap of the worse": Inequality(0.75, np.max(low - on_sample / 40, axis=0)),
    }


good_and_bad_interpolators.control("without the wrongly labelled digits", of="error of the bad one", poisoned=0)


@good_and_bad_interpolators.picture
def two_interpolators(pieces):
    """Errors of the two networks of each pair: on the sample none, on fresh digits between these limits."""
    on_sample = pieces["errors on the sample"]
    low, high = np.asarray(on_sample.aside["low"]), np.asarray(on_sample.aside["high"])
    pairs = np.arange(1, low.shape[1] + 1)
    marks = [
        Dots(f"{name}, fresh digits", pairs, (low[i] + high[i]) / 2, (high[i] - low[i]) / 2)
        for i, name in enumerate(("plain training", "with wrong labels besides"))
    ]
    both = Dots("both, on the sample", pairs, np.max(np.asarray(on_sample.left), axis=0) / 40)
    return Curves([*marks, both], x="pair of networks", y="share of errors", ys=(-0.05, 1.05))


@good_and_bad_interpolators.control("the other digits count too", of="steps on the sample alone")
def on_all_digits(evidence):
    return replace(evidence, right=evidence.aside["on all"])


@good_and_bad_interpolators.control("an error of at most a hundredth", of="error of the good one")
def hardly_any(evidence):
    return replace(evidence, bound=0.01)


good_and_bad_interpolators.control("as many wrongly labelled digits as right ones", of="gap of the worse", poisoned=40)


@claim(
    items={
        "H9.5": (
            "gap with high-dimensional noise",
            "gap of one step on coins",
            "gap of one step, by another formula",
            "gap of one step, with six samples",
            "labels are fair coins",
            "gap along the samples",
            "gap along the dimension",
            "gap below the VC bound",
            "VC bound inverted",
        )
    },
    says=r"A search over pairs of samples for $|R(A(S))-R_{S'}(A(S))|$ finds at least 0.95 for one gradient step on a "
    r"signal with high-dimensional noise. For logistic regression in $V$ dimensions on fair coins what it finds falls "
    r"like $(V/n)^{1/2}$, below the VC bound.",
    needs="Gaussian inputs; V well below n",
    symbols={
        r"R,\ R_{S'}": "the true error of a classifier, and its error on the sample $S'$",
        r"A(S)": "the classifier that the rule makes of the sample $S$",
        r"V": "the dimension of the inputs",
        r"n": "the number of samples",
        r"t_V": "a variable with Student's law of $V$ degrees of freedom",
    },
    why=r"The twin of a sample with its noise negated is a sample as likely as any: the classifier, which is right on "
    r"fresh points, is wrong on all of it, so no uniform bound can be small. In few dimensions there are no such "
    r"twins. After one step on coin flips the gap is that of a random direction, $P(0<t_V<\sqrt{V/(n-1)})$ on average, "
    r"$1/(2\sqrt n)$ for $V=2$; the VC bound is the $\varepsilon$ with $4(2en/V)^Ve^{-n\varepsilon^2/8}=\delta$.",
    notice=r"In eight dimensions the gap that is found falls with the sample, along the line $n^{-1/2}$. The VC bound "
    r"lies far above it; Hoeffding's bound for a function chosen before is exceeded by the largest gaps.",
    full=dict(trials=6400),
)
def search_for_a_uniform_gap(key, *, trials: Trials = 2000, twin: bool = True):
    setting: dict[str, Any] = dict(noise=32.0, signal=2.0)
    samples = [signal_noise_sample(jax.random.fold_in(key, i), 10, 4000, **setting) for i in range(4)]
    vacuous = uniform_gap(
        one_step_classifier,
        samples,
        [sample.flipped() for sample in samples] if twin else samples,
        risk=lambda h: float(conditional_test_error(h, **setting)),
        error=lambda h, sample: float(np.mean(margins(h, sample) < 0)),
    )

    def gaps(n, dimension, steps, count):
        drawn = noise_labels(jax.random.fold_in(key, 1000 * n + dimension), n, dimension, batch=(count,))
        return np.array(
            [
                uniform_gap(
                    lambda sample: logistic_classifier(*sample, steps=steps),
                    [sample],
                    [sample],
                    risk=lambda _: 0.5,
                    error=lambda w, sample: float(np.mean(sample[1] * (sample[0] @ w) <= 0)),
                )
                for sample in zip(*drawn, strict=True)
            ]
        )

    sizes, dimensions, short = (64, 256, 1024), (4, 16, 64), (100, 200)
    counts = np.array([2, 6, 100])
    # In V + 1 dimensions a coordinate of a random unit vector lies between 0 and 1/√n: on the sphere, the 3-sphere.
    heights = counts**-0.5
    caps = [heights / 2, (np.arcsin(heights) + heights * np.sqrt(1 - heights**2)) / np.pi]
    coins = noise_labels(jax.random.fold_in(key, 4), 100_000, 1)[1]
    limits = np.array([vc_deviation(n, 8, 0.05) for n in sizes])
    many, capacities, chances = np.ix_(np.array(sizes), np.array([3, 8, 20]), np.array([0.01, 0.05, 0.3]))
    widths = vc_deviation(many, capacities, chances)
    few = max(trials // 25, 8)
    once = np.stack([gaps(n, 20, 0, trials) for n in short])
    in_samples = np.stack([gaps(n, 8, 6, few) for n in sizes])
    in_dimension = np.stack([gaps(512, v, 6, few) for v in dimensions])
    return {
        "gap with high-dimensional noise": Inequality(0.95, vacuous),
        "gap of one step on coins": Law(
            np.array([one_step_noise_gap(n, 20) for n in short]),
            once,
            along={"n": np.array(short)},
            exact=True,
            aside={"dimension": 20},
        ),
        "gap of one step, by another formula": Identity(
            [[one_step_noise_gap(n, v) for n in counts] for v in (2, 3)], np.array(caps)
        ),
        # So few that n − 1 is told from n; in rare draws the gap is negative, which adds a fifth of a per cent.
        "gap of one step, with six samples": Law(one_step_noise_gap(6, 8), gaps(6, 8, 0, 3 * trials), exact=True),
        "labels are fair coins": Share(np.sum(coins == 1), len(coins), 0.5),
        "gap along the samples": Rate(np.array(sizes), in_samples, exponent=-0.5, rivals=(-1.0, 0.0)),
        "gap along the dimension": Rate(np.array(dimensions), in_dimension, exponent=0.5, rivals=(1.0, 0.0)),
        "gap below the VC bound": Inequality(
            np.max(in_samples, axis=1),
            limits,
            along={"n": np.array(sizes)},
            aside={"one function": np.sqrt(np.log(1 / 0.05) / (2 * np.array(sizes)))},
        ),
        # The tail written out, with dimension and chance on axes of their own.
        "VC bound inverted": Identity(
            np.log(4) + capacities * np.log(2 * np.e * many / capacities) - many * widths**2 / 8,
            np.broadcast_to(np.log(chances), np.shape(widths)),
            scale=100.0,
        ),
    }


search_for_a_uniform_gap.control(
    "tested on the samples themselves, not their twins", of="gap with high-dimensional noise", twin=False, trials=128
)


@search_for_a_uniform_gap.control("√(V/n) itself", of="gap of one step on coins")
def the_rate_itself(evidence):
    return replace(evidence, predicted=np.sqrt(evidence.aside["dimension"] / evidence.along["n"]))


@search_for_a_uniform_gap.control("the own term counted twice", of="gap of one step on coins")
def own_term_twice(evidence):
    dimension = int(evidence.aside["dimension"])
    rival = [one_step_noise_gap(1 + (float(n) - 1) / 4, dimension) for n in evidence.along["n"]]
    return replace(evidence, predicted=np.array(rival))


@search_for_a_uniform_gap.control("Hoeffding's bound for one function", of="gap below the VC bound")
def function_chosen_before(evidence):
    return replace(evidence, bound=evidence.aside["one function"])


@search_for_a_uniform_gap.picture
def gaps_that_fall(pieces):
    """The gap of logistic regression on coin flips in eight dimensions, mean and largest of all found; the VC bound."""
    rate, capacity = pieces["gap along the samples"], pieces["gap below the VC bound"]
    sizes, found = np.asarray(rate.x, float), np.asarray(rate.y)
    return Curves(
        [
            seen("mean gap", sizes, found),
            Dots("largest gap", sizes, capacity.quantity),
            Line("∝ n^(−1/2)", sizes, found[-1].mean() * np.sqrt(sizes[-1] / sizes)),
            Line("VC bound", sizes, capacity.bound),
            Line("Hoeffding", sizes, capacity.aside["one function"], rival="for one function"),
        ],
        x="samples n",
        y="gap between true and training error",
        log="xy",
    )
