from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "dropout.dropout_shrinkage": {"width": 4},
}  # fmt: skip
