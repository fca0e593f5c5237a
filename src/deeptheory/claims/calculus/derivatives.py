"""Derivatives as limits, the chain rule, and gradients by hand (lucchi 1.3.1, 1.3.2, 1.3.4, Ch. 1 Problem 2)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.calculus.derivatives import (
    chain_rule_jacobian,
    difference_jacobian,
    directional_derivative,
    factorization_gradients,
    least_squares_gradient,
    nonlinear_least_squares,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line

STEPS = 2.0 ** -np.arange(2, 8)


def complex_step(function, point):
    """The gradient of a function that NumPy evaluates at complex points: Im f(x + ihe)/h, exact to rounding."""
    return np.array([function(point + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(point))])


@claim(
    items={"L1.4": ("forward quotients", "central quotients", "errors of a cubic", "along a direction", "chain rule")},
    says=r"$(f(x+\epsilon e_i)-f(x))/\epsilon\to\partial_if$ with an error of order $\epsilon$, and of order "
    r"$\epsilon^2$ if the quotient is central. Along $v$ the derivative is $\nabla f\cdot v$; of $f\circ g$ the "
    r"Jacobian is $J_f(g(x))J_g(x)$, in this order.",
    needs="a smooth function of three variables, a cubic for the constants, and two maps of three variables",
    symbols={
        r"\epsilon": "the step",
        r"e_i": "a unit vector",
        r"J_f": "the matrix of partial derivatives, a row for each value",
    },
    why=r"By Taylor's theorem the quotient is $f'+\frac\epsilon2f''+\frac{\epsilon^2}6f'''+\dots$, and the mean of the "
    r"quotients forward and backward loses every odd term. To first order $g$ moves by $J_gv$ and then $f$ by $J_f$ of "
    r"that: linear maps are composed, and matrices multiplied in the same order.",
    notice="Errors over the step in logarithmic axes: slopes 1 and 2, down to where rounding takes over for steps that "
    "are much smaller.",
)
def difference_quotients(key):
    rng = generator(key)
    point, direction = rng.uniform(0.3, 1.0, 3), rng.normal(size=3)
    matrix, other = rng.normal(size=(2, 3, 3))

    def smooth(x):
        return jnp.sin(x[0] * x[1]) + jnp.exp(x[2] * x[0])

    a, b, c = point
    cosine, growth = np.cos(a * b), np.exp(a * c)
    gradient = np.array([b * cosine + c * growth, a * cosine, a * growth])
    errors = np.array(
        [[np.linalg.norm(difference_jacobian(smooth, point, step=float(e), central=which) - gradient) for e in STEPS]
         for which in (False, True)]
    )  # fmt: skip
    forward, central = (
        np.array([difference_jacobian(lambda x: x[0] ** 3, point[:1], step=float(e), central=which)[0] for e in STEPS])
        for which in (False, True)
    )
    found = np.asarray(chain_rule_jacobian(lambda z: jnp.tanh(matrix @ z), lambda x: jnp.sin(other @ x), point))
    outer = matrix / np.cosh(matrix @ np.sin(other @ point))[:, None] ** 2
    inner = other * np.cos(other @ point)[:, None]
    composed = np.array([complex_step(lambda x, m=m: np.tanh(m @ np.sin(other @ x)), point) for m in matrix])
    return {
        "forward quotients": Rate(1 / STEPS, errors[0], exponent=-1.0, rivals=(-0.5, -2.0)),
        "central quotients": Rate(1 / STEPS, errors[1], exponent=-2.0, rivals=(-1.0, -3.0)),
        "errors of a cubic": Identity(
            np.stack([forward, central]) - 3 * a**2,
            np.stack([3 * a * STEPS + STEPS**2, STEPS**2]),
            scale=1 / STEPS,
            aside={"a": np.array([a])},
        ),
        "along a direction": Identity(
            float(directional_derivative(smooth, point, direction)), gradient @ direction, scale=np.abs(gradient).sum(),
            size=10, aside={"unit": np.array([gradient @ direction / np.linalg.norm(direction)])},
        ),
        "chain rule": Identity(
            found, composed, scale=np.abs(outer).max() * np.abs(inner).max(), size=10, aside={"reversed": inner @ outer}
        ),
    }  # fmt: skip


@difference_quotients.control("half the error of the forward quotient", of="errors of a cubic")
def half_the_error(evidence):
    right = np.asarray(evidence.right)
    return replace(evidence, right=np.stack([right[0] - 1.5 * evidence.aside["a"][0] * STEPS, right[1]]))


@difference_quotients.control("along the unit vector instead of v", of="along a direction")
def unit_vector(evidence):
    return replace(evidence, left=evidence.aside["unit"][0])


@difference_quotients.control("the Jacobians in the other order", of="chain rule")
def other_order(evidence):
    return replace(evidence, left=evidence.aside["reversed"])


@difference_quotients.picture
def errors_over_steps(pieces):
    """Errors of forward and central difference quotients over the step, with lines of slopes one and two."""
    marks = []
    for name in ("forward quotients", "central quotients"):
        piece = pieces[name]
        y = np.asarray(piece.y)
        marks += [
            Dots(name, STEPS, y),
            Line(f"slope {-piece.exponent:g}", STEPS, y[-1] * (STEPS / STEPS[-1]) ** -piece.exponent),
        ]
    return Curves(marks, x="step ε", y="error", log="xy")


@claim(
    items={
        "L1.8": "least squares",
        "L1.18": ("least squares", "factorization", "nonlinear least squares", "its Hessian"),
    },
    says=r"$\nabla\|Ax-y\|^2=2A^\top(Ax-y)$. Of $\frac12\|UV-R\|_F^2$ the derivatives are $(UV-R)V^\top$ and "
    r"$U^\top(UV-R)$. Of $\frac1{2n}\sum(y_i-\ell(x_i^\top w))^2$ the Hessian is "
    r"$\frac1n\sum(\ell_i'^2-(y_i-\ell_i)\ell_i'')x_ix_i^\top$, which need not be positive semidefinite.",
    needs="whole-number matrices, where central differences of quadratic functions are exact; a tanh unit by complex "
    "steps",
    symbols={
        r"A,\ y": "a matrix and targets",
        r"U,\ V,\ R": "two factors, and the matrix that they approximate",
        r"\ell": "a smooth function of one variable, with $\\ell_i=\\ell(x_i^\\top w)$",
    },
    why=r"Each is the chain rule with the derivative of a square, twice the residual, transposed into the shape of the "
    r"variable. The second derivative of a square of a nonlinear function has two parts: the product of first "
    r"derivatives, never negative, and the residual times the curvature, of either sign.",
    notice="The second derivative of one tanh unit's loss along its weight, and its first part alone (Gauss and "
    "Newton's): where its second part, residual times curvature, prevails, the true one is "
    "negative.",
)
def gradients_by_hand(key):
    rng = generator(key)
    a, y, x = rng.integers(-4, 5, (6, 3)), rng.integers(-4, 5, 6), rng.integers(-4, 5, 3)
    u, v, r = rng.integers(-4, 5, (3, 3, 3))
    inputs, targets, weights = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=3)

    def squares(x):
        return int(((a @ x - y) ** 2).sum())

    def product(u, v):
        return int(((u @ v - r) ** 2).sum())  # twice the loss

    units = np.eye(9, dtype=int).reshape(9, 3, 3)
    whole = [int(squares(x + e) - squares(x - e)) for e in np.eye(3, dtype=int)]  # twice the gradient
    left = np.array([product(u + e, v) - product(u - e, v) for e in units]).reshape(3, 3)
    right = np.array([product(u, v + e) - product(u, v - e) for e in units]).reshape(3, 3)
    ours = [np.round(each).astype(int) for each in factorization_gradients(*(m.astype(float) for m in (u, v, r)))]

    def risk(w):
        return ((targets - np.tanh(inputs @ w)) ** 2).sum() / 12

    gradient, hessian = (np.asarray(each) for each in nonlinear_least_squares(jnp.tanh, inputs, targets, weights))
    step = 1e-4
    bends = np.array(
        [complex_step(risk, weights + step * e) - complex_step(risk, weights - step * e) for e in np.eye(3)]
    )
    slopes = 1 / np.cosh(inputs @ weights) ** 2
    grid = np.linspace(-3, 3, 121)
    bent = jax.vmap(lambda w: nonlinear_least_squares(jnp.tanh, jnp.ones((1, 1)), jnp.full(1, -0.9), w[None])[1][0, 0])(
        grid
    )
    return {
        "least squares": Exact(
            np.round(2 * np.asarray(least_squares_gradient(*(each.astype(float) for each in (a, y, x))))).astype(int),
            np.array(whole),
        ),
        "factorization": Exact(
            np.stack([4 * ours[0], 4 * ours[1]]), np.stack([left, right]),
            aside={"untransposed": 4 * np.stack([(u @ v - r) @ v, u @ (u @ v - r)])},
        ),
        "nonlinear least squares": Identity(
            gradient, complex_step(risk, weights), scale=np.abs(gradient).max(), size=20,
            aside={"no slope": -((targets - np.tanh(inputs @ weights)) @ inputs) / 6},
        ),
        "its Hessian": Identity(
            hessian, bends / (2 * step), scale=np.abs(hessian).max(), error=1e-6 * np.abs(hessian).max(),
            aside={"first part": (inputs * slopes[:, None] ** 2).T @ inputs / 6, "w": grid, "bent": np.asarray(bent),
                   "gauss": 1 / np.cosh(grid) ** 4},
        ),
    }  # fmt: skip


@gradients_by_hand.control("without the factor 2", of="least squares")
def without_two(evidence):
    return replace(evidence, right=2 * np.asarray(evidence.right))


@gradients_by_hand.control("factors that are not transposed", of="factorization")
def untransposed(evidence):
    return replace(evidence, left=evidence.aside["untransposed"])


@gradients_by_hand.control("without the slope of ℓ", of="nonlinear least squares")
def no_slope(evidence):
    return replace(evidence, left=evidence.aside["no slope"])


@gradients_by_hand.control("the product of first derivatives alone", of="its Hessian")
def first_part(evidence):
    return replace(evidence, left=evidence.aside["first part"])


@gradients_by_hand.picture
def curvature_of_one_unit(pieces):
    """The second derivative of ½(y − tanh w)² with y = −0.9 over w, and its part from first derivatives."""
    aside = pieces["its Hessian"].aside
    return Curves(
        [Line("second derivative", aside["w"], aside["bent"]),
         Line("", aside["w"], aside["gauss"], rival="first derivatives alone")],
        x="weight w",
        y="second derivative of the loss",
    )  # fmt: skip
