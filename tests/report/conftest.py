"""Claims of every kind of evidence, small enough to run in a moment, and a report made from their runs."""

import os
import shutil
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pytest
from annotated_types import Interval

import deeptheory.books as books
from deeptheory.foundations.randomness import generator
from deeptheory.lab import (
    Bounded,
    Chain,
    Chance,
    Counterexample,
    Distribution,
    Exact,
    Identity,
    Inequality,
    Law,
    Limit,
    Printed,
    Rate,
    Reals,
    Share,
    Trend,
    Trials,
    assume,
    claim,
)
from deeptheory.lab.entries import Catalogue, Entry, declared
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.lab.records import Ledger, recorded, statuses
from deeptheory.report import write

GAMMAS = np.asarray([0.1, 0.3, 0.5, 0.8])
WIDTHS = np.asarray([8.0, 16.0, 32.0, 64.0, 128.0])


@claim(
    items={"J7.4": ("risk", "finite"), "H13.2": "risk", "J11.18": "risk"},
    says=r"Ridgeless risk tends to $\sigma^2\gamma/(1-\gamma)$, and $\|\hat\beta\|_2 < \infty$ & so on.",
    needs=r"$p/n\to\gamma<1$; isotropic rows",
    scale="printed with n = 10,000; here n up to 100",
)
def ridgeless_risk(key, *, trials: Trials = 256):
    sizes = np.asarray([25, 50, 100])
    noise = generator(key).standard_normal((3, 4, trials))
    limit = GAMMAS / (1 - GAMMAS)
    exact = limit * (1 + 1.2 / sizes[:, None])
    seen = exact[..., None] * (1 + 0.05 * noise)
    return {
        "risk": Law(limit, seen, along={"gamma": GAMMAS}, sizes=sizes, order=1.0),
        "finite": Law(exact, seen, along={"size": sizes, "gamma": GAMMAS}, exact=True),
        "one size": Law(exact[0, 0], seen[0, 0], exact=True),
        "one limit": Law(limit[0], seen[:, 0], sizes=sizes, order=1.0),
        "by name": Law(exact[0, :2], seen[0, :2], along={"rows": np.asarray(["gaussian", "of signs"])}, exact=True),
    }


@ridgeless_risk.control("variance γ/(γ−1) <as printed>", erratum="J11.18a", of="risk")
def printed_variance(evidence):
    return replace(evidence, predicted=-evidence.predicted)


@claim(
    items={"A1.7": ""}, says=r"$\log x \le x - 1$ for every $x>0$.", over=dict(x=Reals(1e-3, 20, log=True)), draws=64
)
def logarithm_below_its_tangent(x):
    import jax.numpy as jnp

    return Inequality(jnp.log(x), x - 1)


@logarithm_below_its_tangent.control("with the tangent at e")
def other_tangent(evidence):
    return replace(evidence, bound=evidence.bound / np.e)


WIDE = "+".join(f"a_{{{each}}}" for each in range(30))
"""A formula that no phone has room for."""


@claim(
    items={"A11.5": ("sum", "one", "zero"), "A11.6": ("words", "rationals", "squares")},
    says=rf"Sums agree: $\|{WIDE}\|=s$.",
)
def sums_agree(key):
    values = generator(key).standard_normal((40, 25))
    thirds = np.asarray([Fraction(k, 3) for k in range(6)], dtype=object)
    return {
        "sum": Identity(values.sum(1), values[:, ::-1].sum(1), size=25, scale=np.abs(values).sum(1)),
        "one": Identity(0.1 + 0.2, 0.3),
        "zero": Identity(values.sum(1) - values[:, ::-1].sum(1), 0.0, scale=np.abs(values).sum(1), size=25),
        "along": Identity(WIDTHS**2, WIDTHS * WIDTHS, along={"width": WIDTHS}),
        "words": Exact(np.asarray(["cycle", "path"]), np.asarray(["cycle", "path"])),
        "rationals": Exact(thirds, thirds, along={"k": np.arange(6)}),
        "squares": Exact(np.arange(300) ** 2, np.cumsum(2 * np.arange(300) - 1) + 1),
    }


@sums_agree.control("to one digit", of="sum")
def one_digit(evidence):
    return replace(evidence, right=np.round(evidence.right, 1))


@claim(items={"A11.8": ("chain", "bound"), "L9.1": "table"}, says="A chain, bounds and a table.")
def chain_and_table(key):
    small = generator(key).uniform(0.1, 1.0, 300)
    names = np.asarray(["ResNet", "VGG", "a two-layer perceptron with a long name"])
    return {
        "chain": Chain({"Cauchy–Schwarz": (small**2, small), "triangle inequality": (small, small + 0.1)}),
        "bound": Inequality(small, 1.0),
        "wide": Inequality(small**9, small**8),
        "along": Inequality(WIDTHS, 1.4 * WIDTHS, along={"width": WIDTHS}),
        "logs": Inequality(-small - 1, -small, log=True),
        "table": Printed(np.asarray([0.1231, 0.4562, 0.789]), np.asarray([0.123, 0.456, 0.789]), along={"net": names}),
        "curve": Printed(np.linspace(0, 1, 12), np.linspace(0, 1, 12), along={"t": np.arange(12)}),
        "instance": Counterexample({"p": np.asarray([0.5, 0.25])}, "27/64", "1/4", True, "summed in rationals"),
    }


@chain_and_table.control("the table of another year", of="table")
def other_table(evidence):
    return replace(evidence, printed=evidence.printed + 0.01)


@claim(items={"A5.2": ("chance", "share"), "A5.3": ("sample", "effect")}, says="Chances are what they are.")
def chances(key, *, trials: Trials = 20_000):
    random = generator(key)
    rolls = random.random((3, trials))
    return {
        "chance": Chance((rolls < 0.04).sum(1), trials, 0.05, along={"n": np.asarray([10, 20, 40])}),
        "single": Chance(int((rolls[0] < 0.04).sum()), trials, 0.05),
        "share": Share((rolls < 0.5).sum(1), trials, 0.5, along={"depth": np.asarray([1, 2, 3])}),
        "sample": Distribution(random.random(trials)),
        "effect": Trend(random.normal(1.0, 1.0, (2, 400)), along={"width": np.asarray([8, 16])}),
        "lone": Trend(random.normal(1.0, 1.0, 400)),
    }


@chances.control("half the promise", of="chance")
def half(evidence):
    return replace(evidence, at_most=0.02)


@claim(items={"L7.2": ("rate", "noisy"), "L7.3": ("limit", "bounded")}, says=r"Errors fall like $1/n$.")
def errors_fall(key):
    noise = generator(key).standard_normal((5, 64))
    return {
        "rate": Rate(WIDTHS, 3 / WIDTHS * (1 + 0.1 / WIDTHS), exponent=-1.0, rivals=(-0.5, -2.0)),
        "noisy": Rate(WIDTHS, (3 / WIDTHS)[:, None] * (1 + 0.02 * noise), exponent=-1.0),
        "limit": Limit(WIDTHS, 2 / WIDTHS**0.6, order=0.5),
        "bounded": Bounded(WIDTHS, 3 - 2 * 0.5 ** np.arange(5)),
        "steady": Bounded(WIDTHS, 3 + 0.01 * noise),
        "constant": Bounded(WIDTHS, np.ones(5)),
    }


@claim(items={"L2.3": ""}, says="Nothing can be said.", needs="what is not there")
def nothing_to_say(*, width: Trials = 8):
    assume(False, "a hypothesis that never holds")
    return Exact(1, 1)


@claim(items={"L2.4": ""}, says="Not a number.")
def not_a_number(key, *, trials: Trials = 16):
    return {
        "law": Law(np.ones(3), np.full((3, trials), np.nan), exact=True),
        "limit": Law(np.ones(3), np.full((2, 3, trials), np.nan), sizes=np.asarray([2, 4]), order=1.0),
        "identity": Identity(np.full(4, np.nan), np.ones(4)),
        "rate": Rate(WIDTHS, -WIDTHS),
    }


@claim(
    items={"J4.6": ""},
    says="A claim that draws for itself.",
    symbols={r"\alpha": "a symbol, of which $\\alpha^2$ is the square"},
    why="Because a square is a product.",
    notice="The line bends.",
    explore={"power": (1, 2, 3)},
)
def draws_itself(key, *, power: Annotated[int, Interval(ge=1, le=4)] = 2):
    return {"only": Identity(WIDTHS, WIDTHS, aside={"powers": WIDTHS**power})}


@draws_itself.control("one off")
def one_off(pieces):
    return {"only": replace(pieces["only"], right=WIDTHS + 1)}


@draws_itself.picture
def own_picture(pieces, settings):
    """Squares of the widths."""
    powers = pieces["only"].aside["powers"]
    truth = [Line("squares", WIDTHS, powers), Dots("seen", WIDTHS, powers, error=3.0)]
    wrong = Line("squares", WIDTHS, 2 * powers, rival="as nobody printed")
    return Curves([*truth, wrong], x="width", y=f"power {settings['power']}")


CLAIMS = [
    ridgeless_risk,
    logarithm_below_its_tangent,
    sums_agree,
    chain_and_table,
    chances,
    errors_fall,
    nothing_to_say,
    not_a_number,
    draws_itself,
]


@dataclass(frozen=True)
class Scratch(Entry):
    """An entry for a claim outside the package."""

    def code(self) -> str:
        return f'@claim(says="<b>&amp;")\ndef {self.name}(key):\n    return Exact(1, 1)  # a comment\n'


def entry(each) -> Entry:
    told = declared(each) | {"subject": "kernels" if each is draws_itself else "scratch", "theme": "theme"}
    uses = ["deeptheory.spectra.entries.draw_entries"]
    return Scratch(**told, uses=uses, axes={}, source="0123456789abcdef", lines=(1, 2))


@pytest.fixture(scope="session")
def runs():
    """One run of each claim."""
    return {each.name: replace(each.check(), source="0123456789abcdef") for each in CLAIMS}


@pytest.fixture(scope="session")
def shelf(runs):
    """The rest of what a report is made from, as keyword arguments."""
    catalogue = Catalogue("scratch", {each.name: entry(each) for each in CLAIMS})
    ledger = Ledger({name: recorded(run) for name, run in runs.items()}, {"A1.13": ["tests/test_something.py"]}, {})
    found = {
        "statement": "logarithm_below_its_tangent",
        "control": "with the tangent at e",
        "instance": {"x": 2.0},
        "counterexample": {"quantity": "log 2", "bound": "1/e", "how": "in rationals"},
    }
    return {
        "catalogue": catalogue,
        "books": books,
        "statuses": statuses(books.items(), catalogue, ledger),
        "counterexamples": {"logarithm_below_its_tangent": [found]},
    }


@pytest.fixture(scope="session")
def small(shelf):
    """The same with one book, for what does not depend on the others."""
    return {**shelf, "books": SimpleNamespace(books=lambda: books.books()[3:])}


@pytest.fixture(scope="session")
def site(runs, shelf, tmp_path_factory):
    """A report of all these runs; one of a claim that has left the catalogue is among them."""
    gone = replace(runs["sums_agree"], claim="no_longer_there")
    moved = [(2, runs["draws_itself"]), *((power, draws_itself.check(power=power)) for power in (1, 3))]
    explored = {"draws_itself": {"power": sorted(moved, key=lambda stop: stop[0])}}
    shown = [*runs.values(), gone]
    return write(tmp_path_factory.mktemp("report") / "pages", shown, explored=explored, **shelf).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What runs claims, or writes whole folders of pages, is not for the inner loop."""
    for test in items:
        if test.path.parent == Path(__file__).parent and {"runs", "site"} & set(test.fixturenames):
            test.add_marker(pytest.mark.slow)


def unavailable(reason):
    pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    """A real browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        unavailable("no Chromium was found")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()
