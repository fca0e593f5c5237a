"""Packages that open as one walks in: a module or topic of a room is imported when it is first named."""

import ast
import importlib
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["promised", "submodules"]


def submodules(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package: `import deeptheory.kernels` makes `deeptheory.kernels.limits` work."""

    def __getattr__(name: str) -> ModuleType:
        known = {info.name for info in pkgutil.iter_modules(getattr(sys.modules.get(package), "__path__", []))}
        if name in known:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__


def promised(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names are imported when they are first used.

    The names are those imported under `if TYPE_CHECKING:` in its file: type checkers and the package read one list.
    `dir` lists them beside the package's public modules.
    """
    blocks = [node for node in ast.parse(Path(file).read_text("utf-8")).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    places = {name.name: str(node.module) for node in imports for name in node.names}
    modules = submodules(package)

    def __getattr__(name: str) -> Any:
        if name in places:
            return getattr(importlib.import_module(places[name]), name)
        return modules(name)

    def __dir__() -> list[str]:
        parts = pkgutil.iter_modules(getattr(sys.modules[package], "__path__", []))
        return sorted({*places, *(each.name for each in parts if not each.name.startswith("_"))})

    return __getattr__, __dir__, sorted(places)
