"""One hidden layer comes near every continuous function, on compact sets (lucchi Sec. 3.1, handbook 1.1)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.approximation.cosines import cosine_network
from deeptheory.approximation.errors import best_in_span, measured_error
from deeptheory.approximation.requirements import neurons_needed
from deeptheory.approximation.staircases import hinges, sigmoid_staircase
from deeptheory.foundations.activations import relu, sigmoid
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row

ZERO, ONE = np.zeros(1), np.ones(1)
X = np.linspace(0, 1, 241)
TARGETS = {"wave": (lambda x: np.sin(7 * x), 7.0), "kink": (lambda x: np.abs(x - 0.3), 1.0), "root": (np.sqrt, 40.0)}


def waves(f, size, low, high):
    """Cosine networks of one input, in the form that numbers as ends ask for."""
    return cosine_network(lambda x: f(x[..., 0]), size, np.array([low]), np.array([high]))


BUILT = {"hinges": hinges, "sigmoids": sigmoid_staircase, "cosines": waves}
WIDTHS = np.array([2, 4, 8, 16])


@claim(
    items={
        "H1.2": ("error at fresh points", "error falls with more units"),
        "L3.1": ("norms of a difference", "norms in order", "error falls with more units"),
    },
    says=r"For continuous targets and every $\epsilon$ tried, a hidden layer of ReLUs, sigmoids or cosines is within "
    r"$\epsilon$ everywhere on $[0,1]$, which promises nothing beyond. The best combination of more units comes "
    r"nearer; $\|f\|_1\le\|f\|_2\le\|f\|_\infty$.",
    needs="existence is shown by construction for a wave, a kink and a root; errors are looked at again at fresh "
    "points",
    symbols={
        r"\epsilon": "the error that is allowed",
        r"\|f\|_1,\|f\|_2,\|f\|_\infty": r"mean of $|f|$, root of the mean of $f^2$, and largest $|f|$ on $[0,1]$",
    },
    why="Hinges join points of the graph, sigmoids make stairs, cosines make averages over a narrow kernel: each has a "
    "size at which a continuous function on a bounded interval, which cannot change much within short distances, is "
    "met. Outside nobody looked. A class that contains another comes at least as near as that one.",
    notice="The networks follow the wave on the unit interval, where they were asked to, and leave it at once beyond. "
    "On the right the best error falls with the number of units for tanh-like and ReLU units, and stays where it is "
    "for quadratic ones.",
)
def one_hidden_layer(key, *, wanted: Annotated[float, Interval(ge=0.05, le=0.2)] = 0.1):
    fresh = generator(key).uniform(size=2000)
    found = {
        (name, how): neurons_needed(f, wanted, how=build, points=2049)
        for name, (f, _) in TARGETS.items()
        for how, build in BUILT.items()
    }

    def off(x):
        return np.array(
            [np.abs(each.network(x[:, None]) - TARGETS[name][0](x)).max() for (name, _), each in found.items()]
        )

    wave = TARGETS["wave"][0](X)
    spans = {"ReLU": (relu, 1.0), "sigmoid": (sigmoid, 12.0), "square": (np.square, 1.0)}
    best = np.array(
        [
            [best_in_span(_nested(activation, steep, m), wave).error for m in WIDTHS.tolist()]
            for activation, steep in spans.values()
        ]
    )
    norms = [
        measured_error(lambda x: x[..., 0], lambda x: x[..., 0] ** 2, ZERO, ONE, norm=n) for n in ("L1", "L2", "sup")
    ]
    small = [
        [
            measured_error(each.network, lambda x, f=TARGETS[name][0]: f(x[..., 0]), ZERO, ONE, norm=n, points=513)
            for n in ("L1", "L2", "sup")
        ]
        for (name, _), each in found.items()
    ]
    return {
        "error at fresh points": Inequality(
            off(fresh),
            wanted,
            # What a target and its network can do between two points of the grid that was measured.
            error=np.array([2 * slope / 4096 for _, slope in TARGETS.values() for _ in BUILT]),
            along={"network": [f"{how} for the {name}" for name, how in found]},
            aside={"beyond": off(1.1 * fresh)},
        ),
        "error falls with more units": Inequality(
            best[:2, 1:] / best[:2, :-1],
            1.0,
            along={"activation": ["ReLU", "sigmoid"], "units": WIDTHS[1:]},
            aside={"best": best},
        ),
        "last error of nested units": Inequality(best[:2, -1], wanted, aside={"square": best[2, -1]}),
        # ∫(x − x²) = 1/6, ∫(x − x²)² = 1/30, and ¼ in the middle.
        "norms of a difference": Identity(
            np.array(norms), np.array([1 / 6, np.sqrt(1 / 30), 1 / 4]), error=1e-6, along={"norm": ["L1", "L2", "sup"]}
        ),
        "norms in order": Chain(
            {
                "mean and mean square": (np.array(small)[:, 0], np.array(small)[:, 1]),
                "mean square and worst": (np.array(small)[:, 1], np.array(small)[:, 2]),
            }
        ),
    }


def _nested(activation, steep, count):
    """Values over X of units whose places are halved again and again, so that fewer are among more; with a constant."""
    places = np.array([0.0, 1.0, *((2 * k + 1) / 2**level for level in range(1, 5) for k in range(2 ** (level - 1)))])
    return np.concatenate([np.ones((len(X), 1)), activation(steep * (X[:, None] - places[:count] + 1e-3))], 1)


@one_hidden_layer.control("on an interval a tenth longer", of="error at fresh points")
def beyond(evidence):
    return replace(evidence, quantity=evidence.aside["beyond"])


@one_hidden_layer.control("halved at least with each doubling", of="error falls with more units")
def steadily(evidence):
    return replace(evidence, bound=1 / 2)


@one_hidden_layer.control("quadratic units too, which are not linear either", of="last error of nested units")
def quadratic(evidence):
    return replace(evidence, quantity=evidence.aside["square"])


@one_hidden_layer.control("the mean square without its root", of="norms of a difference")
def no_root(evidence):
    return replace(evidence, right=np.array([1 / 6, 1 / 30, 1 / 4]))


@one_hidden_layer.control("the mean at most the mean square, without its root", of="norms in order")
def mean_square_alone(evidence):
    mean, root = evidence.links["mean and mean square"]
    return replace(evidence, links={"mean and mean square": (mean, np.asarray(root) ** 2)})


@one_hidden_layer.picture
def inside_and_beyond(pieces, settings):
    """Networks that follow a wave on [0, 1] and leave it beyond (left), and best errors by number of units (right)."""
    f, x = TARGETS["wave"][0], np.linspace(0, 1.4, 281)
    left = [Line("sin 7x", x, f(x), thin=True), Level("end of the interval", x=1.0)]
    for how, build in BUILT.items():
        found = neurons_needed(f, settings["wanted"], how=build)
        left.append(Line(f"{found.units} units: {how}", x, found.network(x[:, None])))
    best = pieces["error falls with more units"].aside["best"]
    right = [Line(name, WIDTHS + 1, row) for name, row in zip(("ReLU", "sigmoid", "square"), best, strict=True)]
    return Row(
        [Curves(left, x="place x", y="value"), Curves(right, x="units", y="best largest error for the wave", log="xy")]
    )
