"""The catalogue: what claims there are, readable without importing JAX; generated, never written by hand."""

import functools
import hashlib
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeptheory.lab.parameters import Parameter

if TYPE_CHECKING:
    from deeptheory.lab._claim import Claim

__all__ = ["Catalogue", "Entry", "catalogue", "load"]

PACKAGE = Path(__file__).resolve().parents[1]
FILE = PACKAGE / "catalogue.json"

DECIDING = ("_claim", "platform", "run", "search", "spaces")
"""Modules of the laboratory that, beside the kinds of evidence, decide what is observed and how it is judged."""


@dataclass(frozen=True)
class Entry:
    """What is known of a claim without running it; `source` hashes the claim and all it imports in the package."""

    name: str
    module: str
    subject: str
    theme: str
    says: str
    needs: str
    scale: str
    items: dict[str, list[str]]
    parameters: dict[str, Parameter]
    controls: list[dict[str, str | None]]
    searchable: bool
    source: str
    lines: tuple[int, int]

    def code(self) -> str:
        """The lines that make the claim and its controls."""
        text = (PACKAGE.parent / Path(*self.module.split("."))).with_suffix(".py").read_text()
        return "\n".join(text.splitlines()[self.lines[0] - 1 : self.lines[1]])


@dataclass(frozen=True)
class Catalogue:
    """All claims by name."""

    digest: str
    claims: dict[str, Entry]

    def serving(self, item: str) -> list[Entry]:
        """The claims that check an item."""
        return [entry for entry in self.claims.values() if item in entry.items]

    def subjects(self) -> dict[str, list[Entry]]:
        """The claims by subject."""
        found: dict[str, list[Entry]] = {}
        for entry in self.claims.values():
            found.setdefault(entry.subject, []).append(entry)
        return found


def digest() -> str:
    """A fingerprint of the package's source, to see whether the catalogue is still true."""
    total = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        total.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue of this source tree; generated anew when the source has changed."""
    record: dict[str, Any] = {}
    if FILE.exists():
        record = json.loads(FILE.read_text())
    if record.get("digest") != digest():
        command = [sys.executable, "-m", "deeptheory.lab.catalogue"]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        if done.returncode:
            raise ImportError(f"the catalogue cannot be generated: {done.stderr.strip().splitlines()[-1]}")
        record = json.loads(done.stdout)
    return _read(record)


def load(name: str) -> "Claim":
    """Import a claim by name."""
    return getattr(importlib.import_module(catalogue().claims[name].module), name)


def _read(record: dict[str, Any]) -> Catalogue:
    def entry(fields: dict[str, Any]) -> Entry:
        parameters = {name: Parameter.of_record(value) for name, value in fields["parameters"].items()}
        return Entry(**{**fields, "parameters": parameters, "lines": tuple(fields["lines"])})

    return Catalogue(record["digest"], {name: entry(fields) for name, fields in record["claims"].items()})


# Generating ----------------------------------------------------------------------------------------------------------


def claims_in(package: str = "deeptheory.claims") -> list["Claim"]:
    """Every claim of a package, in the order of modules and lines."""
    from deeptheory.lab._claim import Claim

    root = importlib.import_module(package)
    modules = [importlib.import_module(info.name) for info in pkgutil.walk_packages(root.__path__, package + ".")]
    found: dict[str, Claim] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Claim) and value.module == module.__name__:
                if value.name in found and found[value.name] is not value:
                    raise ValueError(f"two claims are named {value.name}")
                found[value.name] = value
    return list(found.values())


def sources(modules: set[str]) -> dict[str, str]:
    """Hash each module together with everything it imports inside the package, the judging of evidence included."""
    import grimp

    graph = grimp.build_graph("deeptheory", exclude_type_checking_imports=True, cache_dir=None)
    judging = {m for m in graph.modules if m.startswith("deeptheory.lab.evidence")}
    judging |= {f"deeptheory.lab.{name}" for name in DECIDING} | {"deeptheory.randomness"}

    @functools.cache
    def content(module: str) -> bytes:
        path = PACKAGE.parent / Path(*module.split("."))
        return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_bytes()

    def hashed(module: str) -> str:
        needed = {module} | judging | graph.find_upstream_modules(module)
        needed = {name for name in needed if not name.startswith("deeptheory.lab") or name in judging}
        total = hashlib.sha256()
        for name in sorted(needed):
            total.update(name.encode() + b"\0" + content(name))
        return total.hexdigest()[:16]

    return {module: hashed(module) for module in modules}


def generate() -> dict[str, Any]:
    """The catalogue as JSON."""
    claims = claims_in()
    hashes = sources({claim.module for claim in claims})
    fields = {}
    for claim in claims:
        start, end = _lines(claim, claims)
        entry = Entry(
            name=claim.name,
            module=claim.module,
            subject=claim.subject,
            theme=claim.theme,
            says=claim.says,
            needs=claim.needs,
            scale=claim.scale,
            items={item: list(pieces) for item, pieces in claim.items.items()},
            parameters=claim.parameters,
            controls=[{"name": c.name, "erratum": c.erratum, "of": c.of} for c in claim.controls],
            searchable=claim.over is not None,
            source=hashes[claim.module],
            lines=(start, end),
        )
        fields[claim.name] = asdict(entry)
    return {"digest": digest(), "claims": fields}


def _lines(claim: "Claim", claims: list["Claim"]) -> tuple[int, int]:
    """First and last line of a claim with its controls: up to the next claim's decorator."""

    def first(each: "Claim") -> int:
        return each.function.__code__.co_firstlineno

    path = PACKAGE.parent / Path(*claim.module.split(".")).with_suffix(".py")
    later = [first(other) for other in claims if other.module == claim.module and first(other) > first(claim)]
    last = min(later, default=len(path.read_text().splitlines()) + 1) - 1
    return first(claim), last


def main() -> None:
    """Write the catalogue beside the source where that is allowed, and print it."""
    text = json.dumps(generate(), ensure_ascii=False, indent=1)
    try:
        if not FILE.exists() or FILE.read_text() != text + "\n":
            temporary = FILE.with_suffix(f".{os.getpid()}")
            temporary.write_text(text + "\n")
            temporary.replace(FILE)
    except OSError:
        pass  # a package folder that cannot be written to: the caller reads what is printed
    print(text)


if __name__ == "__main__":
    main()
