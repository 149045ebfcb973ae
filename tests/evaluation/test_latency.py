"""Average lagging, worked by hand."""

import pytest

from dragoman.evaluation.latency import average_lagging


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("read", "source", "corrected", "plain"),
    [
        ([1, 2, 3, 4], 4, 1.0, 1.0),  # one word behind at every step
        ([3, 4, 4, 4], 4, 3.0, 3.0),  # wait-3: (3 - 0 + 4 - 1) / 2, what is written after the end does not count
        ([4, 4, 4, 4], 4, 4.0, 4.0),  # all is read first
        ([1, 2], 4, 0.5, 1.0),  # it ends early; r = 1/2: (1 + 2 - 2) / 2
        ([1, 2, 3, 4, 4, 4, 4, 4], 4, 1.75, 1.0),  # r = 2: (1 + 2 - 0.5 + 3 - 1 + 4 - 1.5) / 4
        ([1, 1, 2, 2, 3, 3], 3, 0.8, -0.2),  # r = 2: (1 + 0.5 + 1 + 0.5 + 1) / 5; r = 1: (1 + 0 + 0 - 1 - 1) / 5
    ],
)
def test_average_lagging(read: list[int], source: int, corrected: float, plain: float) -> None:
    assert average_lagging(read, source) == pytest.approx(corrected)
    assert average_lagging(read, source, corrected=False) == pytest.approx(plain)


@pytest.mark.parametrize(("read", "source"), [([], 3), ([0], 0)])
def test_what_has_no_words_has_no_lagging(read: list[int], source: int) -> None:
    with pytest.raises(ValueError, match="without words"):
        average_lagging(read, source)
