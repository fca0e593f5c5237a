"""Convolutions of signals: one operation as integral, sum, matrix product and product of transforms (lucchi 10.1)."""

from dataclasses import replace

import numpy as np
import scipy.linalg

from deeptheory.architectures.convolutions import (
    binomial_filter,
    continuous_convolution,
    convolution_matrix,
    convolve,
    convolve_by_fft,
    cross_correlate,
    fourier_transform,
    frequency_response,
)
from deeptheory.architectures.receptive_fields import shift_average
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Rate, claim
from deeptheory.lab.numbers import parts
from deeptheory.lab.pictures import Curves, Dots, HeatMap, Line, Row, power_law


def bell(t, mean, deviation):
    return np.exp(-(((t - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))


def box(t):
    return (abs(t) < 0.5) * 1.0


@claim(
    items={
        "L10.3": "transform of a Gaussian",
        "L10.4": (
            "convolution of two Gaussians",
            "two boxes",
            "shifted signals",
            "linear maps that commute with shifts",
        ),
    },
    says=r"$(f*h)(u)=\int h(u-t)f(t)\,dt$ is linear, commutative and shift-equivariant, $f_\Delta*h=(f*h)_\Delta$; "
    r"and a linear map of periodic sequences that commutes with shifts is a convolution. Two boxes make a triangle. "
    r"$(\mathcal Ff)(u)=\int e^{-2\pi itu}f(t)\,dt$ has a Gaussian for a Gaussian.",
    needs="integrals over intervals outside of which the signals are zero to rounding",
    symbols={
        "f,h": "two signals",
        r"\Delta": "a shift",
        r"\mathcal F": "the Fourier transform",
    },
    why=r"Put $u-t$ in the place of $t$ and the two integrals change places. A shift of $f$ moves the variable of the "
    r"integral, and so the output, by as much. Conversely a matrix that commutes with the shift has the same entries "
    r"along every wrapped diagonal: its columns are shifted copies of the first one, which is the kernel. Means and "
    r"variances of densities add under convolution, so bells make bells.",
    notice="Left: two boxes of width one make a triangle; two bells off the middle make a wider bell whose mean is the "
    "sum. The correlation, which does not turn the second one, puts it elsewhere. Right: a random matrix, averaged "
    "over all shifts, is constant along wrapped diagonals.",
)
def convolution_commutes_with_shifts(key):
    rng = generator(key)
    at = np.arange(-30, 31) / 10
    means, deviations = rng.uniform(-0.8, 0.8, 2), rng.uniform(0.3, 0.6, 2)
    signals = [lambda t, i=i: bell(t, means[i], deviations[i]) for i in range(2)]
    span = {"low": -8.0, "high": 8.0, "points": 800}
    both = [continuous_convolution(f, h, at, **span) for f, h in (signals, signals[::-1])]
    spread = np.hypot(*deviations)
    u = np.linspace(-1.5, 1.5, 31)
    seen = fourier_transform(signals[0], u, **span)

    def transform(angle):
        return parts(np.exp(-1j * angle * means[0] - (angle * deviations[0]) ** 2 / 2))

    whole, taps = rng.integers(-9, 10, (3, 12)), rng.integers(-9, 10, 5)
    moved = np.stack([np.roll(whole, s, 1) for s in range(12)]).astype(float)
    direct = np.array([[sum(int(f[(v - t) % 12]) * int(taps[t]) for t in range(5)) for v in range(12)] for f in whole])
    matrix = rng.standard_normal((9, 9))
    mean = np.asarray(shift_average(matrix))
    return {
        "convolution of two Gaussians": Identity(
            np.array(both),
            np.tile(bell(at, means.sum(), spread), (2, 1)),
            scale=1.0,
            size=800,
            along={"order": ["f∗h", "h∗f"], "u": at},
            aside={"not turned": bell(at, means[0] - means[1], spread)},
        ),
        "two boxes": Identity(
            continuous_convolution(box, box, at, low=-1, high=1, points=20), np.maximum(1 - abs(at), 0), scale=1.0
        ),
        "transform of a Gaussian": Identity(
            parts(seen), transform(2 * np.pi * u), scale=1.0, size=800, aside={"angular": transform(u)}
        ),
        "shifted signals": Exact(
            np.rint(convolve(moved, taps, boundary="circular")).astype(int),
            np.stack([np.roll(direct, s, 1) for s in range(12)]),
            aside={"unmoved": np.tile(direct, (12, 1, 1))},
        ),
        "linear maps that commute with shifts": Identity(
            mean, scipy.linalg.circulant(mean[:, 0]), scale=1.0, size=9, aside={"matrix": matrix}
        ),
    }


@convolution_commutes_with_shifts.control("second signal not turned", of="convolution of two Gaussians")
def correlation(evidence):
    return replace(evidence, right=np.tile(evidence.aside["not turned"], (2, 1)))


@convolution_commutes_with_shifts.control("kernel without 2π in the exponent", of="transform of a Gaussian")
def angular_frequency(evidence):
    return replace(evidence, right=evidence.aside["angular"])


@convolution_commutes_with_shifts.control("invariant instead of equivariant", of="shifted signals")
def invariant(evidence):
    return replace(evidence, right=evidence.aside["unmoved"])


@convolution_commutes_with_shifts.control("any linear map", of="linear maps that commute with shifts")
def any_map(evidence):
    matrix = np.asarray(evidence.aside["matrix"])
    return replace(evidence, left=matrix, right=scipy.linalg.circulant(matrix[:, 0]))


@convolution_commutes_with_shifts.picture
def shapes(pieces):
    """Left, two convolutions and what the correlation would give; right, a random matrix averaged over all shifts."""
    bells, boxes = pieces["convolution of two Gaussians"], pieces["two boxes"]
    at = np.asarray(bells.along["u"])
    marks = [
        Line("two boxes", at, boxes.right), Dots("two boxes", at, boxes.left),
        Line("two bells", at, bells.right[0]), Dots("two bells", at, bells.left[0]),
        Line("", at, bells.aside["not turned"], rival="second signal not turned"),
    ]  # fmt: skip
    mean = np.asarray(pieces["linear maps that commute with shifts"].left)
    labels = range(1, len(mean) + 1)
    shades = HeatMap(mean, labels, labels, x="input", y="output", title="mean over shifts", value="entry", middle=0.0)
    return Row([Curves(marks, x="place u", y="convolution at u"), shades])


@claim(
    items={
        "L10.5": ("Toeplitz product", "eigenvalues of the circulant matrix"),
        "L10.7": "correlation",
        "L10.14": "product of transforms",
        "L10.44": ("valid convolution as a dense layer", "gradient of a shared weight", "free weights"),
    },
    says=r"$(f*h)[u]=\sum_tf[t]h[u-t]$ is the product of $f$ with a Toeplitz matrix, entry $h[i-j]$; the circular one "
    r"has the DFT of $h$ as eigenvalues, so with zeros appended $f*h=\mathcal F^{-1}\{\mathcal Ff\cdot\mathcal Fh\}$. "
    r"$(h\star f)[u]=\sum_th[t]f[u+t]$ is $\bar h*f$. As a layer it has $K$ free weights in place of $D(D-K+1)$.",
    needs="both sequences padded with zeros to $D+K-1$ entries before the transforms",
    symbols={
        "f,h": "a signal of $D$ entries and a kernel of $K$ taps",
        r"\mathcal F": "the discrete Fourier transform",
        r"\star": "cross-correlation",
        r"\bar h": "the kernel reversed, $h[-t]$",
    },
    why=r"Waves are eigenvectors of every shift and a circulant matrix is a sum of shifts, so waves are its "
    r"eigenvectors and the transform of the kernel its eigenvalues. A product of DFTs of length $N$ therefore goes "
    r"around: what leaves at the end comes in again at the start, unless there are enough zeros in between. In the "
    r"dense layer one weight stands in many places, and its gradient is the sum over all of them.",
    notice="Without zeros appended the product of transforms is right where the kernel lies inside the signal, and "
    "wrong at the start, where the end comes in.",
)
def convolution_is_a_matrix_product(key):
    rng = generator(key)
    n, k = 16, 5
    f, h = rng.standard_normal(n), rng.standard_normal(k)
    sums = np.array([sum(f[t] * h[u - t] for t in range(n) if 0 <= u - t < k) for u in range(n + k - 1)])
    correlated = np.array([sum(h[t] * f[u + t] for t in range(k) if 0 <= u + t < n) for u in range(1 - k, n)])
    around = np.asarray(convolution_matrix(h, length=n, boundary="circular"))
    waves = np.exp(2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    valid = np.asarray(convolution_matrix(h, length=n, boundary="valid"))
    # The loss Σ c_k (x∗h)_k²/2, by central differences in h (exact for a quadratic) and by the dense layer's gradient.
    c = rng.uniform(0.5, 2, n - k + 1)
    dense = np.outer(c * (valid @ f), f)
    losses = [[np.sum(c * np.convolve(f, h + sign * unit, "valid") ** 2) / 2 for sign in (1, -1)] for unit in np.eye(k)]
    along_diagonals = [sum(dense[row, row + k - 1 - i] for row in range(n - k + 1)) for i in range(k)]
    lengths = [(d, taps) for d in (4, 8, 16) for taps in (1, 3)]
    free = [
        (np.unique(np.asarray(m)[np.asarray(m) != 0]).size, m.size)
        for m in (convolution_matrix(np.arange(1.0, taps + 1), length=d, boundary="valid") for d, taps in lengths)
    ]
    return {
        "Toeplitz product": Identity(
            np.asarray(convolution_matrix(h, length=n)) @ f, sums, scale=1.0, size=n, aside={"reversed": correlated}
        ),
        "eigenvalues of the circulant matrix": Identity(
            parts(around @ waves), parts(waves * np.fft.fft(h, n)), scale=1.0, size=n
        ),
        "product of transforms": Identity(
            convolve_by_fft(f, h),
            sums,
            scale=1.0,
            size=n,
            along={"u": np.arange(n + k - 1)},
            aside={"around": np.append(np.fft.ifft(np.fft.fft(f) * np.fft.fft(h, n)).real, np.zeros(k - 1))},
        ),
        "correlation": Identity(cross_correlate(h, f), correlated, scale=1.0, size=n, aside={"turned": sums}),
        "valid convolution as a dense layer": Identity(valid @ f, sums[k - 1 : n], scale=1.0, size=n),
        "gradient of a shared weight": Identity(
            along_diagonals, np.diff(losses)[:, 0] / -2, scale=np.max(losses), size=n, aside={"places": n - k + 1}
        ),
        "free weights": Exact(
            np.array(free), np.array([(taps, d * (d - taps + 1)) for d, taps in lengths]), along={"size": lengths}
        ),
    }


@convolution_is_a_matrix_product.control("entry h[j − i], the kernel reversed", of="Toeplitz product")
def other_diagonals(evidence):
    return replace(evidence, right=evidence.aside["reversed"])


@convolution_is_a_matrix_product.control("no zeros appended", of="product of transforms")
def goes_around(evidence):
    return replace(evidence, left=evidence.aside["around"])


@convolution_is_a_matrix_product.control("kernel not reversed", of="correlation")
def not_reversed(evidence):
    return replace(evidence, right=evidence.aside["turned"])


@convolution_is_a_matrix_product.control("mean instead of sum over places", of="gradient of a shared weight")
def mean_over_places(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / evidence.aside["places"])


@convolution_is_a_matrix_product.picture
def ends(pieces):
    """The sum over all integers, the product of padded transforms, and the product of transforms without padding."""
    product = pieces["product of transforms"]
    u = np.asarray(product.along["u"])
    marks = [Line("sum", u, product.right), Dots("padded transforms", u, product.left)]
    marks += [Line("", u, product.aside["around"], rival="no zeros appended")]
    return Curves(marks, x="place u", y="convolution at u")


@claim(
    items={"L10.6": ("frequency response", "variance of the filter applied again", "distance from a Gaussian")},
    says=r"The filter $h=[1,4,6,4,1]/16$ multiplies waves of frequency $\nu$ by $\cos^4\pi\nu$, has variance 1, and "
    r"applied $k$ times has variance $k$ and is a Gaussian up to $O(k^{-3/2})$.",
    symbols={
        "h": "the printed smoothing filter, centred on its middle tap",
        r"\nu": "frequency in cycles per sample",
        "k": "how often it is applied",
    },
    why=r"It is four coin tosses: $[1,1]/2$ convolved with itself four times, each factor a response "
    r"$\cos\pi\nu$ and a variance $\frac14$. By the local central limit theorem many tosses are a Gaussian. The first "
    r"correction in skewness is missing by symmetry, so the error relative to the peak is of order $1/k$, and the peak "
    r"itself is of order $k^{-1/2}$.",
    notice="After four applications the dots can hardly be told from the bell. The alternating wave, the finest there "
    "is, is removed at once; a box of the same width would leave a fifth of it.",
)
def binomial_filter_becomes_gaussian():
    h = binomial_filter(4)
    frequencies = np.linspace(0, 0.5, 26)
    times = np.array([1, 2, 4, 8, 16, 32, 64])
    repeated = [h]
    for _ in range(1, times[-1]):
        repeated.append(np.asarray(np.convolve(repeated[-1], h)))
    taps = [np.arange(-2 * k, 2 * k + 1) for k in times]
    powers = [repeated[k - 1] for k in times]
    gaps = [np.max(abs(p - bell(t, 0, np.sqrt(k)))) for k, t, p in zip(times, taps, powers, strict=True)]
    return {
        "frequency response": Identity(
            parts(frequency_response(h, frequencies, origin=2.0)),
            parts(np.cos(np.pi * frequencies) ** 4 + 0j),
            scale=1.0,
            along={"frequency": frequencies, "part": ["real", "imaginary"]},
            aside={"box": np.sinc(5 * frequencies) / np.sinc(frequencies)},
        ),
        "variance of the filter applied again": Identity(
            [p @ t**2 for p, t in zip(powers, taps, strict=True)], times, size=257, along={"k": times}
        ),
        "distance from a Gaussian": Rate(
            times,
            gaps,
            exponent=-1.5,
            rivals=(-1.0, -2.0),
            resolution=0.1,
            aside={"taps": taps[2], "filter": powers[2]},
        ),
    }


@binomial_filter_becomes_gaussian.control("box of five equal taps", of="frequency response")
def five_equal_taps(evidence):
    return replace(evidence, right=parts(evidence.aside["box"] + 0j))


@binomial_filter_becomes_gaussian.control("variance k/2", of="variance of the filter applied again")
def half_the_variance(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@binomial_filter_becomes_gaussian.picture
def smoothing(pieces):
    """What waves are multiplied with; the filter applied four times under a bell; the distance as it is repeated."""
    response, gap = pieces["frequency response"], pieces["distance from a Gaussian"]
    nu, taps = np.asarray(response.along["frequency"]), np.asarray(gap.aside["taps"])
    one = Curves(
        [
            Line("cos⁴(πν)", nu, response.right[:, 0]),
            Dots("response", nu, response.left[:, 0]),
            Line("", nu, response.aside["box"], rival="box of five equal taps"),
        ],
        x="frequency ν (cycles per sample)",
        y="factor",
    )
    fine = np.linspace(taps[0], taps[-1], 200)
    bars = [
        Line("Gaussian of variance 4", fine, bell(fine, 0, 2.0)),
        Dots("filter four times", taps, gap.aside["filter"]),
    ]
    two = Curves(bars, x="tap", y="weight")
    return Row(
        [one, two, Curves(power_law("distance", gap, rivals={-1.0: "1/k"}), x="times k", y="largest gap", log="xy")]
    )
