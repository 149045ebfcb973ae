"""`dragoman align`: which words of given pairs translate each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import (
    ArrayFiles,
    Json,
    OneBased,
    RunPath,
    SourceFile,
    TargetFile,
    Threads,
    To,
    Weights,
    command,
)
from dragoman.cli.streams import one_stream, output
from dragoman.corpus.pharaoh import Gold, Links, pharaoh, read_gold
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.translation.translation import Scored

app = typer.Typer()


class Options(NamedTuple):
    """Arguments and options of `dragoman align`."""

    run: RunPath
    source: SourceFile
    target: TargetFile
    gold: Annotated[Path | None, typer.Option(help="Gold links, as Pharaoh lines: report the error rate.")] = None
    one_based: OneBased = False
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Link all words with at least this weight, not just the best."),
    ] = None
    json: Json = False
    weights: Weights = None
    to: To = None
    arrays: ArrayFiles = None
    threads: Threads = None


@command(app)
def align(options: Options) -> None:
    """Align the words of given pairs by attention: write a Pharaoh line such as 0-0 1-2 for each pair."""
    if options.one_based and not options.gold:
        raise typer.BadParameter("--one-based goes with --gold")
    if options.threshold is not None and options.json:
        raise typer.BadParameter("--threshold chooses links, and --json has every weight: one or the other")
    from dragoman.cli import pairs
    from dragoman.data.source import only_text
    from dragoman.translation.loading import load

    run, source, target, gold = options.run, options.source, options.target, options.gold
    one_stream(source, target, gold)
    outputs.check((), (source, target, gold))
    translator = load(run, weights=options.weights)
    portions = pairs.scored(translator, source, target, given=options.arrays or (), to=options.to)
    if gold and not only_text(translator.sources):
        raise UserError(f"--gold has links between two sentences, and {run} reads more than one text, or numbers")
    right = read_gold(gold, one_based=options.one_based) if gold else []
    found: list[Links] = []  # between the words of each pair
    count = 0
    with output(None) as lines:
        for scored in portions:
            every = [_links(each, options.threshold) for each in scored]
            pharaohs = (" ||| ".join(map(pharaoh, links)) for links in every)
            lines.write(map(pairs.line, scored) if options.json else pharaohs)
            for each, sentence in zip(scored, right[count:], strict=False):
                sentence.check(len(each.source_words), len(each.words))
            count += len(every)
            found += [links[0] for links in every] if right else []
    if gold:
        _tell_agreement(found, right, gold, count, source)


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
