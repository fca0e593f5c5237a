"""Enclosures against values at random points, against mpmath's own intervals, and by hand."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from deeptheory.calculus.intervals import enclosure, enclosures

LOW, HIGH = np.array([-1.0, -0.5]), np.array([0.7, 1.2])
WEIGHTS = np.array([[1.0, 2.0], [-0.3, 0.7]])

FUNCTIONS = {
    "polynomial": lambda x: jnp.polyval(jnp.array([1.0, -2.0, 3.0]), x[0]) * x[1] ** 3,
    "softplus": lambda x: jnp.sum(jax.nn.softplus(x)),
    "relu": lambda x: jax.nn.relu(x) @ jnp.array([1.0, -2.0]),
    "tanh layer": lambda x: jnp.tanh(WEIGHTS @ x).sum(),
    "log of summed exponentials": lambda x: jax.nn.logsumexp(x),
    "waves": lambda x: jnp.sin(3 * x[0]) * jnp.cos(x[1]),
    "gelu": lambda x: jax.nn.gelu(x, approximate=False).sum(),
    "quotient": lambda x: x[0] / (1 + x[1] ** 2),
    "power": lambda x: (2 + x[0]) ** x[1],
    "largest": lambda x: jnp.max(x),
    "product and sums": lambda x: jnp.prod(x) + jnp.cumsum(x)[1] + x[::-1][0],
    "a branch": lambda x: jnp.where(x[0] > 0, x[1], jnp.floor(x[1])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_lie_in_their_enclosures(name):
    """Also on twenty smaller boxes, where the enclosure has little room to be right by accident."""
    function = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    lows = rng.uniform(LOW, HIGH, (20, 2))
    highs = lows + rng.uniform(0, 0.1, (20, 2))
    points = rng.uniform(lows, highs, (50, 20, 2))
    for each in (function, jax.grad(function)):
        found = enclosures(each, lows, highs)
        values = np.asarray(jax.jit(jax.vmap(jax.vmap(each)))(points))
        slack = 1e-13 * np.abs(values)  # of the values, which are rounded too
        assert (values >= found.low - slack).all() and (values <= found.high + slack).all()


@pytest.mark.parametrize("name", ["exp", "log1p", "sin", "cos", "tanh", "sqrt", "expm1", "atan"])
def test_ends_are_rounded_outward(name):
    """In fifty digits, at points where the function is monotone: the interval of one number holds the true value."""
    mpmath.mp.dps = 50
    ours = {"atan": jnp.arctan}.get(name) or getattr(jnp, name)
    theirs = {"log1p": lambda x: mpmath.log(1 + x), "expm1": lambda x: mpmath.exp(x) - 1}.get(name) or getattr(
        mpmath, name
    )
    places = np.random.default_rng(1).uniform(0.01, 3, (200, 1))
    found = enclosures(lambda x: ours(x[0]), places, places)
    for place, low, high in zip(places[:, 0], found.low, found.high, strict=True):
        true = theirs(mpmath.mpf(place))
        assert mpmath.mpf(low) <= true <= mpmath.mpf(high)
        assert high - low <= 2e-15 * abs(float(true)) + 1e-299


def test_sums_and_products_are_exact_in_rationals():
    """A dot product of numbers of both signs that nearly cancel, against fractions."""
    from fractions import Fraction

    rng = np.random.default_rng(2)
    rows, x = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-8, 8, (40, 7)), rng.normal(size=7)
    found = enclosure(lambda z: rows @ z, x, x)
    true = [sum(Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)) for row in rows]
    assert all(Fraction(low) <= t <= Fraction(high) for low, t, high in zip(found.low, true, found.high, strict=True))


def test_enclosures_by_hand():
    """Squares know that they are squares, differences do not; steps are enclosed, or nan where asked."""
    one, two = np.array([-1.0]), np.array([2.0])
    assert np.allclose(enclosure(lambda x: x[0] ** 2, one, two), (0, 4))
    assert np.allclose(enclosure(lambda x: x @ x, one, two), (0, 4))
    assert np.allclose(enclosure(lambda x: x[0] - x[0] ** 1, one, two), (-3, 3))
    assert enclosure(lambda x: jnp.sign(x[0]), one, two) == (-1, 1)
    assert np.allclose(enclosure(lambda x: 1 / x[0], np.array([0.5]), two), (0.5, 2))
    assert enclosure(lambda x: 1 / x[0], one, two) == (-np.inf, np.inf)
    assert np.isnan(enclosures(lambda x: jnp.sign(x[0]), one[None], two[None], steps=False).low).all()
    assert np.isnan(
        enclosures(lambda x: jnp.tanh(jnp.where(x[0] > 0, 1.0, -1.0)), one[None], two[None], steps=False)
    ).all()
    assert np.allclose(enclosures(lambda x: abs(x[0]), one[None], two[None], steps=False), [[0], [2]])


def test_what_has_no_rule_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="got sort"):
        enclosure(jnp.sort, LOW, HIGH)
    with pytest.raises(ValueError, match="high must"):
        enclosure(jnp.sum, HIGH, LOW)
