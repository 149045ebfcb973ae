"""Whether the files that a configuration names are there."""

from collections.abc import Iterator
from pathlib import Path

from dragoman.configuration.components import Path as Keys
from dragoman.configuration.components import Problem
from dragoman.configuration.config import Config
from dragoman.corpus.examples import alignment_files, corpus_files, feature_files
from dragoman.errors import UserError


def missing_files(config: Config) -> Iterator[Problem]:
    """Yield a problem for each corpus with a missing file, unless the run exists: then it has read its files."""
    data = config.data
    if Path(config.run).exists():
        return
    for number, pair in enumerate(data.language_pairs):
        keys: Keys = ("data", "pairs", number) if data.pairs else ("data",)
        texts = tuple(name for name in pair.sources if name not in data.features)
        several = len(pair.train) > 1
        corpora = [((*keys, "train", *[index] * several), name) for index, name in enumerate(pair.train)]
        for path, name in [*corpora, *([((*keys, "dev"), pair.dev)] if pair.dev else [])]:
            try:
                corpus_files(name, *texts, pair.target)
                for feature in data.features:
                    feature_files(name, feature)
                if data.alignments and "train" in path:
                    alignment_files(name, pair.sources[0], pair.target)
            except UserError as error:
                yield Problem(path, str(error), beside=((*keys, "source"), (*keys, "target")))
