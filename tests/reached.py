"""Which tests a change can reach: those of `pytest --changed`, for the inner loop.

The change is what the working tree holds beyond the last commit, or, where it holds nothing more, the last commit. A
test is reached if its file changed, or if it imports, at any remove, a module that did, or what lies beside it: data in
a package counts as its modules do, and a helper among the tests as those who import it.
"""

import ast
import subprocess
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "deeptheory"
ALWAYS = {f"tests/test_{name}.py" for name in ("axes", "claims", "ledger", "lessons", "rules", "statements")}
"""They read the source of all claims instead of importing it."""
EVERYTHING = ("pyproject.toml", "requirements.lock", "tests/conftest.py")


def changed() -> set[str]:
    """The files of the change, as paths from the root."""

    def files(*command: str) -> set[str]:
        said = subprocess.run(["git", "-C", ROOT, *command], capture_output=True, text=True, check=True)
        return set(said.stdout.splitlines())

    working = files("diff", "--name-only", "HEAD") | files("ls-files", "--others", "--exclude-standard")
    return working or files("diff", "--name-only", "HEAD~1", "HEAD")


def module_of(path: str) -> str:
    """`src/deeptheory/lab/run.py` as `deeptheory.lab.run`."""
    return ".".join(Path(path).relative_to("src").with_suffix("").parts).removesuffix(".__init__")


def imported(source: str) -> set[str]:
    """The modules, and the names that may be modules, that a file imports, or reads from the package."""
    found, known, tree = set(), set(), ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
            known |= {each.asname or each.name for each in node.names if each.name == "deeptheory"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{each.name}" for each in node.names}
    for node in ast.walk(tree) if known else ():
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            found |= {f"deeptheory.{rest}"} if first in known else set()
    return found


def promised() -> dict[str, str]:
    """What the package itself promises, `deeptheory.check`, and the module that is imported once it is named."""
    blocks = [node for node in ast.parse((SOURCE / "__init__.py").read_text()).body if isinstance(node, ast.If)]
    lines = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    places = {each.name: str(line.module) for line in lines for each in line.names}
    package = SOURCE.name
    return {f"{package}.{name}": f"{package}.{name}" if at == package else at for name, at in places.items()}


@cache
def reached() -> set[str]:
    """The test files, as paths from the root, that the change at hand can reach."""
    return reached_by(changed())


def reached_by(change: set[str]) -> set[str]:
    """The test files that a change of these files can reach."""
    tests = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    if change & set(EVERYTHING):
        return tests
    graph = grimp.build_graph("deeptheory", cache_dir=str(ROOT / ".import_linter_cache"))
    # The package opens its rooms as one walks in: who imports it reaches what is named there, and nothing else.
    doors = promised()
    for place in graph.find_modules_directly_imported_by("deeptheory") & set(doors.values()):
        graph.remove_import(importer="deeptheory", imported=place)
    source = {path for path in change if path.startswith("src/")}
    start = {module_of(path) for path in source if path.endswith(".py")} & graph.modules
    # Templates, styles, records and the books themselves: whoever imports the package they lie in may read them.
    for path in source:
        if not path.endswith(".py"):
            package = module_of(str(next(p for p in Path(path).parents if (ROOT / p / "__init__.py").exists())))
            start |= {each for each in graph.modules if f"{each}.".startswith(f"{package}.")}
    touched = start.union(*(graph.find_downstream_modules(each) for each in start))
    touched |= {name for name, place in doors.items() if place in touched}
    # What is no test serves those in its folder, and those who import it.
    helpers = [Path(path) for path in change - tests if path.startswith("tests/") and path.endswith(".py")]
    names, folders = {path.with_suffix("").parts[1] for path in helpers}, {path.parent for path in helpers}
    return {
        path
        for path in tests
        if path in change | ALWAYS
        or Path(path).parent in folders - {Path("tests")}
        or imported((ROOT / path).read_text()) & (touched | names)
    }
