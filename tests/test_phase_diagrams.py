"""Phase diagrams: the grid is right, floats share a compilation, seeds are paired."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import deeptheory as dt
from deeptheory.phase_diagrams import everywhere


def test_the_grid_is_evaluated_point_by_point():
    diagram = dt.phase_diagram(
        lambda key, n, rate, power: jnp.sum(jnp.arange(n) * rate) ** power,
        {"rate": [0.5, 2.0, 3.0], "n": [2, 5], "power": [1.0, 2.0]},
    )
    assert diagram["value"].dims == ("rate", "n", "power", "seed")
    for rate, n, power in [(0.5, 2, 2.0), (3.0, 5, 1.0), (2.0, 5, 2.0)]:
        value = diagram["value"].sel(rate=rate, n=n, power=power).item()
        assert value == pytest.approx((rate * sum(range(n))) ** power)


@pytest.mark.parametrize(
    ("over", "seeds", "sentence"),
    [
        ({"rate": 0.1}, 1, "the axis rate must be a list of values, not 0.1"),
        ({"rate": "ab"}, 1, "the axis rate must be a list of values, not 'ab'"),
        ({"rate": []}, 1, "the axis rate has no values"),
        ({"seed": [1.0]}, 1, "an axis may not be called seed"),
        ({"key": [1.0]}, 1, "an axis may not be called key"),
        ({"rate": [1.0]}, 2.5, "seeds must be a whole number from 1, not 2.5"),
        ({"rate": [1.0]}, 0, "seeds must be a whole number from 1, not 0"),
        ({"rate": range(10**8)}, 1, "the grid has 100,000,000 points; a diagram takes at most 10,000,000"),
        ({"rate": np.zeros(10**4), "n": np.zeros(10**4)}, 1, "the grid has 100,000,000 points"),
        ({"rate": [1.0]}, 10**12, "the grid has 1,000,000,000,000 points"),
        ({"rate": [[1.0, 2.0]]}, 1, r"the axis rate must be a list of numbers or words, not of \[1.0, 2.0\]"),
        ({"rate": [0.5, np.nan]}, 1, "the axis rate must be a list of numbers or words, and nan is none"),
        ({"rate": {1.0}}, 1, "the axis rate must be a list of values, not {1.0}"),
        ({"rate": np.ones((2, 2))}, 1, "the axis rate must be a list of values"),
        ({"rate": b"ab"}, 1, "the axis rate must be a list of values, not b'ab'"),
        ({"rate": [np.ones(2)]}, 1, r"the axis rate must be a list of numbers or words, not of array\(\[1., 1.\]\)"),
        ({"rate": [None]}, 1, "the axis rate must be a list of numbers or words, not of None"),
        ({"rate": np.array([None, 1.0])}, 1, "the axis rate must be a list of numbers or words, not of None"),
        (
            {"rate": np.array([np.nan, 1], object)},
            1,
            "the axis rate must be a list of numbers or words, and nan is none",
        ),
        ({"rate": np.array(["2020-01-01"], "datetime64[D]")}, 1, "the axis rate must be a list of numbers or words"),
        ({"rate": [0.5, "hot"]}, 1, "the axis rate must be a list of numbers or one of words, not of both"),
        ({"rate": [10**30]}, 1, "the axis rate has whole numbers beyond 64 bits"),
        ({"rate": [1.0]}, True, "seeds must be a whole number from 1, not True"),
        ({"rate": range(10**5)}, 1, "the settings rate have 100,000 combinations, each of which is compiled by itself"),
    ],
)
def test_a_grid_that_is_none_is_refused(over, seeds, sentence):
    with pytest.raises(ValueError, match=sentence):
        dt.phase_diagram(lambda key, rate: rate, over, seeds=seeds)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"function": 3}, "function must be a function of a key and settings, not 3"),
        (
            {"function": lambda rate: rate},
            r"the function is called with \(key, rate=…\), but takes \(rate\): multiple values for argument 'rate'",
        ),
        ({"function": lambda key, width: width}, r"but takes \(key, width\): missing a required argument: 'width'"),
        ({"function": lambda key, rate: "hot"}, "the function must return numbers, or a dictionary of them by name"),
        ({"function": lambda key, rate: {3: rate}}, "the function must return numbers, or a dictionary of them"),
        ({"function": lambda key, rate: key}, "the function must return numbers, or a dictionary of them by name"),
        ({"function": lambda key, rate: 10**30}, "the function must return numbers, or a dictionary of them by name"),
        ({"function": lambda key, rate: {"rate": rate}}, "the function returns rate, which is the name of an axis"),
        ({"function": lambda key, rate: {"seed": rate}}, "the function returns seed, which is the name of an axis"),
        (
            {"function": lambda key, rate: jnp.ones(rate), "over": {"rate": [1, 2]}},
            r"the same names and shapes everywhere, not {'value': \(1,\)} and {'value': \(2,\)}",
        ),
        (
            {"function": lambda key, rate: {f"at {rate}": 1.0}, "over": {"rate": [1, 2]}},
            "the same names and shapes everywhere, not {'at 1': .*} and {'at 2': .*}",
        ),
        (
            {"function": lambda key, value_0: jnp.ones(3), "over": {"value_0": [0.1, 0.2]}},
            "the axes of value are called value_0: give value_0 another name",
        ),
        ({"over": np.ones((2, 2))}, r"settings and their values, not array\(\[\[1., 1.\], \[1., 1.\]\]\)"),
        ({"over": [0.5]}, r"over must be a dictionary of settings and their values, not \[0.5\]"),
        ({"over": {3: [0.5]}}, "an axis is called by the name of a setting, not 3"),
        ({"seed": -1}, "seed must be a whole number from 0 to 2147483647, not -1"),
        ({"seed": None}, "seed must be a whole number from 0 to 2147483647, not None"),
        ({"batch": 0}, "batch must be a whole number from 1, not 0"),
        ({"batch": 1.5}, "batch must be a whole number from 1, not 1.5"),
    ],
)
def test_what_is_no_diagram_is_refused_in_one_sentence(given, sentence):
    call = {"function": lambda key, rate: rate, "over": {"rate": [0.5]}} | given
    with pytest.raises((TypeError, ValueError), match=sentence):
        dt.phase_diagram(**call)


def test_results_beyond_the_memory_of_the_machine_are_refused_before_they_are_begun():
    with pytest.raises(ValueError, match=r"these points take [\d,]+ GB at once; this machine has \d+ GB"):
        everywhere(lambda x: jnp.full((10**6,), x), np.zeros(10**7, np.float32), batch=1)


def test_the_cores_are_counted_on_systems_that_do_not_deal_them(monkeypatch):
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert dt.phase_diagram(lambda key, rate: rate, {"rate": [0.5, 1.0]})["value"].sum() == 1.5


def test_floats_and_seeds_share_one_program():
    traces = []

    def noted(key, rate):
        traces.append(rate)
        return {"draw": jax.random.normal(key, (3,)), "double": 2 * rate}

    diagram = dt.phase_diagram(noted, {"rate": list(np.linspace(0.1, 1, 7))}, seeds=4)
    assert len(traces) == 2  # once to see how large a point is, once to compile
    assert diagram["draw"].shape == (7, 4, 3)
    assert np.ptp(diagram["draw"].values, axis=0).max() == 0
    assert len(np.unique(diagram["draw"].values[0])) == 12


def test_the_entries_of_a_jax_array_share_a_program_too():
    traces = []

    def noted(key, rate):
        traces.append(rate)
        return rate**2

    made = dt.phase_diagram(noted, {"rate": jnp.linspace(0.0, 1.0, 5)})
    assert np.allclose(made["value"].values[:, 0], np.linspace(0.0, 1.0, 5) ** 2)
    assert len(traces) <= 2  # once to see what it returns and once to compile


def test_batches_change_nothing():
    work = lambda key, rate: rate * jax.random.normal(key)  # noqa: E731
    whole, parts = (dt.phase_diagram(work, {"rate": [0.5, 1.5, 2.5]}, seeds=5, batch=b) for b in (None, 4))
    assert np.allclose(whole["value"], parts["value"], rtol=1e-14)


@pytest.mark.parametrize("batch", [None, 1, 3, 100])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_point_is_evaluated_once_and_in_order(count, batch):
    points = {"matrix": np.random.default_rng(0).standard_normal((count, 3, 3)), "power": np.arange(count)}

    def work(point):
        return {"trace": jnp.trace(point["matrix"]) ** point["power"], "whole": point["matrix"] @ point["matrix"]}

    found = everywhere(work, points, batch=batch)
    assert np.allclose(found["trace"], np.trace(points["matrix"], axis1=1, axis2=2) ** points["power"])
    assert np.allclose(found["whole"], points["matrix"] @ points["matrix"])


def test_repeated_sweeps_share_their_program():
    traces = []

    def noted(x):
        traces.append(x)
        return jnp.sum(x)

    for start in (0.0, 1.0):
        assert np.allclose(everywhere(noted, np.full((5, 4), start), batch=2), 4 * start)
    assert len(traces) == 1


def diagram(*settings, seeds=3):
    """A diagram of known values: the sum of the settings and a tenth of the seed's place."""
    given = {"rate": [0.1, 1.0, 10.0], "width": [2, 4], "depth": [1, 2], "more": [1, 2]}
    over = {name: given[name] for name in settings}
    made = dt.phase_diagram(lambda key, **each: sum(each.values()) + 0.0 * jax.random.uniform(key), over, seeds=seeds)
    return made.assign(value=made["value"] + 0.1 * made["seed"])


def test_a_curve_has_its_mean_and_two_standard_errors():
    chart = diagram("rate").chart().to_dict()
    (rows,) = chart["datasets"].values()
    error = np.std([0.0, 0.1, 0.2], ddof=1) / 3**0.5
    assert rows[1]["mean"] == pytest.approx(1.1)
    assert rows[1]["high"] - rows[1]["mean"] == pytest.approx(2 * error)
    assert {layer["encoding"]["x"]["scale"]["type"] for layer in chart["layer"]} == {"log"}


def test_two_settings_are_shades_and_a_third_has_panels():
    assert diagram("rate", "width").chart().to_dict()["mark"]["type"] == "rect"
    assert diagram("rate", "width", "depth").chart().to_dict()["facet"]["column"]["field"] == "depth"
    sliced = diagram("rate", "width", "depth").sel(depth=2).chart().to_dict()
    (rows,) = sliced["datasets"].values()
    assert [row["mean"] for row in rows][:2] == pytest.approx([4.2, 6.2])


@pytest.mark.parametrize(
    ("made", "value", "sentence"),
    [
        (("rate",), "loss", "there is no value 'loss'; the diagram has value"),
        (("rate", "width", "depth", "more"), None, r"1 to 3 settings with several values, not 4 \(rate, width"),
        ((), None, r"not 0 \(none\)"),
        (("rate",), ["value"], r"there is no value \['value'\]"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(made, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        diagram(*made).chart(value)


@pytest.mark.parametrize(
    ("function", "rates", "sentence"),
    [
        (lambda key, rate: rate * 1j, [0.5, 1.0], "value has complex values, of which a chart shows none"),
        (lambda key, rate: rate, [0.5, np.inf], "the axis rate has values that a chart has no place for"),
        (lambda key, rate: abs(rate), [1j, 2j], "the axis rate has values that a chart has no place for"),
    ],
)
def test_numbers_without_a_place_on_a_chart_are_not_bent(function, rates, sentence):
    made = dt.phase_diagram(function, {"rate": rates})
    with pytest.raises(ValueError, match=sentence):
        made.chart()


def test_values_with_axes_of_their_own_are_chosen_from_first():
    made = dt.phase_diagram(lambda key, rate: rate * jnp.ones(4), {"rate": [0.5, 1.0]})
    with pytest.raises(ValueError, match="value has axes of its own, value_0: choose from them with isel"):
        made.chart()
    assert made.isel(value_0=0).chart().to_dict()["mark"]["type"] == "line"


def test_a_chart_shows_itself_without_a_network():
    """Its notebook form is a drawing and a specification, not a page that loads scripts."""
    shown = diagram("rate", "width").chart()._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert "text/html" not in shown and any(kind.startswith("application/vnd.vegalite") for kind in shown)
