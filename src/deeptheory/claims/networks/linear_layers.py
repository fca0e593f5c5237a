"""Linear layers: superposition, one matrix for any depth, and the linear autoencoder that truncates the SVD."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.networks.autoencoders import (
    LinearAutoencoder,
    autoencoder_gradient,
    least_autoencoder_loss,
    optimal_autoencoder,
    reconstruction_loss,
    train_autoencoder,
    truncated_svd,
)
from deeptheory.networks.linear_maps import affine_parts, collapsed, superposition_defect

WEIGHTS = np.linspace(-1, 2, 7)
"""values of α and of β"""


@claim(
    items={"L2.2": ("defect of superposition", "matrix of a layer"), "L2.3": "any depth is one matrix"},
    says=r"Of $f(x)=Ax+c$ the defect $f(\alpha x+\beta y)-\alpha f(x)-\beta f(y)$ is $(1-\alpha-\beta)c$: zero for all "
    r"$\alpha,\beta$ exactly if $f$ is linear. The columns of $A$ are $f(e_i)-f(0)$. Linear layers on top of each "
    r"other are one linear layer, $W_L\cdots W_1$.",
    needs="layers of width 4 with Gaussian weights; nothing between them",
    symbols={
        "A, c": "the weights of the layer and its offsets",
        r"\alpha, \beta": "any two numbers",
        "e_i": "the unit vectors",
        "W_l": "the matrix of the $l$-th of $L$ layers",
    },
    why="The linear part superposes, so only the offset is left over: once from the left side, α and β times from the "
    "right. Without an offset superposition holds, and a map that keeps sums and multiples keeps them when another "
    "such map follows; so layers without anything between them are a linear map of the input, which has one matrix.",
    notice="The defect over α and β is a plane that vanishes on the line α + β = 1, so affine maps are those for which "
    "superposition holds there. One constant for all α and β would be the horizontal lines.",
)
def superposition_of_layers(
    key, *, depth: Annotated[int, Interval(ge=2, le=20)] = 5, between: Literal["nothing", "relu"] = "nothing"
):
    rng = generator(key)
    matrix, offset, x, y = rng.standard_normal((4, 4)), *rng.standard_normal((3, 4))
    layers = list(rng.standard_normal((depth, 4, 4)))
    alphas, betas = (each.ravel() for each in np.meshgrid(WEIGHTS, WEIGHTS, indexing="ij"))

    def layer(x):
        return matrix @ x + offset

    def network(x):
        for weights in layers:
            x = weights @ x
            x = np.maximum(x, 0) if between == "relu" else x
        return x

    defects = np.array(
        [superposition_defect(layer, x, y, alpha=alpha, beta=beta) for alpha, beta in zip(alphas, betas, strict=True)]
    )
    found, _ = affine_parts(layer, inputs=4)
    size = np.abs(matrix).sum() * (np.abs(x) + np.abs(y)).max() + np.abs(offset).max()
    whole = collapsed(layers)
    return {
        "defect of superposition": Identity(
            defects.reshape(len(WEIGHTS), len(WEIGHTS), 4),
            ((1 - alphas - betas)[:, None] * offset).reshape(len(WEIGHTS), len(WEIGHTS), 4),
            scale=size,
            along={"alpha": WEIGHTS, "beta": WEIGHTS, "output": np.arange(4)},
            # At α = β = 0 the defect is f(0), so that is the only constant that could serve.
            aside={"at zero": superposition_defect(layer, x, y, alpha=0.0, beta=0.0)},
        ),
        "matrix of a layer": Identity(
            found, matrix, scale=size, aside={"images of the unit vectors": np.stack([layer(e) for e in np.eye(4)], 1)}
        ),
        "any depth is one matrix": Identity(
            np.stack([network(x), network(y), network(x + y)]),
            np.stack([whole @ x, whole @ y, whole @ (x + y)]),
            scale=np.prod([np.linalg.norm(w, 2) for w in layers]) * np.abs([x, y]).max(),
            size=4 * depth,
            aside={"reversed": np.stack([x, y, x + y]) @ collapsed(layers[::-1]).T},
        ),
    }


@superposition_of_layers.control("one constant for all α and β", of="defect of superposition")
def one_constant(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.aside["at zero"], evidence.left.shape))


@superposition_of_layers.control("columns f(eᵢ), the offset not taken away", of="matrix of a layer")
def with_offset(evidence):
    return replace(evidence, left=evidence.aside["images of the unit vectors"])


@superposition_of_layers.control("the product in the other order", of="any depth is one matrix")
def other_order(evidence):
    return replace(evidence, right=evidence.aside["reversed"])


superposition_of_layers.control("rectified between the layers", of="any depth is one matrix", between="relu")


@superposition_of_layers.picture
def defects(pieces):
    """The first output's defect over α for several β: the formula as lines, what the layer does as dots."""
    seen = pieces["defect of superposition"]
    marks = []
    for i in range(0, len(WEIGHTS), 2):
        name = f"β = {WEIGHTS[i]:g}"
        marks += [Line(name, WEIGHTS, seen.right[:, i, 0]), Dots(name, WEIGHTS, seen.left[:, i, 0])]
    constant = np.full(len(WEIGHTS), seen.aside["at zero"][0])
    return Curves(
        [*marks, Line("", WEIGHTS, constant, rival="one constant for all α and β")],
        x="first weight α",
        y="defect of superposition",
    )


SPECTRUM = np.array([3.0, 2.2, 1.6, 1.2, 0.9, 0.7])
"""singular values of the data, divided by √n: descent with step η forgets direction i like exp(−ησᵢ²t) and tells two
apart like exp(−η(σᵢ² − σⱼ²)t); 2000 steps of 0.05 do so even from a start that is nearly orthogonal to one of them"""
RANKS = np.arange(1, 6)


def drawn_data(rng, count):
    """Data with this spectrum, in random directions, whose mean is far from zero."""
    left = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    right = np.linalg.qr(1 + rng.standard_normal((count, 6)))[0]
    return left * (SPECTRUM * count**0.5) @ right.T


def alternated(data, rank, rng, rounds=200):
    """The nearest product of two matrices of `rank` columns, by least squares in one and the other in turn."""
    right = rng.standard_normal((rank, data.shape[1]))
    left = data
    for _ in range(rounds):
        left = np.linalg.lstsq(right.T, data.T, rcond=None)[0].T
        right = np.linalg.lstsq(left, data, rcond=None)[0]
    return left @ right


def drawn_ranks(rng):
    """Ranks of C, D, DC and DCX, for whole-number matrices; in every other pair D maps a direction that C uses to 0."""
    rank, rows = np.linalg.matrix_rank, []
    for trial in range(40):
        encoder, decoder, data = (rng.integers(-2, 3, shape) for shape in ((3, 6), (6, 3), (6, 8)))
        if trial % 2:
            flat = rng.integers(-2, 3, (3, 2))  # a plane that the code stays in
            encoder, decoder = flat @ encoder[:2], np.cross(decoder, flat[:, 0])
        rows.append([rank(encoder), rank(decoder), rank(decoder @ encoder), rank(decoder @ encoder @ data)])
    return np.array(rows).T


@claim(
    items={
        "L2.4": "gradient of the loss",
        "L2.5": "ranks",
        "L2.6": ("distance to the nearest matrix", "no matrix of that rank is nearer"),
        "L2.7": ("loss of the trained autoencoder", "projection of the trained autoencoder"),
    },
    says=r"The nearest matrix of rank $\le m$ to $X$ is its truncated singular value decomposition $X_m$, at distance "
    r"$\sqrt{\sigma_{m+1}^2+\dots}$. As $DCX$ has rank $\le m$, no linear autoencoder does better; descent finds "
    r"$DC=U_mU_m^\top$, the projection on the first $m$ singular vectors.",
    needs=r"$\sigma_m>\sigma_{m+1}$, a random start; the vectors are those of $X$ itself, not of the centred data",
    symbols={
        "X": "the data, one column each",
        "C, D": "the encoder, $m\\times d$, and the decoder, $d\\times m$",
        r"\sigma_i": "the singular values of $X$, in falling order",
        "U_m": "its first $m$ left singular vectors as columns",
    },
    why="In the directions of the singular vectors the squared distance is a sum over directions, and a matrix of rank "
    "m can take care of m of them; the largest are the best choice. What comes out of a code of m numbers has rank m "
    "at most, and projecting on the first m singular vectors is linear, so it reaches the bound. All other "
    "critical points of the loss choose other directions and are saddles, which descent leaves.",
    notice="The loss of the trained pair lies on the tail sum of the squared singular values, over twice the number of "
    "points, for every width of the code. Right: one autoencoder on its way there, from a plateau near one saddle "
    "to the next and to the bound.",
)
def linear_autoencoder_and_svd(key, *, examples: Annotated[int, Interval(ge=10, le=200)] = 30):
    rng = generator(key)
    data = drawn_data(rng, examples)
    values = np.sqrt(np.sort(np.linalg.eigvalsh(data @ data.T))[::-1])
    tails = np.array([np.sum(values[r:] ** 2) for r in RANKS])
    cuts = [truncated_svd(data, rank=int(r)) for r in RANKS]
    found = [alternated(data, r, rng) for r in RANKS]
    random = [
        [np.linalg.norm(data - alternated(data, r, rng, rounds=1)) for _ in range(50)] for r in (*RANKS, RANKS[-1] + 1)
    ]
    start = [LinearAutoencoder(*(0.1 * rng.standard_normal(s) for s in ((r, 6), (6, r)))) for r in RANKS]
    trained = [train_autoencoder(pair, data, step_size=0.05, steps=2000) for pair in start]
    centred = data - data.mean(1, keepdims=True)
    projections = [[pair.decoder @ pair.encoder, *(u @ u.T for u in (
        optimal_autoencoder(each, width=int(r)).decoder for each in (data, centred)
    ))] for r, (pair, _) in zip(RANKS, trained, strict=True)]  # fmt: skip
    encoder, decoder = rng.standard_normal((3, 6)), rng.standard_normal((6, 3))
    slopes = autoencoder_gradient(encoder, decoder, data)
    moved = [np.zeros_like(each) for each in slopes]
    for part, into in enumerate(moved):
        for place in np.ndindex(into.shape):
            pair = [encoder.astype(complex), decoder.astype(complex)]
            pair[part][place] += 1e-30j
            into[place] = np.imag(np.sum((data - pair[1] @ pair[0] @ data) ** 2)) / (2 * examples) / 1e-30
    of_encoder, of_decoder, product, out = drawn_ranks(rng)
    both = np.minimum(of_encoder, of_decoder)
    along = {"width of the code": RANKS}
    flat = [np.concatenate([np.ravel(part) for part in each]) for each in (slopes, moved)]
    return {
        "gradient of the loss": Identity(flat[0], flat[1], scale=np.abs(flat[1]).max(), size=6 * examples),
        "ranks": Chain(
            {
                "rank DC ≤ min(rank C, rank D)": (product, both),
                "rank C, rank D ≤ m": (both, np.full(len(both), 3)),
                "rank DCX ≤ rank DC": (out, product),
            }
        ),
        # Alternating least squares ends within 1e-8 of the bound where singular values are this far apart.
        "distance to the nearest matrix": Identity(
            np.array([[np.linalg.norm(data - each) for each in pair] for pair in zip(cuts, found, strict=True)]),
            np.sqrt(tails)[:, None] * np.ones(2),
            size=6 * examples,
            error=1e-6,
            along=along | {"found by": np.array(["truncation", "alternating least squares"])},
            aside={"one value less": np.sqrt(np.append(tails[1:], np.sum(values[6:] ** 2)))},
        ),
        "no matrix of that rank is nearer": Inequality(
            np.sqrt(tails)[:, None],
            np.array(random[:-1]),
            along=along,
            aside={"of one rank more": np.array(random[1:])},
        ),
        "loss of the trained autoencoder": Identity(
            np.array([reconstruction_loss(*pair, data) for pair, _ in trained]),
            tails / (2 * examples),
            error=1e-6,
            along=along,
            aside={"on the way": trained[2][1], "least": least_autoencoder_loss(data, width=3)},
        ),
        "projection of the trained autoencoder": Identity(
            np.array([row[0] for row in projections]),
            np.array([row[1] for row in projections]),
            scale=1.0,
            error=1e-3,
            aside={"of the centred data": np.array([row[2] for row in projections])},
        ),
    }


@linear_autoencoder_and_svd.control(
    "halved again, as both displays of the loss together say", of="gradient of the loss"
)
def halved(evidence):
    return replace(evidence, left=evidence.left / 2)


@linear_autoencoder_and_svd.control("the smaller of the two ranks is attained", of="ranks")
def attained(evidence):
    small, large = evidence.links["rank DC ≤ min(rank C, rank D)"]
    return replace(evidence, links={"min(rank C, rank D) ≤ rank DC": (large, small)})


@linear_autoencoder_and_svd.control("the tail begins one value later", of="distance to the nearest matrix")
def later_tail(evidence):
    return replace(evidence, right=evidence.aside["one value less"][:, None] * np.ones(2))


@linear_autoencoder_and_svd.control("matrices of one rank more", of="no matrix of that rank is nearer")
def one_more(evidence):
    return replace(evidence, bound=evidence.aside["of one rank more"])


@linear_autoencoder_and_svd.control("one value more is kept", of="loss of the trained autoencoder")
def later_loss(evidence):
    return replace(evidence, right=np.append(evidence.right[1:], 0.0))


@linear_autoencoder_and_svd.control(
    "the principal components about the mean", of="projection of the trained autoencoder"
)
def about_the_mean(evidence):
    return replace(evidence, right=evidence.aside["of the centred data"])


@linear_autoencoder_and_svd.picture
def losses(pieces):
    """Loss of trained autoencoders by the width of the code (left); the loss along training for a code of three."""
    seen = pieces["loss of the trained autoencoder"]
    widths, way = seen.along["width of the code"], seen.aside["on the way"]
    late = np.append(seen.right[1:], np.nan)
    by_width = [Line("tail of the squared singular values", widths, seen.right), Dots("trained", widths, seen.left)]
    by_width += [Line("", widths, late, rival="tail beginning one value later")]
    way = way[:100]
    least = np.full(len(way), seen.aside["least"])
    steps = np.arange(len(way))
    along = [Line("a code of three numbers", steps, way), Line("the bound", steps, least, dashed=True)]
    return Row(
        [
            Curves(by_width, x="numbers in the code m", y="loss"),
            Curves(along, x="step", y="loss", log="y"),
        ]
    )
