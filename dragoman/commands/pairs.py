"""`dragoman score` and `dragoman align`: given sentence pairs under a model."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from dragoman.commands import outputs
from dragoman.commands.lines import PORTION, one_stream, output, pair_portions
from dragoman.commands.sources import arrays, text_of
from dragoman.configuration.messages import figure
from dragoman.corpus import pharaoh
from dragoman.corpus.examples import Pair
from dragoman.corpus.features import FeatureFile
from dragoman.corpus.pharaoh import Links
from dragoman.data.source import only_text
from dragoman.errors import UserError
from dragoman.evaluation import alignment
from dragoman.translation.loading import load
from dragoman.translation.result import Result
from dragoman.translation.translation import Scored
from dragoman.translation.translator import Translator


def score(
    run: Path,
    source: Path,
    target: Path,
    *,
    per_symbol: bool,
    as_json: bool,
    weights: str | None,
    to: str | None,
    given: Sequence[str] = (),
) -> None:
    """Write log P(target | source) in nats and the number of symbols, the end counted, for each pair; `given` are
    NAME=FILE of arrays.
    """
    outputs.check((), (source, target))
    translator = load(run, weights=weights)
    files = arrays(given, translator)
    pairs = symbols = 0
    total = 0.0
    with output(None) as lines:
        for portion in pair_portions(source, target, PORTION, files.values()):
            found = _scored(translator, source, files, *portion, to=to)
            lines.write(_json(each) if as_json else _columns(each, per_symbol) for each in found)
            pairs += len(found)
            symbols += sum(each.symbols for each in found)
            total += sum(each.log_prob for each in found)
    perplexity = f", perplexity {figure(math.exp(min(-total / symbols, 700.0)))} a symbol" if symbols else ""
    typer.echo(f"{pairs:,} pairs, {symbols:,} symbols, log P {total:.2f}{perplexity}", err=True)


def align(
    run: Path,
    source: Path,
    target: Path,
    *,
    gold: Path | None,
    one_based: bool,
    threshold: float | None,
    as_json: bool,
    weights: str | None,
    to: str | None,
    given: Sequence[str] = (),
) -> None:
    """Write the links between the words of each pair as a Pharaoh line (of several sources, a field each); tell how
    well they agree with `gold`, which counts words from 1 if it is `one_based`.
    """
    one_stream(source, target, gold)
    outputs.check((), (source, target, gold))
    translator = load(run, weights=weights)
    files = arrays(given, translator)
    if gold and not only_text(translator.sources):
        raise UserError(f"--gold has links between two sentences, and {run} reads more than one text, or numbers")
    right = pharaoh.read_gold(gold, one_based=one_based) if gold else None
    found: list[Links] = []
    count = 0
    with output(None) as lines:
        for portion in pair_portions(source, target, PORTION, files.values()):
            scored = _scored(translator, source, files, *portion, to=to)
            every = [
                [alignment.links(seen.attention, threshold, seen.end_attention) for seen in each.sources]
                for each in scored
            ]
            pharaohs = (" ||| ".join(map(pharaoh.pharaoh, links)) for links in every)
            lines.write(map(_json, scored) if as_json else pharaohs)
            for each, sentence in zip(scored, right[count:] if right else (), strict=False):
                sentence.check(len(each.source_words), len(each.words))
            count += len(every)
            found += [links[0] for links in every] if right else []
    if gold and right is not None:
        if not right:
            raise UserError(f"{gold}: has no links, so there is nothing to compare with")
        if len(right) != count:
            raise UserError(f"{gold} has {len(right):,} lines, but there are {count:,} pairs in {source}")
        typer.echo(str(alignment.error_rate(found, right)), err=True)


def _json(scored: Scored) -> str:
    return Result(scored.translation).line()


def _columns(scored: Scored, per_symbol: bool) -> str:
    mean = f"\t{scored.log_prob / scored.symbols:.4f}" if per_symbol else ""
    return f"{scored.log_prob:.4f}\t{scored.symbols}{mean}"


def _scored(
    translator: Translator,
    source: Path,
    files: Mapping[str, FeatureFile],
    first: int,
    pairs: Sequence[Pair],
    *,
    to: str | None,
) -> list[Scored]:
    """Some pairs of files, the first from line number `first`; several sources are columns of the source, but for those
    that have files of their own.
    """
    numbered = enumerate(pairs, start=first)
    texts = [text_of(pair.source, source, number, translator, files) for number, pair in numbered]
    return translator.score(texts, [pair.target for pair in pairs], to=to)
