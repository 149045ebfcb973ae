"""A text on its way from what the user gives to the search for its translation."""

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.corpus.features import Given
from dragoman.translation.demands import Demands
from dragoman.translation.inputs import Encoded
from dragoman.translation.spans import Marked


class Sentence(NamedTuple):
    """The text of a number among those to translate: what is given for each source, the same with marks for protected
    spans, and its symbols. Its translation begins with the symbols of the ids `prefix`, and meets the `demands`, if
    there are any.
    """

    number: int
    given: tuple[Given, ...]
    marked: Marked
    encoded: list[Encoded]
    prefix: Sequence[int] = ()
    demands: Demands | None = None
