"""Nonsense given to the functions that the facade returns: refused in one sentence, never nan and no raw error."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import deeptheory.neural_tangents as nt
from deeptheory.neural_tangents import stax

pytestmark = pytest.mark.slow

KERNEL, TARGETS = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [2.0]])
X, NAN = np.array([[1.0, 2.0], [3.0, 1.0]]), np.full((2, 2), np.nan)
PREDICT, BOTH = nt.predict, SimpleNamespace(nngp=KERNEL, ntk=KERNEL)
NETWORK = stax.serial(stax.Dense(3), stax.Relu(), stax.Dense(1))


def parameters():
    return NETWORK[0](jax.random.key(0), X.shape)[1]


def squared(outputs, targets):
    return 0.5 * jnp.mean((outputs - targets) ** 2)


def inferred(kernel=KERNEL, *call, y=TARGETS, **options):
    return PREDICT.gp_inference(kernel, y, **options)(*(call or ("nngp", KERNEL)))


def trained(*call, kernel=KERNEL, **options):
    return PREDICT.gradient_descent_mse(kernel, TARGETS, **options)(*call)


def ensemble(*call, kernel_fn=NETWORK[2], x=X):
    return PREDICT.gradient_descent_mse_ensemble(kernel_fn, x, TARGETS)(*call)


def flowed(*call):
    return PREDICT.gradient_descent(squared, KERNEL, TARGETS)(*call)


SINGULAR = "kernel must be invertible with a ridge of 0.0, up to rounding, and is not"
REFUSED = [
    # one solver: finite, symmetric, positive
    (lambda: inferred(-KERNEL), "k_train_train must be positive semidefinite, got -2 on its diagonal"),
    (lambda: inferred(KERNEL[:, ::-1] - 1), "k_train_train must be a symmetric matrix"),
    (lambda: inferred(np.array([[1.0, 2.0], [2.0, 1.0]])), SINGULAR),
    (lambda: inferred(np.ones((2, 2))), SINGULAR),
    (lambda: inferred(NAN), "k_train_train must be finite, got nan"),
    (lambda: inferred(SimpleNamespace(nngp=NAN)), "k_train_train.nngp must be finite, got nan"),
    (lambda: inferred(diag_reg=-5.0), r"diag_reg must lie in \[0, ∞\), got -5.0"),
    (lambda: inferred(diag_reg=np.nan), "diag_reg must be finite, got nan"),
    (lambda: trained(None, 0.0, 0.0, KERNEL, kernel=np.ones((2, 2))), SINGULAR),
    (lambda: trained(1.0, kernel=np.array([[1.0, 2.0], [2.0, 1.0]])), "the least eigenvalue of the kernel must be"),
    (lambda: trained(None, 0.0, 0.0, KERNEL, kernel=-KERNEL), "must be positive semidefinite"),
    # shapes that do not belong together
    (lambda: inferred(y=np.ones((3, 1))), r"need a kernel of shape \(3, 3\), got \(2, 2\) as k_train_train"),
    (
        lambda: inferred(KERNEL, "nngp", np.ones((4, 3))),
        r"need a kernel of shape \(4, 2\), got \(4, 3\) as k_test_train",
    ),
    (lambda: inferred(BOTH, "ntk", BOTH, np.ones((3, 3))), r"k_test_test must have shape \(2, 2\), got \(3, 3\)"),
    (lambda: inferred("a"), "k_train_train must be a kernel or hold nngp or ntk, got 'a'"),
    (lambda: inferred(KERNEL, 3), "get must be a sequence of a word each or a word or None, got 3"),
    (lambda: trained(1.0, np.ones((3, 1))), r"fx_train_0 must have shape \(2, 1\) or be a number, got shape \(3, 1\)"),
    (lambda: trained(1.0, None, np.ones((3, 1)), KERNEL), r"fx_test_0 must have shape \(2, 1\) or be a number"),
    (lambda: trained(1.0, 0.0, 0.0, np.ones((4, 3))), "as k_test_train"),
    (lambda: flowed(1.0, np.ones((3, 1))), r"fx_train_0 must have shape \(2, 1\)"),
    (lambda: flowed(1.0, "a"), "fx_train_0 must be made of real numbers"),
    (lambda: flowed(1.0, 0.0, 0.0, np.ones((4, 3))), "as k_test_train"),
    # times
    *(
        (lambda of=of, t=t: of(t), said)
        for of in (trained, ensemble, flowed)
        for t, said in ((np.nan, "t must not be nan"), (-1.0, "t must be at least 0"), ("a", "t must be a number"))
    ),
    (lambda: flowed([1.0, np.inf]), "t must be finite, or infinite throughout"),
    (lambda: trained(np.array([1.0, np.nan])), r"t must not be nan, got nan at \[1\]"),
    # inputs
    (lambda: ensemble(1.0, NAN), "x_test must be finite, got nan"),
    (lambda: ensemble(1.0, x=NAN), "x_train must be finite, got nan"),
    (lambda: ensemble(1.0, X, "ntk", kernel_fn=lambda x, *_: NAN), "the ntk of x_train must be finite"),
    (lambda: nt.empirical_ntk_fn(NETWORK[1])(NAN, None, parameters()), "x1 must be finite, got nan"),
    (lambda: nt.empirical_nngp_fn(NETWORK[1])(X, NAN, parameters()), "x2 must be finite, got nan"),
    (
        lambda: nt.empirical_ntk_fn(NETWORK[1])(X, None, jax.tree.map(lambda p: p * np.nan, parameters())),
        "ntk_fn has no answer for these values: it comes out as nan",
    ),
    (lambda: nt.batch(nt.empirical_ntk_fn(NETWORK[1]), 1)(NAN, None, parameters()), "x1 must be finite, got nan"),
    (lambda: nt.batch(lambda x, *_: NAN)(X), "batched_kernel_fn has no answer for these values"),
    (lambda: NETWORK[2](3), "x1 must be an array of numbers or several of them, got 3"),
    (lambda: NETWORK[2](X, "ntk"), "x2 must be an array of numbers or several of them, got 'ntk'"),
    (lambda: NETWORK[0](jax.random.key(0), "a"), "input_shape must hold whole numbers"),
    (lambda: NETWORK[0](3, (2, 2)), "rng must be a key of jax.random, got 3"),
    (lambda: NETWORK[1](parameters(), "a"), "inputs must be an array of numbers or several of them, got 'a'"),
    *(
        (lambda given=given: NETWORK[1](given, X), r"params do not fit: .* are \[\(2, 3\), \(3, 1\)\], got")
        for given in (None, 3.0, "a", {"a": 1}, [np.ones((2, 3))], ((np.ones((4, 3)),), (), (np.ones((3, 1)),)))
    ),
    *(
        (lambda given=given: stax.DotGeneral(rhs=X, precision=given), "precision must be ")
        for given in ("zebra", 3.0, ("highest", "a"))
    ),
    (lambda: stax.ImageResize((-1, 4, 4, -1), "linear", precision="a"), "precision must be "),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_nonsense_is_refused_in_one_sentence(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence) as refusal:
        call()
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 250


def test_what_is_not_known_yet_passes():
    """Values inside a compiled function cannot be looked at; what comes out is what comes out for known ones."""

    def inference(kernel, t, reg):
        law = PREDICT.gp_inference(kernel, TARGETS, diag_reg=reg)("nngp", KERNEL)
        return law, PREDICT.gradient_descent_mse(kernel, TARGETS, diag_reg=reg)(t, 0.0, 0.0, KERNEL)

    for expected, found in zip(
        jax.tree.leaves(inference(KERNEL, 2.0, 0.1)),
        jax.tree.leaves(jax.jit(inference, static_argnums=2)(KERNEL, 2.0, 0.1)),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    each = jax.vmap(lambda kernel: PREDICT.gp_inference(kernel, TARGETS)("nngp", KERNEL))(np.stack([KERNEL, -KERNEL]))
    np.testing.assert_allclose(each[0], TARGETS, rtol=1e-12)
    assert np.isnan(each[1]).all()
    slope = jax.grad(lambda s: PREDICT.gp_inference(s * KERNEL, TARGETS, 0.1, True)("nngp", KERNEL).sum())(1.0)
    assert np.isfinite(slope)


def test_masked_inputs_may_be_nan():
    """Where nan marks what is missing, it is no fault of the inputs."""
    x = np.array([[[1.0], [2.0], [np.nan]], [[0.5], [1.0], [-1.0]]])
    init_fn, apply_fn, kernel_fn = stax.serial(stax.Conv(4, (2,), b_std=0.1), stax.GlobalAvgPool(), stax.Dense(1))
    _, own = init_fn(jax.random.key(0), x.shape)
    predict = PREDICT.gradient_descent_mse_ensemble(kernel_fn, x, TARGETS, diag_reg=0.1, mask_constant=np.nan)
    assert np.isfinite(predict(1.0, x, "ntk")).all() and np.isfinite(predict(None, x, "ntk")).all()
    finite = nt.empirical_ntk_fn(stax.unmask_fn(apply_fn))(x, None, own, mask_constant=np.nan)
    assert np.isfinite(finite).all()


def test_a_small_ridge_serves_a_nearly_singular_kernel_in_single_precision():
    """Relative 1e-4 for a thousand near inputs: pivots are above one unit of rounding, though not above a thousand."""
    x = np.linspace(0, 1, 1000, dtype=np.float32)
    kernel = np.exp(-((x[:, None] - x) ** 2) / 2).astype(np.float32)
    y = np.sin(3 * x)[:, None]
    with jax.enable_x64(False):
        mean = PREDICT.gp_inference(kernel, y, diag_reg=1e-4)("nngp", kernel)
    expected = kernel.astype(float) @ np.linalg.solve(kernel.astype(float) + 1e-4 * np.eye(1000), y.astype(float))
    np.testing.assert_allclose(mean, expected, atol=5e-3)


def test_lists_and_whole_numbers_are_numbers():
    np.testing.assert_allclose(inferred(np.array([[2, 1], [1, 2]]), "nngp", np.array([[1, 0]])), [[0.0]], atol=1e-12)
    listed = PREDICT.gradient_descent_mse([[2, 1], [1, 2]], [[1], [2]])(None, 0, 0, [[1, 0]])[1]
    np.testing.assert_allclose(listed, [[0.0]], atol=1e-12)
    assert trained([0, 1]).shape == (2, 2, 1)


def test_a_window_over_no_positions_is_a_dense_layer():
    x = np.random.default_rng(3).standard_normal((3, 5))
    _, _, kernel_fn = stax.serial(stax.Conv(4, (), W_std=1.3, b_std=0.2), stax.Relu(), stax.AvgPool(()), stax.Dense(1))
    _, _, dense_fn = stax.serial(stax.Dense(4, W_std=1.3, b_std=0.2), stax.Relu(), stax.Dense(1))
    np.testing.assert_allclose(kernel_fn(x, None, "ntk"), dense_fn(x, None, "ntk"), rtol=1e-12)


def test_a_function_of_its_parameters_alone_has_a_tangent_kernel():
    kernel_fn = nt.empirical_ntk_fn(lambda params, x: jnp.tile(params**2, (len(x), 1)), trace_axes=())
    found = kernel_fn(np.empty((2, 0)), None, jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(found, np.broadcast_to(np.diag([4.0, 36.0]), (2, 2, 2, 2)))
