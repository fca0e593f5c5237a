"""What is settled at the door of the facade: axes, masks, several inputs and outputs, layers on whole kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import deeptheory.neural_tangents as nt
from deeptheory.foundations.randomness import generator
from deeptheory.neural_tangents import stax

pytestmark = pytest.mark.slow
FIELDS = ("nngp", "ntk", "cov1", "cov2")


def same(kernel, expected, **tolerance):
    for name in FIELDS:
        one, two = getattr(kernel, name), getattr(expected, name)
        assert (one is None) == (two is None), name
        if one is not None:
            np.testing.assert_allclose(one, two, **({"atol": 1e-12} | tolerance), err_msg=name)


@pytest.fixture
def images(key):
    rng = generator(key)
    return rng.standard_normal((3, 4, 3, 2)), rng.standard_normal((2, 4, 3, 2))


def chain(spec):
    """A small network on images with axes as the letters say; its filter is (3, 2) over (H, W)."""
    batch, channel = spec.index("N"), spec.index("C")
    place = {"batch_axis": batch, "channel_axis": channel}
    left = [letter for letter in spec if letter in "NC"]
    last = {"batch_axis": left.index("N"), "channel_axis": left.index("C")}
    return stax.serial(
        stax.Conv(3, (2, 3), padding="SAME", b_std=0.2, dimension_numbers=(spec, "WIHO", spec)),
        stax.LayerNorm((spec.index("H"), channel), **place),
        stax.Relu(),
        stax.AvgPool((2, 1) if spec.index("H") < spec.index("W") else (1, 2), **place),
        stax.GlobalSelfAttention(4, 4, 2, 2, **place),
        stax.Index(tuple(slice(1, None) if letter == "H" else slice(None) for letter in spec), **place),
        stax.GlobalAvgPool(**place),
        stax.Dense(2, 1.3, **last),
    )


@pytest.mark.parametrize("spec", ["NCHW", "CWNH"])
def test_batch_and_channels_on_other_axes(key, images, spec):
    """The same kernels and outputs as on the usual axes, from transposed inputs."""
    order = ["NHWC".index(letter) for letter in spec]
    turned = [np.transpose(x, order) for x in images]
    network, usual = chain(spec), chain("NHWC")
    kernel = network[2](*turned)
    same(kernel, usual[2](*images))
    shape, parameters = network[0](key, turned[0].shape)
    outputs = network[1](parameters, turned[0])
    axis = kernel.batch_axis
    assert kernel.shape1 == shape == outputs.shape and shape[axis] == 3
    if spec.index("W") < spec.index("H"):  # windows of weights lie as positions do
        (weights, biases), *others = parameters
        parameters = ((jnp.swapaxes(weights, 0, 1), biases), *others)
    np.testing.assert_allclose(np.moveaxis(outputs, axis, 0), usual[1](parameters, images[0]), atol=1e-12)


def test_layers_whose_axes_do_not_meet_are_refused(images):
    network = stax.serial(stax.Conv(1, (2, 2), dimension_numbers=("NHWC", "HWIO", "NCHW")), stax.GlobalAvgPool())
    with pytest.raises(ValueError, match="comes to it has them on 0 and 1"):
        network[2](images[0])
    with pytest.raises(ValueError, match="on two axes"):
        stax.Dense(1, batch_axis=1, channel_axis=-1)[2](np.ones((2, 3)))


SENTENCES = {
    "pooled": (stax.Conv(3, (3,), padding="SAME", b_std=0.3), stax.Relu(), stax.GlobalAvgPool(), stax.Dense(2)),
    "deep": (
        stax.Conv(3, (3,), padding="SAME", b_std=0.3),
        stax.LayerNorm((1, 2)),
        stax.Erf(),
        stax.Conv(3, (2,), padding="SAME"),
        stax.GlobalSumPool(),
    ),
    "attentive": (
        stax.Conv(3, (1,)),
        stax.GlobalSelfAttention(4, 3, 2, 2, b_std=0.2),
        stax.Relu(),
        stax.GlobalAvgPool(),
    ),
    "residual": (
        stax.Conv(3, (3,), padding="SAME"),
        stax.FanOut(2),
        stax.parallel(stax.Identity(), stax.serial(stax.Relu(), stax.Conv(3, (3,), padding="SAME", b_std=0.2))),
        stax.FanInSum(),
        stax.Relu(),
        stax.GlobalAvgPool(),
    ),
}


@pytest.mark.parametrize("layers", SENTENCES.values(), ids=SENTENCES)
@pytest.mark.parametrize("constant", [100.0, np.nan])
def test_masked_tails_are_as_if_sentences_were_shorter(key, layers, constant):
    """Zeros beyond the end are what SAME padding puts there, so each pair has the kernel of the bare sentences."""
    init_fn, apply_fn, kernel_fn = stax.serial(*layers)
    sentences = [generator(jax.random.fold_in(key, n)).standard_normal((n, 2)) for n in (5, 3)]
    padded = np.full((2, 5, 2), constant)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(sentence)] = sentence
    whole = kernel_fn(padded, mask_constant=constant)
    _, parameters = init_fn(key, padded.shape)
    outputs = stax.unmask_fn(apply_fn)(parameters, padded, mask_constant=constant)
    for n, sentence in enumerate(sentences):
        bare = kernel_fn(sentence[None])
        np.testing.assert_allclose(whole.nngp[n, n], bare.nngp[0, 0], rtol=1e-10)
        np.testing.assert_allclose(whole.ntk[n, n], bare.ntk[0, 0], rtol=1e-10)
        np.testing.assert_allclose(outputs[n], apply_fn(parameters, sentence[None])[0], rtol=1e-9, atol=1e-12)
    crossed = kernel_fn(padded[:1], padded[1:], mask_constant=constant)
    np.testing.assert_allclose(crossed.ntk[0, 0], whole.ntk[0, 1], rtol=1e-10)


def test_masks_go_on_with_a_kernel_and_into_the_output(images):
    x = images[0].copy()
    x[0, :2] = 9.0
    first, last = stax.serial(stax.Conv(1, (2, 2), b_std=0.1), stax.Relu()), stax.GlobalAvgPool()
    before = first[2](x, mask_constant=9.0)
    assert before.mask1.shape == (3, 3, 2, 1) and before.mask1[0, :2].all() and not before.mask1[0, 2].any()
    same(last[2](before), stax.serial(first, last)[2](x, mask_constant=9.0))


def test_several_inputs_add_their_kernels(key):
    """Two inputs, each through its own weights, then a sum: covariances σ²xx'/c add before the rectifier."""
    rng = generator(key)
    pair, other = ((rng.standard_normal((n, 4)), rng.standard_normal((n, 2))) for n in (3, 2))
    network = stax.serial(
        stax.parallel(stax.Dense(5, 1.2), stax.Dense(5, 0.7, 0.3)), stax.FanInSum(), stax.Relu(), stax.Dense(1)
    )
    # The same covariance from one array: channels side by side, scaled so that their mean is the sum.
    beside, others = (
        np.concatenate([1.2 * a * np.sqrt(7 / 4), 0.7 * b * np.sqrt(7 / 2), np.full((len(a), 1), 0.3 * np.sqrt(7))], 1)
        for a, b in (pair, other)
    )
    expected = stax.serial(stax.Dense(5), stax.Relu(), stax.Dense(1))[2](beside, others)
    kernel = network[2](list(pair), list(other))
    same(kernel, expected)
    assert network[2](pair, (None, None), "ntk").shape == (3, 3)
    shape, parameters = network[0](key, [(3, 4), (3, 2)])
    assert shape == network[1](parameters, list(pair)).shape == (3, 1)


def test_several_outputs_come_as_several_kernels(images):
    trunk, ends = stax.Conv(2, (2, 2)), (stax.Flatten(), stax.serial(stax.Relu(), stax.GlobalAvgPool(), stax.Dense(1)))
    split = stax.serial(trunk, stax.FanOut(2), stax.parallel(*ends))
    for kernel, end in zip(split[2](*images), ends, strict=True):
        same(kernel, stax.serial(trunk, end)[2](*images))
    both = split[2](*images, ("NTK", "shape1"))
    assert jax.tree.structure(both) == jax.tree.structure(split[2](*images, ("ntk", "shape1")))
    assert [b.shape1 for b in both] == [(3, 12), (3, 1)] and both[1].ntk.shape == (3, 2)


def test_inputs_of_the_batch_by_index(images):
    """A layer that selects inputs may stand anywhere: no other layer mixes them."""
    parts = stax.Conv(2, (2, 2)), stax.Relu(), stax.Flatten(), stax.Dense(1)
    bare = stax.serial(*parts)[2](*(x[::2] for x in images))
    for place in (0, 2, 4):
        layers = [*parts[:place], stax.Index(stax.Slice[::2]), *parts[place:]]
        kernel = stax.serial(*layers)[2](*images)
        same(kernel, bare)
        assert kernel.shape1 == (2, 1) and kernel.shape2 == (1, 1)
    for index in (stax.Slice[0], stax.Slice[..., :1]):
        with pytest.raises(NotImplementedError):
            stax.Index(index)[2](images[0])
    for index in ([0, 1], (slice(None), np.array([0, 1])), (slice(None), None), True):
        with pytest.raises(TypeError, match="idx must hold whole numbers and slices"):
            stax.Index(index)


def test_branches_one_after_the_other_along_the_batch(key):
    """Different branches are independent: covariance 0, and after a rectifier that of independent variables."""
    x = generator(key).standard_normal((3, 4))
    one, two = stax.Dense(2, 1.1), stax.serial(stax.Dense(2), stax.Erf(), stax.Dense(2))
    joined = stax.serial(stax.FanOut(2), stax.parallel(one, two), stax.FanInConcat(0), stax.Relu())
    kernel = joined[2](x)
    for branch, part in ((one, slice(3)), (two, slice(3, 6))):
        alone = stax.serial(branch, stax.Relu())[2](x)
        np.testing.assert_allclose(kernel.ntk[part, part], alone.ntk, atol=1e-12)
        np.testing.assert_allclose(kernel.cov1[part], alone.cov1, atol=1e-12)
    sizes = np.sqrt(np.outer(2 * kernel.cov1[:3], 2 * kernel.cov1[3:]))
    np.testing.assert_allclose(kernel.nngp[:3, 3:], sizes / (2 * np.pi), atol=1e-12)
    np.testing.assert_array_equal(kernel.ntk[:3, 3:], 0)


def test_normalization_over_the_batch(key):
    """The set's mean variance is divided out, whatever its size."""
    x, y = generator(key).standard_normal((3, 4)), generator(key).standard_normal((5, 4))
    kernel = stax.serial(stax.Dense(6, 1.7), stax.LayerNorm((0, 1)))[2](x, y, ("nngp", "cov1"))
    norms = [np.sqrt(np.mean(np.sum(each**2, 1))) for each in (x, y)]
    np.testing.assert_allclose(kernel.nngp, x @ y.T / norms[0] / norms[1], atol=1e-10)
    np.testing.assert_allclose(np.mean(kernel.cov1), 1, atol=1e-10)


def test_a_layer_made_by_hand(key):
    """Twice the outputs of another layer, in the middle of a network and at its beginning."""

    @stax.layer
    def Doubled():
        def kernel_fn(kernel, **kwargs):
            change = {n: None if getattr(kernel, n) is None else 4 * getattr(kernel, n) for n in FIELDS}
            return kernel.replace(**change)

        return lambda rng, shape: (shape, ()), lambda params, x, **kwargs: 2 * x, kernel_fn

    x = generator(key).standard_normal((3, 4))
    ends = stax.Erf(), stax.Dense(1)
    network = stax.serial(stax.Dense(3), Doubled(), *ends)
    assert Doubled()[2].__name__ == "Doubled" and stax.GlobalAvgPool()[0].__name__ == "GlobalAvgPool"
    same(network[2](x), stax.serial(stax.Dense(3, 2.0), *ends)[2](x).replace(), rtol=1e-12)
    np.testing.assert_allclose(Doubled()[2](x, None, "nngp"), x @ x.T, rtol=1e-12)
    _, parameters = network[0](key, x.shape)
    assert network[1](parameters, x).shape == (3, 1)


def test_kernels_can_be_changed_cut_and_asked_for_anything(images):
    network = stax.serial(stax.Conv(1, (2, 2)), stax.Relu(), stax.Flatten())
    kernel = network[2](*images)
    assert kernel.replace(ntk=None).ntk is None and kernel.asdict()["shape2"] == (2, 6)
    part = kernel.slice(slice(1, 3), slice(1))
    same(part, network[2](images[0][1:3], images[1][:1]))
    assert part.shape1 == (2, 6) and part.shape2 == (1, 6)
    full = network[2](*images, diagonal_batch=False)
    np.testing.assert_allclose(full.cov2, network[2](images[1], None, "nngp"), atol=1e-12)
    same(stax.Dense(1)[2](full), stax.Dense(1)[2](kernel))
    assert network[2](images[0], None, "shape1") == (3, 6)
    assert network[2](images[0], None, ("NTK", "NNGP"))._fields == ("ntk", "nngp")


def test_positions_that_mix_have_no_diagonal_kernel(images):
    with pytest.raises(ValueError, match="mix different ones"):
        stax.serial(stax.Conv(1, (2, 2)), stax.GlobalAvgPool())[2](images[0], diagonal_spatial=True)


def test_without_a_graph_aggregation_does_nothing(key, images):
    network = stax.repeat(stax.serial(stax.Dense(2), stax.Aggregate(), stax.Abs()), 2)
    bare = stax.repeat(stax.serial(stax.Dense(2), stax.Abs()), 2)
    same(network[2](*images, pattern=(None, None)), bare[2](*images))
    pattern = generator(key).standard_normal((3, 4, 3, 4, 3))
    kernel = network[2](images[0], None, "nngp", pattern=(pattern, pattern))
    halves = stax.serial(stax.Dense(2), stax.Aggregate(), stax.Abs())[2]
    first = halves(images[0], pattern=(pattern, pattern))
    np.testing.assert_allclose(halves(first, "nngp", pattern=(pattern, pattern)), kernel, rtol=1e-12)


def test_batches_of_several_outputs_and_of_kernels(key):
    rng = generator(key)
    x, y = ((rng.standard_normal((n, 3)), rng.standard_normal((n, 2))) for n in (3, 5))
    first = stax.parallel(stax.serial(stax.Dense(2), stax.Relu()), stax.Dense(2))[2]
    last = stax.serial(stax.parallel(stax.Dense(1), stax.Erf()), stax.parallel(stax.Identity(), stax.Dense(1)))[2]
    for other in (None, y):
        before, whole = nt.batch(first, 2)(x, other), first(x, other)
        for one, two in zip(before, whole, strict=True):
            same(one, two)
        for one, two in zip(nt.batch(last, 2)(before, None, ("ntk", "cov1")), last(whole), strict=True):
            np.testing.assert_allclose(one.ntk, two.ntk, atol=1e-12)
            np.testing.assert_allclose(one.cov1, two.cov1, atol=1e-12)


@pytest.mark.parametrize("batch_size", [0, 2])
def test_one_set_given_twice_is_one_set_in_batches(key, batch_size):
    """Dropout tells a pass with itself from two passes of one input."""
    x = np.asarray(jax.random.normal(key, (4, 3)))
    kernel_fn = stax.serial(stax.Dense(1), stax.Relu(), stax.Dropout(0.7), stax.Dense(1))[2]
    batched, expected = nt.batch(kernel_fn, batch_size), kernel_fn(x, x)
    for found in (batched(x, x), jax.jit(lambda x: batched(x, x))(x)):
        for name in ("nngp", "ntk", "cov1", "cov2"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    assert np.abs(batched(x, x.copy()).nngp - expected.nngp).max() > 0.1


def test_inside_compiled_functions(key):
    x = generator(key).standard_normal((4, 3))
    kernel_fn = stax.serial(stax.Dense(1), stax.Relu(), stax.Dense(1))[2]
    expected = kernel_fn(x, None, "ntk")
    batched = nt.batch(kernel_fn, 2)
    np.testing.assert_allclose(jax.jit(lambda x: batched(x, None, "ntk"))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(nt.batch(batched, 3)(x, None, "ntk"), expected, rtol=1e-12)
    each = jax.vmap(lambda one: jax.vmap(lambda two: kernel_fn(one[None], two[None], "ntk")[0, 0])(x))(x)
    np.testing.assert_allclose(each, expected, rtol=1e-7)

    def predicted(kernel):
        return nt.predict.gradient_descent_mse(kernel, x[:, :1], diag_reg=1e-2)(None, 0.0, 0.0, kernel)[1]

    np.testing.assert_allclose(jax.jit(predicted)(expected), predicted(expected), rtol=1e-10)
    flow = nt.predict.gradient_descent(lambda f, y: jnp.mean((f - y) ** 2), expected, x[:, :1])
    with pytest.raises(ValueError, match="outside jit"):
        jax.jit(flow)(1.0)


def test_attention_by_the_power_of_distances(key):
    """The power is a number like others: its derivative is that of differences."""
    x = generator(key).standard_normal((2, 3, 2))

    def total(power):
        layer = stax.GlobalSelfAttention(
            1, 1, 1, 1, pos_emb_type="SUM", pos_emb_p_norm=power, pos_emb_decay_fn=lambda d: jnp.exp(-d)
        )
        return layer[2](x, None, "nngp").sum()

    slope = jax.jit(jax.grad(total))(1.5)
    np.testing.assert_allclose(slope, (total(1.5 + 1e-5) - total(1.5 - 1e-5)) / 2e-5, rtol=1e-6)
