"""The first two derivatives: what they say about a function nearby, and where they say nothing (arora 2.1, 7.1)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Rate, Reals, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Line, Row, Surface
from deeptheory.landscapes.critical_points import is_second_order_stationary, kind_of_point
from deeptheory.optimization.landscapes import PiecewiseQuadratic, TanhNetworkLoss

PIECES = 10


@jax.jit
def derivatives(loss, point, directions):
    """Value, gradient, the Hessian by columns, and values along directions, which are not small."""
    gradient = jax.grad(loss)
    columns = jax.vmap(lambda e: jax.jvp(gradient, (point,), (e,))[1])(jnp.eye(len(point)))
    return loss(point), gradient(point), columns, jax.vmap(lambda d: loss(point + d))(directions)


@jax.jit
def lowest_angles(loss, point, down, other, radii):
    """On small circles the angle from `down` to the lowest point; of a negative radius, seen across, to the highest.

    By Newton's method from 0. As a function of the radius the angle is smooth through 0.
    """

    def on_circle(radius):
        def height(angle):
            return loss(point + radius * (jnp.cos(angle) * down + jnp.sin(angle) * other))

        slope = jax.grad(height)
        return jax.lax.fori_loop(0, 6, lambda _, angle: angle - slope(angle) / jax.grad(slope)(angle), 0.0)

    return jax.vmap(on_circle)(radii)


@claim(
    items={
        "A2.2": (
            "error of the linear part",
            "error of the quadratic part",
            "leading error of the linear part",
            "symmetry of the Hessian",
        ),
        "A2.3": ("steepest direction", "turn of the best direction"),
    },
    says=r"A network's loss is $f(w_t)+\langle\nabla f,h\rangle+\frac12h^\top\nabla^2f\,h+O(|h|^3)$ at $w=w_t+h$, with "
    r"a symmetric Hessian. In a ball of radius $\epsilon$ the linear part is least at "
    r"$h=-\epsilon\nabla f/|\nabla f|$, and the loss itself at a point whose direction differs from that by order "
    r"$\epsilon$.",
    needs="a smooth function (tanh units), a gradient that is not zero",
    symbols={
        "w_t": "the point where one stands",
        "h": "the way to another point",
        r"\nabla f, \nabla^2f": "gradient and Hessian at $w_t$",
        r"\epsilon": "the radius of the ball",
        "d, o": "the unit vector against the gradient, and one at right angles to it",
    },
    why=r"Along a line the loss is a function of one variable, and Taylor's formula is that of one variable. The mixed "
    r"derivatives do not depend on their order when they are continuous. A linear function on a ball is least opposite "
    r"to its slope, by the Cauchy–Schwarz inequality; what the quadratic part adds is smaller by a factor $\epsilon$.",
    notice="On the left, what the linear and the quadratic approximation leave over: lines of slope two and three. On "
    "the right, the loss around circles of several radii in a plane, less its value at their centre and over the "
    "radius: a cosine, the linear part, and its lowest point moves to the direction against the gradient as the "
    "circles shrink.",
)
def taylor_and_the_steepest_descent(
    key, *, hidden: Annotated[int, Interval(ge=2, le=20)] = 4, halvings: Annotated[int, Interval(ge=3, le=8)] = 5
):
    random = generator(key)
    x, y = random.standard_normal((10, 3)), random.standard_normal(10)
    loss = TanhNetworkLoss(jnp.asarray(x), jnp.asarray(y), (hidden,))
    point = loss.initial(key) * 1.5
    count = len(point)
    # Many ways, of which the worst counts: along a single one a term of the series may vanish.
    ways = random.standard_normal((32, count))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    radii = 0.02 * 0.5 ** np.arange(halvings)
    steps = (radii[:, None, None] * ways).reshape(-1, count)
    value, gradient, hessian, along = map(np.asarray, derivatives(loss, point, steps))
    curvatures = np.sum(ways @ hessian * ways, 1)
    linear = along.reshape(halvings, -1) - value - radii[:, None] * (ways @ gradient)
    quadratic = linear - radii[:, None] ** 2 / 2 * curvatures
    first, second = np.abs(linear).max(1), np.abs(quadratic).max(1)

    # A plane that holds the gradient: the loss on circles, and where it is least.
    size, bent = np.linalg.norm(gradient), np.abs(hessian).max()
    down, other = -gradient / size, ways[0] - (ways[0] @ gradient) * gradient / size**2
    other /= np.linalg.norm(other)
    angles, shown = np.linspace(-np.pi, np.pi, 101), np.array([0.04, 0.02, 0.01])
    circle = np.cos(angles)[:, None] * down + np.sin(angles)[:, None] * other
    circles = [np.asarray(derivatives(loss, point, r * circle)[3] - value) / r for r in shown]
    # Circles so small that the gradient outweighs the curvature: the loss has one lowest point on each.
    least = 1e-3 * min(1.0, size / bent)
    before, near, beyond, far = lowest_angles(loss, point, down, other, least * np.array([-2.0, -1.0, 1.0, 2.0]))
    many = random.standard_normal((20_000, 3))  # three dimensions of it, so that some directions come near
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    frame = np.linalg.qr(np.stack([down, other, random.standard_normal(count)], 1))[0]
    tried = many @ frame.T @ gradient
    best = circle[np.argmin(np.abs(angles))] @ gradient
    return {
        "error of the linear part": Rate(radii, first, exponent=2.0, rivals=(1.0, 3.0)),
        "error of the quadratic part": Rate(radii, second, exponent=3.0, rivals=(2.0,), aside={"linear": first}),
        "leading error of the linear part": Identity(
            linear[-1] / radii[-1] ** 2,
            curvatures / 2,
            scale=bent,
            error=2 * second[0] / radii[0] ** 3 * radii[-1] + rounding(np.array([value])) / radii[-1] ** 2,
        ),
        "symmetry of the Hessian": Identity(hessian, hessian.T, scale=bent, size=count),
        "steepest direction": Chain(
            {"no direction is steeper": (-tried, size), "this one is as steep": (size, -best)}, error=1e-9
        ),
        "turn of the best direction": Identity(
            (before - 8 * near + 8 * beyond - far) / (12 * least),
            -(down @ hessian @ other) / size,
            scale=bent / size,
            error=1e-6 * bent / size,  # of differences of fourth order at steps of a thousandth
            aside={"circles": circles, "angles": angles, "radii": shown},
        ),
    }


@taylor_and_the_steepest_descent.control("∇²f without the half", of="leading error of the linear part")
def without_the_half(evidence):
    return replace(evidence, right=2 * evidence.right)


@taylor_and_the_steepest_descent.control("the steepest slope is ‖∇f‖/√2", of="steepest direction")
def less_steep(evidence):
    tried, size = evidence.links["no direction is steeper"]
    return replace(evidence, links={"no direction is steeper": (tried, size / 2**0.5)})


@taylor_and_the_steepest_descent.control(
    "the lowest point is exactly against the gradient", of="turn of the best direction"
)
def not_turned(evidence):
    return replace(evidence, right=0.0)


@taylor_and_the_steepest_descent.picture
def remainders_and_circles(pieces):
    """What Taylor's approximations leave over at worst, by distance (left); the loss on three circles (right)."""
    second, turned = pieces["error of the quadratic part"], pieces["turn of the best direction"]
    h, first = np.asarray(second.x), np.asarray(second.aside["linear"])
    left = [
        Dots("beyond the linear part", h, first),
        Dots("beyond the quadratic part", h, np.abs(second.y)),
        Line("slope 2", h, first[0] * (h / h[0]) ** 2, dashed=True),
        Line("slope 3", h, np.abs(second.y[0]) * (h / h[0]) ** 3, dashed=True),
    ]
    right = [
        Line(f"radius {radius:.2g}", turned.aside["angles"], around)
        for radius, around in zip(turned.aside["radii"], turned.aside["circles"], strict=True)
    ]
    return Row(
        [
            Curves(left, x="distance |h|", y="remainder", log="xy"),
            Curves(right, x="angle to the direction against the gradient", y="change of the loss / radius"),
        ]
    )


@claim(
    items={"A2.6": "", "A2.5": "", "L5.23": ""},
    says=r"If all curvatures of $f$ lie in $[-L,L]$ then $|f'(w)-f'(w_t)|\le L|w-w_t|$, and $f(w)$ differs from its "
    r"tangent at $w_t$ by at most $\frac L2|w-w_t|^2$, upwards and downwards.",
    needs="curvature between −L and L; searched over functions of one variable, L from 0.2 to 5",
    over=dict(
        curvatures=Reals(-1, 1, shape=(PIECES,)),
        start=Reals(0.1, 10),
        end=Reals(-3, 12),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        "f": "the function",
        "L": "the smoothness",
        "w_t, w": "two points",
    },
    why=r"The slope changes by the integral of the curvature, at most $L$ for each unit of way. The height above the "
    r"tangent is the integral of what the slope has changed, at most $\int_0^{|w-w_t|}Ls\,ds$. In more dimensions the "
    "same holds along the line between the points.",
    notice="Every function and pair of points lies between the two parabolas, and some on them: those whose curvature "
    "is $L$, or $-L$, all the way. With a quarter in the place of the half they would not.",
)
def smooth_functions_lie_between_parabolas(curvatures, start, end, smoothness):
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), smoothness * curvatures)
    value, slope = jax.value_and_grad(function)(start[None])
    other, last = jax.value_and_grad(function)(end[None])
    above, way = other - value - slope[0] * (end - start), jnp.abs(end - start)
    links = {
        "slopes": (jnp.abs(last - slope)[0], smoothness * way),
        "above the tangent": (above, smoothness / 2 * way**2),
        "below the tangent": (-above, smoothness / 2 * way**2),
    }
    error = rounding(jnp.stack([value, other, slope[0] * end, slope[0] * start]))
    aside = {"way": end - start, "above": above / smoothness, "smoothness": smoothness}
    return Chain(links, error=error, aside=aside)


smooth_functions_lie_between_parabolas.control(
    "curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,)))
)


@smooth_functions_lie_between_parabolas.control("no L in any of the three")
def without_smoothness(evidence):
    factor = np.reshape(evidence.aside["smoothness"], np.shape(evidence.links["slopes"][1]))
    links = {name: (seen, bound / factor) for name, (seen, bound) in evidence.links.items()}
    return replace(evidence, links=links)


@smooth_functions_lie_between_parabolas.control("L/4 in the place of L/2")
def a_quarter(evidence):
    above, bound = evidence.links["above the tangent"]
    return replace(evidence, links={"above the tangent": (above, bound / 2)})


@smooth_functions_lie_between_parabolas.control("half of L for slopes")
def half_the_slope(evidence):
    change, way = evidence.links["slopes"]
    return replace(evidence, links={"slopes": (change, way / 2)})


@smooth_functions_lie_between_parabolas.picture
def between_parabolas(pieces):
    """The height above the tangent over L for every function and pair of points, between the two parabolas."""
    aside = pieces[""].aside
    way = np.linspace(-8, 8, 100)
    return Curves(
        [
            Dots("functions", aside["way"], aside["above"]),
            Line("± ½ |w − w_t|²", way, way**2 / 2),
            Line("± ½ |w − w_t|²", way, -(way**2) / 2),
            Line("± ½ |w − w_t|²", way, way**2 / 4, rival="L/4 for L/2"),
        ],
        x="distance w − w_t",
        y="height above the tangent / L",
        xs=(-8, 8),
        ys=(-30, 30),
    )


ZOO = {
    "x² + y²": (lambda v: v[0] ** 2 + v[1] ** 2, "minimum", True),
    "x² − y²": (lambda v: v[0] ** 2 - v[1] ** 2, "saddle, with a way down", False),
    "−x² + y⁴": (lambda v: -(v[0] ** 2) + v[1] ** 4, "degenerate, with a way down", False),
    "−x² − 2y²": (lambda v: -(v[0] ** 2) - 2 * v[1] ** 2, "maximum, with a way down", False),
    "x² + y⁴": (lambda v: v[0] ** 2 + v[1] ** 4, "degenerate", True),
    "x² + y³": (lambda v: v[0] ** 2 + v[1] ** 3, "degenerate", False),
    "x² − y⁴": (lambda v: v[0] ** 2 - v[1] ** 4, "degenerate", False),
    "x³ − 3xy²": (lambda v: v[0] ** 3 - 3 * v[0] * v[1] ** 2, "degenerate", False),
}
"""functions with a stationary point at 0: what two derivatives say, and whether 0 is a minimum"""


@jax.jit
def to_second_order(square):
    """Hessian at 0, and whether 0 is second-order stationary, for each function of the zoo and a quartic form."""
    functions, origin = [*(f for f, *_ in ZOO.values()), lambda v: (v**2) @ square @ (v**2)], jnp.zeros(2)
    exactly = [is_second_order_stationary(f, origin, slope=0.0, curvature=0.0) for f in functions]
    return jnp.stack([jax.hessian(f)(origin) for f in functions]), jnp.stack(exactly)


@claim(
    items={
        "A7.19": ("what the Hessian says", "minimum or not", "quartic forms"),
        "A2.8": ("what the Hessian says", "minimum or not"),
        "A7.2": "what the Hessian says",
    },
    says=r"Where $\nabla f=0$ the Hessian decides if it has a negative eigenvalue, or only positive ones. If its least "
    r"is zero it says nothing: $x^2+y^4$ has a minimum at 0, $x^2-y^4$ and $x^3-3xy^2$ have none, and for a quartic "
    r"form $\sum_{ij}C_{ij}x_i^2x_j^2$ one asks whether $C$ is copositive.",
    needs="functions with a stationary point at 0",
    symbols={
        r"\nabla f": "the gradient",
        "x, y": "two coordinates",
        "C": "a symmetric matrix",
        "x_i": "a coordinate",
    },
    why="A positive definite Hessian bends the function up in every direction, faster than higher terms can undo; a "
    "negative eigenvalue is a way down. With eigenvalue zero the higher terms decide. For a quartic form all second "
    "derivatives vanish at 0, and it is nowhere negative exactly if $C$ is copositive, which is NP-hard to decide. So "
    "one looks for strict saddles only, and says of the others that they are second-order stationary.",
    notice="Three surfaces, all flat to second order in the same direction at their centre, with a positive "
    "semidefinite Hessian: the first a minimum, the others not. The second definition of arora 2.1.5 would call all "
    "three local minima.",
)
def second_derivatives_can_be_blind(key, *, forms: Annotated[int, Interval(ge=4, le=200)] = 40):
    random = generator(key)
    angles = np.linspace(0, 2 * np.pi, 721)[:-1]
    ring = 1e-2 * np.stack([np.cos(angles), np.sin(angles)], 1)
    lowest = [bool(np.min([function(v) for v in ring]) > 0) for function, _, _ in ZOO.values()]
    # Forms in two variables: copositive exactly if the diagonal is not negative and c₁₂ ≥ −√(c₁₁c₂₂).
    found, true, diagonal = [], [], []
    for matrix in random.standard_normal((forms, 3)) + np.array([0.7, 0.7, 0.0]):
        square = np.array([[matrix[0], matrix[2]], [matrix[2], matrix[1]]])
        found.append(bool(np.min([(v**2) @ square @ (v**2) for v in ring]) >= 0))
        diagonal.append(bool(min(matrix[:2]) >= 0))
        true.append(bool(min(matrix[:2]) >= 0 and matrix[2] >= -np.sqrt(max(matrix[0] * matrix[1], 0.0))))
    hessians, stationary = map(np.asarray, to_second_order(square))
    spectra = np.linalg.eigvalsh(hessians)
    kinds = [kind_of_point(spectrum) for spectrum in spectra]
    words = [kind if calm else f"{kind}, with a way down" for kind, calm in zip(kinds, stationary, strict=True)]
    names = [word for _, word, _ in ZOO.values()]
    return {
        "what the Hessian says": Exact(
            np.array(words), np.array([*names, "degenerate"]), along={"function": [*ZOO, "a quartic form"]}
        ),
        "minimum or not": Exact(
            np.array(lowest),
            np.array([minimum for *_, minimum in ZOO.values()]),
            aside={"semidefinite": spectra[:-1, 0] >= 0},
        ),
        "quartic forms": Exact(np.array(found), np.array(true), aside={"diagonal": np.array(diagonal)}),
    }


@second_derivatives_can_be_blind.control("a positive semidefinite Hessian means a minimum", of="minimum or not")
def semidefinite_means_minimum(evidence):
    return replace(evidence, right=evidence.aside["semidefinite"])


@second_derivatives_can_be_blind.control("flat to second order means a minimum", of="what the Hessian says")
def flat_is_minimum(evidence):
    words = np.asarray(evidence.right)
    return replace(evidence, right=np.where(words == "degenerate", "minimum", words))


@second_derivatives_can_be_blind.control("C not negative on the diagonal is enough", of="quartic forms")
def diagonal_is_enough(evidence):
    return replace(evidence, right=evidence.aside["diagonal"])


@second_derivatives_can_be_blind.picture
def three_flat_points(pieces):
    """Level sets of three functions with a positive semidefinite Hessian at the centre; one has a minimum."""
    grid = np.linspace(-1, 1, 41)
    points = np.stack(np.meshgrid(grid, grid))
    return Row(
        [
            Surface(
                [],
                columns=grid,
                rows=grid,
                heights=np.asarray(ZOO[name][0](points)),
                value=name,
                x="coordinate x",
                y="coordinate y",
            )
            for name in ("x² + y⁴", "x² − y⁴", "x³ − 3xy²")
        ]
    )
