"""What a claim reaches: the definitions of the package on which its evidence depends, found in the syntax alone.

A definition is one function, class or constant at the top of a module. Two sources mean the same if they differ in
comments, docstrings, layout and prose only, so a hash over the meaning of what is reached says when a recorded
verdict is out of date. The search errs on the safe side: a module used as a value, or a name that cannot be followed,
counts with everything in it.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Definition", "Sources"]

PROSE = {"says", "needs", "scale", "symbols", "why", "notice", "explore", "consistency"}
"""Arguments of a claim that are read by people and decide nothing."""

DRAWINGS = {"picture"}
"""Decorators of functions that draw what has been judged."""

Place = tuple[str, str]
"""A module and a name in it."""


@dataclass(frozen=True)
class Definition:
    """A function, class or constant: where it stands, what it means, and which others it names."""

    module: str
    name: str
    lines: tuple[int, int]
    meaning: str
    names: frozenset[tuple[str, ...]]
    function: bool

    @property
    def place(self) -> Place:
        return self.module, self.name


@dataclass
class _Module:
    definitions: dict[str, Definition] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name here → module and name there; no name there for a module itself."""
    owned: dict[str, list[Definition]] = field(default_factory=dict)
    """Statements at the top that act on a name: its controls, derivative rules, registrations."""
    always: list[Definition] = field(default_factory=list)
    """Statements that run whenever the module is imported and act on no name in particular."""


class Sources:
    """The modules of a package below a folder, parsed when first asked for; `closed` ones are not entered."""

    def __init__(self, folder: Path, *, closed: tuple[str, ...] = ()) -> None:
        self.root, self.package, self.closed = folder.parent, folder.name, closed
        self._paths: dict[str, Path | None] = {}
        self._modules: dict[str, _Module] = {}

    def reached(self, start: Place) -> list[Definition]:
        """Every definition that a name depends on, in order, itself included."""
        return [each for _, each in sorted(self._reached(start).items())]

    def meaning(self, start: Place) -> str:
        """A fingerprint of all that a name depends on."""
        return _fingerprint(self.reached(start))

    def meaning_of_modules(self, modules: Iterable[str]) -> str:
        """A fingerprint of modules, whole."""
        return _fingerprint(each for module in sorted(modules) for each in self._whole(module))

    def named_by(self, start: Place, within: str) -> list[Place]:
        """What a name calls in other packages than its own, by itself or through a helper inside its own."""
        inside = [each for each in self.reached(start) if each.module.startswith(within)]
        found = {other for each in inside for chain in each.names for other in self._named(each.module, chain)}
        return sorted(other.place for other in found if other.function and not other.module.startswith(within))

    # Walking -------------------------------------------------------------------------------------------------------

    def _reached(self, start: Place) -> dict[tuple, Definition]:
        found: dict[tuple, Definition] = {}
        waiting = list(self._at(*start))
        entered: set[str] = set()
        while waiting:
            each = waiting.pop()
            key = (*each.place, each.lines)
            if key in found:
                continue
            found[key] = each
            module = self._module(each.module)
            if each.module not in entered:
                entered.add(each.module)
                waiting += module.always
            waiting += module.owned.get(each.name, [])
            waiting += [other for chain in each.names for other in self._named(each.module, chain)]
        return found

    def _named(self, module: str, chain: tuple[str, ...]) -> list[Definition]:
        """What a dotted name means inside a module."""
        first, *rest = chain
        here = self._module(module)
        if first in here.definitions:
            return [here.definitions[first]]
        if first not in here.imported:
            return []  # a local name, a builtin, or another package's
        there, name = here.imported[first]
        return self._at(there, name, rest)

    def _at(self, module: str, name: str, rest: Iterable[str] = ()) -> list[Definition]:
        """The definitions behind a name of a module, followed through what the module imports itself."""
        parts = [name, *rest] if name else list(rest)
        while parts and self._path(f"{module}.{parts[0]}"):
            module = f"{module}.{parts.pop(0)}"
        if module.startswith(self.closed):
            return []
        if not parts:
            return self._whole(module)
        here = self._module(module)
        if parts[0] in here.definitions:
            return [here.definitions[parts[0]]]
        if parts[0] in here.imported:
            there, known = here.imported[parts[0]]
            return self._at(there, known, parts[1:])
        return self._whole(module)

    def _whole(self, module: str) -> list[Definition]:
        here = self._module(module)
        return [*here.definitions.values(), *here.always, *(each for many in here.owned.values() for each in many)]

    # Reading -------------------------------------------------------------------------------------------------------

    def _path(self, module: str) -> Path | None:
        if module not in self._paths:
            path = self.root / Path(*module.split("."))
            candidates = (path / "__init__.py", path.with_suffix(".py"))
            self._paths[module] = next((each for each in candidates if each.exists()), None)
        return self._paths[module]

    def _module(self, name: str) -> _Module:
        if name not in self._modules:
            made = self._modules[name] = _Module()
            path = self._path(name)
            tree = ast.parse(path.read_bytes() if path else b"")
            for node in ast.walk(tree):
                self._imports(node, made)
            for statement in tree.body:
                self._statement(name, statement, made)
        return self._modules[name]

    def _imports(self, node: ast.AST, made: _Module) -> None:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == self.package and not node.level:
            for each in node.names:
                made.imported[each.asname or each.name] = (node.module or "", each.name)
        elif isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] == self.package:
                    made.imported[each.asname or self.package] = (each.name if each.asname else self.package, "")

    def _statement(self, module: str, node: ast.stmt, made: _Module) -> None:
        for name in _defined(node):
            made.definitions[name] = _definition(module, name, node)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                chain = _chain(decorator.func if isinstance(decorator, ast.Call) else decorator)
                if chain and len(chain) > 1 and chain[-1] not in DRAWINGS and chain[0] in made.definitions:
                    made.owned.setdefault(chain[0], []).append(made.definitions[node.name])
        elif not _defined(node) and not _passive(node):
            called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else node
            chain = _chain(called) or ("",)
            if made.imported.get(chain[0], ("", ""))[0].startswith(self.closed or "\0"):
                return
            statement = _definition(module, f"line of {chain[0]}", node)
            if chain[0] in made.definitions:
                made.owned.setdefault(chain[0], []).append(statement)
            else:
                made.always.append(statement)


def _fingerprint(definitions: Iterable[Definition]) -> str:
    total = hashlib.sha256()
    for each in definitions:
        total.update(f"{each.module}\0{each.name}\0{each.meaning}\0".encode())
    return total.hexdigest()[:16]


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        leaves = [leaf for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)]
        return [leaf.id for leaf in leaves if isinstance(leaf.ctx, ast.Store)]
    return []


def _passive(node: ast.stmt) -> bool:
    """Docstrings, imports, and what is there for a type checker only."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.If) and _chain(node.test) == ("TYPE_CHECKING",)


def _chain(node: ast.AST) -> tuple[str, ...] | None:
    """`a.b.c` as its parts."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute) and (before := _chain(node.value)):
        return (*before, node.attr)
    return None


def _definition(module: str, name: str, node: ast.stmt) -> Definition:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return Definition(
        module=module,
        name=name,
        lines=(first, node.end_lineno or first),
        meaning=hashlib.sha256("".join(_meaning(node)).encode()).hexdigest(),
        names=frozenset(_names(node)),
        function=isinstance(node, ast.FunctionDef | ast.ClassDef),
    )


def _prose(call: ast.AST, argument: Any) -> bool:
    """Whether an argument of a call only tells people about a claim."""
    return argument.arg in PROSE and _chain(getattr(call, "func", call)) == ("claim",)


def _names(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The dotted names that a statement reads, longest first."""
    if chain := _chain(node):
        yield chain
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.keyword) and _prose(node, child)):
            yield from _names(child)


def _meaning(node: ast.AST) -> Iterator[str]:
    """A text that two statements share if they mean the same."""
    yield type(node).__name__
    body = getattr(node, "body", None)
    for name, value in ast.iter_fields(node):
        if name in ("ctx", "kind", "type_comment"):
            continue
        if name == "body" and value is body and isinstance(value, list):
            value = [each for each in value if not _passive(each) or isinstance(each, ast.Import | ast.ImportFrom)]
        if name == "keywords":
            value = [each for each in value if not _prose(node, each)]
        if isinstance(node, ast.JoinedStr):  # Python 3.12 ends some formats with a text of no letters
            value = [each for each in value if getattr(each, "value", None) != ""]
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield f"({name} "
                yield from _meaning(each)
                yield ")"
            elif each is not None:
                yield f"[{name} {each!r}]"
