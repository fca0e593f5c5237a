"""Bad input, whatever the command: one sentence, exit 2, and nothing is changed."""

import re

import pytest

QUICK = "dropout_is_a_penalty"


BAD = [
    (("check",), "name what to check: a claim, an item, a book or a subject; `all` is every claim"),
    (("calibrate",), "name what to check"),
    (("attack",), "name what to attack"),
    (("check", "double_descent", "--set", "trials=16", "--set", "trials=32"), "--set names trials twice"),
    (("find", "marchenco"), "nothing speaks of 'marchenco'; did you mean marchenko?"),
    (("find", "of the"), "there is no word to look for in 'of the'"),
    (("find", "kernel", "--most", "0"), "--most must be from 1 to 1000, not 0"),
    (("find",), "find needs what to look for: marchenko, double descent, ntk …"),
    (("show",), "show needs a claim, an item, a subject or a book"),
    (("sweep", "double_descent"), "sweep needs --over: a grid, name=64:4096:log2 or name=1,2,5"),
    (("sweep", "double_descent", "--over", "trials=16", "--over", "trials=32"), "--over names trials twice"),
    (("list", "--chapter", "99"), "there are no items of chapter 99"),
    (("coverage", "--status", "proved"), "no status is called 'proved'; an item is one of holds, refuted-as-printed"),
    (("check", "dropout_is_a_penaltie"), "did you mean dropout_is_a_penalty"),
    (("check", "A99.99"), "nothing is called 'A99.99'"),
    (("show", "zzzz"), "nothing is called 'zzzz'"),
    (("show", "nosuch"), "nothing is called 'nosuch'; `deeptheory list` shows what there is"),
    (("check", QUICK, "--seed", "-1"), "--seed must be a whole number from 0 to 2147483647, not -1"),
    (("check", QUICK, "--seed", "many"), "--seed must be a whole number from 0 to 2147483647, not many"),
    (("check", QUICK, "--jobs", "0"), "--jobs must be from 1"),
    (("check", "double_descent", "--set", "trials"), "--set takes name=value"),
    (("check", QUICK, "--set", "nonsense=1"), "there is no parameter nonsense"),
    (("check", QUICK, "--control", "nonsense"), "has no control 'nonsense'"),
    (("check", "double_descent", "--control", ""), "controls that begin with ''"),
    (("check", "double_descent", QUICK, "--control", "x"), "--control needs exactly one claim"),
    (("check", QUICK, "--record", "--full"), "--record takes the claims as they are"),
    (("falsify", "arora"), "name one"),
    (("list", "--subject", "arora"), "the subjects are alignment, approximation, architectures"),
    (("falsify", QUICK, "--budget", "nan"), "--budget must be from"),
    (("coverage", "--book", "bible"), "the books are arora, handbook, jagannath, lucchi"),
    (("frobnicate",), "No such command"),
    (("check", "--frobnicate"), "No such option"),
    (("sweep", QUICK, "--over", "width"), "--over takes name=values"),
    (("sweep", QUICK, "--over", "=3"), "--over takes name=values, not '=3'"),
    (("sweep", "double_descent", "--over", "trials=16", "--out", "."), ". cannot be written: it is a folder"),
    (("sweep", "double_descent", "--over", "trials=16", "--out", "no/such.nc"), "there is no writable folder no"),
    (
        ("sweep", "double_descent", "--over", "trials=16:9016:1", "--seeds", "100"),
        "at most 100,000 are started at once",
    ),
    (("calibrate", "all", "--seeds", "10000"), "at most 100,000 are started at once"),
    (("report",), "holds no runs yet"),
    (("report", ""), "a file or folder must have a name, got ''"),
    (
        ("report", "/dev/null/pages"),
        "the pages cannot be written: /dev/null/pages cannot be written to: /dev/null is no",
    ),
    (("report", "/proc/pages"), "the pages cannot be written: /proc/pages cannot be written to"),
    (("tour", "--out", __file__), "is a file; a report needs a folder of its own"),
    (("tour", "--out", " "), "a file or folder must have a name, got ' '"),
    (("attack", QUICK, "--tests", __file__), "--tests takes a folder of unit tests, and"),
    (("check", QUICK, "--store", ""), "a file or folder must have a name, got ''"),
    (("sweep", "double_descent", "--over", "trials=16", "--out", ""), "a file or folder must have a name, got ''"),
    (("check", ""), "nothing is called ''"),
    (("find", ""), "there is no word to look for in ''"),
    (("new", "", "--item", "A2.26"), "a claim is named by two or more small words"),
    (("new", "my_claim", "--item", ""), "'' names 0 items"),
    (("new", "my_claim"), "name the item it checks with --item or, if no book has it, a --room: alignment"),
    (("new", "my_claim", "--item", "A1.8"), "generalization is divided into topics; name one with --topic: capacity"),
    (("new", "my_claim", "--item", "A2.26", "--root", "nowhere"), "nowhere is no source tree of deeptheory"),
    (("new", "my_claim", "--item", "A2.26", "--room", "../.."), "no room is called '../..'; the rooms are alignment"),
    (
        ("new", "my_claim", "--item", "A2.26", "--topic", "../a"),
        "a topic is named by small words joined by _, not '../a'",
    ),
    (("coverage", "--book", ""), "no book is called ''"),
    (("coverage", "--chapter", "-1"), "there are no items of chapter -1"),
    (("runs", "--repair", "--store", "typo"), "typo cannot be opened: there is no such file"),
    (("report", "--store", "typo"), "typo cannot be opened: there is no such file"),
    (("runs", "--store", "typo"), "typo cannot be opened: there is no such file"),
    (("show", QUICK, "--store", "typo"), "typo cannot be opened: there is no such file"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(typed) for typed, _ in BAD])
def test_bad_input_is_one_sentence_exit_2_and_changes_nothing(run, tmp_path, arguments, sentence):
    done = run(*arguments)
    assert done.returncode == 2, done
    assert sentence in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["-3", "nan", "many", "1e30", "", "2.5"])
def test_a_value_out_of_range_names_the_range(run, parametrised, value):
    done = run("check", parametrised, "--set", f"trials={value}")
    assert done.returncode == 2
    assert re.search(r"trials must be a whole number from \d+ to \d+, not", done.stderr)
