"""Random features: one kernel is the law at the start, the motion in training and the law at the end."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import ndtr

from deeptheory.claims.kernels.regression.gaussian_processes import rbf
from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.features import (
    RandomFeatures,
    feature_limit_kernel,
    fourier,
    init_random_features,
    initial_law,
    trained_law,
)
from deeptheory.kernels.layers.activations import Erf, Relu
from deeptheory.kernels.regression.predictions import diagonalize, flow, interpolation, loss_curve, predicted, trained
from deeptheory.lab import Distribution, Identity, Law, Rate, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Line, Row, power_law

Features = Annotated[int, Interval(ge=20, le=10_000)]
LIMITS = {
    "ReLU": (jax.nn.relu, lambda x: feature_limit_kernel(x, activation=Relu())),
    "erf": (erf, lambda x: feature_limit_kernel(x, activation=Erf())),
    "cosine": (fourier, rbf),
}
kernels_of = {
    name: jax.jit(jax.vmap(lambda w, c, x, act=act: RandomFeatures(w, c, act).kernel(x), in_axes=(0, 0, None)))
    for name, (act, _) in LIMITS.items()
}
WATCHED = np.triu_indices(4)
"""Pairs of the first four inputs, whose means are compared one by one."""


@claim(
    items={"L7.6": ("mean of the kernel", "distance from the limit")},
    says=r"The kernel $K_p(x,x')=\frac1p\langle\phi(x),\phi(x')\rangle$ of random features has the limit kernel as its "
    r"mean at every $p$ (arc-cosine for ReLU, arcsine for erf, RBF for $\sqrt2\cos(w\cdot x+c)$ with random phase) and "
    r"differs from it by order $p^{-1/2}$.",
    needs="standard normal directions; phases uniform on the circle for the cosine",
    scale="printed: infinitely many features; here: 64 to 1,024",
    symbols={
        r"\phi": r"the $p$ random features of an input",
        r"K_p": "their kernel, a mean over the features",
    },
    why=r"Each feature contributes an independent product whose mean is the limit kernel: $K_p$ is right on average "
    r"at every $p$, and off by the root of the variance over $p$. The mean of two rectified Gaussians is the "
    r"arc-cosine kernel, of two error functions the arcsine; a random phase removes from two cosines the part that "
    r"depends on more than their distance.",
    notice=r"Left, means of sampled kernels at pairs of inputs lie on their limits, for three activations; rectified "
    r"products without the half that is switched off would be twice as large. Right, one kernel is off by order "
    r"$p^{-1/2}$.",
    full=dict(counts=(100, 1000, 10_000, 100_000)),
)
def random_feature_kernel(key, *, counts: Sizes = (64, 256, 1024), trials: Trials = 256, phases: bool = True):
    assume(all(count % counts[0] == 0 for count in counts), "every count is a multiple of the first")
    x = generator(jax.random.fold_in(key, 99)).standard_normal((12, 3)) / 3**0.5
    means, distances, limits, sizes = [], [], [], []
    for place, (name, (activation, limit)) in enumerate(LIMITS.items()):
        target = np.asarray(limit(x))
        limits.append(target[:4, :4][WATCHED])
        sizes.append(np.sqrt(np.outer(np.diag(target), np.diag(target)))[:4, :4][WATCHED])
        for step, count in enumerate(counts):
            draw = jax.random.fold_in(jax.random.fold_in(key, place), step)
            model = init_random_features(
                draw, inputs=3, count=trials * count, activation=activation, random_phases=phases and name == "cosine"
            )
            # The kernel of many features is the mean of those of their parts: one compiled shape for all counts.
            parts = (
                np.reshape(model.directions, (-1, trials, counts[0], 3)),
                np.reshape(model.phases, (-1, trials, counts[0])),
            )
            found = np.mean([kernels_of[name](*part, x) for part in zip(*parts, strict=True)], axis=0)
            distances.append(np.linalg.norm(found - target, axis=(1, 2)) / np.linalg.norm(target))
        means.append(found[:, :4, :4][:, *WATCHED].T)
    distances = np.reshape(distances, (len(LIMITS), len(counts), trials))
    along = {"activation": np.asarray(list(LIMITS)), "pair": np.arange(len(WATCHED[0]))}
    return {
        "mean of the kernel": Law(
            np.asarray(limits), np.asarray(means), exact=True, along=along, scale=np.asarray(sizes)
        ),
        # The three activations together: each trial is one draw of all of them.
        "distance from the limit": Rate(np.asarray(counts), distances.mean(0), exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@random_feature_kernel.picture
def means_and_errors(pieces):
    """Means of sampled kernels against their limits, at watched pairs; and the distance of one kernel by its size."""
    found = pieces["mean of the kernel"]
    limits, means = np.asarray(found.predicted), np.mean(found.observed, axis=-1)
    ends = np.asarray([limits.min(), limits.max()])
    marks: list[Any] = [Line("equal", ends, ends)]
    marks += [Dots(str(name), *each) for name, *each in zip(found.along["activation"], limits, means, strict=True)]
    marks += [Dots("", 2 * limits[0], means[0], rival="without the half switched off")]
    return Row(
        [
            Curves(marks, x="limit", y="mean of sampled kernels"),
            Curves(
                power_law("distance", pieces["distance from the limit"], rivals={-1.0: "1/p"}),
                x="features p",
                y="distance from the limit",
                log="xy",
            ),
        ]
    )


random_feature_kernel.control("cosines without random phases", of="mean of the kernel", phases=False)


@random_feature_kernel.control("rectified products without the half that is switched off", of="mean of the kernel")
def twice_for_relu(evidence):
    return replace(evidence, predicted=evidence.predicted * np.array([2.0, 1.0, 1.0])[:, None])


TIMES = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
slopes = jax.jit(
    jax.grad(
        lambda theta, directions, x, y: 0.5 * jnp.sum((RandomFeatures(directions, 0.0, erf).outputs(theta, x) - y) ** 2)
    )
)


@jax.jit
def followed(kernel, y, here, there):
    """Predicted outputs on training and other inputs at all times, other outputs at the end, and the loss."""
    count = len(y)
    basis, cross = diagonalize(kernel[:count, :count]), kernel[count:, :count]
    start = dict(outputs=here, other_outputs=there)
    inside = jax.vmap(lambda t: trained(basis, flow(t), y, outputs=here))(TIMES)
    outside = jax.vmap(lambda t: predicted(basis, flow(t), y, cross, **start))(TIMES)
    return inside, outside, predicted(basis, interpolation(), y, cross, **start), loss_curve(basis, y - here, TIMES)


@claim(
    items={
        "L7.7": (
            "velocity of the outputs",
            "outputs at the data",
            "outputs elsewhere",
            "outputs in the end",
            "loss along the flow",
        )
    },
    says=r"Under gradient flow on $\frac12\|f(X)-y\|^2$ the random-feature model moves as $\dot f(x)=K(x,X)(y-f(X))$: "
    r"$f_t(X)=y+e^{-Kt}(f_0(X)-y)$, $f_t(x)=f_0(x)+K(x,X)K^{-1}(e^{-Kt}-I)(f_0(X)-y)$ with $K=K(X,X)$ in the "
    r"exponent, $f_\infty(x)=f_0(x)+K(x,X)K^{-1}(y-f_0(X))$, and the loss is "
    r"$\frac12\sum_i e^{-2\lambda_it}(u_i\cdot(f_0-y))^2$.",
    needs="K(X, X) invertible, so at least as many features as points; any start",
    symbols={
        "f_t": "the function of the model at time $t$, $f_0$ at the start",
        "X,y": "training inputs and targets",
        "K": r"the kernel of the random features, $\frac1p\langle\phi(x),\phi(x')\rangle$",
        r"\lambda_i,u_i": "eigenvalues and eigenvectors of $K(X,X)$",
    },
    why="The model is linear in its weights, so its gradient is the feature vector and does not move: the outputs "
    "follow a linear equation with a fixed kernel. On the training inputs the exponential solves it; everywhere else "
    r"the output moves along as the kernel says. Each eigendirection of the residual decays by $e^{-\lambda t}$, its "
    r"square by $e^{-2\lambda t}$.",
    notice="Outputs on inputs that were not trained on: the formula passes through the dots of the integrated flow, on "
    "a logarithmic axis of time, from near their random start to the interpolant.",
)
def random_features_in_training(key, *, points: Annotated[int, Interval(ge=2, le=60)] = 15, features: Features = 200):
    rng = generator(jax.random.fold_in(key, 1))
    x, y = rng.standard_normal((points + 5, 10)) * 0.7, rng.standard_normal(points)
    model = init_random_features(key, inputs=10, count=features, activation=erf)
    phi = np.asarray(model.features(x), float)
    start, (inside, outside) = rng.standard_normal(features), np.split(phi, [points])
    solution = solve_ivp(
        lambda t, theta: -inside.T @ (inside @ theta - y), (0, TIMES[-1]), start, "DOP853", t_eval=TIMES,
        rtol=1e-11, atol=1e-11,
    )  # fmt: skip
    kernel = np.asarray(model.kernel(x), float)
    before = phi @ start
    here, there = before[:points], before[points:]
    ahead, elsewhere, end, losses = followed(kernel, y, here, there)
    reached = phi @ solution.y
    moved = -phi @ np.asarray(slopes(solution.y[:, 1], model.directions, x[:points], y))
    # The flow ends at the interpolant nearest to its start: found here by a singular value decomposition.
    nearest = start + np.linalg.lstsq(inside, y - here, rcond=None)[0]
    condition = float(np.linalg.cond(kernel[:points, :points]))
    size = float(np.linalg.norm(y - here))
    solver: dict[str, Any] = dict(scale=size, error=1e-8 * size, size=features)
    return {
        "velocity of the outputs": Identity(
            moved, kernel[:, :points] @ (y - reached[:points, 1]), scale=size * 10, size=features
        ),
        "outputs at the data": Identity(np.asarray(ahead).T, reached[:points], **solver),
        "outputs elsewhere": Identity(
            np.asarray(elsewhere).T, reached[points:], aside={"start": there[:, None]}, **solver
        ),
        "outputs in the end": Identity(
            np.asarray(end), outside @ nearest, scale=size, size=features, condition=condition
        ),
        "loss along the flow": Identity(
            np.asarray(losses),
            0.5 * np.sum((reached[:points] - y[:, None]) ** 2, axis=0),
            scale=size**2,
            error=1e-8 * size**2,
            size=features,
        ),
    }


@random_features_in_training.picture
def outputs_in_time(pieces):
    """Outputs at three other inputs while the random-feature model trains: dots integrated, lines by the formula."""
    test, marks = pieces["outputs elsewhere"], []
    for index in range(3):
        name = f"input {index + 1}"
        marks += [Line(name, TIMES, test.left[index]), Dots(name, TIMES, test.right[index])]
    return Curves(marks, x="training time", y="output", log="x")


@random_features_in_training.control("the initial function f₀(x) left out", of="outputs elsewhere")
def from_zero(evidence):
    return replace(evidence, left=evidence.left - evidence.aside["start"])


@random_features_in_training.control(r"each mode of the loss decays like $e^{-\lambda t}$", of="loss along the flow")
def half_the_rate(evidence):
    # Times double, so half the rate is the prediction for the time before.
    return replace(evidence, left=evidence.left[:-1], right=evidence.right[1:])


MIDDLE = 2.0
PLACES = np.array([[0.0, 0.3], [1.0, -0.5], [-0.8, 0.9], [0.5, 1.2], [-1.1, -0.6], [0.4, 0.2], [-0.5, 0.3], [1.2, 1.0]])
"""Five points to train on and three to watch."""
LABELS = np.array([1.0, -0.5, 0.8, -1.2, 0.4])
laws = jax.jit(
    lambda directions: (
        initial_law(RandomFeatures(directions, 0.0, erf), PLACES),
        trained_law(RandomFeatures(directions, 0.0, erf), PLACES[:5], LABELS, PLACES[5:]),
        trained_law(RandomFeatures(directions, 0.0, erf), PLACES[:5], LABELS, PLACES[5:], time=MIDDLE),
        trained_law(RandomFeatures(directions, 0.0, erf), PLACES[:5], LABELS, PLACES[:5]),
        RandomFeatures(directions, 0.0, erf).features(PLACES),
    )
)


@claim(
    items={
        "L7.10": ("covariance at the start", "law at the start"),
        "L7.11": (
            "mean after training",
            "covariance after training",
            "law after training",
            "values at the data",
            "posterior of the process",
        ),
        "L7.16": ("covariance at the start", "covariance after training", "posterior of the process"),
    },
    says=r"With $\theta_0\sim N(0,I)$ and given features, $f_0=\theta_0^\top\phi/\sqrt p$ is Gaussian with covariance "
    r"$K_p$ at every $p$. Trained it stays Gaussian, and at the end has mean $K(x,X)K^{-1}y$ and covariance "
    r"$K(x,x')-K(x,X)K^{-1}K(X,x')$: the posterior of that process given $y$.",
    needs="gradient flow on squared loss; K(X, X) invertible; the same kernel at the start and in training",
    full=dict(trials=400_000),
    symbols={
        r"\theta_0": "the weights at the start, standard normal",
        r"\phi": "the $p$ given features; $K_p$, or $K$, their kernel",
        "f_t": r"the function at time $t$, $f_\infty$ at the end",
        "X,y": "training inputs and targets",
    },
    why=r"Given the features $f_0$ is linear in Gaussian weights, hence a Gaussian process at every $p$. Training is "
    r"an affine map of it at every time, which at the end adds $K(x,X)K^{-1}(y-f_0(X))$, so that $f_\infty(X)=y$: "
    r"exactly the correction that conditions a Gaussian process on the values $y$. So start and training with one "
    r"kernel make the posterior; with two different ones, as in a trained network, they do not.",
    notice=r"Values at a watched input before and after training: the law narrows from the prior to the posterior, and "
    r"moves to the prediction.",
)
def random_features_before_and_after(key, *, features: Features = 60, trials: Trials = 90_000):
    directions = init_random_features(key, inputs=2, count=features, activation=erf).directions * 1.5
    before, after, between, inside, phi = jax.tree.map(lambda part: np.asarray(part, float), laws(directions))
    starts = generator(jax.random.fold_in(key, 1)).standard_normal((trials, features))
    # Each start goes to the interpolant nearest to it, and on the way there as e^{−tΦᵀΦ} says.
    nearest = starts + (LABELS - starts @ phi[:5].T) @ np.linalg.pinv(phi[:5]).T
    halfway = nearest + (starts - nearest) @ expm(-MIDDLE * phi[:5].T @ phi[:5])
    first, last, half = starts @ phi.T, nearest @ phi[5:].T, halfway @ phi[5:].T
    pairs, some = np.triu_indices(8), np.triu_indices(3)
    size = np.sqrt(np.diag(before.covariance))
    spread = [np.sqrt(np.diag(law.covariance)) for law in (after, between)]
    products = [
        ((paths - law.mean)[:, some[0]] * (paths - law.mean)[:, some[1]]).T
        for paths, law in ((last, after), (half, between))
    ]
    # An independent route to the posterior: from the inverse of the joint covariance.
    precision = np.linalg.inv(before.covariance)[5:]
    posterior = np.linalg.inv(precision[:, 5:])
    shift = -posterior @ precision[:, :5] @ LABELS
    condition = float(np.linalg.cond(before.covariance))
    times = {"time": np.array(["end", "middle"])}
    return {
        "covariance at the start": Law(
            before.covariance[pairs], (first[:, pairs[0]] * first[:, pairs[1]]).T, exact=True,
            scale=np.outer(size, size)[pairs], along={"features": np.full(len(pairs[0]), features)},
        ),
        "law at the start": Distribution(ndtr(first[:, 0] / size[0])),
        "mean after training": Law(
            np.array([after.mean, between.mean]), np.array([last.T, half.T]), exact=True, along=times, scale=1.0
        ),
        "covariance after training": Law(
            np.array([after.covariance[some], between.covariance[some]]), np.array(products), exact=True, along=times,
            scale=np.array([np.outer(s, s)[some] for s in spread]),
            aside={"values": last[:4096, 2], "law": np.array([[0.0, size[7]], [after.mean[2], spread[0][2]]])},
        ),
        "law after training": Distribution(ndtr((last[:, 2] - after.mean[2]) / spread[0][2])),
        "values at the data": Identity(
            np.array([inside.mean, *inside.covariance]), np.array([LABELS, *np.zeros((5, 5))]), scale=1.0,
            condition=condition,
        ),
        "posterior of the process": Identity(
            np.array([after.mean, *after.covariance]), np.array([shift, *posterior]), scale=1.0, condition=condition
        ),
    }  # fmt: skip


@random_features_before_and_after.picture
def prior_and_posterior(pieces):
    """Trained values at one input over random starts, under the law of the end; beside it that of the start."""
    aside = pieces["covariance after training"].aside
    (_, wide), (centre, _) = aside["law"]
    grid = np.linspace(centre - 4 * wide, centre + 4 * wide, 200)
    densities = [np.exp(-(((grid - m) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi)) for m, s in aside["law"]]
    marks = [Line("law at the start", grid, densities[0]), Line("law at the end", grid, densities[1])]
    return Histogram(marks, samples=aside["values"], x="output at one input", y="density", name="trained")


@random_features_before_and_after.control("θ·φ without 1/√p", of="covariance at the start")
def unnormalised(evidence):
    return replace(evidence, observed=evidence.observed * evidence.along["features"][0])


@random_features_before_and_after.control("the shift of the training block printed as zero", of="values at the data")
def no_shift(evidence):
    return replace(evidence, right=np.zeros((6, 5)))


def ending(pieces, change):
    """The covariance at the end by another rule, from the prior and the posterior at the three watched points."""
    prior = np.zeros((8, 8))
    prior[np.triu_indices(8)] = pieces["covariance at the start"].predicted
    law, some = pieces["covariance after training"], np.triu_indices(3)
    rival = change(prior[5:, 5:][some], law.predicted[0])
    return {"covariance after training": replace(law, predicted=np.array([rival, law.predicted[1]]))}


@random_features_before_and_after.control("the initial function kept to the end")
def initial_function_kept(pieces):
    return ending(pieces, lambda prior, posterior: prior)


@random_features_before_and_after.control("as if f₀(x) and f₀(X) were independent")
def independent_starts(pieces):
    return ending(pieces, lambda prior, posterior: 2 * prior - posterior)


@random_features_before_and_after.control("no spread left at the end")
def interpolant_alone(pieces):
    return ending(pieces, lambda prior, posterior: 0 * prior)
