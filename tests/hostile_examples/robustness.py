from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "smoothing.smoothed_value_and_gradient": {"function": lambda x: x[:, 0]},
    "smoothing.votes": {"classifier": lambda x: (x[:, 0] > 0).astype(int)},
}  # fmt: skip

FOUND = """
noise_training.two_moons, noise: negative
"""
