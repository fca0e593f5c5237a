"""Whether stochastic gradient descent on a network follows its diffusion, asked by SVAG (arora 12.4)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.data.handwriting import digits
from deeptheory.diffusions.gradient_noise import svag_weights
from deeptheory.foundations.cross_entropy import softmax_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, seen

EXAMPLES, HIDDEN, BATCH, HORIZON = 100, 16, 4, 8.0
"""digits, hidden units, digits a gradient, and how long is trained: the sum of all rates"""
SMALL, LARGE = 0.05, 0.8
"""rates; the edge of stability at the start is near two thirds"""
FINENESS = (1, 2, 4, 8, 16)


def problem(draw):
    """Digits of 7×7 pixels, centred and scaled, their labels as rows with a one, and the weights to start from."""
    data = digits(side=7)
    chosen = draw.choice(len(data.train_images), EXAMPLES, replace=False)
    images = data.train_images[chosen]
    first = draw.standard_normal((HIDDEN, 49)) / 7
    top = draw.standard_normal((10, HIDDEN)) / HIDDEN**0.5
    given = (images - images.mean()) / images.std()
    return (jnp.asarray(each, jnp.float32) for each in (given, np.eye(10)[data.train_labels[chosen]], first, top))


@partial(jax.jit, static_argnames="runs")
def losses_after(key, given, answer, first, top, steps, rate, weights, *, runs):
    """The loss on all examples after so many steps along a combination of two gradients of batches; compiled once."""

    def loss(w, x, y):
        return softmax_cross_entropy(jnp.tanh(x @ w[0].T) @ w[1].T, y).mean()

    def run(key):
        def step(count, w):
            one, other = jax.random.randint(jax.random.fold_in(key, count), (2, BATCH), 0, EXAMPLES)

            def combined(w):
                return weights[0] * loss(w, given[one], answer[one]) + weights[1] * loss(w, given[other], answer[other])

            return jax.tree.map(lambda p, g: p - rate * g, w, jax.grad(combined)(w))

        return loss(jax.lax.fori_loop(0, steps, step, (first, top)), given, answer)

    return jax.vmap(run)(jax.random.split(key, runs))


@claim(
    items={"A12.30": ("small rate", "large rate", "finer and finer steps")},
    says=r"A network on digits, trained by SVAG with $\ell=1,\dots,16$ for the same time. At a small rate $\ell$ makes "
    r"no difference: descent follows its diffusion. Near the edge of stability it does not: its loss is above that of "
    r"large $\ell$, where the losses settle.",
    needs="one start for all runs, fresh batches of four digits; the loss on all hundred digits at the end",
    symbols={r"\ell": "the amplification of SVAG: steps are ℓ times shorter, noise is kept; one is plain descent"},
    why=r"SVAG takes $\ell$ steps of $\eta/\ell$ with noise amplified so that its covariance per unit of time stays. "
    r"As $\ell$ grows it tends to the diffusion of $\eta$ and nothing else changes. So if the outcome depends on "
    r"$\ell$, plain descent is not described by the diffusion. The error is of the order of the rate; and where a step "
    "is near two over the curvature, the noise of one step is multiplied by the next, which no diffusion knows.",
    notice="The lower points, at the small rate, are level. The upper ones fall from plain descent on the left and "
    "become level too: that is the loss of the diffusion, a third below.",
)
def descent_follows_its_diffusion(key, *, trials: Trials = 256, finest: Annotated[int, Interval(ge=2, le=8)] = 4):
    draw = generator(key)
    start = tuple(problem(draw))

    def losses(place, rate, ell, runs, weights=None):
        steps = round(HORIZON / rate) * ell
        weights = jnp.asarray(svag_weights(ell) if weights is None else weights, jnp.float32)
        own = jax.random.fold_in(key, place)
        return np.asarray(losses_after(own, *start, steps, np.float32(rate / ell), weights, runs=runs), float)

    # Losses spread less at the small rate, whose runs are long.
    few = -(-trials // 4)
    plain, fine = losses(1, SMALL, 1, few), losses(2, SMALL, finest, few)
    quiet = losses(3, SMALL, finest, few, weights=(1.0, 0.0))
    rough = np.stack([losses(4 + place, LARGE, ell, trials) for place, ell in enumerate(FINENESS)])
    return {
        "small rate": Law(
            1.0,
            1 + (plain - fine) / plain.mean(),
            exact=True,
            aside={"quiet": 1 + (plain - quiet) / plain.mean(), "plain": plain, "fine": fine, "finest": finest},
        ),
        "large rate": Trend(rough[0] - rough[-1], aside={"rough": rough, "fineness": np.asarray(FINENESS)}),
        "finer and finer steps": Trend((rough[0] - rough[1]) - (rough[-2] - rough[-1]), aside={"rough": rough}),
    }


@descent_follows_its_diffusion.control("shorter steps without amplified noise", of="small rate")
def noise_not_amplified(evidence):
    return replace(evidence, observed=evidence.aside["quiet"])


@descent_follows_its_diffusion.control("plain descent is below its diffusion", of="large rate")
def below(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


@descent_follows_its_diffusion.control("the first halving changes less than the last", of="finer and finer steps")
def last_halving_changes_most(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


@descent_follows_its_diffusion.picture
def loss_by_amplification(pieces):
    """Loss after training against the amplification of SVAG, at a small and at a large rate."""
    large, small = pieces["large rate"].aside, pieces["small rate"].aside
    return Curves(
        [
            seen(f"rate {LARGE}", large["fineness"], large["rough"]),
            seen(f"rate {SMALL}", np.array([1, small["finest"]]), np.stack([small["plain"], small["fine"]])),
        ],
        x="amplification ℓ",
        y="loss on all digits at the end",
        log="xy",
    )
