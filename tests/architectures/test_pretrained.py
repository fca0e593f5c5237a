"""Files written here byte by byte, read by the library."""

import json
import struct
from functools import cache

import jax
import numpy as np
import pytest

from deeptheory.architectures.language_models import init_language_model
from deeptheory.architectures.pretrained import (
    embedding_table,
    gpt2_arrays,
    gpt2_model,
    read_safetensors,
    write_safetensors,
)

KINDS = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "bool": "BOOL"}


def write(path, arrays, **changes):
    """A safetensors file by its description: length, header, numbers."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        places = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": KINDS[str(array.dtype)], "shape": list(array.shape), "data_offsets": places}
        header[name] |= changes.get(name, {})
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


SMALL = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([True, False]), "c": np.array(7, np.int64)}


def test_reading(tmp_path):
    found = read_safetensors(write(tmp_path / "small", SMALL))
    assert found.keys() == SMALL.keys()
    for name, array in SMALL.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_brain_floats(tmp_path):
    path = write(tmp_path / "half", {"a": np.array([0x3F80, 0xC040], np.uint16).view(np.float16)}, a={"dtype": "BF16"})
    np.testing.assert_array_equal(read_safetensors(path)["a"].astype(float), [1.0, -3.0])


def test_writing(tmp_path):
    write_safetensors(tmp_path / "small", SMALL)
    content = (tmp_path / "small").read_bytes()
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    assert header["a"] == {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    np.testing.assert_array_equal(read_safetensors(tmp_path / "small")["a"], SMALL["a"])
    with pytest.raises(ValueError, match="a must be of a kind in F64"):
        write_safetensors(tmp_path / "x", {"a": np.zeros(2, complex)})


def test_what_is_no_such_file(tmp_path):
    with pytest.raises(ValueError, match="path must name a file that can be read"):
        read_safetensors(tmp_path / "nothing")
    whole = write(tmp_path / "whole", SMALL).read_bytes()
    for content, said in {
        b"": "its 0 bytes end before its header does",
        whole[:40]: "its 40 bytes end before its header does",
        struct.pack("<Q", 4) + b"{,}}": "its header is not the JSON of one",
        struct.pack("<Q", 2) + b"[]": "its header is not the JSON of one",
        struct.pack("<Q", 8) + b'{"a": 3}': "its header is not the JSON of one",
        whole[:-12]: "is cut off",
    }.items():
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError, match=said):
            read_safetensors(tmp_path / "bad")
    with pytest.raises(ValueError, match="must have 8 numbers of kind F32, got 24 bytes"):
        read_safetensors(write(tmp_path / "bad", SMALL, a={"shape": [2, 4]}))
    with pytest.raises(ValueError, match=r"must be of a kind in .*, got 'F3'"):
        read_safetensors(write(tmp_path / "bad", SMALL, a={"dtype": "F3"}))
    with pytest.raises(ValueError, match="its header is not the JSON of one"):
        read_safetensors(write(tmp_path / "bad", SMALL, a={"data_offsets": 3}))
    with pytest.raises(ValueError, match="its header is not the JSON of one"):
        read_safetensors(write(tmp_path / "bad", SMALL, a={"shape": [2, -3]}))


@cache
def model():
    return init_language_model(jax.random.key(0), vocabulary=11, context=9, width=8, layers=2, heads=2)


def test_a_model_by_gpt2_names(tmp_path):
    arrays = {f"transformer.{name}": array for name, array in gpt2_arrays(model()).items()}
    arrays["transformer.h.0.attn.bias"] = np.tril(np.ones((9, 9), bool))
    assert arrays["transformer.h.1.attn.c_attn.weight"].shape == (8, 24)
    found = gpt2_model(read_safetensors(write(tmp_path / "model", arrays)), heads=2)
    same = jax.tree.map(np.array_equal, found, model())
    assert all(jax.tree.leaves(same)) and jax.tree.structure(found) == jax.tree.structure(model())


def test_models_that_do_not_fit():
    arrays = gpt2_arrays(model())
    for changed, said in (
        ({"wte.weight": None}, "arrays must have one called 'wte.weight', got 27 others"),
        ({"wpe.weight": np.zeros((9, 7))}, "wpe.weight must have shape any × 8, got 9 × 7"),
        ({"h.1.attn.c_attn.weight": np.zeros((24, 8))}, "h.1.attn.c_attn.weight must have shape 8 × 24, got 24 × 8"),
        ({"h.1.ln_2.bias": np.zeros(9)}, "h.1.ln_2.bias must have shape 8, got 9"),
    ):
        wrong = {name: array for name, array in (arrays | changed).items() if array is not None}
        with pytest.raises(ValueError, match=said):
            gpt2_model(wrong, heads=2)
    with pytest.raises(ValueError, match="heads must divide the width 8, got 3"):
        gpt2_model(arrays, heads=3)
    with pytest.raises(ValueError, match="at least one block"):
        gpt2_model({name: array for name, array in arrays.items() if not name.startswith("h.")})


# Table 10.2 of lucchi: token, id, norm and the first eight of 768 coordinates in GPT-2's embedding.
TABLE = """
Like 7594 3.2995 -0.166 -0.080 0.086 -0.043 -0.061 -0.129 -0.217 -0.110
a 257 2.5727 -0.051 0.006 0.047 -0.059 -0.063 -0.030 -0.272 0.015
fish 5916 3.2591 0.027 0.100 0.066 0.051 -0.156 -0.080 -0.364 -0.158
out 503 2.7112 -0.048 -0.044 0.034 -0.141 0.091 -0.064 -0.282 -0.014
of 286 2.5936 -0.057 0.018 0.033 0.041 0.012 -0.040 -0.253 0.002
water 1660 3.0460 0.065 0.020 0.023 0.141 -0.052 -0.019 -0.331 -0.144
"""


@pytest.mark.item("L10.40")
def test_table_of_embeddings_reads_as_printed():
    # An embedding with the printed coordinates, and in a ninth what is missing of the printed norms.
    rows = [line.split() for line in TABLE.strip().splitlines()]
    numbers = np.array([row[1:] for row in rows], float)
    ids, norms, first = numbers[:, 0].astype(int), numbers[:, 1], numbers[:, 2:]
    embedding = np.zeros((7595, 9))
    embedding[ids] = np.column_stack([first, np.sqrt(norms**2 - (first**2).sum(1))])
    lines = embedding_table([row[0] for row in rows], ids, embedding).splitlines()[2:]
    for line, (token, id, norm, *values) in zip(lines, rows, strict=True):
        assert line.split() == [token, id, norm, "[" + values[0] + ",", *(value + "," for value in values[1:]), "...]"]


@pytest.mark.item("L10.40")
def test_table_of_embeddings_and_the_line_of_the_listing():
    embedding = np.zeros((5, 10))
    embedding[3, :2] = 3.0, -4.0
    lines = embedding_table(["Like", "Ġa"], np.array([3, 1]), embedding, shown=3).splitlines()
    assert lines[2].split() == ["Like", "3", "5.0000", "[3.000,", "-4.000,", "0.000,", "...]"]
    assert lines[3].split()[:3] == ["Ġa", "1", "0.0000"] and len(lines) == 4
    with pytest.raises(ValueError, match=r"ids must lie in \[0, 4\], got 1 to 5"):
        embedding_table(["a", "b"], np.array([5, 1]), embedding)
    # In the text we have of Listing 10.5 a row is formatted by this line, in which quotes do not match.
    printed = """print(f"{'token':<20} {'token_id':<10} {"norm:<10.4f} {"vector_str}")"""
    with pytest.raises(SyntaxError):
        compile(printed, "Listing 10.5", "exec")
