"""A template for each object against detectors for its parts (handbook 1.2.1)."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from deeptheory.approximation.templates import (
    Grammar,
    any_template,
    hierarchy,
    objects,
    objects_apart,
    run_layers,
    unseen_pair,
)
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Images, Line, Row

GRAMMARS = [Grammar(2, 2, 1), Grammar(2, 3, 1), Grammar(3, 2, 1), Grammar(3, 3, 1), Grammar(2, 2, 2)]
LARGER = [Grammar(2, 3, 2), Grammar(2, 2, 3)]
NAMES = ["hierarchy", "templates", "merged templates"]


def networks(grammar):
    """The three networks of a grammar."""
    return hierarchy(grammar), any_template(grammar), any_template(grammar, merged=True)


def units(grammar):
    """Units of the three networks; the or above the templates is not counted."""
    deep, *flat = networks(grammar)
    return [sum(len(layer.weights) for layer in deep), *(len(layers[0].weights) for layers in flat)]


def seen(grammar, images):
    """Whether images show an object, by definition: in every place some part that is shown."""
    for _ in range(grammar.levels):
        images = images.reshape(len(images), -1, grammar.places, grammar.parts).any(-1).all(-1)
    return images[:, 0]


def neighbours(values, bits):
    """For every input and bit the value where that bit is the other one."""
    return values[np.arange(len(values))[:, None] ^ (1 << np.arange(bits))]


def chance(grammar):
    """The chance that an image of fair coins shows an object: places and parts are independent."""
    found = 0.5
    for _ in range(grammar.levels):
        found = (1 - (1 - found) ** grammar.parts) ** grammar.places
    return found


def kept_apart(grammar, pairs):
    """How many pairs of objects have images u, v of the same sum that show no object."""
    found = [(a + b, unseen_pair(grammar, a, b)) for a, b in pairs]
    return sum(
        np.array_equal(sum(images), total) and not seen(grammar, np.array(images) > 0).any()
        for total, images in found
        if images is not None
    )


@claim(
    items={
        "H1.8": ("inputs seen", "units", "templates that must be there", "pairs no unit may hold", "tests instead"),
    },
    says="An object has $s$ places, each filled by one of $r$ objects of the level below. With a template for each "
    "object $D$ levels take $r^N$ units, and with the best weights still $r^{N-1}$; a hierarchy takes "
    r"$(1+s)\frac{(sr)^D-1}{sr-1}$.",
    needs="$s\\ge2$; threshold units, and a flat network that says yes if one of its hidden units does",
    symbols={
        "s,\\ r,\\ D": "places of an object, parts to choose from for each place, and levels; $(sr)^D$ inputs",
        "N": "$s+s^2+\\dots+s^D$, the choices that make one object",
        r"\text{seen}": "if in each place at least one of its parts is seen; parts of level 0 are inputs, 0 or 1",
    },
    why="A template that fires for less than an object fires for images that show none. With any weights: if two "
    "objects differ in two places, give all of one place to $u$ and all of the other to $v$. Neither shows an object, "
    "but $u+v$ is the sum of the two, so a unit that fires for both fires for $u$ or $v$. Only objects that differ in "
    "one lowest part escape this, $r$ of them fit into one unit, and $r^{N-1}$ are pairwise different in more. A "
    "hierarchy detects each part once, whatever the others are.",
    notice="Left: some of the 64 objects of two levels with $s=r=2$, four of 16 inputs (white) each. Right: units over "
    "inputs for one to four levels. The hierarchy grows like the inputs, both kinds of templates like a power of "
    "two with their root in the exponent; so does the flat network turned around, where all of many tests must be "
    "passed. On one level the tests are a hierarchy.",
)
def templates_and_parts():
    accepted, wrong, without, least, tests = [], [], [], [], []
    for grammar in GRAMMARS:
        bits = grammar.inputs
        images = (np.arange(2**bits)[:, None] >> np.arange(bits)) & 1
        truth = seen(grammar, images > 0)
        answers = [run_layers(layers, images.astype(float))[:, 0] for layers in networks(grammar)]
        first, last = any_template(grammar)
        fewer = [first._replace(weights=first.weights[1:], thresholds=first.thresholds[1:]),
                 last._replace(weights=last.weights[:, 1:])]  # fmt: skip
        accepted.append([int(each.sum()) for each in answers])
        wrong.append([int((each != truth).sum()) for each in answers])
        without.append(int((run_layers(fewer, images.astype(float))[:, 0] != truth).sum()))
        beside = neighbours(truth, bits)
        minimal = truth & ~(beside & (images > 0)).any(1)
        maximal = ~truth & (beside | (images > 0)).all(1)
        same = {row.tobytes() for row in images[minimal]} == {row.tobytes() for row in objects(grammar).astype(int)}
        least.append(int(minimal.sum()) if same else -1)
        tests.append(int(maximal.sum()))
    grammars = GRAMMARS + LARGER
    first_with_others = [[(objects(g)[0], other) for other in objects(g)[1:]] for g in GRAMMARS]
    told = np.array([[g.detectors, g.objects, g.objects // g.parts] for g in grammars])
    lower = [[h.detectors, h.objects, h.objects // h.parts] for h in map(level_below, grammars)]
    labels = [f"{g.places} places, {g.parts} parts, {g.levels} levels" for g in grammars]
    small = labels[: len(GRAMMARS)]
    return {
        "inputs seen": Exact(
            np.concatenate([accepted, wrong], 1),
            np.array([[round(chance(g) * 2**g.inputs)] * 3 + [0] * 3 for g in GRAMMARS]),
            along={"objects": small, "network": [*NAMES, *(f"{name}, mistakes" for name in NAMES)]},
            aside={"a template fewer": np.array(without)},
        ),
        "units": Exact(
            np.array([units(g) for g in grammars]),
            told,
            along={"objects": labels, "network": NAMES},
            aside={"lower": np.array(lower)},
        ),
        "templates that must be there": Exact(
            np.array(least), told[: len(GRAMMARS), 1], along={"objects": small}, aside={"leaves": leaf_choices()}
        ),
        "pairs no unit may hold": Exact(
            np.array([kept_apart(g, combinations(objects_apart(g), 2)) for g in GRAMMARS]),
            np.array([comb(g.objects // g.parts, 2) for g in GRAMMARS]),
            along={"objects": small},
            aside={
                "of one": np.array([kept_apart(g, each) for g, each in zip(GRAMMARS, first_with_others, strict=True)]),
                "others": np.array([g.objects - 1 for g in GRAMMARS]),
            },
        ),
        "tests instead": Exact(
            np.array(tests),
            np.array([g.tests for g in GRAMMARS]),
            along={"objects": small},
            aside={"places": np.array([g.places for g in GRAMMARS])},
        ),
    }


def level_below(grammar):
    """The same grammar with a level fewer; none is below the first."""
    return replace(grammar, levels=max(grammar.levels - 1, 1))


def leaf_choices():
    """Objects counted by their choices on the lowest level alone, r^(s^D)."""
    return np.array([g.parts**g.places**g.levels for g in GRAMMARS])


@templates_and_parts.control("a template left out changes nothing", of="inputs seen")
def left_out(evidence):
    found = evidence.left.copy()
    found[:, 4] = evidence.aside["a template fewer"]
    return replace(evidence, left=found)


@templates_and_parts.control("counts of a level fewer", of="units")
def a_level_fewer(evidence):
    return replace(evidence, right=evidence.aside["lower"])


@templates_and_parts.control("choices counted on the lowest level alone", of="templates that must be there")
def lowest_alone(evidence):
    return replace(evidence, right=evidence.aside["leaves"])


@templates_and_parts.control("an object shares its unit with no other", of="pairs no unit may hold")
def shared_with_none(evidence):
    return replace(evidence, left=evidence.aside["of one"], right=evidence.aside["others"])


@templates_and_parts.control("one test for each place of the object", of="tests instead")
def one_test_a_place(evidence):
    return replace(evidence, right=evidence.aside["places"])


@templates_and_parts.picture
def objects_and_prices(pieces):
    """Some objects as images, with a row for each part of the upper level (left); units over inputs (right)."""
    shown = objects(Grammar(2, 2, 2))[::7].reshape(-1, 4, 4)
    deeper = [Grammar(2, 2, levels) for levels in range(1, 5)]
    inputs = [g.inputs for g in deeper]
    lines = {
        "templates": [g.objects for g in deeper],
        "with the best weights": [g.objects // g.parts for g in deeper],
        "tests": [g.tests for g in deeper],
        "hierarchy": [g.detectors for g in deeper],
    }
    prices = Curves([Line(name, inputs, np.array(y, float)) for name, y in lines.items()],
                    x="inputs", y="units", log="xy")  # fmt: skip
    return Row([Images(shown, title="objects of two levels"), prices])
