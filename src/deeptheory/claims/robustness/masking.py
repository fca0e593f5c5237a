"""Defences that hide the gradient, and what goes round them."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Share, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.robustness.attacks import ascend
from deeptheory.robustness.masking import expected_slopes, quantise, quantised_margin, straight_through
from deeptheory.robustness.threats import Threat

KEPT, AVERAGED = 0.3, (1, 2, 4, 8)
RADII = (0.05, 0.1, 0.15, 0.2, 0.25)


@claim(
    items={"A18.9": ("rounded inputs", "saturated outputs", "pixels dropped at random")},
    says=r"Behind rounding or a saturated loss the gradient is zero and ascent stands still; with the slope of a "
    r"stand-in it reaches the exact worst margin. Of pixels kept with probability $q$ one draw's slope sees a share "
    r"$q$, the mean of $K$ draws $1-(1-q)^K$.",
    needs="linear scores of inputs in [0, 1], perturbations bounded in the maximum norm",
    full=dict(pixels=400_000),
    symbols={"q": "the probability that a pixel is kept", "K": "the number of draws the attacker averages over"},
    why="A defence that hides the slope changes what the attacker knows, and not what is in reach. Rounding is nearly "
    "the identity, so its slope may be taken for 1; a saturated softmax is a monotone function of the margin, which "
    "has a slope; a random mask is one of many, and the attack is against their mean. A pixel is found as soon as one "
    "of the draws has kept it.",
    notice="Against the gradient the rounded classifier seems to lose nothing at any radius. The straight-through "
    "attack finds exactly the answers that can be flipped.",
)
def hidden_gradients_do_not_protect(
    key,
    *,
    levels: Annotated[int, Interval(ge=3, le=20)] = 6,
    pixels: Annotated[int, Interval(ge=100_000, le=1_000_000)] = 100_000,
):
    random = generator(key)
    weights, x = random.standard_normal(30), random.random((200, 30))
    bias = -float(np.median(x @ weights))
    score = np.asarray(quantise(x, levels)) @ weights + bias
    signs = np.sign(score)

    def rounded(z):
        return quantise(z, levels)

    def lost(z):
        return jnp.asarray(-signs * (z @ weights + bias))

    def threat(radius):
        return Threat(radius, np.inf, 0.0, 1.0)

    masked = -ascend(lambda z: lost(rounded(z)), x, threat(RADII[-1]), steps=10).values
    through = straight_through(rounded)

    def lost_through(z):
        return lost(through(z))

    found = np.stack([-ascend(lost_through, x, threat(r), steps=10).values for r in RADII])
    exact = np.stack([quantised_margin(weights, bias, x, signs, threat(r), levels) for r in RADII])

    # e^{−scaled margin} underflows to 0 in double precision: the loss is flat for every answer that is right by 0.01.
    clear = np.abs(x @ weights + bias) > 0.01
    own = np.sign(x @ weights + bias)

    def saturated(z):
        return logistic_loss(1e6 * own * (z @ weights + bias))

    stuck = np.asarray(ascend(saturated, x, Threat(0.1), steps=10).points)  # pyright: ignore[reportArgumentType]
    freed = np.asarray(ascend(lambda z: jnp.asarray(-own * (z @ weights + bias)), x, Threat(0.1), steps=10).points)
    worst = np.abs(x @ weights + bias) - 0.1 * np.abs(weights).sum()

    steep = jnp.asarray(random.standard_normal(pixels))
    masks = (random.random((max(AVERAGED), pixels)) < KEPT).astype(float)

    def dropped(z, mask):
        return (jnp.asarray(z) * mask) @ steep

    slope = jax.jit(lambda draws: expected_slopes(dropped, draws)(jnp.zeros((1, pixels))))
    counts = [int(np.sum(np.asarray(slope(masks[:k])) != 0)) for k in AVERAGED]
    return {
        "rounded inputs": Identity(
            found,
            exact,
            scale=20.0,
            along={"radius": np.array(RADII)},
            aside={"masked": np.broadcast_to(masked, exact.shape)},
        ),
        "saturated outputs": Identity(
            (own * (freed @ weights + bias))[clear],
            worst[clear],
            scale=20.0,
            aside={"stuck": (own * (stuck @ weights + bias))[clear]},
        ),
        "pixels dropped at random": Share(
            np.array(counts), pixels, 1 - (1 - KEPT) ** np.array(AVERAGED), along={"draws": np.array(AVERAGED)}
        ),
    }


@hidden_gradients_do_not_protect.control("the attack follows the gradient it is shown", of="rounded inputs")
def shown_gradient(evidence):
    return replace(evidence, left=evidence.aside["masked"])


@hidden_gradients_do_not_protect.control("the attack follows the saturated loss", of="saturated outputs")
def saturated_loss(evidence):
    return replace(evidence, left=evidence.aside["stuck"])


@hidden_gradients_do_not_protect.control("one draw fewer counts", of="pixels dropped at random")
def one_draw_fewer(evidence):
    draws = np.asarray(evidence.along["draws"])
    return replace(evidence, predicted=1 - (1 - KEPT) ** np.maximum(draws - 1, 0.5))


@hidden_gradients_do_not_protect.picture
def what_the_defence_hides(pieces):
    """Answers kept by a rounded classifier (left), and pixels whose slope an average over draws sees (right)."""
    rounded, dropped = pieces["rounded inputs"], pieces["pixels dropped at random"]
    radii = np.asarray(rounded.along["radius"])
    kept = [
        Line("in truth", radii, np.mean(np.asarray(rounded.right) > 0, axis=1)),
        Dots("straight-through attack", radii, np.mean(np.asarray(rounded.left) > 0, axis=1)),
        Line("attack by the gradient", radii, np.mean(np.asarray(rounded.aside["masked"]) > 0, axis=1)),
    ]
    draws = np.asarray(dropped.along["draws"])
    dense = np.linspace(1, draws[-1], 60)
    seen = [
        Line("1 − (1 − q)^K", dense, 1 - (1 - KEPT) ** dense),
        Dots("counted", draws, np.asarray(dropped.count) / np.asarray(dropped.trials)),
    ]
    return Row(
        [
            Curves(kept, x="radius ε", y="share of answers kept", ys=(0, 1.05)),
            Curves(seen, x="draws K", y="share of pixels seen", ys=(0, 1.05)),
        ]
    )
