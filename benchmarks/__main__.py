"""`python -m benchmarks [NAME]…`: run benchmarks and print their tables."""

import importlib
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
    "colour_refinement",
    "clustering",
    "adversarial",
)


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    for name in chosen:
        if name not in NAMES:
            print(f"no benchmark is called {name!r}; there are {', '.join(NAMES)}", file=sys.stderr)
            return 2
    for name in chosen:
        print(importlib.import_module(f"benchmarks.{name}").main())
    return 0


sys.exit(main())
