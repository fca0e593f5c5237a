"""The foolbox side of the attack on a convolutional network: PyTorch on the processor. Speaks JSON lines."""

import json
import os
import sys
import time
from pathlib import Path

import foolbox  # pyright: ignore[reportMissingImports]
import numpy as np
import torch  # pyright: ignore[reportMissingImports]

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
GROUP = 250
"""images at once: of 25, 50, 100, 250 and 1,000 the quickest"""


def network(folder):
    """The same network: kernels are (new map, 5, 5, old map) there and (new map, old map, 5, 5) here."""
    held = {name: torch.tensor(array) for name, array in np.load(Path(folder) / "network.npz").items()}

    first, second = (held[name].permute(0, 3, 1, 2).contiguous() for name in ("first", "second"))
    layers = [torch.nn.Conv2d(k.shape[1], k.shape[0], 5, stride=2) for k in (first, second)]
    head = torch.nn.Linear(held["head"].shape[0], 10)
    maps = second.shape[0]
    with torch.no_grad():
        for layer, weight, name in zip(layers, (first, second), ("first_bias", "second_bias"), strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(held[name])
        head.weight.copy_(held["head"].reshape(-1, maps, 10).permute(1, 0, 2).reshape(-1, 10).T)
        head.bias.copy_(held["head_bias"])
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), torch.nn.Flatten(), head)
    for parameter in model.parameters():
        parameter.requires_grad_(False)  # no gradient by the weights: the peer at its best
    return model.eval()


def main():
    versions = f"foolbox {foolbox.__version__}, torch {torch.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        held = np.load(Path(request["folder"]) / "images.npz")
        images, labels = torch.tensor(held["images"]), torch.tensor(held["labels"]).long()
        model = foolbox.PyTorchModel(network(request["folder"]), bounds=(0, 1), device="cpu")
        torch.manual_seed(request["seed"])
        radius = request["radius"]
        attack = foolbox.attacks.LinfPGD(steps=request["steps"], abs_stepsize=radius / 10, random_start=True)
        start = time.perf_counter()
        parts = zip(images.split(GROUP), labels.split(GROUP), strict=True)
        fooled = torch.cat([attack(model, *part, epsilons=radius)[2] for part in parts])
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "value": fooled.float().mean().item()}), flush=True)


main()
