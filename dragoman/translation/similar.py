"""The training pairs of a run that are most similar to given texts."""

from collections.abc import Sequence
from itertools import chain, islice

from dragoman.corpus.examples import read_pairs
from dragoman.corpus.memory import Match
from dragoman.corpus.similar import most_similar
from dragoman.data.language import Language
from dragoman.data.recall import MEMORY
from dragoman.run.run import Run
from dragoman.translation.origin import Similar

COMPARED = 1_000_000  # pairs: some seconds for a sentence, minutes for a report


def similar(run: Run) -> Similar | None:
    """What finds the training pairs, among the first COMPARED in the files that the run was trained on, or in the
    memory that it keeps, and raises UserError if these are gone; None if none of its sources is a text.
    """
    data = run.config.data
    language = next((source for source in run.sources if isinstance(source, Language)), None)
    if data.recalled:
        corpora: list[tuple[tuple[str, ...], str, str]] = [((str(run.folder.path / MEMORY),), data.asked, data.target)]
    else:
        every = [(pair, [name for name in pair.sources if name not in data.features]) for pair in data.trained]
        corpora = [(pair.train, names[0], pair.target) for pair, names in every if names]
    if language is None:
        return None
    text = language.text

    def find(texts: Sequence[str], count: int) -> list[list[Match]]:
        pairs = chain.from_iterable(read_pairs(where, *names) for where, *names in corpora)
        return most_similar(islice(pairs, COMPARED), texts, count, text.normalise, text.tokenise)

    return find
