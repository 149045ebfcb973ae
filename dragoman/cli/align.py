"""`dragoman align`: which words of given pairs translate each other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import counting, outputs
from dragoman.cli.counting import OF_RUN, ByMethod, Columns, MorePairs, PairFiles, Symmetrized, TokenizedBy
from dragoman.cli.option_rules import Conflicts, Requires
from dragoman.cli.options import ArrayFiles, Json, OneBased, OutputFile, Threads, To, Weights, command
from dragoman.cli.streams import PORTION, one_stream, output, portions, tell
from dragoman.corpus.pharaoh import Gold, Links, pharaoh
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.examples import Pair
    from dragoman.translation.translation import Scored


class AlignOptions(NamedTuple):
    """Arguments and options of `dragoman align`."""

    files: PairFiles
    output: OutputFile = None
    gold: Annotated[
        Path | None, typer.Option(help="Gold alignments in Pharaoh format; report the alignment error rate.")
    ] = None
    one_based: Annotated[OneBased, Requires("--gold")] = False
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="With --gold: report a 95 % bootstrap confidence interval."),
        Requires("--gold"),
    ] = False
    method: ByMethod = None
    symmetrize: Symmetrized = None
    more_pairs: MorePairs = None
    columns: Columns = None
    pretokenizer: TokenizedBy = None
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Link all word pairs with at least this attention weight, not only the best pair."
        ),
        OF_RUN,
        Conflicts("--json", because="it has every weight"),
    ] = None
    json: Annotated[Json, OF_RUN] = False
    weights: Annotated[Weights, OF_RUN] = None
    to: Annotated[To, OF_RUN] = None
    arrays: Annotated[ArrayFiles, OF_RUN] = None
    threads: Threads = None

    @property
    def run(self) -> bool:
        """Whether a RUN aligns."""
        return counting.by_run(self.files)


class Aligned(NamedTuple):
    """The line to write for a pair, the links to compare with gold ones, and the numbers of words of both sides."""

    line: str
    links: Links
    words: tuple[int, int]


@command(epilog="Example: dragoman align train.en train.de -o links")
def align(options: AlignOptions) -> None:
    """Align the words of sentence pairs with the attention of RUN or with a statistical model (extra `align`).

    Writes one line per pair in Pharaoh format, such as 0-0 1-2.
    """
    by_run = options.run
    one_stream(*options.files, options.gold)
    right = counting.read_gold_links(options.gold, one_based=options.one_based)
    batches = _by_attention(options) if by_run else _by_counting(options)
    links: list[Links] = []
    count = 0
    with output(options.output) as lines:
        for aligned in batches:
            lines.write(pair.line for pair in aligned)
            for pair, sentence in zip(aligned, right[count:], strict=False):
                sentence.check(*pair.words)
            count += len(aligned)
            links += [row.links for row in aligned] if right else []
    if options.gold:
        _check_numbers(right, options.gold, count, options.files[-2:][0])
        typer.echo(_agreement(links, right, confidence=options.confidence), err=True)


def _by_attention(options: AlignOptions) -> Iterator[list[Aligned]]:
    """Yield the pairs aligned by a run, in portions."""
    from dragoman.cli import sources
    from dragoman.data.language import is_only_text
    from dragoman.translation.loading import load
    from dragoman.translation.result import Result

    run, source, target = options.files
    outputs.check([("--output", options.output)], (source, target, options.gold), [run])
    translator = load(run, weights=options.weights)
    batches = sources.score_pairs(translator, source, target, assignments=options.arrays or (), to=options.to)
    if options.gold and not is_only_text(translator.sources):
        raise UserError(f"--gold requires a run with a single text source; {run} has other sources")

    def aligned(scored: "Scored") -> Aligned:
        links = _links(scored, options.threshold)
        line = Result(scored.translation).line() if options.json else " ||| ".join(map(pharaoh, links))
        return Aligned(line, links[0], (len(scored.source_words), len(scored.words)))

    return ([aligned(pair) for pair in scored] for scored in batches)


def _by_counting(options: AlignOptions) -> Iterator[list[Aligned]]:
    """Yield the pairs aligned by a model that is trained on them, in portions."""
    from dragoman.corpus import aligners

    words = aligners.lower_words(options.pretokenizer or "punctuation")
    texts: Iterable[Pair]
    texts, also = counting.corpora(options.files, options.columns, options.more_pairs, options.output, [options.gold])
    if options.gold and options.pretokenizer is None:
        texts = list(texts)
        _tell_pretokenizer(texts, words)
    pairs, more = ([aligners.WordPair(*map(words, pair)) for pair in corpus] for corpus in (texts, also))
    all_links = counting.links(pairs, more, options.method, options.symmetrize)
    both = (Aligned(pharaoh(links), links, pair.counts) for pair, links in zip(pairs, all_links, strict=True))
    return (portion.lines for portion in portions(both, PORTION))


def _tell_pretokenizer(pairs: "Sequence[Pair]", words: Callable[[str], str]) -> None:
    """Warn if the aligned words are not those between spaces, which gold links usually count."""
    apart = sum(any(len(words(text).split()) != len(text.split()) for text in pair) for pair in pairs)
    if apart:
        remark = "are not split at spaces only; if --gold counts words between spaces, use --pretokenizer whitespace"
        tell(f"--gold: {apart:,} of {len(pairs):,} pairs {remark}")


def _links(scored: "Scored", threshold: float | None) -> list[Links]:
    """Return the links between the words of the target and those of each source."""
    from dragoman.evaluation.alignment import links

    return [links(seen.attention, threshold, seen.end_attention) for seen in scored.sources]


def _check_numbers(right: Sequence[Gold], path: Path, pairs: int, source: Path) -> None:
    """Raises UserError if there are not as many gold lines as pairs."""
    if not right:
        raise UserError(f"{path}: contains no alignment links")
    if len(right) != pairs:
        raise UserError(f"{path} has {len(right):,} lines, but there are {pairs:,} pairs in {source}")


def _agreement(links: Sequence[Links], right: Sequence[Gold], *, confidence: bool) -> str:
    """Print how well the predicted links agree with the gold links."""
    from dragoman.cli.evaluate_tables import margin
    from dragoman.evaluation.alignment import AlignmentQuality, agreements
    from dragoman.evaluation.metrics.line_metrics import AlignmentErrorRate

    counts = agreements(links, right)
    score = AlignmentQuality.of(counts.sum(axis=0).tolist())
    if not confidence:
        return str(score)
    half = margin(AlignmentErrorRate(), counts)
    return score.summarize(None if half is None else half / 100)
