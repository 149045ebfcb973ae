"""The training pairs of a run that are most similar to given texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

from dragoman.corpus.examples import Pair, read_texts
from dragoman.corpus.translation_memory import Match, most_similar
from dragoman.data.language import Language
from dragoman.data.recall import MEMORY
from dragoman.run.run import Run
from dragoman.text.pipeline import TextPipeline
from dragoman.translation.attribution.context import Similar

COMPARED = 1_000_000  # pairs: some seconds for a sentence, minutes for a report


@dataclass(frozen=True)
class TrainingPairs:
    """Finds the pairs of the first text and the target among the first COMPARED rows of these files, compared as `text`
    makes them. Each corpus comes with the names of all its texts, the target last.
    """

    corpora: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]
    text: TextPipeline

    def __call__(self, texts: Sequence[str], count: int) -> list[list[Match]]:
        rows = chain.from_iterable(read_texts(where, names) for where, names in self.corpora)
        pairs = (Pair(row[0], row[-1]) for row in rows)
        return most_similar(islice(pairs, COMPARED), texts, count, self.text.normalize, self.text.tokenize)


def similar(run: Run) -> Similar | None:
    """What finds the training pairs, among the first COMPARED in the files that the run was trained on, or in the
    memory that it keeps, and raises UserError if these are gone; None if none of its sources is a text.
    """
    data = run.config.data
    language = next((source for source in run.sources if isinstance(source, Language)), None)
    if data.recalled:
        corpora: list[tuple[tuple[str, ...], tuple[str, ...]]]
        corpora = [((str(run.folder.path / MEMORY),), (data.queried_source, data.target))]
    else:
        corpora_and_names = [
            (pair, [name for name in pair.sources if name not in data.features]) for pair in data.trained
        ]
        corpora = [(pair.train, (*names, pair.target)) for pair, names in corpora_and_names if names]
    if language is None:
        return None
    return TrainingPairs(corpora, language.text)
