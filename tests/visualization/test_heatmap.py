"""Heat maps: every word and every weight is in the picture, for any script, with and without colors."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console

from dragoman.visualization.heatmap import html, svg, terminal
from dragoman.visualization.scale import scale_top

SVG = "{http://www.w3.org/2000/svg}"
SOURCE = ["the", "white", "house", "."]
TARGET = ["la", "maison", "blanche", "."]
ATTENTION = np.array([[0.8, 0.1, 0.1, 0.0], [0.05, 0.2, 0.75, 0.0], [0.0, 0.6, 0.3, 0.1], [0.0, 0.0, 0.04, 0.96]])


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def cells(figure: ElementTree.Element) -> list[ElementTree.Element]:
    return figure.findall(f"{SVG}g[@class='cells']/{SVG}rect")


def labels(figure: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in figure.iter(f"{SVG}text") if text.get("class") is None]


def spread(rows: int, columns: int) -> NDArray[np.float64]:
    return np.random.default_rng(rows).dirichlet(np.full(columns, 0.2), size=rows)


@pytest.mark.spec("I1")
def test_every_cell_tells_its_words_and_its_weight() -> None:
    figure = parsed(svg(ATTENTION, SOURCE, TARGET))
    assert labels(figure) == SOURCE + TARGET
    drawn_cells = cells(figure)
    assert len(drawn_cells) == 16
    for number, cell in enumerate(drawn_cells):
        t, s = divmod(number, 4)
        assert cell.findtext(f"{SVG}title") == f"{SOURCE[s]} → {TARGET[t]} {ATTENTION[t, s]:.2f}"
        assert float(cell.get("fill-opacity", "nan")) == pytest.approx(ATTENTION[t, s] / 1.0, abs=5e-4)
    # Rows are target words and columns source words, in their order.
    places = [(float(cell.get("y", "")), float(cell.get("x", ""))) for cell in drawn_cells]
    assert places == sorted(places)
    assert len({y for y, _ in places}) == len({x for _, x in places}) == 4


@pytest.mark.spec("I1")
def test_words_stand_at_their_row_and_column() -> None:
    figure = parsed(svg(ATTENTION[:3], SOURCE, TARGET[:3]))
    first, texts = cells(figure)[0], list(figure.iter(f"{SVG}text"))
    x, y = float(first.get("x", "")), float(first.get("y", ""))
    column, row = float(first.get("width", "")), float(first.get("height", ""))
    for number, text in enumerate(texts[:4]):
        assert float(text.get("x", "")) == pytest.approx(x + column * (number + 0.5), abs=0.1)
        assert float(text.get("y", "")) < y
        assert text.get("text-anchor") == "middle"
    for number, text in enumerate(texts[4:7]):
        assert 0 < float(text.get("y", "")) - (y + row * number) < row
        assert float(text.get("x", "")) < x
        assert text.get("text-anchor") == "end"


def test_long_words_are_turned_and_stay_whole_and_inside() -> None:
    words = ["an", "Donaudampfschifffahrtsgesellschaftskapitän"]
    figure = parsed(svg([[0.5, 0.5]], words, ["x"]))
    assert labels(figure) == [*words, "x"]
    turned = [text for text in figure.iter(f"{SVG}text") if "rotate(-45)" in text.get("transform", "")]
    assert len(turned) == 2
    place = re.match(r"translate\(([\d.]+) ([\d.]+)\)", turned[1].get("transform", ""))
    assert place is not None
    reach = 13 * 0.55 * len(words[1]) * 0.707
    assert float(place[1]) + reach < float(figure.get("width", ""))
    assert float(place[2]) - reach > 0
    assert "rotate" not in svg([[0.5, 0.5]], ["an", "ox"], ["x"])


def test_the_legend_shows_the_scale_in_numbers() -> None:
    flat = np.full((1, 4), 0.25)
    figure = parsed(svg(flat, SOURCE, ["x"]))
    legend = [text.text for text in figure.iter(f"{SVG}text") if text.get("class") == "small"]
    assert legend == ["0", "0.15", "0.3", "weight"]
    assert float(cells(figure)[0].get("fill-opacity", "")) == pytest.approx(0.25 / 0.3, abs=1e-3)


@pytest.mark.parametrize(
    ("largest", "top"),
    [
        *[(1.0, 1.0), (0.96, 1.0), (0.3, 0.3), (0.31, 0.4), (0.034, 0.04), (0.0, 1.0), (np.nan, 1.0), (1.7, 1.7)],
        *[(1e-9, 0.01), (5e-324, 0.01), (12.34, 12.4)],
    ],
)
def test_the_scale_ends_at_a_round_number(largest: float, top: float) -> None:
    assert scale_top(np.array([[0.0, largest]])) == pytest.approx(top)


def test_right_to_left_words_end_at_the_matrix_too() -> None:
    figure = parsed(svg([[1.0]], ["cat"], ["قطة"]))
    word = next(text for text in figure.iter(f"{SVG}text") if text.text == "قطة")
    assert (word.get("direction"), word.get("text-anchor")) == ("rtl", "start")
    title = cells(figure)[0].findtext(f"{SVG}title") or ""
    assert title == "cat → \u2068قطة\u2069 1.00"


def test_the_strongest_links_can_be_read_aloud() -> None:
    figure = parsed(svg(ATTENTION, SOURCE, TARGET))
    assert figure.get("role") == "img"
    assert figure.get("aria-label") == "Attention of 4 target words over 4 source words"
    assert (figure.findtext(f"{SVG}desc") or "").startswith("la from the 0.80; maison from house 0.75")


def test_words_are_text_and_never_markup() -> None:
    word = "</text></svg><script>alert(1)</script>\x00"
    text = svg([[1.0]], [word], [" "])
    assert "<script" not in text
    assert labels(parsed(text)) == [word.replace("\x00", "␀"), "␣"]


def test_missing_weights_are_left_blank() -> None:
    figure = parsed(svg([[float("nan"), 0.5]], ["a", "b"], ["c"]))
    assert cells(figure)[0].get("fill-opacity") == "0"


@pytest.mark.parametrize(("source", "target"), [([], ["a"]), (["a"], []), ([], [])])
def test_nothing_to_show(source: list[str], target: list[str]) -> None:
    assert "No words" in "".join(parsed(svg([], source, target)).itertext())
    console = Console(width=80)
    with console.capture() as capture:
        console.print(terminal([], source, target))
    assert capture.get() == "no words, no attention\n"


def test_an_array_that_does_not_fit_is_told() -> None:
    with pytest.raises(ValueError, match=r"attention is \(4, 4\), but there are 4 target and 3 source words"):
        svg(ATTENTION, SOURCE[:3], TARGET)


def test_several_figures_share_a_page() -> None:
    one, other = svg(ATTENTION, SOURCE, TARGET), svg(ATTENTION[::-1], SOURCE, TARGET)
    names = [re.findall(r'id="(ramp-\w+)"', figure)[0] for figure in (one, other)]
    assert names[0] != names[1]
    assert f"url(#{names[0]})" in one
    assert svg(ATTENTION, SOURCE, TARGET) == one  # the same picture every time


@pytest.mark.spec("I1")
def test_a_notebook_gets_a_box_that_scrolls() -> None:
    text = html(ATTENTION, SOURCE, TARGET)
    assert text.startswith('<div style="overflow-x:auto')
    assert svg(ATTENTION, SOURCE, TARGET) in text


def shown(
    attention: NDArray[np.float64],
    source: list[str],
    target: list[str],
    width: int = 80,
) -> list[str]:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(terminal(attention, source, target))
    return capture.get().removesuffix("\n").split("\n")


@pytest.mark.spec("I1")
def test_the_terminal_shows_tenths_without_colors() -> None:
    lines = shown(ATTENTION, SOURCE, TARGET)
    assert lines[0].split() == SOURCE
    assert [line.split() for line in lines[1:]] == [
        ["la", "8", "1", "1", "·"],
        ["maison", "0", "2", "7", "·"],
        ["blanche", "·", "6", "3", "1"],
        [".", "·", "·", "·", "9"],
    ]


@pytest.mark.spec("I1")
def test_the_terminal_shades_cells_by_weight() -> None:
    console = Console(width=80, color_system="truecolor", force_terminal=True)
    with console.capture() as capture:
        console.print(terminal([[0.1, 0.5, 1.0, 0.0]], SOURCE, ["x"]))
    backgrounds = re.findall(r"48;2;(\d+);(\d+);(\d+)m", capture.get())
    brightness = [sum(map(int, color)) for color in backgrounds]
    assert len(brightness) == 3  # the fourth has no weight, so it has the terminal's own background
    assert brightness == sorted(brightness)


@pytest.mark.parametrize("columns", [3, 33, 34, 70, 200])
def test_the_terminal_keeps_to_its_width_and_shows_every_column(columns: int) -> None:
    source = [f"Wort{number}" for number in range(columns)]
    lines = shown(spread(5, columns), source, ["a" * 40, "b", "c", "d", "e"])
    assert max(map(cell_len, lines)) <= 80
    assert sum(len(line.split()) - 1 for line in lines if line.lstrip().startswith("b ")) == columns
    assert any("…" in line for line in lines)


def test_long_source_words_run_downwards_over_their_column() -> None:
    source = ["Geschwindigkeitsbegrenzung", "und", *(["Verkehrsschild"] * 8)]
    lines = shown(spread(1, 10), source, ["x"])
    column = "".join(line[2] for line in lines[:-1])
    assert column == "Geschwind⋮"
    assert "".join(line[4] for line in lines[:-1]).strip() == "und"


def test_full_width_characters_keep_the_columns_in_line() -> None:
    source = ["猫", "は", "マット", "の", "上", "に", "座った"] * 4
    lines = shown(spread(2, 28), source, ["猫", "cat"])
    assert len({cell_len(line) for line in lines[-2:]}) == 1
    assert max(map(cell_len, lines)) <= 80


def test_a_narrow_terminal_still_works() -> None:
    lines = shown(ATTENTION, SOURCE, TARGET, width=12)
    assert max(map(cell_len, lines)) <= 12


WORDS = some.lists(some.text(max_size=12), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(WORDS, WORDS)
def test_any_words_can_be_drawn(source: list[str], target: list[str]) -> None:
    attention = spread(len(target), len(source))
    assert len(cells(parsed(svg(attention, source, target)))) == attention.size
    assert max(map(cell_len, shown(attention, source, target))) <= 80


def test_what_is_below_0_is_marked_in_the_terminal() -> None:
    """Digits are tenths of the largest value on either side, in wide and in narrow columns."""
    nats = np.array([[5.0, -10.0, 0.4, -0.4], [0.0, 7.6, -2.0, np.nan]])
    wide = [["5", "9-", "·", "·"], ["·", "7", "2-", "·"]]
    for width, expected in ((60, wide), (14, [["5", "9-·", "·"], ["·", "7", "2-·"]])):
        console = Console(width=width, color_system=None)
        with console.capture() as capture:
            console.print(terminal(nats, SOURCE, ["la", "de"], signed=True))
        lines = capture.get().splitlines()
        assert [line.split()[1:] for line in lines if line.startswith(("la", "de"))] == expected
        assert any(line.startswith("9 is 9.00") for line in lines)
    console = Console(width=60, color_system="truecolor", force_terminal=True)
    with console.capture() as capture:
        console.print(terminal(nats, SOURCE, ["la", "de"], signed=True))
    assert "48;2;255;138;128m" in capture.get()  # the end of the ramp below 0
