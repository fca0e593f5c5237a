"""Figures as they are seen where no script runs: SVG in the colours of the page."""

import functools
import json
import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from deeptheory.report.drawings import BAND, INK, OBSERVED, PREDICTED, RIVAL, SERIES, Drawn
from deeptheory.report.drawings.canvas import PAPER, RELIEF, RIVALS, Spec
from deeptheory.report.figures import composed
from deeptheory.report.fitting import fitted

__all__ = ["NARROW", "PALETTE", "WIDE", "Stills", "alone", "filling", "still"]

PALETTE = {
    OBSERVED: "observed",
    PREDICTED: "predicted",
    RIVAL: "rival",
    RIVALS[1]: "rival-2",
    BAND: "band",
    INK: "ink",
    PAPER: "paper",
}
PALETTE |= {colour: f"series-{place}" for place, colour in enumerate(SERIES, start=1)}
PALETTE |= {colour: f"relief-{place}" for place, colour in enumerate(RELIEF, start=1)}
"""Which custom property of the style sheet stands for each colour of a figure."""

COLOUR = re.compile("|".join(PALETTE))

_DIGITS = re.compile(r"(\.\d\d)\d+")
_DOT = re.compile(
    r'<path transform="translate\(([-\d.]+,[-\d.]+)\)" d="M([\d.]+),0A\2,\2,0,1,1,-\2,0A\2,\2,0,1,1,\2,0"'
    r' fill="([^"]+)" stroke-width="[\d.]+" opacity="([\d.]+)"/>'
)
_CELL = re.compile(
    r'<path d="M([-\d.]+),([-\d.]+)h([-\d.]+)v([-\d.]+)h[-\d.]+Z" fill="([^"]+)" stroke-width="0" opacity="([\d.]+)"/>'
)
_UNSEEN = re.compile(
    r'<path[^>]*\s(?:opacity="0"|display="none")[^>]*/>|<path class="background"(?![^>]* (?:fill|stroke)=)[^>]*/>'
)
_CURVES = re.compile(r'<g class="mark-line role-mark [^>]*>(?:<path [^>]*>)+')
_FACE = re.compile(
    r'<g transform="translate\(0,0\)"><g><g class="mark-line role-mark relief_faces_\w+"[^>]*>'
    r'<path d="([^"]+)" fill="([^"]+)"([^/]*)/></g></g></g>'
)
_WAY = re.compile(r"M([-\d.]+,[-\d.]+(?:L[-\d.]+,[-\d.]+)*)")
_FONT = re.compile(r" font-family=\"[^\"]*\"")

SHEET = Path(__file__).parent / "style.css"

MARGIN = 24
"""Room beside a picture that stands alone: a browser's letters may be wider than those of its layout."""

WIDE, NARROW, NARROWEST = 736, 354, 160
"""Pixels that a picture has on a page, on a phone, and that a panel keeps."""

LETTERS = "Arial, Helvetica, 'Liberation Sans', sans-serif"
"""Fonts of one width, which is that of the layout: what a browser calls its own may be wider, and words would meet."""

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
    svg = _UNSEEN.sub("", svg)
    svg = re.sub(r"(?<=\sd=\")[^\"]+|(?<=\stransform=\")[^\"]+", lambda found: _DIGITS.sub(r"\1", found[0]), svg)
    svg = re.sub(r"(?<=opacity=\")(0?\.\d{3})\d+", r"\1", svg)
    # A page is read without it: what a reader hears is the label of the figure.
    return lighter(re.sub(r" aria-[a-z]+=\"[^\"]*\"| role=\"[^\"]*\"", "", svg))


def lighter(svg: str) -> str:
    """A picture in a third of its text: dots of a kind are one path, so are cells of a shade; the font is named once.

    A dot is a way of no length whose round ends are as wide as the dot; where pale dots overlap they stay pale. A cell
    is a way across it as wide as the cell is high; cells lie side by side, so that their order does not matter, and a
    hundredth of an opacity is not seen. The faces of a relief cover each other, so that they stay apart, and a
    tenth of a pixel is enough for them and for curves, which go step by step.
    """

    def strung(found: re.Match[str]) -> str:
        kinds = groupby(_DOT.finditer(found[0]), key=lambda dot: dot.groups()[1:])
        placed = [(kind, dict.fromkeys(dot[1] for dot in dots)) for kind, dots in kinds]
        return "".join(
            f'<path d="{"".join(f"M{at}h.01" for at in places)}" fill="none" stroke="{colour}" '
            f'stroke-width="{2 * float(radius):g}" stroke-linecap="round" opacity="{opacity}"/>'
            for (radius, colour, opacity), places in placed
        )

    def shaded(found: re.Match[str]) -> str:
        alike: dict[str, dict[tuple[str, str], list[tuple[float, float, float]]]] = {}
        for x, y, width, height, colour, opacity in _CELL.findall(found[0]):
            cells = alike.setdefault(colour, {}).setdefault((height, f"{float(opacity):.2f}"), [])
            left, middle, right = float(x), float(y) + float(height) / 2, float(x) + float(width)
            if cells and cells[-1][1] == middle and abs(cells[-1][2] - left) < 0.02:
                left, *_ = cells.pop()
            cells.append((left, middle, right))
        return "".join(
            f'<g fill="none" stroke="{colour}">{"".join(rowed(*kind, cells) for kind, cells in shades.items())}</g>'
            for colour, shades in alike.items()
        )

    def rowed(height: str, opacity: str, cells: list[tuple[float, float, float]]) -> str:
        # A tenth of a pixel more: where cells meet between two pixels a browser else shows what is behind them.
        ways = "".join(f"M{left:g},{middle:.2f}h{right - left + 0.1:.1f}" for left, middle, right in cells)
        return f'<path d="{ways}" stroke-width="{height}" opacity="{opacity}"/>'

    def faced(found: re.Match[str]) -> str:
        faces = list(_FACE.finditer(found[0]))
        paths = "".join(f'<path d="{face[1]}" fill="{face[2]}"/>' for face in faces)
        return f"<g{faces[0][3]}>{_WAY.sub(stepped, paths)}</g>"

    def stepped(way: re.Match[str]) -> str:
        corners = [[round(10 * float(part)) for part in corner.split(",")] for corner in way[1].split("L")]
        moves = [part - before for one, other in pairwise(corners) for before, part in zip(one, other, strict=True)]
        return f"M{tenths(corners[0])}" + (f"l{tenths(moves)}" if moves else "")

    def tenths(numbers: list[int]) -> str:
        return ",".join(f"{each / 10:g}" for each in numbers).replace(",-", "-")

    svg = re.sub(f"(?:{_DOT.pattern})+", strung, svg)
    svg = re.sub(f"(?:{_FACE.pattern})+", faced, svg)
    svg = re.sub(f"(?:{_CELL.pattern})+", shaded, svg)
    svg = _CURVES.sub(lambda curves: _WAY.sub(stepped, curves[0]), svg)
    fonts = set(_FONT.findall(svg))
    return re.sub("<svg", f"<svg{fonts.pop()}", _FONT.sub("", svg), count=1) if len(fonts) == 1 else svg


@dataclass(frozen=True)
class Still:
    """A figure as a file of its own, which several pages show, with its size."""

    svg: str
    width: int
    height: int


@dataclass(frozen=True)
class Stills:
    """A figure for wide screens and for narrow ones, what it shows, and whether its panels stand side by side."""

    wide: Still
    narrow: Still
    caption: str
    panels: bool


def alone(wide: str, narrow: str, caption: str, panels: bool) -> Stills:
    """Two drawings of a figure as files: one for a page, and one whose letters are as large on a phone."""
    return Stills(coloured(wide), coloured(narrow), caption, panels)


def filling(spec: Spec, name: str, room: int) -> str:
    """A still about this wide, so that it is shown in its own size.

    Labels take what they take: it is drawn and looked at, and drawn again where it is too wide by more than a little.
    """
    panel = room - MARGIN - 60
    for _ in range(3):
        svg = still(fitted(spec, panel), name)
        over = extent(svg)[0] + MARGIN - room
        if over <= 0.03 * room or panel == NARROWEST:
            break
        panel = max(panel - over, NARROWEST)
    return svg


def extent(svg: str) -> tuple[int, int]:
    """Width and height of a still in pixels."""
    width, height = (round(float(found)) for found in re.findall(r"(?:width|height)=\"([\d.]+)\"", svg)[:2])
    return width, height


def coloured(svg: str) -> Still:
    """A still that brings the colours of both schemes with it, in letters as wide as those it was laid out with."""
    width, height = extent(svg)
    wide = width + MARGIN
    frame = f'width="{wide}" height="{height}" viewBox="{-MARGIN // 2} 0 {wide} {height}"'
    svg = re.sub(r"<svg\b([^>]*)>", lambda found: f"<svg {frame}{_FRAME.sub('', found[1])}>", svg, count=1)
    svg = _FONT.sub(f' font-family="{LETTERS}"', svg)
    return Still(svg.replace(">", f"><style>{_colours()}</style>", 1), wide, height)


@functools.cache
def _colours() -> str:
    """The colours of figures, light and dark, as the style sheet has them."""
    blocks = re.findall(r":root \{(.*?)\n\s*\}", SHEET.read_text("utf-8"), re.DOTALL)
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in re.findall(r"--([\w-]+): (#\w+);", block) if name in _NAMES)
        for block in blocks[:2]
    )
    said = ':is([class*="said_"],[class*="relief_words_"]) text'
    halo = f"{said}{{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}}"
    return f":root{{{light}}}{halo}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


_NAMES = set(PALETTE.values())
