"""What scale invariance says about gradients, curvature and single steps (arora 13.2, 13.4)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Chain, Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.normalization.normalizers import NormalizedNetwork, init_normalized_network
from deeptheory.normalization.spheres import (
    CircleWaves,
    RayleighQuotient,
    SteepestCircle,
    circle_smoothness,
    gap_bound,
    gradient_bound,
    sharp_gap_bound,
    sharp_gradient_bound,
    sphere_smoothness,
)


@jax.jit
def jets(function, points):
    """Values, gradients and Hessians at each of the points."""
    return tuple(jax.vmap(d(lambda w: function(w)))(points) for d in (lambda f: f, jax.grad, jax.hessian))


def network_loss(weights, rest, x, target):
    """The loss of a normalized network as a function of its weights below the normalization, as one vector."""
    network = NormalizedNetwork((weights.reshape(4, 3),), *rest)
    return jnp.mean((network(x) - target) ** 2)


@claim(
    items={
        "A13.9": ("radial", "gradient", "Hessian", "Hessian times w"),
        "A13.16": ("value", "shrinking gradient", "unbounded curvature"),
    },
    says=r"If $L(cw)=L(w)$ for $c>0$ then $\langle w,\nabla L(w)\rangle=0$, $\nabla L(cw)=\nabla L(w)/c$, "
    r"$\nabla^2L(cw)=\nabla^2L(w)/c^2$ and $\nabla^2L(w)\,w=-\nabla L(w)$: scaling up makes any gradient small at "
    r"the same loss, and near the origin no smoothness constant exists.",
    needs="a twice differentiable scale-invariant loss; here a normalized network and Rayleigh quotients",
    symbols={
        "L": "the loss",
        "w": "the parameters, or a part of them in which the loss is scale invariant",
        "c": "any positive number",
    },
    why=r"Differentiate $L(cw)=L(w)$ with respect to $c$ at $c=1$: the loss is constant along rays, so the gradient "
    r"is orthogonal to them. With respect to $w$: $c\nabla L(cw)=\nabla L(w)$, and once more "
    r"$c^2\nabla^2L(cw)=\nabla^2L(w)$. Differentiating $\langle w,\nabla L\rangle=0$ gives the last.",
    notice="One loss, and gradients over six orders of magnitude: a small gradient says nothing about the loss. The "
    "curvature has twice the slope and no bound on the left, so a step of one over the smoothness does not exist.",
)
def scale_invariant_calculus(key):
    random = generator(key)
    x, target = random.standard_normal((6, 3)), random.standard_normal((6, 1))
    network = init_normalized_network(key, (3, 4, 1))
    loss = jax.tree_util.Partial(network_loss, rest=(network.gains, network.shifts, network.top), x=x, target=target)
    symmetric = random.standard_normal((12, 12))
    functions = {"network": loss, "quotient": RayleighQuotient(jnp.asarray(symmetric + symmetric.T))}
    starts, scales = random.standard_normal((4, 12)), np.array([0.1, 3.0, 10.0])
    pieces = {name: [] for name in ("radial", "gradient", "Hessian", "own", "value")}
    sizes, rows = [], np.geomspace(1e-3, 1e3, 7)
    for function in functions.values():
        every = np.concatenate([starts, *(c * starts for c in scales), *(c * starts[:1] for c in rows)])
        values, gradients, hessians = (np.asarray(each) for each in jets(function, every))
        many = [each[:16].reshape(4, 4, *each.shape[1:]) for each in (values, gradients, hessians)]
        size = np.linalg.norm(many[1][0], axis=-1)
        pieces["radial"].append(np.einsum("nd,nd->n", starts, many[1][0]) / size / np.linalg.norm(starts, axis=1))
        pieces["gradient"].append((many[1][1:], many[1][0]))
        pieces["Hessian"].append((many[2][1:], many[2][0]))
        pieces["own"].append((np.einsum("nij,nj->ni", many[2][0], starts), -many[1][0]))
        pieces["value"].append((many[0][1:], many[0][0]))
        sizes.append(
            [np.linalg.norm(gradients[16:], axis=1), np.linalg.norm(hessians[16:], 2, axis=(1, 2)), values[16:]]
        )
    first, second, value = np.array(sizes).transpose(1, 2, 0)

    def compared(name, power):
        left, right = (np.array(each) for each in zip(*pieces[name], strict=True))
        factors = scales.reshape(-1, *[1] * (right.ndim - 1))
        right = right[:, None] * factors**power
        scale = np.abs(right).max(tuple(range(2, right.ndim)), keepdims=True)
        return Identity(left, right, scale=scale, condition=1e3, aside={"factors": factors})

    own = [np.array(each) for each in zip(*pieces["own"], strict=True)]
    return {
        "radial": Identity(np.array(pieces["radial"]), 0.0, scale=1.0, condition=100.0),
        "gradient": compared("gradient", -1.0),
        "Hessian": compared("Hessian", -2.0),
        "Hessian times w": Identity(*own, scale=np.abs(own[1]).max(), condition=1e3),
        "value": Identity(value, value[:1], condition=100.0),
        "shrinking gradient": Rate(rows, first[:, 0], exponent=-1.0, rivals=(-2.0, 0.0)),
        "unbounded curvature": Rate(rows, second[:, 0], exponent=-2.0, rivals=(-1.0,)),
    }


@scale_invariant_calculus.control("the gradient keeps its size", of="gradient")
def gradient_kept(evidence):
    return replace(evidence, right=evidence.right * evidence.aside["factors"])


@scale_invariant_calculus.control("a Hessian that is 1/c of itself", of="Hessian")
def hessian_once(evidence):
    return replace(evidence, right=evidence.right * evidence.aside["factors"])


@scale_invariant_calculus.control("∇²L(w)w = 0, as of a function linear along rays", of="Hessian times w")
def flat_along_rays(evidence):
    return replace(evidence, right=0 * evidence.right)


@scale_invariant_calculus.picture
def powers_of_the_scale(pieces):
    """Loss, gradient and curvature of a normalized network along one ray, by the size of the weights."""
    gradient, curvature, value = pieces["shrinking gradient"], pieces["unbounded curvature"], pieces["value"]
    marks = [
        Dots("curvature", curvature.x, curvature.y),
        Line("∝ size⁻²", curvature.x, curvature.y[0] * (np.asarray(curvature.x) / curvature.x[0]) ** -2.0),
        Dots("gradient", gradient.x, gradient.y),
        Line("∝ size⁻¹", gradient.x, gradient.y[0] * (np.asarray(gradient.x) / gradient.x[0]) ** -1.0),
        Dots("loss", gradient.x, np.asarray(value.left)[:, 0]),
    ]
    return Curves(marks, x="size of the weights", y="value", log="xy")


@jax.jit
def around(amplitudes, angles):
    """Of functions of an angle, given by their waves: the largest slope, the range, and the smoothness."""

    def one(pair):
        waves = CircleWaves(*pair)
        slope, curvature = waves.slope_and_curvature(angles)
        heights = jax.vmap(waves)(jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1))
        # Between grid points the norm of the Hessian is larger by at most its slope times half a spacing.
        norms = circle_smoothness(slope, curvature)
        return jnp.abs(slope).max(), heights.max() - heights.min(), norms.max() + jnp.abs(jnp.diff(norms)).max()

    return jax.vmap(one)(amplitudes)


@jax.jit
def searched(function, starts):
    return sphere_smoothness(lambda w: function(w), starts, steps=120)


@claim(
    items={
        "A13.14": ("smoothness by search", "smoothness on a circle"),
        "A13.15": ("smoothness on a circle", "smoothness of a cosine", "smoothness of a Rayleigh quotient"),
        "A13.19": (
            "bound on the gradient",
            "bound on the gap",
            "sharp bounds attained",
            "extremal loss has one curvature",
        ),
    },
    says=r"With $\rho=\max_{\|w\|=1}\|\nabla^2L(w)\|$ a scale-invariant loss has $\|\nabla L(w)\|\le\pi\rho$ on the "
    r"sphere and $L-\min L\le\pi^2\rho/2$; the best such bounds are $\rho\tanh\frac\pi2$ and "
    r"$2\rho\log\cosh\frac\pi2$, attained by one function of an angle. A Rayleigh quotient has "
    r"$\rho=2(\lambda_{\max}-\lambda_{\min})$.",
    needs="a twice differentiable scale-invariant loss (the extreme one is so but at two angles)",
    symbols={
        "L": "the loss",
        r"\rho": "its smoothness on the unit sphere",
        r"\lambda_{\max},\lambda_{\min}": "the extreme eigenvalues of the matrix in the quotient",
    },
    why=r"On a great circle from a minimum the slope starts at zero, gains at most $\rho$ a unit of length, and the "
    r"way is no longer than $\pi$. But the Hessian at $w$ also has the gradient in its row of $w$: where the slope "
    r"is $u\rho$, the second derivative is at most $(1-u^2)\rho$. So the slope is at most $\rho\tanh$ of the "
    r"distance; at the far end it must come back to zero, which makes the climb at most twice the half.",
    notice=r"The steepest function climbs along $\log\cosh$ and mirrors itself half way; its Hessian has norm $\rho$ "
    r"at every angle. The printed bound is the parabola above it. No function in the cloud comes near the bounds "
    r"with $\pi$, some come nearer to the sharp ones.",
)
def smoothness_on_the_sphere(key, *, functions: Annotated[int, Interval(ge=16, le=2000)] = 200):
    random, angles = generator(key), np.linspace(0, 2 * np.pi, 2049)
    amplitude = random.standard_normal((functions, 2, 4)) / np.arange(1, 5) ** random.uniform(0, 3, (functions, 1, 1))

    slopes, gaps, rho = (np.asarray(each) for each in around(amplitude, angles))
    waves = CircleWaves(*jnp.asarray(amplitude[0]))
    some = np.linspace(0.1, 6.1, 9)
    direct = jets(waves, np.stack([np.cos(some), np.sin(some)], 1))[2]
    cosine = CircleWaves(jnp.array([-1.0]), jnp.array([0.0]))
    symmetric = random.standard_normal((3, 3))
    quotient = RayleighQuotient(jnp.asarray(symmetric + symmetric.T))
    vectors = np.linalg.eigh(symmetric + symmetric.T)[1][:, [0, 2]].T
    at_vectors = np.linalg.norm(jets(quotient, vectors)[2], 2, axis=(1, 2))
    points = unit_vectors(random, 2000, 3)
    values, tangents, hessians = (np.asarray(each) for each in jets(quotient, points))
    smooth = float(quotient.smoothness)

    steepest = SteepestCircle(jnp.asarray(1.3))
    away = np.linspace(-3.1, 3.1, 64)
    heights, _, bends = jets(steepest, np.stack([np.cos(away), np.sin(away)], 1))
    ends = jets(steepest, np.array([[1.0, 0.0], [-1.0, 0.0], [np.cos(np.pi / 2 - 1e-9), 1.0]]))
    rhos = np.append(rho, np.full(len(points), smooth))
    steepness, ranges = np.append(slopes, np.linalg.norm(tangents, axis=1)), np.append(gaps, np.ptp(values))
    return {
        "smoothness on a circle": Identity(
            np.linalg.norm(direct, 2, axis=(1, 2)),
            circle_smoothness(*waves.slope_and_curvature(some)),
            condition=100.0,
        ),
        "smoothness of a cosine": Identity(
            float(circle_smoothness(*cosine.slope_and_curvature(angles)).max()), 2 / np.sqrt(3), error=1e-6
        ),
        "smoothness of a Rayleigh quotient": Identity(
            at_vectors, smooth, condition=100.0, aside={"widest": smooth / 2}
        ),
        "smoothness by search": Identity(
            [float(searched(quotient, points[:16])), float(searched(cosine, points[:16, :2]))],
            np.array([smooth, 2 / np.sqrt(3)]),
            error=1e-3 * np.array([smooth, 1.0]),
        ),
        "bound on the gradient": Chain(
            {
                "below the sharp bound": (steepness, np.asarray(sharp_gradient_bound(rhos))),
                "below πρ": (steepness, np.asarray(gradient_bound(rhos))),
                "Hessians of the quotient": (np.linalg.norm(hessians, 2, axis=(1, 2)), smooth + 0 * points[:, 0]),
            },
            aside={"slopes": slopes / rho, "gaps": gaps / rho, "half": rhos / 2},
        ),
        "bound on the gap": Chain(
            {
                "below the sharp bound": (ranges, np.asarray(sharp_gap_bound(rhos[: len(ranges)]))),
                "below π²ρ/2": (ranges, np.asarray(gap_bound(rhos[: len(ranges)]))),
            },
            aside={"half": rhos[: len(ranges)] / 2},
        ),
        "sharp bounds attained": Identity(
            [float(ends[0][1] - ends[0][0]), float(jnp.linalg.norm(ends[1][2]))],
            np.array([float(sharp_gap_bound(1.3)), float(sharp_gradient_bound(1.3))]),
            error=1e-8,
            aside={"angle": away, "height": np.asarray(heights) / 1.3},
        ),
        "extremal loss has one curvature": Identity(np.linalg.norm(bends, 2, axis=(1, 2)), 1.3, condition=1e3),
    }


@smoothness_on_the_sphere.control("no gradient above ρ/2, as of quotients", of="bound on the gradient")
def as_steep_as_a_quotient(evidence):
    steepness, _ = evidence.links["below πρ"]
    return replace(evidence, links={"below ρ/2": (steepness, evidence.aside["half"])})


@smoothness_on_the_sphere.control("no range above ρ/2, as of quotients", of="bound on the gap")
def as_wide_as_a_quotient(evidence):
    ranges, _ = evidence.links["below π²ρ/2"]
    return replace(evidence, links={"below ρ/2": (ranges, evidence.aside["half"])})


@smoothness_on_the_sphere.control("πρ is attained", of="sharp bounds attained")
def printed_attained(evidence):
    return replace(evidence, right=np.array([float(gap_bound(1.3)), float(gradient_bound(1.3))]))


@smoothness_on_the_sphere.control("ρ = λ_max − λ_min", of="smoothness of a Rayleigh quotient")
def half_the_smoothness(evidence):
    return replace(evidence, right=evidence.aside["widest"])


@smoothness_on_the_sphere.control("ρ = max |h″|, the slope forgotten", of="smoothness of a cosine")
def slope_forgotten(evidence):
    return replace(evidence, right=1.0)


@smoothness_on_the_sphere.control("the second derivative along the sphere alone", of="smoothness by search")
def along_the_sphere(evidence):
    return replace(evidence, right=np.array([float(evidence.right[0]), 1.0]), error=1e-3)


@smoothness_on_the_sphere.picture
def steepest(pieces):
    """The steepest function of an angle beside the printed bound (left); slopes and gaps of random ones (right)."""
    aside, cloud = pieces["sharp bounds attained"].aside, pieces["bound on the gradient"].aside
    angle = np.linspace(0, np.pi, 80)
    half = np.asarray(aside["angle"]) >= 0
    climb = [
        Dots("steepest function", np.asarray(aside["angle"])[half], np.asarray(aside["height"])[half]),
        Line("ρθ²/2", angle, angle**2 / 2, rival="the bound of Lemma 13.4.3"),
        Level("2 log cosh(π/2)", y=float(sharp_gap_bound(1.0))),
    ]
    found = [
        Dots("random functions", cloud["slopes"], cloud["gaps"]),
        Level("tanh(π/2)", x=float(sharp_gradient_bound(1.0))),
        Level("2 log cosh(π/2)", y=float(sharp_gap_bound(1.0))),
    ]
    return Row(
        [
            Curves(climb, x="angle from the minimum", y="loss / ρ"),
            Curves(found, x="largest gradient / ρ", y="range / ρ", xs=(0.0, 1.0), ys=(0.0, 2.0)),
        ]
    )
