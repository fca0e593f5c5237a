"""`sweep`, and how its grids are read."""

import re

import pytest


def test_a_grid_is_read():
    from deeptheory.cli.grids import axis
    from deeptheory.lab.parameters import Parameter

    known = {
        "width": Parameter("width", "int", 8, low=1, high=4096),
        "sizes": Parameter("sizes", "ints", (8, 16), low=2, high=99, least=2, increasing=True),
    }
    assert axis("width=8:64:log2", known) == ("width", [8, 16, 32, 64])
    assert axis("width=1,5", known) == ("width", [1, 5])
    assert axis("sizes=8,16;16,32", known) == ("sizes", [(8, 16), (16, 32)])
    with pytest.raises(ValueError, match="at least 2 separated by commas, increasing, not 8"):
        axis("sizes=8,16", known)
    for nonsense in ("8:64:loginf", "8:64:log1", "8:64:0", "64:8:1", "8:inf:1", "nan:8:1"):
        with pytest.raises(ValueError, match=f"the range '{nonsense}' does not grow"):
            axis(f"width={nonsense}", known)
    with pytest.raises(ValueError, match="has more than 10,000 values"):
        axis("width=1:4096:1e-300", known)


@pytest.mark.slow
def test_a_sweep_writes_labelled_arrays(run, tmp_path, parametrised):
    import xarray

    done = run("sweep", parametrised, "--over", "trials=64,128", "--seeds", "2", "--out", str(tmp_path / "sweep.nc"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"trials +seed +verdict +evidence +predicted +observed +at +resolution +seconds", done.stdout)
    assert len(re.findall(r"^ *(?:64|128) +[01] ", done.stdout, re.MULTILINE)) == 4
    assert "xarray" not in done.stdout
    with xarray.open_dataset(tmp_path / "sweep.nc") as swept:
        assert dict(swept.sizes)["trials"] == 2
        assert dict(swept.sizes)["seed"] == 2
