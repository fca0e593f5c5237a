"""Formulas in Unicode: some read by hand, all that we ship without a trace of LaTeX."""

import pytest

from deeptheory import books
from deeptheory.formulas import lettered, readable, scripted, spelt_out, spoken
from deeptheory.lab.entries import catalogue

BY_HAND = [
    (r"the variance is $\sigma^2\gamma/(1-\gamma)$.", "the variance is σ²γ/(1 − γ)."),
    (r"$\frac12\|v\|^2+\frac1n\sum_{i=1}^nx_i$", "½‖v‖² + (1/n) ∑ᵢ₌₁ⁿ xᵢ"),
    (r"$\frac\gamma{\gamma-1}$", "γ/(γ − 1)"),
    (r"$\frac1{\sqrt d}$", "1/√d"),
    (r"$\frac{1-2p}{2\log((1-p)/p)}$", "(1 − 2p)/(2 log((1 − p)/p))"),
    (r"$\|g\|^2=\|h\|^2+\|g-h\|^2$", "‖g‖² = ‖h‖² + ‖g − h‖²"),
    (r"$\hat\theta_{t+1}=\theta_t-\eta\nabla f(\theta_t)$", "θ̂ₜ₊₁ = θₜ − η∇f(θₜ)"),
    (r"$\mathbb E_Q\Delta\le\ln\mathbb E_Pe^{\frac m2\Delta^2}$", "𝔼_Q Δ ≤ ln 𝔼_P e^((m/2)Δ²)"),
    (r"$\lambda_{\max}(H)\ge-\sqrt{\rho\epsilon}$", "λ_max(H) ≥ −√(ρε)"),
    (r"$\binom nk\,\mathrm{Var}[x]\to\infty$", "(n choose k) Var[x] → ∞"),
    (r"$x\in\{\pm1\}^d$, $y\in\mathbb R^{m\times n}$", "x ∈ {±1}ᵈ, y ∈ ℝ^(m×n)"),
    (r"$\left(\frac{d-a}{d-a+\beta}\right)^2$", "((d − a)/(d − a + β))²"),
    (r"$d^{-1/4}$ and $\Sigma^{(L)}$, $\|w\|_*$, $x'$", "d^(−1/4) and Σ⁽ᴸ⁾, ‖w‖_*, x′"),
    (r"$$y:=\operatorname{sign}(x)$$", "y := sign(x)"),
    (r"$V\to\sigma^2\frac1{\gamma-1}$", "V → σ²(1/(γ − 1))"),
    ("costs 5 dollars", "costs 5 dollars"),
]


@pytest.mark.parametrize(("latex", "characters"), BY_HAND, ids=[latex for latex, _ in BY_HAND])
def test_a_formula_reads_as_one_would_write_it(latex, characters):
    assert readable(latex) == characters


def test_sentences_and_names_are_written_alike():
    assert spoken("-0.5 against 1.39e+12, to 1e-09, in 2-norm") == "−0.5 against 1.39·10¹², to 10⁻⁹, in 2-norm"
    assert (lettered("gamma"), lettered("lambda_max"), lettered("top_angle")) == ("γ", "λ max", "top angle")
    assert spelt_out("γ at φ") == "gamma at phi"


def shipped():
    """Every text of claims and books in which there may be a formula."""
    for entry in catalogue().claims.values():
        yield from (entry.says, entry.needs, entry.scale, entry.why, entry.notice, *entry.symbols.values())
        yield from (f"${symbol}$" for symbol in entry.symbols)
        yield from (str(control["name"]) for control in entry.controls)
    for item in books.items():
        yield from (item.title, item.excluded)
        yield from (text for erratum in item.errata for text in (erratum.printed, erratum.corrected, erratum.at))


def test_no_latex_is_left_in_any_text():
    texts = [text for text in shipped() if "$" in text]
    assert len(texts) > 1000
    left = [text for text in texts if set("\\$") & set(readable(text)) or "_{" in readable(text)]
    assert left == []


def test_powers_and_indices_outside_formulas():
    assert scripted("f(x_k) − (1 − e^(−2T))/2") == "f(xₖ) − (1 − e⁻²ᵀ)/2"
    assert scripted("x_k^2") == "xₖ²" and scripted("2λ_i, ABx_k") == "2λᵢ, ABxₖ"
    assert scripted("d^(−1/4), R_S and rate_of") == "d^(−1/4), R_S and rate_of"  # there are no such small characters
