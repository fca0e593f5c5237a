"""What noise does at a saddle, and which noise does nothing (handbook 5.2 and 5.3)."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.diffusions.gradient_noise import gradient_covariance
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Histogram, Level, Line, Plane, Row
from deeptheory.optimization.escape import escape_time, kick_escape_time, kicked_variance
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.stochastic import minibatches

CAP = 0.5
"""the share of the way to the minimum √γ that a run must have made to have left the capped saddle"""


def capped(z, noise):
    """x²/2 − γy²/2 + y⁴/4 of (x, y, γ), γ not to be moved; the noise is that of the gradient along y."""
    x, y, descent = z
    descent = jax.lax.stop_gradient(descent)
    return x**2 / 2 - descent * y**2 / 2 + y**4 / 4 + noise * y


@jax.jit
def on_capped_saddle(starts, rate, noise):
    """The paths of both coordinates under gradient noise along y, one row of noise a run."""
    return jax.vmap(
        lambda start, each: trajectory(capped, optax.sgd(rate), start, steps=noise.shape[1], batches=each).position[
            :, :2
        ]
    )(starts, noise)


def crossing(path, level):
    """When a growing coordinate passes a level, between two steps along a line in its logarithm."""
    size = np.log(np.abs(path))
    after = np.argmax(size > np.log(level), axis=1)
    rows = np.arange(len(path))
    return after - (size[rows, after] - np.log(level)) / (size[rows, after] - size[rows, after - 1])


@claim(
    items={"H5.2": ("plain descent", "steps to leave"), "H5.4": ("spread of the coordinate", "mean time to leave")},
    says=r"On the ridge of a saddle gradient descent comes to rest; from $y_0$ off it, it leaves in $\ln(R/|y_0|)/"
    r"\ln(1+\eta\gamma)$ steps and a constant. With gradient noise $s$ along the way out it takes $[\ln\frac R\sigma+"
    r"\frac{\gamma_E+\ln2}2]/\ln(1+\eta\gamma)+\frac12$ steps on average, $\sigma=\eta s/\sqrt{(1+\eta\gamma)^2-1}$.",
    needs="independent Gaussian noise, small beside R; the constant is that of the cap",
    symbols={
        "y_0": "the coordinate along the way out at the start",
        "R": "where a run has left",
        r"\eta": "the step size",
        r"\gamma": "minus the curvature along the way out",
        "s": "the standard deviation of the noise of the gradient along it",
        r"\sigma": "what all kicks together come to, seen from the start",
        r"\gamma_E": "Euler's constant",
    },
    why=r"Along the way out a step multiplies the coordinate by $1+\eta\gamma$ and adds the noise. On the ridge, "
    r"without noise, it stays zero. With it the earliest kicks grow longest: $y_t$ becomes $(1+\eta\gamma)^t$ times "
    r"one normal number, whose size is set in the first $1/\eta\gamma$ steps, and leaving is a matter of a logarithm.",
    notice="Left, on a logarithmic axis, starts off the ridge rise along parallel lines; the one on it is not "
    "there at all. Right, the times at which noisy runs have left, under the law of the logarithm of a normal number: "
    "late ones are those whose first kicks happened to cancel.",
    explore={"noise": (1e-6, 1e-4, 1e-2)},
)
def a_kick_leaves_the_ridge(
    key,
    *,
    descent: Annotated[float, Interval(ge=0.2, le=1.0)] = 0.8,
    rate: Annotated[float, Interval(ge=0.02, le=0.2)] = 0.1,
    noise: Annotated[float, Interval(ge=1e-7, le=1e-2)] = 1e-4,
    trials: Trials = 10_000,
):
    random, growth = generator(key), rate * descent
    # Apart by whole steps, so that the path between two of them, where the cap is felt, is the same for all.
    offsets = 1e-8 * (1 + growth) ** np.floor(np.log([1.0, 30.0, 1e3]) / np.log1p(growth))
    # Time enough for the run among thousands whose kicks cancel best.
    steps = int(np.ceil(escape_time(min(1e-9, 1e-6 * rate * noise), radius=1.0, growth=growth)))
    starts = np.stack([np.ones(4), np.array([0.0, *offsets]), np.full(4, descent)], 1)
    paths = np.asarray(on_capped_saddle(jnp.asarray(starts), rate, jnp.zeros((4, steps))))
    left = crossing(paths[1:, :, 1], CAP * descent**0.5)

    # On the quadratic itself, without the cap: the coordinate is a sum over the kicks.
    kicks = rate * noise * random.standard_normal((steps, trials))
    path, y = np.empty((steps + 1, trials)), np.zeros(trials)
    for time in range(steps + 1):
        path[time] = y
        if time < steps:
            y = (1 + growth) * y - kicks[time]
    ends = np.array([0.3, 1.0, 4.0])
    out = np.stack([np.argmax(np.abs(path) > end, axis=0) for end in ends])
    # How large a run is at the end says nearly when it left; that, a normal number's logarithm, has a known mean.
    size = np.log(np.abs(y) / np.sqrt(np.sum((1 + growth) ** (2 * np.arange(steps)))) / (rate * noise))
    told = (size + (np.euler_gamma + np.log(2)) / 2) / np.log1p(growth)
    late = np.array([steps // 8, steps // 4, steps // 2])
    return {
        "plain descent": Exact(np.array([np.all(paths[0, :, 1] == 0), paths[0, -1, 0] < 1e-6]), np.array([True, True])),
        "steps to leave": Identity(
            left[:-1] - left[1:],
            np.log(offsets[1:] / offsets[:-1]) / np.log1p(growth),
            error=1e-5,
            aside={"paths": np.abs(paths[1:, :, 1]), "growth": growth, "ratio": offsets[1:] / offsets[:-1]},
        ),
        "spread of the coordinate": Law(
            np.asarray(kicked_variance(late, growth=growth, kick=rate * noise)),
            path[late] ** 2,
            exact=True,
            along={"step": late},
            resolution=0.2,  # squares of normal numbers
            aside={"growth": growth, "kick": rate * noise},
        ),
        "mean time to leave": Law(
            np.asarray(kick_escape_time(ends, growth=growth, kick=rate * noise)),
            out + told,
            exact=True,
            along={"R": ends},
            aside={"growth": growth, "kick": rate * noise, "out": out[1]},
        ),
    }


@a_kick_leaves_the_ridge.control("growth by e^{ηγ} a step, as of the flow", of="steps to leave")
def as_of_the_flow(evidence):
    return replace(evidence, right=np.log(evidence.aside["ratio"]) / evidence.aside["growth"])


@a_kick_leaves_the_ridge.control("one kick more: t + 1 for t", of="spread of the coordinate")
def one_kick_more(evidence):
    time = np.asarray(evidence.along["step"]) + 1
    aside = evidence.aside
    return replace(evidence, predicted=np.asarray(kicked_variance(time, growth=aside["growth"], kick=aside["kick"])))


@a_kick_leaves_the_ridge.control("a normal number has size 1: without (γ_E + ln 2)/2", of="mean time to leave")
def without_euler(evidence):
    less = (np.euler_gamma + np.log(2)) / 2 / np.log1p(evidence.aside["growth"])
    return replace(evidence, predicted=evidence.predicted - less)


@a_kick_leaves_the_ridge.control("only the first kick counts", of="mean time to leave")
def first_kick(evidence):
    growth = evidence.aside["growth"]
    # The first kick alone is a normal number of size κ at time 1.
    ratios = np.asarray(evidence.along["R"]) / evidence.aside["kick"]
    alone = (np.log(ratios) + (np.euler_gamma + np.log(2)) / 2) / np.log1p(growth) + 1.5
    return replace(evidence, predicted=alone)


@a_kick_leaves_the_ridge.control("σ = ηs/√(2ηγ), as of a diffusion", of="mean time to leave")
def as_of_a_diffusion(evidence):
    growth = evidence.aside["growth"]
    larger = np.log1p(growth / 2) / 2 / np.log1p(growth)
    return replace(evidence, predicted=evidence.predicted - larger)


@a_kick_leaves_the_ridge.control("without the half step", of="mean time to leave")
def without_the_half_step(evidence):
    return replace(evidence, predicted=evidence.predicted - 0.5)


@a_kick_leaves_the_ridge.control("the same time for every R, that of R = 1", of="mean time to leave")
def without_the_end(evidence):
    return replace(evidence, predicted=np.full(3, np.asarray(evidence.predicted)[1]))


@a_kick_leaves_the_ridge.picture
def ways_and_times(pieces, settings):
    """The coordinate along the way out, from three starts (left); times at which noisy runs have left (right)."""
    ways, times = pieces["steps to leave"], pieces["mean time to leave"]
    paths, out = np.asarray(ways.aside["paths"]), np.asarray(times.aside["out"])  # R = 1
    rate = np.log1p(times.aside["growth"])
    mean = float(np.asarray(times.predicted)[1])
    middle = mean - 0.5 - (np.euler_gamma + np.log(2)) / 2 / rate
    grid = np.linspace(out.min(), np.quantile(out, 0.999), 200)
    size = np.exp(-(grid - 0.5 - middle) * rate)
    density = 2 * rate * size * np.exp(-(size**2) / 2) / np.sqrt(2 * np.pi)
    return Row(
        [
            Curves(
                [Line("off the ridge", np.arange(len(path)), path) for path in paths],
                x="step",
                y="distance from the ridge",
                log="y",
            ),
            Histogram(
                [
                    Line("logarithm of a normal number", grid, density),
                    Level("mean", x=mean),
                ],
                samples=out,
                x="steps to leave",
                y="density",
            ),
        ]
    )


def two_samples(theta, batch):
    """The mean over a batch of ½(θ₁ ∓ 1)² − ½θ₂², of which the upper sign has index 0."""
    return jnp.mean((theta[0] - jnp.array([1.0, -1.0])[batch]) ** 2) / 2 - theta[1] ** 2 / 2


def network(theta, batch, x, y):
    """½(y − w₂·W₁x)² of a linear network with two units, mean over a batch, at flat parameters."""
    first, second = theta[:4].reshape(2, 2), theta[4:]
    return jnp.mean((y[batch] - x[batch] @ first.T @ second) ** 2) / 2


@jax.jit
def stuck(starts, batches, kicks, x, y, chosen):
    """Noisy runs on the two samples; per-sample gradients there; a run of the network from 0, with its Hessian."""

    def run(start, seen, kick):
        pushed = lambda theta, given: two_samples(theta, given[0]) + theta @ given[1]  # noqa: E731
        return trajectory(pushed, optax.sgd(0.1), start, steps=len(seen), batches=(seen, kick)).position

    single = jax.vmap(lambda theta: jax.vmap(lambda i: jax.grad(two_samples)(theta, i[None]))(jnp.arange(2)))(starts)
    loss = lambda theta, batch: network(theta, batch, x, y)  # noqa: E731
    still = trajectory(loss, optax.sgd(0.1), jnp.zeros(6), steps=len(chosen), batches=chosen).position
    gradients = jax.vmap(lambda i: jax.grad(loss)(jnp.zeros(6), i[None]))(jnp.arange(len(x)))
    hessian = jax.hessian(loss)(jnp.zeros(6), jnp.arange(len(x)))
    return jax.vmap(run)(starts, batches, kicks), single, still, gradients, hessian


@claim(
    items={
        "H5.3": ("mean of the noise", "covariance of the noise"),
        "H5.8": ("never off the ridge", "every sample rests", "a way down"),
    },
    says=r"The gradient of a batch is the true one plus noise of mean zero, which need not reach the way out of a "
    r"saddle: for samples $\frac12(\theta_1\mp1)^2-\frac12\theta_2^2$ it is $\pm e_1$, and SGD from $\theta_2=0$ stays "
    r"there. In a linear network at $0$ no sample has a gradient, though $\lambda_{\min}<0$.",
    needs="batches drawn from the samples, nothing added",
    symbols={
        r"\theta_1, \theta_2": "the parameters",
        "e_1": "the first unit vector",
        r"\lambda_{\min}": "the least eigenvalue of the Hessian, minus the norm of the correlation of labels and "
        r"inputs",
    },
    why="Averaging over the samples gives the loss and its gradient, so the noise has mean zero. Its covariance is "
    "what the samples disagree about, and on the way out they may agree: then it is zero there, however large "
    "elsewhere. At the origin of a network with a hidden layer every gradient has a factor that is zero, for each "
    "sample.",
    notice="On the left, runs with the noise of samples wander along the ridge and never leave it. With noise of equal "
    "size in all directions, on the right, they all do.",
)
def batch_noise_may_miss_the_way_out(
    key,
    *,
    noise: Literal["of samples", "in all directions"] = "of samples",
    steps: Annotated[int, Interval(ge=50, le=2000)] = 120,
    trials: Trials = 20,
):
    random = generator(key)
    starts = np.stack([random.uniform(-2, 2, trials), np.zeros(trials)], 1)
    batches = minibatches(key, examples=2, batch=1, steps=steps, runs=trials)
    kicks = random.standard_normal((trials, steps, 2))
    x, y = random.standard_normal((8, 2)), random.standard_normal(8)
    chosen = minibatches(jax.random.fold_in(key, 1), examples=8, batch=2, steps=steps)[0]
    given = [jnp.asarray(each) for each in (starts, batches)], [jnp.asarray(each) for each in (x, y, chosen)]
    quiet = stuck(*given[0], jnp.zeros_like(jnp.asarray(kicks)), *given[1])
    loud = stuck(*given[0], jnp.asarray(kicks), *given[1])[0]
    runs, single, still, gradients, hessian = map(np.asarray, quiet)
    full = np.stack([starts[:, 0], -starts[:, 1]], 1)
    runs, loud = (np.asarray(loud), runs) if noise == "in all directions" else (runs, np.asarray(loud))
    return {
        "mean of the noise": Identity(single.mean(1), full, scale=3.0, aside={"one": single[:, 0]}),
        "covariance of the noise": Identity(gradient_covariance(single), np.diag([1.0, 0.0]), scale=1.0),
        "never off the ridge": Exact(
            np.all(runs[..., 1] == 0, axis=1), np.ones(trials, bool), aside={"runs": runs, "loud": loud}
        ),
        "every sample rests": Exact(np.array([np.all(gradients == 0), np.all(still == 0)]), np.array([True, True])),
        "a way down": Identity(
            np.linalg.eigvalsh(hessian)[0],
            -np.linalg.norm(y @ x / len(x)),
            scale=1.0,
            aside={"inputs": np.linalg.norm(x.T @ x / len(x), 2)},
        ),
    }


@batch_noise_may_miss_the_way_out.control("the gradient of one sample in the place of the mean", of="mean of the noise")
def one_sample(evidence):
    return replace(evidence, left=evidence.aside["one"])


@batch_noise_may_miss_the_way_out.control(
    "the noise is isotropic, as printed", of="covariance of the noise", erratum="H5.3a"
)
def isotropic(evidence):
    # Whatever its size: a multiple of the identity, taken here with the trace that was seen.
    return replace(evidence, right=np.trace(evidence.right) / 2 * np.eye(2))


batch_noise_may_miss_the_way_out.control(
    "noise in all directions, as perturbed gradient descent adds it",
    of="never off the ridge",
    noise="in all directions",
)


@batch_noise_may_miss_the_way_out.control("minus the largest curvature of the inputs", of="a way down")
def curvature_of_inputs(evidence):
    return replace(evidence, right=-np.asarray(evidence.aside["inputs"]))


@batch_noise_may_miss_the_way_out.picture
def along_the_ridge(pieces):
    """Runs from the ridge θ₂ = 0 with the noise of samples (left) and with noise in all directions (right)."""
    aside = pieces["never off the ridge"].aside
    panels = []
    for name, title in (("runs", "noise of samples"), ("loud", "noise in all directions")):
        paths = np.asarray(aside[name])[:8, :60]
        panels.append(
            Plane(
                [Line("run", *path.T) for path in paths],
                x="parameter θ₁",
                y="parameter θ₂",
                title=title,
                xs=(-3, 3),
                ys=(-3, 3),
            )
        )
    return Row(panels)
