"""Mathematics between dollar signs becomes MathML; everything else is escaped."""

import re
import xml.etree.ElementTree as tree

import pytest

import deeptheory.books as books
from deeptheory.lab.entries import catalogue
from deeptheory.report.mathml import formula, typeset


def said(latex):
    """The characters of a formula in order."""
    return "".join(tree.fromstring(formula(latex)).itertext())


def test_text_is_escaped():
    assert typeset('a < b & "c" <script>') == 'a &lt; b &amp; "c" &lt;script&gt;'


def test_formulas_become_mathml():
    found = typeset(r"for $\gamma<1$ only")
    assert found.startswith("for <math") and found.endswith("</math> only")
    assert "<mo>&lt;</mo>" in found and "γ" in found


def test_display():
    assert 'display="block"' in typeset("$$x$$") and 'display="inline"' in typeset("$x$")


@pytest.mark.parametrize("text", ["5$ a head", "no mathematics", "a $ b"])
def test_a_lone_dollar_is_a_dollar(text):
    assert typeset(text) == text


@pytest.mark.parametrize("latex", [r"\nosuchcommand x", "x^", r"\frac{1", "}{"])
def test_what_cannot_be_converted_is_shown(latex):
    assert formula(latex) == f"<code>{latex}</code>"


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\mathcal N", "𝒩"),
        (r"\mathcal B", "ℬ"),
        (r"\mathbb R", "ℝ"),
        (r"\mathbb 1", "𝟙"),
        (r"\mathbf x", "𝐱"),
        (r"\mathfrak C", "ℭ"),
        (r"\boldsymbol\alpha", "𝜶"),
        (r"x\sim y", "x∼y"),
        (r"\arg\min_i", "argmini"),
        (r"\lvert x\rvert", "|x|"),
    ],
)
def test_letters_of_other_styles_are_characters(latex, expected):
    assert said(latex) == expected
    assert not re.search(r'mathvariant="(?!normal)', formula(latex))


def operators(latex):
    return {
        element.text: element.attrib for element in tree.fromstring(formula(latex)).iter() if element.tag.endswith("mo")
    }


def test_signs_that_are_not_between_operands_are_prefixes():
    assert operators(r"\exp(-x)")["−"]["form"] == "prefix"
    assert operators("a=-b")["−"]["form"] == "prefix"
    assert "form" not in operators("a-b")["−"]
    assert "form" not in operators(r"\|x\|^2-1")["−"]
    assert "form" not in operators("f(x)-1")["−"]


def test_names_of_functions_stand_apart():
    assert operators(r"2\log n")["log"] == {"lspace": "0.167em", "rspace": "0.167em"}
    assert operators(r"\log(n)")["log"] == {"lspace": "0", "rspace": "0"}
    assert operators(r"\max_i x_i")["max"]["rspace"] == "0.167em"
    assert operators(r"\lambda_{\max}x")["max"] == {"lspace": "0", "rspace": "0"}
    assert operators(r"\mathrm{ReLU}(x)")["ReLU"]["rspace"] == "0"


def test_slashes_and_bars_are_tight_and_capitals_of_greek_upright():
    assert operators("a/b")["/"]["lspace"] == "0"
    assert operators("|x|")["|"]["rspace"] == "0"
    assert '<mi mathvariant="normal">Φ</mi>' in formula(r"\Phi") and "<mi>φ" not in formula(r"\Phi")


@pytest.mark.parametrize("latex", ["f'(x)", "(q)'", "f''", r"\ell_i'", r"\sigma'^2", r"\frac{f'}g", "w_{y'}", "{x'}^2"])
def test_primes_stand_on_the_line(latex):
    """They are raised by themselves: in a superscript they would hang small and far above."""
    for script in tree.fromstring(formula(latex)).iter("msup"):
        assert not "".join(script[-1].itertext()).startswith(("′", "″"))
    assert operators(latex)["″" if "''" in latex else "′"]["lspace"] == "0"


def test_the_empty_set_is_an_operand():
    assert "<mi>∅</mi>" in formula(r"U(\emptyset)")


def test_long_formulas_may_be_broken_after_signs_and_relations():
    long = formula(r"\dot g = 2e^{\beta g}(1-g)((n-1)g+1) + c_1 + c_2")
    pieces = long.split("<wbr>")
    assert len(pieces) >= 3 and all(piece.startswith("<math") and piece.endswith("</math>") for piece in pieces)
    assert all('<mo form="infix">' in piece for piece in pieces[:-1])
    assert "".join("".join(tree.fromstring(piece).itertext()) for piece in pieces) == "g˙=2eβg(1−g)((n−1)g+1)+c1+c2"
    assert "<wbr>" not in formula("a+b=c") and "<wbr>" not in formula("a" * 20 + "=b+c+d", display=True)


def test_a_comma_stays_with_its_formula():
    assert re.fullmatch(r'so <span style="white-space:nowrap"><math.*</math>,</span> then', typeset("so $x$, then"))
    assert typeset("$x$ y").endswith("</math> y")


def test_the_books_convert():
    texts = [item.title for item in books.items()]
    texts += [
        text for item in books.items() for erratum in item.errata for text in (erratum.printed, erratum.corrected)
    ]
    failed = [text for text in texts if "<code>" in typeset(text) and "<code>" not in text]
    assert not failed


def test_names_of_several_letters_stand_upright():
    assert ">KL<" in formula(r"KL(Q\|P)") and ">KL<" in formula(r"\mathrm{KL}(Q\|P)")
    assert ">out<" in formula(r"\|w_{out}\|^2") and ">ij<" not in formula("a_{ij}")


def test_a_line_never_ends_inside_a_norm_or_an_absolute_value():
    long = "x_0+x_1+x_2+x_3+x_4+x_5-x_6"
    assert "<wbr>" in formula(long)
    assert "<wbr>" not in formula(rf"\|{long}\|^2") and "<wbr>" not in formula(f"|{long}|")
    assert "<wbr>" in formula(rf"P\|Q+{long}")  # a sign between two things opens nothing
    errata = [erratum for item in books.items() for erratum in item.errata]
    texts = [text for each in errata for text in (each.printed, each.corrected)]
    texts += [text for each in catalogue().claims.values() for text in (each.says, each.needs, each.why, each.notice)]
    for latex in {found for text in texts for found in re.findall(r"\$([^$]+)\$", text)}:
        pieces = [re.sub(r"<[^>]+>", "", piece) for piece in formula(latex).split("<wbr>")]
        if "".join(pieces).count("‖") % 2 == 0:
            assert all(piece.count("‖") % 2 == 0 for piece in pieces), latex
