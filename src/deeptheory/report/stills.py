"""Figures as they are seen where no script runs: SVG in the colours of the page."""

import json
import re

from deeptheory.report.drawings import BAND, INK, OBSERVED, PREDICTED, RIVAL, SERIES, Drawn
from deeptheory.report.drawings.canvas import Spec
from deeptheory.report.figures import composed

__all__ = ["PALETTE", "still"]

PALETTE = {OBSERVED: "observed", PREDICTED: "predicted", RIVAL: "rival", BAND: "band", INK: "ink"} | {
    colour: f"series-{place}" for place, colour in enumerate(SERIES, start=1)
}
"""Which custom property of the style sheet stands for each colour of a figure."""

COLOUR = re.compile("|".join(PALETTE))


def still(spec: Spec, name: str) -> str:
    """A figure as SVG whose colours are the page's; `name` keeps its parts apart from those of other figures."""
    import vl_convert

    text = json.dumps(composed({"": Drawn(spec, "")}))
    svg = vl_convert.vegalite_to_svg(COLOUR.sub(lambda found: f"var(--{PALETTE[found[0]]})", text))
    # Vega counts its parts through all the figures of a process: equal figures shall be equal.
    parts = {part: f"{name}-{place}" for place, part in enumerate(dict.fromkeys(re.findall(r"\bid=\"([^\"]+)\"", svg)))}
    svg = re.sub(r"(\bid=\"|url\(#|href=\"#)([\w-]+)", lambda found: found[1] + parts.get(found[2], found[2]), svg)
    # A page is read without it: what a reader hears is the label of the figure.
    return re.sub(r" aria-[a-z]+=\"[^\"]*\"| role=\"[^\"]*\"", "", svg)
