"""The command line, as a user types it."""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from deeptheory.cli import falsifying, main
from deeptheory.cli.interrupts import Insistent
from deeptheory.lab._falsify import Falsification
from deeptheory.lab.entries import catalogue

QUICK = "dropout_is_a_penalty"


@pytest.fixture
def run(tmp_path):
    """Type a command; the store and compiled programs live in a folder of the test."""
    environment = {**os.environ, "DEEPTHEORY_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}

    def typed(*arguments, **options):
        command = [sys.executable, "-m", "deeptheory", *arguments]
        settings = {"capture_output": True, "text": True, "timeout": 300, "env": environment, "cwd": tmp_path}
        return subprocess.run(command, **{**settings, **options})

    typed.environment = environment
    typed.home = tmp_path / "home"
    return typed


LOOKUPS = [
    ("--help",),
    ("--version",),
    ("list",),
    ("runs",),
    ("show", QUICK),
    ("show", "arora thm 11.1.1"),
    ("find", "marchenko", "pastur"),
    ("coverage",),
    ("coverage", "--json"),
]


@pytest.mark.parametrize("arguments", LOOKUPS, ids=" ".join)
def test_lookups_answer_in_under_half_a_second_without_jax(run, arguments):
    """CPU time of the process is what the half second is about."""
    script = (
        "import sys, time; from deeptheory.cli import main; status = main(sys.argv[1:]);"
        "print(time.process_time(), 'jax' in sys.modules, file=sys.stderr); sys.exit(status)"
    )
    command = [sys.executable, "-c", script, *arguments]
    for _ in range(3):  # the best of several, so that a busy machine does not decide
        done = subprocess.run(command, capture_output=True, text=True, env=run.environment, timeout=60)
        seconds, imported = done.stderr.strip().splitlines()[-1].split()
        assert done.returncode == 0, done.stderr
        assert imported == "False"
        if float(seconds) < 0.5:
            break
    assert float(seconds) < 0.5


BAD = [
    (("check",), "name what to check: a claim, an item, a book or a subject; `all` is every claim"),
    (("calibrate",), "name what to check"),
    (("attack",), "name what to attack"),
    (("check", "double_descent", "--set", "trials=16", "--set", "trials=32"), "--set names trials twice"),
    (("find", "marchenco"), "nothing speaks of 'marchenco'; did you mean marchenko?"),
    (("find", "of the"), "there is no word to look for in 'of the'"),
    (("find", "kernel", "--most", "0"), "--most must be from 1 to 1000, not 0"),
    (("find",), "Missing argument"),
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
    (("list", "--subject", "arora"), "the subjects are attention, curvature, diffusions"),
    (("falsify", QUICK, "--budget", "nan"), "--budget must be from"),
    (("coverage", "--book", "bible"), "the books are arora, handbook, jagannath, lucchi"),
    (("frobnicate",), "No such command"),
    (("check", "--frobnicate"), "No such option"),
    (("sweep", QUICK, "--over", "width"), "--over takes name=values"),
    (("sweep", "double_descent", "--over", "trials=16", "--out", "."), ". cannot be written: it is a folder"),
    (("sweep", "double_descent", "--over", "trials=16", "--out", "no/such.nc"), "there is no writable folder no"),
    (
        ("sweep", "double_descent", "--over", "trials=16:9016:1", "--seeds", "100"),
        "at most 100,000 are started at once",
    ),
    (("calibrate", "all", "--seeds", "10000"), "at most 100,000 are started at once"),
    (("report",), "holds no runs yet"),
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


def parametrised():
    """A claim with a `trials` parameter, from the catalogue."""
    return next(entry.name for entry in catalogue().claims.values() if "trials" in entry.parameters)


@pytest.mark.parametrize("value", ["-3", "nan", "many", "1e30", "", "2.5"])
def test_a_value_out_of_range_names_the_range(run, value):
    done = run("check", parametrised(), "--set", f"trials={value}")
    assert done.returncode == 2
    assert re.search(r"trials must be a whole number from \d+ to \d+, not", done.stderr)


def test_the_version_is_that_of_the_package(run):
    import deeptheory

    assert run("--version").stdout == f"deeptheory {deeptheory.__version__}\n"


def test_functions_are_found_with_a_line_to_paste(run):
    shown = run("find", "marchenko", "density").stdout
    assert "functions\n  from deeptheory.spectra import marchenko_pastur_pdf\n" in shown
    assert "  marchenko_pastur_is_a_law\n" in shown
    (best, *_) = json.loads(run("find", "marchenko", "density", "--json").stdout)
    assert (best["kind"], best["paste"]) == ("function", "from deeptheory.spectra import marchenko_pastur_pdf")


def test_a_claim_is_shown_without_latex_and_with_the_functions_it_uses(run):
    shown = run("show", "double_descent").stdout
    assert "variance σ²γ/(1 − γ) for γ < 1" in shown
    assert not set("$\\") & set(shown)
    assert re.search(r"^from deeptheory\.generalization\.\S+ import .*limiting_bias_variance", shown, re.MULTILINE)


def test_an_item_that_is_false_as_printed_is_never_said_to_hold(run):
    """Beside the claim that checks its corrected form, in the list of items, and by itself."""
    assert re.search(r"A11\.10 +arora Thm 11\.1\.1 +refuted as printed", run("show", "A11.10").stdout + run(
        "show", "balanced_factors_can_be_equalized").stdout)  # fmt: skip
    assert re.search(r"A11\.10 +refuted as printed", run("coverage", "--book", "arora", "--chapter", "11").stdout)


@pytest.mark.parametrize(("typed", "sentence"), [("zzzz", "nothing is called 'zzzz'"), ("", "nothing was named")])
def test_in_a_terminal_check_asks_what_to_check(run, typed, sentence):
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    command = [sys.executable, "-m", "deeptheory", "check"]
    ends = {"stdin": theirs, "stderr": theirs, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, env=run.environment, text=True, **ends)
    process.communicate(timeout=60)
    os.close(theirs)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    assert process.returncode == 2
    assert "What shall be checked?" in told and sentence in told
    assert not run.home.exists()


def test_without_a_command_there_is_help_and_no_more(run):
    done = run()
    assert "Usage:" in done.stdout
    assert done.stderr == ""


LISTINGS = [
    (("show", "spectra"), "marchenko_pastur_is_a_law"),
    (("show", "Arora"), "A11.10"),
    (("list", "--book", "Arora"), "balanced_factors_can_be_equalized"),
    (("runs",), "no runs yet"),
]


@pytest.mark.parametrize(("arguments", "word"), LISTINGS, ids=[" ".join(typed) for typed, _ in LISTINGS])
def test_subjects_books_and_an_empty_store_are_listed(run, arguments, word):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert word in done.stdout
    assert not run.home.exists()


ENDS = [
    ("list | head -1", 0, ""),
    ("coverage --json | head -1", 0, ""),
    ("list > /dev/full", 2, "deeptheory: No space left on device"),
    ("list >&-", 2, "deeptheory: standard output is closed"),
    ("list 2>&-", 0, ""),
]


@pytest.mark.parametrize(("typed", "status", "sentence"), ENDS, ids=[typed for typed, *_ in ENDS])
def test_output_that_cannot_be_written_ends_quietly_or_in_one_sentence(run, typed, status, sentence):
    line = f"set -o pipefail; {sys.executable} -m deeptheory {typed}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=run.environment, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (status, sentence)


def test_json_has_no_bare_nan(capsys):
    from deeptheory.cli.app import emit

    emit({"resolution": float("nan"), "list": [1.5, (float("inf"), None)]})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "resolution": None,
        "list": [1.5, [None, None]],
    }


@pytest.mark.slow
def test_check_as_json_is_that_json_alone(run):
    done = run("check", QUICK, "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    wanted = "claim items verdict reason strength resolution controls seconds seed parameters evidence source platform"
    assert set(wanted.split()) <= set(record)
    assert record["verdict"] == "holds"
    assert all({"name", "erratum", "verdict"} <= set(control) for control in record["controls"])


def test_coverage_as_json_has_every_item(run):
    record = json.loads(run("coverage", "--json").stdout)
    assert record["total"] == len(record["items"]) == 1008
    assert sum(record["counts"].values()) == 1008
    assert {"status", "claims", "where", "erratum", "reason"} <= set(record["items"]["A11.10"])


@pytest.mark.slow
def test_a_check_shows_prediction_beside_observation_and_names_the_page(run):
    done = run("check", QUICK)
    assert done.returncode == 0, done.stderr
    assert re.search(r"evidence +predicted +observed +at +verdict +resolution", done.stdout)
    predicted, observed = re.search(r"^all +(\S+) +(\S+) +holds", done.stdout, re.MULTILINE).groups()
    assert predicted == observed
    said = r"holds: all \d+ numbers agree within \S+\. A deviation of \S+ would have been noticed\."
    assert re.search(said, " ".join(done.stdout.split()))
    assert f"deeptheory-report/claims/{QUICK}.html" in done.stdout


@pytest.mark.slow
def test_a_control_run_in_the_claims_place_is_expected_to_fall(run):
    done = run("check", QUICK, "--control", "p(1", "--json")
    assert done.returncode == 0, done.stderr
    assert "[1/1]" in done.stderr
    assert json.loads(done.stdout)[0]["verdict"] == "refuted"
    shown = run("check", QUICK, "--control", "p(1").stdout
    assert re.search(r"the control “p\(1.*” of dropout_is_a_penalty is refuted, as it must be", shown)
    # Nothing of this is a run of the claim.
    assert json.loads(run("show", QUICK, "--json").stdout)["last_run"] is None
    assert json.loads(run("runs", "--json").stdout)[0]["control"].startswith("p(1")
    assert "holds no runs yet" in run("report").stderr


@pytest.mark.slow
def test_settings_that_a_claim_does_not_run_with_are_bad_input_and_in_the_json(run, tmp_path):
    """A claim of the catalogue whose function is made to break, in the worker too."""
    script = tmp_path / "broken.py"
    script.write_text(
        "import sys\n"
        "from deeptheory.cli import main, running\n"
        "from deeptheory.lab.checking import Task\n"
        "def refuse(todo, *_, **__):\n"
        "    yield todo[0], ValueError('double_descent does not run with trials=16: negative dimensions'), False\n"
        "import deeptheory.lab.checking\n"
        "deeptheory.lab.checking.checked = refuse\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    typed = [sys.executable, str(script), "check", "double_descent", "--set", "trials=16"]
    for extra in ([], ["--json"]):
        done = subprocess.run([*typed, *extra], capture_output=True, text=True, env=run.environment, timeout=60)
        assert done.returncode == 2
        assert "double_descent does not run with trials=16: negative dimensions" in done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["verdict"], record["parameters"]["trials"]) == ("inconclusive", 16)
    assert "negative dimensions" in record["reason"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_with_any_number_of_jobs(run):
    """Evidence of a subject of claims, once on one worker and once on two."""
    blobs = []
    for jobs in ("1", "2"):
        path = run.home / f"jobs{jobs}.sqlite"
        done = run("check", "regularization", "spectra", "--jobs", jobs, "--store", str(path))
        assert done.returncode == 0, done.stdout + done.stderr
        with sqlite3.connect(path) as connection:
            rows = connection.execute("SELECT claim, blob FROM runs ORDER BY claim").fetchall()
        connection.close()
        blobs.append(rows)
    assert len(blobs[0]) > 3
    assert blobs[0] == blobs[1]


@pytest.mark.slow
def test_a_killed_check_loses_no_finished_run_and_resumes(run):
    command = [sys.executable, "-m", "deeptheory", "check", "regularization", "--jobs", "1"]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=run.environment, **pipes)
    first = process.stderr.readline()
    second = process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    finished = {line.split("] ")[1].split(":")[0] for line in (first, second)}
    listed = {line["claim"] for line in json.loads(run("runs", "--json").stdout)}
    assert finished <= listed
    done = run("check", "regularization", "--jobs", "1")
    assert done.returncode == 0
    resumed = {line.split("] ")[1].split(":")[0] for line in done.stderr.splitlines() if "(stored)" in line}
    assert finished <= resumed


@pytest.mark.slow
def test_two_checks_at_once_run_each_claim_once(run):
    command = [sys.executable, "-m", "deeptheory", "check", "regularization", "--jobs", "1"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    both = [subprocess.Popen(command, env=run.environment, **silent) for _ in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    claims = [line["claim"] for line in json.loads(run("runs", "--json").stdout)]
    assert len(claims) == len(set(claims)) > 2


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done(run):
    # All claims: more than can be finished between the first line and the signal, however busy the machine.
    command = [sys.executable, "-m", "deeptheory", "check", "all", "--jobs", "1"]
    process = subprocess.Popen(command, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from there" in error
    assert "Traceback" not in error
    listed = {line["claim"] for line in json.loads(run("runs", "--json").stdout)}
    assert first.split("] ")[1].split(":")[0] in listed


INTERRUPTED = """
import sys, deeptheory.cli

class Told(deeptheory.cli.Insistent):
    def __enter__(self):
        super().__enter__()
        print(flush=True)
        return self

deeptheory.cli.Insistent = Told
sys.exit(deeptheory.cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.6, 0.9, 1.2, 1.8, 2.5, 4.0])
@pytest.mark.parametrize("typed", ["falsify A11.10 --budget 60", "check spectra --jobs 1"])
def test_an_interrupt_is_heard_at_any_moment(run, typed, seconds):
    """While modules are imported, workers start, programs are compiled: it always ends, and says only what is true."""
    command = [sys.executable, "-c", INTERRUPTED, *typed.split()]
    process = subprocess.Popen(command, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    *before, last = error.splitlines()
    kept = "; what was finished is kept, and the same command goes on from there"
    assert last == "stopped" + kept * typed.startswith("check")
    assert all(line.startswith("[") for line in before), error


def test_an_interrupt_that_is_dropped_is_repeated():
    """Python drops what is raised in a finalizer."""

    class Deaf:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.01)

    before = signal.getsignal(signal.SIGINT)  # a shell starts what runs in its background with the interrupt ignored
    with Insistent() as interrupt:
        Deaf()
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_falsify_finds_the_two_by_two_counterexample_by_itself(run):
    done = run("falsify", "A11.10", "--budget", "5", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (control,) = json.loads(done.stdout)["controls"]
    assert control["found"]
    assert control["counterexample"]["violated"]
    assert len(control["instance"]["left"]) == len(control["instance"]["right"]) == 2


@pytest.mark.parametrize("broken", ["the control", "the claim"])
def test_a_search_that_breaks_is_named_and_the_others_are_made(monkeypatch, capsys, broken):
    tried = []

    def falsify(*, budget, seed, control):
        tried.append(control)
        if (control is None) == (broken == "the claim"):
            raise ZeroDivisionError("a matrix of zeros")
        violated = control is not None
        planted = None if violated else True
        return Falsification("balanced", violated, {"x": 1.0}, 0.5, None, planted, 1, 9, 0.1, control)

    monkeypatch.setattr(falsifying, "workers", lambda jobs: ThreadPoolExecutor(jobs))
    monkeypatch.setattr(falsifying, "load", lambda name: SimpleNamespace(falsify=falsify))
    assert main(["falsify", "A11.10", "--json"]) == 1
    said = capsys.readouterr()
    (failure,) = json.loads(said.out)["failures"]
    assert failure in said.err and failure.endswith("failed: ZeroDivisionError: a matrix of zeros")
    assert tried[-1] is None and len(tried) == 2
    assert main(["falsify", "A11.10"]) == 1
    assert capsys.readouterr().out.count("0.5") == 1


@pytest.mark.parametrize("typed", [("check", QUICK), ("runs", "--repair"), ("report",)], ids=" ".join)
def test_a_file_that_is_no_store_is_refused_and_stays(run, tmp_path, typed):
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes" * 1000)
    done = run(*typed, "--store", "notes.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "deeptheory: the store notes.txt cannot be opened: file is not a database\n"
    assert notes.read_text() == "my notes" * 1000
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [notes]


@pytest.mark.slow
def test_one_damaged_run_stops_nothing_and_the_store_is_tidied_on_request(run, tmp_path):
    assert run("check", "regularization").returncode == 0
    listed = json.loads(run("runs", "--json").stdout)
    with sqlite3.connect(run.home / "runs.sqlite") as store:
        store.execute("UPDATE runs SET verdict = 'refuted' WHERE id = 1")
        store.execute(
            "INSERT INTO runs SELECT 99, key, claim, verdict, created, record, blob, checksum FROM runs WHERE id = 2"
        )
    store.close()
    done = run("report", "pages")
    assert done.returncode == 0, done.stderr
    assert f"run 1 in {run.home / 'runs.sqlite'} cannot be read: its checksum does not match" in done.stderr
    assert len(list((tmp_path / "pages" / "claims").iterdir())) >= len(listed) - 1
    done = run("runs", "--repair", "--prune")
    assert "dropped run 1 of" in done.stdout
    assert "dropped run 2 of" in done.stdout
    assert "2 runs dropped" in done.stdout
    assert json.loads(run("runs", "--repair", "--prune", "--json").stdout) == []
    done = run("check", "regularization")
    assert done.stderr.count("(stored)") == len(listed) - 1


def test_calibration_names_what_failed_in_its_lines():
    from deeptheory.cli.calibration import calibrated

    (line,) = calibrated([], [{"claim": QUICK, "seed": 3, "reason": "it broke", "verdict": "inconclusive"}])
    assert line["failed"] == [{"seed": 3, "reason": "it broke"}]
    assert (line["claim"], line["runs"], line["holds"], line["controls"]) == (QUICK, 0, 0, {})
    assert json.loads(json.dumps(line)) == line


def test_an_unwritable_store_is_one_sentence(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("runs", "--store", str(tmp_path / "file" / "runs.sqlite"))
    assert done.returncode == 2
    assert "cannot be opened" in done.stderr


@pytest.mark.parametrize("laments", [[], ["the picture of x cannot be drawn"]], ids=["all shown", "one not shown"])
def test_the_report_says_by_its_status_whether_all_could_be_shown(monkeypatch, capsys, tmp_path, laments):
    from deeptheory.cli import running
    from deeptheory.report import assembly

    def write(folder, runs, *, lament, **_):
        for sentence in laments:
            lament(sentence)
        return folder / "index.html"

    entry = catalogue().claims[QUICK]
    kept = SimpleNamespace(latest=lambda claims: {QUICK: SimpleNamespace(source=entry.source)})
    monkeypatch.setattr(running, "stored", lambda path: nullcontext(kept))
    monkeypatch.setattr(running, "_explored", lambda *_: {})
    monkeypatch.setattr(assembly, "write", write)
    assert main(["report", str(tmp_path / "pages")]) == len(laments)
    said = capsys.readouterr()
    assert said.out.strip().endswith("index.html") and all(sentence in said.err for sentence in laments)


@pytest.mark.slow
def test_the_report_refuses_a_folder_that_is_not_its_own(run, tmp_path):
    assert run("check", QUICK).returncode == 0
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter1.tex").write_text("…")
    done = run("report", str(precious))
    assert done.returncode == 2
    assert [entry.name for entry in precious.iterdir()] == ["chapter1.tex"]
    assert "by an earlier version" not in run("show", QUICK).stdout
    with sqlite3.connect(run.home / "runs.sqlite") as store:
        store.execute(
            "UPDATE runs SET checksum = NULL, record = json_remove(json_set(record, '$.source', 'older'), '$.version')"
        )
    store.close()
    assert "last run by an earlier version of this claim: holds" in run("show", QUICK).stdout
    done = run("report", str(tmp_path / "pages"))
    assert done.returncode == 0
    assert "1 of 1 runs are older than their claim" in done.stderr
    assert (tmp_path / "pages" / "index.html").exists()


def test_a_grid_is_read():
    from deeptheory.cli.grids import axis
    from deeptheory.lab.parameters import Parameter

    known = {
        "width": Parameter("width", "int", 8, low=1, high=4096),
        "sizes": Parameter("sizes", "ints", (8, 16), low=2, high=99, least=2, increasing=True),
    }
    assert axis("width=8:64:log2", known) == ("width", [8, 16, 32, 64])
    assert axis("width=1,5", known) == ("width", [1, 5])
    assert axis("sizes=8,16;16,32", known) == ("sizes", [(8, 16), (16, 32)])
    with pytest.raises(ValueError, match="at least 2 separated by commas, increasing, not 8"):
        axis("sizes=8,16", known)
    for nonsense in ("8:64:loginf", "8:64:log1", "8:64:0", "64:8:1", "8:inf:1", "nan:8:1"):
        with pytest.raises(ValueError, match=f"the range '{nonsense}' does not grow"):
            axis(f"width={nonsense}", known)
    with pytest.raises(ValueError, match="has more than 10,000 values"):
        axis("width=1:4096:1e-300", known)


@pytest.mark.slow
def test_a_sweep_writes_labelled_arrays(run, tmp_path):
    import xarray

    name = parametrised()
    done = run("sweep", name, "--over", "trials=64,128", "--seeds", "2", "--out", str(tmp_path / "sweep.nc"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"trials +seed +verdict +evidence +predicted +observed +at +resolution +seconds", done.stdout)
    assert len(re.findall(r"^ *(?:64|128) +[01] ", done.stdout, re.MULTILINE)) == 4
    assert "xarray" not in done.stdout
    with xarray.open_dataset(tmp_path / "sweep.nc") as swept:
        assert dict(swept.sizes)["trials"] == 2
        assert dict(swept.sizes)["seed"] == 2


def test_completion_names_claims(run):
    assert QUICK in completed(run, "show dropout")


def completed(run, typed):
    """What the shell is offered after these words."""
    environment = {
        **run.environment, "_DEEPTHEORY_COMPLETE": "complete_bash", "COMP_WORDS": f"deeptheory {typed}",
        "COMP_CWORD": str(len(typed.split(" "))),
    }  # fmt: skip
    script = "import sys; sys.argv[0] = 'deeptheory'; from deeptheory.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    return done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("check A11.1", "A11.10"),
        ("coverage --book ", "lucchi"),
        ("list --subject sp", "spectra"),
        ("check double_descent --control cor", "correlated features"),
        ("check double_descent --set tr", "trials="),
        ("sweep double_descent --over tr", "trials="),
    ],
)
def test_completion_knows_items_books_subjects_controls_and_parameters(run, typed, offered):
    assert offered in completed(run, typed).splitlines()


def readme_commands():
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    return [shlex.split(typed)[1:] for typed in re.findall(r"`(deeptheory [^`]*)`", text)]


def test_the_commands_of_the_readme_name_what_exists():
    """Those that run for long are not run; whether they would be refused is seen without."""
    from deeptheory.cli import attacking, authoring, lookup, running, sweeping
    from deeptheory.cli.grids import axis
    from deeptheory.finding import find
    from deeptheory.names import entries, only

    assert attacking.app is authoring.app is lookup.app is running.app is sweeping.app
    known = {each.name or each.callback.__name__ for each in running.app.registered_commands}
    seen = set()
    for command, *words in readme_commands():
        seen.add(command)
        assert command in known
        what = [word for word in words if not word.startswith("--")][:1]
        if command in ("sweep", "calibrate", "new") and what in (["CLAIM"], ["my_claim"]):
            assert command != "sweep" or axis(words[-1], only("double_descent").parameters)
        elif command == "find":
            assert find(" ".join(words))
        elif what and command != "report":
            assert entries(what)
    assert {"check", "show", "falsify", "sweep", "report", "coverage"} <= seen


@pytest.mark.slow
def test_the_readmes_first_lesson_works_when_pasted(run):
    """`check` with the settings and the control of its row."""
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    row = next(line for line in text.splitlines() if "see a theorem happen" in line)
    check, setting, control = (shlex.split(typed) for typed in re.findall(r"`([^`]*)`", row))
    for added in (setting, control):
        done = run(*check[1:], *added)
        assert done.returncode == 0, done.stdout + done.stderr
