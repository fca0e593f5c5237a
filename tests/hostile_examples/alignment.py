from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {}
