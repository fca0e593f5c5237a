"""The type checker, as a test: it takes minutes of one core, which the other tests share with it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_types_fit():
    done = subprocess.run([sys.executable, "-m", "pyright", "--stats"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
