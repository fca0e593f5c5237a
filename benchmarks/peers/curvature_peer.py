"""PyTorch's side of the curvature benchmark: curvlinops and hessian-eigenthings, as their documentation uses them."""

import json
import os
import sys
import time
from importlib.metadata import version

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from curvlinops import HessianLinearOperator  # pyright: ignore[reportMissingImports]
from curvlinops.papyan2020traces.spectrum import (  # pyright: ignore[reportMissingImports]
    lanczos_approximate_spectrum,
)
from hessian_eigenthings import (  # pyright: ignore[reportMissingImports]
    HessianOperator,
    lanczos,
    spectral_density,
    supervised_loss,
)
from scipy.sparse.linalg import eigsh

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
CACHE = {}


def network(path):
    """The network and its data, with the weights that our side wrote."""
    if path not in CACHE:
        held = np.load(path)
        layers = []
        for i in range(len(held.files) // 2 - 1):
            layer = torch.nn.Linear(*held[f"w{i}"].shape[::-1])
            layer.weight.data, layer.bias.data = torch.tensor(held[f"w{i}"]), torch.tensor(held[f"b{i}"])
            layers += [layer, torch.nn.Tanh()]
        data = [(torch.tensor(held["x"]), torch.tensor(held["y"]).long())]
        CACHE[path] = torch.nn.Sequential(*layers[:-1]), data
    return CACHE[path]


def products(apply, size, count):
    vectors = torch.randn(count, size)
    apply(vectors[0])
    start = time.perf_counter()
    for vector in vectors:
        apply(vector)
    return time.perf_counter() - start


def answer(request):
    model, data = network(request["path"])
    parameters = list(model.parameters())
    criterion = torch.nn.CrossEntropyLoss()
    first = HessianLinearOperator(model, criterion, parameters, data, check_deterministic=False)
    second = HessianOperator(model, data, supervised_loss(criterion))
    work, who, count = request["work"], request["who"], request["count"]
    if work == "products":
        apply = (lambda v: first @ v) if who == "curvlinops" else second.matvec
        return products(apply, sum(p.numel() for p in parameters), count), 0.0
    start = time.perf_counter()
    if work == "eigenpairs" and who == "curvlinops":
        values = np.sort(eigsh(first.to_scipy(), k=count, which="LA", tol=1e-4)[0])[::-1]
    elif work == "eigenpairs":
        found = lanczos(second, k=count, which="LA", max_iter=request["steps"], reorthogonalize=True, seed=0)
        values = np.sort(np.asarray(found.eigenvalues))[::-1]
    elif who == "curvlinops":
        grid, _ = lanczos_approximate_spectrum(first, request["steps"], num_repeats=count, num_points=512, margin=0.0)
        values = grid[-1].numpy()
    else:
        found = spectral_density(second, num_runs=count, lanczos_steps=request["steps"], num_grid_points=512, seed=0)
        values = found.raw_eigenvalues.max().numpy()
    return time.perf_counter() - start, values.tolist()


named = ", ".join(f"{name} {version(name)}" for name in ("torch", "curvlinops-for-pytorch", "hessian-eigenthings"))
print(json.dumps({"versions": named}), flush=True)
for line in sys.stdin:
    seconds, value = answer(json.loads(line))
    print(json.dumps({"seconds": seconds, "value": value}), flush=True)
