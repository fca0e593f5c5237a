"""Packages that open as one walks in: a module or topic of a room is imported when it is first named."""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from types import ModuleType

__all__ = ["submodules"]


def submodules(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package: `import deeptheory.kernels` makes `deeptheory.kernels.limits` work."""

    def __getattr__(name: str) -> ModuleType:
        known = {info.name for info in pkgutil.iter_modules(sys.modules[package].__path__)}
        if name in known:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__
