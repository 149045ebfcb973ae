"""`dragoman align`: which words of given pairs translate each other."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import ArrayFiles, Json, OneBased, OutputFile, Threads, To, Weights, command
from dragoman.cli.streams import PORTION, one_stream, output, portions, tell
from dragoman.corpus.aligners import LONGEST, Method, Symmetrisation
from dragoman.corpus.pharaoh import Gold, Links, pharaoh, read_gold
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.examples import Pair
    from dragoman.translation.translation import Scored

app = typer.Typer()

OF_A_RUN = {"threshold": "--threshold", "json": "--json", "weights": "--weights", "to": "--to", "arrays": "--source"}
OF_NO_RUN = {name: f"--{name}" for name in ("method", "symmetrise", "also", "columns", "tokeniser")}


class Tokenisers(StrEnum):
    """Values of `--tokeniser`."""

    punctuation = "punctuation"
    whitespace = "whitespace"


class Options(NamedTuple):
    """Arguments and options of `dragoman align`."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUN] SOURCE [TARGET]",
            help="Folder of a trained run, or none; sentences, one per line; their translations. Without RUN, SOURCE "
            "alone may be a file with both languages, or with --columns the prefix of two.",
        ),
    ]
    output: OutputFile = None
    gold: Annotated[Path | None, typer.Option(help="Gold links, as Pharaoh lines: report the error rate.")] = None
    one_based: OneBased = False
    method: Annotated[
        Method | None, typer.Option(help="Without RUN: the alignment model to train on these pairs; hmm if not given.")
    ] = None
    symmetrise: Annotated[
        Symmetrisation | None,
        typer.Option(
            help="Without RUN: how the links of both directions become one alignment, or the direction to take alone; "
            "grow_diag_final_and if not given."
        ),
    ] = None
    also: Annotated[
        str | None,
        typer.Option(metavar="CORPUS", help="Without RUN: more pairs to learn from, a prefix or file; not aligned."),
    ] = None
    columns: Annotated[
        str | None, typer.Option(metavar="SOURCE,TARGET", help="Without RUN: languages or columns of a corpus: en,de.")
    ] = None
    tokeniser: Annotated[
        Tokenisers | None, typer.Option(help="Without RUN: what separates words, as `text` has it; punctuation.")
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Link all words with at least this weight, not just the best."),
    ] = None
    json: Json = False
    weights: Weights = None
    to: To = None
    arrays: ArrayFiles = None
    threads: Threads = None


class Aligned(NamedTuple):
    """The line to write for a pair, the links to compare with gold ones, and the numbers of words of both sides."""

    line: str
    links: Links
    words: tuple[int, int]


@command(app)
def align(options: Options) -> None:
    """Align the words of given pairs by the attention of RUN, or by counting which words occur together (extra
    `align`): write a Pharaoh line such as 0-0 1-2 for each pair.
    """
    if len(options.files) > 3:
        raise typer.BadParameter("expected at most RUN, SOURCE and TARGET")
    by_run = len(options.files) == 3
    for name, option in (OF_NO_RUN if by_run else OF_A_RUN).items():
        if getattr(options, name) != Options._field_defaults[name]:
            raise typer.BadParameter(f"{option} is for aligning {'without' if by_run else 'by'} a RUN")
    if options.one_based and not options.gold:
        raise typer.BadParameter("--one-based goes with --gold")
    if options.threshold is not None and options.json:
        raise typer.BadParameter("--threshold chooses links, and --json has every weight: one or the other")
    one_stream(*options.files, options.gold)
    right = read_gold(options.gold, one_based=options.one_based) if options.gold else []
    every = _by_attention(options) if by_run else _by_counting(options)
    found: list[Links] = []
    count = 0
    with output(options.output) as lines:
        for aligned in every:
            lines.write(each.line for each in aligned)
            for each, sentence in zip(aligned, right[count:], strict=False):
                sentence.check(*each.words)
            count += len(aligned)
            found += [each.links for each in aligned] if right else []
    if options.gold:
        _tell_agreement(found, right, options.gold, count, options.files[-2:][0])


def _by_attention(options: Options) -> Iterator[list[Aligned]]:
    """Yield the pairs aligned by a run, in portions."""
    from dragoman.cli import pairs
    from dragoman.data.source import only_text
    from dragoman.translation.loading import load

    run, source, target = options.files
    outputs.check([("--output", options.output)], (source, target, options.gold), [run])
    translator = load(run, weights=options.weights)
    every = pairs.scored(translator, source, target, given=options.arrays or (), to=options.to)
    if options.gold and not only_text(translator.sources):
        raise UserError(f"--gold has links between two sentences, and {run} reads more than one text, or numbers")

    def aligned(scored: "Scored") -> Aligned:
        links = _links(scored, options.threshold)
        line = pairs.line(scored) if options.json else " ||| ".join(map(pharaoh, links))
        return Aligned(line, links[0], (len(scored.source_words), len(scored.words)))

    return ([aligned(each) for each in scored] for scored in every)


def _by_counting(options: Options) -> Iterator[list[Aligned]]:
    """Yield the pairs aligned by a model that is trained on them, in portions."""
    from dragoman import threads
    from dragoman.cli.progress import passes
    from dragoman.corpus import aligners

    method, symmetrisation = options.method or Method.hmm, options.symmetrise or Symmetrisation.grow_diag_final_and
    words = aligners.lower_words(options.tokeniser or Tokenisers.punctuation)
    given, also = ([aligners.Words(*map(words, pair)) for pair in pairs] for pairs in _corpora(options))
    with passes(aligners.passes(method, symmetrisation)) as passed:
        every = aligners.links(
            given, also, method=method, symmetrisation=symmetrisation, processes=threads.decide(0, 1), passed=passed
        )
    long = sum(max(pair.counts) > LONGEST for pair in given)
    if long:
        tell(f"{long:,} pairs have no links: a sentence has more than {LONGEST} words")
    both = (Aligned(pharaoh(links), links, pair.counts) for pair, links in zip(given, every, strict=True))
    return (portion.lines for portion in portions(both, PORTION))


def _corpora(options: Options) -> "tuple[Iterator[Pair], Iterator[Pair]]":
    """The pairs to align, and more to learn from. UserError if the output is one of their files."""
    from dragoman.cli.corpus import corpora
    from dragoman.cli.init import pair
    from dragoman.corpus import formats
    from dragoman.corpus.examples import corpus_files, parallel, read_pairs
    from dragoman.corpus.initialise import languages

    names = pair(options.columns)
    read: list[Path]
    if len(options.files) == 2 and not formats.of_one_language(*options.files):
        source, target = read = options.files
        given = parallel(source, target)
        names = names or (languages(source, target).names if options.also else ())
    else:
        places, names = corpora(list(map(str, options.files)), names)
        given, read = read_pairs(places, *names), corpus_files(places, *names)
    also = read_pairs(options.also, *names) if options.also else iter(())
    more = corpus_files(options.also, *names) if options.also else []
    outputs.check([("--output", options.output)], (*read, *more, options.gold))
    return given, also


def _links(scored: "Scored", threshold: float | None) -> list[Links]:
    """Return the links between the words of the target and those of each source."""
    from dragoman.evaluation.alignment import links

    return [links(seen.attention, threshold, seen.end_attention) for seen in scored.sources]


def _tell_agreement(found: Sequence[Links], right: Sequence[Gold], gold: Path, pairs: int, source: Path) -> None:
    """Report how well the links found agree with the gold links."""
    from dragoman.evaluation.alignment import error_rate

    if not right:
        raise UserError(f"{gold}: has no links, so there is nothing to compare with")
    if len(right) != pairs:
        raise UserError(f"{gold} has {len(right):,} lines, but there are {pairs:,} pairs in {source}")
    typer.echo(str(error_rate(found, right)), err=True)
