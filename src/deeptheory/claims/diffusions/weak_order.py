"""Stochastic gradient descent and its diffusion agree to weak order one, and skewed noise breaks it (arora 12.2, 12.3).

Everything is an exact expectation: moment recursions for quadratic losses, Fourier operators for angles. Unless a piece
says otherwise √η·σ is held fixed as η → 0, so that the diffusion does not change; at fixed σ the noise itself vanishes
and any covariance, even none, has order one.
"""

from dataclasses import replace
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
from deeptheory.lab import Identity, Limit, Printed, Rate, claim

Halvings = Annotated[int, Interval(ge=3, le=12)]
TESTS = [np.eye(5)[2], np.eye(5)[3], np.eye(5)[4], np.array([1.0, -2.0, 0.3, 0.2, 0.1])]


def largest(oracle, step, *, diffusion=None):
    """The weak error over a dictionary of four polynomials of degree at most four."""
    return max(weak_error(oracle, step, test, diffusion=diffusion) for test in TESTS)


@claim(
    items={"A12.13": ("iteration", "diffusion", "printed", "stationary", "order"), "A12.16": ("order", "blind")},
    says=r"On the three losses $(x-3)^2,(x+3)^2,x^2+9$ the diffusion is $dX=-2X\,dt+\sqrt{24\eta}\,dW$; iteration and "
    r"diffusion have stationary variances $6\eta/(1-\eta)$ and $6\eta$, and differ by order $\eta$.",
    needs="uniform sampling; fixed time horizon",
    full=dict(halvings=9),
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
    late = [
        moments(three_losses(), 0.1, 400, degree=2, start=start)[-1, 2] for moments in (sgd_moments, diffusion_moments)
    ]
    fine = 0.01 / 2.0 ** np.arange(halvings)
    silent = three_losses().amplified(0.0)
    return {
        "iteration": Identity(tables[0], discrete, condition=40.0),
        "diffusion": Identity(tables[1], continuous, condition=40.0, along={"eta": etas[:, 0], "step": steps}),
        "printed": Printed(np.array([tables[0][0, 3, 1], tables[1][0, 3, 1]]), np.array([0.67079, 0.60843]), digits=5),
        "stationary": Identity(np.array(late), np.array([0.6 / 0.9, 0.6]), condition=400.0),
        "order": Rate(fine, np.array([largest(three_losses(), eta) for eta in fine]), exponent=1.0, rivals=(0.5, 2.0)),
        "blind": Rate(fine, np.array([largest(three_losses(), eta, diffusion=silent) for eta in fine]), exponent=1.0),
    }


@three_losses_against_their_diffusion.control("the diffusion's variance for the iteration", of="stationary")
def same_variance(evidence):
    return replace(evidence, right=np.full(2, 0.6))


@three_losses_against_their_diffusion.control("noise of variance 36, the draw without noise forgotten", of="diffusion")
def quiet_draw_forgotten(evidence):
    eta, step = np.asarray(evidence.along["eta"])[:, None], np.asarray(evidence.along["step"])
    more = 3 * eta * (1 - np.exp(-4 * eta * step))
    return replace(evidence, right=evidence.right + np.stack([0 * more, more], -1))


@claim(
    items={
        "A12.17": ("quadratic", "multiplicative", "double well", "network"),
        "A12.16": ("quadratic", "euler", "mismatch"),
    },
    says=r"The canonical equation $dX=-\nabla f\,dt+\sqrt\eta\,\sigma\,\Sigma^{1/2}dW$ is a weak approximation of "
    r"order $\eta$ to stochastic gradient descent, for linear and nonlinear gradients, additive and multiplicative "
    r"noise; with a covariance that does not match the error does not vanish.",
    needs="√η·σ fixed; smooth gradient; noise without skewness; covariance as in the equation",
    scale="printed: any network; here a two-layer network of two unit-norm neurons, so that expectations are exact",
    full=dict(halvings=7, nodes=25),
    explore={"variance": (0.5, 1.0, 2.0)},
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
        "quadratic": three_losses().amplified(24**-0.5),
        "multiplicative": linear_oracle(1.0, fair, additive=0.5, multiplicative=0.7),
        "euler": linear_oracle(1.0, normal),
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
    pieces = {name: Rate(fine, exact(oracle), exponent=1.0, rivals=(0.5,)) for name, oracle in oracles.items()}
    pieces["double well"] = Rate(coarse, well, exponent=1.0, rivals=(0.5,))
    pieces["network"] = Rate(coarse[:4], net, exponent=1.0, rivals=(0.5,))
    half = [
        (three_losses().amplified((24 * eta) ** -0.5), three_losses().amplified((48 * eta) ** -0.5)) for eta in fine
    ]
    wrong = np.array([largest(one, eta, diffusion=other) for eta, (one, other) in zip(fine, half, strict=True)])
    pieces["mismatch"] = Rate(fine, wrong, exponent=0.0, rivals=(1.0,))
    return pieces


canonical_equation_has_weak_order_one.control("half the covariance", of="network", variance=0.5, halvings=4)


@claim(
    items={"A12.18": ("order", "cumulant", "limit", "well"), "A12.17": "allowed"},
    says=r"With noise of third moment $g$ that does not vanish the order is only one half: the third cumulant at time "
    r"$T$ is $\sqrt\eta\,s^3g\,(1-e^{-3T})/3$ to leading order. Skewness of order $1/\sigma$, as the theorem allows, "
    r"restores order one.",
    needs="x′ = (1−η)x + √η·s·z with s fixed",
    full=dict(halvings=9),
    explore={"skewness": (0.0, 0.5, 1.0, 2.0)},
)
def skewed_noise_costs_half_an_order(
    *,
    skewness: Annotated[float, Interval(ge=-4.0, le=4.0)] = 1.0,
    scale: Annotated[float, Interval(ge=0.1, le=2.0)] = 1.0,
    horizon: Annotated[float, Interval(ge=0.25, le=4.0)] = 1.0,
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
    limit = scale**3 * skewness * (1 - np.exp(-3 * horizon)) / 3
    noise = two_point_noise(-skewness)
    coarse = 0.02 / 2.0 ** np.arange(halvings)
    well = weak_error_on_torus(
        double_well(noise.values, noise.probabilities), coarse, lambda theta: np.sin(theta[:, 0]), noise=0.7
    )
    return {
        "order": Rate(etas, np.array(errors), exponent=0.5, rivals=(1.0,)),
        "well": Rate(coarse, well, exponent=0.5, rivals=(1.0,)),
        "cumulant": Identity(np.array(cumulants), exact, scale=1.0, size=1 / etas),
        "limit": Limit(1 / etas, np.abs(np.array(cumulants) / np.sqrt(etas) - limit), order=1.0),
        "allowed": Rate(etas, np.array(allowed), exponent=1.0, rivals=(0.5,)),
    }


skewed_noise_costs_half_an_order.control("noise without skewness", of="order", skewness=0.0)


@skewed_noise_costs_half_an_order.control("(1 − e^(−2T))/2, as for the variance", of="limit")
def variance_factor(evidence):
    return replace(evidence, y=np.abs(evidence.y + (1 - np.exp(-3)) / 3 - (1 - np.exp(-2)) / 2))
