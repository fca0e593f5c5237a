from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "clusters.random_tokens": {"shape": (4, 3)},
}  # fmt: skip

FOUND = """
equiangular.equiangular_overlap, count: billion
equiangular.equiangular_overlap, times: huge
"""
