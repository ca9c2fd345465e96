"""Plots of a run, as SVG that is part of the page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

INK = "#7d8793"
"""Readable on a light ground and on a dark one."""


def levels_plot(levels: Sequence[int], name: str) -> str:
    """The distinct states at each depth, as bars.

    Parameters:
        levels: how many, from depth 1 on.
        name: what tells the parts of this plot from those of others on the page.
    """
    import matplotlib as mpl  # takes a second, which other commands need not wait
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    looks: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    }
    with mpl.rc_context(looks):
        figure = Figure(figsize=(6.4, 2.2), layout="constrained")
        axes = figure.subplots()
        axes.bar(range(1, len(levels) + 1), levels, color="#4a90d9")
        axes.set_xlabel("depth")
        axes.set_ylabel("distinct states")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.spines[["top", "right"]].set_visible(False)
        drawn = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(drawn, format="svg", transparent=True, metadata=nothing)
    text = drawn.getvalue()
    return text[text.index("<svg") :]
