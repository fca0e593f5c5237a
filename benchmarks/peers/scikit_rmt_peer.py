"""The scikit-rmt side of the Marchenko–Pastur benchmark, as its users write it. Speaks JSON lines."""

import json
import sys
import time
from importlib.metadata import version

import numpy as np
from skrmt.ensemble.spectral_law import MarchenkoPasturDistribution  # pyright: ignore[reportMissingImports]

SHOWN = 64


def inputs(work, size, seed, ratio):
    draw = np.random.default_rng(seed)
    if work == "ppf":
        return draw.uniform(size=size)
    low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
    return draw.uniform(low, high, size)


def main():
    versions = f"scikit-rmt {version('scikit-rmt')}, NumPy {np.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        law, work = MarchenkoPasturDistribution(ratio=request["ratio"]), request["work"]
        if "points" in request:
            with np.errstate(all="ignore"):
                value = np.asarray(getattr(law, work)(np.asarray(request["points"])))
            print(json.dumps({"seconds": 0.0, "value": np.nan_to_num(value, nan=1e300).tolist()}), flush=True)
            continue
        x = inputs(work, request["size"], request["seed"], request["ratio"])
        count = request.get("count", request["size"])
        start = time.perf_counter()
        value = getattr(law, work)(x[:count])
        seconds = (time.perf_counter() - start) * request["size"] / count
        print(json.dumps({"seconds": seconds, "value": np.asarray(value[:SHOWN]).tolist()}), flush=True)


main()
