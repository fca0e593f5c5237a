"""Deep-learning theory you can run."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeptheory.api import Runs, check, claim
    from deeptheory.network_bounds import league
    from deeptheory.phase import phase_diagram

__all__ = ["Runs", "check", "claim", "league", "phase_diagram"]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    # Looked up on first use: `import deeptheory` costs nothing, and neither do its rooms until they are entered.
    if name == "phase_diagram":
        from deeptheory.phase import phase_diagram

        return phase_diagram
    if name == "league":
        from deeptheory.network_bounds import league

        return league
    if name in __all__:
        from deeptheory import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
