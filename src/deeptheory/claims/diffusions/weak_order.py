"""Stochastic gradient descent and its diffusion agree to weak order one, and skewed noise breaks it (arora 12.2, 12.3).

Everything is an exact expectation: moment recursions for quadratic losses, Fourier operators for angles. Unless a piece
says otherwise √η·σ is held fixed as η → 0, so that the diffusion does not change; at fixed σ the noise itself vanishes
and any covariance, even none, has order one.
"""

from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.torus_semigroups import committee_loss, committee_machine, double_well, weak_error_on_torus
from deeptheory.diffusions.weak_order import (
    diffusion_moments,
    gaussian_noise,
    linear_oracle,
    sgd_moments,
    three_losses,
    two_point_noise,
    weak_error,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Limit, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

Halvings = Annotated[int, Interval(ge=3, le=12)]
TESTS = [np.eye(5)[2], np.eye(5)[3], np.eye(5)[4], np.array([1.0, -2.0, 0.3, 0.2, 0.1])]


def largest(oracle, step, *, diffusion=None):
    """The weak error over a dictionary of four polynomials of degree at most four."""
    return max(weak_error(oracle, step, test, diffusion=diffusion) for test in TESTS)


def path_moments(step, count, start):
    """Mean and second moment after `count` steps on (x − 3)², (x + 3)², x² + 9, over all sequences of draws."""
    ends = []
    for centres in product((3.0, -3.0, 0.0), repeat=int(count)):
        x = start
        for centre in centres:
            x = x - step * 2 * (x - centre)
        ends.append(x)
    return np.mean(ends), np.mean(np.square(ends))


@claim(
    items={
        "A12.13": (
            "moments of the iteration",
            "all paths enumerated",
            "moments of the diffusion",
            "variance in the end",
            "distance to its diffusion",
        ),
        "A12.16": ("distance to its diffusion", "distance to no noise at all"),
    },
    says=r"On the three losses $(x-3)^2,(x+3)^2,x^2+9$ the diffusion is $dX=-2X\,dt+\sqrt{24\eta}\,dW$; iteration and "
    r"diffusion have stationary variances $6\eta/(1-\eta)$ and $6\eta$, and differ by order $\eta$.",
    needs="uniform sampling; fixed time horizon",
    full=dict(halvings=9),
    symbols={
        "x": "the parameter; one of the three losses is drawn at each step",
        "X": "the solution of the stochastic equation",
        r"\eta": "the step size, and the time that one step takes",
        "W": "Brownian motion",
    },
    why=r"The three gradients are $2x-6$, $2x+6$ and $2x$: a drift $2x$ and noise $\mp6,0$ of variance 24. Both the "
    "iteration and the diffusion are linear, so moments of each degree obey closed recursions; the second settles "
    r"where what the noise adds, $24\eta^2$ a step, balances what the drift takes, $4\eta-4\eta^2$ of it for the "
    r"iteration and $4\eta$ for the diffusion. With $\sigma$ fixed the noise itself is of order $\sqrt\eta$, so that "
    r"even leaving it out costs only order $\eta$.",
    notice=r"Both start alike and settle at different levels, $6\eta/(1-\eta)$ and $6\eta$. On the right the distance "
    "falls in proportion to the step; but so does the distance to a path without any noise, and therefore order one, "
    "measured so, says nothing about the noise.",
)
def three_losses_against_their_diffusion(*, halvings: Halvings = 6):
    start, steps = 2.0, np.array([1, 2, 5, 15, 40])
    etas = np.array([0.1, 0.03, 0.01])[:, None]
    tables = [
        np.array([moments(three_losses(), eta, 40, degree=2, start=start)[steps, 1:] for eta in etas[:, 0]])
        for moments in (sgd_moments, diffusion_moments)
    ]
    shrink, decay = (1 - 2 * etas) ** steps, np.exp(-2 * etas * steps)
    discrete = np.stack([shrink * start, shrink**2 * start**2 + 6 * etas / (1 - etas) * (1 - shrink**2)], -1)
    continuous = np.stack([decay * start, decay**2 * start**2 + 6 * etas * (1 - decay**2)], -1)
    # All ways in which the three losses can be drawn in up to five steps, one by one.
    enumerated = [[path_moments(eta, count, start) for count in steps[:3]] for eta in etas[:, 0]]
    histories = [
        moments(three_losses(), 0.1, 400, degree=2, start=start)[:, 2] for moments in (sgd_moments, diffusion_moments)
    ]
    late = [history[-1] for history in histories]
    fine = 0.01 / 2.0 ** np.arange(halvings)
    silent = three_losses().amplified(0.0)
    return {
        "moments of the iteration": Identity(tables[0], discrete, condition=40.0),
        "moments of the diffusion": Identity(
            tables[1], continuous, condition=40.0, along={"eta": etas[:, 0], "step": steps}
        ),
        "all paths enumerated": Identity(tables[0][:, :3], np.array(enumerated), condition=40.0),
        "variance in the end": Identity(
            np.array(late),
            np.array([0.6 / 0.9, 0.6]),
            condition=400.0,
            aside={"iteration": histories[0], "diffusion": histories[1]},
        ),
        "distance to its diffusion": Rate(
            fine, np.array([largest(three_losses(), eta) for eta in fine]), exponent=1.0, rivals=(0.5, 2.0)
        ),
        "distance to no noise at all": Rate(
            fine, np.array([largest(three_losses(), eta, diffusion=silent) for eta in fine]), exponent=1.0
        ),
    }


@three_losses_against_their_diffusion.control("the diffusion's variance for the iteration", of="variance in the end")
def same_variance(evidence):
    return replace(evidence, right=np.full(2, evidence.right[1]))


@three_losses_against_their_diffusion.control("6η(1 − η) for 6η/(1 − η)", of="variance in the end")
def product_for_quotient(evidence):
    return replace(evidence, right=evidence.right * np.array([0.9**2, 1.0]))


@three_losses_against_their_diffusion.picture
def second_moments(pieces):
    """E x² of the iteration and of the diffusion at η = 0.1 (left), and their weak distance as η falls (right)."""
    stationary, order, blind = (
        pieces["variance in the end"],
        pieces["distance to its diffusion"],
        pieces["distance to no noise at all"],
    )
    k = np.arange(40)
    settle = [
        Dots("iteration", k[::2], stationary.aside["iteration"][:40:2]),
        Line("diffusion", k, stationary.aside["diffusion"][:40]),
        Level("6η/(1 − η)", y=float(stationary.right[0])),
        Level("6η", y=float(stationary.right[1])),
    ]
    fall = [
        Dots("to its diffusion", order.x, order.y),
        Dots("to no noise at all", blind.x, blind.y),
        Line("order η", order.x, order.y[-1] * order.x / order.x[-1]),
    ]
    return Row(
        [
            Curves(settle, x="step", y="mean square E x² of the iterate", ys=(0.4, 1.5)),
            Curves(fall, x="step size η", y="weak distance", log="xy"),
        ]
    )


@three_losses_against_their_diffusion.control(
    "noise of variance 36, the draw without noise forgotten", of="moments of the diffusion"
)
def quiet_draw_forgotten(evidence):
    eta, step = np.asarray(evidence.along["eta"])[:, None], np.asarray(evidence.along["step"])
    more = 3 * eta * (1 - np.exp(-4 * eta * step))
    return replace(evidence, right=evidence.right + np.stack([0 * more, more], -1))


@claim(
    items={
        "A12.17": ("three quadratic losses", "multiplicative noise", "a double well", "a small network"),
        "A12.16": ("three quadratic losses", "Euler's scheme, Gaussian noise", "diffusion with half the covariance"),
    },
    says=r"The canonical equation $dX=-\nabla f\,dt+\sqrt\eta\,\sigma\,\Sigma^{1/2}dW$ is a weak approximation of "
    r"order $\eta$ to stochastic gradient descent, for linear and nonlinear gradients, additive and multiplicative "
    r"noise; with a covariance that does not match the error does not vanish.",
    needs="√η·σ fixed; smooth gradient; noise without skewness; covariance as in the equation",
    scale="printed: any network; here a two-layer network of two unit-norm neurons, so that expectations are exact",
    full=dict(halvings=7, nodes=25),
    explore={"variance": (0.5, 1.0, 2.0)},
    symbols={
        "X": "the solution of the stochastic equation",
        "f": "the loss",
        r"\eta": "the step size",
        r"\sigma": r"the size of the noise; $\sqrt\eta\,\sigma$ is held fixed",
        r"\Sigma": "the covariance of the noise of the gradient",
        "W": "Brownian motion",
    },
    why="Over one step the expectations of any smooth test function differ by what is left after drift and covariance "
    r"agree: terms of order $\eta^2$, since the noise has no third moment. There are $T/\eta$ steps, the errors add "
    r"up, and order $\eta$ remains. A covariance that does not match leaves a difference of order $\eta$ in each "
    "step, and of order one in all.",
    notice="All errors fall in proportion to the step: additive noise, noise that grows with the distance, a double "
    "well, a small network and its test loss. With half the covariance the error stays where it is, however small the "
    "step.",
)
def canonical_equation_has_weak_order_one(
    key,
    *,
    noise: Annotated[float, Interval(ge=0.1, le=2.0)] = 1.0,
    variance: Annotated[float, Interval(ge=0.0, le=4.0)] = 1.0,
    halvings: Halvings = 5,
    nodes: Annotated[int, Interval(ge=9, le=41)] = 17,
):
    fair, normal, random = two_point_noise(0.0), gaussian_noise(4), generator(key)
    fine = 0.02 / 2.0 ** np.arange(halvings)
    coarse = 0.1 / 2.0 ** np.arange(halvings)
    oracles = {
        "three quadratic losses": three_losses().amplified(24**-0.5),
        "multiplicative noise": linear_oracle(1.0, fair, additive=0.5, multiplicative=0.7),
        "Euler's scheme, Gaussian noise": linear_oracle(1.0, normal),
    }

    def exact(oracle):
        scales = [(eta, noise / np.sqrt(eta)) for eta in fine]
        assumed = np.sqrt(variance)
        return np.array(
            [largest(oracle.amplified(s), eta, diffusion=oracle.amplified(assumed * s)) for eta, s in scales]
        )

    inputs = random.standard_normal((12, 2))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
    targets = np.tanh(inputs @ [1.0, 0.0]) + np.tanh(inputs @ [0.6, 0.8]) + 0.5 * random.standard_normal(12)
    network, held_out = committee_machine(inputs[:4], targets[:4]), (inputs[4:], targets[4:])
    assumed = noise * np.sqrt(variance)
    well = weak_error_on_torus(
        double_well(fair.values, fair.probabilities),
        coarse,
        lambda theta: np.cos(theta[:, 0]) + 0.3 * np.sin(theta[:, 0]),
        noise=0.7 * noise,
        diffusion_noise=0.7 * assumed,
    )
    net = weak_error_on_torus(
        network,
        coarse[:4],
        lambda theta: committee_loss(theta, *held_out),
        noise=noise,
        diffusion_noise=assumed,
        nodes=nodes,
    )
    pieces: dict[str, Rate | Identity] = {
        name: Rate(fine, exact(oracle), exponent=1.0, rivals=(0.5,)) for name, oracle in oracles.items()
    }
    pieces["a double well"] = Rate(coarse, well, exponent=1.0, rivals=(0.5,))
    pieces["a small network"] = Rate(coarse[:4], net, exponent=1.0, rivals=(0.5,))
    half = [
        (three_losses().amplified((24 * eta) ** -0.5), three_losses().amplified((48 * eta) ** -0.5)) for eta in fine
    ]
    wrong = np.array([largest(one, eta, diffusion=other) for eta, (one, other) in zip(fine, half, strict=True)])
    pieces["diffusion with half the covariance"] = Rate(fine, wrong, exponent=0.0, rivals=(1.0,))
    # A rate does not see which noise was there.
    pieces["moments of fair signs and normals"] = Identity(
        [[law.probabilities @ law.values**power for power in range(5)] for law in (fair, normal)],
        [[1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0, 3.0]],
        scale=1.0,
    )
    return pieces


canonical_equation_has_weak_order_one.control("half the covariance", of="a small network", variance=0.5, halvings=4)


@canonical_equation_has_weak_order_one.picture
def weak_errors(pieces):
    """Weak distances between stochastic gradient descent and its equation, as the step falls, for four problems."""
    marks = [
        Dots(name, pieces[name].x, pieces[name].y)
        for name in ("three quadratic losses", "multiplicative noise", "a double well", "a small network")
    ]
    first = pieces["three quadratic losses"]
    marks += [
        Line("order η", first.x, first.y[-1] * first.x / first.x[-1], dashed=True),
        Line(
            "three quadratic losses",
            pieces["diffusion with half the covariance"].x,
            pieces["diffusion with half the covariance"].y,
            rival="half the covariance",
        ),
    ]
    return Curves(marks, x="step size η", y="weak error", log="xy")


@claim(
    items={
        "A12.18": (
            "weak error with skewed noise",
            "third cumulant",
            "third cumulant over the root of the step",
            "weak error in a double well",
        ),
        "A12.17": "weak error with noise that is not skewed",
    },
    says=r"With noise of third moment $g\ne0$ the diffusion follows gradient descent to order one half only: the "
    r"third cumulant at time $T$ is near $\sqrt\eta\,s^3g\,(1-e^{-3T})/3$, that of the diffusion zero. Skewness of "
    r"order $1/\sigma$, as the theorem allows, restores order one.",
    needs=r"steps $x'=(1-\eta)x+\sqrt\eta\,s\,z$ with noise $z$ of mean zero and variance one; $s$ fixed",
    full=dict(halvings=9),
    symbols={
        "g": "the third moment of the noise $z$, its skewness",
        r"\text{order}": r"the power of $\eta$ with which the error of mean values at time $T$ falls",
        r"\text{third cumulant}": r"the third moment of the iterate $x$ about its mean",
        "T": "the time horizon",
        r"\eta": "the step size",
        "s": r"the size of the noise, $\sqrt\eta\,\sigma$, held fixed",
        r"\sigma": r"the amplification of the noise, $s/\sqrt\eta$, that makes a diffusion of small steps",
    },
    why=r"A step moves the third cumulant by $\eta^{3/2}s^3g$, and contracts it by $(1-\eta)^3$. Over $T/\eta$ steps "
    r"this adds up to $\sqrt\eta\,s^3g(1-e^{-3T})/3$. A diffusion with Gaussian noise has no third cumulant at all, "
    r"so the two differ by order $\sqrt\eta$ in the mean of $x^3$. If $g$ is itself of order $1/\sigma$, which is "
    r"$\sqrt\eta$, order one is back.",
    notice="On the left, the error with skewed noise falls with half the slope of the other. On the right, the third "
    r"cumulant over $\sqrt\eta$ settles at its limit, and not at the value one gets by contracting as for a variance.",
    explore={"skewness": (0.25, 1.5, 4.0), "horizon": (0.5, 1.2, 2.0)},
)
def skewed_noise_costs_half_an_order(
    *,
    skewness: Annotated[float, Interval(ge=-4.0, le=4.0)] = 1.5,
    scale: Annotated[float, Interval(ge=0.1, le=2.0)] = 0.7,
    horizon: Annotated[float, Interval(ge=0.25, le=4.0)] = 1.2,
    halvings: Halvings = 7,
):
    etas, cube = horizon * 0.02 / 2.0 ** np.arange(halvings), np.array([0.0, 0.0, 0.0, 1.0])
    errors, allowed, cumulants = [], [], []
    for eta in etas:
        oracle, mild = (
            linear_oracle(1.0, two_point_noise(-g)).amplified(scale / np.sqrt(eta))
            for g in (skewness, skewness * np.sqrt(eta))
        )
        errors.append(weak_error(oracle, eta, cube, horizon=horizon))
        allowed.append(weak_error(mild, eta, cube, horizon=horizon))
        m = sgd_moments(oracle, eta, round(horizon / eta), degree=3, start=0.5)[-1]
        cumulants.append(m[3] - 3 * m[2] * m[1] + 2 * m[1] ** 3)
    powers = (1 - etas) ** (3 * np.round(horizon / etas))
    exact = etas**1.5 * scale**3 * skewness * (1 - powers) / (1 - (1 - etas) ** 3)
    limit, rival = (scale**3 * skewness * (1 - np.exp(-n * horizon)) / n for n in (3, 2))
    noise = two_point_noise(-skewness)
    coarse = 0.02 / 2.0 ** np.arange(halvings)
    well = weak_error_on_torus(
        double_well(noise.values, noise.probabilities), coarse, lambda theta: np.sin(theta[:, 0]), noise=0.7
    )
    return {
        "weak error with skewed noise": Rate(etas, np.array(errors), exponent=0.5, rivals=(1.0,)),
        "weak error in a double well": Rate(coarse, well, exponent=0.5, rivals=(1.0,)),
        "third cumulant": Identity(np.array(cumulants), exact, scale=1.0, size=1 / etas),
        "third cumulant over the root of the step": Limit(
            1 / etas,
            np.abs(np.array(cumulants) / np.sqrt(etas) - limit),
            order=1.0,
            aside={
                "over the root": np.array(cumulants) / np.sqrt(etas),
                "limit": limit,
                "as a variance": rival,
                "square of the size": limit / scale,
            },
        ),
        "weak error with noise that is not skewed": Rate(etas, np.array(allowed), exponent=1.0, rivals=(0.5,)),
    }


skewed_noise_costs_half_an_order.control("noise without skewness", of="weak error with skewed noise", skewness=0.0)


@skewed_noise_costs_half_an_order.control(
    "(1 − e^(−2T))/2, as for the variance", of="third cumulant over the root of the step"
)
def variance_factor(evidence):
    return replace(evidence, y=np.abs(evidence.aside["over the root"] - evidence.aside["as a variance"]))


@skewed_noise_costs_half_an_order.control("s² for s³", of="third cumulant over the root of the step")
def square_of_the_size(evidence):
    return replace(evidence, y=np.abs(evidence.aside["over the root"] - evidence.aside["square of the size"]))


@skewed_noise_costs_half_an_order.picture
def half_an_order(pieces):
    """Weak errors with skewed noise and with skewness that vanishes (left), and the third cumulant over √η (right)."""
    order, allowed, limit = (
        pieces["weak error with skewed noise"],
        pieces["weak error with noise that is not skewed"],
        pieces["third cumulant over the root of the step"],
    )
    falls = [
        Dots("skewed noise", order.x, order.y),
        Dots("skewness of order 1/σ", allowed.x, allowed.y),
        Line("order √η", order.x, order.y[-1] * (order.x / order.x[-1]) ** 0.5),
        Line("order η", allowed.x, allowed.y[-1] * allowed.x / allowed.x[-1]),
    ]
    cumulants = [
        Dots("third cumulant", 1 / np.asarray(limit.x), limit.aside["over the root"]),
        Level("limit", y=float(limit.aside["limit"])),
        Level("(1 − e^(−2T))/2", y=float(limit.aside["as a variance"]), rival="as for a variance"),
    ]
    return Row(
        [
            Curves(falls, x="step size η", y="weak error of x³", log="xy"),
            Curves(cumulants, x="step size η", y="third cumulant / √η", log="x"),
        ]
    )
