"""Charts that show themselves without a network."""

import functools
import json
from typing import Any

__all__ = ["offline"]


def offline(chart: Any) -> Any:
    """An Altair chart that brings its drawing along, so that a notebook shows it without loading a script.

    It is interactive where the notebook has Vega (JupyterLab has), and a still drawing elsewhere.
    """
    object.__setattr__(chart, "__class__", _drawn(type(chart)))  # a chart takes attributes for its properties
    return chart


@functools.cache
def _drawn(kind: type) -> type:
    """A kind of chart whose notebook form is its specification and its drawing, and no page that loads scripts."""

    def bundle(self: Any, *_: Any, **__: Any) -> dict[str, Any]:
        import altair
        import vl_convert

        spec = self.to_dict()
        version = altair.SCHEMA_VERSION.lstrip("v").split(".")[0]
        return {
            f"application/vnd.vegalite.v{version}+json": spec,
            "image/svg+xml": vl_convert.vegalite_to_svg(json.dumps(spec)),
            "text/plain": f"<{kind.__name__}>",
        }

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": bundle, "__module__": kind.__module__})
