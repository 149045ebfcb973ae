"""Maps as files: the same numbers and words in every form."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.visualization.exports import FORMATS, WordMap, form, svg, to_csv, to_json, write
from tests.golden import Golden

SOURCE = ["the", "white, <house>", 'a"b', "قطة"]
TARGET = ["la", "50 % & $x_1$ \\"]
SIGNED = WordMap(np.array([[2.5, -1.25, 0.0, 0.000_000_4], [-0.5, np.nan, 5.0, -10.0]]), SOURCE, TARGET, signed=True)
WEIGHTS = WordMap(np.array([[0.75, 0.25, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]), SOURCE, TARGET)


@pytest.mark.spec("I1")
@pytest.mark.parametrize("shown", [SIGNED, WEIGHTS], ids=["nats", "weights"])
@pytest.mark.parametrize("ending", FORMATS)
def test_every_form_is_written(ending: str, shown: WordMap, tmp_path: Path) -> None:
    write(tmp_path / f"map{ending}", shown)
    data = (tmp_path / f"map{ending}").read_bytes()
    assert data.endswith(b"\n")
    write(tmp_path / f"again{ending}", shown)
    assert (tmp_path / f"again{ending}").read_bytes() == data


def test_data_are_the_numbers_of_the_words() -> None:
    exported = json.loads(to_json(SIGNED))
    assert (exported["source"], exported["target"]) == (SOURCE, TARGET)
    assert exported["values"] == [[2.5, -1.25, 0.0, 0.0], [-0.5, 0.0, 5.0, -10.0]]
    head, *rows = csv.reader(to_csv(WEIGHTS).splitlines())
    assert head == ["", *SOURCE]
    assert [row[0] for row in rows] == TARGET
    assert [[float(value) for value in row[1:]] for row in rows] == np.asarray(WEIGHTS.values).tolist()


def test_what_is_below_0_has_another_color() -> None:
    figure = ElementTree.fromstring(svg(SIGNED))
    cells = list(figure.iter("{http://www.w3.org/2000/svg}rect"))[:8]
    below = [cell.get("class") == "less" for cell in cells]
    assert below == [False, True, False, False, True, False, False, True]
    assert float(cells[1].get("fill-opacity", "")) == pytest.approx(1.25 / 10)
    assert cells[1].findtext("{http://www.w3.org/2000/svg}title") == "white, <house> → la -1.25"
    legend = [text.text for text in figure.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "small"]
    assert legend == ["-10", "0", "+10", "nats"]


def test_what_cannot_be_written_is_told(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        write(Path("map.gif"), WEIGHTS)
    golden(str(refused.value))
    with pytest.raises(UserError):
        form(tmp_path / "map.tex")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="there are 1 target and 4 source words"):
        to_json(WEIGHTS._replace(target=["la"]))
