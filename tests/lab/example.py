"""Claims about nothing much, to try the laboratory on."""

from dataclasses import replace
from typing import Annotated, Literal

import jax.numpy as jnp
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Integers, Law, Rate, Reals, Sizes, Trials, assume, claim


@claim(items={"A1.1": "mean", "A1.2": "square"}, says=r"Exponential draws have mean $1$.", full={"trials": 200_000})
def exponential_mean(
    key,
    *,
    trials: Trials = 50_000,
    rate: Annotated[float, Interval(ge=0.1, le=10.0)] = 1.0,
    draws: Literal["exponential", "shifted"] = "exponential",
):
    assume(rate < 9, "the rate must stay below 9")
    x = generator(key).exponential(1 / rate, size=trials) + (0.2 if draws == "shifted" else 0.0)
    return {
        "mean": Law(predicted=1 / rate, observed=x, exact=True),
        "square": Law(predicted=2 / rate**2, observed=x**2, exact=True, resolution=0.1),
    }


exponential_mean.control("shifted draws", draws="shifted")


@exponential_mean.control("mean twice as large", erratum="A1.1", of="mean")
def twice(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


@claim(
    items={"A1.3": ""},
    says="The arithmetic mean is at least the geometric mean.",
    needs="positive numbers",
    over={"a": Reals(0.0, 5.0), "b": Reals(0.0, 5.0)},
)
def means_inequality(a, b):
    return Inequality(2 * jnp.sqrt(jnp.abs(a * b)) * jnp.sign(a), a + b)


means_inequality.control("for all real numbers", erratum="A1.3", over={"b": Reals(-5.0, 5.0)})


@means_inequality.verify
def exactly(a, b):
    return (0, a + b, "signs") if a + b < 0 else (4 * abs(a * b), (a + b) ** 2, "squares in rationals")


@claim(items={"A1.4": ""}, says="A square has exponent two.")
def square_exponent(*, sizes: Sizes = (2, 4, 8, 16)):
    x = jnp.asarray(sizes, float)
    return Rate(x, x**2, exponent=2.0, rivals=(1.0, 3.0))


@claim(items={"A1.5": ""}, says="Sine and cosine lie on the circle.", over={"n": Integers(0, 1000)}, each="loop")
def circle(n):
    return Identity(jnp.sin(n) ** 2 + jnp.cos(n) ** 2, 1.0)


@circle.control("radius two")
def radius_two(evidence):
    return replace(evidence, right=2 * evidence.right)
