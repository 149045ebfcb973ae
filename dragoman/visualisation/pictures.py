"""Heat maps as pixels, drawn by matplotlib (extra `plot`)."""

import io
import warnings
from collections.abc import Sequence
from typing import Any

from dragoman.errors import missing_library
from dragoman.visualisation.markup import visible, width
from dragoman.visualisation.scale import LESS, MORE, Scale, Weights

CELL = 0.36  # inches
LETTER = 0.14  # the width of a letter of average width, in inches
RESOLUTION = 150  # pixels in an inch
FONTS = ["DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari"]


def png(values: Weights, source: Sequence[str], target: Sequence[str], scale: Scale) -> bytes:
    """Draw values (T, S) in the colours of `heatmap.svg`, with a legend. Letters that none of the installed FONTS has
    are boxes. UserError if matplotlib is not installed.
    """
    matplotlib = load()
    columns, rows = [[visible(word) for word in words] for words in (source, target)]
    left, top = (LETTER * max(map(width, words), default=0.0) for words in (rows, columns))
    across, down = CELL * max(1, len(columns)), CELL * max(1, len(rows))
    edge, legend = 0.25, 0.9
    size = left + across + top + 2 * edge, top + down + legend + 2 * edge  # turned words reach beyond the right edge
    with matplotlib.rc_context({"font.family": _installed(matplotlib), "font.size": 10}):
        figure = matplotlib.figure.Figure(size)
        axes = figure.add_axes(
            (
                (left + edge) / size[0],
                (legend + edge) / size[1],
                across / size[0],
                down / size[1],
            )
        )
        least = -scale.top if scale.signed else 0.0
        ends = [LESS, "white", MORE] if scale.signed else ["white", MORE]
        colours = matplotlib.colors.LinearSegmentedColormap.from_list("dragoman", ends)
        shown = [[scale.top * scale.part(value) for value in row] for row in values.tolist()] or [[0.0]]
        image = axes.pcolormesh(shown, cmap=colours, vmin=least, vmax=scale.top, edgecolors="#d9dce1", linewidth=0.6)
        axes.set_xticks([s + 0.5 for s in range(len(columns))], columns, rotation=45, ha="left", rotation_mode="anchor")
        axes.set_yticks([t + 0.5 for t in range(len(rows))], rows)
        axes.xaxis.tick_top()
        axes.invert_yaxis()
        axes.tick_params(length=0)
        bar = figure.add_axes(
            ((left + edge) / size[0], (edge + 0.45) / size[1], min(across, 1.5) / size[0], 0.1 / size[1])
        )
        figure.colorbar(image, cax=bar, orientation="horizontal", label=scale.unit)
        for spine in axes.spines.values():
            spine.set_visible(False)
        written = io.BytesIO()
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of letters without a font
            figure.savefig(written, format="png", dpi=RESOLUTION, metadata={"Software": None})
    return written.getvalue()


def load() -> Any:
    """Import matplotlib. UserError if it is not installed."""
    try:
        import matplotlib
        import matplotlib.colors
        import matplotlib.figure
        import matplotlib.font_manager
    except ImportError as error:
        raise missing_library(error.name, "plot") from error
    return matplotlib


def _installed(matplotlib: Any) -> list[str]:
    """The fonts that are there: asking for others would print warnings."""
    known = set(matplotlib.font_manager.get_font_names())
    return [name for name in FONTS if name in known]
