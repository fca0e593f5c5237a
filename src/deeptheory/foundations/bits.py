"""All strings of so many bits: subsets, coalitions, rows of signs.

Reference: Knuth, The Art of Computer Programming 4A (2011), Sec. 7.2.1.1.
"""

import numpy as np
from jaxtyping import Bool

from deeptheory.foundations.entrances import doors

__all__ = ["all_bits"]


def all_bits(length: int) -> Bool[np.ndarray, "count length"]:
    """Return all 2ⁿ strings of n bits, one a row; bit j of row i is that of 2ʲ in i.

    Memory is 8n·2ⁿ bytes on the way: 160 MB for 20 bits, three gigabytes for 24.
    """
    return (np.arange(2**length)[:, None] >> np.arange(length) & 1).astype(bool)


doors(__name__, length="[0, 24]")
