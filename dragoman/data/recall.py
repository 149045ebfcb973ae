"""The sources of a model that a translation memory fills."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dragoman.configuration import components
from dragoman.configuration.config import DataConfig
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.memory import MEMORIES, Match, Nearest, write
from dragoman.data.language import Language
from dragoman.data.source import Source

MEMORY = "memory.jsonl.gz"  # in a run folder: the training pairs, as a corpus that can be read again


@dataclass(frozen=True)
class Recall:
    """A memory, the source that it is asked with, and the sources that its answers are, the most similar first."""

    memory: Nearest
    asked: str
    answers: tuple[str, ...]

    def matches(self, text: str, without: str | None = None) -> dict[str, Match]:
        """The answers by the names of their sources, as far as there are any."""
        return dict(zip(self.answers, self.memory.matches(text, without), strict=False))

    def texts(self, text: str, without: str | None = None) -> tuple[str, ...]:
        """A text for each source, blank where it is missing."""
        found = self.matches(text, without)
        return tuple(found[name].translation if name in found else "" for name in self.answers)


def keep(data: DataConfig, folder: Path) -> None:
    """Write the training pairs to the run folder."""
    write(folder / MEMORY, read_pairs(data.train, data.asked, data.target), (data.asked, data.target))


def recall(data: DataConfig, sources: Iterable[Source], folder: Path, place: str | Path | None = None) -> Recall:
    """The memory of a run: the pairs that its folder keeps, or those of a corpus in another place. UserError if these
    cannot be read.
    """
    (language,) = (source for source in sources if source.name == data.asked)
    assert isinstance(language, Language)
    pairs = read_pairs(folder / MEMORY if place is None else place, data.asked, data.target)
    memory = components.build(MEMORIES, data.memory, pairs, language.text.normalise, language.text.tokenise)
    assert isinstance(memory, Nearest)
    return Recall(memory, data.asked, data.recalled)
