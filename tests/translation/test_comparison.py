"""The file with the comparison of a run, which decides whether it may serve."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.translation.comparison import Comparison, Figures

FIGURES = Figures(metric="BLEU", signature="", before=20.0, after=21.0, low=0.5, high=1.5, p=0.25, worse=False)
COMPARISON = Comparison(weights="", sha256="", against="", against_sha256="", sentences=20, figures=[FIGURES])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    COMPARISON.write(tmp_path / "gate.json")
    assert Comparison.read(tmp_path / "gate.json") == COMPARISON


@pytest.mark.parametrize(("key", "value"), [("p", -0.5), ("p", 1.5), ("worse", 1), ("low", "x")])
def test_what_is_no_comparison_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    written = json.loads(COMPARISON.model_dump_json())
    written["figures"][0][key] = value
    (tmp_path / "gate.json").write_text(json.dumps(written), "utf-8")
    with pytest.raises(UserError, match=rf"gate\.json: figures\.0\.{key}: "):
        Comparison.read(tmp_path / "gate.json")
