"""A transformer that learns from its prompt: layers of attention are steps of gradient descent (handbook 14.1)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Trials, claim
from deeptheory.lab.pictures import compared
from deeptheory.reasoning.in_context import best_step, in_context_predictions

EXAMPLES = np.array([4, 8, 16, 32])


def descended(x, y, queries, step_size, steps):
    """Predictions of weights after each of the steps of gradient descent on least squares from zero, step by step."""
    weights = np.zeros((y.shape[-1], x.shape[-1]))
    found = []
    for _ in range(steps):
        slope = sum(np.outer(weights @ a - b, a) for a, b in zip(x, y, strict=True)) / len(x)
        weights = weights - step_size * slope
        found.append(queries @ weights.T)
    return np.array(found)


@claim(
    items={"H14.1": ("layers against steps of gradient descent", "risk of one layer")},
    says=r"A layer of linear attention with fixed weights predicts for a query in the prompt what one step of gradient "
    r"descent on the prompt's examples does, $L$ layers what $L$ steps do. With normal data and the best step one "
    r"layer has risk $d(d+1+\sigma^2)/(n+d+1+\sigma^2)$.",
    needs="no softmax; queries are not attended to; inputs, queries and true weights standard normal",
    symbols={
        "L": "the number of layers",
        "d": "the number of inputs",
        "n": "the number of examples in the prompt",
        r"\sigma^2": "the variance of the noise of the labels",
    },
    why=r"The gradient of least squares is a sum over examples of residual times input. Attention computes just such a "
    r"sum, with values that read residuals and with scores $\langle x_i,x\rangle$. The prediction at the query changes "
    r"by it, and the examples' labels become residuals by the same sum, which the next layer reads. One step gives "
    r"$\hat w=\eta S w+\dots$ with the sample covariance $S$, whose second moment is $E\,S^2=(1+(d+1)/n)I$.",
    notice="The risk falls as one over the number of examples, though no weight of the network changes. With the "
    "factor of the sample covariance off by one, dashed, the prediction misses short prompts.",
    explore={"noise": (0.0, 0.5, 1.0, 2.0)},
)
def attention_takes_gradient_steps(
    key,
    *,
    trials: Trials = 16_000,
    dimension: Annotated[int, Interval(ge=2, le=6)] = 3,
    noise: Annotated[float, Interval(ge=0, le=2)] = 0.5,
):
    rng = generator(key)
    x, y, queries = (rng.standard_normal(shape) for shape in ((9, dimension), (9, 2), (5, dimension)))
    layers, step_size = 6, 0.3
    read = [in_context_predictions(x, y, queries, step_size=step_size, layers=k + 1) for k in range(layers)]
    steps = descended(x, y, queries, step_size, layers + 1)

    axes, errors = np.broadcast_to(np.eye(dimension), (trials, dimension, dimension)), []
    for n in EXAMPLES.tolist():
        x, ripple = rng.standard_normal((trials, n, dimension)), rng.standard_normal((trials, n, 1))
        # The map from labels to learnt weights is linear, so that true weights and query are integrated out: each
        # input serves as a label of its own, and unit queries read off what is learnt of it, and of the noise.
        labels = np.concatenate([x, noise**0.5 * ripple], -1)
        learnt = in_context_predictions(x, labels, axes, step_size=best_step(dimension, n, noise=noise))
        errors.append(((learnt - np.eye(dimension, dimension + 1)) ** 2).sum((-1, -2)))
    more = dimension + 1 + noise
    return {
        "layers against steps of gradient descent": Identity(
            np.array(read),
            steps[:-1],
            scale=np.abs(steps[:-1]).max(),
            size=64,
            aside={"one step more": steps[1:]},
        ),
        "risk of one layer": Law(
            dimension * more / (EXAMPLES + more),
            np.array(errors),
            exact=True,
            along={"examples in the prompt": EXAMPLES},
            aside={"d for d + 1": dimension * (more - 1) / (EXAMPLES + more - 1)},
        ),
    }


@attention_takes_gradient_steps.control("one step more than layers", of="layers against steps of gradient descent")
def one_more(evidence):
    return replace(evidence, right=evidence.aside["one step more"])


@attention_takes_gradient_steps.control("d for d + 1 in the second moment of the covariance", of="risk of one layer")
def covariance_off_by_one(evidence):
    return replace(evidence, predicted=evidence.aside["d for d + 1"])


@attention_takes_gradient_steps.picture
def risk_by_examples(pieces, settings):
    """Risk of one layer of linear attention by the number of examples in its prompt, and what theory says."""
    piece, dimension = pieces["risk of one layer"], settings["dimension"]

    def risk(n, more=1.0):
        n, more = np.asarray(n, float), dimension + more + settings["noise"]
        return dimension * more / (n + more)

    return compared(
        piece.along["examples in the prompt"],
        risk,
        piece.observed,
        rivals={"d for d + 1": lambda n: risk(n, 0.0)},
        x="examples in the prompt",
        y="mean squared error",
        log="xy",
    )
