"""Sources of a model that are filled from a translation memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dragoman.configuration import components
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.translation_memory import MEMORIES, FuzzyMemory, Match, write
from dragoman.data.language import Language, Source
from dragoman.errors import UserError

MEMORY = "memory.jsonl.gz"  # in a run folder: the training pairs, as a corpus that can be read again


class FuzzyMatch(str):
    """A text from a translation memory: a text like others, with the match that it is from."""

    match: Match

    def __new__(cls, match: Match) -> "FuzzyMatch":
        recalled = super().__new__(cls, match.translation)
        recalled.match = match
        return recalled

    def __getnewargs__(self) -> tuple[Match]:  # type: ignore[override]  # pickles and copies are made of it
        return (self.match,)


@dataclass(frozen=True)
class FuzzyMatcher:
    """A translation memory, the source to look up, and the sources to fill, the most similar first."""

    memory: FuzzyMemory
    queried_source: str
    answers: tuple[str, ...]

    def matches(self, text: str, without: str | None = None) -> dict[str, Match]:
        """Return the matches by the names of the sources that they fill."""
        return dict(zip(self.answers, self.memory.matches(text, without), strict=False))

    def texts(self, text: str, without: str | None = None) -> tuple[str, ...]:
        """Return a text for each source: a Recalled, or an empty one if there is no match."""
        matches = self.matches(text, without)
        return tuple(FuzzyMatch(matches[name]) if name in matches else "" for name in self.answers)


def write_memory(data: DataConfig, folder: Path) -> None:
    """Write the training pairs to the run folder."""
    write(folder / MEMORY, read_pairs(data.train, data.queried_source, data.target), (data.queried_source, data.target))


def load_matcher(
    data: DataConfig, sources: Iterable[Source], folder: Path, place: str | Path | None = None
) -> FuzzyMatcher:
    """Load the translation memory of a run: the pairs in its folder, or those of another corpus. UserError if these
    cannot be read, or if there are none.
    """
    (language,) = (source for source in sources if source.name == data.queried_source)
    assert isinstance(language, Language)
    pairs = read_pairs(folder / MEMORY if place is None else place, data.queried_source, data.target)
    memory = components.build(MEMORIES, data.translation_memory, pairs, language.text.normalize, language.text.tokenize)
    assert isinstance(memory, FuzzyMemory)
    if place is not None and not memory:
        raise UserError(f"{place}: contains no pairs of {data.queried_source} and {data.target}")
    return FuzzyMatcher(memory, data.queried_source, data.recalled)
