"""Shortcuts: gradients survive depth where layers add to the identity, and training succeeds (lucchi 10.2)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.architectures.residual import Residual, deep_stack, singular_value_bounds, stack_jacobian
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen

WIDTH = 12


@claim(
    items={
        "L10.16": ("singular values of the stack", "stacks that attain the bounds", "plain stacks of the same layers"),
        "L10.17": ("Jacobian with projections", "projections that attain the bound"),
    },
    says=r"If $\|J_f\|\le\varepsilon$ in each of $L$ layers $g(x)=x+f(x)$, all singular values of the stack's Jacobian "
    r"lie between $(1-\varepsilon)^L$ and $(1+\varepsilon)^L$; without shortcuts they are at most $\varepsilon^L$. "
    r"With $g(x)=Wx+f(x)$ it is $\prod W$ up to $\prod(\|W\|+\varepsilon)-\prod\|W\|$.",
    needs="ε below 1 for the lower bound",
    symbols={
        "f,J_f": "what a layer adds to its shortcut, and its derivative",
        r"\varepsilon": "a bound on the norm of $J_f$",
        "L": "the number of layers",
        "W": "the projection of a layer whose input and output differ in size",
    },
    why=r"The Jacobian is the product of the factors $I+J_f$, and "
    r"$|v|(1-\varepsilon)\le|(I+J_f)v|\le(1+\varepsilon)|v|$ for each of them. Multiplied out, the product of factors "
    r"$W+J_f$ has one term without $J_f$, which is $\prod W$, and all others are no larger than the same products of "
    r"norms.",
    notice="The singular values of the residual stack stay in the narrow funnel. Those of a plain stack of the very "
    "same layers leave it at once and fall by the factor ε with every layer.",
    explore={"slope": (0.01, 0.03, 0.1, 0.3)},
)
def shortcuts_keep_gradients(key, *, slope: Annotated[float, Interval(ge=0.005, le=0.5)] = 0.05):
    rng = generator(key)
    depths = np.array([1, 2, 4, 8, 16, 32, 64])
    weights = rng.standard_normal((depths[-1], WIDTH, WIDTH))
    weights *= slope / np.linalg.norm(weights, 2, (1, 2))[:, None, None]
    x = rng.standard_normal(WIDTH)
    # Layers of weight zero are the identity of a residual stack: with them all depths have one shape.
    cut = np.where((np.arange(depths[-1]) < depths[:, None])[..., None, None], weights, 0.0)
    jacobians = jax.jit(jax.vmap(lambda w: stack_jacobian(w, x)))(jnp.asarray(cut))
    values = np.linalg.svd(np.asarray(jacobians), compute_uv=False)
    low, high = (1 - slope) ** depths, (1 + slope) ** depths
    hidden, plain = x, []
    product = np.eye(WIDTH)
    for w in weights[:8]:
        product = (1 - np.tanh(w @ hidden) ** 2)[:, None] * w @ product
        hidden = np.tanh(w @ hidden)
        plain.append(np.linalg.svd(product, compute_uv=False))
    powers = np.arange(1, 9)
    ends = [singular_value_bounds(np.full(int(depth), slope)) for depth in depths]
    signs = [
        np.linalg.matrix_power((1 + sign * slope) * np.eye(2), int(depth))[0, 0] for depth in depths for sign in (-1, 1)
    ]

    sizes = [6, 9, 5, 8, 7]
    shapes = list(zip(sizes[1:], sizes, strict=False))
    norms = np.array([1.3, 0.8, 1.5, 1.1])

    @jax.jit
    def jacobian(projections, branches, z):
        def stack(z):
            for projection, branch in zip(projections, branches, strict=True):
                z = Residual(lambda z, b=branch: jnp.tanh(z @ b.T), projection)(z)
            return z

        return jax.jacfwd(stack)(z)

    def gap(projections, branches, z):
        """How far the stack's Jacobian is from the product of its projections, all of them scaled to their norms."""
        projections = [p * norm / np.linalg.norm(p, 2) for p, norm in zip(projections, norms, strict=True)]
        branches = [b * slope / np.linalg.norm(b, 2) for b in branches]
        return np.linalg.norm(
            np.asarray(jacobian(projections, branches, z)) - np.linalg.multi_dot(projections[::-1]), 2
        )

    drawn, added = ([rng.standard_normal(shape) for shape in shapes] for _ in range(2))
    along_one = [np.eye(*shape) for shape in shapes]  # all factors have their norm in one direction
    gaps = np.array([gap(drawn, added, rng.standard_normal(6)), gap(along_one, along_one, np.zeros(6))])
    allowed = np.prod(norms + slope) - np.prod(norms)
    aligned = np.linalg.multi_dot([(norm + slope) * np.eye(3) for norm in norms]) - np.prod(norms) * np.eye(3)
    return {
        "singular values of the stack": Chain(
            {
                "not below (1 − ε)^L": (np.tile(low[:, None], WIDTH), values),
                "not above (1 + ε)^L": (values, np.tile(high[:, None], WIDTH)),
            },
            along={"depth": depths, "place": np.arange(WIDTH)},
            aside={"values": values, "plain": np.array(plain), "powers": powers, "slope": slope},
        ),
        "stacks that attain the bounds": Identity(np.array(ends).ravel(), np.array(signs), size=64),
        "plain stacks of the same layers": Inequality(
            np.log(np.array(plain)[:, 0]), powers * np.log(slope), log=True, along={"depth": powers}
        ),
        "Jacobian with projections": Inequality(
            gaps,
            allowed,
            error=1e-12,
            along={"factors": ["drawn", "along one direction"]},
            aside={"without norms": (1 + slope) ** 4 - 1},
        ),
        "projections that attain the bound": Identity(np.linalg.norm(aligned, 2), allowed, scale=np.prod(norms)),
    }


@shortcuts_keep_gradients.control("no shortcut", of="singular values of the stack")
def no_shortcut(evidence):
    plain, powers = np.asarray(evidence.aside["plain"]), np.asarray(evidence.aside["powers"])
    low = np.tile(((1 - float(evidence.aside["slope"])) ** powers)[:, None], plain.shape[1])
    return replace(evidence, links={"not below (1 − ε)^L": (low, plain)}, along={})


@shortcuts_keep_gradients.control("one factor too many", of="stacks that attain the bounds")
def one_more_layer(evidence):
    ends = np.asarray(evidence.left).reshape(-1, 2)
    return replace(evidence, left=(ends * ends[0]).ravel())


@shortcuts_keep_gradients.control("ε to the power L + 1", of="plain stacks of the same layers")
def one_power_more(evidence):
    depths = np.asarray(evidence.along["depth"])
    return replace(evidence, bound=np.asarray(evidence.bound) * (depths + 1) / depths)


@shortcuts_keep_gradients.control("(1 + ε)^L − 1, whatever the projections", of="Jacobian with projections")
def without_norms(evidence):
    return replace(evidence, bound=evidence.aside["without norms"])


@shortcuts_keep_gradients.control("projections counted as identities", of="projections that attain the bound")
def norms_left_out(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / np.asarray(evidence.scale))


@shortcuts_keep_gradients.picture
def funnel(pieces):
    """Largest and least singular values of the stack between their bounds, and the largest one without shortcuts."""
    stack = pieces["singular values of the stack"]
    depths, slope = np.asarray(stack.along["depth"]), float(stack.aside["slope"])
    values = np.asarray(stack.aside["values"])
    marks = [
        Line("bounds", depths, (1 + slope) ** depths), Line("bounds", depths, (1 - slope) ** depths),
        Line("residual stack", depths, values[:, 0]), Line("residual stack", depths, values[:, -1]),
        Line("", stack.aside["powers"], np.asarray(stack.aside["plain"])[:, 0], rival="no shortcut"),
    ]  # fmt: skip
    return Curves(marks, x="layers", y="singular value", log="xy")


@partial(jax.jit, static_argnames="steps")
def training_losses(weights, tops, x, y, skip, *, steps, rate):
    """By network, its loss after descent on all weights of a stack x ← skip·x + tanh(W x) with a linear top."""

    def one(weights, top, x, y):
        def loss(parameters):
            layers, top = parameters
            return jnp.mean((deep_stack(layers, x, skip=skip) @ top - y) ** 2)

        def step(parameters, _):
            return jax.tree.map(lambda p, g: p - rate * g, parameters, jax.grad(loss)(parameters)), None

        return loss(jax.lax.scan(step, (weights, top), None, length=steps)[0])

    return jax.vmap(one)(weights, tops, x, y)


NEARLY = 0.9


@claim(
    items={
        "L10.19": (
            "plain: deep worse than shallow",
            "shortcuts: deep better than plain, shallow or deep",
            "shortcuts: deep below twice shallow",
            "deep networks that copy shallow",
        )
    },
    says=r"Plain networks of $L=64$ layers end with a larger training loss than those of 4: depth costs "
    r"optimization. With shortcuts $L=64$ ends below both, and below twice $L=4$; layers of weight zero "
    r"change nothing, so that a deep network contains the shallow ones.",
    needs="small regression tasks, one for each network, tanh, 96 networks of each kind, 100 steps at rate 0.01 (at "
    "0.02 some deep ones with shortcuts diverge); weights of variance 1/width, with shortcuts divided by the depth",
    symbols={"L": "the number of layers that are trained, each tanh of a matrix times its input, of width 8"},
    why="A deeper network could compute what a shallower one does if its other layers were the identity; that descent "
    "does not find this is a matter of optimization. Random layers one after the other mix up what the first ones "
    "have to be told. With shortcuts every layer begins near the identity, and the loss reaches all of them. A "
    r"shortcut of $0.9$ is none: $0.9^{64}$ is a thousandth.",
    notice="Without shortcuts the training loss rises with depth by a factor of several; with them it stays where it "
    "was. With shortcuts of nine tenths the deep networks learn nothing. These are small networks on a small task: the "
    "table of ImageNet results in the book needs other means.",
)
def depth_needs_shortcuts(key, *, trials: Trials = 96):
    rng = generator(key)
    width, depths = 8, np.array([4, 64])
    # A task for each network: tasks differ in how much depth costs, and one of them would decide for all networks.
    x = rng.standard_normal((trials, 16, width))
    inner, outer = rng.standard_normal((trials, width, width)), rng.standard_normal((trials, width, 1))
    y = (np.tanh(2 * x @ inner / width**0.5) @ outer)[..., 0]
    tops = rng.standard_normal((trials, width)) / width**0.5
    x, y, tops = (jnp.asarray(each, jnp.float32) for each in (x, y / y.std(-1, keepdims=True), tops))

    def ended(weights, skip):
        """Losses after training; one above 1, where zero ends too, counts as 1: what diverges weighs no more."""
        own = (each[: len(weights)] for each in (tops, x, y))
        losses = training_losses(jnp.asarray(weights, jnp.float32), *own, skip, steps=100, rate=0.01)
        return np.minimum(np.nan_to_num(np.asarray(losses, float), nan=1.0), 1.0)

    drawn = [rng.standard_normal((trials, depth, width, width)) / width**0.5 for depth in depths]
    plain, residual = (
        np.array([ended(weights * depth**-power, skip) for weights, depth in zip(drawn, depths, strict=True)])
        for power, skip in ((0.0, 0.0), (0.5, 1.0))
    )
    few = max(trials // 3, 8)  # enough for a rival that learns nothing
    nearly = ended(drawn[-1][:few] * depths[-1] ** -0.5, NEARLY)
    shallow = jnp.asarray(drawn[-1][0, : depths[0]] * depths[-1] ** -0.5)
    copy = jnp.concatenate([shallow, jnp.zeros((depths[-1] - depths[0], width, width))])
    inputs = jnp.asarray(x[0], float)
    return {
        "plain: deep worse than shallow": Trend(
            np.log(plain[-1] / plain[0]),
            aside={
                "depths": depths,
                "plain": plain,
                "residual": residual,
                "nearly": nearly,
                "with shortcuts": np.log(residual[-1] / plain[0]),
            },
        ),
        "shortcuts: deep better than plain, shallow or deep": Trend(
            np.log(plain[[0, -1]] / residual[-1]),
            along={"plain layers": depths[[0, -1]]},
            aside={"nearly": np.log(plain[[0, -1], :few] / nearly)},
        ),
        "shortcuts: deep below twice shallow": Trend(
            np.log(2 * residual[0] / residual[-1]), aside={"nearly": np.log(2 * residual[0, :few] / nearly)}
        ),
        "deep networks that copy shallow": Identity(
            deep_stack(copy, inputs),
            deep_stack(shallow, inputs),
            aside={"nearly": deep_stack(copy, inputs, skip=NEARLY)},
        ),
    }


@depth_needs_shortcuts.control(
    "deep with shortcuts is worse than shallow and plain too", of="plain: deep worse than shallow"
)
def with_shortcuts(evidence):
    return replace(evidence, differences=evidence.aside["with shortcuts"])


@depth_needs_shortcuts.control("shortcuts of nine tenths", of="shortcuts: deep better than plain, shallow or deep")
def nine_tenths(evidence):
    return replace(evidence, differences=evidence.aside["nearly"])


@depth_needs_shortcuts.control(
    "deep shortcuts of nine tenths below twice shallow", of="shortcuts: deep below twice shallow"
)
def nine_tenths_too(evidence):
    return replace(evidence, differences=evidence.aside["nearly"])


@depth_needs_shortcuts.control("copies with shortcuts of nine tenths", of="deep networks that copy shallow")
def shrunken_copies(evidence):
    return replace(evidence, left=evidence.aside["nearly"])


@depth_needs_shortcuts.picture
def losses_by_depth(pieces):
    """Training losses along depth, with and without shortcuts, and with shortcuts of nine tenths."""
    found = pieces["plain: deep worse than shallow"].aside
    marks = [
        seen("plain", found["depths"], found["plain"]),
        seen("with shortcuts", found["depths"], found["residual"]),
        seen("shortcuts of nine tenths", np.asarray(found["depths"])[-1:], np.asarray(found["nearly"])[None]),
    ]
    return Curves(marks, x="layers", y="training loss", log="xy")
