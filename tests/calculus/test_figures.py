"""The nine figures of lucchi chapter 1, as claims draw them from their runs: what is drawn is right."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from deeptheory.claims.calculus.constants import certified_constants
from deeptheory.claims.calculus.matrices import spans_traces_and_orders
from deeptheory.claims.calculus.probability import finite_probability_spaces
from deeptheory.claims.calculus.singular_values import singular_vectors
from deeptheory.claims.calculus.spaces import discs_and_kinds_of_spaces
from deeptheory.claims.calculus.topology import closures_and_covers
from deeptheory.lab.pictures import Row, Stack

pytestmark = pytest.mark.item("L1.21")


def parts(picture):
    """The panels, graphs and tables of a picture, in turn."""
    if not isinstance(picture, Row | Stack):
        return [picture]
    return [part for each in picture.pictures for part in parts(each)]


@cache
def drawn(claim):
    """A run that holds, and the parts of its picture."""
    run = claim.check()
    assert run.verdict == "holds"
    return run, parts(claim.drawing(run.evidence))


def points(panel, name):
    """The points of each mark of a name, one row for a point."""
    marks = [each for each in panel.marks if each.name == name]
    return [np.stack(np.broadcast_arrays(np.ravel(each.x), np.ravel(each.y)), 1) for each in marks]


def test_the_parallelogram_of_two_vectors():
    panel = drawn(spans_traces_and_orders)[1][0]
    ((start, first),), ((origin, second),) = points(panel, "v₁"), points(panel, "v₂")
    assert not start.any() and not origin.any()
    outline, inside = points(panel, "0 ≤ cᵢ ≤ 1")
    np.testing.assert_array_equal(outline, [first, first + second, second])
    (others,), ((half,),) = points(panel, "other c"), points(panel, "c = (½, 1)")
    sides = np.stack([first, second], 1)
    among, beside, known = (np.linalg.solve(sides, each.T).T for each in (inside, others, half[None]))
    assert len(among) == 4 and np.all((among > 0) & (among < 1))
    assert len(beside) == 12 and np.all(np.any((beside < 0) | (beside > 1), axis=1))
    np.testing.assert_allclose(known, [[0.5, 1.0]], atol=1e-12)


def test_four_functions_are_as_regular_as_they_are_said_to_be():
    panel = drawn(certified_constants)[1][0]
    slopes = {}
    for name in ("x²", "|x|", "√|x|", "step"):
        ((x, y),) = (each.T for each in points(panel, name))
        slopes[name] = np.diff(y) / np.diff(x)
    step = x[1] - x[0]
    bends = {name: np.abs(np.diff(each)).max() / step for name, each in slopes.items()}
    assert bends["x²"] == pytest.approx(2.0) and bends["|x|"] == pytest.approx(2 / step)  # smooth, and with a kink
    assert np.abs(slopes["|x|"]).max() == pytest.approx(1.0)  # which is still Lipschitz
    assert np.abs(slopes["√|x|"]).max() == pytest.approx(step**-0.5)  # continuous, and steeper the closer one looks
    assert np.abs(slopes["step"]).max() == pytest.approx(1 / step)  # a jump


def test_the_three_steps_of_the_singular_value_decomposition():
    panels = drawn(singular_vectors)[1]
    images = [np.stack([points(each, f"image of e{k}")[0][1] for k in (1, 2)], 1) for each in panels]
    np.testing.assert_array_equal(images[0], np.eye(2))
    np.testing.assert_allclose(images[1].T @ images[1], np.eye(2), atol=1e-12)  # turned
    for panel, image in zip(panels, images, strict=True):
        (disc,) = points(panel, "disc")
        np.testing.assert_allclose(np.linalg.norm(np.linalg.solve(image, disc.T), axis=0), 1.0)
    stretches = np.sqrt(np.linalg.eigvalsh(images[3].T @ images[3])[::-1])
    np.testing.assert_allclose(images[2], stretches[:, None] * images[1])  # along the axes
    (axes,) = points(panels[3], "σu")
    np.testing.assert_allclose(np.linalg.norm(axes, axis=1), stretches)
    np.testing.assert_allclose(axes[0] @ axes[1], 0.0, atol=1e-12)


def test_a_measure_of_eight_events():
    (graph,) = drawn(finite_probability_spaces)[1]
    events, chances = zip(*(label.split(": ") for label in graph.labels), strict=True)
    masses = {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 6), "∅": Fraction(0)}
    assert len(set(events)) == 8 and [Fraction(each) for each in chances] == [sum(masses[w] for w in e) for e in events]
    sets = [frozenset(each) - {"∅"} for each in events]
    assert len(set(graph.edges)) == 12
    assert all(sets[i] < sets[j] and len(sets[j]) == len(sets[i]) + 1 for i, j in graph.edges)


def test_kinds_of_spaces_are_boxes_in_each_other():
    _, _, panel, table = drawn(discs_and_kinds_of_spaces)[1]
    kinds = ["topological", "metric", "normed", "inner product"]
    boxes = [(each.min(0), each.max(0)) for kind in kinds for each in points(panel, kind)]
    for (low, high), (least, most) in pairwise(boxes):
        assert np.all(low < least) and np.all(most < high)
    (dots,) = points(panel, "distances")
    depth = [sum(bool(np.all((low < dot) & (dot < high))) for low, high in boxes) for dot in dots]
    said = dict(zip(table.columns["distance"], table.columns["innermost kind"], strict=True))
    assert [kinds[each - 1] for each in depth] == list(said.values())
    assert said == {"only upward counts": "topological", "along the axes": "normed", "straight": "inner product",
                    "largest coordinate": "normed", "0 or 1": "metric"}  # fmt: skip


def test_the_open_disc_its_boundary_and_the_rest():
    panel = drawn(discs_and_kinds_of_spaces)[1][0]
    (inner,), (circle, edge), (outer,) = (points(panel, name) for name in ("open disc", "boundary", "outside"))
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), 5.0)
    squares = [{(x, y): x * x + y * y for x, y in each.tolist()} for each in (inner, edge, outer)]
    assert max(squares[0].values()) < 25 and set(squares[1].values()) == {25} and min(squares[2].values()) > 25
    # 81 points of whole numbers are in the closed disc of radius 5, twelve of them on its circle: Gauss counted them.
    assert [len(each) for each in squares] == [69, 12, 13**2 - 81]


def test_every_neighbourhood_of_a_limit_point_has_another_point_of_the_disc():
    panel = drawn(discs_and_kinds_of_spaces)[1][1]
    inside, edge = (each[0] for each in points(panel, "limit points"))
    assert inside @ inside < 25 and edge @ edge == 25
    found, balls = points(panel, "in both"), points(panel, "neighbourhoods")
    assert len(found) == len(balls) == 6
    for number, ((place,), ball) in enumerate(zip(found, balls, strict=True)):
        centre = inside if number < 3 else edge
        sizes = np.linalg.norm(ball - centre, axis=1)
        np.testing.assert_allclose(sizes, 2.5 / 2 ** (number % 3))
        assert place @ place < 25 and 0 < np.linalg.norm(place - centre) < sizes[0]


@pytest.mark.slow
def test_a_rational_of_the_drawn_denominator_is_in_every_gap():
    run, (panel, _) = drawn(closures_and_covers)
    (dots,) = points(panel, "least denominator")
    lows = run.evidence["a rational in every gap"].aside["places"]
    for (width, denominator), low in zip(dots, lows, strict=True):

        def held(q, low=low, width=width):
            return low * q < np.floor(low * q) + 1 < (low + width) * q

        assert held(denominator) and not any(held(q) for q in range(1, int(denominator)))


@pytest.mark.slow
def test_the_members_of_a_cover_that_are_needed_cover_and_none_can_be_left_out():
    panel = drawn(closures_and_covers)[1][1]
    lines = {name: points(panel, name) for name in ("needed", "not needed", "the interval")}
    assert len(lines["needed"]) + len(lines["not needed"]) == 10
    np.testing.assert_array_equal(lines["the interval"], [[[0, 0], [1, 0]]])
    grid = np.linspace(0, 1, 10_001)
    times = sum(((grid > a) & (grid < b)).astype(int) for (a, _), (b, _) in lines["needed"])
    assert np.all(times > 0)
    assert all(np.any((times == 1) & (grid > a) & (grid < b)) for (a, _), (b, _) in lines["needed"])
