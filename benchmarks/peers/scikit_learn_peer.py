"""The scikit-learn side of the hard-margin benchmark, as its users write it. Speaks JSON lines."""

import json
import sys
import time
from importlib.metadata import version

import numpy as np
from sklearn.svm import SVC, LinearSVC  # pyright: ignore[reportMissingImports]

PENALTY = 1e10
"""So large that no point is given up: the hard margin."""


def fitted(solver, points):
    """The separator through the origin; two classes are made of the points and their mirror images."""
    inputs, labels = np.vstack([points, -points]), np.repeat([1, -1], len(points))
    if solver == "svc":
        model = SVC(kernel="linear", C=PENALTY, tol=1e-8, cache_size=1000)
    else:
        model = LinearSVC(loss="hinge", C=PENALTY, fit_intercept=False, tol=1e-8, max_iter=100_000)
    return model.fit(inputs, labels).coef_[0]


def main():
    versions = f"scikit-learn {version('scikit-learn')}, NumPy {np.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        points = np.asarray(request["points"])
        start = time.perf_counter()
        vector = fitted(request["solver"], points)
        print(json.dumps({"seconds": time.perf_counter() - start, "value": vector.tolist()}), flush=True)


main()
