"""The PyTorch side of the two-layer sweep: as its users write it, and at its best. Speaks JSON lines."""

import json
import os
import sys
import time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
SAMPLES, INPUTS, WIDTH, RATES = 100, 20, 64, 40


def problem(seed, networks):
    draw = np.random.default_rng(seed)
    inputs = draw.standard_normal((SAMPLES, INPUTS)) / np.sqrt(INPUTS)
    arrays = {
        "inputs": inputs,
        "labels": np.sin(2 * inputs.sum(1)),
        "first": draw.standard_normal((networks, INPUTS, WIDTH)),
        "second": draw.standard_normal((networks, WIDTH)) / np.sqrt(WIDTH),
        "rates": np.geomspace(0.01, 0.2, RATES)[np.arange(networks) % RATES],
    }
    return {name: torch.tensor(array, dtype=torch.float32) for name, array in arrays.items()}


def loop(data, steps, count):
    """One network after the other, one optimizer step after the other; only `count` of them."""
    losses = []
    for i in range(count):
        first = data["first"][i].clone().requires_grad_()
        second = data["second"][i].clone().requires_grad_()
        optimizer = torch.optim.SGD([first, second], lr=float(data["rates"][i]))
        for _ in range(steps):
            optimizer.zero_grad()
            loss = ((torch.tanh(data["inputs"] @ first) @ second - data["labels"]) ** 2).mean()
            loss.backward()
            optimizer.step()
        losses.append(loss_of((first, second), data["inputs"], data["labels"]).item())
    return torch.tensor(losses)


def loss_of(parameters, inputs, labels):
    first, second = parameters
    return ((torch.tanh(inputs @ first) @ second - labels) ** 2).mean()


SLOPES = torch.func.vmap(torch.func.grad(loss_of), (0, None, None))


def func(data, steps):
    """All networks at once by torch.func."""
    first, second, rates = data["first"], data["second"], data["rates"]
    with torch.no_grad():
        for _ in range(steps):
            one, two = SLOPES((first, second), data["inputs"], data["labels"])
            first = first - rates[:, None, None] * one
            second = second - rates[:, None] * two
        return torch.func.vmap(loss_of, (0, None, None))((first, second), data["inputs"], data["labels"])


def step(first, second, inputs, labels, rates):
    """One gradient step of all networks with the derivative written out, in batched matrix products."""
    networks = first.shape[0]
    hidden = torch.tanh(
        (inputs @ first.permute(1, 0, 2).reshape(INPUTS, -1)).reshape(SAMPLES, networks, WIDTH)
    ).transpose(0, 1)
    residual = torch.bmm(hidden, second.unsqueeze(2)).squeeze(2) - labels
    slope = 2 / SAMPLES * residual
    back = slope.unsqueeze(2) * second.unsqueeze(1) * (1 - hidden * hidden)
    two = torch.bmm(slope.unsqueeze(1), hidden).squeeze(1)
    one = (inputs.T @ back.transpose(0, 1).reshape(SAMPLES, -1)).reshape(INPUTS, networks, WIDTH).permute(1, 0, 2)
    return first - rates[:, None, None] * one, second - rates[:, None] * two


COMPILED = torch.compile(step)


def by_hand(data, steps, advance):
    first, second = data["first"], data["second"]
    with torch.no_grad():
        for _ in range(steps):
            first, second = advance(first, second, data["inputs"], data["labels"], data["rates"])
        return torch.func.vmap(loss_of, (0, None, None))((first, second), data["inputs"], data["labels"])


VARIANTS = {
    "func": func,
    "bmm": lambda data, steps: by_hand(data, steps, step),
    "compiled": lambda data, steps: by_hand(data, steps, COMPILED),
}


def main():
    print(json.dumps({"versions": f"torch {torch.__version__}, Python {sys.version.split()[0]}"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        data = problem(request["seed"], request["networks"])
        steps, looped = request["steps"], request["looped"]
        start = time.perf_counter()
        if request["variant"] == "loop":
            losses = loop(data, steps, looped)
            seconds = (time.perf_counter() - start) * request["networks"] / looped
        else:
            losses = VARIANTS[request["variant"]](data, steps)
            seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "value": losses[:looped].tolist()}), flush=True)


main()
