from itertools import product

import pytest

from deeptheory.foundations.bits import all_bits


def test_all_strings_of_bits_in_the_order_of_numbers():
    assert all_bits(0).shape == (1, 0)
    # The first bit is the fastest: read from the right, the rows are the numbers from 0 to 2ⁿ − 1.
    assert [tuple(row[::-1]) for row in all_bits(4).tolist()] == list(product([False, True], repeat=4))


def test_too_many_bits_are_refused():
    with pytest.raises(ValueError, match="length"):
        all_bits(40)
