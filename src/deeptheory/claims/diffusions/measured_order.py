"""The order of the diffusion measured on a network, where no moments close: runs of both on common random numbers.

Expectations of smooth functions hardly feel the noise at a fixed batch: they would be as near with another covariance.
What is made of noise alone, how runs scatter, tells covariances apart: exactly on a line fitted to the same points, and
in the limit of small rates on the network.
"""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.coupled_errors import coupled_weak_errors
from deeptheory.diffusions.fluctuations import descent_ends, descent_moments, isotropic_moments, limiting_scatter
from deeptheory.diffusions.stochastic_equations import least_squares_moments
from deeptheory.lab import Law, Rate, claim
from deeptheory.lab.pictures import Curves, Line, Row, power_law

RATES = np.array([0.2, 0.1, 0.05, 0.025])
INPUTS, TARGETS = np.array([-1.2, -0.3, 0.5, 1.4]), np.array([-0.6, 0.4, 0.1, 0.9])
START = np.array([-0.5, 1.5, 0.3])
"""weights that have to turn the function round: the hidden one has the wrong sign"""
RUNS = 256
"""a group; a trial is the mean of one"""
LINE, LINE_START = np.column_stack([INPUTS, np.ones(4)]), np.array([-1.0, 1.0])
"""the same points for a line, slope and shift, and where its fit begins"""
SMALL, BATCHES, SCATTERED = np.array([40, 80, 160]), (2, 4), 2048
"""steps in a unit of time, examples a step, and runs a group, where the scatter of runs is measured"""
WEIGHTS = "w", "v", "b"


def losses(weights):
    """Half the squared error at each of four points, of v·tanh(wx + b)."""
    hidden, top, shift = weights
    return 0.5 * (top * jnp.tanh(hidden * jnp.asarray(INPUTS) + shift) - jnp.asarray(TARGETS)) ** 2


gradients = jax.jacfwd(losses)
"""as four rows of three"""


def top_square(weights):
    return weights[1] ** 2


def evenly(weights):
    """The isotropic covariance with the trace of that of the gradients."""
    each = gradients(weights)
    return jnp.mean(jnp.sum((each - each.mean(0)) ** 2, axis=1)) / 3 * jnp.eye(3)


def line_covariances(batch, steps):
    """Covariances at time 1 of descent on the line, of its diffusion, and of diffusions with other noise."""
    fixed: dict[str, Any] = dict(rate=1 / steps, batch=batch)
    fit = LINE, TARGETS, LINE_START
    found = [descent_moments(*fit, **fixed, steps=steps), least_squares_moments(*fit, **fixed)]
    found += [isotropic_moments(*fit, **fixed), least_squares_moments(*fit, rate=2 / steps, batch=batch)]
    return [each[:2, :2] - np.outer(each[:2, 2], each[:2, 2]) for each in found]


@claim(
    items={
        "A12.17": (
            "four examples a step",
            "eight examples a step",
            "covariances on a line",
            "scatter of runs on the network",
        )
    },
    says=r"On the network $v\tanh(wx+b)$ and four points stochastic gradient descent with rate $\eta$ differs from its "
    r"diffusion $dX=-\nabla L\,dt+\sqrt{\eta/B}\,\Sigma^{1/2}dW$ by order $\eta$ in expectations at a fixed time and "
    r"in covariances, in units of these; with another $\Sigma$ those stay apart.",
    needs="a fixed horizon, here the time 1; smooth test functions; rates small against the curvature",
    symbols={
        "v,w,b": "the weights: top, hidden, and the shift",
        r"\eta,B": "the rate, and the number of examples a step",
        "L": "the mean loss of the four points",
        r"\Sigma": "the covariance of the gradients of single examples",
        "X, W": "the solution of the equation, and Brownian motion",
        "x": "an input",
    },
    why=r"A step of descent and the diffusion over a time $\eta$ have the same mean and covariance up to $\eta^2$, so "
    r"one step differs by $O(\eta^2)$ in expectation, and $1/\eta$ steps add up to $O(\eta)$. To see so small a "
    r"difference both runs get the same random numbers. Noise itself moves an expectation by $O(\eta)$ only, right or "
    r"wrong; the covariance of runs is all noise, of size $\eta/B$, and to leading order what $\Sigma$ brings in along "
    "the gradient flow and the curvature takes away.",
    notice="On the left, differences lie on lines of slope one, for four examples a step and for eight: most of them "
    "comes from the length of steps, and more examples hardly change it. On the right, the covariance of descent nears "
    "that of its diffusion, and stays away from that of noise as strong but the same in all directions.",
)
def order_of_the_diffusion_on_a_network(key, *, trials: Annotated[int, Interval(ge=16, le=512)] = 48):
    def below(own, batch):
        """How far the expectation of v² is below that of the diffusion, by rate and group."""
        setting: dict[str, Any] = dict(batch=batch, runs=RUNS, groups=trials, refinement=2)
        return -coupled_weak_errors(own, gradients, START, (top_square,), RATES, **setting).groups[:, 0]

    def scattered(own, steps, batch):
        """B/η times the covariance of runs, entry by entry and group by group."""
        setting: dict[str, Any] = dict(rate=1 / steps, batch=batch, steps=int(steps), runs=SCATTERED)
        groups = [descent_ends(each, gradients, START, **setting) for each in jax.random.split(own, trials)]
        return np.stack([batch * steps * np.cov(each.T)[upper] for each in groups], axis=-1)

    first, second, third = jax.random.split(key, 3)
    # At the longest steps the next order counts, with what extrapolation leaves of the diffusion's own, and is fitted.
    laws: dict[str, Any] = dict(exponent=-1.0, rivals=(-0.5, -2.0), order=1.0)
    upper = np.triu_indices(3)
    limit, even = limiting_scatter(gradients, START), limiting_scatter(gradients, START, covariance=evenly)
    runs = [
        [scattered(jax.random.fold_in(third, 8 * steps + batch), steps, batch) for batch in BATCHES] for steps in SMALL
    ]
    counts = 25 * 2 ** np.arange(5)
    covariances = np.array([[line_covariances(batch, n) for batch in (1, 3)] for n in counts])
    distances = np.linalg.norm(covariances[:, :, :1] - covariances[:, :, 1:], axis=(3, 4))
    apart = np.max(distances / np.linalg.norm(covariances[:, :, 1], axis=(2, 3))[..., None], axis=1)
    return {
        "four examples a step": Rate(1 / RATES, below(first, 4), **laws),
        "eight examples a step": Rate(1 / RATES, below(second, 8), **laws),
        "covariances on a line": Rate(
            counts,
            apart[:, 0],
            exponent=-1.0,
            rivals=(-0.5, -2.0),
            aside={"isotropic": apart[:, 1], "twice": apart[:, 2]},
        ),
        # Wrong noise is off by a third, by once the covariance, and by far more where it is not isotropic.
        "scatter of runs on the network": Law(
            np.broadcast_to(limit[upper], (len(BATCHES), 6)),
            np.array(runs),
            sizes=SMALL,
            order=1.0,
            scale=np.sqrt(np.outer(np.diag(limit), np.diag(limit)))[upper],
            along={
                "examples a step": BATCHES,
                "weights": [WEIGHTS[i] + WEIGHTS[j] for i, j in zip(*upper, strict=True)],
            },
            resolution=0.08,
            aside={"isotropic": even[upper]},
        ),
    }


@order_of_the_diffusion_on_a_network.control("isotropic noise of the same trace, on a line", of="covariances on a line")
def even_on_a_line(evidence):
    return replace(evidence, y=evidence.aside["isotropic"])


@order_of_the_diffusion_on_a_network.control("twice the covariance, on a line", of="covariances on a line")
def twice_on_a_line(evidence):
    return replace(evidence, y=evidence.aside["twice"])


@order_of_the_diffusion_on_a_network.control(
    "isotropic noise of the same trace, on the network", of="scatter of runs on the network"
)
def even_on_the_network(evidence):
    return replace(evidence, predicted=np.broadcast_to(evidence.aside["isotropic"], evidence.predicted.shape))


@order_of_the_diffusion_on_a_network.control(
    "the covariance of four gradients over three", of="scatter of runs on the network"
)
def one_gradient_less(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) * 4 / 3)


@order_of_the_diffusion_on_a_network.picture
def differences(pieces):
    """How far descent is from its diffusion along 1/η: expectations on the network (left), and covariances on a line,
    of the diffusion and of one with isotropic noise of the same trace (right)."""
    *means, line = list(pieces.items())[:3]
    marks = [mark for name, each in means for mark in power_law(name, each, rivals={-0.5: "order ½", -2.0: "order 2"})]
    scatter = [
        *power_law("descent and its diffusion", line[1]),
        Line("descent and its diffusion", line[1].x, line[1].aside["isotropic"], rival="isotropic noise"),
    ]
    return Row(
        [
            Curves(marks, x="one over the rate", y="difference of expectations", log="xy"),
            Curves(scatter, x="one over the rate", y="difference of covariances, in units of them", log="xy"),
        ]
    )
