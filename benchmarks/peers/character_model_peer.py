"""The PyTorch side of the character transformer: GPT-2's shape with fused attention and Adam. Speaks JSON lines."""

import json
import os
import sys
import time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
import torch.nn.functional as F  # pyright: ignore[reportMissingImports]

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
COMPILED = {}


class Decoder(torch.nn.Module):
    """A stack of causal blocks with the parameters of a GPT-2 file, by their names."""

    def __init__(self, arrays, layers, heads):
        super().__init__()
        self.names = {name: name.replace(".", "_") for name in arrays}
        for name, safe in self.names.items():
            self.register_parameter(safe, torch.nn.Parameter(torch.tensor(arrays[name])))
        self.layers, self.heads = layers, heads

    def of(self, name):
        return getattr(self, self.names[name])

    def linear(self, x, name):
        return x @ self.of(f"{name}.weight") + self.of(f"{name}.bias")

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.of(f"{name}.weight"), self.of(f"{name}.bias"), 1e-5)

    def forward(self, windows):
        ids, next_ids = windows[:, :-1], windows[:, 1:]
        rows, length = ids.shape
        x = self.of("wte.weight")[ids] + self.of("wpe.weight")[:length]
        for layer in range(self.layers):
            mapped = self.linear(self.norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn")
            parts = (each.view(rows, length, self.heads, -1).transpose(1, 2) for each in mapped.chunk(3, dim=-1))
            seen = F.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.linear(seen.transpose(1, 2).reshape(rows, length, -1), f"h.{layer}.attn.c_proj")
            inner = F.gelu(self.linear(self.norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc"), approximate="tanh")
            x = x + self.linear(inner, f"h.{layer}.mlp.c_proj")
        logits = self.norm(x, "ln_f") @ self.of("wte.weight").T
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), next_ids.reshape(-1))


def trained(model, loss_of, text, request):
    draw = torch.Generator().manual_seed(request["seed"])
    optimizer = torch.optim.Adam(model.parameters(), lr=request["rate"], fused=True)
    steps, window = request["steps"], request["window"]
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = request["rate"] * (0.55 + 0.45 * np.cos(np.pi * step / steps))
        starts = torch.randint(len(text) - window, (request["rows"], 1), generator=draw)
        optimizer.zero_grad(set_to_none=True)
        loss_of(text[starts + torch.arange(window + 1)]).backward()
        optimizer.step()


def held_out_loss(model, text, rows, window):
    count = (len(text) - 1) // window
    windows = text[(torch.arange(count - count % rows) * window)[:, None] + torch.arange(window + 1)]
    with torch.no_grad():
        return torch.stack([model(each) for each in windows.split(rows)]).mean().item()


def main():
    print(json.dumps({"versions": f"torch {torch.__version__}, Python {sys.version.split()[0]}"}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        arrays = dict(np.load(request["path"]))
        text, held_out = (torch.tensor(arrays.pop(name)).long() for name in ("text", "held_out"))
        arrays = {name: array for name, array in arrays.items() if array.dtype == np.float32}
        model = Decoder(arrays, request["layers"], request["heads"])
        loss_of = model
        begun = time.perf_counter()
        if request["variant"] == "compiled":
            # Compiled once for a size: later turns put their weights into the model that is there.
            model, loss_of = COMPILED.setdefault(request["path"], (model, torch.compile(model)))
            with torch.no_grad():
                for name, safe in model.names.items():
                    getattr(model, safe).copy_(torch.tensor(arrays[name]))
        trained(model, loss_of, text, request)
        seconds = time.perf_counter() - begun
        value = held_out_loss(model, held_out, request["rows"], request["window"])
        print(json.dumps({"seconds": seconds, "value": value}), flush=True)


main()
