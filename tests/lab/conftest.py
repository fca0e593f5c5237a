"""Makes the example claims importable as `lab_example`, also in workers."""

import importlib.util
import sys
from pathlib import Path

if "lab_example" not in sys.modules:
    spec = importlib.util.spec_from_file_location("lab_example", Path(__file__).with_name("example.py"))
    example = importlib.util.module_from_spec(spec)
    sys.modules["lab_example"] = example
    spec.loader.exec_module(example)
