"""First-order methods on the dropout autoencoder: they leave its saddles and end at the optimum."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.regularization.autoencoder import rotated
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.landscapes.critical_points import spectra_at
from deeptheory.regularization.autoencoder import autoencoder_gradient, autoencoder_loss
from deeptheory.regularization.catalogue import dropout_critical_points
from deeptheory.regularization.descents import dropout_descent

SPECTRUM = (3.0, 2.0, 0.9)
NOISES = (1e-5, 1e-8, 1e-11)
WAYS = ("gradient descent", "with noise", "dropout")


@partial(jax.jit, static_argnames="steps")
def losses_of_descent(starts, matrix, strength, step, *, steps):
    """The loss at every step of gradient descent, a run for each start."""

    def run(start):
        def body(weights, _):
            return weights - step * autoencoder_gradient(weights, matrix, strength), autoencoder_loss(
                weights, matrix, strength
            )

        return jax.lax.scan(body, start, length=steps)[1]

    return jax.vmap(run)(starts)


@partial(jax.jit, static_argnames="steps")
def ends_of_methods(keys, starts, matrix, rate, step, *, steps):
    """The loss at the end of gradient descent, of descent with noise, and of dropout with a mask at each step."""
    strength = rate / (1 - rate)

    def masked(weights, mask):
        return jnp.sum((matrix - (weights * mask) @ weights.T) ** 2)

    def run(key, start):
        slope = partial(autoencoder_gradient, matrix=matrix, strength=strength)
        plain = jax.lax.fori_loop(0, steps, lambda _, u: u - step * slope(u), start)
        noise = 1e-2 * jax.random.normal(key, (steps, *start.shape))
        noisy = jax.lax.scan(lambda u, shock: (u - step * (slope(u) + shock), None), start, noise)[0]
        dropped, _ = dropout_descent(key, masked, start, width=start.shape[1], rate=rate, step=step, steps=steps)
        return jnp.stack([autoencoder_loss(end, matrix, strength) for end in (plain, noisy, dropped)])

    return jax.vmap(run)(keys, starts)


@claim(
    items={"A11.36": ("steps for smaller noise", "runs that end below every saddle")},
    says=r"From a saddle disturbed by $\varepsilon$ gradient descent on the dropout autoencoder leaves after "
    r"$\ln(1/\varepsilon)/\ln(1+\eta|\lambda_{\min}|)$ steps and a constant. From random weights descent, descent with "
    "noise, and dropout with a fresh mask at each step end below every saddle.",
    needs="a small step; dropout that does not drop so often that the noise of the masks hides the valleys",
    symbols={
        r"\varepsilon": "the size of the disturbance",
        r"\eta": "the step of gradient descent",
        r"\lambda_{\min}": "the least eigenvalue of the Hessian at the saddle, which is negative",
    },
    why=r"Near a saddle each step multiplies the part of the disturbance along the steepest way down by "
    r"$1+\eta|\lambda_{\min}|$, so a thousandth of it costs $\ln1000/\ln(1+\eta|\lambda_{\min}|)$ more steps. All "
    "saddles here have such a direction, and a random start has a part along it. The mean step of dropout is a step of "
    "descent on this loss, and its noise only helps to leave.",
    notice="Each curve stays at the height of the saddle, longer by the same number of steps for every factor of a "
    "thousand, and then falls to the optimum.",
    full=dict(trials=64),
)
def dropout_leaves_saddles(
    key,
    *,
    rate: Annotated[float, Interval(ge=0.05, le=0.5)] = 0.2,
    trials: Annotated[int, Interval(ge=2, le=1000)] = 12,
    start: Literal["random", "saddle"] = "random",
):
    draw = generator(key)
    strength, step = rate / (1 - rate), 0.02
    (matrix,), _ = rotated(draw, np.asarray(SPECTRUM)[None])
    listed = dropout_critical_points(matrix, 2, strength)
    (best,) = [each for each in listed if each.optimal]
    lowest = min(each.value for each in listed if not each.optimal)
    saddles = [each for each in listed if each.groups in (((2, (0,)),), ((2, (1, 2)),), ((2, (1,)),))]
    flat = jnp.asarray(np.asarray([each.weights.ravel() for each in saddles]))
    bends = np.asarray(
        spectra_at(lambda x: autoencoder_loss(x.reshape(3, 2), jnp.asarray(matrix), strength), flat).eigenvalues
    )
    steepest = bends[:, 0]
    way = draw.standard_normal((len(saddles), 1, 3, 2))
    disturbed = np.asarray([each.weights for each in saddles])[:, None] + np.asarray(NOISES)[:, None, None] * way
    curves = np.asarray(losses_of_descent(disturbed.reshape(-1, 3, 2), matrix, strength, step, steps=1000))
    curves = curves.reshape(len(saddles), len(NOISES), -1)
    heights = np.asarray([each.value for each in saddles])
    # Left when a hundredth of the height above the optimum is lost: still near the saddle, far above the disturbance.
    gone = curves < (heights - 0.01 * (heights - best.value))[:, None, None]
    times = np.where(gone.any(-1), gone.argmax(-1), -1)
    starts = 0.3 * draw.standard_normal((trials, 3, 2))
    if start == "saddle":
        starts[:] = saddles[0].weights
    ends = np.asarray(ends_of_methods(jax.random.split(key, trials), starts, matrix, rate, 0.005, steps=3000))
    return {
        "steps for smaller noise": Identity(
            np.diff(times, axis=1) * 1.0,
            np.log(1e3) / np.log1p(step * np.abs(steepest))[:, None],
            # The step at which a level is passed is rounded up, and other ways down add a little.
            error=1.5,
            aside={"steepest": steepest, "step": step, "curves": curves[0, :, ::5], "optimum": best.value},
        ),
        # Hessians by differentiating twice, against those of the listed points in blocks.
        "ways down from each saddle": Exact(
            np.sum(bends < -1e-9 * np.abs(bends).max(1, keepdims=True), axis=1), [each.index for each in saddles]
        ),
        "runs that end below every saddle": Exact(
            ends < lowest, np.ones((trials, 3), bool), aside={"ends": ends, "optimum": best.value, "lowest": lowest}
        ),
    }


@dropout_leaves_saddles.control("η|λ|/2, half of the curvature as for ½f", of="steps for smaller noise")
def half(evidence):
    return replace(evidence, right=np.asarray(evidence.right) * 2)


@dropout_leaves_saddles.control("the rate of gradient flow, η|λ| for ln(1 + η|λ|)", of="steps for smaller noise")
def of_the_flow(evidence):
    flow = evidence.aside["step"] * np.abs(evidence.aside["steepest"])
    return replace(evidence, right=np.log(1e3) / flow[:, None])


dropout_leaves_saddles.control("from the saddle itself", of="runs that end below every saddle", start="saddle")


@dropout_leaves_saddles.picture
def waiting(pieces):
    """The loss during gradient descent from one saddle, disturbed by less and less."""
    aside = pieces["steps for smaller noise"].aside
    time = 5 * np.arange(np.asarray(aside["curves"]).shape[1])
    shown = time < 600
    marks: list[Line | Dots | Level] = [
        Line(f"disturbed by 10^{round(np.log10(noise))}", time[shown], np.asarray(curve)[shown])
        for noise, curve in zip(NOISES, aside["curves"], strict=True)
    ]
    marks.append(Level("optimum", y=float(aside["optimum"])))
    ends = np.asarray(pieces["runs that end below every saddle"].aside["ends"])
    last = [
        Dots(f"end of {way}", np.full(len(each), 620 + 12 * place), each)
        for place, (way, each) in enumerate(zip(WAYS, ends.T, strict=True))
    ]
    return Curves([*marks, *last], x="step of descent", y="loss")
