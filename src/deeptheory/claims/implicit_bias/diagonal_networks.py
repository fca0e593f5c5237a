"""The network u² − v²: its mirror map depends on its first weights, and takes it from least ℓ1 to least ℓ2 norm.

arora Theorems 8.1.6 and 8.1.7.
"""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import least_norm
from deeptheory.implicit_bias.least_squares import nearest_solution
from deeptheory.implicit_bias.mirror import bregman_projection
from deeptheory.implicit_bias.potentials import hypentropy
from deeptheory.implicit_bias.reparametrization import mirror_flow, reparametrized_flow, squares_apart
from deeptheory.lab import Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Field, Level, Line, Row

SCALES = np.array([0.3, 0.7, 2.0])
SMALL = 1e-3
"""first weights at which the solution is sparse but for a thousandth, and the flow waits long before it moves"""


@claim(
    items={
        "A8.20": ("weights along the flow", "what the flow keeps", "metric along the flow"),
        "A8.21": (
            "limits of the flow",
            "limit from small weights",
            "to least ℓ2 norm",
            "to least ℓ1 norm",
            "to least ℓ1 norm, less slack",
        ),
    },
    says=r"From $u=\alpha\mathbf1,v=-\alpha\mathbf1$ gradient flow of $w=u^{\odot2}-v^{\odot2}$ keeps $u\odot v$ and "
    r"is mirror flow of $R_\alpha=\frac{\alpha^2}4\sum q(\frac{w_i}{\alpha^2})$, "
    r"$q(z)=2-\sqrt{4+z^2}+z\operatorname{arcsinh}\frac z2$. It ends at $\operatorname{argmin}_{Xw=y}R_\alpha$: for "
    r"large $\alpha$ within $\alpha^{-4}$ of least $\ell_2$ norm, for small within $\alpha^{2(1-\rho)}$ of least "
    r"$\ell_1$.",
    needs="flow, a loss of Xw − y that it brings to zero; for α → 0 one solution of least ℓ1 norm",
    full=dict(columns=12),
    symbols={
        r"\alpha": "the size of the first weights",
        r"u,v,w": "weights of the two layers, and of the linear model that they make",
        r"R_\alpha": "the hyperbolic entropy",
        r"X,y": "the data, fewer rows than columns, and the labels",
        r"\rho": r"the largest dual slope $|\langle x_j,\nu\rangle|<1$ of a coordinate outside the sparse solution",
    },
    why=r"$\dot u=-2u\odot g$ and $\dot v=2v\odot g$ with $g=\nabla L(w)$, so $u\odot v$ stays, and "
    r"$4(u^2+v^2)=4\sqrt{w^2+4\alpha^4}$ is a function of $w$: the inverse of $R_\alpha''$. $R_\alpha$ is near "
    r"$w^2/(16\alpha^2)$ for weights below $\alpha^2$, and near $\frac14|w|\log\frac{|w|}{\alpha^2}$ above. A "
    r"coordinate outside the sparse solution is $2\alpha^2\sinh(4\langle x_j,\mu\rangle)$ with "
    r"$4\mu\approx\nu\log\alpha^{-2}$, of order $\alpha^{2-2\rho}$.",
    notice=r"Left: every pair $(u,v)$ stays on its hyperbola; those begun near the origin first creep along it. Right: "
    r"the solution found moves from the sparsest to the shortest as the first weights grow.",
    explore={"slack": (0.2, 0.5, 0.7)},
)
def initial_scale_decides_the_norm(
    key,
    *,
    columns: Annotated[int, Interval(ge=4, le=40)] = 6,
    slack: Annotated[float, Interval(ge=0.1, le=0.8)] = 0.5,
):
    draw = generator(key)
    left, right = (np.linalg.qr(draw.standard_normal((size, 2)))[0] for size in (2, columns))
    design, labels = left * np.array([1.0, 1.5]) @ right.T, draw.standard_normal(2)

    def loss(w):
        return jnp.sum((design @ w - labels) ** 2) / 2

    ways, mirrored, rivals, products, metrics, ends = [], [], [], [], [], []
    for scale in SCALES:
        # The slowest mode falls like exp(−8α²t) at first.
        times = np.append(np.linspace(0, 1.5, 16), 40.0) / (8 * scale**2)
        start = np.full(columns, scale)
        theta = reparametrized_flow(squares_apart, loss, (start, -start), times, rtol=1e-11)
        u, v = theta[:, :columns], theta[:, columns:]
        ways.append(u**2 - v**2)
        mirrored.append(mirror_flow(hypentropy(float(scale)), loss, np.zeros(columns), times, rtol=1e-11))
        rivals.append(mirror_flow(hypentropy(float(scale) / 2**0.5), loss, np.zeros(columns), times))
        products.append(u * v)
        metrics.append([4 * (u**2 + v**2), 4 * np.sqrt(ways[-1] ** 2 + 4 * scale**4)])
        ends.append(ways[-1][-1])
    shortest = nearest_solution(design, labels)
    limits = np.array([bregman_projection(hypentropy(float(scale)), design, labels) for scale in SCALES])
    large = 4.0 * 2.0 ** np.arange(4)
    to_shortest = [np.linalg.norm(bregman_projection(hypentropy(a), design, labels) - shortest) for a in large]
    grid = np.geomspace(0.003, 10, 40)
    found = np.array([bregman_projection(hypentropy(a), design, labels) for a in grid])
    sparse = least_norm(design, labels, power=1)[0]
    size = np.abs(np.array(ways)).max()
    # From small weights on a design whose sparse solution is known: its weights, of 0.5 or more, settle at a rate of 2.
    known, answer = sparse_problem(draw, slack)
    begin = np.full(known.shape[1], SMALL)
    waiting = reparametrized_flow(
        squares_apart, lambda w: jnp.sum((known @ w - known @ answer) ** 2) / 2, (begin, -begin), np.array([0.0, 40.0])
    )[-1]
    small_end = waiting[: len(begin)] ** 2 - waiting[len(begin) :] ** 2
    return {
        "weights along the flow": Identity(
            np.array(ways), np.array(mirrored), scale=size, error=1e-7 * size, aside={"α⁴ for 4α⁴": np.array(rivals)}
        ),
        "what the flow keeps": Identity(
            np.array(products),
            -(SCALES**2)[:, None, None] * np.ones_like(products),
            error=1e-7 * SCALES[:, None, None] ** 2,
        ),
        "metric along the flow": Identity(
            np.array(metrics)[:, 0], np.array(metrics)[:, 1], error=1e-6 * SCALES[:, None, None] ** 2
        ),
        "limits of the flow": Identity(
            np.array(ends),
            limits,
            scale=size,
            error=1e-6 * size,
            aside={
                "shortest": np.tile(shortest, (3, 1)),
                "scales": grid,
                "lengths": np.stack([np.abs(found).sum(1), np.linalg.norm(found, axis=1)]),
                "least": np.array([np.abs(sparse).sum(), np.linalg.norm(shortest)]),
                "ways": np.array(ways),
            },
        ),
        "limit from small weights": Identity(
            small_end,
            bregman_projection(hypentropy(SMALL), known, known @ answer),
            scale=1.0,
            error=1e-6,
            aside={"sparse": answer},
        ),
        "to least ℓ2 norm": Rate(large, np.array(to_shortest), exponent=-4.0, rivals=(-2.0, -6.0)),
        "to least ℓ1 norm": sparsening(draw, slack),
        "to least ℓ1 norm, less slack": sparsening(draw, (1 + slack) / 2),
    }


def sparse_problem(draw, slack):
    """A design and its sparse solution, known with its multipliers: all slopes outside at most `slack`."""
    block = np.linalg.qr(draw.standard_normal((2, 2)))[0]
    signs = np.array([1.0, -1.0])
    multipliers = np.linalg.solve(block.T, signs)
    others = draw.standard_normal((2, 3))
    # Shift each column along the multipliers to a slope of its own.
    slopes = np.array([slack, -0.3 * slack, 0.1 * slack])
    others += np.outer(multipliers, slopes - multipliers @ others) / (multipliers @ multipliers)
    design = np.hstack([block, others])
    sparse = np.append(signs * draw.uniform(0.5, 2.0, 2), np.zeros(3))
    return design, sparse


def sparsening(draw, slack):
    """How the flow's limit nears a sparse solution that is known."""
    design, sparse = sparse_problem(draw, slack)
    scales = 1e-3 / 4.0 ** np.arange(5)
    away = [np.linalg.norm(bregman_projection(hypentropy(a), design, design @ sparse) - sparse) for a in scales]
    exponent = -2 * (1 - slack)
    return Rate(1 / scales, np.array(away), exponent=exponent, rivals=(exponent / 2, -2.0), resolution=0.05)


@initial_scale_decides_the_norm.picture
def from_sparse_to_short(pieces):
    """A phase portrait of one pair (u, v) that is to learn w = 1, and the norms of the solution found, by α."""
    aside = pieces["limits of the flow"].aside
    u, v = (each.ravel() for each in np.meshgrid(np.linspace(-2, 2, 13), np.linspace(-2, 2, 13)))
    pull = np.clip(1 - (u**2 - v**2), -2, 2)
    marks = []
    for product in (0.04, 0.25, 1.0):
        along = np.linspace(0.25 * product**0.5, 2.0, 80)
        for side in (1, -1):
            marks.append(Line(f"uv = ±{product:g}", along, -side * product / along))
    scales, (ones, twos) = np.asarray(aside["scales"]), np.asarray(aside["lengths"])
    least = np.asarray(aside["least"])
    return Row(
        [
            Field(
                marks,
                at_x=u,
                at_y=v,
                u=2 * u * pull,
                v=-2 * v * pull,
                x="weight u",
                y="weight v",
                xs=(-2, 2),
                ys=(-2, 2),
            ),
            Curves(
                [
                    Line("ℓ1 norm", scales, ones),
                    Line("ℓ2 norm", scales, twos),
                    Level("least ℓ1 norm", y=float(least[0])),
                    Level("least ℓ2 norm", y=float(least[1])),
                ],
                x="size of the first weights α",
                y="norm of the solution found",
                log="x",
            ),
        ]
    )


@initial_scale_decides_the_norm.control("α⁴ in place of 4α⁴", of="weights along the flow")
def quarter_of_the_scale(evidence):
    return replace(evidence, right=evidence.aside["α⁴ for 4α⁴"])


@initial_scale_decides_the_norm.control("the product +α²", of="what the flow keeps")
def positive_product(evidence):
    return replace(evidence, right=-evidence.right)


@initial_scale_decides_the_norm.control("least ℓ2 norm at every scale", of="limits of the flow")
def shortest_always(evidence):
    return replace(evidence, right=evidence.aside["shortest"])


@initial_scale_decides_the_norm.control("the sparse solution itself", of="limit from small weights")
def sparse_itself(evidence):
    return replace(evidence, right=evidence.aside["sparse"])
