"""Draw the plots of a run as SVG elements."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#7d8793"
"""The colour of text and axes, which is readable on light and dark backgrounds."""

COLOUR = "#4a90d9"


def levels_plot(levels: Sequence[int], name: str) -> str:
    """Return a bar chart that shows the number of distinct states at each depth.

    The bars are drawn as a single outline, because there can be thousands of them.

    Parameters:
        levels: the number of distinct states at each depth, starting with depth 1.
        name: a name that is unique among the plots of the page.
    """

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        axes.stairs(levels, [depth + 0.5 for depth in range(len(levels) + 1)], fill=True, color=COLOUR)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _drawn(name, "depth", "distinct states", draw)


def rates(samples: Sequence[tuple[float, int]]) -> list[tuple[float, float, float]]:
    """Compute how fast a run found distinct states.

    Parameters:
        samples: the number of distinct states at several times, see `Statistics.samples`.

    Returns:
        A tuple for each time span: its start and end in seconds, and the number of states found per second.
    """
    pairs = itertools.pairwise([(0.0, 0), *samples])
    return [(start, end, (more - count) / (end - start)) for (start, count), (end, more) in pairs if end > start]


def rate_plot(samples: Sequence[tuple[float, int]], name: str) -> str:
    """Return a plot that shows, against time, how many distinct states were found per second.

    Parameters:
        samples: the number of distinct states at several times, see `Statistics.samples`.
        name: a name that is unique among the plots of the page.
    """
    spans = rates(samples)

    def draw(axes: Axes) -> None:
        axes.stairs([rate for *_, rate in spans], [0.0, *(end for _, end, _ in spans)], color=COLOUR, linewidth=1.5)

    return _drawn(name, "seconds", "distinct states a second", draw)


def _drawn(name: str, across: str, up: str, draw: Callable[[Axes], None]) -> str:
    """Return a plot. Its vertical axis starts at 0 and has integer labels."""
    import matplotlib as mpl  # imported here because it takes a second
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
        draw(axes)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.spines[["top", "right"]].set_visible(False)
        drawn = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(drawn, format="svg", transparent=True, metadata=nothing)
    text = drawn.getvalue()
    return text[text.index("<svg") :]
