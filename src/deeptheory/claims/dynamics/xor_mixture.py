"""The XOR mixture and a two-layer network: fixed points of the ballistic limit, and how often it finds a good one.

jagannath 12.4.3.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import comb
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.dynamics.projections import gram_matrix, projected_loss
from deeptheory.dynamics.xor_mixture import (
    CLASSES,
    LABELS,
    class_strength,
    class_strengths,
    component_count,
    components_by_exchange,
    placement,
    settled,
    starting_classes,
    success_probability,
    xor_model,
    xor_population_loss,
    xor_velocity,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Positive, Rate, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, compared

Decay = Annotated[float, Interval(ge=0.03, le=0.1)]
RESIDUE = 1e-5
"""What the slowest mode, e^(−2αt), leaves of a run at its end."""

run = jax.jit(settled, static_argnames="steps")


def occupied(classes):
    """Which of the four classes have a neuron."""
    return np.stack([(classes == each).any(-1) for each in range(4)], axis=-1)


def starts(draw, runs, neurons):
    """Weights of order one and overlaps that are small beside them, as a random start in high dimension has them."""
    weights = draw.choice([-1.0, 1.0], (runs, neurons)) * (0.1 + np.abs(draw.standard_normal((runs, neurons))))
    return weights, 0.01 * draw.uniform(-1, 1, (runs, neurons, 2))


@claim(
    items={"J12.11": "mean loss"},
    says=r"The loss of $\sigma(\langle v,g(WY)\rangle)$ on the XOR mixture depends in law on $v_i$, "
    r"$m_i^\mu=\langle W_i,\mu\rangle,m_i^\nu=\langle W_i,\nu\rangle$ and $R_{ij}=\langle W_i^\perp,W_j^\perp\rangle$;"
    r" its mean is an integral over the fields $WY$, Gaussian at each centre.",
    needs="noise of covariance I/λ; g the ReLU; penalty ½α(‖v‖² + ‖W‖²) included",
    symbols={
        r"\sigma": "the logistic function",
        r"v": "the weights of the output",
        r"W": "the weights of the neurons",
        r"Y": r"the input: one of $\pm\mu,\pm\nu$ plus noise",
        r"\mu,\nu": "two orthogonal unit vectors, the centres of label 1 and 0 up to sign",
        r"R_{ij}": "inner products of what the neurons have orthogonal to both",
        "g": "the activation of the neurons",
    },
    why=r"The network sees an input through the $K$ numbers $WY$. At a centre these are Gaussian with means "
    r"$\pm m_i^\mu$ or $\pm m_i^\nu$ and covariance $\langle W_i,W_j\rangle/\lambda$, and that is "
    r"$m_i^\mu m_j^\mu+m_i^\nu m_j^\nu+R_{ij}$ over $\lambda$. The noise of the fields and the penalty both know $R$.",
    notice=r"Three networks with the same $v$ and the same overlaps, and other parts orthogonal to both centres: their "
    "mean losses differ, where the printed statement has one for all (dashed).",
)
def xor_loss_sees_the_gram_matrix(key, *, trials: Trials = 200_000, precision: Positive = 2.0, decay: Decay = 0.05):
    draw, size = generator(key), 8
    model, hidden = xor_model(precision=precision, decay=decay), np.eye(size)[:2]
    loss = jax.jit(jax.vmap(projected_loss(model, hidden), (None, 0)))
    weights = np.array([1.2, -0.8])
    overlaps = np.array([[0.7, 0.3], [-0.2, 0.9]])
    beside = {"short": [[0.2, 0.0], [0.0, 0.2]], "long": [[1.5, 0.0], [0.0, 1.5]], "parallel": [[1.5, 0.0], [1.5, 0.0]]}
    predicted, observed = [], []
    for rest in beside.values():
        whole = np.concatenate([overlaps, rest, np.zeros((2, size - 4))], axis=1)
        which = draw.integers(4, size=trials)
        inputs = CLASSES[which] @ hidden + precision**-0.5 * draw.standard_normal((trials, size))
        observed.append(loss((whole, weights), (inputs, LABELS[which])))
        gram = np.asarray(gram_matrix(whole, hidden))
        predicted.append(xor_population_loss(weights, gram, precision=precision, decay=decay))
    return {"mean loss": Law(predicted, np.array(observed), exact=True, along={"orthogonal parts": list(beside)})}


@xor_loss_sees_the_gram_matrix.control(
    "a function of v and the overlaps alone, as printed", of="mean loss", erratum="J12.11a"
)
def overlaps_alone(evidence):
    predicted = np.asarray(evidence.predicted)
    return replace(evidence, predicted=np.full_like(predicted, predicted[0]))


@xor_loss_sees_the_gram_matrix.picture
def three_networks(pieces):
    """Mean loss of three networks with the same output weights and overlaps, by what is orthogonal to the centres."""
    found = pieces["mean loss"]
    predicted, parts = np.asarray(found.predicted), found.along["orthogonal parts"]
    return compared(
        np.arange(1, len(parts) + 1),
        predicted,
        found.observed,
        rivals={"a function of v and the overlaps alone, as printed": np.full_like(predicted, predicted[0])},
        names=("by the Gram matrix", "seen"),
        x=f"network with orthogonal parts {', '.join(map(str, parts))}",
        y="mean loss",
    )


@claim(
    items={
        "J12.12": ("velocity at fixed points", "strength of each class", "size of both layers", "strong penalty"),
        "J12.13": ("connected sets of fixed points", "stable sets"),
    },
    says=r"Without noise and for $\alpha<1/8$, each neuron is at a fixed point zero or aligned with one of "
    r"$\pm\mu,\pm\nu$, $|m_i|=|v_i|$ with $\sum v_i^2=\log\frac{1-4\alpha}{4\alpha}$ over each class that has any; for "
    r"$\alpha>1/8$ all are zero. For $K=4$ they form 39 connected sets, of which 24 are stable.",
    needs="the ballistic limit, λ → ∞",
    full=dict(runs=512),
    symbols={
        r"\alpha": r"the constant of the penalty $\frac\alpha2(\|v\|^2+\|W\|^2)$",
        r"\mu,\nu": "the two orthogonal directions of the centres, of label 1 and 0",
        r"m_i": "the overlap of a neuron with its centre",
        r"v_i": "its weight in the output",
        r"K": "the number of neurons",
    },
    why=r"An aligned neuron has $\dot v_i=\frac14\sigma(-s)|m_i|-\alpha v_i$, and $|m_i|$ likewise with $v_i$, "
    r"where $s=\sum v_i|m_i|$ is the score at its centre. At rest $|m_i|=|v_i|$ and $\sigma(-s)=4\alpha$, which needs "
    r"$4\alpha<\frac12$. Neurons of one class share $s$ as they like, down to zero for one of them; one at zero can "
    "enter any class. So the occupied classes name a connected set, unless every neuron is the only one of its class. "
    "An empty class draws a neuron that is at zero, at the rate $1/8-\\alpha$.",
    notice="The strength of every class that is occupied at the end of a run lies on the curve, which comes to zero at "
    r"$\alpha=1/8$.",
)
def xor_fixed_points(key, *, runs: Trials = 32, decay: Decay = 0.05):
    draw = generator(key)
    every = [placement(np.array(each), decay=decay) for each in product(range(5), repeat=4)]
    velocity = xor_velocity(np.array([p[0] for p in every]), np.array([p[1] for p in every]), decay=decay)

    decays, strengths, expected, balance = np.array([0.03, decay, 0.08, 0.11]), [], [], []
    for each in decays:
        weights, overlaps = starts(draw, runs, 6)
        end = run(weights, overlaps, decay=each, time=max(12 / each, 12 / (0.125 - each)), steps=800)
        strengths.append(class_strengths(*end))
        expected.append(occupied(starting_classes(weights, overlaps)))
        balance.append(np.stack([np.abs(end[0]), np.linalg.norm(end[1], axis=-1)]))
    strong = run(*starts(draw, runs, 6), decay=0.16, time=500.0, steps=800)
    weak = run(*starts(draw, runs, 6), decay=0.1, time=500.0, steps=800)

    # Kicks of neurons at zero towards each of the four centres, from points with at most one neuron in a class.
    single = [
        tuple(filled[places.index(i)] if i in places else 4 for i in range(4))
        for count in range(5)
        for filled in product(range(4), repeat=count)
        if sorted(filled) == list(filled) and len(set(filled)) == count
        for places in permutations(range(4), count)
    ]
    points = [placement(np.array(each), decay=decay) for each in single]
    kicks = [
        (np.where(w == 0, 0.02 * (2 * label - 1), w), np.where(m == 0, 0.01 * centre + 1e-4, m))
        for w, m, _ in points
        for centre, label in zip(CLASSES, LABELS, strict=True)
    ]
    settled_at = class_strengths(*run(*map(np.array, zip(*kicks, strict=True)), decay=decay, time=300.0, steps=600))
    still = np.array([p[2] for p in points])
    back = ((settled_at > RESIDUE).reshape(-1, 4, 4) == still[:, None]).all((1, 2))
    counts = np.array([components_by_exchange(k) for k in range(1, 6)])
    return {
        "velocity at fixed points": Identity(np.concatenate([np.ravel(part) for part in velocity]), 0.0, scale=1.0),
        "strength of each class": Identity(
            np.array(strengths),
            np.log((1 - 4 * decays) / (4 * decays))[:, None, None] * np.array(expected),
            scale=1.0,
            error=RESIDUE,
            aside={"decays": decays, "occupied": np.array(expected)},
        ),
        "size of both layers": Identity(*np.moveaxis(np.array(balance), 1, 0), scale=1.0, error=RESIDUE),
        "strong penalty": Identity(
            np.abs(strong[0]), 0.0, scale=1.0, error=RESIDUE, aside={"weak": np.abs(np.asarray(weak[0]))}
        ),
        "connected sets of fixed points": Exact(
            counts, np.array([5, 17, 35, 39, 16]), along={"neurons": list(range(1, 6))}
        ),
        "formula for the number of sets": Exact(counts, np.array([component_count(k) for k in range(1, 6)])),
        "stable sets": Exact(np.append(back, back.sum()), np.append(still.all(1), 24)),
    }


@xor_fixed_points.control("log((1 − 8α)/8α): half of the centres", of="strength of each class")
def half_of_the_centres(evidence):
    decays, classes = np.asarray(evidence.aside["decays"]), np.asarray(evidence.aside["occupied"])
    strength = np.log(np.maximum(1 - 8 * decays, 1e-3) / (8 * decays))
    return replace(evidence, right=strength[:, None, None] * classes)


@xor_fixed_points.control("all is zero from α = 1/10 on", of="strong penalty")
def earlier_threshold(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["weak"]))


@xor_fixed_points.control("the occupied classes name the set, whatever K", of="connected sets of fixed points")
def named_by_classes(evidence):
    neurons = np.asarray(evidence.along["neurons"])
    return replace(evidence, right=np.array([sum(comb(4, j) for j in range(min(int(k), 4) + 1)) for k in neurons]))


@xor_fixed_points.control("every set but zero is stable", of="stable sets")
def nearly_all_stable(evidence):
    left = np.asarray(evidence.left)
    return replace(evidence, right=np.array([False, *[True] * (len(left) - 2), len(left) - 2]))


@xor_fixed_points.picture
def strength_of_classes(pieces):
    """Sum of v² over a class at the end of runs, against the constant of the penalty, and its prediction."""
    found = pieces["strength of each class"]
    decays, classes = np.asarray(found.aside["decays"]), np.asarray(found.aside["occupied"])
    seen = np.asarray(found.left)
    grid = np.linspace(0.02, 0.16, 100)
    x = np.broadcast_to(decays[:, None, None], seen.shape)
    return Curves(
        [
            Line("predicted", grid, [class_strength(float(each)) for each in grid]),
            Dots("runs", x[classes][::7], seen[classes][::7]),
            Level("α = 1/8", x=0.125),
        ],
        x="penalty α",
        y="sum of v² over a class",
    )


def filling_probability(neurons):
    """The share of the 4^K assignments that occupy all classes, counted by which classes are filled so far."""
    ways = np.zeros(5, object)
    ways[0] = 1
    for _ in range(neurons):
        ways = np.array([ways[j] * j + (ways[j - 1] * (5 - j) if j else 0) for j in range(5)], object)
    return Fraction(int(ways[4]), 4**neurons)


@claim(
    items={
        "J12.14": (
            "probability by filling boxes",
            "share of runs that succeed",
            "classes at the start and in the end",
            "failures of many neurons",
        ),
        "J12.15": "rewound tickets",
    },
    says=r"A run succeeds if and only if its $K$ neurons start with signs of all four classes, with probability "
    r"$p_K=\sum_j(-1)^j\binom4j(1-\frac j4)^K$: $p_4=\frac3{32}$, and $1-p_K\approx4(3/4)^K$. Four neurons, one of "
    r"each class, rewound to where they started, succeed always.",
    needs="the ballistic limit without noise; weights of order one and small overlaps at the start",
    full=dict(runs=512),
    symbols={
        r"K": "the number of neurons",
        r"p_K": "the probability of coming to a stable fixed point, with all four classes occupied",
        r"j": "the number of classes that stay empty",
    },
    why=r"Along the flow $v_i^2-\|m_i\|^2$ only shrinks, by $e^{-2\alpha t}$, so a weight that is larger than its "
    "overlaps at the start never changes sign. A positive weight turns its neuron towards $\\mu$ or $-\\mu$, whichever "
    "is nearer, a negative one towards $\\pm\\nu$: two fair coins decide the class. Occupying all four classes is "
    "collecting four coupons. Which neurons win is known at the start, and the others are not needed.",
    notice="With the four neurons that suffice, fewer than one run in ten succeeds; with twenty nearly all do. A "
    "subnetwork of four that won keeps its luck when it is trained again alone, from the same start.",
)
def xor_success(key, *, runs: Trials = 96, trials: Trials = 400_000, decay: Decay = 0.05):
    draw, counts = generator(key), (4, 6, 8)
    shares = []
    for neurons in counts:
        classes = starting_classes(
            draw.standard_normal((trials, neurons)), draw.standard_normal((trials, neurons, 2), dtype=np.float32)
        )
        shares.append(np.bitwise_or.reduce(1 << classes, axis=-1) == 15)
    weights, overlaps = starts(draw, runs, 8)
    ends = run(weights, overlaps, decay=decay, time=300.0, steps=600)
    classes = starting_classes(weights, overlaps)
    won = occupied(classes).all(-1)

    def succeeds(chosen):
        rows = np.arange(runs)[:, None]
        end = run(weights[rows, chosen], overlaps[rows, chosen], decay=decay, time=300.0, steps=600)
        return np.abs(class_strengths(*end) - class_strength(decay)).max(-1) < RESIDUE

    # The winner of each class is the neuron that ended largest in it.
    size = np.where(classes[:, None] == np.arange(4)[:, None], np.abs(np.asarray(ends[0]))[:, None], -1.0)
    tickets = succeeds(size.argmax(-1))
    first = succeeds(np.broadcast_to(np.arange(4), (runs, 4)))
    many = np.arange(8, 29, 4)
    missing = np.array([float(1 - success_probability(int(k))) for k in many])
    return {
        "probability by filling boxes": Exact(
            [filling_probability(k) for k in range(4, 12)], [success_probability(k) for k in range(4, 12)]
        ),
        "share of runs that succeed": Share(
            np.array([share.sum() for share in shares]),
            trials,
            np.array([float(success_probability(k)) for k in counts]),
            along={"neurons": list(counts)},
        ),
        "classes at the start and in the end": Exact(
            np.asarray(class_strengths(*ends) > RESIDUE), occupied(classes), aside={"weights": weights}
        ),
        "failures of many neurons": Rate(
            np.exp(many), missing, exponent=-np.log(4 / 3), resolution=0.05, rivals=(-np.log(2),)
        ),
        "rewound tickets": Exact(tickets[won], np.ones(won.sum(), bool), aside={"first": first[won]}),
    }


@xor_success.control("p₄ = 3/27, as printed", of="probability by filling boxes", erratum="J12.14a")
def printed_probability(evidence):
    return replace(evidence, right=[Fraction(3, 27), *list(evidence.right)[1:]])


@xor_success.control("three classes in the place of four", of="share of runs that succeed")
def three_classes(evidence):
    neurons = np.asarray(evidence.along["neurons"], float)
    return replace(evidence, predicted=1 - 3 * (2 / 3) ** neurons + 3 * (1 / 3) ** neurons)


@xor_success.control(
    "the sign of the weight alone decides: both signs occupy all", of="classes at the start and in the end"
)
def sign_alone(evidence):
    weights = np.asarray(evidence.aside["weights"])
    sides = np.stack([(weights > 0).any(1), (weights > 0).any(1), (weights < 0).any(1), (weights < 0).any(1)], axis=1)
    return replace(evidence, right=sides)


@xor_success.control("any four neurons of a run that succeeded", of="rewound tickets")
def any_four(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["first"]))


@xor_success.picture
def success_by_neurons(pieces):
    """Probability of success by number of neurons, and the share of random starts with all four classes."""
    found = pieces["share of runs that succeed"]
    neurons = np.asarray(found.along["neurons"])
    grid = np.arange(4, 21)
    return Curves(
        [
            Line("predicted", grid, [float(success_probability(int(k))) for k in grid]),
            Dots("random starts", neurons, np.asarray(found.count) / found.trials),
            Dots("predicted", [4], [3 / 27], rival="3/27 at K = 4"),
            Level("four neurons that won, trained again", y=float(np.mean(np.asarray(pieces["rewound tickets"].left)))),
        ],
        x="neurons K",
        y="probability of success",
        ys=(0, 1.05),
    )
