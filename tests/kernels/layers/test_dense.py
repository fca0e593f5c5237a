"""Dense layers in the standard parametrization, by hand."""

import numpy as np
import pytest

from deeptheory import kernels


@pytest.mark.parametrize("scale", [1, 3])
def test_scaled_widths_drop_out_of_the_standard_tangent_kernel(scale):
    # Last layer: the sum over 5 units of E relu² = 1.3²·6/3/2. First layer: 1.1²/2·|x|², whatever the scale.
    hidden = kernels.Dense(5, 1.3, parameterization="standard", s=(1, scale))
    out = kernels.Dense(1, 1.1, parameterization="standard", s=(scale, 1))
    x = np.array([[1.0, 2.0, -1.0]])
    kernel = kernels.limit_kernel(kernels.serial(hidden, kernels.Relu(), out), x).ntk
    assert float(kernel[0, 0]) == pytest.approx(5 * 1.69 + 1.21 * 3, rel=1e-12)
