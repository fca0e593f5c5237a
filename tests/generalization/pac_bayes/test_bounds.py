"""The binary relative entropy against 400-digit arithmetic, its inverses against bisection, the bounds against sums."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from deeptheory.generalization.pac_bayes.bounds import (
    binary_kl,
    binary_kl_lower_inverse,
    binary_kl_upper_inverse,
    langford_seeger_budget,
    maurer_budget,
    maurer_samples,
    mcallester_bound,
    pac_bayes_kl,
    pac_bayes_pinsker,
)

pytestmark = pytest.mark.slow


def exact_kl(q, p):
    first = q * mpmath.log(q / p) if q > 0 else mpmath.mpf(0)
    return first + ((1 - q) * mpmath.log((1 - q) / (1 - p)) if q < 1 else 0)


def exact_upper(q, budget):
    """(p, 1 − p) by bisection of the log-odds with many digits; q is a multiprecision number, so 1 − q is exact."""
    low = mpmath.log(q / (1 - q))
    high = low + (budget - mpmath.log(q)) / (1 - q) + 1
    entropy = q * mpmath.log(q) + (1 - q) * mpmath.log(1 - q)
    for _ in range(220):
        middle = (low + high) / 2
        if entropy - q * middle + mpmath.log(1 + mpmath.exp(middle)) < budget:
            low = middle
        else:
            high = middle
    return 1 / (1 + mpmath.exp(-low)), 1 / (1 + mpmath.exp(low))


def corners(rng, count):
    """Numbers in (0, 1) crowding both ends."""
    return np.concatenate([10 ** rng.uniform(-25, 0, count), 1 - 10 ** rng.uniform(-15.5, 0, count), rng.random(count)])


def test_binary_kl_keeps_relative_accuracy_everywhere():
    rng = np.random.default_rng(1)
    q, p = corners(rng, 30), corners(rng, 30)
    p[60:] = np.minimum(q[60:] * (1 + 10 ** rng.uniform(-15, -1, 30)), 1 - 1e-16)  # nearly equal pairs
    with mpmath.workdps(400):
        expected = [float(exact_kl(mpmath.mpf(a), mpmath.mpf(b))) for a, b in zip(q, p, strict=True)]
    np.testing.assert_allclose(binary_kl(q, p), expected, rtol=4e-15, atol=0)


def test_binary_kl_at_the_ends():
    assert float(binary_kl(0.0, 0.25)) == pytest.approx(-np.log(0.75), rel=1e-15)
    assert float(binary_kl(1.0, 0.25)) == pytest.approx(np.log(4), rel=1e-15)
    assert float(binary_kl(0.0, 0.0)) == float(binary_kl(1.0, 1.0)) == 0.0
    assert np.isinf(float(binary_kl(0.5, 0.0)))


def test_inverses_agree_with_multiprecision_bisection_in_p_and_in_its_complement():
    rng = np.random.default_rng(2)
    q, budget = corners(rng, 12), 10 ** rng.uniform(-20, 2, 36)
    upper, lower = binary_kl_upper_inverse(q, budget), binary_kl_lower_inverse(q, budget)
    mirrored = binary_kl_lower_inverse(1 - q, budget)  # 1 − upper, for the q whose complement is a float
    with mpmath.workdps(90):
        for i, (a, c) in enumerate(zip(q, budget, strict=True)):
            p, _ = exact_upper(mpmath.mpf(a), mpmath.mpf(c))
            _, s = exact_upper(1 - mpmath.mpf(a), mpmath.mpf(c))
            assert abs(float(upper[i]) - p) <= min(1e-12, 1e-12 * p)
            if s > 1e-290:
                assert abs(float(lower[i]) - s) <= 1e-12 * s
            if a >= 0.5:  # then 1 − a is exact
                _, complement = exact_upper(mpmath.mpf(a), mpmath.mpf(c))
                if complement > 1e-290:
                    assert abs(float(mirrored[i]) - complement) <= 1e-12 * complement


SQUARE = [0.0, 1e-300, 1e-150, 1e-60, 1e-16, 1e-6, 0.3, 1 - 1e-6, 1 - 2**-53, 1.0]
BUDGETS = [0.0, 1e-300, 1e-200, 1e-80, 1e-30, 1e-9, 0.3, 60.0, 600.0]


def exact_coin(q, budget):
    """(p, 1 − p, τ) above q, for multiprecision q in [0, 1], ends included."""
    if q == 1 or budget == 0:
        return q, 1 - q, mpmath.mpf(0)
    if q == 0:
        return -mpmath.expm1(-budget), mpmath.exp(-budget), mpmath.inf
    low, high = mpmath.mpf(0), (budget - mpmath.log(q)) / (1 - q) + 1
    # Newton steps on √kl in the tilt, from a bisected start, in as many digits as the corner needs.
    for _ in range(12):
        middle = (low + high) / 2
        kl = mpmath.log(1 - q + q * mpmath.exp(middle)) - q * middle
        low, high = (middle, high) if kl < budget else (low, middle)
    tilt = min(high, mpmath.sqrt(2 * budget / (q * (1 - q))))
    for _ in range(60):
        weight = q * mpmath.exp(tilt) / (1 - q + q * mpmath.exp(tilt))
        kl = mpmath.log(1 - q + q * mpmath.exp(tilt)) - q * tilt
        step = 2 * (kl - mpmath.sqrt(kl * budget)) / (weight - q)
        tilt -= step
        if abs(step) <= mpmath.mpf(10) ** -40 * tilt:
            break
    total = 1 - q + q * mpmath.exp(tilt)
    return q * mpmath.exp(tilt) / total, (1 - q) / total, tilt


def close(value, expected, *, relative=1e-9, absolute=1e-12):
    """Both demands at once; a number below the smallest float may come out as zero."""
    gap = abs(mpmath.mpf(float(value)) - expected)
    return gap <= absolute and (gap <= relative * abs(expected) or expected < 1e-307)


def test_inverses_over_the_whole_square_with_its_corners_and_both_complements():
    q, budget = (grid.ravel() for grid in np.meshgrid(SQUARE, BUDGETS))
    upper, lower = (np.asarray(inverse(q, budget)) for inverse in (binary_kl_upper_inverse, binary_kl_lower_inverse))
    mirrored = np.asarray(binary_kl_lower_inverse(1 - q, budget)), np.asarray(binary_kl_upper_inverse(1 - q, budget))
    with mpmath.workdps(700):
        for i, (a, c) in enumerate(zip(q, budget, strict=True)):
            a, c = mpmath.mpf(float(a)), mpmath.mpf(float(c))
            p, s, _ = exact_coin(a, c)
            assert close(upper[i], p), (q[i], budget[i])
            other, below, _ = exact_coin(1 - a, c)
            assert close(lower[i], below), (q[i], budget[i])
            if 1 - q[i] == 1 - a:  # the complement of q is a float: then 1 − p is to be had, to full relative accuracy
                assert close(mirrored[0][i], s), (q[i], budget[i])
                assert close(mirrored[1][i], other), (q[i], budget[i])


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_gradients_over_the_square_against_multiprecision(side):
    """∂p/∂budget = ±p(1−p)/|p−q| and ∂p/∂q = τ·p(1−p)/|p−q|, at both sides and close to the corners."""
    inverse = binary_kl_upper_inverse if side == "upper" else binary_kl_lower_inverse
    inner = [1e-100, 1e-16, 1e-3, 0.5, 0.97, 1 - 2**-53]
    q, budget = (grid.ravel() for grid in np.meshgrid(inner, [1e-30, 1e-9, 1e-3, 0.3, 60.0]))
    by_q, by_budget = jax.vmap(jax.grad(inverse, argnums=(0, 1)))(jnp.asarray(q), jnp.asarray(budget))
    with mpmath.workdps(250):
        for i, (a, c) in enumerate(zip(q, budget, strict=True)):
            a, c = mpmath.mpf(float(a)), mpmath.mpf(float(c))
            p, s, tilt = exact_coin(a if side == "upper" else 1 - a, c)
            shift = p - a if side == "upper" else p - (1 - a)
            sign = 1 if side == "upper" else -1
            expected = sign * p * s / shift, tilt * p * s / shift
            for value, true in zip((by_budget[i], by_q[i]), expected, strict=True):
                assert abs(float(value) - true) <= 1e-9 * abs(true) or abs(true) < 1e-307, (
                    q[i],
                    budget[i],
                    float(true),
                )


def test_inverses_at_the_ends():
    assert float(binary_kl_upper_inverse(0.0, 1e-12)) == pytest.approx(-np.expm1(-1e-12), rel=1e-14)
    assert float(binary_kl_lower_inverse(1.0, 50.0)) == pytest.approx(np.exp(-50), rel=1e-13)
    assert float(binary_kl_upper_inverse(0.3, 0.0)) == float(binary_kl_lower_inverse(0.3, 0.0)) == 0.3
    slope = jax.grad(binary_kl_upper_inverse)
    assert float(slope(0.0, 0.5)) == np.inf and float(slope(1.0, 0.5)) == 0.0  # q log q is steep at zero
    assert float(binary_kl_upper_inverse(1.0, 2.0)) == 1.0 and float(binary_kl_lower_inverse(0.0, 2.0)) == 0.0


@pytest.mark.parametrize("inverse", [binary_kl_upper_inverse, binary_kl_lower_inverse])
def test_gradients_agree_with_finite_differences(inverse):
    for q, budget in [(0.03, 0.1), (1e-6, 1e-4), (0.5, 3.0), (0.97, 1e-3)]:
        slopes = jax.jit(jax.grad(inverse, argnums=(0, 1)))(q, budget)
        for axis, size in enumerate((q * (1 - q), budget)):
            step = np.eye(2)[axis] * 1e-5 * size
            difference = float(inverse(q + step[0], budget + step[1]) - inverse(q - step[0], budget - step[1]))
            assert float(slopes[axis]) == pytest.approx(difference / (2e-5 * size), rel=1e-6)
    second = jax.hessian(inverse, argnums=1)(0.1, 0.2)
    difference = (inverse(0.1, 0.202) - 2 * inverse(0.1, 0.2) + inverse(0.1, 0.198)) / 4e-6
    assert float(second) == pytest.approx(float(difference), rel=1e-3)


def test_gradient_of_binary_kl():
    slopes = jax.vmap(jax.grad(binary_kl, argnums=(0, 1)))(jnp.array([0.2, 1e-9]), jnp.array([0.2000001, 0.3]))
    np.testing.assert_allclose(slopes[1], [1e-7 / (0.2000001 * 0.7999999), (0.3 - 1e-9) / 0.21], rtol=1e-6)
    with mpmath.workdps(40):
        expected = mpmath.log(mpmath.mpf("1e-9") * 0.7 / (0.3 * (1 - mpmath.mpf("1e-9"))))
    assert float(slopes[0][1]) == pytest.approx(float(expected), rel=1e-12)


def test_single_precision_is_respected():
    value = binary_kl_upper_inverse(jnp.float32(0.1), jnp.float32(0.2))
    assert value.dtype == jnp.float32
    assert float(value) == pytest.approx(float(binary_kl_upper_inverse(0.1, 0.2)), rel=1e-6)


def test_maurer_budget_pays_for_the_exact_moment():
    """E exp(n·kl(R_S‖R)) = Σ_k Bin(k; n, k/n) lies under 2√n, which is what the budget charges."""
    for n in (*range(1, 9), 55, 1000):
        k = np.arange(n + 1)
        log_terms = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, k / n) + xlogy(n - k, 1 - k / n)
        moment = np.exp(log_terms).sum()
        assert np.sqrt(n) <= moment <= 2 * np.sqrt(n) * (1 + 1e-14)
        assert float(maurer_budget(0.0, n, 0.05)) >= np.log(moment / 0.05) / n


def test_bounds_are_ordered_and_hold_their_formulas():
    risk, divergence, n, delta = 0.028, 5144.0, 55000.0, 0.025
    budget = maurer_budget(divergence, n, delta)
    assert float(pac_bayes_kl(risk, budget)) < float(pac_bayes_pinsker(risk, budget)) < 1
    assert float(pac_bayes_pinsker(risk, budget)) == pytest.approx(
        risk + np.sqrt((divergence + np.log(2 * np.sqrt(n) / delta)) / (2 * n)), rel=1e-14
    )
    assert float(mcallester_bound(risk, divergence, n, delta)) == pytest.approx(
        risk + np.sqrt((divergence + np.log(2 * n / delta)) / (2 * (n - 1))), rel=1e-14
    )
    assert float(langford_seeger_budget(0.0, n, delta)) == pytest.approx(np.log(n / delta) / (n - 1), rel=1e-14)


@pytest.mark.item("L9.9")
def test_table_of_binary_mnist_by_independent_bisection():
    """The columns (stochastic train error, KL) of the table through the kl inverse at n = 55000, δ = 0.025."""
    errors, divergences = [0.028, 0.027, 0.029], [5144, 5791, 8558]
    ours = pac_bayes_kl(np.array(errors), maurer_budget(np.array(divergences, float), 55000, 0.025))
    with mpmath.workdps(30):
        for value, q, divergence in zip(ours, errors, divergences, strict=True):
            budget = (divergence + mpmath.log(2 * mpmath.sqrt(55000) / 0.025)) / 55000
            assert float(value) == pytest.approx(float(exact_upper(mpmath.mpf(q), budget)[0]), rel=1e-12)
    np.testing.assert_allclose(ours, [0.1607, 0.1705, 0.2217], atol=6e-5)


def test_samples_for_a_budget_invert_the_budget():
    for divergence, n, delta in [(5144.0, 55000.0, 0.025), (0.0, 8.0, 0.5), (3.0, 1e6, 1e-6)]:
        budget = maurer_budget(divergence, n, delta)
        assert float(maurer_samples(divergence, budget, delta)) == pytest.approx(n, rel=1e-9)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"q must lie in \[0, 1\]"):
        binary_kl(1.5, 0.5)
    with pytest.raises(ValueError, match="budget must lie"):
        binary_kl_upper_inverse(0.5, -1.0)
    with pytest.raises(ValueError, match="samples must be at least 1"):
        maurer_budget(1.0, 0, 0.05)
