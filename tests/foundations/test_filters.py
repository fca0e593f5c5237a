import mpmath
import numpy as np

from deeptheory.foundations.filters import gradient_descent_filter


def test_the_first_steps_of_descent_keep_their_digits():
    sizes = np.array([1e-7, 0.1, 0.9, 1.3])
    for steps, digits in ((1, 1e-13), (10, 1e-13), (10**7, 1e-8)):
        with mpmath.workdps(60):
            exact = [float((1 - (1 - mpmath.mpf(size) ** 2) ** steps) / mpmath.mpf(size)) for size in sizes]
        np.testing.assert_allclose(gradient_descent_filter(1.0, steps)(sizes), exact, rtol=digits)
