"""Infinitely many tokens: the continuity equation on the circle, and how n tokens approach it (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen
from scipy.special import iv

from deeptheory.attention.clusters import token_flow
from deeptheory.attention.mean_field import (
    circle_velocity,
    density_flow,
    mean_field_velocity,
    mode_growth,
    poisson_density,
    synchrony,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Row, power_law

GRID = 256
ANGLES = 2 * np.pi * np.arange(GRID) / GRID


@jax.jit
def densities(starts, times, betas):
    """Each starting density at its times and temperature, and the velocity it starts with."""
    flow = jax.vmap(lambda start, time, beta: density_flow(start, time, beta, substeps=40))
    return flow(starts, times, betas), jax.vmap(circle_velocity)(starts, betas)


@jax.jit
def tokens_at(angles, time, beta):
    """The squared length of the mean of each set of tokens on the circle, at a time."""
    tokens = jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1)
    moved = jax.vmap(lambda start: token_flow(start, jnp.full(1, time), beta, substeps=16)[-1])(tokens)
    return jnp.mean(moved[..., 0], -1), mean_field_velocity(tokens[0, :4], tokens[0], beta)


@claim(
    items={
        "J14.7": (
            "velocity that a density makes",
            "density in closed form, without temperature",
            "change of the mean direction",
            "growth of ripples",
            "mass",
            "distance of n tokens from the density",
        )
    },
    says=r"Tokens distributed as $\mu$ move by $\partial_t\mu+\mathrm{div}(\mathcal X[\mu]\mu)=0$. On the circle at "
    r"$\beta=0$ a Poisson density keeps its form, with $\dot r=\frac12r(1-r^2)$; at other $\beta$ the ripple "
    r"$\cos k\theta$ on the uniform density grows at the rate $k^2I_k(\beta)/(\beta I_0(\beta))$. "
    r"Random $n$ tokens are $n^{-1/2}$ away.",
    needs="a smooth density; tokens that are drawn from it independently",
    symbols={
        r"\mu": "the distribution of the tokens on the sphere",
        r"\mathcal X[\mu]": "the velocity that it makes at each point",
        r"\beta": "the inverse temperature",
        r"r": "the length of the mean direction of all tokens",
        r"\theta": "the angle on the circle",
        r"I_k": "the modified Bessel functions",
        r"n": "the number of tokens",
    },
    why=r"A token's velocity depends on the others only through averages over all, so it is a functional of their "
    r"distribution. On the circle these averages are convolutions, and the Fourier coefficients of "
    r"$e^{\beta\cos\theta}$ are Bessel functions. At $\beta=0$ every token feels $r\sin$ of its angle to the mean, a flow "
    "that maps the circle to itself as a Möbius map does, and Möbius maps take Poisson densities to Poisson densities.",
    notice=r"The density of infinitely many tokens (left) gathers at one point and keeps its form. The mean direction "
    r"of $n$ random tokens (right) misses that of the density by an amount that falls like $1/\sqrt n$.",
)
def densities_obey_the_continuity_equation(
    key,
    *,
    radius: Annotated[float, Interval(ge=0.1, le=0.5)] = 0.3,
    beta: Annotated[float, Interval(ge=0.5, le=8.0)] = 3.0,
    sizes: Annotated[Sizes, MinLen(3)] = (16, 64, 256),
    trials: Trials = 512,
):
    rng = generator(key)
    times, ripples, small = np.array([0.5, 1.0, 1.5, 2.0]), np.array([1, 2, 3]), 1e-6
    poisson = poisson_density(ANGLES, radius)
    rippled = (1 + small * np.cos(ripples[:, None] * ANGLES)) / (2 * np.pi)
    starts = np.stack([poisson, poisson, *rippled])
    betas = np.array([0.0, beta, *[beta] * len(ripples)])
    # One density is looked at again and again within a thousandth, to see its change.
    near = np.array([1.0, 2.0, 3.0, 4.0]) * 1e-3
    flows, velocities = map(np.asarray, densities(starts, np.stack([times, near, *[times] * len(ripples)]), betas))
    radii = synchrony(times, radius)
    exact = np.stack([poisson_density(ANGLES, r) for r in radii])
    twice = np.stack([poisson_density(ANGLES, r) for r in synchrony(2 * times, radius)])

    # The printed integrals, of sums over the grid, in place of Fourier transforms.
    seen = np.exp(beta * np.cos(ANGLES[None, :] - ANGLES[:, None])) * poisson
    toward = np.sin(ANGLES[None, :] - ANGLES[:, None])
    velocity = np.sum(seen * toward, 1) / np.sum(seen, 1)

    # The weak form with test function cos θ: its mean changes at the rate of the mean of −sin θ v(θ).
    means = np.concatenate([poisson[None], flows[1]]) @ np.cos(ANGLES) * 2 * np.pi / GRID
    change = means @ [-25 / 12, 4, -3, 4 / 3, -1 / 4] / 1e-3  # one-sided difference of order four
    weak = np.sum(-np.sin(ANGLES) * velocity * poisson) * 2 * np.pi / GRID
    grown = np.log(2 * np.pi * 2 * np.mean(flows[2:] * np.cos(ripples[:, None, None] * ANGLES), -1) / small) / times
    rates = ripples**2 * iv(ripples, beta) / (beta * iv(0, beta))

    # Angles with a Poisson density are uniform ones moved by a Möbius map.
    off = []
    for size in sizes:
        uniform = np.exp(2j * np.pi * rng.uniform(size=(trials, size)))
        angles = np.angle((uniform + radius) / (1 + radius * uniform))
        off.append(np.asarray(tokens_at(angles, 1.0, 0.0)[0]) - radii[1])
    return {
        "velocity that a density makes": Identity(
            velocities[1], velocity, scale=1.0, size=GRID, condition=10, aside={"sums": np.sum(seen * toward, 1)}
        ),
        # The Runge–Kutta steps of 1/80 leave an error of that to the fourth power.
        "density in closed form, without temperature": Identity(
            flows[0],
            exact,
            scale=1.0,
            error=1e-6,
            along={"time": times, "angle": ANGLES},
            aside={"twice as fast": twice},
        ),
        "change of the mean direction": Identity(change, weak, error=1e-8, aside={"without velocity": -weak}),
        "growth of ripples": Identity(
            grown,
            rates[:, None],
            scale=1.0,
            error=1e-5,
            aside={"ours": mode_growth(ripples, beta), "modes": ripples, "beta": np.array(beta)},
        ),
        "mass": Identity(flows.sum(-1) * 2 * np.pi / GRID, 1.0, size=GRID, aside={"end": flows[:, -1]}),
        "distance of n tokens from the density": Rate(
            sizes, np.square(off), exponent=-1.0, resolution=0.25, rivals=(-2.0, -0.5), order=1.0
        ),
    }


@densities_obey_the_continuity_equation.control(
    "the sum of pulls, not divided by the weights", of="velocity that a density makes"
)
def undivided(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["sums"]) * 2 * np.pi / GRID)


@densities_obey_the_continuity_equation.control(
    "ṙ = r(1 − r²), twice as fast", of="density in closed form, without temperature"
)
def twice_as_fast(evidence):
    return replace(evidence, right=evidence.aside["twice as fast"])


@densities_obey_the_continuity_equation.control("∂μ = +div(Xμ)", of="change of the mean direction")
def other_sign(evidence):
    return replace(evidence, right=evidence.aside["without velocity"])


@densities_obey_the_continuity_equation.control("one power of k less", of="growth of ripples")
def one_power_less(evidence):
    return replace(evidence, right=evidence.right / np.asarray(evidence.aside["modes"])[:, None])


@densities_obey_the_continuity_equation.picture
def gathering(pieces):
    """A density on the circle at four times, and the squared error of the mean of n tokens."""
    found = pieces["density in closed form, without temperature"]
    angles = np.asarray(found.along["angle"])
    turned = np.roll(np.where(angles > np.pi, angles - 2 * np.pi, angles), GRID // 2 - 1)
    lines = [
        Line(f"t = {time:g}", turned, np.roll(density, GRID // 2 - 1))
        for time, density in zip(found.along["time"], found.left, strict=True)
    ]
    away = pieces["distance of n tokens from the density"]
    marks = power_law("squared distance", away, rivals={-0.5: "1/√n"})
    return Row(
        [
            Curves(lines, x="angle from the meeting point, in radians", y="density of tokens"),
            Curves(marks, x="tokens n", y="squared distance of the mean", log="xy"),
        ]
    )
