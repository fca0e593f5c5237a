"""What is found in the syntax: the public functions of the rooms, and what the points of a claim's rates run along."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Function", "axis_words", "functions_in", "imports"]


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


# Axes ----------------------------------------------------------------------------------------------------------------

KINDS = ("Rate", "Limit", "Bounded")
CASTS = ("array", "asarray", "astype", "float", "ravel")
LONGEST = 30


def axis_words(code: str) -> dict[str, str]:
    """By piece, what its first argument is called: `Rate(np.array(widths), …)` runs along "width".

    `code` is the source of a claim; a piece that stands alone has no name. Left out are pieces whose names or
    arguments are made by longer expressions.
    """
    found = {}
    for node in ast.walk(ast.parse(code)):
        pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
        if isinstance(node, ast.Return):
            pairs = [(ast.Constant(""), node.value)]
        for piece, made in pairs:
            if not (isinstance(piece, ast.Constant) and isinstance(made, ast.Call) and made.args):
                continue
            if ast.unparse(made.func) in KINDS and (word := _word(made.args[0])):
                found[piece.value] = word
    return found


def _word(node: ast.expr) -> str | None:
    """A name in the singular; what is computed from one by a few signs is written out."""
    if isinstance(node, ast.Name):
        return _singular(node.id)
    if isinstance(node, ast.Attribute):
        return _singular(node.attr)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return f"{node.value:g}"
    if isinstance(node, ast.Subscript):
        return _word(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        inner = node.args[0] if called != "astype" and node.args else getattr(node.func, "value", None)
        return _word(inner) if called in CASTS and inner is not None else None
    if isinstance(node, ast.BinOp):
        sides, sign = (_word(node.left), _word(node.right)), SIGNS.get(type(node.op))
        if sign and None not in sides and len(written := f"{sides[0]}{sign}{sides[1]}") <= LONGEST:
            return written
    return None


SIGNS = {ast.Div: "/", ast.Mult: "·", ast.Pow: "^", ast.Add: "+", ast.Sub: "-"}


def _singular(name: str) -> str:
    word = name.lower().strip("_").replace("_", " ")
    for many, one in (("ies", "y"), ("ches", "ch"), ("sses", "ss"), ("ss", "ss"), ("us", "us"), ("s", "")):
        if word.endswith(many) and len(word) > len(many):
            return word.removesuffix(many) + one
    return word
