"""The public functions of the rooms, found in the syntax: what each is called, takes, says, and is imported from."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Function", "functions_in", "imports"]


@dataclass(frozen=True)
class Function:
    """A function or class that a module lists in its `__all__`; `place` is the shortest module that has it."""

    name: str
    place: str
    module: str
    takes: str
    says: str

    @property
    def line(self) -> str:
        """What to paste."""
        return f"from {self.place} import {self.name}"


def imports(uses: Iterable[str]) -> str:
    """Functions, each as module and name, as lines to paste."""
    found: dict[str, list[str]] = {}
    for each in uses:
        module, _, name = each.rpartition(".")
        found.setdefault(module, []).append(name)
    return "\n".join(f"from {module} import {', '.join(names)}" for module, names in found.items())


def functions_in(folder: Path, *, without: tuple[str, ...]) -> list[Function]:
    """Every public function of the package in a folder, in the order of its files; some subfolders are left out.

    Of a module beside the rooms only what the package itself passes on is public.
    """
    trees = {
        _module(path, folder): ast.parse(path.read_text())
        for path in sorted(folder.rglob("*.py"))
        if path.relative_to(folder).parts[0] not in without
    }
    packages = {_module(path, folder) for path in folder.rglob("__init__.py")}
    passed_on = {name: set(_passed_on(tree)) for name, tree in trees.items() if name in packages}
    found = []
    for module, tree in trees.items():
        public = _public(tree)
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in public:
                parents = [module.rsplit(".", steps)[0] for steps in range(module.count("."), 0, -1)]
                places = [each for each in parents if (module, node.name) in passed_on.get(each, ())]
                if not places and module.count(".") == 1 and module not in packages:
                    continue
                says = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                found.append(Function(node.name, [*places, module][0], module, _takes(node), says))
    return found


def _module(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _public(tree: ast.Module) -> set[str]:
    """The names in a module's `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return {each for each in ast.literal_eval(node.value) if isinstance(each, str)}
    return set()


def _passed_on(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of what a package imports to pass it on: listed in its `__all__`, or imported `as` itself.

    What it imports for the eyes of type checkers only is passed on when it is asked for.
    """
    public = _public(tree)
    for node in ast.walk(tree):
        for each in node.names if isinstance(node, ast.ImportFrom) else ():
            if isinstance(node, ast.ImportFrom) and node.module and (each.asname == each.name or each.name in public):
                yield node.module, each.name


def _takes(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The arguments by name; of a class nothing is said, since it may inherit them."""
    if isinstance(node, ast.ClassDef):
        return ""
    given = node.args
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    names += [f"*{given.vararg.arg}"] if given.vararg else ["*"] if given.kwonlyargs else []
    names += [each.arg for each in given.kwonlyargs] + ([f"**{given.kwarg.arg}"] if given.kwarg else [])
    return f"({', '.join(names)})"
