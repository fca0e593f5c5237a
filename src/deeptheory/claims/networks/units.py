"""Units and their losses: ridges, the derivatives of the sigmoid, and slopes that are residuals (lucchi 2.4 to 2.7)."""

from dataclasses import replace
from typing import Annotated

import mpmath
import numpy as np
import scipy.special
from annotated_types import Interval

from deeptheory.foundations.cross_entropy import softmax_jacobian
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.networks.activations import ridge, ridge_slopes, sigmoid_derivative, sigmoid_polynomial
from deeptheory.networks.logit_losses import (
    Perceptron,
    binary_residual,
    perceptron_slopes,
    softmax_residual,
)

STEP = 1e-30j
PLACES = np.linspace(-4, 4, 17)
ACTIVATIONS = ["sigmoid", "tanh", "softplus", "sine", "relu"]


def sigma(z):
    """The sigmoid as it is printed, for complex numbers too."""
    return 1 / (1 + np.exp(-z))


PRINTED = {
    "sigmoid": sigma,
    "tanh": lambda z: (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z)),
    "softplus": lambda z: np.log(1 + np.exp(z)),
    "sine": np.sin,
    "relu": lambda z: z * (np.real(z) > 0),
}


def slopes(function, at):
    """The gradient by one array, entry by entry, from imaginary steps in a formula written out."""
    result = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        moved = at.astype(complex)
        moved[place] += STEP
        result[place] = np.imag(function(moved)) / abs(STEP)
    return result


@claim(
    items={
        "L2.8": ("values across the ridge", "slope by the input", "slope by the weights"),
        "L2.9": ("derivatives of the sigmoid", "hyperbolic tangent"),
    },
    says=r"A unit $\phi(x^\top\theta)$ is constant across $\theta$; its slopes are $\phi'(x^\top\theta)\,\theta$ by "
    r"the input and $\phi'(x^\top\theta)\,x$ by the weights. Of the sigmoid all derivatives are polynomials in it, "
    r"$P_{k+1}(s)=P_k'(s)\,s(1-s)$ from $P_0=s$, and $\tanh z=2\sigma(2z)-1$.",
    needs="differentiable activations (ReLU away from its kink); derivatives up to the sixth order against mpmath",
    symbols={
        r"\phi": "the activation",
        r"x, \theta": "the input and the weights",
        r"\sigma": "the sigmoid $1/(1+e^{-z})$",
        "P_k": r"the polynomial with $\sigma^{(k)}=P_k(\sigma)$",
    },
    why="The unit sees its input only through one number, so nothing changes along directions that leave it alone, and "
    "the chain rule has one factor for how the unit reacts and one for how the number moves. As the slope of the "
    "sigmoid is s(1 − s), differentiating a polynomial in it gives its derivative times s(1 − s), a polynomial again.",
    notice="The slope of the sigmoid is a bump of height one quarter, and each derivative has one more change of sign. "
    "All of them vanish where the unit is saturated.",
)
def ridges_and_sigmoids(key, *, inputs: Annotated[int, Interval(ge=2, le=50)] = 5):
    rng = generator(key)
    x, theta, off = rng.standard_normal((3, inputs))
    off -= theta * (off @ theta) / (theta @ theta)
    given = [ridge_slopes(x, theta, activation=name) for name in ACTIVATIONS]
    by_input = np.array([slopes(lambda z, f=PRINTED[name]: f(z @ theta), x) for name in ACTIVATIONS])
    by_weights = np.array([slopes(lambda t, f=PRINTED[name]: f(x @ t), theta) for name in ACTIVATIONS])
    orders = np.arange(1, 7)
    with mpmath.workdps(50):
        exact = [[mpmath.diff(lambda t: 1 / (1 + mpmath.exp(-t)), mpmath.mpf(z), k) for z in PLACES] for k in orders]
    along = {"activation": np.array(ACTIVATIONS)}
    sizes = [np.sum(np.abs(sigmoid_polynomial(int(k)))) for k in orders]
    rival = [[np.polynomial.polynomial.polyval(sigma(z), one_factor(int(k))) for z in PLACES] for k in orders]
    return {
        "values across the ridge": Identity(
            np.array([ridge(x + 2 * off, theta, activation=name) for name in ACTIVATIONS]),
            np.array([PRINTED[name](x @ theta) for name in ACTIVATIONS]),
            scale=1 + np.abs(x).max() * np.abs(theta).sum(),
            size=inputs,
            along=along,
            aside={"along the weights": np.array([PRINTED[n]((x + 0.1 * theta) @ theta) for n in ACTIVATIONS])},
        ),
        "slope by the input": Identity(
            np.array([each.by_input for each in given]),
            by_input,
            scale=1 + np.abs(theta).max(),
            size=inputs,
            aside={"length": np.linalg.norm(theta)},
        ),
        "slope by the weights": Identity(
            np.array([each.by_weights for each in given]),
            by_weights,
            scale=1 + np.abs(x).max(),
            size=inputs,
            aside={"along the weights": by_input},
        ),
        # The terms of the polynomial cancel: rounding is that of the largest.
        "derivatives of the sigmoid": Identity(
            np.array([sigmoid_derivative(PLACES, order=int(k)) for k in orders]),
            np.array(exact, float),
            scale=np.array(sizes)[:, None],
            along={"order": orders, "z": PLACES},
            aside={"one factor": np.array(rival)},
        ),
        "hyperbolic tangent": Identity(
            2 * sigmoid_derivative(2 * PLACES, order=0) - 1,
            PRINTED["tanh"](PLACES),
            scale=1.0,
            aside={"of z": 2 * sigma(PLACES) - 1},
        ),
    }


def one_factor(order):
    """The recurrence without (1 − s): P_{k+1} = P_k′ s."""
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([0.0, 1.0])
    return polynomial.coef


@ridges_and_sigmoids.control("moved a tenth of the weights along them", of="values across the ridge")
def along_weights(evidence):
    return replace(evidence, right=evidence.aside["along the weights"])


@ridges_and_sigmoids.control("weights of length one", of="slope by the input")
def unit_weights(evidence):
    return replace(evidence, right=evidence.right / evidence.aside["length"])


@ridges_and_sigmoids.control("along the weights, not along the input", of="slope by the weights")
def not_along_input(evidence):
    return replace(evidence, right=evidence.aside["along the weights"])


@ridges_and_sigmoids.control("the factor 1 − s left out of the recurrence", of="derivatives of the sigmoid")
def without_factor(evidence):
    return replace(evidence, left=evidence.aside["one factor"])


@ridges_and_sigmoids.control("tanh z = 2σ(z) − 1", of="hyperbolic tangent")
def of_z(evidence):
    return replace(evidence, left=evidence.aside["of z"])


@ridges_and_sigmoids.picture
def derivatives(pieces):
    """The first four derivatives of the sigmoid: polynomials in it as lines, mpmath as dots."""
    seen = pieces["derivatives of the sigmoid"]
    dense, marks = np.linspace(-4, 4, 100), []
    for k in range(4):
        name = f"order {k + 1}"
        marks += [Line(name, dense, sigmoid_derivative(dense, order=k + 1)), Dots(name, PLACES, seen.right[k])]
    return Curves(marks, x="the sum z that the unit sees", y="derivative of the sigmoid")


@claim(
    items={
        "L2.10": ("two classes are a sigmoid", "one number added to all logits"),
        "L2.11": ("softmax loss by the weights", "curvature of the softmax loss", "the softmax loss is convex"),
        "L2.12": ("perceptron by its outer weights", "perceptron by its inner weights"),
        "L2.14": "binary loss by the logit",
    },
    says=r"Cross-entropy after softmax has the slope $(p_i-y_i)x$ by $\theta_i$, and after a sigmoid $\sigma(z)-y$ by "
    r"the logit: residuals, without a slope of the activation. The squared loss of $\sum_j\beta_j\sigma(w_j^\top x)$ "
    r"has $(f-y)\sigma$ by $\beta_j$ and $(f-y)\beta_j\sigma(1-\sigma)x$ by $w_j$.",
    needs="labels that add up to one; logits linear in the input",
    symbols={
        r"p, \theta_i": "the softmax of the logits $x^\\top\\theta_i$, and the weights of class $i$",
        "y": "the label, one-hot, 0 or 1, or a number",
        "z": "the logit, what the sigmoid sees",
        r"\sigma": "the sigmoid, of $z$ or of the sum $w_j^\\top x$ of a unit",
        r"f, \beta_j, w_j": "the perceptron, its outer weights, and the inner weights of unit $j$",
    },
    why="The logarithm undoes the exponential: the loss is the log of a sum of exponentials less the logit of the "
    "label, and the derivative of the first is the softmax itself. With a squared loss nothing undoes the activation, "
    "so its slope stays as a factor. Softmax sees only differences of logits, which is why two classes need one logit.",
    notice="Where the unit is surely wrong, far to the left, the slope of cross-entropy is near −1 and that of the "
    "squared loss near 0: the one says go on, the other has fallen asleep.",
)
def slopes_are_residuals(key, *, classes: Annotated[int, Interval(ge=2, le=20)] = 4):
    rng = generator(key)
    theta, x = rng.standard_normal((classes, 3)), rng.standard_normal(3)
    label, soft = np.eye(classes)[rng.integers(classes)], rng.dirichlet(np.ones(classes))
    logits = theta @ x

    def softmax(z):
        return np.exp(z) / np.sum(np.exp(z))

    def derivative(function, at):
        """By row the gradient of each entry of what a function returns."""
        return np.array(
            [slopes(lambda a, i=i: function(a).ravel()[i], at).ravel() for i in range(np.size(function(at)))]
        )

    labels = np.stack([label, soft])
    by_weights = np.array([slopes(lambda t, y=y: -np.sum(y * np.log(softmax(t @ x))), theta) for y in labels])
    # Each slope written out, differentiated by all weights of all classes.
    curvature = derivative(lambda t: (softmax(t @ x) - soft)[:, None] * x, theta)
    places = 2 * rng.standard_normal((20, classes))
    bends = np.array([derivative(lambda z: softmax(z) - soft, z) for z in places])

    def squared_slope(z):
        p = softmax(z)
        return p * (p - label) - p * np.sum(p * (p - label))

    squares = np.array([derivative(squared_slope, z) for z in places])
    pairs = rng.standard_normal((20, 2))
    gap = pairs[:, 0] - pairs[:, 1]
    z = np.concatenate([PLACES, PLACES])
    y = np.repeat([0.0, 1.0], len(PLACES))
    binary = np.array(
        [
            slopes(lambda t, b=b: -b * np.log(sigma(t)) - (1 - b) * np.log(1 - sigma(t)), np.array(a))
            for a, b in zip(z, y, strict=True)
        ]
    )
    net = Perceptron(rng.standard_normal(4), rng.standard_normal((4, 3)))
    inputs, targets = rng.standard_normal((6, 3)), rng.standard_normal(6)

    def squared(outer, inner):
        return np.mean((sigma(inputs @ inner.T) @ outer - targets) ** 2) / 2

    ours = perceptron_slopes(net, inputs, targets)
    error = (sigma(inputs @ net.inner.T) @ net.outer - targets) / 6
    hidden = sigma(inputs @ net.inner.T)
    return {
        "two classes are a sigmoid": Identity(
            1 + softmax_residual(pairs, np.tile([1.0, 0.0], (20, 1)))[:, 0], sigma(gap), scale=1.0, size=4,
            aside={"of twice": sigma(2 * gap)},
        ),
        "one number added to all logits": Identity(
            softmax_residual(logits + 5.0, label), softmax(logits) - label, scale=8.0, size=classes,
            aside={"to the first": softmax(logits + 5 * np.eye(classes)[0]) - label},
        ),
        "softmax loss by the weights": Identity(
            np.array([softmax_residual(logits, y)[:, None] * x for y in labels]), by_weights,
            scale=np.abs(x).max(), size=classes, along={"label": ["one class", "shares"]},
            aside={
                "likeliest": np.array([(softmax(logits) - np.eye(classes)[y.argmax()])[:, None] * x for y in labels])
            },
        ),
        "curvature of the softmax loss": Identity(
            np.kron(softmax_jacobian(scipy.special.softmax(logits)), np.outer(x, x)), curvature,
            scale=np.max(x**2), size=classes,
            aside={
                "diagonal": np.kron(np.diag(softmax(logits)), np.outer(x, x)),
                "by logits": np.kron(softmax_jacobian(scipy.special.softmax(logits)), np.eye(3)),
            },
        ),
        "the softmax loss is convex": Inequality(
            -np.linalg.eigvalsh(bends)[:, 0], 0.0, error=1e-14 * classes,
            aside={"squared": -np.linalg.eigvalsh(squares)[:, 0]},
        ),
        "binary loss by the logit": Identity(
            binary_residual(z, y).reshape(2, -1), binary.reshape(2, -1), scale=1.0, size=4,
            along={"label": np.array([0, 1]), "logit": PLACES},
            aside={"squared": ((sigma(z) - y) * sigma(z) * (1 - sigma(z))).reshape(2, -1)},
        ),
        "perceptron by its outer weights": Identity(
            ours.outer, slopes(lambda b: squared(b, net.inner), net.outer), scale=np.abs(error).sum(), size=24,
            aside={"of the sums": error @ (inputs @ net.inner.T)},
        ),
        "perceptron by its inner weights": Identity(
            ours.inner, slopes(lambda w: squared(net.outer, w), net.inner),
            scale=np.abs(error).sum() * np.abs(inputs).max() * np.abs(net.outer).max(), size=24,
            aside={"one sigmoid": (error[:, None] * hidden * net.outer).T @ inputs},
        ),
    }  # fmt: skip


@slopes_are_residuals.control("the sigmoid of twice the difference", of="two classes are a sigmoid")
def of_twice(evidence):
    return replace(evidence, right=evidence.aside["of twice"])


@slopes_are_residuals.control("added to the first alone", of="one number added to all logits")
def to_the_first(evidence):
    return replace(evidence, right=evidence.aside["to the first"])


@slopes_are_residuals.control("the likeliest class in place of its share", of="softmax loss by the weights")
def likeliest(evidence):
    return replace(evidence, left=evidence.aside["likeliest"])


@slopes_are_residuals.control("diag p without ppᵀ", of="curvature of the softmax loss")
def only_diagonal(evidence):
    return replace(evidence, left=evidence.aside["diagonal"])


@slopes_are_residuals.control("the same for all inputs, without xxᵀ", of="curvature of the softmax loss")
def without_input(evidence):
    return replace(evidence, left=evidence.aside["by logits"])


@slopes_are_residuals.control("the squared loss of a softmax too", of="the softmax loss is convex")
def squares_too(evidence):
    return replace(evidence, quantity=evidence.aside["squared"])


@slopes_are_residuals.control("times the slope of the sigmoid, as for a squared loss", of="binary loss by the logit")
def squared_loss(evidence):
    return replace(evidence, left=evidence.aside["squared"])


@slopes_are_residuals.control("sums of the units in place of their outputs", of="perceptron by its outer weights")
def of_the_sums(evidence):
    return replace(evidence, left=evidence.aside["of the sums"])


@slopes_are_residuals.control("σ in place of σ(1 − σ)", of="perceptron by its inner weights")
def one_sigmoid(evidence):
    return replace(evidence, left=evidence.aside["one sigmoid"])


@slopes_are_residuals.picture
def slopes_by_logit(pieces):
    """The slope by the logit for the label 1: of cross-entropy, and of the squared loss of the same sigmoid."""
    seen = pieces["binary loss by the logit"]
    marks = [
        Line("cross-entropy", PLACES, seen.left[1]),
        Dots("cross-entropy", PLACES, seen.right[1]),
        Line("", PLACES, seen.aside["squared"][1], rival="squared loss"),
    ]
    return Curves(marks, x="logit z of an example with label 1", y="slope of the loss")
