"""Whether stochastic gradient descent on a network follows its diffusion, asked by SVAG (arora 12.4)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.data.handwriting import digits
from deeptheory.foundations.cross_entropy import softmax_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, seen
from deeptheory.optimization.methods import variance_amplified

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
def losses_after(key, given, answer, first, top, steps, rate, amplification, *, runs):
    """The loss on all examples after so many steps of SVAG; compiled once for all of them."""

    def loss(w, chosen):
        outputs = jnp.tanh(given[chosen] @ w[0].T) @ w[1].T
        return softmax_cross_entropy(outputs, answer[chosen]).mean()

    method = variance_amplified(loss, rate, amplification)

    def run(key):
        def step(count, w):
            one, other = jax.random.randint(jax.random.fold_in(key, count), (2, BATCH), 0, EXAMPLES)
            move, _ = method.update(jax.grad(loss)(w, one), optax.EmptyState(), w, draw=other)
            return optax.apply_updates(w, move)

        return loss(jax.lax.fori_loop(0, steps, step, (first, top)), jnp.arange(EXAMPLES))

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

    def losses(place, rate, ell, runs, amplified=True):
        steps, own = round(HORIZON / rate) * ell, jax.random.fold_in(key, place)
        setting = np.float32(rate / ell), np.float32(ell if amplified else 1)
        return np.asarray(losses_after(own, *start, steps, *setting, runs=runs), float)

    # Losses spread less at the small rate, whose runs are long.
    few = -(-trials // 4)
    plain, fine = losses(1, SMALL, 1, few), losses(2, SMALL, finest, few)
    quiet = losses(3, SMALL, finest, few, amplified=False)
    rough = np.stack([losses(4 + place, LARGE, ell, trials) for place, ell in enumerate(FINENESS)])
    still = losses(4 + len(FINENESS), LARGE, FINENESS[-1], trials, amplified=False)
    return {
        "small rate": Law(
            1.0,
            1 + (plain - fine) / plain.mean(),
            exact=True,
            aside={"quiet": 1 + (plain - quiet) / plain.mean(), "plain": plain, "fine": fine, "finest": finest},
        ),
        "large rate": Trend(
            rough[0] - rough[-1], aside={"rough": rough, "fineness": np.asarray(FINENESS), "still": still}
        ),
        "finer and finer steps": Trend(
            (rough[0] - rough[1]) - (rough[-2] - rough[-1]), aside={"rough": rough, "still": still}
        ),
    }


@descent_follows_its_diffusion.control("shorter steps without amplified noise", of="small rate")
def noise_not_amplified(evidence):
    return replace(evidence, observed=evidence.aside["quiet"])


@descent_follows_its_diffusion.control("the finest steps without amplified noise for plain ones", of="large rate")
def noise_of_plain_descent(evidence):
    return replace(evidence, differences=evidence.aside["still"] - evidence.aside["rough"][-1])


@descent_follows_its_diffusion.control(
    "for the last halving, from plain steps to fine ones without amplified noise", of="finer and finer steps"
)
def finer_without_the_noise(evidence):
    first, second, *_ = evidence.aside["rough"]
    return replace(evidence, differences=(first - second) - (first - evidence.aside["still"]))


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
