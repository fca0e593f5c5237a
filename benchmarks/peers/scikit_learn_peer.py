"""The scikit-learn side of the ℓ1-path benchmark, as its users write it. Speaks JSON lines."""

import json
import sys
import time
from importlib.metadata import version

import numpy as np
from sklearn.linear_model import lars_path  # pyright: ignore[reportMissingImports]


def main():
    versions = f"scikit-learn {version('scikit-learn')}, NumPy {np.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        draw, columns = np.random.default_rng(request["seed"]), request["columns"]
        rows = 2 * columns // 5
        design, labels = draw.standard_normal((rows, columns)), draw.standard_normal(rows)
        start = time.perf_counter()
        levels, _, weights = lars_path(design, labels, method="lasso")
        seconds = time.perf_counter() - start
        at = np.asarray(request["shares"]) * levels[0]
        value = [np.interp(at, levels[::-1], column[::-1]).tolist() for column in weights]
        print(json.dumps({"seconds": seconds, "value": np.transpose(value).tolist()}), flush=True)


main()
