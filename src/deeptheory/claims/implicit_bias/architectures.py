"""What an architecture prefers: small factors UUᵀ the least trace, circular convolutions few Fourier coefficients.

arora 8.1.2, which quotes both.
"""

from dataclasses import replace

import jax
import numpy as np
from scipy.optimize import linprog

from deeptheory.foundations.flows import followed
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.circular import circular_predictor, fourier_norm, largest_fourier_margin
from deeptheory.implicit_bias.homogeneous_training import homogeneous_flow
from deeptheory.implicit_bias.least_squares import nearest_solution
from deeptheory.implicit_bias.margins import largest_margin
from deeptheory.lab import Identity, Limit, Rate, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row

SLACK = 0.5
"""The largest dual slope outside the support of what is to be found: nearer to 1 every limit is reached more slowly."""
WIDTH = 8
SHIFTED = np.add.outer(np.arange(WIDTH), np.arange(WIDTH)) % WIDTH
LENGTHS = np.array([0.0, 3.0, 4.0, 5.0, 6.0, 7.0])


@claim(
    items={
        "A8.14": (
            "trace above the least, commuting",
            "trace above the least, one general case",
            "optimum of depth 2",
            "Fourier norm per margin",
            "first-order condition, depth 3",
        )
    },
    says=r"From $U=\alpha I$, $\alpha\to0$, gradient flow on commuting measurements of $UU^\top$ ends at the solution "
    r"of least trace. A linear network of $L$ circular convolutions turns to a first-order point of "
    r"$\min\|F\beta\|_{2/L}$ at margin 1, for $L=2$ to the minimum.",
    needs="a PSD solution, one of least trace; separable data, exponential loss, directions that converge, full-width "
    "filters, random starts. Data are drawn around a known optimum with dual slopes of at most ½ outside its support",
    symbols={
        r"U,\alpha": "the square factor and the size of its start",
        r"\beta,F": "the network's linear predictor, and the unitary Fourier transform",
        r"L": "the number of layers",
    },
    why=r"Along the flow $UU^\top=\alpha^2\exp(\sum\mu_iA_i)$ if the $A_i$ commute: the eigenvalues have least "
    r"relative entropy, $\log\alpha^{-2}$ times their sum in the limit. For general $A_i$ this is a conjecture, shown "
    r"for one example only. $F\beta=\prod_lFw_l$, and the least $\sum|w_l|^2$ for given $\beta$ is "
    r"$L\|F\beta\|_{2/L}^{2/L}$: a stationary direction of the weights is one of that norm.",
    notice="Left: the trace found falls to the least one, for general measurements as well. Right: the Fourier norm at "
    "margin 1 is soon at the optimum, below that of the support vector machine.",
)
def architectures_choose_norms(key):
    draw = generator(key)
    return commuting(draw) | general(generator(jax.random.key(0))) | circular(draw) | deeper(draw)


def factored(operators, labels, scale, time=60.0):
    """Follow gradient flow on ½Σ(⟨Aₖ, UUᵀ⟩ − yₖ)² from U = αI, and return UUᵀ at its end."""
    size = operators.shape[1]

    def velocity(_, flat):
        factor = flat.reshape(size, size)
        rest = np.tensordot(operators, factor @ factor.T) - labels
        return (-2 * np.tensordot(rest, operators, 1) @ factor).ravel()

    end = followed(velocity, 0.0, scale * np.eye(size).ravel(), np.array([time]), method="DOP853", tolerance=1e-9)[-1]
    return end.reshape(size, size) @ end.reshape(size, size).T


def commuting(draw):
    """Two measurements with common eigenvectors: on eigenvalues least trace is a linear programme."""
    block = np.linalg.qr(draw.standard_normal((2, 2)))[0]
    others, multipliers = draw.standard_normal((2, 3)), block.sum(1)
    slopes = np.array([SLACK, -0.3 * SLACK, 0.1 * SLACK])
    others += np.outer(multipliers, slopes - multipliers @ others) / (multipliers @ multipliers)
    rows = np.hstack([block, others])
    labels = block @ draw.uniform(0.7, 1.5, 2)
    turn = np.linalg.qr(draw.standard_normal((5, 5)))[0]
    operators = np.einsum("ij,kj,lj->kil", turn, rows, turn)
    least = linprog(np.ones(5), A_eq=rows, b_eq=labels, bounds=(0, None), method="highs").fun
    scales = 0.03 / 3.0 ** np.arange(4)
    traces = np.array([np.trace(factored(operators, labels, scale)) for scale in scales])
    return {
        "trace above the least, commuting": Rate(
            1 / scales, traces - least, exponent=-2 * (1 - SLACK), rivals=(-0.5, -2.0), resolution=0.1,
            aside={"traces": traces / least, "shortest": nearest_solution(rows, labels).sum() / least},
        )
    }  # fmt: skip


def general(draw):
    """Ten measurements that do not commute, of uuᵀ, which has least trace: I − Σ νₖAₖ is PSD and vanishes on u.

    One example, the same for every seed: without a theorem there is no rate to hold other draws to.
    """
    turn = np.linalg.qr(draw.standard_normal((5, 5)))[0]
    operators = draw.standard_normal((10, 5, 5)) / 40**0.5
    operators += np.swapaxes(operators, 1, 2)
    multipliers = draw.standard_normal(10)
    multipliers /= np.linalg.norm(multipliers)
    certificate = (turn * np.array([1.0, SLACK, -0.3, 0.1, -SLACK])) @ turn.T
    operators += multipliers[:, None, None] * (certificate - np.tensordot(multipliers, operators, 1))
    least = 2.0
    labels = np.tensordot(operators, least * np.outer(turn[:, 0], turn[:, 0]))
    shortest = np.trace(nearest_solution(operators.reshape(10, 25), labels).reshape(5, 5))
    scales = 0.1 / 2.0 ** np.arange(4)
    traces = np.array([np.trace(factored(operators, labels, scale)) for scale in scales])
    return {
        "trace above the least, one general case": Limit(
            1 / scales,
            np.abs(traces - least),
            order=0.5,
            aside={"traces": traces / least, "shortest": shortest / least},
        )
    }


def planted(draw):
    """Four points of margin 1 under one β with four Fourier coefficients, whose mean shows that no ‖Fβ‖₁ is less."""
    phases = np.exp(2j * np.pi * draw.uniform(size=5))
    slopes = SLACK * draw.uniform(0.3, 1.0, 5) * np.array([1, 0, 1, 0, 1]) + np.array([0, 1, 0, 1, 0])
    moduli = np.array([0.0, draw.uniform(0.5, 1.0), 0.0, draw.uniform(0.2, 0.5), 0.0])
    phases[[0, 4]] = 1.0  # a real signal has real coefficients there
    best = np.fft.irfft(moduli * phases, WIDTH, norm="ortho")
    mean = np.fft.irfft(slopes * phases, WIDTH, norm="ortho")
    around = draw.standard_normal((4, WIDTH)) / 2
    around -= around.mean(0)
    around -= np.outer(around @ best, best) / (best @ best)
    # Alike in size in all directions of the support: the flow takes long to tell points apart that nearly agree there.
    inside = np.fft.irfft(np.fft.rfft(around) * (moduli > 0), WIDTH)
    left, _, right = np.linalg.svd(inside, full_matrices=False)
    around += left[:, :3] @ right[:3] - inside
    return mean + around, best


def trained(points, start, lengths):
    """Train the network layer by layer as it is, and return its predictors on the way and the shares of the loss."""
    depth = len(start)

    def margins(layers):
        hidden = points
        for layer in layers[:-1]:
            hidden = hidden[:, SHIFTED] @ layer / WIDTH**0.5
        return hidden @ layers[-1]

    run = homogeneous_flow(margins, start, lengths, degree=float(depth), tolerance=1e-7)
    return np.array([circular_predictor(each.reshape(depth, WIDTH)) for each in run.directions]), run.shares


def circular(draw):
    points, best = planted(draw)
    optimum = fourier_norm(best) / (points @ best).min()
    predictors = trained(points, draw.standard_normal((2, WIDTH)), LENGTHS)[0][1:]
    paid = fourier_norm(predictors) / (predictors @ points.T).min(1)
    euclidean = largest_margin(points).vector
    rival = fourier_norm(euclidean) / (points @ euclidean).min()
    return {
        "optimum of depth 2": Identity(1 / largest_fourier_margin(points).margin, optimum, error=1e-6 * optimum),
        "Fourier norm per margin": Limit(
            np.exp(LENGTHS[1:]), paid / optimum - 1, order=0.5,
            aside={"paid": paid / optimum, "rival": rival / optimum},
        ),
    }  # fmt: skip


def deeper(draw):
    """Two points that no frequency separates alone: each has one of its own, the third is opposite in the two."""
    own = np.exp(2j * np.pi * draw.uniform(size=3))
    spectra = np.zeros((2, WIDTH // 2 + 1), complex)
    spectra[:, 1:4] = np.array([[1.0, 0.0, 0.3], [0.0, 2.5, -0.3]]) * own
    points = np.fft.irfft(spectra, WIDTH, norm="ortho")
    predictors, losses = trained(points, draw.standard_normal((3, WIDTH)), LENGTHS[:4])
    found = np.fft.fft(predictors[-1], norm="ortho")
    pulled = np.fft.fft(losses[-1] @ points, norm="ortho") * found.conj()

    def shares(power):
        return np.abs(found) ** power / (np.abs(found) ** power).sum()

    return {
        "first-order condition, depth 3": Identity(
            pulled.real / pulled.real.sum(), shares(2 / 3), scale=1.0, error=1e-3, aside={"ℓ1": shares(1.0)}
        )
    }


@architectures_choose_norms.control("least Frobenius norm", of="trace above the least, commuting")
def least_frobenius(evidence):
    aside = evidence.aside
    return replace(evidence, y=np.abs(aside["traces"] - aside["shortest"]))


@architectures_choose_norms.control("least Frobenius norm in general", of="trace above the least, one general case")
def least_frobenius_in_general(evidence):
    return least_frobenius(evidence)


@architectures_choose_norms.control("the ℓ2 support vector machine", of="Fourier norm per margin")
def euclidean_margin(evidence):
    return replace(evidence, y=np.abs(evidence.aside["paid"] - evidence.aside["rival"]))


@architectures_choose_norms.control("the ℓ1 norm at depth 3 too", of="first-order condition, depth 3")
def same_norm_deeper(evidence):
    return replace(evidence, right=evidence.aside["ℓ1"])


@architectures_choose_norms.picture
def down_to_the_least(pieces):
    """Traces over the least one by α, and Fourier norms at margin 1 over the optimum along the training."""
    some, others = pieces["trace above the least, commuting"], pieces["trace above the least, one general case"]
    trained = pieces["Fourier norm per margin"]
    return Row(
        [
            Curves(
                [
                    Line("commuting measurements", 1 / some.x, some.aside["traces"]),
                    Line("general measurements", 1 / others.x, others.aside["traces"]),
                    Level("least trace", y=1.0),
                ],
                x="size of the start α",
                y="trace / least trace",
                log="x",
            ),
            Curves(
                [
                    Line("depth 2, trained", trained.x, trained.aside["paid"]),
                    Level("ℓ2 support vector machine", y=float(trained.aside["rival"])),
                    Level("optimum", y=1.0),
                ],
                x="size of the weights, about",
                y="Fourier ℓ1 norm / optimum",
                log="x",
            ),
        ]
    )
