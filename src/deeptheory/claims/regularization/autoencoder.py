"""The linear autoencoder with tied weights under dropout: its optimum, its critical points, and both in the plane."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.landscapes.critical_points import find_critical_points
from deeptheory.regularization.autoencoder import (
    autoencoder_gradient,
    autoencoder_loss,
    autoencoder_optimum,
    least_autoencoder_loss,
)

SPECTRA = ((3.0, 2.0, 1.0, 0.4), (1.0, 0.2, 0.0, 0.0), (2.0, 1.9, 0.0, 0.0), (1.0, 0.7, 0.5, 0.3))
"""Eigenvalues of the targets: of full rank, of rank two, far apart and close together."""


class AutoencoderLoss(eqx.Module):
    """The loss as a function of the flat weights."""

    matrix: jax.Array
    strength: jax.Array | float

    def __call__(self, flat):
        return autoencoder_loss(flat.reshape(len(self.matrix), -1), self.matrix, self.strength)


@partial(jax.jit, static_argnames="steps")
def descent_ends(starts, matrices, strengths, *, steps=500):
    """Where descent ends, a run for each start: the weights and the value of the loss.

    Dropout makes little difference between weights of one product, so gradient descent is slow among them, and slow
    past a saddle. The last steps are therefore Newton's, with all curvatures counted positive: these lead down
    everywhere, whereas Newton's own would settle at the nearest saddle just as well. One that would raise the loss is
    not made but damped.
    """

    def run(start, matrix, strength):
        size = jnp.linalg.norm(matrix, 2)
        step = 1 / (16 * size * (1 + strength))
        loss = lambda flat: autoencoder_loss(flat.reshape(start.shape), matrix, strength)  # noqa: E731
        slope = lambda flat: autoencoder_gradient(flat.reshape(start.shape), matrix, strength).ravel()  # noqa: E731
        end = jax.lax.fori_loop(0, steps, lambda _, u: u - step * slope(u), 0.3 * jnp.sqrt(size) * start.ravel())
        # Near the end the loss falls by less than it is rounded to, and the slope still tells.
        rounding = 1e-14 * size**2

        def settle(_, state):
            weights, damping = state
            bends, ways = jnp.linalg.eigh(jax.jacfwd(slope)(weights))
            moved = weights - ways @ (ways.T @ slope(weights) / (jnp.abs(bends) + damping))
            lower = loss(moved) <= loss(weights) + rounding
            return jnp.where(lower, moved, weights), jnp.maximum(
                jnp.where(lower, damping / 4, 4 * damping), 1e-6 * size
            )

        end, _ = jax.lax.fori_loop(0, 100, settle, (end, size))
        return end.reshape(start.shape), loss(end)

    return jax.vmap(run)(starts, matrices, strengths)


def rotated(draw, spectra):
    """Symmetric matrices with these eigenvalues, a row each, and their eigenvectors as columns."""
    values = np.asarray(spectra, float)
    bases = np.linalg.qr(draw.standard_normal((*values.shape, values.shape[-1])))[0]
    matrices = bases * values[..., None, :] @ np.swapaxes(bases, -1, -2)
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2, bases


@jax.jit
@jax.vmap
def optima(matrix, width, strength):
    """The product at the minimum and the least loss."""
    return autoencoder_optimum(matrix, width, strength), least_autoencoder_loss(matrix, width, strength)


@claim(
    items={"A11.24": ("product at the minimum", "least loss")},
    says=r"Every minimum of $\|M-UU^\top\|_F^2+\lambda\sum_i\|u_i\|^4$ that descent finds has the product $UU^\top$ "
    r"with the eigenvalues of $M$ lowered by $\lambda\rho\kappa_\rho/(d_1+\lambda\rho)$ and those below it dropped; "
    r"$\rho$ is the last $j\le d_1$ with $\lambda_j>\lambda j\kappa_j/(d_1+\lambda j)$.",
    needs=r"$M$ symmetric; $d_1$ hidden units, of which dropout drops each with probability $p$; $\lambda=p/(1-p)$",
    symbols={
        "M": "the symmetric part of the covariance of outputs and inputs",
        "U": "the weights, a column $u_i$ for each hidden unit, used to encode and to decode",
        r"\lambda": "the strength of dropout",
        r"\lambda_j": "the eigenvalues of $M$ from the largest",
        r"\kappa_j": "the mean of the first $j$ of them",
        r"d_1": "the number of hidden units; the theorem calls it $r$",
        r"\rho": "the rank of the optimum",
    },
    why=r"Turning the columns leaves $UU^\top$ as it is, and the penalty is least where all have one length: then it "
    r"is $\lambda(\operatorname{tr}UU^\top)^2/d_1$. What is left is a convex problem in the product, least squares "
    "with a squared trace. Its derivative lowers every eigenvalue that is kept by the same amount, which is "
    r"$\lambda/d_1$ times the trace that remains.",
    notice=r"The eigenvalues of the product that descent ends with lie on the lines. The formula with the "
    "rank of $M$, four, in place of the number of hidden units lies elsewhere, unless these are four too.",
    explore={"width": (2, 3, 4)},
    full=dict(starts=6, strengths=(0.05, 0.2, 0.8, 3.0, 10.0)),
)
def dropout_shrinks_the_autoencoder(
    key,
    *,
    width: Annotated[int, Interval(ge=1, le=4)] = 3,
    strengths: Annotated[tuple[float, ...], Interval(ge=0.01, le=20.0)] = (0.1, 0.4, 2.0, 8.0),
    starts: Annotated[int, Interval(ge=1, le=50)] = 2,
):
    draw = generator(key)
    problems = len(SPECTRA) * len(strengths)
    matrices, bases = rotated(draw, np.repeat(SPECTRA, len(strengths), axis=0))
    powers = np.tile(strengths, len(SPECTRA))
    runs = (np.repeat(each, starts, axis=0) for each in (matrices, powers))
    ends, values = map(np.asarray, descent_ends(draw.standard_normal((problems * starts, 4, width)), *runs))
    products = (ends @ np.swapaxes(ends, 1, 2)).reshape(problems, starts, 4, 4)
    best, least = map(np.asarray, optima(matrices, np.full(problems, width), powers))
    size = np.repeat([max(spectrum) for spectrum in SPECTRA], len(strengths))
    turned = lambda given: np.swapaxes(bases, 1, 2)[:, None] @ given @ bases[:, None]  # noqa: E731
    shape = (len(SPECTRA), len(strengths), starts, 4, 4)
    found = turned(products).reshape(shape)
    expected = turned(best[:, None]).reshape(*shape[:2], 1, 4, 4)
    along = {"spectrum": np.arange(len(SPECTRA)), "strength": np.asarray(strengths)}
    return {
        "product at the minimum": Identity(
            found,
            expected,
            scale=size.reshape(len(SPECTRA), -1)[..., None, None, None],
            error=1e-8,
            along=along,
            aside={"width": width},
        ),
        "least loss": Identity(
            values.reshape(*shape[:3]),
            least.reshape(len(SPECTRA), -1, 1),
            error=1e-10,
            scale=1.0,
            along=along,
            aside={"width": width},
        ),
    }


def with_another_width(evidence, width_of_rank):
    """The products and losses that the formula gives if the width were this function of the rank of the target."""
    count = len(evidence.along["strength"])
    targets = np.repeat([np.diag(each) for each in SPECTRA], count, axis=0)
    widths = np.repeat([width_of_rank(int(np.sum(np.asarray(each) > 0))) for each in SPECTRA], count)
    return map(np.asarray, optima(targets, widths, np.tile(evidence.along["strength"], len(SPECTRA))))


@dropout_shrinks_the_autoencoder.control("the rank of M in place of the width", of="product at the minimum")
def rank_for_width(evidence):
    products, _ = with_another_width(evidence, lambda rank: rank)
    return replace(evidence, right=products.reshape(evidence.right.shape))


@dropout_shrinks_the_autoencoder.control("one hidden unit more", of="least loss")
def one_more(evidence):
    _, values = with_another_width(evidence, lambda rank: evidence.aside["width"] + 1)
    return replace(evidence, right=values.reshape(evidence.right.shape))


@dropout_shrinks_the_autoencoder.picture
def shrunk_eigenvalues(pieces, settings):
    """Eigenvalues of the product against the strength of dropout for the first target: formula, and ends of descent."""
    piece = pieces["product at the minimum"]
    strengths = np.geomspace(0.02, 20, 60)
    target, width = np.diag(SPECTRA[0]), settings["width"]
    curve, rival = (
        np.diagonal(
            np.asarray(optima(np.repeat(target[None], 60, 0), np.full(60, count), strengths)[0]), axis1=1, axis2=2
        )
        for count in (width, len(SPECTRA[0]))
    )
    seen = np.diagonal(np.asarray(piece.left)[0, :, 0], axis1=1, axis2=2)
    names = [f"eigenvalue {value:g}" for value in SPECTRA[0]]
    marks = [Line(name, strengths, line) for name, line in zip(names, curve.T, strict=True)]
    marks += [Dots(name, piece.along["strength"], each) for name, each in zip(names, seen.T, strict=True)]
    marks += [Line("", strengths, line, rival="with the rank of M for the width") for line in rival.T]
    return Curves(marks, x="strength of dropout λ", y="eigenvalue of the product", log="x")


@claim(
    items={"A11.25": ("the target less the product", "commutator")},
    says=r"If $M\succeq0$, every critical point of $\|M-UU^\top\|_F^2+\lambda\sum_i\|u_i\|^4$ has $UU^\top\preceq M$, "
    r"and $UU^\top$ commutes with $M$. For any symmetric $M$ this is true on the range of $U$.",
    needs="M positive semidefinite",
    symbols={
        "M": "a symmetric matrix",
        "U": "weights at which the gradient vanishes",
        r"\lambda": "the strength of dropout",
        r"\preceq": "the difference has no negative eigenvalue",
    },
    why=r"At a critical point $MUU^\top=(UU^\top)^2+\lambda U\operatorname{diag}(U^\top U)U^\top$. The right-hand side "
    r"is symmetric, so the two matrices commute and have common eigenvectors; and it is at least $(UU^\top)^2$, so on "
    "the range of $U$ each eigenvalue of $M$ is at least that of the product. Off the range the product is zero, and "
    r"there nothing but $M\succeq0$ helps.",
    notice="Each dot is an eigenvalue of the product at a critical point found by search, over that of $M$ with the "
    "same eigenvector: none is above the diagonal, and many are zero.",
    full=dict(matrices=12, starts=100),
)
def critical_points_are_dominated(
    key,
    *,
    matrices: Annotated[int, Interval(ge=1, le=100)] = 4,
    starts: Annotated[int, Interval(ge=5, le=1000)] = 40,
    target: Literal["positive", "any"] = "positive",
):
    draw = generator(key)
    spectra = np.sort(draw.uniform(0.2, 2.0, (matrices, 3)), axis=1)[:, ::-1]
    if target == "any":
        spectra = spectra * np.array([1.0, 1.0, -1.0])
    targets, bases = rotated(draw, spectra)
    strengths = np.exp(draw.uniform(-2, 1, matrices))
    slack, inside, commutators, pairs = [], [], [], []
    for matrix, basis, strength in zip(targets, bases, strengths, strict=True):
        found = find_critical_points(
            AutoencoderLoss(jnp.asarray(matrix), jnp.asarray(strength)), jnp.asarray(draw.standard_normal((starts, 6)))
        )
        kept = np.asarray(found.position)[np.asarray(found.slope) < 1e-10].reshape(-1, 3, 2)
        # The origin is critical whatever M is.
        weights = np.concatenate([kept, np.zeros((1, 3, 2))])
        products = weights @ np.swapaxes(weights, 1, 2)
        slack.append(np.linalg.eigvalsh(products - matrix)[:, -1])
        # The same on the range of U: Uᵀ(M − UUᵀ)U has no negative eigenvalue.
        inside.append(np.linalg.eigvalsh(np.swapaxes(weights, 1, 2) @ (products - matrix) @ weights)[:, -1])
        commutators.append((matrix @ products - products @ matrix).reshape(len(weights), -1))
        shared = np.einsum("ai,kab,bi->ki", basis, products, basis)
        own = np.einsum("ai,ab,bi->i", basis, matrix, basis)
        pairs.append(np.stack([np.broadcast_to(own, shared.shape), shared, np.full(shared.shape, strength)]))
    own, made, powers = np.concatenate(pairs, axis=1).reshape(3, -1)
    seen = {"target": own, "product": made, "strength": powers}
    return {
        "the target less the product": Inequality(np.concatenate(slack), 0.0, error=1e-8, scale=2.0, aside=seen),
        "on the range of the weights": Inequality(np.concatenate(inside), 0.0, error=1e-8, scale=2.0),
        "commutator": Identity(
            np.concatenate(commutators),
            0.0,
            scale=4.0,
            error=1e-8,
        ),
    }


critical_points_are_dominated.control(
    "for any symmetric M, as printed", of="the target less the product", erratum="A11.25a", target="any"
)


@critical_points_are_dominated.control("UUᵀ ⪯ M/(1+λ), true of one hidden unit", of="the target less the product")
def of_one_unit(evidence):
    target, product, strength = (np.asarray(evidence.aside[name]) for name in ("target", "product", "strength"))
    return replace(evidence, quantity=product - target / (1 + strength))


@critical_points_are_dominated.picture
def below_the_diagonal(pieces):
    """Eigenvalues of the product against those of the target, at all critical points found."""
    aside = pieces["the target less the product"].aside
    target, product = (np.asarray(aside[name]) for name in ("target", "product"))
    ends = np.asarray([min(0.0, target.min()), target.max()])
    marks = [Line("equal", ends, ends, dashed=True), Dots("critical points", target, product)]
    return Curves(marks, x="eigenvalue of the target M", y="eigenvalue of the product at a critical point")
