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
    `dir` lists them and what the file itself assigns, such as `__version__`; other modules can be named all the same.
    """
    body = ast.parse(Path(file).read_text("utf-8")).body
    imports = [node for block in body if isinstance(block, ast.If) for node in block.body]
    places = {
        name.name: str(node.module) for node in imports if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assigned = [
        name.id for node in body if isinstance(node, ast.Assign) for name in node.targets if isinstance(name, ast.Name)
    ]
    modules = submodules(package)

    def __getattr__(name: str) -> Any:
        place = places.get(name, package)
        return modules(name) if place == package else getattr(importlib.import_module(place), name)

    def __dir__() -> list[str]:
        return sorted({*places, *assigned})

    return __getattr__, __dir__, sorted(places)
