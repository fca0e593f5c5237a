"""Layers that are stepped together, and normalization over batches and over features (lucchi 10.3, Problem 10.2)."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.architectures.normalizers import BatchNorm, init_batch_norm, init_layer_norm
from deeptheory.architectures.scalar_chains import chain_gradient, first_order_rate, step_polynomial
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row


@claim(
    items={"L10.22": ("terms of a step", "rate at which first order is a tenth off", "gradient along depth")},
    says=r"In the chain $y=(\prod_lw_l)x$ a gradient step in all weights at once gives $\prod_l(w_l-\eta g_l)\,x$, a "
    r"polynomial in $\eta$ with terms up to order $L$. The rate up to which its linear part can be trusted shrinks "
    r"like $1/L$, and $g_l=s\prod_{k\ne l}w_k$ vanishes or explodes like $w^{L-1}$.",
    symbols={
        "w_l": "the weight of layer $l$ of $L$",
        "x,y": "input and output",
        r"\eta": "the learning rate",
        "g_l": r"the derivative of the loss by $w_l$; $s$ is that by $y$, times $x$",
    },
    why=r"Multiply out: from every layer comes either its weight or $-\eta$ times its gradient, so the term of order "
    r"$k$ is a sum over all sets of $k$ layers. With equal layers the terms are those of $(1-u)^L$, $u=\eta g/w$: the "
    r"second is $\frac{L-1}2u$ of the first. A gradient step is computed as if the other layers stood still, and they "
    r"do not.",
    notice="Left: what a step does to the output of a chain of ten equal layers, and its tangent at zero: the step "
    "that was meant. Right: the gradient of one weight along depth, on a logarithmic axis.",
    explore={"weight": (0.7, 0.9, 1.0, 1.1, 1.3)},
)
def a_step_moves_all_layers(*, weight: Annotated[float, Interval(ge=0.5, le=1.5)] = 0.9):
    w = [Fraction(n, 4) for n in (3, -5, 2, 6, 7, -1)]
    g = [Fraction(n, 8) for n in (1, 3, -4, 9, 2, 5)]
    layers = range(len(w))
    sums = [
        (-1) ** k * sum(prod(g[i] if i in chosen else w[i] for i in layers) for chosen in combinations(layers, k))
        for k in range(len(w) + 1)
    ]
    found = step_polynomial(np.array(w, float), np.array(g, float))
    depths = np.array([4, 8, 16, 32, 64, 128])
    # Layers with weight 1 and gradient 0 change nothing: with them all depths have one shape.
    mask = np.arange(depths[-1]) < depths[:, None]
    rates = np.array([first_order_rate(np.where(m, weight, 1.0), np.where(m, 1.0, 0.0)) for m in mask])
    slopes = np.asarray(chain_gradient(np.where(mask, weight, 1.0)))[:, 0]
    return {
        "terms of a step": Exact(
            np.array([Fraction(float(c)) for c in found]), np.array(sums), along={"order": np.arange(len(w) + 1)}
        ),
        "rate at which first order is a tenth off": Rate(
            depths - 1, rates, exponent=-1.0, rivals=(-0.5, -2.0), resolution=0.1
        ),
        "gradient along depth": Identity(
            np.log(slopes),
            (depths - 1) * np.log(weight),
            scale=1.0,
            size=depths[-1],
            along={"depth": depths},
            aside={"weight": weight},
        ),
    }


@a_step_moves_all_layers.control("one layer moves at a time", of="terms of a step")
def first_order_only(evidence):
    right = np.array(evidence.right)
    right[2:] = Fraction(0)
    return replace(evidence, right=right)


@a_step_moves_all_layers.picture
def chain(pieces):
    """What a step of rate η does to a chain of ten equal layers (left), and the gradient along depth (right)."""
    gradient = pieces["gradient along depth"]
    w, depths = float(gradient.aside["weight"]), np.asarray(gradient.along["depth"])
    u = np.linspace(0, 0.5, 60)
    exact = (1 - u) ** 10
    marks = [Line("all layers at once", u, exact), Line("", u, 1 - 10 * u, rival="first order")]
    left = Curves(marks, x="relative step ηg/w", y="output after the step, by that before", ys=(-1, 1))
    right = [
        Line(f"{w:g} to the power L − 1", depths, np.exp(gradient.right)),
        Dots("gradient", depths, np.exp(gradient.left)),
    ]
    return Row([left, Curves(right, x="depth L", y="gradient", log="xy")])


@claim(
    items={
        "L10.23": (
            "mean after batch normalization",
            "variance after batch normalization",
            "weights and their gradients",
        ),
        "L10.24": "mean square after layer normalization",
        "L10.25": ("noise from the batch", "noise squared along the batch size", "derivatives between examples"),
    },
    says=r"Batch normalization gives every feature mean $\beta$ and variance $\alpha^2v/(v+\delta)$ over the batch, "
    r"and what it makes of one example varies with its companions: variance about $(1+z^2/2)/|I|$ for Gaussian "
    r"features and $\alpha=1$. Layer normalization looks at the example alone.",
    needs="δ = 0 where weights have no size; Gaussian features, independent examples",
    symbols={
        r"\alpha,\beta": "the learned gain and shift of the feature",
        "v": "the variance of the feature over the batch",
        r"\delta": "the number added under the root",
        "z": "the feature of the example, in units of its standard deviation",
        "|I|": "the number of examples in the batch",
    },
    why=r"Dividing by $\sqrt{v+\delta}$ makes the variance $v/(v+\delta)$, which the book calls one; then $\alpha$ and "
    r"$\beta$ stretch and shift. Mean and deviation of a batch are off by about $|I|^{-1/2}$ and $(2|I|)^{-1/2}$, "
    "independently; the first moves $z$, the second stretches it. What does not see the size of a weight has a "
    "gradient orthogonal to it.",
    notice="The spread of one normalized example over random batches falls with the batch size; the example in the "
    "middle feels only the mean, the outlying one the deviation too. Layer normalization has no such spread.",
)
def batches_make_noise(key, *, trials: Trials = 20_000):
    rng = generator(key)
    z = rng.standard_normal((32, 5)) * rng.uniform(0.5, 3, 5) + rng.uniform(-2, 2, 5)
    deltas = np.array([0.01, 0.3, 2.0])
    gain, shift = rng.uniform(0.5, 2, 5) * rng.choice([-1, 1], 5), rng.standard_normal(5)
    outputs = np.array([BatchNorm(gain, shift, float(d))(z) for d in deltas])
    own = np.array([[np.mean((f - f.mean()) ** 2) for f in z.T]])
    rows = np.array([np.mean(np.square(init_layer_norm(5, epsilon=float(d))(z)), 1) for d in deltas])
    spread = np.array([[np.mean((row - row.mean()) ** 2) for row in z]])
    x, w, y = rng.standard_normal((32, 3)), rng.standard_normal((5, 3)), rng.standard_normal((32, 5))
    layer = BatchNorm(rng.uniform(0.5, 2, 5), rng.standard_normal(5), 0.0)

    @jax.jit
    def slope(w):
        return jax.grad(lambda w: jnp.mean((jnp.tanh(layer(jnp.asarray(x) @ w.T)) - y) ** 2))(w)

    slopes, doubled = np.asarray(slope(jnp.asarray(w))), np.asarray(slope(2 * jnp.asarray(w)))
    # Every column is a batch of its own: one example at z, and others drawn anew.
    sizes, places = np.array([16, 32, 64, 128]), np.array([0.0, 1.0, 2.0])
    free = jax.jit(init_batch_norm(trials, epsilon=0.0).__call__)
    pooled = []
    for size in sizes:
        others = rng.standard_normal((size - 1, trials))
        pooled.append([np.asarray(free(np.vstack([np.full(trials, place), others])))[0] for place in places])
    pooled = np.array(pooled)
    deviations = (pooled - pooled.mean(-1, keepdims=True)) ** 2 * sizes[:, None, None]
    few = jnp.asarray(z[:4])
    across = [
        int(jnp.count_nonzero(jax.jit(jax.jacobian(each(5).__call__))(few) * (1 - jnp.eye(4))[:, None, :, None]))
        for each in (init_layer_norm, init_batch_norm)
    ]
    return {
        "mean after batch normalization": Identity(
            outputs.mean(1),
            np.tile(shift, (3, 1)),
            scale=4.0,
            size=32,
            along={"delta": deltas, "feature": np.arange(5)},
            aside={"kept": shift + gain * z.mean(0) / np.sqrt(own + deltas[:, None])},
        ),
        "variance after batch normalization": Identity(
            outputs.var(1),
            gain**2 * own / (own + deltas[:, None]),
            scale=4.0,
            size=32,
            along={"delta": deltas, "feature": np.arange(5)},
            aside={"gain": gain, "fewer": gain**2 * own / (own * 32 / 31 + deltas[:, None])},
        ),
        "mean square after layer normalization": Identity(
            rows, spread / (spread + deltas[:, None]), scale=1.0, size=32, aside={"batch": own.mean(), "delta": deltas}
        ),
        "weights and their gradients": Identity(
            np.stack([(w * slopes).sum(1), (2 * doubled - slopes).sum(1)]), 0.0, scale=np.abs(slopes).max(), size=96
        ),
        "noise from the batch": Law(
            1 + places**2 / 2,
            deviations,
            sizes=sizes,
            order=1.0,
            along={"z": places},
            resolution=0.2,
            aside={"spread": pooled.std(-1)},
        ),
        "noise squared along the batch size": Rate(
            sizes, deviations[:, 1] / sizes[:, None], exponent=-1.0, rivals=(-0.5, -2.0), order=1.0
        ),
        "derivatives between examples": Exact(
            np.array(across), np.array([0, 4 * 3 * 5]), along={"normalization": ["layer", "batch"]}
        ),
    }


@batches_make_noise.control("unit variance whatever δ", of="variance after batch normalization")
def unit_variance(evidence):
    return replace(evidence, right=np.ones_like(evidence.right) * np.asarray(evidence.aside["gain"]) ** 2)


@batches_make_noise.control("a variance over |I| − 1", of="variance after batch normalization")
def one_fewer(evidence):
    return replace(evidence, right=evidence.aside["fewer"])


@batches_make_noise.control("the mean divided, not taken away", of="mean after batch normalization")
def mean_kept(evidence):
    return replace(evidence, right=evidence.aside["kept"])


@batches_make_noise.control("statistics over the batch", of="mean square after layer normalization")
def over_the_batch(evidence):
    v, delta = float(evidence.aside["batch"]), np.asarray(evidence.aside["delta"])[:, None]
    return replace(evidence, right=np.broadcast_to(v / (v + delta), np.shape(evidence.left)))


@batches_make_noise.control("noise of the mean alone", of="noise from the batch")
def mean_alone(evidence):
    return replace(evidence, predicted=np.ones(len(evidence.predicted)))


@batches_make_noise.picture
def companions(pieces):
    """The spread of one normalized example over random batches, for three examples, beside the predicted one."""
    noise = pieces["noise from the batch"]
    sizes = np.asarray(noise.sizes)
    marks = []
    for i, z in enumerate(np.asarray(noise.along["z"])):
        name = f"z = {z:g}"
        marks += [
            Line(name, sizes, np.sqrt(noise.predicted[i] / sizes)),
            Dots(name, sizes, noise.aside["spread"][:, i]),
        ]
    return Curves(marks, x="batch size |I|", y="standard deviation", log="xy")


@claim(
    items={
        "L10.45": ("gain σ and shift μ", "loss along the size of the weights"),
        "L10.46": ("networks of any first weight", "least error without a gain", "tanh with a gain, ReLU without"),
    },
    says=r"With $\gamma=\sigma$ and shift $\mu$ batch normalization gives the layer back; only the size of the "
    r"incoming weights has lost its meaning. Without the gain $f=w_2\varphi(w_1x)$ is $w_2\varphi(\pm(x-\bar x)/s)$ "
    r"whatever $w_1$: a steep $\tanh$ is out of reach, while ReLU loses nothing.",
    needs="a fixed batch, deviations with B − 1 as in the problem, no δ; centred data for ReLU",
    symbols={
        r"\gamma": "the learned gain",
        r"\mu,\sigma": "mean and deviation of the pre-activations over the batch",
        "w_1,w_2": "the two weights of a network with one hidden node",
        r"\varphi": "the activation",
        r"\bar x,s": "mean and deviation of the inputs over the batch",
    },
    why=r"The gain says how large the pre-activations are; before, the weights and the data together did. The same "
    r"functions are reached along other ways: a direction in which the loss cannot change is gone from the weights. "
    r"Without a gain every size of $w_1$ is normalized away and the activation is only ever seen at unit scale. ReLU "
    r"commutes with positive factors, so there $w_2$ makes up for it.",
    notice=r"The steep target, the best fit of $w_2\varphi((x-\bar x)/s)$ that cannot become steeper, and the fit with "
    "a gain, which lies on the target.",
    explore={"steepness": (1.0, 2.0, 5.0, 10.0)},
)
def a_gain_gives_back_the_size(key, *, steepness: Annotated[float, Interval(ge=1.0, le=20.0)] = 5.0):
    rng = generator(key)
    count = 24
    h = rng.standard_normal((count, 4)) * rng.uniform(0.5, 3, 4) + rng.uniform(-2, 2, 4)
    mean, deviation = h.mean(0), h.std(0, ddof=1)
    gains, shifts = np.stack([deviation, rng.uniform(0.5, 2, 4)]), np.stack([mean, rng.standard_normal(4)])
    biased = np.sqrt((count - 1) / count)  # our layer divides by the deviation with B in the place of B − 1
    layers = [BatchNorm(gain * biased, shift, 0.0)(h) for gain, shift in zip(gains, shifts, strict=True)]
    printed = [h, gains[1] * (h - mean) / deviation + shifts[1]]

    x, w, y = rng.standard_normal((count, 3)), rng.standard_normal((4, 3)), rng.standard_normal((count, 4))
    layer = BatchNorm(gains[1], shifts[1], 0.0)
    growth = 10.0 ** np.arange(-2, 3)

    def loss(before):
        return float(np.mean((np.tanh(before) - y) ** 2))

    inputs = rng.standard_normal(count)
    firsts = np.array([0.1, 1.0, 10.0, -3.0])
    unit = (inputs - inputs.mean()) / inputs.std(ddof=1)
    free = BatchNorm(np.full(4, biased), np.zeros(4), 0.0)
    outputs = np.tanh(np.asarray(free(inputs[:, None] * firsts))).T
    target = np.tanh(steepness * (inputs - inputs.mean()))
    best = (np.tanh(unit) @ target) / np.sum(np.tanh(unit) ** 2)
    least = np.mean((best * np.tanh(unit) - target) ** 2)
    tried = np.linspace(best - 1, best + 1, 21)
    errors = np.mean((tried[:, None, None] * outputs - target) ** 2, -1)
    # Half-way from no gain to the one that is needed, with the best w₂ for it.
    halfway = np.tanh((1 + steepness * inputs.std(ddof=1)) / 2 * unit)
    nearer = np.mean((halfway * (halfway @ target) / np.sum(halfway**2) - target) ** 2)
    gained = BatchNorm(np.array([steepness * inputs.std()]), np.zeros(1), 0.0)
    steep = np.tanh(np.asarray(gained(0.1 * inputs[:, None])))[:, 0]
    rectified = np.maximum(np.asarray(free(inputs[:, None] * firsts)), 0)[:, 0]
    return {
        "gain σ and shift μ": Identity(np.array(layers), np.array(printed), scale=10.0, size=count),
        "loss along the size of the weights": Identity(
            [loss(np.asarray(layer(c * x @ w.T))) for c in growth],
            loss(np.asarray(layer(x @ w.T))),
            size=count,
            along={"size": growth},
            aside={"plain": [loss(c * x @ w.T) for c in growth]},
        ),
        "networks of any first weight": Identity(
            outputs,
            np.tanh(np.sign(firsts)[:, None] * unit),
            scale=1.0,
            size=count,
            along={"first weight": firsts, "example": np.arange(count)},
            aside={"plain": np.tanh(firsts[:, None] * inputs)},
        ),
        "least error without a gain": Inequality(
            np.broadcast_to(least, errors.shape), errors, aside={"half a gain": nearer}
        ),
        "tanh with a gain, ReLU without": Identity(
            np.stack([steep, inputs.std(ddof=1) * steepness * rectified]),
            np.stack([target, np.maximum(steepness * (inputs - inputs.mean()), 0)]),
            scale=steepness,
            size=count,
            along={"activation": ["tanh", "ReLU"], "example": np.arange(count)},
            aside={"inputs": inputs, "without": best * np.tanh(unit)},
        ),
    }


@a_gain_gives_back_the_size.control("gain one", of="gain σ and shift μ")
def gain_one(evidence):
    first = np.asarray(evidence.right[0])
    unit = (first - first.mean(0)) / first.std(0, ddof=1) + first.mean(0)
    return replace(evidence, left=np.stack([unit, np.asarray(evidence.left[1])]))


@a_gain_gives_back_the_size.control("no normalization", of="loss along the size of the weights")
def plain_layer(evidence):
    return replace(evidence, left=evidence.aside["plain"])


@a_gain_gives_back_the_size.control("the first weight counts as before", of="networks of any first weight")
def plain_network(evidence):
    return replace(evidence, right=evidence.aside["plain"])


@a_gain_gives_back_the_size.control("nor with half the gain that is needed", of="least error without a gain")
def half_a_gain(evidence):
    return replace(evidence, bound=np.broadcast_to(evidence.aside["half a gain"], np.shape(evidence.bound)))


@a_gain_gives_back_the_size.control("tanh without a gain", of="tanh with a gain, ReLU without")
def without_a_gain(evidence):
    return replace(evidence, left=np.stack([evidence.aside["without"], np.asarray(evidence.left[1])]))


@a_gain_gives_back_the_size.picture
def steep_target(pieces):
    """The steep target, the network with a gain on it, and the best network without one."""
    fits = pieces["tanh with a gain, ReLU without"]
    order = np.argsort(fits.aside["inputs"])
    x = np.asarray(fits.aside["inputs"])[order]
    return Curves(
        [
            Line("target", x, fits.right[0][order]),
            Dots("with a gain", x, fits.left[0][order]),
            Line("", x, np.asarray(fits.aside["without"])[order], rival="best without a gain"),
        ],
        x="input x",
        y="output",
    )
