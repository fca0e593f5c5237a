"""Networks that learn handwritten digits: what cutting the rate does, and smooth activations (arora 2.1, 2.6)."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval
from scipy.special import expit
from scipy.stats import norm

from deeptheory.data import digits
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.lab import Exact, Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row
from deeptheory.networks.mlp import MLP, init_mlp
from deeptheory.optimization.runs import measured_epochs
from deeptheory.optimization.stochastic import minibatches

BATCH, EPOCHS = 8, 5
"""Images a batch; epochs at one rate that are run in one call."""
WINDOW = 3
"""Epochs whose mean is compared."""
MARGIN = 0.02
"""Of accuracy: what counts as no loss."""


def cross_entropy(network, images, labels):
    return label_cross_entropy(network(images), labels).mean()


def started(key, widths, runs, **how):
    """Networks of standard size for images whose pixels are mostly dark."""
    drawn = init_mlp(key, widths, ensemble=(runs,), weight_scale=2**0.5, input_scale=0.4, **how)
    return jax.tree.map(jnp.float32, drawn)


@jax.jit
def phase(networks, order, rate, data):
    """Train every network at a rate for some epochs; training and test loss after each."""
    train, test = data

    def one(network, order):
        return measured_epochs(
            lambda network, batch: cross_entropy(network, train[0][batch], train[1][batch]),
            optax.sgd(rate),
            network,
            batches=order,
            measure=lambda network: jnp.stack([cross_entropy(network, *train), cross_entropy(network, *test)]),
        )

    return jax.vmap(one)(networks, order)


@claim(
    items={"A2.33": ("fall of the training loss at the cut", "few images: test loss up, training loss down")},
    says="Training by mini-batches at a large rate stalls; cut to a tenth, it brings the training loss to less than "
    "seven tenths within three epochs. With few images the test loss then rises slightly while the training loss "
    "goes on falling.",
    needs="a rate so large that its noise, not its slowness, holds the loss up",
    scale="printed: PreResNet32 on CIFAR-10, rate 1 cut at epochs 80 and 300, batches of 128; here: 49–12–10 ReLU "
    "networks on 1000 or 250 handwritten digits of 7 × 7 pixels, rate 6 cut after ten or five epochs, batches of 8",
    symbols={r"\text{a tenth}": "of the rate before"},
    why="Near a minimum a step of size η moves towards it by a share of order η and is kicked by noise of order η, so "
    "the loss stays above the least by something of order η. With a tenth of the rate most of that excess goes, within "
    "the few steps that forgetting takes. What remains to be learned from few images is to be surer of each of them, "
    "and the few test images that are taken for something else then cost more.",
    notice="The training loss falls off a cliff at the cut; runs that go on at the first rate do not follow. On the "
    "right, with few images, the test loss falls at the cut too, turns, and creeps up while the training loss sinks.",
)
def cutting_the_rate_lets_the_loss_fall(
    key, *, trials: Trials = 48, rate: Annotated[float, Interval(ge=4.0, le=8.0)] = 6.0
):
    drawn, shuffled = jax.random.split(key)
    start = started(drawn, (49, 12, 10), trials)
    steps = 1000 // BATCH
    order = minibatches(shuffled, examples=1000, batch=BATCH, steps=3 * EPOCHS * steps, runs=trials, replacement=False)
    order = order.reshape(trials, 3, EPOCHS, steps, BATCH)

    def trained(images, cuts, networks=start, first=0):
        """Runs whose rate is divided by each of `cuts` for some epochs; the last networks, and losses by epoch."""
        data, losses = few_or_many(images), []
        for part, cut in enumerate(cuts, first):
            networks, seen, _ = phase(networks, order[:, part], jnp.float32(rate / cut), data)
            losses.append(np.asarray(seen, float))
        return networks, np.concatenate(losses, 1)

    halfway, before = trained(1000, (1, 1))
    after, uncut = (trained(1000, (cut,), halfway, 2)[1] for cut in (10, 1))
    small = trained(250, (1, 10, 10))[1]

    def fall(later):
        """By which factor the training loss falls more than to seven tenths, in logarithms."""
        return np.log(0.7 * before[:, -WINDOW:, 0].mean(1) / later[:, :WINDOW, 0].mean(1))

    # From the first epochs after the cut to the last; the training loss by factors, as it comes near to zero.
    (early, sure), (late, surer) = (
        small[:, part].mean(1).T for part in (slice(EPOCHS, EPOCHS + WINDOW), slice(-WINDOW, None))
    )
    changes = np.stack([surer - sure, np.log(early / late)])
    curves = {"many": np.concatenate([before, after], 1).mean(0), "few": small.mean(0), "not cut": uncut.mean(0)}
    what = np.array(["rise of the test loss", "fall of the training loss"])
    return {
        "fall of the training loss at the cut": Trend(fall(after), aside={"not cut": fall(uncut)}),
        "few images: test loss up, training loss down": Trend(changes, along={"change": what}, aside=curves),
    }


def few_or_many(images):
    """A thousand rows either way, so that epochs are equally long: few images are there several times."""
    found = digits(images, 500, side=7)
    rows = np.tile(np.arange(images), 1000 // images)
    train = found.train_images[rows].astype(np.float32), found.train_labels[rows]
    return jax.tree.map(jnp.asarray, (train, (np.float32(found.test_images), found.test_labels)))


@cutting_the_rate_lets_the_loss_fall.control("the rate is not cut", of="fall of the training loss at the cut")
def went_on(evidence):
    return Trend(evidence.aside["not cut"])


@cutting_the_rate_lets_the_loss_fall.control(
    "the test loss falls with the training loss", of="few images: test loss up, training loss down"
)
def both_fall(evidence):
    return Trend(evidence.differences * np.array([[-1], [1]]))


@cutting_the_rate_lets_the_loss_fall.picture
def cliffs(pieces):
    """Mean losses by epoch, of 1000 images (left) and of 250 (right); where the line stands the rate is cut."""
    aside, panels = pieces["few images: test loss up, training loss down"].aside, []
    for kind, title in (("many", "1000 images"), ("few", "250 images, each four times an epoch")):
        epochs = np.arange(1, len(aside[kind]) + 1)
        names = ("training loss", "test loss")
        marks: list[Line | Level] = [
            Line(name, epochs, curve) for name, curve in zip(names, aside[kind].T, strict=True)
        ]
        marks.append(Level("rate cut", x=2 * EPOCHS if kind == "many" else EPOCHS))
        if kind == "many":
            later = np.arange(2 * EPOCHS + 1, 3 * EPOCHS + 1)
            marks.append(Line("training loss at the first rate", later, aside["not cut"][:, 0], rival="rate not cut"))
        panels.append(Curves(marks, x="epoch", y="cross entropy", log="y", title=title))
    return Row(panels)


ACTIVATIONS = {
    "ReLU": jax.nn.relu,
    "GELU": lambda x: jax.nn.gelu(x, approximate=False),
    "Swish": jax.nn.silu,
    "none": lambda x: x,
}


def written_slopes(x):
    """Derivatives written out; that of the ReLU at its kink is taken to be zero."""
    sigmoid = expit(x)
    return np.stack([x > 0, norm.cdf(x) + x * norm.pdf(x), sigmoid + x * sigmoid * (1 - sigmoid)])


@jax.jit
def compared_activations(networks, order, shares, data):
    """Train all networks with all activations, as sums with given shares so that one program serves all.

    Test accuracy after every epoch, and what the hidden nodes get before their activation.
    """
    (images, labels), (tests, answers) = data

    def one(network, order, shares):
        def activation(x) -> Any:
            return sum(share * function(x) for share, function in zip(shares, ACTIVATIONS.values(), strict=True))

        def with_it(parts):
            return MLP(parts[0], parts[1], activation, network.weight_scale, network.bias_scale, network.input_scale)

        def measure(parts):
            return jnp.mean(jnp.argmax(with_it(parts)(tests), 1) == answers), with_it(parts).preactivations(
                images[:200]
            )[0]

        loss = lambda parts, batch: cross_entropy(with_it(parts), images[batch], labels[batch])  # noqa: E731
        parts = network.weights, network.biases
        return measured_epochs(loss, optax.sgd(6.0), parts, batches=order, measure=measure).measured

    return jax.vmap(jax.vmap(one, (None, None, 0)), (0, 0, None))(networks, order, shares)


@claim(
    items={"A2.35": ("slopes of the activations", "kinks that training meets", "accuracy lost by smoothness")},
    says=r"Networks with the smooth activations GELU, $x\Phi(x)$, or Swish, $x/(1+e^{-x})$, classify fresh digits no "
    "worse than with ReLU, to within two points of a hundred. Training with ReLU crosses kinks all the time and never "
    "stands on one.",
    needs="training long enough: in its first epochs Swish is behind",
    scale="printed: deep networks of practice; here: 49–24–2 networks that tell odd from even digits",
    symbols={
        "x": "what a hidden node gets",
        r"\Phi": "the distribution function of a standard normal",
    },
    why="Where no node of a ReLU network gets exactly zero the loss is smooth, and its gradient is what "
    "backpropagation computes. The weights at which some node does get zero are a set of measure zero, and steps of a "
    "random size do not hit it. As functions the three activations are nearly one: apart by at most 0.28 in height.",
    notice="The three curves of accuracy come together; without an activation the network stays a linear rule. In "
    "every epoch some hidden nodes change side for some images, more of them in the beginning.",
)
def smooth_activations_lose_nothing(key, *, trials: Trials = 24):
    drawn, shuffled = jax.random.split(key)
    found = digits(1000, 1000, side=7)
    images = (
        (np.float32(found.train_images), found.train_labels % 2),
        (np.float32(found.test_images), found.test_labels % 2),
    )
    order = minibatches(shuffled, examples=1000, batch=20, steps=800, runs=trials, replacement=False)
    networks = started(drawn, (49, 24, 2), trials)
    order = order.reshape(trials, 16, 50, 20)
    accuracy, before = compared_activations(networks, order, jnp.eye(4, dtype=jnp.float32), images)
    accuracy, sides = np.asarray(accuracy, float), np.asarray(before[:, 0])
    lost = accuracy[:, 1:, -WINDOW:].mean(2).T - accuracy[:, 0, -WINDOW:].mean(1)
    crossed = np.mean((sides[:, 1:] > 0) != (sides[:, :-1] > 0), axis=(0, 2, 3))
    x = np.concatenate([[0.0], np.linspace(-4, 4, 64)])
    slopes = [np.asarray(jax.vmap(jax.grad(function))(jnp.asarray(x))) for function in ACTIVATIONS.values()]
    return {
        "slopes of the activations": Identity(
            np.stack(slopes[:3]), written_slopes(x), condition=10.0, aside={"sigmoid": expit(x)}
        ),
        "kinks that training meets": Exact(
            np.array([np.sum(sides == 0), np.sum(crossed == 0)]),
            np.zeros(2, int),
            along={"count": np.array(["nodes that get zero", "epochs without a crossing"])},
        ),
        "accuracy lost by smoothness": Trend(
            lost[:2] + MARGIN,
            along={"activation": np.array(list(ACTIVATIONS)[1:3])},
            aside={"none": lost[2] + MARGIN, "accuracy": accuracy.mean(0), "crossed": crossed},
        ),
    }


@smooth_activations_lose_nothing.control("no activation at all", of="accuracy lost by smoothness")
def linear_network(evidence):
    return Trend(evidence.aside["none"])


@smooth_activations_lose_nothing.control("the slope of Swish is the sigmoid", of="slopes of the activations")
def sigmoid_alone(evidence):
    return replace(evidence, right=np.stack([*evidence.right[:2], evidence.aside["sigmoid"]]))


@smooth_activations_lose_nothing.picture
def alike(pieces):
    """Test accuracy by epoch for each activation, and the share of nodes and images where a kink was crossed."""
    aside = pieces["accuracy lost by smoothness"].aside
    epochs = np.arange(1, aside["accuracy"].shape[1] + 1)
    left = [Line(name, epochs, each) for name, each in zip(list(ACTIVATIONS)[:3], aside["accuracy"], strict=False)]
    left.append(Line("no activation", epochs, aside["accuracy"][3], rival="no activation"))
    right = [Line("ReLU", epochs[1:], aside["crossed"])]
    return Row(
        [
            Curves(left, x="epoch", y="test accuracy"),
            Curves(right, x="epoch", y="nodes that change side, by image", log="y"),
        ]
    )
