"""Notebooks as pages of the site."""

import json
from pathlib import Path

from tools import notebook_pages

CELLS = [
    {"cell_type": "markdown", "source": ["# Title\n", "[next](other.ipynb)"]},
    {
        "cell_type": "code",
        "source": ["1 + 1\n", "print()"],
        "outputs": [
            {"output_type": "stream", "text": ["one\n", "two\n"]},
            {"output_type": "execute_result", "data": {"text/plain": ["2"]}},
            {"output_type": "display_data", "data": {"text/plain": ["<SVG>"], "image/svg+xml": ["<svg/>"]}},
        ],
    },
]
PAGE = """# Title
[next](other.md)

````ipython3
1 + 1
print()
````

````text
one
two
````

````text
2
````

````{raw} html
<svg/>
````
"""


def test_a_page_has_the_cells_and_their_outputs(tmp_path: Path) -> None:
    (tmp_path / "some.ipynb").write_text(json.dumps({"cells": CELLS}), "utf-8")
    notebook_pages.write(tmp_path)
    assert (tmp_path / "some.md").read_text("utf-8") == PAGE


def test_an_unchanged_page_is_not_written_again(tmp_path: Path) -> None:
    (tmp_path / "some.ipynb").write_text(json.dumps({"cells": CELLS}), "utf-8")
    notebook_pages.write(tmp_path)
    before = (tmp_path / "some.md").stat().st_mtime_ns
    notebook_pages.write(tmp_path)
    assert (tmp_path / "some.md").stat().st_mtime_ns == before
