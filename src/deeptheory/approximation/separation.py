"""One against two hidden layers: a density whose root is band-limited, and the tubes one hidden layer lives in.

Under the density φ² with φ̂ the indicator of a ball, the squared error of a network f against a target g is that of
f̂∗φ̂ against ĝ∗φ̂. A hidden layer of m units has its frequencies on m lines, so after the convolution in m tubes; what a
radial target has outside of them no such network can meet. That is a floor for all of them, computed and not searched.
The steps are those of Eldan and Shamir (2016), as in lucchi Thm 33, with numbers in place of constants.
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy.special import betainc, gammaln, jv

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator, unit_vectors

__all__ = [
    "ball_density_cdf",
    "ball_root_density",
    "best_ridge_error",
    "covered_share",
    "draw_ball_density",
    "limiting_tube_share",
    "one_layer_floor",
    "radial_energy",
    "sphere_tube_share",
    "tube_share",
    "unit_volume_radius",
]


def unit_volume_radius(dimension: int) -> float:
    """Return Γ(n/2 + 1)^(1/n)/√π, the radius of the n-dimensional ball of volume one."""
    return float(np.exp(gammaln(dimension / 2 + 1) / dimension) / np.sqrt(np.pi))


def ball_root_density(
    distance: Float[np.ndarray, "*shape"], dimension: int, *, radius: float | None = None
) -> Float[np.ndarray, "*shape"]:
    """Return φ(x) = (R/‖x‖)^(n/2) J_{n/2}(2πR‖x‖) at ‖x‖ = `distance`: its transform is the indicator of the R-ball.

    With the default R, that of a ball of volume one, φ² is a probability density; in general ∫φ² is the ball's volume.
    For n = 1 it is sin(2πR|x|)/(π|x|), in higher dimensions no sinc. `radius` is R. Reference: lucchi Thm 33, step II.
    """
    radius = unit_volume_radius(dimension) if radius is None else radius
    order, z = dimension / 2, 2 * np.pi * radius * np.maximum(distance, 0.0)
    series = np.exp(order * np.log(np.pi * radius**2) - gammaln(order + 1)) * (1 - z**2 / (4 * (order + 1)))
    small = z < 1e-4 * np.sqrt(order + 1)
    safe = np.where(small, 1.0, z)
    return np.where(small, series, (2 * np.pi * radius**2 / safe) ** order * jv(order, safe))


def ball_density_cdf(distance: Float[np.ndarray, " k"], dimension: int) -> Float[np.ndarray, " k"]:
    """Return the probability of ‖X‖ ≤ `distance` under φ²: J²_{n/2}(z) + 2 Σ_{j≥1} J²_{n/2+j}(z) at z = 2πR‖x‖.

    The derivative of the sum telescopes to n·J²_{n/2}(z)/z. Tails are heavy, n/(πz): no mean exists. Costs z terms a
    point.
    """
    z = 2 * np.pi * unit_volume_radius(dimension) * np.maximum(distance, 0.0)
    terms = int(np.max(z, initial=0.0) * 1.1) + 60
    affordable(terms=(len(z), terms))
    orders = dimension / 2 + np.arange(terms)
    return np.minimum(jv(orders, z[:, None]) ** 2 @ np.where(np.arange(terms) == 0, 1.0, 2.0), 1.0)


def draw_ball_density(key: Key[Array, ""], dimension: int, count: int) -> Float[np.ndarray, "count dimension"]:
    """Return independent points of the density φ², one a row: exact, by rejection, in any dimension.

    With z = 2πR‖x‖ the density n·J²_{n/2}(z)/z lies below a power z^(n−1) near zero and a constant over z² beyond.
    """
    affordable(points=(count, dimension))
    rng, order = generator(key), dimension / 2
    near = -2 * order * np.log(2.0) - 2 * gammaln(order + 1)  # |J(z)| ≤ (z/2)^order/Γ(order + 1)
    grid = np.linspace(order, order + 10 * np.cbrt(order) + 10, 4001)
    far = np.log(1.01 * max(np.max(grid * jv(order, grid) ** 2), 2 / np.pi))  # z·J² ends at 2/π
    meet = np.exp((far - near) / (dimension + 1))
    inner, outer = np.exp(near) * meet**dimension / dimension, np.exp(far) / meet
    found = np.empty(0)
    while len(found) < count:
        u, side, accept = rng.uniform(size=(3, 2 * min(count - len(found), 2**20) + 64))
        inside = side < inner / (inner + outer)
        z = np.where(inside, meet * u ** (1 / dimension), meet / np.maximum(u, 1e-300))
        above = np.where(inside, near + (dimension - 1) * np.log(z), far - 2 * np.log(z))
        with np.errstate(divide="ignore"):
            below = 2 * np.log(np.abs(jv(order, z))) - np.log(z)
        found = np.concatenate([found, z[np.log(np.maximum(accept, 1e-300)) < below - above]])
    length = found[:count] / (2 * np.pi * unit_volume_radius(dimension))
    return unit_vectors(rng, count, dimension) * length[:, None]


def tube_share(dimension: int, ratio: float) -> float:
    """Return the share of an n-ball that one tube through its centre fills: I_{1/r²}((n − 1)/2, 3/2).

    The tube is a line thickened by a ball, and r = `ratio` the radius of the ball over that of the tube. The squared
    distance from the line is a Beta variable. Reference: lucchi Thm 33, step III.
    """
    return 1.0 if dimension == 1 else float(betainc((dimension - 1) / 2, 1.5, 1 / ratio**2))


def sphere_tube_share(
    ratio: Annotated[Float[np.ndarray, "*shape"], "[0, 1e9]"], dimension: int
) -> Float[np.ndarray, "*shape"]:
    """Return the share of the sphere of radius r that a tube of radius 1 covers: I_{1/r²}((n − 1)/2, 1/2), r ≥ 1.

    Below r = 1 all of it is covered.
    """
    if dimension == 1:
        return np.ones_like(ratio)
    return np.asarray(betainc((dimension - 1) / 2, 0.5, np.minimum(1.0, np.maximum(ratio, 1e-150) ** -2.0)))


def limiting_tube_share(dimension: int, ratio: float) -> float:
    """Return 2√(r² − 1)·√(n/2π)·r^(−n), what `tube_share` becomes in high dimension: it decays like r^(−n).

    Faster than e^(−n) only if r > e. `ratio` is r above 1, `dimension` n.
    """
    return float(2 * np.sqrt(ratio**2 - 1) * np.sqrt(dimension / (2 * np.pi)) * ratio ** float(-dimension))


def covered_share(
    points: Float[np.ndarray, "n d"], directions: Float[np.ndarray, "m d"], *, radius: float = 1.0
) -> float:
    """Return the share of points that lie in one of the tubes of this radius around the lines along the directions."""
    affordable(projections=(len(points), len(directions)))
    along = points @ (directions / np.linalg.norm(directions, axis=1, keepdims=True)).T
    inside: Bool[np.ndarray, "n"] = np.sum(points**2, axis=1) - np.max(along**2, axis=1) <= radius**2
    return float(np.mean(inside))


def radial_energy(
    target: Callable[[np.ndarray], Any],
    edges: Float[np.ndarray, " k"],
    dimension: int,
    frequencies: Float[np.ndarray, " f"],
    *,
    nodes: int = 64,
) -> Float[np.ndarray, " f"]:
    """Return the energy of gφ per unit of frequency length ρ: S_n ρ^(n−1) |(gφ)^(ρ)|², for radial g(x) = target(‖x‖).

    g is smooth between consecutive edges and zero outside the first and last. The transform is Hankel's,
    2πρ^(1−n/2) ∫ g(s)φ(s) J_{n/2−1}(2πρs) s^(n/2) ds, by Gauss and Legendre between the edges: good as long as ρ times
    the widest gap is well below `nodes`. By Parseval the energies integrate to the mean of g² under φ².
    """
    affordable(kernel=(len(frequencies), (len(edges) - 1) * nodes))
    at, weights = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges)[:, None] / 2
    s = (edges[:-1, None] + half * (1 + at)).ravel()
    mass = (half * weights).ravel() * target(s) * ball_root_density(s, dimension) * s ** (dimension / 2)
    transform = 2 * np.pi * (jv(dimension / 2 - 1, 2 * np.pi * np.outer(frequencies, s)) @ mass)
    area = 2 * np.exp(dimension / 2 * np.log(np.pi) - gammaln(dimension / 2))
    # |(gφ)^|² = ρ^(2−n)·transform², times ρ^(n−1).
    return area * frequencies * transform**2


def one_layer_floor(
    energy: Float[np.ndarray, " f"], frequencies: Float[np.ndarray, " f"], dimension: int, width: float
) -> float:
    """Return a floor under the mean squared error, φ² the density, of all networks with one hidden layer of m units.

    ∫ energy(ρ)·max(1 − m·c(ρ), 0) dρ with c the share of a sphere that one tube covers: m tubes cover at most m times
    as much, and the energy of a radial target outside of them is missed, whatever activation, weights and constants.
    `energy` comes from `radial_energy`; frequencies that are not given count for nothing, so the floor is safe, up to
    the trapezoidal rule. `width` is m. Reference: lucchi Thm 33, steps I to III.
    """
    if np.any(np.diff(frequencies) <= 0):
        raise ValueError("frequencies must increase")
    covered = sphere_tube_share(frequencies / unit_volume_radius(dimension), dimension)
    return float(np.trapezoid(energy * np.maximum(1 - width * covered, 0.0), frequencies))


def best_ridge_error(
    target: Callable[[np.ndarray], Any],
    edges: Float[np.ndarray, " k"],
    dimension: Annotated[int, "[2, 300]"],
    *,
    nodes: int = 48,
) -> float:
    """Return the least mean squared error, φ² the density, of any function of one direction against a radial target.

    E g² − ∫N²/D dt, as the best function of t = θ·x is the conditional mean N/D: N(t) integrates gφ² across the line,
    and D(t), the density of t, is the transform of the volume that two balls of frequencies have in common. What
    `one_layer_floor` says of width one lies below. `target` and `edges` as in `radial_energy`; about four digits.
    """
    at, weights = np.polynomial.legendre.leggauss(nodes)
    ends = np.concatenate([[0.0], edges])
    half = np.diff(ends)[:, None] / 2
    t, step = (ends[:-1, None] + half * (1 + at)).ravel(), (half * weights).ravel()
    # Across the line, u = √(s² − t²) between the spheres of the edges.
    walls = np.sqrt(np.maximum(edges**2 - t[:, None] ** 2, 0.0))
    gaps = np.diff(walls, axis=1)[..., None] / 2
    u = walls[:, :-1, None] + gaps * (1 + at)
    s = np.sqrt(u**2 + t[:, None, None] ** 2)
    area = 2 * np.exp((dimension - 1) / 2 * np.log(np.pi) - gammaln((dimension - 1) / 2))
    square = ball_root_density(s, dimension) ** 2 * u ** (dimension - 2.0)
    across = area * np.sum(gaps * weights * square * target(s), axis=(1, 2))
    lens_at, lens_weights = np.polynomial.legendre.leggauss(400)
    share = (1 + lens_at) / 2
    lens = betainc((dimension + 1) / 2, 0.5, 1 - share**2) * lens_weights
    diameter = 2 * unit_volume_radius(dimension)
    density = diameter * np.cos(2 * np.pi * diameter * np.outer(t, share)) @ lens
    radial = ends[1:-1, None] + np.diff(edges)[:, None] / 2 * (1 + at)
    sphere = 2 * np.exp(dimension / 2 * np.log(np.pi) - gammaln(dimension / 2)) * radial ** (dimension - 1.0)
    energy = np.sum(
        np.diff(edges)[:, None] / 2 * weights * sphere * (target(radial) * ball_root_density(radial, dimension)) ** 2
    )
    return float(energy - 2 * step @ (across**2 / density))


doors(
    __name__,
    dimension="[1, 300]",
    radius="(0, 1e6]",
    ratio="[1, 1e6]",
    count="[1, 1e7]",
    nodes="[1, 2000]",
    width="[0, 1e300]",
    distance="[0, 1e12]",
    frequencies="[0, 1e6]",
)
