"""What a Hessian is made of, and what random vectors tell of it: Gauss–Newton, Fisher, gradient noise, traces."""

from dataclasses import replace
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree

from deeptheory.curvature.operators import dense, fisher, gauss_newton, gradient_noise, hessian
from deeptheory.data import digits
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, claim
from deeptheory.lab.pictures import Curves, Dots

SHAPES = (6, 4), (10, 6)


def logits(weights, images):
    first, last = weights
    return jnp.tanh(images @ first.T) @ last.T


def losses(weights, data):
    return label_cross_entropy(logits(weights, data[0]), data[1])


def loss(weights, data):
    return losses(weights, data).mean()


def cross_entropy(outputs, labels):
    return label_cross_entropy(outputs, labels).mean()


@jax.jit
def by_jacobians(weights, images, labels):
    """Jacobian and second derivatives of the logits in the flat parameters, probabilities, gradients by example."""
    flat, back = ravel_pytree(weights)
    outputs = lambda flat: logits(back(flat), images)  # noqa: E731
    each = lambda flat: losses(back(flat), (images, labels))  # noqa: E731
    return jax.jacrev(outputs)(flat), jax.hessian(outputs)(flat), jax.nn.softmax(outputs(flat)), jax.jacrev(each)(flat)


@eqx.filter_jit
def probed(curvature, vectors):
    """zᵀAz of every vector."""
    return jax.lax.map(lambda z: z @ curvature(z), vectors)


@claim(
    items={},
    says=r"The Hessian of mean cross-entropy is $\frac1n\sum_i J_i^\top(\mathrm{diag}\,p_i-p_ip_i^\top)J_i$, the "
    r"Gauss–Newton and also the Fisher matrix, plus $\frac1n\sum_{i,k}(p_{ik}-y_{ik})\nabla^2f_{ik}$. For random "
    r"signs $z$, $z^\top Az$ has mean $\mathrm{tr}A$ and variance $2\sum_{i\ne j}A_{ij}^2$.",
    needs="a model twice differentiable in its parameters",
    symbols={
        "f_{ik},J_i": "the output of class $k$ for input $i$, and the Jacobian of all outputs for it",
        "p_i,y_i": "the softmax of the outputs, and the label as a unit vector",
        "n": "the number of inputs",
        "A,z": "a symmetric matrix, and a vector of independent fair signs",
    },
    why=r"The chain rule for second derivatives has two terms: the outer function bends, or the inner one does. For "
    r"softmax the first is the covariance of a label drawn from the model's own probabilities, which is why it is the "
    r"Fisher information, and knows nothing of the labels. In $z^\top Az$ the diagonal comes out exactly, as "
    r"$z_i^2=1$; each pair $i<j$ adds $2A_{ij}z_iz_j$, uncorrelated with all others.",
    notice="The second term is what makes eigenvalues negative. Large ones belong to the Gauss–Newton matrix, of "
    "which at most 9 for each input are not zero: softmax does not see a common shift.",
)
def hessians_and_their_probes(
    key,
    *,
    samples: Annotated[int, Interval(ge=10, le=400)] = 60,
    trials: Annotated[int, Interval(ge=512, le=100_000)] = 16_384,
):
    draw = generator(key)
    found = digits(samples, 1, side=2)
    images, labels = jnp.asarray(4 * found.train_images), jnp.asarray(found.train_labels)
    weights = [jnp.asarray(draw.standard_normal(shape) / shape[1] ** 0.5) for shape in SHAPES]
    whole = hessian(loss, weights, (images, labels))
    parts = {
        "Gauss–Newton": gauss_newton(logits, cross_entropy, weights, images, labels),
        "Fisher": fisher(logits, weights, images),
        "noise": gradient_noise(losses, weights, (images, labels)),
    }
    matrix, (newton, information, noise) = (
        np.asarray(dense(whole)),
        (np.asarray(dense(each)) for each in parts.values()),
    )
    jacobian, bends, chances, gradients = (np.asarray(each) for each in by_jacobians(weights, images, labels))
    middle = np.einsum("ik,kl->ikl", chances, np.eye(10)) - chances[:, :, None] * chances[:, None, :]
    outer = np.einsum("ikp,ikl,ilq->pq", jacobian, middle, jacobian) / samples
    residual = chances - np.eye(10)[labels]
    inner = np.einsum("ik,ikpq->pq", residual, bends) / samples
    near = dict(scale=np.abs(matrix).max(), condition=100.0)
    mean = np.outer(gradients.mean(0), gradients.mean(0))
    # One probe an estimate: as many independent values as trials, through products alone.
    signed = np.asarray(probed(whole, jnp.asarray(2.0 * draw.integers(0, 2, (trials, whole.size)) - 1)))
    off = np.sum((matrix - np.diag(np.diag(matrix))) ** 2)
    gap = (signed - np.trace(matrix)) ** 2
    values = np.stack([np.linalg.eigvalsh(each)[::-1] for each in (matrix, outer, inner)])
    return {
        "Hessian as bent loss and bent outputs": Identity(
            matrix, outer + inner, **near, aside={"outer": outer, "eigenvalues": values}
        ),
        "Gauss–Newton and Fisher matrix": Identity(
            np.stack([newton, information]),
            np.stack([outer, outer]),
            **near,
            aside={"squared gradients": noise + mean},
        ),
        "covariance of gradients": Identity(
            noise, gradients.T @ gradients / samples - mean, scale=np.abs(noise).max(), condition=100.0
        ),
        # Squared deviations scatter more than their mean: to a fifth, where the rival is a half off.
        "variance of a probe": Law(2 * off, gap, exact=True, resolution=0.2, aside={"once": off}),
    }


@hessians_and_their_probes.control("without the bent outputs", of="Hessian as bent loss and bent outputs")
def gauss_newton_alone(evidence):
    return replace(evidence, right=evidence.aside["outer"])


@hessians_and_their_probes.control("squared gradients at the data's labels", of="Gauss–Newton and Fisher matrix")
def empirical_fisher(evidence):
    return replace(evidence, left=np.stack([evidence.left[0], evidence.aside["squared gradients"]]))


@hessians_and_their_probes.control("Σ A² once, not twice", of="variance of a probe")
def once(evidence):
    return replace(evidence, predicted=evidence.aside["once"])


@hessians_and_their_probes.picture
def spectra(pieces):
    """Eigenvalues in falling order: of the Hessian, of the Gauss–Newton matrix, and of the rest."""
    values = pieces["Hessian as bent loss and bent outputs"].aside["eigenvalues"]
    rank = np.arange(1, values.shape[1] + 1)
    names = "Hessian", "Gauss–Newton", "bent outputs"
    return Curves([Dots(name, rank, each) for name, each in zip(names, values, strict=True)], x="rank", y="eigenvalue")
