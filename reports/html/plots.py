"""Draw plots as SVG elements."""

from __future__ import annotations

import io
from typing import Any

from markupsafe import Markup

from leadline.reports.document import Plot

INK = "#7d8793"
"""The colour of text and axes, which is readable on light and dark backgrounds."""

COLOUR = "#4a90d9"


def drawn(plot: Plot, name: str) -> Markup:
    """Return a plot. Its vertical axis starts at 0 and has integer labels.

    The numbers are drawn as a single outline, because there can be thousands of them.

    Parameters:
        name: a name that is unique among the documents of the page.
    """
    import matplotlib as mpl  # imported here because it takes a second
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    looks: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": f"{name} {plot.up}",
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    }
    with mpl.rc_context(looks):
        figure = Figure(figsize=(6.4, 2.2), layout="constrained")
        axes = figure.subplots()
        axes.stairs(plot.numbers, plot.edges, fill=plot.is_filled, color=COLOUR, linewidth=1.5)
        axes.set_xlabel(plot.across)
        axes.set_ylabel(plot.up)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        if plot.is_filled:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.spines[["top", "right"]].set_visible(False)
        text = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return Markup(text.getvalue()[text.getvalue().index("<svg") :])
