"""Stability: replacing one example, in theory and for a network that interpolates (handbook 10)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.stability import (
    ghost_gaps,
    on_average_bound,
    regularized_stability,
)
from deeptheory.lab import Exact, Identity, Inequality, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, power_law

ATOMS = np.array([[1.0, 0.5], [-0.6, 1.0], [0.3, -1.0]])
"""Three examples (x, y), equally likely."""


def ridge(sample, strength=0.2):
    """Minimiser of the mean of (wx − y)²/2 + strength·w²/2, one weight."""
    x, y = sample.T
    return np.array([np.mean(x * y) / (np.mean(x * x) + strength)])


def squared(w, atoms):
    return (w[0] * atoms[:, 0] - atoms[:, 1]) ** 2 / 2


def remembered(sample):
    """A memory of sixteen atoms: 1 for those in the sample."""
    return np.isin(np.arange(16), sample[:, 0]).astype(float)


def forgotten(memory, atoms):
    return 1 - memory[atoms[:, 0].astype(int)]


@claim(
    items={
        "H10.1": ("the mean of a sample", "linear losses attain the bound", "distance of two minimisers"),
        "H10.2": ("gap is the mean change", "gap below the stability"),
        "H10.6": ("bound by the training error", "bound by the training error attained"),
    },
    says=r"$\mathbb E[R-R_S]$ is the mean change of the loss at an example when it is replaced, so at most $\beta$; "
    r"minimisers of convex $L$-Lipschitz losses plus $\frac\lambda2\|w\|^2$ move by at most $2L/\lambda n$. For "
    r"$G$-smooth losses the gap is at most $\frac Gg\mathbb ER_S+\frac{G+g}2\mathbb E\|A(S^{(i)})-A(S)\|^2$.",
    needs="the algorithm has no randomness of its own; independent examples; losses that are not negative at the last",
    symbols={
        r"R,\ R_S": "the mean loss of what was learned, on the population and on its sample",
        r"\beta": "uniform stability: the most by which any loss changes when any one example is replaced",
        r"L": "the Lipschitz constant of the losses",
        r"\lambda": "the strength of the penalty",
        r"n": "the size of the sample",
        r"G,\ g": "the smoothness of the losses, and any positive number",
        r"A(S),\ A(S^{(i)})": "what is learned from the sample, and from the sample with its $i$-th example replaced",
    },
    why=r"A fresh example and the $i$-th of the sample may exchange names: the test loss at the one is in mean the "
    r"loss at the other after it has been replaced. So the gap is a mean of changes, none larger than $\beta$. The "
    r"penalty makes the objective bend by $\lambda$, while one of $n$ examples can tilt it by $2L/n$ at most: its "
    r"bottom moves by the ratio of the two.",
    notice=r"Linear losses move the minimiser by exactly $2L/\lambda n$. Logistic regression moves by less, because "
    r"its losses bend as well, but also like $1/n$: ten times the data, a tenth of the influence of each example.",
)
def replacing_one_example(key):
    found = {n: ghost_gaps(ridge, squared, ATOMS, n) for n in (2, 3, 4)}
    # A memory errs only on what it has not seen: each example matters as much as it can.
    memory = ghost_gaps(remembered, forgotten, np.arange(16.0)[:, None], 2)
    gaps, changes, worst = (
        np.array([each[name] for each in (*found.values(), memory)]) for name in ("gap", "change", "stability")
    )
    draw, sizes, lam = generator(key), np.array([20, 40, 80, 160, 320]), 0.1
    x = draw.standard_normal((321, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    signed = x * np.sign(x[:, :1] + 0.3 * draw.standard_normal((321, 1)))
    fits = {n: _logistic(signed[:n], lam) for n in sizes.tolist()}
    moves = np.array(
        [np.mean([np.linalg.norm(fits[n] - _logistic(_swapped(signed, n, i), lam)) for i in range(20)]) for n in fits]
    )
    g = np.geomspace(0.05, 50, 30)
    f, w = found[3], 0.7
    smoothness = np.max(ATOMS[:, 0] ** 2)
    step = w * (1 + 2.0 / g)  # f = w², smoothness 2: one step along its gradient over g
    few = np.array([2, 5, 10])
    return {
        "gap is the mean change": Identity(gaps, changes),
        "gap below the stability": Inequality(np.abs(gaps), worst),
        "the mean of a sample": Identity(
            np.array([abs(np.mean([1.0] + [0.3] * k) - np.mean([-1.0] + [0.3] * k)) for k in few - 1]),
            2 / few,
            along={"n": few},
        ),
        "regularized minimisers": Inequality(moves, regularized_stability(1.0, lam, sizes)),
        # Losses ±2w: the minimiser of mean + (λ/2)w² is −mean/λ, and one sign turned moves it by 4/λn.
        "linear losses attain the bound": Identity(
            np.array([abs(np.mean([2.0] * n) - np.mean([-2.0] + [2.0] * (n - 1))) / lam for n in sizes]),
            regularized_stability(2.0, lam, sizes),
            along={"n": sizes},
        ),
        "distance of two minimisers": Rate(sizes.astype(float), moves, exponent=-1.0, rivals=(-0.5, -2.0)),
        "bound by the training error": Inequality(
            f["gap"],
            on_average_bound(f["training"], f["moved"], smoothness, g),
            aside={"training": smoothness / g * f["training"]},
        ),
        "bound by the training error attained": Identity(
            step**2 - w**2, on_average_bound(w**2, (step - w) ** 2, 2.0, g), aside={"w": w, "step": step, "g": g}
        ),
    }


def _swapped(signed, n, place):
    """The first n examples with one of them replaced by its opposite."""
    return np.where(np.arange(n)[:, None] == place, -1, 1) * signed[:n]


def _logistic(signed, lam):
    """Minimiser of the mean of log(1 + e^{−w·z}) + (λ/2)‖w‖² by Newton steps."""
    w = np.zeros(signed.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(signed @ w))
        slope = -signed.T @ p / len(signed) + lam * w
        curvature = (signed * (p * (1 - p))[:, None]).T @ signed / len(signed) + lam * np.eye(len(w))
        w = w - np.linalg.solve(curvature, slope)
    return w


@replacing_one_example.control("the change the other way round", of="gap is the mean change")
def other_way_round(evidence):
    return replace(evidence, right=-np.asarray(evidence.right))


@replacing_one_example.control("half of the uniform stability", of="gap below the stability")
def half_the_stability(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@replacing_one_example.control("n − 1 examples in place of n", of="the mean of a sample")
def one_example_less(evidence):
    return replace(evidence, right=2 / (evidence.along["n"] - 1))


@replacing_one_example.control("L/λn, without the factor two", of="linear losses attain the bound")
def once_the_constant(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@replacing_one_example.control(
    "the change of the parameters alone, without the training loss", of="bound by the training error"
)
def without_training_loss(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) - evidence.aside["training"])


@replacing_one_example.control("half of the smoothness", of="bound by the training error attained")
def half_smoothness(evidence):
    w, step, g = (evidence.aside[name] for name in ("w", "step", "g"))
    return replace(evidence, right=on_average_bound(float(w) ** 2, (step - w) ** 2, 1.0, g))


@replacing_one_example.picture
def influence_of_one_example(pieces):
    """How far a penalized minimiser moves when one of n examples is replaced: linear losses, logistic regression."""
    linear, logistic, bound = (
        pieces["linear losses attain the bound"],
        pieces["distance of two minimisers"],
        pieces["regularized minimisers"].bound,
    )
    return Curves(
        [
            Line("bound, L = 2", linear.along["n"], linear.right),
            Dots("linear losses, L = 2", linear.along["n"], linear.left),
            Line("bound, L = 1", logistic.x, bound),
            Dots("logistic regression, L = 1", logistic.x, logistic.y),
        ],
        x="examples n", y="distance of the two minimisers", log="xy",
    )  # fmt: skip


@claim(
    items={
        "H10.7": (
            "change of the outputs",
            "training errors",
            "change at the erased label",
            "mean change in the end",
            "root mean square in the end",
        )
    },
    says=r"A wide network puts all $n$ examples into their classes in a fixed number of epochs, yet erasing a label "
    r"moves its outputs only like $1/n$. In the end, labels met exactly, it moves by the whole label there: like $1/n$ "
    r"in mean, $n^{-1/2}$ in root mean square.",
    scale="printed: interpolating deep networks, no sizes; here: two-layer ReLU networks, 32 to 128 points on two arcs "
    "of a circle; of width 200 after 80 epochs of full-batch gradient descent from a network that starts at zero, "
    "infinitely wide in the end",
    symbols={r"n": "the number of examples"},
    why=r"A wide network in training is nearly a kernel method: one of $n$ labels enters its outputs through the "
    r"inverse of a kernel matrix whose large eigenvalues are of order $n$. A smooth kernel spreads the influence of "
    r"one point over the few directions it learns in the given time, and there the point's share is $1/n$. What meets "
    r"every label has no choice: it moves with the one that is erased, in a spike as wide as the space between two "
    r"points. Perfect classes and stability go together; perfect labels leave stability on average, not uniformly.",
    notice=r"No network errs on its examples; yet the change of its outputs, over 50 points around the circle, when "
    r"one label is set to 0 falls like $1/n$, along the line, and not like $1/\sqrt n$. Trained to the end it falls "
    r"like that: a spike of height one.",
)
def interpolating_yet_stable(key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 24):
    draw, width, changes, errors, ends, there = generator(key), 200, [], [], [], []
    first, second = draw.standard_normal((trials, width, 3)), draw.choice([-1.0, 1.0], (trials, width)) / np.sqrt(width)
    probe, fine = (_circle(np.linspace(0, 2 * np.pi, count, endpoint=False)) for count in (50, 6000))
    for n in sizes:
        # Two classes on two arcs, evenly spaced and turned at random: what is left to chance is the network, not where
        # the points fell. There are more of them than frequencies that 80 epochs learn; fewer would each add one.
        half = n // 2
        arcs = np.concatenate([_arc(half), np.pi + _arc(n - half)])
        labels = np.where(np.arange(n) < half, 1.0, -1.0)
        swapped = labels.copy()
        swapped[half // 2] = 0.0  # the replaced example, in the middle of its class, says nothing
        both = [np.tile(each, (trials, 1)) for each in (labels, swapped)]
        x = _circle(arcs + 2 * np.pi * draw.random((trials, 1)))
        one, fit = trained_outputs(first, second, x, both[0], probe)
        two, _ = trained_outputs(first, second, x, both[1], probe)
        changes.append(np.sqrt(np.mean(np.square(one - two), axis=1)))
        errors.append(int(np.sum(np.sign(fit) != both[0])))
        x = _circle(arcs)
        weights = np.linalg.solve(_tangent_kernel(x, x), np.stack([labels, swapped], 1))
        moved, here = ((_tangent_kernel(z, x) @ weights) @ [1, -1] for z in (fine, x[half // 2]))
        ends.append([np.mean(np.abs(moved)), np.sqrt(np.mean(moved**2))])
        there.append(here)
    numbers, (mean, root) = np.array(sizes, float), np.array(ends).T
    return {
        "change of the outputs": Rate(numbers, np.array(changes), exponent=-1.0, resolution=0.1, rivals=(-0.5, -1.5)),
        "training errors": Exact(np.array(errors), np.zeros(len(sizes), int), along={"n": np.array(sizes)}),
        "change at the erased label": Identity(there, np.ones(len(sizes)), error=1e-9, along={"n": np.array(sizes)}),
        "mean change in the end": Rate(numbers, mean, exponent=-1.0, resolution=0.1, rivals=(-0.5, -1.5)),
        "root mean square in the end": Rate(numbers, root, exponent=-0.5, resolution=0.1, rivals=(-1.0, 0.0)),
    }


def _tangent_kernel(x, z):
    """The kernel of the first layer of an infinitely wide network, on points of one length: x·z (π − angle)/2π."""
    # By the chord: near zero an arc cosine would lose half the digits of the angle.
    chords = np.linalg.norm(x[..., None, :] - z, axis=-1) / np.linalg.norm(z[0])
    return x @ z.T * (np.pi - 2 * np.arcsin(np.minimum(chords / 2, 1))) / (2 * np.pi)


def _arc(count):
    """Angles in the upper half, 0.3 away from its ends."""
    return 0.3 + (np.pi - 0.6) * (np.arange(count) + 0.5) / count


def _circle(angles):
    return np.stack([np.cos(angles), np.sin(angles), np.full_like(angles, 0.3)], axis=-1)


@jax.jit
def trained_outputs(first, second, inputs, labels, probe):
    """Outputs on the probe and on the sample after 80 epochs of gradient descent on the first layer; all networks."""

    def one(start, a, x, y):
        def output(v, z):  # what training adds: the network starts at zero
            return (jax.nn.relu(z @ v.T) - jax.nn.relu(z @ start.T)) @ a

        def step(w, _):
            return w - 2.0 * jax.grad(lambda w: jnp.mean((output(w, x) - y) ** 2) / 2)(w), None

        w, _ = jax.lax.scan(step, start, None, length=80)
        return output(w, probe), output(w, x)

    return jax.vmap(one)(first, second, inputs, labels)


@interpolating_yet_stable.control("no dependence on n", of="change of the outputs")
def independent_of_n(evidence):
    return replace(evidence, exponent=0.0)


@interpolating_yet_stable.picture
def influence_of_one_label(pieces):
    """Change of a trained network's outputs when one of n labels is erased, and the line 1/n through the smallest n."""
    marks = power_law("80 epochs, 1/n", pieces["change of the outputs"], rivals={-0.5: "1/√n"})
    marks += power_law("in the end, 1/√n", pieces["root mean square in the end"])
    return Curves(marks, x="examples n", y="change of the outputs, root mean square", log="xy")
