"""How hard a single-index problem is for online gradient descent: its information exponent and what follows from it.

The overlap m = ⟨x, v⟩ of a unit vector with the hidden direction decides the population loss, Φ(x) = φ(m). Near the
equator φ is flat to the order of its first Taylor coefficient, and that order sets the number of samples.

Reference: jagannath Ch. 11 Secs. 2 to 4; Ben Arous, Gheissari and Jagannath 2021.
"""

from math import factorial, sqrt

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import roots_hermitenorm

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.hermite import Link, gaussian_panels, hermite_coefficients

__all__ = [
    "critical_ratio",
    "descent_time",
    "escape_rate",
    "fisher_consistent",
    "information_exponent",
    "mixture_loss",
    "mixture_series",
    "overlap_velocity",
    "principal_component_series",
    "squared_loss_slope",
    "teacher_student_series",
]


def teacher_student_series(
    teacher: Link, student: Link | None = None, *, degree: int = 8
) -> Float[np.ndarray, " powers"]:
    """Return the Taylor coefficients in m of φ(m) = E(f(z) − g(z′))², the two normals having correlation m.

    They are −2 u_k(f) u_k(g), with ‖f‖² + ‖g‖² added at k = 0. k goes up to `degree`. Reference: jagannath Sec. 11.2.3.
    """
    student = teacher if student is None else student
    series = -2 * hermite_coefficients(teacher, degree) * hermite_coefficients(student, degree)
    points, weights = gaussian_panels()
    for link in (teacher, student):
        series[0] += weights @ np.asarray(link(jnp.asarray(points))) ** 2
    return series


def principal_component_series(signal: float, *, degree: int = 8) -> Float[np.ndarray, " powers"]:
    """Return the Taylor coefficients of φ(m) = −1 − λm² for online principal components: jagannath Sec. 11.2.1.

    `signal` is λ; the coefficients go up to `degree`.
    """
    series = np.zeros(max(degree, 2) + 1)
    series[[0, 2]] = -1, -signal
    return series


def mixture_series(field: float, *, degree: int = 8) -> Float[np.ndarray, " powers"]:
    """Return the Taylor coefficients of φ(m) = −E log cosh(z + εm + h), a mixture of two Gaussians ±v.

    The sign ε is 1 with probability e^h/(e^h + e^−h), so E εᵏ is 1 or tanh h, and Gaussian integration by parts turns
    the k-th derivative of log cosh(· + h) into its Hermite coefficient. `field` is h; the coefficients go up to
    `degree`. Reference: jagannath Sec. 11.2.2.
    """
    powers = np.arange(degree + 1)
    signs = np.where(powers % 2, np.tanh(field), 1.0)
    coefficients = hermite_coefficients(lambda z: jnp.logaddexp(z + field, -z - field) - jnp.log(2.0), degree)
    return -signs * coefficients / [sqrt(factorial(k)) for k in range(degree + 1)]


def mixture_loss(
    overlap: float | Float[np.ndarray, "*shape"], field: float
) -> float | Float[np.ndarray, "*shape"] | np.floating:
    """Return φ(m) = −E log cosh(z + εm + h) of the two-component mixture, by quadrature: jagannath Sec. 11.2.2.

    `field` is h.
    """
    points, weights = gaussian_panels()
    share = 1 / (1 + np.exp(-2 * field))
    sides = []
    for sign in (1, -1):
        inside = np.add.outer(sign * np.asarray(overlap), points) + field
        sides.append((np.logaddexp(inside, -inside) - np.log(2)) @ weights)
    return -(share * sides[0] + (1 - share) * sides[1])


def fisher_consistent(series: Float[np.ndarray, " powers"], *, tolerance: float = 1e-10) -> bool:
    """Return whether φ′ < 0 on (0, 1): gradient flow on the population loss then finds v from every positive overlap.

    `series` holds the Taylor coefficients of φ, which must have converged on [0, 1]. A root of φ′ inside, or a positive
    value between roots, breaks it. Reference: jagannath Def. 11.7; Rem. 11.8 names the wrong assumption (A for B).
    """
    slope = np.polynomial.Polynomial(np.where(np.abs(series) > tolerance, series, 0.0)).deriv()
    roots = slope.roots()
    inside = np.sort(roots[(np.abs(roots.imag) < 1e-9) & (roots.real > 1e-9) & (roots.real < 1 - 1e-9)].real)
    ends = np.concatenate([[0.0], inside, [1.0]])
    return len(inside) == 0 and bool(np.all(slope((ends[1:] + ends[:-1]) / 2) < 0))


def information_exponent(series: Float[np.ndarray, " powers"], *, tolerance: float = 1e-10) -> int | None:
    """Return the order of the first Taylor coefficient of φ beyond the constant that does not vanish.

    If that coefficient is positive the population loss pushes the overlap away and there is no exponent: None.
    Reference: jagannath Def. 11.9.
    """
    for order, coefficient in enumerate(series[1:], start=1):
        if abs(coefficient) > tolerance:
            return order if coefficient < 0 else None
    return None


def critical_ratio(dimension: int, exponent: int) -> float:
    """Return α_c = 1, log N or N^(k−2): samples per dimension at which weak recovery begins. jagannath Thm 11.10."""
    if exponent < 1 or dimension < 2:
        raise ValueError(f"exponent must be at least 1 and dimension at least 2, got {exponent} and {dimension}")
    return 1.0 if exponent == 1 else float(np.log(dimension)) if exponent == 2 else float(dimension) ** (exponent - 2)


def squared_loss_slope(
    link: Link, student: Float[Array, "*shape"], teacher: Float[Array, "*other"]
) -> Float[Array, "*broadcast"]:
    """Return c = 2(f(a) − f(b))f′(a), the derivative of (f(a) − f(b))² in the student's field a.

    f is the `link`, a and b are the fields of `student` and `teacher`.
    """
    value, slope = jax.jvp(link, (student,), (jnp.ones_like(student),))
    return 2 * (value - link(teacher)) * slope


_slope = jax.jit(squared_loss_slope, static_argnames="link")


def overlap_velocity(
    link: Link, overlap: Float[np.ndarray, " points"], *, step: float, nodes: int = 64
) -> Float[np.ndarray, " points"]:
    """Return dm/ds, s = t/N, of spherical online gradient descent with f = g = link in the limit N → ∞ at fixed step δ.

    v(m) = −δ φ′(m)(1 − m²) − ½δ² m E c², where c = 2(f(a) − f(b))f′(a) is the loss's derivative in the student's
    field a: descent on the population loss, less what renormalising the noise costs. Both are expectations over two
    normals of correlation m, here by Gauss–Hermite quadrature (exact for polynomial links).
    Reference: jagannath Def. 11.1, expanded to first order in 1/N.
    """
    x, weight = roots_hermitenorm(nodes)
    weight = np.outer(weight, weight) / (2 * np.pi)
    student, other = x[:, None], x[None, :]
    m = np.asarray(overlap, np.float64)[:, None, None]
    teacher = m * student + np.sqrt(1 - m**2) * other
    pull = np.asarray(_slope(link, student, teacher))
    drift = -(pull * (teacher - m * student) * weight).sum((1, 2))
    return step * drift - step**2 / 2 * m[:, 0, 0] * (pull**2 * weight).sum((1, 2))


def descent_time(link: Link, low: float, high: float, *, step: float, nodes: int = 40) -> float:
    """Return (number of samples)/N that the limiting dynamics need from overlap `low` to `high`: ∫ dm/v(m).

    v is `overlap_velocity` at this `step` δ, integrated with `nodes` Gauss–Legendre points; refused where v is not
    positive throughout. Reference: jagannath Thm 11.12.
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    velocity = overlap_velocity(link, low + (high - low) * (x + 1) / 2, step=step)
    if np.any(velocity <= 0):
        raise ValueError(f"with step {step} the overlap does not grow everywhere between {low} and {high}")
    return float((w / velocity).sum() * (high - low) / 2)


def escape_rate(link: Link, *, step: float) -> float:
    """Return λ = v′(0), the rate per N samples at which a small overlap grows when the information exponent is 2.

    Weak recovery then takes N (½ log N + O(1))/λ samples. v is `overlap_velocity` at this `step` δ. Reference:
    jagannath Thm 11.10, k = 2.
    """
    small = 1e-4
    low, high = overlap_velocity(link, np.array([-small, small]), step=step)
    return float((high - low) / (2 * small))


doors(__name__, exponent="[1, 1000]", nodes="[1, 1000]", degree="[0, 100]", tolerance="[0, ∞)")
