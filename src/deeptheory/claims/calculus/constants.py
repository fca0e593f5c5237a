"""Lipschitz and smoothness constants of given functions, for certain, and what they say of Hessians (lucchi 1.3.5, "
"1.3.6)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.calculus.certified import lipschitz_constant, regularity, smoothness_constant
from deeptheory.calculus.derivatives import difference_hessian_product
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

BOX = np.array([-1.0]), np.array([2.0])
SLOPES = {
    "sin": (jnp.sin, np.sin, 1.0),
    "exp": (jnp.exp, np.exp, np.exp(2.0)),
    "cube": (lambda x: x**3, lambda x: x**3, 12.0),
    "modulus": (jnp.abs, np.abs, 1.0),
}
BENDS = {
    "square": (lambda x: x**2, 2.0),
    "softplus": (jax.nn.softplus, 0.25),
    "fourth power": (lambda x: x**4, 48.0),
    "sin": (jnp.sin, 1.0),
}
ZOO = {
    "x²": lambda x: x[0] ** 2,
    "|x|": lambda x: jnp.abs(x[0]),
    "√|x|": lambda x: jnp.sqrt(jnp.abs(x[0])),
    "step": lambda x: jnp.where(x[0] > 0.3, 1.0, 0.0),
}
PLANE = np.full(2, -1.0), np.full(2, 2.0)
"""the box of x₁x₂, whose slope is largest, √8, at (2, 2), and whose slopes change by at most 1 a unit of length"""
KNOWN = {"x²": (True, True, True, True), "|x|": (True, True, False, False), "√|x|": (True, False, False, False),
         "step": (False, False, False, False)}  # fmt: skip


@claim(
    items={
        "L1.9": ("Lipschitz constants", "difference quotients stay below"),
        "L1.10": ("smoothness constants", "regularity of four functions"),
        "L1.21": "regularity of four functions",
    },
    says=r"A continuous, piecewise smooth $f$ has the Lipschitz constant $\sup\|\nabla f\|$ on a box, $\nabla f$ if "
    r"it is such $\sup\|\nabla^2f\|$: 2 for $x^2$, ¼ for softplus. Intervals bound both for certain; $|x|$ has no "
    r"smoothness constant, $\sqrt{|x|}$ and a step no Lipschitz constant.",
    needs="functions of one variable on [−1, 2], and a product of two; bounds within one per cent; a derivative almost "
    "everywhere is not enough",
    symbols={
        r"\sup": "the least upper bound over the box",
        r"\nabla f,\ \nabla^2f": "gradient and matrix of second derivatives",
    },
    why=r"By the mean value theorem $f(x)-f(y)$ is a slope between times $x-y$, so the largest slope is a constant; "
    r"and small steps along it attain it. Interval arithmetic encloses the slopes on pieces of the box, which are cut "
    r"where the bound is largest, until it meets a quotient that the function really has. A jump has no slope that "
    r"shows it: continuity is checked too.",
    notice="Left: the four functions. Right: how large a smoothness constant of $|x|$ would have to be, measured "
    "across ever smaller pairs around its kink: it grows without end.",
)
def certified_constants(key):
    rng = generator(key)
    lipschitz = np.array([lipschitz_constant(lambda x, f=f: f(x[0]), *BOX) for f, _, _ in SLOPES.values()])
    smooth = np.array([smoothness_constant(lambda x, f=f: f(x[0]), *BOX) for f, _ in BENDS.values()])
    lipschitz = np.vstack([lipschitz, lipschitz_constant(jnp.prod, *PLANE)])
    smooth = np.vstack([smooth, smoothness_constant(jnp.prod, *PLANE)])
    exact = np.array([each[-1] for each in SLOPES.values()] + [np.sqrt(8)])
    bent = np.array([each[-1] for each in BENDS.values()] + [1.0])
    one, other = rng.uniform(*BOX, (2, 400))
    quotients = [np.max(np.abs(f(one) - f(other)) / np.abs(one - other)) for _, f, _ in SLOPES.values()]
    here, there = rng.uniform(-1, 2, (2, 400, 2))
    quotients.append(np.max(np.abs(here.prod(1) - there.prod(1)) / np.linalg.norm(here - there, axis=1)))
    names, bending = ([*table, "product of two"] for table in (SLOPES, BENDS))
    found = {name: regularity(f, np.array([-1.0]), np.array([1.3]), boxes=600) for name, f in ZOO.items()}
    shown = [
        (each.continuous, each.lipschitz.upper < np.inf, each.differentiable, each.smoothness.upper < np.inf)
        for each in found.values()
    ]
    widths = 2.0 ** -np.arange(0, 12)
    return {
        "Lipschitz constants": Identity(
            lipschitz,
            exact[:, None].repeat(2, 1),
            error=0.01 * exact[:, None],
            along={"function": np.array(names), "bound": np.array(["lower", "upper"])},
            aside={"ends": np.array([np.cos(1.0), np.exp(2.0), 12.0, 1.0, np.sqrt(8)])},
        ),
        "difference quotients stay below": Inequality(
            np.array(quotients), lipschitz[:, 1], along={"function": np.array(names)}, aside={"lower": lipschitz[:, 0]}
        ),
        "smoothness constants": Identity(
            smooth,
            bent[:, None].repeat(2, 1),
            error=0.01 * bent[:, None],
            along={"function": np.array(bending), "bound": np.array(["lower", "upper"])},
        ),
        "regularity of four functions": Exact(
            np.array(shown),
            np.array(list(KNOWN.values())),
            # What the derivative almost everywhere says: bounded for |x| and for the step.
            aside={"by derivative": np.array([(True,) * 4, (True,) * 4, KNOWN["√|x|"], (True,) * 4]), "widths": widths},
        ),
    }


@certified_constants.control("the slope at the ends of the interval", of="Lipschitz constants")
def slope_at_the_ends(evidence):
    return replace(evidence, right=evidence.aside["ends"][:, None].repeat(2, 1))


@certified_constants.control("the largest partial derivative of a product", of="Lipschitz constants")
def partial_derivative(evidence):
    return replace(evidence, right=np.vstack([np.asarray(evidence.right)[:-1], [2.0, 2.0]]))


@certified_constants.control("the mean of slopes in place of the largest", of="difference quotients stay below")
def mean_slope(evidence):
    # Of |cos|, exp, 3x² and 1 over [−1, 2]; of a product at most the root of the mean square, √2.
    means = np.array([2 + np.sin(1.0) - np.sin(2.0), np.exp(2.0) - np.exp(-1.0), 9.0, 3.0]) / 3
    return replace(evidence, bound=np.append(means, np.sqrt(2)))


@certified_constants.control("half the second derivative, the coefficient of the square", of="smoothness constants")
def half(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@certified_constants.control("regular as the derivative almost everywhere is", of="regularity of four functions")
def almost_everywhere(evidence):
    return replace(evidence, left=evidence.aside["by derivative"])


@certified_constants.picture
def zoo_and_kink(pieces):
    """Four functions of different regularity (left); changes of slope across pairs around zero (right)."""
    x, widths = np.linspace(-1, 1.3, 461), pieces["regularity of four functions"].aside["widths"]
    values = {"x²": x**2, "|x|": np.abs(x), "√|x|": np.sqrt(np.abs(x)), "step": np.where(x > 0.3, 1.0, 0.0)}
    curves = Curves([Line(name, x, y) for name, y in values.items()], x="argument x", y="value f(x)")
    slopes = Curves(
        [Dots("for |x|", widths, 2 / widths), Line("for x²", widths, np.full(len(widths), 2.0))],
        x="distance of the pair", y="change of the slope over the distance", log="xy",
    )  # fmt: skip
    return Row([curves, slopes])


@claim(
    items={"L1.19": ("products with the Hessian", "eigenvalues stay below", "the quadratic bound")},
    says=r"$\nabla^2f(x)v=\lim(\nabla f(x+tv)-\nabla f(x))/t$. If $\nabla f$ has the Lipschitz constant $L$ then "
    r"every eigenvalue of $\nabla^2f$ is at most $L$, and at a minimum $f(x)-f(x^*)\le\frac L2\|x-x^*\|^2$.",
    needs="logistic regression with eight inputs of three variables, labels balanced so that the minimum is at zero",
    symbols={
        r"L": r"$\lambda_1(X^\top X)/4n$, the smoothness of logistic regression",
        r"x^*": "the minimum",
        r"v,\ t": "a direction and a step along it",
    },
    why=r"The quotient is the mean of $\nabla^2f\,v$ over the step. Divide the Lipschitz condition by the step along "
    r"an eigenvector: its eigenvalue is at most $L$. At a minimum the gradient vanishes, so by Taylor's formula with "
    r"the remainder as an integral $f-f^*$ is an average of curvatures, with weights that add up to ½.",
    notice="The loss along the stiffest direction and the parabola above it: they touch at the minimum, where the "
    r"curvature is $L$, and a parabola of half its height would cut the loss.",
)
def smoothness_and_hessians(key):
    rng = generator(key)
    half = rng.normal(size=(4, 3))
    inputs = np.concatenate([half, half])  # each input with both labels: the gradient vanishes at zero
    signs = np.repeat([1.0, -1.0], 4)

    def loss(w):
        return jnp.mean(logistic_loss(signs * (inputs @ w)))

    top = np.linalg.eigh(inputs.T @ inputs / 8)
    smoothness, stiff = top[0][-1] / 4, top[1][:, -1]
    point, direction = rng.normal(size=(2, 3))
    steps = 2.0 ** -np.arange(4, 10)

    def hessian(w):
        share = 1 / (1 + np.exp(-inputs @ w))
        return (inputs * (share * (1 - share))[:, None]).T @ inputs / 8

    products = jax.jit(lambda t: difference_hessian_product(loss, point, direction, step=t))
    errors = np.array([np.linalg.norm(products(t) - hessian(point) @ direction) for t in steps])
    places = rng.normal(size=(60, 3)) * 10 ** rng.uniform(-3, 1, (60, 1))
    near = np.concatenate([places, np.outer([1e-3, 1e-2, 0.1, 1.0], stiff)])
    ways = np.linspace(-4, 4, 81)

    def rise(w):
        """How much the loss exceeds its minimum log 2; near the minimum a difference of numbers of order one."""
        return np.mean(logistic_loss(signs * (inputs @ w))) - np.log(2)

    return {
        "products with the Hessian": Rate(1 / steps, errors, exponent=-1.0, rivals=(-0.5, -2.0)),
        "eigenvalues stay below": Inequality(
            np.array([np.linalg.eigvalsh(hessian(w))[-1] for w in np.vstack([np.zeros(3), places])]),
            np.full(61, smoothness),
            aside={"inputs": len(inputs)},
        ),
        "the quadratic bound": Inequality(
            np.array([rise(w) for w in near]), smoothness / 2 * (near**2).sum(1), error=1e-14,
            aside={"t": ways, "loss": np.array([rise(t * stiff) for t in ways]), "smoothness": np.array([smoothness])},
        ),
    }  # fmt: skip


@smoothness_and_hessians.control("divided by n + 1 inputs in place of n", of="eigenvalues stay below")
def one_input_more(evidence):
    return replace(
        evidence, bound=np.asarray(evidence.bound) * evidence.aside["inputs"] / (evidence.aside["inputs"] + 1)
    )


@smoothness_and_hessians.control("L/4 in place of L/2", of="the quadratic bound")
def a_quarter(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@smoothness_and_hessians.picture
def loss_below_a_parabola(pieces):
    """The logistic loss along the stiffest direction with the parabola of curvature L above it."""
    aside = pieces["the quadratic bound"].aside
    t, bound = aside["t"], aside["smoothness"][0] / 2 * aside["t"] ** 2
    return Curves(
        [Line("rise of the loss", t, aside["loss"]), Line("L/2 ‖x − x*‖²", t, bound),
         Line("", t, bound / 2, rival="L/4")],
        x="way along the stiffest direction", y="rise above the minimum", ys=(0, float(aside["loss"].max()) * 1.5),
    )  # fmt: skip
