"""A benchmark without its data ends with one sentence and status 2, whichever it is."""

import importlib
from pathlib import Path

import pytest

READERS = {
    "adversarial": "mnist",
    "certificates": "mnist",
    "character_model": "corpus",
    "curvature": "images",
    "mnist_ntk": "main",
    "scaling_law": "corpus",
}


@pytest.mark.parametrize("name", READERS)
def test_missing_data_is_one_sentence_and_status_two(name, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])
    monkeypatch.setenv("DEEPTHEORY_DATA", str(tmp_path))
    monkeypatch.setattr(importlib.import_module("benchmarks.character_model"), "PATH", tmp_path / "text.txt")
    read = getattr(importlib.import_module(f"benchmarks.{name}"), READERS[name])
    with pytest.raises(SystemExit) as ended:
        read(*[10] * (name == "curvature"))
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and str(tmp_path) in told.err and "DEEPTHEORY_" in told.err


@pytest.mark.parametrize("words", ["", "to be " * 100])
def test_a_corpus_too_short_to_hold_a_part_of_it_out_is_refused(words, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])
    module = importlib.import_module("benchmarks.character_model")
    (tmp_path / "text.txt").write_text(words)
    monkeypatch.setattr(module, "PATH", tmp_path / "text.txt")
    with pytest.raises(SystemExit) as ended:
        module.corpus()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and f"has {len(words)} characters" in told
