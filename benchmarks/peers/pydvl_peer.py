"""pyDVL's side of the benchmarks of influence and of Data Shapley, as its documentation uses it."""

import json
import os
import sys
import time
from importlib.metadata import version

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from joblib import parallel_config
from pydvl.influence.torch import CgInfluence  # pyright: ignore[reportMissingImports]
from pydvl.influence.torch.batch_operation import TorchBatch  # pyright: ignore[reportMissingImports]
from pydvl.valuation import (  # pyright: ignore[reportMissingImports]
    Dataset,
    MinUpdates,
    ModelUtility,
    PermutationSampler,
    ShapleyValuation,
    SupervisedScorer,
)
from sklearn.linear_model import Ridge  # pyright: ignore[reportMissingImports]
from torch.utils.data import DataLoader, TensorDataset  # pyright: ignore[reportMissingImports]

THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))
torch.set_num_threads(THREADS)
CACHE = {}


def network(path):
    """The network and its data, with the weights that our side wrote."""
    if path not in CACHE:
        held = np.load(path)
        layers = []
        for i in range(sum(name.startswith("w") for name in held.files)):
            layer = torch.nn.Linear(*held[f"w{i}"].shape[::-1])
            layer.weight.data, layer.bias.data = torch.tensor(held[f"w{i}"]), torch.tensor(held[f"b{i}"])
            layers += [layer, torch.nn.Tanh()]
        pairs = [(torch.tensor(held[f"{part}x"]), torch.tensor(held[f"{part}y"]).long()) for part in ("", "test_")]
        CACHE[path] = torch.nn.Sequential(*layers[:-1]), *pairs
    return CACHE[path]


def influence(request):
    model, (x, y), (test_x, test_y) = network(request["path"])
    count = request["tests"]
    start = time.perf_counter()
    solver = CgInfluence(
        model,
        torch.nn.functional.cross_entropy,
        regularization=request["damping"],
        rtol=request["tolerance"] ** 0.5,  # pyDVL stops where |residual| < rtol²·|right side|
        atol=0.0,
        maxiter=1000,
        solve_simultaneously=True,
    )
    solver = solver.fit(DataLoader(TensorDataset(x, y), batch_size=len(x)))
    factors = solver.influence_factors(test_x[:count], test_y[:count])
    found = solver.influences_from_factors(factors, x, y)
    seconds = time.perf_counter() - start
    (part,) = solver.block_mapper.composable_block_dict.values()
    sides = part.gp.flat_grads(TorchBatch(test_x[:count], test_y[:count]))
    left = sides - part.op.operator.apply(factors) - request["damping"] * factors
    residual = (left.norm(dim=1) / sides.norm(dim=1)).max().item()
    # Their influence is that of the loss's fall, ours that of the loss. The last row is the worst residual.
    return seconds, [*(-found.detach().numpy()).tolist(), [residual] * len(x)]


class BareRidge:
    """Ridge regression by its normal equations, with nothing around them: the least that a model can cost pyDVL."""

    def __init__(self, ridge):
        self.ridge = ridge

    def fit(self, x, y):
        self.weights = np.linalg.solve(x.T @ x + self.ridge * np.eye(x.shape[1]), x.T @ y)
        return self

    def predict(self, x):
        return x @ self.weights

    def score(self, x, y):
        return -float(np.mean((self.predict(x) - y) ** 2))


def shapley(request):
    x, y, test_x, test_y = (np.asarray(request[name]) for name in ("x", "y", "test_x", "test_y"))
    bare = BareRidge(request["ridge"])
    model, scorer = (
        (bare, lambda model, x, y: model.score(x, y))
        if request["bare"]
        else (Ridge(alpha=request["ridge"], fit_intercept=False), "neg_mean_squared_error")
    )
    nobody = -float(np.mean(test_y**2))
    start = time.perf_counter()
    utility = ModelUtility(
        model,
        SupervisedScorer(scorer, Dataset(test_x, test_y), default=nobody),
        show_warnings=False,
        catch_errors=False,
        clone_before_fit=not request["bare"],
    )
    sampler = PermutationSampler(seed=request["seed"])
    valuation = ShapleyValuation(utility, sampler, MinUpdates(request["orders"]), progress=False)
    with parallel_config(n_jobs=THREADS):
        valuation.fit(Dataset(x, y))
    result = valuation.result
    values = np.empty(len(y))
    values[np.asarray(result.indices)] = np.asarray(result.values)
    return time.perf_counter() - start, values.tolist()


named = ", ".join(f"{name} {version(name)}" for name in ("pydvl", "torch", "scikit-learn"))
print(json.dumps({"versions": named}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    seconds, value = {"influence": influence, "shapley": shapley}[request["work"]](request)
    print(json.dumps({"seconds": seconds, "value": value}), flush=True)
