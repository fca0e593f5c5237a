"""Lazy training: what gradient flow does to outputs and parameters when the data are fitted close to the start."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.linalg import lstsq, null_space

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.tangents import linearize
from deeptheory.kernels.lazy.linear_models import gradient_flow, least_squares_form, linearized_path
from deeptheory.kernels.lazy.signed_network import (
    TANH,
    SignedNetwork,
    jacobian_lipschitz_bound,
    jacobian_lipschitz_constant,
    signed_problem,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Plane

Width = Annotated[int, Interval(ge=4, le=4096)]
Draws = Annotated[int, Interval(ge=1, le=64)]
SHAPE: dict[str, Any] = dict(count=4, dimension=6)
STENCIL = np.array([-2, -1, 0, 1, 2])
SOLVER = 1e-6
"""Error of a derivative taken from the flow by five points, relative to its size; at most 3e-8 over 40 networks."""


def slope(values, step):
    """Derivatives in time from groups of five neighbouring times."""
    grouped = values.reshape(-1, 5, *values.shape[1:])
    return np.tensordot(grouped, np.array([1, -8, 0, 8, -1]) / (12 * step), ((1,), (0,)))


@claim(
    items={"J9.1": ("velocity of the outputs", "fall of the loss"), "J9.7": "difference from the linearized path"},
    says=r"Along gradient flow of $\|y-f\|^2/2n$ the outputs obey $\dot y_t=-K_t(y_t-y)/n$ with the tangent kernel "
    r"$K_t=Df\,Df^\top$ of that moment, so $\frac{d}{dt}\|y_t-y\|^2=-\frac2n\langle r,K_tr\rangle$, and their "
    r"difference $d_t$ from the linearized outputs obeys $\dot d_t=-\frac1nK_td_t-\frac1n(K_t-K_0)(\bar y_t-y)$.",
    needs="a differentiable model",
    symbols={
        "y_t,y": "the outputs of the $n$ samples at time $t$, and their targets; $r=y_t-y$",
        "f,Df": "the model and its derivative by the parameters",
        "K_t": "the tangent kernel at that time",
        r"d_t,\bar y_t": "the difference from the linearized outputs, and these",
    },
    why=r"Gradient flow moves the parameters by $-\frac1nDf^\top r$, so by the chain rule the outputs move by "
    r"$-\frac1nDf\,Df^\top r$. The linearized outputs obey the same equation with $K_0$; subtracted, what remains is a "
    "linear equation for $d_t$ that is driven by $K_t-K_0$ alone. Nothing is approximated, so a bound on the drift of "
    "the kernel is a bound on the whole difference.",
    notice=r"Velocities of all outputs at eight times against what the present kernel says: on the diagonal. With the "
    r"kernel of the start they leave it.",
)
def residuals_follow_the_tangent_kernel(
    key, *, width: Width = 20, kernel: Literal["present", "frozen"] = "present", divided: bool = True
):
    network, start, x, y = signed_problem(key, width=width, scale=2.0, **SHAPE)
    count = len(y)
    before = np.asarray(network.jacobian(start, x))
    clock = count / np.linalg.norm(before, 2) ** 2
    step = 0.01 * clock
    times = (np.linspace(0.1, 8, 8)[:, None] * clock + STENCIL * step).ravel()
    path = gradient_flow(network.flat(x), start.ravel(), y, times)
    outputs = np.asarray(jax.vmap(network.flat(x))(jnp.asarray(path)))
    # The linearized outputs by their matrix exponential, the present ones from the parameters.
    values, vectors = np.linalg.eigh(before @ before.T)
    first = vectors.T @ (np.asarray(network.outputs(start, x)) - y)
    linear = (np.exp(-times[:, None] * values / count) * first) @ vectors.T + y
    grams = []
    for theta in path[2::5] if kernel == "present" else [start] * 8:
        jacobian = np.asarray(network.jacobian(theta.reshape(start.shape), x))
        grams.append(jacobian @ jacobian.T)
    grams = np.array(grams) / (count if divided else 1)
    residual, away = (outputs - y)[2::5], (outputs - linear)[2::5]
    moved = grams - before @ before.T / count
    driven = np.einsum("tij,tj->ti", grams, away) + np.einsum("tij,tj->ti", moved, (linear - y)[2::5])
    force = np.einsum("tij,tj->ti", grams, residual)
    scale, energy = np.abs(force).max(), np.sum(residual * force, axis=1)
    return {
        "velocity of the outputs": Identity(
            slope(outputs, step),
            -force,
            scale=scale,
            error=SOLVER * scale,
            aside={"kernel of the start": -residual @ before @ before.T / count},
        ),
        "fall of the loss": Identity(
            slope(np.sum((outputs - y) ** 2, axis=1), step), -2 * energy, error=SOLVER * np.abs(energy).max()
        ),
        "difference from the linearized path": Identity(
            slope(outputs - linear, step), -driven, scale=scale, error=SOLVER * scale
        ),
    }


residuals_follow_the_tangent_kernel.control(
    "the kernel of the start at all times", of="velocity of the outputs", kernel="frozen"
)
residuals_follow_the_tangent_kernel.control(
    "without the mean over the data", of="velocity of the outputs", divided=False
)


@residuals_follow_the_tangent_kernel.picture
def velocities(pieces):
    """How fast the outputs move along training, against what the tangent kernel of that moment says."""
    outputs = pieces["velocity of the outputs"]
    said, frozen = np.ravel(outputs.right), np.ravel(outputs.aside["kernel of the start"])
    ends = np.array([said.min(), said.max()])
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("kernel of the moment", said, np.ravel(outputs.left)),
            Dots("kernel of the moment", frozen, np.ravel(outputs.left), rival="the kernel of the start"),
        ],
        x="velocity by the kernel",
        y="velocity of the outputs",
    )


@residuals_follow_the_tangent_kernel.control("half the decay of the squared distance", of="fall of the loss")
def without_two(evidence):
    return replace(evidence, right=evidence.right / 2)


residuals_follow_the_tangent_kernel.control(
    "a difference driven by no drift", of="difference from the linearized path", kernel="frozen"
)


@claim(
    items={
        "J9.2": (
            "risk of the linearized network",
            "dimension of the solutions",
            "solution nearest to the start",
            "path in closed form",
        )
    },
    says=r"The linearized risk is $\|\tilde y-\tilde X\theta\|^2/2n$ with $\tilde X=Df(\theta_0)$ and "
    r"$\tilde y=y-f(\theta_0)+Df(\theta_0)\theta_0$; its minimizers are an affine space of dimension $p-n$, and its "
    r"flow $\bar\theta_t$ ends in the one nearest to the start, $\theta_0+Df(\theta_0)^+(y-f(\theta_0))$.",
    needs="a Jacobian of full row rank",
    symbols={
        r"\tilde X,\tilde y": "features and targets of the least-squares problem",
        r"f,\theta_0": "the model and the parameters at the start; $p$ of them",
        r"\bar\theta_t": "the parameters of the linearized model under gradient flow",
        "n": "the number of samples",
    },
    why=r"$f(\theta_0)+Df(\theta_0)(\theta-\theta_0)$ is affine in $\theta$, so its squared loss is least squares with "
    r"$Df(\theta_0)$ as the design. Gradients lie in the row space of the design: the flow never moves orthogonally to "
    "it, and ends at the one solution that differs from the start within the row space, which is the nearest.",
    notice=r"The flow ends at a distance from the start, on the affine space of solutions; the solution of least norm "
    r"is another point of that space, nearest to the origin.",
)
def linearized_training_is_least_squares(key, *, width: Width = 12):
    network, start, x, y = signed_problem(key, width=width, **SHAPE)
    theta, count = start.ravel(), len(y)
    linear = linearize(lambda values, inputs: network.flat(inputs)(values), theta)
    outputs, jacobian = np.asarray(network.outputs(start, x)), np.asarray(network.jacobian(start, x))
    values = np.linalg.svd(jacobian, compute_uv=False)
    assume(values[-1] > 1e-6 * values[0], "the Jacobian has full row rank")
    features, targets = (np.asarray(part) for part in least_squares_form(jacobian, outputs, theta, y))
    minus = y - outputs - jacobian @ theta
    places = theta + generator(key).standard_normal((5, theta.size))
    risks = np.array([float(jnp.mean((linear(place, x) - y) ** 2) / 2) for place in places])
    # Until the slowest mode is down by e⁻³⁰; the fastest is what the explicit solver's steps must follow.
    times = count / values[-1] ** 2 * np.array([0.1, 1.0, 30.0])
    flowed = gradient_flow(lambda values: linear(values, x), theta, y, times) - theta
    path = np.asarray(linearized_path(jacobian, y - outputs, np.append(times, np.inf)))
    # LAPACK's solution of least norm for the displacement from the start: the fitting parameters nearest to it.
    nearest = lstsq(jacobian, y - outputs)[0]  # pyright: ignore[reportOptionalSubscript]
    size, condition = np.abs(nearest).max(), (values[0] / values[-1]) ** 2
    return {
        "risk of the linearized network": Identity(
            risks,
            np.mean((features @ places.T - targets[:, None]) ** 2, axis=0) / 2,
            size=theta.size,
            aside={"minus": np.mean((features @ places.T - minus[:, None]) ** 2, axis=0) / 2},
        ),
        "dimension of the solutions": Exact(null_space(features).shape[1], theta.size - count),
        "solution nearest to the start": Identity(
            theta + path[-1],
            theta + nearest,
            scale=size,
            condition=condition,
            size=theta.size,
            aside={
                "start": theta,
                "least norm": lstsq(jacobian, y - outputs + jacobian @ theta)[0],  # pyright: ignore[reportOptionalSubscript]
                "path": theta + flowed,
            },
        ),
        "path in closed form": Identity(flowed, path[:-1], error=1e-9 * size * condition),
    }


@linearized_training_is_least_squares.control("a minus before Df θ₀", of="risk of the linearized network")
def minus_the_shift(evidence):
    return replace(evidence, right=evidence.aside["minus"])


@linearized_training_is_least_squares.control("the solution of least norm", of="solution nearest to the start")
def nearest_to_the_origin(evidence):
    return replace(evidence, right=evidence.aside["least norm"])


@linearized_training_is_least_squares.picture
def nearest_solution(pieces):
    """The flow in the plane through the start, its end and the solution of least norm; solutions lie on the line."""
    limit = pieces["solution nearest to the start"]
    start, shortest, end = limit.aside["start"], limit.aside["least norm"], limit.left
    across, along = start - end, shortest - end
    across, along = across / np.linalg.norm(across), along / np.linalg.norm(along)
    length = np.linalg.norm(shortest - end)
    path = np.concatenate([start[None], limit.aside["path"], end[None]]) - end
    return Plane(
        [
            Line("solutions", [-0.2 * length, 1.2 * length], [0, 0]),
            Line("flow", path @ along, path @ across, arrow=True),
            Dots("start", [(start - end) @ along], [(start - end) @ across]),
            Dots("end of the flow", [0.0], [0.0]),
            Dots("end of the flow", [length], [0.0], rival="the solution of least norm"),
        ],
        x="along the solutions",
        y="towards the start",
    )


BENT = float(np.arctanh(3**-0.5))
"""Where tanh is bent most: |tanh″| = 4/(3√3) at tanh u = ±1/√3."""


def bent_most(x, direction, *, width, scale, step=1e-4):
    """‖Df(θ) − Df(θ′)‖/‖θ − θ′‖ for one neuron between two places that see every input at the bend of tanh."""
    network, weights = SignedNetwork(TANH, scale), np.zeros((width, x.shape[1]))
    weights[0] = lstsq(x, np.full(len(x), BENT))[0]  # pyright: ignore[reportOptionalSubscript]
    change = np.zeros_like(weights)
    change[0] = step * direction / np.linalg.norm(direction)
    jacobians = [np.asarray(network.jacobian(weights + sign * change, x)) for sign in (1, -1)]
    return (jacobians[0] - jacobians[1]) / (2 * step)


@claim(
    items={
        "J9.3": ("constant and its bound", "constant attained", "largest curvature of tanh"),
        "J9.8": ("constant and its bound", "least singular value"),
    },
    says=r"For a two-layer network with fixed signs $Df$ is Lipschitz in the operator norm, with the attained "
    r"constant $\frac{\alpha}{\sqrt m}\sup|\sigma''|\max_{\|v\|=1}(\sum_i\langle x_i,v\rangle^4)^{1/2}$, at most "
    r"$\frac{\alpha}{\sqrt m}\sup|\sigma''|\,\|X\|_{op}\max_i\|x_i\|$. Its least singular value moves by no more.",
    needs="linearly independent inputs for the first constant",
    symbols={
        r"Df": "the derivatives of the outputs on all inputs by all weights of the first layer",
        r"\alpha,m": "the scale of the output, and the number of neurons",
        r"\sigma": "the activation",
        r"X": r"the matrix of the inputs $x_i$, with largest singular value $\|X\|_{op}$",
    },
    why=r"The derivative by the weights of one neuron is $\frac{\alpha}{\sqrt m}\sigma'(\langle w,x_i\rangle)x_i$ on "
    r"input $i$, and when $w$ moves along $v$ it changes by the second derivative times $\langle x_i,v\rangle x_i$. "
    r"Along $u$ this matrix has the squared length $\sum_i\langle x_i,v\rangle^2\langle x_i,u\rangle^2$, by Cauchy and "
    r"Schwarz largest for some $u=v$: the root of a sum of fourth powers. Of these, squares $\langle x_i,v\rangle^2$ "
    r"are at most $\|x_i\|^2$ and add up to at most $\|X\|_{op}^2$, which gives the simpler bound; the two agree for "
    r"orthogonal and for repeated inputs, not for two that enclose 60 degrees. By Weyl's inequality no singular value "
    r"moves farther than the matrix.",
    notice=r"For every drawn problem the steepest change that was found stays below the constant, and the constant "
    r"below its simpler bound. For two inputs at 60 degrees the constant is attained and the bound is not: it is a "
    r"sixth larger.",
    full=dict(draws=64),
)
def jacobian_is_lipschitz(key, *, draws: Draws = 12, width: Width = 8):
    ratios, shifts, constants, bounds = [], [], [], []
    for draw in jax.random.split(key, draws):
        network, start, x, _ = signed_problem(draw, width=width, scale=1.7, **SHAPE)
        rng = generator(draw)
        x[1] = 0.9 * x[0] + 0.3 * x[1]  # close pairs make the operator norm of X larger than its longest row
        constants.append(jacobian_lipschitz_constant(network, x, width=width))
        bounds.append(jacobian_lipschitz_bound(network, x, width=width))
        # Far pairs, near pairs, and pairs around the point where one neuron is bent most at all inputs.
        other = start + rng.standard_normal(start.shape) * rng.choice([1.0, 0.1, 0.01])
        jacobians = [np.asarray(network.jacobian(weights, x)) for weights in (start, other)]
        distance = np.linalg.norm(start - other)
        least = [np.linalg.svd(jacobian, compute_uv=False)[-1] for jacobian in jacobians]
        directions = [*x, x[0] + x[1]]
        near = [np.linalg.norm(bent_most(x, v, width=width, scale=1.7), 2) for v in directions]
        ratios.append([np.linalg.norm(jacobians[0] - jacobians[1], 2) / distance, *near])
        shifts.append([abs(least[0] - least[1]), constants[-1] * distance])
    constants, bounds, shifts = np.array(constants), np.array(bounds), np.array(shifts)
    orthogonal = np.diag([1.0, 1.6, 0.7, 1.3, 0.2, 0.9])[:4]
    repeated = np.tile([[0.6, 0.8, 0.3, 0, 0, 0]], (4, 1))
    # Two inputs of length one at 60°: of all directions the one between them has most, 9/8 against 17/16 along either.
    acute = np.array([[1.0, 0, 0], [0.5, 0.75**0.5, 0]])
    extremal = ((orthogonal, orthogonal[1]), (repeated, repeated[0]), (acute, acute.sum(0)))
    attained = [np.linalg.norm(bent_most(x, v, width=width, scale=1.7), 2) for x, v in extremal]
    network = SignedNetwork(TANH, 1.7)
    # One input and one neuron that is not saturated: the only singular value moves at the full speed.
    one = repeated[:1]
    saturated = np.tile(40 * one, (width, 1))
    saturated[0] = BENT * one / np.sum(one**2)
    moved = saturated + 1e-4 * np.eye(width)[:, :1] * one
    sizes = [float(np.linalg.norm(network.jacobian(weights, one))) for weights in (saturated, moved)]
    bound = jacobian_lipschitz_bound(network, one, width=width) * np.linalg.norm(moved - saturated)
    shifts = np.append(shifts, [[abs(sizes[0] - sizes[1]), bound]], axis=0)
    grid = np.linspace(-3, 3, 6001)
    bends = jax.vmap(jax.grad(jax.grad(lambda u: jnp.tanh(u))))(grid)
    return {
        # Differences over 2·10⁻⁴ are off by a relative 10⁻⁸.
        "constant and its bound": Chain(
            {
                "drawn": (np.array(ratios).max(axis=1), constants),
                "by the longest input": (constants, bounds),
            },
            error=1e-7,
        ),
        "constant attained": Identity(
            np.array([*attained, *attained[:2]]),
            np.array(
                [jacobian_lipschitz_constant(network, x, width=width) for x, _ in extremal]
                + [jacobian_lipschitz_bound(network, x, width=width) for x in (orthogonal, repeated)]
            ),
            error=1e-7,
        ),
        "largest curvature of tanh": Identity(float(np.abs(bends).max()), TANH.curvature, error=1e-6),
        "least singular value": Inequality(shifts[:, 0], shifts[:, 1]),
    }


@jacobian_is_lipschitz.control("the longest input squared", of="constant attained")
def longest_squared(evidence):
    return replace(evidence, right=evidence.right / np.array([1.0, 1.0, 1.0, 1.0, 2.0]))


@jacobian_is_lipschitz.control("the square of the operator norm of the data", of="constant attained")
def norm_squared(evidence):
    return replace(evidence, right=evidence.right * np.array([1.0, 1.0, 1.0, 1.0, 2.0]))


@jacobian_is_lipschitz.control("the bound as the constant of any inputs", of="constant attained")
def always_the_bound(evidence):
    # For two unit inputs at 60° the operator norm of X is √(3/2), the root of the sum of fourth powers √(9/8).
    return replace(evidence, right=evidence.right * np.array([1.0, 1.0, (4 / 3) ** 0.5, 1.0, 1.0]))


@jacobian_is_lipschitz.control("the Frobenius norm within the operator norm's constant", of="constant and its bound")
def frobenius(evidence):
    x = np.array([[1.0, 1, 0], [1, 0, 1]])
    change = bent_most(x, np.array([2.0, 1, 1]), width=8, scale=1.0)
    constant = jacobian_lipschitz_constant(SignedNetwork(TANH, 1.0), x, width=8)
    return Chain({"Frobenius": (np.array([np.linalg.norm(change)]), np.array([constant]))}, error=1e-7)


@jacobian_is_lipschitz.picture
def constants_and_bounds(pieces):
    """Steepest changes of the Jacobian that were found, with the constant and its simpler bound, problem by problem."""
    links = pieces["constant and its bound"].links
    found, constants = (np.asarray(side) for side in links["drawn"])
    order = np.argsort(constants)
    acute = pieces["constant attained"]
    place = np.arange(1, len(order) + 1)
    last = [len(order) + 2]
    return Curves(
        [
            Dots("found", place, (found / constants)[order]),
            Level("constant", y=1.0),
            Line("simpler bound", place, np.asarray(links["by the longest input"][1] / constants)[order]),
            Dots("two inputs at 60°", last, [acute.left[2] / acute.right[2]]),
            Dots("", last, [(4 / 3) ** 0.5], rival="the bound as the constant"),
        ],
        x="problem, in order of its constant",
        y="change of the Jacobian, in units of the constant",
    )
