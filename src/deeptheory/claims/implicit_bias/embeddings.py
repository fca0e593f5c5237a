"""A mirror map is given: a parametrization whose gradient flow is its mirror flow.

arora 8.1.4, the first of its two questions.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.embeddings import (
    hessian_curvature,
    moment_embedding,
    moment_parametrization,
    moment_potential,
    ridge_embedding,
    ridge_parametrization,
    ridge_potential,
)
from deeptheory.implicit_bias.reparametrization import induced_metric, lie_brackets, mirror_flow, reparametrized_flow
from deeptheory.lab import Identity, Trials, claim
from deeptheory.lab.pictures import Dots, Line, Plane

FAMILIES = ("a sum over ridges", "largest entropy of a mean")


def gauss_curvature(slopes, second):
    """Gauss's equation: K·det g = ⟨n₀₀, n₁₁⟩ − ⟨n₀₁, n₀₁⟩, n what second derivatives have off the tangent plane."""
    off = second - np.einsum("ka,aij->kij", slopes, np.einsum("ak,kij->aij", np.linalg.pinv(slopes), second))
    return (off[:, 0, 0] @ off[:, 1, 1] - off[:, 0, 1] @ off[:, 0, 1]) / np.linalg.det(slopes.T @ slopes)


@claim(
    items={
        "A8.23": (
            "paths of gradient flow and mirror flow",
            "metrics and inverse Hessians",
            "Lie brackets where the flow goes",
            "curvature of the image",
        )
    },
    says=r"If $\partial F^\top\partial F=\nabla^2R$ and $G$ gives back the $w$ of the nearest $F(w)$, gradient flow of "
    r"$L(G(\theta))$ from $F(w_0)$ is mirror flow of $R$. $R=\sum_k\varphi_k(\langle c_k,w\rangle)$ has "
    r"$F_k=\int\sqrt{\varphi_k''}$, minus the largest entropy of a mean $2\sqrt p$. More parameters than weights are "
    r"needed where $\nabla^2R$ has curvature.",
    needs="∇²R positive definite and smooth; that all such R have an F is Nash's theorem, and not computed",
    full=dict(trials=40),
    symbols={
        r"R": r"the potential of the mirror flow $\frac{d}{dt}\nabla R(w)=-\nabla L(w)$",
        r"F,\partial F": "what takes weights to parameters, and its Jacobian",
        r"G,\theta": r"the parametrization $w=G(\theta)$ and its parameters",
        r"\varphi_k,c_k": "convex functions of one number, and the combinations of weights that they are taken of",
        r"p": "shares of finitely many points, of largest entropy among those with mean $w$",
    },
    why=r"$G(F(w))=w$, and $G$ does not change straight off the image of $F$: so $\partial G=(\partial F^\top\partial "
    r"F)^{-1}\partial F^\top$ there, and $\partial G\,\partial G^\top=(\nabla^2R)^{-1}$. The gradients of $G$ are "
    r"tangent to the image, which the flow never leaves, and are its coordinate fields for $z=\nabla R(w)$, which "
    r"commute. With as many parameters as weights $F$ would flatten the metric $\nabla^2R$, whose curvature is made of "
    r"products of third derivatives and need not be zero.",
    notice="Dots, weights moved by gradient flow in four and in five parameters, on the curves of mirror flow. Without "
    "the last ridge's parameter the way is another.",
)
def every_mirror_map_has_a_parametrization(key, *, trials: Trials = 8):
    draw = generator(key)
    directions = np.vstack([np.eye(2) + 0.3 * draw.standard_normal((2, 2)), draw.standard_normal((2, 2))])
    even, odd = draw.uniform(0.3, 1.0, (2, 4))

    def profile(s):
        return even[: len(s)] * s**2 / 2 + odd[: len(s)] * jnp.exp(s)

    # Five atoms around the origin, one of them inside: none may stand alone.
    angles = 2 * np.pi * (np.arange(4) + draw.uniform(-0.2, 0.2, 4)) / 4
    atoms = np.vstack([np.stack([np.cos(angles), np.sin(angles)], 1), 0.3 * draw.standard_normal((1, 2))])
    models = ridge_parametrization(directions, profile), moment_parametrization(atoms)
    embeds = jax.jit(ridge_embedding(directions, profile)), moment_embedding(atoms)
    potentials = ridge_potential(directions, profile), moment_potential(atoms)
    points = draw.uniform(-0.3, 0.3, (trials, 2))

    def total(w):
        return jnp.sum(profile(directions @ w))

    def partition(z):
        return jax.nn.logsumexp(atoms @ z)

    metrics, brackets, beside, images, intrinsic, wanted, by_slopes = [], [], [], [], [], [], []
    geometry = [
        jax.jit(lambda theta, model=model: (induced_metric(model, theta), lie_brackets(model, theta)[0, 1]))
        for model in models
    ]
    # In the dual variable z the metric of the second potential is the Hessian of its conjugate.
    curved = [jax.jit(lambda at, R=R: hessian_curvature(R, at)[0, 1, 0, 1]) for R in (total, partition)]
    for w in points:
        # Hessians and second derivatives of F by hand: Σ φ″ c cᵀ, and the covariance of the shares.
        third = odd * np.exp(directions @ w)
        second = even + third
        hessian = directions.T @ (second[:, None] * directions)
        steep = np.sqrt(second)[:, None] * directions
        twice = np.einsum("k,ki,kj->kij", third / (2 * np.sqrt(second)), directions, directions)
        theta, dual = np.asarray(embeds[1](w)), np.asarray(potentials[1].gradient(w))
        centred = atoms - w
        covariance = centred.T @ (theta[:, None] ** 2 / 4 * centred)
        pairs = centred[:, :, None] * centred[:, None] / 4 - covariance / 2
        seen = [geometry[0](np.asarray(embeds[0](w))), geometry[1](theta)]
        metrics.append([each[0] for each in seen])
        brackets.append(np.concatenate([each[1] for each in seen]))
        # Straight off the image of F, where G is the same.
        off = 0.3 * np.linalg.svd(steep)[0][:, 3]
        beside.append(geometry[0](np.asarray(embeds[0](w)) + off)[1])
        wanted.append([np.linalg.inv(hessian), covariance])
        by_slopes.append([np.linalg.inv(directions.T @ (second[:, None] ** 2 * directions)), covariance])
        images.append(
            [gauss_curvature(steep, twice), gauss_curvature(theta[:, None] / 2 * centred, theta[:, None, None] * pairs)]
        )
        intrinsic.append([curved[0](w) / np.linalg.det(hessian), curved[1](dual) / np.linalg.det(covariance)])

    rows, labels = draw.standard_normal((1, 2)), draw.standard_normal(1)

    def loss(w):
        return jnp.sum((rows @ w - labels) ** 2) / 2 + 0.5 * jnp.sum(jnp.sin(2 * w))

    times, start = np.linspace(0.0, 0.6, 7), points[0]
    ways, mirrored = [], []
    for model, embed, potential in zip(models, embeds, potentials, strict=True):
        theta = reparametrized_flow(model, loss, np.asarray(embed(start)), times)
        ways.append(np.asarray(jax.jit(jax.vmap(model))(theta)))
        mirrored.append(mirror_flow(potential, loss, start, times))
    fewer = mirror_flow(ridge_potential(directions[:3], profile), loss, start, times)
    return {
        "paths of gradient flow and mirror flow": Identity(
            np.array(ways),
            np.array(mirrored),
            scale=1.0,
            error=1e-7,
            along={"potential": np.arange(2), "time": times},
            aside={"without a ridge": np.array([fewer, mirrored[1]])},
        ),
        "metrics and inverse Hessians": Identity(
            np.array(metrics),
            np.array(wanted),
            scale=np.abs(wanted).max((2, 3))[..., None, None],
            condition=1e4,
            aside={"by slopes": np.array(by_slopes)},
        ),
        "Lie brackets where the flow goes": Identity(
            np.array(brackets), np.zeros_like(brackets), scale=1.0, error=1e-8, aside={"beside": np.array(beside)}
        ),
        "curvature of the image": Identity(
            np.array(images),
            np.array(intrinsic),
            scale=1.0,
            condition=1e4,
            along={"point": np.arange(trials), "potential": np.arange(2)},
        ),
    }


@every_mirror_map_has_a_parametrization.picture
def two_geometries(pieces):
    """Weights moved by gradient flow of parametrizations made for two potentials, and by their mirror flows."""
    piece = pieces["paths of gradient flow and mirror flow"]
    marks = []
    for name, found, wanted in zip(FAMILIES, np.asarray(piece.left), np.asarray(piece.right), strict=True):
        marks += [Line(f"mirror flow, {name}", *wanted.T, arrow=True), Dots(f"gradient flow, {name}", *found.T)]
    fewer = np.asarray(piece.aside["without a ridge"])[0]
    marks.append(Line("", *fewer.T, rival="mirror flow without the last ridge"))
    return Plane(marks, x="first weight", y="second weight")


@every_mirror_map_has_a_parametrization.control("without the last ridge", of="paths of gradient flow and mirror flow")
def without_a_ridge(evidence):
    return replace(evidence, right=evidence.aside["without a ridge"])


@every_mirror_map_has_a_parametrization.control(
    "the slopes φ′ as parameters, not ∫√φ″", of="metrics and inverse Hessians"
)
def slopes_as_parameters(evidence):
    return replace(evidence, right=evidence.aside["by slopes"])


@every_mirror_map_has_a_parametrization.control("commuting beside the image too", of="Lie brackets where the flow goes")
def beside_the_image(evidence):
    beside = evidence.aside["beside"]
    return replace(evidence, left=beside, right=np.zeros_like(beside))


@every_mirror_map_has_a_parametrization.control(
    "flat: as many parameters as weights suffice", of="curvature of the image"
)
def as_many_as_weights(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))
