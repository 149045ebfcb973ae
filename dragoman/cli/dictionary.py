"""`dragoman dictionary`: which words translate which, with probabilities, from the word links of given pairs."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import typer

from dragoman.cli import counting, outputs
from dragoman.cli.counting import OF_RUN, ByMethod, Columns, MorePairs, PairFiles, Symmetrized, TokenizedBy
from dragoman.cli.options import ArrayFiles, OutputFile, Threads, To, Weights, command
from dragoman.cli.streams import one_stream, output, tell
from dragoman.corpus.aligners import WordPair, lowered
from dragoman.corpus.dictionary import LinkedPair
from dragoman.errors import UserError


class DictionaryOptions(NamedTuple):
    """Arguments and options of `dragoman dictionary`."""

    files: PairFiles
    output: OutputFile = None
    min_count: Annotated[
        int, typer.Option(min=1, metavar="N", help="Exclude translations with fewer than N links.")
    ] = 1
    min_probability: Annotated[
        float, typer.Option(min=0.0, max=1.0, metavar="P", help="Exclude translations with a lower probability.")
    ] = 0.01
    method: ByMethod = None
    symmetrize: Symmetrized = None
    more_pairs: MorePairs = None
    columns: Columns = None
    pretokenizer: TokenizedBy = None
    weights: Annotated[Weights, OF_RUN] = None
    to: Annotated[To, OF_RUN] = None
    arrays: Annotated[ArrayFiles, OF_RUN] = None
    threads: Threads = None

    @property
    def run(self) -> bool:
        """Whether a RUN aligns."""
        return counting.by_run(self.files)


@command(epilog="Example: dragoman dictionary train.en train.de -o words.tsv")
def dictionary(options: DictionaryOptions) -> None:
    """Extract a bilingual dictionary with the attention of RUN or with a statistical model (extra `align`).

    Writes a table of source word, target word, probability and count, for `translate --dictionary`.
    """
    from dragoman.corpus import dictionary as files

    by_run = options.run
    one_stream(*options.files)
    pairs = _by_attention(options) if by_run else _by_counting(options)
    entries = files.learn(pairs, min_count=options.min_count, min_probability=options.min_probability)
    if not entries:
        raise UserError("no translation passes --min-count and --min-probability")
    with output(options.output) as lines:
        lines.write(files.lines(entries))
    words = len({entry.source for entry in entries})
    tell(f"{len(entries):,} translations of {words:,} words")


def _by_attention(options: DictionaryOptions) -> Iterator[LinkedPair]:
    """Yield the pairs as a run aligns them: their target and the first text that it reads."""
    from dragoman.cli import sources
    from dragoman.data.language import Language
    from dragoman.translation.loading import load

    run, source, target = options.files
    outputs.check([("--output", options.output)], (source, target), [run])
    translator = load(run, weights=options.weights)
    texts = [number for number, language in enumerate(translator.sources) if isinstance(language, Language)]
    if not (texts and translator.processor.attends):
        raise UserError(f"{run}: requires a run with attention to words")
    for portion in sources.score_pairs(translator, source, target, assignments=options.arrays or (), to=options.to):
        for scored in portion:
            seen = scored.sources[texts[0]]
            yield LinkedPair(seen.words, scored.words, seen.alignment)


def _by_counting(options: DictionaryOptions) -> Iterator[LinkedPair]:
    """Yield the pairs as a model aligns them that is trained on them: in lower case, but they stay as written."""
    from dragoman.corpus import aligners

    words = aligners.written_words(options.pretokenizer or "punctuation")
    corpora = counting.corpora(options.files, options.columns, options.more_pairs, options.output)
    written, also = ([WordPair(*map(words, pair)) for pair in corpus] for corpus in corpora)
    low, more = ([WordPair(*map(lowered, pair)) for pair in corpus] for corpus in (written, also))
    for pair, links in zip(written, counting.links(low, more, options.method, options.symmetrize), strict=True):
        yield LinkedPair(*pair.lists, links)
