"""`dragoman score` and `dragoman align`: given sentence pairs under a model."""

import math
from pathlib import Path

import typer

from dragoman.commands.lines import one_stream, output, pair_portions
from dragoman.data import pharaoh
from dragoman.data.pharaoh import Links
from dragoman.errors import UserError
from dragoman.evaluation import alignment
from dragoman.translator import load

PORTION = 256  # pairs at a time


def score(run: Path, source: Path, target: Path, *, per_symbol: bool, weights: str | None) -> None:
    """Write log P(target | source) in nats and the number of symbols, the end counted, for each pair."""
    translator = load(run, weights=weights)
    pairs = symbols = 0
    total = 0.0
    with output(None) as lines:
        for portion in pair_portions(source, target, PORTION):
            found = translator.score(*map(list, zip(*portion, strict=True)))
            mean = (f"\t{each.log_prob / each.symbols:.4f}" if per_symbol else "" for each in found)
            lines.write(f"{each.log_prob:.4f}\t{each.symbols}{end}" for each, end in zip(found, mean, strict=True))
            pairs += len(found)
            symbols += sum(each.symbols for each in found)
            total += sum(each.log_prob for each in found)
    perplexity = f", perplexity {math.exp(min(-total / symbols, 700.0)):.2f} a symbol" if symbols else ""
    typer.echo(f"{pairs:,} pairs, {symbols:,} symbols, log P {total:.2f}{perplexity}", err=True)


def align(
    run: Path, source: Path, target: Path, *, gold: Path | None, threshold: float | None, weights: str | None
) -> None:
    """Write the links between the words of each pair as a Pharaoh line; tell how well they agree with `gold`."""
    one_stream(source, target, gold)
    translator = load(run, weights=weights)
    right = pharaoh.read_gold(gold) if gold else None
    found: list[Links] = []
    count = 0
    with output(None) as lines:
        for portion in pair_portions(source, target, PORTION):
            scored = translator.score(*map(list, zip(*portion, strict=True)))
            links = [alignment.links(each.attention, threshold, each.end_attention) for each in scored]
            lines.write(map(pharaoh.pharaoh, links))
            for each, sentence in zip(scored, right[count:] if right else (), strict=False):
                sentence.check(len(each.source_tokens), len(each.tokens))
            count += len(links)
            found += links if right else []
    if gold and right is not None:
        if len(right) != count:
            raise UserError(f"{gold} has {len(right):,} lines, but there are {count:,} pairs in {source}")
        typer.echo(str(alignment.error_rate(found, right)), err=True)
