"""When the hidden direction is recovered: how many samples and how short steps, by the information exponent.

jagannath 11.3 and 11.4.
"""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from scipy import stats

from deeptheory.claims.dynamics.recovery import CUBIC, LINEAR, Three
from deeptheory.dynamics.hitting_times import hitting_survival, mean_hitting_time, mean_overlap
from deeptheory.dynamics.sphere import overlap_chain
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Limit, Share, Trials, claim
from deeptheory.lab.pictures import HeatMap, Row


def overlaps_at_the_end(link, sizes, lengths, offsets):
    """Mean overlaps after N^(1+a) steps of length N^−b: sizes × b × (a − b), for every b offsets of its own."""
    return np.array(
        [
            [
                mean_overlap(link, np.round(n ** (1 + b + gaps)).astype(int), dimension=n, step=n**-b, quadrature=16)
                for b, gaps in zip(lengths, offsets, strict=True)
            ]
            for n in sizes
        ]
    )


@claim(
    items={
        "J11.10": ("weak recovery", "strong recovery"),
        "J11.14": ("exponent 1, enough samples", "exponent 3, enough samples", "exponent 3, too short steps"),
        "J11.19": (
            "strong recovery",
            "exponent 1, enough samples",
            "exponent 1, too few samples",
            "exponent 1, the overlap in full",
            "exponent 3, enough samples",
            "exponent 3, too few samples",
            "exponent 3, too short steps",
        ),
    },
    says=r"With $N^{1+a}$ samples and steps $N^{-b}$ the mean overlap at the end comes, for information exponent 1, to "
    r"one if $0<b<a$ and to zero if $b>a$; for exponent 3 to one if $a/2<b<a-\frac12$, and to zero for $a<1$ if "
    r"$b\ge a/2$ and beyond if $b>a-\frac12$.",
    needs="spherical online gradient descent from the upper half sphere; of each region at least four points (a, b) "
    "are drawn, some way from its border, and followed to large dimensions",
    symbols={
        r"N": "the dimension",
        r"a": "how many samples: $N^a$ a dimension",
        r"b": "how short the steps: $N^{-b}$",
    },
    why=r"Steps of length $N^{-b}$ carry the overlap $m$ a distance of order $N^{a-b}m^{k-1}$ in $N^{1+a}$ samples; "
    r"their noise is of order $N^{a/2-b-1/2}$. For $k=1$ the first is enough when $b<a$: the overlap is then "
    r"$\tanh2N^{a-b}$, but for its start. For $k=3$ and the start $m=N^{-1/2}$ it exceeds the start when "
    r"$b<a-\frac12$, and the noise does not drown it when $b>a/2$: a wedge that opens at $a=1$.",
    notice="Weak recovery is to pass a level, strong recovery to come to one. For exponent 1 (left) the overlap is "
    "near one below the diagonal; for exponent 3 (right) only in a wedge beyond $a=1$.",
)
def portrait_of_recovery(
    key, *, sizes: Annotated[Three, Interval(ge=50, le=10_000)] = (100, 400, 1600), trials: Trials = 4096
):
    first, second, third = jax.random.split(key, 3)
    small, steps, step, level = 24, np.array([20, 60, 200]), 0.3, 0.5
    run = overlap_chain(
        first, LINEAR, dimension=small, step=step, replicas=trials, max_steps=int(steps[-1]), stop=False,
        levels=(level,),
    )  # fmt: skip
    weak = 1 - hitting_survival(LINEAR, steps, dimension=small, step=step, level=level)
    ends = [
        overlap_chain(k, LINEAR, dimension=small, step=step, replicas=trials, max_steps=int(t), stop=False).overlap
        for k, t in zip(jax.random.split(second, len(steps)), steps, strict=True)
    ]

    # Lengths of steps are drawn, and for each of them points by their a − b. Exponent 1: two on either side
    # of the diagonal and two near it, where the overlap is of order one.
    numbers, draw = np.array(sizes, float), generator(third)
    gaps = draw.uniform([0.07, 0.12, -0.6, -0.6, -0.15, -0.05], [0.12, 0.25, -0.3, -0.3, -0.05, 0.05], (2, 6))
    linear = overlaps_at_the_end(LINEAR, sizes, draw.uniform([0.4, 0.55], [0.55, 0.7]), gaps)
    starts = np.array([stats.beta.ppf((np.arange(400) + 0.5) / 400, 0.5, (n - 1) / 2) ** 0.5 for n in sizes])
    travelled = (numbers[:, None, None] ** gaps)[..., None]
    flows = [np.tanh(c * travelled + np.arctanh(starts)[:, None, None]).mean(-1) for c in (2, 1)]
    # Exponent 3: a < 1, on either side of ½; beyond, two points in the wedge and two beside it.
    lengths = draw.uniform([0.6, 0.8], [0.8, 1.1])
    few = draw.uniform([0.2, 0.55], [0.5, 0.95], (2, 2)) - lengths[:, None]
    few = overlaps_at_the_end(CUBIC, sizes, lengths, few)
    beyond = draw.uniform([0.65, 0.65, 0.02, 0.02], [0.85, 0.85, 0.12, 0.12], (2, 4))
    beyond = overlaps_at_the_end(CUBIC, sizes, draw.uniform(1.02, 1.15, 2), beyond)
    wedge, beside = beyond[..., :2], beyond[..., 2:]

    def last(distances):
        """Of several points the one that is furthest from its limit; quadrature sees no less than the floor."""
        return np.maximum(distances.reshape(len(sizes), -1).max(1), 1e-6)

    shown, portraits = sizes[0], []
    for link, ratios, lengths in (
        (LINEAR, np.linspace(0.1, 1.5, 8), np.linspace(0.2, 1.4, 7)),
        (CUBIC, np.linspace(0.6, 2.0, 8), np.linspace(0.8, 2.0, 5)),
    ):
        samples = np.round(shown ** (1 + ratios)).astype(int)
        rows = [mean_overlap(link, samples, dimension=shown, step=shown**-b, nodes=48, quadrature=24) for b in lengths]
        portraits.append((ratios, lengths, np.array(rows)))
    return {
        "weak recovery": Share(
            np.array([(run.times[0] <= t).sum() for t in steps]),
            trials,
            weak,
            resolution=0.12,
            along={"samples": steps},
            aside={"mean": mean_hitting_time(LINEAR, dimension=small, step=step, level=level)},
        ),
        "strong recovery": Law(
            mean_overlap(LINEAR, steps, dimension=small, step=step),
            np.array(ends),
            exact=True,
            along={"samples": steps},
            # dm/ds = 2δ(1 − m²) from the mean start √(2/πN).
            aside={"flow": np.tanh(2 * step * steps / small + np.arctanh((2 / np.pi / small) ** 0.5))}
            | {
                f"{name} {k}": value
                for k, portrait in zip((1, 3), portraits, strict=True)
                for name, value in zip(("ratios", "lengths", "overlaps"), portrait, strict=True)
            },
        ),
        "exponent 1, enough samples": Limit(
            numbers, last(1 - linear[..., :2]), order=0.4, aside={"missed": last(linear[..., :2])}
        ),
        "exponent 1, too few samples": Limit(
            numbers, last(linear[..., 2:4]), order=0.3, aside={"missed": last(1 - linear[..., 2:4])}
        ),
        "exponent 1, the overlap in full": Limit(
            numbers, last(abs(linear - flows[0])), order=0.4, aside={"half": last(abs(linear - flows[1]))}
        ),
        "exponent 3, enough samples": Limit(numbers, last(1 - wedge), order=0.4, aside={"missed": last(wedge)}),
        "exponent 3, too few samples": Limit(numbers, last(few), order=0.3, aside={"missed": last(1 - few[..., 1])}),
        "exponent 3, too short steps": Limit(numbers, last(beside), order=0.4, aside={"missed": last(1 - beside)}),
    }


@portrait_of_recovery.control("exponent 1 recovers only for b < a − ½, as exponent 3", of="exponent 1, enough samples")
def wedge_at_exponent_one(evidence):
    return replace(evidence, y=evidence.aside["missed"])


@portrait_of_recovery.control("half of the drift: (1 − m²) for 2(1 − m²)", of="exponent 1, the overlap in full")
def half_of_the_drift(evidence):
    return replace(evidence, y=evidence.aside["half"])


@portrait_of_recovery.control("√N samples a dimension are enough at exponent 3", of="exponent 3, too few samples")
def root_of_the_dimension(evidence):
    return replace(evidence, y=evidence.aside["missed"])


@portrait_of_recovery.control(
    "α⁻¹ ≪ δ ≪ α^(−1/2) is enough, as printed", erratum="J11.14a", of="exponent 3, too short steps"
)
def diagonal_at_exponent_three(evidence):
    return replace(evidence, y=evidence.aside["missed"])


@portrait_of_recovery.control("times of exponential law with the right mean", of="weak recovery")
def exponential_times(evidence):
    return replace(
        evidence, predicted=-np.expm1(-np.asarray(evidence.along["samples"]) / float(evidence.aside["mean"]))
    )


@portrait_of_recovery.control("gradient flow on the population loss from the mean start", of="strong recovery")
def population_flow(evidence):
    return replace(evidence, predicted=np.asarray(evidence.aside["flow"]))


@portrait_of_recovery.picture
def portraits_by_exponent(pieces):
    """Mean overlap at the end over samples (N^a a dimension) and steps (N^−b), for information exponents 1 and 3."""
    found, panels = pieces["strong recovery"].aside, []
    for k in (1, 3):
        values = np.asarray(found[f"overlaps {k}"])[::-1]
        rows = [f"{b:.1f}" for b in np.asarray(found[f"lengths {k}"])[::-1]]
        columns = [f"{a:.1f}" for a in np.asarray(found[f"ratios {k}"])]
        title = f"information exponent {k}"
        panels.append(
            HeatMap(values, rows, columns, x="a (samples N^a)", y="b (steps N^−b)", title=title, value="overlap")
        )
    return Row(panels)
