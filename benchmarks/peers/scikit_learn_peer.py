"""The scikit-learn side of the ℓ1-path and hard-margin benchmarks, as its users write it. Speaks JSON lines."""

import json
import sys
import time
from importlib.metadata import version

import numpy as np
from sklearn.linear_model import lars_path  # pyright: ignore[reportMissingImports]
from sklearn.svm import SVC, LinearSVC  # pyright: ignore[reportMissingImports]

PENALTY = 1e10
"""So large that no point is given up: the hard margin."""


def path(request):
    """The breakpoints of the lasso, but for the last, and its weights at shares of the largest penalty, in one list."""
    draw, columns = np.random.default_rng(request["seed"]), request["columns"]
    rows = 2 * columns // 5
    design, labels = draw.standard_normal((rows, columns)), draw.standard_normal(rows)
    start = time.perf_counter()
    levels, _, weights = lars_path(design, labels, method="lasso", max_iter=100 * columns)  # 500 unless said: too few
    seconds = time.perf_counter() - start
    at = np.asarray(request["shares"]) * levels[0]
    between = np.transpose([np.interp(at, levels[::-1], column[::-1]) for column in weights])
    # Its levels are those of a mean over the rows, ours of a sum.
    return seconds, np.append(levels * rows, between)


def separator(request):
    """The hard-margin separator through the origin; two classes are made of the points and their mirror images."""
    points = np.asarray(request["points"])
    inputs, labels = np.vstack([points, -points]), np.repeat([1, -1], len(points))
    if request["solver"] == "svc":
        model = SVC(kernel="linear", C=PENALTY, tol=1e-8, cache_size=1000)
    else:
        model = LinearSVC(loss="hinge", C=PENALTY, fit_intercept=False, tol=1e-8, max_iter=100_000)
    start = time.perf_counter()
    vector = model.fit(inputs, labels).coef_[0]
    return time.perf_counter() - start, vector


def main():
    versions = f"scikit-learn {version('scikit-learn')}, NumPy {np.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        seconds, value = separator(request) if "solver" in request else path(request)
        print(json.dumps({"seconds": seconds, "value": value.tolist()}), flush=True)


main()
