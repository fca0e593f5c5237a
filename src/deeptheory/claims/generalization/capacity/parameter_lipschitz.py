"""How fast a loss changes with its parameters: linear predictors on the unit ball, and two layers (arora 5.2)."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.covers import loss_change, squared_loss_lipschitz, two_layer_gradient_norm
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

squared_slopes = jax.jit(jax.vmap(jax.grad(lambda w, x, y: (w @ x - y) ** 2), (0, None, None)))
network_slopes = jax.jit(jax.grad(lambda p, x, y: (p[1] @ jax.nn.relu(p[0] @ x) - y) ** 2))
squared_changes = jax.jit(
    jax.vmap(lambda x, y, start, r: loss_change(lambda w: (w @ x - y) ** 2, start, r), (None, None, 0, 0))
)


@claim(
    items={
        "A5.5": ("squared loss, changes", "squared loss, in the middle", "squared loss, at the edge"),
        "A5.6": ("squared loss, constant reached", "squared loss, slopes"),
        "A5.7": "two-layer networks",
    },
    says=r"On the unit ball $(w\cdot x-y)^2$ changes by at most $C=2(\|x\|+|y|)\|x\|$ per unit of $w$, reached at "
    r"$-\operatorname{sign}(y)x/\|x\|$. For a two-layer ReLU net the slope is "
    r"$2|f-y|(\sum_j\sigma(w_j\cdot x)^2+\|x\|^2\sum_ja_j^2\mathbf 1[w_j\cdot x>0])^{1/2}$.",
    needs="finite changes and automatic differentiation as the other route",
    symbols={
        r"w": "the parameters of a linear predictor, of length at most 1",
        r"x,\ y": "an input and its label",
        r"C": "the Lipschitz constant of the loss in its parameters",
        r"f": r"the network $\sum_ja_j\sigma(w_j\cdot x)$",
        r"\sigma": "the rectifier",
    },
    why=r"The gradient of the squared loss is $2(w\cdot x-y)x$, and $|w\cdot x-y|$ is largest where $w$ is as long as "
    r"it may be and points away from the label. Within $\rho$ of $w$ the loss changes most along $x$, by "
    r"$2|w\cdot x-y|\|x\|\rho+\|x\|^2\rho^2$; at the edge of the ball, inside it, this per unit is $C-\rho\|x\|^2$.",
    notice=r"The local constant $\gamma(\rho)/\rho$ grows with the radius and stays below $C$ in the middle of the "
    r"ball; measured up to the edge it falls short of $C$ by $\rho\|x\|^2$ only. The slope at one point misses what "
    r"the curvature adds.",
)
def parameter_lipschitz_constants(
    key,
    *,
    end: Literal["far", "near"] = "far",
    trained: Literal["both layers", "first layer"] = "both layers",
    reach: Annotated[float, Interval(ge=1, le=100)] = 1.0,
):
    draw = generator(key)
    reached, constants, slopes, nets, formulas = [], [], [], [], []
    for _ in range(6):
        x, y = draw.standard_normal(3), draw.standard_normal()
        w = draw.standard_normal((200, 3))
        w *= reach / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1)
        w[0] = (1 if end == "near" else -1) * np.sign(y) * x / np.linalg.norm(x)
        norms = np.linalg.norm(squared_slopes(w, x, y), axis=1)
        reached.append(norms[0])
        slopes.append(norms.max())
        constants.append(squared_loss_lipschitz(x, y))
        layers = draw.standard_normal((5, 3)), draw.standard_normal(5)
        slopes_of_net = network_slopes(layers, x, y)[: 1 if trained == "first layer" else 2]
        nets.append(np.sqrt(sum(np.sum(np.square(g)) for g in slopes_of_net)))
        formulas.append(two_layer_gradient_norm(*layers, x, y))
    x, y, start = draw.standard_normal(3), 1.0, np.array([0.3, -0.2, 0.1])
    size, residual, constant = np.linalg.norm(x), start @ x - y, squared_loss_lipschitz(x, y)
    radii = np.array([0.05, 0.1, 0.2, 0.4])
    middle = np.asarray(squared_changes(x, y, np.tile(start, (4, 1)), radii))
    # As far from the edge as the loss may be changed over: the farthest point is the one of the steepest slope.
    edge = np.asarray(squared_changes(x, y, -np.outer(1 - radii, np.sign(y) * x / size), radii))
    curved, along = radii * size**2, {"radius": radii}
    return {
        "squared loss, constant reached": Identity(np.array(reached), np.array(constants)),
        "squared loss, slopes": Inequality(np.array(slopes), np.array(constants)),
        "two-layer networks": Identity(np.array(nets), np.array(formulas), size=15),
        "squared loss, changes": Inequality(
            np.stack([middle, edge]) / radii, constant, aside={"no label": squared_loss_lipschitz(x, 0.0)}
        ),
        # The largest change of a square within ρ of w is at the end of a step along x, away from the label.
        "squared loss, in the middle": Identity(
            middle / radii, 2 * abs(residual) * size + curved, error=1e-8, along=along, aside={"curved": curved}
        ),
        "squared loss, at the edge": Identity(
            edge / radii, constant - curved, error=1e-8, along=along, aside={"curved": curved}
        ),
    }


parameter_lipschitz_constants.control("beyond the ball", of="squared loss, slopes", reach=30.0)
parameter_lipschitz_constants.control("only the first layer", of="two-layer networks", trained="first layer")
parameter_lipschitz_constants.control("at the other end of the ball", of="squared loss, constant reached", end="near")


@parameter_lipschitz_constants.control(
    "the slope at the point itself, without the curvature", of="squared loss, in the middle"
)
def slope_alone(evidence):
    return replace(evidence, right=evidence.right - evidence.aside["curved"])


@parameter_lipschitz_constants.control("the constant of the label 0, whatever the label", of="squared loss, changes")
def label_left_out(evidence):
    return replace(evidence, bound=evidence.aside["no label"])


@parameter_lipschitz_constants.picture
def local_constants(pieces):
    """Largest change of the loss per unit within ρ of a point, in the middle of the ball and up to its edge."""
    middle, edge = pieces["squared loss, in the middle"], pieces["squared loss, at the edge"]
    radii, constant = middle.along["radius"], float(np.max(pieces["squared loss, changes"].bound))
    return Curves(
        [
            Line("predicted in the middle", radii, middle.right),
            Dots("found in the middle", radii, middle.left),
            Line("predicted up to the edge", radii, edge.right),
            Dots("found up to the edge", radii, edge.left),
            Line("slope", radii, middle.right - middle.aside["curved"], rival="the slope at the point alone"),
            Level("C", y=constant),
        ],
        x="radius ρ", y="change of the loss per unit",
    )  # fmt: skip
