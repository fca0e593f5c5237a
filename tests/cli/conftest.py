"""The command line, as a user types it."""

import os
import subprocess
import sys

import pytest

from deeptheory.lab.entries import catalogue


@pytest.fixture
def run(tmp_path):
    """Type a command; the store and compiled programs live in a folder of the test."""
    catalogue()  # made if need be, so that no command says on standard error that it makes it first
    environment = {**os.environ, "DEEPTHEORY_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}

    def typed(*arguments, **options):
        command = [sys.executable, "-m", "deeptheory", *arguments]
        settings = {"capture_output": True, "text": True, "timeout": 300, "env": environment, "cwd": tmp_path}
        return subprocess.run(command, **{**settings, **options})

    typed.environment = environment
    typed.home = tmp_path / "home"
    return typed


@pytest.fixture
def parametrised():
    """A claim with a `trials` parameter, from the catalogue."""
    return next(entry.name for entry in catalogue().claims.values() if "trials" in entry.parameters)
