"""`python -m benchmarks [--one-thread] [NAME]…`: run benchmarks and print their tables.

With `--one-thread` all sides have one thread and seconds are those that the processor worked for them, not those that
passed: for machines that other programs share.
"""

import importlib
import os
import sys

NAMES = (
    "two_layer_nets",
    "throughput",
    "kernels",
    "marchenko_pastur",
    "curvature",
    "influence",
    "shapley",
    "l1_path",
    "max_margin",
    "decoding",
    "character_model",
    "scaling_law",
    "colour_refinement",
    "clustering",
    "adversarial",
    "single_index",
)


def main() -> int:
    words = sys.argv[1:]
    if "--one-thread" in words:
        words.remove("--one-thread")
        os.environ["BENCHMARK_THREADS"] = "1"
    chosen = words or NAMES
    for name in chosen:
        if name not in NAMES:
            print(f"no benchmark is called {name!r}; there are {', '.join(NAMES)}", file=sys.stderr)
            return 2
    for name in chosen:
        print(importlib.import_module(f"benchmarks.{name}").main())
    return 0


sys.exit(main())
