"""The tests of neural-tangents, run on the facade: `python -m benchmarks.neural_tangents_suite CHECKOUT [FILE…]`.

CHECKOUT is a local copy of its repository, version 0.6.5; `empirical_test` needs Flax besides, `stax.linear_test`
more_itertools. Its tests and examples are imported as they are, with `neural_tangents` standing for
`deeptheory.neural_tangents`. Of every grid of parameters some cases are run, drawn as the suite itself draws them, the
same in every run. A failure counts as a documented difference where a line of docs/neural-tangents.md explains it, by
what is raised or by which test it is; anything else makes the exit status 1. On a CPU the suite skips what it calls
large tests, for speed: `--unskipped` runs them too.
"""

import argparse
import importlib
import os
import re
import sys
import time
import types
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from deeptheory.data.handwriting import digits

FILES = (
    "stax.combinators_test",
    "stax.branching_test",
    "stax.requirements_test",
    "stax.linear_test",
    "stax.elementwise_test",
    "stax.stax_test",
    "predict_test",
    "empirical_test",
    "batching_test",
    "monte_carlo_test",
    "weight_space_test",
    "function_space_test",
    "infinite_fcn_test",
    "elementwise_test",
    "elementwise_numerical_test",
    "empirical_ntk_test",
    "imdb_test",
)
"""All but `rules_test`, of the derivation rules inside its empirical kernels, and the TensorFlow part."""

OUTCOMES = ("passes", "documented differences", "skipped by the suite", "left out", "anything else")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "neural-tangents.md"

DIFFERENCES = {
    # what the page says: patterns, each of a test's name or of the last line of its traceback
    "`stax.requires`, `stax.Diagonal`, `stax.Bool`": [r"DiagonalClassTest", r"no attribute '(Bool|Diagonal|requires)'"],
    "**Kernels that cannot be inverted**": [r"kernel must be invertible with a ridge of 0"],
    "**Inputs that are zero**": [r"is zero, and a first layer without biases"],
    "cannot be called inside `jit`": [r"gradient_descent integrates on the host"],
    "masks in `stax.GlobalSelfAttention` with embedded values": [r"embedded values has no rule for missing ones"],
    "`stax.DotGeneral` over the batch": [r"DotGeneral acts on positions", r"kernel_fn has no argument batch_axis"],
    "`stax.ImageResize` over the batch or channels": [r"which are kept: their entries are -1"],
    "**Draws** of finite networks": [r"test_nonlineariy\d* [^\n]*\n.*Relative ERROR"],
    "tests of what is inside": [r"has no attribute '(_jit_or_pmap_broadcast|_sample_once_kernel_fn)'"],
}

ONE_ERROR = (2 / 512) ** 0.5
"""The relative standard error of a variance from 512 draws of one output: 6.3 %, where that test allows 6 %."""


def installed(checkout: Path, cases: int) -> None:
    """Let the suite find its own tests, and this library under the name that it imports."""
    sys.path.insert(0, str(checkout))
    os.environ["NT_NUM_GENERATED_CASES"] = str(cases)
    facade = importlib.import_module("deeptheory.neural_tangents")
    for name in ("", ".stax", ".predict"):
        sys.modules["neural_tangents" + name] = importlib.import_module("deeptheory.neural_tangents" + name)
    inside: dict[str, dict[str, Any]] = {
        "": {},
        ".batching": {
            "batch": facade.batch,
            "_serial": lambda kernel_fn, batch_size, **options: facade.batch(kernel_fn, batch_size, 0, **options),
            "_parallel": lambda kernel_fn, use_serial=True, device_count=-1: facade.batch(kernel_fn, 0, device_count),
        },
        ".monte_carlo": {"monte_carlo_kernel_fn": facade.monte_carlo_kernel_fn},
        ".empirical": {"_DEFAULT_TESTING_NTK_IMPLEMENTATION": facade.NtkImplementation.JACOBIAN_CONTRACTION},
        ".predict": {"_is_on_cpu": lambda tree: jax.default_backend() == "cpu"},
        ".utils": {},
    }
    for name, content in inside.items():
        module = types.ModuleType("neural_tangents._src" + name)
        module.__dict__.update(content, __path__=[])
        sys.modules[module.__name__] = module
        if name:
            setattr(sys.modules["neural_tangents._src"], name[1:], module)
    datasets = types.ModuleType("examples.datasets")
    datasets.__dict__.update(get_dataset=get_dataset, minibatch=minibatch)
    sys.modules[datasets.__name__] = datasets
    # What tests compute their expectations with is the suite's own, whichever of it still imports.
    source = checkout / "neural_tangents" / "_src" / "utils"
    sys.modules["neural_tangents._src.utils"].__path__ = [str(source)]
    jax.tree_map = jax.tree.map  # type: ignore[attr-defined]  # the suite is older than its removal


def get_dataset(name: str, n_train: int = 3000, n_test: int = 1000, **options: Any) -> tuple[Any, ...]:
    """Return handwritten digits, of unit scale and with one column a class, whichever images an example asks for."""
    data = digits(n_train, n_test)

    def scaled(images: Any) -> Any:
        wide = images.reshape(-1, 14, 14).repeat(2, 1).repeat(2, 2).reshape(-1, 784).astype(np.float32)
        return (wide - wide.mean()) / wide.std()

    labels = (np.eye(10, dtype=np.float32)[each] for each in (data.train_labels, data.test_labels))
    return scaled(data.train_images), next(labels), scaled(data.test_images), next(labels)


def minibatch(x: Any, y: Any, batch_size: int, train_epochs: int) -> Iterator[tuple[Any, Any]]:
    for _ in range(train_epochs):
        for start in range(0, len(x) - batch_size + 1, batch_size):
            yield x[start : start + batch_size], y[start : start + batch_size]


def cases_of(file: str) -> Iterator[unittest.TestCase]:
    module = importlib.import_module(f"tests.{file}")
    # A setting by which the suite watches its own code; ours broadcasts on purpose.
    jax.config.update("jax_numpy_rank_promotion", "allow")
    for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
        yield from suite  # type: ignore[misc]


def by_chance(trace: str) -> bool:
    """Say whether the draws of `test_nonlineariy` explain a failure: of the covariance, within five standard errors.

    Its tangent kernel is a mean over a width of 1024 besides, so that there draws do not err by as much as it allows.
    """
    error = re.search(r"Relative ERROR: ', ([-+.\de]+)", trace)
    return "k_mc.nngp, k.nngp" in trace and error is not None and float(error[1]) < 5 * ONE_ERROR


def explained(name: str, trace: str) -> str | None:
    """Return the line of the page that explains a failure."""
    last = [line for line in trace.strip().splitlines() if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    text = name + "\n" + "\n".join(last)
    found = next((line for line, patterns in DIFFERENCES.items() if any(re.search(p, text) for p in patterns)), None)
    return None if found and "Draws" in found and not by_chance(trace) else found


def run(case: unittest.TestCase) -> tuple[str, str]:
    """Return what became of a test, and why."""
    result = unittest.TestResult()
    case.run(result)
    if result.skipped:
        return "skipped by the suite", result.skipped[0][1]
    if not result.errors and not result.failures:
        return "passes", ""
    reasons = {trace: explained(case.id(), trace) for _, trace in (*result.errors, *result.failures)}
    if None not in reasons.values():
        return "documented differences", str(next(iter(reasons.values())))
    return "anything else", next(trace for trace, reason in reasons.items() if reason is None)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests of neural-tangents on the facade.")
    parser.add_argument("checkout", type=Path, help="a local copy of the neural-tangents repository")
    parser.add_argument("files", nargs="*", default=FILES, help="test files, as stax.linear_test")
    parser.add_argument("--cases", type=int, default=2, help="cases drawn from every grid of parameters (2)")
    parser.add_argument("--unskipped", action="store_true", help="run what the suite skips on a CPU for speed, too")
    parser.add_argument("--without", action="append", default=[], help="a case to leave out, as testPredictND")
    arguments = parser.parse_args()
    if not (arguments.checkout / "tests" / "test_utils.py").exists():
        parser.error(f"{arguments.checkout} is not a checkout of neural-tangents: it has no tests/test_utils.py")
    sys.argv = sys.argv[:1]  # the suite reads flags
    installed(arguments.checkout, arguments.cases)
    if arguments.unskipped:
        importlib.import_module("tests.test_utils").skip_test = lambda *args, **kwargs: None  # type: ignore[attr-defined]
    counts, lines = Counter(), Counter()
    missing = [line for line in DIFFERENCES if line not in PAGE.read_text()]
    if missing:
        parser.error(f"the page does not say {', '.join(missing)}")
    for file in arguments.files:
        for case in cases_of(file):
            begin = time.perf_counter()
            left_out = any(name in case.id() for name in arguments.without)
            outcome, why = ("left out", "by name") if left_out else run(case)
            counts[outcome] += 1
            lines[why] += outcome == "documented differences"
            shown = "" if outcome == "passes" else why.strip().splitlines()[-1][:160]
            print(f"{time.perf_counter() - begin:6.1f} s  {outcome:24}{case.id().split(' ')[0]}  {shown}", flush=True)
            if outcome == "anything else":
                print(why, flush=True)
        jax.clear_caches()
    print("\n".join(f"{count:5}  {line}" for line, count in lines.items() if count))
    print(", ".join(f"{outcome}: {counts[outcome]}" for outcome in OUTCOMES))
    return 1 if counts["anything else"] else 0


if __name__ == "__main__":
    sys.exit(main())
