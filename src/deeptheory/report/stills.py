"""Figures as they are seen where no script runs: SVG in the colours of the page."""

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

from deeptheory.report.drawings import BAND, INK, OBSERVED, PREDICTED, RIVAL, SERIES, Drawn
from deeptheory.report.drawings.canvas import PAPER, RIVALS, Spec
from deeptheory.report.figures import composed

__all__ = ["PALETTE", "Still", "alone", "still"]

PALETTE = {
    OBSERVED: "observed",
    PREDICTED: "predicted",
    RIVAL: "rival",
    RIVALS[1]: "rival-2",
    BAND: "band",
    INK: "ink",
    PAPER: "paper",
} | {colour: f"series-{place}" for place, colour in enumerate(SERIES, start=1)}
"""Which custom property of the style sheet stands for each colour of a figure."""

COLOUR = re.compile("|".join(PALETTE))

_DIGITS = re.compile(r"(\.\d\d)\d+")

SHEET = Path(__file__).parent / "style.css"

MARGIN = 24
"""Room beside a picture that stands alone: a browser's letters may be wider than those of its layout."""

_FRAME = re.compile(r"\s(?:width|height|viewBox)=\"[^\"]*\"")


def still(spec: Spec, name: str) -> str:
    """A figure as SVG whose colours are the page's; `name` keeps its parts apart from those of other figures."""
    import vl_convert

    text = json.dumps(composed({"": Drawn(spec, "")}))
    svg = vl_convert.vegalite_to_svg(COLOUR.sub(lambda found: f"var(--{PALETTE[found[0]]})", text))
    # Vega counts its parts through all the figures of a process: equal figures shall be equal.
    parts = {part: f"{name}-{place}" for place, part in enumerate(dict.fromkeys(re.findall(r"\bid=\"([^\"]+)\"", svg)))}
    svg = re.sub(r"(\bid=\"|url\(#|href=\"#)([\w-]+)", lambda found: found[1] + parts.get(found[2], found[2]), svg)
    # Nothing points at a still: what is drawn only to be pointed at is left out, and a hundredth of a pixel is enough.
    svg = re.sub(r"<path[^>]*\sopacity=\"0\"[^>]*/>", "", svg)
    svg = re.sub(r"(?<=\sd=\")[^\"]+|(?<=\stransform=\")[^\"]+", lambda found: _DIGITS.sub(r"\1", found[0]), svg)
    # A page is read without it: what a reader hears is the label of the figure.
    return re.sub(r" aria-[a-z]+=\"[^\"]*\"| role=\"[^\"]*\"", "", svg)


@dataclass(frozen=True)
class Still:
    """A figure as a file of its own, which several pages show, with its size and what it shows."""

    svg: str
    width: int
    height: int
    caption: str


def alone(svg: str, caption: str) -> Still:
    """A still that brings the colours of both schemes with it."""
    width, height = (round(float(found)) for found in re.findall(r"(?:width|height)=\"([\d.]+)\"", svg)[:2])
    wide = width + MARGIN
    frame = f'width="{wide}" height="{height}" viewBox="{-MARGIN // 2} 0 {wide} {height}"'
    svg = re.sub(r"<svg\b([^>]*)>", lambda found: f"<svg {frame}{_FRAME.sub('', found[1])}>", svg, count=1)
    return Still(svg.replace(">", f"><style>{_colours()}</style>", 1), wide, height, caption)


@functools.cache
def _colours() -> str:
    """The colours of figures, light and dark, as the style sheet has them."""
    blocks = re.findall(r":root \{(.*?)\n\s*\}", SHEET.read_text("utf-8"), re.DOTALL)
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in re.findall(r"--([\w-]+): (#\w+);", block) if name in _NAMES)
        for block in blocks[:2]
    )
    halo = '[class*="said_"] text{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}'
    return f":root{{{light}}}{halo}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


_NAMES = set(PALETTE.values())
