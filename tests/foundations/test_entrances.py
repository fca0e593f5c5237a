"""The door itself: what it makes of kinds, shapes, sizes and values, and that it costs nothing where it must not."""

import sys
import types
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Complex, Float, Int, Key

from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.guards import affordable, ends, symmetric
from deeptheory.foundations.wishes import wish


class Pair(NamedTuple):
    values: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]


Pair.__module__ = "deeptheory.somewhere"


def weigh(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], *, ridge: float = 1.0, steps: int = 1):
    return x, y, ridge, steps


def outer(x: Float[np.ndarray, "n d"]):
    return module.weigh(x, np.full(1, np.nan))


def apply(
    function: Callable, counts: Sequence[int], pair: Pair | None = None, z: Complex[np.ndarray, " k"] | None = None
):
    return function(counts), z


def either(x: float | int | Float[Array | np.ndarray, "..."], key: Key[Array, ""] | None = None):
    return x


def exact(x: int | float | Fraction):
    return x


def labelled(labels: Int[np.ndarray, " n"]):
    return labels


def undefined(x: float):
    return x * np.inf - np.inf


def divided(x: float):
    return 1 / x


def counted(x: Float[Array | np.ndarray, " n"], pair: Any = None, function: Callable = np.sin):
    return np.asarray(x).sum() + float(function(1.0)) + sum(map(float, pair or ()))


def grown(x: float):
    return x**2


def limited(n: Annotated[int, "[1, 20]"], order: int = 0):
    return n + order


def solved(a: Float[np.ndarray, "n n"], b: Float[np.ndarray, " n"]):
    return np.linalg.solve(a, b)


def tangled(x: float):
    return np.linalg.inv(np.full((2, 2), x))


@pytest.fixture(autouse=True, scope="module")
def behind_doors():
    for name in (
        *("weigh", "outer", "apply", "either", "exact", "labelled", "undefined", "divided"),
        *("grown", "limited", "solved", "tangled", "counted"),
    ):
        setattr(module, name, globals()[name])
        getattr(module, name).__module__ = module.__name__
    sys.modules[module.__name__] = module
    doors(module.__name__, infinite=("x",), ridge="[0, ∞)", steps="[1, 1e3]", n="[5, ∞)", order="[0, 100]")
    yield
    del sys.modules[module.__name__]


module = types.ModuleType("deeptheory_example")
X, Y = np.ones((3, 2)), np.ones(3)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("weigh", dict(x=X, y=np.ones(4)), r"y must have shape \(n,\) with n = 3 as in x, got \(4,\)"),
        ("weigh", dict(x=Y, y=Y), r"x must have shape \(n, d\), got \(3,\)"),
        ("weigh", dict(x=X, y=[1, np.nan, 2]), r"y must be finite, got nan at \[1\]"),
        ("weigh", dict(x=X[:0], y=Y), "x must not be empty"),
        ("weigh", dict(x=X, y=None), r"y must be an array of real numbers of shape \(n,\), got None"),
        ("weigh", dict(x=X, y=Y + 1j), "y must be an array of real numbers"),
        ("weigh", dict(x=X, y=np.full(3, "a")), "y must be an array of real numbers"),
        ("weigh", dict(x=X, y=[[1.0], [1.0, 2.0]]), "y must be an array of real numbers"),
        ("weigh", dict(x=X, y=Y, ridge=-1.0), r"ridge must lie in \[0, ∞\), got -1.0"),
        ("weigh", dict(x=X, y=Y, ridge=np.float32("nan")), "ridge must be finite, got nan"),
        ("weigh", dict(x=X, y=Y, ridge="1"), "ridge must be a number, got '1'"),
        ("weigh", dict(x=X, y=Y, steps=2.5), "steps must be a whole number, got 2.5"),
        ("weigh", dict(x=X, y=Y, steps=True), "steps must be a whole number, got True"),
        ("weigh", dict(x=X, y=Y, steps=10**6), r"steps must lie in \[1, 1000\], got 1000000"),
        ("weigh", dict(x=X, y=Y, steps=10**400), r"steps must be a whole number of at most 2\*\*63 in size"),
        ("weigh", dict(x=X), "weigh: missing a required argument: 'y'"),
        ("apply", dict(function=3, counts=[1]), "function must be a function, got 3"),
        ("apply", dict(function=len, counts=[]), r"counts must not be empty, got \[\]"),
        ("apply", dict(function=len, counts=[1, 0.5]), r"counts\[1\] must be a whole number, got 0.5"),
        ("apply", dict(function=len, counts=[1], pair=(X, Y)), "pair must be Pair or None"),
        ("apply", dict(function=len, counts=[1], pair=Pair(Y, np.ones(2))), r"pair.weights must have shape \(n,\)"),
        ("either", dict(x="a"), "x must be a number or an array of real numbers"),
        ("either", dict(x=1.0, key=3), "key must be a key of jax.random or None, got 3"),
        ("labelled", dict(labels=np.ones(2)), "labels must be an array of whole numbers"),
        ("undefined", dict(x=1.0), "undefined has no answer for these values: it comes out as nan"),
        ("divided", dict(x=0.0), "divided has no answer for these values: a number on the way is divided by zero"),
        ("grown", dict(x=1e300), "grown has no answer for these values: a number on the way is too large for floating"),
        ("limited", dict(n=0), r"n must lie in \[1, 20\], got 0"),
        ("limited", dict(n=2, order=101), r"order must lie in \[0, 100\], got 101"),
        ("solved", dict(a=np.ones((2, 2)), b=np.ones(2)), "a must be positive definite, got an eigenvalue"),
        ("solved", dict(a=[[0, 1], [0, 0]], b=np.ones(2)), "a must have full rank, got singular values from 0 to 1"),
        ("tangled", dict(x=1.0), "tangled has no answer for these values: a matrix on the way is singular"),
    ],
)
def test_a_door_refuses_in_one_sentence(name, arguments, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence) as refusal:
        getattr(module, name)(**arguments)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 250


def test_a_door_gives_a_function_what_its_signature_says():
    x, y, ridge, steps = module.weigh([[1, 2], [3, 4]], jnp.ones(2), ridge=2, steps=np.int32(5))
    assert x.dtype == float
    assert isinstance(y, np.ndarray)
    assert (ridge, type(ridge)) == (2.0, float)
    assert (steps, type(steps)) == (5, int)
    assert module.apply(sum, np.array([1, 2]), z=[1.0])[0] == 3
    assert module.apply(len, (1, 2), z=[1.0])[1].dtype == complex
    assert module.exact(Fraction(1, 3)) == Fraction(1, 3)
    assert module.either(np.inf) == np.inf
    assert module.either(X) is X


def test_values_that_are_not_known_yet_pass():
    assert jax.jit(module.either)(jnp.nan) != jax.jit(module.either)(jnp.nan)
    assert jax.grad(lambda x: module.either(x) ** 2)(3.0) == 6.0
    np.testing.assert_array_equal(jax.vmap(module.either)(jnp.arange(3.0)), np.arange(3.0))


@pytest.mark.parametrize("way", [jax.jit, jax.grad, lambda f: lambda x: jax.vmap(f)(x[None])])
def test_what_needs_values_says_so_where_they_are_traced(way):
    with pytest.raises(TypeError, match=r"^counted needs values, and x is traced: call it outside jit, vmap and grad"):
        way(lambda x: module.counted(x))(np.ones(2))
    with pytest.raises(TypeError, match="and pair is traced"):
        way(lambda x: module.counted(np.ones(2), pair=(1.0, x[0])))(np.ones(2))


def test_a_function_that_cannot_be_traced_is_named():
    with pytest.raises(TypeError, match="function must be made of JAX's functions and not ask for values"):
        module.counted(np.ones(2), function=jax.jit(lambda x: np.sin(np.asarray(x))))
    with pytest.raises(TypeError, match="pair and function must be made of JAX's functions"):
        module.counted(np.ones(2), pair=(abs, abs), function=jax.jit(lambda x: np.sin(np.asarray(x))))


def test_a_call_inside_a_door_is_not_looked_at_again():
    with pytest.raises(ValueError, match="comes out as nan"):
        module.outer(X)


def test_what_signatures_cannot_say():
    assert ends("(0, 1]") == (0, 1, "(]")
    assert ends("[1, ∞)") == (1, np.inf, "[)")
    symmetric(kernel=np.eye(700), other=jnp.eye(2))
    with pytest.raises(ValueError, match="kernel must be a symmetric matrix, got entries across the diagonal 2 apart"):
        symmetric(kernel=np.eye(700) + 2 * np.eye(700, k=600))
    with pytest.raises(ValueError, match="kernel must be positive semidefinite, got -1 on its diagonal"):
        symmetric(kernel=-np.eye(2))
    with pytest.raises(ValueError, match=r"draws must have at most 2\*\*30 entries, got 100000 × 100000"):
        affordable(draws=(10**5, 10**5))


def test_a_list_becomes_a_tuple_where_only_a_tuple_is_asked_for():
    """A layer that holds a list could not be hashed, and so not be compiled."""
    assert wish(tuple[int, ...]).grant("sizes", [3, 4], {}) == (3, 4)
    assert wish(tuple[int, float]).grant("sizes", [3, 0.5], {}) == (3, 0.5)
    assert wish(tuple[int, ...] | Sequence[int]).grant("sizes", [3, 4], {}) == [3, 4]


def test_a_function_that_another_returns():
    """Its own arguments, those that it looks at itself, and its answer."""

    def predict(t: float, x: Float[np.ndarray, " n"], seen=None, **others: float):
        return t * x

    guarded = door(predict, infinite=("t",), trusted=("seen",), t="[0, ∞]")
    np.testing.assert_array_equal(guarded(2, [1, 2], np.nan), [2, 4])
    for call, sentence in (
        (lambda: guarded(-1.0, [1.0]), r"t must be at least 0, got -1.0"),
        (lambda: guarded(1.0, [np.nan]), "x must be finite"),
        (lambda: guarded(1.0, [1.0], other=np.nan), "other must be finite"),
        (lambda: guarded(np.inf, [0.0]), "predict has no answer for these values: it comes out as nan"),
        (lambda: guarded(1.0), "predict: missing a required argument: 'x'"),
    ):
        with np.errstate(invalid="ignore"), pytest.raises((TypeError, ValueError), match=sentence):
            call()
    assert door(lambda x: x * np.nan, nan=True)(1.0) != 0


def test_methods_pass_through_one():
    class Scale:
        @door
        def apply(self, x: float) -> float:
            """Twice."""
            return 2 * x

    assert Scale().apply(1) == 2 and Scale.apply.__doc__ == "Twice."
    with pytest.raises(TypeError, match="x must be a number, got 'a'"):
        Scale().apply("a")


def test_slices_are_arrays_one_entry_a_step(key):
    """Numbers or keys, as many as the sizes of other arguments say; elsewhere a key is no array of numbers."""
    asked, steps = wish(Any, slices=True), {"steps": (2, "rates")}
    batches = {"places": np.arange(6).reshape(2, 3), "keys": jax.random.split(key, 2)}
    assert asked.grant("batches", batches, steps) is batches
    with pytest.raises(ValueError, match="batches must have one slice for each of 2 steps, got 3"):
        asked.grant("batches", np.ones(3), steps)
    for wrong in (1.0, key, np.array(["a", "b"]), np.ones(2) * 1j):
        with pytest.raises(TypeError, match="batches must be made of arrays with one slice for each step, got"):
            asked.grant("batches", [np.ones(2), wrong], steps)
    for annotation in (Float[Array, " n"], float, Float[Array, " n"] | float):
        with pytest.raises(TypeError, match=r"x must be a.* got an array of key"):
            wish(annotation).grant("x", key, {})


def test_a_traced_array_of_the_wrong_shape_is_told_by_its_shape():
    with pytest.raises(ValueError, match=r"^y must have shape \(n,\) with n = 3 as in x, got \(2,\)"):
        jax.jit(lambda x, y: module.weigh(x, y)[0])(jnp.ones((3, 4)), jnp.ones(2))
    with pytest.raises(ValueError, match=r"^x must have shape \(n, d\), got \(3,\)"):
        jax.vmap(lambda x: module.weigh(x, np.ones(3))[0])(jnp.ones((2, 3)))
