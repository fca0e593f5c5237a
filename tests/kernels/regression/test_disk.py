"""A kernel on disk resumes, keeps to its folder, and never returns a number that it did not compute."""

import errno
import json
import os
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.regression import disk_files
from deeptheory.kernels.regression.disk import disk_kernel
from deeptheory.kernels.regression.disk_files import Journal

RNG = np.random.default_rng(0)
X, OTHER = RNG.standard_normal((11, 3)), RNG.standard_normal((6, 3))


def kernel(x, other):
    """Marks entries computed as a diagonal tile, so that the tests see which way they came."""
    own = other is None
    product = x @ (x if own else other).T
    diagonal = jnp.full(product.shape, float(own)) * jnp.eye(*product.shape)
    return {"tanh": jnp.tanh(product), "diagonal": diagonal, "square": product**2}


class Interrupted(Exception):
    pass


def stop(done, total):
    if done == 3:
        raise Interrupted


def right(result):
    product = X @ X.T
    np.testing.assert_allclose(result["tanh"], np.tanh(product), rtol=1e-12)
    np.testing.assert_allclose(result["square"], product**2, rtol=1e-12)
    np.testing.assert_array_equal(result["diagonal"], np.eye(11))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished kernel and one that was interrupted after three of six tiles."""
    folder = tmp_path_factory.mktemp("kernels")
    with jax.enable_x64(True):
        disk_kernel(folder / "finished", kernel, X, tile=4)
    with jax.enable_x64(True), pytest.raises(Interrupted):
        disk_kernel(folder / "interrupted", kernel, X, tile=4, progress=stop)
    return folder


def test_an_interrupted_kernel_resumes(made, tmp_path):
    shutil.copytree(made / "interrupted", tmp_path / "k")
    with (tmp_path / "k" / "done.txt").open("a") as journal:
        journal.write("4 ")  # a line cut off
    seen = []
    result = disk_kernel(tmp_path / "k", kernel, X, tile=4, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(4, 6), (5, 6), (6, 6)]
    right(result)
    assert isinstance(result["tanh"], np.memmap) and not result["tanh"].flags.writeable
    again = disk_kernel(tmp_path / "k", kernel, X, tile=4, progress=lambda *_: pytest.fail("nothing was left to do"))
    right(again)
    np.testing.assert_allclose(np.load(tmp_path / "k" / "tanh.npy"), np.tanh(X @ X.T))
    assert json.loads((tmp_path / "k" / "manifest.json").read_text())["tile"] == 4


def test_another_kernel_is_not_mixed_in(tmp_path):
    disk_kernel(tmp_path / "k", kernel, X, OTHER, tile=8)
    with pytest.raises(ValueError, match="inputs differ"):
        disk_kernel(tmp_path / "k", kernel, X + 1, OTHER, tile=8)
    with pytest.raises(ValueError, match="name, tile differ"):
        disk_kernel(tmp_path / "k", kernel, X, OTHER, tile=5, name="other")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(ValueError, match="not empty"):
        disk_kernel(tmp_path / "mine", kernel, X)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    with pytest.raises(ValueError, match=r"thesis\.txt is a file"):
        disk_kernel(tmp_path / "mine" / "thesis.txt", kernel, X)


# Damage --------------------------------------------------------------------------------------------------------------


def changed(name, change):
    """Put something else in the place of a file's bytes."""

    def tamper(folder):
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return tamper


def flipped(place):
    """One bit of the byte at this place from the end."""
    return lambda data: data[:-place] + bytes([data[-place] ^ 16]) + data[len(data) - place + 1 :]


def numbers(change):
    """Change the numbers of an array, and nothing else of its file."""

    def tamper(folder):
        array = np.load(folder / "tanh.npy", mmap_mode="r+")
        array[...] = change(np.array(array))
        array.flush()

    return tamper


def swap(folder):
    (folder / "tanh.npy").rename(folder / "aside")
    (folder / "square.npy").rename(folder / "tanh.npy")
    (folder / "aside").rename(folder / "square.npy")


def linked(link):
    def tamper(folder):
        (folder / "tanh.npy").unlink()
        link(folder / "square.npy", folder / "tanh.npy")

    return tamper


def folded(folder):
    (folder / "tanh.npy").unlink()
    (folder / "tanh.npy").mkdir()


def manifest(**other):
    return changed("manifest.json", lambda data: json.dumps(json.loads(data) | other).encode())


def relabelled(data):
    """The checksums of one tile as those of another, never computed in the interrupted kernel."""
    lines = data.decode().splitlines()
    return "\n".join([*lines, "7 7 " + lines[0].split(" ", 2)[2], ""]).encode()


def exchanged(data):
    first, second, *rest = [line.split(" ", 2) for line in data.decode().splitlines()]
    return "\n".join(" ".join(line) for line in [first[:2] + second[2:], second[:2] + first[2:], *rest]).encode()


MENDED = {
    "an array deleted": lambda folder: (folder / "tanh.npy").unlink(),
    "an array without its last byte": changed("tanh.npy", lambda data: data[:-1]),
    "an array cut in half": changed("tanh.npy", lambda data: data[: len(data) // 2]),
    "an array cut down to its header": changed("tanh.npy", lambda data: data[:128]),
    "an array emptied": changed("tanh.npy", lambda data: b""),
    "an array with more at its end": changed("tanh.npy", lambda data: data + bytes(8)),
    "an array said to be in the order of Fortran": changed("tanh.npy", lambda d: d.replace(b"False", b"True ", 1)),
    "an array said to hold whole numbers": changed("tanh.npy", lambda data: data.replace(b"f8", b"i8", 1)),
    "an array said to have another shape": changed("tanh.npy", lambda d: d.replace(b"(11, 11)", b"(121, 1)", 1)),
    "a bit flipped in the first number": changed("tanh.npy", flipped(121 * 8)),
    "a bit flipped in the last number": changed("tanh.npy", flipped(1)),
    "a bit flipped below the diagonal": changed("tanh.npy", flipped(11 * 8)),
    "a bit flipped in the last array": changed("square.npy", flipped(100)),
    "two arrays swapped": swap,
    "an array that is a link to another": linked(lambda one, two: two.symlink_to(one)),
    "an array that is a link to nothing": linked(lambda one, two: two.symlink_to(one / "nowhere")),
    "two names for one array": linked(lambda one, two: os.link(one, two)),
    "an array of another kernel": numbers(lambda array: np.tanh(array)),
    "an array upside down": numbers(lambda array: array[::-1]),
    "an array made unsymmetric": numbers(np.triu),
    "an array of zeros": numbers(np.zeros_like),
    "an array of nan": numbers(lambda array: array * np.nan),
    "a row forgotten": numbers(lambda array: np.where(np.arange(11)[:, None] == 2, 0, array)),
    "two equal changes": numbers(lambda array: array + 1),
    "the journal deleted": lambda folder: (folder / "done.txt").unlink(),
    "the journal emptied": changed("done.txt", lambda data: b""),
    "the journal cut off": changed("done.txt", lambda data: data[:-7]),
    "the journal full of noise": changed("done.txt", lambda data: bytes(range(256)) + b"\n" + data),
    "a tile in the journal that was never computed": changed("done.txt", lambda data: data + b"7 7\n"),
    "a tile in the journal with the checksums of another": changed("done.txt", relabelled),
    "a tile in the journal that there is not": changed("done.txt", lambda data: data + b"99 -1 00000000\n"),
    "a tile in the journal that no number names": changed("done.txt", lambda data: data + b"9" * 5000 + b" 4 0\n"),
    "a corner in the journal changed": changed("done.txt", lambda data: data.replace(b"0 4 ", b"7 7 ", 1)),
    "checksums in the journal exchanged": changed("done.txt", exchanged),
    "a bit flipped in the journal": changed("done.txt", flipped(5)),
    "a draft left over": lambda folder: (folder / "tanh.npy.draft").write_bytes(b"half"),
}
REFUSED = {
    "the manifest deleted": lambda folder: (folder / "manifest.json").unlink(),
    "the manifest emptied": changed("manifest.json", lambda data: b""),
    "the manifest cut off": changed("manifest.json", lambda data: data[:-10]),
    "the manifest of noise": changed("manifest.json", lambda data: bytes(range(256))),
    "the manifest of nothing but brackets": changed("manifest.json", lambda data: b"[" * 10**5),
    "the manifest of another shape": changed("manifest.json", lambda data: b"[1]"),
    "other inputs in the manifest": manifest(inputs=["0", None]),
    "other arrays in the manifest": manifest(arrays={"tanh": {"shape": [11, 11], "dtype": "float64"}}),
    "another tile in the manifest": manifest(tile=8),
    "a folder in the place of an array": folded,
}


@pytest.mark.parametrize("state", ["finished", "interrupted"])
@pytest.mark.parametrize("damage", MENDED)
def test_what_was_damaged_is_computed_anew(made, tmp_path, state, damage):
    shutil.copytree(made / state, tmp_path / "k")
    MENDED[damage](tmp_path / "k")
    right(disk_kernel(tmp_path / "k", kernel, X, tile=4))
    right(disk_kernel(tmp_path / "k", kernel, X, tile=4, progress=lambda *_: pytest.fail("nothing was left to do")))


@pytest.mark.parametrize("damage", REFUSED)
def test_what_cannot_be_mended_is_refused_in_a_sentence(made, tmp_path, damage):
    shutil.copytree(made / "finished", tmp_path / "k")
    REFUSED[damage](tmp_path / "k")
    with pytest.raises((ValueError, OSError), match=str(tmp_path / "k")):
        disk_kernel(tmp_path / "k", kernel, X, tile=4)


def test_only_the_damaged_tile_is_computed_anew(made, tmp_path):
    shutil.copytree(made / "finished", tmp_path / "k")
    MENDED["a bit flipped in the last number"](tmp_path / "k")
    seen = []
    right(disk_kernel(tmp_path / "k", kernel, X, tile=4, progress=lambda done, total: seen.append((done, total))))
    assert seen == [(6, 6)]


# Room, locks, names --------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path):
    def again(done, total):
        with pytest.raises(ValueError, match="another process is at work"):
            disk_kernel(tmp_path / "k", kernel, X, tile=4)

    disk_kernel(tmp_path / "k", kernel, X, tile=4, progress=again)
    with Journal(tmp_path / "k" / "done.txt"):
        right(disk_kernel(tmp_path / "k", kernel, X, tile=4))
        (tmp_path / "k" / "tanh.npy").unlink()
        with pytest.raises(ValueError, match="another process is at work"):
            disk_kernel(tmp_path / "k", kernel, X, tile=4)
    right(disk_kernel(tmp_path / "k", kernel, X, tile=4))


def test_a_kernel_for_which_there_is_no_room_is_refused_before_it_begins(tmp_path):
    def huge(x, other):
        return jnp.zeros((len(x), len(x), 2**40))

    with pytest.raises(OSError, match=r"needs 1.06e\+06 GB .* are free") as refusal:
        disk_kernel(tmp_path / "k", huge, X)
    assert refusal.value.errno == errno.ENOSPC
    right(disk_kernel(tmp_path / "k", kernel, X, tile=4))  # nothing was claimed


def test_a_disk_that_fills_up_meanwhile_ends_in_a_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(disk_files, "_allocate", full)
        with pytest.raises(OSError, match=r"the kernel needs .* GB in .*k, where"):
            disk_kernel(tmp_path / "k", kernel, X, tile=4)
    assert not list((tmp_path / "k").glob("*.npy*"))
    right(disk_kernel(tmp_path / "k", kernel, X, tile=4))


@pytest.mark.parametrize("call", [True, False], ids=["reserved", "written as zeros"])
def test_arrays_have_their_room_from_the_beginning(tmp_path, monkeypatch, call):
    if not call:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    x = RNG.standard_normal((400, 3))

    def first(done, total):
        found = (tmp_path / "k" / "kernel.npy").stat()
        assert found.st_size <= 512 * found.st_blocks and found.st_size > 400 * 400 * 8
        raise Interrupted

    with pytest.raises(Interrupted):
        disk_kernel(tmp_path / "k", lambda x, other: kernel(x, other)["tanh"], x, tile=32, progress=first)


@pytest.mark.parametrize("key", ["../../escape", "/etc/escape", "a/b", "..", "a\0b", "ünïcode", ""])
def test_every_array_stays_in_its_folder(tmp_path, key):
    result = disk_kernel(tmp_path / "in" / "k", lambda x, other: {key: kernel(x, other)["tanh"]}, X, tile=4)
    np.testing.assert_allclose(result[key], np.tanh(X @ X.T))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["k"]
    assert len(list((tmp_path / "in" / "k").glob("*.npy"))) == 1


@pytest.mark.parametrize("keys", [("a-b", "a"), ("K", "k")])
def test_arrays_whose_files_would_be_one_are_refused(tmp_path, keys):
    def ambiguous(x, other):
        product = x @ (x if other is None else other).T
        return {keys[0]: product, keys[1]: {"b": 2 * product} if keys[1] == "a" else product}

    with pytest.raises(ValueError, match="need names that differ"):
        disk_kernel(tmp_path / "k", ambiguous, X)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        ({"folder": 3}, "folder must be"),
        ({"kernel": 3}, "kernel must be a function, got 3"),
        ({"kernel": "tanh"}, "kernel must be a function"),
        ({"kernel": lambda x, other: x[:, 0]}, r"kernel must return arrays of shape \(4, 4, …\) here, got \(4,\)"),
        ({"tile": "a"}, "tile must be a whole number"),
        ({"tile": 0}, r"tile must lie in \[1, ∞\), got 0"),
        ({"tile": 2.5}, "tile must be a whole number"),
        ({"pairs": 0}, r"pairs must lie in \[1, 32\], got 0"),
        ({"x": X * np.nan}, "x must be finite"),
        ({"x": X[:0]}, "x must not be empty"),
        ({"x": np.full((3, 2), "a")}, "x must be an array of real numbers"),
        ({"x": None}, "x must be an array"),
        ({"other": OTHER[:, :2]}, r"x and other must be inputs of one shape, got \(3,\) and \(2,\)"),
        ({"name": 3}, "name must be a word"),
        ({"devices": 3}, "devices must be a sequence"),
        ({"progress": 3}, "progress must be a function or None"),
    ],
)
def test_nonsense_is_refused_in_a_sentence_before_anything_is_written(tmp_path, spoilt, sentence):
    call = {"folder": tmp_path / "k", "kernel": kernel, "x": X, "tile": 4} | spoilt
    with pytest.raises((TypeError, ValueError), match=sentence) as refusal:
        disk_kernel(**call)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 250
    assert not list(tmp_path.iterdir())


def test_short_numbers_are_found_again(tmp_path):
    def short(x, other):
        return (x @ (x if other is None else other).T).astype(jnp.bfloat16)

    first = np.array(disk_kernel(tmp_path / "k", short, X, tile=4), float)
    again = disk_kernel(tmp_path / "k", short, X, tile=4, progress=lambda *_: pytest.fail("nothing was left to do"))
    np.testing.assert_array_equal(np.array(again, float), first)
    np.testing.assert_allclose(first, X @ X.T, rtol=2**-7, atol=1e-2)
