"""`check`, and what it keeps of runs that are killed or run twice at once."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

QUICK = "dropout_is_a_penalty"


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


@pytest.mark.slow
def test_check_as_json_is_that_json_alone(run):
    done = run("check", QUICK, "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    wanted = "claim items verdict reason strength resolution controls seconds seed parameters evidence source platform"
    assert set(wanted.split()) <= set(record)
    assert record["verdict"] == "holds"
    (piece,) = record["evidence"].values()
    assert piece["predicted"] == piece["observed"] and float(piece["observed"]) > 0 and piece["at"] == ""
    assert all({"name", "erratum", "verdict"} <= set(control) for control in record["controls"])


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
        done = run("check", "graphs", "skills", "--jobs", jobs, "--store", str(path))
        assert done.returncode == 0, done.stdout + done.stderr
        with sqlite3.connect(path) as connection:
            rows = connection.execute("SELECT claim, blob FROM runs ORDER BY claim").fetchall()
        connection.close()
        blobs.append(rows)
    assert len(blobs[0]) > 3
    assert blobs[0] == blobs[1]


@pytest.mark.slow
def test_a_killed_check_loses_no_finished_run_and_resumes(run):
    command = [sys.executable, "-m", "deeptheory", "check", "skills", "--jobs", "1"]
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
    done = run("check", "skills", "--jobs", "1")
    assert done.returncode == 0
    resumed = {line.split("] ")[1].split(":")[0] for line in done.stderr.splitlines() if "(stored)" in line}
    assert finished <= resumed


@pytest.mark.slow
def test_two_checks_at_once_run_each_claim_once(run):
    command = [sys.executable, "-m", "deeptheory", "check", "skills", "--jobs", "1"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    both = [subprocess.Popen(command, env=run.environment, **silent) for _ in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    claims = [line["claim"] for line in json.loads(run("runs", "--json").stdout)]
    assert len(claims) == len(set(claims)) > 2
