"""Krippendorff's alpha is what he works out by hand."""

import pytest

from dragoman.evaluation.human.forms import Level
from dragoman.evaluation.human.judgment_statistics import alpha

pytestmark = pytest.mark.spec("H10")


def units(*annotators: str) -> list[list[int]]:
    """The values of each unit; a dot where an annotator gave none."""
    return [[ord(value) - ord("0") for value in unit if value != "."] for unit in zip(*annotators, strict=True)]


FOUR = units("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_four_annotators_with_missing_values(level: Level, value: float) -> None:
    """Krippendorff 2011, parts C and D: twelve units, of which the last has one value alone."""
    assert alpha(FOUR, level) == pytest.approx(value, abs=0.0005)
    assert alpha([values[::-1] for values in reversed(FOUR)], level) == alpha(FOUR, level)


def test_two_annotators() -> None:
    """Krippendorff 2011, parts A (two values) and B (five)."""
    assert alpha(units("0100000010", "1110010000"), "nominal") == pytest.approx(0.095, abs=0.0005)
    assert alpha(units("aabbdcccedda", "babbbccceddd"), "nominal") == pytest.approx(0.692, abs=0.0005)


def test_agreement_and_chance() -> None:
    assert alpha([[1, 1], [2, 2, 2]], "ordinal") == 1
    assert alpha([[0, 1], [1, 0]], "nominal") == pytest.approx(-0.5)  # by hand: D_o = 1, D_e = 2/3


@pytest.mark.parametrize("nothing", [[], [[1], [2]], [[3, 3], [3, 3]]])
def test_nothing_to_compare(nothing: list[list[int]]) -> None:
    assert alpha(nothing, "nominal") is None
