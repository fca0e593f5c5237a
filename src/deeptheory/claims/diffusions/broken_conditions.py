"""Where the conditions of the diffusion approximation fail: heavy tails, gradients near the origin (arora 12.3.1)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy import stats

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.normalization.spheres import RayleighQuotient


def truncated_moment(freedom, power, reach):
    """E|z|ᵖ of Student's law as far as |z| ≤ reach, on a fine geometric grid."""
    grid = np.geomspace(1e-6, reach, 20001)
    values = 2 * grid ** (power + 1) * stats.t.pdf(grid, freedom)
    return np.trapezoid(values, np.log(grid))


@jax.jit
def hessian_norms(matrix, points):
    loss = RayleighQuotient(matrix)
    return jax.vmap(lambda w: jnp.abs(jnp.linalg.eigvalsh(jax.hessian(loss)(w))).max())(points)


@claim(
    items={
        "A12.19": (
            "fourth moment of a heavy tail",
            "fourth moment of a light tail",
            "smoothness away from the origin",
            "smoothness attained",
        )
    },
    says=r"Student noise with three degrees of freedom has a variance but no fourth moment: cut off at $|z|\le R$ it "
    r"grows like $R$. A scale-invariant loss has no Lipschitz gradient near the origin, but on $r\le\|w\|$ its "
    r"constant is $\rho/r^2$.",
    needs="ρ the largest norm of the Hessian on the unit sphere",
    symbols={
        "z, R": "the noise, and where its law is cut off",
        "w, r": "the weights, and the least size they have along a trajectory",
        r"\rho": "the smoothness of the loss on the unit sphere",
    },
    why=r"The density of Student's law falls like $|z|^{-4}$, so $z^4$ times it tends to a constant, and its "
    r"integral grows in proportion to the range. The Hessian of a scale-invariant loss has degree $-2$ in the "
    r"weights; away from the origin by $r$ it is at most $1/r^2$ of what it is on the sphere, and somewhere it is "
    r"that.",
    notice="With three degrees of freedom the fourth moment never settles; with nine it does at once. On the right the "
    "largest curvature met outside a ball, by its radius.",
    explore={"freedom": (2.5, 3.0, 3.5)},
)
def conditions_that_fail(key, *, freedom: Annotated[float, Interval(ge=2.2, le=3.8)] = 3.0):
    random, reach = generator(key), np.geomspace(1e2, 1e5, 7)
    heavy = np.array([truncated_moment(freedom, 4, r) for r in reach])
    light = np.array([truncated_moment(9, 4, r) for r in reach])
    symmetric = random.standard_normal((4, 4))
    matrix = symmetric + symmetric.T
    loss, vectors = RayleighQuotient(jnp.asarray(matrix)), np.linalg.eigh(matrix)[1]
    radii = np.geomspace(0.01, 10, 7)
    directions = np.concatenate([unit_vectors(random, 200, 4), vectors.T])
    spread = random.uniform(1, 3, (len(radii), len(directions)))
    spread[:, -4:] = 1.0
    points = radii[:, None, None] * spread[..., None] * directions
    norms = np.asarray(hessian_norms(matrix, points.reshape(-1, 4))).reshape(len(radii), -1)
    rho = float(loss.smoothness)
    return {
        "fourth moment of a heavy tail": Rate(
            reach, heavy, exponent=4 - freedom, rivals=(0.0, 2.0) if freedom == 3 else ()
        ),
        "fourth moment of a light tail": Identity(light[-1], stats.t.moment(4, 9), error=1e-3),
        "smoothness away from the origin": Inequality(
            norms, rho / radii[:, None] ** 2, error=1e-12 * rho / radii[:, None] ** 2
        ),
        "smoothness attained": Identity(
            norms.max(1),
            rho / radii**2,
            condition=1e3,
            along={"radius": radii},
            aside={"inverse": rho / radii, "reach": reach, "heavy": heavy, "light": light},
        ),
    }


@conditions_that_fail.control("ρ/r", of="smoothness attained")
def inverse_radius(evidence):
    return replace(evidence, right=evidence.aside["inverse"])


@conditions_that_fail.picture
def tails_and_origins(pieces, settings):
    """Fourth moments of cut-off noise (left), and the largest curvature outside a ball (right)."""
    attained = pieces["smoothness attained"]
    aside, radii = attained.aside, np.asarray(attained.along["radius"])
    left = [
        Dots(f"{settings['freedom']:g} degrees of freedom", aside["reach"], aside["heavy"]),
        Dots("9 degrees of freedom", aside["reach"], aside["light"]),
    ]
    right = [
        Dots("largest curvature met", radii, attained.left),
        Line("ρ/r²", radii, attained.right),
        Line("ρ/r", radii, aside["inverse"], rival="one power less"),
    ]
    return Row(
        [
            Curves(left, x="cut-off R", y="fourth moment up to R", log="xy"),
            Curves(right, x="least size of the weights r", y="curvature", log="xy"),
        ]
    )
