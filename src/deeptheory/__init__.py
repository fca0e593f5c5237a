"""Deep-learning theory you can run."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeptheory.api import Runs, check, claim
    from deeptheory.finding import find
    from deeptheory.network_bounds import league
    from deeptheory.phase import phase_diagram

__all__ = ["Runs", "check", "claim", "find", "league", "phase_diagram"]
__version__ = "0.1.0"

PLACES = {"find": "finding", "league": "network_bounds", "phase_diagram": "phase"}
"""Modules of what is not in `api`."""


def __dir__() -> list[str]:
    import pkgutil

    rooms = [info.name for info in pkgutil.iter_modules(__path__) if info.ispkg]
    return [*__all__, "__version__", *rooms]


def __getattr__(name: str) -> Any:
    # Looked up on first use: `import deeptheory` costs nothing, and neither do its rooms until they are entered.
    import importlib

    if name in __all__:
        return getattr(importlib.import_module(f"{__name__}.{PLACES.get(name, 'api')}"), name)
    if not name.startswith("_") and name in __dir__():
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
