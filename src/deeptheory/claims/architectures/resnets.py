"""Networks with shortcuts, counted: which images ResNet9 takes, and what blocks cost (lucchi 10.2)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures.resnets import init_basic_block, init_dense_block, init_resnet9
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Line, Row, Table


def numbers_in(model):
    return sum(leaf.size for leaf in jax.tree.leaves(model))


def block(channels, filters, window=3):
    """Weights, biases, gains and shifts of one convolution with batch normalization."""
    return window**2 * channels * filters + 3 * filters


@claim(
    items={
        "L10.18": ("blocks with zero gains", "numbers to learn"),
        "L10.20": ("numbers to learn", "sizes the printed head takes", "sizes a global maximum takes"),
        "L10.21": ("channels of a dense block", "numbers to learn"),
    },
    says="ResNet9 as listed has 6,575,370 numbers to learn and takes images with sides from 32 to 63; with a maximum "
    "over all places, every side from 8. A basic block with zero gains is its rectified shortcut; a dense block of "
    r"$L$ layers returns $k_0+Lk$ channels.",
    needs="3 channels and 10 classes for the count",
    symbols={"L": "the layers of a dense block", "k_0,k": "its input channels, and what each layer adds"},
    why="Three poolings divide the sides by eight, rounding down. The head of the listing takes the maximum over "
    "windows of 4 × 4, and a comment says that one place is left; that is so, as its linear layer needs, only for maps "
    "of 4 to 7 rows. The count is that of eight convolutions with bias, gain and shift, and of the head. Without the "
    "1×1 convolution a shortcut cannot change its number of channels or its stride.",
    notice="How many places the listed head hands to its linear layer, by the side of the image: one, as needed, "
    "from 32 to 63 only.",
)
def resnet9_counted(key):
    rng = generator(key)
    net, small = init_resnet9(key, 3, 10), init_resnet9(key, 1, 2, width=1)
    everywhere = init_resnet9(key, 1, 2, width=1, pool=None)
    dense = [init_dense_block(key, 4, 3, layers=layers) for layers in (1, 2, 4)]
    basic = [init_basic_block(key, 4, 4), init_basic_block(key, 4, 6), init_basic_block(key, 4, 4, stride=2)]
    sides = np.array([4, 7, 8, 16, 31, 32, 45, 63, 64, 96])

    def takes(network, side):
        try:
            shape = jax.eval_shape(network, jax.ShapeDtypeStruct((2, side, side, 1), float)).shape
        except ValueError:
            return False
        return shape == (2, 2)

    def channels(model):
        return jax.eval_shape(model, jax.ShapeDtypeStruct((2, 6, 6, 4), float)).shape[-1]

    x = np.maximum(rng.standard_normal((2, 4, 4, 4)), 0)
    kept = [jnp.asarray(x)]
    for shortcut, step in ((basic[1].shortcut, 1), (basic[2].shortcut, 2)):
        assert shortcut is not None
        kept.append(jnp.maximum(jnp.einsum("nijc,mc->nijm", x[:, ::step, ::step], shortcut.kernels[:, 0, 0]), 0))
    listed = [(3, 64), (64, 128), (128, 128), (128, 128), (128, 256), (256, 512), (512, 512), (512, 512)]
    expected = [sum(block(*sizes) for sizes in listed) + 512 * 10 + 10]
    expected += [2 * block(4, 4), block(4, 6) + block(6, 6) + 4 * 6 + 6, 2 * block(4, 4) + 4 * 4 + 4]
    # In a dense block the normalization comes first, on all channels so far.
    expected += [sum(9 * c * 3 + 3 + 2 * c for c in range(4, 4 + 3 * layers, 3)) for layers in (1, 2, 4)]
    names = ["ResNet9", "basic", "basic, wider", "basic, strided", "dense 1", "dense 2", "dense 4"]
    return {
        "numbers to learn": Exact(
            np.array([numbers_in(model) for model in (net, *basic, *dense)]),
            np.array(expected),
            along={"network": names},
            aside={"printed": 6_575_370},
        ),
        "sizes the printed head takes": Exact(
            np.array([takes(small, int(side)) for side in sides]),
            (sides >= 32) & (sides < 64),
            along={"side": sides},
        ),
        "sizes a global maximum takes": Exact(np.array([takes(everywhere, int(s)) for s in sides]), sides >= 8),
        "blocks with zero gains": Identity(
            np.concatenate([np.ravel(maps) for maps in jax.jit(lambda x: [each(x) for each in basic])(x)]),
            np.concatenate([np.ravel(each) for each in kept]),
            scale=1.0,
            size=4,
            aside={"unkept": np.concatenate([np.zeros(each.size) for each in kept])},
        ),
        "channels of a dense block": Exact(
            np.array([channels(each) for each in dense]), 4 + 3 * np.array([1, 2, 4]), along={"layers": [1, 2, 4]}
        ),
    }


@resnet9_counted.control("convolutions without bias", of="numbers to learn")
def without_bias(evidence):
    fewer = np.array(evidence.right)
    fewer[0] -= 64 + 3 * 128 + 256 + 3 * 512
    return replace(evidence, right=fewer)


@resnet9_counted.control("one place for images of any size", of="sizes the printed head takes")
def any_size(evidence):
    return replace(evidence, right=np.asarray(evidence.along["side"]) >= 8)


@resnet9_counted.control("no shortcut", of="blocks with zero gains")
def no_shortcut(evidence):
    return replace(evidence, right=evidence.aside["unkept"])


@resnet9_counted.control("added instead of concatenated", of="channels of a dense block")
def added(evidence):
    return replace(evidence, right=np.full(3, 4))


@resnet9_counted.picture
def places(pieces):
    """Places that reach the linear layer of the listing, by the side of the image; and what networks cost."""
    counted = pieces["numbers to learn"]
    sides = np.arange(32, 100)
    left = Curves(
        [Line("as listed", sides, (sides // 8 // 4) ** 2), Line("over all places", sides, np.ones(len(sides)))],
        x="side of the image",
        y="places",
    )
    columns = {"network": list(counted.along["network"]), "by hand": counted.right, "in the model": counted.left}
    return Row([left, Table(columns, prediction="by hand", observation="in the model")])
