"""Wrong versions of mathematics, made by machine: one small change to one expression of one function.

What is changed is what people get wrong: a constant off by a tenth, an index or exponent off by one, a factor or term
dropped, a sign, the smaller for the larger, a transpose, an axis, a root. Guards, messages, annotations and tolerances
are not mathematics and stay as they are.
"""

import ast
import copy
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "Ran", "Span", "mutants"]

SWAPPED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "sin": "cos",
    "cos": "sin",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "mean": "sum",
    "sum": "mean",
    "floor": "ceil",
    "ceil": "floor",
}
"""Functions that stand for each other in slips."""

DROPPED = {"sqrt", "square", "abs", "log", "exp", "transpose", "conj", "clip", "flip", "cumsum"}
"""Functions whose argument alone is a slip."""

GUARDS = {"affordable", "among", "assume", "batched", "inside", "laws", "numeric", "positive", "symmetric"}
UNSEEN = GUARDS | {"cast", "isinstance", "print"}
"""Calls that guard or type and compute nothing."""

STRUCTURE = {"reshape", "zeros", "ones", "eye", "empty", "full", "arange", "range", "broadcast_to", "astype", "split"}
"""Calls whose whole numbers are shapes: one more breaks the program, which shows nothing."""

TOLERANCE = 1e-6
"""Numbers smaller than this keep rounding or a division by zero away, and one like them would do as well."""


@dataclass(frozen=True)
class Mutant:
    """One wrong version of a module: which function, which line, what was there and what stands there now."""

    module: str
    function: str
    line: int
    before: str
    after: str
    span: tuple[int, int]
    text: str
    """The line as it stands in the source."""

    def __str__(self) -> str:
        return f"{self.module}.{self.function}:{self.line}  {self.before}  →  {self.after}"

    def applied(self, source: str) -> str:
        """The module with the change made; every line stays where it was."""
        text = source.encode()
        start, end = self.span
        lines = text[start:end].count(b"\n")
        return (text[:start] + b"(" + self.after.encode() + b"\n" * lines + b")" + text[end:]).decode()


Span = tuple[int, int, int, int]
"""First line and column, last line and column, as instructions have them."""


class Ran:
    """Which expressions of a file ran, told by where its instructions stand and whether each was run.

    An expression that runs has an instruction of its own or inside it. The second side of an `or`, a branch of a
    conditional expression, the body of a lambda that nobody called have some too, but none that was run.
    """

    def __init__(self, spans: Iterable[tuple[Span, bool]]) -> None:
        self.lines: dict[int, list[tuple[Span, bool]]] = {}
        """Instructions by the line they start on."""
        for span, run in dict(sorted(spans)).items():  # run in one code object that holds the text, run at all
            self.lines.setdefault(span[0], []).append((span, run))

    def __contains__(self, node: ast.expr) -> bool:
        start, end = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
        inside = [
            run
            for line in range(start[0], end[0] + 1)
            for span, run in self.lines.get(line, ())
            if start <= span[:2] and span[2:] <= end
        ]
        # A constant of a larger one that the compiler has computed has no instruction: its line tells.
        return any(inside or [run for _, run in self.lines.get(node.lineno, ())])


def mutants(module: str, source: str, ran: Container[ast.expr] | None = None) -> list[Mutant]:
    """Every mutant of a module that changes one of the expressions that ran, or any, in the order of the text."""
    texts = source.splitlines()
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for top in ast.parse(source).body:
        if isinstance(top, ast.FunctionDef | ast.ClassDef):
            for name, function in _functions(top):
                for node, parent in _expressions(function):
                    if ran is None or node in ran:
                        span = (
                            starts[node.lineno - 1] + node.col_offset,
                            starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
                        )
                        before, text = ast.unparse(node), texts[node.lineno - 1].strip()
                        for changed in _changes(node, parent):
                            found.append(Mutant(module, name, node.lineno, before, ast.unparse(changed), span, text))
    return [mutant for mutant in found if mutant.before != mutant.after]


def _functions(top: ast.FunctionDef | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    if isinstance(top, ast.FunctionDef):
        yield prefix + top.name, top
        return
    for each in top.body:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            yield from _functions(each, f"{prefix}{top.name}.")


def _expressions(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The expressions of a function's body that compute something, each with what it stands in."""

    def walk(node: ast.AST, parent: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.arguments):
            return
        if isinstance(node, ast.Call) and _called(node) in UNSEEN:
            return
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            return
        if isinstance(node, ast.UnaryOp) and isinstance(parent, ast.Call) and _called(parent) in STRUCTURE:
            return  # −1, an extent to be found
        if _tolerance(node):
            return
        if isinstance(node, ast.expr):
            yield node, parent
        for name, child in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for each in child if isinstance(child, list) else [child]:
                    if isinstance(each, ast.AST):
                        yield from walk(each, node)

    for statement in function.body:
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield from walk(statement, function)


def _tolerance(node: ast.AST) -> bool:
    """Whether an expression is a number that keeps rounding or a division by zero away, or a multiple of one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _tolerance(node.left) or _tolerance(node.right)
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return 0 < abs(node.value) < TOLERANCE
    return isinstance(node, ast.Attribute) and node.attr in ("eps", "tiny")


def _called(node: ast.Call) -> str:
    target = node.func
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _changes(node: ast.expr, parent: ast.AST) -> Iterator[ast.expr]:
    """What could stand in place of an expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        yield from _numbers(node.value, parent)
    elif isinstance(node, ast.BinOp):
        yield from _operations(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield node.value
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        swapped = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}.get(type(node.ops[0]))
        # On which side a number falls that only rounding could bring there shows nothing.
        if swapped is not None and not any(map(_tolerance, (node.left, *node.comparators))):
            yield ast.Compare(node.left, [swapped()], node.comparators)


def _numbers(value: float, parent: ast.AST) -> Iterator[ast.expr]:
    if isinstance(parent, ast.Call) and _called(parent) in STRUCTURE:
        return
    if isinstance(parent, ast.keyword):
        if parent.arg == "axis" and isinstance(value, int):
            yield ast.Constant(0 if value else 1)
        return
    if isinstance(value, int) and not isinstance(parent, ast.BinOp):
        yield ast.Constant(value + 1)
        return
    yield ast.Constant(value * 1.1 if value else 0.1)
    if isinstance(value, int):
        yield ast.Constant(value + 1)


def _operations(node: ast.BinOp) -> Iterator[ast.expr]:
    if isinstance(node.op, ast.Mult | ast.Add | ast.Sub | ast.Div | ast.MatMult):
        yield node.left
        if not isinstance(node.op, ast.Sub | ast.Div | ast.MatMult):
            yield node.right
    opposite = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}.get(type(node.op))
    if opposite is not None:
        yield ast.BinOp(node.left, opposite(), node.right)
    if isinstance(node.op, ast.Pow):
        yield node.left
        yield ast.BinOp(node.left, ast.Pow(), ast.BinOp(node.right, ast.Add(), ast.Constant(1)))


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    name = _called(node)
    if name in SWAPPED:
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = SWAPPED[name]
            yield changed
        elif name in ("min", "max") and isinstance(changed.func, ast.Name):
            changed.func.id = SWAPPED[name]
            yield changed
    if name in DROPPED and isinstance(node.func, ast.Attribute) and node.args:
        yield node.args[0]
