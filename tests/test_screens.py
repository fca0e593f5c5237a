"""What a claim's screen in the terminal tells someone who does not know it."""

from collections import defaultdict
from functools import partial
from types import SimpleNamespace

import pytest

from deeptheory.cli.screens import show_claim
from deeptheory.lab.entries import catalogue


@pytest.fixture
def shown(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")  # no cell is broken into lines
    return partial(screen, capsys)


def screen(capsys, name):
    show_claim(catalogue().claims[name], defaultdict(lambda: SimpleNamespace(status="holds")), None)
    return " ".join(capsys.readouterr().out.split())


def test_symbols_are_explained_and_a_reason_is_given(shown):
    told = shown("double_descent")
    for symbol, meaning in (("γ", "features per sample"), ("σ²", "the variance of the noise")):
        assert f"{symbol} {meaning}" in told
    assert "why: " in told


def test_pieces_of_evidence_are_told_apart_though_their_names_have_commas(shown):
    assert "covariance of the output · law of the output · closed forms" in shown("expected_kernels")
