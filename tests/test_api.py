"""The Python face: checks by any name, shown in notebooks, in scripts without a main guard."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import deeptheory as dt

pytestmark = pytest.mark.slow

QUICK = "dropout_is_a_penalty"


@pytest.fixture(scope="module")
def run():
    return dt.check("A11.5")


def test_an_item_gives_its_run(run):
    assert (run.claim, run.verdict) == (QUICK, "holds")
    assert run.figure().to_dict()
    assert "holds" in run._repr_html_()
    assert repr(run).splitlines()[:2] == [f"{QUICK}: holds", f"  {run.reason}"]
    assert repr(run).count(": refuted") == len(run.controls)
    assert set(run.dataset().data_vars) >= {"left", "right"}
    assert run.dataset().attrs["verdict"] == "holds"
    with pytest.raises(ValueError, match="has no piece 'nonsense'"):
        run.dataset("nonsense")


def test_a_figure_needs_no_network(run):
    shown = run.figure()._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg") and "text/html" not in shown


def test_several_claims_give_a_table(run):
    runs = dt.check("marchenko_pastur_is_a_law", "A11.5")
    assert {each.claim for each in runs} == {"marchenko_pastur_is_a_law", QUICK}
    assert runs._repr_html_().count("<tr") == 2
    assert f"\n{QUICK}: holds" in "\n" + repr(runs)
    assert next(each for each in runs if each.claim == QUICK).blob == run.blob


@pytest.mark.parametrize(
    ("what", "settings", "sentence"),
    [
        (["nonsens"], {}, "nothing is called"),
        (["A11.5"], {"width": 3}, "there is no parameter width"),
        (["A11.5"], {"seed": -1}, "seed must be a whole number from 0 to 2147483647, not -1"),
        (["A11.5"], {"seed": "a"}, "seed must be a whole number"),
        ([7], {}, "named by words, not by 7"),
        (["A11.5"], {"jobs": 2.5}, "jobs must be a whole number from 1 to 256, not 2.5"),
        (["A11.5"], {"jobs": None}, "jobs must be a whole number from 1 to 256, not None"),
        ([None], {}, "named by words, not by None"),
        ([], {}, "name what to check"),
    ],
)
def test_mistakes_are_one_sentence(what, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        dt.check(*what, **settings)


def test_one_claim_is_one_claim():
    with pytest.raises(ValueError, match=r"arora names \d+ claims .*; name one"):
        dt.claim("arora")


def test_the_package_lists_its_rooms_and_opens_them_when_they_are_entered():
    script = (
        "import sys, deeptheory as dt; shown = dir(dt);"
        "assert {'spectra', 'kernels', 'generalization'} <= set(shown), shown;"
        "assert not {'jax', 'numpy', 'xarray'} & set(sys.modules);"
        "assert dt.spectra.marchenko_pastur_edges(1.0)[1] == 4;"
        "assert not hasattr(dt, 'nonsense') and not hasattr(dt, '__wrapped__')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_finding_gives_lines_to_paste():
    found = dt.find("double descent", most=3)
    assert {each.kind for each in found} == {"function", "claim", "item"}
    assert len(found.of("claim")) <= 3
    assert found.of("claim")[0].paste == 'dt.check("double_descent")'
    assert "limiting_bias_variance" in str(found)
    assert dt.find("ntk", most=1).of("function")[0].paste == "from deeptheory.kernels import tangent_kernel"
    for each in dt.find("rademacher").of("function"):
        exec(each.paste, {})


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        ("GAN", "adversarial_optima"),
        ("BBP", "spiked_covariance_transition"),
        ("lottery ticket", "xor_success"),  # said in the title of an item it serves, not in its statement
        ("CNN", "convolutional_tangent_kernel"),
        ("in-context learning", "attention_takes_gradient_steps"),
    ],
)
def test_claims_are_found_by_what_people_call_their_subject(words, claim):
    assert claim in [each.name for each in dt.find(words, most=12).of("claim")]


def test_a_word_is_not_another_that_it_begins_with():
    found = dt.find("transformer", most=100)
    assert not [each.name for each in found if "fourier" in each.name]
    assert "saddle_index" in str(dt.find("saddles"))


@pytest.mark.parametrize(
    ("words", "most", "sentence"),
    [
        ("zzqq", 3, "nothing speaks of 'zzqq'"),
        ("the of", 3, "there is no word to look for in 'the of'"),
        (7, 3, "what to look for is a text, not 7"),
        ("kernel", 0, "most must be a whole number from 1, not 0"),
        ("kernel", True, "most must be a whole number from 1, not True"),
        ("q" * 10**6, 3, "nothing speaks of 'qqq"),
        (" ".join(f"w{each}" for each in range(3000)), 3, "at most 40 words are looked for together, not 3,000"),
    ],
)
def test_finding_nothing_is_one_sentence(words, most, sentence):
    with pytest.raises(ValueError, match=sentence) as found:
        dt.find(words, most=most)
    assert len(str(found.value)) < 150


def test_a_word_that_is_said_often_is_looked_for_once():
    assert dt.find("kernel ridge " * 10**4, most=np.int64(3)) == dt.find("kernel ridge", most=3)


@pytest.mark.slow
def test_the_example_of_the_readme_works_when_pasted(tmp_path):
    from pathlib import Path

    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    script = tmp_path / "example.py"
    script.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("holds")
    assert "violated at" in done.stdout


def test_a_claim_is_found_by_name():
    assert dt.claim(QUICK).name == QUICK
