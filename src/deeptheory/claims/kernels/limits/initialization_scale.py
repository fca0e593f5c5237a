"""From lazy to rich: what the scale of the outputs and the shape of Gaussian data do to training (jagannath 9.1)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.integrate import quad

from deeptheory.foundations.hermite import hermite_coefficients
from deeptheory.foundations.randomness import generator
from deeptheory.kernels.lazy.linear_models import linearized_path
from deeptheory.kernels.lazy.signed_network import (
    SHIFTED_TANH,
    SignedNetwork,
    compressed,
    flow_to,
    jacobian_lipschitz_constant,
    nonvanishing_degree,
    signed_weights,
)
from deeptheory.lab import Exact, Identity, Law, Rate, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, power_law

Width = Annotated[int, Interval(ge=4, le=256)]
Scales = Annotated[tuple[float, ...], Interval(ge=0.01, le=1000.0)]
COUNT = 4


def gaussian_mean(function):
    """E function(z) for a standard normal z, by adaptive quadrature."""
    return quad(lambda z: float(function(z)) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), -9, 9, epsabs=1e-12)[0]


def smooth(u):
    """tanh(u + ½) without JAX, for the quadratures."""
    return np.tanh(u + 0.5)


ACTIVATIONS = {
    # Odd functions lack coefficient 0; a constant plus an odd one coefficient 2; a line plus an even one coefficient 3.
    "tanh": (jnp.tanh, -1),
    "sine": (jnp.sin, -1),
    "sigmoid": (jax.nn.sigmoid, 1),
    "softplus": (jax.nn.softplus, 2),
    "GELU": (partial(jax.nn.gelu, approximate=False), 2),
    "shifted tanh": (SHIFTED_TANH.value, 8),
    "exponential": (jnp.exp, 8),
}


@claim(
    items={
        "J9.5": (
            "doubled networks start from zero",
            "mean square at the start",
            "degree up to which none vanishes",
            "Hermite coefficients",
        )
    },
    says=r"$f=\frac\alpha{\sqrt m}\sum_jb_j\sigma(\langle w_j,x\rangle)$ with as many signs $b_j=+1$ as $-1$ starts "
    r"with $\mathbb E f^2=\alpha^2\mathrm{Var}\,\sigma(\langle w,x\rangle)$ at every width. All Hermite coefficients "
    r"up to the eighth are nonzero for the exponential, not for tanh, sine, sigmoid, softplus or GELU.",
    needs="weights uniform on the sphere",
    symbols={
        r"m": "the number of neurons, half of them with either sign",
        r"\alpha": "the scale of the output",
        r"\sigma": "the activation, expanded in Hermite polynomials",
        r"w": "the weights of a neuron, uniform on the sphere",
    },
    why=r"With as many signs of either kind the mean of $\sigma$ cancels and only its variance is left; independent "
    r"random signs would leave the second moment. If the two halves share their weights, $f=0$. The theory of lazy "
    r"training asks for an activation none of whose Hermite coefficients vanishes: up to the eighth those of $e^u$ "
    r"and of $\tanh(u+\frac12)$ are above $10^{-10}$ in size, while tanh and the sine lack the zeroth, the sigmoid "
    r"the second, softplus and GELU the third.",
    notice=r"Outputs at the start for one input, symmetric about zero. Their spread is the standard deviation of the "
    r"activation: independent signs, which leave its mean in, would have spread them farther.",
    full=dict(trials=262_144),
)
def fixed_signs(key, *, trials: Trials = 98_304, width: Width = 16):
    network, dimension = SignedNetwork(SHIFTED_TANH, 1.7), 5
    x = np.array([[1.5, -0.4, 0.8, 0.2, 1.1], [0.3, 0.5, -0.2, 0.4, 0.1]])
    first, second = jax.random.split(key)
    weights = signed_weights(first, width, dimension, ensemble=(trials,))
    outputs = np.asarray(jax.jit(jax.vmap(lambda w: network.outputs(w, x)))(weights))
    moments = []
    for length in np.linalg.norm(x, axis=1):
        mass, *sums = [
            quad(lambda u, p=p, r=length: smooth(r * u) ** p * (1 - u**2) ** ((dimension - 3) / 2), -1, 1)[0]
            for p in (0, 1, 2)
        ]
        moments.append(np.array(sums) / mass)
    twins = signed_weights(second, width, dimension, doubled=True)
    found = {name: hermite_coefficients(function, 8) for name, (function, _) in ACTIVATIONS.items()}
    known = [
        [gaussian_mean(lambda z, k=k: np.tanh(z + 0.5) * hermite(k, z)) for k in range(5)],
        [np.exp(0.5) / np.sqrt(np.prod(np.arange(1, k + 1))) for k in range(5)],
    ]
    return {
        "doubled networks start from zero": Identity(np.asarray(network.outputs(twins, x)), 0.0, scale=1.0),
        "mean square at the start": Law(
            network.scale**2 * np.array([square - mean**2 for mean, square in moments]),
            outputs.T**2,
            exact=True,
            along={"input": np.arange(2)},
            aside={"second moments": network.scale**2 * np.array(moments)[:, 1], "outputs": outputs[:4096, 0]},
        ),
        "degree up to which none vanishes": Exact(
            np.array([nonvanishing_degree(each) for each in found.values()]),
            np.array([degree for _, degree in ACTIVATIONS.values()]),
        ),
        "Hermite coefficients": Identity(
            np.array([found["shifted tanh"][:5], found["exponential"][:5]]), np.array(known), error=1e-9
        ),
    }


def hermite(degree, z):
    """The Hermite polynomial of norm one."""
    return np.polynomial.hermite_e.hermeval(z, np.eye(degree + 1)[degree]) / np.sqrt(np.prod(np.arange(1, degree + 1)))


@fixed_signs.control("independent random signs, so the second moment", of="mean square at the start")
def second_moment(evidence):
    return replace(evidence, predicted=evidence.aside["second moments"])


@fixed_signs.picture
def outputs_at_the_start(pieces):
    """Outputs of networks at the start for one input, with the predicted root mean square to both sides."""
    found = pieces["mean square at the start"]
    spread, rival = (float(np.sqrt(each[0])) for each in (found.predicted, found.aside["second moments"]))
    top = 0.4 / spread  # about the height of the histogram; the gap breaks the line
    wrong = Line("", [-rival, -rival, np.nan, rival, rival], [0, top, np.nan, 0, top], rival="independent signs")
    marks = [wrong, Level("root mean square", x=-spread), Level("", x=spread)]
    return Histogram(marks, samples=found.aside["outputs"], bins=60, x="output at the start", y="density")


@fixed_signs.control("every activation that is no polynomial qualifies", of="degree up to which none vanishes")
def all_of_them(evidence):
    return replace(evidence, right=np.full(len(ACTIVATIONS), 8))


SLOPE = gaussian_mean(lambda z: (1 - smooth(z) ** 2) ** 2)
SQUARE = gaussian_mean(lambda z: smooth(z) ** 2)
"""E σ′(z)² and E σ(z)² for the shifted tanh: ⟨w, x⟩ is standard normal for a unit w and a Gaussian x."""


SHARPEST = np.abs(np.diff(smooth(np.linspace(-3, 2, 5001)), 2)).max() * 1e6
"""sup |σ″|, by second differences."""


@partial(jax.jit, static_argnames="activation")
def finished(weights, x, y, scale, zeros, *, activation):
    """Travel, distance from the linearized end, and drift of the kernel, when the slowest mode is down by e⁻⁶.

    As many inputs as `zeros` says are 0: with as many signs of each kind the output there is 0, and nothing moves it.
    """

    def one(weights, x, y):
        network = SignedNetwork(activation, scale)
        before = network.jacobian(weights, x)
        values = jnp.sqrt(jnp.linalg.eigvalsh(before @ before.T))
        time = 6 * len(y) / values[zeros] ** 2
        last = flow_to(weights, x, y, scale=scale, time=time, steps=80, activation=activation)
        linear = linearized_path(before, y - network.outputs(weights, x), time[None])[0]
        after = network.jacobian(last, x)
        moved = (last - weights).ravel()
        drift = jnp.linalg.norm(after @ after.T - before @ before.T) / jnp.linalg.norm(before @ before.T)
        return jnp.linalg.norm(moved), jnp.linalg.norm(moved - linear), drift

    return jax.vmap(one)(weights, x, y)


def ensemble(key, trials, *, width, dimension, scale, samples=COUNT, room=COUNT, outputs="taken off"):
    """What training does to as many networks on so many Gaussian inputs, in the basis that their span needs.

    The residuals at the start are random signs if the `outputs` there are taken off, else signs less those outputs.
    There is room for more inputs than the `samples`, put to 0, so that cases share their shapes and compile once.
    """
    first, second = jax.random.split(key)
    rng = generator(first)
    x = rng.standard_normal((trials, room, dimension))
    weights = signed_weights(second, width, dimension, ensemble=(trials,), coordinates=room)
    x = compressed(np.zeros((trials, 1, dimension)), x)[1]
    y = rng.choice([-1.0, 1.0], (trials, room))
    x[:, samples:], y[:, samples:] = 0.0, 0.0
    if outputs == "taken off":
        y = y + scale * smooth(x @ weights.swapaxes(1, 2)) @ np.repeat([1.0, -1.0], width // 2) / np.sqrt(width)
    return [np.asarray(part) for part in finished(weights, x, y, scale, room - samples, activation=SHIFTED_TANH)]


def extreme_singular_values(key, trials, *, width, count, dimension):
    """Of the Jacobian at the start, for α = 1."""
    first, second = jax.random.split(key)
    x = generator(first).standard_normal((trials, count, dimension))
    x = compressed(np.zeros((trials, 1, dimension)), x)[1]
    weights = signed_weights(second, width, dimension, ensemble=(trials,), coordinates=x.shape[-1])
    jacobians = np.asarray(jacobians_of(weights, x))
    turned = jacobians if count < jacobians.shape[2] else jacobians.swapaxes(1, 2)
    grams = turned @ turned.swapaxes(1, 2)
    return np.sqrt(np.linalg.eigvalsh(grams)[:, [0, -1]].T)


UNIT = SignedNetwork(SHIFTED_TANH, 1.0)
jacobians_of = jax.jit(jax.vmap(UNIT.jacobian))


@claim(
    items={
        "J9.6": (
            "distance of the targets",
            "least singular value",
            "largest singular value",
            "largest singular value along the samples",
            "Lipschitz constant along the dimension",
            "Lipschitz constant by the longest input",
            "way along the dimension",
            "way along the samples",
            "deviation along the width",
            "deviation along the dimension",
            "deviation for √d samples",
        )
    },
    says=r"For Gaussian data both extreme singular values of $Df(\theta_0)$ approach $\alpha\sqrt{d\,\mathbb "
    r"E\sigma'^2}$ as $d$ and $m$ grow at fixed $n$, and $L$ approaches $\frac\alpha{\sqrt "
    r"m}\sup|\sigma''|\max_i\|x_i\|^2$. Trained weights travel $\sqrt{n/d}$ and end apart from the linearized ones by "
    r"order $\sqrt{n/md}$, for $n=\sqrt d$ like $d^{-1/4}$.",
    needs="md well above n log n; an activation whose first Hermite coefficients do not vanish; α of order one; for "
    "travel and for deviation at fixed n residuals ±1 at the start, for n = √d labels ±1",
    scale="printed: n, d, m to infinity together; here one of them at a time with n up to 4, d up to 1280 and m up to "
    "256; and n = √d up to 32 at m = 32, where n²/md = 1/32",
    full=dict(trials=256),
    symbols={
        "d": "the dimension of the inputs, which are standard normal",
        "n": "the number of samples",
        "m": "the number of neurons",
        r"\alpha": "the scale of the outputs",
        r"Df(\theta_0)": "the derivative of the $n$ outputs by all weights at the start",
        r"\sigma": r"the activation, here $\tanh(z+\frac12)$; $\mathbb E\sigma'^2$ is over a standard normal $z$",
        "L": "the Lipschitz constant of $Df$",
    },
    why=r"Inputs of length $\sqrt d$ are nearly orthogonal while $n$ is small against $d$, so $Df\,Df^\top$ is nearly "
    r"$\alpha^2d\,\mathbb E\sigma'^2$ times the identity and every sample is fitted on its own. To move one output by "
    "order one each neuron moves its pre-activation there by order $m^{-1/2}$, a distance of $(md)^{-1/2}$ in its "
    r"weights; over $m$ neurons and $n$ samples this makes $\sqrt{n/d}$. The bend of $\sigma$ changes each neuron's "
    r"slope by a share $m^{-1/2}$, and so the way by as much: $\sqrt{n/md}$.",
    notice=r"With $n=\sqrt d$ samples at a fixed width the distance between the trained and the linearized weights "
    "falls like $d^{-1/4}$. The printed $n/d^{3/2}=d^{-1}$, drawn through the first point and so with the constant "
    "that suits it best there, falls far below: no constant repairs it.",
)
def gaussian_data_scalings(
    key,
    *,
    trials: Trials = 96,
    dimensions: Annotated[Sizes, Interval(ge=40, le=100_000)] = (80, 320, 1280),
    widths: Sizes = (16, 64, 256),
    counts: Annotated[Sizes, Interval(ge=4, le=64)] = (8, 16, 32),
):
    keys = jax.random.split(key, 7)
    sizes, samples, rng = np.array(dimensions), (64, 256, 1024), generator(keys[0])
    by_dimension = [ensemble(keys[1], trials, width=64, dimension=d, scale=1.3) for d in dimensions]
    by_width = [ensemble(keys[2], trials, width=m, dimension=80, scale=1.3) for m in widths]
    # The width grows along: at a fixed one the diagonal of the kernel keeps swings of order width^(-1/2).
    values = [extreme_singular_values(keys[3], 32, width=4 * d, count=COUNT, dimension=d) for d in dimensions]
    largest = [extreme_singular_values(keys[4], 32, width=32, count=n, dimension=4)[1] for n in samples]
    # In the words of the theorem: labels ±1, α = 1, outputs as they are at the start.
    rooted = [
        ensemble(each, trials // 2, width=32, dimension=n * n, scale=1.0, samples=n, room=max(counts), outputs="kept")
        for each, n in zip(jax.random.split(keys[6], len(counts)), counts, strict=True)
    ]
    by_samples = [ensemble(keys[1], trials, width=64, dimension=320, scale=1.3, samples=n)[0] for n in (1, 2, 4)]
    inputs = [rng.standard_normal((8, COUNT, d)) for d in dimensions]
    # The longest of a few inputs has a squared length of d + O(√d), a single one of d in the mean.
    constants, alone = (
        np.array([[jacobian_lipschitz_constant(UNIT, x[:n], width=64, starts=4, steps=40) for x in d] for d in inputs])
        for n in (COUNT, 1)
    )
    longest = np.array([np.sum(draws**2, axis=2).max(axis=1) for draws in inputs])
    draws = 768 * trials
    weights, x = signed_weights(keys[5], 8, 6, ensemble=(draws,)), rng.standard_normal((draws, 6))
    outputs = 1.3 * smooth(np.einsum("nk,nmk->nm", x, weights)) @ np.repeat([1.0, -1.0], 4) / np.sqrt(8)
    scaled = np.array(values) / np.sqrt(sizes)[:, None, None]
    return {
        "distance of the targets": Law(
            1 + 1.3**2 * spread_over_weights(), (rng.standard_normal(draws) - outputs) ** 2, exact=True
        ),
        "least singular value": Law(np.sqrt(SLOPE), scaled[:, 0], sizes=sizes, order=0.5),
        "largest singular value": Law(np.sqrt(SLOPE), scaled[:, 1], sizes=sizes, order=0.5),
        "largest singular value along the samples": Rate(
            np.array(samples), np.array(largest), exponent=0.5, rivals=(1.0, 0.0), order=0.5
        ),
        "Lipschitz constant along the dimension": Rate(sizes, alone, exponent=1.0, rivals=(0.5,)),
        "Lipschitz constant by the longest input": Law(
            SHARPEST, constants * np.sqrt(64) / longest, sizes=sizes, order=1
        ),
        "way along the dimension": Rate(
            sizes, np.array([parts[0] for parts in by_dimension]), exponent=-0.5, rivals=(-1.0, 0.0)
        ),
        "way along the samples": Rate(np.array([1, 2, 4]), np.array(by_samples), exponent=0.5, rivals=(1.0, 0.0)),
        "deviation along the width": Rate(
            np.array(widths), np.array([parts[1] for parts in by_width]), exponent=-0.5, rivals=(-1.0,), order=1.0
        ),
        "deviation along the dimension": Rate(
            sizes, np.array([parts[1] for parts in by_dimension]), exponent=-0.5, rivals=(0.0,)
        ),
        "deviation for √d samples": Rate(
            np.array(counts) ** 2, np.array([parts[1] for parts in rooted]), exponent=-0.25
        ),
    }


def spread_over_weights():
    """E_x Var_w σ(⟨w, x⟩) in six dimensions: all of E σ(z)² less the squared means at the lengths that x has."""
    lengths = np.linspace(0.01, 9, 450)
    means = [quad(lambda u, r=r: smooth(r * u) * (1 - u**2) ** 1.5, -1, 1)[0] * 8 / (3 * np.pi) for r in lengths]
    density = lengths**5 * np.exp(-(lengths**2) / 2)
    return SQUARE - float(np.sum(np.square(means) * density) / np.sum(density))


@gaussian_data_scalings.control("n/d^(3/2) for n = √d, as printed", erratum="J9.6a", of="deviation for √d samples")
def printed_dimension(evidence):
    return replace(evidence, exponent=-1.0)


@gaussian_data_scalings.control("a deviation that does not fall with the width", of="deviation along the width")
def printed_width(evidence):
    return replace(evidence, exponent=0.0)


@gaussian_data_scalings.control(
    "the largest slope in place of the sharpest bend", of="Lipschitz constant by the longest input"
)
def largest_slope(evidence):
    return replace(evidence, predicted=1.0)


@gaussian_data_scalings.control("the slope of the linear part alone", of="least singular value")
def only_linear(evidence):
    return replace(evidence, predicted=gaussian_mean(lambda z: 1 - smooth(z) ** 2))


@gaussian_data_scalings.picture
def apart_from_the_linearized(pieces):
    """How far trained weights end from the linearized ones, n = √d samples at one width; lines through the first "
    "dot."""
    rivals = {-1.0: "n/d^(3/2), as printed in Thm 9.2"}
    marks = power_law("trained networks, d^(−1/4)", pieces["deviation for √d samples"], rivals=rivals)
    return Curves(marks, x="dimension d = n²", y="distance from the linearized weights", log="xy")


@claim(
    items={
        "A9.30": (
            "drift of the kernel",
            "distance travelled",
            "distance from the linearized path",
            "towards small scales",
        )
    },
    says=r"With the residual at the start kept fixed, a larger output scale $\alpha$ makes training lazy: the weights "
    r"travel $\alpha^{-1}$, the tangent kernel drifts by $\alpha^{-1}$ of itself, and the path leaves the linearized "
    r"one by $\alpha^{-2}$; from $\alpha=\frac12$ to 64 all three fall at every step.",
    needs="a smooth activation; the residual at the start does not grow with the scale",
    scale="printed: one sentence on initial variance; here two layers of 64 neurons, 4 points, scales from ½ to 64",
    full=dict(trials=256),
    symbols={
        r"\alpha": "the number by which the outputs of the network are multiplied",
    },
    why=r"The derivative of the outputs by the weights has a factor $\alpha$, so a given change of the outputs needs a "
    r"move of order $1/\alpha$. Over such a way the derivative, which is smooth, changes by a share $1/\alpha$ of "
    "itself: that is the drift of the kernel. The two paths differ by this share of the way, "
    r"$\alpha^{-1}\cdot\alpha^{-1}$.",
    notice=r"All three fall on straight lines for large $\alpha$, the distance from the linearized path twice as "
    r"steeply. Towards small $\alpha$ the drift of the kernel rises faster, to a seventh of its size at "
    r"$\alpha=\frac12$: the network begins to learn features.",
)
def lazy_to_rich(
    key,
    *,
    trials: Trials = 48,
    scales: Scales = (0.5, 1.0, 2.0, 4.0, 16.0, 64.0),
    outputs: Literal["taken off", "kept"] = "taken off",
):
    ends = np.array([ensemble(key, trials, width=64, dimension=40, scale=scale, outputs=outputs) for scale in scales])
    travel, deviation, drift = ends.transpose(1, 0, 2)
    large = np.array(scales[-3:])
    falls = -np.diff(np.log(np.array([travel, deviation, drift])), axis=1)
    return {
        "drift of the kernel": Rate(large, drift[-3:], exponent=-1.0, rivals=(-2.0, 0.0)),
        "distance travelled": Rate(large, travel[-3:], exponent=-1.0, rivals=(-0.5,)),
        "distance from the linearized path": Rate(large, deviation[-3:], exponent=-2.0, rivals=(-1.0,)),
        "towards small scales": Trend(
            falls,
            along={
                "what": np.array(["travel", "deviation", "drift"]),
                "scale": np.array(scales[:-1]),
                "scales": np.array(scales),
                "means": ends.mean(axis=2),
            },
        ),
    }


lazy_to_rich.control("outputs of the start that grow with the scale", of="drift of the kernel", outputs="kept")


@lazy_to_rich.picture
def distances(pieces):
    """How far training moves, how far it leaves the linearized path, and how far the kernel drifts, at each scale."""
    along = pieces["towards small scales"].along
    names = ("distance travelled", "distance from the linearized path", "drift of the kernel")
    marks = [
        kind(name, along["scales"], values)
        for name, values in zip(names, np.transpose(along["means"]), strict=True)
        for kind in (Line, Dots)
    ]
    return Curves(marks, x="scale of the outputs α", y="distance in weights, or drift relative to the start", log="xy")
