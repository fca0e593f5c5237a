"""What the shell offers."""

import subprocess
import sys

import pytest

QUICK = "dropout_is_a_penalty"


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
