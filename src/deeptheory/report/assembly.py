"""A self-contained folder of pages, made from runs: it opens from the file system, without a server or a network."""

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeptheory.lab.functions import imports
from deeptheory.lab.parameters import written
from deeptheory.lab.records import badge
from deeptheory.lab.sensitivity import resolution, unseen
from deeptheory.lab.store import stale
from deeptheory.report.drawings import THEME
from deeptheory.report.figures import drawing_of, drawn
from deeptheory.report.folder import replaced
from deeptheory.report.highlight import highlighted
from deeptheory.report.mathml import typeset
from deeptheory.report.packing import changes, packed
from deeptheory.report.pictures.reliefs import in_space
from deeptheory.report.security import PLACE, policy, sealed
from deeptheory.report.shelf import Shelf
from deeptheory.report.stills import NARROW, PALETTE, WIDE, alone, filling, still
from deeptheory.report.wording import (
    ERRATA,
    STATUSES,
    VERDICTS,
    embedded,
    findable,
    heading,
    placed,
    seconds,
    sentence,
    shown,
    spoken,
    stated,
    versions,
    words,
)

if TYPE_CHECKING:
    from deeptheory.lab.exploring import Explored
    from deeptheory.lab.outcome import Run

__all__ = ["write"]

HERE = Path(__file__).parent


def write(
    folder: Path | str,
    runs: Iterable["Run"],
    *,
    catalogue: Any,
    books: Any,
    statuses: Mapping[str, Any],
    counterexamples: Mapping[str, Any] | None = None,
    explored: "Mapping[str, Explored] | None" = None,
    tell: Callable[[str], None] = lambda name: None,
    lament: Callable[[str], None] = warnings.warn,
) -> Path:
    """Write the pages of these runs into a folder and return its index.

    Args:
        folder: a new or empty folder, or an earlier report, which is replaced as a whole.
        runs: the runs to show; of several of one claim, the last.
        catalogue: what claims there are (`deeptheory.lab.entries.catalogue()`).
        books: the module `deeptheory.books`.
        statuses: where each item stands (`deeptheory.lab.records.statuses`).
        counterexamples: found counterexamples by claim, as the ledger keeps them.
        explored: by claim, the parameters that were moved, with the run at each value.
        tell: called with the name of each file as it is made.
        lament: called with a sentence for each run or picture that cannot be shown, and is left out.
    """
    found = {run.claim: run for run in runs}
    shelf = Shelf(found, catalogue, books.books(), statuses, counterexamples or {}, explored or {})
    with replaced(Path(folder)) as filling:
        contents = prepared(shelf, tell, lament)
        for name, text in pages(shelf, contents):
            path = filling / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if not name.startswith("claims/"):
                tell(name)
    return Path(folder) / "index.html"


def prepared(shelf: Shelf, tell: Callable[[str], None], lament: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """What each claim's page shows. A damaged run leaves the shelf with a sentence, unless all are damaged."""
    contents: dict[str, dict[str, Any]] = {}
    problems: dict[str, Exception] = {}
    for name, run in shelf.runs.items():
        try:
            if not name.isidentifier():  # it becomes the name of a file
                raise ValueError("claims are named like functions")
            contents[name] = claim_page(shelf, run, lament)
            rendered(shelf, "claim", run=run, near={"before": None, "after": None}, **contents[name])
            if own := contents[name]["own"]:
                shelf.pictures[name] = alone(own["still"], own["narrow"], own["caption"], own["panels"])
        except Exception as problem:
            problems[name] = problem
        tell(f"claims/{name}.html")
    if problems and len(problems) == len(shelf.runs):
        name, problem = next(iter(problems.items()))
        raise ValueError(f"no run can be shown; that of {name!r}: {type(problem).__name__}: {problem}") from problem
    for name, problem in problems.items():
        contents.pop(name, None)
        shelf.runs.pop(name)
        lament(f"the run of {name!r} cannot be shown and is left out: {type(problem).__name__}: {problem}")
    return contents


def pages(shelf: Shelf, contents: Mapping[str, dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """Every file of a report: its name in the folder and its text."""
    yield "style.css", (HERE / "style.css").read_text("utf-8")
    yield "page.js", (HERE / "page.js").read_text("utf-8")
    yield "vega.js", vega()
    page = functools.partial(rendered, shelf)
    yield "index.html", page("index", lines=[shelf.line(run) for group in shelf.subjects.values() for run in group])
    yield "errata.html", page("errata")
    for claim, picture in shelf.pictures.items():
        yield f"pictures/{claim}.svg", picture.wide.svg
        yield f"pictures/{claim}.narrow.svg", picture.narrow.svg
    for book in shelf.books:
        beside = {item: [shelf.line(run) for run in group] for item, group in shelf.beside(book).items()}
        yield f"books/{book.id}.html", page("book", book=book, beside=beside)
    for subject, group in shelf.subjects.items():
        introduction, themes, rest = shelf.course(subject)
        lines = {run.claim: shelf.line(run) for run in group}
        values = {"introduction": introduction, "themes": themes, "rest": [lines[run.claim] for run in rest]}
        yield f"subjects/{subject}.html", page("subject", subject=subject, lines=lines, **values)
        for place, run in enumerate(group):
            near = {
                "before": group[place - 1] if place else None,
                "after": group[place + 1] if place + 1 < len(group) else None,
            }
            yield f"claims/{run.claim}.html", page("claim", run=run, near=near, **contents[run.claim])


def rendered(shelf: Shelf, template: str, **values: Any) -> str:
    """One page from its template; `root` leads from it to the folder's root."""
    root = "" if template in ("index", "errata") else "../"
    common = {"shelf": shelf, "root": root, "page": template, "policy": policy(PLACE), "nonce": PLACE}
    return sealed(environment().get_template(f"{template}.html").render(**common, **values))


def claim_page(shelf: Shelf, run: "Run", lament: Callable[[str], None]) -> dict[str, Any]:
    """What only a claim's page shows."""
    entry = shelf.entry(run.claim)
    statement, rest = stated(entry.says) if entry else ("", "")
    own = own_picture(run, shelf, lament, resting=True)
    return {
        "entry": entry,
        "line": shelf.line(run),
        "subject": shelf.subject(run.claim),
        "related": shelf.related(run.claim),
        "statement": statement,
        "rest": rest,
        "noticed": unseen(run),
        "own": own,
        "sliders": sliders(run, own, shelf, lament) if own else [],
        "figures": figures(run),
        "imports": imports(entry.uses) if entry else "",
        "parameters": {words(name): shown(value) for name, value in run.parameters.items()},
        "versions": versions(run.platform),
        "code": highlighted(entry.code()) if entry else "",
        "path": "/".join(entry.module.split(".")) + ".py" if entry else "",
        "counterexamples": shelf.counterexamples.get(run.claim, ()),
        "look": embedded({"theme": THEME, "palette": PALETTE}),
    }


def figures(run: "Run") -> list[dict[str, Any]]:
    """The default figure of each piece of evidence with what was judged of it; a caption is given once."""
    found, captions = [], set()
    for name, figure in drawn(run).items():
        judged, kind = run.judgements[name], run.described[name]["kind"]
        label = f"{figure.caption} {words(name) or 'Outcome'}, {judged.verdict}: {judged.reason}."
        # What says "holds to 3 %" has said its resolution.
        unsaid = "" if judged.strength.startswith("holds to") else resolution(kind, judged)
        found.append(
            {
                "name": name,
                "kind": kind,
                "judged": judged,
                "resolution": "" if unsaid in ("—", "exact") else unsaid,
                "label": label,
                "caption": "" if figure.caption in captions else figure.caption,
                "lines": figure.lines,
                "spec": embedded(packed({**figure.spec, "description": label})),
                "still": "" if figure.lines else still(figure.spec, f"{run.claim}-{len(found)}"),
            }
        )
        captions.add(figure.caption)
    return found


def own_picture(
    run: "Run", shelf: Shelf, lament: Callable[[str], None], *, resting: bool = False
) -> dict[str, Any] | None:
    """The picture of a run as JSON, and what it shows: the claim's own, or the default one that a slider moves.

    With `resting` also as it stands still, on a page and on a phone. None where there is no such picture or it cannot
    be drawn.
    """
    drawing = drawing_of(run.claim, shelf.catalogue)
    if not run.described or (drawing is None and run.claim not in shelf.explored):
        return None
    try:
        figure = next(each for each in drawn(run, drawing).values() if not each.lines)
        unmoved = [filling(figure.spec, run.claim, room) for room in (WIDE, NARROW)] if resting else [None, None]
    except Exception as problem:
        # A run may be older than the picture, and its evidence of another shape: the default figures serve any run.
        if not stale(run, shelf.catalogue.claims[run.claim]):
            given = written(run.parameters)
            said = f"the picture of {run.claim} cannot be drawn" + (f" with {given}" if given else "")
            lament(f"{said}: {type(problem).__name__}: {problem}")
        return None
    label = f"{figure.caption} {run.verdict}: {run.reason}."
    told = figure.spec.get("usermeta", {})
    return {
        "figure": figure,
        "packed": (spec := packed({**in_space(figure.spec), "description": label})),
        "spec": embedded(spec),
        "still": unmoved[0],
        "narrow": unmoved[1],
        "caption": figure.caption,
        "panels": "hconcat" in figure.spec,
        "label": label,
        "rivals": told.get("rivals", []),
        "angles": {name: told[name] for name in ("turn", "tilt") if name in told},
    }


def sliders(run: "Run", own: dict[str, Any], shelf: Shelf, lament: Callable[[str], None]) -> list[dict[str, Any]]:
    """For each parameter that was moved: its values, and at each of them the verdict and how the picture differs."""
    found = []
    for name, stops in shelf.explored.get(run.claim, {}).items():
        made = [(shown(value), each, own_picture(each, shelf, lament)) for value, each in stops]
        if all(picture is not None or not each.described for _, each, picture in made):
            found.append(
                {
                    "name": words(name),
                    "at": next((place for place, (_, each, _) in enumerate(made) if each is run), 0),
                    "stops": [
                        {"value": value, "verdict": each.verdict, "reason": each.reason, "noticed": unseen(each)}
                        for value, each, _ in made
                    ],
                    # Where an assumption is not met there is nothing to draw: the sentence says why.
                    "specs": embedded(
                        [changes(own["packed"], picture["packed"]) if picture else None for _, _, picture in made]
                    ),
                }
            )
    return found


@functools.cache
def environment():
    """The templates, with the few functions they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "typeset": lambda text: Markup(typeset(text)),
        "spoken": lambda text: Markup(spoken(text)),
        "placed": lambda told, panels: Markup(placed(told, panels)),
        "sentence": lambda text: Markup(sentence(text)),
        "findable": findable,
        "kind_of_erratum": lambda kind: ERRATA.get(kind, kind),
        "raw": Markup,
        "breakable": lambda name: Markup("_<wbr>").join(name.split("_")),
        "heading": heading,
        "words": words,
        "seconds": seconds,
        "grouped": lambda number: f"{number:,}",
    }
    made.globals |= {"badge": badge, "VERDICTS": VERDICTS, "STATUSES": STATUSES, "ERRATA": ERRATA}
    return made


@functools.cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one classic script: modules do not load from the file system."""
    import vl_convert

    newest = vl_convert.get_vegalite_versions()[-1]
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=newest)
    # Its top-level names would become those of every other script on the page.
    return f"(function () {{\n{bundle}\n}})();\n"
