"""The order of the diffusion measured on a network, where no moments close: runs of both on common random numbers."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.coupled_errors import coupled_weak_errors
from deeptheory.lab import Rate, claim
from deeptheory.lab.pictures import Curves, power_law

RATES = np.array([0.2, 0.1, 0.05, 0.025])
INPUTS, TARGETS = np.array([-1.2, -0.3, 0.5, 1.4]), np.array([-0.6, 0.4, 0.1, 0.9])
START = np.array([-0.5, 1.5, 0.3])
"""weights that have to turn the function round: the hidden one has the wrong sign"""
RUNS = 256
"""a group; a trial is the mean of one"""


def losses(weights):
    """Half the squared error at each of four points, of v·tanh(wx + b)."""
    hidden, top, shift = weights
    return 0.5 * (top * jnp.tanh(hidden * jnp.asarray(INPUTS) + shift) - jnp.asarray(TARGETS)) ** 2


gradients = jax.jacfwd(losses)
"""as four rows of three"""


def top_square(weights):
    return weights[1] ** 2


@claim(
    items={"A12.17": ("four examples a step", "eight examples a step")},
    says=r"On the network $v\tanh(wx+b)$ and four points the expectations of stochastic gradient descent with rate "
    r"$\eta$ differ from those of its diffusion $dX=-\nabla L\,dt+\sqrt{\eta/B}\,\Sigma^{1/2}dW$ by an amount of order "
    r"$\eta$ at a fixed time: neither $\sqrt\eta$ nor $\eta^2$. Seen on $v^2$.",
    needs="a fixed horizon, here the time 1; smooth test functions; rates small against the curvature",
    symbols={
        "v,w,b": "the weights: top, hidden, and the shift",
        r"\eta,B": "the rate, and the number of examples a step",
        "L": "the mean loss of the four points",
        r"\Sigma": "the covariance of the gradients of single examples",
    },
    why=r"A step of descent and the diffusion over a time $\eta$ have the same mean and covariance up to $\eta^2$, so "
    r"one step differs by $O(\eta^2)$ in expectation, and $1/\eta$ steps add up to $O(\eta)$. Paths themselves are "
    r"only within $\sqrt\eta$. To see a difference this small both runs get the same random numbers: the examples that "
    r"are drawn are those whose Brownian increments are largest.",
    notice="On logarithmic axes the differences lie on lines of slope one, for four examples a step and for eight. "
    "More examples mean less noise and hardly another difference: most of it comes from the length of steps.",
)
def order_of_the_diffusion_on_a_network(key, *, trials: Annotated[int, Interval(ge=16, le=512)] = 48):
    def below(own, batch):
        """How far the expectation of v² is below that of the diffusion, by rate and group."""
        setting: dict[str, Any] = dict(batch=batch, runs=RUNS, groups=trials, refinement=2)
        return -coupled_weak_errors(own, gradients, START, (top_square,), RATES, **setting).groups[:, 0]

    first, second = jax.random.split(key)
    # At the longest steps the next order counts, with what extrapolation leaves of the diffusion's own, and is fitted.
    laws: dict[str, Any] = dict(exponent=-1.0, rivals=(-0.5, -2.0), order=1.0)
    return {
        "four examples a step": Rate(1 / RATES, below(first, 4), **laws),
        "eight examples a step": Rate(1 / RATES, below(second, 8), **laws),
    }


@order_of_the_diffusion_on_a_network.picture
def differences(pieces):
    """How far expectations of descent are from those of its diffusion, along 1/η."""
    marks = [
        mark
        for name, each in pieces.items()
        for mark in power_law(name, each, rivals={-0.5: "order ½", -2.0: "order 2"})
    ]
    return Curves(marks, x="one over the rate", y="difference of expectations", log="xy")
