"""One neuron: its gradient never points away from the truth, and without a factor it is that of a convex function.

arora Sec. 6.2.1 and 6.2.2.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval
from jax.scipy.special import erf

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.single_neuron import (
    MatchingLoss,
    NeuronLoss,
    erf_neuron_loss,
    relu_neuron_loss,
    secant_correlation,
)
from deeptheory.optimization.runs import trajectory


@jax.jit
def correlations(loss, points):
    """Inner product of the gradient with the way from the target, by differentiation and by the mean value theorem."""

    def at(w):
        away = w - loss.target
        middle = (loss.inputs @ (w + loss.target)) / 2
        slope = jax.vmap(jax.grad(lambda u: loss.activation(u)))
        level = loss.inputs @ away
        rival = jnp.mean(slope(middle) * slope(loss.inputs @ w) * level**2)
        return jax.grad(loss)(w) @ away, secant_correlation(loss.inputs, w, loss.target, loss.activation), rival

    return jax.vmap(at)(points)


def leaky(slope):
    """The activation with slope one above zero and a given one below."""
    return lambda u: jnp.where(u > 0, u, slope * u)


@claim(
    items={
        "A6.9": ("erf", "relu"),
        "A6.10": ("gradient towards the teacher", "lower bound on the gradient towards the teacher"),
    },
    says=r"For $y=\sigma(\langle w_*,x\rangle)+\epsilon$ the loss is $\frac12E\epsilon^2+\frac12E(\sigma(\langle "
    r"w_*,x\rangle)-\sigma(\langle w,x\rangle))^2$, and $\langle\nabla L,w-w_*\rangle=E[\sigma'(\xi)\sigma'(\langle "
    r"w,x\rangle)\langle w-w_*,x\rangle^2]\ge0$: with slopes at least $a$, at least $a^2\lambda_{\min}\|w-w_*\|^2$.",
    needs="σ monotone, E[ε|x] = 0",
    symbols={
        r"\sigma": "the activation, known and monotone",
        "x, y": "an input and its label",
        "L": "the loss, half the mean squared error",
        "w_*, w": "the weights of the neuron that made the labels, and those at hand",
        r"\epsilon": "the noise",
        r"\xi": r"a point between $\langle w_*,x\rangle$ and $\langle w,x\rangle$",
        "a": "the least slope of the activation",
        r"\lambda_{\min}": r"the least eigenvalue of $E[xx^\top]$",
    },
    why=r"The noise has mean zero at every $x$, so it adds its variance and no cross term. In the gradient the error "
    r"$\sigma(\langle w,x\rangle)-\sigma(\langle w_*,x\rangle)$ is a slope of $\sigma$ somewhere in between times "
    r"$\langle w-w_*,x\rangle$. Both slopes are at least zero, and so is the square.",
    notice="At every point tried the correlation is positive, and for the sigmoid it dies out: far away the "
    "slope at $w$ vanishes and the gradient, though it points home, says it ever more quietly. The leaky activation "
    "keeps a fixed share, and where all inputs see its flat side it keeps no more than the bound.",
)
def a_neuron_points_home(
    key,
    *,
    trials: Trials = 160_000,
    noise: Annotated[float, Interval(ge=0.1, le=2)] = 0.5,
    slope: Annotated[float, Interval(ge=0.05, le=1)] = 0.3,
):
    random = generator(key)
    # E over x and ε: each trial one draw of both; the prediction is a closed form.
    pairs = random.normal(0, 1, (4, 2, 3)) * np.array([0.5, 0.8, 1.1, 1.4])[:, None, None]
    x, e = random.standard_normal((trials, 3)), noise * random.standard_normal(trials)
    here, there = (x @ pairs[:, side].T for side in (0, 1))
    seen = {
        "erf": np.asarray(erf(there) + e[:, None] - erf(here)) ** 2 / 2,
        "relu": (np.maximum(there, 0) + e[:, None] - np.maximum(here, 0)) ** 2 / 2,
    }
    stated = {
        name: np.array([float(function(*map(jnp.asarray, pair))) for pair in pairs])
        for name, function in (("erf", erf_neuron_loss), ("relu", relu_neuron_loss))
    }

    inputs, target = random.standard_normal((40, 3)), random.standard_normal(3)
    points = target + random.standard_normal((60, 3)) * np.geomspace(0.1, 8, 60)[:, None]
    found = [
        correlations(NeuronLoss(jnp.asarray(inputs), jnp.asarray(target), s), points)
        for s in (jnp.tanh, jax.nn.sigmoid)
    ]
    left, right, midpoint = (np.stack(each) for each in zip(*found, strict=True))

    # A leaky neuron. Where all inputs are on its flat side and the error lies along the weakest direction, equality.
    loss = NeuronLoss(jnp.asarray(inputs), jnp.asarray(target), leaky(slope))
    weakest = np.linalg.eigh(inputs.T @ inputs / len(inputs))[1][:, 0]
    ahead = inputs * np.sign(inputs @ target)[:, None]  # every input sees the target at a positive level
    flat = NeuronLoss(jnp.asarray(-ahead), jnp.asarray(target), leaky(slope))
    least = np.abs(ahead @ target).min() / np.abs(ahead @ weakest).max()
    near = target + 0.5 * least * np.linspace(-1, 1, 8)[:, None] * weakest
    gradient = jax.jit(jax.vmap(jax.grad(loss))), jax.jit(jax.vmap(jax.grad(flat)))
    correlation = np.concatenate(
        [
            np.sum(np.asarray(g(jnp.asarray(w))) * (w - target), axis=1)
            for g, w in zip(gradient, (points, near), strict=True)
        ]
    )
    distance = np.sum((np.concatenate([points, near]) - target) ** 2, axis=1)
    size = np.linalg.norm(target) * np.linalg.norm(inputs, axis=1).max() ** 2
    floor = float(np.linalg.eigvalsh(inputs.T @ inputs / len(inputs))[0]) * distance
    return {
        **{name: Law(noise**2 / 2 + stated[name], seen[name].T, exact=True, aside={"noise": noise}) for name in seen},
        "gradient towards the teacher": Identity(
            left,
            right,
            size=40,
            error=1e-9 * np.abs(right),
            aside={"midpoint": midpoint, "distance": np.sqrt(distance[:60])},
        ),
        # Levels of the inputs are rounded where the target is, however near to it the weights are.
        "lower bound on the gradient towards the teacher": Inequality(
            slope**2 * floor,
            correlation,
            scale=distance + size * np.sqrt(distance),
            aside={"slope": slope, "distance": np.sqrt(distance)},
        ),
    }


@a_neuron_points_home.control("the noise counted whole: Eε² for ½Eε²", of="erf")
def whole_noise(evidence):
    return replace(evidence, predicted=evidence.predicted + evidence.aside["noise"] ** 2 / 2)


@a_neuron_points_home.control("the noise left out", of="relu")
def no_noise(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["noise"] ** 2 / 2)


@a_neuron_points_home.control("ξ in the middle", of="gradient towards the teacher")
def midpoint(evidence):
    return replace(evidence, right=evidence.aside["midpoint"])


@a_neuron_points_home.control("a for a²", of="lower bound on the gradient towards the teacher")
def one_slope(evidence):
    return replace(evidence, quantity=evidence.quantity / evidence.aside["slope"])


@a_neuron_points_home.picture
def how_loudly(pieces):
    """⟨∇L, w − w*⟩ over ‖w − w*‖² by distance, for tanh and the sigmoid (left) and a leaky activation (right)."""
    smooth, secant = pieces["gradient towards the teacher"], pieces["lower bound on the gradient towards the teacher"]
    away = smooth.aside["distance"]
    left = [
        Dots(name, away, values / away**2)
        for name, values in zip(("tanh", "sigmoid"), np.asarray(smooth.left), strict=True)
    ]
    far = secant.aside["distance"]
    right = [
        Dots("leaky", far[:60], secant.bound[:60] / far[:60] ** 2),
        Dots("leaky, all inputs on its flat side", far[60:], secant.bound[60:] / far[60:] ** 2),
        Line("a² λ_min", np.sort(far[:60]), np.full(60, secant.quantity[0] / far[0] ** 2)),
        Line(
            "a² λ_min",
            np.sort(far[:60]),
            np.full(60, secant.quantity[0] / far[0] ** 2 / secant.aside["slope"]),
            rival="a λ_min",
        ),
    ]
    x, y = "distance from the truth", "correlation / distance²"
    return Row([Curves(left, x=x, y=y, log="xy"), Curves(right, x=x, y=y, log="xy")])


@jax.jit
def both_ways(squared, matching, start):
    """Distances from the target along descent on the squared and on the matching loss."""
    found = []
    for function, step in ((squared, 1.0), (matching, 1.0)):
        states = trajectory(function, optax.sgd(step), start, steps=1500)
        found.append(jnp.linalg.norm(states.position - squared.target, axis=1))
    return jnp.stack(found)


@jax.jit
def surrogate_at(squared, matching, points):
    """Gradient and Hessian of the matching loss, the gradient of the squared one, and least eigenvalues of both."""
    lowest = [jax.vmap(lambda w, f=f: jnp.linalg.eigvalsh(jax.hessian(f)(w))[0])(points) for f in (matching, squared)]
    return (
        jax.vmap(jax.grad(matching))(points),
        jax.vmap(jax.hessian(matching))(points),
        jax.vmap(jax.grad(squared))(points),
        *lowest,
    )


@claim(
    items={"A6.11": ("gradient", "Hessian", "eigenvalues of the Hessian", "distance from step to step")},
    says=r"$g(w)=E[\tau(\langle w,x\rangle)-\sigma(\langle w_*,x\rangle)\langle w,x\rangle]$ with $\tau'=\sigma$ has "
    r"$\nabla g=E[(\sigma(\langle w,x\rangle)-\sigma(\langle w_*,x\rangle))x]$ and $\nabla^2g=E[\sigma'(\langle "
    r"w,x\rangle)xx^\top]\succeq0$: convex, with minimum at $w_*$, and descent comes nearer to it at every step.",
    needs="σ monotone; for the last part a step of at most one over the smoothness of g",
    symbols={
        "g": "the surrogate for the squared loss",
        r"\sigma, \tau": "the activation and its integral",
        "w_*, w": "the true weights, and those at hand",
        "x": "an input",
    },
    why=r"The gradient of the squared loss carries a factor $\sigma'(\langle w,x\rangle)$ that vanishes where the "
    r"neuron saturates. Leave it out, and what remains is still zero at $w_*$ and is the gradient of something: "
    r"integrating $\sigma$ along $w$ gives $\tau$. Its derivative has one factor $\sigma'\ge0$ and the square of $x$.",
    notice="From a start where the sigmoid is saturated, descent on the squared loss hardly moves for a thousand "
    "steps; on the surrogate it goes home. The squared loss has negative curvature at most of the points tried, the "
    "surrogate at none.",
)
def matching_loss_is_convex(key, *, far: Annotated[float, Interval(ge=2, le=40)] = 20.0):
    random = generator(key)
    inputs, target = random.standard_normal((60, 4)), random.standard_normal(4)
    arrays = jnp.asarray(inputs), jnp.asarray(target)
    squared = NeuronLoss(*arrays, jax.nn.sigmoid)
    matching = MatchingLoss(*arrays, jax.nn.sigmoid, jax.nn.softplus)
    points = 2 * random.standard_normal((50, 4))
    gradient, hessian, other, least, indefinite = map(np.asarray, surrogate_at(squared, matching, jnp.asarray(points)))
    level = 1 / (1 + np.exp(-points @ inputs.T))
    truth = 1 / (1 + np.exp(-inputs @ target))
    slope, moments = level * (1 - level), lambda weights: np.einsum("kn,ni,nj->kij", weights, inputs, inputs) / 60
    start = target + far * (aside := random.standard_normal(4)) / np.linalg.norm(aside)
    distances = np.asarray(both_ways(squared, matching, jnp.asarray(start)))
    return {
        "gradient": Identity(
            gradient, (level - truth) @ inputs / 60, scale=1.0, size=60, aside={"with the slope": other}
        ),
        "Hessian": Identity(hessian, moments(slope), scale=1.0, size=60, aside={"slope squared": moments(slope**2)}),
        "eigenvalues of the Hessian": Inequality(-least, 0.0, scale=1.0, aside={"squared": indefinite}),
        "distance from step to step": Inequality(
            distances[1, 1:], distances[1, :-1], error=1e-12, along={"step": np.arange(1500)}, aside={"both": distances}
        ),
    }


@matching_loss_is_convex.control("with the factor σ'(⟨w, x⟩), as in the squared loss", of="gradient")
def with_slope(evidence):
    return replace(evidence, left=evidence.aside["with the slope"])


@matching_loss_is_convex.control("E[σ'²xxᵀ]", of="Hessian")
def slope_squared(evidence):
    return replace(evidence, right=evidence.aside["slope squared"])


@matching_loss_is_convex.control("the squared loss is convex", of="eigenvalues of the Hessian")
def squared_convex(evidence):
    return replace(evidence, quantity=-evidence.aside["squared"])


@matching_loss_is_convex.control("the squared loss comes as near", of="distance from step to step")
def squared_descent(evidence):
    slow, fast = evidence.aside["both"]
    return replace(evidence, quantity=slow[1:], bound=2 * fast[1:])


@matching_loss_is_convex.picture
def from_afar(pieces):
    """Distance from the truth along descent (left), and the least curvature at random points, in order (right)."""
    slow, fast = pieces["distance from step to step"].aside["both"]
    t, order = np.arange(len(slow)), np.arange(len(pieces["eigenvalues of the Hessian"].quantity))
    runs = [Line("squared loss", t, slow), Line("surrogate", t, fast)]
    bends = [
        Dots("squared loss", order, np.sort(pieces["eigenvalues of the Hessian"].aside["squared"])),
        Dots("surrogate", order, np.sort(-pieces["eigenvalues of the Hessian"].quantity)),
    ]
    return Row(
        [
            Curves(runs, x="step", y="distance from the truth, ‖w − w*‖"),
            Curves(bends, x="points, in order", y="least eigenvalue of the Hessian"),
        ]
    )
