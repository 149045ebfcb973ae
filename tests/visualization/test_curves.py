"""Curves: axes, gaps, thinning, many curves and none."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from dragoman.visualization.curves import COLORS, MOST_MARKS, MOST_POINTS, svg

SVG = "{http://www.w3.org/2000/svg}"


def parsed(curves: dict[str, list[tuple[float, float]]], **options: bool) -> ElementTree.Element:
    return ElementTree.fromstring(svg(curves, title="Loss", x="steps", **options))


def texts(figure: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in figure.iter(f"{SVG}text")]


def lines(figure: ElementTree.Element) -> list[str]:
    """The path of each curve; the legend's samples have no title."""
    return [path.get("d", "") for path in figure.iter(f"{SVG}path") if drawn(path)]


def drawn(path: ElementTree.Element) -> bool:
    """Whether it is a curve: the legend's samples have no title, and marks on points are no lines."""
    return path.get("class") == "line" and path.find(f"{SVG}title") is not None


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)]


def test_points_lie_where_the_axes_say() -> None:
    figure = parsed({"a": [(0, 0.0), (50, 1.0), (100, 4.0)]})
    (x0, y0), (x1, y1), (x2, y2) = points(lines(figure)[0])
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert (y0 - y1) * 4 == pytest.approx(y0 - y2, abs=0.5)
    assert y0 > y1 > y2  # upwards in the picture
    upright = [text for text in figure.iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    heights = {text.text: float(text.get("y", "")) - 4 for text in upright}  # of the baseline
    assert heights["0"] == pytest.approx(y0, abs=0.1)
    assert heights["4"] == pytest.approx(y2, abs=0.1)
    assert {"Loss", "steps"} <= set(texts(figure))


def test_a_logarithmic_axis_spaces_ratios_evenly() -> None:
    figure = parsed({"a": [(0, 1.0), (1, 10.0), (2, 100.0)]}, logarithmic=True)
    (_, y0), (_, y1), (_, y2) = points(lines(figure)[0])
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    linear = parsed({"a": [(0, 0.0), (1, 10.0), (2, 100.0)]}, logarithmic=True)  # a zero has no logarithm
    (_, y0), (_, y1), (_, y2) = points(lines(linear)[0])
    assert (y0 - y1) * 10 == pytest.approx(y0 - y2, abs=1)


def test_values_that_are_not_finite_leave_a_gap() -> None:
    figure = parsed({"a": [(0, 1.0), (1, 2.0), (2, math.nan), (3, 2.0), (4, math.inf), (5, 1.0)]})
    assert lines(figure)[0].count("M") == 3
    assert len(points(lines(figure)[0])) == 4


def test_long_curves_are_thinned_but_keep_their_peaks() -> None:
    curve = [(float(step), 1.0) for step in range(100_000)]
    curve[77_777] = (77_777.0, 9.0)
    path = points(lines(parsed({"a": curve}))[0])
    assert len(path) <= MOST_POINTS
    assert min(y for _, y in path) < max(y for _, y in path) - 50


def test_a_long_curve_keeps_its_gaps() -> None:
    curve = [(float(step), math.nan if 4_000 <= step < 6_000 or step == 8_001 else 1.0) for step in range(10_000)]
    path = lines(parsed({"a": curve}))[0]
    assert path.count("M") == 3
    assert len(points(path)) <= MOST_POINTS


def test_points_tell_their_values() -> None:
    figure = parsed({"dev <b>": [(500, 23.456), (1000, 24.0)]})
    titles = [title.text for title in figure.iter(f"{SVG}title")]
    assert "dev <b>: 23.46 at 500" in titles
    assert "dev <b>: 24 at 1,000" in titles
    assert figure.get("aria-label") == "Loss: dev <b> ends at 24"


def test_several_curves_have_a_legend() -> None:
    names = [f"a run with a name of some length {number}" for number in range(9)]
    figure = parsed({name: [(0, float(number)), (1, 2.0)] for number, name in enumerate(names)})
    shown = texts(figure)
    assert all(any(text.lstrip("…") in name for text in shown if len(text) > 9) for name in names)
    assert float(figure.get("height", "")) > float(parsed({"a": [(0, 1.0)]}).get("height", ""))


def test_long_names_that_begin_alike_are_told_apart() -> None:
    names = [f"experiments/of-this-year/with-a-long-name/{name}" for name in ("flat-with-sentinel", "hierarchical")]
    figure = parsed({name: [(0, 1.0), (1, 2.0)] for name in names})
    shown = [text for text in texts(figure) if "…" in text]
    assert [text.rpartition("/")[2] for text in shown] == ["flat-with-sentinel", "hierarchical"]
    assert max(map(len, shown)) == 31


def looks(figure: ElementTree.Element) -> list[tuple[str | None, str | None]]:
    """Color and dashes of each curve."""
    return [(path.get("stroke"), path.get("stroke-dasharray")) for path in figure.iter(f"{SVG}path") if drawn(path)]


def marks(figure: ElementTree.Element) -> list[str]:
    """The shape on the points of each curve."""
    groups = [group.findall(f"{SVG}path") for group in figure.iter(f"{SVG}g")]
    shapes = [{re.sub(r"^M[\d.]+ [\d.]+", "", path.get("d", "")) for path in group} for group in groups]
    assert all(len(shape_list) == 1 for shape_list in shapes)
    return [shape for shape_list in shapes for shape in shape_list]


def test_each_curve_has_dashes_and_marks_of_its_own_beside_its_color() -> None:
    figure = parsed({str(number): [(0, float(number)), (1, 2.0)] for number in range(len(COLORS))})
    colors, dashes = zip(*looks(figure), strict=True)
    assert len(set(colors)) == len(set(dashes)) == len(set(marks(figure))) == len(COLORS)
    more = parsed({str(number): [(0, float(number)), (1, 2.0)] for number in range(len(COLORS) ** 2)})
    assert len(set(looks(more))) == len(COLORS) ** 2


def test_the_legend_shows_each_curve_as_it_is_drawn() -> None:
    few, many = [(0.0, 1.0), (1.0, 2.0)], [(float(step), 1.0) for step in range(MOST_MARKS + 1)]
    figure = parsed({"few": few, "many": many, "no more": few})
    paths = [path for path in figure.iter(f"{SVG}path") if path.find(f"{SVG}title") is None]
    samples = [(path.get("stroke"), path.get("stroke-dasharray")) for path in paths if path.get("class") == "line"]
    assert samples == looks(figure)
    filled = [path for path in paths if path.get("fill") in COLORS]
    assert [path.get("fill") for path in filled] == list(COLORS[:3])
    for path, shape in zip(filled, marks(figure), strict=True):
        assert path.get("d", "").endswith(shape)
    assert [len(group) for group in figure.iter(f"{SVG}g")] == [2, 11, 2]  # marks do not cover a long curve


@pytest.mark.parametrize("curves", [{}, {"a": []}, {"a": [(0.0, math.nan)]}])
def test_nothing_to_draw(curves: dict[str, list[tuple[float, float]]]) -> None:
    assert "No values yet" in texts(parsed(curves))


@settings(deadline=None)
@given(
    some.lists(some.tuples(some.integers(0, 10**9), some.floats(-1e12, 1e12)), min_size=1, max_size=30),
    some.booleans(),
)
def test_any_values_lie_inside_the_picture(values: list[tuple[int, float]], logarithmic: bool) -> None:
    figure = parsed({"a": [(float(x), y) for x, y in values]}, logarithmic=logarithmic)
    width, height = (float(figure.get(side, "")) for side in ("width", "height"))
    for x, y in points(lines(figure)[0]):
        assert 0 <= x <= width
        assert 0 <= y <= height


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-9, 1e30, 5e-324])
def test_constant_curves(value: float) -> None:
    figure = parsed({"a": [(0, value), (10, value)]})
    assert len(points(lines(figure)[0])) == 2
