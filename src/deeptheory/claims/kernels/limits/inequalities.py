"""The inequalities behind lazy training: Hoffman–Wielandt, Grönwall, sub-Gaussian constants (jagannath 9.2)."""

from dataclasses import replace
from math import log
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.integrate import quad, solve_ivp

from deeptheory.foundations.concentration import bernoulli_proxy
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration.sub_exponential import bounded_variance_proxy, variance_proxy
from deeptheory.kernels.limits.inequalities import gronwall_bound, random_normal_matrix, spectral_matching
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, compared

Draws = Annotated[int, Interval(ge=4, le=10_000)]
INTERVALS = ((0.0, 1.0), (-1.0, 2.0), (2.0, 2.6))


@claim(
    items={
        "J9.8": (
            "best match of normal matrices",
            "equality for shared eigenvectors",
            "sorted spectra of Hermitian matrices",
            "singular values",
        )
    },
    says=r"Eigenvalues of normal matrices, real or complex, can be matched so that "
    r"$\sum_i|\lambda_i(A)-\lambda_{\pi(i)}(B)|^2\le\|A-B\|_F^2$; for Hermitian ones sorting matches best. Singular "
    r"values of any matrices obey Weyl's $|s_k(A)-s_k(B)|\le\|A-B\|_{op}$.",
    needs="normal matrices; any matrices for the singular values",
    symbols={
        r"A,B": "matrices of one size; normal means that there is an orthonormal basis of eigenvectors",
        r"\lambda_i,s_k": "eigenvalues, and singular values in order of size",
        r"\pi": "the permutation that matches best",
        r"\|\cdot\|_F,\|\cdot\|_{op}": "the root of the sum of squared entries, and the largest singular value",
    },
    why=r"In bases of eigenvectors $\|A-B\|_F^2$ is an average of squared distances $|\lambda_i-\lambda_j'|^2$ with "
    r"the weights $|\langle u_i,u_j'\rangle|^2$, whose rows and columns add up to one. Such weights are a mixture of "
    r"permutations, so some permutation does no worse than the average; with shared eigenvectors they are one, and "
    r"there is equality. On the line the best match is in order; in the plane of complex eigenvalues no order does it "
    r"for all normal matrices.",
    notice=r"No match of eigenvalues costs more than the squared distance of the matrices. With shared eigenvectors "
    r"the two are equal, so that no smaller constant would do.",
    full=dict(draws=2000),
)
def hoffman_wielandt(key, *, draws: Draws = 60, matrices: Literal["normal", "any"] = "normal"):
    matched, distances, shared, ordered, values = [], [], [], [], []
    for index, draw in enumerate(jax.random.split(key, draws)):
        first, second, third = jax.random.split(draw, 3)
        size = 2 + index % 5
        one, other = random_normal_matrix(first, size), random_normal_matrix(second, size)
        if matrices == "any":  # a nilpotent matrix and its neighbour: eigenvalues move like a root
            one = np.diag(np.ones(size - 1), 1).astype(complex)
            other = one.copy()
            other[-1, 0] = 0.1
        elif index % 3 == 0:  # close pairs, where the inequality is nearly attained
            angle = 0.05 * random_normal_matrix(second, size, hermitian=True)
            turned = np.linalg.solve(np.eye(size) - 0.5j * angle, np.eye(size) + 0.5j * angle)
            other = turned @ one @ turned.conj().T + 0.3 * np.eye(size)
        matched.append(spectral_matching(one, other))
        distances.append(np.linalg.norm(one - other) ** 2)
        gaps = np.linalg.svd(one, compute_uv=False) - np.linalg.svd(other, compute_uv=False)
        values.append([np.abs(gaps).max(), np.linalg.norm(one - other, 2)])
        basis = np.linalg.qr(random_normal_matrix(third, size))[0]
        # Places far apart on a line that is not the real one, both spectra close to them, so they are matched.
        spectra = (1 + 2j) * np.arange(size) + 0.2 * generator(third).standard_normal((2, size, 2)) @ [1, 1j]
        pair = [(basis * spectrum) @ basis.conj().T for spectrum in spectra]
        shared.append([spectral_matching(*pair), np.linalg.norm(pair[0] - pair[1]) ** 2])
        first, second = (random_normal_matrix(each, size, hermitian=True) for each in (first, third))
        best = np.sum((np.linalg.eigvalsh(first) - np.linalg.eigvalsh(second)) ** 2)
        ordered.append([spectral_matching(first, second), best])
    values, shared, ordered = np.array(values), np.array(shared), np.array(ordered)
    # Weyl with equality: a multiple of the same matrix.
    values = np.append(values, [[0.5 * np.linalg.norm(one, 2), np.linalg.norm(one - 1.5 * one, 2)]], axis=0)
    return {
        "best match of normal matrices": Inequality(np.array(matched), np.array(distances), error=1e-10),
        "equality for shared eigenvectors": Identity(shared[:, 0], shared[:, 1], scale=100.0, error=1e-10),
        "sorted spectra of Hermitian matrices": Identity(ordered[:, 0], ordered[:, 1], scale=100.0, error=1e-10),
        "singular values": Inequality(values[:, 0], values[:, 1], error=1e-12),
    }


hoffman_wielandt.control("matrices that are not normal", of="best match of normal matrices", matrices="any")


@hoffman_wielandt.control("half the squared distance", of="equality for shared eigenvectors")
def half_distance(evidence):
    return replace(evidence, right=evidence.right / 2)


@hoffman_wielandt.control(
    "the order of the real parts as the best match of normal matrices", of="sorted spectra of Hermitian matrices"
)
def ordered_by_real_parts(evidence):
    draws = jax.random.split(jax.random.key(0), (6, 2))
    pairs = [[random_normal_matrix(key, 4) for key in pair] for pair in draws]
    ordered = [np.subtract(*(np.sort_complex(np.linalg.eigvals(matrix)) for matrix in pair)) for pair in pairs]
    matched = np.array([spectral_matching(*pair) for pair in pairs])
    return replace(evidence, left=matched, right=np.sum(np.abs(ordered) ** 2, axis=1))


@hoffman_wielandt.control("singular values moved by at most 0.9 of the norm", of="singular values")
def less_than_weyl(evidence):
    return replace(evidence, bound=0.9 * evidence.bound)


@hoffman_wielandt.picture
def matches_and_distances(pieces):
    """Squared distance of the best match of eigenvalues against that of the matrices, for drawn pairs."""
    normal, shared = pieces["best match of normal matrices"], pieces["equality for shared eigenvectors"]
    ends = np.asarray([min(np.min(normal.bound), np.min(shared.right)), np.max(normal.bound)])
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("normal matrices", normal.bound[:100], normal.quantity[:100]),
            Dots("shared eigenvectors", shared.right[:100], shared.left[:100]),
            Line("", ends, ends / 2, rival="half the squared distance"),
        ],
        x="squared distance of the matrices",
        y="squared distance of the eigenvalues",
        log="xy",
    )


TIMES = np.linspace(0, 3, 25)[1:]


@claim(
    items={"J9.9": ("solutions below the bound", "solutions that attain the bound")},
    says=r"If $u'\le\beta u$ then $u(t)\le u(0)\exp\int_0^t\beta$, for $u$ and $\beta$ of any sign, with equality if "
    r"$u'=\beta u$.",
    needs="u differentiable, β continuous",
    symbols={
        r"u": r"a function of the time $t$ that grows no faster than its rate allows",
        r"\beta": "the rate, which may change with time and have any sign",
    },
    why=r"Divide the growth out: the product of $u$ with $\exp(-\int\beta)$ has the derivative "
    r"$(u'-\beta u)\exp(-\int\beta)\le0$, so it never rises above its first value, and stays there if $u'=\beta u$. No "
    r"sign of $u$ or $\beta$ enters. The inequality between integrals is weaker, and needs $\beta\ge0$: what $u$ lost "
    r"early it may regain at once.",
    notice=r"Left, a solution with $u'=\beta u$ lies on its bound all the time; with the sign of the exponent reversed "
    r"it would leave it. Right, what a solution loses on the way it does not win back: it stays below its bound.",
    full=dict(draws=400),
)
def gronwall(key, *, draws: Draws = 24, loss: Literal["some", "gain"] = "some"):
    paths, bounds, starts = [], [], []
    for index, draw in enumerate(jax.random.split(key, draws)):
        rng = generator(draw)
        waves, slack, start = rng.standard_normal((2, 4)), rng.standard_normal(4), rng.standard_normal()

        def growth(t, waves=waves):
            angles = np.asarray(t)[..., None] * np.arange(4)
            return np.cos(angles) @ waves[0] + np.sin(angles) @ waves[1]

        lost = 0.0 if index % 4 == 0 else 1.0 if loss == "some" else -1.0

        def velocity(t, u, slack=slack, lost=lost, growth=growth):
            return growth(t) * u - lost * (np.cos(t * np.arange(4)) @ slack) ** 2

        paths.append(solve_ivp(velocity, (0, 3), [start], "DOP853", t_eval=TIMES, rtol=1e-11, atol=1e-13).y[0])
        bounds.append(gronwall_bound(growth, start, TIMES))
        starts.append(start)
    paths, bounds = np.array(paths), np.array(bounds)
    equal = np.arange(draws) % 4 == 0
    error = 1e-8 * np.maximum(np.abs(bounds), 1e-3)  # of the solver, relative to what it follows
    return {
        "solutions below the bound": Inequality(paths[~equal], bounds[~equal], error=error[~equal]),
        "solutions that attain the bound": Identity(
            paths[equal], bounds[equal], error=error[equal], aside={"start": np.array(starts)[equal]}
        ),
    }


gronwall.control("u′ ≤ βu + a positive term", of="solutions below the bound", loss="gain")


@gronwall.control("the sign of the exponent", of="solutions that attain the bound")
def decaying(evidence):
    start = np.asarray(evidence.left)[:, :1] / np.asarray(evidence.right)[:, :1]
    return replace(evidence, right=start / np.asarray(evidence.right))


@gronwall.control("the integral inequality with a negative β", of="solutions below the bound")
def integral_form(evidence):
    # u = 1 − 11 sin πt stays below 1 − ∫u on [0, 1], since it dips so far, and ends above e⁻¹.
    path = 1 - 11 * np.sin(np.pi * TIMES[:8])
    allowed = 1 - TIMES[:8] + 11 * (1 - np.cos(np.pi * TIMES[:8])) / np.pi
    assert np.all(path <= allowed)
    return replace(evidence, quantity=path, bound=gronwall_bound(lambda t: -np.ones_like(t), 1.0, TIMES[:8]), error=0.0)


@gronwall.picture
def solutions_under_bounds(pieces):
    """One solution that grows exactly at its rate, and one that loses something, with the bounds on both."""
    below, equal = pieces["solutions below the bound"], pieces["solutions that attain the bound"]
    # Of those drawn, the ones that grow least: the others leave any panel.
    one = int(np.argmin(np.abs(np.log(equal.right / equal.aside["start"][:, None])).max(1)))
    other = int(np.argmin(np.abs(below.quantity).max(1)))
    reversed_sign = float(equal.aside["start"][one]) ** 2 / np.asarray(equal.right)[one]
    attained = [
        Line("bound", TIMES, equal.right[one]),
        Dots("solution", TIMES, equal.left[one]),
        Line("", TIMES, reversed_sign, rival="the sign of the exponent"),
    ]
    loses = [Line("bound", TIMES, below.bound[other]), Dots("solution", TIMES, below.quantity[other])]
    return Row(
        [
            Curves(marks, x="time t", y="value of u", title=title)
            for marks, title in ((attained, "u′ = βu"), (loses, "u′ < βu"))
        ]
    )


def coin(probability):
    """log E e^{λY} of the centred coin."""
    return lambda rate: float(
        np.logaddexp(np.log(probability) + rate * (1 - probability), np.log1p(-probability) - rate * probability)
    )


def uniform(rate):
    """log E e^{λY} for Y uniform on [−1, 1], by quadrature."""
    return log(quad(lambda y: np.exp(rate * y - abs(rate)) / 2, -1, 1, points=[-1, 1], limit=200)[0]) + abs(rate)


def least_proxy(law, reach):
    """The search over rates, from the law alone: its variance, the ratio at λ = 0, is a second difference there."""
    step = 2e-4
    return variance_proxy(law, variance=(law(step) + law(-step)) / step**2, reach=reach)


@claim(
    items={
        "J9.10": (
            "constants of named laws",
            "constants of biased coins",
            "bounded variables",
            "bounded variables that attain the constant",
            "exponential moments below the Gaussian's",
        )
    },
    says=r"The least $B^2$ with $\mathbb E e^{\lambda Y}\le e^{\lambda^2B^2/2}$ is 1 for a random sign, $\sigma^2$ for "
    r"a Gaussian, $1/3$ for the uniform law on $[-1,1]$, $\frac{1-2p}{2\log((1-p)/p)}$ for a centred coin, and at most "
    r"$(b-a)^2/4$ for $Y=Z-\mathbb EZ$ with $Z$ in $[a,b]$; the fair coin on the two ends attains it.",
    needs="a centred variable Y",
    symbols={
        r"Y": "a variable of mean zero",
        r"B^2": "its variance proxy: how large a Gaussian's variance must be to dominate its exponential moments",
        r"p": "the probability of heads of the coin",
        r"a,b": r"the ends of the interval in which $Z$ lies",
    },
    why=r"The logarithm of $\mathbb Ee^{\lambda Y}$ starts like $\lambda^2\mathrm{Var}/2$, so $B^2$ is at least the "
    r"variance. For a sign, a Gaussian, the uniform law and a fair coin that is enough. A biased coin is skewed: the "
    r"worst $\lambda$ lies away from zero, where the proxy exceeds the variance. In an interval no law spreads more "
    r"than half the mass at either end.",
    notice=r"The proxy of a coin lies above its variance, except for the fair one. For rare heads it falls only like "
    r"$1/(2\log(1/p))$, while the variance goes to zero with $p$.",
)
def sub_gaussian_constants(*, reach: Annotated[float, Interval(ge=10, le=500)] = 60.0):
    rates = np.concatenate([-np.geomspace(0.01, reach, 60)[::-1], np.geomspace(0.01, reach, 60)])
    laws = {
        "sign": (lambda rate: abs(rate) + log((1 + np.exp(-2 * abs(rate))) / 2), 1.0),
        "Gaussian": (lambda rate: 0.49 * rate**2 / 2, 0.49),
        "uniform": (uniform, 1 / 3),
    }
    found = [least_proxy(law, reach) for law, _ in laws.values()]
    chances = np.array([0.02, 0.1, 0.3, 0.5, 0.8])
    proxies = bernoulli_proxy(chances)
    coins = [least_proxy(coin(p), reach) for p in chances]
    # Three values in [−1, 2]: of all centred laws there, the two ends alone come closest to Hoeffding's bound.
    three = [
        least_proxy(lambda rate, q=q: float(np.log((1 - q) + q * (2 / 3 * np.exp(-rate) + np.exp(2 * rate) / 3))), 20.0)
        for q in (0.3, 0.7, 1.0)
    ]
    fair = [least_proxy(lambda rate, size=b - a: coin(0.5)(size * rate), 60.0) for a, b in INTERVALS]
    hoeffding = np.array([bounded_variance_proxy(a, b) for a, b in INTERVALS])
    tails = np.array([[law(rate) - rate**2 * best / 2 for rate in rates] for law, best in laws.values()])
    skewed = np.array([coin(0.1)(rate) - rate**2 * 0.1 * 0.9 / 2 for rate in rates])
    return {
        "constants of named laws": Identity(np.array(found), np.array([best for _, best in laws.values()]), error=1e-7),
        "constants of biased coins": Identity(np.array(coins), proxies, error=1e-7),
        "bounded variables": Inequality(np.array(three), hoeffding[1], error=1e-9),
        "bounded variables that attain the constant": Identity(np.array(fair), hoeffding, error=1e-7),
        "exponential moments below the Gaussian's": Inequality(
            np.exp(tails), 1.0, error=1e-9, aside={"skewed": np.exp(skewed)}
        ),
    }


@sub_gaussian_constants.control("the variance of the coin", of="constants of biased coins")
def only_the_variance(evidence):
    chances = np.array([0.02, 0.1, 0.3, 0.5, 0.8])
    return replace(evidence, right=chances * (1 - chances))


@sub_gaussian_constants.control("Hoeffding's constant for the uniform law", of="constants of named laws")
def hoeffding_uniform(evidence):
    return replace(evidence, right=np.array([*evidence.right[:2], bounded_variance_proxy(-1.0, 1.0)]))


@sub_gaussian_constants.control("an eighth of the squared range", of="bounded variables")
def eighth(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@sub_gaussian_constants.control(
    "a skewed coin, its variance for the constant", of="exponential moments below the Gaussian's"
)
def skewed_coin(evidence):
    return replace(evidence, quantity=evidence.aside["skewed"])


@sub_gaussian_constants.picture
def proxy_of_a_coin(pieces):
    """The variance proxy of a centred coin by its chance: the formula, the search over all rates, and the variance."""
    found = pieces["constants of biased coins"]
    return compared(
        [0.02, 0.1, 0.3, 0.5, 0.8],
        bernoulli_proxy,
        np.asarray(found.left),
        rivals={"the variance p(1 − p)": lambda chance: chance * (1 - chance)},
        x="chance p of heads",
        y="variance proxy",
        xs=(0.005, 0.995),
    )
