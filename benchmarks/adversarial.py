"""Attacking and certifying a small convolutional network on MNIST, beside foolbox and beside bare forward passes.

`python -m benchmarks adversarial` needs mnist.npz in the folder that DEEPTHEORY_DATA names. Both sides get the weights
of one network, trained here for a moment, the same 1,000 test images, radius, 40 sign steps and a random start, and
must reach the same share of fooled images. Certification is ours only: 100 images with 10,000 noise draws each, beside
the forward passes of as many images alone; the draws are shared by the images, so that noise costs next to nothing.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.harness import Contender, Peer, compare, machine, mnist_file, threads
from deeptheory.architectures.feature_maps import correlate_images, init_convolution
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.robustness.attacks import ascend
from deeptheory.robustness.smoothing import certify, shared_votes
from deeptheory.robustness.threats import Threat

RADIUS, STEPS, GROUP, BETA = 0.1, 40, 100, 0.25
MAPS = (16, 32)


def mnist():
    held = np.load(mnist_file())
    rows = {name: held[name].reshape(len(held[name]), -1).astype(np.float32) / 255 for name in ("x_train", "x_test")}
    return rows["x_train"], held["y_train"].astype(np.int32), rows["x_test"], held["y_test"].astype(np.int32)


def network(weights, rows):
    """Two convolutions with 5×5 windows and stride 2 and a dense layer, ReLU between; rows of pixels to ten logits."""
    x = rows.reshape(-1, 28, 28, 1)
    for name in ("first", "second"):
        x = jax.nn.relu(correlate_images(x, weights[name], weights[f"{name} bias"], stride=2))
    return x.reshape(len(x), -1) @ weights["head"] + weights["head bias"]


def drawn(seed=0):
    keys = jax.random.split(jax.random.key(seed))
    sizes = ((1, MAPS[0]), MAPS)
    first, second = (init_convolution(key, *size, 5, stride=2) for key, size in zip(keys, sizes, strict=True))
    head = np.random.default_rng(seed).standard_normal((16 * MAPS[1], 10)) / np.sqrt(8 * MAPS[1])
    weights = {"first": first.kernels, "first bias": first.bias, "second": second.kernels, "second bias": second.bias}
    weights |= {"head": head, "head bias": np.zeros(10)}
    return {name: jnp.asarray(array, jnp.float32) for name, array in weights.items()}


@jax.jit
def trained(weights, images, labels):
    optimizer = optax.adam(2e-3)

    def step(state, batch):
        weights, memory = state
        slopes = jax.grad(lambda w: jnp.mean(label_cross_entropy(network(w, batch[0]), batch[1])))(weights)
        change, memory = optimizer.update(slopes, memory)
        return (optax.apply_updates(weights, change), memory), None

    batches = (images.reshape(-1, 100, 784), labels.reshape(-1, 100))
    return jax.lax.scan(step, (weights, optimizer.init(weights)), batches)[0][0]


@jax.jit
def attacked(weights, images, starts, labels):
    """Images in groups, so that a group's layers stay in the processor's cache."""

    def group(entry):
        rows, start, own = entry
        threat = Threat(RADIUS, np.inf, 0.0, 1.0)
        objective = lambda x: label_cross_entropy(network(weights, x), own)  # noqa: E731
        points = ascend(objective, rows, threat, start=start, steps=STEPS, step_size=RADIUS / 10).points
        return jnp.argmax(network(weights, points), axis=1) != own

    shape = (-1, GROUP)
    parts = (images.reshape(*shape, 784), starts.reshape(*shape, 784), labels.reshape(shape))
    return jnp.mean(jax.lax.map(group, parts))


@jax.jit
def bare(weights, images, copies):
    """Forward passes of `copies` in place of each image, as many at once as is quickest, and nothing else."""
    parts = copies.reshape(-1, 100, 784)

    def passes(image):
        return jax.lax.map(lambda part: jnp.sum(network(weights, part + image[0])), parts)

    return jax.lax.map(passes, images)


def certification(weights, images, labels, *, count=100, samples=10_000, rounds=3):
    """Seconds of certificates and of the forward passes in them, in turns."""
    answers = partial(network, weights)
    lines, images, labels = [], images[:count], labels[:count]
    for turn in range(rounds + 1):
        start = time.perf_counter()
        noise = np.random.default_rng(turn).standard_normal((samples + 100, 784), np.float32)
        counts = [shared_votes(answers, images, part, BETA) for part in (noise[:100], noise[100:])]
        found = certify(*counts, beta=BETA, delta=0.001)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        jax.block_until_ready(bare(weights, images, noise[100:]))
        alone = time.perf_counter() - start
        if turn:
            lines.append((ours, alone))
    ours, alone = (min(column) for column in zip(*lines, strict=True))
    right = np.mean(found.label == labels)
    return (
        f"### Certificates of {count} images, {samples:,} draws each\n\n{machine()}; {threads()}.\n\n"
        "| certificates | forward passes alone | ratio | certified rightly | mean radius |\n"
        "| ---: | ---: | ---: | ---: | ---: |\n"
        f"| {ours:.2f} s | {alone:.2f} s | {ours / alone:.2f} | {right:.2f} | {found.radius.mean():.3f} |\n"
    )


def main(sizes=(1000,), rounds=3) -> str:
    images, labels, fresh, answers = mnist()
    weights = trained(drawn(), images[:30_000], labels[:30_000])
    folder = Path(tempfile.mkdtemp())
    np.savez(folder / "network.npz", **{name.replace(" ", "_"): np.asarray(array) for name, array in weights.items()})

    def ours(size, turn):
        noise = np.random.default_rng(turn).uniform(-RADIUS, RADIUS, (size, 784)).astype(np.float32)
        x, y = fresh[:size], answers[:size]
        start = time.perf_counter()
        share = float(attacked(weights, x, np.clip(x + noise, 0, 1), y))
        return time.perf_counter() - start, share

    peer = Peer("foolbox")
    try:

        def theirs(size, turn):
            np.savez(folder / "images.npz", images=fresh[:size].reshape(size, 1, 28, 28), labels=answers[:size])
            return peer.ask(folder=str(folder), radius=RADIUS, steps=STEPS, seed=turn)

        contenders = [
            Contender("deeptheory", f"jax {jax.__version__}", ours),
            Contender("foolbox LinfPGD", peer.versions, theirs),
        ]
        title = f"{STEPS} projected sign steps of size {RADIUS / 10:g} in a ball of {RADIUS:g}, images of MNIST"
        table = compare(title, contenders, sizes, rounds=rounds, tolerance=0.02)
    finally:
        peer.close()
    return table + "\n" + certification(weights, fresh, answers)
