"""The catalogue: what claims there are, readable without importing JAX; generated, never written by hand."""

import functools
import hashlib
import importlib
import json
import os
import pkgutil
import re
import sys
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeptheory.lab.parameters import Parameter

if TYPE_CHECKING:
    from deeptheory.lab._claim import Claim
    from deeptheory.lab.functions import Function

__all__ = ["Catalogue", "Entry", "catalogue", "load"]

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = PACKAGE / "catalogue.json"
"""Written when a wheel is built; a source tree has none."""

FACES = ("books", "cli", "report")
"""Packages that no claim imports: a change there leaves the catalogue as it is."""

DECIDING = ("_claim", "platform", "run", "search", "spaces")
"""Modules of the laboratory that, beside the kinds of evidence, decide what is observed and how it is judged."""

GUARDS = tuple(f"deeptheory.foundations.{name}" for name in ("entrances", "guards", "packages", "shapes", "wishes"))
"""Modules that refuse bad input or open packages: a verdict does not depend on them."""

KEPT = 16
"""How many catalogues of other source trees the user's cache keeps."""


@dataclass(frozen=True)
class Entry:
    """What is known of a claim without running it.

    `source` is a fingerprint of the meaning of all that the claim reaches in the package (`deeptheory.lab.reach`), and
    of what judges it; `uses` are the public functions of the rooms that it calls, or helpers of it among the claims;
    `axes` what pieces run along that do not say it themselves (`deeptheory.lab.functions`).
    """

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
    symbols: dict[str, str]
    why: str
    notice: str
    explore: dict[str, list]
    consistency: list[str]
    pictured: bool
    uses: list[str]
    axes: dict[str, str]
    source: str
    lines: tuple[int, int]

    def code(self) -> str:
        """The lines that make the claim and its controls."""
        text = (PACKAGE.parent / Path(*self.module.split("."))).with_suffix(".py").read_text()
        return "\n".join(text.splitlines()[self.lines[0] - 1 : self.lines[1]])


@dataclass(frozen=True)
class Catalogue:
    """All claims by name, and the public functions of the rooms as they are recorded."""

    digest: str
    claims: dict[str, Entry]
    listed: list[list[str]] = field(default_factory=list)

    @functools.cached_property
    def functions(self) -> list["Function"]:
        """The public functions of the rooms."""
        from deeptheory.lab.functions import Function

        return [Function(*each) for each in self.listed]

    @functools.cached_property
    def _served(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.claims.values():
            for item in entry.items:
                found.setdefault(item, []).append(entry)
        return found

    def serving(self, item: str) -> list[Entry]:
        """The claims that check an item."""
        return self._served.get(item, [])

    def subjects(self) -> dict[str, list[Entry]]:
        """The claims by subject."""
        found: dict[str, list[Entry]] = {}
        for entry in self.claims.values():
            found.setdefault(entry.subject, []).append(entry)
        return found


def digest() -> str:
    """A fingerprint of all source that the catalogue is made from."""
    total = hashlib.sha256()
    root, hidden = str(PACKAGE), {os.path.join(str(PACKAGE), face) for face in FACES}
    for folder, folders, files in os.walk(root):  # every lookup comes by here: strings, which cost half of paths
        folders[:] = sorted(name for name in folders if os.path.join(folder, name) not in hidden)
        for name in sorted(files):
            place = os.path.join(folder, name)
            if name.endswith(".py") and place not in hidden:
                with open(place, "rb") as source:
                    total.update(place[len(root) :].encode() + b"\0" + source.read())
    return total.hexdigest()[:16]


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue of this source tree: the one shipped with it, or the user's cached one, or else generated."""
    wanted = digest()
    for path in (SHIPPED, _cached(wanted)):
        if path.exists() and (record := json.loads(path.read_text())).get("digest") == wanted:
            return _read(record)
    import subprocess

    if sys.stderr is not None and "_DEEPTHEORY_COMPLETE" not in os.environ:
        print("the claims of this source tree are listed first, which takes ten seconds or more", file=sys.stderr)
    command = [sys.executable, "-m", "deeptheory.lab.entries"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if done.returncode:
        raise ImportError(f"the catalogue cannot be generated: {_fault(done.stderr) or f'status {done.returncode}'}")
    return _read(json.loads(done.stdout))


def _fault(traceback: str) -> str:
    """The last line of a traceback, and the place in a claim or a room that it came from, or else in the package."""
    places = [(Path(file), line) for file, line in re.findall(r'File "(.+)", line (\d+)', traceback)]
    own = [(path, line) for path, line in places if path.is_relative_to(PACKAGE)]
    rooms = [place for place in own if place[0].relative_to(PACKAGE).parts[0] not in ("lab", "foundations")]
    at = "".join(f" ({path}, line {line})" for path, line in (rooms or own)[-1:])
    return "".join(f"{line}{at}" for line in traceback.strip().splitlines()[-1:])


def _cached(digest: str) -> Path:
    import platformdirs

    return platformdirs.user_cache_path("deeptheory", appauthor=False) / "catalogues" / f"{digest}.json"


def load(name: str) -> "Claim":
    """Import a claim by name."""
    return getattr(importlib.import_module(catalogue().claims[name].module), name)


def _read(record: dict[str, Any]) -> Catalogue:
    def entry(fields: dict[str, Any]) -> Entry:
        parameters = {name: Parameter.of_record(value) for name, value in fields["parameters"].items()}
        return Entry(**{**fields, "parameters": parameters, "lines": tuple(fields["lines"])})

    claims = {name: entry(fields) for name, fields in record["claims"].items()}
    return Catalogue(record["digest"], claims, record["functions"])


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


def fingerprints(claims: list["Claim"]) -> dict[str, tuple[str, list[str]]]:
    """For each claim the fingerprint of what it reaches and of what judges it, and the functions of rooms it calls."""
    from deeptheory.lab.reach import Sources  # what reads syntax takes a while to load

    rooms = Sources(PACKAGE, closed=("deeptheory.lab", *GUARDS))
    evidence = [path.stem for path in (PACKAGE / "lab" / "evidence").glob("*.py") if path.stem != "__init__"]
    judging = {f"deeptheory.lab.evidence.{name}" for name in evidence} | {f"deeptheory.lab.{name}" for name in DECIDING}
    judged = Sources(PACKAGE).meaning_of_modules(judging)
    found = {}
    for claim in claims:
        place = (claim.module, claim.name)
        source = hashlib.sha256(f"{judged} {rooms.meaning(place)}".encode()).hexdigest()[:16]
        found[claim.name] = source, [f"{module}.{name}" for module, name in rooms.named_by(place, "deeptheory.claims.")]
    return found


def declared(claim: "Claim") -> dict[str, Any]:
    """What a claim says of itself, by the fields of its entry."""
    return {
        "name": claim.name,
        "module": claim.module,
        "subject": claim.subject,
        "theme": claim.theme,
        "says": claim.says,
        "needs": claim.needs,
        "scale": claim.scale,
        "items": {item: list(pieces) for item, pieces in claim.items.items()},
        "parameters": claim.parameters,
        "controls": [{"name": c.name, "erratum": c.erratum, "of": c.of} for c in claim.controls],
        "searchable": claim.over is not None,
        "symbols": dict(claim.symbols),
        "why": claim.why,
        "notice": claim.notice,
        "explore": {name: list(values) for name, values in claim.explore.items()},
        "consistency": list(claim.consistency),
        "pictured": claim.drawing is not None,
    }


def generate() -> dict[str, Any]:
    """The catalogue as JSON."""
    import inspect
    import textwrap

    from deeptheory.lab.functions import axis_words, functions_in

    claims = claims_in()
    found = fingerprints(claims)
    public = functions_in(PACKAGE, without=(*FACES, "claims", "lab"))
    offered = {f"{each.module}.{each.name}" for each in public}
    fields = {}
    for claim in claims:
        start, end = _lines(claim, claims)
        entry = Entry(
            **declared(claim),
            uses=[each for each in found[claim.name][1] if each in offered],
            axes=axis_words(textwrap.dedent(inspect.getsource(claim.function))),
            source=found[claim.name][0],
            lines=(start, end),
        )
        fields[claim.name] = asdict(entry)
    return {"claims": fields, "functions": [astuple(each) for each in public]}


def _lines(claim: "Claim", claims: list["Claim"]) -> tuple[int, int]:
    """First and last line of a claim with its controls: up to the next claim's decorator."""

    def first(each: "Claim") -> int:
        return each.function.__code__.co_firstlineno

    path = PACKAGE.parent / Path(*claim.module.split(".")).with_suffix(".py")
    later = [first(other) for other in claims if other.module == claim.module and first(other) > first(claim)]
    last = min(later, default=len(path.read_text().splitlines()) + 1) - 1
    return first(claim), last


def main() -> None:
    """Print the catalogue; keep it in the user's cache, or in the file that is named."""
    listed = digest()  # before anything is imported
    record = {"digest": listed} | generate()
    text = json.dumps(record, ensure_ascii=False, indent=1)
    print(text)
    if digest() != listed:
        return  # the source was edited meanwhile: what was listed is of neither version
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else _cached(listed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(text + "\n")
        temporary.replace(path)
        if len(sys.argv) == 1:
            aged = sorted(path.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)
            for old in aged[:-KEPT]:
                old.unlink(missing_ok=True)
    except OSError:
        pass  # a cache that cannot be written to: the caller reads what is printed


if __name__ == "__main__":
    main()
