"""A text on its way from what the user gives to the search for its translation."""

import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dragoman.corpus.features import Given
from dragoman.translation.source_inputs import Encoded
from dragoman.translation.transforms.placeholders import Marked
from dragoman.translation.transforms.tag_projection import Detached
from dragoman.translation.transforms.terms import SentenceConstraints

_SPACES = re.compile(r"\s\s")


class Sentence(NamedTuple):
    """The text of a number among those to translate: what is given for each source, the same with marks for protected
    spans, and its symbols. Protected spans without marks may be `detached`. Its translation begins with the symbols of
    the ids `prefix`, and meets the `constraints`, if there are any.
    """

    number: int
    given: tuple[Given, ...]
    marked: Marked
    encoded: list[Encoded]
    prefix: Sequence[int] = ()
    constraints: SentenceConstraints | None = None
    detached: Detached | None = None

    @property
    def read(self) -> tuple[Given, ...]:
        """What a model reads of what is given."""
        return self.detached.read if self.detached else self.given

    @property
    def has_spaces_in_a_row(self) -> bool:
        """Whether a text has two spaces in a row, which its translation may have as well."""
        return any(_SPACES.search(text) for text in self.given if isinstance(text, str))

    @property
    def stays(self) -> bool:
        """Whether it is its own translation, without words beside protected spans."""
        return self.detached is not None and not self.detached.worded

    @property
    def seed(self) -> int:
        """What seeds the random numbers of its search: the same for the same sources, whatever else is translated."""
        seed = 0
        for each in self.encoded:
            said = (
                each.tobytes()
                if isinstance(each, np.ndarray)
                else "\n".join(map(str, each)).encode("utf-8", "surrogatepass")
            )
            seed = zlib.crc32(said, seed)
        return seed
