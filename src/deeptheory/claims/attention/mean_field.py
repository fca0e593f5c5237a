"""Infinitely many tokens: the continuity equation on the circle, and n tokens beside it (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
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
from deeptheory.lab import Identity, Law, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

GRID, QUANTILES = 256, 128
ANGLES = 2 * np.pi * np.arange(GRID) / GRID


@jax.jit
def densities(starts, times, betas):
    """Each starting density at its times and temperature, and the velocity it starts with."""
    flow = jax.vmap(lambda start, time, beta: density_flow(start, time, beta, substeps=40))
    return flow(starts, times, betas), jax.vmap(circle_velocity)(starts, betas)


@jax.jit
def tokens_at(angles, time, betas):
    """The mean of tokens on the circle at a time, for each temperature."""
    tokens = jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1)
    return jax.vmap(lambda beta: jnp.mean(token_flow(tokens, time, beta, substeps=128)[-1], 0))(betas)


@jax.jit
def pulls(point, angles):
    """Velocity, along the circle, that each set of tokens makes at a point without temperature."""
    tokens, tangent = jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1), jnp.stack([-point[1], point[0]])
    return jax.vmap(lambda atoms: mean_field_velocity(point[None], atoms, 0.0)[0] @ tangent)(tokens)


@claim(
    items={
        "J14.7": (
            "velocity that a density makes",
            "density in closed form, without temperature",
            "change of the mean direction",
            "growth of ripples",
            "mean of tokens at quantiles of the density",
            "spread of the velocity that n tokens make",
        )
    },
    says=r"Tokens distributed as $\mu$ move by $\partial_t\mu+\mathrm{div}(\mathcal X[\mu]\mu)=0$. On the circle at "
    r"$\beta=0$ a Poisson density keeps its form, $\dot r=\frac12r(1-r^2)$; a ripple $\cos k\theta$ on the uniform "
    r"density grows at rate $k^2I_k(\beta)/(\beta I_0(\beta))$; $n$ random tokens miss it by $n^{-1/2}$.",
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
    r"$e^{\beta\cos\theta}$ are Bessel functions. At $\beta=0$ every token feels $r\sin$ of its angle to the mean, "
    "which moves the circle by Möbius maps, and these take Poisson densities to Poisson densities.",
    notice=r"The density of infinitely many tokens (left) gathers at one point and keeps its form. The fastest ripple "
    r"on the uniform density (right) has about $\sqrt{2\beta}$ crests: the colder, the more clusters form at first.",
    full=dict(trials=200_000),
)
def densities_obey_the_continuity_equation(
    key,
    *,
    radius: Annotated[float, Interval(ge=0.1, le=0.5)] = 0.3,
    beta: Annotated[float, Interval(ge=0.5, le=8.0)] = 3.0,
    sizes: Sizes = (4, 16, 64),
    trials: Trials = 20_000,
):
    rng = generator(key)
    times, ripples, small = np.array([0.5, 1.0, 1.5, 2.0]), np.array([1, 2, 3]), 1e-6
    poisson = poisson_density(ANGLES, radius)
    rippled = (1 + small * np.cos(ripples[:, None] * ANGLES)) / (2 * np.pi)
    starts = np.stack([poisson, poisson, poisson, *rippled])
    betas = np.array([0.0, beta, beta, *[beta] * len(ripples)])
    # One density is looked at again and again within a thousandth, to see its change.
    near = np.array([1.0, 2.0, 3.0, 4.0]) * 1e-3
    flows, velocities = map(
        np.asarray, densities(starts, np.stack([times, times, near, *[times] * len(ripples)]), betas)
    )
    radii = synchrony(times, radius)
    exact = np.stack([poisson_density(ANGLES, r) for r in radii])
    twice = np.stack([poisson_density(ANGLES, r) for r in synchrony(2 * times, radius)])

    # The printed integrals, of sums over the grid, in place of Fourier transforms.
    seen = np.exp(beta * np.cos(ANGLES[None, :] - ANGLES[:, None])) * poisson
    toward = np.sin(ANGLES[None, :] - ANGLES[:, None])
    velocity = np.sum(seen * toward, 1) / np.sum(seen, 1)

    # The weak form with test function cos θ: its mean changes at the rate of the mean of −sin θ v(θ).
    means = np.concatenate([poisson[None], flows[2]]) @ np.cos(ANGLES) * 2 * np.pi / GRID
    change = means @ [-25 / 12, 4, -3, 4 / 3, -1 / 4] / 1e-3  # one-sided difference of order four
    weak = np.sum(-np.sin(ANGLES) * velocity * poisson) * 2 * np.pi / GRID
    grown = np.log(2 * np.pi * 2 * np.mean(flows[3:] * np.cos(ripples[:, None, None] * ANGLES), -1) / small) / times
    rates = ripples**2 * iv(ripples, beta) / (beta * iv(0, beta))

    # Angles with a Poisson density are uniform ones moved by a Möbius map. Equally spaced labels integrate periodic
    # functions faster than any power, so tokens at quantiles stand for the density itself.
    def placed(uniform):
        turned = np.exp(2j * np.pi * uniform)
        return np.angle((turned + radius) / (1 + radius * turned))

    end = times[-1:]
    tokens = np.asarray(tokens_at(placed((np.arange(QUANTILES) + 0.5) / QUANTILES), end, np.array([0.0, beta])))
    mean = flows[:2, -1] @ np.cos(ANGLES) * 2 * np.pi / GRID
    # Seen from angle α the pull of one token is sin(φ − α), of mean −r sin α and mean square ½(1 − r² cos 2α).
    alpha = 0.7
    spread = (1 - radius**2 * np.cos(2 * alpha)) / 2 - (radius * np.sin(alpha)) ** 2
    point = np.array([np.cos(alpha), np.sin(alpha)])
    found = np.stack([pulls(point, placed(rng.uniform(size=(trials, size)))) for size in sizes])
    deviations = (found + radius * np.sin(alpha)) ** 2
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
            aside={"modes": ripples, "beta": np.array(beta)},
        ),
        "mass": Identity(flows.sum(-1) * 2 * np.pi / GRID, 1.0, size=GRID),
        "mean of tokens at quantiles of the density": Identity(
            tokens, np.stack([mean, 0 * mean], -1), scale=1.0, error=1e-6, aside={"start": np.array(radius)}
        ),
        # A squared deviation spreads by √2 of its mean, so that 20,000 of them resolve a twelfth of it at eight errors.
        "spread of the velocity that n tokens make": Law(
            spread / np.array(sizes), deviations, exact=True, resolution=0.1, along={"tokens": np.array(sizes)}
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


@densities_obey_the_continuity_equation.control(
    "tokens that stay where they are", of="mean of tokens at quantiles of the density"
)
def stay(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["start"]) * np.array([1.0, 0.0]))


@densities_obey_the_continuity_equation.control("n − 1 for n", of="spread of the velocity that n tokens make")
def one_token_less(evidence):
    count = np.asarray(evidence.along["tokens"])
    return replace(evidence, predicted=evidence.predicted * count / (count - 1))


@densities_obey_the_continuity_equation.picture
def gathering(pieces):
    """A density on the circle at four times, and the growth rates of ripples on the uniform density."""
    found, ripples = pieces["density in closed form, without temperature"], pieces["growth of ripples"]
    angles = np.asarray(found.along["angle"])
    turned = np.roll(np.where(angles >= np.pi, angles - 2 * np.pi, angles), GRID // 2)
    lines = [
        Line(f"t = {time:g}", turned, np.roll(density, GRID // 2))
        for time, density in zip(found.along["time"], found.left, strict=True)
    ]
    modes, beta = np.arange(1, 13), float(ripples.aside["beta"])
    rates = [Line(f"β = {cold:g}", modes, mode_growth(modes, cold)) for cold in (beta, 4 * beta)]
    seen = Dots(f"β = {beta:g}", ripples.aside["modes"], np.asarray(ripples.left)[:, -1])
    return Row(
        [
            Curves(lines, x="angle from the meeting point, in radians", y="density of tokens"),
            Curves([*rates, seen], x="crests of the ripple k", y="rate of growth"),
        ]
    )
